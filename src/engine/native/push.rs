//! `J v` of some rows of one environment: they roll out together, each with one tangent along a direction in the space of the weights.
//!
//! With `h` the inputs of a layer, `A` and `b` its weights, `V` and `w` those of the direction: `a = A h + b` and `da = A dh + V h + w`, for
//! all rows in three matrix products; then `h <- s(a)`, `dh <- s'(a) da`. Inputs follow the values of a state; their tangents are zero.

use pulp::{Simd, WithSimd};

use super::gradient::add_scaled;
use super::product::{Strided, accumulate, dot};
use super::real::{Real, lanes_mut};
use super::rows::Rows;
use super::weights::{Shape, Weights};
use crate::engine::batch::Batch;
use crate::solve::Tableau;

/// Values and their tangents, row by row.
#[derive(Default)]
struct Pair<T> {
    values: Vec<T>,
    tangents: Vec<T>,
}

impl<T: Real> Pair<T> {
    fn clear(&mut self, size: usize) {
        for buffer in [&mut self.values, &mut self.tangents] {
            buffer.clear();
            buffer.resize(size, T::zeroed());
        }
    }
}

/// Buffers, reused between calls.
#[derive(Default)]
pub(super) struct Buffers<T> {
    /// `[R, state_width]`.
    state: Pair<T>,
    input: Pair<T>,
    /// `[stages, R, state_width]`.
    rates: Pair<T>,
    /// `[R, hidden_width]`, used by the layers alternately.
    hidden: [Pair<T>; 2],
}

/// Rows to roll out with a tangent.
pub(super) struct PushForward<'a, T> {
    pub shape: &'a Shape,
    pub tableau: &'a Tableau,
    pub weights: &'a Weights<T>,
    pub direction: &'a Weights<T>,
    pub batch: &'a Batch,
    pub rows: &'a Rows<T>,
    pub buffers: &'a mut Buffers<T>,
    /// Index in the batch of the row that `tangents` begin with.
    pub first: usize,
    /// Tangents of the predictions `[.., L, C]`.
    pub tangents: &'a mut [f64],
}

impl<T: Real> WithSimd for PushForward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (shape, rows, batch) = (self.shape, self.rows, self.batch);
        let (width, stages) = (shape.state_width, self.tableau.weights.len());
        let all = rows.count * width;
        self.buffers.state.clear(all);
        self.buffers.state.values.copy_from_slice(&rows.initial);
        self.buffers.input.clear(all);
        self.buffers.rates.clear(stages * all);
        self.buffers.hidden.iter_mut().for_each(|hidden| hidden.clear(rows.count * shape.hidden_width));
        for (step, &active) in rows.active.iter().enumerate() {
            let (dt, size) = (&rows.dt[step * rows.count..], active * width);
            rows.put_inputs(&rows.input_starts, shape, step, &mut self.buffers.state.values[..size]);
            for (stage, coefficients) in self.tableau.stages.iter().enumerate() {
                let Buffers { state, input, rates, .. } = &mut *self.buffers;
                for (input, state, rates) in [
                    (&mut input.values, &state.values, &rates.values),
                    (&mut input.tangents, &state.tangents, &rates.tangents),
                ] {
                    input[..size].copy_from_slice(&state[..size]);
                    for (j, &a) in coefficients.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                        add_scaled(simd, &mut input[..size], &rates[j * all..], dt, a, width);
                    }
                }
                self.field(simd, active, stage * all);
                let rates = &mut self.buffers.rates.values[stage * all..][..size];
                rows.put_inputs(&rows.input_slopes, shape, step, rates);
            }
            let Buffers { state, rates, .. } = &mut *self.buffers;
            for (stage, &b) in self.tableau.weights.iter().enumerate().filter(|(_, b)| **b != 0.0) {
                add_scaled(simd, &mut state.values[..size], &rates.values[stage * all..], dt, b, width);
                add_scaled(simd, &mut state.tangents[..size], &rates.tangents[stage * all..], dt, b, width);
            }
            for r in 0..active {
                let place = rows.target(batch, r, step) - self.first * batch.steps * batch.channels;
                let to = self.tangents[place..place + shape.channels].iter_mut();
                to.zip(&state.tangents[r * width..]).for_each(|(to, tangent)| *to = tangent.to_f64());
            }
        }
    }
}

impl<T: Real> PushForward<'_, T> {
    /// The vector field and its tangent at the first `count` rows of the input, to the rates from value `at`.
    #[inline(always)]
    fn field<S: Simd>(&mut self, simd: S, count: usize, at: usize) {
        let (shape, width) = (self.shape, self.shape.hidden_width);
        let (size, Buffers { input, rates, hidden, .. }) = (count * width, &mut *self.buffers);
        let [mut current, mut next] = hidden.each_mut();
        for (layer, (own, moved)) in self.weights.hidden.iter().zip(&self.direction.hidden).enumerate() {
            let (from, row) = if layer == 0 { (&*input, shape.state_width) } else { (&*current, width) };
            let values = Strided { values: &from.values, row, column: 1 };
            let tangents = Strided { values: &from.tangents, row, column: 1 };
            let (to, to_tangents) = (&mut next.values[..size], &mut next.tangents[..size]);
            to.chunks_exact_mut(width).for_each(|row| row.copy_from_slice(&own.bias));
            to_tangents.chunks_exact_mut(width).for_each(|row| row.copy_from_slice(&moved.bias));
            let inputs = shape.inputs(layer);
            accumulate(simd, values, count, inputs, &own.transposed, width, to);
            accumulate(simd, tangents, count, inputs, &own.transposed, width, to_tangents);
            accumulate(simd, values, count, inputs, &moved.transposed, width, to_tangents);
            for (value, tangent) in lanes_mut::<T, S>(to).iter_mut().zip(lanes_mut::<T, S>(to_tangents)) {
                let (activation, slope) = T::swish(simd, *value);
                (*value, *tangent) = (activation, T::multiply(simd, *tangent, slope));
            }
            std::mem::swap(&mut current, &mut next);
        }
        let (last, width) = if shape.hidden == 0 { (&*input, shape.state_width) } else { (&*current, width) };
        for r in 0..count {
            let [value, tangent] = [&last.values, &last.tangents].map(|of| &of[r * width..(r + 1) * width]);
            let to = at + r * shape.state_width;
            for c in 0..shape.channels {
                let [own, moved] = [self.weights, self.direction].map(|of| &of.last[c * width..(c + 1) * width]);
                let sum = |terms: &[T]| T::from_f64(terms.iter().map(|term| term.to_f64()).sum());
                rates.values[to + c] = sum(&[dot(simd, value, own), self.weights.last_bias[c]]);
                let carried = dot(simd, tangent, own);
                rates.tangents[to + c] = sum(&[dot(simd, value, moved), carried, self.direction.last_bias[c]]);
            }
            rates.values[to + shape.channels..to + shape.state_width].fill(T::zeroed());
        }
    }
}
