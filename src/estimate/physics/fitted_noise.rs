//! How channels were measured, with the noise that a fit found.

use super::equations::Equations;
use super::likelihood::measured::Measured;
use crate::estimate::table::row::Row;

/// Noise is no less than this many times the tolerance of integration.
const ABOVE_INTEGRATION: f64 = 10.0;

/// Of the kinds that are named, else constant, with the sizes that the `row` has; channels vary by `scales [C]`, and are integrated with a tolerance.
pub(crate) fn known_noise(equations: &Equations, row: &Row, (scales, rtol): (&[f64], f64)) -> Measured {
    match &equations.measured {
        Some(measured) => measured.known(&row.noise_terms),
        None => {
            let channels = equations.channel_indices.iter().zip(scales);
            // Residuals may be errors of integration alone.
            let std_dev = |(&index, scale): (&usize, &f64)| {
                let noise = row.noise.get(index).copied().filter(|noise| noise.is_finite());
                noise.unwrap_or(*scale).max(ABOVE_INTEGRATION * rtol * scale)
            };
            Measured::constant(channels.map(std_dev), &equations.channel_names)
        }
    }
}
