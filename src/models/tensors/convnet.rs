//! The convolutional network on tensors.
//!
//! On the CPU a layer is one convolution, in which the kernels of all environments are groups. On CUDA it is one batched product of matrices
//! with the neighbourhoods of all points, gathered before: convolutions of many groups and few fields are slow there, and so is their way back.

use tch::{Kind, Tensor};

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

    /// Fields `[.., n_1, .., n_k]`, continued by half a kernel beyond all ends, in two operations an axis. A value is found at two places of what
    /// comes out, so that gradients are sums of two, which have no order.
    fn surrounded(&self, fields: &Tensor) -> Tensor {
        let (margin, first) = (self.margin(true), fields.dim() - self.space.len());
        self.boundaries.iter().enumerate().fold(fields.shallow_clone(), |fields, (axis, boundary)| {
            let (axis, count) = ((first + axis) as i64, self.space[axis] as i64);
            let at = |from: i64, to: i64| Tensor::arange_start(from, to, (Kind::Int64, fields.device()));
            match boundary {
                Boundary::Periodic => fields.index_select(axis, &at(-margin, count + margin).remainder(count)),
                // A value beyond an end at a time: with several at once, that at the end would be found at more places.
                Boundary::Replicate => (0..margin).fold(fields.shallow_clone(), |fields, before| {
                    let count = count + 2 * before;
                    fields.index_select(axis, &at(-1, count + 1).clamp(0, count - 1))
                }),
                Boundary::Zero => {
                    let mut margins = vec![0; 2 * (fields.dim() - axis as usize)];
                    let last = margins.len() - 2;
                    margins[last..].fill(margin);
                    fields.constant_pad_nd(margins)
                }
            }
        })
    }

    /// `L(theta, h)` by products of matrices.
    fn multiplied(&self, layer: &Convolution, h: &Tensor, bias: bool) -> Tensor {
        let size = h.size();
        let (states, inputs) = (size[1], size[2]);
        let axes = self.space.len() as i64;
        // [N, B, c, n_1, .., n_k, m_1, .., m_k], m along the kernel.
        let near = (0..axes).fold(self.surrounded(h), |h, axis| h.unfold(3 + axis, self.kernel as i64, 1));
        let order: Vec<i64> = [0, 1, 2].into_iter().chain(3 + axes..3 + 2 * axes).chain(3..3 + axes).collect();
        let each = inputs * (self.kernel as i64).pow(axes as u32);
        let near = near.permute(order).reshape([layer.sets, states, each, -1]);
        let kernels = layer.kernels.view([layer.sets, 1, -1, each]);
        let y = kernels.matmul(&near);
        let y = if bias { y + layer.bias.view([layer.sets, 1, -1, 1]) } else { y };
        y.reshape(self.fields(&[layer.sets, states, -1]))
    }

    /// The same as one convolution.
    fn convolved(&self, layer: &Convolution, h: &Tensor, bias: bool) -> Tensor {
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
        if h.device().is_cuda() { self.multiplied(layer, h, bias) } else { self.convolved(layer, h, bias) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;
    use crate::schema::StateShape;

    /// What CUDA computes, on the CPU: values and both gradients.
    #[test]
    fn products_of_matrices_are_the_convolution() {
        use Boundary::{Periodic, Replicate, Zero};
        let grids: [(&[usize], &[Boundary]); 5] = [
            (&[7], &[Replicate]),
            (&[6, 5], &[Periodic, Periodic]),
            (&[5, 6], &[Zero, Replicate]),
            (&[6, 7], &[Replicate, Zero]),
            (&[5, 6, 5], &[Periodic, Replicate, Zero]),
        ];
        for ((space, boundaries), kernel) in grids.into_iter().flat_map(|grid| [(grid, 3), (grid, 5)]) {
            let shape = StateShape { channels: 2, space: space.to_vec(), boundaries: boundaries.to_vec() };
            let model = ConvNet::new(&shape, 2, 3, kernel, 0.5);
            let mut stream = Stream::new(0, "convolution", &[]);
            let mut random = |size: &[i64]| {
                let values: Vec<f64> = (0..size.iter().product()).map(|_: i64| stream.normal()).collect();
                Tensor::from_slice(&values).view(size)
            };
            let weights = random(&[3, model.layout().size() as i64]);
            let h = random(&model.fields(&[3, 4, 2]));
            let cotangents = random(&model.fields(&[3, 4, 3]));
            let found = [ConvNet::multiplied, ConvNet::convolved].map(|apply| {
                let (weights, h) = (weights.detach().set_requires_grad(true), h.detach().set_requires_grad(true));
                let y = apply(&model, &model.layers(&weights)[0], &h, true);
                let sum = (&y * &cotangents).sum(None::<Kind>);
                let mut gradients = Tensor::run_backward(&[&sum], &[&weights, &h], false, false);
                (y, gradients.remove(1), gradients.remove(0))
            });
            let [(y, of_h, of_weights), (expected, h_expected, weights_expected)] = found;
            for (found, expected) in [(y, expected), (of_h, h_expected), (of_weights, weights_expected)] {
                let off = (found - &expected).abs().max().double_value(&[]);
                assert!(
                    off < 1e-12 && expected.abs().max().double_value(&[]) > 0.1,
                    "{space:?} {boundaries:?} {kernel}: {off}"
                );
            }
        }
    }
}
