//! Fourier neural operator on periodic fields, which works at any resolution.
//!
//! ```text
//! h_0 = A_0 (x, e) + b_0                                            lift to w channels
//! h_l = s(F^-1(R_l F(h_{l-1})) + A_l h_{l-1} + b_l),  l = 1..L      s left out after the last
//! g   = A_p' s(A_p h_L + b_p) + b_p'                                project through p channels
//! ```
//!
//! State `x [C, n_1, n_2]`; `F` the discrete Fourier transform over space; `R_l [w, w, 2 m, m]` complex, acting on the
//! `m` lowest wave numbers of either sign along the first axis and the `m` lowest along the second, with all others
//! dropped; `A` matrices on channels; `s` the swish. `e` holds the sine and cosine of `2 pi` times the position on each
//! axis (in units of the period), where the source has the position itself, which jumps at the period. Where a grid has
//! fewer wave numbers than `m`, only those are used.
//!
//! Source: Z. Li et al., Fourier Neural Operator for Parametric Partial Differential Equations, ICLR 2021; sizes as in Kirchmeyer et al.,
//! ICML 2022 (four spectral layers, 12 modes, width 10).

use super::layout::Layout;
use super::model::Model;
use crate::random::Stream;
use crate::schema::StateShape;

/// Features of a point's position: sine and cosine along each of two axes.
pub(crate) const PLACE: usize = 4;

/// A Fourier neural operator.
pub struct Fno {
    /// `C`.
    pub channels: usize,
    /// Points along each axis.
    pub space: [usize; 2],
    /// Spectral layers, `L`.
    pub layers: usize,
    /// Wave numbers along an axis, `m`.
    pub modes: usize,
    /// Channels of a spectral layer, `w`.
    pub width: usize,
    layout: Layout,
}

impl Fno {
    /// `layers` spectral layers of `width` channels with `modes` wave numbers, on fields of `state`, which has two axes in space;
    /// `projection` channels before the last layer.
    pub fn new(state: &StateShape, layers: usize, modes: usize, width: usize, projection: usize) -> Self {
        let mut layout = Layout::default();
        let mut push = |layer: usize, name: &str, shape: &[usize]| layout.push(format!("layers.{layer}.{name}"), shape);
        push(0, "weight", &[width, state.channels + PLACE]);
        push(0, "bias", &[width]);
        for layer in 1..=layers {
            push(layer, "spectrum", &[2 * modes, modes, width, width, 2]);
            push(layer, "weight", &[width, width]);
            push(layer, "bias", &[width]);
        }
        for (layer, outputs, inputs) in [(layers + 1, projection, width), (layers + 2, state.channels, projection)] {
            push(layer, "weight", &[outputs, inputs]);
            push(layer, "bias", &[outputs]);
        }
        let space = [state.space[0], state.space[1]];
        Fno { channels: state.channels, space, layers, modes, width, layout }
    }
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
