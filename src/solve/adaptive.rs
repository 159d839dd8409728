//! Adaptive integration of one trajectory.
//!
//! ```text
//! dy/dt = f(t, y),  y(t_0) given;  y(t_1) .. y(t_{T-1}) computed
//! err   = | dt sum_i e_i k_i |,    |v| = sqrt(mean_c (v_c / (atol + rtol max(|y_c|, |y'_c|)))^2)
//! ```
//!
//! `y [C]` state (`C` the values of all fields on a grid), `t` time, `k_i` stages and `e_i` weights of the [`Tableau`]. A step with `err > 1` is
//! rejected. Values at sample times come from the continuous extension. Where `|dt lambda|` stays near the boundary of stability, with `lambda`
//! the greatest rate of the system, the system is stiff. Source: Hairer, Noersett, Wanner I, section II.4; the test for stiffness: Hairer,
//! Wanner II, section IV.2.

use super::combination::combine;
use super::control::{Control, Step, shortest_step};
use super::error::Error;
use super::tableau::{Embedded, ErrorEstimate, Tableau};
use super::tolerance::{Tolerance, Work, all_finite, check_times};
use crate::progress::Interrupt;

/// A vector field: `field(t, y, dy)` writes the derivative at `(t, y)` to `dy`.
pub trait Field: FnMut(f64, &[f64], &mut [f64]) {}

impl<F: FnMut(f64, &[f64], &mut [f64])> Field for F {}

/// Steps between two looks at whether the system is stiff, from half of the patience on.
const LOOK: u64 = 10;
/// So many looks must find it stiff,
const CONVINCED: u32 = 15;
/// with no more than so many in a row that do not.
const DOUBTS: u32 = 6;

/// Where an explicit method was left because the system is stiff; the state there is [`Adaptive::state`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stiff {
    /// The time reached.
    pub time: f64,
    /// The step that would come next.
    pub dt: f64,
    /// The first sample after it.
    pub sample: usize,
}

/// What the looks found so far.
#[derive(Clone, Copy, Debug, Default)]
struct Suspicion {
    stiff: u32,
    not: u32,
}

impl Suspicion {
    fn look(&mut self, is_stiff: bool) {
        if is_stiff {
            (self.stiff, self.not) = (self.stiff + 1, 0);
        } else {
            self.not += 1;
            if self.not >= DOUBTS {
                *self = Suspicion::default();
            }
        }
    }
}

/// An adaptive integrator for states of one size, with its buffers; it allocates nothing while it runs.
pub struct Adaptive {
    tableau: &'static Tableau,
    embedded: &'static Embedded,
    tolerance: Tolerance,
    channels: usize,
    work: Work,
    state: Vec<f64>,
    next: Vec<f64>,
    argument: Vec<f64>,
    /// Stages `[m, C]`.
    stages: Vec<f64>,
    /// `b_i(theta) [m]`.
    extension_weights: Vec<f64>,
}

impl Adaptive {
    /// An integrator for states of `channels` values.
    ///
    /// # Errors
    /// [`Error::NoErrorEstimate`] and [`Error::Tolerance`].
    pub fn new(tableau: &'static Tableau, channels: usize, tolerance: Tolerance) -> Result<Self, Error> {
        let embedded = tableau.embedded.as_ref().ok_or(Error::NoErrorEstimate { method: tableau.name })?;
        tolerance.check()?;
        let stages = embedded.extension.len();
        Ok(Adaptive {
            tableau,
            embedded,
            tolerance,
            channels,
            work: Work::default(),
            state: vec![0.0; channels],
            next: vec![0.0; channels],
            argument: vec![0.0; channels],
            stages: vec![0.0; stages * channels],
            extension_weights: vec![0.0; stages],
        })
    }

    /// The cost of the last integration, even if it failed.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Integrates from `initial [C]` at `times[0]` and writes the states at `times [T]` to `states [T, C]`.
    ///
    /// After an error the contents of `states` are unspecified.
    ///
    /// # Errors
    /// [`Error::Times`] if the times do not ascend; [`Error::NotFinite`], [`Error::StepUnderflow`] or
    /// [`Error::TooManySteps`] if the trajectory cannot be followed to its end; [`Error::Interrupted`] soon after `interrupt` asks to stop.
    ///
    /// # Panics
    /// If `initial` or `states` has not the size stated.
    pub fn integrate(
        &mut self,
        field: &mut impl Field,
        initial: &[f64],
        times: &[f64],
        states: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<Work, Error> {
        self.run(field, initial, times, states, interrupt, None)?;
        Ok(self.work)
    }

    /// As [`Adaptive::integrate`], but ends where the system is found to be stiff after at least `patience` evaluations, or has no steps left:
    /// there the length of steps has been bounded by the stability of the method, not by the tolerance. Samples up to there are written.
    ///
    /// # Errors
    /// As [`Adaptive::integrate`].
    pub fn integrate_unless_stiff(
        &mut self,
        field: &mut impl Field,
        initial: &[f64],
        times: &[f64],
        states: &mut [f64],
        interrupt: &Interrupt,
        patience: u64,
    ) -> Result<Option<Stiff>, Error> {
        self.run(field, initial, times, states, interrupt, Some(patience))
    }

    /// The state `[C]` where the last integration ended.
    pub fn state(&self) -> &[f64] {
        &self.state
    }

    fn run(
        &mut self,
        field: &mut impl Field,
        initial: &[f64],
        times: &[f64],
        states: &mut [f64],
        interrupt: &Interrupt,
        patience: Option<u64>,
    ) -> Result<Option<Stiff>, Error> {
        let c = self.channels;
        assert_eq!(initial.len(), c, "initial state of another size than the integrator");
        assert_eq!(states.len(), times.len() * c, "room for another number of states than of times");
        self.work = Work::default();
        let (Some(&start), Some(&end)) = (times.first(), times.last()) else { return Ok(None) };
        check_times(times)?;

        states[..c].copy_from_slice(initial);
        if times.len() == 1 {
            return Ok(None);
        }
        self.state.copy_from_slice(initial);
        self.work = Work { evaluations: 1, ..Work::default() };
        let mut time = start;
        field(time, &self.state, &mut self.stages[..c]);
        if !all_finite(&self.state) || !all_finite(&self.stages[..c]) {
            return Err(Error::NotFinite { time, state: self.state.clone() });
        }

        let mut control = Control::new(self.embedded.error_order);
        let mut dt = self.first_step(start, end, &control, field).max(shortest_step(start));
        let mut suspicion = Suspicion::default();
        let mut sample = 1;
        while sample < times.len() {
            Error::if_requested(interrupt)?;
            let limit = self.tolerance.max_steps;
            let is_over = self.work.accepted + self.work.rejected >= limit;
            if suspicion.stiff >= CONVINCED && patience.is_some_and(|least| is_over || self.work.evaluations >= least) {
                return Ok(Some(Stiff { time, dt, sample }));
            }
            if is_over {
                return Err(Error::TooManySteps { limit, time, end, state: self.state.clone() });
            }
            let step = Step::towards(end, time, dt);
            dt = step.dt;
            let error = self.try_step(step, field);
            if error <= 1.0 {
                sample = self.write_samples(step, times, sample, states, field);
                self.work.accepted += 1;
                let is_time = patience.is_some_and(|least| 2 * self.work.evaluations >= least);
                if is_time && (suspicion.stiff > 0 || self.work.accepted.is_multiple_of(LOOK)) {
                    suspicion.look(self.is_stiff(step));
                }
                time = step.after;
                std::mem::swap(&mut self.state, &mut self.next);
                let derivative = self.tableau.weights.len() * c;
                self.stages.copy_within(derivative..derivative + c, 0);
                dt *= control.accept(error);
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
        Ok(None)
    }

    /// Whether the step is about as long as stability allows: the last two stages belong to nearly the same state at the same time, and their
    /// distance shows the greatest rate at which states relax.
    fn is_stiff(&mut self, step: Step) -> bool {
        let c = self.channels;
        let last = self.tableau.weights.len() - 1;
        combine(Some(&self.state), step.dt, &self.tableau.stages[last], &self.stages, &mut self.argument);
        let distance = |a: &[f64], b: &[f64]| {
            let scales = self.state.iter().zip(&self.next).map(|(before, after)| self.tolerance.scale(*before, *after));
            a.iter().zip(b).zip(scales).map(|((a, b), scale)| ((a - b) / scale).powi(2)).sum::<f64>()
        };
        let (before, after) = self.stages[last * c..(last + 2) * c].split_at(c);
        let (slopes, states) = (distance(after, before), distance(&self.next, &self.argument));
        step.dt * slopes.sqrt() > self.embedded.stiff * states.sqrt()
    }

    /// Evaluates stage `index`, at `node` of the step, from the stages before it with the coefficients `row`.
    fn evaluate(&mut self, index: usize, node: f64, row: &[f64], step: Step, field: &mut impl Field) {
        let c = self.channels;
        combine(Some(&self.state), step.dt, row, &self.stages, &mut self.argument);
        field(step.time + node * step.dt, &self.argument, &mut self.stages[index * c..(index + 1) * c]);
        self.work.evaluations += 1;
    }

    /// Fills `next` and the stages up to `s + 1`; returns the scaled error, NaN or infinite where something is not finite.
    fn try_step(&mut self, step: Step, field: &mut impl Field) -> f64 {
        let c = self.channels;
        let tableau = self.tableau;
        for (index, (node, row)) in tableau.nodes.iter().zip(&tableau.stages).enumerate().skip(1) {
            self.evaluate(index, *node, row, step, field);
        }
        combine(Some(&self.state), step.dt, &tableau.weights, &self.stages, &mut self.next);
        let derivative = tableau.weights.len() * c..(tableau.weights.len() + 1) * c;
        field(step.after, &self.next, &mut self.stages[derivative.clone()]);
        self.work.evaluations += 1;
        if !all_finite(&self.next) || !all_finite(&self.stages[derivative]) {
            return f64::INFINITY;
        }
        match self.embedded.error {
            ErrorEstimate::Single(weights) => step.dt * self.estimate(weights).sqrt(),
            ErrorEstimate::Pair { fifth, third } => {
                let (fifth, third) = (self.estimate(fifth), self.estimate(third));
                if fifth == 0.0 { 0.0 } else { step.dt * fifth / (fifth + 0.01 * third).sqrt() }
            }
        }
    }

    /// Mean over the state of `(value / scale)^2` of `sum_i weights_i k_i`.
    fn estimate(&mut self, weights: &[f64]) -> f64 {
        combine(None, 1.0, weights, &self.stages, &mut self.argument);
        self.tolerance.mean_square(&self.argument, &self.state, &self.next)
    }

    /// Writes the samples in `(time, after]` and returns the index of the first one later.
    fn write_samples(
        &mut self,
        step: Step,
        times: &[f64],
        first: usize,
        states: &mut [f64],
        field: &mut impl Field,
    ) -> usize {
        let c = self.channels;
        let embedded = self.embedded;
        let mut extended = false;
        let mut sample = first;
        while sample < times.len() && times[sample] <= step.after {
            let row = &mut states[sample * c..(sample + 1) * c];
            if times[sample] == step.after {
                row.copy_from_slice(&self.next);
            } else {
                if !extended {
                    let before = self.tableau.weights.len() + 1;
                    for (extra, (node, row)) in
                        embedded.extension_nodes.iter().zip(embedded.extension_stages).enumerate()
                    {
                        self.evaluate(before + extra, *node, row, step, field);
                    }
                    extended = true;
                }
                let theta = (times[sample] - step.time) / step.dt;
                for (weight, polynomial) in self.extension_weights.iter_mut().zip(embedded.extension) {
                    *weight = polynomial.iter().rev().fold(0.0, |value, coefficient| (value + coefficient) * theta);
                }
                combine(Some(&self.state), step.dt, &self.extension_weights, &self.stages, row);
            }
            sample += 1;
        }
        sample
    }

    fn first_step(&mut self, start: f64, end: f64, control: &Control, field: &mut impl Field) -> f64 {
        let c = self.channels;
        self.next.copy_from_slice(&self.state);
        let size = self.tolerance.mean_square(&self.state, &self.state, &self.next).sqrt();
        let slope = self.tolerance.mean_square(&self.stages[..c], &self.state, &self.next).sqrt();
        control.first_step(end - start, size, slope, |dt| {
            self.evaluate(1, 1.0, &[1.0], Step { time: start, dt, after: start + dt }, field);
            let (before, after) = self.stages.split_at(c);
            for ((change, after), before) in self.argument.iter_mut().zip(after).zip(before) {
                *change = after - before;
            }
            self.tolerance.mean_square(&self.argument, &self.state, &self.next).sqrt()
        })
    }
}
