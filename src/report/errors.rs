//! Errors of estimates against known parameters.

use crate::estimate::Row;

/// Mean absolute percentage error of an environment's parameters: the mean over the known, non-zero `y_j` of
/// `100 |z_j - y_j| / |y_j|`, in percent. `None` where nothing is known or an estimate is not finite.
pub(crate) fn parameter_mape(row: &Row) -> Option<f64> {
    let errors: Vec<f64> = row
        .parameters
        .iter()
        .filter_map(|parameter| {
            let truth = parameter.truth.filter(|truth| truth.is_finite() && *truth != 0.0)?;
            Some(100.0 * (parameter.value - truth).abs() / truth.abs())
        })
        .collect();
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    Some(mean).filter(|mean| mean.is_finite())
}

/// [`parameter_mape`] of an environment whose status is not a failure.
pub(crate) fn trusted_mape(row: &Row) -> Option<f64> {
    if row.status.is_failure() { None } else { parameter_mape(row) }
}

/// Quantile of sorted values by linear interpolation; `None` of none.
pub(crate) fn quantile(sorted: &[f64], fraction: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = fraction.clamp(0.0, 1.0) * last as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (place - below as f64) * (sorted[above] - sorted[below]))
}
