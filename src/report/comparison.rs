//! Our error figures compared with published ones and with the tolerance of the data.

use serde::Serialize;

use super::input::{Input, Summary};
use super::number;

/// The error figures of a summary: field name and label.
const ERRORS: [(&str, &str); 6] = [
    ("mse_in_domain", "MSE, in-domain"),
    ("mse_adaptation", "MSE, adaptation"),
    ("mse_validation", "MSE, validation"),
    ("param_mape_in_hull", "parameter MAPE, in hull"),
    ("param_mape_out_of_hull", "parameter MAPE, out of hull"),
    ("param_mape_overall", "parameter MAPE, overall"),
];

/// Errors that are told only where they are asked for: in percent of values that may be as small as they like.
const OF_TRAJECTORIES: [(&str, &str); 1] = [("mape_in_domain", "MAPE of trajectories, in-domain")];

/// The columns of `comparison.csv`: the fields of [`Comparison`] in order.
pub(crate) const COLUMNS: [&str; 7] =
    ["figure", "ours", "published", "ratio", "source", "data_tolerance", "below_tolerance"];

/// One line of `comparison.csv`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Comparison {
    pub figure: String,
    pub ours: Option<f64>,
    pub published: f64,
    /// Ours divided by the published one.
    pub ratio: Option<f64>,
    pub source: String,
    pub data_tolerance: Option<f64>,
    /// Whether ours is below the tolerance of the data, and so not significant.
    pub below_tolerance: Option<bool>,
}

/// The names of the error figures, in order.
pub(crate) fn names() -> [&'static str; ERRORS.len()] {
    ERRORS.map(|(name, _)| name)
}

/// The lines of the comparison, in the order of the input.
pub(crate) fn lines(input: &Input) -> Vec<Comparison> {
    input
        .published
        .iter()
        .map(|published| {
            let ours = value(&input.summary, &published.figure);
            let ratio = ours.map(|ours| ours / published.value).filter(|ratio| ratio.is_finite());
            Comparison {
                figure: published.figure.clone(),
                ours,
                published: published.value,
                ratio,
                source: published.source.clone(),
                data_tolerance: input.summary.data_tolerance,
                below_tolerance: below_tolerance(&input.summary, &published.figure),
            }
        })
        .collect()
}

/// The finite number in the field `figure` of a summary.
pub(crate) fn value(summary: &Summary, figure: &str) -> Option<f64> {
    serde_json::to_value(summary).ok()?.get(figure)?.as_f64()
}

/// Whether an error is below the tolerance of the data: the root of a mean squared error, or a percentage as a
/// fraction, is compared with the tolerance. `None` if either is unknown, or the figure is no error.
pub(crate) fn below_tolerance(summary: &Summary, figure: &str) -> Option<bool> {
    let tolerance = summary.data_tolerance.filter(|tolerance| tolerance.is_finite())?;
    let error = value(summary, figure)?;
    if figure.starts_with("mse_") {
        Some(error.sqrt() < tolerance)
    } else if is_percent(figure) {
        Some(error / 100.0 < tolerance)
    } else {
        None
    }
}

/// Whether a figure is a percentage.
pub(crate) fn is_percent(figure: &str) -> bool {
    figure.starts_with("param_mape_") || figure.starts_with("mape_")
}

/// A figure's label; its field name if it has none.
pub(crate) fn label(figure: &str) -> String {
    ERRORS
        .iter()
        .chain(&OF_TRAJECTORIES)
        .find(|(name, _)| *name == figure)
        .map_or_else(|| number::name(figure), |(_, label)| (*label).to_owned())
}

/// A figure's value with its unit, for display.
pub(crate) fn shown(figure: &str, value: Option<f64>) -> String {
    if is_percent(figure) { number::percent(value) } else { number::optional(value) }
}

/// The error figures that the summary has: field name and value.
pub(crate) fn errors(summary: &Summary) -> Vec<(&'static str, f64)> {
    ERRORS.iter().filter_map(|(figure, _)| Some((*figure, value(summary, figure)?))).collect()
}
