//! Estimates against true parameters, one panel a parameter.

use super::figure::{Figure, counted};
use crate::estimate::Row;
use crate::report::axis::{Axis, range};
use crate::report::canvas::{Canvas, Path};
use crate::report::input::Input;
use crate::report::number;
use crate::report::plot::{Key, Plot, legend_row};

/// Most environments with error bars.
const FEW: usize = 60;
/// Most environments whose dots are drawn one by one; more are a cloud.
const DOTS: usize = 1000;
/// Most environments with names.
const NAMED: usize = 14;
/// Most panels.
const MOST_PANELS: usize = 9;
/// Most points of a panel.
const MOST_POINTS: usize = 6000;
struct Point<'a> {
    environment: &'a str,
    truth: f64,
    value: f64,
    half: f64,
}

/// The class of the dots of so many environments.
fn dots(count: usize) -> &'static str {
    if count <= DOTS { "p-truth-dots" } else { "p-fine-dots" }
}

fn points(rows: &[Row], parameter: usize) -> Vec<Point<'_>> {
    rows.iter()
        .filter(|row| !row.status.is_failure())
        .filter_map(|row| {
            let estimate = row.parameters.get(parameter)?;
            let truth = estimate.truth.filter(|truth| truth.is_finite())?;
            let half = 0.5 * (estimate.upper - estimate.lower);
            estimate.value.is_finite().then_some(Point {
                environment: &row.environment,
                truth,
                value: estimate.value,
                half: if half.is_finite() && half > 0.0 { half } else { 0.0 },
            })
        })
        .collect()
}

/// Panels of estimate against truth, unless the error map shows all of it.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    if input.parameters.len() == 2 && input.estimates.len() > FEW {
        return None;
    }
    let panels: Vec<(usize, Vec<Point>)> = (0..input.parameters.len())
        .map(|parameter| (parameter, points(&input.estimates, parameter)))
        .filter(|(_, points)| !points.is_empty())
        .take(MOST_PANELS)
        .collect();
    let most = panels.iter().map(|(_, points)| points.len()).max()?;
    let (columns, side) = match panels.len() {
        1 => (1, 480.0),
        2 | 4 => (2, 320.0),
        _ => (3, 184.0),
    };
    let rows = panels.len().div_ceil(columns);
    let (pitch_x, pitch_y) = (side + 90.0, side + 86.0);
    let inset = if columns == 1 { 170.0 } else { 82.0 };
    let mut canvas = Canvas::new("estimates", 840.0, 46.0 + rows as f64 * pitch_y - 86.0 + 50.0);
    let few = most <= FEW;
    let mut entries = vec![(Key::Line("p-guide"), "estimate = truth")];
    match few {
        true => entries.insert(0, (Key::Circle("p-mark"), "estimate ± 1.96 standard errors")),
        false => entries.insert(0, (Key::Dot(dots(most)), "estimate")),
    }
    legend_row(&mut canvas, (inset, 16.0), &entries);
    for (place, (parameter, points)) in panels.iter().enumerate() {
        let (column, row) = (place % columns, place / columns);
        let corner = (inset + column as f64 * pitch_x, 46.0 + row as f64 * pitch_y);
        panel(&mut canvas, input, *parameter, points, corner, side, few);
    }
    let absent = input.parameters.len() - panels.len();
    let more = if absent > 0 { format!(" {} not shown here.", counted(absent, "parameter")) } else { String::new() };
    let bars = if few { " Bars reach 1.96 standard errors of the fit to each side." } else { "" };
    Some(Figure {
        name: "estimates",
        title: "Estimates beside the truth",
        description: format!(
            "Estimated against true value of {}, {} at most a panel, with the line of equality.",
            input.parameters.iter().map(|parameter| parameter.name.as_str()).collect::<Vec<_>>().join(", "),
            counted(most, "environment")
        ),
        caption: format!(
            "Estimated against true value, {} whose fits did not fail.{bars}{more}",
            counted(most, "environment")
        ),
        canvas,
    })
}

fn panel(
    canvas: &mut Canvas,
    input: &Input,
    parameter: usize,
    points: &[Point],
    (left, top): (f64, f64),
    side: f64,
    few: bool,
) {
    let name = number::quantity(&input.parameters[parameter]);
    let Some((low, high)) = range(points.iter().flat_map(|point| [point.truth, point.value])) else { return };
    // A bar longer than the range of all values would shrink them to a dot, so it is cut off at the panel.
    let reach = (high - low).max(0.05 * high.abs());
    let ends = points.iter().flat_map(|point| {
        let half = point.half.min(reach);
        [point.truth, point.value - half, point.value + half]
    });
    let ends: Vec<f64> = ends.collect();
    let (Some(x), Some(y)) = (
        Axis::linear(ends.iter().copied(), &format!("true {name}")),
        Axis::linear(ends.iter().copied(), &format!("estimated {name}")),
    ) else {
        return;
    };
    let plot = Plot { left, top, width: side, height: side, x, y };
    plot.frame(canvas, "");
    plot.identity(canvas);
    canvas.clipped(plot.area(), |canvas| {
        if few {
            let mut bars = Path::new();
            for point in points.iter().filter(|point| point.half > 0.0) {
                let (x, bottom) = plot.at(point.truth, point.value - point.half);
                let (_, top) = plot.at(point.truth, point.value + point.half);
                bars = bars.line([(x, bottom), (x, top)]);
                bars = bars.line([(x - 4.0, bottom), (x + 4.0, bottom)]).line([(x - 4.0, top), (x + 4.0, top)]);
            }
            canvas.path("class=\"p-bar\"", &bars);
            for point in points {
                canvas.circle("class=\"p-mark\"", plot.at(point.truth, point.value), 5.0);
            }
        } else {
            let mut path = Path::new();
            for point in thinned(points) {
                path.dot(plot.at(point.truth, point.value));
            }
            canvas.path(&format!("class=\"{}\"", dots(points.len())), &path);
        }
    });
    if points.len() <= NAMED {
        let bars: Vec<(f64, f64, f64)> = points
            .iter()
            .map(|point| {
                let (x, bottom) = plot.at(point.truth, point.value - point.half);
                (x, plot.at(point.truth, point.value + point.half).1, bottom)
            })
            .collect();
        let labels: Vec<((f64, f64), String)> =
            points.iter().map(|point| (plot.at(point.truth, point.value), point.environment.to_owned())).collect();
        plot.labels(canvas, &labels, &bars);
    }
}

/// All points, or the ones farthest from the truth and every so many of the rest.
fn thinned<'a, 'b>(points: &'b [Point<'a>]) -> Vec<&'b Point<'a>> {
    let mut order: Vec<&Point> = points.iter().collect();
    order.sort_by(|a, b| (b.value - b.truth).abs().total_cmp(&(a.value - a.truth).abs()));
    let (far, near) = order.split_at(order.len().min(MOST_POINTS / 4));
    let stride = near.len().div_ceil(MOST_POINTS - MOST_POINTS / 4).max(1);
    far.iter().chain(near.iter().step_by(stride)).copied().collect()
}
