//! Memory that a training takes at least, from the counts of its dataset: what is refused for its sake could not have ended well.
//!
//! In bytes, for `T` samples of `C` values and `I` inputs in a split, `m` trained values, and `n` residuals of a Gauss-Newton step:
//!
//! ```text
//! data:    8 T (1 + C + I)     of the train and of the validation split; a split beyond `memory_budget_mib` takes that
//! values:  4 * 8 m             the values, their two moments, and the best ones
//! step:    8 n^2 or 8 m^2      by the method of residuals or of weights; conjugate gradients take no matrix
//! ```

use super::method::{Rollouts, Sizes};
use super::settings::{Method, Settings};
use crate::dataset::Manifest;
use crate::schema::Split;

/// Bytes that a training takes at least.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeastMemory {
    /// Trajectories.
    pub data: u64,
    /// Trained values.
    pub values: u64,
    /// The matrix of a Gauss-Newton step.
    pub step: u64,
}

impl LeastMemory {
    /// All together.
    pub fn total(self) -> u64 {
        self.data.saturating_add(self.values).saturating_add(self.step)
    }
}

/// What a training with `settings` on a dataset with this `manifest` takes at least. Settings that do not suit the dataset take nothing: training
/// says what is wrong with them.
pub fn least_memory(settings: &Settings, manifest: &Manifest) -> LeastMemory {
    let bytes = |values: usize| (values as u64).saturating_mul(size_of::<f64>() as u64);
    let budget = (settings.memory_budget_mib as u64).saturating_mul(1 << 20);
    let of_split = |split: &Split| {
        let samples = manifest.splits.get(split).map_or(0, |summary| summary.samples);
        bytes(samples.saturating_mul(1 + manifest.sample_size())).min(budget)
    };
    let data = [Split::Train, Split::Validation].iter().map(of_split).sum();
    let (state, inputs) = (manifest.state_shape(), manifest.inputs.len());
    let dimension = settings.dimension(manifest.parameters.len());
    let has_context = dimension > 0 || settings.rule.owns_weights();
    let Some(train) = manifest.splits.get(&Split::Train).filter(|_| has_context) else {
        return LeastMemory { data, ..LeastMemory::default() };
    };
    if settings.model.problem(&state, inputs).is_some()
        || settings.rule.problem(&settings.model, settings.adapted_layers).is_some()
    {
        return LeastMemory { data, ..LeastMemory::default() };
    }
    let model = settings.model.build(&state, inputs);
    if settings.rule.layout_problem(model.layout()).is_some() {
        return LeastMemory { data, ..LeastMemory::default() };
    }
    let rule = settings.rule.build(model.layout(), settings.shape(dimension));
    let trained = rule.shared_size() + train.environments * rule.context_size();
    let values = bytes(trained).saturating_mul(4);
    let newton = &settings.gauss_newton;
    if newton.steps == 0 {
        return LeastMemory { data, values, step: 0 };
    }
    let of_each = train.trajectories.div_ceil(train.environments.max(1)).max(1);
    let fitted = newton.trajectories_per_environment.unwrap_or(of_each).min(of_each);
    let intervals = (train.samples.saturating_sub(train.trajectories)) / of_each * fitted;
    let residuals = intervals * state.size() - (train.missing / of_each * fitted).min(intervals * state.size());
    let longest = train.longest.saturating_sub(1);
    let rollouts = Rollouts::new(settings, (&state, inputs), train.environments, residuals, longest);
    let sizes = Sizes::new(rule.as_ref(), model.layout(), settings.contexts, rollouts);
    let order = match sizes.method(newton) {
        Method::Residuals => sizes.residuals(),
        Method::Weights => sizes.values(),
        Method::ConjugateGradients | Method::Auto => 0,
    };
    LeastMemory { data, values, step: bytes(order.saturating_mul(order)) }
}
