//! Parameters of which each trajectory has a value of its own: one panel a parameter and environment, with intervals.

use super::figure::{Figure, counted};
use crate::report::axis::{Axis, range};
use crate::report::canvas::{Anchor, Canvas, Path, text_width};
use crate::report::input::{Input, OwnEstimate};
use crate::report::number;
use crate::report::plot::{Key, Plot, legend_row};

/// Panels at most.
const MOST: usize = 24;
/// Left edge of the first column, distance of columns and rows, and size of a panel.
const LEFT: f64 = 76.0;
const PITCH: (f64, f64) = (424.0, 290.0);
const PANEL: (f64, f64) = (330.0, 180.0);
/// An interval may make a panel higher by this share of the range of all values on each side.
const REACH: f64 = 1.0;

/// Panels in two columns: all parameters of an environment, then those of the next.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    let mut environments: Vec<Vec<&OwnEstimate>> = Vec::new();
    for it in &input.of_trajectories {
        match environments.last_mut() {
            Some(last) if last[0].environment == it.environment => last.push(it),
            _ => environments.push(vec![it]),
        }
    }
    let parameters = input.own_parameters.len().min(MOST);
    if environments.is_empty() || parameters == 0 {
        return None;
    }
    // At equal distances, where not all have room.
    let stride = environments.len().div_ceil(MOST / parameters);
    let shown: Vec<&Vec<&OwnEstimate>> = environments.iter().step_by(stride).collect();
    let panels = shown.iter().flat_map(|all| (0..parameters).map(|parameter| (*all, parameter)));
    let panels: Vec<(&Vec<&OwnEstimate>, usize)> = panels.collect();
    let mut canvas = Canvas::new("of-trajectories", 840.0, 0.0);
    let mut entries = vec![(Key::Circle("p-mark"), "estimate and 95 % interval")];
    if shown.iter().any(|all| all.iter().any(|it| it.parameter < parameters && !it.value.is_finite())) {
        entries.push((Key::Cross("p-cross"), "not determined by the data"));
    }
    legend_row(&mut canvas, (LEFT, 14.0), &entries);
    canvas.height = 60.0 + panels.len().div_ceil(2) as f64 * PITCH.1 - 50.0;
    for (place, (all, parameter)) in panels.iter().enumerate() {
        let corner = (LEFT + (place % 2) as f64 * PITCH.0, 60.0 + (place / 2) as f64 * PITCH.1);
        panel(&mut canvas, input, (all, *parameter), corner);
    }
    let more = match environments.len() - shown.len() {
        0 => String::new(),
        _ => format!(" {} of {} environments, at equal distances.", shown.len(), environments.len()),
    };
    let names: Vec<&str> = input.own_parameters.iter().map(|it| it.name.as_str()).collect();
    Some(Figure {
        name: "of-trajectories",
        title: "Parameters of trajectories",
        description: format!(
            "Estimates of {} by trajectory with their intervals, {}.",
            names.join(", "),
            counted(shown.len(), "environment")
        ),
        caption: format!(
            "Each trajectory has a value of its own, in the order of the dataset, with its 95 % interval; the line is the median of the environment. Intervals \
             that are longer than the panel are cut.{more}"
        ),
        canvas,
    })
}

fn panel(canvas: &mut Canvas, input: &Input, (all, parameter): (&[&OwnEstimate], usize), (left, top): (f64, f64)) {
    let own: Vec<&&OwnEstimate> = all.iter().filter(|it| it.parameter == parameter).collect();
    let Some((low, high)) = range(own.iter().map(|it| it.value)) else { return nothing(canvas, all, (left, top)) };
    let reach = REACH * (high - low).max(0.05 * low.abs().max(high.abs()));
    let cut = |end: f64| end.clamp(low - reach, high + reach);
    let ends = own.iter().flat_map(|it| [it.value, cut(it.lower), cut(it.upper)]);
    let Some(y) = Axis::linear(ends, &number::quantity(&input.own_parameters[parameter])) else { return };
    let (width, height) = PANEL;
    let names: Vec<String> = own.iter().map(|it| it.trajectory.clone()).collect();
    let room = width / names.len() as f64 - 6.0;
    let x = match names.iter().all(|name| text_width(name, 12.0) <= room) {
        true => Axis::named(names, "trajectory"),
        false => Axis::counts(names.len(), "trajectory"),
    };
    let plot = Plot { left, top, width, height, x, y };
    plot.frame(canvas, &all[0].environment);
    let mut values: Vec<f64> = own.iter().map(|it| it.value).filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let median = 0.5 * (values[values.len() / 2] + values[(values.len() - 1) / 2]);
    canvas.line("p-guide", plot.at(plot.x.low, median), plot.at(plot.x.high, median));
    canvas.clipped(plot.area(), |canvas| {
        let (mut bars, mut crosses) = (Path::new(), Path::new());
        for (place, it) in own.iter().enumerate() {
            let x = place as f64 + 1.0;
            if !it.value.is_finite() {
                crosses.cross(plot.at(x, 0.5 * (plot.y.low + plot.y.high)), 4.0);
            } else if it.lower.is_finite() && it.upper.is_finite() {
                let ((x, bottom), (_, top)) = (plot.at(x, it.lower), plot.at(x, it.upper));
                bars = bars.line([(x, bottom), (x, top)]);
                bars = bars.line([(x - 4.0, bottom), (x + 4.0, bottom)]).line([(x - 4.0, top), (x + 4.0, top)]);
            }
        }
        canvas.path("class=\"p-bar\"", &bars);
        canvas.path("class=\"p-cross\"", &crosses);
        for (place, it) in own.iter().enumerate().filter(|(_, it)| it.value.is_finite()) {
            canvas.circle("class=\"p-mark\"", plot.at(place as f64 + 1.0, it.value), 4.5);
        }
    });
}

/// That no trajectory of an environment has an estimate.
fn nothing(canvas: &mut Canvas, all: &[&OwnEstimate], (left, top): (f64, f64)) {
    canvas.text("p-strong", Anchor::Start, (left, top - 10.0), &all[0].environment);
    canvas.text("p-small p-muted", Anchor::Start, (left, top + 14.0), "not determined by the data of any trajectory");
}
