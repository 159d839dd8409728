//! A visual predictive check: quantiles of the data over time beside those of simulations from the fits, one panel a channel.

use super::figure::{Figure, counted};
use crate::report::axis::{Axis, label};
use crate::report::canvas::{Canvas, Path};
use crate::report::input::{CheckBin, Input, PredictiveCheck};
use crate::report::number;
use crate::report::plot::{Key, Plot, legend_row};

/// Channels at most.
const MOST: usize = 8;
/// Left edge of the first column, distance of columns and rows, and size of a panel.
const LEFT: f64 = 68.0;
const PITCH: (f64, f64) = (424.0, 340.0);
const PANEL: (f64, f64) = (336.0, 248.0);
/// Width of the only panel.
const ALONE: f64 = 752.0;

/// Panels in two columns.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    let checks: Vec<&PredictiveCheck> =
        input.checks.iter().filter(|it| it.channel < input.channels.len() && it.bins.iter().any(is_finite)).collect();
    let replicates = checks.first()?.replicates;
    let mut canvas = Canvas::new("predictive-check", 840.0, 0.0);
    let entries = [
        (Key::LineAndDot("p-truth", "p-truth-dots"), "data: 5, 50 and 95 %"),
        (
            Key::Line("p-fit"),
            match checks[0].draws {
                0 => "simulations by the fits alone: median of the same",
                _ => "simulations with parameters drawn too: median of the same",
            },
        ),
        (Key::Area("p-band"), "and 95 % of it"),
    ];
    legend_row(&mut canvas, (LEFT, 14.0), &entries);
    let shown = checks.len().min(MOST);
    let (width, columns) = if shown == 1 { (ALONE, 1) } else { (PANEL.0, 2) };
    canvas.height = 54.0 + shown.div_ceil(columns) as f64 * PITCH.1 - 30.0;
    for (place, check) in checks.iter().take(shown).enumerate() {
        let corner = (LEFT + (place % 2) as f64 * PITCH.0, 54.0 + (place / 2) as f64 * PITCH.1);
        panel(&mut canvas, input, check, (corner, width));
    }
    let (draws, held) = (checks[0].draws, checks[0].held);
    let drawn = match draws {
        0 => " at the parameters of its fit, as their errors are unknown,".to_owned(),
        _ if draws >= replicates => {
            ", each time for parameters and starts that are drawn from the covariance of the estimates,".to_owned()
        }
        _ => format!(
            ", in turn for {} at least of parameters and starts from the covariance of the estimates,",
            counted(draws, "draw")
        ),
    };
    let held = match held {
        0 => "",
        _ if draws == 0 => "",
        1 => " In one environment something stays as it was fitted, as its error is unknown.",
        _ => " In some environments something stays as it was fitted, as its error is unknown.",
    };
    let more = match checks.len() - shown {
        0 => String::new(),
        _ => format!(" The first {shown} of {} channels.", checks.len()),
    };
    Some(Figure {
        name: "predictive-check",
        title: "Predictive check",
        description: "Quantiles of data and of simulations over time, by channel.".to_owned(),
        caption: format!(
            "Quantiles of 5, 50 and 95 % over the environments whose fits are drawn, in stretches of time. Each was simulated {}{drawn} at \
             the times of its samples and with the noise of the fit; shades hold the quantile in 95 % of the simulations. Data that wander out of them show \
             noise or equations that are not so.{held} Values below a limit of quantification count as at it, in both.{more}",
            counted(replicates, "time")
        ),
        canvas,
    })
}

fn is_finite(bin: &CheckBin) -> bool {
    let simulated = bin.simulated.iter().flatten();
    bin.time.is_finite() && bin.observed.iter().chain(simulated).all(|value| value.is_finite())
}

fn panel(canvas: &mut Canvas, input: &Input, check: &PredictiveCheck, ((left, top), width): ((f64, f64), f64)) {
    let bins: Vec<&CheckBin> = check.bins.iter().filter(|bin| is_finite(bin)).collect();
    let values = bins.iter().flat_map(|bin| bin.observed.iter().chain(bin.simulated.iter().flatten()).copied());
    let x = Axis::linear(bins.iter().map(|bin| bin.time), &label("time", &input.time_unit));
    let (Some(x), Some(y)) = (x, Axis::linear(values, &number::quantity(&input.channels[check.channel]))) else {
        return;
    };
    let height = PANEL.1;
    let plot = Plot { left, top, width, height, x, y };
    plot.frame(canvas, &counted(bins.iter().map(|bin| bin.count).sum(), "value"));
    for quantile in 0..3 {
        let band: Vec<(f64, f64, f64)> = bins
            .iter()
            .map(|bin| {
                let [low, _, high] = bin.simulated[quantile];
                let (x, above) = plot.at(bin.time, high);
                (x, above, plot.at(bin.time, low).1)
            })
            .collect();
        canvas.path("class=\"p-band\"", &Path::new().area(&band));
        let middle = bins.iter().map(|bin| plot.at(bin.time, bin.simulated[quantile][1]));
        canvas.path("class=\"p-fit\"", &Path::new().line(middle));
    }
    for quantile in 0..3 {
        let points: Vec<(f64, f64)> = bins.iter().map(|bin| plot.at(bin.time, bin.observed[quantile])).collect();
        canvas.path("class=\"p-truth\"", &Path::new().line(points.iter().copied()));
        let mut dots = Path::new();
        points.iter().for_each(|at| dots.dot(*at));
        canvas.path("class=\"p-truth-dots\"", &dots);
    }
}
