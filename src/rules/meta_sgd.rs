//! Meta-SGD: MAML with a rate of its own for every weight, learned along with them,
//!
//! ```text
//! theta_e = theta + a xi_e,     xi_e = -dL_e/dxi (xi = 0) = -a dL_e/dtheta (theta),     so     theta_e = theta - a^2 dL_e/dtheta
//! ```
//!
//! elementwise, with the roots `a [P]` of the rates. See [`super::maml`].
//!
//! Source: Li, Zhou, Chen, Li, "Meta-SGD: Learning to Learn Quickly for Few-Shot Learning", 2017, equation 2; compared in Kirchmeyer, Yin et
//! al., ICML 2022. Difference from the source: rates cannot become negative.
//!
//! The shared values are `[theta, a]`: `S = 2 P`.

use super::context_fit::ContextFit;
use super::rule::Rule;
use super::shared_tensor::SharedTensor;
use crate::models::Layout;
use crate::random::Stream;

/// Meta-SGD for `weights` weights.
pub(super) struct MetaSgd {
    /// `P`.
    weights: usize,
    /// The rate that every weight starts with.
    rate: f64,
}

impl MetaSgd {
    /// For a model of this layout, with rates that start at `rate`.
    pub(super) fn new(layout: &Layout, rate: f64) -> Self {
        MetaSgd { weights: layout.size(), rate }
    }
}

impl Rule for MetaSgd {
    fn shared_size(&self) -> usize {
        2 * self.weights
    }

    fn context_size(&self) -> usize {
        self.weights
    }

    fn initial_shared(&self, mut weights: Vec<f64>, _std_dev: f64, _stream: &mut Stream) -> Vec<f64> {
        weights.resize(2 * self.weights, self.rate.sqrt());
        weights
    }

    fn decode(&self, shared: &[f64], context: &[f64], weights: &mut [f64]) {
        let (theta, roots) = shared.split_at(self.weights);
        for (((weight, theta), a), xi) in weights.iter_mut().zip(theta).zip(roots).zip(context) {
            *weight = theta + a * xi;
        }
    }

    fn push_forward(
        &self,
        shared: &[f64],
        context: &[f64],
        d_shared: &[f64],
        d_context: &[f64],
        d_weights: &mut [f64],
    ) {
        let (roots, (d_theta, d_roots)) = (&shared[self.weights..], d_shared.split_at(self.weights));
        let of_values = context.iter().zip(d_context);
        let of_shared = roots.iter().zip(d_theta.iter().zip(d_roots));
        for ((weight, (a, (d_theta, d_a))), (xi, d_xi)) in d_weights.iter_mut().zip(of_shared).zip(of_values) {
            *weight += d_theta + d_a * xi + a * d_xi;
        }
    }

    fn pull_back(
        &self,
        shared: &[f64],
        context: &[f64],
        d_weights: &[f64],
        d_shared: &mut [f64],
        d_context: &mut [f64],
    ) {
        let (roots, (d_theta, d_roots)) = (&shared[self.weights..], d_shared.split_at_mut(self.weights));
        let of_shared = d_theta.iter_mut().zip(d_roots).zip(roots);
        for ((((d_theta, d_a), a), g), (xi, d_xi)) in of_shared.zip(d_weights).zip(context.iter().zip(d_context)) {
            *d_theta += g;
            *d_a += xi * g;
            *d_xi += a * g;
        }
    }

    fn tensors(&self, layout: &Layout) -> Vec<SharedTensor> {
        let rates = SharedTensor::of_network("rate_root", layout).into_iter().map(|mut tensor| {
            tensor.indices.iter_mut().for_each(|index| *index += self.weights);
            tensor
        });
        SharedTensor::of_network("theta", layout).into_iter().chain(rates).collect()
    }

    fn is_affine(&self) -> bool {
        true
    }

    fn context_fit(&self) -> ContextFit {
        ContextFit::GradientSteps { steps: 1, rate: 1.0 }
    }
}
