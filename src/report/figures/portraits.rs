//! Trajectories of a few environments: truth and prediction.

use super::Figure;
use crate::report::axis::{Axis, label, range};
use crate::report::canvas::{Canvas, Path, SERIES};
use crate::report::plot::{Key, Plot, legend_row};
use crate::report::{Input, Portrait, number};
use crate::schema::Quantity;

/// Panels at most.
const MOST: usize = 4;
/// Left edge of the first column.
const LEFT: f64 = 68.0;

/// A portrait whose lengths agree, one channel after the other.
struct Panel<'a> {
    title: &'a str,
    times: &'a [f64],
    truth: Vec<Vec<f64>>,
    prediction: Vec<Vec<f64>>,
}

impl<'a> Panel<'a> {
    fn new(portrait: &'a Portrait, channels: usize) -> Option<Self> {
        let length = portrait.times.len() * channels;
        if length == 0 || portrait.truth.len() != length || portrait.prediction.len() != length {
            return None;
        }
        let split = |values: &[f64]| -> Vec<Vec<f64>> {
            (0..channels.min(SERIES)).map(|c| values.iter().skip(c).step_by(channels).copied().collect()).collect()
        };
        let panel = Panel {
            title: &portrait.title,
            times: &portrait.times,
            truth: split(&portrait.truth),
            prediction: split(&portrait.prediction),
        };
        range(panel.truth.iter().flatten().copied()).map(|_| panel)
    }

    /// The range of channel `c`: all of the truth, and of the prediction as much as lies within as much again.
    fn limits(&self, c: usize) -> Vec<f64> {
        let Some((low, high)) = range(self.truth[c].iter().copied()) else { return Vec::new() };
        let reach = (high - low).max(1e-3 * high.abs());
        let near = range(self.prediction[c].iter().map(|value| value.clamp(low - reach, high + reach)));
        let (first, last) = near.unwrap_or((low, high));
        vec![low, high, first, last]
    }
}

/// Panels of truth and prediction in two columns.
pub fn figure(input: &Input) -> Option<Figure> {
    if input.grid.is_some() {
        return None;
    }
    let channels = input.channels.len();
    let panels: Vec<Panel> =
        input.portraits.iter().filter_map(|portrait| Panel::new(portrait, channels)).take(MOST).collect();
    if panels.is_empty() {
        return None;
    }
    let phase = channels == 2;
    let (width, height) = (336.0, if phase { 290.0 } else { 230.0 });
    let rows = panels.len().div_ceil(2);
    let mut canvas = Canvas::new("portraits", 840.0, 0.0);
    let legend = if channels <= 2 {
        let entries = [
            (Key::LineAndDot("p-truth", "p-truth-dots"), "data, at its samples"),
            (Key::Line("p-guess"), "prediction"),
        ];
        legend_row(&mut canvas, (LEFT, 14.0), &entries)
    } else {
        channel_legend(&mut canvas, input)
    };
    canvas.height = legend + 64.0 + rows as f64 * (height + 92.0) - 92.0 + 50.0;
    for (index, panel) in panels.iter().enumerate() {
        let left = LEFT + (index % 2) as f64 * 424.0;
        let top = legend + 54.0 + (index / 2) as f64 * (height + 92.0);
        let area = (left, top, width, height);
        if phase { phase_plane(&mut canvas, input, panel, area) } else { series(&mut canvas, input, panel, area) }
    }
    let kind = if phase { "Phase portraits" } else { "Trajectories" };
    let hidden = if channels > SERIES { format!(" The first {SERIES} of {channels} channels.") } else { String::new() };
    let lines = if phase { " Lines join samples by cubic curves." } else { "" };
    let titles: Vec<&str> = panels.iter().map(|panel| panel.title).collect();
    Some(Figure {
        name: "portraits",
        title: if phase { "Phase portraits" } else { "Trajectories" },
        description: format!("{kind} of data and prediction: {}.", titles.join("; ")),
        caption: format!("Data and the model's prediction from the same initial state.{lines}{hidden}"),
        canvas,
    })
}

/// The unit that all shown channels have, if they share one.
fn common_unit(input: &Input) -> Option<&str> {
    let mut units = input.channels.iter().take(SERIES).map(|channel| channel.unit.as_str());
    let first = units.next()?;
    units.all(|unit| unit == first).then_some(first)
}

/// Returns the height of the legend beyond its first line.
fn channel_legend(canvas: &mut Canvas, input: &Input) -> f64 {
    let shared = common_unit(input).is_some();
    let name = |channel: &Quantity| if shared { number::name(&channel.name) } else { number::quantity(channel) };
    let names: Vec<String> = input.channels.iter().take(SERIES).map(name).collect();
    let classes: Vec<(String, String)> =
        (0..names.len()).map(|c| (format!("p-line-{c}"), format!("p-dots-{c}"))).collect();
    let entries: Vec<(Key, &str)> =
        names.iter().zip(&classes).map(|(name, (line, dots))| (Key::LineAndDot(line, dots), name.as_str())).collect();
    let down = legend_row(canvas, (LEFT, 14.0), &entries) + 23.0;
    let styles =
        [(Key::LineAndDot("p-line-6", "p-dots-6"), "data, at its samples"), (Key::Line("p-dash-6"), "prediction")];
    down + legend_row(canvas, (LEFT, 14.0 + down), &styles)
}

fn phase_plane(canvas: &mut Canvas, input: &Input, panel: &Panel, (left, top, width, height): (f64, f64, f64, f64)) {
    let axis = |c: usize| Axis::linear(panel.limits(c), &number::quantity(&input.channels[c]));
    let (Some(x), Some(y)) = (axis(0), axis(1)) else { return };
    let plot = Plot { left, top, width, height, x, y };
    plot.frame(canvas, panel.title);
    let points = |states: &[Vec<f64>]| -> Vec<(f64, f64)> {
        states[0].iter().zip(&states[1]).map(|(x, y)| plot.at(*x, *y)).collect()
    };
    let (truth, prediction) = (points(&panel.truth), points(&panel.prediction));
    canvas.clipped(plot.area(), |canvas| {
        canvas.path("class=\"p-truth\"", &Path::new().curve(panel.times, &truth));
        let mut dots = Path::new();
        truth.iter().for_each(|at| dots.dot(*at));
        canvas.path("class=\"p-truth-dots\"", &dots);
        canvas.path("class=\"p-guess\"", &Path::new().curve(panel.times, &prediction));
    });
}

fn series(canvas: &mut Canvas, input: &Input, panel: &Panel, (left, top, width, height): (f64, f64, f64, f64)) {
    let shown = panel.truth.len();
    let name = match &input.channels[..] {
        [channel] => number::quantity(channel),
        _ => label("value", common_unit(input).unwrap_or("1")),
    };
    let values = (0..shown).flat_map(|c| panel.limits(c));
    let time = label("time", &input.time_unit);
    let (Some(x), Some(y)) = (Axis::linear(panel.times.iter().copied(), &time), Axis::linear(values, &name)) else {
        return;
    };
    let plot = Plot { left, top, width, height, x: x.without_margin(), y };
    plot.frame(canvas, panel.title);
    let area = (left - 3.0, top - 3.0, width + 6.0, height + 6.0);
    canvas.clipped(area, |canvas| {
        for c in 0..shown {
            let (line, dots, dash) = match shown {
                1 => ("p-truth".to_owned(), "p-truth-dots".to_owned(), "p-guess".to_owned()),
                _ => (format!("p-line-{c}"), format!("p-dots-{c}"), format!("p-dash-{c}")),
            };
            let points = |values: &[f64]| -> Vec<(f64, f64)> {
                panel.times.iter().zip(values).map(|(t, v)| plot.at(*t, *v)).collect()
            };
            let truth = points(&panel.truth[c]);
            canvas.path(&format!("class=\"{line}\""), &Path::new().line(truth.iter().copied()));
            if truth.len() <= 80 {
                let mut path = Path::new();
                truth.iter().for_each(|at| path.dot(*at));
                canvas.path(&format!("class=\"{dots}\""), &path);
            }
            canvas.path(&format!("class=\"{dash}\""), &Path::new().line(points(&panel.prediction[c])));
        }
    });
}
