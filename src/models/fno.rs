//! Fourier neural operator on fields, which works at any resolution.
//!
//! ```text
//! h_0 = A_0 (x, e) + b_0                                            lift to w channels
//! h_l = s(F^-1(R_l F(h_{l-1})) + A_l h_{l-1} + b_l),  l = 1..L      s left out after the last
//! g   = A_p' s(A_p h_L + b_p) + b_p'                                project through p channels
//! ```
//!
//! State `x [C, n_1, .., n_k]` with one to three axes; `F` the discrete Fourier transform over space; `R_l [w, w, 2 m, .., 2 m, m]` complex,
//! acting on the `m` lowest wave numbers of either sign along every axis but the last and the `m` lowest along the last, with all others
//! dropped; `A` matrices on channels; `s` the swish. `e` holds the position on each axis: of a periodic one the sine and cosine of `2 pi`
//! times it (in units of the period), where the source has the position itself, which jumps at the period; of any other the
//! position itself, from 0 at the first point to 1 at the last. Where a grid has fewer wave numbers than `m`, only those are used.
//!
//! The transform is periodic. On an axis that is not, `h_0` is continued by an eighth of its points, rounded up, that are zero, and `h_L` is cut
//! back, as in the code of the source, which pads all axes or none, by a number of points that is chosen for each data set (nine for 85). Whether
//! such a boundary is of zeros or of the nearest point, the operator learns from the data, which alone tell it.
//!
//! Source: Z. Li et al., Fourier Neural Operator for Parametric Partial Differential Equations, ICLR 2021, and its code; sizes as in Kirchmeyer
//! et al., ICML 2022 (four spectral layers, 12 modes, width 10).

use super::layout::Layout;
use super::model::Model;
use crate::random::Stream;
use crate::schema::{Boundary, StateShape};

/// A Fourier neural operator.
pub struct Fno {
    /// `C`.
    pub channels: usize,
    /// Points along each axis.
    pub space: Vec<usize>,
    /// What lies beyond the ends of each axis.
    pub boundaries: Vec<Boundary>,
    /// Spectral layers, `L`.
    pub layers: usize,
    /// Wave numbers along an axis, `m`.
    pub modes: usize,
    /// Channels of a spectral layer, `w`.
    pub width: usize,
    layout: Layout,
}

impl Fno {
    /// `layers` spectral layers of `width` channels with `modes` wave numbers, on fields of `state`; `projection` channels before the last
    /// layer.
    pub fn new(state: &StateShape, layers: usize, modes: usize, width: usize, projection: usize) -> Self {
        let mut layout = Layout::default();
        let mut push = |layer: usize, name: &str, shape: &[usize]| layout.push(format!("layers.{layer}.{name}"), shape);
        let places: usize = state.boundaries.iter().map(|boundary| places(*boundary)).sum();
        push(0, "weight", &[width, state.channels + places]);
        push(0, "bias", &[width]);
        let mut spectrum = vec![2 * modes; state.space.len() - 1];
        spectrum.extend([modes, width, width, 2]);
        for layer in 1..=layers {
            push(layer, "spectrum", &spectrum);
            push(layer, "weight", &[width, width]);
            push(layer, "bias", &[width]);
        }
        for (layer, outputs, inputs) in [(layers + 1, projection, width), (layers + 2, state.channels, projection)] {
            push(layer, "weight", &[outputs, inputs]);
            push(layer, "bias", &[outputs]);
        }
        let (space, boundaries) = (state.space.clone(), state.boundaries.clone());
        Fno { channels: state.channels, space, boundaries, layers, modes, width, layout }
    }
}

/// Features of a point's position along an axis.
fn places(boundary: Boundary) -> usize {
    if boundary == Boundary::Periodic { 2 } else { 1 }
}

impl Model for Fno {
    fn name(&self) -> &'static str {
        "fno"
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Matrices and biases uniform on `±1/sqrt(inputs)`; spectra uniform on `[0, 1/w^2)`, real and imaginary parts alike, as in the source.
    fn initial_weights(&self, stream: &mut Stream) -> Vec<f64> {
        let mut weights = Vec::with_capacity(self.layout.size());
        let mut inputs = 1;
        for block in &self.layout.blocks {
            if block.name.ends_with("weight") {
                inputs = block.shape[1];
            }
            let bound = 1.0 / (inputs as f64).sqrt();
            let spectral = 1.0 / (self.width * self.width) as f64;
            let (lower, upper) = if block.name.ends_with("spectrum") { (0.0, spectral) } else { (-bound, bound) };
            weights.extend((0..block.size()).map(|_| stream.uniform(lower, upper)));
        }
        weights
    }
}
