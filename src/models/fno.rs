//! Fourier neural operator on periodic fields, which works at any resolution.
//!
//! ```text
//! h_0 = A_0 (x, e) + b_0                                            lift to w channels
//! h_l = s(F^-1(R_l F(h_{l-1})) + A_l h_{l-1} + b_l),  l = 1..L      s left out after the last
//! g   = A_p' s(A_p h_L + b_p) + b_p'                                project through p channels
//! ```
//!
//! State `x [C, n_1, n_2]`; `F` the discrete Fourier transform over space; `R_l [w, w, 2 m, m]` complex, acting on the `m` lowest wave numbers
//! of either sign along the first axis and the `m` lowest along the second, all others being dropped; `A` matrices on channels; `s` the swish.
//! `e` holds the sine and cosine of `2 pi` times the place on each axis (in units of the period), where the source has the place itself: what
//! is periodic has no jump. Where a grid has fewer wave numbers than `m`, only those are used.
//!
//! Source: Z. Li et al., Fourier Neural Operator for Parametric Partial Differential Equations, ICLR 2021; sizes as in Kirchmeyer et al.,
//! ICML 2022 (four spectral layers, 12 modes, width 10).

use tch::Tensor;

use super::layered;
use super::layered::Layered;
use super::layout::Layout;
use super::{Field, Model, TangentField};
use crate::random::Stream;
use crate::schema::StateShape;

/// Values that say where a point is: sine and cosine on each of two axes.
const PLACE: usize = 4;

/// A Fourier neural operator.
pub struct Fno {
    channels: usize,
    space: [i64; 2],
    layers: usize,
    modes: usize,
    width: usize,
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
        let space = [state.space[0] as i64, state.space[1] as i64];
        Fno { channels: state.channels, space, layers, modes, width, layout }
    }

    /// Wave numbers used along the first axis (of either sign) and along the second.
    fn used(&self) -> (i64, i64) {
        let modes = self.modes as i64;
        (modes.min(self.space[0] / 2), modes.min(self.space[1] / 2 + 1))
    }

    /// `F^-1(R F(h))`, `h [N, B, w, n, m]`, `spectrum [N k1 k2, w, w]` (input, output).
    fn filter(&self, spectrum: &Tensor, h: &Tensor) -> Tensor {
        let size = h.size();
        let (sets, states, width) = (size[0], size[1], size[2]);
        let [n, m] = self.space;
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
pub(crate) struct FnoLayer {
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
        [self.channels as i64, self.space[0], self.space[1]]
    }

    fn layers(&self, weights: &Tensor) -> Vec<FnoLayer> {
        let sets = weights.size()[0];
        let (k1, k2) = self.used();
        let width = self.width as i64;
        let slice = |layer: usize, name: &str| {
            let wanted = format!("layers.{layer}.{name}");
            let block = self.layout.blocks.iter().find(|block| block.name == wanted)?;
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
        let [n, m] = self.space;
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
        let [n, m] = self.space;
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

    fn field<'a>(&'a self, weights: &'a Tensor) -> Field<'a> {
        layered::field(self, weights)
    }

    fn tangent_field<'a>(&'a self, basis: &'a Tensor, contexts: &'a Tensor) -> TangentField<'a> {
        layered::tangent_field(self, basis, contexts)
    }
}
