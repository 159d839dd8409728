//! Adaptive integration of one trajectory.
//!
//! ```text
//! dy/dt = f(t, y),  y(t_0) given;  y(t_1) .. y(t_{T-1}) computed
//! err   = | dt sum_i e_i k_i |,    |v| = sqrt(mean_c (v_c / (atol + rtol max(|y_c|, |y'_c|)))^2)
//! dt'   = dt clamp(0.9 err^(-0.7/q) last^(0.4/q), 0.2, 10),    q = error_order + 1
//! ```
//!
//! `y [C]` state (`C` the values of all fields on a grid), `t` time, `k_i` stages and `e_i` weights of the [`Tableau`], `last` the error of the step before (at least
//! 1e-4). A step with `err > 1` is rejected and tried again with `dt clamp(0.9 err^(-1/q), 0.2, 1)`; the step after it does
//! not grow. Values at sample times come from the continuous extension.
//! Source: Hairer, Noersett, Wanner I, section II.4 (norm, starting step), and K. Gustafsson, Control-theoretic techniques
//! for stepsize selection in explicit Runge-Kutta methods, ACM TOMS 17 (1991) 533-554 (controller). Deviation: the starting
//! step is found with time measured in spans `t_{T-1} - t_0`, so that the unit of time does not matter.

use super::combination::combine;
use super::error::Error;
use super::tableau::{Embedded, ErrorEstimate, Tableau};
use super::tolerance::{Tolerance, Work, all_finite, check_times};
use crate::progress::Interrupt;

/// A vector field: `field(t, y, dy)` writes the derivative at `(t, y)` to `dy`.
pub trait Field: FnMut(f64, &[f64], &mut [f64]) {}

impl<F: FnMut(f64, &[f64], &mut [f64])> Field for F {}

/// A step from `time` to `after`, which is `time + dt` up to rounding.
#[derive(Clone, Copy)]
struct Step {
    time: f64,
    dt: f64,
    after: f64,
}

const SAFETY: f64 = 0.9;
const SHRINK: f64 = 0.2;
const GROW: f64 = 10.0;

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
        let c = self.channels;
        assert_eq!(initial.len(), c, "initial state of another size than the integrator");
        assert_eq!(states.len(), times.len() * c, "room for another number of states than of times");
        self.work = Work::default();
        let (Some(&start), Some(&end)) = (times.first(), times.last()) else { return Ok(Work::default()) };
        check_times(times)?;

        states[..c].copy_from_slice(initial);
        if times.len() == 1 {
            return Ok(Work::default());
        }
        self.state.copy_from_slice(initial);
        self.work = Work { evaluations: 1, ..Work::default() };
        let mut time = start;
        field(time, &self.state, &mut self.stages[..c]);
        if !all_finite(&self.state) || !all_finite(&self.stages[..c]) {
            return Err(Error::NotFinite { time, state: self.state.clone() });
        }

        let exponent = 1.0 / f64::from(self.embedded.error_order + 1);
        let smallest = 16.0 * f64::EPSILON * start.abs().max(end.abs());
        let mut dt = self.starting_step(start, end, exponent, field).max(smallest);
        let mut last_error: f64 = 1e-4;
        let mut rejected_before = false;
        let mut sample = 1;
        while sample < times.len() {
            Error::if_requested(interrupt)?;
            let limit = self.tolerance.max_steps;
            if self.work.accepted + self.work.rejected >= limit {
                return Err(Error::TooManySteps { limit, time, end, state: self.state.clone() });
            }
            // Ends exactly at the end, without a tiny step after this one.
            let is_last = time + 1.01 * dt >= end;
            if is_last {
                dt = end - time;
            }
            let step = Step { time, dt, after: if is_last { end } else { time + dt } };
            let error = self.try_step(step, field);
            if error <= 1.0 {
                sample = self.write_samples(step, times, sample, states, field);
                self.work.accepted += 1;
                time = step.after;
                std::mem::swap(&mut self.state, &mut self.next);
                let derivative = self.tableau.weights.len() * c;
                self.stages.copy_within(derivative..derivative + c, 0);
                let growth = SAFETY * error.powf(-0.7 * exponent) * last_error.powf(0.4 * exponent);
                dt *= growth.clamp(SHRINK, if rejected_before { 1.0 } else { GROW });
                last_error = error.max(1e-4);
                rejected_before = false;
            } else {
                self.work.rejected += 1;
                rejected_before = true;
                dt *= if error.is_finite() { (SAFETY * error.powf(-exponent)).clamp(SHRINK, 1.0) } else { SHRINK };
                if dt <= smallest {
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

    /// The first step, from the sizes of the state, of its derivative and of the change of the derivative.
    fn starting_step(&mut self, start: f64, end: f64, exponent: f64, field: &mut impl Field) -> f64 {
        let c = self.channels;
        let span = end - start;
        self.next.copy_from_slice(&self.state);
        let size = self.tolerance.mean_square(&self.state, &self.state, &self.next).sqrt();
        let slope = span * self.tolerance.mean_square(&self.stages[..c], &self.state, &self.next).sqrt();
        let guess = if size < 1e-5 || slope < 1e-5 { 1e-6 } else { (0.01 * size / slope).min(1.0) };
        let step = Step { time: start, dt: guess * span, after: start + guess * span };
        self.evaluate(1, 1.0, &[1.0], step, field);
        let (before, after) = self.stages.split_at(c);
        for ((change, after), before) in self.argument.iter_mut().zip(after).zip(before) {
            *change = after - before;
        }
        let bend = span * self.tolerance.mean_square(&self.argument, &self.state, &self.next).sqrt() / guess;
        if !bend.is_finite() {
            return guess * span;
        }
        let steepest = slope.max(bend);
        let wanted = if steepest <= 1e-15 { (1e-3 * guess).max(1e-6) } else { (0.01 / steepest).powf(exponent) };
        (100.0 * guess).min(wanted).min(1.0) * span
    }
}
