//! Training that stays on a device: a whole step of Adam as operations on tensors in fixed places, with the shapes of every other step.
//!
//! What is trained, its moments and the data lie on the device. A step decodes the weights, rolls out with restarts, goes back, adds the
//! penalties, clips and moves; it reads what differs between steps, and writes its loss, at the slot that a counter names. So the host sends
//! the plan of many steps once, then the same operations for each of them: on CUDA one graph.
//!
//! What is trained is in double precision, and rollouts in the precision of the engine, as on the host.

use tch::{Kind, Tensor};

use super::graph::{Graph, agree, turn};
use super::integrator::{Integrator, Restarts, Rows, to_vec};
use crate::engine::batch::Batch;
use crate::engine::resident::{BETA_1, BETA_2, EPSILON, MOST_STEPS, Made, Moved, Objective, Plan, Resident};
use crate::rules::{Locality, Places};

/// Steps that the device is sent before the host waits for one, where each is long.
const AHEAD: usize = 4;

/// Values that some of the weights find in a list of values.
struct Found {
    /// Where, for each weight; anywhere for those that find none.
    index: Tensor,
    /// One for those that find one, else zero; absent where all do.
    are_there: Option<Tensor>,
}

impl Found {
    /// `None` where no weight finds a value among so many.
    fn new(places: &[Option<usize>], among: usize, device: tch::Device) -> Option<Self> {
        if places.iter().all(Option::is_none) {
            return None;
        }
        // Different places for those that find none: gradients of zero do not all go to one.
        let anywhere = |(p, place): (usize, &Option<usize>)| place.unwrap_or(p % among) as i64;
        let index: Vec<i64> = places.iter().enumerate().map(anywhere).collect();
        let are_there: Vec<f64> = places.iter().map(|place| f64::from(u8::from(place.is_some()))).collect();
        let all = are_there.iter().all(|it| *it == 1.0);
        Some(Found {
            index: Tensor::from_slice(&index).to_device(device),
            are_there: (!all).then(|| Tensor::from_slice(&are_there).to_device(device)),
        })
    }

    /// The values of the last axis at these places, zero for weights that find none.
    fn among(&self, values: &Tensor) -> Tensor {
        let found = values.index_select(-1, &self.index);
        match &self.are_there {
            Some(are_there) => found * are_there,
            None => found,
        }
    }
}

/// How weights follow from what is trained.
struct Decoder {
    constants: Option<Found>,
    columns: Option<Found>,
    owned: Option<Found>,
    /// `[P]`.
    starts: Option<Tensor>,
    locality: Locality,
    /// `S`, `d`, `P` and `E`.
    shared: i64,
    dimension: i64,
    weights: i64,
    environments: i64,
}

impl Decoder {
    fn new(objective: &Objective, weights: usize, device: tch::Device) -> Self {
        let Places { constants, columns, owned, starts, locality } = objective.places;
        let d = objective.context_dimension;
        Decoder {
            constants: Found::new(constants, objective.shared, device),
            columns: Found::new(columns, objective.shared, device),
            owned: Found::new(owned, d.max(1), device),
            starts: (!starts.is_empty()).then(|| Tensor::from_slice(starts).to_device(device)),
            locality: *locality,
            shared: objective.shared as i64,
            dimension: d as i64,
            weights: weights as i64,
            environments: objective.data.environments as i64,
        }
    }

    /// Shared values `[S]` and contexts `[E, d]`.
    fn parts(&self, trained: &Tensor) -> (Tensor, Tensor) {
        let contexts = self.environments * self.dimension;
        let contexts = trained.narrow(0, self.shared, contexts).view([self.environments, self.dimension]);
        (trained.narrow(0, 0, self.shared), contexts)
    }

    /// Columns `[d, P]` that the context multiplies, if there are any.
    fn columns(&self, shared: &Tensor) -> Option<Tensor> {
        Some(self.columns.as_ref()?.among(shared).view([self.dimension, self.weights]))
    }

    /// Weights `[E, P]`.
    fn weights(&self, shared: &Tensor, contexts: &Tensor, columns: Option<&Tensor>) -> Tensor {
        let constants = self.constants.as_ref().map(|found| found.among(shared).unsqueeze(0));
        let terms = [
            constants,
            columns.map(|columns| contexts.matmul(columns)),
            self.starts.as_ref().map(|starts| starts.unsqueeze(0)),
            self.owned.as_ref().map(|found| found.among(contexts)),
        ];
        let sum = terms.into_iter().flatten().reduce(|sum, term| sum + term);
        sum.expect("weights are something").expand([self.environments, self.weights], false)
    }

    /// A function with the gradient of the penalty: the parabola that touches it from above, without its constant.
    fn majorizer(&self, columns: &Tensor) -> Option<Tensor> {
        match self.locality {
            Locality::None => None,
            Locality::Squares => Some(columns.square().sum(None::<Kind>)),
            Locality::RowNorms => {
                let squares = columns.square();
                let sums = squares.sum_dim_intlist([0i64].as_slice(), false, None::<Kind>);
                let norms = sums.detach().sqrt();
                // Where the penalty holds a row at zero, zero is a subgradient.
                let factors = (norms.reciprocal() * 0.5).where_self(&norms.gt(0.0), &norms.zeros_like());
                Some((sums * factors).sum(None::<Kind>))
            }
        }
    }
}

/// The training data on the device.
struct Data {
    /// `[E R, ..]`, or `[E, R, ..]` where a step takes all rows.
    rows: Rows,
    /// `[.., L, C]`.
    targets: Tensor,
    mask: Tensor,
    /// The observed states before each step; those that are not complete mean nothing.
    before: Tensor,
    /// Whether a step takes some of the rows, which it has to gather.
    some: bool,
}

impl Data {
    fn new(integrator: &Integrator, batch: &Batch, rows: usize) -> Self {
        let (e, r, l, c) = (batch.environments, batch.rows, batch.steps, batch.channels);
        let some = rows < r;
        let shape: &[usize] = if some { &[e * r] } else { &[e, r] };
        let of_steps = [shape, &[l, c]].concat();
        let targets = integrator.tensor(&batch.targets, &of_steps);
        let initial = integrator.tensor(&batch.initial, &[shape, &[1, c]].concat());
        let axis = shape.len() as i64;
        Data {
            rows: integrator.rows(batch, shape),
            before: Tensor::cat(&[initial, targets.narrow(axis, 0, l as i64 - 1)], axis),
            targets,
            mask: integrator.tensor(&batch.mask, &of_steps),
            some,
        }
    }
}

/// What the steps of a plan read and write, each at its slot.
struct Slots {
    /// `[1]`: which is next.
    next: Tensor,
    /// `[K]`.
    rates: Tensor,
    /// What corrects the bias of Adam's means.
    corrections: [Tensor; 2],
    /// `[K, E B]`: rows of the data.
    rows: Tensor,
    /// One where there is such a row, else zero.
    are_there: Tensor,
    /// `[K, E, B, L, 1]`.
    restarts: Tensor,
    /// `[K]`.
    losses: Tensor,
    /// Steps that were made.
    made: Tensor,
    /// Whether all were, so far.
    is_sound: Tensor,
}

impl Slots {
    fn new((e, b, l): (i64, i64, i64), device: tch::Device) -> Self {
        let (slots, double) = (MOST_STEPS as i64, (Kind::Double, device));
        Slots {
            next: Tensor::zeros([1], (Kind::Int64, device)),
            rates: Tensor::zeros([slots], double),
            corrections: [(); 2].map(|()| Tensor::ones([slots], double)),
            rows: Tensor::zeros([slots, e * b], (Kind::Int64, device)),
            are_there: Tensor::ones([slots, e * b], double),
            restarts: Tensor::zeros([slots, e, b, l, 1], (Kind::Bool, device)),
            losses: Tensor::zeros([slots], double),
            made: Tensor::zeros([1], (Kind::Int64, device)),
            is_sound: Tensor::ones([1], (Kind::Bool, device)),
        }
    }

    /// Writes a plan, and begins at its first step.
    fn put(&mut self, plan: &Plan, all_rows: i64) {
        let count = plan.rates.len();
        let power = |t: usize| i32::try_from(plan.first + t as u64).unwrap_or(i32::MAX);
        let corrections =
            [BETA_1, BETA_2].map(|beta| (0..count).map(|t| 1.0 - beta.powi(power(t))).collect::<Vec<_>>());
        let [e_b, b] = [self.rows.size()[1], self.restarts.size()[2]];
        let row = |(i, row): (usize, &Option<usize>)| (i as i64 % e_b / b) * all_rows + row.unwrap_or(0) as i64;
        let rows: Vec<i64> = plan.rows.iter().enumerate().map(row).collect();
        let are_there: Vec<f64> = plan.rows.iter().map(|row| f64::from(u8::from(row.is_some()))).collect();
        write(&self.rates, Tensor::from_slice(&plan.rates));
        self.corrections.iter().zip(corrections).for_each(|(place, of)| write(place, Tensor::from_slice(&of)));
        write(&self.rows, Tensor::from_slice(&rows));
        write(&self.are_there, Tensor::from_slice(&are_there));
        write(&self.restarts, Tensor::from_slice(&plan.restarts));
        let _ = (self.next.zero_(), self.made.zero_(), self.is_sound.fill_(1));
    }

    /// What stands at the next slot.
    fn of(&self, values: &Tensor) -> Tensor {
        values.index_select(0, &self.next).squeeze_dim(0)
    }
}

/// Writes `values` at the beginning of a tensor that stays in place.
fn write(place: &Tensor, values: Tensor) {
    let mut size = place.size();
    let each: i64 = size[1..].iter().product();
    size[0] = values.numel() as i64 / each;
    place.narrow(0, 0, size[0]).copy_(&values.view(size.as_slice()));
}

/// The operations of a step, and what they work on.
struct Step<'a> {
    integrator: &'a Integrator,
    decoder: Decoder,
    data: Data,
    slots: Slots,
    /// What is trained and Adam's running means, each `[S + E d]`.
    trained: Tensor,
    moments: [Tensor; 2],
    context_penalty: Option<f64>,
    locality_penalty: f64,
    clip: f64,
}

impl Step<'_> {
    /// The loss and the first moment of a step that `make` makes from weights of no meaning.
    fn tried(&self, make: &dyn Fn()) -> Vec<Tensor> {
        let pattern = Tensor::arange(self.trained.size()[0], (Kind::Double, self.trained.device())).sin() * 0.05;
        write(&self.trained, pattern);
        let Slots { next, made, is_sound, losses, .. } = &self.slots;
        for place in [&self.moments[0], &self.moments[1], next, made] {
            let _ = place.shallow_clone().zero_();
        }
        let _ = is_sound.shallow_clone().fill_(1);
        make();
        vec![losses.narrow(0, 0, 1).copy(), self.moments[0].copy()]
    }

    fn make(&self) {
        let trained = self.trained.detach().set_requires_grad(true);
        let (loss, objective) = self.objective(&trained);
        let gradient = Tensor::run_backward(&[&objective], &[&trained], false, false).remove(0);
        tch::no_grad(|| self.descend(&loss.detach(), &gradient));
    }

    /// The mean squared error, and with the penalties what has the gradient of the objective.
    fn objective(&self, trained: &Tensor) -> (Tensor, Tensor) {
        let (shared, contexts) = self.decoder.parts(trained);
        let contexts = if self.context_penalty.is_some() { contexts } else { contexts.detach() };
        let columns = self.decoder.columns(&shared);
        let weights = self.decoder.weights(&shared, &contexts, columns.as_ref()).to_kind(self.integrator.kind);
        let loss = self.mean_square(&weights).to_kind(Kind::Double);
        let of_columns = columns.as_ref().and_then(|columns| self.decoder.majorizer(columns));
        let of_contexts = self.context_penalty.map(|penalty| contexts.square().sum(None::<Kind>) * penalty);
        let penalties = [of_columns.map(|penalty| penalty * self.locality_penalty), of_contexts];
        let objective = penalties.into_iter().flatten().fold(loss.shallow_clone(), |sum, penalty| &sum + penalty);
        (loss, objective)
    }

    fn mean_square(&self, weights: &Tensor) -> Tensor {
        let Data { rows, targets, mask, before, some } = &self.data;
        let (slots, kind) = (&self.slots, self.integrator.kind);
        let are_due = slots.of(&slots.restarts);
        let predictions = |rows: &Rows, states: Tensor| {
            self.integrator.roll_out(weights, rows, Some(&Restarts { are_due: are_due.shallow_clone(), states }))
        };
        let (predicted, targets, mask) = if *some {
            let (index, size) = (slots.of(&slots.rows), are_due.size());
            let gather = |values: &Tensor| {
                let shape = [&size[..2], &values.size()[1..]].concat();
                values.index_select(0, &index).view(shape.as_slice())
            };
            let are_there = slots.of(&slots.are_there).to_kind(kind).view([size[0], size[1], 1, 1]);
            let rows = rows.map(gather).standing_still(&are_there);
            (predictions(&rows, gather(before)), gather(targets), gather(mask) * are_there)
        } else {
            (predictions(rows, before.shallow_clone()), targets.shallow_clone(), mask.shallow_clone())
        };
        let count = mask.square().sum(Kind::Double).to_kind(kind);
        ((predicted - targets) * mask).square().sum(None::<Kind>) / count
    }

    /// Clips the gradient and moves, unless it or the loss is not finite, or was not in a step before.
    fn descend(&self, loss: &Tensor, gradient: &Tensor) {
        let slots = &self.slots;
        let is_sound = loss.isfinite().logical_and(&gradient.isfinite().all()).logical_and(&slots.is_sound);
        let norm = gradient.square().sum(None::<Kind>).sqrt();
        let gradient = gradient * (norm.reciprocal() * self.clip).clamp_max(1.0);
        let [first, second] = &self.moments;
        let first_next = first * BETA_1 + &gradient * (1.0 - BETA_1);
        let second_next = second * BETA_2 + gradient.square() * (1.0 - BETA_2);
        let [of_first, of_second] = &slots.corrections;
        let length = (&second_next / slots.of(of_second)).sqrt() + EPSILON;
        let moved = &self.trained - (&first_next / slots.of(of_first)) * slots.of(&slots.rates) / length;
        for (place, next) in [(&self.trained, moved), (first, first_next), (second, second_next)] {
            place.shallow_clone().copy_(&next.where_self(&is_sound, place));
        }
        let _ = slots.losses.shallow_clone().index_copy_(0, &slots.next, &loss.view([1]));
        let mut made = slots.made.shallow_clone();
        made += is_sound.to_kind(Kind::Int64);
        slots.is_sound.shallow_clone().copy_(&is_sound);
        let mut next = slots.next.shallow_clone();
        next += 1;
    }
}

/// How a step is repeated.
enum Repeated {
    Graph(Graph),
    /// Its operations are sent again one by one, and why.
    Anew(Option<String>),
}

/// Training that stays on the engine's device.
pub(super) struct OnDevice<'a> {
    step: Step<'a>,
    repeated: Repeated,
    /// `R`.
    rows: i64,
}

impl<'a> OnDevice<'a> {
    /// Puts the data of `objective` in place, and records a step where the device is CUDA.
    pub(super) fn new(integrator: &'a Integrator, objective: &Objective) -> Self {
        let (device, batch) = (integrator.device, objective.data);
        let _turn = turn(device);
        let of_contexts = batch.environments * objective.context_dimension;
        let zeros = || Tensor::zeros([(objective.shared + of_contexts) as i64], (Kind::Double, device));
        let sizes = (batch.environments as i64, objective.rows as i64, batch.steps as i64);
        let step = Step {
            integrator,
            decoder: Decoder::new(objective, integrator.model.layout().size(), device),
            data: Data::new(integrator, batch, objective.rows),
            slots: Slots::new(sizes, device),
            trained: zeros(),
            moments: [zeros(), zeros()],
            context_penalty: objective.context_penalty,
            locality_penalty: objective.locality_penalty,
            clip: objective.gradient_clip,
        };
        let repeated = match device {
            tch::Device::Cuda(index) => match Graph::record(index, &|| step.make()) {
                Ok(graph) if agree(&step.tried(&|| graph.replay()), &step.tried(&|| step.make())) => {
                    Repeated::Graph(graph)
                }
                Ok(_) => Repeated::Anew(Some("a recorded step is not the step".to_owned())),
                Err(problem) => Repeated::Anew(Some(problem)),
            },
            _ => Repeated::Anew(None),
        };
        OnDevice { step, repeated, rows: batch.rows as i64 }
    }

    /// Waits until every step that was sent is made.
    fn wait(&self) -> usize {
        usize::try_from(self.step.slots.made.int64_value(&[0])).unwrap_or(0)
    }
}

impl Resident for OnDevice<'_> {
    fn run(&mut self, plan: &Plan, moved: Moved, goes_on: &dyn Fn() -> bool) -> Made {
        let _turn = turn(self.step.integrator.device);
        let Moved { trained, first_moment, second_moment } = moved;
        self.step.slots.put(plan, self.rows);
        let places = [&self.step.trained, &self.step.moments[0], &self.step.moments[1]];
        let values = [trained, first_moment, second_moment];
        places.iter().zip(&values).for_each(|(place, values)| write(place, Tensor::from_slice(values)));
        let mut sent = 0;
        while sent < plan.rates.len() && goes_on() {
            match &self.repeated {
                Repeated::Graph(graph) => graph.replay(),
                Repeated::Anew(_) => self.step.make(),
            }
            sent += 1;
            if sent % AHEAD == 0 {
                self.wait();
            }
        }
        let made = self.wait();
        places.iter().zip(values).for_each(|(place, values)| values.copy_from_slice(&to_vec(place)));
        Made { losses: to_vec(&self.step.slots.losses.narrow(0, 0, made as i64)), diverged: made < sent }
    }

    fn how(&self) -> String {
        match &self.repeated {
            Repeated::Graph(_) => "each step of Adam is one CUDA graph".to_owned(),
            Repeated::Anew(None) => "steps of Adam are planned ahead and made by the engine itself".to_owned(),
            Repeated::Anew(Some(problem)) => {
                format!(
                    "steps of Adam stay on the device, but are sent operation by operation, which is slower: {problem}"
                )
            }
        }
    }
}
