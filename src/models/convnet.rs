//! Convolutional network on fields: `g(x) = s_out A_L * s(... s(A_1 * x + b_1) ...) + b_L)`, `*` the convolution with a kernel of
//! equal sides and `s(a) = a sigma(a)`.
//!
//! State `x [C, n_1, .., n_d]` with one to three axes, kernels `A_l [c_l, c_{l-1}, k, .., k]`, biases `b_l [c_l]`, `c_0 = c_L = C`, `s_out` a
//! constant that makes the first rates small. What a kernel finds beyond the end of an axis is as the [`Boundary`] of that axis says, of hidden
//! channels as of the state: the points at the other end, zeros, or the nearest point.
//!
//! Source: Kirchmeyer et al., ICML 2022, appendix on architectures (Gray-Scott, two periodic axes: four layers of 64 channels, 3 x 3,
//! `s_out = 5e-4`). Initial weights as in [`super::Mlp`], with `C k^d` inputs a unit.

use super::layout::Layout;
use super::model::Model;
use crate::random::Stream;
use crate::schema::{Boundary, StateShape};

/// A convolutional network with one width for all hidden layers.
pub struct ConvNet {
    /// Channels of each level, from the input to the output.
    pub widths: Vec<usize>,
    /// Points across a kernel.
    pub kernel: usize,
    /// `s_out`.
    pub output_scale: f64,
    /// Points along each axis.
    pub space: Vec<usize>,
    /// What lies beyond the ends of each axis.
    pub boundaries: Vec<Boundary>,
    layout: Layout,
}

impl ConvNet {
    /// `layers` convolutions on fields of `state`; `kernel` is odd.
    pub fn new(state: &StateShape, layers: usize, width: usize, kernel: usize, output_scale: f64) -> Self {
        let mut widths = vec![width; layers + 1];
        widths[0] = state.channels;
        widths[layers] = state.channels;
        let sides = vec![kernel; state.space.len()];
        let mut layout = Layout::default();
        for (layer, pair) in widths.windows(2).enumerate() {
            layout.push(format!("layers.{layer}.weight"), &[&[pair[1], pair[0]][..], &sides].concat());
            layout.push(format!("layers.{layer}.bias"), &[pair[1]]);
        }
        let (space, boundaries) = (state.space.clone(), state.boundaries.clone());
        ConvNet { widths, kernel, output_scale, space, boundaries, layout }
    }
}

impl Model for ConvNet {
    fn name(&self) -> &'static str {
        "convnet"
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn initial_weights(&self, stream: &mut Stream) -> Vec<f64> {
        let taps = self.kernel.pow(self.space.len() as u32);
        let mut weights = Vec::with_capacity(self.layout.size());
        for pair in self.widths.windows(2) {
            let bound = 1.0 / ((pair[0] * taps) as f64).sqrt();
            weights.extend((0..pair[1] * (pair[0] * taps + 1)).map(|_| stream.uniform(-bound, bound)));
        }
        weights
    }
}
