//! Rollout of one environment with its tangents with respect to the context and, if asked, the initial state.
//!
//! With `theta = basis_0 + sum_k xi_k basis_k` decoded into a buffer of the thread, and `h` the input of a layer with
//! matrix `A` under `theta` and `A_k`, `b_k` under `basis_k`: `a = A h + b` and `da_k = A dh_k + A_k h + b_k`. The
//! primal and its tangents are the rows of one matrix product. A tangent with respect to a value of the initial state
//! starts as the unit vector there, and has only `da = A dh`, because the weights do not depend on it. Inputs follow
//! the values of the primal; their tangents are zero.

use pulp::{Simd, WithSimd};

use super::product::{Strided, accumulate, dot};
use super::real::{Real, lanes, lanes_mut};
use super::rows::Rows;
use super::weights::{Shape, Weights};
use crate::engine::batch::Batch;
use crate::solve::Tableau;

/// Buffers, reused between calls. `D` is `1 + d`, or `1 + d + C`: the primal, then the tangents.
#[derive(Default)]
pub(super) struct Scratch<T> {
    /// `[D, state_width]`.
    state: Vec<T>,
    input: Vec<T>,
    /// `[stages, D, state_width]`.
    rates: Vec<T>,
    /// `[D, hidden_width]`, used by the layers alternately.
    hidden: [Vec<T>; 2],
}

/// One environment to roll out with tangents.
pub(super) struct TangentRollout<'a, T> {
    pub shape: &'a Shape,
    pub tableau: &'a Tableau,
    /// Where `theta` is decoded to.
    pub weights: &'a mut Weights<T>,
    /// `[1 + d]`.
    pub basis: &'a [Weights<T>],
    /// Hidden layers that depend on the context.
    pub moved: &'a [bool],
    pub context: &'a [T],
    /// Tangents of each value: `d`, or `d + C` with those with respect to the initial state.
    pub tangent_count: usize,
    pub batch: &'a Batch,
    pub rows: &'a Rows<T>,
    pub scratch: &'a mut Scratch<T>,
    /// Index of the environment in the batch.
    pub environment: usize,
    /// Predictions of the environment `[B, L, C]`, and their tangents `[B, L, C, tangent_count]`.
    pub predictions: &'a mut [f64],
    pub tangents: &'a mut [f64],
}

impl<T: Real> WithSimd for TangentRollout<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        self.weights.combine(self.basis, self.moved, self.context, |to, from, factor| {
            to.iter_mut()
                .zip(from)
                .for_each(|(to, from)| *to = T::from_f64(to.to_f64() + factor.to_f64() * from.to_f64()));
        });
        let (width, count, stages) = (self.shape.state_width, 1 + self.tangent_count, self.tableau.weights.len());
        let size = count * width;
        let clear = |buffer: &mut Vec<T>, size: usize| {
            buffer.clear();
            buffer.resize(size, T::zeroed());
        };
        clear(&mut self.scratch.state, size);
        clear(&mut self.scratch.input, size);
        clear(&mut self.scratch.rates, stages * size);
        for hidden in &mut self.scratch.hidden {
            clear(hidden, count * self.shape.hidden_width);
        }
        for r in 0..self.rows.count {
            self.row(simd, r);
        }
    }
}

impl<T: Real> TangentRollout<'_, T> {
    #[inline(always)]
    fn row<S: Simd>(&mut self, simd: S, r: usize) {
        let (width, tangents) = (self.shape.state_width, self.tangent_count);
        let size = (1 + tangents) * width;
        let first = self.environment * self.batch.rows * self.batch.steps * self.batch.channels;
        self.scratch.state.fill(T::zeroed());
        self.scratch.state[..width].copy_from_slice(&self.rows.initial[r * width..(r + 1) * width]);
        for (c, k) in (self.context.len()..tangents).enumerate() {
            self.scratch.state[(1 + k) * width + c] = T::from_f64(1.0);
        }
        for step in 0..self.rows.active.iter().take_while(|&&active| active > r).count() {
            let dt = self.rows.dt[step * self.rows.count + r].to_f64();
            let inputs = self.shape.channels..self.shape.features;
            if !inputs.is_empty() {
                let at = (step * self.rows.count + r) * inputs.len();
                let of_step = at..at + inputs.len();
                self.scratch.state[inputs.clone()].copy_from_slice(&self.rows.input_starts[of_step.clone()]);
                for rates in self.scratch.rates.chunks_exact_mut(size) {
                    rates[inputs.clone()].copy_from_slice(&self.rows.input_slopes[of_step.clone()]);
                }
            }
            for (stage, coefficients) in self.tableau.stages.iter().enumerate() {
                self.scratch.input.copy_from_slice(&self.scratch.state);
                for (j, &a) in coefficients.iter().enumerate().filter(|(_, a)| **a != 0.0) {
                    let rates = &self.scratch.rates[j * size..(j + 1) * size];
                    add_scaled(simd, &mut self.scratch.input, rates, a * dt);
                }
                self.field(simd, stage * size);
            }
            for (stage, &b) in self.tableau.weights.iter().enumerate().filter(|(_, b)| **b != 0.0) {
                let rates = &self.scratch.rates[stage * size..(stage + 1) * size];
                add_scaled(simd, &mut self.scratch.state, rates, b * dt);
            }
            let place = self.rows.target(self.batch, r, step) - first;
            for c in 0..self.shape.channels {
                self.predictions[place + c] = self.scratch.state[c].to_f64();
                for k in 0..tangents {
                    self.tangents[(place + c) * tangents + k] = self.scratch.state[(1 + k) * width + c].to_f64();
                }
            }
        }
    }

    /// The vector field and its tangents at the input, to the rates from value `at`.
    #[inline(always)]
    fn field<S: Simd>(&mut self, simd: S, at: usize) {
        let (shape, count) = (self.shape, 1 + self.tangent_count);
        let (width, own_rows) = (shape.hidden_width, 1 + self.context.len());
        let [mut current, mut next] = self.scratch.hidden.each_mut();
        for layer in 0..shape.hidden {
            let (values, stride) =
                if layer == 0 { (&self.scratch.input, shape.state_width) } else { (&*current, width) };
            let (own, inputs) = (&self.weights.hidden[layer], shape.inputs(layer));
            next[..width].copy_from_slice(&own.bias);
            for (k, of_basis) in self.basis[1..].iter().enumerate() {
                let of_basis = &of_basis.hidden[layer];
                let row = &mut next[(1 + k) * width..(2 + k) * width];
                if !self.moved[layer] {
                    row.fill(T::zeroed());
                    continue;
                }
                row.copy_from_slice(&of_basis.bias);
                let primal = Strided { values, row: stride, column: 1 };
                accumulate(simd, primal, 1, inputs, &of_basis.transposed, width, row);
            }
            next[own_rows * width..count * width].fill(T::zeroed());
            accumulate(simd, Strided { values, row: stride, column: 1 }, count, inputs, &own.transposed, width, next);
            let (primal, tangents) = next.split_at_mut(width);
            for (register, value) in lanes_mut::<T, S>(primal).iter_mut().enumerate() {
                let (activation, slope) = T::swish(simd, *value);
                *value = activation;
                for tangent in tangents.chunks_exact_mut(width) {
                    let tangent = &mut lanes_mut::<T, S>(tangent)[register];
                    *tangent = T::multiply(simd, *tangent, slope);
                }
            }
            std::mem::swap(&mut current, &mut next);
        }
        let (values, width) =
            if shape.hidden == 0 { (&self.scratch.input, shape.state_width) } else { (&*current, width) };
        let (primal, rates) = (&values[..width], &mut self.scratch.rates[at..at + count * shape.state_width]);
        for c in 0..shape.channels {
            let weights = &self.weights.last[c * width..(c + 1) * width];
            rates[c] = sum(dot(simd, primal, weights), self.weights.last_bias[c]);
            for (k, of_basis) in self.basis[1..].iter().enumerate() {
                let tangent = &values[(1 + k) * width..(2 + k) * width];
                let direct = dot(simd, primal, &of_basis.last[c * width..(c + 1) * width]);
                let carried = dot(simd, tangent, weights);
                rates[(1 + k) * shape.state_width + c] = sum(sum(direct, carried), of_basis.last_bias[c]);
            }
            for k in own_rows..count {
                rates[k * shape.state_width + c] = dot(simd, &values[k * width..(k + 1) * width], weights);
            }
        }
    }
}

#[inline(always)]
fn sum<T: Real>(a: T, b: T) -> T {
    T::from_f64(a.to_f64() + b.to_f64())
}

/// `to += factor from`.
#[inline(always)]
fn add_scaled<T: Real, S: Simd>(simd: S, to: &mut [T], from: &[T], factor: f64) {
    let factor = T::splat(simd, T::from_f64(factor));
    for (to, from) in lanes_mut::<T, S>(to).iter_mut().zip(lanes::<T, S>(from)) {
        *to = T::multiply_add(simd, factor, *from, *to);
    }
}
