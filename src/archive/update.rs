//! Brings a table of estimates up to date with its archive.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::again::Again;
use super::known::{Known, KnownRow};
use super::origin::{Origin, data_digest};
use super::sources::{Archive, SourceRecord, Sources, Standing};
use super::table::merge;
use crate::atomic::{Directory, settle};
use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::digest::sha256;
use crate::engine::Compute;
use crate::estimate;
use crate::estimate::{Method, Scope, Status};
use crate::import;
use crate::import::load::{Loaded, load_some};
use crate::import::rows::store::unusable_temporary_file;
use crate::import::run::{settled, write};
use crate::import::{Parameter, Settings, Splits};
use crate::pipeline::lock::{Lock, dataset_lock};
use crate::pipeline::{Error, now, sweep_directories};
use crate::problems::many;
use crate::progress::{Event, Run};
use crate::schema::{FormatVersion, Quantity, Split};
use crate::systems::SystemSettings;

/// What is to be brought up to date, and how.
pub struct Request<'a> {
    /// What the files of the archive are. All its environments are estimated, whatever the splits say.
    pub import: &'a Settings,
    /// How they are estimated.
    pub estimate: &'a estimate::Settings,
    /// The trained model, for `method = "learned"`.
    pub model: Option<&'a StoredModel>,
    /// Directory of the table.
    pub table: &'a Path,
    /// Environments to estimate again although their data are as they were.
    pub again: &'a Again,
    /// A file that was changed so short a time ago may still be being written, and waits.
    pub settle: Duration,
    /// Whether only to say what would be done.
    pub is_dry: bool,
}

/// What was brought up to date.
#[derive(Debug, Default, Serialize)]
pub struct Update {
    /// Environments that the table did not have.
    pub new: Vec<String>,
    /// Environments with other data than before.
    pub changed: Vec<String>,
    /// Environments that were to be estimated again.
    pub again: Vec<String>,
    /// Rows that stay as they are.
    pub kept: usize,
    /// Rows that stay and are by another model or other settings than those at hand.
    pub by_others: usize,
    /// Files that were not there before.
    pub new_files: BTreeSet<String>,
    /// Files with other bytes than before.
    pub changed_files: BTreeSet<String>,
    /// Files that are no longer there; their rows stay.
    pub vanished_files: BTreeSet<String>,
    /// Files that are still being written, and wait for the next time.
    pub waiting_files: BTreeSet<String>,
    /// Of the environments that were estimated now.
    pub statuses: BTreeMap<Status, usize>,
    /// Environments that were estimated now.
    pub environments: usize,
    /// Of these, those whose status counts as failed.
    pub environments_failed: usize,
    /// Rows of the table.
    pub rows: usize,
}

impl Update {
    /// Number of environments to estimate.
    pub fn due(&self) -> usize {
        self.new.len() + self.changed.len() + self.again.len()
    }
}

/// Estimates the environments of the archive that are new, changed, or chosen, and puts their rows into the table. Where nothing is due the
/// table is not touched.
///
/// # Errors
/// If the archive, the model or the table cannot be used, another process holds the table, or a signal comes; the table is then as it was.
pub fn update(request: &Request, compute: Compute, run: &Run) -> Result<Update, Error> {
    bring_up_to_date(request, compute, run).map_err(|error| match error {
        Error::Interrupted { signal, .. } => Error::Interrupted { signal, kept: "the table is as it was".to_owned() },
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
    let mut reading = match read(&settings, &archive, &known, &is_again, standing, run)? {
        Read::Some(reading) => *reading,
        Read::Nothing(standing) => return nothing_due(request, &archive, &known, &made_by, standing),
    };
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
        false => Some(estimated(request, &settings, &mut reading, &due, work.path(), compute, run)?),
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
    let merged = merge(table, new.as_ref().map(|(path, _)| path.as_path()), &origins, &moved, &sources)?;
    update.rows = merged.manifest.evaluation.environments;
    Ok(update)
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
        let files = archive.records(&BTreeMap::new(), &known.sources);
        let import_sha256 = known.import_sha256.clone();
        let sources = Sources { format: FormatVersion::ESTIMATES, import_sha256, files };
        merge(request.table, None, &BTreeMap::new(), &BTreeMap::new(), &sources)?;
    }
    Ok(Update {
        kept: known.rows.len(),
        by_others: known.rows.values().filter(|row| row.made_by != *made_by).count(),
        vanished_files: standing.vanished,
        waiting_files: standing.moving,
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
    due: &BTreeSet<String>,
    work: &Path,
    compute: Compute,
    run: &Run,
) -> Result<(PathBuf, estimate::Outcome), Error> {
    let (dataset, directory) = (work.join("dataset"), work.join("new"));
    write(settings, &mut reading.loaded, &dataset, &|id| due.contains(id), run)?;
    let dataset = Dataset::open(&dataset)?;
    let estimate = estimate::Settings { splits: vec![Split::Adapt], ..request.estimate.clone() };
    let outcome = match (estimate.method, request.model) {
        (Method::Learned, Some(model)) => estimate::run(&estimate, compute, &dataset, model, &directory, run),
        (Method::Learned, None) => {
            return Err(Error::Usage(
                "estimate.method: found `learned` without a model; expected one, or `physics`".to_owned(),
            ));
        }
        (Method::Physics, _) => estimate::physics::run(&estimate, &dataset, &directory, run),
    };
    Ok((directory, outcome?))
}

/// What there was to read of an archive.
enum Read {
    Nothing(Standing),
    Some(Box<Reading>),
}

/// What was read of an archive.
struct Reading {
    loaded: Loaded,
    standing: Standing,
    records: Vec<SourceRecord>,
    /// The trajectories of each environment that was read whole.
    environments: BTreeMap<String, Vec<usize>>,
}

/// Reads the files that are new or touched, those of environments to estimate again, of environments that have lost a file, and all others with samples of the same environments;
/// if there are any.
fn read(
    settings: &Settings,
    archive: &Archive,
    known: &Known,
    is_again: &dyn Fn(&KnownRow) -> bool,
    mut standing: Standing,
    run: &Run,
) -> Result<Read, Error> {
    loop {
        for file in &standing.moving {
            run.emit(Event::Note(format!("{file} is still being written: it waits for the next time")));
        }
        let due = standing.new.iter().chain(&standing.touched);
        // A side table or a table of events has a word in every environment.
        let bears_on_all = |name: &String| !archive.has_samples(name);
        if standing.moving.iter().any(bears_on_all) {
            return Ok(Read::Nothing(standing));
        }
        // Rows may be gone from a touched file, and files as a whole: what is left of their environments is in others.
        let has_lost =
            |row: &KnownRow| row.files.iter().any(|it| standing.touched.contains(it) || standing.vanished.contains(it));
        let again = known.rows.iter().filter(|(_, row)| is_again(row) || has_lost(row)).map(|(id, _)| id.as_str());
        let mut wanted: BTreeSet<String> = match due.clone().any(bears_on_all) {
            true => archive.tables().map(str::to_owned).collect(),
            false => due.filter(|name| archive.has_samples(name)).cloned().chain(known.files_of(again)).collect(),
        };
        wanted.retain(|name| archive.has_samples(name) && !standing.moving.contains(name));
        if wanted.is_empty() {
            return Ok(Read::Nothing(standing));
        }
        let loaded = read_whole(settings, archive, known, &standing, &mut wanted, run)?;
        let moved = archive.moved(wanted.iter());
        if moved.is_empty() {
            return Ok(Read::Some(Box::new(Reading::new(loaded, standing, archive, known)?)));
        }
        standing.new.retain(|name| !moved.contains(name));
        standing.touched.retain(|name| !moved.contains(name));
        standing.moving.extend(moved);
    }
}

/// Reads the wanted files, and more until those environments are whole.
fn read_whole(
    settings: &Settings,
    archive: &Archive,
    known: &Known,
    standing: &Standing,
    wanted: &mut BTreeSet<String>,
    run: &Run,
) -> Result<Loaded, Error> {
    loop {
        run.emit(Event::Note(format!("reading {}", many(wanted.len() as u64, "file"))));
        let loaded = load_some(settings, Path::new(""), &|name| wanted.contains(name), run.interrupt);
        // What some files lack for themselves, such as the rows of a channel, others may have.
        let all: BTreeSet<String> =
            archive.tables().filter(|&name| !standing.moving.contains(name)).map(str::to_owned).collect();
        if loaded.is_err() && run.interrupt.requested().is_none() && *wanted != all {
            *wanted = all;
            continue;
        }
        let loaded = settled(loaded, run)?;
        let ids = loaded.trajectories.environments();
        let ids: BTreeSet<&str> = ids.iter().map(|of_one| loaded.trajectories.environment(of_one.start)).collect();
        let mut more = known.files_of(ids.into_iter());
        more.retain(|name| all.contains(name) && !wanted.contains(name));
        if more.is_empty() {
            return Ok(loaded);
        }
        wanted.extend(more);
    }
}

impl Reading {
    fn new(loaded: Loaded, standing: Standing, archive: &Archive, known: &Known) -> Result<Self, Error> {
        let mut environments: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut waiting: Vec<usize> = Vec::new();
        for &segment in loaded.assignment.values().flatten() {
            let id = loaded.trajectories.environment(segment);
            // Samples of it are in a file that waits: so does it.
            match known.rows.get(id).is_some_and(|row| row.files.iter().any(|it| standing.moving.contains(it))) {
                true => waiting.push(segment),
                false => environments.entry(id.to_owned()).or_default().push(segment),
            }
        }
        // What an environment that waits has in other files is not done with: they are read again when it no longer waits.
        let held: BTreeSet<String> = places(&loaded, &waiting)?.into_keys().collect();
        let parents = loaded.parents.iter().filter(|parent| !held.contains(&parent.name));
        let digests = parents.map(|parent| (parent.name.as_str(), parent.sha256.as_str())).collect();
        let records = archive.records(&digests, &known.sources);
        Ok(Reading { loaded, standing, records, environments })
    }

    /// What is due, and how the files stand.
    fn update(&self, known: &Known, is_again: &dyn Fn(&KnownRow) -> bool, made_by: &[String; 2]) -> Update {
        let before: BTreeMap<&str, &str> =
            known.sources.iter().map(|it| (it.file.as_str(), it.sha256.as_str())).collect();
        let has_other_bytes = |it: &&SourceRecord| before.get(it.file.as_str()).is_some_and(|old| *old != it.sha256);
        let mut update = Update {
            new_files: self.standing.new.clone(),
            changed_files: self.records.iter().filter(has_other_bytes).map(|it| it.file.clone()).collect(),
            vanished_files: self.standing.vanished.clone(),
            waiting_files: self.standing.moving.clone(),
            ..Update::default()
        };
        for (id, segments) in &self.environments {
            match known.rows.get(id) {
                None => update.new.push(id.clone()),
                Some(row) if row.data != data_digest(&self.loaded, segments) => update.changed.push(id.clone()),
                Some(row) if is_again(row) => update.again.push(id.clone()),
                Some(_) => {}
            }
        }
        let made_anew: BTreeSet<&String> = update.changed.iter().chain(&update.again).collect();
        let stay = known.rows.iter().filter(|(id, _)| !made_anew.contains(id));
        update.by_others = stay.clone().filter(|(_, row)| row.made_by != *made_by).count();
        update.kept = stay.count();
        update.rows = known.rows.len() + update.new.len();
        update
    }

    /// What the rows of due environments are made from.
    fn origins(
        &self,
        due: &BTreeSet<String>,
        request: &Request,
        [model_sha256, settings]: &[String; 2],
    ) -> Result<BTreeMap<String, Origin>, Error> {
        let model = match (request.model, &request.estimate.physics) {
            (Some(model), _) => model.manifest.name.clone(),
            (None, Some(physics)) => {
                let systems = physics.system.iter().chain(&physics.systems);
                systems.map(SystemSettings::name).collect::<Vec<_>>().join(", ")
            }
            (None, None) => String::new(),
        };
        let estimated_at = now();
        let origin = |id: &String| {
            let segments = &self.environments[id];
            let origin = Origin {
                files: in_words(&places(&self.loaded, segments)?),
                data: data_digest(&self.loaded, segments),
                model: model.clone(),
                model_sha256: model_sha256.clone(),
                settings: settings.clone(),
                estimated_at: estimated_at.clone(),
            };
            Ok((id.clone(), origin))
        };
        due.iter().map(origin).collect()
    }

    /// The `data_files` of rows that stay, where they are others than before: files were renamed, or lines moved.
    fn moved(&self, due: &BTreeSet<String>, known: &Known) -> Result<BTreeMap<String, Vec<String>>, Error> {
        let mut moved = BTreeMap::new();
        for (id, segments) in self.environments.iter().filter(|(id, _)| !due.contains(*id)) {
            let now = in_words(&places(&self.loaded, segments)?);
            if known.rows.get(id).is_some_and(|row| row.places != now) {
                moved.insert(id.clone(), now);
            }
        }
        Ok(moved)
    }
}

/// The first and the last line of `segments` in each file.
fn places(loaded: &Loaded, segments: &[usize]) -> Result<BTreeMap<String, RangeInclusive<u64>>, Error> {
    let mut files: BTreeMap<String, RangeInclusive<u64>> = BTreeMap::new();
    for &segment in segments {
        let lines = loaded.trajectories.lines(segment);
        let lines = lines.map_err(|error| import::Error::Data(vec![unusable_temporary_file(&error)]))?;
        for (file, lines) in lines {
            let all = files.entry(file.name.clone()).or_insert_with(|| lines.clone());
            *all = *lines.start().min(all.start())..=*lines.end().max(all.end());
        }
    }
    Ok(files)
}

fn in_words(places: &BTreeMap<String, RangeInclusive<u64>>) -> Vec<String> {
    places.iter().map(|(file, lines)| format!("{file}:{}-{}", lines.start(), lines.end())).collect()
}
