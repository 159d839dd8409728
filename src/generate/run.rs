//! Simulates the environments of all splits and writes them as a dataset.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::Error;
use super::settings::Settings;
use super::simulation::Simulation;
use crate::dataset::{Manifest, Provenance, Resumed, Writer};
use crate::progress::{Event, Run};
use crate::schema::{Split, Trajectory};

/// Simulates the dataset that `settings` describe and writes it to `directory`. Finished shards of an interrupted run with the same settings are
/// kept, and only the rest is simulated.
///
/// # Errors
/// As [`simulate`], and errors of writing. `directory` is then unchanged.
pub fn run(settings: &Settings, seed: u64, directory: &Path, run: &Run) -> Result<Manifest, Error> {
    let simulation = Simulation::new(settings, seed)?;
    let (mut writer, kept) = Writer::resume(directory, simulation.manifest(), &simulation.counts())?;
    let Resumed { trajectories, discarded } = kept;
    if discarded {
        run.emit(Event::Note(format!(
            "{}: discarded the shards of an unfinished run with other settings",
            settings.dataset
        )));
    }
    let count: usize = trajectories.values().sum();
    if count > 0 {
        run.emit(Event::Note(format!("{}: {count} trajectories are kept from an unfinished run", settings.dataset)));
    }
    match simulation.run(run, &trajectories, &mut |split, trajectory| Ok(writer.write(split, trajectory)?)) {
        Ok(()) => Ok(writer.publish(run)?),
        Err(Error::Interrupted { signal, .. }) => Err(Error::Interrupted { signal, kept: writer.keep() }),
        Err(error) => {
            writer.keep();
            Err(error)
        }
    }
}

/// Number of trajectories that `settings` ask for, over all splits.
///
/// # Errors
/// [`Error::Invalid`] with everything that [`Settings::validate`] finds.
pub fn trajectories(settings: &Settings, seed: u64) -> Result<u64, Error> {
    Ok(Simulation::new(settings, seed)?.counts().values().sum::<usize>() as u64)
}

/// Regenerates a simulated dataset at `directory` from its manifest alone.
///
/// # Errors
/// [`Error::NotGenerated`] for a dataset that was not simulated, or whose manifest has no settings that this version knows; else as [`run`].
pub fn regenerate(manifest: &Manifest, directory: &Path, run: &Run) -> Result<Manifest, Error> {
    let Provenance { stage, configuration, seed, .. } = &manifest.provenance;
    let refused = |found: String| Error::NotGenerated { dataset: manifest.name.clone(), found };
    let seed = match (stage.as_str(), seed) {
        ("generate", Some(seed)) => *seed,
        ("generate", None) => return Err(refused("a manifest without a seed".to_owned())),
        (other, _) => return Err(refused(format!("one that the stage `{other}` made"))),
    };
    let settings: Settings = serde_json::from_value(configuration.clone())
        .map_err(|error| refused(format!("settings that cannot be read ({error})")))?;
    self::run(&settings, seed, directory, run)
}

/// Simulates the trajectories that `settings` describe and hands them to `sink`, split by split, in ascending order of their keys.
///
/// # Errors
/// [`Error::Invalid`] with everything that [`Settings::validate`] finds; else the first trajectory, in order, that cannot be
/// integrated, what `sink` returns, or the interrupt.
pub fn simulate(
    settings: &Settings,
    seed: u64,
    run: &Run,
    sink: &mut (dyn FnMut(Split, &Trajectory) -> Result<(), Error> + Send),
) -> Result<(), Error> {
    Simulation::new(settings, seed)?.run(run, &BTreeMap::new(), sink)
}
