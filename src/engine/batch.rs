//! A padded batch of observed segments, in the model's own units.

use std::ops::Range;

use crate::schema::Between;

/// `E` environments with `B` rows each; a row is an observed segment of up to `L` steps with `C` values a state.
///
/// A row starts at `initial` and is compared with `targets` after each step of length `dt`. Where a row is shorter than
/// `L`, or an environment has fewer rows than `B`, `dt` and `mask` are zero: padding leaves the state unchanged and has
/// no weight in the loss. A missing value has mask and target zero too. Any other mask is the square root of the
/// value's weight in the loss.
///
/// Within a step each input is linear: it has a value at the start of the step and a slope `du/dt`, which is zero for
/// an input that is held.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// `E`.
    pub environments: usize,
    /// `B`, rows of each environment.
    pub rows: usize,
    /// `L`, steps of each row.
    pub steps: usize,
    /// `C`, values of a state: channels times grid points.
    pub channels: usize,
    /// `U`.
    pub inputs: usize,
    /// `[E, B, C]`.
    pub initial: Vec<f64>,
    /// `[E, B, L]`.
    pub dt: Vec<f64>,
    /// `[E, B, L, C]`.
    pub targets: Vec<f64>,
    /// `[E, B, L, C]`: zero, or the square root of the value's weight, which is one by default.
    pub mask: Vec<f64>,
    /// Inputs at the start of each step `[E, B, L, U]`.
    pub input_starts: Vec<f64>,
    /// `[E, B, L, U]`.
    pub input_slopes: Vec<f64>,
}

/// One segment before padding: borrowed samples of one trajectory.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Sample times `[n]`, the first being the start.
    pub times: &'a [f64],
    /// States `[n, C]`, NaN where missing; the first is complete, because the rollout starts there.
    pub states: &'a [f64],
    /// Inputs `[n, U]`.
    pub inputs: &'a [f64],
}

impl Batch {
    /// Pads `segments[e]` of every environment, to one shape; `between [U]` says how inputs run between samples. `rows`
    /// and `steps` are the smallest that hold all segments, and no smaller than `at_least = (rows, steps)`.
    ///
    /// # Panics
    /// If a segment's states or inputs are not `channels` and `U` for each of its times.
    pub fn new(channels: usize, between: &[Between], segments: &[Vec<Segment>], at_least: (usize, usize)) -> Self {
        let environments = segments.len();
        let rows = segments.iter().map(Vec::len).max().unwrap_or(0).max(at_least.0);
        let longest = segments.iter().flatten().map(|segment| segment.times.len().saturating_sub(1)).max().unwrap_or(0);
        let steps = longest.max(at_least.1);
        let mut batch = Batch {
            environments,
            rows,
            steps,
            channels,
            inputs: between.len(),
            initial: vec![0.0; environments * rows * channels],
            dt: vec![0.0; environments * rows * steps],
            targets: vec![0.0; environments * rows * steps * channels],
            mask: vec![0.0; environments * rows * steps * channels],
            input_starts: vec![0.0; environments * rows * steps * between.len()],
            input_slopes: vec![0.0; environments * rows * steps * between.len()],
        };
        for (e, of_environment) in segments.iter().enumerate() {
            for (b, segment) in of_environment.iter().enumerate() {
                batch.fill_row(e * rows + b, segment, between);
            }
        }
        batch
    }

    fn fill_row(&mut self, row: usize, segment: &Segment, between: &[Between]) {
        let (channels, count) = (self.channels, between.len());
        assert_eq!(segment.states.len(), segment.times.len() * channels, "states and times of a segment disagree");
        assert_eq!(segment.inputs.len(), segment.times.len() * count, "inputs and times of a segment disagree");
        if segment.times.is_empty() {
            return;
        }
        self.initial[row * channels..(row + 1) * channels].copy_from_slice(&segment.states[..channels]);
        let first = row * self.steps;
        for (step, pair) in segment.times.windows(2).enumerate() {
            let dt = pair[1] - pair[0];
            self.dt[first + step] = dt;
            let of_step = &segment.inputs[step * count..(step + 2) * count];
            for (u, between) in between.iter().enumerate() {
                let at = (first + step) * count + u;
                (self.input_starts[at], self.input_slopes[at]) = between.step(of_step[u], of_step[count + u], dt);
            }
        }
        let observed = &segment.states[channels..];
        let range = first * channels..first * channels + observed.len();
        for ((target, mask), value) in self.targets[range.clone()].iter_mut().zip(&mut self.mask[range]).zip(observed) {
            let is_missing = value.is_nan();
            *target = if is_missing { 0.0 } else { *value };
            *mask = if is_missing { 0.0 } else { 1.0 };
        }
    }

    /// Turns environment `e` into padding: its states stay constant and its values have no weight.
    pub fn blank(&mut self, e: usize) {
        let (steps, values) = (self.rows * self.steps, self.values_per_environment());
        self.dt[e * steps..(e + 1) * steps].fill(0.0);
        self.mask[e * values..(e + 1) * values].fill(0.0);
    }

    /// The batch of environment `e` alone.
    pub fn environment(&self, e: usize) -> Batch {
        self.part(e..e + 1, 0..self.rows)
    }

    /// The batch of some environments and, of each, some rows.
    pub fn part(&self, environments: Range<usize>, rows: Range<usize>) -> Batch {
        let part = |values: &[f64]| {
            let each = values.len() / (self.environments * self.rows).max(1);
            let of_environment =
                |e: usize| &values[(e * self.rows + rows.start) * each..(e * self.rows + rows.end) * each];
            environments.clone().map(of_environment).collect::<Vec<_>>().concat()
        };
        Batch {
            environments: environments.len(),
            rows: rows.len(),
            steps: self.steps,
            channels: self.channels,
            inputs: self.inputs,
            initial: part(&self.initial),
            dt: part(&self.dt),
            targets: part(&self.targets),
            mask: part(&self.mask),
            input_starts: part(&self.input_starts),
            input_slopes: part(&self.input_slopes),
        }
    }

    /// Multiplies the weight of each value by the square of its entry in `roots`, one for each value of a state; an
    /// empty slice changes nothing.
    pub fn weigh(&mut self, roots: &[f64]) {
        if !roots.is_empty() {
            self.mask.chunks_exact_mut(roots.len()).for_each(|of| of.iter_mut().zip(roots).for_each(|(m, r)| *m *= r));
        }
    }

    /// Sum of the weights of the observed values that are compared, over the whole batch: their number, where all
    /// weights are one.
    pub fn count(&self) -> f64 {
        self.mask.iter().map(|root| root * root).sum()
    }

    /// Number of observed values that are compared, over the whole batch.
    pub fn values(&self) -> usize {
        self.mask.iter().filter(|&&root| root > 0.0).count()
    }

    /// Values of one environment in `targets` and `mask`: `B L C`.
    pub fn values_per_environment(&self) -> usize {
        self.rows * self.steps * self.channels
    }
}
