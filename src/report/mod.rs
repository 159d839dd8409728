//! Plain results in, tables and pictures out.
//!
//! ```text
//! report/
//!   index.html       one page with everything, light and dark, for screen and paper
//!   summary.json     the headline figures
//!   comparison.csv   ours beside published ones
//!   NAME.svg, .png   the pictures of the page
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::atomic;
use crate::estimate::{Evaluation, Row};
use crate::schema::{self, Grid, Quantity};

mod axis;
mod canvas;
mod colour;
mod comparison;
mod errors;
mod figures;
mod number;
mod page;
mod plot;
mod png;
mod samples;
mod tables;

pub use samples::{MOST_TRAJECTORIES, draw_trajectories};

/// What goes wrong with a report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {source}; check that the place is writable and has room")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{file} of the report cannot be made: {problem}")]
    Format { file: String, problem: String },
}

/// Writes a report as the directory `directory`, which appears complete or not at all and replaces an older one.
///
/// Numbers that are not finite are shown as absent and drawn nowhere; what the input has nothing for is left out. Returns what could not be
/// drawn and why, which the page says too: no picture is worth the others, nor the figures of a finished estimation.
///
/// # Errors
/// [`Error::Io`] if the directory cannot be written.
pub fn write(input: &Input, directory: &Path) -> Result<Vec<String>, Error> {
    let io = |source| Error::Io { path: directory.to_owned(), source };
    let lines = comparison::lines(input);
    let figures = figures::all(input);
    let mut undrawn = input.undrawn.clone();
    let mut files = Vec::new();
    let mut keep = |name: String, made: Result<Vec<u8>, String>| match made {
        Ok(bytes) => files.push((name, bytes)),
        Err(problem) => undrawn.push(format!("{name} ({problem})")),
    };
    keep("summary.json".to_owned(), json(&input.summary).map_err(|error| error.to_string()));
    keep("comparison.csv".to_owned(), table(&lines));
    for figure in &figures {
        let svg = figure.standalone();
        keep(format!("{}.png", figure.name), png::render(&svg));
        keep(format!("{}.svg", figure.name), Ok(svg.into_bytes()));
    }
    let page = page::html(input, &lines, &figures, &undrawn);
    files.push(("index.html".to_owned(), page.into_bytes()));

    let place = atomic::Directory::create(directory).map_err(io)?;
    for (name, bytes) in &files {
        fs::write(place.path().join(name), bytes).map_err(io)?;
    }
    place.publish().map_err(io)?;
    Ok(undrawn)
}

/// JSON as a text file.
fn json(summary: &Summary) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(summary)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// `comparison.csv`, with its header even where there is no line.
fn table(lines: &[comparison::Comparison]) -> Result<Vec<u8>, String> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    writer.write_record(comparison::COLUMNS).map_err(|error| error.to_string())?;
    for line in lines {
        writer.serialize(line).map_err(|error| error.to_string())?;
    }
    writer.into_inner().map_err(|error| error.to_string())
}

/// `summary.json`: the figures of one run. `null` where a pipeline has no such figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub pipeline: String,
    /// The figures of the estimation.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// Wall time by stage, seconds, of the run that last did the stage.
    pub seconds: BTreeMap<String, f64>,
    pub device: String,
    pub engine: String,
    pub threads: usize,
    pub seed: u64,
    /// Tolerance of the data; errors below it mean nothing.
    pub data_tolerance: Option<f64>,
    /// `affine` or `quadratic`.
    pub map: Option<String>,
    /// What known equations give of the state where the system starts, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    pub training_steps: u64,
    /// Mean squared error on the validation split of the chosen model.
    pub mse_validation: Option<f64>,
}

/// A training environment after training.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingEnvironment {
    pub environment: String,
    /// Its context `[d_xi]`.
    pub context: Vec<f64>,
    /// Its known parameters `[d_p]`.
    pub parameters: Vec<Option<f64>>,
    /// What the map makes of its context `[d_p]`.
    pub mapped: Vec<f64>,
}

/// Truth and prediction of one trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct Portrait {
    /// Environment and its parameters in words.
    pub title: String,
    /// `[T]`.
    pub times: Vec<f64>,
    /// `[T, C]`, on a grid `[T, C, n_1, .., n_k]`.
    pub truth: Vec<f64>,
    /// As `truth`.
    pub prediction: Vec<f64>,
    /// What drives both `[T, U]`.
    pub inputs: Vec<f64>,
}

/// One point of the loss curve. Losses are mean squared errors in the model's own (scaled) units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossPoint {
    pub step: u64,
    pub train: f64,
    pub validation: Option<f64>,
}

/// One line of the comparison with published numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Which of our figures it stands beside: a field name of [`Summary`].
    pub figure: String,
    pub value: f64,
    /// Method and publication.
    pub source: String,
}

/// All that a report shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    pub title: String,
    pub description: String,
    pub summary: Summary,
    pub time_unit: String,
    pub channels: Vec<Quantity>,
    pub inputs: Vec<schema::Input>,
    /// Where each channel is a field; none where there is no space.
    pub grid: Option<Grid>,
    pub parameters: Vec<Quantity>,
    pub training: Vec<TrainingEnvironment>,
    /// Estimated environments, in ascending order of their id; of very many only some, and then `summary` counts more.
    pub estimates: Vec<Row>,
    pub portraits: Vec<Portrait>,
    /// Whether the initial states of their predictions were fitted with the parameters.
    pub initial_states_fitted: bool,
    pub losses: Vec<LossPoint>,
    pub published: Vec<Published>,
    /// What could not be gathered for this report and why, such as the trajectories of an environment.
    pub undrawn: Vec<String>,
    /// The effective pipeline, as TOML, for the reader who wants to know exactly.
    pub effective_pipeline: String,
}

impl Input {
    /// Whether `estimates` are only some of the environments.
    fn is_thinned(&self) -> bool {
        self.estimates.len() < self.summary.evaluation.environments
    }
}
