//! How channels were measured, with the noise that a fit found.

use super::equations::Equations;
use super::experiment::Experiment;
use super::likelihood::measured::Measured;
use crate::estimate::resolution::Resolution;
use crate::estimate::table::row::Row;

/// Noise is no less than rounding, and than this many times the tolerance of integration.
const ABOVE_INTEGRATION: f64 = 10.0;

/// Of the kinds that are named, else constant, with the sizes that the `row` has; channels are those of `experiment`, and are integrated with the tolerance `rtol`.
pub(crate) fn known_noise(equations: &Equations, row: &Row, (experiment, rtol): (&Experiment, f64)) -> Measured {
    match &equations.measured {
        Some(measured) => measured.known(&row.noise_terms),
        None => {
            let channels = equations.channel_indices.iter().zip(experiment.scales.iter().zip(&experiment.resolutions));
            // Residuals may be errors of integration alone.
            let std_dev = |(&index, (scale, resolution)): (&usize, (&f64, &Resolution))| {
                let noise = row.noise.get(index).copied().filter(|noise| noise.is_finite());
                noise.unwrap_or(*scale).max(ABOVE_INTEGRATION * rtol * scale).max(resolution.std_dev)
            };
            Measured::constant(channels.map(std_dev), &equations.channel_names)
        }
    }
}
