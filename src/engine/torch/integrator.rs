//! Rollouts on tensors, which autograd follows.
//!
//! The solver's steps between samples are a loop here: combined into one tableau, `s` steps would add up to `s^2 / 2`
//! tensors of stages. Everything that a rollout takes from the host comes before it, so that a rollout can be recorded.

use tch::{Kind, Tensor};

use crate::engine::batch::Batch;
use crate::models::tensors::TensorModel;
use crate::solve;
use crate::solve::{State, Tableau};

/// Rollouts of `model` by `substeps` steps of `tableau` from sample to sample.
pub(super) struct Integrator {
    pub model: Box<dyn TensorModel>,
    pub tableau: Tableau,
    pub substeps: usize,
    pub device: tch::Device,
    pub kind: Kind,
}

/// What rollouts start from and run along, on the device.
pub(super) struct Rows {
    /// `[.., C]`.
    initial: Tensor,
    /// Lengths of the solver's steps `[.., L, 1]`.
    dt: Tensor,
    inputs: Option<Inputs>,
}

/// The inputs of a batch at the start of each step, and their slopes `[.., L, U]`.
struct Inputs {
    starts: Tensor,
    slopes: Tensor,
}

/// Where rollouts start anew.
pub(super) struct Restarts {
    /// Whether they do before each step, `[.., L, 1]`.
    pub are_due: Tensor,
    /// The observed states before each step, `[.., L, C]`.
    pub states: Tensor,
}

/// Rows with one step each; inputs follow the states.
struct Values(Tensor);

/// Rows with their tangents.
struct ValuesWithTangents {
    x: Tensor,
    /// `[d, R, C + U]`.
    dx: Tensor,
}

impl State for Values {
    type Step = Tensor;

    fn advance(&self, dt: &Tensor, terms: &[(f64, &Self)]) -> Self {
        Values(&self.0 + weighted_sum(terms.iter().map(|(c, k)| (*c, &k.0))) * dt)
    }
}

impl State for ValuesWithTangents {
    type Step = Tensor;

    fn advance(&self, dt: &Tensor, terms: &[(f64, &Self)]) -> Self {
        ValuesWithTangents {
            x: &self.x + weighted_sum(terms.iter().map(|(c, k)| (*c, &k.x))) * dt,
            dx: &self.dx + weighted_sum(terms.iter().map(|(c, k)| (*c, &k.dx))) * dt,
        }
    }
}

fn weighted_sum<'a>(mut terms: impl Iterator<Item = (f64, &'a Tensor)>) -> Tensor {
    let (c, k) = terms.next().expect("a Runge-Kutta step has at least one stage");
    terms.fold(k * c, |sum, (c, k)| sum + k * c)
}

/// `values` with `inputs`, if any, appended along the last axis.
fn beside(values: Tensor, inputs: Option<&Tensor>) -> Tensor {
    match inputs {
        Some(inputs) => Tensor::cat(&[&values, inputs], -1),
        None => values,
    }
}

impl Rows {
    /// As a list, for [`Rows::of`].
    pub(super) fn tensors(self) -> Vec<Tensor> {
        let inputs = self.inputs.map(|inputs| [inputs.starts, inputs.slopes]);
        [self.initial, self.dt].into_iter().chain(inputs.into_iter().flatten()).collect()
    }

    /// From such a list.
    pub(super) fn of(tensors: &[Tensor]) -> Self {
        let inputs = match tensors {
            [_, _, starts, slopes] => Some(Inputs { starts: starts.shallow_clone(), slopes: slopes.shallow_clone() }),
            _ => None,
        };
        Rows { initial: tensors[0].shallow_clone(), dt: tensors[1].shallow_clone(), inputs }
    }

    /// What `change` makes of each tensor, of which the axes before those of steps, values and inputs are those of rows.
    pub(super) fn map(&self, change: impl Fn(&Tensor) -> Tensor) -> Self {
        let inputs = self.inputs.as_ref();
        let inputs = inputs.map(|inputs| Inputs { starts: change(&inputs.starts), slopes: change(&inputs.slopes) });
        Rows { initial: change(&self.initial), dt: change(&self.dt), inputs }
    }

    /// The same, but rows at which `are_there [.., 1, 1]` is zero do not move.
    pub(super) fn standing_still(self, are_there: &Tensor) -> Self {
        Rows { dt: self.dt * are_there, ..self }
    }

    /// The axis of steps.
    fn axis(&self) -> i64 {
        self.dt.dim() as i64 - 2
    }

    /// The number of steps `L`.
    fn steps(&self) -> i64 {
        self.dt.size()[self.axis() as usize]
    }

    /// Inputs and their slopes in a step.
    fn inputs_at(&self, step: i64) -> (Option<Tensor>, Option<Tensor>) {
        let at = |values: &Tensor| values.select(self.axis(), step);
        let inputs = self.inputs.as_ref();
        (inputs.map(|inputs| at(&inputs.starts)), inputs.map(|inputs| at(&inputs.slopes)))
    }
}

impl Integrator {
    pub(super) fn tensor(&self, values: &[f64], shape: &[usize]) -> Tensor {
        let shape: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
        Tensor::from_slice(values).view(shape.as_slice()).to_device(self.device).to_kind(self.kind)
    }

    /// Weights `[E, P]` of so many environments as there are values.
    pub(super) fn weights(&self, values: &[f64]) -> Tensor {
        let size = self.model.layout().size();
        self.tensor(values, &[values.len() / size, size])
    }

    /// The rows of `batch` in this `shape`: `[E, B]`, or flat.
    pub(super) fn rows(&self, batch: &Batch, shape: &[usize]) -> Rows {
        let tensor = |values: &[f64], of_row: &[usize]| self.tensor(values, &[shape, of_row].concat());
        let of_steps = [batch.steps, batch.inputs];
        Rows {
            initial: tensor(&batch.initial, &[batch.channels]),
            dt: tensor(&batch.dt, &[batch.steps, 1]) / self.substeps as f64,
            inputs: (batch.inputs > 0).then(|| Inputs {
                starts: tensor(&batch.input_starts, &of_steps),
                slopes: tensor(&batch.input_slopes, &of_steps),
            }),
        }
    }

    /// Predictions `[E, B, L, C]` of `rows [E, B]` under `weights [E, P]`.
    pub(super) fn roll_out(&self, weights: &Tensor, rows: &Rows, restarts: Option<&Restarts>) -> Tensor {
        let field = self.model.field(weights);
        let (axis, channels) = (rows.axis(), rows.initial.size()[2]);
        let mut x = rows.initial.shallow_clone();
        let mut states = Vec::with_capacity(rows.steps() as usize);
        for step in 0..rows.steps() {
            if let Some(Restarts { are_due, states }) = restarts.filter(|_| step > 0) {
                x = states.select(axis, step).where_self(&are_due.select(axis, step), &x);
            }
            let dt = rows.dt.select(axis, step);
            let (starts, slopes) = rows.inputs_at(step);
            let mut values = Values(beside(x, starts.as_ref()));
            for _ in 0..self.substeps {
                let mut rates = |x: &Values| Values(beside(field(&x.0), slopes.as_ref()));
                values = solve::step(&self.tableau, &mut rates, &values, &dt);
            }
            x = if starts.is_some() { values.0.narrow(-1, 0, channels) } else { values.0 };
            states.push(x.shallow_clone());
        }
        Tensor::stack(&states, axis)
    }

    /// Predictions `[R, L, C]` of flat rows and their tangents `[R, L, C, d + C']`, where `basis [1 + d, P]` and `contexts [R, d]` give the
    /// weights; with `of_initial` the last `C' = C` tangents are those by the initial state, else there are none of these.
    ///
    /// A value of the initial state is treated as one more dimension of the context, with a zero basis vector and a tangent that starts as the
    /// unit vector of that value.
    pub(super) fn roll_out_with_tangents(
        &self,
        (basis, contexts): (&Tensor, &Tensor),
        rows: &Rows,
        of_initial: bool,
    ) -> (Tensor, Tensor) {
        let on = (self.kind, self.device);
        let (count, c) = (rows.initial.size()[0], rows.initial.size()[1]);
        let (d, more) = (contexts.size()[1], if of_initial { c } else { 0 });
        let basis = basis.constant_pad_nd([0, 0, 0, more]);
        let contexts = contexts.constant_pad_nd([0, more]);
        let field = self.model.tangent_field(&basis, &contexts);
        let inputs = rows.inputs.as_ref().map_or(0, |inputs| inputs.starts.size()[2]);
        let still = (inputs > 0).then(|| Tensor::zeros([d + more, count, inputs], on));
        let still = still.as_ref();
        let mut x = rows.initial.shallow_clone();
        let mut dx = Tensor::zeros([d, count, c], on);
        if of_initial {
            let units = Tensor::eye(c, on).unsqueeze(1).expand([-1, count, -1], false);
            dx = Tensor::cat(&[dx, units], 0);
        }
        let (mut states, mut tangents) = (Vec::new(), Vec::new());
        for step in 0..rows.steps() {
            let (starts, slopes) = rows.inputs_at(step);
            let mut rates = |state: &ValuesWithTangents| {
                let (x, dx) = field(&state.x, &state.dx);
                ValuesWithTangents { x: beside(x, slopes.as_ref()), dx: beside(dx, still) }
            };
            let dt = rows.dt.select(rows.axis(), step);
            let mut values = ValuesWithTangents { x: beside(x, starts.as_ref()), dx: beside(dx, still) };
            for _ in 0..self.substeps {
                values = solve::step(&self.tableau, &mut rates, &values, &dt);
            }
            let of_states = |values: Tensor| if inputs > 0 { values.narrow(-1, 0, c) } else { values };
            (x, dx) = (of_states(values.x), of_states(values.dx));
            states.push(x.shallow_clone());
            tangents.push(dx.shallow_clone());
        }
        // [tangents, R, C, L] to [R, L, C, tangents]
        (Tensor::stack(&states, 1), Tensor::stack(&tangents, 3).permute([1, 3, 2, 0]))
    }
}

/// The values of a tensor, on the host.
pub(super) fn to_vec(tensor: &Tensor) -> Vec<f64> {
    let flat = tensor.contiguous().view([-1]).to_device(tch::Device::Cpu).to_kind(Kind::Double);
    let mut values = vec![0.0; flat.numel()];
    let count = values.len();
    flat.copy_data(&mut values, count);
    values
}
