//! A few trajectories of a dataset against time, a panel a channel.

use std::path::Path as FilePath;

use super::axis::{Axis, label};
use super::canvas::{Canvas, Path, SERIES};
use super::plot::{Key, Plot, legend_row};
use super::{Error, number, png};
use crate::atomic;
use crate::dataset::Manifest;
use crate::schema::Trajectory;

/// Trajectories that a drawing can tell apart.
pub const MOST_TRAJECTORIES: usize = SERIES;
/// Channels drawn at most.
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
    let rows = channels.len().div_ceil(2) as f64;
    let (width, height) = PANEL;
    canvas.height = legend + 64.0 + rows * (height + 92.0) - 42.0;
    for (c, channel) in channels.iter().enumerate() {
        let mean = |field: &[f64]| {
            let observed = || field.iter().filter(|value| !value.is_nan());
            observed().sum::<f64>() / observed().count() as f64
        };
        let values: Vec<Vec<f64>> =
            trajectories.iter().map(|it| shape.channel(&it.states, c).map(mean).collect()).collect();
        let times = trajectories.iter().flat_map(|it| it.times.iter().copied());
        let x = Axis::linear(times, &label("time", &manifest.time_unit))?.without_margin();
        let name = number::quantity(channel);
        let y = Axis::linear(values.iter().flatten().copied(), &name).unwrap_or_else(|| Axis::exact(0.0, 1.0, &name));
        let left = LEFT + (c % 2) as f64 * 424.0;
        let plot = Plot { left, top: legend + 54.0 + (c / 2) as f64 * (height + 92.0), width, height, x, y };
        plot.frame(&mut canvas, if manifest.grid.is_some() { "mean over the grid" } else { "" });
        for ((trajectory, values), (line, dots)) in trajectories.iter().zip(&values).zip(&classes) {
            let observed = trajectory.times.iter().zip(values).filter(|(_, value)| !value.is_nan());
            let points: Vec<_> = observed.map(|(t, v)| plot.at(*t, *v)).collect();
            canvas.path(&format!("class=\"{line}\""), &Path::new().line(points.iter().copied()));
            if points.len() <= 80 {
                let mut path = Path::new();
                points.iter().for_each(|at| path.dot(*at));
                canvas.path(&format!("class=\"{dots}\""), &path);
            }
        }
    }
    Some(canvas.standalone(&manifest.name, &format!("Trajectories of {}: {}.", manifest.name, names.join("; "))))
}
