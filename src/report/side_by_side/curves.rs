//! The losses of several trainings on the validation split, over one another.

use super::group::SideBySide;
use crate::report::axis::Axis;
use crate::report::canvas::{Canvas, Path, SERIES, shortened};
use crate::report::figures::figure::Figure;
use crate::report::figures::losses::thinned;
use crate::report::input::LossPoint;
use crate::report::plot::{Key, Plot, legend_row};

/// Steps and errors of a run.
type Curve = Vec<(f64, f64)>;

/// Widest name in the legend.
const NAME: f64 = 330.0;

/// The rules of the curves, for the page that they are on.
pub(super) fn rules() -> String {
    let rule = |series| format!(".p-curve-{series}{{fill:none;stroke:var(--s{series});stroke-width:1.8px}}");
    (0..SERIES).map(rule).collect()
}

/// A curve a run, the runs of a group in one colour; `None` where nothing has two points. Also returns the groups that are left out, as there are
/// no more colours.
pub(super) fn figure(compared: &SideBySide) -> Option<(Figure, usize)> {
    let usable = |value: f64| (value.is_finite() && value > 0.0).then_some(value);
    let mut groups: Vec<(&str, Vec<Curve>)> = Vec::new();
    for group in &compared.groups {
        let of_run = |losses: &[LossPoint]| -> Curve {
            losses.iter().filter_map(|it| Some((it.step as f64, it.validation.and_then(usable)?))).collect()
        };
        let curves = group.runs.iter().map(|run| of_run(&run.losses)).filter(|curve| curve.len() > 1).collect();
        groups.push((&group.name, curves));
    }
    groups.retain(|(_, curves)| !curves.is_empty());
    let left_out = groups.len().saturating_sub(2 * SERIES);
    groups.truncate(2 * SERIES);
    let all = || groups.iter().flat_map(|(_, curves)| curves).flatten();
    let mut canvas = Canvas::new("losses", 840.0, 390.0);
    let class = |index: usize| match index < SERIES {
        true => format!("p-curve-{index}"),
        false => format!("p-dash-{}", index - SERIES),
    };
    let classes: Vec<String> = (0..groups.len()).map(class).collect();
    let names: Vec<String> = groups.iter().map(|(name, _)| shortened(name, NAME, 12.0)).collect();
    let entries: Vec<(Key, &str)> =
        classes.iter().zip(&names).map(|(class, name)| (Key::Line(class), name.as_str())).collect();
    let x = Axis::linear(all().map(|point| point.0), "step")?.without_margin();
    let y = Axis::log(all().map(|point| point.1), "mean squared error, validation")?;
    let down = legend_row(&mut canvas, (80.0, 14.0), &entries);
    canvas.height += down;
    let plot = Plot { left: 80.0, top: 36.0 + down, width: 735.0, height: 300.0, x, y };
    plot.frame(&mut canvas, "");
    for ((_, curves), class) in groups.iter().zip(&classes) {
        for curve in curves {
            let points = thinned(curve).into_iter().map(|(x, y)| plot.at(x, y));
            canvas.path(&format!("class=\"{class}\""), &Path::new().line(points));
        }
    }
    Some((
        Figure {
            name: "losses",
            title: "Training",
            description: "Validation losses over the steps on a logarithmic scale, a curve a run.".to_owned(),
            caption: "Mean squared error on the validation split over the steps, in each model's own (scaled) units: a curve a run, runs that differ \
                      in their seed only in one colour."
                .to_owned(),
            canvas,
        },
        left_out,
    ))
}
