//! Draws a few trajectories of a dataset over time, with one panel for each channel and input.

use std::path::Path as FilePath;

use super::axis::{Axis, label};
use super::canvas::{Canvas, Path, SERIES};
use super::error::Error;
use super::plot::{Key, Plot, legend_row};
use super::{number, png};
use crate::atomic;
use crate::dataset::Manifest;
use crate::schema::{Between, Quantity, Trajectory};

/// Trajectories that a drawing can distinguish by colour.
pub const MOST_TRAJECTORIES: usize = SERIES;
/// Channels drawn at most, and as many inputs.
const MOST_CHANNELS: usize = 8;
/// Left edge of the first column, and size of a panel.
const LEFT: f64 = 68.0;
const PANEL: (f64, f64) = (336.0, 230.0);

/// Draws up to [`MOST_TRAJECTORIES`] trajectories of the dataset that `manifest` describes into the file `path`, as PNG if it ends in `.png`, else
/// as SVG. Of a field its mean over the grid is drawn, of what is observed of it.
///
/// # Errors
/// [`Error::Format`] if there is nothing to draw or it cannot be encoded, [`Error::Io`] if the file cannot be written.
pub fn draw_trajectories(manifest: &Manifest, trajectories: &[Trajectory], path: &FilePath) -> Result<(), Error> {
    let format = |problem: String| Error::Format { file: path.display().to_string(), problem };
    let trajectories = &trajectories[..trajectories.len().min(MOST_TRAJECTORIES)];
    let svg = document(manifest, trajectories).ok_or_else(|| format("no sample to draw".to_owned()))?;
    let bytes = if path.extension().is_some_and(|extension| extension == "png") {
        png::render(&svg).map_err(format)?
    } else {
        svg.into_bytes()
    };
    atomic::write_file(path, &bytes).map_err(|source| Error::Io { path: path.to_owned(), source })
}

struct Panel<'a> {
    quantity: &'a Quantity,
    note: &'static str,
    /// Whether a value is held until the next sample.
    is_held: bool,
    /// One list a trajectory.
    values: Vec<Vec<f64>>,
}

fn document(manifest: &Manifest, trajectories: &[Trajectory]) -> Option<String> {
    let shape = manifest.state_shape();
    let channels = &manifest.channels[..manifest.channels.len().min(MOST_CHANNELS)];
    let mut canvas = Canvas::new("samples", 840.0, 0.0);
    let classes: Vec<(String, String)> =
        (0..trajectories.len()).map(|s| (format!("p-line-{s}"), format!("p-dots-{s}"))).collect();
    let names: Vec<String> = trajectories.iter().map(|it| format!("{} / {}", it.environment, it.trajectory)).collect();
    let entries: Vec<(Key, &str)> =
        classes.iter().zip(&names).map(|((line, dots), name)| (Key::LineAndDot(line, dots), name.as_str())).collect();
    let legend = legend_row(&mut canvas, (LEFT, 14.0), &entries);
    let mean = |field: &[f64]| {
        let observed = || field.iter().filter(|value| !value.is_nan());
        observed().sum::<f64>() / observed().count() as f64
    };
    let of_space = if manifest.grid.is_some() { "mean over the grid" } else { "" };
    let mut panels = Vec::new();
    for (c, channel) in channels.iter().enumerate() {
        let values = trajectories.iter().map(|it| shape.channel(&it.states, c).map(mean).collect()).collect();
        panels.push(Panel { quantity: channel, note: of_space, is_held: false, values });
    }
    for (u, input) in manifest.inputs.iter().enumerate().take(MOST_CHANNELS) {
        let values = trajectories.iter().map(|it| (0..it.len()).map(|t| it.input(t)[u]).collect()).collect();
        let is_held = input.between == Between::Hold;
        panels.push(Panel { quantity: &input.quantity, note: "input", is_held, values });
    }
    let rows = panels.len().div_ceil(2) as f64;
    let (width, height) = PANEL;
    canvas.height = legend + 64.0 + rows * (height + 92.0) - 42.0;
    for (panel, Panel { quantity, note, is_held, values }) in panels.into_iter().enumerate() {
        let times = trajectories.iter().flat_map(|it| it.times.iter().copied());
        let x = Axis::linear(times, &label("time", &manifest.time_unit))?.without_margin();
        let name = number::quantity(quantity);
        let y = Axis::linear(values.iter().flatten().copied(), &name).unwrap_or_else(|| Axis::exact(0.0, 1.0, &name));
        let left = LEFT + (panel % 2) as f64 * 424.0;
        let plot = Plot { left, top: legend + 54.0 + (panel / 2) as f64 * (height + 92.0), width, height, x, y };
        plot.frame(&mut canvas, note);
        for ((trajectory, values), (line, dots)) in trajectories.iter().zip(&values).zip(&classes) {
            let observed = trajectory.times.iter().zip(values).filter(|(_, value)| !value.is_nan());
            let points: Vec<_> = observed.map(|(t, v)| plot.at(*t, *v)).collect();
            let along = if is_held { Path::new().steps(&points) } else { Path::new().line(points.iter().copied()) };
            canvas.path(&format!("class=\"{line}\""), &along);
            if points.len() <= 80 {
                let mut path = Path::new();
                points.iter().for_each(|at| path.dot(*at));
                canvas.path(&format!("class=\"{dots}\""), &path);
            }
        }
    }
    Some(canvas.standalone(&manifest.name, &format!("Trajectories of {}: {}.", manifest.name, names.join("; "))))
}
