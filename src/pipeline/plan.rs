//! A pipeline with every default filled in: what its stages are, what each is made from, and where products are written.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::document::Document;
use super::settings::{PromoteSettings, ReportSettings, RunSettings, Settings};
use super::slurm_settings::{ExecutorChoice, SlurmSettings};
use super::stage::Stage;
use crate::estimate::Method;
use crate::{estimate, generate, import, train};

/// Folder of the records of runs in a workspace.
pub(crate) const RUN_RECORDS: &str = "records";

/// The alias of the version in use.
pub const CURRENT: &str = "current";

/// Where a run puts things; relative paths are relative to the current directory.
#[derive(Clone, Debug)]
pub struct Locations {
    /// Directory of the datasets, each in a directory of its name.
    pub datasets: PathBuf,
    /// Directory of everything else; `runs/PIPELINE` if absent.
    pub workspace: Option<PathBuf>,
}

impl Default for Locations {
    fn default() -> Self {
        Locations { datasets: PathBuf::from("datasets"), workspace: None }
    }
}

/// Where the dataset comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// It is simulated.
    Generate(Box<generate::Settings>),
    /// It is read from an archive.
    Import(Box<import::Settings>),
}

/// A pipeline that is ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The file's name without `.toml`.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Seed of every random draw.
    pub seed: u64,
    /// Where the dataset comes from.
    pub source: Source,
    /// Settings of the stage `train`, if the pipeline has it.
    pub train: Option<train::Settings>,
    /// Settings of the stage `map`, if the pipeline has it.
    pub map: Option<estimate::MapSettings>,
    /// Settings of the stage `estimate`, if the pipeline has it.
    pub estimate: Option<estimate::Settings>,
    /// Settings of the stage `report`, if the pipeline has it.
    pub report: Option<ReportSettings>,
    /// When the model of a run comes into use; whenever its stages give one if absent.
    pub promote: Option<PromoteSettings>,
    /// What is told of a run, and to whom.
    pub run: RunSettings,
    /// What makes the stages.
    pub executor: ExecutorChoice,
    /// What its jobs ask of Slurm.
    pub slurm: Option<SlurmSettings>,
    /// The dataset's name.
    pub dataset: String,
    /// Directory of the dataset.
    pub dataset_directory: PathBuf,
    /// Directory of everything else.
    pub workspace: PathBuf,
    effective: Settings,
    /// The file, which knows the place of each setting.
    pub(crate) document: Document,
}

impl Plan {
    /// The plan of a pipeline named `name` whose settings have no problem; `document` is the file that they were read from.
    pub(super) fn resolve(
        name: String,
        document: Document,
        mut settings: Settings,
        locations: &Locations,
    ) -> Option<Self> {
        if let Some(generate) = &mut settings.generate
            && let Ok(system) = generate.find_system()
        {
            *generate = generate.resolved(&system);
        }
        if let Some(estimate) = settings.estimate.as_mut().filter(|estimate| estimate.method == Method::Physics) {
            estimate.physics.get_or_insert_default();
        }
        let (source, dataset) = match (settings.generate.clone(), settings.import.clone()) {
            (Some(generate), _) => (Source::Generate(Box::new(generate.clone())), generate.dataset),
            (None, Some(import)) => (Source::Import(Box::new(import.clone())), import.dataset),
            (None, None) => return None,
        };
        let workspace = locations.workspace.clone().unwrap_or_else(|| Path::new("runs").join(&name));
        Some(Plan {
            name,
            description: settings.description.clone(),
            seed: settings.seed,
            source,
            train: settings.train.clone(),
            map: settings.map.clone(),
            estimate: settings.estimate.clone(),
            report: settings.report.clone(),
            promote: settings.promote.clone(),
            run: settings.run.clone().unwrap_or_default(),
            executor: settings.executor,
            slurm: settings.slurm.clone(),
            dataset_directory: locations.datasets.join(&dataset),
            dataset,
            workspace,
            effective: settings,
            document,
        })
    }

    /// The stages that the pipeline has, in the order in which they run.
    pub fn stages(&self) -> Vec<Stage> {
        Stage::ALL.into_iter().filter(|&stage| self.has(stage)).collect()
    }

    /// Whether the pipeline has this stage.
    pub fn has(&self, stage: Stage) -> bool {
        match stage {
            Stage::Generate => matches!(self.source, Source::Generate(_)),
            Stage::Import => matches!(self.source, Source::Import(_)),
            Stage::Train => self.train.is_some(),
            Stage::Map => self.map.is_some(),
            Stage::Estimate => self.estimate.is_some(),
            Stage::Report => self.report.is_some(),
        }
    }

    /// Whether parameters are estimated by a trained model, not by known equations.
    pub fn estimates_by_model(&self) -> bool {
        self.estimate.as_ref().is_none_or(|estimate| estimate.method == Method::Learned)
    }

    /// The settings of the training, if a model is trained: not where estimates are made by equations.
    pub(crate) fn trains(&self) -> Option<&train::Settings> {
        self.train.as_ref().filter(|_| self.estimates_by_model())
    }

    /// Whether the pipeline uses what `stage` makes. A model is not used if estimates are made by equations.
    pub fn needs(&self, stage: Stage) -> bool {
        self.estimates_by_model() || !matches!(stage, Stage::Train | Stage::Map)
    }

    /// The stages whose products `stage` is made from.
    pub fn parents(&self, stage: Stage) -> Vec<Stage> {
        if stage.makes_dataset() {
            return Vec::new();
        }
        let needs_model = stage < Stage::Estimate || self.estimates_by_model();
        let is_of_model = |other: Stage| matches!(other, Stage::Train | Stage::Map);
        let before = self.stages().into_iter().filter(|&other| other < stage);
        before.filter(|&other| needs_model || !is_of_model(other)).collect()
    }

    /// The effective pipeline as TOML, every default filled in.
    pub fn effective_toml(&self) -> String {
        in_toml(&self.effective)
    }

    /// The same without `[promote]`, `[run]`, `executor` and `[slurm]`, which no product depends on.
    pub fn toml_of_products(&self) -> String {
        in_toml(&self.of_products())
    }

    fn of_products(&self) -> Settings {
        Settings {
            promote: None,
            run: None,
            executor: ExecutorChoice::Local,
            slurm: None,
            sweep: None,
            ..self.effective.clone()
        }
    }

    /// The effective pipeline as JSON, every default filled in.
    pub fn effective_json(&self) -> Value {
        serde_json::to_value(&self.effective).unwrap_or(Value::Null)
    }

    /// The effective settings of one stage, as they enter its fingerprint.
    pub fn settings(&self, stage: Stage) -> Value {
        let effective = self.effective_json();
        match stage {
            // The report shows the whole pipeline, as far as products depend on it.
            Stage::Report => serde_json::to_value(self.of_products()).unwrap_or(Value::Null),
            // The map is fitted to contexts that are adapted as estimates are.
            Stage::Map => serde_json::json!({ "map": effective.get("map"), "estimate": effective.get("estimate") }),
            _ => effective.get(stage.name()).cloned().unwrap_or(Value::Null),
        }
    }

    /// `models/PIPELINE` in the workspace.
    pub fn model_directory(&self) -> PathBuf {
        self.workspace.join("models").join(&self.name)
    }

    /// The model that estimates are made by: the one that the stages left, or with `[promote]` the version in use.
    pub fn model_in_use(&self) -> PathBuf {
        match self.promote {
            Some(_) => self.versions_directory().join(CURRENT),
            None => self.model_directory(),
        }
    }

    /// The model that training starts from, if it starts from one: where nothing is in use yet, `current` is none.
    pub fn start_of_training(&self) -> Option<PathBuf> {
        let named = self.train.as_ref()?.warm_start.as_deref()?;
        let current = self.versions_directory().join(CURRENT);
        match named {
            CURRENT => Some(current).filter(|current| current.exists()),
            path => Some(PathBuf::from(path)),
        }
    }

    /// `models/PIPELINE.versions` in the workspace.
    pub fn versions_directory(&self) -> PathBuf {
        self.workspace.join("models").join(format!("{}.versions", self.name))
    }

    /// `estimates` in the workspace.
    pub fn estimates_directory(&self) -> PathBuf {
        self.workspace.join("estimates")
    }

    /// `report` in the workspace.
    pub fn report_directory(&self) -> PathBuf {
        self.workspace.join("report")
    }

    /// Where the training with this fingerprint keeps what TensorBoard shows of it, in the workspace.
    pub fn tensorboard_directory(&self, fingerprint: &str) -> PathBuf {
        self.workspace.join("tensorboard").join(&fingerprint[..16.min(fingerprint.len())])
    }

    /// What is known of `stage` while it is unfinished, in the workspace.
    pub fn attempt_path(&self, stage: Stage) -> PathBuf {
        self.workspace.join("stages").join(format!("{stage}.unfinished.json"))
    }

    /// The records of the runs in the workspace.
    pub fn run_records_directory(&self) -> PathBuf {
        self.workspace.join(RUN_RECORDS)
    }

    /// The lock of the workspace.
    pub fn lock_path(&self) -> PathBuf {
        self.workspace.join(".lock")
    }

    /// The record of `stage` in the workspace.
    pub fn record_path(&self, stage: Stage) -> PathBuf {
        self.workspace.join("stages").join(format!("{stage}.json"))
    }
}

/// Settings as TOML, numbers as people write them.
fn in_toml(settings: &Settings) -> String {
    match toml::to_string(settings) {
        Ok(text) => text.lines().map(|line| readable_number(line) + "\n").collect(),
        Err(error) => format!("# cannot be written as TOML: {error}\n"),
    }
}

/// `key = 0.000000001` as `key = 1e-9`.
fn readable_number(line: &str) -> String {
    match line.split_once(" = ").and_then(|(key, value)| Some((key, value.parse::<f64>().ok()?))) {
        Some((key, value)) if value != 0.0 && value.abs() < 1e-3 => format!("{key} = {value:e}"),
        _ => line.to_owned(),
    }
}
