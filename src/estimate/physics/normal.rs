//! Normal equations of least squares in which each trajectory has unknowns of its own.
//!
//! ```text
//! J'J = | A    B_1  ..  B_n |      g = | a   |      A [d, d] parameters, D_j [u, u] initial state of trajectory j
//!       | B_1' D_1          |          | b_1 |
//!       | ..        ..      |          | ..  |
//!       | B_n'          D_n |          | b_n |
//!
//! (A - sum_j B_j D_j^-1 B_j') s = -(a - sum_j B_j D_j^-1 b_j),    s_j = -D_j^-1 (b_j + B_j' s)
//! ```
//!
//! The cost is linear in the number of trajectories, not cubic. The matrix on the left is the information about the parameters when the
//! initial states are unknown; its inverse is their block of `(J'J)^-1`.
//! Source: A. Bjorck, Numerical Methods for Least Squares Problems (1996), section 6.3.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};

/// Eigenvalues of the scaled information below this are rounding and errors of integration.
const SINGULAR: f64 = 1e-12;
/// A parameter whose effect on the values is below this share of the greatest one has none.
const NO_EFFECT: f64 = 1e-9;
/// An unknown has a part in a direction of length 1 if it moves by more than this along it.
pub(super) const PART: f64 = 1e-3;

/// `J'J`, `g = J'r` and `|r|^2`.
#[derive(Clone, Debug)]
pub(crate) struct Normal {
    /// `|r|^2`, or twice Huber's loss.
    pub squares: f64,
    /// `A [d, d]`; only the lower triangle until [`Normal::complete`].
    pub matrix: DMatrix<f64>,
    /// `a [d]`.
    pub gradient: DVector<f64>,
    /// One block per trajectory.
    pub trajectories: Vec<Block>,
}

/// The part of one trajectory for its own unknowns.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// `D [u, u]`; as [`Normal::matrix`].
    matrix: DMatrix<f64>,
    /// `b [u]`.
    pub gradient: DVector<f64>,
    /// `B [d, u]`.
    cross: DMatrix<f64>,
}

impl Block {
    /// Leaves an unknown of its own out of every step.
    pub(crate) fn hold(&mut self, index: usize) {
        self.matrix.row_mut(index).fill(0.0);
        self.matrix.column_mut(index).fill(0.0);
        self.matrix[(index, index)] = 1.0;
        self.cross.column_mut(index).fill(0.0);
        self.gradient[index] = 0.0;
    }
}

/// What is known of the unknowns of one trajectory with the parameters held.
pub(crate) struct Own {
    /// `D^-1 [u, u]`; where `D` is singular its pseudo-inverse, which says nothing along the directions below.
    pub inverse: DMatrix<f64>,
    /// How they follow the parameters, `D^-1 B' [u, d]`, with the other sign.
    pub carried: DMatrix<f64>,
    /// Directions `[u]`, of length 1, that the values do not determine.
    pub undetermined: Vec<DVector<f64>>,
    /// Which `[u]` have a part in one of these.
    is_open: Vec<bool>,
}

/// A step of all unknowns.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// `[d]`.
    pub parameters: DVector<f64>,
    /// `[u]` of each trajectory.
    pub initial: Vec<DVector<f64>>,
}

impl Step {
    /// Euclidean length.
    pub(crate) fn length(&self) -> f64 {
        let of_initial: f64 = self.initial.iter().map(DVector::norm_squared).sum();
        (self.parameters.norm_squared() + of_initial).sqrt()
    }

    /// A share of the step.
    pub(crate) fn scaled(self, share: f64) -> Step {
        Step {
            parameters: self.parameters * share,
            initial: self.initial.into_iter().map(|own: DVector<f64>| own * share).collect(),
        }
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.length().is_finite()
    }
}

impl Normal {
    /// Without residuals: `d` parameters, and trajectories with these numbers of unknowns of their own.
    pub(crate) fn new(d: usize, own: impl Iterator<Item = usize>) -> Self {
        let block =
            |u| Block { matrix: DMatrix::zeros(u, u), gradient: DVector::zeros(u), cross: DMatrix::zeros(d, u) };
        Normal {
            squares: 0.0,
            matrix: DMatrix::zeros(d, d),
            gradient: DVector::zeros(d),
            trajectories: own.map(block).collect(),
        }
    }

    /// Adds a residual of a trajectory, with its derivatives `row` by the parameters `[d]` and then by its own unknowns `[u]`, which may
    /// be followed by more values.
    pub(crate) fn add(&mut self, trajectory: usize, weight: f64, residual: f64, row: &[f64]) {
        let d = self.gradient.len();
        let (of_parameters, own) = row.split_at(d);
        let residual = weight * residual;
        let square = weight * weight;
        self.squares += residual * residual;
        for (i, slope) in of_parameters.iter().enumerate() {
            self.gradient[i] += weight * slope * residual;
            for (j, other) in of_parameters[..=i].iter().enumerate() {
                self.matrix[(i, j)] += square * slope * other;
            }
        }
        let block = &mut self.trajectories[trajectory];
        for (i, slope) in own.iter().take(block.gradient.len()).enumerate() {
            block.gradient[i] += weight * slope * residual;
            for (j, other) in own[..=i].iter().enumerate() {
                block.matrix[(i, j)] += square * slope * other;
            }
            for (j, other) in of_parameters.iter().enumerate() {
                block.cross[(j, i)] += square * slope * other;
            }
        }
    }

    /// Adds to the gradient alone: `row` as for [`Normal::add`].
    pub(crate) fn add_gradient(&mut self, trajectory: usize, row: &[f64]) {
        let (of_parameters, own) = row.split_at(self.gradient.len());
        self.gradient.iter_mut().zip(of_parameters).for_each(|(sum, slope)| *sum += slope);
        self.trajectories[trajectory].gradient.iter_mut().zip(own).for_each(|(sum, slope)| *sum += slope);
    }

    /// The same with the parameters `kept` alone, the others held.
    pub(crate) fn select(&self, kept: &[usize]) -> Normal {
        let block = |block: &Block| Block { cross: block.cross.select_rows(kept), ..block.clone() };
        Normal {
            squares: self.squares,
            matrix: self.matrix.select_rows(kept).select_columns(kept),
            gradient: self.gradient.select_rows(kept),
            trajectories: self.trajectories.iter().map(block).collect(),
        }
    }

    /// Fills the upper triangles; to be called after the last residual.
    pub(crate) fn complete(&mut self) {
        self.matrix.fill_upper_triangle_with_lower_triangle();
        self.trajectories.iter_mut().for_each(|block| block.matrix.fill_upper_triangle_with_lower_triangle());
    }

    /// The step `s` of `(J'J + damping diag(J'J)) s = -g`, with the parameters `fixed [d]` kept; none where it has no solution.
    pub(crate) fn step(&self, damping: f64, fixed: &[bool]) -> Option<Step> {
        let factors = self.factors(damping)?;
        let mut matrix = damped(&self.matrix, damping);
        let mut gradient = self.gradient.clone();
        for (block, factor) in self.trajectories.iter().zip(&factors) {
            matrix -= &block.cross * factor.solve(&block.cross.transpose());
            gradient -= &block.cross * factor.solve(&block.gradient);
        }
        for (k, _) in fixed.iter().enumerate().filter(|(_, fixed)| **fixed) {
            matrix.row_mut(k).fill(0.0);
            matrix.column_mut(k).fill(0.0);
            matrix[(k, k)] = 1.0;
            gradient[k] = 0.0;
        }
        let parameters = -matrix.cholesky()?.solve(&gradient);
        let initial = self
            .trajectories
            .iter()
            .zip(&factors)
            .map(|(block, factor)| -factor.solve(&(&block.gradient + block.cross.tr_mul(&parameters))))
            .collect();
        Some(Step { parameters, initial }).filter(Step::is_finite)
    }

    /// The decrease of `|r|^2` by a step if the residuals are linear: `-(2 g's + s'J'J s)`.
    pub(crate) fn predicted_reduction(&self, step: &Step) -> f64 {
        let s = &step.parameters;
        let mut change = 2.0 * self.gradient.dot(s) + (&self.matrix * s).dot(s);
        for (block, own) in self.trajectories.iter().zip(&step.initial) {
            change += 2.0 * block.gradient.dot(own) + (&block.matrix * own).dot(own);
            change += 2.0 * (&block.cross * own).dot(s);
        }
        -change
    }

    /// The information `[d, d]` about the parameters, `A - sum_j B_j D_j^-1 B_j'`; none where a block is singular.
    pub(crate) fn information(&self) -> Option<DMatrix<f64>> {
        let mut matrix = self.matrix.clone();
        for (block, factor) in self.trajectories.iter().zip(self.factors(0.0)?) {
            matrix -= &block.cross * factor.solve(&block.cross.transpose());
        }
        Some(matrix)
    }

    /// The gradient `[d]` for the parameters with the unknowns of trajectories at their minimum, `a - sum_j B_j D_j^-1 b_j`.
    pub(crate) fn reduced_gradient(&self) -> Option<DVector<f64>> {
        let mut gradient = self.gradient.clone();
        for (block, factor) in self.trajectories.iter().zip(self.factors(0.0)?) {
            gradient -= &block.cross * factor.solve(&block.gradient);
        }
        Some(gradient)
    }

    /// A step of the parameters by `by [d]`, with those of each trajectory to their minimum there.
    pub(crate) fn followed(&self, by: DVector<f64>) -> Option<Step> {
        let pairs = self.trajectories.iter().zip(self.factors(0.0)?);
        let initial =
            pairs.map(|(block, factor)| -factor.solve(&(&block.gradient + block.cross.tr_mul(&by)))).collect();
        Some(Step { parameters: by, initial }).filter(Step::is_finite)
    }

    /// How the unknowns `[u, s]` of each trajectory follow where the parameters move along `directions [d, s]`.
    pub(crate) fn own_following(&self, directions: &DMatrix<f64>) -> Option<Vec<DMatrix<f64>>> {
        let pairs = self.trajectories.iter().zip(self.factors(0.0)?);
        Some(pairs.map(|(block, factor)| -factor.solve(&block.cross.tr_mul(directions))).collect())
    }

    /// `B_j D_j^-1 [d, u]` of each trajectory; none where a block is singular.
    pub(crate) fn projections(&self) -> Option<Vec<DMatrix<f64>>> {
        let pairs = self.trajectories.iter().zip(self.factors(0.0)?);
        Some(pairs.map(|(block, factor)| factor.solve(&block.cross.transpose()).transpose()).collect())
    }

    /// What is known of a trajectory's own unknowns with the parameters held.
    pub(crate) fn own(&self, trajectory: usize) -> Own {
        let Block { matrix, cross, .. } = &self.trajectories[trajectory];
        let (inverse, undetermined, is_open) = match matrix.clone().cholesky() {
            Some(factor) => (factor.inverse(), Vec::new(), vec![false; matrix.nrows()]),
            None => pseudo_inverse(matrix),
        };
        Own { carried: &inverse * cross.transpose(), inverse, undetermined, is_open }
    }

    /// `D^-1 e_i [u]` of the unknown `index` of a trajectory's own, and `B D^-1 e_i [d]`; none where it is not determined.
    pub(crate) fn own_column(&self, trajectory: usize, index: usize) -> Option<(DVector<f64>, DVector<f64>)> {
        let own = self.own(trajectory);
        (!own.is_open[index]).then(|| (own.inverse.column(index).into_owned(), own.carried.row(index).transpose()))
    }

    /// The variance of the unknown `index` of a trajectory's own, in units of `s^2`: of `(J'J)^-1`, the entry
    /// `(D^-1 + D^-1 B' M B D^-1)_ii` with `M` the inverse of the information. None where it is not determined.
    pub(crate) fn own_variance(&self, trajectory: usize, index: usize) -> Option<f64> {
        let (column, carried) = self.own_column(trajectory, index)?;
        let by_parameters =
            if carried.is_empty() { 0.0 } else { self.information()?.cholesky()?.solve(&carried).dot(&carried) };
        Some(column[index] + by_parameters)
    }

    /// Whether the unknown `index` of a trajectory's own, of this variance in units of `s^2`, is determined to working precision.
    pub(crate) fn is_own_determined(&self, trajectory: usize, index: usize, variance: f64) -> bool {
        variance * self.trajectories[trajectory].matrix[(index, index)] * SINGULAR < 1.0
    }

    /// Adds to the square of a trajectory's own unknown `index` and to its gradient.
    pub(crate) fn add_own(&mut self, trajectory: usize, index: usize, (square, gradient): (f64, f64)) {
        let block = &mut self.trajectories[trajectory];
        block.matrix[(index, index)] += square;
        block.gradient[index] += gradient;
    }

    /// Which parameters the information does not determine to working precision: those with a part in an eigenvector of the scaled
    /// information whose eigenvalue is no more than rounding. Parameters `fixed [d]` are left out.
    pub(crate) fn undetermined(&self, fixed: &[bool]) -> Vec<bool> {
        let d = fixed.len();
        let Some(information) = self.information() else { return vec![true; d] };
        // A parameter that moves no value by more than rounding is undetermined by itself.
        let size: Vec<f64> = (0..d).map(|k| self.matrix[(k, k)].sqrt()).collect();
        let greatest = size.iter().fold(0.0, |greatest: f64, size| greatest.max(*size));
        let mut undetermined: Vec<bool> = (0..d).map(|k| !fixed[k] && size[k] <= NO_EFFECT * greatest).collect();
        let kept: Vec<usize> = (0..d).filter(|&k| !fixed[k] && !undetermined[k]).collect();
        if kept.is_empty() {
            return undetermined;
        }
        let scaled = DMatrix::from_fn(kept.len(), kept.len(), |i, j| {
            information[(kept[i], kept[j])] / (size[kept[i]] * size[kept[j]])
        });
        let eigen = scaled.symmetric_eigen();
        for (eigenvalue, vector) in eigen.eigenvalues.iter().zip(eigen.eigenvectors.column_iter()) {
            if *eigenvalue < SINGULAR {
                let parts = kept.iter().zip(vector.iter());
                parts.filter(|(_, part)| part.abs() > PART).for_each(|(&k, _)| undetermined[k] = true);
            }
        }
        undetermined
    }

    /// Cholesky factors of `D_j + damping diag(D_j)`.
    fn factors(&self, damping: f64) -> Option<Vec<Cholesky<f64, Dyn>>> {
        self.trajectories.iter().map(|block| damped(&block.matrix, damping).cholesky()).collect()
    }
}

/// The pseudo-inverse `[u, u]` of an information, the directions `[u]` of length 1 along which there is none, and which unknowns `[u]` have a part in
/// them: by the eigenvectors of the matrix that is scaled to a diagonal of 1.
fn pseudo_inverse(matrix: &DMatrix<f64>) -> (DMatrix<f64>, Vec<DVector<f64>>, Vec<bool>) {
    let u = matrix.nrows();
    let mut inverse = DMatrix::zeros(u, u);
    if u == 0 || matrix.iter().any(|value| !value.is_finite()) {
        let unit = |index: usize| DVector::from_fn(u, |row, _| f64::from(u8::from(row == index)));
        return (inverse, (0..u).map(unit).collect(), vec![true; u]);
    }
    let size: Vec<f64> =
        matrix.diagonal().iter().map(|square| if *square > 0.0 { square.sqrt() } else { 1.0 }).collect();
    let eigen = DMatrix::from_fn(u, u, |i, j| matrix[(i, j)] / (size[i] * size[j])).symmetric_eigen();
    let (mut undetermined, mut is_open) = (Vec::new(), vec![false; u]);
    for (eigenvalue, vector) in eigen.eigenvalues.iter().zip(eigen.eigenvectors.column_iter()) {
        let direction = DVector::from_fn(u, |row, _| vector[row] / size[row]);
        if *eigenvalue > SINGULAR {
            inverse += &direction * direction.transpose() / *eigenvalue;
        } else {
            undetermined.push(direction.normalize());
            is_open.iter_mut().zip(vector.iter()).for_each(|(open, part)| *open |= part.abs() > PART);
        }
    }
    (inverse, undetermined, is_open)
}

/// `matrix + damping diag(matrix)`, with a small diagonal added so that a rank deficient one has a factor.
fn damped(matrix: &DMatrix<f64>, damping: f64) -> DMatrix<f64> {
    let mut matrix = matrix.clone();
    let floor = if matrix.is_empty() { 0.0 } else { matrix.diagonal().max() * 1e-15 + f64::MIN_POSITIVE };
    for k in 0..matrix.nrows() {
        let diagonal = matrix[(k, k)];
        matrix[(k, k)] = diagonal + damping * diagonal.max(floor) + floor;
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Residuals of two trajectories with 2 parameters and 2 and 1 unknowns of their own.
    fn example() -> (Normal, DMatrix<f64>, DVector<f64>) {
        let value = |i: usize, j: usize| (1.0 + (i * 7 + j * 3) as f64).powi(2).sin();
        let own = [2, 1];
        let mut normal = Normal::new(2, own.into_iter());
        let mut jacobian = DMatrix::zeros(12, 5);
        let mut residuals = DVector::zeros(12);
        for i in 0..12 {
            let trajectory = i % 2;
            let (weight, residual) = (0.5 + value(i, 9).abs(), value(i, 8));
            // A row may have room for more unknowns than the trajectory has.
            let row: Vec<f64> = (0..4).map(|j| value(i, j)).collect();
            normal.add(trajectory, weight, residual, &row);
            residuals[i] = weight * residual;
            for (j, slope) in row.iter().enumerate().take(2 + own[trajectory]) {
                jacobian[(i, if j < 2 { j } else { j + 2 * trajectory })] = weight * slope;
            }
        }
        normal.complete();
        (normal, jacobian, residuals)
    }

    fn flat(step: &Step) -> DVector<f64> {
        let parts = std::iter::once(&step.parameters).chain(&step.initial);
        DVector::from_vec(parts.flat_map(|part| part.iter().copied().collect::<Vec<_>>()).collect())
    }

    #[test]
    fn steps_equal_those_of_the_whole_matrix() {
        let (normal, jacobian, residuals) = example();
        for damping in [0.0, 0.3] {
            let step = flat(&normal.step(damping, &[false; 2]).unwrap());
            let mut whole = jacobian.tr_mul(&jacobian);
            let diagonal = whole.diagonal();
            (0..5).for_each(|k| whole[(k, k)] += damping * diagonal[k]);
            let expected = -whole.cholesky().unwrap().solve(&jacobian.tr_mul(&residuals));
            assert!((&step - &expected).norm() < 1e-10 * expected.norm(), "{step} instead of {expected}");
        }
        let step = normal.step(0.0, &[false; 2]).unwrap();
        let after = (&residuals + &jacobian * flat(&step)).norm_squared();
        assert!((normal.squares - residuals.norm_squared()).abs() < 1e-12);
        assert!((normal.predicted_reduction(&step) - (normal.squares - after)).abs() < 1e-10);
        let inverse = jacobian.tr_mul(&jacobian).try_inverse().unwrap();
        let covariance = normal.information().unwrap().try_inverse().unwrap();
        assert!((covariance - inverse.view((0, 0), (2, 2))).norm() < 1e-10);
        for (trajectory, index, place) in [(0, 0, 2), (0, 1, 3), (1, 0, 4)] {
            let variance = normal.own_variance(trajectory, index).unwrap();
            assert!((variance - inverse[(place, place)]).abs() < 1e-10 * variance, "{variance}");
        }
    }

    #[test]
    fn parameters_that_only_move_together_are_not_determined() {
        let mut normal = Normal::new(4, std::iter::once(0));
        for i in 0..9_u32 {
            let (a, b) = (f64::from(i).sin(), f64::from(i).cos());
            normal.add(0, 1.0, 0.1, &[a, b, -3.0 * b, 0.0]);
        }
        normal.complete();
        assert_eq!(normal.undetermined(&[false; 4]), [false, true, true, true]);
        assert_eq!(normal.undetermined(&[false, true, false, false]), [false, false, false, true]);
    }

    /// One unknown has no effect, and two act only by their sum: what is left is that of the other and of the sum.
    #[test]
    fn own_unknowns_that_are_not_determined_leave_the_others_known() {
        let mut normal = Normal::new(1, std::iter::once(4));
        for i in 0..9_u32 {
            let (a, b) = (f64::from(i).sin(), f64::from(i).cos());
            normal.add(0, 1.0, 0.1, &[a * b, a, 0.0, 2.0 * b, 2.0 * b]);
        }
        normal.complete();
        let own = normal.own(0);
        assert_eq!(own.undetermined.len(), 2);
        let known = [(0, 0), (0, 2), (2, 2)].map(|(i, j)| normal.trajectories[0].matrix[(i, j)]);
        let determinant = known[0] * known[2] - known[1] * known[1];
        let variance = known[2] / determinant;
        assert!((own.inverse[(0, 0)] - variance).abs() < 1e-12 * variance);
        let sum = DVector::from_vec(vec![0.0, 0.0, 1.0, 1.0]);
        let (found, expected) = ((&own.inverse * &sum).dot(&sum), known[0] / determinant);
        assert!((found - expected).abs() < 1e-12 * expected, "{found} {expected}");
        assert!(own.undetermined.iter().all(|it| it.dot(&sum).abs() < 1e-12 && it[0].abs() < 1e-12));
        assert!(normal.own_variance(0, 0).is_some_and(|it| it >= variance));
        assert!((1..4).all(|index| normal.own_variance(0, index).is_none()));
    }

    #[test]
    fn own_unknowns_that_are_held_are_left_out_of_the_step() {
        let (mut normal, jacobian, residuals) = example();
        normal.trajectories[0].hold(1);
        let step = flat(&normal.step(0.0, &[false; 2]).unwrap());
        let rest = jacobian.clone().remove_column(3);
        let expected = -rest.tr_mul(&rest).cholesky().unwrap().solve(&rest.tr_mul(&residuals));
        assert_eq!(step[3], 0.0);
        assert!((step.remove_row(3) - &expected).norm() < 1e-10 * expected.norm());
    }

    #[test]
    fn fixed_parameters_are_left_out_of_the_step() {
        let (normal, jacobian, residuals) = example();
        let step = flat(&normal.step(0.0, &[true, false]).unwrap());
        let rest = jacobian.columns(1, 4).into_owned();
        let expected = -rest.tr_mul(&rest).cholesky().unwrap().solve(&rest.tr_mul(&residuals));
        assert_eq!(step[0], 0.0);
        assert!((step.rows(1, 4) - &expected).norm() < 1e-10 * expected.norm());
    }
}
