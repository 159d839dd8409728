//! Rules whose environments own some of the weights: `theta_e = theta + E xi_e`, where `E` puts the values `xi_e [d]` at the places of the
//! owned weights, `theta [P]` is shared, and nothing else differs between environments. `S = P`.

use std::ops::Range;

use super::context_fit::ContextFit;
use super::rule::Rule;
use super::shared_tensor::SharedTensor;
use crate::models::Layout;

/// A network some of whose weights belong to the environment.
pub(super) struct OwnWeights {
    /// `P`.
    pub weights: usize,
    /// Places of the owned weights.
    pub owned: Range<usize>,
    /// How their values are found for a new environment.
    pub fit: ContextFit,
}

impl Rule for OwnWeights {
    fn shared_size(&self) -> usize {
        self.weights
    }

    fn context_size(&self) -> usize {
        self.owned.len()
    }

    fn decode(&self, shared: &[f64], context: &[f64], weights: &mut [f64]) {
        weights.copy_from_slice(shared);
        weights[self.owned.clone()].iter_mut().zip(context).for_each(|(weight, xi)| *weight += xi);
    }

    fn push_forward(
        &self,
        _shared: &[f64],
        _context: &[f64],
        d_shared: &[f64],
        d_context: &[f64],
        d_weights: &mut [f64],
    ) {
        d_weights.iter_mut().zip(d_shared).for_each(|(weight, d)| *weight += d);
        d_weights[self.owned.clone()].iter_mut().zip(d_context).for_each(|(weight, d)| *weight += d);
    }

    fn pull_back(
        &self,
        _shared: &[f64],
        _context: &[f64],
        d_weights: &[f64],
        d_shared: &mut [f64],
        d_context: &mut [f64],
    ) {
        d_shared.iter_mut().zip(d_weights).for_each(|(d, g)| *d += g);
        d_context.iter_mut().zip(&d_weights[self.owned.clone()]).for_each(|(d, g)| *d += g);
    }

    fn tensors(&self, layout: &Layout) -> Vec<SharedTensor> {
        SharedTensor::of_network("theta", layout)
    }

    fn is_affine(&self) -> bool {
        true
    }

    fn context_fit(&self) -> ContextFit {
        self.fit
    }
}
