//! Residuals that are correlated from sample to sample, which make intervals too narrow.

/// Correlation of successive residuals, `sum r_i r_{i+1} / sum r_i^2` over `runs` of them; 0 of none.
pub(crate) fn lag_one(runs: &[Vec<f64>]) -> f64 {
    let products: f64 = runs.iter().flat_map(|run| run.windows(2)).map(|pair| pair[0] * pair[1]).sum();
    let squares: f64 = runs.iter().flatten().map(|residual| residual * residual).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// A note on intervals that are too narrow for `count` residuals with the [`lag_one`] correlation `rho`; none where `rho` is small or may be
/// chance. The mean of such residuals has `(1 + rho) / (1 - rho)` times the variance of a mean of independent ones.
pub(crate) fn note(rho: f64, count: usize) -> Option<String> {
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

    #[test]
    fn correlated_residuals_are_noted() {
        let mut stream = Stream::new(4, "residuals", &[]);
        let white: Vec<f64> = (0..500).map(|_| stream.normal()).collect();
        assert!(lag_one(std::slice::from_ref(&white)).abs() < 0.15);
        assert_eq!(note(lag_one(std::slice::from_ref(&white)), 500), None);
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
            note(rho, 500).unwrap().contains(&format!("factor of about {:.1}", ((1.0 + rho) / (1.0 - rho)).sqrt()))
        );
        // Few residuals may be correlated by chance.
        assert_eq!(note(0.8, 10), None);
        assert_eq!(lag_one(&[vec![0.0; 4]]), 0.0);
    }
}
