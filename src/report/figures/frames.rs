//! The error of a trained model at each sample of trajectories that it did not see.

use super::figure::{Figure, counted};
use crate::estimate::Frames;
use crate::report::axis::{Axis, label};
use crate::report::canvas::{Canvas, Path};
use crate::report::input::Input;
use crate::report::plot::{Key, Plot, legend_row};

/// The mean over trajectories with its spread on a logarithmic axis, where there are two samples with an error.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    let frames = input.learned.frames.as_ref()?;
    let Frames { split, trajectories, times, mean, low, high } = frames;
    let usable = |value: f64| value.is_finite() && value > 0.0;
    let curve: Vec<(f64, f64)> = times.iter().copied().zip(mean.iter().copied()).filter(|it| usable(it.1)).collect();
    if curve.len() < 2 {
        return None;
    }
    let all = mean.iter().chain(low).chain(high).copied().filter(|value| usable(*value));
    let plot = Plot {
        left: 80.0,
        top: 36.0,
        width: 735.0,
        height: 300.0,
        x: Axis::linear(times.iter().copied(), &label("time since the start", &input.time_unit))?.without_margin(),
        y: Axis::log(all, "squared error")?,
    };
    let mut canvas = Canvas::new("frames", 840.0, 396.0);
    let entries = [(Key::Line("p-fit"), "mean"), (Key::Area("p-band"), "80 % of the trajectories")];
    legend_row(&mut canvas, (80.0, 14.0), &entries);
    plot.frame(&mut canvas, "");
    // An error of zero has no place on the axis, and ends at its foot.
    let foot = |value: f64| if usable(value) { value.max(plot.y.low) } else { plot.y.low };
    let band = times.iter().zip(low.iter().zip(high)).filter(|(_, (_, high))| usable(**high));
    let band: Vec<(f64, f64, f64)> = band
        .map(|(t, (low, high))| {
            let (x, top) = plot.at(*t, *high);
            (x, top, plot.at(*t, foot(*low)).1)
        })
        .collect();
    canvas.clipped(plot.area(), |canvas| {
        canvas.path("class=\"p-band\"", &Path::new().area(&band));
        canvas.path("class=\"p-fit\"", &Path::new().line(curve.iter().map(|(t, error)| plot.at(*t, *error))));
    });
    let shown = counted(*trajectories, "trajectory");
    Some(Figure {
        name: "frames",
        title: "Error along trajectories",
        description: format!(
            "Squared error over time since the start, on a logarithmic scale: mean and spread over {shown} of the {split} split."
        ),
        caption: format!(
            "Squared error of each sample, the mean over channels in the units of the data, of {shown} of the {split} split of training \
             environments. The band leaves out a tenth on each side."
        ),
        canvas,
    })
}
