//! The weights of one environment, laid out for the kernels.

use super::real::Real;

/// Widths are padded to a multiple of this, so that rows fill whole registers in every precision on every processor.
const PADDING: usize = 16;

/// Sizes of a perceptron and how they are padded.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// `C`.
    pub channels: usize,
    /// `C + U`, what the first layer sees: the inputs follow the state.
    pub features: usize,
    /// `C + U`, padded.
    pub state_width: usize,
    /// Units of a hidden layer (one width for all), padded; zero where there is none.
    pub hidden_width: usize,
    hidden_units: usize,
    /// Number of hidden layers.
    pub hidden: usize,
}

impl Shape {
    /// From the units of each level, from the input to the output.
    pub(super) fn new(widths: &[usize]) -> Self {
        let hidden = widths.len() - 2;
        let hidden_units = if hidden > 0 { widths[1] } else { 0 };
        Shape {
            channels: widths[widths.len() - 1],
            features: widths[0],
            state_width: widths[0].next_multiple_of(PADDING),
            hidden_width: hidden_units.next_multiple_of(PADDING),
            hidden_units,
            hidden,
        }
    }

    /// Inputs of hidden layer `layer`, without padding.
    pub(super) fn inputs(&self, layer: usize) -> usize {
        if layer == 0 { self.features } else { self.hidden_units }
    }

    /// Width of the input of layer `layer` (the last layer is `hidden`), padded.
    pub(super) fn input_width(&self, layer: usize) -> usize {
        if layer == 0 { self.state_width } else { self.hidden_width }
    }

    /// Inputs of the last layer, without padding.
    fn last_inputs(&self) -> usize {
        self.inputs(self.hidden)
    }

    /// Number of flat weights `P`.
    pub(super) fn size(&self) -> usize {
        let hidden: usize = (0..self.hidden).map(|layer| self.hidden_units * (self.inputs(layer) + 1)).sum();
        hidden + self.channels * (self.last_inputs() + 1)
    }
}

/// One hidden layer.
#[derive(Clone, Debug)]
pub(super) struct Hidden<T> {
    /// `A' [inputs, hidden_width]`.
    pub transposed: Vec<T>,
    /// `A [hidden_units, input_width]`.
    pub matrix: Vec<T>,
    /// `[hidden_width]`.
    pub bias: Vec<T>,
}

/// The weights of one environment; padding is zero, so that padded units stay at zero.
#[derive(Clone, Debug)]
pub(super) struct Weights<T> {
    pub hidden: Vec<Hidden<T>>,
    /// `A [C, input_width]`.
    pub last: Vec<T>,
    /// `[C]`.
    pub last_bias: Vec<T>,
}

impl<T: Real> Weights<T> {
    /// Lays out the flat weights `[P]`.
    pub(super) fn new(shape: &Shape, flat: &[f64]) -> Self {
        let zeros = |count: usize| vec![T::zeroed(); count];
        let mut weights = Weights {
            hidden: (0..shape.hidden)
                .map(|layer| Hidden {
                    transposed: zeros(shape.inputs(layer) * shape.hidden_width),
                    matrix: zeros(shape.hidden_units * shape.input_width(layer)),
                    bias: zeros(shape.hidden_width),
                })
                .collect(),
            last: zeros(shape.channels * shape.input_width(shape.hidden)),
            last_bias: zeros(shape.channels),
        };
        weights.set(shape, flat);
        weights
    }

    /// Replaces the values by those of the flat weights `[P]`.
    pub(super) fn set(&mut self, shape: &Shape, flat: &[f64]) {
        let mut flat = flat.iter().map(|&value| T::from_f64(value));
        let mut next = || flat.next().expect("flat weights of the shape's size");
        for (layer, hidden) in self.hidden.iter_mut().enumerate() {
            for o in 0..shape.hidden_units {
                for i in 0..shape.inputs(layer) {
                    let value = next();
                    hidden.matrix[o * shape.input_width(layer) + i] = value;
                    hidden.transposed[i * shape.hidden_width + o] = value;
                }
            }
            hidden.bias[..shape.hidden_units].fill_with(&mut next);
        }
        let width = shape.input_width(shape.hidden);
        for row in self.last.chunks_exact_mut(width.max(1)) {
            row[..shape.last_inputs()].fill_with(&mut next);
        }
        self.last_bias.fill_with(&mut next);
    }

    /// Replaces the values that the forward pass uses by `basis_0 + sum_k xi_k basis_k`; `matrix` is left unchanged,
    /// and so are the hidden layers that are not `moved`, which must already be those of `basis_0`: `self` must start
    /// as a copy of it.
    pub(super) fn combine(
        &mut self,
        basis: &[Weights<T>],
        moved: &[bool],
        context: &[T],
        add: impl Fn(&mut [T], &[T], T) + Copy,
    ) {
        let each = |weights: &mut Weights<T>, from: &Weights<T>, with: &dyn Fn(&mut [T], &[T])| {
            let hidden = weights.hidden.iter_mut().zip(&from.hidden);
            for ((to, from), _) in hidden.zip(moved).filter(|(_, moved)| **moved) {
                with(&mut to.transposed, &from.transposed);
                with(&mut to.bias, &from.bias);
            }
            with(&mut weights.last, &from.last);
            with(&mut weights.last_bias, &from.last_bias);
        };
        each(self, &basis[0], &|to, from| to.copy_from_slice(from));
        for (from, &xi) in basis[1..].iter().zip(context) {
            each(self, from, &|to, from| add(to, from, xi));
        }
    }

    /// Which hidden layers are not zero.
    pub(super) fn hidden_is_nonzero(&self) -> impl Iterator<Item = bool> + '_ {
        let nonzero = |values: &[T]| values.iter().any(|value| value.to_f64() != 0.0);
        self.hidden.iter().map(move |layer| nonzero(&layer.transposed) || nonzero(&layer.bias))
    }

    /// Adds gradients in the layout of [`Gradient`] to the flat gradient `[P]`.
    pub(super) fn add_gradient(shape: &Shape, gradient: &Gradient<T>, flat: &mut [f64]) {
        let mut flat = flat.iter_mut();
        let mut add = |value: T| *flat.next().expect("a flat gradient of the shape's size") += value.to_f64();
        for (layer, hidden) in gradient.hidden.iter().enumerate() {
            for o in 0..shape.hidden_units {
                for i in 0..shape.inputs(layer) {
                    // The first layer's gradient is stored transposed, because it has few inputs.
                    add(if layer == 0 {
                        hidden[i * shape.hidden_width + o]
                    } else {
                        hidden[o * shape.hidden_width + i]
                    });
                }
            }
            gradient.hidden_bias[layer][..shape.hidden_units].iter().for_each(|&value| add(value));
        }
        for row in gradient.last.chunks_exact(shape.input_width(shape.hidden)) {
            row[..shape.last_inputs()].iter().for_each(|&value| add(value));
        }
        gradient.last_bias[..shape.channels].iter().for_each(|&value| add(value));
    }
}

/// Gradients with respect to the weights of one environment.
#[derive(Clone, Debug, Default)]
pub(super) struct Gradient<T> {
    /// Of the first layer `[inputs, hidden_width]`, of the others `[hidden_width, hidden_width]`.
    pub hidden: Vec<Vec<T>>,
    /// `[hidden_width]` each.
    pub hidden_bias: Vec<Vec<T>>,
    /// `[C, input_width]`.
    pub last: Vec<T>,
    /// `[state_width]`.
    pub last_bias: Vec<T>,
}

impl<T: Real> Gradient<T> {
    /// All zero.
    pub(super) fn new(shape: &Shape) -> Self {
        let zeros = |count: usize| vec![T::zeroed(); count];
        Gradient {
            hidden: (0..shape.hidden)
                .map(|layer| {
                    let rows = if layer == 0 { shape.features } else { shape.hidden_width };
                    zeros(rows * shape.hidden_width)
                })
                .collect(),
            hidden_bias: (0..shape.hidden).map(|_| zeros(shape.hidden_width)).collect(),
            last: zeros(shape.channels * shape.input_width(shape.hidden)),
            last_bias: zeros(shape.state_width),
        }
    }
}
