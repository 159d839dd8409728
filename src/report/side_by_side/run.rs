//! What is compared of a run.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::estimate::Evaluation;
use crate::report::comparison;
use crate::report::input::{ErrorsOverTime, LossPoint, Summary};

/// The key of the coverage of 95 % intervals.
const COVERAGE: &str = "coverage_95";

/// The dataset that a run is on.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DataOfRun {
    /// Its name.
    pub name: String,
    /// Its content hash, hex.
    pub sha256: String,
    /// What it was made from but for the seed of a simulation: equal where datasets are alike.
    #[serde(skip)]
    pub origin: String,
}

/// One run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ComparedRun {
    /// Its workspace, as the user named it.
    pub workspace: String,
    /// The seed; absent where nothing was drawn.
    pub seed: Option<u64>,
    /// The dataset.
    pub data: DataOfRun,
    /// Effective settings by their dotted keys, those of the report left out.
    #[serde(skip)]
    pub settings: BTreeMap<String, Value>,
    /// The figures of the estimates; absent where there are none.
    #[serde(skip)]
    pub evaluation: Option<Evaluation>,
    /// Mean squared error of the model on its validation split, in its own units.
    #[serde(skip)]
    pub validation: Option<f64>,
    /// By parameter the median over environments of the relative error of an estimate (percent), failures left out.
    #[serde(skip)]
    pub errors: BTreeMap<String, f64>,
    /// The loss curve of the model; empty where nothing was trained.
    #[serde(skip)]
    pub losses: Vec<LossPoint>,
    /// Errors along trajectories that did not train, as its report has them; absent without a report.
    #[serde(skip)]
    pub errors_over_time: Option<ErrorsOverTime>,
    /// Wall time by stage, in seconds.
    pub seconds: BTreeMap<String, f64>,
    /// Device and engine that trained, or else estimated.
    pub device: String,
    /// See `device`.
    pub engine: String,
}

impl ComparedRun {
    /// The key figures by their names; finite ones.
    pub(crate) fn figures(&self) -> Vec<(&'static str, f64)> {
        let evaluation = self.evaluation.clone().unwrap_or_default();
        let coverage = evaluation.coverage.iter().find(|it| it.nominal == 95.0).map(|it| it.overall);
        let summary = Summary { evaluation, mse_validation: self.validation, ..Summary::default() };
        let mut figures = comparison::errors(&summary);
        figures.extend(coverage.map(|coverage| (COVERAGE, coverage)));
        figures
    }
}

/// A figure's label.
pub(crate) fn label(figure: &str) -> String {
    if figure == COVERAGE { "95 % intervals with the truth".to_owned() } else { comparison::label(figure) }
}

/// Whether a figure is a percentage.
pub(crate) fn is_percent(figure: &str) -> bool {
    figure == COVERAGE || comparison::is_percent(figure)
}
