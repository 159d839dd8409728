//! What samples, and what a fit leaves of them, tell of noise.
//!
//! ```text
//! d_i = (y_i - a y_{i-1} - (1 - a) y_{i+1}) / sqrt(1 + a^2 + (1 - a)^2),     a = (t_{i+1} - t_i) / (t_{i+1} - t_{i-1})
//! sigma = max(1.4826 median |d_i|,  1.4826 median |d_i / y_i| rms(y),  q / sqrt(12))
//! ```
//!
//! `y_i` values of a channel at times `t_i`. What lies beside the straight line between its neighbours is noise, and curvature where samples
//! are few: `sigma` is at least the noise, for white noise whose size is constant or goes with the value. `q` is the least distance of two
//! different values: numbers that were rounded are not known better. The median leaves out jumps.
//! Source: T. Gasser, L. Sroka, C. Jennen-Steinmetz, Residual variance and residual pattern in nonlinear regression, Biometrika 73 (1986)
//! 625-633.

use crate::least_squares::robust;

/// Neighbours below which nothing is told.
const FEWEST: usize = 4;

/// The noise `sigma` of a channel by `runs` of samples `(t, y)`, times ascending in each; none of too few.
pub fn noise_of(runs: &[Vec<(f64, f64)>]) -> Option<f64> {
    let (mut differences, mut relative) = (Vec::new(), Vec::new());
    for [before, sample, after] in runs.iter().flat_map(|run| run.array_windows()) {
        let a = (after.0 - sample.0) / (after.0 - before.0);
        let difference = sample.1 - a * before.1 - (1.0 - a) * after.1;
        let difference = difference / (1.0 + a * a + (1.0 - a).powi(2)).sqrt();
        differences.push(difference.abs());
        relative.push((difference / sample.1).abs());
    }
    if differences.len() < FEWEST {
        return None;
    }
    relative.retain(|it| it.is_finite());
    let mut values: Vec<f64> = runs.iter().flatten().map(|sample| sample.1).collect();
    let size = (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64).sqrt();
    values.sort_by(f64::total_cmp);
    let gaps = values.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 0.0);
    let rounding = gaps.fold(f64::INFINITY, f64::min) / 12.0_f64.sqrt();
    let constant = robust::deviation(differences.into_iter())?;
    let proportional = robust::deviation(relative.into_iter()).unwrap_or(0.0) * size;
    Some([proportional, rounding].into_iter().filter(|it| it.is_finite()).fold(constant, f64::max))
}

/// Correlation of residuals with those of the sample before, `sum r_i r_{i+1} / sum r_i^2` over `runs` of them; 0 of none.
pub fn lag_one(runs: &[Vec<f64>]) -> f64 {
    let products: f64 = runs.iter().flat_map(|run| run.windows(2)).map(|pair| pair[0] * pair[1]).sum();
    let squares: f64 = runs.iter().flatten().map(|residual| residual * residual).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// What intervals miss of residuals with that [`lag_one`] correlation, `count` of them, in words; none where it is small, or may be chance.
/// A mean of such residuals has `(1 + rho) / (1 - rho)` times the variance of a mean of independent ones.
pub fn serial_correlation(rho: f64, count: usize) -> Option<String> {
    let wider = ((1.0 + rho) / (1.0 - rho).max(1e-6)).sqrt();
    let is_certain = rho * (count as f64).sqrt() > 4.0;
    (is_certain && wider > 1.5).then(|| {
        format!("residuals go with those of the sample before (correlation {rho:.2}), so intervals are too narrow, by a factor of about {wider:.1}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn noisy(noise: impl Fn(f64) -> f64, sampled: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
        let mut stream = Stream::new(3, "residuals", &[]);
        let sample = |t: f64, stream: &mut Stream| {
            let value = 3.0 * (-0.3 * t).exp() + (0.2 * t).sin() + 4.0;
            (t, value + noise(value) * stream.normal())
        };
        (0..400).map(|i| sample(sampled(i), &mut stream)).collect()
    }

    #[test]
    fn the_noise_of_samples_is_found() {
        let even = |i: usize| 0.05 * i as f64;
        let uneven = |i: usize| 0.05 * i as f64 + 0.02 * (i as f64).sin();
        for sampled in [&even as &dyn Fn(usize) -> f64, &uneven] {
            approx::assert_relative_eq!(noise_of(&[noisy(|_| 0.05, sampled)]).unwrap(), 0.05, max_relative = 0.15);
            let relative = noise_of(&[noisy(|value| 0.02 * value, sampled)]).unwrap();
            assert!((0.02 * 3.5..0.02 * 6.5).contains(&relative), "{relative}");
        }
        // Wrong values and jumps do not count, but rounding does.
        let mut wrong = noisy(|_| 0.05, even);
        wrong.iter_mut().step_by(40).for_each(|sample| sample.1 += 100.0);
        wrong[200..].iter_mut().for_each(|sample| sample.1 += 7.0);
        assert!(noise_of(&[wrong]).unwrap() < 0.6);
        let rounded: Vec<(f64, f64)> =
            noisy(|_| 0.0, even).iter().map(|(t, y)| (*t, (y * 10.0).round() / 10.0)).collect();
        approx::assert_relative_eq!(noise_of(&[rounded]).unwrap(), 0.1 / 12.0_f64.sqrt(), max_relative = 0.01);
        assert_eq!(noise_of(&[vec![(0.0, 1.0); 5], vec![(0.0, 1.0)]]), None);
    }

    #[test]
    fn residuals_that_follow_each_other_are_told() {
        let mut stream = Stream::new(4, "residuals", &[]);
        let white: Vec<f64> = (0..500).map(|_| stream.normal()).collect();
        assert!(lag_one(std::slice::from_ref(&white)).abs() < 0.15);
        assert_eq!(serial_correlation(lag_one(std::slice::from_ref(&white)), 500), None);
        let mut state = 0.0;
        let red: Vec<f64> = white
            .iter()
            .map(|draw| {
                state = 0.8 * state + draw;
                state
            })
            .collect();
        let rho = lag_one(&[red]);
        assert!((rho - 0.8).abs() < 0.1, "{rho}");
        assert!(
            serial_correlation(rho, 500)
                .unwrap()
                .contains(&format!("factor of about {:.1}", ((1.0 + rho) / (1.0 - rho)).sqrt()))
        );
        // Of few residuals it may be chance.
        assert_eq!(serial_correlation(0.8, 10), None);
        assert_eq!(lag_one(&[vec![0.0; 4]]), 0.0);
    }
}
