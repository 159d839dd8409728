//! Integration of one stiff trajectory, and of the derivatives of it along several directions.
//!
//! ```text
//! dy/dt = f(t, y),          W u_i = f_i + sum_{j<i} (C_ij / dt) u_j + d_i dt df/dt,          W = I / (gamma dt) - J
//! dS/dt = J S + F,          W U_i = F_i + sum_{j<i} (C_ij / dt) U_j + d_i dt dF/dt + (dJ) u_i
//! ```
//!
//! `y [C]` state, `S [C, K]` its derivatives along `K` directions, `F [C, K]` what the slopes of `S` have beside `J S` (a parameter moves along
//! its direction, too), `dJ [C, C, K]` the derivatives of `J` along the directions, `f_i`, `F_i` all slopes at the argument of stage `i`. The
//! second line is the derivative of the first: the derivatives are those of the numbers that the method gives, whatever the step, and one
//! factorisation of `W [C, C]` serves all stages of all directions. So the error of the state alone controls the step. Symbols, stages and
//! step: [`RosenbrockTableau`]; control as for explicit methods.
//!
//! `sum dt |lambda|`, with `lambda` the greatest rate of the system, says what an explicit method would take; one product by `J` a step
//! follows it (power method).
//! Source: E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, 2nd ed., section IV.7.

use super::combination::combine;
use super::control::{Control, Step, shortest_step};
use super::error::Error;
use super::factorisation::Factorisation;
use super::rosenbrock_tableau::RosenbrockTableau;
use super::tolerance::{Tolerance, Work, all_finite, check_times};
use crate::expressions::LANES;
use crate::progress::Interrupt;

/// A vector field with its derivatives, along directions too, [`LANES`] of them in each of `G` groups: a state `[C]` is followed by its
/// derivatives `[G, C, LANES]`.
pub trait StiffField {
    /// Row and column of the entries of `J` that may be other than zero.
    fn pattern(&self) -> Vec<(usize, usize)>;

    /// Writes `f [C]` and the slopes `[G, C, LANES]` of the directions to `slopes`, at `state`.
    fn slopes(&mut self, time: f64, state: &[f64], slopes: &mut [f64]);

    /// Writes the derivatives of `f` at `state`; returns how many evaluations of the field that took.
    fn linearise(&mut self, time: f64, state: &[f64], at: &mut Linearisation) -> u64;
}

/// The derivatives of a vector field, and those of them along directions.
#[derive(Clone, Debug, Default)]
pub struct Linearisation {
    /// The entries of `J` in the order of the pattern `[n]`.
    pub entries: Vec<f64>,
    /// `df/dt [C]`, followed by its derivatives `[G, C, LANES]`.
    pub by_time: Vec<f64>,
    /// `dJ [G, n, LANES]`.
    pub bends: Vec<[f64; LANES]>,
}

/// An adaptive integrator for stiff systems of one size, with its buffers; it allocates nothing while it runs.
pub struct Rosenbrock {
    tableau: &'static RosenbrockTableau,
    tolerance: Tolerance,
    channels: usize,
    work: Work,
    /// `sum dt |lambda|` so far.
    stiffness: f64,
    /// `[C]` and `[G, C, LANES]`, as are the three that follow.
    state: Vec<f64>,
    next: Vec<f64>,
    argument: Vec<f64>,
    slopes: Vec<f64>,
    /// Stages, `s` of the same.
    stages: Vec<f64>,
    pattern: Vec<(usize, usize)>,
    linearisation: Linearisation,
    matrix: Factorisation,
    /// A vector `[C]` that the products by `J` turn towards the greatest rate, and its product.
    fastest: Vec<f64>,
    product: Vec<f64>,
    extension_weights: Vec<f64>,
}

impl Rosenbrock {
    /// An integrator for states of `channels` values along that many `groups` of directions.
    ///
    /// # Errors
    /// [`Error::Tolerance`].
    pub fn new(
        tableau: &'static RosenbrockTableau,
        channels: usize,
        groups: usize,
        tolerance: Tolerance,
    ) -> Result<Self, Error> {
        tolerance.check()?;
        let (c, size) = (channels, (1 + groups * LANES) * channels);
        Ok(Rosenbrock {
            tableau,
            tolerance,
            channels,
            work: Work::default(),
            stiffness: 0.0,
            state: vec![0.0; size],
            next: vec![0.0; size],
            argument: vec![0.0; size],
            slopes: vec![0.0; size],
            stages: vec![0.0; tableau.stages() * size],
            pattern: Vec::new(),
            linearisation: Linearisation { by_time: vec![0.0; size], ..Linearisation::default() },
            matrix: Factorisation::new(c),
            fastest: vec![0.0; c],
            product: vec![0.0; c],
            extension_weights: vec![0.0; tableau.stages()],
        })
    }

    /// The cost of the last integration, even if it failed.
    pub fn work(&self) -> Work {
        self.work
    }

    /// `sum dt |lambda|` over the steps of the last integration: an explicit method that is stable up to `|dt lambda| = z` would have taken at
    /// least `1 / z` as many steps.
    pub fn stiffness(&self) -> f64 {
        self.stiffness
    }

    /// Integrates from `initial`, `[C]` and `[G, C, LANES]`, at `times[0]` and writes the same at `times [T]` to `states`, with a first step of `dt`
    /// where it is known.
    ///
    /// After an error the contents of `states` are unspecified.
    ///
    /// # Errors
    /// As [`Adaptive::integrate`](super::Adaptive::integrate).
    ///
    /// # Panics
    /// If `initial` or `states` has not the size stated.
    pub fn integrate(
        &mut self,
        field: &mut impl StiffField,
        initial: &[f64],
        dt: Option<f64>,
        times: &[f64],
        states: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<Work, Error> {
        let size = self.state.len();
        assert_eq!(initial.len(), size, "initial state of another size than the integrator");
        assert_eq!(states.len(), times.len() * size, "room for another number of states than of times");
        (self.work, self.stiffness) = (Work::default(), 0.0);
        let (Some(&start), Some(&end)) = (times.first(), times.last()) else { return Ok(self.work) };
        check_times(times)?;
        states[..size].copy_from_slice(initial);
        if times.len() == 1 {
            return Ok(self.work);
        }
        self.state.copy_from_slice(initial);
        self.pattern = field.pattern();
        let (count, groups) = (self.pattern.len(), (size / self.channels - 1) / LANES);
        self.linearisation.entries.resize(count, 0.0);
        self.linearisation.bends.resize(groups * count, [0.0; LANES]);
        let mut time = start;
        self.fastest.fill(0.0);
        self.linearise(time, field)?;
        let mut control = Control::new(self.tableau.error_order);
        let dt = dt.unwrap_or_else(|| self.first_step(start, end, &control, field));
        let mut dt = dt.max(shortest_step(start)).min(end - start);
        let mut rate = self.greatest_rate();
        let mut sample = 1;
        while sample < times.len() {
            Error::if_requested(interrupt)?;
            let limit = self.tolerance.max_steps;
            if self.work.accepted + self.work.rejected >= limit {
                return Err(Error::TooManySteps { limit, time, end, state: self.state.clone() });
            }
            let step = Step::towards(end, time, dt);
            dt = step.dt;
            let error = self.try_step(step, field);
            if error <= 1.0 {
                sample = self.write_samples(step, times, sample, states);
                self.work.accepted += 1;
                self.stiffness += step.dt * rate;
                time = step.after;
                std::mem::swap(&mut self.state, &mut self.next);
                dt *= control.accept(error);
                if sample < times.len() {
                    self.linearise(time, field)?;
                    rate = self.greatest_rate();
                }
            } else {
                self.work.rejected += 1;
                dt *= control.reject(error);
                if dt <= shortest_step(time) {
                    let state = self.state.clone();
                    return Err(match error.is_finite() {
                        true => Error::StepUnderflow { time, state, dt },
                        false => Error::NotFinite { time, state },
                    });
                }
            }
        }
        Ok(self.work)
    }

    /// # Errors
    /// [`Error::NotFinite`] if a derivative of the field is not finite.
    fn linearise(&mut self, time: f64, field: &mut impl StiffField) -> Result<(), Error> {
        self.work.evaluations += field.linearise(time, &self.state, &mut self.linearisation);
        let Linearisation { entries, by_time, bends } = &self.linearisation;
        match [&self.state, entries, by_time, bends.as_flattened()].into_iter().all(all_finite) {
            true => Ok(()),
            false => Err(Error::NotFinite { time, state: self.state.clone() }),
        }
    }

    /// Fills `next`; returns the error in units of the tolerance, infinite where something is not finite.
    fn try_step(&mut self, step: Step, field: &mut impl StiffField) -> f64 {
        let (tableau, dt, c, size) = (self.tableau, step.dt, self.channels, self.state.len());
        let Rosenbrock { state, argument, slopes, stages, pattern, matrix, .. } = self;
        let Linearisation { entries, by_time, bends } = &self.linearisation;
        let is_solvable = matrix.factorise(|matrix| {
            matrix.fill(0.0);
            matrix.iter_mut().step_by(c + 1).for_each(|cell| *cell = 1.0 / (tableau.gamma * dt));
            pattern.iter().zip(entries).for_each(|(&(row, column), entry)| matrix[column * c + row] -= entry);
        });
        if !is_solvable {
            return f64::INFINITY;
        }
        for stage in 0..tableau.stages() {
            let (before, own) = stages.split_at_mut(stage * size);
            let own = &mut own[..size];
            combine(Some(state), 1.0, tableau.arguments[stage], before, argument);
            field.slopes(step.time + tableau.nodes[stage] * dt, argument, slopes);
            combine(Some(slopes), 1.0 / dt, tableau.couplings[stage], before, own);
            let weight = dt * tableau.by_time[stage];
            if weight != 0.0 {
                own.iter_mut().zip(by_time).for_each(|(value, slope)| *value += weight * slope);
            }
            let (of_state, of_groups) = own.split_at_mut(c);
            matrix.solve(of_state);
            for (group, values) in of_groups.as_chunks_mut::<LANES>().0.chunks_exact_mut(c).enumerate() {
                for (&(row, column), bend) in pattern.iter().zip(&bends[group * pattern.len()..]) {
                    let by = of_state[column];
                    values[row].iter_mut().zip(bend).for_each(|(value, slope)| *value += by * slope);
                }
                matrix.solve_lanes(values);
            }
        }
        self.work.evaluations += tableau.stages() as u64;
        let error = &self.stages[(tableau.stages() - 1) * size..];
        for ((next, argument), last) in self.next.iter_mut().zip(&self.argument).zip(error) {
            *next = argument + last;
        }
        match all_finite(&self.next) {
            true => self.tolerance.mean_square(&error[..c], &self.state[..c], &self.next[..c]).sqrt(),
            false => f64::INFINITY,
        }
    }

    /// Writes the samples in `(time, after]` and returns the index of the first one later.
    fn write_samples(&mut self, step: Step, times: &[f64], first: usize, states: &mut [f64]) -> usize {
        let size = self.state.len();
        let mut sample = first;
        while sample < times.len() && times[sample] <= step.after {
            let row = &mut states[sample * size..(sample + 1) * size];
            if times[sample] == step.after {
                row.copy_from_slice(&self.next);
            } else {
                self.tableau.extend((times[sample] - step.time) / step.dt, &mut self.extension_weights);
                combine(Some(&self.state), 1.0, &self.extension_weights, &self.stages, row);
            }
            sample += 1;
        }
        sample
    }

    /// The first step, from the sizes of the state, of its derivative and of the change of the derivative.
    fn first_step(&mut self, start: f64, end: f64, control: &Control, field: &mut impl StiffField) -> f64 {
        let Rosenbrock { tolerance, channels, state, argument, slopes, next, .. } = self;
        field.slopes(start, state, slopes);
        self.work.evaluations += 2;
        let c = *channels;
        let size = |values: &[f64]| tolerance.mean_square(&values[..c], &state[..c], &state[..c]).sqrt();
        control.first_step(end - start, size(state), size(slopes), |dt| {
            combine(Some(state), dt, &[1.0], slopes, argument);
            field.slopes(start + dt, argument, next);
            next.iter_mut().zip(slopes.iter()).for_each(|(after, before)| *after -= before);
            size(next)
        })
    }

    /// `|lambda|`, nearer with every step.
    fn greatest_rate(&mut self) -> f64 {
        let c = self.channels;
        let state = &self.state[..c];
        let size = |values: &[f64]| self.tolerance.mean_square(values, state, state).sqrt();
        if self.fastest.iter().all(|value| *value == 0.0) {
            // Something of each value, in units of its own.
            for (value, at) in self.fastest.iter_mut().zip(state) {
                *value = self.tolerance.scale(*at, *at);
            }
        }
        self.product.fill(0.0);
        for (&(row, column), entry) in self.pattern.iter().zip(&self.linearisation.entries) {
            self.product[row] += self.fastest[column] * entry;
        }
        let (before, after) = (size(&self.fastest), size(&self.product));
        for (value, of_product) in self.fastest.iter_mut().zip(&self.product) {
            *value = if after > 0.0 && after.is_finite() { of_product / after } else { 0.0 };
        }
        after / before
    }
}
