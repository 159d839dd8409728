//! Brings a table of estimates up to date with its archive.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::finished;
use super::known::{Known, KnownRow, of_table};
use super::reading::{Read, Reading, read};
use super::request::{Request, Update};
use super::sources::{Archive, Sources, Standing};
use super::table::merge;
use crate::atomic::{Directory, settle};
use crate::dataset::Dataset;
use crate::digest::sha256;
use crate::engine::Compute;
use crate::estimate;
use crate::estimate::{Method, Scope};
use crate::import;
use crate::import::run::write;
use crate::import::{Parameter, Settings, Splits};
use crate::pipeline::lock::{Lock, dataset_lock};
use crate::pipeline::stages::{computed_by, engine_of_estimates};
use crate::pipeline::{Error, sweep_directories};
use crate::progress::{Event, Run};
use crate::schema::{FormatVersion, Quantity, Split};

/// What remains after a request to stop.
const KEPT: &str = "the table is as it was; finished blocks are kept, and the same command goes on behind them";

/// Estimates the environments of the archive that are new, changed, or chosen, and puts their rows into the table. Where nothing is due the
/// table is not touched.
///
/// # Errors
/// If the archive, the model or the table cannot be used, another process holds the table, or a signal comes; the table is then as it was.
pub fn update(request: &Request, compute: Compute, run: &Run) -> Result<Update, Error> {
    bring_up_to_date(request, compute, run).map_err(|error| match error {
        Error::Interrupted { signal, .. } => Error::Interrupted { signal, kept: KEPT.to_owned() },
        error => error,
    })
}

fn bring_up_to_date(request: &Request, compute: Compute, run: &Run) -> Result<Update, Error> {
    let table = request.table;
    refuse_shared(request.estimate)?;
    let parent = table.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let _lock = if request.is_dry { None } else { Some(Lock::exclusive(&dataset_lock(table))?) };
    if !request.is_dry {
        // A table that a killed run has replaced is put in its place before anything is read or swept.
        settle(table).map_err(Error::io(table))?;
        sweep_directories(parent, run);
    }
    let known = Known::read(table)?;
    let mut settings =
        Settings { splits: Splits { adapt: vec!["*".to_owned()], ..Splits::default() }, ..request.import.clone() };
    let problems = settings.validate();
    if !problems.is_empty() {
        return Err(import::Error::Settings(problems).into());
    }
    let made_by = made_by(request);
    // Of new environments nothing is known but what a side table says; the model knows what there is to estimate.
    if let Some(model) = request.model.filter(|_| settings.parameters.is_empty()) {
        settings.parameters = model.manifest.parameters.iter().map(unknown).collect();
    }
    let is_again = |row: &KnownRow| request.again.chooses(row.status, row.made_by != made_by);
    let archive = Archive::find(&settings, Path::new(""))?;
    let import_sha256 = import_digest(&settings);
    let all_anew = known.import_sha256 != import_sha256;
    let standing = archive.standing(&known.sources, all_anew, SystemTime::now(), request.settle);
    archive.warnings.iter().for_each(|warning| run.emit(Event::Warn(warning.to_string())));
    let mut reading = match read(&settings, &archive, &known, &is_again, standing, run)? {
        Read::Some(reading) => *reading,
        Read::Nothing(standing) => {
            tell_of_files_left(&standing, run);
            return nothing_due(request, &archive, &known, &made_by, standing);
        }
    };
    tell_of_files_left(&reading.standing, run);
    let mut update = reading.update(&known, &is_again, &made_by);
    let due: BTreeSet<String> = update.new.iter().chain(&update.changed).chain(&update.again).cloned().collect();
    if request.is_dry {
        return Ok(update);
    }
    let origins = reading.origins(&due, request, &made_by)?;
    let moved = reading.moved(&due, &known)?;
    let work = Directory::create(&parent.join("estimates")).map_err(Error::io(parent))?;
    let new = match due.is_empty() {
        true => None,
        false => Some(estimated(request, &settings, &mut reading, (&due, &made_by), work.path(), compute, run)?),
    };
    if new.is_none() && known.rows.is_empty() {
        return Ok(update);
    }
    if let Some((_, outcome)) = &new {
        let evaluation = &outcome.manifest.evaluation;
        update.statuses.clone_from(&evaluation.statuses);
        (update.environments, update.environments_failed) = (evaluation.environments, evaluation.environments_failed);
    }
    let sources = Sources { format: FormatVersion::ESTIMATES, import_sha256, files: reading.records };
    let merged = merge(table, new.as_ref().map(|(path, _)| path.as_path()), &origins, &moved, &sources);
    let merged = merged.map_err(of_table)?;
    finished::forget(table);
    update.rows = merged.manifest.evaluation.environments;
    Ok(update)
}

/// Names the files that are left for the next time.
fn tell_of_files_left(standing: &Standing, run: &Run) {
    for file in &standing.moving {
        run.emit(Event::Note(format!("{file} is still being written: it waits for the next time")));
    }
    for why in standing.unreadable.values() {
        run.emit(Event::Warn(format!("{why}; until then the file is left out, and tried again each time")));
    }
}

/// What all environments share changes with every new one, and with it every row: that is a matter of a whole dataset.
///
/// # Errors
/// [`Error::Usage`] that names such parameters.
fn refuse_shared(settings: &estimate::Settings) -> Result<(), Error> {
    let scopes = settings.physics.iter().flat_map(|physics| &physics.scopes);
    let shared: Vec<&str> = scopes.filter(|(_, scope)| **scope == Scope::All).map(|(name, _)| name.as_str()).collect();
    if shared.is_empty() {
        return Ok(());
    }
    let found = format!("estimate.physics.scopes: found \"all\" of {}", shared.join(", "));
    let expected = "\"environment\" or \"trajectory\", for what all share changes with every new environment";
    Err(Error::Usage(format!(
        "{found}; expected {expected}; estimate by `paramill run`, which takes all of a dataset together"
    )))
}

/// A parameter that no side table has.
fn unknown(Quantity { name, unit, description, .. }: &Quantity) -> Parameter {
    let (name, unit, description) = (name.clone(), unit.clone(), description.clone());
    Parameter { name, unit, description, expression: String::new() }
}

/// Forgets files that are gone, so that each is reported once.
fn nothing_due(
    request: &Request,
    archive: &Archive,
    known: &Known,
    made_by: &[String; 2],
    standing: Standing,
) -> Result<Update, Error> {
    if !standing.vanished.is_empty() && !request.is_dry {
        let files = archive.records(&BTreeMap::new(), &known.sources, &standing.unreadable);
        let import_sha256 = known.import_sha256.clone();
        let sources = Sources { format: FormatVersion::ESTIMATES, import_sha256, files };
        merge(request.table, None, &BTreeMap::new(), &BTreeMap::new(), &sources).map_err(of_table)?;
    }
    Ok(Update {
        kept: known.rows.len(),
        by_others: known.rows.values().filter(|row| row.made_by != *made_by).count(),
        vanished_files: standing.vanished,
        waiting_files: standing.moving,
        unreadable_files: standing.unreadable,
        rows: known.rows.len(),
        ..Update::default()
    })
}

/// SHA-256 of what the files are said to be; where they are has no say.
fn import_digest(settings: &Settings) -> String {
    let here = Settings { directory: String::new(), ..settings.clone() };
    sha256(&serde_json::to_vec(&here).expect("settings are plain data"))
}

/// SHA-256 of the model and of the settings: rows of others were made otherwise.
fn made_by(request: &Request) -> [String; 2] {
    let settings = sha256(&serde_json::to_vec(request.estimate).expect("settings are plain data"));
    let model = match request.model {
        Some(model) => model.content_hash.clone(),
        None => sha256(&serde_json::to_vec(&request.estimate.physics).expect("settings are plain data")),
    };
    [model, settings]
}

/// The rows of due environments, in a directory of estimates below `work`.
fn estimated(
    request: &Request,
    settings: &Settings,
    reading: &mut Reading,
    (due, made_by): (&BTreeSet<String>, &[String; 2]),
    work: &Path,
    compute: Compute,
    run: &Run,
) -> Result<(PathBuf, estimate::Outcome), Error> {
    let (dataset, directory) = (work.join("dataset"), work.join("new"));
    write(settings, &mut reading.loaded, &dataset, &|id| due.contains(id), run)?;
    let dataset = Dataset::open(&dataset)?;
    let estimate = estimate::Settings { splits: vec![Split::Adapt], ..request.estimate.clone() };
    let computed_by = computed_by(&engine_of_estimates(request.model, compute)?);
    let store = finished::store(request.table, &dataset, made_by, &computed_by);
    let outcome = match (estimate.method, request.model) {
        (Method::Learned, Some(model)) => {
            estimate::resume(&estimate, compute, (&dataset, model), &directory, Some(&store), run)
        }
        (Method::Learned, None) => {
            return Err(Error::Usage(
                "estimate.method: found `learned` without a model; expected one, or `physics`".to_owned(),
            ));
        }
        (Method::Physics, _) => estimate::physics::resume(&estimate, &dataset, &directory, Some(&store), run),
    };
    Ok((directory, outcome?))
}
