//! The noise of trajectories, told from neighbouring samples alone.
//!
//! ```text
//! s = min_k s_k,    s_k = 1.4826 median |sum_i w_i y_i|,    w_i ~ 1 / prod_{j != i} (t_i - t_j),  |w| = 1
//! ```
//!
//! over all runs of `k + 1` neighbouring samples `y_i` at times `t_i`. A divided difference of order `k` is zero of polynomials below that
//! degree, so what is smooth drops out order by order, and of independent errors each is as large as they are: the least order has the least
//! of the motion in it. The median leaves out jumps and single wrong values.
//! Source: T. Gasser, L. Sroka, C. Jennen-Steinmetz, Residual variance and residual pattern in nonlinear regression, Biometrika 73 (1986)
//! 625-633.

use crate::least_squares::robust;

/// The greatest order `k`.
const GREATEST_ORDER: usize = 6;
/// Runs without which an order tells nothing.
const FEWEST_RUNS: usize = 5;

/// The noise of one quantity that was observed in `series`, each of times in ascending order and their values; none of too few.
pub fn of_neighbours(series: &[Vec<(f64, f64)>]) -> Option<f64> {
    let of_order = |order: usize| {
        let sizes: Vec<f64> = series.iter().flat_map(|it| it.windows(order + 1)).map(difference).collect();
        if sizes.len() < FEWEST_RUNS { None } else { robust::deviation(sizes.into_iter()) }
    };
    (1..=GREATEST_ORDER).map_while(of_order).reduce(f64::min)
}

/// `|sum_i w_i y_i|` of a run of samples.
fn difference(run: &[(f64, f64)]) -> f64 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for &(t, y) in run {
        // In units of the run, of which there are few samples: no product is too small or too large to be a number.
        let unit = run[run.len() - 1].0 - run[0].0;
        let weight = run.iter().filter(|it| it.0 != t).map(|it| unit / (t - it.0)).product::<f64>();
        sum += weight * y;
        squares += weight * weight;
    }
    (sum / squares.sqrt()).abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// A smooth motion at uneven times, with errors of the size `noise`.
    fn motion(count: usize, noise: f64) -> Vec<(f64, f64)> {
        let mut stream = Stream::new(1, "noise", &[]);
        let time = |i: usize| 0.4 * i as f64 + 0.1 * (i as f64).sin();
        (0..count).map(|i| (time(i), 3.0 + (0.7 * time(i)).sin() + noise * stream.normal())).collect()
    }

    #[test]
    fn noise_is_told_from_motion() {
        for noise in [1e-3, 0.05, 2.0] {
            let found = of_neighbours(&[motion(400, noise)]).unwrap();
            // A median over 400 dependent runs has an error of some percent.
            approx::assert_relative_eq!(found, noise, max_relative = 0.2);
        }
        // Without noise next to nothing is left, of 20 samples already.
        assert!(of_neighbours(&[motion(20, 0.0)]).unwrap() < 1e-3);
    }

    #[test]
    fn jumps_and_short_series_are_no_noise() {
        let mut jumping = motion(60, 0.01);
        jumping.iter_mut().skip(30).for_each(|it| it.1 += 5.0);
        jumping[10].1 = 100.0;
        assert!(of_neighbours(&[jumping]).unwrap() < 0.02);
        assert_eq!(of_neighbours(&[motion(5, 0.1)]), None);
        let short: Vec<_> = (0..5).map(|_| motion(2, 0.1)).collect();
        assert!(of_neighbours(&short).is_some());
    }
}
