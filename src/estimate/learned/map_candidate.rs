//! One map from contexts to parameters, fitted by least squares, with its leave-one-out errors.
//!
//! The error of an environment that is left out is `e_i = r_i / (1 - h_ii)`, `h` the diagonal of the hat matrix. Where the map is of a
//! power, `q = p^s`, its error in the parameter is `p(q_i - e_i) - p_i`.

use nalgebra::{DMatrix, Dyn, OMatrix, SVD};

use crate::checkpoint::{MapKind, Power};

/// A map that may be chosen.
pub(super) struct Candidate {
    pub kind: MapKind,
    /// `[d_p][terms]`.
    pub coefficients: Vec<Vec<f64>>,
    /// `[d_p]` of the power map, else empty.
    pub powers: Vec<Power>,
    /// `[d_p]`.
    pub residual_variance: Vec<f64>,
    /// `[terms][terms]`.
    pub inverse_gram: Vec<Vec<f64>>,
    /// Root mean square of the errors over the standard deviations of their parameters; absent where there are no more environments
    /// than terms, or where it is not finite.
    pub leave_one_out: Option<f64>,
}

impl Candidate {
    /// For the standardised contexts `z [E, d]` of environments with the parameters `known [E, d_p]`.
    pub(super) fn fit(kind: MapKind, z: &[Vec<f64>], known: &DMatrix<f64>) -> Self {
        let (count, parameters) = known.shape();
        let design = Design::new(kind, z);
        let columns = (0..parameters).map(|j| {
            let values: Vec<f64> = known.column(j).iter().copied().collect();
            design.best(&values)
        });
        let columns: Vec<Column> = columns.collect();
        let mut sum = 0.0;
        for (j, column) in columns.iter().enumerate() {
            let variance = known.column(j).variance();
            if variance <= (1e-12 * known.column(j).amax()).powi(2) {
                sum = f64::NAN; // a parameter that does not vary has no spread to measure errors by
                break;
            }
            for error in &column.left_out {
                sum += error * error / variance.max(f64::MIN_POSITIVE);
            }
        }
        let leave_one_out = (sum / (count * parameters) as f64).sqrt();
        let terms = design.matrix.ncols();
        Candidate {
            kind,
            powers: match kind {
                MapKind::Power => columns.iter().map(|column| column.power).collect(),
                MapKind::Affine | MapKind::Quadratic => Vec::new(),
            },
            residual_variance: columns.iter().map(|column| column.residual_variance).collect(),
            inverse_gram: design.inverse_gram(),
            coefficients: columns.into_iter().map(|column| column.coefficients).collect(),
            leave_one_out: Some(leave_one_out).filter(|error| count > terms && error.is_finite()),
        }
    }
}

/// What all parameters of a candidate share: the terms of every environment.
struct Design {
    kind: MapKind,
    /// `[E, terms]`.
    matrix: DMatrix<f64>,
    decomposition: SVD<f64, Dyn, Dyn>,
    /// Singular values below it are taken for zero.
    tolerance: f64,
    /// The left singular vectors in use; the hat matrix is `U U'`.
    left: OMatrix<f64, Dyn, Dyn>,
}

/// The fit of one parameter.
struct Column {
    power: Power,
    coefficients: Vec<f64>,
    residual_variance: f64,
    /// Errors of left-out environments in the parameter `[E]`.
    left_out: Vec<f64>,
}

impl Design {
    fn new(kind: MapKind, z: &[Vec<f64>]) -> Self {
        let rows: Vec<Vec<f64>> = z.iter().map(|z| kind.features(z)).collect();
        let matrix = DMatrix::from_fn(rows.len(), rows.first().map_or(0, Vec::len), |i, m| rows[i][m]);
        let decomposition = matrix.clone().svd(true, true);
        let tolerance = 1e-10 * decomposition.singular_values.max();
        let rank = decomposition.rank(tolerance);
        let left = decomposition.u.as_ref().expect("the left factor was computed").columns(0, rank).into_owned();
        Design { kind, matrix, decomposition, tolerance, left }
    }

    /// The fit of the power of a parameter `p [E]` with the least error; of `p` itself unless another has less than half its error.
    fn best(&self, p: &[f64]) -> Column {
        let plain = self.fit(Power::ONE, p);
        let may_be_power = self.kind == MapKind::Power && p.len() > self.matrix.ncols() && p.iter().all(|p| *p > 0.0);
        let squares = |column: &Column| column.left_out.iter().map(|error| error * error).sum::<f64>();
        let mut least = squares(&plain) / 4.0;
        let mut best = plain;
        for power in Power::ALL.into_iter().filter(|power| may_be_power && *power != Power::ONE) {
            let column = self.fit(power, p);
            let error = squares(&column);
            // False also where a left-out environment has no parameter, which is NaN.
            if error < least {
                (least, best) = (error, column);
            }
        }
        best
    }

    fn fit(&self, power: Power, p: &[f64]) -> Column {
        let (count, terms) = self.matrix.shape();
        let q = DMatrix::from_fn(count, 1, |i, _| power.raise(p[i]));
        let solution = self.decomposition.solve(&q, self.tolerance).expect("both factors were computed");
        let residuals = &q - &self.matrix * &solution;
        let degrees = count.saturating_sub(terms) as f64;
        let left_out = (0..count).map(|i| {
            let error = residuals[i] / (1.0 - self.left.row(i).norm_squared());
            if power == Power::ONE { error } else { p[i] - power.invert(q[i] - error) }
        });
        Column {
            power,
            residual_variance: if degrees > 0.0 { residuals.norm_squared() / degrees } else { 0.0 },
            left_out: left_out.collect(),
            coefficients: solution.iter().copied().collect(),
        }
    }

    /// `(Phi' Phi)^-1 [terms][terms]`.
    fn inverse_gram(&self) -> Vec<Vec<f64>> {
        let terms = self.matrix.ncols();
        let inverse = (self.matrix.transpose() * &self.matrix).pseudo_inverse(self.tolerance * self.tolerance);
        let inverse = inverse.unwrap_or_else(|_| DMatrix::zeros(terms, terms));
        inverse.row_iter().map(|row| row.iter().copied().collect()).collect()
    }
}
