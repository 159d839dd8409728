//! The Fourier neural operator on tensors.

use std::f64::consts::TAU;

use tch::Tensor;

use super::layered;
use super::layered::Layered;
use super::model::{Field, TangentField, TensorModel};
use crate::models::fno::Fno;
use crate::models::model::Model;
use crate::schema::Boundary;

/// One over the share of its points by which an axis is continued where it is not periodic.
const PADDING: usize = 8;
/// The first axis of space in a field `[N, B, w, n_1, .., n_k]`.
const SPACE: i64 = 3;

impl Fno {
    fn axes(&self) -> i64 {
        self.space.len() as i64
    }

    /// Points that are added behind each axis.
    fn padding(&self) -> impl DoubleEndedIterator<Item = usize> {
        self.space.iter().zip(&self.boundaries).map(|(count, boundary)| match boundary {
            Boundary::Periodic => 0,
            Boundary::Zero | Boundary::Replicate => count.div_ceil(PADDING),
        })
    }

    /// Points along each axis in spectral layers.
    fn points(&self) -> Vec<i64> {
        self.space.iter().zip(self.padding()).map(|(count, more)| (count + more) as i64).collect()
    }

    /// Wave numbers used along each axis: of either sign along every one but the last.
    fn used(&self) -> Vec<i64> {
        let last = self.space.len() - 1;
        let most = |(axis, count)| if axis == last { count / 2 + 1 } else { count / 2 };
        self.points().into_iter().enumerate().map(|of| (self.modes as i64).min(most(of))).collect()
    }

    /// Number of wave vectors used.
    fn waves(&self) -> i64 {
        let used = self.used();
        used.iter().product::<i64>() << (used.len() - 1)
    }

    /// `F^-1(R F(h))`, `h [N, B, w, n_1, .., n_k]`, `spectrum [N k, w, w]` (input, output) with `k` the number of wave vectors.
    fn filter(&self, spectrum: &Tensor, h: &Tensor) -> Tensor {
        let size = h.size();
        let (sets, states, width) = (size[0], size[1], size[2]);
        let (points, used) = (self.points(), self.used());
        let space: Vec<i64> = (SPACE..SPACE + self.axes()).collect();
        let (last, others) = (SPACE + self.axes() - 1, &space[..space.len() - 1]);
        let transformed = h.fft_rfftn(None::<&[i64]>, space.as_slice(), "backward");
        let mut kept = transformed.narrow(last, 0, used[used.len() - 1]);
        for ((&axis, &k), &n) in others.iter().zip(&used).zip(&points) {
            kept = Tensor::cat(&[kept.narrow(axis, 0, k), kept.narrow(axis, n - k, k)], axis);
        }
        let waves = kept.size()[SPACE as usize..].to_vec(); // 2 k_1, .., 2 k_{k-1}, k_k
        let order: Vec<i64> = [0].into_iter().chain(space.iter().copied()).chain([1, 2]).collect();
        let columns = kept.permute(order).reshape([sets * self.waves(), states, width]);
        let product = columns.bmm(spectrum).view([&[sets][..], &waves, &[states, width]].concat().as_slice());
        let axes = self.axes();
        let order: Vec<i64> = [0, axes + 1, axes + 2].into_iter().chain(1..=axes).collect();
        let mut whole = product.permute(order);
        let zeros = |axis: i64, count: i64, like: &Tensor| {
            let mut size = like.size();
            size[axis as usize] = count;
            Tensor::zeros(size, (like.kind(), like.device()))
        };
        for ((&axis, &k), &n) in others.iter().zip(&used).zip(&points) {
            let middle = zeros(axis, n - 2 * k, &whole);
            whole = Tensor::cat(&[whole.narrow(axis, 0, k), middle, whole.narrow(axis, k, k)], axis);
        }
        let high = zeros(last, points[points.len() - 1] / 2 + 1 - used[used.len() - 1], &whole);
        Tensor::cat(&[whole, high], last).fft_irfftn(points.as_slice(), space.as_slice(), "backward")
    }

    /// Fields continued by zeros behind the axes that are not periodic.
    fn padded(&self, h: Tensor) -> Tensor {
        // Before and after each axis, the last axis first.
        let margins: Vec<i64> = self.padding().rev().flat_map(|more| [0, more as i64]).collect();
        if margins.iter().any(|more| *more > 0) { h.constant_pad_nd(margins) } else { h }
    }

    /// The same fields without it.
    fn cut(&self, h: Tensor) -> Tensor {
        let is_longer = |(_, more): &(usize, usize)| *more > 0;
        let axes = self.padding().enumerate().filter(is_longer);
        axes.fold(h, |h, (axis, _)| h.narrow(SPACE + axis as i64, 0, self.space[axis] as i64))
    }
}

/// One layer under `N` sets of weights.
pub(super) struct FnoLayer {
    index: usize,
    /// `[N k, w, w]`, complex, of a spectral layer with `k` wave vectors.
    spectrum: Option<Tensor>,
    /// `[N, outputs, inputs]`.
    matrix: Tensor,
    /// `[N, outputs, 1]`.
    bias: Tensor,
}

impl Layered for Fno {
    type Layer = FnoLayer;

    fn channels(&self) -> usize {
        self.channels
    }

    fn space(&self) -> &[usize] {
        &self.space
    }

    fn layers(&self, weights: &Tensor) -> Vec<FnoLayer> {
        let sets = weights.size()[0];
        let used = self.used();
        let width = self.width as i64;
        let slice = |layer: usize, name: &str| {
            let wanted = format!("layers.{layer}.{name}");
            let block = self.layout().blocks.iter().find(|block| block.name == wanted)?;
            let shape: Vec<i64> = [sets].into_iter().chain(block.shape.iter().map(|&n| n as i64)).collect();
            Some(weights.narrow(1, block.offset as i64, block.size() as i64).reshape(shape))
        };
        let spectrum = |mut all: Tensor| {
            let (last, modes) = (used.len() - 1, self.modes as i64);
            for (axis, &k) in used[..last].iter().enumerate() {
                let axis = axis as i64 + 1;
                all = Tensor::cat(&[all.narrow(axis, 0, k), all.narrow(axis, 2 * modes - k, k)], axis);
            }
            let low = all.narrow(last as i64 + 1, 0, used[last]);
            // Complex numbers begin at an even place in memory, as in a copy.
            let low = if last == 0 { low.copy() } else { low.contiguous() };
            low.view_as_complex().reshape([sets * self.waves(), width, width])
        };
        (0..self.layers + 3)
            .map(|layer| FnoLayer {
                index: layer,
                spectrum: slice(layer, "spectrum").map(spectrum),
                matrix: slice(layer, "weight").expect("every layer has a matrix"),
                bias: slice(layer, "bias").expect("every layer has a bias").unsqueeze(-1),
            })
            .collect()
    }

    fn apply(&self, layer: &FnoLayer, h: &Tensor, bias: bool) -> Tensor {
        let mut size = h.size();
        let (sets, states, inputs) = (size[0], size[1], size[2]);
        let matrix = layer.matrix.unsqueeze(1); // [N, 1, outputs, inputs]
        let mut y = matrix.matmul(&h.reshape([sets, states, inputs, -1]));
        if bias {
            y += layer.bias.unsqueeze(1);
        }
        size[2] = -1;
        let y = y.view(size.as_slice());
        let y = match &layer.spectrum {
            Some(spectrum) => y + self.filter(spectrum, h),
            None => y,
        };
        match layer.index {
            0 => self.padded(y),
            index if index == self.layers => self.cut(y),
            _ => y,
        }
    }

    fn is_activated(&self, index: usize, _: usize) -> bool {
        (1..self.layers).contains(&index) || index == self.layers + 1
    }

    fn lift(&self, x: Tensor) -> Tensor {
        let size = x.size();
        let space = self.fields(&[]);
        let mut places = Vec::new();
        for (axis, (&count, boundary)) in space.iter().zip(&self.boundaries).enumerate() {
            let at = Tensor::arange(count, (x.kind(), x.device()));
            let mut along = vec![1; space.len()];
            along[axis] = count;
            let mut push = |place: Tensor| places.push(place.view(along.as_slice()).expand(&space, false));
            if *boundary == Boundary::Periodic {
                let angle = at * (TAU / count as f64);
                push(angle.sin());
                push(angle.cos());
            } else {
                push(at / (count - 1).max(1) as f64);
            }
        }
        let mut shape = vec![-1; 3 + space.len()];
        (shape[0], shape[1]) = (size[0], size[1]);
        Tensor::cat(&[x, Tensor::stack(&places, 0).expand(shape, false)], 2)
    }

    fn lift_tangent(&self, dx: Tensor) -> Tensor {
        let mut size = dx.size();
        size[2] = self.layout().blocks[0].shape[1] as i64 - size[2];
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
