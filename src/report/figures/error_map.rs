//! The errors of parameters, and of fitted trajectories, over the plane of two parameters.

use super::cells::{Cell, Cells, Site, gather};
use super::figure::{Figure, counted};
use super::hull;
use crate::estimate::Row;
use crate::report::axis::{Axis, range};
use crate::report::canvas::{Anchor, Canvas, Path};
use crate::report::colour::sequential;
use crate::report::errors::{quantile, trusted_mape};
use crate::report::input::Input;
use crate::report::number;
use crate::report::plot::{Key, Plot, legend_column};

/// Steps of the colour scale.
const LEVELS: usize = 64;
/// Most environments with test trajectories that are marked on the map; more of them are the map itself.
const MOST_MARKS: usize = 60;
/// Environments from which on the errors of trajectories have a map.
const FIELD: usize = 50;

/// Which errors a map is of.
struct Errors {
    name: &'static str,
    title: &'static str,
    scale: &'static str,
    /// What they are errors of, in words.
    of: &'static str,
    of_row: fn(&Row) -> Option<f64>,
}

const OF_PARAMETERS: Errors = Errors {
    name: "parameter-error-map",
    title: "Parameter error over the plane",
    scale: "parameter MAPE (%)",
    of: "estimated parameters",
    of_row: trusted_mape,
};

const OF_TRAJECTORIES: Errors = Errors {
    name: "trajectory-error-map",
    title: "Trajectory error over the plane",
    scale: "trajectory MAPE (%)",
    of: "fitted trajectories",
    of_row: |row| Some(row.trajectory_mape).filter(|error| !row.status.is_failure() && error.is_finite()),
};

struct Scene {
    /// Environments without test trajectories, or all where that tells nothing apart: the field.
    field: Vec<Site>,
    /// A few environments with test trajectories: shown as marks upon it.
    adapted: Vec<Site>,
    training: Vec<(f64, f64)>,
}

impl Scene {
    fn new(input: &Input, of_row: fn(&Row) -> Option<f64>) -> Self {
        let mut scene = Scene { field: Vec::new(), adapted: Vec::new(), training: Vec::new() };
        for row in &input.estimates {
            let [first, second] = row.parameters[..] else { continue };
            let (Some(x), Some(y)) = (first.truth, second.truth) else { continue };
            if x.is_finite() && y.is_finite() {
                let sites = if row.test_mse.is_some() { &mut scene.adapted } else { &mut scene.field };
                sites.push(Site { x, y, error: of_row(row) });
            }
        }
        if scene.field.is_empty() || scene.adapted.len() > MOST_MARKS {
            scene.field.append(&mut scene.adapted);
        }
        for environment in &input.training {
            if let [Some(x), Some(y)] = environment.parameters[..]
                && x.is_finite()
                && y.is_finite()
            {
                scene.training.push((x, y));
            }
        }
        scene
    }

    fn sites(&self) -> impl Iterator<Item = &Site> {
        self.field.iter().chain(&self.adapted)
    }
}

/// The map of the errors of parameters, where there are two that are estimated, and environments whose parameters are known.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    if input.learned.owns_weights { None } else { drawn(input, &OF_PARAMETERS) }
}

/// The map of the errors of the trajectories that a model was fitted to, of many environments.
pub(super) fn of_trajectories(input: &Input) -> Option<Figure> {
    let count = input.estimates.iter().filter(|row| (OF_TRAJECTORIES.of_row)(row).is_some()).count();
    if input.summary.map.is_some() && count >= FIELD { drawn(input, &OF_TRAJECTORIES) } else { None }
}

fn drawn(input: &Input, of: &Errors) -> Option<Figure> {
    let [first, second] = &input.parameters[..] else { return None };
    let scene = Scene::new(input, of.of_row);
    let mut errors: Vec<f64> = scene.sites().filter_map(|site| site.error).filter(|error| *error > 0.0).collect();
    errors.sort_by(f64::total_cmp);
    scene.sites().next()?;
    let ends = [quantile(&errors, 0.01).unwrap_or(f64::NAN), quantile(&errors, 0.99).unwrap_or(f64::NAN)];
    let scale = Axis::log(ends, of.scale).or_else(|| Axis::log([0.1, 10.0], of.scale))?.without_margin();

    let cells = gather(&scene.field);
    let marks = scene.training.iter().copied().chain(scene.sites().map(|site| (site.x, site.y)));
    let axis = |values: Vec<f64>, edges: Option<&[f64]>, label: String| match edges {
        Some(edges) => {
            let (low, high) = range(edges.iter().copied().chain(values))?;
            Some(Axis::exact(low, high, &label))
        }
        None => Axis::linear(values, &label),
    };
    let (xs, ys): (Vec<f64>, Vec<f64>) = marks.unzip();
    let x = axis(xs, cells.as_ref().map(|cells| &cells.x_edges[..]), number::quantity(first))?;
    let y = axis(ys, cells.as_ref().map(|cells| &cells.y_edges[..]), number::quantity(second))?;

    let mut canvas = Canvas::new(of.name, 840.0, 636.0);
    let plot = Plot { left: 80.0, top: 16.0, width: 570.0, height: 570.0, x, y };
    if let Some(cells) = &cells {
        fill(&mut canvas, &plot, cells, &scale);
    }
    let grid = plot.scales(&mut canvas, "");
    if cells.is_none() {
        canvas.path("class=\"p-grid\"", &grid);
        for site in &scene.field {
            mark(&mut canvas, &plot, site, &scale, false);
        }
    }
    outline(&mut canvas, &plot, &hull::corners(&scene.training));
    // Beneath marks, whose colour tells an error.
    letters(&mut canvas, &plot, input, cells.is_some());
    for site in &scene.adapted {
        mark(&mut canvas, &plot, site, &scale, true);
    }
    for (x, y) in &scene.training {
        canvas.circle("class=\"p-pin\"", plot.at(*x, *y), 5.0);
    }
    let failed = failures(&mut canvas, &plot, &scene);
    colour_bar(&mut canvas, &scale);

    let failed_text = format!("status not ok ({failed})");
    let mut entries: Vec<(Key, &str)> = Vec::new();
    if !scene.training.is_empty() {
        entries.push((Key::Circle("p-pin"), "training"));
        entries.push((Key::Cased("p-under", "p-over p-dashed"), "hull of training"));
    }
    if cells.is_none() {
        entries.push((Key::Circle("p-mark"), "estimated"));
    }
    if !scene.adapted.is_empty() {
        entries.push((Key::Diamond("p-pin"), "adapted, with tests"));
    }
    if failed > 0 {
        entries.push((Key::Cross("p-cross"), &failed_text));
    }
    legend_column(&mut canvas, (676.0, 430.0), &entries);

    let median = quantile(&errors, 0.5);
    let shown = counted(scene.sites().count(), "environment");
    let gathered = match &cells {
        Some(cells) if !cells.exact => " Each cell is the geometric mean of its environments.",
        _ => "",
    };
    let lettered = match input.portraits.iter().any(|it| it.letter.is_some()) {
        true => " Letters are those of the trajectories below.",
        false => "",
    };
    let median_text = match median {
        Some(median) => format!("the median is {} %", number::significant(median)),
        None => "none has an error to show".to_owned(),
    };
    Some(Figure {
        name: of.name,
        title: of.title,
        description: format!(
            "Map of the mean absolute percentage error of the {} of {shown} over {} and {}; {median_text}; \
             the status of {failed} is not ok. {} training environments and their convex hull are marked.",
            of.of,
            first.name,
            second.name,
            scene.training.len()
        ),
        caption: format!(
            "Mean absolute percentage error of the {} at the true parameters of {shown}; {median_text}. \
             The logarithmic colour scale ends at the 1st and 99th percentile.{gathered}{lettered}",
            of.of
        ),
        canvas,
    })
}

fn level(scale: &Axis, error: f64) -> usize {
    let fraction = scale.fraction(error);
    if fraction.is_finite() { ((fraction.clamp(0.0, 1.0) * LEVELS as f64) as usize).min(LEVELS - 1) } else { 0 }
}

fn colour(level: usize) -> String {
    sequential((level as f64 + 0.5) / LEVELS as f64).hex()
}

/// Draws the cells: one path a colour, with neighbours of one colour in a row as one rectangle.
fn fill(canvas: &mut Canvas, plot: &Plot, cells: &Cells, scale: &Axis) {
    let columns = cells.x_edges.len() - 1;
    let mut paths: Vec<Path> = (0..=LEVELS).map(|_| Path::new()).collect();
    for (row, line) in cells.cells.chunks(columns).enumerate() {
        let levels: Vec<Option<usize>> = line
            .iter()
            .map(|cell| match cell {
                Cell::Empty => None,
                Cell::Void => Some(LEVELS),
                Cell::Error(error) => Some(level(scale, *error)),
            })
            .collect();
        let mut start = 0;
        for run in levels.chunk_by(|a, b| a == b) {
            if let Some(Some(level)) = run.first() {
                let (left, bottom) = plot.at(cells.x_edges[start], cells.y_edges[row]);
                let (right, top) = plot.at(cells.x_edges[start + run.len()], cells.y_edges[row + 1]);
                paths[*level].rectangle(left, top, right - left, bottom - top);
            }
            start += run.len();
        }
    }
    for (level, path) in paths.iter().enumerate() {
        let attributes = if level == LEVELS {
            "class=\"p-void\" shape-rendering=\"crispEdges\"".to_owned()
        } else {
            format!("fill=\"{}\" shape-rendering=\"crispEdges\"", colour(level))
        };
        canvas.path(&attributes, path);
    }
}

fn mark(canvas: &mut Canvas, plot: &Plot, site: &Site, scale: &Axis, diamond: bool) {
    let Some(error) = site.error else { return };
    let fill = colour(level(scale, error));
    let at = plot.at(site.x, site.y);
    if diamond {
        for (class, half) in [("class=\"p-pin\"".to_owned(), 9.0), (format!("fill=\"{fill}\""), 5.5)] {
            let mut path = Path::new();
            path.diamond(at, half);
            canvas.path(&class, &path);
        }
    } else {
        canvas.circle(&format!("class=\"p-ring\" fill=\"{fill}\""), at, 6.0);
    }
}

/// The hull: a white dashed line on a dark one, visible on every colour.
fn outline(canvas: &mut Canvas, plot: &Plot, corners: &[(f64, f64)]) {
    if corners.len() < 2 {
        return;
    }
    let closed = corners.iter().chain(corners.first()).map(|(x, y)| plot.at(*x, *y));
    let path = Path::new().line(closed);
    canvas.path("class=\"p-under\"", &path);
    canvas.path("class=\"p-over p-dashed\"", &path);
}

/// The letters of the portraits, where they stand: beside a mark of their own where the map has none of each environment.
fn letters(canvas: &mut Canvas, plot: &Plot, input: &Input, is_marked: bool) {
    for (letter, [x, y]) in input.portraits.iter().filter_map(|it| it.letter) {
        let (x, y) = plot.at(x, y);
        canvas.text("p-strong p-halo", Anchor::Middle, (x, y - 12.0), &letter.to_string());
        if is_marked {
            let mut mark = Path::new();
            mark.diamond((x, y), 5.0);
            canvas.path("class=\"p-pin\"", &mark);
        }
    }
}

/// Crosses at failed environments; returns their number.
fn failures(canvas: &mut Canvas, plot: &Plot, scene: &Scene) -> usize {
    let mut path = Path::new();
    let failed: Vec<&Site> = scene.sites().filter(|site| site.error.is_none()).collect();
    let half = if failed.len() > 200 { 2.5 } else { 3.5 };
    for site in failed.iter().take(5000) {
        path.cross(plot.at(site.x, site.y), half);
    }
    canvas.path("class=\"p-cross\"", &path);
    failed.len()
}

fn colour_bar(canvas: &mut Canvas, scale: &Axis) {
    let (left, top, width, height) = (680.0, 42.0, 20.0, 340.0);
    canvas.text("p-small", Anchor::Start, (left, top - 16.0), &scale.label());
    let step = height / LEVELS as f64;
    for level in 0..LEVELS {
        let mut path = Path::new();
        path.rectangle(left, top + height - step * (level + 1) as f64, width, step);
        canvas.path(&format!("fill=\"{}\" shape-rendering=\"crispEdges\"", colour(level)), &path);
    }
    let mut marks = Path::new();
    for tick in scale.ticks(6) {
        let y = top + height * (1.0 - scale.fraction(tick.value));
        let length = if tick.text.is_some() { 6.0 } else { 3.0 };
        marks = marks.line([(left + width, y), (left + width + length, y)]);
        if let Some(text) = tick.text {
            canvas.text("p-small p-muted", Anchor::Start, (left + width + 10.0, y + 4.2), &text);
        }
    }
    canvas.path("class=\"p-axis\"", &marks);
}
