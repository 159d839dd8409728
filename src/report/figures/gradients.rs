//! Singular values of the gradients of the training environments: how many directions of the weights adapt to all of them.

use super::figure::{Figure, counted};
use crate::report::axis::Axis;
use crate::report::canvas::{Canvas, Path};
use crate::report::input::Input;
use crate::report::plot::Plot;

/// Share of the sum of squares that is told how many directions hold.
const SHARE: f64 = 0.99;

/// Each value as a share of the greatest.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    let values = &input.learned.geometry.as_ref()?.singular_values;
    let greatest = values.first().copied().filter(|value| *value > 0.0 && value.is_finite())?;
    let shares: Vec<f64> = values.iter().map(|value| value / greatest).collect();
    let plot = Plot {
        left: 80.0,
        top: 20.0,
        width: 735.0,
        height: 280.0,
        x: Axis::counts(values.len(), "direction"),
        y: Axis::log(shares.iter().copied(), "singular value over the greatest")?,
    };
    let mut canvas = Canvas::new("gradients", 840.0, 360.0);
    plot.frame(&mut canvas, "");
    let places = shares.iter().enumerate().filter(|(_, share)| **share > 0.0);
    let places: Vec<(f64, f64)> = places.map(|(k, share)| plot.at(k as f64 + 1.0, *share)).collect();
    canvas.path("class=\"p-guide\"", &Path::new().line(places.iter().copied()));
    places.iter().for_each(|&at| canvas.circle("class=\"p-mark\"", at, 4.5));
    let all: f64 = values.iter().map(|value| value * value).sum();
    let mut sum = 0.0;
    let needed = 1 + values
        .iter()
        .take_while(|value| {
            sum += *value * *value;
            sum < SHARE * all
        })
        .count();
    let environments = counted(values.len(), "environment");
    let told = format!("{:.0} % of the sum of squares are in {}", 100.0 * SHARE, counted(needed, "direction"));
    Some(Figure {
        name: "gradients",
        title: "Gradients of the environments",
        description: format!("Singular values of the gradients of {environments}, on a logarithmic scale; {told}."),
        caption: format!(
            "Singular values of the matrix of the gradients of the loss of {environments} by the weights, at a context of zero: {told}."
        ),
        canvas,
    })
}
