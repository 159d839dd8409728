//! Simulates the environments of all splits and writes them as a dataset.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::Error;
use super::settings::Settings;
use super::simulation::{Extent, Simulation};
use crate::blocks::{Rows, Store};
use crate::dataset;
use crate::dataset::{Manifest, Provenance, Resumed, Writer};
use crate::progress::{Event, Run};
use crate::schema::{Split, Trajectory};

/// Simulates the dataset that `settings` describe and writes it to `directory`. Finished shards of an interrupted run with the same settings are
/// kept, and only the rest is simulated.
///
/// # Errors
/// As [`simulate`], and errors of writing. `directory` is then unchanged.
pub fn run(settings: &Settings, seed: u64, directory: &Path, run: &Run) -> Result<Manifest, Error> {
    resume(settings, seed, directory, None, run)
}

/// The same, but trajectories that finished blocks in `store` hold are taken from there. The dataset is the same byte for byte.
///
/// # Errors
/// As [`run`].
pub fn resume(
    settings: &Settings,
    seed: u64,
    directory: &Path,
    store: Option<&Store>,
    run: &Run,
) -> Result<Manifest, Error> {
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
    let rows = simulation.rows_after(&trajectories);
    let done = simulation.run(run, (&rows, count), store, &mut |rows, block| {
        block.iter().try_for_each(|trajectory| Ok(writer.write(rows.split, trajectory)?))
    });
    match done {
        Ok(()) => Ok(writer.publish(run)?),
        Err(Error::Interrupted { signal, .. }) => Err(Error::Interrupted { signal, kept: writer.keep() }),
        Err(error) => {
            writer.keep();
            Err(error)
        }
    }
}

/// Simulates some rows alone and keeps them in `store`, behind what it holds of them, for [`resume`] to put together.
///
/// # Errors
/// As [`simulate`], and if a block cannot be written.
pub fn run_rows(settings: &Settings, seed: u64, rows: &[Rows], store: &Store, run: &Run) -> Result<(), Error> {
    let mut kept = 0;
    let done = Simulation::new(settings, seed)?.run(run, (rows, 0), Some(store), &mut |rows, block| {
        // One from a finished block is there already.
        if !store.path(rows).exists() {
            let written = store.write(rows, &block);
            written.map_err(|source| dataset::Error::Io { path: store.path(rows), source })?;
        }
        kept += block.len();
        Ok(())
    });
    done.map_err(|error| match error {
        Error::Interrupted { signal, .. } => Error::Interrupted { signal, kept },
        error => error,
    })
}

/// Environments of each split that `settings` ask for, and trajectories of each of them.
///
/// # Errors
/// [`Error::Invalid`] with everything that [`Settings::validate`] finds.
pub fn environments(settings: &Settings, seed: u64) -> Result<Vec<(Split, usize, usize)>, Error> {
    Ok(Simulation::new(settings, seed)?.environments())
}

/// How much `settings` ask for, and how much of it is in memory at once on so many threads.
///
/// # Errors
/// [`Error::Invalid`] with everything that [`Settings::validate`] finds.
pub fn extent(settings: &Settings, seed: u64, threads: usize) -> Result<Extent, Error> {
    Ok(Simulation::new(settings, seed)?.extent(threads))
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
    let simulation = Simulation::new(settings, seed)?;
    let rows = simulation.rows_after(&BTreeMap::new());
    simulation.run(run, (&rows, 0), None, &mut |rows, block| block.iter().try_for_each(|it| sink(rows.split, it)))
}
