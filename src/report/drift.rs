//! How a model that is trained again and again fares: where the environments of now lie beside those of the training, and how errors, noise and
//! statuses moved from run to run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path as FilePath;

use serde::Serialize;

use super::axis::Axis;
use super::canvas::{Anchor, Canvas, Path, SERIES};
use super::error::Error;
use super::figures::figure::counted;
use super::figures::hull::corners;
use super::plot::{Key, Plot, legend_row};
use super::png;
use crate::atomic;
use crate::estimate::Status;

/// What is drawn.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Drift {
    /// Name of the pipeline.
    pub pipeline: String,
    /// The version of the model that made the estimates; absent where it is none of those that are kept.
    pub version: Option<String>,
    /// Where the estimated environments lie.
    pub place: Place,
    /// The runs that estimated, the first first.
    pub runs: Vec<DriftRun>,
}

/// The contexts of estimated environments beside the hull of the training contexts.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Place {
    /// Environments with a context, of which there may be more than are looked at.
    pub environments: usize,
    /// Those that were looked at: all, or some at equal distances.
    pub examined: usize,
    /// Of these, how many lie outside of the hull.
    pub outside: usize,
    /// The training contexts `[E, d]`.
    pub training: Vec<Vec<f64>>,
    /// The contexts that were looked at `[n, d]`, and whether each lies in the hull.
    pub contexts: Vec<(Vec<f64>, bool)>,
}

/// One run that estimated.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DriftRun {
    /// When it began, UTC.
    pub begun: String,
    /// The version of the model that was in use; absent where none was kept.
    pub version: Option<String>,
    /// Mean squared error of that version on its validation split, in the model's own units.
    pub validation: Option<f64>,
    /// Mean squared error of that version on the held-out set of the gate, in the dataset's units.
    pub held_out: Option<f64>,
    /// Median over environments of the root mean squared error of the fitted trajectories, in the dataset's units.
    pub trajectory_rmse: Option<f64>,
    /// Median over environments of the estimated noise of each channel, in its unit.
    pub noise: BTreeMap<String, f64>,
    /// Environments of each status that occurs.
    pub statuses: BTreeMap<Status, usize>,
}

/// Left edges of the two columns, and the size of the panels in the second.
const COLUMNS: [f64; 2] = [78.0, 532.0];
const PANEL: (f64, f64) = (290.0, 104.0);
/// Distance from one panel to the next.
const DOWN: f64 = 198.0;

/// Draws `drift` into the file `path`, as PNG if it ends in `.png`, else as SVG.
///
/// # Errors
/// [`Error::Format`] if there is nothing to draw or it cannot be encoded, [`Error::Io`] if the file cannot be written.
pub fn draw_drift(drift: &Drift, path: &FilePath) -> Result<(), Error> {
    let format = |problem: String| Error::Format { file: path.display().to_string(), problem };
    let svg = document(drift).ok_or_else(|| format("no estimated environment to draw".to_owned()))?;
    let bytes = match path.extension().is_some_and(|extension| extension == "png") {
        true => png::render(&svg).map_err(format)?,
        false => svg.into_bytes(),
    };
    atomic::write_file(path, &bytes).map_err(|source| Error::Io { path: path.to_owned(), source })
}

fn document(drift: &Drift) -> Option<String> {
    let mut canvas = Canvas::new("drift", 840.0, 66.0 + 3.0 * DOWN);
    let drawn = place(&mut canvas, &drift.place);
    if drift.runs.is_empty() && drawn.is_none() {
        return None;
    }
    let lines: [fn(&[DriftRun]) -> Lines; 3] = [errors, noise, statuses];
    for (panel, lines) in lines.into_iter().enumerate() {
        over_runs(&mut canvas, 56.0 + panel as f64 * DOWN, &drift.runs, &lines(&drift.runs));
    }
    let Place { examined, outside, .. } = drift.place;
    let runs = counted(drift.runs.len(), "run");
    let description = format!(
        "Contexts of {} beside the hull of the training contexts, {outside} of them outside of it; errors, noise and statuses over {runs}.",
        counted(examined, "estimated environment")
    );
    Some(canvas.standalone(&format!("Drift of {}", drift.pipeline), &description))
}

/// The first two dimensions of the contexts, or the one that there is over the order of the environments.
fn place(canvas: &mut Canvas, place: &Place) -> Option<()> {
    let dimensions = place.training.first()?.len();
    let at = |index: usize, count: usize, context: &[f64]| match dimensions {
        1 => (context[0], (index as f64 + 0.5) / count as f64),
        _ => (context[0], context[1]),
    };
    let count = place.contexts.len();
    let estimated: Vec<((f64, f64), bool)> =
        place.contexts.iter().enumerate().map(|(i, (context, holds))| (at(i, count, context), *holds)).collect();
    let training: Vec<(f64, f64)> =
        place.training.iter().enumerate().map(|(e, it)| at(e, place.training.len(), it)).collect();
    let all = || training.iter().copied().chain(estimated.iter().map(|(point, _)| *point));
    let order = if dimensions == 1 { "share of the environments before it" } else { "context ξ₂" };
    let (left, top, side) = (COLUMNS[0], 56.0, 360.0);
    let plot = Plot {
        left,
        top,
        width: side,
        height: side,
        x: Axis::linear(all().map(|point| point.0), if dimensions == 1 { "context ξ" } else { "context ξ₁" })?,
        y: Axis::linear(all().map(|point| point.1), order)?,
    };
    let shown = if dimensions > 2 { format!(", two of {dimensions} dimensions") } else { String::new() };
    plot.frame(canvas, &format!("contexts beside the training hull{shown}"));
    canvas.clipped(plot.area(), |canvas| {
        if dimensions == 1 {
            let of = |choice: fn(f64, f64) -> f64| training.iter().map(|point| point.0).reduce(choice);
            for end in [of(f64::min), of(f64::max)].into_iter().flatten() {
                canvas.line("p-guide", plot.at(end, plot.y.low), plot.at(end, plot.y.high));
            }
        } else {
            let hull = corners(&training);
            let closed = hull.iter().chain(hull.first()).map(|(x, y)| plot.at(*x, *y));
            canvas.path("class=\"p-guide\"", &Path::new().line(closed));
        }
        for (class, inside) in [("p-dots-0", true), ("p-dots-1", false)] {
            let mut dots = Path::new();
            estimated.iter().filter(|(_, holds)| *holds == inside).for_each(|((x, y), _)| dots.dot(plot.at(*x, *y)));
            canvas.path(&format!("class=\"{class}\""), &dots);
        }
        training.iter().for_each(|(x, y)| canvas.circle("class=\"p-mark-known\"", plot.at(*x, *y), 4.0));
    });
    let below = top + side + 74.0;
    let (inside, outside) = (place.examined - place.outside, place.outside);
    let texts = [format!("estimated, in the hull: {inside}"), format!("estimated, outside: {outside}")];
    for (row, (key, text)) in [
        (Key::Circle("p-mark-known"), format!("training: {}", training.len())),
        (Key::Dot("p-dots-0"), texts[0].clone()),
        (Key::Dot("p-dots-1"), texts[1].clone()),
    ]
    .into_iter()
    .enumerate()
    {
        legend_row(canvas, (left, below + 24.0 * row as f64), &[(key, text.as_str())]);
    }
    let notes = [
        "Dashed lines between runs: another version came into use.",
        "Validation errors are in the model's own units.",
    ];
    for (row, note) in notes.into_iter().enumerate() {
        canvas.text("p-small p-muted", Anchor::Start, (left, below + 84.0 + 18.0 * row as f64), note);
    }
    Some(())
}

/// What a panel shows: its title, the label of its axis, whether that is logarithmic, and lines by name, a value a run.
struct Lines {
    title: &'static str,
    label: &'static str,
    is_log: bool,
    lines: Vec<(String, Vec<Option<f64>>)>,
}

fn errors(runs: &[DriftRun]) -> Lines {
    let of = |value: fn(&DriftRun) -> Option<f64>| runs.iter().map(value).collect();
    Lines {
        title: "errors",
        label: "mean squared",
        is_log: true,
        lines: vec![
            ("validation".to_owned(), of(|run| run.validation)),
            ("held out".to_owned(), of(|run| run.held_out)),
            ("fits".to_owned(), of(|run| run.trajectory_rmse.map(|rmse| rmse * rmse))),
        ],
    }
}

fn noise(runs: &[DriftRun]) -> Lines {
    let names: BTreeSet<&String> = runs.iter().flat_map(|run| run.noise.keys()).collect();
    let of = |name: &&String| ((*name).clone(), runs.iter().map(|run| run.noise.get(*name).copied()).collect());
    Lines { title: "noise", label: "median", is_log: true, lines: names.iter().map(of).collect() }
}

fn statuses(runs: &[DriftRun]) -> Lines {
    let occurring = Status::ALL.into_iter().filter(|status| runs.iter().any(|run| run.statuses.contains_key(status)));
    let share = |run: &DriftRun, status: Status| {
        let all: usize = run.statuses.values().sum();
        (all > 0).then(|| 100.0 * *run.statuses.get(&status).unwrap_or(&0) as f64 / all as f64)
    };
    let of = |status: Status| (status.name().to_owned(), runs.iter().map(|run| share(run, status)).collect());
    Lines { title: "statuses", label: "% of environments", is_log: false, lines: occurring.map(of).collect() }
}

/// A panel of lines over the runs. A dashed line stands where another version came into use.
fn over_runs(canvas: &mut Canvas, top: f64, runs: &[DriftRun], of: &Lines) {
    let lines: Vec<_> = of.lines.iter().filter(|(_, values)| values.iter().any(Option::is_some)).take(SERIES).collect();
    let values = || lines.iter().flat_map(|(_, values)| values.iter().flatten().copied());
    let (left, (width, height)) = (COLUMNS[1], PANEL);
    let y = match of.is_log {
        true => Axis::log(values(), of.label),
        false => Some(Axis::exact(-4.0, 104.0, of.label)).filter(|_| !lines.is_empty()),
    };
    canvas.text("p-strong", Anchor::Start, (left, top - 10.0), of.title);
    let Some(y) = y else {
        canvas.text("p-small p-muted", Anchor::Start, (left, top + 14.0), "no run has recorded any");
        return;
    };
    let classes: Vec<(String, String)> =
        (0..lines.len()).map(|line| (format!("p-line-{line}"), format!("p-dots-{line}"))).collect();
    let entries: Vec<(Key, &str)> = classes
        .iter()
        .zip(&lines)
        .map(|((line, dots), (name, _))| (Key::LineAndDot(line, dots), name.as_str()))
        .collect();
    let further = legend_row(canvas, (left, top + 7.0), &entries);
    let (top, height) = (top + 22.0 + further, height - further);
    let plot = Plot { left, top, width, height, x: Axis::counts(runs.len(), "run"), y };
    plot.frame(canvas, "");
    for (run, pair) in runs.windows(2).enumerate().filter(|(_, pair)| pair[0].version != pair[1].version) {
        let at = if pair[0].version.is_some() { run as f64 + 1.5 } else { f64::NAN };
        canvas.line("p-event", plot.at(at, plot.y.low), plot.at(at, plot.y.high));
    }
    for ((_, values), (line, dots)) in lines.iter().zip(&classes) {
        let known = values.iter().enumerate().filter_map(|(run, value)| Some(plot.at(run as f64 + 1.0, (*value)?)));
        let points: Vec<(f64, f64)> = known.filter(|(_, y)| y.is_finite()).collect();
        canvas.path(&format!("class=\"{line}\""), &Path::new().line(points.iter().copied()));
        let mut path = Path::new();
        points.into_iter().for_each(|at| path.dot(at));
        canvas.path(&format!("class=\"{dots}\""), &path);
    }
}
