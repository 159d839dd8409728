//! The profile of the likelihood over each parameter: one row of panels an environment.

use super::figure::Figure;
use crate::estimate::physics::Profile;
use crate::report::axis::Axis;
use crate::report::canvas::{Canvas, Path};
use crate::report::input::{Input, Surroundings};
use crate::report::number;
use crate::report::plot::{Key, Plot, legend_row};

/// Parameters of an environment that are shown.
const MOST_PANELS: usize = 9;
/// Columns, left edge of the first one, distance of columns and rows, and size of a panel.
const COLUMNS: usize = 3;
const LEFT: f64 = 60.0;
const PITCH: (f64, f64) = (275.0, 270.0);
const PANEL: (f64, f64) = (205.0, 180.0);
/// Height of a panel in limits.
const REACH: f64 = 1.7;

/// Panels in three columns, of environments whose profiles were asked for.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    // One that could not be made has no points.
    let profiles = |it: &'_ Surroundings| {
        let pairs = it.profiles.iter().cloned().zip(&input.parameters);
        pairs.filter(|(profile, _)| !profile.points.is_empty()).collect::<Vec<_>>()
    };
    let shown: Vec<_> = input.surroundings.iter().filter(|it| !profiles(it).is_empty()).collect();
    let all = shown.iter().map(|it| profiles(it).len()).max().unwrap_or(0);
    let count = all.min(MOST_PANELS);
    if shown.is_empty() {
        return None;
    }
    let rows = count.div_ceil(COLUMNS);
    let mut canvas = Canvas::new("profiles", 840.0, 60.0 + (shown.len() * rows) as f64 * PITCH.1 - 20.0);
    let entries = [
        (Key::LineAndDot("p-plain", "p-truth-dots"), "refitted"),
        (Key::Line("p-guide"), "95 % of the likelihood ratio"),
    ];
    legend_row(&mut canvas, (LEFT, 14.0), &entries);
    for (place, environment) in shown.iter().enumerate() {
        for (k, (profile, parameter)) in profiles(environment).iter().take(count).enumerate() {
            let row = place * rows + k / COLUMNS;
            let corner = (LEFT + (k % COLUMNS) as f64 * PITCH.0, 60.0 + row as f64 * PITCH.1);
            let title = if k == 0 { environment.title.as_str() } else { "" };
            panel(&mut canvas, profile, (&number::quantity(parameter), title), corner);
        }
    }
    let more = match all - count {
        0 => String::new(),
        more => format!(" {more} more parameters are not shown."),
    };
    let titles: Vec<&str> = shown.iter().map(|it| it.title.as_str()).collect();
    Some(Figure {
        name: "profiles",
        title: "Profiles",
        description: format!("Profiles of the likelihood over each parameter: {}.", titles.join("; ")),
        caption: format!(
            "Increase of -2 log L where a parameter is held and all others are fitted again. The interval ends where the curve meets the \
             line; where it does not, the interval is open.{more}"
        ),
        canvas,
    })
}

fn panel(canvas: &mut Canvas, profile: &Profile, (name, title): (&str, &str), (left, top): (f64, f64)) {
    let near = profile.points.iter().filter(|point| point.1 <= REACH * profile.limit);
    let Some(x) = Axis::linear(near.map(|point| point.0), name).filter(|_| profile.limit.is_finite()) else { return };
    let y = Axis::exact(0.0, REACH * profile.limit, "Δ(−2 log L)");
    let (width, height) = PANEL;
    let plot = Plot { left, top, width, height, x, y };
    plot.frame(canvas, title);
    canvas.line("p-guide", plot.at(plot.x.low, profile.limit), plot.at(plot.x.high, profile.limit));
    canvas.clipped(plot.area(), |canvas| {
        let points: Vec<(f64, f64)> =
            profile.points.iter().map(|(value, increase)| plot.at(*value, *increase)).collect();
        canvas.path(
            "class=\"p-plain\"",
            &Path::new().line(curve(&profile.points).map(|(value, increase)| plot.at(value, increase))),
        );
        let mut dots = Path::new();
        points.iter().for_each(|at| dots.dot(*at));
        canvas.path("class=\"p-truth-dots\"", &dots);
        for end in [profile.lower, profile.upper].into_iter().filter(|end| end.is_finite()) {
            canvas.line("p-bar", plot.at(end, 0.0), plot.at(end, profile.limit));
        }
    });
}

/// The profile between its points, where its root with the sign of the side is taken as linear: a parabola where it is one.
fn curve(points: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    const PIECES: i32 = 12;
    let least = points.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(f64::NAN, |point| point.0);
    let root = move |(value, increase): (f64, f64)| (value, increase.max(0.0).sqrt().copysign(value - least));
    points.array_windows().flat_map(move |[a, b]: &[(f64, f64); 2]| {
        let ((from, low), (to, high)) = (root(*a), root(*b));
        (0..=PIECES).map(move |piece| {
            let share = f64::from(piece) / f64::from(PIECES);
            (from + share * (to - from), (low + share * (high - low)).powi(2))
        })
    })
}
