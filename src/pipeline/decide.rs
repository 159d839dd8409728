//! Whether a stage has to run, and why.
//!
//! A stage is up to date if its product exists and is whole, is the one that its record describes, and was made from
//! the same ingredients. Datasets are shared among pipelines, so for them the manifest decides: a dataset made from
//! the same ingredients is adopted, whoever made it; one that differs is replaced only if this pipeline made it, or by
//! force.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::attempt::Attempt;
use super::error::Error;
use super::executor::{Executor, Product};
use super::fingerprint::{Ingredients, canonical, differences};
use super::plan::Plan;
use super::record::Record;
use super::stage::Stage;
use crate::dataset::{Manifest, Parent};
use crate::digest::sha256;
use crate::regular;
use crate::schema::{FormatVersion, TOOL, algorithm};

/// What the product of `stage` would be made from now. Products of `pending` stages are still to be made and may be missing.
///
/// # Errors
/// If another input is missing or cannot be read.
pub(crate) fn ingredients(
    plan: &Plan,
    stage: Stage,
    executor: &dyn Executor,
    pending: &[Stage],
) -> Result<Ingredients, Error> {
    let mut parents = if stage.makes_dataset() { executor.sources(plan)? } else { Vec::new() };
    for parent in plan.parents(stage) {
        // A dataset needs no record; that the other products are finished is known from their records only.
        let finished = parent.makes_dataset() || plan.record_path(parent).exists();
        match executor.input(plan, parent, stage)? {
            Some(Product { sha256, damage: None, .. }) if finished => {
                parents.push(Parent { name: product_name(parent), sha256 });
            }
            _ if pending.contains(&parent) => {}
            found => {
                let (needs, path) = (parent, product_path(plan, parent));
                return Err(match found.and_then(|product| product.damage) {
                    Some(found) => Error::DamagedInput { stage, needs, path, found },
                    None => Error::MissingInput { stage, needs, path },
                });
            }
        }
        if stage.reads_records()
            && let Ok(bytes) = regular::read(&plan.record_path(parent))
        {
            parents.push(Parent { name: format!("the record of {parent}"), sha256: sha256(&bytes) });
        }
    }
    if stage == Stage::Train {
        parents.extend(executor.start_of_training(plan)?);
    }
    Ok(Ingredients {
        stage,
        algorithm: algorithm(stage.name()),
        settings: if stage.makes_dataset() { executor.configuration(plan) } else { plan.settings(stage) },
        seed: Some(plan.seed).filter(|_| stage.uses_seed()),
        parents,
    })
}

/// What is to be done about `stage`.
///
/// # Errors
/// If the dataset's directory holds something that must not be replaced.
pub(crate) fn decide(
    plan: &Plan,
    stage: Stage,
    ingredients: &Ingredients,
    forced: bool,
    executor: &dyn Executor,
) -> Result<Decision, Error> {
    let record = Record::read(&plan.record_path(stage));
    let product = executor.product(plan, stage)?;
    if stage.makes_dataset() {
        return decide_dataset(plan, stage, ingredients, forced, executor, record, product);
    }
    let run = |reasons: Vec<String>| Ok(Decision { stage, action: Action::Run, reasons });
    if forced {
        return run(vec!["forced".to_owned()]);
    }
    let Some(product) = product else {
        return run(vec!["not made yet".to_owned()]);
    };
    let unrecorded = || Attempt::made_from(plan, stage, &product.path, &ingredients.fingerprint());
    let is_recorded = record.as_ref().is_some_and(|it| it.is_of(ingredients) && it.sha256 == product.sha256);
    if !is_recorded && product.damage.is_none() && unrecorded() {
        return Ok(Decision { stage, action: Action::Adopt, reasons: vec![of_one_that_died(&product.path)] });
    }
    let Some(record) = record else {
        let reason = if product.path.exists() { "no record of how it was made" } else { "not made yet" };
        return run(vec![reason.to_owned()]);
    };
    if let Some(damage) = product.damage {
        return run(vec![format!("{} {damage}", product.path.display())]);
    }
    if !record.is_of(ingredients) {
        return run(ingredients.changes_since(&record.ingredients));
    }
    if record.sha256 != product.sha256 {
        return run(vec![format!("{} is not what the stage left there", product.path.display())]);
    }
    Ok(Decision { stage, action: Action::Keep, reasons: vec!["up to date".to_owned()] })
}

fn of_one_that_died(path: &Path) -> String {
    format!("{} was made here by a run that died before it recorded it", path.display())
}

fn decide_dataset(
    plan: &Plan,
    stage: Stage,
    ingredients: &Ingredients,
    forced: bool,
    executor: &dyn Executor,
    record: Option<Record>,
    product: Option<Product>,
) -> Result<Decision, Error> {
    let path = plan.dataset_directory.clone();
    let run = |reasons: Vec<String>| Ok(Decision { stage, action: Action::Run, reasons });
    let Some(product) = product else {
        return run(vec!["not made yet".to_owned()]);
    };
    let manifest = match read_manifest(plan) {
        Ok(manifest) => manifest,
        Err(found) => return Err(Error::NotADataset { path, stage, found }),
    };
    let own = record.filter(|record| record.sha256 == product.sha256);
    let unrecorded = Attempt::made(plan, stage, &path, &product.sha256);
    let made_here = unrecorded || own.as_ref().is_some_and(|record| record.made_here);
    let mut changes = dataset_differences(&manifest, ingredients, &executor.configuration(plan));
    if let Some(damage) = product.damage {
        changes.push(format!("it {damage}"));
    }
    if forced {
        let replaced = if changes.is_empty() { "made the same way".to_owned() } else { changes.join("; ") };
        return run(vec![format!("forced; replaces {} ({replaced})", path.display())]);
    }
    if changes.is_empty() {
        let known = own.is_some_and(|record| record.is_of(ingredients));
        let (action, reason) = match (known, manifest.provenance.tool != TOOL) {
            (true, _) => (Action::Keep, "up to date".to_owned()),
            (false, _) if unrecorded => (Action::Adopt, of_one_that_died(&path)),
            (false, false) => (Action::Adopt, format!("{} is there already, made the same way", path.display())),
            (false, true) => {
                let maker = &manifest.provenance.tool;
                (Action::Adopt, format!("{} is there already, made the same way by {maker}", path.display()))
            }
        };
        return Ok(Decision { stage, action, reasons: vec![reason] });
    }
    if made_here {
        return run(vec![format!("replaces {} ({})", path.display(), changes.join("; "))]);
    }
    Err(Error::DatasetDiffers { path, stage, differences: changes })
}

/// How the product of `stage` differs from the one that the plan would give now; empty if there is no record or manifest to compare with.
pub fn changes_since(plan: &Plan, stage: Stage, executor: &dyn Executor) -> Vec<String> {
    let Ok(ingredients) = ingredients(plan, stage, executor, &[]) else { return Vec::new() };
    if stage.makes_dataset() {
        let manifest = read_manifest(plan).ok();
        return manifest.map_or_else(Vec::new, |manifest| {
            dataset_differences(&manifest, &ingredients, &executor.configuration(plan))
        });
    }
    let record = Record::read(&plan.record_path(stage));
    let record = record.filter(|record| !record.is_of(&ingredients));
    record.map_or_else(Vec::new, |record| ingredients.changes_since(&record.ingredients))
}

/// How the existing dataset differs from the one of the plan.
fn dataset_differences(manifest: &Manifest, ingredients: &Ingredients, configuration: &Value) -> Vec<String> {
    let provenance = &manifest.provenance;
    let mut changes = Vec::new();
    if provenance.stage != ingredients.stage.name() {
        changes.push(format!("made by {} -> {}", provenance.stage, ingredients.stage));
    }
    if provenance.algorithm != ingredients.algorithm {
        changes.push(format!("algorithm {} -> {}", provenance.algorithm, ingredients.algorithm));
    }
    if manifest.format.problem(FormatVersion::DATASET).is_some() {
        changes.push(format!("format {} -> {}", manifest.format, FormatVersion::DATASET));
    }
    changes.extend(differences(&canonical(&provenance.configuration), &canonical(configuration)));
    if ingredients.stage.uses_seed() && provenance.seed != ingredients.seed {
        let seed = |seed: Option<u64>| seed.map_or("(none)".to_owned(), |seed| seed.to_string());
        changes.push(format!("seed: {} -> {}", seed(provenance.seed), seed(ingredients.seed)));
    }
    for parent in &ingredients.parents {
        match provenance.parents.iter().find(|other| other.name == parent.name) {
            Some(other) if other.sha256 == parent.sha256 => {}
            Some(_) => changes.push(format!("{} has changed", parent.name)),
            None => changes.push(format!("{} is new", parent.name)),
        }
    }
    changes
}

fn read_manifest(plan: &Plan) -> Result<Manifest, String> {
    let bytes = regular::read(&plan.dataset_directory.join("manifest.json"));
    let bytes = bytes.map_err(|error| format!("a directory or file without a readable manifest.json ({error})"))?;
    let manifest: Manifest =
        serde_json::from_slice(&bytes).map_err(|error| format!("a manifest.json that is not a dataset's ({error})"))?;
    match manifest.kind.as_str() {
        "dataset" => Ok(manifest),
        kind => Err(format!("a manifest.json of kind \"{kind}\"")),
    }
}

/// What the product of `stage` is called among what others are made from.
pub(crate) fn product_name(stage: Stage) -> String {
    match stage {
        Stage::Generate | Stage::Import => "the dataset",
        Stage::Train => "the model",
        Stage::Map => "the map",
        Stage::Estimate => "the estimates",
        Stage::Report => "the report",
    }
    .to_owned()
}

/// The path of the product of `stage`.
pub(crate) fn product_path(plan: &Plan, stage: Stage) -> std::path::PathBuf {
    match stage {
        Stage::Generate | Stage::Import => plan.dataset_directory.clone(),
        Stage::Train | Stage::Map => plan.model_directory(),
        Stage::Estimate => plan.estimates_directory(),
        Stage::Report => plan.report_directory(),
    }
}

/// What is to be done about a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Run it.
    Run,
    /// Its product is up to date.
    Keep,
    /// The dataset that it would make exists already, made by another pipeline or workspace; or the dataset or model was made here by a run that died
    /// before it recorded it.
    Adopt,
    /// Whether it runs depends on the results of the stages before it (in previews only).
    Depends,
    /// Not asked for.
    Skip,
}

/// What is to be done about a stage, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The stage.
    pub stage: Stage,
    /// What is to be done.
    pub action: Action,
    /// Why, in words.
    pub reasons: Vec<String>,
}
