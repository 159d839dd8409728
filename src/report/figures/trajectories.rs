//! A few environments over time: data and prediction. Two channels have a panel each, more share one; inputs are in panels below.

use super::driven;
use super::figure::Figure;
use super::panel::Panel;
use crate::report::axis::{Axis, label};
use crate::report::canvas::{Anchor, Canvas, Path, SERIES, shortened};
use crate::report::input::{Event, Input};
use crate::report::number;
use crate::report::plot::{Key, Plot, legend_row};
use crate::report::simplified::kept;
use crate::schema::Quantity;

/// Left edge of the first column.
pub(super) const LEFT: f64 = 68.0;
/// Width of a panel, and its height.
const WIDTH: f64 = 336.0;
const HEIGHT: f64 = 230.0;
/// The same where each channel has its own.
const LOW: f64 = 150.0;
/// Most samples that are drawn as dots.
const MOST_DOTS: usize = 80;
/// The same beside a fit that is drawn between them; more are joined by lines.
const MOST_BESIDE: usize = 600;

/// The description of the figure.
pub(super) fn told(input: &Input) -> &'static str {
    match input.initial_states_fitted {
        true => "Data and what was fitted to them, initial states included.",
        false => "Data and the prediction from the same initial state.",
    }
}

/// The name of the predicted curve.
pub(super) fn fitted(input: &Input) -> &'static str {
    if input.initial_states_fitted { "fit" } else { "prediction" }
}

/// Panels in two columns: of two channels a row an environment.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    if input.grid.is_some() {
        return None;
    }
    let channels = input.channels.len();
    let panels = Panel::all(input);
    if panels.is_empty() {
        return None;
    }
    let apart = channels == 2;
    let mut canvas = Canvas::new("trajectories", 840.0, 0.0);
    let legend = if channels <= 2 {
        let dots = "p-truth-dots";
        let data = if panels[0].fit.is_some() { Key::Dot(dots) } else { Key::LineAndDot("p-truth", dots) };
        let mut entries = vec![(data, "data, at its samples"), (Key::Line("p-guess"), fitted(input))];
        entries.extend(known_input(input));
        if panels.iter().any(|panel| !panel.events.is_empty()) {
            entries.push((Key::Line("p-event"), "given at once, or reset"));
        }
        legend_row(&mut canvas, (LEFT, 14.0), &entries)
    } else {
        channel_legend(&mut canvas, input)
    };
    let (height, rows) = if apart { (LOW, panels.len()) } else { (HEIGHT, panels.len().div_ceil(2)) };
    let inputs = driven::count(input);
    let pitch = height + 92.0 + driven::height(if apart { inputs.div_ceil(2) } else { inputs });
    canvas.height = legend + 64.0 + rows as f64 * pitch - 92.0 + 50.0;
    let area = |place: usize| {
        let (row, column) = (place / 2, place % 2);
        (LEFT + column as f64 * 424.0, legend + 54.0 + row as f64 * pitch, WIDTH, height)
    };
    for (index, panel) in panels.iter().enumerate() {
        if apart {
            for c in 0..2 {
                let area = area(2 * index + c);
                let below = (c..inputs).step_by(2);
                series(&mut canvas, input, panel, c..c + 1, (area, below.len() == 0));
                driven::below(&mut canvas, input, panel, below, area);
            }
        } else {
            series(&mut canvas, input, panel, 0..panel.truth.len(), (area(index), inputs == 0));
            driven::below(&mut canvas, input, panel, 0..inputs, area(index));
        }
    }
    let first = |shown: usize, all: usize, what: &str| match all > shown {
        true => format!(" The first {shown} of {all} {what}."),
        false => String::new(),
    };
    let below = match input.hidden.is_empty() {
        true => "inputs",
        false => "hidden states and inputs",
    };
    let below = first(driven::MOST, input.hidden.len() + input.inputs.len(), below);
    let hidden = first(SERIES, channels, "channels") + &below;
    let first_of_several = match input.fits.iter().any(|it| it.trajectories.len() > 1) {
        true => " The first trajectory of each environment; all are on the page of fits.",
        false => "",
    };
    let titles: Vec<&str> = panels.iter().map(|panel| panel.title).collect();
    let drivers = match (input.hidden.is_empty(), input.inputs.is_empty()) {
        (true, true) => "",
        (true, false) => ", and what drives them,",
        (false, true) => ", and what is hidden beneath,",
        (false, false) => ", what is hidden beneath and what drives them,",
    };
    Some(Figure {
        name: "trajectories",
        title: "Trajectories",
        description: format!("Trajectories of data and prediction{drivers} against time: {}.", titles.join("; ")),
        caption: format!("{}{first_of_several}{hidden}", told(input)),
        canvas,
    })
}

/// The unit that all shown channels have, if they share one.
fn common_unit(input: &Input) -> Option<&str> {
    let mut units = input.channels.iter().take(SERIES).map(|channel| channel.unit.as_str());
    let first = units.next()?;
    units.all(|unit| unit == first).then_some(first)
}

/// A line of the legend, where there are inputs.
fn known_input(input: &Input) -> Option<(Key<'static>, &'static str)> {
    (!input.inputs.is_empty()).then_some((Key::Line(driven::CLASS), "input"))
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
    let mut styles =
        vec![(Key::LineAndDot("p-line-6", "p-dots-6"), "data, at its samples"), (Key::Line("p-dash-6"), fitted(input))];
    styles.extend(known_input(input));
    down + legend_row(canvas, (LEFT, 14.0 + down), &styles)
}

/// The channels `shown` of an environment in one panel, with the name of the axis of time where it is the lowest.
fn series(
    canvas: &mut Canvas,
    input: &Input,
    panel: &Panel,
    shown: std::ops::Range<usize>,
    ((left, top, width, height), is_lowest): ((f64, f64, f64, f64), bool),
) {
    let alone = shown.len() == 1;
    let name = match alone {
        true => number::quantity(&input.channels[shown.start]),
        false => label("value", common_unit(input).unwrap_or("1")),
    };
    let values = shown.clone().flat_map(|c| panel.limits(c));
    let time = if is_lowest { label("time", &input.time_unit) } else { String::new() };
    let (Some(x), Some(y)) = (
        Axis::linear(panel.times.iter().chain(panel.fit.iter().flat_map(|it| it.0)).copied(), &time),
        Axis::linear(values, &name),
    ) else {
        return;
    };
    let plot = Plot { left, top, width, height, x: x.without_margin(), y };
    // Beside a panel of the same environment there is room for the whole title.
    let title = if shown.start == 0 { panel.title } else { "" };
    if alone && panel.truth.len() == 2 {
        plot.frame(canvas, "");
        canvas.text("p-strong", Anchor::Start, (left, top - 10.0), &shortened(title, 760.0, 13.0));
    } else {
        plot.frame(canvas, title);
    }
    let area = (left - 3.0, top - 3.0, width + 6.0, height + 6.0);
    let event =
        |path: Path, it: &Event| path.line([(plot.at(it.time, 0.0).0, top), (plot.at(it.time, 0.0).0, top + height)]);
    canvas.clipped(area, |canvas| {
        canvas.path("class=\"p-event\"", &panel.events.iter().fold(Path::new(), event));
        for c in shown {
            let (line, dots, dash) = match alone {
                true => ("p-truth".to_owned(), "p-truth-dots".to_owned(), "p-guess".to_owned()),
                false => (format!("p-line-{c}"), format!("p-dots-{c}"), format!("p-dash-{c}")),
            };
            let points = |values: &[f64]| -> Vec<(f64, f64)> {
                panel.times.iter().zip(values).map(|(t, v)| plot.at(*t, *v)).collect()
            };
            // A time at which only inputs have a sample is no gap.
            let is_observed = |t: usize| panel.inputs.is_empty() || panel.truth.iter().any(|it| !it[t].is_nan());
            let truth = points(&panel.truth[c]).into_iter().enumerate().filter(|(t, _)| is_observed(*t));
            let truth: Vec<(f64, f64)> = truth.map(|(_, at)| at).collect();
            let is_dotted = truth.len() <= if panel.fit.is_some() { MOST_BESIDE } else { MOST_DOTS };
            if panel.fit.is_none() || !is_dotted {
                canvas.path(&format!("class=\"{line}\""), &Path::new().line(truth.iter().copied()));
            }
            // A sample between two missing ones is on no line, so it gets a dot.
            let is_alone =
                |t: usize| ![t.wrapping_sub(1), t + 1].iter().any(|&t| truth.get(t).is_some_and(|it| !it.1.is_nan()));
            let mut path = Path::new();
            let dotted = (0..truth.len()).filter(|&t| is_dotted || is_alone(t));
            dotted.for_each(|t| path.dot(truth[t]));
            canvas.path(&format!("class=\"{dots}\""), &path);
            let (times, values) = panel.predicted(c);
            let predicted: Vec<(f64, f64)> = times.iter().zip(values).map(|(t, value)| plot.at(*t, *value)).collect();
            let predicted = kept(&predicted).into_iter().map(|index| predicted[index]);
            canvas.path(&format!("class=\"{dash}\""), &Path::new().line(predicted));
        }
    });
}
