//! The engine for perceptrons on the CPU: fused SIMD kernels, no allocation in the loop, environments in parallel.
//!
//! An environment is computed by one thread in a fixed order, whatever else is in the batch, so its result does not
//! depend on the others.

mod real;
mod product;
mod weights;
mod rows;
mod gradient;
mod push;
mod jacobian;
mod tangent;

use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;

use gradient::{Record, Rollout, Seeds};
use jacobian::{JacobianRows, Sensitivities};
use push::{Buffers, PushForward};
use real::Real;
use rows::Rows;
use tangent::{Scratch, TangentRollout};
use weights::{Shape, Weights};

use super::batch::Batch;
use super::rollouts::{Engine, Jacobian, Tangents, Wrt};
use crate::models::Mlp;
use crate::solve::Tableau;

/// Most rows that are rolled out together with a tangent: their activations stay in the cache.
const TOGETHER: usize = 64;

/// Rollouts of a perceptron by one step of `tableau` from sample to sample, in the arithmetic of `T`.
pub struct Native<T> {
    shape: Shape,
    tableau: Tableau,
    architecture: pulp::Arch,
    /// Buffers that are not in use.
    records: Mutex<Vec<Record<T>>>,
}

impl<T: Real + Default> Native<T> {
    /// An engine for `model`.
    pub fn new(model: &Mlp, tableau: Tableau) -> Self {
        let architecture = pulp::Arch::new();
        Native { shape: Shape::new(model.widths()), tableau, architecture, records: Mutex::default() }
    }

    /// Rolls out environment `e`, writes predictions and gradient where they are wanted, and returns the sum of squared
    /// residuals.
    fn roll_out(
        &self,
        e: usize,
        flat: &[f64],
        batch: &Batch,
        predictions: Option<&mut [f64]>,
        gradient: Option<(Seeds, &mut [f64])>,
    ) -> f64 {
        let weights = Weights::new(&self.shape, flat);
        let rows = Rows::new(&self.shape, batch, e);
        let free = self.records.lock().expect("no thread panics while it holds the buffers").pop();
        let mut record = free.unwrap_or_default();
        let squares = self.architecture.dispatch(Rollout {
            shape: &self.shape,
            tableau: &self.tableau,
            weights: &weights,
            batch,
            rows: &rows,
            record: &mut record,
            predictions,
            environment: e,
            gradient,
        });
        self.records.lock().expect("no thread panics while it holds the buffers").push(record);
        squares
    }
}

impl<T: Real + Default> Engine for Native<T> {
    fn name(&self) -> &'static str {
        "native"
    }

    fn predict(&self, weights: &[f64], batch: &Batch) -> Vec<f64> {
        let mut predictions = vec![0.0; batch.targets.len()];
        let per_environment = batch.values_per_environment().max(1);
        predictions.par_chunks_mut(per_environment).zip(weights.par_chunks(self.shape.size())).enumerate().for_each(
            |(e, (predictions, flat))| {
                self.roll_out(e, flat, batch, Some(predictions), None);
            },
        );
        predictions
    }

    fn loss_and_gradient(&self, weights: &[f64], batch: &Batch) -> (f64, Vec<f64>) {
        let count = batch.count();
        let mut gradient = vec![0.0; weights.len()];
        let squares: Vec<f64> = gradient
            .par_chunks_mut(self.shape.size())
            .zip(weights.par_chunks(self.shape.size()))
            .with_max_len(1)
            .enumerate()
            .map(|(e, (gradient, flat))| self.roll_out(e, flat, batch, None, Some((Seeds::Loss(count), gradient))))
            .collect();
        (squares.iter().sum::<f64>() / count, gradient)
    }

    /// A few rows at once, in three matrix products a layer.
    fn push_forward(&self, weights: &[f64], directions: &[f64], batch: &Batch) -> Vec<f64> {
        let size = self.shape.size();
        let groups: Vec<Range<usize>> = (0..batch.environments)
            .flat_map(|e| {
                let end = (e + 1) * batch.rows;
                (e * batch.rows..end).step_by(TOGETHER).map(move |row| row..end.min(row + TOGETHER))
            })
            .collect();
        let of_group = |buffers: &mut Buffers<T>, rows: Range<usize>| {
            let own = rows.start / batch.rows * size..(rows.start / batch.rows + 1) * size;
            let mut tangents = vec![0.0; rows.len() * batch.steps * batch.channels];
            self.architecture.dispatch(PushForward {
                shape: &self.shape,
                tableau: &self.tableau,
                weights: &Weights::new(&self.shape, &weights[own.clone()]),
                direction: &Weights::new(&self.shape, &directions[own]),
                batch,
                rows: &Rows::of(&self.shape, batch, rows.clone()),
                buffers,
                first: rows.start,
                tangents: &mut tangents,
            });
            tangents
        };
        let parts: Vec<Vec<f64>> =
            groups.into_par_iter().with_max_len(1).map_init(Buffers::default, of_group).collect();
        parts.concat()
    }

    fn pull_back(&self, weights: &[f64], cotangents: &[f64], batch: &Batch) -> Vec<f64> {
        let size = self.shape.size();
        let mut gradient = vec![0.0; weights.len()];
        let of_environments = gradient.par_chunks_mut(size).zip(weights.par_chunks(size)).with_max_len(1).enumerate();
        of_environments.for_each(|(e, (gradient, flat))| {
            self.roll_out(e, flat, batch, None, Some((Seeds::Given(cotangents), gradient)));
        });
        gradient
    }

    fn jacobian(&self, weights: &[f64], batch: &Batch) -> Jacobian {
        let size = self.shape.size();
        let places: Vec<usize> = (0..batch.environments * batch.rows).collect();
        let parts: Vec<(Vec<usize>, Vec<f64>, Vec<f64>)> = places
            .into_par_iter()
            .with_max_len(1)
            .map_init(
                || (Record::<T>::default(), Sensitivities::<T>::default()),
                |(record, sensitivities), place| {
                    let environment = place / batch.rows;
                    let flat = &weights[environment * size..(environment + 1) * size];
                    self.architecture.dispatch(JacobianRows {
                        shape: &self.shape,
                        tableau: &self.tableau,
                        weights: &Weights::new(&self.shape, flat),
                        batch,
                        rows: &Rows::of(&self.shape, batch, place..place + 1),
                        environment,
                        record,
                        sensitivities,
                    })
                },
            )
            .collect();
        let mut jacobian = Jacobian::default();
        for (values, residuals, rows) in parts {
            jacobian.environments.extend(values.iter().map(|value| value / batch.values_per_environment()));
            jacobian.residuals.extend(residuals);
            jacobian.rows.extend(rows);
        }
        jacobian
    }

    fn environments_per_batch(&self) -> usize {
        1
    }

    fn tangents<'a>(&'a self, basis: &[f64], context_dimension: usize) -> Box<dyn Tangents + 'a> {
        let basis: Vec<Weights<T>> =
            basis.chunks_exact(self.shape.size()).map(|flat| Weights::new(&self.shape, flat)).collect();
        assert_eq!(basis.len(), 1 + context_dimension, "a basis has one vector more than the context has dimensions");
        let mut moved = vec![false; self.shape.hidden];
        for of_basis in &basis[1..] {
            moved.iter_mut().zip(of_basis.hidden_is_nonzero()).for_each(|(moved, nonzero)| *moved |= nonzero);
        }
        Box::new(NativeTangents { engine: self, basis, moved, free: Mutex::default() })
    }
}

struct NativeTangents<'a, T> {
    engine: &'a Native<T>,
    basis: Vec<Weights<T>>,
    /// Hidden layers that depend on the context.
    moved: Vec<bool>,
    /// Decoded weights and buffers that are not in use.
    free: Mutex<Vec<(Weights<T>, Scratch<T>)>>,
}

impl<T: Real + Default> Tangents for NativeTangents<'_, T> {
    fn roll_out_wrt(&self, wrt: Wrt, contexts: &[f64], batch: &Batch) -> (Vec<f64>, Vec<f64>) {
        let d = self.basis.len() - 1;
        let tangent_count = wrt.count(d, batch.channels);
        let mut predictions = vec![0.0; batch.targets.len()];
        let mut tangents = vec![0.0; batch.targets.len() * tangent_count];
        let size = batch.values_per_environment().max(1);
        predictions
            .par_chunks_mut(size)
            .zip(tangents.par_chunks_mut(size * tangent_count))
            .zip(contexts.par_chunks(d))
            .enumerate()
            .for_each(|(environment, ((predictions, tangents), context))| {
                let free = self.free.lock().expect("no thread panics while it holds the buffers").pop();
                let (mut weights, mut scratch) = free.unwrap_or_else(|| (self.basis[0].clone(), Scratch::default()));
                let context: Vec<T> = context.iter().map(|&xi| T::from_f64(xi)).collect();
                self.engine.architecture.dispatch(TangentRollout {
                    shape: &self.engine.shape,
                    tableau: &self.engine.tableau,
                    weights: &mut weights,
                    basis: &self.basis,
                    moved: &self.moved,
                    context: &context,
                    tangent_count,
                    batch,
                    rows: &Rows::new(&self.engine.shape, batch, environment),
                    scratch: &mut scratch,
                    environment,
                    predictions,
                    tangents,
                });
                self.free.lock().expect("no thread panics while it holds the buffers").push((weights, scratch));
            });
        (predictions, tangents)
    }
}
