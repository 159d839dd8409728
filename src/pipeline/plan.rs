//! A pipeline file, resolved: every default filled in, every problem found, every place named.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::Value;

use super::check::schema;
use super::check::sections::{NAME_RULE, impossible_values, is_name};
use super::document::{Document, whole_numbers};
use super::settings::{ReportSettings, Settings};
use super::stage::Stage;
use super::system_file;
use crate::estimate::Method;
use crate::problems::{Diagnostic, Place};
use crate::{estimate, generate, import, train};

/// Where a run puts things; relative paths are relative to the current directory.
#[derive(Clone, Debug)]
pub struct Locations {
    /// Holds the datasets, each under its name.
    pub datasets: PathBuf,
    /// Everything else of the run; `runs/PIPELINE` if absent.
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
    Generate(Box<generate::Settings>),
    Import(Box<import::Settings>),
}

/// A pipeline that is ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The file's name without `.toml`.
    pub name: String,
    pub description: String,
    pub seed: u64,
    pub source: Source,
    pub train: Option<train::Settings>,
    pub map: Option<estimate::MapSettings>,
    pub estimate: Option<estimate::Settings>,
    pub report: Option<ReportSettings>,
    /// The dataset's name.
    pub dataset: String,
    /// Where the dataset stands.
    pub dataset_directory: PathBuf,
    /// Everything else of the run.
    pub workspace: PathBuf,
    effective: Settings,
    /// Where each setting was said.
    pub(crate) document: Document,
}

impl Plan {
    /// Reads `file`, applies the `--set` arguments, and resolves it.
    ///
    /// # Errors
    /// Every problem there is, in order of place.
    pub fn load(file: &Path, arguments: &[String], locations: &Locations) -> Result<Self, Vec<Diagnostic>> {
        let name = pipeline_name(file);
        let (document, mut settings, problems) = read(file, arguments)?;
        if !problems.is_empty() {
            return Err(problems);
        }
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
            (None, None) => return Err(missing_stages(&document)),
        };
        let workspace = locations.workspace.clone().unwrap_or_else(|| Path::new("runs").join(&name));
        Ok(Plan {
            name,
            description: settings.description.clone(),
            seed: settings.seed,
            source,
            train: settings.train.clone(),
            map: settings.map.clone(),
            estimate: settings.estimate.clone(),
            report: settings.report.clone(),
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

    /// Whether anything of the pipeline is made from what `stage` makes, or it is made for its own sake. A model is made for nothing
    /// where estimates are made by equations.
    pub fn needs(&self, stage: Stage) -> bool {
        self.estimates_by_model() || !matches!(stage, Stage::Train | Stage::Map)
    }

    /// The stages before `stage`, whose products it is made from.
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
        match toml::to_string(&self.effective) {
            Ok(text) => text.lines().map(|line| readable_number(line) + "\n").collect(),
            Err(error) => format!("# cannot be written as TOML: {error}\n"),
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
            // The report shows the whole pipeline.
            Stage::Report => effective,
            // The map is fitted to contexts that are adapted as estimates are.
            Stage::Map => serde_json::json!({ "map": effective.get("map"), "estimate": effective.get("estimate") }),
            _ => effective.get(stage.name()).cloned().unwrap_or(Value::Null),
        }
    }

    /// `models/PIPELINE` in the workspace.
    pub fn model_directory(&self) -> PathBuf {
        self.workspace.join("models").join(&self.name)
    }

    /// `estimates` in the workspace.
    pub fn estimates_directory(&self) -> PathBuf {
        self.workspace.join("estimates")
    }

    /// `report` in the workspace.
    pub fn report_directory(&self) -> PathBuf {
        self.workspace.join("report")
    }

    /// The record of `stage` in the workspace.
    pub fn record_path(&self, stage: Stage) -> PathBuf {
        self.workspace.join("stages").join(format!("{stage}.json"))
    }
}

static SCHEMA: LazyLock<(Value, jsonschema::Validator)> = LazyLock::new(|| {
    let schema = schemars::schema_for!(Settings).to_value();
    let validator = jsonschema::validator_for(&schema).expect("schemars writes valid schemas");
    (schema, validator)
});

/// The settings in `file` after the `--set` arguments, and what is wrong with them though they can be read.
///
/// # Errors
/// Every problem there is, in order of place, if there are settings that cannot be read.
#[allow(clippy::type_complexity)]
pub(crate) fn read(
    file: &Path,
    arguments: &[String],
) -> Result<(Document, Settings, Vec<Diagnostic>), Vec<Diagnostic>> {
    let (mut document, mut problems) = Document::read(file)?;
    problems.extend(system_file::embed(&mut document, file)?);
    for (index, argument) in arguments.iter().enumerate() {
        match document.set(index, argument) {
            Ok(more) => problems.extend(more),
            Err(problem) => problems.push(*problem),
        }
    }
    problems.extend(system_file::embed(&mut document, file)?);
    let (schema, validator) = &*SCHEMA;
    problems.extend(schema::differences(&document, schema, validator));
    problems.extend(missing_stages(&document));
    if problems.is_empty() {
        match serde_json::from_value::<Settings>(whole_numbers(document.root())) {
            Ok(settings) => {
                let mut problems = impossible_values(&document, &settings);
                problems.extend(name_problem(file));
                problems.sort();
                problems.dedup();
                return Ok((document, settings, problems));
            }
            Err(error) => problems.push(Diagnostic {
                place: Place::File { file: document.file().to_owned() },
                key: String::new(),
                found: format!("a value that cannot be ({error})"),
                expected: "what `paramill schema pipeline` says".to_owned(),
                remedy: "correct the value".to_owned(),
            }),
        }
    }
    problems.extend(name_problem(file));
    problems.sort();
    problems.dedup();
    Err(problems)
}

/// Sections that need one another, as far as the file's own top-level keys tell.
fn missing_stages(document: &Document) -> Vec<Diagnostic> {
    let has = |stage: Stage| document.root().get(stage.name()).is_some();
    let mut problems = Vec::new();
    let mut push = |path: &[String], found: String, expected: &str, remedy: &str| {
        problems.push(Diagnostic {
            place: document.key_place(path),
            key: path.join("."),
            found,
            expected: expected.to_owned(),
            remedy: remedy.to_owned(),
        });
    };
    match (has(Stage::Generate), has(Stage::Import)) {
        (false, false) => push(
            &[],
            "neither [generate] nor [import]".to_owned(),
            "one of them: a pipeline begins with its dataset",
            "add a [generate] section, or an [import] section for archives",
        ),
        (true, true) => push(
            &["import".to_owned()],
            "[import] beside [generate]".to_owned(),
            "one of them: a pipeline has one dataset",
            "remove one of the two sections",
        ),
        _ => {}
    }
    let needs = [(Stage::Map, Stage::Train), (Stage::Estimate, Stage::Map), (Stage::Report, Stage::Estimate)];
    let method = document.root().pointer("/estimate/method").and_then(Value::as_str);
    for (stage, needed) in needs {
        let needs_none = stage == Stage::Estimate && method == Some("physics");
        if has(stage) && !has(needed) && !needs_none {
            push(
                &[stage.name().to_owned()],
                format!("[{stage}] without [{needed}]"),
                &format!("[{needed}] before it"),
                &format!("add [{needed}] (it may be empty: every key has a default), or remove [{stage}]"),
            );
        }
    }
    problems
}

/// `key = 0.000000001` as `key = 1e-9`.
fn readable_number(line: &str) -> String {
    match line.split_once(" = ").and_then(|(key, value)| Some((key, value.parse::<f64>().ok()?))) {
        Some((key, value)) if value != 0.0 && value.abs() < 1e-3 => format!("{key} = {value:e}"),
        _ => line.to_owned(),
    }
}

fn pipeline_name(file: &Path) -> String {
    file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn name_problem(file: &Path) -> Option<Diagnostic> {
    let name = pipeline_name(file);
    (!is_name(&name)).then(|| Diagnostic {
        place: Place::File { file: file.display().to_string() },
        key: String::new(),
        found: format!("the name \"{name}\""),
        expected: NAME_RULE.to_owned(),
        remedy: "rename the file: the run's directory is named after it".to_owned(),
    })
}
