//! Systems of linear equations that many right-hand sides share: `P A = L U` with partial pivoting.
//!
//! Matrices `[n, n]` are stored column by column; all loops run along columns. Source: G. Golub, C. Van Loan, Matrix Computations, 4th ed.,
//! algorithms 3.4.1 and 3.1.1.

use crate::expressions::LANES;

/// A factorised matrix, with its memory.
#[derive(Debug)]
pub(crate) struct Factorisation {
    size: usize,
    /// `L` below the diagonal, whose own is 1, and `U`.
    factors: Vec<f64>,
    /// `1 / U_kk`.
    reciprocals: Vec<f64>,
    /// The row that changed places with row `k` in step `k`.
    pivots: Vec<usize>,
}

impl Factorisation {
    /// For matrices of `size` rows.
    pub(crate) fn new(size: usize) -> Self {
        Factorisation { size, factors: vec![0.0; size * size], reciprocals: vec![0.0; size], pivots: vec![0; size] }
    }

    /// Factorises the `matrix` that is written to the memory given to it; false if that is singular or not finite.
    pub(crate) fn factorise(&mut self, matrix: impl FnOnce(&mut [f64])) -> bool {
        let n = self.size;
        matrix(&mut self.factors);
        for k in 0..n {
            let column = &self.factors[k * n..(k + 1) * n];
            let pivot = (k + 1..n).fold(k, |best, row| if column[row].abs() > column[best].abs() { row } else { best });
            if column[pivot] == 0.0 || !column[pivot].is_finite() {
                return false;
            }
            self.pivots[k] = pivot;
            if pivot != k {
                self.factors.chunks_exact_mut(n).for_each(|column| column.swap(k, pivot));
            }
            let (before, after) = self.factors.split_at_mut((k + 1) * n);
            let (head, below) = before[k * n..].split_at_mut(k + 1);
            let reciprocal = 1.0 / head[k];
            self.reciprocals[k] = reciprocal;
            below.iter_mut().for_each(|value| *value *= reciprocal);
            for column in after.chunks_exact_mut(n) {
                subtract(column[k], below, &mut column[k + 1..]);
            }
        }
        true
    }

    /// Replaces `values [n]` by the solution.
    pub(crate) fn solve(&self, values: &mut [f64]) {
        let n = self.size;
        for (k, &pivot) in self.pivots.iter().enumerate() {
            values.swap(k, pivot);
        }
        for (k, column) in self.factors.chunks_exact(n).enumerate() {
            let (head, below) = values.split_at_mut(k + 1);
            subtract(head[k], &column[k + 1..], below);
        }
        for (k, column) in self.factors.chunks_exact(n).enumerate().rev() {
            let (above, tail) = values.split_at_mut(k);
            tail[0] *= self.reciprocals[k];
            subtract(tail[0], column, above);
        }
    }

    /// The same of several columns `values [n, LANES]` side by side.
    pub(crate) fn solve_lanes(&self, values: &mut [[f64; LANES]]) {
        let n = self.size;
        for (k, &pivot) in self.pivots.iter().enumerate() {
            values.swap(k, pivot);
        }
        for (k, column) in self.factors.chunks_exact(n).enumerate() {
            let (head, below) = values.split_at_mut(k + 1);
            subtract_lanes(head[k], &column[k + 1..], below);
        }
        for (k, column) in self.factors.chunks_exact(n).enumerate().rev() {
            let (above, tail) = values.split_at_mut(k);
            for value in &mut tail[0] {
                *value *= self.reciprocals[k];
            }
            subtract_lanes(tail[0], column, above);
        }
    }
}

/// `to -= column factors`, over the length of `to`; what is zero of a matrix is skipped.
fn subtract_lanes(factors: [f64; LANES], column: &[f64], to: &mut [[f64; LANES]]) {
    for (values, of_column) in to.iter_mut().zip(column) {
        if *of_column != 0.0 {
            for (value, factor) in values.iter_mut().zip(factors) {
                *value -= factor * of_column;
            }
        }
    }
}

/// `to -= factor * column`, over the length of `to`.
fn subtract(factor: f64, column: &[f64], to: &mut [f64]) {
    if factor != 0.0 {
        to.iter_mut().zip(column).for_each(|(value, of_column)| *value -= factor * of_column);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_solve_whatever_the_order_of_the_rows() {
        for n in [1, 2, 5, 9] {
            // Zeros on the diagonal ask for pivots.
            let entry = |row: usize, column: usize| {
                if row == column {
                    0.0_f64.powi((n > 1).into())
                } else {
                    ((3 * row + 5 * column + 1) as f64).sin() * 10.0_f64.powi(row as i32)
                }
            };
            let mut factorisation = Factorisation::new(n);
            let write = |matrix: &mut [f64]| {
                (0..n * n).for_each(|cell| matrix[cell] = entry(cell % n, cell / n));
            };
            assert!(factorisation.factorise(write));
            let solution: Vec<f64> = (0..n).map(|k| 1.0 + k as f64).collect();
            let mut values: Vec<f64> =
                (0..n).map(|row| (0..n).map(|column| entry(row, column) * solution[column]).sum()).collect();
            let mut lanes: Vec<[f64; LANES]> =
                values.iter().map(|value| std::array::from_fn(|lane| (lane as f64 - 1.0) * value)).collect();
            factorisation.solve(&mut values);
            factorisation.solve_lanes(&mut lanes);
            for (lane, found) in lanes
                .iter()
                .zip(&values)
                .flat_map(|(lanes, value)| lanes.iter().zip([-value, 0.0, *value, 2.0 * value]))
            {
                assert!((lane - found).abs() < 1e-10 * (1.0 + found.abs()), "{n}: {lanes:?}");
            }
            for (found, expected) in values.iter().zip(&solution) {
                assert!((found - expected).abs() < 1e-10, "{n}: {values:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_solved_is_said() {
        let mut factorisation = Factorisation::new(2);
        assert!(!factorisation.factorise(|matrix| matrix.copy_from_slice(&[1.0, 2.0, 2.0, 4.0])));
        assert!(!factorisation.factorise(|matrix| matrix.copy_from_slice(&[f64::NAN, 2.0, 1.0, 4.0])));
        assert!(factorisation.factorise(|matrix| matrix.copy_from_slice(&[0.0, 2.0, 1.0, 4.0])));
    }
}
