//! A pipeline file, resolved: every default filled in, every problem found, every place named.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::Value;

use super::diagnostic::{Diagnostic, Place};
use super::document::Document;
use super::settings::{ReportSettings, Settings};
use super::stage::Stage;
use super::{nearest, system_file, validate};
use crate::estimate::Method;
use crate::report::Summary;
use crate::schema::Split;
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
}

impl Plan {
    /// Reads `file`, applies the `--set` arguments, and resolves it.
    ///
    /// # Errors
    /// Every problem there is, in order of place.
    pub fn load(file: &Path, arguments: &[String], locations: &Locations) -> Result<Self, Vec<Diagnostic>> {
        let name = pipeline_name(file)?;
        let (mut document, mut problems) = Document::read(file)?;
        problems.extend(system_file::embed(&mut document, file)?);
        for (index, argument) in arguments.iter().enumerate() {
            match document.set(index, argument) {
                Ok(more) => problems.extend(more),
                Err(problem) => problems.push(*problem),
            }
        }
        problems.extend(system_file::embed(&mut document, file)?);
        let mut settings = resolve(&document, problems)?;
        if let Some(generate) = &mut settings.generate
            && let Ok(system) = generate.find_system()
        {
            *generate = generate.resolved(system);
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

fn resolve(document: &Document, mut problems: Vec<Diagnostic>) -> Result<Settings, Vec<Diagnostic>> {
    let (schema, validator) = &*SCHEMA;
    problems.extend(validate::differences(document, schema, validator));
    problems.extend(missing_stages(document));
    if problems.is_empty() {
        match serde_json::from_value::<Settings>(whole_numbers(document.root())) {
            Ok(settings) => {
                problems.extend(impossible_values(document, &settings));
                if problems.is_empty() {
                    return Ok(settings);
                }
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

/// What no schema can state: values that contradict one another, or name what does not exist.
fn impossible_values(document: &Document, settings: &Settings) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut push = |path: Vec<String>, found: String, expected: String, remedy: String| {
        let place = document.value_place(&path);
        problems.push(Diagnostic { place, key: path.join("."), found, expected, remedy });
    };
    let at = |section: &str, key: &str| {
        let segments = key.split(['.', '[', ']']).filter(|segment| !segment.is_empty());
        std::iter::once(section).chain(segments).map(str::to_owned).collect::<Vec<_>>()
    };
    if let Some(generate) = &settings.generate {
        for problem in generate.validate() {
            push(at("generate", &problem.key), problem.found, problem.expected, problem.remedy);
        }
        let needed = [Split::Train, Split::Validation].into_iter().filter(|_| settings.train.is_some());
        for split in needed.filter(|split| !generate.splits.contains_key(split)) {
            push(
                at("generate", "splits"),
                format!("no split `{split}`"),
                "it, because the pipeline has a [train] section".to_owned(),
                format!("add [generate.splits.{split}]"),
            );
        }
        if let Some(estimate) = &settings.estimate
            && !estimate.splits.iter().any(|split| generate.splits.contains_key(split))
        {
            let names: Vec<_> = generate.splits.keys().map(|split| split.name()).collect();
            push(
                at("estimate", "splits"),
                "no split that [generate] makes".to_owned(),
                format!("one of {}", names.join(", ")),
                "add a split of new environments, such as [generate.splits.adapt]".to_owned(),
            );
        }
    }
    if let Some(import) = &settings.import {
        for problem in import.validate() {
            let key = problem.setting.unwrap_or_default();
            push(
                at("import", key.strip_prefix("import").unwrap_or(&key)),
                problem.found,
                problem.expected,
                problem.remedy,
            );
        }
    }
    let sources = [
        ("generate", settings.generate.as_ref().map(|section| &section.dataset)),
        ("import", settings.import.as_ref().map(|section| &section.dataset)),
    ];
    for (section, dataset) in sources {
        if let Some(name) = dataset.filter(|name| !is_name(name)) {
            push(
                at(section, "dataset"),
                format!("the name \"{name}\""),
                NAME_RULE.to_owned(),
                "choose a name that can be a directory".to_owned(),
            );
        }
    }
    if let Some(estimate) = settings.estimate.as_ref().filter(|it| it.method == Method::Physics || it.physics.is_some())
    {
        let physics = estimate.physics.clone().unwrap_or_default();
        for problem in physics.validate() {
            let key = format!("physics.{}", problem.key);
            push(at("estimate", &key), problem.found, problem.expected, problem.remedy);
        }
        if physics.system.is_none() && settings.import.is_some() {
            push(
                at("estimate", "physics.system"),
                "nothing".to_owned(),
                "the equations of the imported data".to_owned(),
                "add `system = \"...\"` to [estimate.physics]".to_owned(),
            );
        }
    }
    let figures = figures();
    for (position, published) in settings.report.iter().flat_map(|report| report.published.iter().enumerate()) {
        if !figures.contains(&published.figure) {
            let remedy = nearest(&published.figure, figures.iter().map(String::as_str));
            push(
                at("report", &format!("published.{position}.figure")),
                format!("the figure \"{}\"", published.figure),
                format!("one of {}", figures.join(", ")),
                remedy.map_or("choose one of them".to_owned(), |name| format!("did you mean \"{name}\"?")),
            );
        }
    }
    problems
}

/// The figures of a summary that can stand beside a published number.
fn figures() -> Vec<String> {
    let schema = schemars::schema_for!(Summary).to_value();
    let fields = schema.get("properties").and_then(Value::as_object);
    let is_figure = |field: &Value| field.pointer("/type/0").and_then(Value::as_str) == Some("number");
    fields.into_iter().flatten().filter(|(_, field)| is_figure(field)).map(|(name, _)| name.clone()).collect()
}

/// `1e4` is a whole number to a person and to JSON Schema; make it one to serde.
pub(super) fn whole_numbers(value: &Value) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    match value {
        Value::Object(table) => table.iter().map(|(key, value)| (key.clone(), whole_numbers(value))).collect(),
        Value::Array(items) => items.iter().map(whole_numbers).collect(),
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(float)
                if float.fract() == 0.0 && float.abs() < EXACT && !(float == 0.0 && float.is_sign_negative()) =>
            {
                Value::from(float as i64)
            }
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

/// `key = 0.000000001` as `key = 1e-9`.
fn readable_number(line: &str) -> String {
    match line.split_once(" = ").and_then(|(key, value)| Some((key, value.parse::<f64>().ok()?))) {
        Some((key, value)) if value != 0.0 && value.abs() < 1e-3 => format!("{key} = {value:e}"),
        _ => line.to_owned(),
    }
}

const NAME_RULE: &str = "letters, digits, `.`, `_` and `-`, beginning with a letter or digit";

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '.' | '_' | '-'))
}

fn pipeline_name(file: &Path) -> Result<String, Vec<Diagnostic>> {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    if is_name(&stem) || !file.is_file() {
        return Ok(stem);
    }
    Err(vec![Diagnostic {
        place: Place::File { file: file.display().to_string() },
        key: String::new(),
        found: format!("the name \"{stem}\""),
        expected: NAME_RULE.to_owned(),
        remedy: "rename the file: the run's directory is named after it".to_owned(),
    }])
}
