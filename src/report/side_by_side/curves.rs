//! Curves of several runs over one another: the losses of their trainings on the validation split, and their errors along trajectories.

use super::group::SideBySide;
use crate::report::axis::{Axis, label};
use crate::report::canvas::{Canvas, Path, SERIES, shortened};
use crate::report::figures::figure::{Figure, counted};
use crate::report::figures::losses::thinned;
use crate::report::input::{ErrorsOverTime, LossPoint};
use crate::report::number::escape;
use crate::report::plot::{Key, Plot, legend_row};

/// A curve for each run that has one, in groups with a name and a colour each.
type Groups<'a> = Vec<(&'a str, Vec<Vec<(f64, f64)>>)>;

/// Widest name in the legend.
const NAME: f64 = 330.0;

/// The rules of the curves, for the page that they are on.
pub(crate) fn rules() -> String {
    let rule = |series| format!(".p-curve-{series}{{fill:none;stroke:var(--s{series});stroke-width:1.8px}}");
    (0..SERIES).map(rule).collect()
}

/// The losses on the validation split; `None` where nothing has two points. Also returns the groups that are left out, as there are no more colours.
pub(super) fn losses(compared: &SideBySide) -> Option<(Figure, usize)> {
    let usable = |value: f64| (value.is_finite() && value > 0.0).then_some(value);
    let of_run = |losses: &[LossPoint]| {
        losses.iter().filter_map(|it| Some((it.step as f64, it.validation.and_then(usable)?))).collect()
    };
    let groups = compared.groups.iter();
    let groups =
        groups.map(|group| (group.name.as_str(), group.runs.iter().map(|run| of_run(&run.losses)).collect())).collect();
    let (canvas, left_out) = drawn("losses", groups, ["step", "mean squared error, validation"])?;
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

/// Errors along trajectories of runs, by group, as far as they are of one split in one unit of time; `None` where nothing has two points. Also returns the
/// groups that are left out.
pub(crate) fn over_time<'a>(groups: Vec<(&'a str, Vec<&'a ErrorsOverTime>)>) -> Option<(Figure, usize)> {
    let points = |run: &ErrorsOverTime| run.points().into_iter().filter(|(_, error)| *error > 0.0).collect::<Vec<_>>();
    let all = || groups.iter().flat_map(|(_, runs)| runs).filter(|run| points(run).len() > 1);
    let first = all().next()?;
    let is_alike = |run: &ErrorsOverTime| run.split == first.split && run.time_unit == first.time_unit;
    let others = match all().filter(|run| !is_alike(run)).count() {
        0 => String::new(),
        count => format!(" {} of another split or with another unit of time are not drawn.", counted(count, "run")),
    };
    let of_group = |runs: &[&ErrorsOverTime]| runs.iter().filter(|run| is_alike(run)).map(|run| points(run)).collect();
    let x = label("time since the start", &first.time_unit);
    let curves = groups.iter().map(|(name, runs)| (*name, of_group(runs))).collect();
    let (canvas, left_out) = drawn("frames", curves, [&x, "mean squared error"])?;
    Some((
        Figure {
            name: "frames",
            title: "Errors along trajectories",
            description: "Squared errors over time since the start on a logarithmic scale, a curve a run.".to_owned(),
            caption: format!(
                "Mean squared error at each time since the start, in the units of each run's data, of trajectories of its {} split: a curve a run, runs that \
                 differ in their seed only in one colour.{others}",
                first.split
            ),
            canvas,
        },
        left_out,
    ))
}

/// A figure as a section of a page, of which so many groups are left out.
pub(crate) fn in_page((figure, left_out): (Figure, usize)) -> String {
    let more = match left_out {
        0 => String::new(),
        left_out => format!(" {} are not drawn: there are no more colours.", counted(left_out, "group")),
    };
    let caption = escape(&format!("{}{more}", figure.caption));
    format!("<figure>\n{}<figcaption>{caption}</figcaption>\n</figure>\n", figure.inline())
}

fn drawn(name: &'static str, mut groups: Groups<'_>, axes: [&str; 2]) -> Option<(Canvas, usize)> {
    groups.iter_mut().for_each(|(_, curves)| curves.retain(|curve| curve.len() > 1));
    groups.retain(|(_, curves)| !curves.is_empty());
    let left_out = groups.len().saturating_sub(2 * SERIES);
    groups.truncate(2 * SERIES);
    let all = || groups.iter().flat_map(|(_, curves)| curves).flatten();
    let mut canvas = Canvas::new(name, 840.0, 390.0);
    let class = |index: usize| match index < SERIES {
        true => format!("p-curve-{index}"),
        false => format!("p-dash-{}", index - SERIES),
    };
    let classes: Vec<String> = (0..groups.len()).map(class).collect();
    let names: Vec<String> = groups.iter().map(|(name, _)| shortened(name, NAME, 12.0)).collect();
    let entries: Vec<(Key, &str)> =
        classes.iter().zip(&names).map(|(class, name)| (Key::Line(class), name.as_str())).collect();
    let x = Axis::linear(all().map(|point| point.0), axes[0])?.without_margin();
    let y = Axis::log(all().map(|point| point.1), axes[1])?;
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
    Some((canvas, left_out))
}
