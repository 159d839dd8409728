//! The loss of a few training environments over a plane through the weights.

use super::figure::Figure;
use crate::estimate::{Geometry, Landscape};
use crate::report::axis::Axis;
use crate::report::canvas::{Anchor, Canvas, Path};
use crate::report::colour::sequential;
use crate::report::input::Input;
use crate::report::plot::{Key, Plot, legend_row};

/// Steps of the colour scale.
const LEVELS: usize = 48;
/// Width and height of a panel.
const PANEL: f64 = 290.0;
/// From one panel to the next.
const PITCH: (f64, f64) = (380.0, 380.0);
/// Where panels begin.
const START: (f64, f64) = (76.0, 66.0);
/// Left edge of the colour scale.
const BAR: f64 = 782.0;

/// A panel of each environment, all with one colour scale.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    let geometry = input.learned.geometry.as_ref().filter(|it| it.points > 1)?;
    let losses = || geometry.landscapes.iter().flat_map(|it| &it.losses).copied();
    let scale = Axis::log(losses(), "mean squared error")?.without_margin();
    let rows = geometry.landscapes.len().div_ceil(2);
    let mut canvas = Canvas::new("landscape", 880.0, START.1 + rows as f64 * PITCH.1 - 10.0);
    let own = if geometry.is_of_contexts { "its context" } else { "its linearised minimum" };
    let others = if geometry.is_of_contexts { "contexts of the other panels" } else { "minima of the other panels" };
    let entries = [
        (Key::Circle("p-pin"), own),
        (Key::Diamond("p-pin"), others),
        (Key::Cased("p-under", "p-over"), "half a decade above the least"),
    ];
    legend_row(&mut canvas, (START.0, 14.0), &entries);
    let names = match geometry.is_of_contexts {
        true => ["context ξ₁", "context ξ₂"],
        false => ["along the first direction", "along the second"],
    };
    // A point is the middle of its cell.
    let axis = |k: usize| {
        let [low, high] = geometry.ends[k];
        let half = 0.5 * (high - low) / (geometry.points - 1) as f64;
        Axis::exact(low - half, high + half, names[k])
    };
    for (index, landscape) in geometry.landscapes.iter().enumerate() {
        let plot = Plot {
            left: START.0 + (index % 2) as f64 * PITCH.0,
            top: START.1 + (index / 2) as f64 * PITCH.1,
            width: PANEL,
            height: PANEL,
            x: axis(0),
            y: axis(1),
        };
        fill(&mut canvas, &plot, geometry, landscape, &scale);
        plot.scales(&mut canvas, &landscape.environment);
        canvas.clipped(plot.area(), |canvas| {
            outline(canvas, &plot, geometry, landscape);
            let mut diamonds = Path::new();
            let others = geometry.landscapes.iter().enumerate().filter(|(other, _)| *other != index);
            let others = others.filter(|(_, it)| it.place.iter().all(|it| it.is_finite()));
            others.for_each(|(_, it)| diamonds.diamond(plot.at(it.place[0], it.place[1]), 5.0));
            canvas.path("class=\"p-pin\"", &diamonds);
            if landscape.place.iter().all(|it| it.is_finite()) {
                canvas.circle("class=\"p-pin\"", plot.at(landscape.place[0], landscape.place[1]), 5.0);
            }
        });
    }
    colour_bar(&mut canvas, &scale);
    let (plane, centre) = match geometry.is_of_contexts {
        true => ("the first two coordinates of the context", "the others being those of the environment"),
        false => (
            "the two main directions of the gradients of the environments",
            "around the model that they share; marks are minima of the linearised residuals",
        ),
    };
    let drawn: Vec<&str> = geometry.landscapes.iter().map(|it| it.environment.as_str()).collect();
    Some(Figure {
        name: "landscape",
        title: "Loss landscape",
        description: format!("Loss of training environments over {plane}: {}.", drawn.join(", ")),
        caption: format!(
            "Mean squared error on training trajectories, in the model's own units, over {plane}, {centre}."
        ),
        canvas,
    })
}

/// One rectangle a point of the plane, one path a colour.
fn fill(canvas: &mut Canvas, plot: &Plot, geometry: &Geometry, landscape: &Landscape, scale: &Axis) {
    let points = geometry.points;
    let mut paths: Vec<Path> = (0..=LEVELS).map(|_| Path::new()).collect();
    let edge = |i: usize| (i as f64 / points as f64) * PANEL;
    for (at, loss) in landscape.losses.iter().enumerate().take(points * points) {
        let fraction = scale.fraction(*loss);
        // Where a rollout is not finite nothing is known but that it is bad.
        let level = if fraction.is_finite() {
            ((fraction.clamp(0.0, 1.0) * LEVELS as f64) as usize).min(LEVELS - 1)
        } else {
            LEVELS
        };
        let (column, row) = (at % points, at / points);
        let size = edge(1);
        paths[level].rectangle(plot.left + edge(column), plot.top + PANEL - edge(row + 1), size, size);
    }
    for (level, path) in paths.iter().enumerate() {
        let attributes = match level {
            LEVELS => "class=\"p-void\" shape-rendering=\"crispEdges\"".to_owned(),
            _ => format!("fill=\"{}\" shape-rendering=\"crispEdges\"", colour(level)),
        };
        canvas.path(&attributes, path);
    }
}

fn colour(level: usize) -> String {
    sequential((level as f64 + 0.5) / LEVELS as f64).hex()
}

/// The boundary of what is at most half a decade above the least loss, along the edges of the points.
fn outline(canvas: &mut Canvas, plot: &Plot, geometry: &Geometry, landscape: &Landscape) {
    let points = geometry.points;
    let least = landscape.losses.iter().copied().filter(|loss| *loss > 0.0).fold(f64::INFINITY, f64::min);
    let is_low = |column: usize, row: usize| {
        landscape.losses.get(row * points + column).is_some_and(|it| *it <= least * 10f64.sqrt())
    };
    let at = |column: usize, row: usize| {
        (plot.left + column as f64 / points as f64 * PANEL, plot.top + PANEL - row as f64 / points as f64 * PANEL)
    };
    let mut path = Path::new();
    for row in 0..points {
        for column in 0..points {
            if column + 1 < points && is_low(column, row) != is_low(column + 1, row) {
                path = path.line([at(column + 1, row), at(column + 1, row + 1)]);
            }
            if row + 1 < points && is_low(column, row) != is_low(column, row + 1) {
                path = path.line([at(column, row + 1), at(column + 1, row + 1)]);
            }
        }
    }
    canvas.path("class=\"p-under\"", &path);
    canvas.path("class=\"p-over\"", &path);
}

fn colour_bar(canvas: &mut Canvas, scale: &Axis) {
    let (top, width, height) = (START.1, 16.0, PANEL);
    canvas.text("p-small", Anchor::Middle, (BAR + 24.0, top - 14.0), &scale.label());
    let step = height / LEVELS as f64;
    for level in 0..LEVELS {
        let mut path = Path::new();
        path.rectangle(BAR, top + height - step * (level + 1) as f64, width, step);
        canvas.path(&format!("fill=\"{}\" shape-rendering=\"crispEdges\"", colour(level)), &path);
    }
    let mut marks = Path::new();
    for tick in scale.ticks(6) {
        let y = top + height * (1.0 - scale.fraction(tick.value));
        marks = marks.line([(BAR + width, y), (BAR + width + 4.0, y)]);
        if let Some(text) = tick.text {
            canvas.text("p-small p-muted", Anchor::Start, (BAR + width + 8.0, y + 4.2), &text);
        }
    }
    canvas.path("class=\"p-axis\"", &marks);
}
