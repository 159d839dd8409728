//! Multilayer perceptron `g(x, u) = A_L s(... s(A_1 (x, u) + b_1) ...) + b_L` with the swish `s(a) = a sigma(a)`.
//!
//! `A_l [n_l, n_{l-1}]`, `b_l [n_l]`; `n_0 = C + U`, `n_L = C`. Source: Kirchmeyer et al., ICML 2022, appendix on architectures
//! (four layers of width 64); swish: Ramachandran et al. 2017 with its slope fixed at one.

use super::layout::Layout;
use super::model::Model;
use crate::random::Stream;

/// A perceptron with one width for all hidden layers.
pub struct Mlp {
    /// Units of each level, from the input to the output.
    widths: Vec<usize>,
    layout: Layout,
}

impl Mlp {
    /// `layers` linear layers on states of `channels` values and on `inputs`.
    pub fn new(channels: usize, inputs: usize, layers: usize, width: usize) -> Self {
        let mut widths = vec![width; layers + 1];
        widths[0] = channels + inputs;
        widths[layers] = channels;
        let mut layout = Layout::default();
        for (layer, pair) in widths.windows(2).enumerate() {
            layout.push(format!("layers.{layer}.weight"), &[pair[1], pair[0]]);
            layout.push(format!("layers.{layer}.bias"), &[pair[1]]);
        }
        Mlp { widths, layout }
    }

    /// Units of each level, from the input to the output.
    pub fn widths(&self) -> &[usize] {
        &self.widths
    }
}

impl Model for Mlp {
    fn name(&self) -> &'static str {
        "mlp"
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Uniform on `±1/sqrt(fan_in)`, matrices and biases alike.
    fn initial_weights(&self, stream: &mut Stream) -> Vec<f64> {
        let mut weights = Vec::with_capacity(self.layout.size());
        for pair in self.widths.windows(2) {
            let bound = 1.0 / (pair[0] as f64).sqrt();
            weights.extend((0..pair[1] * (pair[0] + 1)).map(|_| stream.uniform(-bound, bound)));
        }
        weights
    }
}
