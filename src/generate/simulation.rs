//! Simulates the trajectories of a dataset in blocks on all threads, while a separate thread writes the previous block.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::{Arc, mpsc};
use std::thread;

use rayon::prelude::*;

use super::dosing::Dosing;
use super::environments;
use super::environments::{Environment, known_quantities};
use super::error::Error;
use super::happenings::{Repeated, What, happenings, starts};
use super::integrator::Integrator;
use super::observation::Key;
use super::recorded::Recorded;
use super::rest::rested;
use super::samples::sample_times;
use super::settings::Settings;
use crate::blocks::{Part, Rows, Store};
use crate::dataset::writer::SHARD_VALUES;
use crate::dataset::{Manifest, Provenance};
use crate::progress::{Event, Interrupt, Run};
use crate::random::Stream;
use crate::schema::{FormatVersion, Input, Quantity, Split, Trajectory};
use crate::solve;
use crate::solve::Work;
use crate::systems::{Dynamics, Preset, Simulator, System};

/// Most trajectories of a block, and about the most values (8 MiB); two blocks are in memory.
const BLOCK: usize = 512;
const BLOCK_VALUES: usize = 1 << 20;

/// Intervals of repeated doses within which a steady state is reached,
const INTERVALS: usize = 100_000;
/// and the change in one of them, in tolerances of integration, below which it is.
const STILL: f64 = 0.1;

/// Takes the trajectories of these rows, in order.
pub(crate) type Sink<'a> = dyn FnMut(&Rows, Vec<Trajectory>) -> Result<(), Error> + Send + 'a;

/// Takes the trajectories of these rows, in order; false if nobody wants any more.
type Receiver<'a> = dyn FnMut(&Rows, Vec<Trajectory>) -> Result<bool, Error> + 'a;

/// How much a simulation makes, in doubles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Times and channels of all samples.
    pub values: u64,
    /// Those of the blocks that are in memory at once.
    pub blocks: u64,
    /// Those of a shard, which is in memory until it is written.
    pub shard: u64,
}

/// The simulation of a dataset: settings, system and environments.
pub(crate) struct Simulation {
    /// With all defaults filled in.
    settings: Settings,
    system: Arc<System>,
    preset: Preset,
    environments: BTreeMap<Split, Vec<Environment>>,
    times: Vec<f64>,
    recorded: Recorded,
    dosing: Dosing,
    /// Number of values of a state.
    size: usize,
    seed: u64,
}

impl Simulation {
    /// Validates `settings` and resolves defaults.
    pub(crate) fn new(settings: &Settings, seed: u64) -> Result<Self, Error> {
        let problems = settings.validate();
        if !problems.is_empty() {
            return Err(Error::Invalid(problems));
        }
        let system = settings.find_system().map_err(Error::Invalid)?;
        let Some(preset) = settings.find_preset(&system).cloned() else { return Err(Error::Invalid(problems)) };
        let environments = settings
            .splits
            .iter()
            .filter_map(|(&split, of_split)| Some((split, environments::select(&system, &preset, split, of_split)?)))
            .collect();
        let settings = settings.resolved(&system);
        let horizon = settings.horizon.unwrap_or(system.horizon);
        let times = sample_times(horizon, settings.time_step.unwrap_or(system.time_step));
        let (size, recorded) =
            (system.state_shape(&preset).size(), Recorded::new(&system, settings.channels.as_deref()));
        let dosing = Dosing::new(&settings, &system, &times);
        Ok(Simulation { settings, system, preset, environments, times, recorded, dosing, size, seed })
    }

    /// Number of trajectories of each split.
    pub(crate) fn counts(&self) -> BTreeMap<Split, usize> {
        let count = |(&split, list): (&Split, &Vec<Environment>)| (split, list.len() * self.per_environment(split));
        self.environments.iter().map(count).collect()
    }

    fn per_environment(&self, split: Split) -> usize {
        self.settings.splits[&split].trajectories
    }

    /// All rows but the first `kept` ones of each split.
    pub(crate) fn rows_after(&self, kept: &BTreeMap<Split, usize>) -> Vec<Rows> {
        let counts = self.counts().into_iter();
        counts.map(|(split, count)| Rows::new(split, kept.get(&split).copied().unwrap_or(0)..count)).collect()
    }

    /// How much is to be simulated, and how much of it is in memory at once on so many threads.
    pub(crate) fn extent(&self, threads: usize) -> Extent {
        let of_sample = if !self.preset.space.is_empty() { self.size } else { self.recorded.quantities.len() };
        let trajectory = (self.times.len() as u64).saturating_mul(1 + of_sample as u64);
        let trajectories = self.counts().values().sum::<usize>() as u64;
        let block = trajectories.min(self.block_length(threads) as u64).saturating_mul(trajectory);
        let values = trajectories.saturating_mul(trajectory);
        // One block is simulated while another one is written.
        let blocks = if threads > 1 { values.min(block.saturating_mul(2)) } else { block };
        Extent { values, blocks, shard: values.min(SHARD_VALUES as u64) }
    }

    /// Trajectories of a block, on so many threads.
    fn block_length(&self, threads: usize) -> usize {
        (BLOCK_VALUES / (self.size * self.times.len())).clamp(1, BLOCK).max(threads)
    }

    /// Environments of each split, and trajectories of each of them.
    pub(crate) fn environments(&self) -> Vec<(Split, usize, usize)> {
        let of_split = |(&split, list): (&Split, &Vec<Environment>)| (split, list.len(), self.per_environment(split));
        self.environments.iter().map(of_split).collect()
    }

    /// Hands the trajectories of `rows` to `sink`: those of the finished blocks in `store` as they are, and all others simulated. As many as
    /// `kept` were made before.
    pub(crate) fn run(
        &self,
        run: &Run,
        (rows, kept): (&[Rows], usize),
        store: Option<&Store>,
        sink: &mut Sink,
    ) -> Result<(), Error> {
        let what = format!("simulate {}", self.settings.dataset);
        let total = kept + rows.iter().map(|rows| rows.count).sum::<usize>();
        run.emit(Event::Begin { what, total: Some(total as u64), unit: "trajectories" });
        if kept > 0 {
            run.emit(Event::Advance { done: kept as u64, note: "kept".to_owned() });
        }
        let work = if rayon::current_num_threads() == 1 {
            // With one thread, simulation and writing take turns.
            self.simulate(run, (rows, kept), store, &mut |rows, block| sink(rows, block).map(|()| true))?
        } else {
            thread::scope(|scope| {
                // The channel has no buffer, so at most two blocks are in memory: one being written, one being simulated.
                let (blocks, incoming) = mpsc::sync_channel::<(Rows, Vec<Trajectory>)>(0);
                let writing =
                    scope.spawn(move || incoming.into_iter().try_for_each(|(rows, block)| sink(&rows, block)));
                let simulated = self.simulate(run, (rows, kept), store, &mut move |rows, block| {
                    Ok(blocks.send((rows.clone(), block)).is_ok())
                });
                // An error of writing concerns earlier trajectories than one of simulation, so it is reported first.
                writing.join().unwrap_or_else(|panic| resume_unwind(panic))?;
                simulated
            })?
        };
        run.emit(Event::Note(format!(
            "{}: {} trajectories took {} steps, {} rejected steps and {} evaluations of the field",
            self.method(),
            work.trajectories,
            work.steps.accepted,
            work.steps.rejected,
            work.steps.evaluations
        )));
        run.emit(Event::End);
        Ok(())
    }

    /// Sends block after block, until the receiver is gone.
    fn simulate(
        &self,
        run: &Run,
        (rows, kept): (&[Rows], usize),
        store: Option<&Store>,
        send: &mut Receiver<'_>,
    ) -> Result<Simulated, Error> {
        let mut done = kept;
        let mut work = Simulated::default();
        let length = self.block_length(rayon::current_num_threads());
        let whole = |rows: &Rows| vec![Part { rows: rows.clone(), is_finished: false }];
        let parts = rows.iter().flat_map(|rows| store.map_or_else(|| whole(rows), |store| store.parts(rows)));
        for Part { rows, is_finished } in parts {
            if let Some(store) = store.filter(|_| is_finished) {
                if let Some(block) = store.read(&rows) {
                    done += rows.count;
                    if !send(&rows, block)? {
                        return Ok(work);
                    }
                    run.emit(Event::Advance { done: done as u64, note: "from a finished block".to_owned() });
                    continue;
                }
                let path = store.path(&rows);
                let what = format!("{}: not as it was written; what it held is simulated again", path.display());
                run.emit(Event::Warn(what));
                store.discard(&rows);
            }
            for first in rows.range().step_by(length) {
                let of_block = Rows::new(rows.split, first..rows.range().end.min(first + length));
                let block = self.block(run, &of_block, &mut work)?;
                done += block.len();
                if !send(&of_block, block)? {
                    return Ok(work);
                }
                run.emit(Event::Advance { done: done as u64, note: rows.split.to_string() });
            }
        }
        Ok(work)
    }

    /// Simulates these rows on all threads.
    fn block(&self, run: &Run, rows: &Rows, work: &mut Simulated) -> Result<Vec<Trajectory>, Error> {
        let split = rows.split;
        let (list, per_environment) = (&self.environments[&split], self.per_environment(split));
        let simulated: Vec<Result<(Trajectory, Work), Error>> = rows
            .range()
            .into_par_iter()
            .map_init(
                || self.integrator(),
                |integrator, job| {
                    if let Some(signal) = run.interrupt.requested() {
                        return Err(Error::Interrupted { signal, kept: 0 });
                    }
                    let (environment, index) = (&list[job / per_environment], job % per_environment);
                    self.trajectory(integrator, split, environment, index, run.interrupt)
                },
            )
            .collect();
        let mut block = Vec::with_capacity(simulated.len());
        for result in simulated {
            let (trajectory, cost) = result?;
            block.push(trajectory);
            work.steps += cost;
            work.trajectories += 1;
        }
        Ok(block)
    }

    /// Name of the integration method in reports.
    fn method(&self) -> &'static str {
        match &self.preset.dynamics {
            Dynamics::Field(_) => self.settings.solver.unwrap_or_default().name(),
            Dynamics::Stepper(stepper) => stepper.name,
        }
    }

    fn integrator(&self) -> Result<Integrator, solve::Error> {
        Ok(match &self.preset.dynamics {
            Dynamics::Field(field) => {
                let tableau = self.settings.solver.unwrap_or_default().tableau();
                let (tangent, tolerance) = (self.preset.tangent.as_ref(), self.settings.tolerance());
                Integrator::Adaptive(Box::new(Simulator::new(field, tangent, self.size, tableau, tolerance)?))
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
        interrupt: &Interrupt,
    ) -> Result<(Trajectory, Work), Error> {
        let id = format!("{index:05}");
        let mut stream = Stream::new(self.seed, split.name(), &[environment.index as u64, index as u64]);
        let mut initial = vec![0.0; self.size];
        (self.preset.initial)(&mut || stream.unit(), &mut initial);
        let parameters = |time: f64| self.dosing.with_inputs(&environment.parameters, time);
        self.system.set_starts(&parameters(self.times[0]), &mut initial);
        let time_step = self.settings.time_step.unwrap_or(self.system.time_step);
        let key = Key { seed: self.seed, split, environment: environment.index, trajectory: index };
        let observation = self.settings.observation.as_ref().filter(|observation| observation.is_of(split));
        let mut times = match observation {
            Some(observation) => observation.times(key, &self.times, time_step),
            None => self.times.clone(),
        };
        let mut states = vec![0.0; times.len() * self.size];
        let integrated = match integrator {
            Ok(integrator) => {
                self.integrate(integrator, &environment.parameters, (&times, initial), &mut states, interrupt)
            }
            Err(error) => Err(error.clone()),
        };
        let work = integrated.map_err(|source| match source {
            solve::Error::Interrupted { signal } => Error::Interrupted { signal, kept: 0 },
            source => Error::Integration {
                split,
                environment: environment.id.clone(),
                trajectory: id.clone(),
                parameters: environment.parameters.clone(),
                source: Box::new(source),
            },
        })?;
        states = self.recorded.of_states(&parameters, &times, states);
        if let Some(observation) = observation {
            let names: Vec<&str> = self.recorded.quantities.iter().map(|channel| channel.name.as_str()).collect();
            (times, states) = observation.record(key, &names, &times, &states, time_step);
        }
        let (times, states, inputs) = self.dosing.with_samples(times, self.recorded_channels(states));
        let trajectory = Trajectory {
            environment: environment.id.clone(),
            trajectory: id,
            parameters: environment.parameters.iter().copied().map(Some).collect(),
            times,
            states,
            inputs,
        };
        Ok((trajectory, work))
    }

    /// Integrates from `initial` at `times[0]` to `states [T, N]`, over the jumps of what is given.
    fn integrate(
        &self,
        integrator: &mut Integrator,
        parameters: &[f64],
        (times, initial): (&[f64], Vec<f64>),
        states: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<Work, solve::Error> {
        let at = |time: f64| self.dosing.with_inputs(parameters, time);
        let happenings = happenings(&self.dosing, &self.system, parameters).map_err(solve::Error::Given)?;
        let (Some(&first), Some(&end)) = (times.first(), times.last()) else { return Ok(Work::default()) };
        let (initial, mut work) = rested(integrator, &self.system, parameters, initial, interrupt)?;
        if happenings.is_empty() {
            work += integrator.integrate(&at(first), &initial, times, states, interrupt)?;
            return Ok(work);
        }
        let (n, mut state, mut now, mut sample) = (self.size, initial, first, 1);
        states[..n].copy_from_slice(&state);
        let pieces = happenings.iter().filter(|it| it.time >= first && it.time < end).map(|it| (it.time, &it.what));
        for (time, what) in pieces.chain(std::iter::once((end, &What::Change))) {
            let until = times.partition_point(|sample| *sample <= time);
            if now < time {
                let mut piece: Vec<f64> = std::iter::once(now).chain(times[sample..until].iter().copied()).collect();
                if piece[piece.len() - 1] < time {
                    piece.push(time);
                }
                let mut along = vec![0.0; piece.len() * n];
                work += integrator.integrate(&at(now), &state, &piece, &mut along, interrupt)?;
                states[sample * n..until * n].copy_from_slice(&along[n..][..(until - sample) * n]);
                state.copy_from_slice(&along[along.len() - n..]);
                (now, sample) = (time, until);
            }
            match what {
                What::Change => {}
                What::Give(index, amount) => state[*index] += amount,
                What::Reset => {
                    let doses = self.system.doses.as_ref();
                    state = doses.map_or(state, |doses| starts(doses, &at(time), time));
                }
                What::Steady(repeated, is_added) => {
                    let guess = if *is_added { vec![0.0; n] } else { state.clone() };
                    let (steady, spent) = self.steady(integrator, at(time), repeated, (time, guess), interrupt)?;
                    work += spent;
                    match is_added {
                        true => state.iter_mut().zip(steady).for_each(|(state, value)| *state += value),
                        false => state = steady,
                    }
                }
            }
        }
        Ok(work)
    }

    /// The state just before what is given every interval is given again, which the next finds as it was: interval after interval from `guess`.
    fn steady(
        &self,
        integrator: &mut Integrator,
        mut inputs: Vec<f64>,
        repeated: &Repeated,
        (time, guess): (f64, Vec<f64>),
        interrupt: &Interrupt,
    ) -> Result<(Vec<f64>, Work), solve::Error> {
        let (n, behind) = (self.size, known_quantities(&self.system).len());
        // What happens in an interval, at its time: a dose into a state, and an input that falls at the end of an infusion.
        type Happening = (f64, Option<(usize, f64)>, Option<(usize, f64)>);
        let mut changes: Vec<Happening> = Vec::new();
        changes.extend(repeated.doses.iter().map(|&(lag, state, amount)| (lag, Some((state, amount)), None)));
        changes.extend(repeated.infusions.iter().map(|it| (it.duration, None, Some((it.input, it.rate)))));
        changes.push((repeated.interval, None, None));
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut state, mut work) = (guess, Work::default());
        let close = STILL * self.settings.tolerance().rtol;
        let level = inputs.clone();
        for _ in 0..INTERVALS {
            let (mut after, mut now) = (state.clone(), 0.0);
            inputs.clone_from(&level);
            for (at, dose, end) in changes.iter().filter(|it| it.0 <= repeated.interval) {
                if *at > now {
                    let mut along = vec![0.0; 2 * n];
                    work += integrator.integrate(&inputs, &after, &[time + now, time + at], &mut along, interrupt)?;
                    after.copy_from_slice(&along[n..]);
                    now = *at;
                }
                dose.iter().for_each(|(index, amount)| after[*index] += amount);
                end.iter().for_each(|(input, by)| inputs[behind + 2 * input] -= by);
            }
            let greatest = after.iter().fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
            let is_still = state.iter().zip(&after).all(|(a, b)| (a - b).abs() <= close * greatest);
            state = after;
            if is_still {
                return Ok((state, work));
            }
        }
        Err(solve::Error::Restless { time })
    }

    /// Channels `[T, C]` (`[T, C, n_1, .., n_k]` on a grid) without the dropped channels.
    fn recorded_channels(&self, states: Vec<f64>) -> Vec<f64> {
        let points = self.size / self.system.channels.len();
        let of_channels = self.recorded.quantities.iter().map(|it| self.settings.is_kept(&it.name));
        let is_recorded: Vec<bool> = of_channels.flat_map(|it| std::iter::repeat_n(it, points)).collect();
        if is_recorded.iter().all(|&is_recorded| is_recorded) {
            return states;
        }
        let cells = states.into_iter().zip(is_recorded.into_iter().cycle());
        cells.filter_map(|(value, is_recorded)| is_recorded.then_some(value)).collect()
    }

    /// The manifest of the dataset, without splits and files.
    pub(crate) fn manifest(&self) -> Manifest {
        let Settings { dataset, license, .. } = &self.settings;
        let tolerance = match &self.preset.dynamics {
            Dynamics::Field(_) => self.settings.tolerance().rtol,
            Dynamics::Stepper(stepper) => stepper.error_at(self.settings.inner_step.unwrap_or(stepper.step)),
        };
        let inputs = self.system.inputs.iter().enumerate().map(|(index, it)| Input {
            quantity: Quantity::new(&it.name, &it.unit, &it.description),
            between: self.dosing.between(index),
        });
        Manifest {
            format: FormatVersion::DATASET,
            kind: "dataset".to_owned(),
            name: dataset.clone(),
            description: format!(
                "Simulated trajectories of {} ({}). {}.",
                self.system.name, self.system.description, self.preset.description
            ),
            license: license.clone(),
            publication: self.settings.publication.clone(),
            provenance: Provenance::new(
                "generate",
                serde_json::to_value(&self.settings).unwrap_or_default(),
                Some(self.seed),
                Vec::new(),
            ),
            time_unit: self.system.time_unit.clone(),
            channels: self.settings.kept(&self.system),
            grid: self.preset.grid(),
            import_report: Vec::new(),
            inputs: inputs.collect(),
            parameters: known_quantities(&self.system),
            data_tolerance: Some(tolerance),
            splits: BTreeMap::new(),
            files: Vec::new(),
        }
    }
}

/// What was simulated, and at what cost.
#[derive(Default)]
struct Simulated {
    trajectories: usize,
    steps: Work,
}
