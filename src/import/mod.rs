//! Archived measurements to a dataset: the door for data that were not simulated here.
//!
//! Tables, wide or long, in one file or many, with an optional side table of what is known of each environment. The result
//! depends on the samples alone, not on the order of trajectories in the files, nor, with `disorder = "sort"`, on that of rows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::dataset::{self, Manifest, Parent, Provenance, Writer};
use crate::progress::{Event, Interrupt, Run};
use crate::schema::{FormatVersion, Split, Trajectory};

mod cell;
mod clock;
mod columns;
mod conversions;
mod counts;
mod elapsed;
mod equal_times;
mod events;
mod files;
mod guess;
mod hdf5;
mod held;
mod inputs;
mod marks;
mod parquet;
mod petab;
mod pieces;
mod places;
mod plain;
mod problem;
mod records;
mod series;
mod settings;
mod side_table;
mod signals;
mod source;
mod splits;
mod store;
mod table;
mod trajectories;
mod unit;
mod unmet;
mod validate;

pub use guess::guess;
pub use problem::{Kind, LISTED, Problem};
pub use settings::{
    Channel, Condition, Disorder, Duplicates, EqualTimes, EventInput, Layout, Names, Origin, Parameter, Role,
    Selection, Settings, Shape, SideTable, Splits, Table,
};

pub use signals::{Known, Signals};
pub use validate::is_same_unit;

use pieces::Samples;
use problem::Problems;
use splits::Assignment;
use trajectories::Trajectories;

/// Why an import gave no dataset.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings contradict themselves or the data; nothing was written.
    #[error("{}", lines(.0))]
    Settings(Vec<Problem>),
    /// The source files have problems; nothing was written.
    #[error("{}", lines(.0))]
    Data(Vec<Problem>),
    /// A signal asked to stop; nothing was written.
    #[error("interrupted by signal {signal}; nothing was written")]
    Interrupted { signal: i32 },
    /// The dataset could not be written.
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

/// What the source files hold.
struct Loaded {
    table: Trajectories,
    parameters: BTreeMap<String, Vec<Option<f64>>>,
    assignment: Assignment,
    parents: Vec<Parent>,
    warnings: Vec<Problem>,
}

/// Reads the source files and reports every problem in them and in the settings, [`LISTED`] of a kind in a column;
/// none if [`run`] would write the dataset. Writes nothing. `base` is what a relative `directory` starts from.
pub fn check(settings: &Settings, base: &Path) -> Vec<Problem> {
    let mut problems = settings.validate();
    problems.extend(load(settings, base, &Interrupt::new()).err().unwrap_or_default());
    problems
}

/// What an archive tells of its environments.
pub struct Survey {
    /// The known parameters `[d_p]` of every environment of each split.
    pub environments: BTreeMap<Split, BTreeMap<String, Vec<Option<f64>>>>,
    /// Of the environments of each split, those with trajectories that have no start: no complete sample that another follows.
    pub without_start: BTreeMap<Split, BTreeMap<String, Startless>>,
    /// Of each environment of the train split, the values that a rollout of each of its trajectories is compared with; of those with a
    /// start.
    pub compared: BTreeMap<String, Vec<usize>>,
    /// What an import would warn of.
    pub warnings: Vec<Problem>,
}

/// Trajectories of an environment in a split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Startless {
    /// Those without a start, and all.
    pub trajectories: usize,
    pub of: usize,
}

/// Reads the source files as [`run`] does, and says which environments each split would have. Writes nothing.
///
/// # Errors
/// Every problem in the files, and those of the settings that only the files show.
pub fn survey(settings: &Settings, base: &Path) -> Result<Survey, Vec<Problem>> {
    let Loaded { mut table, parameters, assignment, warnings, .. } = load(settings, base, &Interrupt::new())?;
    table.forget_samples();
    let (mut environments, mut without_start) = (BTreeMap::new(), BTreeMap::new());
    let mut compared: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (split, pieces) in assignment {
        let (mut of_split, mut startless) = (BTreeMap::new(), BTreeMap::new());
        for of_one in pieces.chunk_by(|&a, &b| table.environment(a) == table.environment(b)) {
            let id = table.environment(of_one[0]);
            let known = parameters.get(id).cloned().unwrap_or_else(|| vec![None; settings.parameters.len()]);
            of_split.insert(id.to_owned(), known);
            let trajectories = of_one.iter().filter(|&&piece| !table.pieces[piece].has_start).count();
            if split == Split::Train && trajectories < of_one.len() {
                let started = of_one.iter().map(|&piece| &table.pieces[piece]).filter(|piece| piece.has_start);
                compared.insert(id.to_owned(), started.map(|piece| piece.compared).collect());
            }
            if trajectories > 0 {
                startless.insert(id.to_owned(), Startless { trajectories, of: of_one.len() });
            }
        }
        environments.insert(split, of_split);
        without_start.insert(split, startless);
    }
    Ok(Survey { environments, without_start, compared, warnings })
}

/// The files that `settings` name, by their paths inside the directory, in the order of these.
///
/// # Errors
/// If a file or pattern has none.
pub fn files(settings: &Settings, base: &Path) -> Result<Vec<(String, PathBuf)>, Vec<Problem>> {
    let directory = base.join(&settings.directory);
    let mut problems = Problems::default();
    let mut found = files::find(&directory, &settings.table.file, "import.table.file", &mut problems);
    if let Some(side) = &settings.side_table {
        found.extend(files::find(&directory, &Names(vec![side.file.clone()]), "import.side_table.file", &mut problems));
    }
    for (index, file) in settings.events.iter().enumerate().filter_map(|(index, it)| Some((index, it.file.clone()?))) {
        found.extend(files::find(
            &directory,
            &Names(vec![file]),
            &format!("import.events[{index}].file"),
            &mut problems,
        ));
    }
    let mut files: Vec<_> = found.into_iter().map(|file| (file.name, file.path)).collect();
    files.sort();
    files.dedup();
    if problems.is_empty() { Ok(files) } else { Err(problems.into_vec()) }
}

/// Reads the source files and writes the dataset at `directory`. `base` is what a relative `directory` of the settings starts from.
///
/// # Errors
/// Every problem of the settings or of the data; a request to stop; an error of writing. Nothing is left behind then.
pub fn run(settings: &Settings, base: &Path, directory: &Path, run: &Run) -> Result<Manifest, Error> {
    let problems = settings.validate();
    if !problems.is_empty() {
        return Err(Error::Settings(problems));
    }
    run.emit(Event::Note(format!("reading {}", settings.table.file.0.join(", "))));
    let loaded = load(settings, base, run.interrupt);
    if let Some(signal) = run.interrupt.requested() {
        return Err(Error::Interrupted { signal });
    }
    let mut loaded = loaded.map_err(|problems| {
        let in_settings = problems.iter().all(|problem| problem.file.is_none());
        if in_settings { Error::Settings(problems) } else { Error::Data(problems) }
    })?;
    for warning in &loaded.warnings {
        run.emit(Event::Warn(warning.to_string()));
    }
    let counts = &loaded.table.counts;
    run.emit(Event::Note(format!("{} read", counts::many(counts.rows, "row"))));
    for treatment in counts.report(settings) {
        run.emit(Event::Note(treatment.text));
    }
    write(settings, &mut loaded, directory, run)
}

fn load(settings: &Settings, base: &Path, interrupt: &Interrupt) -> Result<Loaded, Vec<Problem>> {
    let directory = base.join(&settings.directory);
    let mut problems = Problems::default();
    let table = trajectories::read(settings, &directory, interrupt, &mut problems);
    let known = settings.side_table.as_ref().and_then(|side| {
        let environments: Option<BTreeSet<&str>> =
            table.as_ref().map(|table| (0..table.pieces.len()).map(|piece| table.environment(piece)).collect());
        side_table::read(settings, side, &directory, environments.as_ref(), interrupt, &mut problems)
    });
    let mut left_out = Vec::new();
    let assignment = table.as_ref().map(|table| {
        let assignment = splits::assign(settings, table, &mut left_out, &mut problems);
        splits::check_repeated(&assignment, table, &mut problems);
        assignment
    });
    match (table, assignment) {
        (Some(mut table), Some(assignment)) if problems.is_empty() && !table.stopped => {
            let mut parents = std::mem::take(&mut table.parents);
            let mut warnings = std::mem::take(&mut table.warnings);
            warnings.extend(left_out);
            let mut parameters = BTreeMap::new();
            if let Some(known) = known {
                parents.push(known.parent);
                warnings.extend(known.warnings);
                parameters = known.parameters;
            }
            parents.sort_by(|a, b| a.name.cmp(&b.name));
            parents.dedup();
            Ok(Loaded { table, parameters, assignment, parents, warnings })
        }
        _ => Err(problems.into_vec()),
    }
}

fn write(settings: &Settings, loaded: &mut Loaded, directory: &Path, run: &Run) -> Result<Manifest, Error> {
    let total = loaded.assignment.values().map(|trajectories| trajectories.len() as u64).sum();
    run.emit(Event::Begin { what: format!("import {}", settings.dataset), total: Some(total), unit: "trajectories" });
    let mut writer = Writer::create(directory, manifest(settings, loaded))?;
    let unknown = vec![None; settings.parameters.len()];
    let mut done = 0;
    for (split, pieces) in &loaded.assignment {
        for &piece in pieces {
            if let Some(signal) = run.interrupt.requested() {
                return Err(Error::Interrupted { signal });
            }
            let samples = loaded.table.samples(settings, piece);
            let Samples { times, states, inputs, .. } =
                samples.map_err(|error| Error::Data(vec![store::unusable(&error)]))?;
            let environment = loaded.table.environment(piece);
            let trajectory = Trajectory {
                parameters: loaded.parameters.get(environment).unwrap_or(&unknown).clone(),
                environment: environment.to_owned(),
                trajectory: loaded.table.id(piece).into_owned(),
                times,
                states,
                inputs,
            };
            writer.write(*split, &trajectory)?;
            done += 1;
            run.emit(Event::Advance { done, note: split.to_string() });
        }
    }
    let manifest = writer.finish()?;
    run.emit(Event::End);
    Ok(manifest)
}

fn manifest(settings: &Settings, loaded: &Loaded) -> Manifest {
    let mut configuration = serde_json::to_value(settings).unwrap_or_default();
    if let Some(configuration) = configuration.as_object_mut() {
        // A place on this machine; what was read from it is told by the parents' digests.
        configuration.remove("directory");
    }
    Manifest {
        format: FormatVersion::DATASET,
        kind: "dataset".to_owned(),
        name: settings.dataset.clone(),
        description: settings.description.clone(),
        license: settings.license.clone(),
        provenance: Provenance::new("import", configuration, settings.splits.seed, loaded.parents.clone()),
        time_unit: settings.time_unit.clone(),
        channels: settings.state_quantities(),
        grid: None,
        import_report: loaded.table.counts.report(settings),
        inputs: settings.inputs().collect(),
        parameters: settings.parameter_quantities(),
        data_tolerance: None,
        splits: BTreeMap::new(),
        files: Vec::new(),
    }
}
