//! Fields of a few environments: truth at the start and the end, prediction at the end, and their difference.

use super::figure::Figure;
use crate::report::axis::range;
use crate::report::canvas::{Anchor, Canvas, Path};
use crate::report::colour::sequential;
use crate::report::input::{Input, Portrait};
use crate::report::number;

/// Environments at most.
const MOST: usize = 3;
/// Channels shown at most.
const MOST_CHANNELS: usize = 2;
/// Steps of the colour scale.
const LEVELS: usize = 64;
const LEFT: f64 = 12.0;
/// Divisible by the usual numbers of points, so that there are no gaps between squares.
const SIDE: f64 = 192.0;
const GAP: f64 = 16.0;
/// Height of a row beside its pictures: its title above, its ranges below.
const WORDS: f64 = 58.0;
const HEADINGS: [&str; 4] =
    ["data, first sample", "data, last sample", "prediction, last sample", "difference (absolute)"];

/// One channel of one environment.
struct Row<'a> {
    title: String,
    portrait: &'a Portrait,
    channel: usize,
}

/// Rows of pictures, where channels are fields on two axes.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    let axes = &input.grid.as_ref()?.axes;
    let [first, second] = &axes[..] else { return None };
    let (points, channels) = (first.count * second.count, input.channels.len());
    let complete = |portrait: &&Portrait| {
        let length = portrait.times.len() * points * channels;
        length > 0 && portrait.truth.len() == length && portrait.prediction.len() == length
    };
    let mut rows = Vec::new();
    for portrait in input.portraits.iter().filter(complete).take(MOST) {
        for (channel, quantity) in input.channels.iter().enumerate().take(MOST_CHANNELS) {
            let title = format!("{}: {}", portrait.title, number::quantity(quantity));
            rows.push(Row { title, portrait, channel });
        }
    }
    if rows.is_empty() {
        return None;
    }
    let mut canvas = Canvas::new("fields", 840.0, 30.0 + rows.len() as f64 * (SIDE + WORDS));
    for (column, heading) in HEADINGS.iter().enumerate() {
        canvas.text("p-small p-muted", Anchor::Start, (LEFT + column as f64 * (SIDE + GAP), 16.0), heading);
    }
    for (index, row) in rows.iter().enumerate() {
        let top = 30.0 + index as f64 * (SIDE + WORDS) + 20.0;
        canvas.text("p-text p-strong", Anchor::Start, (LEFT, top - 7.0), &row.title);
        let last = row.portrait.times.len() - 1;
        let field = |states: &[f64], sample: usize| {
            let start = (sample * channels + row.channel) * points;
            states[start..start + points].to_vec()
        };
        let (truth, prediction) = (field(&row.portrait.truth, last), field(&row.portrait.prediction, last));
        let difference: Vec<f64> = truth.iter().zip(&prediction).map(|(y, z)| (y - z).abs()).collect();
        let start = field(&row.portrait.truth, 0);
        let scale = range(start.iter().chain(&truth).copied()).unwrap_or((0.0, 1.0));
        let greatest = range(difference.iter().copied()).map_or(0.0, |(_, high)| high);
        let pictures = [(start, scale), (truth, scale), (prediction, scale), (difference, (0.0, greatest))];
        for (column, (values, scale)) in pictures.iter().enumerate() {
            let at = (LEFT + column as f64 * (SIDE + GAP), top);
            picture(&mut canvas, values, second.count, *scale, at);
        }
        let words = format!("colours from {} to {}", number::significant(scale.0), number::significant(scale.1));
        canvas.text("p-small p-muted", Anchor::Start, (LEFT, top + SIDE + 17.0), &words);
        let words = format!("from 0 to {}", number::significant(greatest));
        canvas.text("p-small p-muted", Anchor::Start, (LEFT + 3.0 * (SIDE + GAP), top + SIDE + 17.0), &words);
    }
    let titles: Vec<&str> = rows.iter().map(|row| row.title.as_str()).collect();
    Some(Figure {
        name: "fields",
        title: "Fields",
        description: format!("Fields of data and prediction: {}.", titles.join("; ")),
        caption: "Data and the model's prediction from the same initial field; one colour scale for the three fields of a row, one from zero \
                  for their difference."
            .to_owned(),
        canvas,
    })
}

/// Values `[n_1, n_2]` as squares: the first axis downwards, the second to the right. One path a colour, with neighbours of one colour
/// in a row as one rectangle; what is not finite stays empty.
fn picture(canvas: &mut Canvas, values: &[f64], columns: usize, (low, high): (f64, f64), (left, top): (f64, f64)) {
    let rows = values.len() / columns;
    let (width, height) = (SIDE / columns as f64, SIDE / rows as f64);
    let level = |value: f64| {
        let fraction = if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
        value.is_finite().then(|| ((fraction * LEVELS as f64) as usize).min(LEVELS - 1))
    };
    let mut paths: Vec<Path> = (0..LEVELS).map(|_| Path::new()).collect();
    for (row, line) in values.chunks(columns).enumerate() {
        let levels: Vec<Option<usize>> = line.iter().map(|value| level(*value)).collect();
        let mut start = 0;
        for run in levels.chunk_by(|a, b| a == b) {
            if let Some(level) = run[0] {
                let place = (left + start as f64 * width, top + row as f64 * height);
                paths[level].rectangle(place.0, place.1, run.len() as f64 * width, height);
            }
            start += run.len();
        }
    }
    let mut back = Path::new();
    back.rectangle(left, top, SIDE, SIDE);
    canvas.path("class=\"p-void\"", &back);
    for (level, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        let colour = sequential((level as f64 + 0.5) / LEVELS as f64).hex();
        canvas.path(&format!("fill=\"{colour}\" shape-rendering=\"crispEdges\""), path);
    }
}
