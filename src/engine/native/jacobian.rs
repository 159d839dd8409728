//! The Jacobian of one trajectory's residuals with respect to its environment's weights.
//!
//! One reverse pass carries an adjoint for every residual: when it reaches the end of step `l` it has those of the
//! later residuals, and the `C` residuals observed there join with unit adjoints. All share the rollout, so the
//! pull-back of a stage is one matrix product for all of them. The Jacobian's row of a residual is then one product per
//! layer over the stages before it.

use pulp::{Simd, WithSimd};

use super::gradient::{Record, Rollout, add_scaled, column_sums, resize};
use super::product::{Strided, accumulate, dot};
use super::real::{Real, lanes, lanes_mut};
use super::rows::Rows;
use super::weights::{Gradient, Shape, Weights};
use crate::engine::batch::Batch;
use crate::solve::Tableau;

/// Buffers, reused between calls. `A` adjoints (`C L`), `N` stages over all steps.
#[derive(Default)]
pub(super) struct Sensitivities<T> {
    /// `[A, state_width]`, the last observed residuals first.
    adjoints: Vec<T>,
    /// Adjoints of a step's stages `[stages, A, state_width]`.
    stages: Vec<T>,
    /// Deltas of the rates `[N, A, state_width]`.
    rates: Vec<T>,
    /// Deltas of each hidden layer `[N, A, hidden_width]`.
    deltas: Vec<Vec<T>>,
    gradient: Gradient<T>,
    /// Deltas of one residual, for the sums over stages `[N, width]`.
    column: Vec<T>,
}

/// One trajectory whose Jacobian is computed.
pub(super) struct JacobianRows<'a, T> {
    pub shape: &'a Shape,
    pub tableau: &'a Tableau,
    pub weights: &'a Weights<T>,
    pub batch: &'a Batch,
    /// The trajectory alone.
    pub rows: &'a Rows<T>,
    /// Index of its environment in the batch.
    pub environment: usize,
    pub record: &'a mut Record<T>,
    pub sensitivities: &'a mut Sensitivities<T>,
}

impl<T: Real> WithSimd for JacobianRows<'_, T> {
    /// Indices of the observed values in the batch, their residuals, and the rows of the Jacobian `[n, P]`.
    type Output = (Vec<usize>, Vec<f64>, Vec<f64>);

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) -> Self::Output {
        let steps = self.rows.active.len();
        if steps == 0 {
            return (Vec::new(), Vec::new(), Vec::new());
        }
        let size = self.batch.values_per_environment();
        let mut predictions = vec![0.0; size];
        let mut rollout = Rollout {
            shape: self.shape,
            tableau: self.tableau,
            weights: self.weights,
            batch: self.batch,
            rows: self.rows,
            record: &mut *self.record,
            predictions: Some(&mut predictions),
            environment: self.environment,
            gradient: None,
        };
        rollout.prepare(true);
        rollout.forward(simd, true);
        self.pull_back(simd);
        let first = self.environment * size;
        let (mut places, mut residuals, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for step in 0..steps {
            for c in 0..self.shape.channels {
                let place = self.rows.target(self.batch, 0, step) + c;
                let mask = self.batch.mask[place];
                if mask == 0.0 {
                    continue;
                }
                places.push(place);
                residuals.push(mask * (predictions[place - first] - self.batch.targets[place]));
                let row = rows.len();
                rows.resize(row + self.shape.size(), 0.0);
                self.row(simd, step, c, &mut rows[row..]);
                if mask != 1.0 {
                    rows[row..].iter_mut().for_each(|slope| *slope *= mask);
                }
            }
        }
        (places, residuals, rows)
    }
}

impl<T: Real> JacobianRows<'_, T> {
    fn adjoints(&self) -> usize {
        self.rows.active.len() * self.shape.channels
    }

    /// Index among the adjoints of the residual of channel `c` after `step`.
    fn place(&self, step: usize, c: usize) -> usize {
        (self.rows.active.len() - 1 - step) * self.shape.channels + c
    }

    #[inline(always)]
    fn pull_back<S: Simd>(&mut self, simd: S) {
        let (shape, all, steps) = (self.shape, self.adjoints(), self.rows.active.len());
        let (width, hidden_width, stages) = (shape.state_width, shape.hidden_width, self.tableau.weights.len());
        let kept = &mut *self.sensitivities;
        resize(&mut kept.adjoints, all * width);
        resize(&mut kept.stages, stages * all * width);
        resize(&mut kept.rates, steps * stages * all * width);
        kept.deltas.resize_with(shape.hidden, Vec::new);
        kept.deltas.iter_mut().for_each(|deltas| resize(deltas, steps * stages * all * hidden_width));
        let mut under_way = 0;
        for step in (0..steps).rev() {
            for c in 0..shape.channels {
                kept.adjoints[(under_way + c) * width + c] = T::from_f64(1.0);
            }
            under_way += shape.channels;
            let dt = vec![self.rows.dt[step]; under_way];
            for stage in (0..stages).rev() {
                let n = step * stages + stage;
                let delta = &mut kept.rates[n * all * width..][..under_way * width];
                add_scaled(simd, delta, &kept.adjoints, &dt, self.tableau.weights[stage], width);
                for later in stage + 1..stages {
                    let a = self.tableau.stages[later][stage];
                    if a != 0.0 {
                        add_scaled(simd, delta, &kept.stages[later * all * width..], &dt, a, width);
                    }
                }
                for layer in (0..shape.hidden).rev() {
                    let (lower, upper) = kept.deltas.split_at_mut(layer + 1);
                    let own = &mut lower[layer][n * all * hidden_width..][..under_way * hidden_width];
                    if layer + 1 == shape.hidden {
                        let a = Strided { values: delta, row: width, column: 1 };
                        accumulate(simd, a, under_way, shape.channels, &self.weights.last, hidden_width, own);
                    } else {
                        let values = &upper[0][n * all * hidden_width..];
                        let a = Strided { values, row: hidden_width, column: 1 };
                        let matrix = &self.weights.hidden[layer + 1].matrix;
                        accumulate(simd, a, under_way, shape.inputs(layer + 1), matrix, hidden_width, own);
                    }
                    let slopes = &self.record.slopes[layer][n * hidden_width..][..hidden_width];
                    for row in own.chunks_exact_mut(hidden_width) {
                        for (delta, slope) in lanes_mut::<T, S>(row).iter_mut().zip(lanes::<T, S>(slopes)) {
                            *delta = T::multiply(simd, *delta, *slope);
                        }
                    }
                }
                let adjoint = &mut kept.stages[stage * all * width..][..under_way * width];
                adjoint.fill(T::zeroed());
                match kept.deltas.first() {
                    None => {
                        let a = Strided { values: delta, row: width, column: 1 };
                        accumulate(simd, a, under_way, shape.channels, &self.weights.last, width, adjoint);
                    }
                    Some(first) => {
                        let first = &first[n * all * hidden_width..][..under_way * hidden_width];
                        let rows = first.chunks_exact(hidden_width).zip(adjoint.chunks_exact_mut(width));
                        for (row, adjoint) in rows {
                            let columns = self.weights.hidden[0].transposed.chunks_exact(hidden_width);
                            let columns = columns.take(shape.channels);
                            adjoint.iter_mut().zip(columns).for_each(|(p, column)| *p = dot(simd, row, column));
                        }
                    }
                }
            }
            for stage in 0..stages {
                let more = &kept.stages[stage * all * width..][..under_way * width];
                let adjoints = lanes_mut::<T, S>(&mut kept.adjoints[..under_way * width]);
                for (p, more) in adjoints.iter_mut().zip(lanes::<T, S>(more)) {
                    *p = T::add(simd, *p, *more);
                }
            }
        }
    }

    /// The row `[P]` of the residual of channel `c` after `step`.
    #[inline(always)]
    fn row<S: Simd>(&mut self, simd: S, step: usize, c: usize, flat: &mut [f64]) {
        let (shape, all, place) = (self.shape, self.adjoints(), self.place(step, c));
        let count = (step + 1) * self.tableau.weights.len();
        let (state_width, hidden_width) = (shape.state_width, shape.hidden_width);
        let Sensitivities { rates, deltas, gradient, column, .. } = &mut *self.sensitivities;
        *gradient = Gradient::new(shape);
        for (layer, deltas) in deltas.iter().enumerate() {
            gather(&deltas[place * hidden_width..], all * hidden_width, hidden_width, count, column);
            let to = &mut gradient.hidden[layer];
            if layer == 0 {
                let a = Strided { values: &self.record.inputs, row: 1, column: state_width };
                accumulate(simd, a, shape.features, count, column, hidden_width, to);
            } else {
                let a = Strided { values: column, row: 1, column: hidden_width };
                accumulate(simd, a, hidden_width, count, &self.record.activations[layer - 1], hidden_width, to);
            }
            column_sums(simd, column, &mut gradient.hidden_bias[layer]);
        }
        gather(&rates[place * state_width..], all * state_width, state_width, count, column);
        let (inputs, width) = match self.record.activations.last().filter(|_| shape.hidden > 0) {
            Some(activations) => (activations, hidden_width),
            None => (&self.record.inputs, state_width),
        };
        let a = Strided { values: column, row: 1, column: state_width };
        accumulate(simd, a, shape.channels, count, inputs, width, &mut gradient.last);
        column_sums(simd, column, &mut gradient.last_bias);
        Weights::add_gradient(shape, gradient, flat);
    }
}

/// Concatenates `count` pieces of `width` values, `stride` apart.
#[inline(always)]
fn gather<T: Real>(from: &[T], stride: usize, width: usize, count: usize, to: &mut Vec<T>) {
    to.clear();
    (0..count).for_each(|n| to.extend_from_slice(&from[n * stride..n * stride + width]));
}
