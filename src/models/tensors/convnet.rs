//! The convolutional network on tensors: kernels of all environments side by side, as groups of one convolution.

use tch::Tensor;

use super::layered;
use super::layered::Layered;
use super::model::{Field, TangentField, TensorModel};
use crate::models::convnet::ConvNet;
use crate::models::model::Model;
use crate::schema::Boundary;

/// The kernels `[N c_l, c_{l-1}, k, .., k]` and biases `[N c_l]` of one layer under `N` sets of weights.
pub(super) struct Convolution {
    kernels: Tensor,
    bias: Tensor,
    sets: i64,
}

impl ConvNet {
    /// Fields `[.., n_1, .., n_k]`, continued by half a kernel beyond the ends of the axes with this boundary.
    fn continued(&self, fields: Tensor, boundary: Boundary, mode: &str) -> Tensor {
        if !self.boundaries.contains(&boundary) {
            return fields;
        }
        // Margins before and after each axis, the last axis first.
        let margins = self.boundaries.iter().rev().flat_map(|it| [self.margin(*it == boundary); 2]);
        fields.pad(margins.collect::<Vec<_>>(), mode, None)
    }

    /// Half a kernel where it is wanted.
    fn margin(&self, is_wanted: bool) -> i64 {
        if is_wanted { self.kernel as i64 / 2 } else { 0 }
    }
}

impl Layered for ConvNet {
    type Layer = Convolution;

    fn channels(&self) -> usize {
        self.widths[0]
    }

    fn space(&self) -> &[usize] {
        &self.space
    }

    fn layers(&self, weights: &Tensor) -> Vec<Convolution> {
        let sets = weights.size()[0];
        let count = self.widths.len() - 1;
        let slice = |index: usize| {
            let block = &self.layout().blocks[index];
            weights.narrow(1, block.offset as i64, block.size() as i64)
        };
        (0..count)
            .map(|layer| {
                let (inputs, outputs) = (self.widths[layer] as i64, self.widths[layer + 1] as i64);
                let mut shape = vec![sets * outputs, inputs];
                shape.resize(2 + self.space.len(), self.kernel as i64);
                let kernels = slice(2 * layer).reshape(shape);
                let bias = slice(2 * layer + 1).reshape([sets * outputs]);
                let scale = if layer + 1 == count { self.output_scale } else { 1.0 };
                Convolution { kernels: kernels * scale, bias: bias * scale, sets }
            })
            .collect()
    }

    fn apply(&self, layer: &Convolution, h: &Tensor, bias: bool) -> Tensor {
        let size = h.size();
        let (states, inputs) = (size[1], size[2]);
        let side_by_side = h.transpose(0, 1).reshape(self.fields(&[states, layer.sets * inputs]));
        let padded = self.continued(side_by_side, Boundary::Periodic, "circular");
        let padded = self.continued(padded, Boundary::Replicate, "replicate");
        let bias = bias.then_some(&layer.bias);
        // Zeros are what a convolution itself finds beyond the ends.
        let zeros: Vec<i64> = self.boundaries.iter().map(|it| self.margin(*it == Boundary::Zero)).collect();
        let (ones, none) = (vec![1; zeros.len()], vec![0; zeros.len()]);
        let y = padded.convolution(&layer.kernels, bias, &ones, zeros, &ones, false, none, layer.sets);
        y.view(self.fields(&[states, layer.sets, -1]).as_slice()).transpose(0, 1)
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
