//! Where the starts of a fit ended, the best first: one panel an environment.

use super::figure::{Figure, counted};
use crate::report::axis::Axis;
use crate::report::canvas::{Canvas, Path};
use crate::report::input::{Input, Surroundings};
use crate::report::plot::{Key, Plot, legend_row};

/// Left edge of the first column, distance of columns and rows, and size of a panel.
const LEFT: f64 = 68.0;
const PITCH: (f64, f64) = (424.0, 300.0);
const PANEL: (f64, f64) = (336.0, 208.0);
/// Starts whose errors differ by less led to the same minimum: the data prefer neither.
const SAME: f64 = 6.0;

/// Panels in two columns, of environments with more than one start.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    let shown: Vec<&Surroundings> = input.surroundings.iter().filter(|it| it.costs.len() > 1).collect();
    if shown.is_empty() {
        return None;
    }
    let mut canvas = Canvas::new("waterfall", 840.0, 0.0);
    let mut entries = vec![(Key::Circle("p-chosen"), "as good as the best")];
    if shown.iter().flat_map(|it| &it.costs).any(|cost| cost.is_finite() && *cost >= SAME) {
        entries.push((Key::Circle("p-mark"), "worse"));
    }
    legend_row(&mut canvas, (LEFT, 14.0), &entries);
    canvas.height = 54.0 + shown.len().div_ceil(2) as f64 * PITCH.1 - 40.0;
    for (place, environment) in shown.iter().enumerate() {
        let corner = (LEFT + (place % 2) as f64 * PITCH.0, 54.0 + (place / 2) as f64 * PITCH.1);
        panel(&mut canvas, environment, corner);
    }
    let nowhere = shown.iter().flat_map(|it| &it.costs).filter(|cost| !cost.is_finite()).count();
    let nowhere = if nowhere > 0 { format!(" {} led nowhere.", counted(nowhere, "start")) } else { String::new() };
    let titles: Vec<&str> = shown.iter().map(|it| it.title.as_str()).collect();
    Some(Figure {
        name: "waterfall",
        title: "Minima",
        description: format!("Sorted errors where the starts of fits ended: {}.", titles.join("; ")),
        caption: format!(
            "Where the starts of a fit ended, sorted: -2 log L less that of the best start, plus 1. Steps are minima; a difference below \
             {SAME} says nothing.{nowhere}"
        ),
        canvas,
    })
}

fn panel(canvas: &mut Canvas, environment: &Surroundings, (left, top): (f64, f64)) {
    let finite: Vec<f64> = environment.costs.iter().copied().filter(|cost| cost.is_finite()).collect();
    let heights = finite.iter().map(|cost| 1.0 + cost.max(0.0));
    let x = Axis::counts(environment.costs.len(), "start, the best first");
    let Some(y) = Axis::log(heights.clone().chain([1.0, 10.0]), "1 + Δ(−2 log L)") else { return };
    let (width, height) = PANEL;
    let plot = Plot { left, top, width, height, x, y };
    plot.frame(canvas, &environment.title);
    let points: Vec<(f64, f64)> =
        heights.enumerate().map(|(rank, height)| plot.at(rank as f64 + 1.0, height)).collect();
    canvas.path("class=\"p-light\"", &Path::new().line(points.iter().copied()));
    for (at, cost) in points.iter().zip(&finite) {
        canvas.circle(if *cost < SAME { "class=\"p-chosen\"" } else { "class=\"p-mark\"" }, *at, 4.5);
    }
}
