//! Fields of a few environments: truth at the start and the end, prediction at the end, and their difference. On one axis in space, truth and
//! prediction over time; on three, the slice in the middle of the first.

use super::figure::Figure;
use crate::report::axis::{label, range};
use crate::report::canvas::{Anchor, Canvas, Path};
use crate::report::colour::sequential;
use crate::report::input::{Input, Portrait};
use crate::report::number;
use crate::schema::GridAxis;

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
/// Width of the pictures over time.
const WIDE: f64 = 261.0;
const HEADINGS: [&str; 4] =
    ["data, first sample", "data, last sample", "prediction, last sample", "difference (absolute)"];
const OVER_TIME: [&str; 3] = ["data", "prediction", "difference (absolute)"];

/// One channel of one environment.
struct Row<'a> {
    title: String,
    portrait: &'a Portrait,
    channel: usize,
}

impl Row<'_> {
    /// Data and prediction `[rows, columns]`, the prediction last; each of the pictures over time has its columns from one of these edges to the
    /// next, as shares of the width.
    fn images(&self, axes: &[GridAxis], channels: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
        let Portrait { times, truth, prediction, .. } = self.portrait;
        let points: usize = axes.iter().map(|axis| axis.count).product();
        let field = |states: &[f64], sample: usize| {
            let start = (sample * channels + self.channel) * points;
            states[start..start + points].to_vec()
        };
        let last = times.len() - 1;
        let slice = |states: &[f64], sample: usize| match axes {
            [first, ..] if axes.len() == 3 => {
                let of_slice = points / first.count;
                field(states, sample)[first.count / 2 * of_slice..][..of_slice].to_vec()
            }
            _ => field(states, sample),
        };
        if axes.len() > 1 {
            let columns = axes[axes.len() - 1].count;
            let edges = (0..=columns).map(|j| j as f64 / columns as f64).collect();
            return (vec![slice(truth, 0), slice(truth, last), slice(prediction, last)], edges);
        }
        let over_time = |states: &[f64]| {
            let fields: Vec<Vec<f64>> = (0..times.len()).map(|sample| field(states, sample)).collect();
            (0..points).flat_map(|point| fields.iter().map(move |field| field[point])).collect::<Vec<f64>>()
        };
        let share = |t: f64| if last > 0 { (t - times[0]) / (times[last] - times[0]) } else { 0.0 };
        let middles = times.windows(2).map(|pair| share(0.5 * (pair[0] + pair[1])));
        let edges = std::iter::once(0.0).chain(middles).chain([1.0]).collect();
        (vec![over_time(truth), over_time(prediction)], edges)
    }
}

/// Rows of pictures, where channels are fields.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    let axes = &input.grid.as_ref()?.axes;
    let points: usize = axes.iter().map(|axis| axis.count).product();
    let channels = input.channels.len();
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
    let (headings, width) = if axes.len() == 1 { (&OVER_TIME[..], WIDE) } else { (&HEADINGS[..], SIDE) };
    let left = |column: usize| LEFT + column as f64 * (width + GAP);
    let mut canvas = Canvas::new("fields", 840.0, 30.0 + rows.len() as f64 * (SIDE + WORDS));
    for (column, heading) in headings.iter().enumerate() {
        canvas.text("p-small p-muted", Anchor::Start, (left(column), 16.0), heading);
    }
    for (index, row) in rows.iter().enumerate() {
        let top = 30.0 + index as f64 * (SIDE + WORDS) + 20.0;
        canvas.text("p-text p-strong", Anchor::Start, (LEFT, top - 7.0), &row.title);
        let (mut images, edges) = row.images(axes, channels);
        let [.., truth, prediction] = &images[..] else { continue };
        let difference: Vec<f64> = truth.iter().zip(prediction).map(|(y, z)| (y - z).abs()).collect();
        let of_data = images[..images.len() - 1].iter().flatten();
        let scale = range(of_data.copied()).unwrap_or((0.0, 1.0));
        let greatest = range(difference.iter().copied()).map_or(0.0, |(_, high)| high);
        images.push(difference);
        let last = images.len() - 1;
        for (column, image) in images.iter().enumerate() {
            let scale = if column == last { (0.0, greatest) } else { scale };
            picture(&mut canvas, image, &edges, scale, (left(column), top, width));
        }
        let words = format!("colours from {} to {}", number::significant(scale.0), number::significant(scale.1));
        canvas.text("p-small p-muted", Anchor::Start, (LEFT, top + SIDE + 17.0), &words);
        let words = format!("from 0 to {}", number::significant(greatest));
        canvas.text("p-small p-muted", Anchor::Start, (left(last), top + SIDE + 17.0), &words);
    }
    let titles: Vec<&str> = rows.iter().map(|row| row.title.as_str()).collect();
    let named = |axis: &GridAxis| label(&number::name(&axis.name), &axis.unit);
    let shown = match &axes[..] {
        [place] => format!(" {} to the right, {} downwards.", label("Time", &input.time_unit), named(place)),
        [first, ..] if axes.len() == 3 => {
            let middle = first.start + (first.count / 2) as f64 * first.spacing;
            let unit = number::unit(&first.unit).map_or_else(String::new, |unit| format!(" {unit}"));
            let at = number::significant(middle);
            format!(" The slice in the middle of the first of three axes, {} = {at}{unit}.", number::name(&first.name))
        }
        _ => String::new(),
    };
    let alike = if axes.len() == 1 { "for both" } else { "for the three fields of a row" };
    Some(Figure {
        name: "fields",
        title: "Fields",
        description: format!("Fields of data and prediction: {}.{shown}", titles.join("; ")),
        caption: format!(
            "Data and the model's prediction from the same initial field; one colour scale {alike}, one from zero for their difference.{shown}"
        ),
        canvas,
    })
}

/// Values `[n_1, n_2]` as rectangles: the first axis downwards, the second to the right, with columns between `edges`. One path a colour, with
/// neighbours of one colour in a row as one rectangle; what is not finite stays empty.
fn picture(
    canvas: &mut Canvas,
    values: &[f64],
    edges: &[f64],
    (low, high): (f64, f64),
    (left, top, width): (f64, f64, f64),
) {
    let columns = edges.len() - 1;
    let height = SIDE / (values.len() / columns) as f64;
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
                let (from, to) = (edges[start] * width, edges[start + run.len()] * width);
                paths[level].rectangle(left + from, top + row as f64 * height, to - from, height);
            }
            start += run.len();
        }
    }
    let mut back = Path::new();
    back.rectangle(left, top, width, SIDE);
    canvas.path("class=\"p-void\"", &back);
    for (level, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        let colour = sequential((level as f64 + 0.5) / LEVELS as f64).hex();
        canvas.path(&format!("fill=\"{colour}\" shape-rendering=\"crispEdges\""), path);
    }
}
