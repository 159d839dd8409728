//! What the residuals of a fit tell of its intervals.

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
