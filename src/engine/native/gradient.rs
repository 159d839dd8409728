//! Rollout, loss and exact reverse-mode gradient of one environment.
//!
//! Forward, for each step and stage `s`: `x_s = x + dt sum_j a_sj k_j`, `k_s = g(x_s; theta)`, then `x <- x + dt sum_s
//! b_s k_s`. Backward, with `p = dL/dx` after the step: `p_s = J_s' (dt (b_s p + sum_{m>s} a_ms p_m))`, `p <- p + sum_s
//! p_s`, where `J_s = dg/dx` at `x_s`. Inputs, activations and slopes of every stage are kept, and deltas overwrite the
//! slopes; the gradients of the weights are then one matrix product per layer over all rows, stages and steps.
//!
//! Inputs follow the values of a state, and their slopes follow its rates. Their adjoints are zero or never read.

use pulp::{Simd, WithSimd};

use super::product::{Strided, accumulate, dot};
use super::real::{Real, lanes, lanes_mut};
use super::rows::Rows;
use super::weights::{Gradient, Shape, Weights};
use crate::engine::batch::Batch;
use crate::solve::Tableau;

/// What a rollout keeps for the backward pass, and buffers; reused between calls.
#[derive(Default)]
pub(super) struct Record<T> {
    /// Stage states `[N, state_width]`, `N` over steps, stages and rows.
    pub(crate) inputs: Vec<T>,
    /// Activations of each hidden layer `[N, hidden_width]`.
    pub(crate) activations: Vec<Vec<T>>,
    /// Slopes of each hidden layer `[N, hidden_width]`; deltas after the backward pass.
    pub(crate) slopes: Vec<Vec<T>>,
    /// Rates, then deltas of the last layer `[N, state_width]`.
    rates: Vec<T>,
    /// Current states or adjoints `[R, state_width]`.
    state: Vec<T>,
    /// Adjoints of the stages `[stages, R, state_width]`.
    adjoints: Vec<T>,
    /// Loss gradients of all steps `[L, R, state_width]`.
    seeds: Vec<T>,
    /// Buffer for deltas between layers `[R, hidden_width]`.
    scratch: Vec<T>,
    gradient: Gradient<T>,
}

/// What is differentiated: a sum over the predictions `x`, by its derivatives `dL/dx`.
#[derive(Clone, Copy)]
pub(super) enum Seeds<'a> {
    /// The loss `sum (m (x - y))^2 / n`, given `n`, the sum of the weights of the whole batch: `2 m^2 (x - y) / n`.
    Loss(f64),
    /// `sum u x`, given `u [E, B, L, C]` of the whole batch.
    Given(&'a [f64]),
}

/// One environment to roll out and, if asked, to differentiate.
pub(super) struct Rollout<'a, T> {
    pub shape: &'a Shape,
    pub tableau: &'a Tableau,
    pub weights: &'a Weights<T>,
    pub batch: &'a Batch,
    pub rows: &'a Rows<T>,
    pub record: &'a mut Record<T>,
    /// Predictions of the environment `[B, L, C]`, if wanted.
    pub predictions: Option<&'a mut [f64]>,
    /// Index of the environment in the batch.
    pub environment: usize,
    /// What is differentiated, and the flat gradient `[P]` of the environment to add to, if wanted.
    pub gradient: Option<(Seeds<'a>, &'a mut [f64])>,
}

impl<T: Real> WithSimd for Rollout<'_, T> {
    /// Sum of squared residuals.
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> f64 {
        let keep = self.gradient.is_some();
        self.prepare(keep);
        let squares = self.forward(simd, keep);
        if let Some((_, flat)) = self.gradient.take() {
            self.backward(simd);
            self.weight_gradients(simd);
            Weights::add_gradient(self.shape, &self.record.gradient, flat);
        }
        squares
    }
}

pub(crate) fn resize<T: Real>(buffer: &mut Vec<T>, size: usize) {
    buffer.clear();
    buffer.resize(size, T::zeroed());
}

/// Resizes without clearing: every value that is read was written before.
fn grow<T: Real>(buffer: &mut Vec<T>, size: usize) {
    if buffer.len() < size {
        buffer.resize(size, T::zeroed());
    }
}

impl<T: Real> Rollout<'_, T> {
    pub(crate) fn prepare(&mut self, keep: bool) {
        let (shape, rows) = (self.shape, self.rows);
        let stages = self.tableau.weights.len();
        let kept: usize = if keep { rows.active.iter().sum::<usize>() * stages } else { rows.count * stages };
        let record = &mut *self.record;
        grow(&mut record.inputs, kept * shape.state_width);
        grow(&mut record.rates, kept * shape.state_width);
        record.activations.resize_with(shape.hidden, Vec::new);
        record.slopes.resize_with(shape.hidden, Vec::new);
        for buffer in record.activations.iter_mut().chain(&mut record.slopes) {
            grow(buffer, kept * shape.hidden_width);
        }
        record.state.clear();
        record.state.extend_from_slice(&rows.initial);
        if keep {
            grow(&mut record.scratch, rows.count * shape.hidden_width);
            resize(&mut record.seeds, rows.active.len() * rows.count * shape.state_width);
            resize(&mut record.adjoints, stages * rows.count * shape.state_width);
        }
    }

    #[inline(always)]
    pub(crate) fn forward<S: Simd>(&mut self, simd: S, keep: bool) -> f64 {
        let (shape, rows, batch) = (self.shape, self.rows, self.batch);
        let (width, stages) = (shape.state_width, self.tableau.weights.len());
        let seeds = self.gradient.as_ref().map(|(seeds, _)| *seeds);
        let first_row = self.environment * batch.rows;
        let (mut squares, mut first) = (0.0, 0);
        for (step, &active) in rows.active.iter().enumerate() {
            let dt = &rows.dt[step * rows.count..];
            rows.put_inputs(&rows.input_starts, shape, step, &mut self.record.state[..active * width]);
            for stage in 0..stages {
                let at = (first + stage * active) * width;
                let (before, rates) = self.record.rates.split_at_mut(at);
                let before = &before[first * width..];
                let input = &mut self.record.inputs[at..at + active * width];
                input.copy_from_slice(&self.record.state[..active * width]);
                for (j, &a) in self.tableau.stages[stage].iter().enumerate().filter(|(_, a)| **a != 0.0) {
                    add_scaled(simd, input, &before[j * active * width..], dt, a, width);
                }
                let at = (first + stage * active) * shape.hidden_width;
                field(
                    simd,
                    shape,
                    self.weights,
                    active,
                    input,
                    &mut self.record.activations,
                    &mut self.record.slopes,
                    at,
                    rates,
                );
                rows.put_inputs(&rows.input_slopes, shape, step, &mut rates[..active * width]);
            }
            for (stage, &b) in self.tableau.weights.iter().enumerate().filter(|(_, b)| **b != 0.0) {
                let rates = &self.record.rates[(first + stage * active) * width..];
                add_scaled(simd, &mut self.record.state[..active * width], rates, dt, b, width);
            }
            for r in 0..active {
                let target = rows.target(batch, r, step);
                for c in 0..shape.channels {
                    let value = self.record.state[r * width + c].to_f64();
                    if let Some(predictions) = &mut self.predictions {
                        predictions[target + c - first_row * batch.steps * batch.channels] = value;
                    }
                    let mask = batch.mask[target + c];
                    if mask != 0.0 {
                        let residual = mask * (value - batch.targets[target + c]);
                        squares += residual * residual;
                        if let Some(Seeds::Loss(count)) = seeds {
                            self.record.seeds[(step * rows.count + r) * width + c] =
                                T::from_f64(2.0 * mask * residual / count);
                        }
                    }
                    if let Some(Seeds::Given(cotangents)) = seeds {
                        self.record.seeds[(step * rows.count + r) * width + c] = T::from_f64(cotangents[target + c]);
                    }
                }
            }
            if keep {
                first += stages * active;
            }
        }
        squares
    }

    #[inline(always)]
    fn backward<S: Simd>(&mut self, simd: S) {
        let (shape, rows) = (self.shape, self.rows);
        let (width, stages) = (shape.state_width, self.tableau.weights.len());
        let record = &mut *self.record;
        resize(&mut record.state, rows.count * width); // now dL/dx
        let mut first = stages * rows.active.iter().sum::<usize>();
        for (step, &active) in rows.active.iter().enumerate().rev() {
            first -= stages * active;
            let dt = &rows.dt[step * rows.count..];
            let seeds = &record.seeds[step * rows.count * width..][..active * width];
            let adjoint = &mut record.state[..active * width];
            for (p, seed) in lanes_mut::<T, S>(adjoint).iter_mut().zip(lanes::<T, S>(seeds)) {
                *p = T::add(simd, *p, *seed);
            }
            for stage in (0..stages).rev() {
                // The delta of the rates overwrites them.
                let at = (first + stage * active) * width;
                let delta = &mut record.rates[at..at + active * width];
                delta.fill(T::zeroed());
                add_scaled(simd, delta, &record.state, dt, self.tableau.weights[stage], width);
                for later in stage + 1..stages {
                    let a = self.tableau.stages[later][stage];
                    if a != 0.0 {
                        add_scaled(simd, delta, &record.adjoints[later * rows.count * width..], dt, a, width);
                    }
                }
                let at = (first + stage * active) * shape.hidden_width;
                let adjoint = &mut record.adjoints[stage * rows.count * width..][..active * width];
                pull_back(
                    simd,
                    shape,
                    self.weights,
                    active,
                    delta,
                    &mut record.slopes,
                    at,
                    &mut record.scratch,
                    adjoint,
                );
            }
            for stage in 0..stages {
                let adjoint = &record.adjoints[stage * rows.count * width..][..active * width];
                for (p, more) in
                    lanes_mut::<T, S>(&mut record.state[..active * width]).iter_mut().zip(lanes::<T, S>(adjoint))
                {
                    *p = T::add(simd, *p, *more);
                }
            }
        }
    }

    #[inline(always)]
    fn weight_gradients<S: Simd>(&mut self, simd: S) {
        let shape = self.shape;
        let count = self.tableau.weights.len() * self.rows.active.iter().sum::<usize>();
        let Record { inputs, activations, slopes: deltas, rates, gradient, .. } = &mut *self.record;
        *gradient = Gradient::new(shape);
        if count == 0 {
            return; // an environment that is all padding
        }
        let (hidden_width, state_width) = (shape.hidden_width, shape.state_width);
        for layer in 0..shape.hidden {
            let delta = &deltas[layer][..count * hidden_width];
            let to = &mut gradient.hidden[layer];
            if layer == 0 {
                let a = Strided { values: inputs, row: 1, column: state_width };
                accumulate(simd, a, shape.features, count, delta, hidden_width, to);
            } else {
                let a = Strided { values: delta, row: 1, column: hidden_width };
                accumulate(simd, a, hidden_width, count, &activations[layer - 1], hidden_width, to);
            }
            column_sums(simd, delta, &mut gradient.hidden_bias[layer]);
        }
        let width = shape.input_width(shape.hidden);
        let last_inputs = if shape.hidden > 0 { &activations[shape.hidden - 1] } else { &*inputs };
        let a = Strided { values: rates, row: 1, column: state_width };
        accumulate(simd, a, shape.channels, count, last_inputs, width, &mut gradient.last);
        column_sums(simd, &rates[..count * state_width], &mut gradient.last_bias);
    }
}

/// `to[r, :] += dt_r factor from[r, :]` for the rows of `to`.
#[inline(always)]
pub(crate) fn add_scaled<T: Real, S: Simd>(simd: S, to: &mut [T], from: &[T], dt: &[T], factor: f64, width: usize) {
    for ((to, from), dt) in to.chunks_exact_mut(width).zip(from.chunks_exact(width)).zip(dt) {
        let factor = T::splat(simd, T::from_f64(factor * dt.to_f64()));
        for (to, from) in lanes_mut::<T, S>(to).iter_mut().zip(lanes::<T, S>(from)) {
            *to = T::multiply_add(simd, factor, *from, *to);
        }
    }
}

#[inline(always)]
pub(crate) fn column_sums<T: Real, S: Simd>(simd: S, rows: &[T], sums: &mut [T]) {
    for row in rows.chunks_exact(sums.len()) {
        for (sum, value) in lanes_mut::<T, S>(sums).iter_mut().zip(lanes::<T, S>(row)) {
            *sum = T::add(simd, *sum, *value);
        }
    }
}

/// The vector field on `count` rows: `inputs [count, state_width]` to `rates`; activations and slopes go to their records,
/// from value `at`.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn field<T: Real, S: Simd>(
    simd: S,
    shape: &Shape,
    weights: &Weights<T>,
    count: usize,
    inputs: &[T],
    activations: &mut [Vec<T>],
    slopes: &mut [Vec<T>],
    at: usize,
    rates: &mut [T],
) {
    let size = count * shape.hidden_width;
    for (layer, hidden) in weights.hidden.iter().enumerate() {
        let (before, after) = activations.split_at_mut(layer);
        let (values, stride) = match before.last() {
            Some(previous) => (&previous[at..at + size], shape.hidden_width),
            None => (inputs, shape.state_width),
        };
        let out = &mut after[0][at..at + size];
        out.chunks_exact_mut(shape.hidden_width).for_each(|row| row.copy_from_slice(&hidden.bias));
        let a = Strided { values, row: stride, column: 1 };
        accumulate(simd, a, count, shape.inputs(layer), &hidden.transposed, shape.hidden_width, out);
        let slopes = &mut slopes[layer][at..at + size];
        for (value, slope) in lanes_mut::<T, S>(out).iter_mut().zip(lanes_mut::<T, S>(slopes)) {
            (*value, *slope) = T::swish(simd, *value);
        }
    }
    let width = shape.input_width(shape.hidden);
    let last = match activations.last() {
        Some(activations) => &activations[at..at + size],
        None => inputs,
    };
    for (row, rates) in last.chunks_exact(width).zip(rates.chunks_exact_mut(shape.state_width)) {
        for ((rate, weights), bias) in rates.iter_mut().zip(weights.last.chunks_exact(width)).zip(&weights.last_bias) {
            *rate = T::from_f64(dot(simd, row, weights).to_f64() + bias.to_f64());
        }
        rates[shape.channels..].fill(T::zeroed());
    }
}

/// Pulls `delta [count, state_width]` of the rates back to the states: `adjoint [count, state_width]`. Slopes become deltas.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
fn pull_back<T: Real, S: Simd>(
    simd: S,
    shape: &Shape,
    weights: &Weights<T>,
    count: usize,
    delta: &[T],
    slopes: &mut [Vec<T>],
    at: usize,
    scratch: &mut [T],
    adjoint: &mut [T],
) {
    adjoint.fill(T::zeroed());
    let Some(last_hidden) = shape.hidden.checked_sub(1) else {
        let a = Strided { values: delta, row: shape.state_width, column: 1 };
        accumulate(simd, a, count, shape.channels, &weights.last, shape.state_width, adjoint);
        return;
    };
    let size = count * shape.hidden_width;
    let scratch = &mut scratch[..size];
    for layer in (0..=last_hidden).rev() {
        let (lower, upper) = slopes.split_at_mut(layer + 1);
        let own = &mut lower[layer][at..at + size];
        scratch.fill(T::zeroed());
        if layer == last_hidden {
            let a = Strided { values: delta, row: shape.state_width, column: 1 };
            accumulate(simd, a, count, shape.channels, &weights.last, shape.hidden_width, scratch);
        } else {
            let a = Strided { values: &upper[0][at..at + size], row: shape.hidden_width, column: 1 };
            let matrix = &weights.hidden[layer + 1].matrix;
            accumulate(simd, a, count, shape.inputs(layer + 1), matrix, shape.hidden_width, scratch);
        }
        for (slope, value) in lanes_mut::<T, S>(own).iter_mut().zip(lanes::<T, S>(scratch)) {
            *slope = T::multiply(simd, *slope, *value);
        }
    }
    let first = &slopes[0][at..at + size];
    for (row, adjoint) in first.chunks_exact(shape.hidden_width).zip(adjoint.chunks_exact_mut(shape.state_width)) {
        let columns = weights.hidden[0].transposed.chunks_exact(shape.hidden_width).take(shape.channels);
        for (p, column) in adjoint.iter_mut().zip(columns) {
            *p = dot(simd, row, column);
        }
    }
}
