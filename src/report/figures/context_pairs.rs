//! Each coordinate of the context against each parameter, where they are too many for one plane.

use super::figure::{Figure, counted};
use crate::report::axis::Axis;
use crate::report::canvas::{Canvas, Path};
use crate::report::input::Input;
use crate::report::number;
use crate::report::plot::{Key, Plot, legend_row};

/// Coordinates, and parameters, at most.
const MOST: usize = 4;
/// Points of estimated environments at most.
const MOST_POINTS: usize = 1500;
/// Left edge of the panels, and the width that they share.
const LEFT: f64 = 76.0;
const WIDTH: f64 = 740.0;
const HEIGHT: f64 = 150.0;
/// Room between panels.
const GAP: (f64, f64) = (70.0, 70.0);

/// A panel of each pair, parameters side by side; `None` where no training environment has both.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    let dimension = input.training.iter().map(|it| it.context.len()).max()?;
    let (rows, columns) = (dimension.min(MOST), input.parameters.len().min(MOST));
    if rows == 0 || columns == 0 {
        return None;
    }
    let pair = |context: Option<&f64>, parameter: Option<f64>| {
        Some((parameter?, *context?)).filter(|(p, xi)| p.is_finite() && xi.is_finite())
    };
    let training = |k: usize, j: usize| -> Vec<(f64, f64)> {
        let of = |it: &crate::report::input::TrainingEnvironment| {
            pair(it.context.get(k), it.parameters.get(j).copied().flatten())
        };
        input.training.iter().filter_map(of).collect()
    };
    let usable: Vec<_> = input.estimates.iter().filter(|row| !row.status.is_failure()).collect();
    let stride = usable.len().div_ceil(MOST_POINTS).max(1);
    let estimated = |k: usize, j: usize| -> Vec<(f64, f64)> {
        let rows = usable.iter().step_by(stride);
        rows.filter_map(|row| pair(row.context.get(k), row.parameters.get(j)?.truth)).collect()
    };
    if (0..rows).all(|k| (0..columns).all(|j| training(k, j).len() < 2)) {
        return None;
    }
    let width = (WIDTH - GAP.0 * (columns - 1) as f64) / columns as f64;
    let mut canvas = Canvas::new("contexts", 840.0, 36.0 + rows as f64 * (HEIGHT + GAP.1));
    let entries =
        [(Key::Circle("p-mark-known"), "training environment"), (Key::Dot("p-fine-dots"), "estimated environment")];
    let any_estimated = (0..rows).any(|k| (0..columns).any(|j| !estimated(k, j).is_empty()));
    legend_row(&mut canvas, (LEFT, 14.0), &entries[..if any_estimated { 2 } else { 1 }]);
    for (k, j) in (0..rows).flat_map(|k| (0..columns).map(move |j| (k, j))) {
        let (known, of_new) = (training(k, j), estimated(k, j));
        let all = || known.iter().chain(&of_new);
        let name = if j == 0 { format!("context ξ{}", subscript(k + 1)) } else { String::new() };
        let below = if k + 1 == rows { number::quantity(&input.parameters[j]) } else { String::new() };
        let axes = (Axis::linear(all().map(|it| it.0), &below), Axis::linear(all().map(|it| it.1), &name));
        let (Some(x), Some(y)) = axes else { continue };
        let left = LEFT + j as f64 * (width + GAP.0);
        let plot = Plot { left, top: 36.0 + k as f64 * (HEIGHT + GAP.1), width, height: HEIGHT, x, y };
        plot.frame(&mut canvas, "");
        let mut dots = Path::new();
        of_new.iter().for_each(|(p, xi)| dots.dot(plot.at(*p, *xi)));
        canvas.path("class=\"p-fine-dots\"", &dots);
        known.iter().for_each(|(p, xi)| canvas.circle("class=\"p-mark-known\"", plot.at(*p, *xi), 4.0));
    }
    let first = |shown: usize, all: usize, what: &str| match all > shown {
        true => format!(" The first {shown} of {all} {what}."),
        false => String::new(),
    };
    Some(Figure {
        name: "contexts",
        title: "Contexts beside the parameters",
        description: format!(
            "A panel of each coordinate of the context and each parameter, of {}.",
            counted(input.training.len(), "training environment")
        ),
        caption: format!(
            "Learned contexts over the true parameters.{}{}",
            first(rows, dimension, "coordinates"),
            first(columns, input.parameters.len(), "parameters")
        ),
        canvas,
    })
}

/// `1` to `9` as subscripts.
fn subscript(value: usize) -> char {
    char::from_u32('₀' as u32 + value as u32).unwrap_or('?')
}
