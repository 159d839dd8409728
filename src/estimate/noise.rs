//! The noise of trajectories, estimated from neighbouring samples alone.
//!
//! ```text
//! s = min_k s_k,    s_k = 1.4826 median |sum_i w_i y_i|,    w_i ~ 1 / prod_{j != i} (t_i - t_j),  |w| = 1          (estimate)
//!
//! d_i = (y_i - a y_{i-1} - (1 - a) y_{i+1}) / sqrt(1 + a^2 + (1 - a)^2),     a = (t_{i+1} - t_i) / (t_{i+1} - t_{i-1})
//! sigma = max(1.4826 median |d_i|,  1.4826 median |d_i / y_i| rms(y),  q / sqrt(12))                               (upper estimate)
//! ```
//!
//! `y_i` values at times `t_i`; `s_k` is over all runs of `k + 1` neighbouring samples. A divided difference of order `k` is zero for
//! polynomials of lower degree and as large as the noise for independent errors, so the smallest order contains the least of the motion.
//! `d_i` is the distance from the straight line between the neighbours: noise, and curvature where samples are few. `q` is the smallest
//! distance of two different values, which rounding leaves. Medians ignore jumps and single wrong values.
//!
//! There are two because they err to different sides. The fit of a learned model is judged by its own validation error beside the noise, so
//! the noise is estimated as closely as possible. Known equations have no validation error: their residuals are compared with the noise
//! alone, which must not be underestimated, so curvature, relative noise and rounding count as noise.
//! Source: T. Gasser, L. Sroka, C. Jennen-Steinmetz, Residual variance and residual pattern in nonlinear regression, Biometrika 73 (1986)
//! 625-633.

use crate::least_squares::robust;

/// The greatest order `k`.
const GREATEST_ORDER: usize = 6;
/// Runs of samples that an order needs at least.
const FEWEST_RUNS: usize = 5;
/// Distances `d_i` that an upper estimate needs at least.
const FEWEST_NEIGHBOURS: usize = 4;

/// The noise `s` of one quantity observed in `series`, each a list of `(t, y)` with ascending times; none of too few samples.
pub(crate) fn estimate(series: &[Vec<(f64, f64)>]) -> Option<f64> {
    let of_order = |order: usize| {
        let sizes: Vec<f64> = series.iter().flat_map(|it| it.windows(order + 1)).map(divided_difference).collect();
        if sizes.len() < FEWEST_RUNS { None } else { robust::std_dev(sizes.into_iter()) }
    };
    (1..=GREATEST_ORDER).map_while(of_order).reduce(f64::min)
}

/// `|sum_i w_i y_i|` of neighbouring samples.
fn divided_difference(run: &[(f64, f64)]) -> f64 {
    let (mut sum, mut squares) = (0.0, 0.0);
    for &(t, y) in run {
        // In units of the length of the run, so that no product overflows or vanishes.
        let unit = run[run.len() - 1].0 - run[0].0;
        let weight = run.iter().filter(|it| it.0 != t).map(|it| unit / (t - it.0)).product::<f64>();
        sum += weight * y;
        squares += weight * weight;
    }
    (sum / squares.sqrt()).abs()
}

/// At least the noise, `sigma`, of one quantity observed in `series` as for [`estimate`], whether the noise is constant or proportional to the
/// value; none of too few samples.
pub(crate) fn upper_estimate(series: &[Vec<(f64, f64)>]) -> Option<f64> {
    let (mut differences, mut relative) = (Vec::new(), Vec::new());
    for [before, sample, after] in series.iter().flat_map(|it| it.array_windows()) {
        let a = (after.0 - sample.0) / (after.0 - before.0);
        let difference = sample.1 - a * before.1 - (1.0 - a) * after.1;
        let difference = difference / (1.0 + a * a + (1.0 - a).powi(2)).sqrt();
        differences.push(difference.abs());
        relative.push((difference / sample.1).abs());
    }
    if differences.len() < FEWEST_NEIGHBOURS {
        return None;
    }
    relative.retain(|it| it.is_finite());
    let mut values: Vec<f64> = series.iter().flatten().map(|sample| sample.1).collect();
    let size = (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt();
    values.sort_by(f64::total_cmp);
    let gaps = values.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0);
    let rounding = gaps.fold(f64::INFINITY, f64::min) / 12.0_f64.sqrt();
    let constant = robust::std_dev(differences.into_iter())?;
    let proportional = robust::std_dev(relative.into_iter()).unwrap_or(0.0) * size;
    Some([proportional, rounding].into_iter().filter(|it| it.is_finite()).fold(constant, f64::max))
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
            let found = estimate(&[motion(400, noise)]).unwrap();
            // A median over 400 dependent runs has an error of some percent.
            approx::assert_relative_eq!(found, noise, max_relative = 0.2);
        }
        // Without noise next to nothing is left, of 20 samples already.
        assert!(estimate(&[motion(20, 0.0)]).unwrap() < 1e-3);
    }

    #[test]
    fn jumps_and_short_series_are_no_noise() {
        let mut jumping = motion(60, 0.01);
        jumping.iter_mut().skip(30).for_each(|it| it.1 += 5.0);
        jumping[10].1 = 100.0;
        assert!(estimate(&[jumping]).unwrap() < 0.02);
        assert_eq!(estimate(&[motion(5, 0.1)]), None);
        let short: Vec<_> = (0..5).map(|_| motion(2, 0.1)).collect();
        assert!(estimate(&short).is_some());
    }

    fn noisy(noise: impl Fn(f64) -> f64, sampled: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
        let mut stream = Stream::new(3, "residuals", &[]);
        let sample = |t: f64, stream: &mut Stream| {
            let value = 3.0 * (-0.3 * t).exp() + (0.2 * t).sin() + 4.0;
            (t, value + noise(value) * stream.normal())
        };
        (0..400).map(|i| sample(sampled(i), &mut stream)).collect()
    }

    #[test]
    fn the_upper_estimate_covers_relative_noise_and_rounding() {
        let even = |i: usize| 0.05 * i as f64;
        let uneven = |i: usize| 0.05 * i as f64 + 0.02 * (i as f64).sin();
        for sampled in [&even as &dyn Fn(usize) -> f64, &uneven] {
            approx::assert_relative_eq!(
                upper_estimate(&[noisy(|_| 0.05, sampled)]).unwrap(),
                0.05,
                max_relative = 0.15
            );
            let relative = upper_estimate(&[noisy(|value| 0.02 * value, sampled)]).unwrap();
            assert!((0.02 * 3.5..0.02 * 6.5).contains(&relative), "{relative}");
        }
        // Wrong values and jumps do not count, but rounding does.
        let mut wrong = noisy(|_| 0.05, even);
        wrong.iter_mut().step_by(40).for_each(|sample| sample.1 += 100.0);
        wrong[200..].iter_mut().for_each(|sample| sample.1 += 7.0);
        assert!(upper_estimate(&[wrong]).unwrap() < 0.6);
        let rounded: Vec<(f64, f64)> =
            noisy(|_| 0.0, even).iter().map(|(t, y)| (*t, (y * 10.0).round() / 10.0)).collect();
        approx::assert_relative_eq!(upper_estimate(&[rounded]).unwrap(), 0.1 / 12.0_f64.sqrt(), max_relative = 0.01);
        assert_eq!(upper_estimate(&[vec![(0.0, 1.0); 5], vec![(0.0, 1.0)]]), None);
    }
}
