//! Simulates the trajectories of a system in parallel and writes them as a dataset.
//!
//! ```text
//! dy/dt = f(t, y; p_e),   y(0) drawn,   samples at t = 0, dt, .., T - dt
//! ```
//!
//! `p_e [d_p]` parameters of environment `e`, `y [C]` state, `T` horizon, `dt` sampling interval, both in the system's unit of
//! time. Every draw belongs to one (seed, split, environment, trajectory), and trajectories are written in order, so the
//! bytes do not depend on threads; those of a trajectory do not depend on how many others there are.

use std::collections::BTreeMap;
use std::path::Path;

use crate::dataset::{self, Kept, Manifest, Provenance, Writer};
use crate::progress::{Event, Run};
use crate::schema::{Split, Trajectory};
use crate::solve;

mod settings;
mod validate;
mod environments;
mod observation;
mod simulation;

pub use observation::{Observation, PerChannel};
pub use settings::{Environments, Settings, Solver, SplitSettings, SystemSettings};

pub use crate::systems::{Problem, Range};

use simulation::Simulation;

/// Why a dataset was not generated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The settings cannot be run.
    #[error("the settings of generate cannot be run: {}", list(.0))]
    Invalid(Vec<Problem>),
    /// A trajectory could not be integrated.
    #[error("{split} {environment} trajectory {trajectory} (parameters {parameters:?}): {source}")]
    Integration {
        split: Split,
        environment: String,
        trajectory: String,
        parameters: Vec<f64>,
        source: Box<solve::Error>,
    },
    /// The dataset cannot be made again from its manifest.
    #[error(
        "dataset `{dataset}`: found {found}; expected one that `generate` of this version made, which alone can be made again"
    )]
    NotGenerated { dataset: String, found: String },
    /// The dataset could not be written.
    #[error(transparent)]
    Dataset(#[from] dataset::Error),
    /// A signal asked to stop. The trajectories of finished shards are kept beside the place of the dataset, if there are any.
    #[error("interrupted by signal {signal}; {}", match kept {
        0 => "no dataset was written".to_owned(),
        kept => format!("{kept} trajectories are kept, and the same command goes on from there"),
    })]
    Interrupted { signal: i32, kept: usize },
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

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

/// How many of `0, dt, 2 dt, ..` lie before the horizon; a multiple of `dt` that is the horizon but for rounding does not.
fn sample_count(horizon: f64, time_step: f64) -> usize {
    (horizon / time_step - 1e-9).ceil() as usize
}

fn sample_times(horizon: f64, time_step: f64) -> Vec<f64> {
    (0..sample_count(horizon, time_step)).map(|sample| sample as f64 * time_step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_horizon_itself_is_no_sample() {
        assert_eq!(sample_times(2.0, 0.5), [0.0, 0.5, 1.0, 1.5]);
        assert_eq!(sample_count(1.0, 0.05), 20);
        assert_eq!(sample_count(0.3, 0.1), 3);
        assert_eq!(sample_count(1.01, 0.5), 3);
    }
}
