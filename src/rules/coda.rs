//! CoDA: `theta_e = theta_c + W xi_e`, with `theta_c [P]`, `W [P, d]`, `xi_e [d]`.
//!
//! Penalty `lambda Omega(W)`: `Omega = sum_i |W_i,:|_2` (l1), `Omega = |W|_F^2` (l2), or none. The norm of a row lies below the
//! parabola that touches it: `|W_i| <= |W_i|^2 / (2 c) + c / 2` with equality at `|W_i| = c` (iteratively reweighted squares).
//! Source: Kirchmeyer, Yin et al., "Generalizing to New Physical Systems via Context-Informed Dynamics Model", ICML 2022.
//!
//! `W` may be restricted to the rows of one layer, all others being zero ("first layer", "last layer" in the paper's
//! table on locality).
//!
//! The shared values are `[theta_c, W_1, .., W_d]`, `W_k` being the k-th column of `W`: `S = (1 + d) P`. Their part of the Gauss-Newton
//! kernel is `J_i . J_k + (xi_e . xi_f) J_i . S M J_k`, `S` the share of each row of `W` and `M` the adapted weights, for residuals `i` and
//! `k` of the environments `e` and `f`: no product is longer than `P`.

use std::ops::Range;

use super::places::{Locality, Places};
use super::rule::{GramProduct, Rule};
use super::shared_tensor::SharedTensor;
use crate::models::Layout;
use crate::random::Stream;

/// CoDA with one of its penalties.
pub(super) struct Coda {
    pub locality: Locality,
    /// `P`.
    pub weights: usize,
    /// Rows of `W` that are trained; the others stay zero.
    pub adapted: Range<usize>,
    /// `d`.
    pub context_dimension: usize,
}

impl Coda {
    fn row_norm(&self, shared: &[f64], row: usize) -> f64 {
        let places = (1..=self.context_dimension).map(|k| k * self.weights + row);
        places.map(|i| shared[i] * shared[i]).sum::<f64>().sqrt()
    }
}

impl Rule for Coda {
    fn shared_size(&self) -> usize {
        (1 + self.context_dimension) * self.weights
    }

    fn context_size(&self) -> usize {
        self.context_dimension
    }

    fn initial_shared(&self, mut weights: Vec<f64>, std_dev: f64, stream: &mut Stream) -> Vec<f64> {
        for _ in 0..self.context_dimension {
            let value = |row: usize| if self.adapted.contains(&row) { std_dev * stream.normal() } else { 0.0 };
            weights.extend((0..self.weights).map(value));
        }
        weights
    }

    fn affine_shared(&self, centre: &[f64], columns: &[Vec<f64>]) -> Option<Vec<f64>> {
        let adapted = |(row, value): (usize, &f64)| if self.adapted.contains(&row) { *value } else { 0.0 };
        let columns = columns.iter().flat_map(|column| column.iter().enumerate().map(adapted));
        Some(centre.iter().copied().chain(columns).collect())
    }

    fn decode(&self, shared: &[f64], context: &[f64], weights: &mut [f64]) {
        let (theta_c, columns) = shared.split_at(self.weights);
        weights.copy_from_slice(theta_c);
        for (column, xi) in columns.chunks_exact(self.weights).zip(context) {
            let adapted = weights[self.adapted.clone()].iter_mut().zip(&column[self.adapted.clone()]);
            adapted.for_each(|(weight, w)| *weight += xi * w);
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
        let (d_theta_c, d_columns) = d_shared.split_at(self.weights);
        d_weights.iter_mut().zip(d_theta_c).for_each(|(weight, d)| *weight += d);
        let columns = shared[self.weights..].chunks_exact(self.weights).zip(d_columns.chunks_exact(self.weights));
        for ((column, d_column), (xi, d_xi)) in columns.zip(context.iter().zip(d_context)) {
            for row in self.adapted.clone() {
                d_weights[row] += xi * d_column[row] + d_xi * column[row];
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
        let columns = shared[self.weights..].chunks_exact(self.weights);
        let (d_theta_c, d_columns) = d_shared.split_at_mut(self.weights);
        d_theta_c.iter_mut().zip(d_weights).for_each(|(d, g)| *d += g);
        let d_columns = d_columns.chunks_exact_mut(self.weights);
        for (((column, d_column), xi), d_xi) in columns.zip(d_columns).zip(context).zip(d_context) {
            for row in self.adapted.clone() {
                d_column[row] += xi * d_weights[row];
                *d_xi += column[row] * d_weights[row];
            }
        }
    }

    fn penalty(&self, shared: &[f64]) -> f64 {
        let norms = self.adapted.clone().map(|row| self.row_norm(shared, row));
        match self.locality {
            Locality::None => 0.0,
            Locality::Squares => norms.map(|norm| norm * norm).sum(),
            Locality::RowNorms => norms.sum(),
        }
    }

    fn majorizer_weights(&self, shared: &[f64]) -> Vec<f64> {
        let of_row = |row: usize| match self.locality {
            _ if !self.adapted.contains(&row) => 0.0,
            Locality::None => 0.0,
            Locality::Squares => 1.0,
            Locality::RowNorms => 0.5 / self.row_norm(shared, row),
        };
        let of_rows: Vec<f64> = (0..self.weights).map(of_row).collect();
        [vec![0.0; self.weights], of_rows.repeat(self.context_dimension)].concat()
    }

    fn is_affine(&self) -> bool {
        true
    }

    fn places(&self, weights: usize) -> Option<Places> {
        let column = |k: usize| (0..weights).map(move |p| self.adapted.contains(&p).then_some(k * weights + p));
        Some(Places {
            constants: (0..weights).map(Some).collect(),
            columns: (1..=self.context_dimension).flat_map(column).collect(),
            owned: Vec::new(),
            starts: Vec::new(),
            locality: self.locality,
        })
    }

    fn gram_products(&self, contexts: &[f64], shares: &[f64]) -> Option<Vec<GramProduct>> {
        let environments = contexts.len() / self.context_dimension;
        let of_columns = &shares[self.weights..2 * self.weights];
        Some(vec![
            GramProduct {
                weights: 0..self.weights,
                shares: shares[..self.weights].to_vec(),
                factors: vec![1.0; environments],
            },
            GramProduct {
                weights: self.adapted.clone(),
                shares: of_columns[self.adapted.clone()].to_vec(),
                factors: contexts.to_vec(),
            },
        ])
    }

    fn tensors(&self, layout: &Layout) -> Vec<SharedTensor> {
        let d = self.context_dimension;
        let columns = layout.blocks.iter().map(|block| SharedTensor {
            name: format!("W.{}", block.name),
            shape: block.shape.iter().copied().chain([d]).collect(),
            indices: block.range().flat_map(|i| (1..=d).map(move |k| k * self.weights + i)).collect(),
        });
        SharedTensor::of_network("theta_c", layout).into_iter().chain(columns).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_at_zero_has_no_gradient_and_is_held_there() {
        let coda = Coda { locality: Locality::RowNorms, weights: 1, adapted: 0..1, context_dimension: 2 };
        let mut gradient = vec![0.0; 3];
        coda.add_penalty_gradient(&[1.0, 0.0, 0.0], 0.3, &mut gradient);
        assert_eq!(gradient, vec![0.0; 3]);
        assert_eq!(coda.majorizer_weights(&[1.0, 0.0, 0.0]), vec![0.0, f64::INFINITY, f64::INFINITY]);
    }
}
