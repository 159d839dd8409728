//! Whether a point `p` lies in the convex hull of points `p_i`: `p = sum_i w_i p_i` with `w_i >= 0`, `sum_i w_i = 1`, by linear programming.

use microlp::{ComparisonOp, OptimizationDirection, Problem, SolveOutcome};

/// The convex hull of points `[n][d_p]`.
pub struct Hull {
    points: Vec<Vec<f64>>,
    /// Smallest and greatest value of each coordinate.
    bounds: Vec<(f64, f64)>,
}

/// Distance outside that still counts as on the boundary, relative to the extent of a coordinate.
const TOLERANCE: f64 = 1e-9;
/// Distance by which the linear program may miss the point for rounding, relative to the extent of a coordinate.
const MISS: f64 = 1e-7;

impl Hull {
    /// The hull of `points [n][d_p]`.
    pub fn new(points: Vec<Vec<f64>>) -> Self {
        let d = points.first().map_or(0, Vec::len);
        let bounds = (0..d)
            .map(|j| {
                let values = points.iter().map(|point| point[j]);
                (values.clone().fold(f64::INFINITY, f64::min), values.fold(f64::NEG_INFINITY, f64::max))
            })
            .collect();
        Hull { points, bounds }
    }

    /// Whether parameters `[d_p]` lie in the hull; none where one is unknown, or the hull has no points.
    pub(crate) fn holds(&self, parameters: &[Option<f64>]) -> Option<bool> {
        let known: Vec<f64> = parameters.iter().copied().collect::<Option<_>>()?;
        (!known.is_empty() && !self.points.is_empty()).then(|| self.contains(&known))
    }

    /// Whether `point [d_p]` lies in the hull or on its boundary; false for a hull without points.
    pub fn contains(&self, point: &[f64]) -> bool {
        let inside_box = self.bounds.iter().zip(point).all(|(&(low, high), &value)| {
            let slack = TOLERANCE * (high - low).max(f64::MIN_POSITIVE);
            low - slack <= value && value <= high + slack
        });
        if self.points.is_empty() || !inside_box {
            return false;
        }
        if self.bounds.len() == 1 {
            return true;
        }
        let mut problem = Problem::new(OptimizationDirection::Minimize);
        // Minimise the distance, coordinate by coordinate, between the weighted sum and the point.
        let weights: Vec<_> = self.points.iter().map(|_| problem.add_var(0.0, (0.0, 1.0))).collect();
        problem.add_constraint(weights.iter().map(|&w| (w, 1.0)).collect::<Vec<_>>(), ComparisonOp::Eq, 1.0);
        for (j, &(low, high)) in self.bounds.iter().enumerate() {
            let extent = if high > low { high - low } else { 1.0 };
            let (over, under) =
                (problem.add_var(1.0, (0.0, f64::INFINITY)), problem.add_var(1.0, (0.0, f64::INFINITY)));
            let mut row: Vec<_> =
                weights.iter().zip(&self.points).map(|(&w, point)| (w, (point[j] - low) / extent)).collect();
            row.extend([(over, 1.0), (under, -1.0)]);
            problem.add_constraint(row, ComparisonOp::Eq, (point[j] - low) / extent);
        }
        matches!(problem.solve(), Ok(SolveOutcome::Solution(solution)) if solution.objective() <= MISS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_counts_625_of_the_2601_grid_points_in_the_hull() {
        let levels = [0.5, 0.75, 1.0];
        let hull = Hull::new(levels.iter().flat_map(|&b| levels.iter().map(move |&d| vec![b, d])).collect());
        let axis = |i: u32| 0.25 + 0.02 * f64::from(i);
        let inside =
            (0..51).flat_map(|i| (0..51).map(move |j| [axis(i), axis(j)])).filter(|p| hull.contains(p)).count();
        assert_eq!(inside, 625);
    }

    #[test]
    fn a_triangle_is_not_its_bounding_box() {
        let hull = Hull::new(vec![vec![0.0, 0.0], vec![1.0, 0.0], vec![0.0, 1.0]]);
        assert!(hull.contains(&[0.3, 0.3]) && hull.contains(&[0.5, 0.5]) && hull.contains(&[0.0, 1.0]));
        assert!(!hull.contains(&[0.51, 0.5]) && !hull.contains(&[0.9, 0.9]) && !hull.contains(&[-0.01, 0.5]));
        assert!(!Hull::new(vec![]).contains(&[]));
    }

    #[test]
    fn one_parameter_has_an_interval() {
        let hull = Hull::new(vec![vec![2.0], vec![5.0], vec![3.0]]);
        assert!(hull.contains(&[2.0]) && hull.contains(&[4.9]) && !hull.contains(&[5.1]));
    }
}
