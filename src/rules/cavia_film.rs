//! CAVIA-FiLM: the context `xi_e [d]` scales and shifts the last hidden features `h [m]` of the network,
//!
//! ```text
//! y = A_L (gamma h + beta) + b_L,     gamma = 1 + G xi_e,     beta = B xi_e,     G, B [m, d]
//! ```
//!
//! which is a last layer with the weights `A_L diag(gamma)` and the bias `b_L + A_L beta`. All other weights are shared
//! by all environments. Features are taken after the activation. On fields a feature is a channel, and a shift of it changes the bias by the
//! sum of its kernel times the shift: beyond a boundary of zeros the shift is all there is.
//!
//! Source: Zintgraf, Shiarlis, Kurin, Hofmann, Whiteson, "Fast Context Adaptation via Meta-Learning", ICML 2019,
//! section 3 (layers of Perez et al., AAAI 2018); compared, with the last hidden features, in Kirchmeyer, Yin et al.,
//! ICML 2022. Difference from the source: contexts are trained and fitted as in [`super::cavia_concat`].
//!
//! The shared values are `[theta, G_1, .., G_d, B_1, .., B_d]`, `G_k` and `B_k` being columns: `S = P + 2 m d`.

use std::ops::Range;

use super::rule::Rule;
use super::shared_tensor::SharedTensor;
use crate::models::{AdaptedLayers, Layout};

/// CAVIA with a modulation of the last hidden features.
pub(super) struct CaviaFilm {
    /// `P`.
    weights: usize,
    /// `A_L [outputs, m, points of a kernel]`, among the weights.
    last: Range<usize>,
    /// `b_L`, among the weights.
    bias: Range<usize>,
    /// `m`.
    features: usize,
    /// `d`.
    context_dimension: usize,
}

/// `G xi` and `B xi`, or their tangents.
struct Modulation {
    scales: Vec<f64>,
    shifts: Vec<f64>,
}

impl CaviaFilm {
    /// For a network of this layout and contexts of `d` values.
    pub(super) fn new(layout: &Layout, context_dimension: usize) -> Self {
        let [last, bias] = ["weight", "bias"].map(|name| layout.block(AdaptedLayers::Last, name));
        let (features, last, bias) = (last.shape[1], last.range(), bias.range());
        CaviaFilm { weights: layout.size(), last, bias, features, context_dimension }
    }

    /// `G` and `B` in the shared values, column by column.
    fn columns<'a>(&self, shared: &'a [f64]) -> [&'a [f64]; 2] {
        shared[self.weights..].split_at(self.features * self.context_dimension).into()
    }

    /// `G xi` and `B xi`.
    fn modulation(&self, shared: &[f64], context: &[f64]) -> Modulation {
        let [scales, shifts] = self.columns(shared).map(|columns| {
            let mut sums = vec![0.0; self.features];
            for (column, xi) in columns.chunks_exact(self.features).zip(context) {
                sums.iter_mut().zip(column).for_each(|(sum, value)| *sum += xi * value);
            }
            sums
        });
        Modulation { scales, shifts }
    }

    /// Index, feature and index of the bias of each weight of the last layer.
    fn places(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let of_output = self.last.len() / self.bias.len();
        let of_feature = of_output / self.features;
        let (bias, features) = (self.bias.start, self.features);
        let place = move |(at, i)| (i, at / of_feature % features, bias + at / of_output);
        self.last.clone().enumerate().map(place)
    }
}

impl Rule for CaviaFilm {
    fn shared_size(&self) -> usize {
        self.weights + 2 * self.features * self.context_dimension
    }

    fn context_size(&self) -> usize {
        self.context_dimension
    }

    fn decode(&self, shared: &[f64], context: &[f64], weights: &mut [f64]) {
        let theta = &shared[..self.weights];
        let Modulation { scales, shifts } = self.modulation(shared, context);
        weights.copy_from_slice(theta);
        for (i, feature, bias) in self.places() {
            weights[i] += scales[feature] * theta[i];
            weights[bias] += shifts[feature] * theta[i];
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
        let (theta, d_theta) = (&shared[..self.weights], &d_shared[..self.weights]);
        let Modulation { scales, shifts } = self.modulation(shared, context);
        let (by_shared, by_context) = (self.modulation(d_shared, context), self.modulation(shared, d_context));
        d_weights.iter_mut().zip(d_theta).for_each(|(weight, d)| *weight += d);
        for (i, feature, bias) in self.places() {
            let d_scale = by_shared.scales[feature] + by_context.scales[feature];
            let d_shift = by_shared.shifts[feature] + by_context.shifts[feature];
            d_weights[i] += scales[feature] * d_theta[i] + d_scale * theta[i];
            d_weights[bias] += shifts[feature] * d_theta[i] + d_shift * theta[i];
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
        let theta = &shared[..self.weights];
        let Modulation { scales, shifts } = self.modulation(shared, context);
        let (d_theta, d_columns) = d_shared.split_at_mut(self.weights);
        let mut d_modulation = [vec![0.0; self.features], vec![0.0; self.features]];
        d_theta.iter_mut().zip(d_weights).for_each(|(d, g)| *d += g);
        for (i, feature, bias) in self.places() {
            d_theta[i] += scales[feature] * d_weights[i] + shifts[feature] * d_weights[bias];
            d_modulation[0][feature] += theta[i] * d_weights[i];
            d_modulation[1][feature] += theta[i] * d_weights[bias];
        }
        let of_both = d_columns.chunks_exact_mut(self.features * self.context_dimension).zip(self.columns(shared));
        for ((d_columns, columns), d_values) in of_both.zip(&d_modulation) {
            let columns = columns.chunks_exact(self.features).zip(d_columns.chunks_exact_mut(self.features));
            for ((column, d_column), (xi, d_xi)) in columns.zip(context.iter().zip(d_context.iter_mut())) {
                for ((value, d_value), d) in column.iter().zip(d_column).zip(d_values) {
                    *d_value += xi * d;
                    *d_xi += value * d;
                }
            }
        }
    }

    fn is_affine(&self) -> bool {
        true
    }

    fn tensors(&self, layout: &Layout) -> Vec<SharedTensor> {
        let shape = [self.features, self.context_dimension];
        let shifts = self.weights + self.features * self.context_dimension;
        let mut tensors = SharedTensor::of_network("theta", layout);
        tensors.push(SharedTensor::by_columns("G", self.weights, shape));
        tensors.push(SharedTensor::by_columns("B", shifts, shape));
        tensors
    }
}
