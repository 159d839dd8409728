//! Phase portraits of a few environments of two channels: data and prediction, if the trajectory turns and some sample has both.

use super::figure::Figure;
use super::panel::Panel;
use super::trajectories::{LEFT, fitted, told};
use crate::report::axis::Axis;
use crate::report::canvas::{Canvas, Path};
use crate::report::input::Input;
use crate::report::number;
use crate::report::plot::{Key, Plot, legend_row};
use crate::report::simplified::kept;

/// Width and height of a panel.
const PANEL: (f64, f64) = (336.0, 290.0);
/// A channel turns where it goes further than its range by this factor.
const TURNING: f64 = 1.1;

/// Panels in two columns. A trajectory that never turns is shown better by its channels over time, so it has no portrait.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    if input.grid.is_some() || input.channels.len() != 2 {
        return None;
    }
    let panels: Vec<Panel> = Panel::all(input).into_iter().filter(|panel| turns(panel) && has_both(panel)).collect();
    if panels.is_empty() {
        return None;
    }
    let (width, height) = PANEL;
    let rows = panels.len().div_ceil(2);
    let mut canvas = Canvas::new("portraits", 840.0, 0.0);
    let entries =
        [(Key::LineAndDot("p-truth", "p-truth-dots"), "data, at its samples"), (Key::Line("p-guess"), fitted(input))];
    let legend = legend_row(&mut canvas, (LEFT, 14.0), &entries);
    canvas.height = legend + 64.0 + rows as f64 * (height + 92.0) - 92.0 + 50.0;
    for (index, panel) in panels.iter().enumerate() {
        let left = LEFT + (index % 2) as f64 * 424.0;
        let top = legend + 54.0 + (index / 2) as f64 * (height + 92.0);
        phase_plane(&mut canvas, input, panel, (left, top, width, height));
    }
    let titles: Vec<&str> = panels.iter().map(|panel| panel.title).collect();
    Some(Figure {
        name: "portraits",
        title: "Phase portraits",
        description: format!("Phase portraits of data and prediction: {}.", titles.join("; ")),
        caption: format!("{} Lines join samples by cubic curves.", told(input)),
        canvas,
    })
}

/// Whether a channel of the prediction, which has no noise, reverses by more than a small part of its range.
fn turns(panel: &Panel) -> bool {
    panel.prediction.iter().any(|values| {
        let way: f64 = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum();
        let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
        way > TURNING * (high - low)
    })
}

/// Whether some sample has both channels.
fn has_both(panel: &Panel) -> bool {
    panel.truth[0].iter().zip(&panel.truth[1]).any(|(x, y)| x.is_finite() && y.is_finite())
}

fn phase_plane(canvas: &mut Canvas, input: &Input, panel: &Panel, (left, top, width, height): (f64, f64, f64, f64)) {
    let axis = |c: usize| Axis::linear(panel.limits(c), &number::quantity(&input.channels[c]));
    let (Some(x), Some(y)) = (axis(0), axis(1)) else { return };
    let plot = Plot { left, top, width, height, x, y };
    plot.frame(canvas, panel.title);
    let points = |states: &[Vec<f64>]| -> Vec<(f64, f64)> {
        states[0].iter().zip(&states[1]).map(|(x, y)| plot.at(*x, *y)).collect()
    };
    let truth = points(&panel.truth);
    let ((times, first), (_, second)) = (panel.predicted(0), panel.predicted(1));
    let prediction: Vec<(f64, f64)> = first.iter().zip(second).map(|(x, y)| plot.at(*x, *y)).collect();
    canvas.clipped(plot.area(), |canvas| {
        canvas.path("class=\"p-truth\"", &Path::new().curve(panel.times, &truth));
        let mut dots = Path::new();
        truth.iter().for_each(|at| dots.dot(*at));
        canvas.path("class=\"p-truth-dots\"", &dots);
        let predicted = match panel.fit.is_some() {
            true => Path::new().line(kept(&prediction).into_iter().map(|index| prediction[index])),
            false => Path::new().curve(times, &prediction),
        };
        canvas.path("class=\"p-guess\"", &predicted);
    });
}
