//! The settings of a pipeline file, section by section.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::slurm_settings::{ExecutorChoice, SlurmSettings};
use super::sweep_settings::SweepSettings;
use crate::problems::{Problem, Problems};
use crate::{estimate, generate, import, report, train};

/// A pipeline: where the data come from, how a model is trained on them, and what is read off it.
///
/// Each section but `[promote]`, `[run]`, `[slurm]` and `[sweep]` is one stage. A pipeline has exactly one of `[generate]` and `[import]`; the others may be left out
/// from the end (`[report]`, then `[estimate]`, and so on).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Paramill pipeline")]
pub struct Settings {
    /// One sentence for people; it stands in the report.
    #[serde(default)]
    pub description: String,
    /// Seed of every random draw: initial states, weights, batches.
    #[serde(default)]
    pub seed: u64,
    /// What makes the stages: `local`, the process itself, or `slurm`, jobs that it submits. Nothing that a stage makes depends on it.
    #[serde(default, skip_serializing_if = "ExecutorChoice::is_local")]
    pub executor: ExecutorChoice,
    /// Simulates the dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "generate::Settings")]
    pub generate: Option<generate::Settings>,
    /// Reads the dataset from an archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "import::Settings")]
    pub import: Option<import::Settings>,
    /// Trains the model on the dataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "train::Settings")]
    pub train: Option<train::Settings>,
    /// Fits the map from contexts to parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "estimate::MapSettings")]
    pub map: Option<estimate::MapSettings>,
    /// Adapts the model to new environments and reads their parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "estimate::Settings")]
    pub estimate: Option<estimate::Settings>,
    /// Draws the figures and the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ReportSettings")]
    pub report: Option<ReportSettings>,
    /// When the model of a run comes into use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PromoteSettings")]
    pub promote: Option<PromoteSettings>,
    /// What is told of a run, and to whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RunSettings")]
    pub run: Option<RunSettings>,
    /// What the jobs ask of Slurm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SlurmSettings")]
    pub slurm: Option<SlurmSettings>,
    /// Runs the pipeline once for each combination of some values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SweepSettings")]
    pub sweep: Option<SweepSettings>,
}

/// `[report]` of a pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReportSettings {
    /// Title of the page; the pipeline's name if empty.
    pub title: String,
    /// Most environments whose fits by equations are drawn with every trajectory and channel, and go into residuals and the predictive check; of more,
    /// some at equal distances.
    #[schemars(range(min = 1, max = 100_000))]
    pub fits: usize,
    /// Whether the losses of the training environments around the trained model are drawn: over two coordinates of the context, or over the main
    /// directions of their gradients, with the singular values of these. It takes thousands of rollouts.
    pub landscape: bool,
    /// Published figures to show beside ours.
    pub published: Vec<report::Published>,
}

impl Default for ReportSettings {
    fn default() -> Self {
        ReportSettings { title: String::new(), fits: 200, landscape: false, published: Vec::new() }
    }
}

/// `[promote]` of a pipeline: when the model of a run comes into use. The new model and the one in use are judged on one held-out set, the test
/// split of the dataset as it is then: both fit a context to the train split of each of its environments, and are compared on the test split. The
/// new one comes into use if it is not worse than these margins allow; otherwise it is kept as a rejected version with its figures, the run exits
/// with 7, and estimates go on with the model in use, as they do with whatever version a user puts in use. No model is let through where a
/// trajectory of the set was in the training of either. `run.models` says how many versions are kept. Nothing that a stage makes depends on these
/// settings but by the model that is in use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PromoteSettings {
    /// Most by which the mean squared error may be above that of the model in use, as a share of it. Both are means over the environments that
    /// neither model fails on, of errors in the dataset's units.
    #[schemars(range(min = 0))]
    pub margin: f64,
    /// Most by which the share of environments that failed may be above that of the model in use.
    #[schemars(range(min = 0, max = 1))]
    pub most_failed: f64,
    /// Most by which the mean absolute percentage error of known parameters may be above that of the model in use, as a share of it.
    #[schemars(range(min = 0))]
    pub parameter_margin: f64,
    /// Between which shares those of the known parameters of the set must be whose 95 % interval holds the truth, by the new model: `[0.85, 1.0]`.
    /// Where no parameter is known, nothing is let through. Not asked for if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "[f64; 2]", inner(range(min = 0, max = 1)))]
    pub coverage: Option<[f64; 2]>,
    /// The same of the values of held-out trajectories that lie in the 95 % band which the new model foretells from their first sample: by what is not
    /// known of context and start, and the noise that the fit found. For where no truth is known; not for fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "[f64; 2]", inner(range(min = 0, max = 1)))]
    pub forecast_coverage: Option<[f64; 2]>,
}

impl Default for PromoteSettings {
    fn default() -> Self {
        PromoteSettings {
            margin: 0.05,
            most_failed: 0.0,
            parameter_margin: 0.05,
            coverage: None,
            forecast_coverage: None,
        }
    }
}

impl PromoteSettings {
    /// What is wrong with the values; keys begin at the section.
    pub(crate) fn validate(&self) -> Vec<Problem> {
        let mut problems = Problems::default();
        for (key, limits) in [("coverage", self.coverage), ("forecast_coverage", self.forecast_coverage)] {
            if let Some([least, greatest]) = limits.filter(|[least, greatest]| least > greatest) {
                problems.add(key, format!("{least} above {greatest}"), "the smaller share first", "exchange the two");
            }
        }
        problems.into_vec()
    }
}

/// `[run]` of a pipeline: what is told of a run, and to whom. Nothing that a stage makes depends on it, and a change of it makes nothing
/// anew. Where the pipeline file cannot be read, nobody is told but by the exit code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunSettings {
    /// Runs whose records are kept in `records` of the workspace: one JSON file a run, with times, figures, warnings and exit code. The last
    /// run that succeeded is kept beside them.
    #[schemars(range(min = 1, max = 100_000))]
    pub records: usize,
    /// Versions of the model that are kept in `models/PIPELINE.versions` of the workspace; none if zero. After a run that ended with exit code 0 or
    /// 4, the model becomes a version, is verified, and the alias `current` there moves to it by one rename: what reads the model through the
    /// alias finds a whole one at any time. With `[promote]` that happens before the estimates. The one in use is never removed, nor the one that
    /// the estimates were made by.
    #[schemars(range(max = 10_000))]
    pub models: usize,
    /// Generations of the dataset that are kept in `NAME.versions` beside it; none if zero. After a run that ended with exit code 0 or 4 the dataset
    /// becomes one, if it is new, under second names of its files, which take no room until it is replaced. One that a model, a kept version of it or
    /// the estimates of the workspace were made from is never removed.
    #[schemars(range(max = 10_000))]
    pub datasets: usize,
    /// Days within which generations of the dataset stay, however many there are; only their number counts if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 36_500))]
    pub dataset_days: Option<u32>,
    /// MiB that a stage leaves free on the disk of its product. Before a stage begins, what it will write is estimated from counts, or from what it
    /// wrote before; where the two together are more than is free, versions of the model and generations of the dataset that `[run]` does not keep
    /// are removed, and the stage is refused, with both figures, if that is not enough.
    pub free_mib: u32,
    /// Called after a run that ended with exit code 0: a program and its arguments, without a shell; none if empty. It finds
    /// `PARAMILL_PIPELINE`, `PARAMILL_EXIT_CODE`, `PARAMILL_MESSAGE`, `PARAMILL_WORKSPACE` and `PARAMILL_RECORD` in its environment, and its own
    /// failure is a warning.
    pub on_success: Vec<String>,
    /// The same after a run that ended with any other exit code: an error, or environments that failed (4).
    pub on_failure: Vec<String>,
    /// Days, or a part of one, after which data are old: `1.5` are 36 hours. Where no file of the archive was written within as many, a run warns of it,
    /// and calls `on_failure` instead of `on_success`, with the warning as its message; the exit code stays what it is. The record of the run and
    /// `metrics` say when the newest file was written, whether or not this is set. Only for an `[import]`; nobody warns if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(max = 36_500), extend("exclusiveMinimum" = 0))]
    pub data_days: Option<f64>,
    /// Most memory that a stage may take, in MiB. One that takes more by a lower bound is refused before it starts: from the counts of its dataset, the
    /// threads, and the sizes of its model and its Gauss-Newton steps. An import keeps at most a quarter of it as rows, and the others in a temporary
    /// file. If absent, what the machine has, or what the control group of the process grants.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1))]
    pub memory_mib: Option<u32>,
    /// Most seconds that such a command may take; it is ended then.
    #[schemars(range(min = 1, max = 86_400))]
    pub command_seconds: u64,
    /// A text file of metrics for the textfile collector of Prometheus' node exporter, replaced as a whole after each run; its name ends with
    /// `.prom`. None is written if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<PathBuf>,
    /// Whether a training keeps its losses, learning rate and damping by steps in an event file of TensorBoard, in the folder `tensorboard` of the
    /// workspace; each training with other settings or data has a folder of its own there. One that is killed and resumed goes on in its file.
    pub tensorboard: bool,
}

impl Default for RunSettings {
    fn default() -> Self {
        RunSettings {
            records: 30,
            models: 0,
            datasets: 0,
            dataset_days: None,
            free_mib: 0,
            on_success: Vec::new(),
            on_failure: Vec::new(),
            data_days: None,
            memory_mib: None,
            command_seconds: 60,
            metrics: None,
            tensorboard: false,
        }
    }
}

impl RunSettings {
    /// What is wrong with the values; keys begin at the section.
    pub(crate) fn validate(&self) -> Vec<Problem> {
        let mut problems = Problems::default();
        for (key, command) in [("on_success", &self.on_success), ("on_failure", &self.on_failure)] {
            if command.first().is_some_and(String::is_empty) {
                let remedy = "write it as a list, such as [\"/usr/local/bin/alert\", \"tanks\"]";
                problems.add(format!("{key}.0"), "an empty string", "a program, then its arguments", remedy);
            }
        }
        if let (0, Some(days)) = (self.datasets, self.dataset_days) {
            let remedy = "set run.datasets to how many stay whatever their age, or leave this out";
            problems.add("dataset_days", days, "generations that are kept", remedy);
        }
        if let Some(path) = self.metrics.as_ref().filter(|path| path.extension().is_none_or(|it| it != "prom")) {
            let found = format!("the path \"{}\"", path.display());
            let expected = "a path that ends with .prom: node exporter reads no other files";
            problems.add("metrics", found, expected, "name a file such as \"/var/lib/node_exporter/tanks.prom\"");
        }
        problems.into_vec()
    }
}
