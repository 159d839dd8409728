//! The convolutional network on tensors: kernels of all environments side by side, as groups of one convolution.

use tch::Tensor;

use super::layered;
use super::layered::Layered;
use super::model::{Field, TangentField, TensorModel};
use crate::models::convnet::ConvNet;
use crate::models::model::Model;

/// The kernels `[N c_l, c_{l-1}, k, k]` and biases `[N c_l]` of one layer under `N` sets of weights.
pub(super) struct Convolution {
    kernels: Tensor,
    bias: Tensor,
    sets: i64,
}

impl Layered for ConvNet {
    type Layer = Convolution;

    fn state(&self) -> [i64; 3] {
        [self.widths[0] as i64, self.space[0] as i64, self.space[1] as i64]
    }

    fn layers(&self, weights: &Tensor) -> Vec<Convolution> {
        let sets = weights.size()[0];
        let kernel = self.kernel as i64;
        let count = self.widths.len() - 1;
        let slice = |index: usize| {
            let block = &self.layout().blocks[index];
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
        let [n, m] = self.space.map(|count| count as i64);
        let margin = self.kernel as i64 / 2;
        let side_by_side = h.transpose(0, 1).reshape([states, layer.sets * inputs, n, m]);
        let padded = side_by_side.pad([margin; 4], "circular", None);
        let bias = bias.then_some(&layer.bias);
        let y = padded.conv2d(&layer.kernels, bias, [1, 1], [0, 0], [1, 1], layer.sets);
        y.view([states, layer.sets, -1, n, m]).transpose(0, 1)
    }
}

impl TensorModel for ConvNet {
    fn field<'a>(&'a self, weights: &'a Tensor) -> Field<'a> {
        layered::field(self, weights)
    }

    fn tangent_field<'a>(&'a self, basis: &'a Tensor, contexts: &'a Tensor) -> TangentField<'a> {
        layered::tangent_field(self, basis, contexts)
    }
}
