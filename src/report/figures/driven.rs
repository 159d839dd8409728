//! The hidden states and the inputs of an environment, in low panels below those of its channels.

use super::panel::Panel;
use crate::report::axis::{Axis, label};
use crate::report::canvas::{Anchor, Canvas, Path};
use crate::report::input::Input;
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
const FITTED: &str = "p-guess";

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
        let (quantity, values, between, kind, class) = match u.checked_sub(input.hidden.len()) {
            None => (&input.hidden[u], panel.hidden.get(u), Between::Linear, "hidden", FITTED),
            Some(u) => {
                let Input { inputs, .. } = input;
                (&inputs[u].quantity, panel.inputs.get(u), inputs[u].between, "input", CLASS)
            }
        };
        let Some(values) = values else { continue };
        let x = Axis::linear(panel.times.iter().copied(), &time);
        let (Some(x), Some(y)) = (x, Axis::linear(values.iter().copied(), "")) else { return };
        let plot = Plot { left, top, width, height: HEIGHT, x: x.without_margin(), y };
        plot.frame(canvas, "");
        let name = format!("{kind} {}", number::quantity(quantity));
        canvas.text("p-small", Anchor::Start, (left, top - 8.0), &name);
        let points: Vec<_> = panel.times.iter().zip(values).map(|(t, value)| plot.at(*t, *value)).collect();
        let path = match between {
            Between::Hold => Path::new().steps(&points),
            Between::Linear => Path::new().line(points),
        };
        canvas.path(&format!("class=\"{class}\""), &path);
        top += HEIGHT + GAP;
    }
}
