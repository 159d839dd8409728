//! What the runner asks of a stage.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::error::Error;
use super::plan::Plan;
use super::record::Record;
use super::stage::Stage;
use crate::dataset::Parent;
use crate::engine::Compute;
use crate::estimate::Status;
use crate::progress::Run;

/// What a stage left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    pub path: PathBuf,
    /// Content hash, hex.
    pub sha256: String,
    /// Why it cannot be used, if it cannot.
    pub damage: Option<String>,
}

/// How a stage ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Where it computed: `cpu`, `cuda:0`.
    pub device: String,
    /// What computed: `native`, `torch`; empty where that says nothing.
    pub engine: String,
    /// Environments of each status that occurs, where the stage gives them one.
    pub statuses: BTreeMap<Status, usize>,
}

/// What a stage is given beside the plan.
pub struct Context<'a> {
    pub compute: Compute,
    pub threads: usize,
    /// How the stages before it ran.
    pub records: &'a BTreeMap<Stage, Record>,
    pub run: &'a Run<'a>,
}

/// Carries stages out. The runner decides which; tests put a fake here.
pub trait Executor {
    /// Carries out `stage`; its product is complete or absent afterwards.
    ///
    /// # Errors
    /// Whatever stops the stage.
    fn execute(&self, plan: &Plan, stage: Stage, context: &Context<'_>) -> Result<Done, Error>;

    /// What stands where the product of `stage` belongs; `None` if nothing does.
    ///
    /// # Errors
    /// If it cannot be read.
    fn product(&self, plan: &Plan, stage: Stage) -> Result<Option<Product>, Error>;

    /// The files that the dataset is made from, by content, ordered by name.
    ///
    /// # Errors
    /// If one cannot be read.
    fn sources(&self, plan: &Plan) -> Result<Vec<Parent>, Error>;

    /// The settings of the dataset's stage as its manifest states them.
    fn configuration(&self, plan: &Plan) -> Value;
}
