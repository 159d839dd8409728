//! Convolutional network on periodic fields: `g(x) = s_out A_L * s(... s(A_1 * x + b_1) ...) + b_L)`, `*` the circular convolution
//! with a square kernel and `s(a) = a sigma(a)`.
//!
//! State `x [C, n_1, n_2]`, kernels `A_l [c_l, c_{l-1}, k, k]`, biases `b_l [c_l]`, `c_0 = c_L = C`, `s_out` a constant that makes the
//! first rates small. Source: Kirchmeyer et al., ICML 2022, appendix on architectures (Gray-Scott: four layers of 64 channels, 3 x 3,
//! `s_out = 5e-4`). Initial weights as in [`super::Mlp`], with `C k^2` inputs a unit.

use tch::Tensor;

use super::layered;
use super::layered::Layered;
use super::layout::Layout;
use super::{Field, Model, TangentField};
use crate::random::Stream;
use crate::schema::StateShape;

/// A convolutional network with one width for all hidden layers.
pub struct ConvNet {
    /// Channels of each level, from the input to the output.
    widths: Vec<usize>,
    kernel: usize,
    output_scale: f64,
    space: [i64; 2],
    layout: Layout,
}

impl ConvNet {
    /// `layers` convolutions on fields of `state`, which has two axes in space; `kernel` is odd.
    pub fn new(state: &StateShape, layers: usize, width: usize, kernel: usize, output_scale: f64) -> Self {
        let mut widths = vec![width; layers + 1];
        widths[0] = state.channels;
        widths[layers] = state.channels;
        let mut layout = Layout::default();
        for (layer, pair) in widths.windows(2).enumerate() {
            layout.push(format!("layers.{layer}.weight"), &[pair[1], pair[0], kernel, kernel]);
            layout.push(format!("layers.{layer}.bias"), &[pair[1]]);
        }
        let space = [state.space[0] as i64, state.space[1] as i64];
        ConvNet { widths, kernel, output_scale, space, layout }
    }
}

/// The kernels `[N c_l, c_{l-1}, k, k]` and biases `[N c_l]` of one layer under `N` sets of weights.
pub(crate) struct Convolution {
    kernels: Tensor,
    bias: Tensor,
    sets: i64,
}

impl Layered for ConvNet {
    type Layer = Convolution;

    fn state(&self) -> [i64; 3] {
        [self.widths[0] as i64, self.space[0], self.space[1]]
    }

    fn layers(&self, weights: &Tensor) -> Vec<Convolution> {
        let sets = weights.size()[0];
        let kernel = self.kernel as i64;
        let count = self.widths.len() - 1;
        let slice = |index: usize| {
            let block = &self.layout.blocks[index];
            weights.narrow(1, block.offset as i64, block.size() as i64)
        };
        (0..count)
            .map(|layer| {
                let (inputs, outputs) = (self.widths[layer] as i64, self.widths[layer + 1] as i64);
                let kernels = slice(2 * layer).reshape([sets * outputs, inputs, kernel, kernel]);
                let bias = slice(2 * layer + 1).reshape([sets * outputs]);
                let scale = if layer + 1 == count { self.output_scale } else { 1.0 };
                Convolution { kernels: kernels * scale, bias: bias * scale, sets }
            })
            .collect()
    }

    fn apply(&self, layer: &Convolution, h: &Tensor, bias: bool) -> Tensor {
        let size = h.size();
        let (states, inputs) = (size[1], size[2]);
        let [n, m] = self.space;
        let margin = self.kernel as i64 / 2;
        let side_by_side = h.transpose(0, 1).reshape([states, layer.sets * inputs, n, m]);
        let padded = side_by_side.pad([margin; 4], "circular", None);
        let bias = bias.then_some(&layer.bias);
        let y = padded.conv2d(&layer.kernels, bias, [1, 1], [0, 0], [1, 1], layer.sets);
        y.view([states, layer.sets, -1, n, m]).transpose(0, 1)
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
        let taps = self.kernel * self.kernel;
        let mut weights = Vec::with_capacity(self.layout.size());
        for pair in self.widths.windows(2) {
            let bound = 1.0 / ((pair[0] * taps) as f64).sqrt();
            weights.extend((0..pair[1] * (pair[0] * taps + 1)).map(|_| stream.uniform(-bound, bound)));
        }
        weights
    }

    fn field<'a>(&'a self, weights: &'a Tensor) -> Field<'a> {
        layered::field(self, weights)
    }

    fn tangent_field<'a>(&'a self, basis: &'a Tensor, contexts: &'a Tensor) -> TangentField<'a> {
        layered::tangent_field(self, basis, contexts)
    }
}
