//! The interface between the runner and the stages.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::audit::AuditEntry;
use super::error::Error;
use super::plan::Plan;
use super::record::Record;
use super::stage::Stage;
use crate::dataset::Parent;
use crate::engine::Compute;
use crate::estimate::Status;
use crate::progress::Run;

/// The product of a stage on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// Where it is.
    pub path: PathBuf,
    /// Content hash, hex.
    pub sha256: String,
    /// Why it cannot be used, if it is damaged.
    pub damage: Option<String>,
}

/// What a finished stage tells of its run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The device that computed: `cpu`, `cuda:0`.
    pub device: String,
    /// The engine that computed: `native`, `torch`; empty where none did.
    pub engine: String,
    /// Number of environments by status, if the stage gives them one.
    pub statuses: BTreeMap<Status, usize>,
}

/// What a stage gets in addition to the plan.
pub struct Context<'a> {
    /// Device and engine.
    pub compute: Compute,
    /// Number of threads.
    pub threads: usize,
    /// Fingerprint of what the stage's product is made from.
    pub fingerprint: &'a str,
    /// The records of the stages before it.
    pub records: &'a BTreeMap<Stage, Record>,
    /// Takes progress and requests to stop.
    pub run: &'a Run<'a>,
}

/// Executes stages. The runner decides which; tests use a fake.
pub trait Executor {
    /// Executes `stage`; its product is complete or absent afterwards.
    ///
    /// # Errors
    /// Any error of the stage.
    fn execute(&self, plan: &Plan, stage: Stage, context: &Context<'_>) -> Result<Done, Error>;

    /// Takes over the product of `stage`, which a run of this workspace made that died before it recorded it: removes what that left to go on from,
    /// and tells what the record is to say.
    ///
    /// # Errors
    /// If the product cannot be read, or what was left cannot be removed.
    fn adopt(&self, _plan: &Plan, _stage: Stage) -> Result<Done, Error> {
        Ok(Done { device: "cpu".to_owned(), ..Done::default() })
    }

    /// The product of `stage` as it is on disk; `None` if there is nothing.
    ///
    /// # Errors
    /// If it cannot be read.
    fn product(&self, plan: &Plan, stage: Stage) -> Result<Option<Product>, Error>;

    /// The product of `parent` that `stage` is made from: with `[promote]`, estimates are made by the model in use.
    ///
    /// # Errors
    /// If it cannot be read.
    fn input(&self, plan: &Plan, parent: Stage, _stage: Stage) -> Result<Option<Product>, Error> {
        self.product(plan, parent)
    }

    /// Puts the model that the stages left in use if the gate of `plan` lets it through; otherwise returns what the audit says of it.
    ///
    /// # Errors
    /// If a model or the dataset cannot be read, something cannot be written, or at a request to stop.
    fn promote(&self, _plan: &Plan, _compute: Compute, _run: &Run<'_>) -> Result<Option<AuditEntry>, Error> {
        Ok(None)
    }

    /// The model that training starts from, by content; `None` if it starts from nothing.
    ///
    /// # Errors
    /// If it cannot be read.
    fn start_of_training(&self, _plan: &Plan) -> Result<Option<Parent>, Error> {
        Ok(None)
    }

    /// The files that the dataset is made from, by content, ordered by name.
    ///
    /// # Errors
    /// If one cannot be read.
    fn sources(&self, plan: &Plan) -> Result<Vec<Parent>, Error>;

    /// The settings of the dataset's stage as its manifest states them.
    fn configuration(&self, plan: &Plan) -> Value;
}
