//! CoDA: `theta_e = theta_c + W xi_e`, with `theta_c [P]`, `W [P, d]`, `xi_e [d]`.
//!
//! Penalty `lambda Omega(W)`: `Omega = sum_i |W_i,:|_2` (l1), `Omega = |W|_F^2` (l2), or none. The norm of a row lies below the
//! parabola that touches it: `|W_i| <= |W_i|^2 / (2 c) + c / 2` with equality at `|W_i| = c` (iteratively reweighted squares).
//! Source: Kirchmeyer, Yin et al., "Generalizing to New Physical Systems via Context-Informed Dynamics Model", ICML 2022.
//!
//! `W` may be held at zero but for the rows of one layer ("first layer", "last layer" in the paper's table on locality).
//!
//! The shared values are `[theta_c, W_1, .., W_d]`, `W_k` being the k-th column of `W`: `S = (1 + d) P`.

use std::ops::Range;

use super::{Kind, Rule, SharedTensor};
use crate::models::Layout;
use crate::random::Stream;

/// CoDA with one of its penalties.
pub struct Coda {
    pub kind: Kind,
    /// `P`.
    pub weights: usize,
    /// Rows of `W` that are not held at zero.
    pub adapted: Range<usize>,
    /// `d`.
    pub context_dimension: usize,
}

impl Coda {
    /// Where the row `W_row,:` stands in the shared values.
    fn places(&self, row: usize) -> impl Iterator<Item = usize> + Clone + use<> {
        let weights = self.weights;
        (1..=self.context_dimension).map(move |k| k * weights + row)
    }

    fn row_norm(&self, shared: &[f64], row: usize) -> f64 {
        self.places(row).map(|i| shared[i] * shared[i]).sum::<f64>().sqrt()
    }
}

impl Rule for Coda {
    fn shared_size(&self) -> usize {
        (1 + self.context_dimension) * self.weights
    }

    fn initial_shared(&self, mut weights: Vec<f64>, deviation: f64, stream: &mut Stream) -> Vec<f64> {
        for _ in 0..self.context_dimension {
            let value = |row: usize| if self.adapted.contains(&row) { deviation * stream.normal() } else { 0.0 };
            weights.extend((0..self.weights).map(value));
        }
        weights
    }

    fn decode(&self, shared: &[f64], context: &[f64], weights: &mut [f64]) {
        let (theta_c, columns) = shared.split_at(self.weights);
        weights.copy_from_slice(theta_c);
        for (column, xi) in columns.chunks_exact(self.weights).zip(context) {
            let adapted = weights[self.adapted.clone()].iter_mut().zip(&column[self.adapted.clone()]);
            adapted.for_each(|(weight, w)| *weight += xi * w);
        }
    }

    fn push(&self, shared: &[f64], context: &[f64], d_shared: &[f64], d_context: &[f64], d_weights: &mut [f64]) {
        let (d_theta_c, d_columns) = d_shared.split_at(self.weights);
        d_weights.iter_mut().zip(d_theta_c).for_each(|(weight, d)| *weight += d);
        let columns = shared[self.weights..].chunks_exact(self.weights).zip(d_columns.chunks_exact(self.weights));
        for ((column, d_column), (xi, d_xi)) in columns.zip(context.iter().zip(d_context)) {
            for row in self.adapted.clone() {
                d_weights[row] += xi * d_column[row] + d_xi * column[row];
            }
        }
    }

    fn chain(&self, shared: &[f64], context: &[f64], d_weights: &[f64], d_shared: &mut [f64], d_context: &mut [f64]) {
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
        match self.kind {
            Kind::Coda => 0.0,
            Kind::CodaL2 => norms.map(|norm| norm * norm).sum(),
            Kind::CodaL1 => norms.sum(),
        }
    }

    fn add_penalty_gradient(&self, shared: &[f64], lambda: f64, d_shared: &mut [f64]) {
        // Where a row is zero, zero is among the subgradients of its norm.
        for (row, hold) in self.hold(shared).into_iter().enumerate().filter(|(_, hold)| hold.is_finite()) {
            self.places(row).for_each(|i| d_shared[i] += 2.0 * lambda * hold * shared[i]);
        }
    }

    fn hold(&self, shared: &[f64]) -> Vec<f64> {
        let hold = |row: usize| match self.kind {
            Kind::Coda => 0.0,
            Kind::CodaL2 => 1.0,
            Kind::CodaL1 => 0.5 / self.row_norm(shared, row),
        };
        (0..self.weights).map(|row| if self.adapted.contains(&row) { hold(row) } else { 0.0 }).collect()
    }

    fn adapted(&self) -> Range<usize> {
        self.adapted.clone()
    }

    fn basis(&self, shared: &[f64]) -> Vec<f64> {
        shared.to_vec()
    }

    fn tensors(&self, layout: &Layout) -> Vec<SharedTensor> {
        let d = self.context_dimension;
        let theta_c = layout.blocks.iter().map(|block| SharedTensor {
            name: format!("theta_c.{}", block.name),
            shape: block.shape.clone(),
            indices: block.range().collect(),
        });
        let columns = layout.blocks.iter().map(|block| SharedTensor {
            name: format!("W.{}", block.name),
            shape: block.shape.iter().copied().chain([d]).collect(),
            indices: block.range().flat_map(|i| (1..=d).map(move |k| k * self.weights + i)).collect(),
        });
        theta_c.chain(columns).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gradient of `g . theta(shared, xi) + penalty` against central differences.
    #[test]
    fn gradients_agree_with_finite_differences() {
        for kind in [Kind::CodaL1, Kind::CodaL2, Kind::Coda] {
            for adapted in [0..5, 1..4] {
                let rule = Coda { kind, weights: 5, adapted, context_dimension: 2 };
                let mut stream = Stream::new(7, "coda", &[]);
                let initial = (0..5).map(|_| stream.normal()).collect();
                let shared = rule.initial_shared(initial, 0.1, &mut stream);
                let context = vec![0.7, -1.3];
                let g: Vec<f64> = (0..5).map(|_| stream.normal()).collect();
                let value = |shared: &[f64], context: &[f64]| {
                    let mut weights = vec![0.0; 5];
                    rule.decode(shared, context, &mut weights);
                    weights.iter().zip(&g).map(|(w, g)| w * g).sum::<f64>() + 0.3 * rule.penalty(shared)
                };
                let (mut d_shared, mut d_context) = (vec![0.0; shared.len()], vec![0.0; 2]);
                rule.chain(&shared, &context, &g, &mut d_shared, &mut d_context);
                rule.add_penalty_gradient(&shared, 0.3, &mut d_shared);
                let h = 1e-6;
                let free = |i: usize| i < 5 || rule.adapted.contains(&(i % 5));
                for i in (0..shared.len()).filter(|&i| free(i)) {
                    let (mut up, mut down) = (shared.clone(), shared.clone());
                    up[i] += h;
                    down[i] -= h;
                    let difference = (value(&up, &context) - value(&down, &context)) / (2.0 * h);
                    approx::assert_relative_eq!(difference, d_shared[i], epsilon = 1e-7, max_relative = 1e-6);
                }
                for k in 0..2 {
                    let (mut up, mut down) = (context.clone(), context.clone());
                    up[k] += h;
                    down[k] -= h;
                    let difference = (value(&shared, &up) - value(&shared, &down)) / (2.0 * h);
                    approx::assert_relative_eq!(difference, d_context[k], epsilon = 1e-7, max_relative = 1e-6);
                }
            }
        }
    }

    #[test]
    fn the_parabola_touches_the_penalty_and_lies_above_it() {
        let mut stream = Stream::new(8, "coda", &[]);
        for kind in [Kind::CodaL1, Kind::CodaL2, Kind::Coda] {
            let rule = Coda { kind, weights: 4, adapted: 1..4, context_dimension: 2 };
            let at = rule.initial_shared(vec![0.0; 4], 1.0, &mut stream);
            let hold = rule.hold(&at);
            let parabola = |shared: &[f64]| {
                let held = (1..4).map(|row| hold[row] * rule.row_norm(shared, row).powi(2)).sum::<f64>();
                held + if kind == Kind::CodaL1 { rule.penalty(&at) / 2.0 } else { 0.0 }
            };
            approx::assert_relative_eq!(parabola(&at), rule.penalty(&at), max_relative = 1e-12);
            for _ in 0..20 {
                let other = rule.initial_shared(vec![0.0; 4], 1.0, &mut stream);
                assert!(parabola(&other) >= rule.penalty(&other) * (1.0 - 1e-12), "{kind:?}");
            }
        }
    }

    #[test]
    fn a_row_at_zero_has_no_gradient_and_is_held_there() {
        let rule = Coda { kind: Kind::CodaL1, weights: 1, adapted: 0..1, context_dimension: 2 };
        let mut gradient = vec![0.0; 3];
        rule.add_penalty_gradient(&[1.0, 0.0, 0.0], 0.3, &mut gradient);
        assert_eq!((gradient, rule.hold(&[1.0, 0.0, 0.0])), (vec![0.0; 3], vec![f64::INFINITY]));
    }
}
