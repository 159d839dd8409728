//! The loss over the steps of training.

use super::figure::{Figure, counted};
use crate::report::axis::Axis;
use crate::report::canvas::{Anchor, Canvas, Path};
use crate::report::input::Input;
use crate::report::number;
use crate::report::plot::{Key, Plot, legend_row};

/// Columns into which a dense curve is gathered; each keeps its first, least, greatest and last value.
const COLUMNS: usize = 350;

/// The loss curve, where there are at least two points.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    let usable = |value: f64| (value.is_finite() && value > 0.0).then_some(value);
    let train: Vec<(f64, f64)> =
        input.losses.iter().filter_map(|point| Some((point.step as f64, usable(point.train)?))).collect();
    let validation: Vec<(f64, f64)> =
        input.losses.iter().filter_map(|point| Some((point.step as f64, point.validation.and_then(usable)?))).collect();
    if train.len().max(validation.len()) < 2 {
        return None;
    }
    let all = || train.iter().chain(&validation);
    let plot = Plot {
        left: 80.0,
        top: 36.0,
        width: 735.0,
        height: 300.0,
        x: Axis::linear(all().map(|point| point.0), "step")?.without_margin(),
        y: Axis::log(all().map(|point| point.1), "mean squared error")?,
    };
    let best = validation.iter().min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.total_cmp(&b.0))).copied();
    let mut canvas = Canvas::new("loss", 840.0, 390.0);
    let train_class = if train.len() > COLUMNS { "p-light" } else { "p-plain" };
    let mut entries = Vec::new();
    if !train.is_empty() {
        entries.push((Key::Line(train_class), "training"));
    }
    if !validation.is_empty() {
        entries.push((Key::Line("p-heavy"), "validation"));
    }
    legend_row(&mut canvas, (80.0, 14.0), &entries);
    plot.frame(&mut canvas, "");
    let curve = |points: &[(f64, f64)]| Path::new().line(thinned(points).into_iter().map(|(x, y)| plot.at(x, y)));
    canvas.path(&format!("class=\"{train_class}\""), &curve(&train));
    canvas.path("class=\"p-heavy\"", &curve(&validation));
    let mut best_text = String::new();
    if let Some((step, loss)) = best {
        let at = plot.at(step, loss);
        canvas.circle("class=\"p-chosen\"", at, 5.0);
        best_text = format!(
            " The least validation loss, {}, is at step {}.",
            number::significant(loss),
            number::count(step as u64)
        );
        let anchor = if step > 0.5 * plot.x.high { Anchor::End } else { Anchor::Start };
        let text = format!("best: {}", number::significant(loss));
        let baseline = if at.1 - 24.0 > plot.top { at.1 - 12.0 } else { at.1 + 20.0 };
        canvas.text("p-small p-halo", anchor, (at.0, baseline), &text);
    }
    let dropped = input.losses.iter().filter(|point| usable(point.train).is_none()).count();
    let gaps = if dropped > 0 {
        format!(" {} without a finite, positive training loss left out.", counted(dropped, "point"))
    } else {
        String::new()
    };
    Some(Figure {
        name: "loss",
        title: "Training",
        description: format!("Training and validation loss over the steps on a logarithmic scale.{best_text}"),
        caption: format!(
            "Mean squared error in the model's own (scaled) units; dense curves keep their extremes.{best_text}{gaps}"
        ),
        canvas,
    })
}

/// The curve with at most four points a column, none of its extremes lost. Points ascend in `x`.
pub(crate) fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= 4 * COLUMNS {
        return points.to_vec();
    }
    let mut kept = Vec::new();
    for column in points.chunks(points.len().div_ceil(COLUMNS)) {
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let mut corners: Vec<(f64, f64)> =
            [column.first(), column.iter().min_by(by_value), column.iter().max_by(by_value), column.last()]
                .into_iter()
                .flatten()
                .copied()
                .collect();
        corners.sort_by(|a, b| a.0.total_cmp(&b.0));
        corners.dedup();
        kept.extend(corners);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes() {
        let mut points: Vec<(f64, f64)> = (0..50_000).map(|i| (f64::from(i), 1.0 + f64::from(i % 7))).collect();
        points[31_234].1 = 1e6;
        points[777].1 = 1e-9;
        let kept = thinned(&points);
        assert!(kept.len() <= 4 * COLUMNS);
        assert!(kept.contains(&points[31_234]) && kept.contains(&points[777]));
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
