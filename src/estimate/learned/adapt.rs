//! Fits the contexts of new environments by damped Gauss-Newton, many environments at a time.
//!
//! For each environment, with residuals `r = x(u) - y [n]` over its observed values and tangents `J = dr/du`, minimises
//!
//! ```text
//! f(u) = |r|^2 / n + mu |xi|^2        steps  (J'J/n + M + lambda D) s = -(J'r/n + M u),  D = diag(J'J/n + M),  M u = mu xi
//! ```
//!
//! from the mean of the training contexts; shared weights are not changed. The unknowns `u` are the context `xi [d]` and, where the initial
//! states are estimated, the state `z_b [C]` that each trajectory `b` starts from. An observed first cell is then an
//! observation like the others, with the residual `z_bc - y_b0c`: a Gaussian prior around it as wide as the noise. A
//! missing one has a wide prior, with the mean and standard deviation of its channel over the environment, weighted by
//! the noise that the residuals show. The covariance of the context is marginal: a block of the inverse over all
//! unknowns.
//!
//! All values have equal weights in the model's own units, unless `estimate.noise` sets a noise model: a second fit
//! then weights them by the noise that the residuals of the first show. With `estimate.loss = "huber"`, further fits
//! reduce the weights of outliers. Channels have the weights of training (`train.weights`). Huber's and the channel
//! weights do not reflect the noise; [`covariance`] gives the errors under them.
//!
//! A fit that finds no minimum is repeated from contexts of training environments until one succeeds, and one that leaves far more than noise and
//! model explain until one does not; one that finds its minimum far outside their range is repeated from all of them. The best stays.
//!
//! Where environments own weights, thousands of unknowns, [`super::owned_weights`] fits them.
//!
//! The damping `lambda` of each environment follows its own gain ratio (Nielsen 1999, "Damping parameter in Marquardt's
//! method"). Where the model takes several solver steps from sample to sample, a rough fit with a single step comes
//! first, and the fit continues from its result. With the l2 norm this iterates the closed form of CoDA's Proposition 2
//! (Kirchmeyer et al., ICML 2022).

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use super::adaptation::Adaptation;
use super::context_range::TrainingRange;
use super::minimizer::{Iterate, Minimizer};
use super::owned_weights::OwnedWeights;
use super::support::Support;
use super::weights::Weights;
use crate::checkpoint::{StoredModel, Units};
use crate::engine::{Batch, Compute, ComputeError, Engine, Segment, Tangents, Wrt};
use crate::estimate::misfit::misfit;
use crate::estimate::settings::{InitialState, Loss, Settings};
use crate::estimate::table::errors::FitErrors;
use crate::estimate::table::row::Status;
use crate::rules::{ContextFit, Rule};

/// Least tolerance of a rough fit.
const COARSE_TOLERANCE: f64 = 1e-2;

/// Environments of a batch, at least, where the engine takes so many.
const FEW: usize = 64;
/// Most training contexts tried as starts by a fit that found no minimum.
const MOST_STARTS: usize = 8;
/// Widths of the range of the training contexts beyond it, outside which a fit is tried from other starts too.
const FAR: f64 = 1.0;
/// Share of the cost that a fit from another start must have at most to replace the first.
const CLEARLY: f64 = 0.9;
/// Number of fits with Huber's weights, each computed from the residuals of the fit before.
const HUBER_ROUNDS: usize = 5;

/// A batch of `supports`, padded to `environments`.
fn padded_batch(units: &Units, supports: &[Support], environments: usize) -> Batch {
    let mut segments: Vec<Vec<Segment>> = supports.iter().map(Support::segments).collect();
    segments.resize(environments, Vec::new());
    Batch::new(units.state.len(), &units.between, &segments, (1, 1))
}

/// Fits contexts of one model with the given settings.
pub struct Adapter<'a> {
    settings: &'a Settings,
    /// Computes the rollouts, with all the solver steps of the model.
    pub engine: Box<dyn Engine>,
    /// Engine of the rough fit, with one solver step from sample to sample; `None` where the model takes only one.
    coarse: Option<Box<dyn Engine>>,
    model: &'a StoredModel,
    d: usize,
    /// How contexts are found: as the model's rule says.
    context_fit: ContextFit,
    /// Start of a fit `[d]`.
    start: Vec<f64>,
    /// Further starts, for fits that found no minimum from the first `[n][d]`.
    starts: Vec<Vec<f64>>,
    range: TrainingRange,
    units: Units,
    /// Values of a channel in a state: grid points.
    points: usize,
    /// The weight of each value of a state in the loss; empty where all are equal.
    channel_weights: Vec<f64>,
}

impl<'a> Adapter<'a> {
    /// An adapter for contexts of `model`.
    ///
    /// # Errors
    /// If there is no such engine or device.
    pub fn new(settings: &'a Settings, compute: Compute, model: &'a StoredModel) -> Result<Self, ComputeError> {
        Ok(Adapter {
            settings,
            engine: model.engine(compute)?.0,
            coarse: model.coarse_engine(compute)?,
            model,
            d: model.manifest.context_dimension,
            context_fit: model.rule().context_fit(),
            start: start(model, model.rule().context_fit()),
            starts: spread(model),
            range: TrainingRange::new(model),
            units: model.manifest.units(),
            points: model.manifest.state_shape().points(),
            channel_weights: model.manifest.state_shape().of_values(&model.manifest.weights),
        })
    }

    /// The same, but contexts are found by `context_fit`, whatever the rule says: to compare the two.
    pub fn with_context_fit(self, context_fit: ContextFit) -> Self {
        Adapter { context_fit, start: start(self.model, context_fit), ..self }
    }

    /// Fits the context `[d]` of every environment. The result for an environment does not depend on the others.
    pub fn adapt(&self, supports: &[Support]) -> Vec<Adaptation> {
        self.adapt_known(supports, &[])
    }

    /// The same of environments that trained with the contexts `known`, of which there are as many or none: where the fit from there is clearly better,
    /// it is that.
    pub(super) fn adapt_known(&self, supports: &[Support], known: &[&[f64]]) -> Vec<Adaptation> {
        if self.model.manifest.rule.owns_weights() {
            let (rule, weights) = (self.model.rule(), self.model.model().layout().size());
            let of_model = (rule.as_ref(), self.model.shared.as_slice(), weights);
            return supports.par_iter().map(|support| self.adapt_weights(of_model, support)).collect();
        }
        // A large batch is not padded to many times what there is to fit.
        let together = self.engine.environments_per_batch().min(supports.len().next_power_of_two().max(FEW));
        let tangents = self.model.tangents(self.engine.as_ref());
        let coarse = self.coarse.as_ref().map(|coarse| self.model.tangents(coarse.as_ref()));
        let rough =
            Settings { tolerance: f64::max(self.settings.tolerance, COARSE_TOLERANCE), ..self.settings.clone() };
        let wrt = match self.settings.initial_state() {
            InitialState::Observed => Wrt::Context,
            InitialState::Estimated => Wrt::ContextAndInitial,
        };
        supports
            .par_chunks(together)
            .enumerate()
            .flat_map_iter(|(place, supports)| {
                let known = known.chunks(together).nth(place).unwrap_or_default();
                let batch = &padded_batch(&self.units, supports, together);
                let (settings, even) = (self.settings, &Weights::even(batch, supports));
                let (tangents, d, points, channel_weights) =
                    (tangents.as_ref(), self.d, self.points, &self.channel_weights);
                let start = &self.start;
                let weights = &even.with_channel_weights(channel_weights);
                let chunk =
                    Chunk { tangents, wrt, d, start, points, channel_weights, batch, supports, weights, settings };
                if let ContextFit::GradientSteps { steps, rate } = self.context_fit {
                    return chunk.descend(steps, rate);
                }
                let fitted = match &coarse {
                    None => chunk.fit(chunk.first_guess(), &vec![true; supports.len()]),
                    Some(coarse) => {
                        let rough = Chunk { tangents: coarse.as_ref(), settings: &rough, ..chunk };
                        chunk.go_on(rough.fit(rough.first_guess(), &vec![true; supports.len()]))
                    }
                };
                let is_misfit = |support: &Support, it: &Adaptation| self.is_misfit(support, it);
                let fitted = chunk.begin_again(fitted, &self.starts, &self.range, &is_misfit);
                let mut fitted = chunk.begin_at(fitted, known);
                let by_noise =
                    settings.weighting().map(|noise| Weights::of(noise, &self.units.state, batch, supports, &fitted));
                if let Some(by_noise) = &by_noise {
                    let weights = &by_noise.with_channel_weights(channel_weights);
                    fitted = Chunk { weights, ..chunk }.go_on(fitted);
                }
                if settings.loss == Loss::Huber {
                    for _ in 0..HUBER_ROUNDS {
                        let weights = by_noise.as_ref().unwrap_or(even).huber(batch, supports, &fitted);
                        let weights = &weights.with_channel_weights(channel_weights);
                        fitted = Chunk { weights, ..chunk }.go_on(fitted);
                    }
                }
                if settings.loss == Loss::Huber || !channel_weights.is_empty() {
                    chunk.spread(&mut fitted, by_noise.as_ref().unwrap_or(even), by_noise.is_some());
                }
                fitted
            })
            .collect()
    }
}

impl Adapter<'_> {
    /// Whether a fit at a minimum leaves far more than noise and model explain.
    fn is_misfit(&self, support: &Support, it: &Adaptation) -> bool {
        if it.status != Status::Ok {
            return false;
        }
        let (trajectories, manifest) = (&support.trajectories, &self.model.manifest);
        let (scales, channels, loss) = (&self.units.state, manifest.channels.len(), self.settings.loss);
        let errors = FitErrors::of_predictions(trajectories, &it.predictions, scales, channels, loss);
        misfit(manifest, trajectories, &errors).is_some()
    }

    /// Fits the weights that one environment owns. It is computed alone, so its result depends on no other.
    fn adapt_weights(&self, of_model: (&dyn Rule, &[f64], usize), support: &Support) -> Adaptation {
        let mut batch = padded_batch(&self.units, std::slice::from_ref(support), 1);
        batch.weigh(&self.channel_weights.iter().map(|weight| weight.sqrt()).collect::<Vec<_>>());
        OwnedWeights::new(of_model, self.engine.as_ref(), self.settings, batch).adapt(support)
    }
}

/// Where fits begin: amid the training contexts; where the rule has learned a start for its gradient steps, there.
fn start(model: &StoredModel, context_fit: ContextFit) -> Vec<f64> {
    let (rule, d) = (model.rule(), model.manifest.context_dimension);
    if matches!(context_fit, ContextFit::GradientSteps { .. }) || d == 0 || model.contexts.is_empty() {
        return rule.initial_context();
    }
    let count = (model.contexts.len() / d) as f64;
    let sum = |k: usize| model.contexts.iter().skip(k).step_by(d).sum::<f64>();
    (0..d).map(|k| sum(k) / count).collect()
}

/// At most [`MOST_STARTS`] of the contexts of training, evenly spaced in their order; none where environments own weights.
fn spread(model: &StoredModel) -> Vec<Vec<f64>> {
    if model.manifest.rule.owns_weights() {
        return Vec::new();
    }
    let all: Vec<Vec<f64>> = model.own_values().map(<[f64]>::to_vec).collect();
    let count = all.len().min(MOST_STARTS);
    (0..count).map(|i| all[i * (all.len() - 1) / (count - 1).max(1)].clone()).collect()
}

#[derive(Clone, Copy)]
pub(crate) struct Chunk<'a> {
    pub(crate) tangents: &'a dyn Tangents,
    pub(crate) wrt: Wrt,
    pub(crate) d: usize,
    pub(crate) start: &'a [f64],
    pub(crate) points: usize,
    pub(crate) channel_weights: &'a [f64],
    pub(crate) batch: &'a Batch,
    pub(crate) supports: &'a [Support],
    pub(crate) weights: &'a Weights,
    pub(crate) settings: &'a Settings,
}

impl Chunk<'_> {
    /// Number of tangents of each value.
    fn tangent_count(&self) -> usize {
        self.wrt.count(self.d, self.batch.channels)
    }

    /// The unknowns that the fit of each environment starts from: the context amid those of training, and initial states as
    /// observed.
    pub(crate) fn first_guess(&self) -> Vec<DVector<f64>> {
        let guess = |support: &Support| {
            let states = match self.wrt {
                Wrt::Context => Vec::new(),
                Wrt::ContextAndInitial => support.initial_guess(),
            };
            DVector::from_iterator(self.d + states.len(), self.start.iter().copied().chain(states))
        };
        self.supports.iter().map(guess).collect()
    }

    /// Fits from the result of another fit, and again from the first guess where that fails.
    fn go_on(&self, rough: Vec<Adaptation>) -> Vec<Adaptation> {
        let mut start = self.first_guess();
        for (start, rough) in start.iter_mut().zip(&rough) {
            let found = rough.context.iter().chain(rough.initial_states.iter().flatten());
            if rough.context.iter().all(|xi| xi.is_finite()) {
                start.iter_mut().zip(found).for_each(|(start, found)| *start = *found);
            }
        }
        let mut fitted = self.fit(start, &vec![true; self.supports.len()]);
        let failed: Vec<bool> = fitted.iter().map(|it| it.status != Status::Ok).collect();
        if failed.contains(&true) {
            for ((it, again), _) in
                fitted.iter_mut().zip(self.fit(self.first_guess(), &failed)).zip(&failed).filter(|(_, failed)| **failed)
            {
                *it = again;
            }
        }
        fitted.iter_mut().zip(&rough).for_each(|(it, rough)| it.iterations += rough.iterations);
        fitted
    }

    /// Repeats fits from the contexts `starts`: those that found no minimum, each until it finds one; those at a minimum that is a misfit, each until
    /// it is none; and those that found one far outside the `range` of the training contexts, each from all. A clearly better one replaces it.
    fn begin_again(
        &self,
        mut fitted: Vec<Adaptation>,
        starts: &[Vec<f64>],
        range: &TrainingRange,
        is_misfit: &dyn Fn(&Support, &Adaptation) -> bool,
    ) -> Vec<Adaptation> {
        let is_far = |it: &Adaptation| it.status == Status::Ok && range.left_by(&it.context, FAR).is_some();
        let were_far: Vec<bool> = fitted.iter().map(is_far).collect();
        let mut misfits: Vec<bool> = fitted.iter().zip(self.supports).map(|(it, of)| is_misfit(of, it)).collect();
        for context in starts {
            let reasons = fitted.iter().zip(were_far.iter().zip(&misfits));
            let wanted: Vec<bool> = reasons
                .map(|(it, (was_far, is_misfit))| *was_far || *is_misfit || it.could_begin_elsewhere())
                .collect();
            if !wanted.contains(&true) {
                break;
            }
            let mut start = self.first_guess();
            start.iter_mut().for_each(|start| start.as_mut_slice()[..self.d].copy_from_slice(context));
            let others = self.fit(start, &wanted).into_iter().zip(&wanted).enumerate();
            for (e, (again, _)) in others.filter(|(_, (_, wanted))| **wanted) {
                if fitted[e].give_way_to(again, CLEARLY) {
                    misfits[e] = is_misfit(&self.supports[e], &fitted[e]);
                }
            }
        }
        fitted
    }

    /// Fits each environment from a context of its own too, if there are such: a clearly better fit replaces the one before.
    fn begin_at(&self, mut fitted: Vec<Adaptation>, contexts: &[&[f64]]) -> Vec<Adaptation> {
        if contexts.is_empty() {
            return fitted;
        }
        let mut start = self.first_guess();
        for (start, context) in start.iter_mut().zip(contexts) {
            start.as_mut_slice()[..self.d].copy_from_slice(context);
        }
        let others = self.fit(start, &vec![true; self.supports.len()]);
        for (it, again) in fitted.iter_mut().zip(others) {
            it.give_way_to(again, CLEARLY);
        }
        fitted
    }

    /// Predictions and tangents of the whole batch at the `unknowns` of each environment; the values of environments
    /// that are not `wanted` are meaningless.
    pub(crate) fn roll_out(&self, unknowns: &[DVector<f64>], wanted: impl Fn(usize) -> bool) -> (Vec<f64>, Vec<f64>) {
        let mut contexts = vec![0.0; self.batch.environments * self.d];
        for (context, unknowns) in contexts.chunks_exact_mut(self.d).zip(unknowns) {
            context.copy_from_slice(&unknowns.as_slice()[..self.d]);
        }
        let mut unwanted = (0..self.supports.len()).filter(|&e| !wanted(e)).peekable();
        if self.wrt == Wrt::Context && unwanted.peek().is_none() {
            return self.tangents.roll_out_wrt(self.wrt, &contexts, self.batch);
        }
        let mut batch = self.batch.clone();
        // Environments that are done are blanked, which saves time where environments are computed one by one.
        unwanted.for_each(|e| batch.blank(e));
        if self.wrt == Wrt::Context {
            return self.tangents.roll_out_wrt(self.wrt, &contexts, &batch);
        }
        let of_environment = batch.rows * batch.channels;
        for (initial, unknowns) in batch.initial.chunks_exact_mut(of_environment).zip(unknowns) {
            let states = &unknowns.as_slice()[self.d..];
            initial[..states.len()].copy_from_slice(states);
        }
        self.tangents.roll_out_wrt(self.wrt, &contexts, &batch)
    }

    /// The beginning of a fit of each environment from its unknowns `start`, which have these predictions and tangents.
    fn minimizers(&self, start: Vec<DVector<f64>>, predictions: &[f64], tangents: &[f64]) -> Vec<Minimizer> {
        let begin = |(e, start): (usize, DVector<f64>)| {
            let priors = self.supports[e].priors(self.wrt);
            let iterate = self.iterate(e, start, predictions, tangents);
            Minimizer::begin(iterate, self.d, self.supports[e].points(), priors, self.settings)
        };
        start.into_iter().enumerate().map(begin).collect()
    }

    /// Moves the unknowns of each environment by so many steps of gradient descent.
    fn descend(&self, steps: usize, rate: f64) -> Vec<Adaptation> {
        let start = self.first_guess();
        let (mut predictions, mut tangents) = self.roll_out(&start, |_| true);
        let mut minimizers = self.minimizers(start, &predictions, &tangents);
        for _ in 0..steps {
            let unknowns: Vec<DVector<f64>> = minimizers.iter().map(|minimizer| minimizer.descended(rate)).collect();
            (predictions, tangents) = self.roll_out(&unknowns, |_| true);
            for (e, (minimizer, unknowns)) in minimizers.iter_mut().zip(unknowns).enumerate() {
                minimizer.descend_to(self.iterate(e, unknowns, &predictions, &tangents));
            }
        }
        self.adaptations(minimizers, &predictions)
    }

    /// Fits each environment that is `wanted` from its unknowns `start`; the results of the others are meaningless.
    fn fit(&self, start: Vec<DVector<f64>>, wanted: &[bool]) -> Vec<Adaptation> {
        let size = self.batch.values_per_environment();
        let (mut predictions, mut tangents) = self.roll_out(&start, |e| wanted[e]);
        let mut minimizers = self.minimizers(start, &predictions, &tangents);
        for (minimizer, _) in minimizers.iter_mut().zip(wanted).filter(|(_, wanted)| !**wanted) {
            minimizer.end = Some((Status::NotConverged, String::new()));
        }
        while minimizers.iter().any(|minimizer| minimizer.end.is_none()) {
            let steps: Vec<Option<DVector<f64>>> = minimizers
                .iter()
                .map(|minimizer| if minimizer.end.is_none() { minimizer.step() } else { None })
                .collect();
            let reached = |minimizer: &Minimizer, step: &Option<DVector<f64>>| match step {
                Some(step) => &minimizer.best.unknowns + step,
                None => minimizer.best.unknowns.clone(),
            };
            let unknowns: Vec<DVector<f64>> =
                minimizers.iter().zip(&steps).map(|(minimizer, step)| reached(minimizer, step)).collect();
            // A last step is so short that the predictions can be extrapolated along their tangents, without a rollout.
            for (e, (minimizer, step)) in minimizers.iter_mut().zip(&steps).enumerate() {
                let Some(step) = step else { continue };
                if minimizer.is_last(step, self.settings) {
                    self.follow_tangents(e, step, &mut predictions, &tangents);
                    minimizer.finish_with(Some(self.iterate(e, unknowns[e].clone(), &predictions, &tangents)));
                } else if minimizer.predicted_reduction(step)
                    <= self.settings.tolerance * minimizer.cost(&minimizer.best)
                {
                    minimizer.finish_with(None);
                }
            }
            if minimizers.iter().all(|minimizer| minimizer.end.is_some()) {
                break;
            }
            let (candidates, of_candidates) = self.roll_out(&unknowns, |e| minimizers[e].end.is_none());
            for (e, (minimizer, (step, unknowns))) in
                minimizers.iter_mut().zip(steps.into_iter().zip(unknowns)).enumerate()
            {
                if minimizer.end.is_some() {
                    continue;
                }
                let candidate = self.iterate(e, unknowns, &candidates, &of_candidates);
                if minimizer.advance(step, candidate, self.settings) {
                    let range = e * size..(e + 1) * size;
                    predictions[range.clone()].copy_from_slice(&candidates[range]);
                    let count = self.tangent_count();
                    let range = e * size * count..(e + 1) * size * count;
                    tangents[range.clone()].copy_from_slice(&of_candidates[range]);
                }
            }
        }
        self.adaptations(minimizers, &predictions)
    }

    fn adaptations(&self, minimizers: Vec<Minimizer>, predictions: &[f64]) -> Vec<Adaptation> {
        let size = self.batch.values_per_environment();
        let found = minimizers.into_iter().zip(self.supports).zip(predictions.chunks_exact(size.max(1)));
        found.map(|((minimizer, support), predictions)| self.adaptation(minimizer, support, predictions)).collect()
    }

    /// Moves the predictions of environment `e` along their tangents.
    fn follow_tangents(&self, e: usize, step: &DVector<f64>, predictions: &mut [f64], tangents: &[f64]) {
        let (size, count, channels) = (self.batch.values_per_environment(), self.tangent_count(), self.batch.channels);
        let own = e * size..(e + 1) * size;
        let rows = predictions[own].chunks_exact_mut(self.batch.steps * channels).enumerate();
        for (b, row) in rows.take(self.supports[e].trajectories.len()) {
            let of_row = step.iter().take(self.d).chain(step.iter().skip(self.d + b * channels)).take(count);
            let of_row: Vec<f64> = of_row.copied().collect();
            let first = e * size + b * row.len();
            for (prediction, tangents) in row.iter_mut().zip(tangents.chunks_exact(count).skip(first)) {
                *prediction += tangents.iter().zip(&of_row).map(|(tangent, step)| tangent * step).sum::<f64>();
            }
        }
    }

    /// Sums the residuals and tangents of environment `e` to the normal equations.
    pub(crate) fn iterate(&self, e: usize, unknowns: DVector<f64>, predictions: &[f64], tangents: &[f64]) -> Iterate {
        let (d, channels, size) = (self.d, self.batch.channels, self.batch.values_per_environment());
        let (of_row, tangent_count) = (self.batch.steps * channels, self.tangent_count());
        let mut squares = 0.0;
        let mut gradient = DVector::zeros(unknowns.len());
        let mut normal = DMatrix::zeros(unknowns.len(), unknowns.len());
        for i in e * size..(e + 1) * size {
            let weight = self.weights.later[i];
            if weight == 0.0 {
                continue;
            }
            let states_before = (i - e * size) / of_row * channels;
            let residual = predictions[i] - self.batch.targets[i];
            let row = &tangents[i * tangent_count..(i + 1) * tangent_count];
            let place = |k: usize| if k < d { k } else { k + states_before };
            squares += weight * residual * residual;
            for a in 0..tangent_count {
                let weighed = weight * row[a];
                gradient[place(a)] += weighed * residual;
                for b in 0..=a {
                    normal[(place(a), place(b))] += weighed * row[b];
                }
            }
        }
        if self.wrt == Wrt::ContextAndInitial {
            let observed = self.supports[e].trajectories.iter().flat_map(|it| &it.states[..channels]);
            for (place, observed) in observed.enumerate().filter(|(_, observed)| !observed.is_nan()) {
                let (weight, residual) = (self.weights.first[e][place], unknowns[d + place] - observed);
                squares += weight * residual * residual;
                gradient[d + place] += weight * residual;
                normal[(d + place, d + place)] += weight;
            }
        }
        let count = f64::max(self.supports[e].points() as f64, 1.0);
        normal.fill_upper_triangle_with_lower_triangle();
        Iterate { unknowns, squares, gradient: gradient / count, normal: normal / count }
    }

    fn adaptation(&self, minimizer: Minimizer, support: &Support, predictions: &[f64]) -> Adaptation {
        let channels = self.batch.channels;
        let of_row = self.batch.steps * channels;
        let cost = minimizer.cost(&minimizer.best);
        let found = minimizer.finish();
        let initial_states = support.trajectories.iter().enumerate().map(|(b, trajectory)| match self.wrt {
            Wrt::Context => trajectory.states[..channels].to_vec(),
            Wrt::ContextAndInitial => found.unknowns[self.d + b * channels..][..channels].to_vec(),
        });
        let predictions = support.trajectories.iter().enumerate().map(|(b, trajectory)| {
            predictions[b * of_row..b * of_row + trajectory.len().saturating_sub(1) * channels].to_vec()
        });
        Adaptation {
            context: found.unknowns[..self.d].to_vec(),
            covariance: found.covariance,
            degrees: found.degrees,
            initial_states: initial_states.collect(),
            predictions: predictions.collect(),
            cost,
            status: found.status,
            reason: found.reason,
            iterations: found.iterations,
        }
    }
}
