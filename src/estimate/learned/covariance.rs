//! Covariances of fits whose weights reflect more than the noise.
//!
//! Huber's weights and those of channels in the loss (`train.weights`) change an estimate but do not describe its
//! noise, so its covariance is the sandwich
//!
//! ```text
//! cov(u) = A^-1 B A^-1,    A = sum_i w_i v_i J_i J_i',    B = sum_i (w_i v_i sigma_i)^2 J_i J_i'
//! ```
//!
//! `J_i` are the derivatives of a residual with respect to the unknowns `u`, `w` is the weight of its channel, `v` its
//! weight by the noise (1 without a noise model), `sigma` the noise that the residuals show: per channel where `v` is
//! 1, else `s / sqrt(v)`; under Huber's loss `s^2` is the [variance](crate::estimate::robust) of such estimates. Where
//! `w v sigma^2` is the same everywhere this is `s^2 (J'J)^-1`. Source: G. Seber, C. Wild, Nonlinear Regression (1989),
//! section 2.1.4.

use super::adapt::Chunk;
use super::adaptation::Adaptation;
use super::weights::Weights;

impl Chunk<'_> {
    /// Replaces the covariance of fits with other weights than those `of_noise` (one without a noise model) by `A^-1 B
    /// A^-1`.
    pub(crate) fn spread(&self, fitted: &mut [Adaptation], of_noise: &Weights, is_said: bool) {
        let mut unknowns = self.first_guess();
        for (unknowns, it) in unknowns.iter_mut().zip(&*fitted).filter(|(_, it)| it.context[0].is_finite()) {
            let found = it.context.iter().chain(it.initial_states.iter().flatten());
            unknowns.iter_mut().zip(found).for_each(|(unknown, found)| *unknown = *found);
        }
        let (predictions, tangents) = self.roll_out(&unknowns, |_| true);
        let variances = of_noise.variances(is_said, self.settings.loss, self.points, self.batch, self.supports, fitted);
        let weights = &of_noise.with_channel_weights(self.channel_weights);
        let squared = weights.with(&variances, |weight, variance| weight * weight * variance);
        let (slopes, noise) = (Chunk { weights, ..*self }, Chunk { weights: &squared, ..*self });
        for (e, (it, unknowns)) in fitted.iter_mut().zip(unknowns).enumerate() {
            if it.covariance.iter().any(|value| value.is_nan()) {
                continue;
            }
            let count = self.supports[e].points() as f64;
            let sum = |chunk: &Chunk| chunk.iterate(e, unknowns.clone(), &predictions, &tangents).normal * count;
            let (mut a, mut b) = (sum(&slopes), sum(&noise));
            // A prior is one more observation, with its standard deviation as noise; `A` has it in units of the noise
            // of the others.
            let of_environment = e * self.batch.values_per_environment();
            let typical = squared.later[of_environment..].iter().take(self.batch.values_per_environment());
            let (sum, present) = typical.filter(|it| **it > 0.0).fold((0.0, 0.0), |(s, n), it| (s + it, n + 1.0));
            for prior in self.supports[e].priors(self.wrt) {
                let k = self.d + prior.place;
                let weight = sum / present / prior.std_dev.powi(2);
                a[(k, k)] += weight;
                b[(k, k)] += weight * weight * prior.std_dev.powi(2);
            }
            if let Some(inverse) = a.cholesky().map(|factor| factor.inverse()) {
                it.covariance = (&inverse * b * &inverse).view((0, 0), (self.d, self.d)).into_owned();
            }
        }
    }
}
