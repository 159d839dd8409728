//! CAVIA-Concat: the context `xi_e [d]` is appended to the input of the network, whose first layer then has the bias
//! `b_1 + A xi_e`, with `b_1 [n_1]`, `A [n_1, d]`. All other weights are shared by all environments.
//!
//! On fields the context is appended as constant channels, which the first layer sums to the same bias: constant beyond the ends of an axis too,
//! whatever its boundary.
//!
//! Source: Zintgraf, Shiarlis, Kurin, Hofmann, Whiteson, "Fast Context Adaptation via Meta-Learning", ICML 2019,
//! section 3; compared in Kirchmeyer, Yin et al., ICML 2022. Difference from the source: it sets contexts to zero
//! before every step, moves them by gradient steps of a fixed rate, and differentiates the outer loss through those.
//! Here contexts of training environments are trained along with the weights, with a penalty on their squared norm, and
//! those of new environments are fitted by Gauss-Newton, as with the other rules. The rules then differ only in how
//! weights depend on the context.
//!
//! The shared values are `[theta, A_1, .., A_d]`, `A_k` being the k-th column of `A`: `S = P + n_1 d`.

use std::ops::Range;

use super::places::{Locality, Places};
use super::rule::Rule;
use super::shared_tensor::SharedTensor;
use crate::models::{AdaptedLayers, Layout};

/// CAVIA with the context among the inputs of a network.
pub(super) struct CaviaConcat {
    /// `P`.
    weights: usize,
    /// `b_1`, among the weights.
    bias: Range<usize>,
    /// `d`.
    context_dimension: usize,
}

impl CaviaConcat {
    /// For a network of this layout and contexts of `d` values.
    pub(super) fn new(layout: &Layout, context_dimension: usize) -> Self {
        let bias = layout.block(AdaptedLayers::First, "bias").range();
        CaviaConcat { weights: layout.size(), bias, context_dimension }
    }

    /// The columns of `A` in the shared values.
    fn columns<'a>(&self, shared: &'a [f64]) -> impl Iterator<Item = &'a [f64]> + use<'a> {
        shared[self.weights..].chunks_exact(self.bias.len())
    }
}

impl Rule for CaviaConcat {
    fn shared_size(&self) -> usize {
        self.weights + self.bias.len() * self.context_dimension
    }

    fn context_size(&self) -> usize {
        self.context_dimension
    }

    fn decode(&self, shared: &[f64], context: &[f64], weights: &mut [f64]) {
        weights.copy_from_slice(&shared[..self.weights]);
        for (column, xi) in self.columns(shared).zip(context) {
            weights[self.bias.clone()].iter_mut().zip(column).for_each(|(b, a)| *b += xi * a);
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
        d_weights.iter_mut().zip(&d_shared[..self.weights]).for_each(|(weight, d)| *weight += d);
        let columns = self.columns(shared).zip(self.columns(d_shared));
        for ((column, d_column), (xi, d_xi)) in columns.zip(context.iter().zip(d_context)) {
            let values = column.iter().zip(d_column);
            d_weights[self.bias.clone()].iter_mut().zip(values).for_each(|(b, (a, d_a))| *b += xi * d_a + d_xi * a);
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
        let (d_theta, d_columns) = d_shared.split_at_mut(self.weights);
        d_theta.iter_mut().zip(d_weights).for_each(|(d, g)| *d += g);
        let d_columns = d_columns.chunks_exact_mut(self.bias.len());
        for (((column, d_column), xi), d_xi) in self.columns(shared).zip(d_columns).zip(context).zip(d_context) {
            for ((a, d_a), g) in column.iter().zip(d_column).zip(&d_weights[self.bias.clone()]) {
                *d_a += xi * g;
                *d_xi += a * g;
            }
        }
    }

    fn is_affine(&self) -> bool {
        true
    }

    fn places(&self, weights: usize) -> Option<Places> {
        let (bias, count) = (&self.bias, self.bias.len());
        let column =
            |k: usize| (0..weights).map(move |p| bias.contains(&p).then(|| weights + k * count + p - bias.start));
        Some(Places {
            constants: (0..weights).map(Some).collect(),
            columns: (0..self.context_dimension).flat_map(column).collect(),
            owned: Vec::new(),
            starts: Vec::new(),
            locality: Locality::None,
        })
    }

    fn tensors(&self, layout: &Layout) -> Vec<SharedTensor> {
        let mut tensors = SharedTensor::of_network("theta", layout);
        tensors.push(SharedTensor::by_columns("A", self.weights, [self.bias.len(), self.context_dimension]));
        tensors
    }
}
