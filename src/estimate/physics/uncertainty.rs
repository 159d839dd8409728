//! What is not known of parameters and unknown initial values: how far they may be off, and directions of which nothing is known.
//!
//! ```text
//! std_dev(z) = sqrt(s' C s),    s = dz / d(theta, y_0)  [m];      unknown where z moves along a direction that is not determined
//! ```

use nalgebra::{DMatrix, DVector};

/// A direction moves a value if a unit along it, a factor of e or the whole range of a parameter, moves it by more than this share of its size.
const MOVES: f64 = 1e-6;

/// How far unknowns `[m]` may be off, in their coordinates.
#[derive(Clone, Debug)]
pub(crate) struct Uncertainty {
    /// `C [m, m]`, which says nothing along the directions below.
    pub covariance: DMatrix<f64>,
    /// What is not determined at all.
    pub undetermined: Vec<Undetermined>,
}

/// A direction along which the unknowns may lie anywhere.
#[derive(Clone, Debug)]
pub(crate) struct Undetermined {
    /// `[m]`.
    pub direction: DVector<f64>,
    /// Why, in words.
    pub reason: String,
}

impl Uncertainty {
    /// That `m` unknowns are known exactly.
    pub(crate) fn none(m: usize) -> Self {
        Uncertainty { covariance: DMatrix::zeros(m, m), undetermined: Vec::new() }
    }

    /// That nothing is known of `m` unknowns, for a `reason`.
    pub(crate) fn unknown(m: usize, reason: &str) -> Self {
        let mut all = Uncertainty::none(m);
        (0..m).for_each(|index| all.leave_open(index, reason));
        all
    }

    /// That nothing is known of one of them, for a `reason`.
    pub(crate) fn leave_open(&mut self, index: usize, reason: &str) {
        let mut direction = DVector::zeros(self.covariance.nrows());
        direction[index] = 1.0;
        self.undetermined.push(Undetermined { direction, reason: reason.to_owned() });
    }

    /// The same of unknowns that are those of the given indices, or known exactly.
    pub(crate) fn placed(&self, of: &[Option<usize>]) -> Self {
        let covariance = DMatrix::from_fn(of.len(), of.len(), |i, j| match (of[i], of[j]) {
            (Some(i), Some(j)) => self.covariance[(i, j)],
            _ => 0.0,
        });
        let placed = |it: &Undetermined| Undetermined {
            direction: DVector::from_iterator(of.len(), of.iter().map(|of| of.map_or(0.0, |of| it.direction[of]))),
            reason: it.reason.clone(),
        };
        Uncertainty { covariance, undetermined: self.undetermined.iter().map(placed).collect() }
    }

    /// The standard deviation of a value with these `slopes [m]`, which is of the given size; with `NaN` the reason where it is unknown.
    pub(crate) fn std_dev(&self, slopes: &[f64], size: f64) -> (f64, Option<&str>) {
        let slopes = DVector::from_column_slice(slopes);
        let moves = |it: &&Undetermined| it.direction.dot(&slopes).abs() > MOVES * size;
        if let Some(it) = self.undetermined.iter().find(moves) {
            return (f64::NAN, Some(&it.reason));
        }
        let variance = (&self.covariance * &slopes).dot(&slopes);
        // Of exact data it may be below zero by rounding.
        (if variance < 0.0 { 0.0 } else { variance.sqrt() }, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_along_an_open_direction_has_no_standard_deviation() {
        let mut uncertainty = Uncertainty::none(3);
        uncertainty.covariance[(0, 0)] = 4.0;
        uncertainty.leave_open(2, "nothing limits it");
        assert_eq!(uncertainty.std_dev(&[0.5, 9.0, 0.0], 1.0), (1.0, None));
        assert_eq!(uncertainty.std_dev(&[0.5, 9.0, 1e-9], 1.0), (1.0, None));
        let (std_dev, reason) = uncertainty.std_dev(&[0.5, 9.0, 1e-3], 1.0);
        assert!(std_dev.is_nan() && reason == Some("nothing limits it"));
        let placed = uncertainty.placed(&[Some(2), None, Some(0)]);
        assert_eq!(placed.std_dev(&[0.0, 1.0, 0.5], 1.0), (1.0, None));
        assert!(placed.std_dev(&[1.0, 0.0, 0.0], 1.0).0.is_nan());
        assert!(Uncertainty::unknown(2, "lost").std_dev(&[0.0, 1.0], 1.0).0.is_nan());
    }
}
