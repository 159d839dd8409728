//! GEPS: a context modulates the factors of a low-rank part of every layer,
//!
//! ```text
//! A_l,e = A_l + U_l diag(xi_e) V_l',     b_l,e = b_l + C_l xi_e
//! ```
//!
//! with `U_l [n_l, d]`, `V_l [n_{l-1}, d]`, `C_l [n_l, d]` shared. It is CoDA whose columns of `W` are matrices of rank one in each layer, which
//! takes `d (n_l + n_{l-1})` shared values a layer where CoDA takes `d n_l n_{l-1}`. The kernel of a convolution is a matrix from inputs and
//! places to outputs; a spectrum one from waves and inputs to outputs.
//!
//! Source: Kassaï Koupaï, Mifsut Benet, Yin, Vittaut, Gallinari, "GEPS: Boosting Generalization in Parametric PDE Neural Solvers through
//! Adaptive Conditioning", NeurIPS 2024, equation 5. Difference from the source: contexts of new environments are fitted by Gauss-Newton, as
//! with the other rules.
//!
//! The shared values are `[theta, then for each layer its factors column by column]`.

use super::rule::Rule;
use super::shared_tensor::SharedTensor;
use crate::models::{Block, Layout};
use crate::random::Stream;

/// Standard deviation of the left factors at the start; that of the right ones is such that their product has the one that is asked for.
const LEFT_DEVIATION: f64 = 0.3;

/// Low-rank factors of every layer, modulated by the context.
pub(super) struct Geps {
    /// `P`.
    weights: usize,
    factors: Vec<Factors>,
    /// `d`.
    context_dimension: usize,
}

/// The factors of one block `[rows, columns]` of the weights; a bias has one column and no right factor.
struct Factors {
    name: String,
    /// Index of the block among the weights.
    offset: usize,
    rows: usize,
    columns: usize,
    is_matrix: bool,
    /// Index of the left factor among the shared values, column by column; the right one follows.
    start: usize,
}

impl Factors {
    fn new(block: &Block, start: usize) -> Self {
        // Of a spectrum `[waves, waves, in, out, 2]`, or `[out, in, ..]`.
        let split = if block.shape.len() == 5 { 3 } else { 1 };
        let [rows, columns] = [&block.shape[..split], &block.shape[split..]].map(|axes| axes.iter().product());
        let (name, offset, is_matrix) = (block.name.clone(), block.offset, block.shape.len() > 1);
        Factors { name, offset, rows, columns, is_matrix, start }
    }

    /// Values of a column of both factors.
    fn length(&self) -> usize {
        self.rows + if self.is_matrix { self.columns } else { 0 }
    }

    /// Where the right factor begins, given `d`.
    fn right(&self, d: usize) -> usize {
        self.start + d * self.rows
    }

    /// Column `k` of the left factor, and of the right one, which is one for a bias.
    fn column<'a>(&self, shared: &'a [f64], k: usize, d: usize) -> (&'a [f64], &'a [f64]) {
        let left = self.start + k * self.rows;
        let right = self.right(d) + k * self.columns;
        let of_right = if self.is_matrix { &shared[right..right + self.columns] } else { &[1.0] };
        (&shared[left..left + self.rows], of_right)
    }
}

/// Adds `scale u v'` to the matrix `sum`.
fn add_product(sum: &mut [f64], scale: f64, u: &[f64], v: &[f64]) {
    for (row, u) in sum.chunks_exact_mut(v.len()).zip(u) {
        row.iter_mut().zip(v).for_each(|(sum, v)| *sum += scale * u * v);
    }
}

impl Geps {
    /// For a network of this layout and contexts of `d` values.
    pub(super) fn new(layout: &Layout, d: usize) -> Self {
        let mut start = layout.size();
        let of_block = |block: &Block| {
            let factors = Factors::new(block, start);
            start += d * factors.length();
            factors
        };
        let factors = layout.blocks.iter().map(of_block).collect();
        Geps { weights: layout.size(), factors, context_dimension: d }
    }

    fn own<'a>(&self, factors: &Factors, weights: &'a [f64]) -> &'a [f64] {
        &weights[factors.offset..factors.offset + factors.rows * factors.columns]
    }
}

impl Rule for Geps {
    fn shared_size(&self) -> usize {
        self.weights + self.context_dimension * self.factors.iter().map(Factors::length).sum::<usize>()
    }

    fn context_size(&self) -> usize {
        self.context_dimension
    }

    fn initial_shared(&self, mut weights: Vec<f64>, std_dev: f64, stream: &mut Stream) -> Vec<f64> {
        for factors in &self.factors {
            let left = if factors.is_matrix { LEFT_DEVIATION } else { std_dev };
            weights.extend((0..self.context_dimension * factors.rows).map(|_| left * stream.normal()));
            let right = self.context_dimension * (factors.length() - factors.rows);
            weights.extend((0..right).map(|_| std_dev / LEFT_DEVIATION * stream.normal()));
        }
        weights
    }

    fn decode(&self, shared: &[f64], context: &[f64], weights: &mut [f64]) {
        weights.copy_from_slice(&shared[..self.weights]);
        for factors in &self.factors {
            let own = &mut weights[factors.offset..factors.offset + factors.rows * factors.columns];
            for (k, &xi) in context.iter().enumerate() {
                let (u, v) = factors.column(shared, k, self.context_dimension);
                add_product(own, xi, u, v);
            }
        }
    }

    fn push_forward(
        &self,
        shared: &[f64],
        context: &[f64],
        d_shared: &[f64],
        d_context: &[f64],
        d_weights: &mut [f64],
    ) {
        d_weights.iter_mut().zip(d_shared).for_each(|(weight, d)| *weight += d);
        for factors in &self.factors {
            let own = &mut d_weights[factors.offset..factors.offset + factors.rows * factors.columns];
            for (k, (&xi, &d_xi)) in context.iter().zip(d_context).enumerate() {
                let (u, v) = factors.column(shared, k, self.context_dimension);
                let (d_u, d_v) = factors.column(d_shared, k, self.context_dimension);
                add_product(own, d_xi, u, v);
                add_product(own, xi, d_u, v);
                if factors.is_matrix {
                    add_product(own, xi, u, d_v);
                }
            }
        }
    }

    fn pull_back(
        &self,
        shared: &[f64],
        context: &[f64],
        d_weights: &[f64],
        d_shared: &mut [f64],
        d_context: &mut [f64],
    ) {
        d_shared.iter_mut().zip(d_weights).for_each(|(d, g)| *d += g);
        let d = self.context_dimension;
        for factors in &self.factors {
            let own = self.own(factors, d_weights);
            for (k, (&xi, d_xi)) in context.iter().zip(d_context.iter_mut()).enumerate() {
                let (u, v) = factors.column(shared, k, d);
                let (left, right) = (factors.start + k * factors.rows, factors.right(d) + k * factors.columns);
                for (i, (row, u)) in own.chunks_exact(v.len()).zip(u).enumerate() {
                    let along: f64 = row.iter().zip(v).map(|(g, v)| g * v).sum();
                    *d_xi += along * u;
                    d_shared[left + i] += xi * along;
                    if factors.is_matrix {
                        let d_right = &mut d_shared[right..right + factors.columns];
                        d_right.iter_mut().zip(row).for_each(|(d, g)| *d += xi * u * g);
                    }
                }
            }
        }
    }

    fn is_affine(&self) -> bool {
        true
    }

    fn tensors(&self, layout: &Layout) -> Vec<SharedTensor> {
        let d = self.context_dimension;
        let mut tensors = SharedTensor::of_network("theta", layout);
        for factors in &self.factors {
            let left = format!("left.{}", factors.name);
            tensors.push(SharedTensor::by_columns(&left, factors.start, [factors.rows, d]));
            if factors.is_matrix {
                let right = format!("right.{}", factors.name);
                tensors.push(SharedTensor::by_columns(&right, factors.right(d), [factors.columns, d]));
            }
        }
        tensors
    }
}
