//! The hidden states and the inputs of an environment, in low panels below those of its channels.

use super::panel::Panel;
use crate::report::axis::{Axis, label};
use crate::report::canvas::{Anchor, Canvas, Path};
use crate::report::input::{Event, Input};
use crate::report::number;
use crate::report::plot::Plot;
use crate::schema::Between;

/// Hidden states and inputs drawn at most.
pub(super) const MOST: usize = 4;
/// Height of a panel, and the gap above it.
const HEIGHT: f64 = 64.0;
const GAP: f64 = 50.0;
/// The stroke of a signal.
pub(super) const CLASS: &str = "p-input";

/// The stroke of what is fitted.
const FITTED: &str = "p-fit";

/// How many hidden states and inputs are drawn.
pub(super) fn count(input: &Input) -> usize {
    (input.hidden.len() + input.inputs.len()).min(MOST)
}

/// What `rows` of panels add to the height.
pub(super) fn height(rows: usize) -> f64 {
    rows as f64 * (HEIGHT + GAP)
}

/// Draws some of the hidden states, then of the inputs, one below the other, under the panel at (`left`, `top`).
pub(super) fn below(
    canvas: &mut Canvas,
    input: &Input,
    panel: &Panel,
    shown: impl Iterator<Item = usize>,
    (left, top, width, height): (f64, f64, f64, f64),
) {
    let mut shown = shown.peekable();
    let mut top = top + height + GAP;
    while let Some(u) = shown.next() {
        let time = if shown.peek().is_none() { label("time", &input.time_unit) } else { String::new() };
        let hidden = input.hidden.len();
        let found = match u.checked_sub(hidden) {
            None => panel.hidden(u).map(|(times, values)| (&input.hidden[u], times, values, "hidden", FITTED)),
            Some(u) => {
                let values = panel.inputs.get(u).map(Vec::as_slice);
                values.map(|values| (&input.inputs[u].quantity, panel.times, values, "input", CLASS))
            }
        };
        let Some((quantity, times, values, kind, class)) = found else { continue };
        let given: Vec<&Event> = panel.events.iter().filter(|it| Some(it.input) == u.checked_sub(hidden)).collect();
        let ends = panel.times.iter().chain(panel.fit.iter().flat_map(|it| it.0)).copied();
        let x = Axis::linear(ends, &time);
        let heights = given.iter().map(|it| it.amount).chain([0.0]);
        let y = match given.is_empty() {
            true => Axis::linear(values.iter().copied(), ""),
            false => Axis::linear(heights, ""),
        };
        let (Some(x), Some(y)) = (x, y) else { return };
        let plot = Plot { left, top, width, height: HEIGHT, x: x.without_margin(), y };
        plot.frame(canvas, "");
        let kind = if given.is_empty() { kind } else { "given at once:" };
        let name = format!("{kind} {}", number::quantity(quantity));
        canvas.text("p-small", Anchor::Start, (left, top - 8.0), &name);
        if given.is_empty() {
            let points: Vec<_> = times.iter().zip(values).map(|(t, value)| plot.at(*t, *value)).collect();
            let is_held = u.checked_sub(hidden).is_some_and(|u| input.inputs[u].between == Between::Hold);
            let path = if is_held { Path::new().steps(&points) } else { Path::new().line(points) };
            canvas.path(&format!("class=\"{class}\""), &path);
        } else {
            let stem = |path: Path, it: &&Event| path.line([plot.at(it.time, 0.0), plot.at(it.time, it.amount)]);
            canvas.path("class=\"p-stem\"", &given.iter().fold(Path::new(), stem));
        }
        top += HEIGHT + GAP;
    }
}
