//! What one environment says of what all share, with its own unknowns eliminated.

use nalgebra::{DMatrix, DVector};

use crate::estimate::physics::normal::Normal;

/// Eigenvalues of the scaled information about own unknowns below this are rounding.
const SINGULAR: f64 = 1e-12;

/// The normal equations of one environment for `z [s]` after elimination.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// `f_e`.
    pub squares: f64,
    /// `g_e - E_e O_e^-1 h_e [s]`.
    pub gradient: DVector<f64>,
    /// `S_e - E_e O_e^-1 E_e' [s, s]`.
    pub information: DMatrix<f64>,
    /// `G_e [m, s]` of all `m` unknowns of the normal equations: how they follow `z`, which is the identity for `z` itself.
    pub follow: DMatrix<f64>,
}

impl Part {
    /// Of `normal`, whose unknowns at the places `shared [s]` are `z`, and whose `free` others move. None where a block of a trajectory is singular.
    pub(crate) fn new(normal: &Normal, shared: &[usize], free: &[usize]) -> Option<Part> {
        let (information, gradient) = (normal.information()?, normal.reduced_gradient()?);
        let own = information.select_rows(free).select_columns(free);
        let across = information.select_rows(free).select_columns(shared);
        let inverse = pseudo_inverse(&own);
        let follow_own = -(&inverse * &across);
        let mut follow = DMatrix::zeros(gradient.len(), shared.len());
        free.iter().enumerate().for_each(|(row, &place)| follow.row_mut(place).copy_from(&follow_own.row(row)));
        shared.iter().enumerate().for_each(|(column, &place)| follow[(place, column)] = 1.0);
        Some(Part {
            squares: normal.squares,
            gradient: gradient.select_rows(shared) + follow_own.tr_mul(&gradient.select_rows(free)),
            information: information.select_rows(shared).select_columns(shared) + across.tr_mul(&follow_own),
            follow,
        })
    }
}

/// The inverse of information `[m, m]` in the directions that it determines.
fn pseudo_inverse(information: &DMatrix<f64>) -> DMatrix<f64> {
    let m = information.nrows();
    if m == 0 {
        return DMatrix::zeros(0, 0);
    }
    let size: Vec<f64> = (0..m).map(|k| information[(k, k)].max(f64::MIN_POSITIVE).sqrt()).collect();
    let scaled = DMatrix::from_fn(m, m, |i, j| information[(i, j)] / (size[i] * size[j]));
    let eigen = scaled.symmetric_eigen();
    let mut inverse = DMatrix::zeros(m, m);
    for (value, vector) in eigen.eigenvalues.iter().zip(eigen.eigenvectors.column_iter()) {
        if *value > SINGULAR {
            inverse += vector * vector.transpose() / *value;
        }
    }
    DMatrix::from_fn(m, m, |i, j| inverse[(i, j)] / (size[i] * size[j]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_eliminated_is_what_the_whole_matrix_says() {
        let value = |i: usize, j: usize| (1.0 + (i * 7 + j * 3) as f64).powi(2).sin();
        let mut normal = Normal::new(4, std::iter::once(2));
        let mut jacobian = DMatrix::zeros(20, 6);
        let mut residuals = DVector::zeros(20);
        for i in 0..20 {
            let row: Vec<f64> = (0..6).map(|j| value(i, j)).collect();
            normal.add(0, 1.0, value(i, 8), &row);
            row.iter().enumerate().for_each(|(j, slope)| jacobian[(i, j)] = *slope);
            residuals[i] = value(i, 8);
        }
        normal.complete();
        let part = Part::new(&normal, &[1, 3], &[0, 2]).unwrap();
        let whole = jacobian.tr_mul(&jacobian);
        let covariance = whole.clone().try_inverse().unwrap();
        let of_shared = covariance.select_rows(&[1, 3]).select_columns(&[1, 3]);
        assert!((part.information.clone().try_inverse().unwrap() - of_shared).norm() < 1e-10);
        let step = -whole.cholesky().unwrap().solve(&jacobian.tr_mul(&residuals));
        let of_part = -part.information.cholesky().unwrap().solve(&part.gradient);
        assert!((of_part - step.select_rows(&[1, 3])).norm() < 1e-10);
    }
}
