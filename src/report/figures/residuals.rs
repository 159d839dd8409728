//! Residuals of fits by equations, standardised by the noise of the fit: against time and prediction, beside the normal distribution, and how much
//! each says of the next.

use statrs::distribution::{ContinuousCDF, Normal};

use super::figure::{Figure, counted};
use crate::report::axis::{Axis, label};
use crate::report::canvas::{Canvas, Path};
use crate::report::input::{Input, Portrait};
use crate::report::number;
use crate::report::plot::{Key, Plot, legend_row};

/// Channels at most, of four panels each in two rows.
const MOST: usize = 6;
/// Left edge of the first column, distance of columns and rows, and size of a panel.
const LEFT: f64 = 68.0;
const PITCH: (f64, f64) = (424.0, 270.0);
const PANEL: (f64, f64) = (336.0, 180.0);
/// Most points of a panel.
const MOST_POINTS: usize = 3000;
/// More points than this are small.
const MANY: usize = 150;
/// Least residuals of a channel that are drawn.
const FEWEST: usize = 3;
/// Lags of the autocorrelation at most; of `n` residuals also `n / 4`.
const LAGS: usize = 20;
/// Standardised residuals beyond this have no room.
const REACH: f64 = 6.0;
/// The standard normal quantile of 97.5 %.
const TWO_SIDED: f64 = 1.959964;

/// The residuals of one channel.
struct Residuals {
    /// Time, prediction, residual, and whether the value lies below its limit.
    points: Vec<(f64, f64, f64, bool)>,
    /// Successive residuals of each trajectory; a value below its limit ends a run.
    runs: Vec<Vec<f64>>,
}

impl Residuals {
    fn of(input: &Input, channel: usize) -> Self {
        let mut found = Residuals { points: Vec::new(), runs: Vec::new() };
        for portrait in input.fits.iter().flat_map(|it| &it.trajectories) {
            found.add(portrait, channel, input.channels.len());
        }
        found
    }

    fn add(&mut self, portrait: &Portrait, channel: usize, channels: usize) {
        let mut run = Vec::new();
        for (t, time) in portrait.times.iter().enumerate() {
            let cell = t * channels + channel;
            let Some(residual) = portrait.residuals.get(cell).copied().filter(|it| it.is_finite()) else { continue };
            let is_below = portrait.below.get(cell).copied().unwrap_or(false);
            self.points.push((*time, portrait.prediction[cell], residual, is_below));
            if is_below {
                self.runs.push(std::mem::take(&mut run));
            } else {
                run.push(residual);
            }
        }
        self.runs.push(run);
    }

    /// The correlation of residuals that are `1, 2, ..` samples apart.
    fn autocorrelation(&self) -> Vec<f64> {
        let all: f64 = self.runs.iter().flatten().map(|it| it * it).sum();
        let longest = self.runs.iter().map(Vec::len).max().unwrap_or(0);
        let at = |lag: usize| {
            let products = |run: &Vec<f64>| run.iter().zip(run.iter().skip(lag)).map(|(a, b)| a * b).sum::<f64>();
            self.runs.iter().map(products).sum::<f64>() / all
        };
        (1..=LAGS.min(longest / 4)).map(at).collect()
    }
}

/// Four panels a channel.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    let all: Vec<(usize, Residuals)> = (0..input.channels.len())
        .map(|channel| (channel, Residuals::of(input, channel)))
        .filter(|(_, it)| it.points.len() >= FEWEST)
        .collect();
    if all.is_empty() || input.grid.is_some() {
        return None;
    }
    let shown = all.len().min(MOST);
    let has_below = all.iter().take(shown).any(|(_, it)| it.points.iter().any(|point| point.3));
    let mut canvas = Canvas::new("residuals", 840.0, 54.0 + shown as f64 * 2.0 * PITCH.1 - 30.0);
    let mut entries = vec![
        (Key::Dot(dots(all[0].1.points.len())), "standardised residual"),
        (Key::Line("p-guide"), "95 % of what is expected"),
    ];
    if has_below {
        entries.push((Key::Circle("p-below"), "below the limit of quantification"));
    }
    legend_row(&mut canvas, (LEFT, 14.0), &entries);
    for (place, (channel, residuals)) in all.iter().take(shown).enumerate() {
        let corner = |panel: usize| {
            let row = 2 * place + panel / 2;
            (LEFT + (panel % 2) as f64 * PITCH.0, 54.0 + row as f64 * PITCH.1)
        };
        let name = number::quantity(&input.channels[*channel]);
        let title = number::name(&input.channels[*channel].name);
        let count = counted(residuals.points.len(), "value");
        scattered(
            &mut canvas,
            residuals,
            |it| it.0,
            (&label("time", &input.time_unit), &format!("{title}: {count}")),
            corner(0),
        );
        scattered(&mut canvas, residuals, |it| it.1, (&format!("fitted {name}"), ""), corner(1));
        normal(&mut canvas, residuals, corner(2));
        correlations(&mut canvas, residuals, corner(3));
    }
    let more = match all.len() - shown {
        0 => String::new(),
        _ => format!(" The first {shown} of {} channels.", all.len()),
    };
    Some(Figure {
        name: "residuals",
        title: "Residuals",
        description:
            "Standardised residuals against time and fitted value, normal plot and autocorrelation, by channel."
                .to_owned(),
        caption: format!(
            "What the fits leave, observed less fitted, in standard deviations of the noise of the fit, over the environments whose fits are drawn: \
             where equations and noise hold, it is standard normal, alike everywhere, and independent from sample to sample. A value below its limit \
             stands where the median of what it may be is, and is left out of the last two panels.{more}"
        ),
        canvas,
    })
}

/// The class of so many dots.
fn dots(count: usize) -> &'static str {
    if count > MANY { "p-fine-dots" } else { "p-truth-dots" }
}

/// Every so many of the indices, as many as have room.
fn thinned(count: usize) -> impl Iterator<Item = usize> {
    (0..count).step_by(count.div_ceil(MOST_POINTS).max(1))
}

fn scattered(
    canvas: &mut Canvas,
    residuals: &Residuals,
    place: impl Fn(&(f64, f64, f64, bool)) -> f64,
    (name, title): (&str, &str),
    (left, top): (f64, f64),
) {
    let within = |residual: f64| residual.clamp(-REACH, REACH);
    let ys = residuals.points.iter().map(|it| within(it.2)).chain([-2.5, 2.5]);
    let (Some(x), Some(y)) = (Axis::linear(residuals.points.iter().map(&place), name), Axis::linear(ys, "residual"))
    else {
        return;
    };
    let (width, height) = PANEL;
    let plot = Plot { left, top, width, height, x, y };
    plot.frame(canvas, title);
    for at in [-TWO_SIDED, TWO_SIDED] {
        canvas.line("p-guide", plot.at(plot.x.low, at), plot.at(plot.x.high, at));
    }
    let (class, mut dots) = (dots(residuals.points.len()), Path::new());
    for point in thinned(residuals.points.len()).map(|index| &residuals.points[index]) {
        let at = plot.at(place(point), within(point.2));
        match point.3 {
            true => canvas.circle("class=\"p-below\"", at, 2.6),
            false => dots.dot(at),
        }
    }
    canvas.path(&format!("class=\"{class}\""), &dots);
}

/// Sorted residuals against the quantiles that a standard normal sample of as many has.
fn normal(canvas: &mut Canvas, residuals: &Residuals, (left, top): (f64, f64)) {
    let mut sorted: Vec<f64> = residuals.runs.iter().flatten().map(|it| it.clamp(-REACH, REACH)).collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let quantile = |index: usize| Normal::standard().inverse_cdf((index as f64 + 0.5) / count);
    let ends = sorted.iter().copied().chain([-2.5, 2.5]);
    let (Some(x), Some(y)) = (Axis::linear([-3.2, 3.2], "normal quantile"), Axis::linear(ends, "residual")) else {
        return;
    };
    let (width, height) = PANEL;
    let plot = Plot { left, top, width, height, x, y };
    plot.frame(canvas, "");
    canvas.clipped(plot.area(), |canvas| {
        canvas.line("p-guide", plot.at(-9.0, -9.0), plot.at(9.0, 9.0));
        let (class, mut dots) = (dots(sorted.len()), Path::new());
        thinned(sorted.len()).for_each(|index| dots.dot(plot.at(quantile(index), sorted[index])));
        canvas.path(&format!("class=\"{class}\""), &dots);
    });
}

/// Autocorrelation with the band that holds 95 % of those of independent residuals.
fn correlations(canvas: &mut Canvas, residuals: &Residuals, (left, top): (f64, f64)) {
    let correlations = residuals.autocorrelation();
    if correlations.is_empty() || correlations.iter().any(|it| !it.is_finite()) {
        return;
    }
    let count: usize = residuals.runs.iter().map(Vec::len).sum();
    let band = TWO_SIDED / (count as f64).sqrt();
    let ends = correlations.iter().copied().chain([-1.5 * band, 1.5 * band]);
    let Some(y) = Axis::linear(ends, "autocorrelation") else { return };
    let x = Axis::counts(correlations.len(), "samples apart");
    let (width, height) = PANEL;
    let plot = Plot { left, top, width, height, x, y };
    plot.frame(canvas, "");
    for at in [-band, band] {
        canvas.line("p-guide", plot.at(plot.x.low, at), plot.at(plot.x.high, at));
    }
    canvas.line("p-axis", plot.at(plot.x.low, 0.0), plot.at(plot.x.high, 0.0));
    let stem = |path: Path, (lag, value): (usize, &f64)| {
        path.line([plot.at(lag as f64 + 1.0, 0.0), plot.at(lag as f64 + 1.0, *value)])
    };
    canvas.path("class=\"p-stem\"", &correlations.iter().enumerate().fold(Path::new(), stem));
}
