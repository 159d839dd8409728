//! The engine on libtorch.

use rayon::prelude::*;
use tch::{Kind, Tensor};

use super::graph::{memory, turn};
use super::integrator::{Integrator, Rows, to_vec};
use super::recordings::Recordings;
use super::resident::OnDevice;
use super::threads::one_thread_each;
use crate::engine::batch::Batch;
use crate::engine::device::Device;
use crate::engine::resident::{Objective, Resident};
use crate::engine::rollouts::{Engine, Jacobian, Tangents, Wrt};
use crate::engine::settings::Precision;
use crate::models::tensors::TensorModel;
use crate::solve::Tableau;

/// Environments that are rolled out with tangents at once, of perceptrons on the CPU and at least on a CUDA device.
const TOGETHER: usize = 64;
/// Most of them on a CUDA device.
const MOST_TOGETHER: u64 = 4096;
/// Values of intermediate tensors, at most, for each value of a state: 64 features of 9 neighbours, of the state and three tangents.
const VALUES_OF_EACH: u64 = 64 * 9 * 4;

/// Rollouts of a model by steps of a Runge-Kutta method from sample to sample.
pub struct Torch {
    integrator: Integrator,
    /// Whether each environment is a task of its own, whatever the number of threads: fields on the CPU, which are
    /// large tensors.
    apart: bool,
    together: usize,
    recordings: Recordings,
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
        let apart = fields && device == Device::Cpu;
        Torch {
            integrator: Integrator { model, tableau, substeps, device: on, kind },
            apart,
            together: if apart { 1 } else { TOGETHER },
            recordings: Recordings::default(),
        }
    }

    /// The same for states of so many values, of which a CUDA device takes as many environments at once as a quarter of its memory holds.
    pub(super) fn for_states(mut self, values: usize) -> Self {
        if let tch::Device::Cuda(index) = self.integrator.device
            && let Some(memory) = memory(index)
        {
            let each = 8 * (self.size() as u64 + VALUES_OF_EACH * values as u64);
            self.together = (memory / 4 / each).clamp(TOGETHER as u64, MOST_TOGETHER) as usize;
        }
        self
    }

    /// `P`.
    fn size(&self) -> usize {
        self.integrator.model.layout().size()
    }

    /// What `operations` make of `values` and the rows of `batch`, which are not in one another's way.
    fn call(
        &self,
        name: &'static str,
        values: Vec<Tensor>,
        batch: &Batch,
        operations: impl Fn(&[Tensor], &Rows) -> Vec<Tensor>,
    ) -> Vec<Vec<f64>> {
        let (integrator, count) = (&self.integrator, values.len());
        let rows = integrator.rows(batch, &[batch.environments, batch.rows]).tensors();
        let inputs: Vec<Tensor> = values.into_iter().chain(rows).collect();
        self.recordings.call(integrator.device, name, &inputs, |inputs| {
            let (values, rows) = inputs.split_at(count);
            operations(values, &Rows::of(rows))
        })
    }

    /// Values `[E, B, L, C]`.
    fn of_batch(&self, values: &[f64], batch: &Batch) -> Tensor {
        self.integrator.tensor(values, &[batch.environments, batch.rows, batch.steps, batch.channels])
    }

    fn predictions(&self, weights: &[f64], batch: &Batch) -> Vec<f64> {
        let _turn = turn(self.integrator.device);
        let values = vec![self.integrator.weights(weights)];
        let mut found = self.call("predictions", values, batch, |values, rows| {
            tch::no_grad(|| vec![self.integrator.roll_out(&values[0], rows, None)])
        });
        found.remove(0)
    }

    /// The sum of squared residuals over `count`, and its gradient.
    fn squares_and_gradient(&self, weights: &[f64], batch: &Batch, count: f64) -> (f64, Vec<f64>) {
        let _turn = turn(self.integrator.device);
        let [targets, mask] = [&batch.targets, &batch.mask].map(|values| self.of_batch(values, batch));
        let values = vec![self.integrator.weights(weights), targets, mask, self.integrator.tensor(&[count], &[])];
        let mut found = self.call("gradient", values, batch, |values, rows| {
            let weights = values[0].detach().set_requires_grad(true);
            let masked = (self.integrator.roll_out(&weights, rows, None) - &values[1]) * &values[2];
            let loss = masked.square().sum(None::<Kind>) / &values[3];
            let gradient = Tensor::run_backward(&[&loss], &[&weights], false, false).remove(0);
            vec![loss.detach(), gradient]
        });
        let (gradient, loss) = (found.remove(1), found.remove(0));
        (loss[0], gradient)
    }

    /// The gradient of `sum u x`.
    fn pulled_back(&self, weights: &[f64], cotangents: &[f64], batch: &Batch) -> Vec<f64> {
        let _turn = turn(self.integrator.device);
        let values = vec![self.integrator.weights(weights), self.of_batch(cotangents, batch)];
        let mut found = self.call("cotangents", values, batch, |values, rows| {
            let weights = values[0].detach().set_requires_grad(true);
            let sum = (self.integrator.roll_out(&weights, rows, None) * &values[1]).sum(None::<Kind>);
            Tensor::run_backward(&[&sum], &[&weights], false, false)
        });
        found.remove(0)
    }
}

impl Engine for Torch {
    fn name(&self) -> &'static str {
        "torch"
    }

    fn predict(&self, weights: &[f64], batch: &Batch) -> Vec<f64> {
        if !self.apart {
            return self.predictions(weights, batch);
        }
        let parts = weights.par_chunks(self.size()).enumerate().with_max_len(1);
        parts.flat_map_iter(|(e, weights)| self.predictions(weights, &batch.environment(e))).collect()
    }

    fn loss_and_gradient(&self, weights: &[f64], batch: &Batch) -> (f64, Vec<f64>) {
        let count = batch.count();
        if !self.apart {
            return self.squares_and_gradient(weights, batch, count);
        }
        let parts = weights.par_chunks(self.size()).enumerate().with_max_len(1);
        let parts: Vec<(f64, Vec<f64>)> =
            parts.map(|(e, weights)| self.squares_and_gradient(weights, &batch.environment(e), count)).collect();
        (parts.iter().map(|part| part.0).sum(), parts.into_iter().flat_map(|part| part.1).collect())
    }

    fn pull_back(&self, weights: &[f64], cotangents: &[f64], batch: &Batch) -> Vec<f64> {
        if !self.apart {
            return self.pulled_back(weights, cotangents, batch);
        }
        let each = batch.values_per_environment();
        let parts = weights.par_chunks(self.size()).enumerate().with_max_len(1);
        let of_environment = |(e, weights): (usize, &[f64])| {
            self.pulled_back(weights, &cotangents[e * each..(e + 1) * each], &batch.environment(e))
        };
        parts.flat_map_iter(of_environment).collect()
    }

    /// One backward pass per residual: exact, but slow.
    fn jacobian(&self, weights: &[f64], batch: &Batch) -> Jacobian {
        let (integrator, size) = (&self.integrator, self.size());
        let _turn = turn(integrator.device);
        let rows = [batch.environments, batch.rows];
        let weights = integrator.weights(weights).set_requires_grad(true);
        let predictions = integrator.roll_out(&weights, &integrator.rows(batch, &rows), None);
        let residuals = predictions - self.of_batch(&batch.targets, batch);
        let residuals = residuals.view([-1]);
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
        self.together
    }

    fn tangents<'a>(&'a self, basis: &[f64], context_dimension: usize) -> Box<dyn Tangents + 'a> {
        Box::new(TorchTangents { engine: self, basis: basis.to_vec(), d: context_dimension })
    }

    fn resident<'a>(&'a self, objective: &Objective) -> Option<Box<dyn Resident + 'a>> {
        Some(Box::new(OnDevice::new(&self.integrator, objective)))
    }
}

struct TorchTangents<'a> {
    engine: &'a Torch,
    basis: Vec<f64>,
    d: usize,
}

impl Tangents for TorchTangents<'_> {
    fn roll_out_wrt(&self, wrt: Wrt, contexts: &[f64], batch: &Batch) -> (Vec<f64>, Vec<f64>) {
        let (e, b) = (batch.environments, batch.rows);
        let integrator = &self.engine.integrator;
        let _turn = turn(integrator.device);
        let contexts = integrator.tensor(contexts, &[e, self.d]).repeat_interleave_self_int(b as i64, 0, None);
        let inputs: Vec<Tensor> = [integrator.weights(&self.basis), contexts]
            .into_iter()
            .chain(integrator.rows(batch, &[e * b]).tensors())
            .collect();
        let (name, of_initial) = match wrt {
            Wrt::Context => ("tangents", false),
            Wrt::ContextAndInitial => ("tangents of initial states too", true),
        };
        let mut found = self.engine.recordings.call(integrator.device, name, &inputs, |inputs| {
            let rows = Rows::of(&inputs[2..]);
            let roll_out = || integrator.roll_out_with_tangents((&inputs[0], &inputs[1]), &rows, of_initial);
            let (predictions, tangents) = tch::no_grad(roll_out);
            vec![predictions, tangents]
        });
        let (tangents, predictions) = (found.remove(1), found.remove(0));
        (predictions, tangents)
    }
}
