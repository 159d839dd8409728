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

use rayon::prelude::*;

use crate::dataset::{self, Manifest, Provenance, Writer};
use crate::progress::{Event, Run};
use crate::random::Stream;
use crate::schema::{FormatVersion, Split, Trajectory};
use crate::solve::{self, Adaptive, Work};
use crate::systems::{Dynamics, Preset, Stepper, System, VectorField};

mod settings;
mod validate;
mod environments;
mod observation;

pub use observation::{Observation, PerChannel};
pub use settings::{Environments, Settings, Solver, SplitSettings, SystemSettings};

pub use crate::systems::{Problem, Range};

use environments::Environment;
use observation::Key;

/// Most trajectories, and about as many values, that are simulated before they are written.
const CHUNK: usize = 512;
const CHUNK_VALUES: usize = 1 << 18;

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
    /// A signal asked to stop; nothing is left behind.
    #[error("interrupted by signal {signal}; no dataset was written")]
    Interrupted { signal: i32 },
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

/// Simulates what `settings` ask for and puts the dataset at `directory`.
///
/// # Errors
/// As [`simulate`], and errors of writing. `directory` is then as it was.
pub fn run(settings: &Settings, seed: u64, directory: &Path, run: &Run) -> Result<Manifest, Error> {
    let simulation = Simulation::new(settings, seed)?;
    let mut writer = Writer::create(directory, simulation.manifest())?;
    simulation.run(run, &mut |split, trajectory| Ok(writer.write(split, trajectory)?))?;
    Ok(writer.finish()?)
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
    sink: &mut dyn FnMut(Split, &Trajectory) -> Result<(), Error>,
) -> Result<(), Error> {
    Simulation::new(settings, seed)?.run(run, sink)
}

/// What all trajectories of a dataset have in common.
struct Simulation {
    /// With every default filled in.
    settings: Settings,
    system: &'static System,
    preset: &'static Preset,
    environments: BTreeMap<Split, Vec<Environment>>,
    times: Vec<f64>,
    /// Values of a state.
    size: usize,
    seed: u64,
}

impl Simulation {
    fn new(settings: &Settings, seed: u64) -> Result<Self, Error> {
        let problems = settings.validate();
        if !problems.is_empty() {
            return Err(Error::Invalid(problems));
        }
        let system = settings.find_system().map_err(Error::Invalid)?;
        let Some(preset) = settings.find_preset(system) else { return Err(Error::Invalid(problems)) };
        let environments = settings
            .splits
            .iter()
            .filter_map(|(&split, of_split)| Some((split, environments::select(system, preset, split, of_split)?)))
            .collect();
        let settings = settings.resolved(system);
        let horizon = settings.horizon.unwrap_or(system.horizon);
        let times = sample_times(horizon, settings.time_step.unwrap_or(system.time_step));
        let size = system.state_shape(preset).size();
        Ok(Simulation { settings, system, preset, environments, times, size, seed })
    }

    fn run(&self, run: &Run, sink: &mut dyn FnMut(Split, &Trajectory) -> Result<(), Error>) -> Result<(), Error> {
        let trajectories = |split: &Split| self.settings.splits[split].trajectories;
        let total: usize = self.environments.iter().map(|(split, list)| list.len() * trajectories(split)).sum();
        let what = format!("simulate {}", self.settings.dataset);
        run.emit(Event::Begin { what, total: Some(total as u64), unit: "trajectories" });
        let mut done = 0;
        let mut work = Work::default();
        let chunk = (CHUNK_VALUES / (self.size * self.times.len())).max(4 * rayon::current_num_threads()).min(CHUNK);
        for (&split, list) in &self.environments {
            let per_environment = trajectories(&split);
            let jobs = list.len() * per_environment;
            for first in (0..jobs).step_by(chunk) {
                let simulated: Vec<Result<(Trajectory, Work), Error>> = (first..jobs.min(first + chunk))
                    .into_par_iter()
                    .map_init(
                        || self.integrator(),
                        |integrator, job| {
                            if let Some(signal) = run.interrupt.requested() {
                                return Err(Error::Interrupted { signal });
                            }
                            let (environment, index) = (&list[job / per_environment], job % per_environment);
                            self.trajectory(integrator, split, environment, index)
                        },
                    )
                    .collect();
                for result in simulated {
                    let (trajectory, cost) = result?;
                    sink(split, &trajectory)?;
                    work = add(work, cost);
                    done += 1;
                }
                run.emit(Event::Advance { done, note: split.to_string() });
            }
        }
        run.emit(Event::Note(format!(
            "{}: {done} trajectories took {} steps, {} rejected steps and {} evaluations of the field",
            self.method(),
            work.accepted,
            work.rejected,
            work.evaluations
        )));
        run.emit(Event::End);
        Ok(())
    }

    /// The name of the method of integration, for people.
    fn method(&self) -> &'static str {
        match self.preset.dynamics {
            Dynamics::Field(_) => self.settings.solver.unwrap_or_default().tableau().name,
            Dynamics::Stepper(stepper) => stepper.name,
        }
    }

    fn integrator(&self) -> Result<Integrator, solve::Error> {
        Ok(match self.preset.dynamics {
            Dynamics::Field(field) => {
                let tableau = self.settings.solver.unwrap_or_default().tableau();
                Integrator::Adaptive(field, Box::new(Adaptive::new(tableau, self.size, self.settings.tolerance())?))
            }
            Dynamics::Stepper(stepper) => Integrator::Fixed(stepper, self.settings.inner_step.unwrap_or(stepper.step)),
        })
    }

    fn trajectory(
        &self,
        integrator: &mut Result<Integrator, solve::Error>,
        split: Split,
        environment: &Environment,
        index: usize,
    ) -> Result<(Trajectory, Work), Error> {
        let id = format!("{index:05}");
        let mut stream = Stream::new(self.seed, split.name(), &[environment.index as u64, index as u64]);
        let mut initial = vec![0.0; self.size];
        (self.preset.initial)(&mut || stream.unit(), &mut initial);
        let time_step = self.settings.time_step.unwrap_or(self.system.time_step);
        let key = Key { seed: self.seed, split, environment: environment.index, trajectory: index };
        let observation = self.settings.observation.as_ref().filter(|observation| observation.splits.contains(&split));
        let mut times = match observation {
            Some(observation) => observation.times(key, &self.times, time_step),
            None => self.times.clone(),
        };
        let mut states = vec![0.0; times.len() * self.size];
        let integrated = match integrator {
            Ok(integrator) => integrator.integrate(&environment.parameters, &initial, &times, &mut states),
            Err(error) => Err(error.clone()),
        };
        let work = integrated.map_err(|source| Error::Integration {
            split,
            environment: environment.id.clone(),
            trajectory: id.clone(),
            parameters: environment.parameters.clone(),
            source: Box::new(source),
        })?;
        if let Some(observation) = observation {
            let names: Vec<&str> = self.system.channels.iter().map(|channel| channel.name).collect();
            (times, states) = observation.record(key, &names, &times, &states, time_step);
        }
        let trajectory = Trajectory {
            environment: environment.id.clone(),
            trajectory: id,
            parameters: environment.parameters.iter().copied().map(Some).collect(),
            times,
            states: self.recorded_channels(states),
        };
        Ok((trajectory, work))
    }

    /// Whether a channel is not among the dropped ones.
    fn is_recorded(&self, channel: &str) -> bool {
        let dropped = self.settings.observation.iter().flat_map(|observation| &observation.dropped);
        dropped.into_iter().all(|dropped| dropped != channel)
    }

    /// States `[T, C]` (`[T, C, n_1, .., n_k]` on a grid) without the dropped channels.
    fn recorded_channels(&self, states: Vec<f64>) -> Vec<f64> {
        let points = self.size / self.system.channels.len();
        let of_channels = self.system.channels.iter().map(|it| self.is_recorded(it.name));
        let is_recorded: Vec<bool> = of_channels.flat_map(|it| std::iter::repeat_n(it, points)).collect();
        if is_recorded.iter().all(|&is_recorded| is_recorded) {
            return states;
        }
        let cells = states.into_iter().zip(is_recorded.into_iter().cycle());
        cells.filter_map(|(value, is_recorded)| is_recorded.then_some(value)).collect()
    }

    fn manifest(&self) -> Manifest {
        let Settings { dataset, license, .. } = &self.settings;
        let tolerance = match self.preset.dynamics {
            Dynamics::Field(_) => self.settings.tolerance().rtol,
            Dynamics::Stepper(stepper) => stepper.error_at(self.settings.inner_step.unwrap_or(stepper.step)),
        };
        let mut channels = self.system.channel_quantities();
        channels.retain(|channel| self.is_recorded(&channel.name));
        Manifest {
            format: FormatVersion::CURRENT,
            kind: "dataset".to_owned(),
            name: dataset.clone(),
            description: format!(
                "Simulated trajectories of {} ({}). {}.",
                self.system.name, self.system.description, self.preset.description
            ),
            license: license.clone(),
            provenance: Provenance {
                tool: concat!("paramill ", env!("CARGO_PKG_VERSION")).to_owned(),
                stage: "generate".to_owned(),
                configuration: serde_json::to_value(&self.settings).unwrap_or_default(),
                seed: Some(self.seed),
                parents: Vec::new(),
            },
            time_unit: self.system.time_unit.to_owned(),
            channels,
            grid: self.preset.grid(),
            parameters: self.system.parameter_quantities(),
            data_tolerance: Some(tolerance),
            splits: BTreeMap::new(),
            files: Vec::new(),
        }
    }
}

/// What integrates the trajectories of a thread.
enum Integrator {
    Adaptive(VectorField, Box<Adaptive>),
    Fixed(&'static Stepper, f64),
}

impl Integrator {
    /// From `initial` at `times[0]`, writes the states at `times [T]`.
    fn integrate(
        &mut self,
        parameters: &[f64],
        initial: &[f64],
        times: &[f64],
        states: &mut [f64],
    ) -> Result<Work, solve::Error> {
        match self {
            Integrator::Adaptive(field, adaptive) => {
                let field = &mut |time: f64, state: &[f64], derivative: &mut [f64]| {
                    field(parameters, time, state, derivative);
                };
                adaptive.integrate(field, initial, times, states)
            }
            Integrator::Fixed(stepper, step) => (stepper.integrate)(parameters, initial, times, *step, states),
        }
    }
}

fn add(a: Work, b: Work) -> Work {
    Work {
        accepted: a.accepted + b.accepted,
        rejected: a.rejected + b.rejected,
        evaluations: a.evaluations + b.evaluations,
    }
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
