//! Imports an archive: reads it and writes the dataset.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::Error;
use super::load::{Loaded, load};
use super::rows::store;
use super::settings::Settings;
use super::trajectories::samples::Samples;
use super::trajectories::set::Trajectories;
use crate::dataset::{Manifest, Provenance, Writer};
use crate::problems::Problem;
use crate::progress::{Event, Run};
use crate::schema::{FormatVersion, Trajectory};

/// Reads the source files and writes the dataset to `directory`. A relative `directory` of the settings starts from `base`.
///
/// # Errors
/// Every problem of the settings or of the data; a request to stop; an error of writing. Nothing is left behind then.
pub fn run(settings: &Settings, base: &Path, directory: &Path, run: &Run) -> Result<Manifest, Error> {
    run_within(store::ROWS_IN_MEMORY, settings, base, directory, run)
}

/// The same, with so many bytes of rows in memory at most: the others wait in a temporary file. The dataset does not depend on it.
///
/// # Errors
/// As [`run()`].
pub fn run_within(
    rows_in_memory: u64,
    settings: &Settings,
    base: &Path,
    directory: &Path,
    run: &Run,
) -> Result<Manifest, Error> {
    let problems = settings.validate();
    if !problems.is_empty() {
        return Err(Error::Settings(problems));
    }
    run.emit(Event::Note(format!("reading {}", settings.files().0.0.join(", "))));
    let loaded = load(settings, base, rows_in_memory, run.interrupt);
    let mut loaded = settled(loaded, run)?;
    let Trajectories { notes, treatments, .. } = &loaded.trajectories;
    for text in notes.iter().chain(treatments.iter().map(|treatment| &treatment.text)) {
        run.emit(Event::Note(text.clone()));
    }
    write(settings, &mut loaded, directory, &|_| true, run)
}

/// What was read, its warnings told, or why nothing was.
///
/// # Errors
/// Every problem of the settings or of the data; a request to stop.
pub(crate) fn settled(loaded: Result<Loaded, Vec<Problem>>, run: &Run) -> Result<Loaded, Error> {
    if let Some(signal) = run.interrupt.requested() {
        return Err(Error::Interrupted { signal });
    }
    let loaded = loaded.map_err(|problems| {
        let in_settings = problems.iter().all(|problem| problem.place.path().is_none());
        if in_settings { Error::Settings(problems) } else { Error::Data(problems) }
    })?;
    for warning in &loaded.warnings {
        run.emit(Event::Warn(warning.to_string()));
    }
    Ok(loaded)
}

/// Writes the trajectories of the environments that are wanted by id.
///
/// # Errors
/// A request to stop; an error of writing. Nothing is left behind then.
pub(crate) fn write(
    settings: &Settings,
    loaded: &mut Loaded,
    directory: &Path,
    is_wanted: &dyn Fn(&str) -> bool,
    run: &Run,
) -> Result<Manifest, Error> {
    let Loaded { assignment, trajectories, .. } = &mut *loaded;
    assignment.values_mut().for_each(|segments| segments.retain(|&it| is_wanted(trajectories.environment(it))));
    let total = loaded.assignment.values().map(|trajectories| trajectories.len() as u64).sum();
    run.emit(Event::Begin { what: format!("import {}", settings.dataset), total: Some(total), unit: "trajectories" });
    let mut writer = Writer::create(directory, manifest(settings, loaded))?;
    let unknown = vec![None; settings.parameters.len()];
    let mut done = 0;
    for (split, segments) in &loaded.assignment {
        for &segment in segments {
            if let Some(signal) = run.interrupt.requested() {
                return Err(Error::Interrupted { signal });
            }
            let samples = loaded.trajectories.samples(settings, segment);
            let Samples { times, states, inputs, .. } = samples.map_err(|problem| Error::Data(vec![problem]))?;
            let environment = loaded.trajectories.environment(segment);
            let trajectory = Trajectory {
                parameters: loaded.parameters.get(environment).unwrap_or(&unknown).clone(),
                environment: environment.to_owned(),
                trajectory: loaded.trajectories.id(segment).into_owned(),
                times,
                states,
                inputs,
            };
            writer.write(*split, &trajectory)?;
            done += 1;
            run.emit(Event::Advance { done, note: split.to_string() });
        }
    }
    let manifest = writer.publish(run)?;
    run.emit(Event::End);
    Ok(manifest)
}

fn manifest(settings: &Settings, loaded: &Loaded) -> Manifest {
    let mut configuration = serde_json::to_value(settings).unwrap_or_default();
    if let Some(configuration) = configuration.as_object_mut() {
        // A path on this machine; the parents' digests identify what was read.
        configuration.remove("directory");
    }
    Manifest {
        format: FormatVersion::DATASET,
        kind: "dataset".to_owned(),
        name: settings.dataset.clone(),
        description: settings.description.clone(),
        license: settings.license.clone(),
        publication: settings.publication.clone(),
        provenance: Provenance::new("import", configuration, settings.splits.seed, loaded.parents.clone()),
        time_unit: settings.time_unit.clone(),
        channels: settings.state_quantities(),
        grid: loaded.trajectories.grid.clone(),
        import_report: loaded.trajectories.treatments.clone(),
        inputs: settings.inputs().collect(),
        parameters: settings.parameter_quantities(),
        data_tolerance: None,
        splits: BTreeMap::new(),
        files: Vec::new(),
    }
}
