//! The perceptron on tensors.
//!
//! Tangents use `theta = theta_c + sum_k xi_k W_k` through the products of the layer's input with each basis matrix:
//! with `Y_k = h W_k'`, `a = sum_k z_k Y_k` (`z = (1, xi)`), and `da_j = sum_k z_k (dh_j W_k') + Y_j`.

use tch::Tensor;

use super::model::{Field, TangentField, TensorModel};
use crate::models::mlp::Mlp;
use crate::models::model::Model;

impl Mlp {
    fn layers(&self) -> usize {
        self.widths().len() - 1
    }

    /// `(A_l, b_l)` of each layer out of `weights [N, P]`: `A_l' [N, in, out]`, `b_l [N, 1, out]`.
    fn split(&self, weights: &Tensor) -> Vec<(Tensor, Tensor)> {
        let count = weights.size()[0];
        let slice = |index: usize| {
            let block = &self.layout().blocks[index];
            weights.narrow(1, block.offset as i64, block.size() as i64)
        };
        (0..self.layers())
            .map(|layer| {
                let (inputs, outputs) = (self.widths()[layer] as i64, self.widths()[layer + 1] as i64);
                let matrix = slice(2 * layer).view([count, outputs, inputs]).transpose(1, 2);
                (matrix, slice(2 * layer + 1).view([count, 1, outputs]))
            })
            .collect()
    }
}

impl TensorModel for Mlp {
    fn field<'a>(&'a self, weights: &'a Tensor) -> Field<'a> {
        let layers = self.split(weights);
        Box::new(move |x| {
            let mut h = x.shallow_clone();
            for (index, (matrix, bias)) in layers.iter().enumerate() {
                h = bias.baddbmm(&h, matrix, 1.0, 1.0);
                if index + 1 < layers.len() {
                    h = h.silu();
                }
            }
            h
        })
    }

    fn tangent_field<'a>(&'a self, basis: &'a Tensor, contexts: &'a Tensor) -> TangentField<'a> {
        let (rows, d) = contexts.size2().expect("contexts are a matrix");
        let z = Tensor::cat(&[contexts.ones_like().narrow(1, 0, 1), contexts.shallow_clone()], 1); // [R, 1 + d]
        let z_products = z.view([1, rows, 1 + d, 1]);
        // Per layer: all basis matrices side by side [in, (1 + d) out], the bias of each row [R, out], the basis biases [d, 1, out].
        let layers: Vec<_> = self
            .split(basis)
            .into_iter()
            .map(|(matrices, biases)| {
                let (_, inputs, outputs) = matrices.size3().expect("matrices are stacked");
                let side_by_side = matrices.permute([1, 0, 2]).contiguous().view([inputs, (1 + d) * outputs]);
                let biases = biases.view([1 + d, outputs]);
                (side_by_side, z.matmul(&biases), biases.narrow(0, 1, d).unsqueeze(1), outputs)
            })
            .collect();
        Box::new(move |x, dx| {
            let mut h = Tensor::cat(&[x.unsqueeze(0), dx.shallow_clone()], 0); // [1 + d, R, in], the primal first
            for (index, (matrices, bias, basis_biases, outputs)) in layers.iter().enumerate() {
                let inputs = h.size()[2];
                let products = h.view([(1 + d) * rows, inputs]).mm(matrices).view([1 + d, rows, 1 + d, *outputs]);
                let sums = (&products * &z_products).sum_dim_intlist([2i64].as_slice(), false, None::<tch::Kind>);
                let a = sums.select(0, 0) + bias; // [R, out]
                let own = products.select(0, 0).narrow(1, 1, d).permute([1, 0, 2]); // W_j h, [d, R, out]
                let da = sums.narrow(0, 1, d) + own + basis_biases;
                h = if index + 1 < layers.len() {
                    let sigma = a.sigmoid();
                    let value = &a * &sigma;
                    let slope = &sigma + &value - &value * &sigma; // s'(a) = sigma + a sigma (1 - sigma)
                    Tensor::cat(&[value.unsqueeze(0), da * slope.unsqueeze(0)], 0)
                } else {
                    Tensor::cat(&[a.unsqueeze(0), da], 0)
                };
            }
            (h.select(0, 0), h.narrow(0, 1, d))
        })
    }
}
