//! Simulates the environments of all splits and writes them as a dataset.

use super::settings::Settings;
use std::collections::BTreeMap;
use std::path::Path;

use super::error::Error;
use super::simulation::Simulation;
use crate::dataset::{Kept, Manifest, Provenance, Writer};
use crate::progress::{Event, Run};
use crate::schema::{Split, Trajectory};

/// Simulates what `settings` ask for and puts the dataset at `directory`. Where a run with the same settings was stopped or killed, its finished
/// shards are kept, and only the rest is simulated.
///
/// # Errors
/// As [`simulate`], and errors of writing. `directory` is then as it was.
pub fn run(settings: &Settings, seed: u64, directory: &Path, run: &Run) -> Result<Manifest, Error> {
    let simulation = Simulation::new(settings, seed)?;
    let (mut writer, kept) = Writer::resume(directory, simulation.manifest(), &simulation.counts())?;
    let Kept { trajectories, discarded } = kept;
    if discarded {
        run.emit(Event::Note(format!("{}: discarded what an unfinished run of other settings left", settings.dataset)));
    }
    let count: usize = trajectories.values().sum();
    if count > 0 {
        run.emit(Event::Note(format!("{}: {count} trajectories are kept from an unfinished run", settings.dataset)));
    }
    match simulation.run(run, &trajectories, &mut |split, trajectory| Ok(writer.write(split, trajectory)?)) {
        Ok(()) => Ok(writer.finish()?),
        Err(Error::Interrupted { signal, .. }) => Err(Error::Interrupted { signal, kept: writer.keep() }),
        Err(error) => Err(error),
    }
}

/// Makes the dataset that `manifest` describes again, from what it says of itself alone, at `directory`.
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

/// Simulates what `settings` ask for and hands the trajectories to `sink`, split after split, in ascending order of their keys.
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
