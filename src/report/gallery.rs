//! `fits.html`, `fits-2.html` ..: every trajectory of the environments that are drawn, with every channel, what is hidden and what is given.
//!
//! The pages need neither script nor network. Links choose one environment; without a choice, and on paper, all of a page are shown.

use std::fmt::Write;

use super::axis::{Axis, label, range};
use super::canvas::{Anchor, Canvas, Path};
use super::input::{Event, Fit, FittedEnvironment, Input, Portrait};
use super::number::{count, escape, quantity};
use super::plot::{Key, Plot, legend_row};
use super::simplified::kept;
use crate::schema::Between;

/// Panels of a page, about.
const PANELS: usize = 240;
/// Left edge of the first column, distance of columns and rows, and size of a panel.
const LEFT: f64 = 62.0;
const PITCH: (f64, f64) = (420.0, 206.0);
const PANEL: (f64, f64) = (340.0, 132.0);
/// Samples of a panel that are drawn at most; of more, every so many.
const MOST_DOTS: usize = 2000;
/// A band may make a panel higher by this share on each side.
const ROOM: f64 = 0.25;

const STYLE: &str = "
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1rem;list-style:none;padding:0;margin:.6rem 0}
section{break-inside:avoid}
section h3{font-size:1rem;margin:1.2rem 0 .3rem}
body:has(section:target) section:not(:target){display:none}
@media print{nav{display:none}}
";

/// File names and contents of the pages; `head` makes the head of a page of that title, with a style of its own. None where nothing is drawn.
pub(crate) fn pages(input: &Input, head: &dyn Fn(&str, &str) -> String) -> Vec<(String, String)> {
    let parts = parts(input);
    let name = |page: usize| if page == 0 { "fits.html".to_owned() } else { format!("fits-{}.html", page + 1) };
    let mut places: Vec<(usize, usize)> = Vec::new();
    parts.iter().enumerate().for_each(|(page, part)| places.extend(part.iter().map(|index| (page, *index))));
    let link = |(page, index): &(usize, usize)| {
        let environment = escape(&input.fits[*index].environment);
        format!("<li><a href=\"{}#fit-{index}\">{environment}</a></li>", name(*page))
    };
    let links: String = places.iter().map(link).collect();
    let given = match input.fits.iter().flat_map(|it| &it.trajectories).any(|it| !it.events.is_empty()) {
        true => "; dotted lines stand where amounts are given or states reset",
        false => "",
    };
    let page = |(page, part): (usize, &Vec<usize>)| {
        let around: String = (0..parts.len())
            .map(|other| match other == page {
                true => format!("<li><strong>{}</strong></li>", other + 1),
                false => format!("<li><a href=\"{}\">{}</a></li>", name(other), other + 1),
            })
            .collect();
        let around = if parts.len() > 1 { format!("<p>Page</p><ul>{around}</ul>") } else { String::new() };
        let mut text = head(&format!("{}: fits", if input.title.is_empty() { "Report" } else { &input.title }), STYLE);
        let _ = write!(
            text,
            "<header>\n<h1>Fits</h1>\n<p class=\"lead\">Every trajectory beside its fit, between the samples as well. Shades are where the trajectory lies \
             with 95 %, by what is not known of parameters and starts{given}.</p>\n\
             <nav><ul><li><a href=\"index.html\">The report</a></li><li><a href=\"{}\">All of this page</a></li></ul>{around}\
             <details><summary>Show one environment of {}</summary><ul>{links}</ul></details></nav>\n</header>\n<main>\n",
            name(page),
            count(input.fits.len() as u64)
        );
        part.iter().for_each(|&index| section(&mut text, input, index));
        text.push_str("</main>\n</body>\n</html>\n");
        (name(page), text)
    };
    parts.iter().enumerate().map(page).collect()
}

/// The environments of each page.
fn parts(input: &Input) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for (index, environment) in input.fits.iter().enumerate() {
        let panels = environment.trajectories.len() * rows_of(input).len();
        if panels > room || parts.is_empty() {
            parts.push(Vec::new());
            room = PANELS;
        }
        room = room.saturating_sub(panels);
        parts.last_mut().expect("a page was opened").push(index);
    }
    parts
}

/// What a panel shows.
#[derive(Clone, Copy)]
enum Shown {
    Channel(usize),
    /// Index among what is hidden.
    Hidden(usize),
    Input(usize),
}

/// All that is shown of a trajectory.
fn rows_of(input: &Input) -> Vec<Shown> {
    let channels = (0..input.channels.len()).map(Shown::Channel);
    let hidden = (0..input.hidden.len()).map(Shown::Hidden);
    channels.chain(hidden).chain((0..input.inputs.len()).map(Shown::Input)).collect()
}

fn section(text: &mut String, input: &Input, index: usize) {
    let FittedEnvironment { environment, status, trajectories } = &input.fits[index];
    let _ = writeln!(
        text,
        "<section id=\"fit-{index}\">\n<h2>{}</h2>\n<p class=\"soft\">{}</p>",
        escape(environment),
        escape(status)
    );
    for (place, portrait) in trajectories.iter().enumerate() {
        if trajectories.len() > 1 {
            let _ = writeln!(text, "<h3>{}</h3>", escape(&portrait.title));
        }
        if let Some(fit) = portrait.fit.as_ref().filter(|fit| !fit.unknown.is_empty()) {
            let _ =
                writeln!(text, "<p class=\"soft\">Without a band where it is unknown: {}.</p>", escape(&fit.unknown));
        }
        let canvas = drawing(input, portrait, &format!("fit-{index}-{place}"), index == 0 && place == 0);
        let title = format!("{environment} {}", portrait.title);
        let _ = writeln!(text, "<figure>\n{}</figure>", canvas.inline(&title, "Data and fit against time."));
    }
    text.push_str("</section>\n");
}

/// The panels of a trajectory in two columns.
fn drawing(input: &Input, portrait: &Portrait, name: &str, has_legend: bool) -> Canvas {
    let shown = rows_of(input);
    let top = if has_legend { 66.0 } else { 30.0 };
    let mut canvas = Canvas::new(name, 840.0, top + shown.len().div_ceil(2) as f64 * PITCH.1 - 18.0);
    if has_legend {
        let all = || input.fits.iter().flat_map(|it| &it.trajectories);
        let mut entries = vec![(Key::Dot("p-truth-dots"), "data")];
        if all().any(|it| it.below.contains(&true)) {
            entries.push((Key::Circle("p-below"), "below the limit of quantification"));
        }
        entries.extend([(Key::Line("p-fit"), "fit"), (Key::Area("p-band"), "95 %")]);
        if all().any(|it| !it.events.is_empty()) {
            entries.push((Key::Line("p-event"), "given at once, or reset"));
        }
        legend_row(&mut canvas, (LEFT, 14.0), &entries);
    }
    for (place, what) in shown.iter().enumerate() {
        let corner = (LEFT + (place % 2) as f64 * PITCH.0, top + (place / 2) as f64 * PITCH.1);
        let is_lowest = place + 2 >= shown.len();
        panel(&mut canvas, input, portrait, *what, (corner, is_lowest));
    }
    canvas
}

fn panel(
    canvas: &mut Canvas,
    input: &Input,
    portrait: &Portrait,
    what: Shown,
    ((left, top), is_lowest): ((f64, f64), bool),
) {
    let (channels, inputs) = (input.channels.len(), input.inputs.len());
    let column =
        |values: &[f64], of: usize, all: usize| -> Vec<f64> { values.iter().skip(of).step_by(all).copied().collect() };
    let (title, data, of_fit) = match what {
        Shown::Channel(c) => (quantity(&input.channels[c]), column(&portrait.truth, c, channels), Some(c)),
        Shown::Hidden(h) => (format!("hidden {}", quantity(&input.hidden[h])), Vec::new(), Some(channels + h)),
        Shown::Input(u) => {
            (format!("input {}", quantity(&input.inputs[u].quantity)), column(&portrait.inputs, u, inputs), None)
        }
    };
    let all = channels + input.hidden.len();
    let fit = portrait.fit.as_ref().filter(|fit| fit.values.len() == fit.times.len() * all);
    let (values, halves) = match (fit, of_fit) {
        (Some(Fit { values, half_widths, .. }), Some(q)) => (column(values, q, all), column(half_widths, q, all)),
        _ => (Vec::new(), Vec::new()),
    };
    let fine: &[f64] = fit.map_or(&[], |fit| &fit.times);
    let given: Vec<&Event> = match what {
        Shown::Input(u) => portrait.events.iter().filter(|it| it.input == u).collect(),
        _ => Vec::new(),
    };
    let mut heights: Vec<f64> = match given.is_empty() {
        true => data.iter().chain(&values).copied().collect(),
        false => given.iter().map(|it| it.amount).chain([0.0]).collect(),
    };
    if let Some((low, high)) = range(heights.iter().copied()) {
        let reach = ROOM * (high - low);
        let ends = values.iter().zip(&halves).flat_map(|(value, half)| [value - half, value + half]);
        heights.extend(ends.map(|end| end.clamp(low - reach, high + reach)));
    }
    let time = if is_lowest { label("time", &input.time_unit) } else { String::new() };
    let x = Axis::linear(portrait.times.iter().chain(fine).copied(), &time);
    let (width, height) = PANEL;
    canvas.text("p-small p-strong", Anchor::Start, (left, top - 8.0), &title);
    let (Some(x), Some(y)) = (x, Axis::linear(heights, "")) else { return };
    let plot = Plot { left, top, width, height, x, y };
    plot.frame(canvas, "");
    canvas.clipped(plot.area(), |canvas| {
        if !given.is_empty() {
            let stem = |path: Path, it: &&Event| path.line([plot.at(it.time, 0.0), plot.at(it.time, it.amount)]);
            return canvas.path("class=\"p-stem\"", &given.iter().fold(Path::new(), stem));
        }
        let points = |times: &[f64], values: &[f64]| -> Vec<(f64, f64)> {
            times.iter().zip(values).map(|(t, value)| plot.at(*t, *value)).collect()
        };
        if let Shown::Input(u) = what {
            let points = points(&portrait.times, &data);
            let is_held = input.inputs[u].between == Between::Hold;
            let path = if is_held { Path::new().steps(&points) } else { Path::new().line(points) };
            return canvas.path("class=\"p-input\"", &path);
        }
        let across = |path: Path, it: &Event| {
            let x = plot.at(it.time, 0.0).0;
            path.line([(x, top), (x, top + height)])
        };
        canvas.path("class=\"p-event\"", &portrait.events.iter().fold(Path::new(), across));
        // A band far wider than the panel says no more than that.
        let reach = 10.0 * (plot.y.high - plot.y.low);
        let ends = |sign: f64| -> Vec<(f64, f64)> {
            let ends = values.iter().zip(&halves).map(|(value, half)| value + sign * half.min(reach));
            points(fine, &ends.collect::<Vec<_>>())
        };
        let (above, below, middle) = (ends(1.0), ends(-1.0), points(fine, &values));
        let mut corners = [kept(&above), kept(&below)].concat();
        corners.sort_unstable();
        corners.dedup();
        let band: Vec<(f64, f64, f64)> =
            corners.into_iter().map(|index| (above[index].0, above[index].1, below[index].1)).collect();
        canvas.path("class=\"p-band\"", &Path::new().area(&band));
        canvas.path("class=\"p-fit\"", &Path::new().line(kept(&middle).into_iter().map(|index| middle[index])));
        let mut dots = Path::new();
        let stride = portrait.times.len().div_ceil(MOST_DOTS).max(1);
        for (t, at) in points(&portrait.times, &data).into_iter().enumerate().step_by(stride) {
            let cell = if let Shown::Channel(c) = what { t * channels + c } else { 0 };
            match portrait.below.get(cell).copied().unwrap_or(false) {
                true => canvas.circle("class=\"p-below\"", at, 3.4),
                false => dots.dot(at),
            }
        }
        let class = if portrait.times.len() > 150 { "p-fine-dots" } else { "p-truth-dots" };
        canvas.path(&format!("class=\"{class}\""), &dots);
    });
}
