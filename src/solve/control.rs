//! How long the next step is: shared by explicit methods and those for stiff systems.
//!
//! ```text
//! dt' = dt clamp(0.9 err^(-0.7/q) last^(0.4/q), 0.2, 10),    q = error_order + 1
//! ```
//!
//! `err` the error of the step in units of the tolerance, `last` that of the step before (at least 1e-4). A step with `err > 1` is rejected and
//! tried again with `dt clamp(0.9 err^(-1/q), 0.2, 1)`; the step after it does not grow.
//! Source: K. Gustafsson, Control-theoretic techniques for stepsize selection in explicit Runge-Kutta methods, ACM TOMS 17 (1991) 533-554;
//! starting step: Hairer, Noersett, Wanner I, section II.4. Deviation: the starting step is found with time measured in spans
//! `t_{T-1} - t_0`, so that the unit of time does not matter.

/// A step from `time` to `after`, which is `time + dt` up to rounding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub time: f64,
    pub dt: f64,
    pub after: f64,
}

impl Step {
    /// A step of `dt` that ends exactly at `end` if it comes near, without a tiny step after this one.
    pub(crate) fn towards(end: f64, time: f64, dt: f64) -> Self {
        match time + 1.01 * dt >= end {
            true => Step { time, dt: end - time, after: end },
            false => Step { time, dt, after: time + dt },
        }
    }
}

const SAFETY: f64 = 0.9;
const SHRINK: f64 = 0.2;
const GROW: f64 = 10.0;

/// The controller of the length of steps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Control {
    exponent: f64,
    last_error: f64,
    rejected_before: bool,
}

impl Control {
    /// For a method with an error estimate of that order.
    pub(crate) fn new(error_order: u32) -> Self {
        Control { exponent: 1.0 / f64::from(error_order + 1), last_error: 1e-4, rejected_before: false }
    }

    /// By how much the step after an accepted one is longer.
    pub(crate) fn accept(&mut self, error: f64) -> f64 {
        let growth = SAFETY * error.powf(-0.7 * self.exponent) * self.last_error.powf(0.4 * self.exponent);
        let factor = growth.clamp(SHRINK, if self.rejected_before { 1.0 } else { GROW });
        self.last_error = error.max(1e-4);
        self.rejected_before = false;
        factor
    }

    /// By how much the next try of a rejected step is shorter.
    pub(crate) fn reject(&mut self, error: f64) -> f64 {
        self.rejected_before = true;
        if error.is_finite() { (SAFETY * error.powf(-self.exponent)).clamp(SHRINK, 1.0) } else { SHRINK }
    }

    /// The first of the steps over `span`, from the sizes of the state and of its derivative in units of the tolerance; `change` gives that of
    /// how much the derivative changes in a step by Euler's method.
    pub(crate) fn first_step(&self, span: f64, size: f64, slope: f64, change: impl FnOnce(f64) -> f64) -> f64 {
        let slope = span * slope;
        let guess = if size < 1e-5 || slope < 1e-5 { 1e-6 } else { (0.01 * size / slope).min(1.0) };
        let bend = span * change(guess * span) / guess;
        if !bend.is_finite() {
            return guess * span;
        }
        let steepest = slope.max(bend);
        let wanted = if steepest <= 1e-15 { (1e-3 * guess).max(1e-6) } else { (0.01 / steepest).powf(self.exponent) };
        (100.0 * guess).min(wanted).min(1.0) * span
    }
}

/// The shortest step at a time: shorter ones are lost in its rounding.
pub(crate) fn shortest_step(time: f64) -> f64 {
    16.0 * f64::EPSILON * time.abs().max(f64::MIN_POSITIVE / f64::EPSILON)
}
