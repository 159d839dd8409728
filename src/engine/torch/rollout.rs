//! Rollouts on tensors, which autograd follows.
//!
//! The solver's steps between samples are a loop here: combined into one tableau, `s` steps would add up to `s^2 / 2`
//! tensors of stages.

use rayon::prelude::*;
use tch::{Kind, Tensor};

use super::threads::one_thread_each;
use crate::engine::batch::Batch;
use crate::engine::device::Device;
use crate::engine::rollouts::{Engine, Jacobian, Tangents, Wrt};
use crate::engine::settings::Precision;
use crate::models::tensors::TensorModel;
use crate::solve;
use crate::solve::{State, Tableau};

/// Rollouts of `model` by `substeps` steps of `tableau` from sample to sample.
pub struct Torch {
    model: Box<dyn TensorModel>,
    tableau: Tableau,
    substeps: usize,
    device: tch::Device,
    kind: Kind,
    /// Whether each environment is a task of its own, whatever the number of threads: fields on the CPU, which are
    /// large tensors.
    apart: bool,
}

/// Rows with one step each; inputs follow the states.
struct Rows(Tensor);

/// Rows with their tangents.
struct RowsWithTangents {
    x: Tensor,
    /// `[d, R, C + U]`.
    dx: Tensor,
}

impl State for Rows {
    type Step = Tensor;

    fn advance(&self, dt: &Tensor, terms: &[(f64, &Self)]) -> Self {
        Rows(&self.0 + weighted_sum(terms.iter().map(|(c, k)| (*c, &k.0))) * dt)
    }
}

impl State for RowsWithTangents {
    type Step = Tensor;

    fn advance(&self, dt: &Tensor, terms: &[(f64, &Self)]) -> Self {
        RowsWithTangents {
            x: &self.x + weighted_sum(terms.iter().map(|(c, k)| (*c, &k.x))) * dt,
            dx: &self.dx + weighted_sum(terms.iter().map(|(c, k)| (*c, &k.dx))) * dt,
        }
    }
}

fn weighted_sum<'a>(mut terms: impl Iterator<Item = (f64, &'a Tensor)>) -> Tensor {
    let (c, k) = terms.next().expect("a Runge-Kutta step has at least one stage");
    terms.fold(k * c, |sum, (c, k)| sum + k * c)
}

/// The inputs of a batch at the start of each step, and their slopes `[.., L, U]`.
struct Inputs {
    starts: Tensor,
    slopes: Tensor,
}

impl Inputs {
    /// The inputs of one step; `axis` is the axis of the steps.
    fn of_step(&self, axis: i64, step: usize) -> Inputs {
        let select = |values: &Tensor| values.select(axis, step as i64);
        Inputs { starts: select(&self.starts), slopes: select(&self.slopes) }
    }
}

/// `values` with `inputs`, if any, appended along the last axis.
fn beside(values: Tensor, inputs: Option<&Tensor>) -> Tensor {
    match inputs {
        Some(inputs) => Tensor::cat(&[&values, inputs], -1),
        None => values,
    }
}

impl Torch {
    /// An engine for `model` on `device`, computing in `precision`; `fields` says whether its states are fields in space.
    pub fn new(
        model: Box<dyn TensorModel>,
        (tableau, substeps): (Tableau, usize),
        device: Device,
        precision: Precision,
        fields: bool,
    ) -> Self {
        let kind = match precision {
            Precision::F32 => Kind::Float,
            Precision::F64 => Kind::Double,
        };
        let on = match device {
            Device::Cpu => tch::Device::Cpu,
            Device::Cuda(index) => tch::Device::Cuda(index),
        };
        one_thread_each();
        Torch { model, tableau, substeps, device: on, kind, apart: fields && device == Device::Cpu }
    }

    fn tensor(&self, values: &[f64], shape: &[usize]) -> Tensor {
        let shape: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
        Tensor::from_slice(values).view(shape.as_slice()).to_device(self.device).to_kind(self.kind)
    }

    /// The inputs of `batch`, if it has any, with its rows and steps in this `shape`.
    fn inputs(&self, batch: &Batch, shape: &[usize]) -> Option<Inputs> {
        let shape = [shape, &[batch.inputs]].concat();
        let tensor = |values: &[f64]| self.tensor(values, &shape);
        (batch.inputs > 0).then(|| Inputs { starts: tensor(&batch.input_starts), slopes: tensor(&batch.input_slopes) })
    }

    fn weights(&self, values: &[f64]) -> Tensor {
        let size = self.model.layout().size();
        self.tensor(values, &[values.len() / size, size])
    }

    /// Predictions `[E, B, L, C]`.
    fn roll_out(&self, weights: &Tensor, batch: &Batch) -> Tensor {
        let (e, b, l) = (batch.environments, batch.rows, batch.steps);
        let field = self.model.field(weights);
        let dt = self.tensor(&batch.dt, &[e, b, l, 1]) / self.substeps as f64;
        let inputs = self.inputs(batch, &[e, b, l]);
        let mut x = Rows(self.tensor(&batch.initial, &[e, b, batch.channels]));
        let mut states = Vec::with_capacity(l);
        for step in 0..l {
            let dt = dt.select(2, step as i64);
            let inputs = inputs.as_ref().map(|inputs| inputs.of_step(2, step));
            let slopes = inputs.as_ref().map(|inputs| &inputs.slopes);
            x = Rows(beside(x.0, inputs.as_ref().map(|inputs| &inputs.starts)));
            for _ in 0..self.substeps {
                x = solve::step(&self.tableau, &mut |x: &Rows| Rows(beside(field(&x.0), slopes)), &x, &dt);
            }
            if inputs.is_some() {
                x = Rows(x.0.narrow(-1, 0, batch.channels as i64));
            }
            states.push(x.0.shallow_clone());
        }
        Tensor::stack(&states, 2)
    }

    /// The sum of squared residuals over `count`, and its gradient.
    fn squares_and_gradient(&self, weights: &[f64], batch: &Batch, count: f64) -> (f64, Vec<f64>) {
        let shape = [batch.environments, batch.rows, batch.steps, batch.channels];
        let weights = self.weights(weights).set_requires_grad(true);
        let difference = self.roll_out(&weights, batch) - self.tensor(&batch.targets, &shape);
        let masked = difference * self.tensor(&batch.mask, &shape);
        let loss = masked.square().sum(None::<Kind>) / count;
        loss.backward();
        (loss.double_value(&[]), to_vec(&weights.grad()))
    }

    /// The gradient of `sum u x`.
    fn pulled_back(&self, weights: &[f64], cotangents: &[f64], batch: &Batch) -> Vec<f64> {
        let shape = [batch.environments, batch.rows, batch.steps, batch.channels];
        let weights = self.weights(weights).set_requires_grad(true);
        let sum = (self.roll_out(&weights, batch) * self.tensor(cotangents, &shape)).sum(None::<Kind>);
        to_vec(&Tensor::run_backward(&[&sum], &[&weights], false, false).remove(0))
    }
}

impl Engine for Torch {
    fn name(&self) -> &'static str {
        "torch"
    }

    fn predict(&self, weights: &[f64], batch: &Batch) -> Vec<f64> {
        let predict =
            |weights: &[f64], batch: &Batch| tch::no_grad(|| to_vec(&self.roll_out(&self.weights(weights), batch)));
        if !self.apart {
            return predict(weights, batch);
        }
        let parts = weights.par_chunks(self.model.layout().size()).enumerate().with_max_len(1);
        parts.flat_map_iter(|(e, weights)| predict(weights, &batch.environment(e))).collect()
    }

    fn loss_and_gradient(&self, weights: &[f64], batch: &Batch) -> (f64, Vec<f64>) {
        let count = batch.count();
        if !self.apart {
            return self.squares_and_gradient(weights, batch, count);
        }
        let parts = weights.par_chunks(self.model.layout().size()).enumerate().with_max_len(1);
        let parts: Vec<(f64, Vec<f64>)> =
            parts.map(|(e, weights)| self.squares_and_gradient(weights, &batch.environment(e), count)).collect();
        (parts.iter().map(|part| part.0).sum(), parts.into_iter().flat_map(|part| part.1).collect())
    }

    fn pull_back(&self, weights: &[f64], cotangents: &[f64], batch: &Batch) -> Vec<f64> {
        if !self.apart {
            return self.pulled_back(weights, cotangents, batch);
        }
        let each = batch.values_per_environment();
        let parts = weights.par_chunks(self.model.layout().size()).enumerate().with_max_len(1);
        let of_environment = |(e, weights): (usize, &[f64])| {
            self.pulled_back(weights, &cotangents[e * each..(e + 1) * each], &batch.environment(e))
        };
        parts.flat_map_iter(of_environment).collect()
    }

    /// One backward pass per residual: exact, but slow.
    fn jacobian(&self, weights: &[f64], batch: &Batch) -> Jacobian {
        let shape = [batch.environments, batch.rows, batch.steps, batch.channels];
        let size = self.model.layout().size();
        let weights = self.weights(weights).set_requires_grad(true);
        let residuals = (self.roll_out(&weights, batch) - self.tensor(&batch.targets, &shape)).view([-1]);
        let mut jacobian = Jacobian::default();
        for (value, &mask) in batch.mask.iter().enumerate().filter(|(_, mask)| **mask > 0.0) {
            let environment = value / batch.values_per_environment();
            let residual = residuals.select(0, value as i64) * mask;
            let gradient = Tensor::run_backward(&[&residual], &[&weights], true, false).remove(0);
            jacobian.environments.push(environment);
            jacobian.residuals.push(residual.double_value(&[]));
            jacobian.rows.extend(&to_vec(&gradient)[environment * size..(environment + 1) * size]);
        }
        jacobian
    }

    fn environments_per_batch(&self) -> usize {
        if self.apart { 1 } else { 64 }
    }

    fn tangents<'a>(&'a self, basis: &[f64], context_dimension: usize) -> Box<dyn Tangents + 'a> {
        Box::new(TorchTangents { engine: self, basis: basis.to_vec(), d: context_dimension })
    }
}

struct TorchTangents<'a> {
    engine: &'a Torch,
    basis: Vec<f64>,
    d: usize,
}

impl Tangents for TorchTangents<'_> {
    /// A value of the initial state is treated as one more dimension of the context, with a zero basis vector and a
    /// tangent that starts as the unit vector of that value.
    fn roll_out_wrt(&self, wrt: Wrt, contexts: &[f64], batch: &Batch) -> (Vec<f64>, Vec<f64>) {
        let (e, b, l, c) = (batch.environments, batch.rows, batch.steps, batch.channels);
        let (engine, count) = (self.engine, wrt.count(self.d, c));
        let of_initial = (count - self.d) as i64;
        tch::no_grad(|| {
            let basis = engine.weights(&self.basis).constant_pad_nd([0, 0, 0, of_initial]);
            let contexts = engine.tensor(contexts, &[e, self.d]).constant_pad_nd([0, of_initial]);
            let contexts = contexts.repeat_interleave_self_int(b as i64, 0, None);
            let field = engine.model.tangent_field(&basis, &contexts);
            let dt = engine.tensor(&batch.dt, &[e * b, l, 1]) / engine.substeps as f64;
            let inputs = engine.inputs(batch, &[e * b, l]);
            let still = Tensor::zeros([count, e * b, batch.inputs].map(|n| n as i64), (engine.kind, engine.device));
            let mut state = RowsWithTangents {
                x: engine.tensor(&batch.initial, &[e * b, c]),
                dx: Tensor::zeros([count as i64, (e * b) as i64, c as i64], (engine.kind, engine.device)),
            };
            if of_initial > 0 {
                let units = Tensor::eye(of_initial, (engine.kind, engine.device)).unsqueeze(1);
                state.dx.narrow(0, self.d as i64, of_initial).copy_(&units.expand([-1, (e * b) as i64, -1], false));
            }
            let (mut states, mut tangents) = (Vec::with_capacity(l), Vec::with_capacity(l));
            for step in 0..l {
                let inputs = inputs.as_ref().map(|inputs| inputs.of_step(1, step));
                let still = inputs.as_ref().map(|_| &still);
                let slopes = inputs.as_ref().map(|inputs| &inputs.slopes);
                let mut rates = |state: &RowsWithTangents| {
                    let (x, dx) = field(&state.x, &state.dx);
                    RowsWithTangents { x: beside(x, slopes), dx: beside(dx, still) }
                };
                let dt = dt.select(1, step as i64);
                let starts = inputs.as_ref().map(|inputs| &inputs.starts);
                state = RowsWithTangents { x: beside(state.x, starts), dx: beside(state.dx, still) };
                for _ in 0..engine.substeps {
                    state = solve::step(&engine.tableau, &mut rates, &state, &dt);
                }
                if inputs.is_some() {
                    let states = |values: &Tensor| values.narrow(-1, 0, c as i64);
                    state = RowsWithTangents { x: states(&state.x), dx: states(&state.dx) };
                }
                states.push(state.x.shallow_clone());
                tangents.push(state.dx.shallow_clone());
            }
            // [R, L, C], and [tangents, R, C, L] -> [R, L, C, tangents]
            (to_vec(&Tensor::stack(&states, 1)), to_vec(&Tensor::stack(&tangents, 3).permute([1, 3, 2, 0])))
        })
    }
}

fn to_vec(tensor: &Tensor) -> Vec<f64> {
    let flat = tensor.contiguous().view([-1]).to_device(tch::Device::Cpu).to_kind(Kind::Double);
    let mut values = vec![0.0; flat.numel()];
    let count = values.len();
    flat.copy_data(&mut values, count);
    values
}
