//! The Fourier neural operator on tensors.

use tch::Tensor;

use super::layered;
use super::layered::Layered;
use super::model::{Field, TangentField, TensorModel};
use crate::models::fno::{Fno, PLACE};
use crate::models::model::Model;

impl Fno {
    /// Wave numbers used along the first axis (of either sign) and along the second.
    fn used(&self) -> (i64, i64) {
        let [n, m] = self.space.map(|count| count as i64);
        let modes = self.modes as i64;
        (modes.min(n / 2), modes.min(m / 2 + 1))
    }

    /// `F^-1(R F(h))`, `h [N, B, w, n, m]`, `spectrum [N k1 k2, w, w]` (input, output).
    fn filter(&self, spectrum: &Tensor, h: &Tensor) -> Tensor {
        let size = h.size();
        let (sets, states, width) = (size[0], size[1], size[2]);
        let [n, m] = self.space.map(|count| count as i64);
        let (k1, k2) = self.used();
        let transformed = h.fft_rfft2(None::<&[i64]>, [-2i64, -1], "backward");
        let low = transformed.narrow(4, 0, k2);
        let kept = Tensor::cat(&[low.narrow(3, 0, k1), low.narrow(3, n - k1, k1)], 3); // [N, B, w, 2 k1, k2]
        let columns = kept.permute([0, 3, 4, 1, 2]).reshape([sets * 2 * k1 * k2, states, width]);
        let product = columns.bmm(spectrum).view([sets, 2 * k1, k2, states, width]).permute([0, 3, 4, 1, 2]);
        let options = (product.kind(), product.device());
        let middle = Tensor::zeros([sets, states, width, n - 2 * k1, k2], options);
        let low = Tensor::cat(&[product.narrow(3, 0, k1), middle, product.narrow(3, k1, k1)], 3);
        let high = Tensor::zeros([sets, states, width, n, m / 2 + 1 - k2], options);
        Tensor::cat(&[low, high], 4).fft_irfft2([n, m].as_slice(), [-2i64, -1], "backward")
    }
}

/// One layer under `N` sets of weights.
pub(super) struct FnoLayer {
    /// `[N 2 k1 k2, w, w]`, complex, of a spectral layer.
    spectrum: Option<Tensor>,
    /// `[N, outputs, inputs]`.
    matrix: Tensor,
    /// `[N, outputs, 1]`.
    bias: Tensor,
}

impl Layered for Fno {
    type Layer = FnoLayer;

    fn state(&self) -> [i64; 3] {
        [self.channels as i64, self.space[0] as i64, self.space[1] as i64]
    }

    fn layers(&self, weights: &Tensor) -> Vec<FnoLayer> {
        let sets = weights.size()[0];
        let (k1, k2) = self.used();
        let width = self.width as i64;
        let slice = |layer: usize, name: &str| {
            let wanted = format!("layers.{layer}.{name}");
            let block = self.layout().blocks.iter().find(|block| block.name == wanted)?;
            let shape: Vec<i64> = [sets].into_iter().chain(block.shape.iter().map(|&n| n as i64)).collect();
            Some(weights.narrow(1, block.offset as i64, block.size() as i64).reshape(shape))
        };
        let spectrum = |all: Tensor| {
            let modes = self.modes as i64;
            let rows = Tensor::cat(&[all.narrow(1, 0, k1), all.narrow(1, 2 * modes - k1, k1)], 1).narrow(2, 0, k2);
            rows.contiguous().view_as_complex().reshape([sets * 2 * k1 * k2, width, width])
        };
        (0..self.layers + 3)
            .map(|layer| FnoLayer {
                spectrum: slice(layer, "spectrum").map(spectrum),
                matrix: slice(layer, "weight").expect("every layer has a matrix"),
                bias: slice(layer, "bias").expect("every layer has a bias").unsqueeze(-1),
            })
            .collect()
    }

    fn apply(&self, layer: &FnoLayer, h: &Tensor, bias: bool) -> Tensor {
        let size = h.size();
        let (sets, states, inputs) = (size[0], size[1], size[2]);
        let [n, m] = self.space.map(|count| count as i64);
        let matrix = layer.matrix.unsqueeze(1); // [N, 1, outputs, inputs]
        let mut y = matrix.matmul(&h.reshape([sets, states, inputs, n * m]));
        if bias {
            y += layer.bias.unsqueeze(1);
        }
        let y = y.view([sets, states, -1, n, m]);
        match &layer.spectrum {
            Some(spectrum) => y + self.filter(spectrum, h),
            None => y,
        }
    }

    fn is_activated(&self, index: usize, _: usize) -> bool {
        (1..self.layers).contains(&index) || index == self.layers + 1
    }

    fn lift(&self, x: Tensor) -> Tensor {
        let size = x.size();
        let [n, m] = self.space.map(|count| count as i64);
        let along = |axis: usize, count: i64| {
            let angle = Tensor::arange(count, (x.kind(), x.device())) * (2.0 * std::f64::consts::PI / count as f64);
            let angle = if axis == 0 { angle.view([count, 1]) } else { angle.view([1, count]) };
            [angle.sin().expand([n, m], false), angle.cos().expand([n, m], false)]
        };
        let place = [along(0, n), along(1, m)].into_iter().flatten().collect::<Vec<_>>();
        let place = Tensor::stack(&place, 0);
        Tensor::cat(&[x, place.expand([size[0], size[1], -1, -1, -1], false)], 2)
    }

    fn lift_tangent(&self, dx: Tensor) -> Tensor {
        let mut size = dx.size();
        size[2] = PLACE as i64;
        let still = Tensor::zeros(size, (dx.kind(), dx.device()));
        Tensor::cat(&[dx, still], 2)
    }
}

impl TensorModel for Fno {
    fn field<'a>(&'a self, weights: &'a Tensor) -> Field<'a> {
        layered::field(self, weights)
    }

    fn tangent_field<'a>(&'a self, basis: &'a Tensor, contexts: &'a Tensor) -> TangentField<'a> {
        layered::tangent_field(self, basis, contexts)
    }
}
