//! Contexts beside the parameters of the same environments.

use std::collections::BTreeMap;

use super::context_pairs;
use super::figure::{Figure, counted};
use crate::report::axis::{Axis, range};
use crate::report::canvas::{Anchor, Canvas, Path};
use crate::report::colour::plane;
use crate::report::input::Input;
use crate::report::number;
use crate::report::plot::{Key, Plot, legend_row};
use crate::rules::MOST_DIMENSIONS;

/// Shades along each axis of the colour plane.
const SHADES: usize = 12;
/// Points of estimated environments at most.
const MOST_POINTS: usize = 4000;
/// Training environments that get their names.
const NAMED: usize = 14;

/// Two planes side by side, or a parameter over the one context; for other dimensions a panel of each pair.
pub(super) fn figure(input: &Input) -> Option<Figure> {
    if input.learned.owns_weights {
        return None;
    }
    let dimension = input.training.iter().map(|environment| environment.context.len()).max()?;
    match (dimension, input.parameters.len()) {
        (2, 2) => planes(input),
        (1, 1) => line(input),
        (1..=MOST_DIMENSIONS, 1..) => context_pairs::figure(input),
        _ => None,
    }
}

/// One environment as two points.
struct Pair {
    context: (f64, f64),
    parameters: (f64, f64),
}

impl Pair {
    fn new(context: &[f64], parameters: &[Option<f64>]) -> Option<Self> {
        let (&[a, b], &[Some(x), Some(y)]) = (context, parameters) else { return None };
        [a, b, x, y].iter().all(|value| value.is_finite()).then_some(Pair { context: (a, b), parameters: (x, y) })
    }
}

fn planes(input: &Input) -> Option<Figure> {
    let training: Vec<Pair> = input.training.iter().filter_map(|e| Pair::new(&e.context, &e.parameters)).collect();
    let mut estimated: Vec<Pair> = input
        .estimates
        .iter()
        .filter(|row| !row.status.is_failure())
        .filter_map(|row| {
            let truths: Vec<Option<f64>> = row.parameters.iter().map(|parameter| parameter.truth).collect();
            Pair::new(&row.context, &truths)
        })
        .collect();
    let stride = estimated.len().div_ceil(MOST_POINTS).max(1);
    let total = estimated.len();
    estimated = estimated.into_iter().step_by(stride).collect();
    if training.is_empty() {
        return None;
    }
    let all = || training.iter().chain(&estimated);
    let label = |index: usize| number::quantity(&input.parameters[index]);
    let left = Plot {
        left: 78.0,
        top: 52.0,
        width: 310.0,
        height: 310.0,
        x: Axis::linear(all().map(|pair| pair.context.0), "context ξ₁")?,
        y: Axis::linear(all().map(|pair| pair.context.1), "context ξ₂")?,
    };
    let right = Plot {
        left: 508.0,
        top: 52.0,
        width: 310.0,
        height: 310.0,
        x: Axis::linear(all().map(|pair| pair.parameters.0), &label(0))?,
        y: Axis::linear(all().map(|pair| pair.parameters.1), &label(1))?,
    };
    let place = |value: f64, range: Option<(f64, f64)>| match range {
        Some((low, high)) if high > low => (value - low) / (high - low),
        _ => 0.5,
    };
    let (first, second) = (range(all().map(|pair| pair.parameters.0)), range(all().map(|pair| pair.parameters.1)));
    let shade = |pair: &Pair| {
        let step = |fraction: f64| (fraction * (SHADES - 1) as f64).round() / (SHADES - 1) as f64;
        plane(step(place(pair.parameters.0, first)), step(place(pair.parameters.1, second)))
    };

    let mut canvas = Canvas::new("contexts", 840.0, 416.0);
    let mut entries = vec![(Key::Circle("p-mark-known"), "training environment")];
    if !estimated.is_empty() {
        entries.push((Key::Dot("p-dots-6"), "estimated environment"));
    }
    legend_row(&mut canvas, (78.0, 14.0), &entries);
    for (plot, side, title) in [(&left, 0, "learned contexts"), (&right, 1, "true parameters")] {
        let point = |pair: &Pair| {
            let (x, y) = if side == 0 { pair.context } else { pair.parameters };
            plot.at(x, y)
        };
        plot.frame(&mut canvas, title);
        let mut dots: BTreeMap<_, Path> = BTreeMap::new();
        for pair in &estimated {
            dots.entry(shade(pair)).or_default().dot(point(pair));
        }
        let width = if estimated.len() > 500 { 4.0 } else { 6.0 };
        for (colour, path) in &dots {
            let stroke = colour.hex();
            canvas.path(
                &format!("fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{width}\" stroke-linecap=\"round\""),
                path,
            );
        }
        for pair in &training {
            canvas.circle(&format!("class=\"p-ring\" fill=\"{}\"", shade(pair).hex()), point(pair), 6.5);
        }
    }
    Some(Figure {
        name: "contexts",
        title: "Contexts beside the parameters",
        description: format!(
            "Two panels: contexts on the left, true parameters on the right, of {} and {}; a point has the same colour in both.",
            counted(training.len(), "training environment"),
            counted(total, "estimated environment")
        ),
        caption: "The same environments in both panels; a colour is a place in the parameter plane.".to_owned(),
        canvas,
    })
}

fn line(input: &Input) -> Option<Figure> {
    let mut training: Vec<(f64, Option<f64>, f64, &str)> = input
        .training
        .iter()
        .filter_map(|e| {
            let context = e.context.first().copied().filter(|context| context.is_finite())?;
            let known = e.parameters.first().copied().flatten().filter(|known| known.is_finite());
            let mapped = e.mapped.first().copied().unwrap_or(f64::NAN);
            Some((context, known, mapped, e.environment.as_str()))
        })
        .collect();
    training.sort_by(|a, b| a.0.total_cmp(&b.0));
    let estimated: Vec<(f64, f64, f64, &str)> = input
        .estimates
        .iter()
        .filter(|row| !row.status.is_failure())
        .filter_map(|row| {
            let (context, estimate) = (row.context.first()?, row.parameters.first()?);
            let half = Some(0.5 * (estimate.upper - estimate.lower)).filter(|half| half.is_finite()).unwrap_or(0.0);
            (context.is_finite() && estimate.value.is_finite()).then_some((
                *context,
                estimate.value,
                half,
                row.environment.as_str(),
            ))
        })
        .collect();
    let contexts = training.iter().map(|e| e.0).chain(estimated.iter().map(|e| e.0));
    let values = training.iter().flat_map(|e| [e.1.unwrap_or(f64::NAN), e.2]).chain(estimated.iter().map(|e| e.1));
    let plot = Plot {
        left: 90.0,
        top: 36.0,
        width: 700.0,
        height: 380.0,
        x: Axis::linear(contexts, "context ξ")?,
        y: Axis::linear(values, &number::quantity(&input.parameters[0]))?,
    };
    let mut canvas = Canvas::new("contexts", 840.0, 470.0);
    let mut entries =
        vec![(Key::Circle("p-mark-known"), "training, known value"), (Key::Line("p-guide"), "fitted map")];
    if !estimated.is_empty() {
        entries.push((Key::Diamond("p-mark"), "estimate"));
    }
    legend_row(&mut canvas, (90.0, 14.0), &entries);
    plot.frame(&mut canvas, "");
    // The map is smooth in the context, so its values at all environments trace it.
    let mut traced: Vec<(f64, f64)> =
        training.iter().map(|e| (e.0, e.2)).chain(estimated.iter().map(|e| (e.0, e.1))).collect();
    traced.sort_by(|a, b| a.0.total_cmp(&b.0));
    traced.retain(|(_, value)| value.is_finite());
    let mut labels = Vec::new();
    let mut obstacles = Vec::new();
    canvas.clipped(plot.area(), |canvas| {
        canvas.path("class=\"p-guide\"", &Path::new().line(traced.iter().map(|(x, y)| plot.at(*x, *y))));
        for (context, known, _, name) in &training {
            if let Some(known) = known {
                let at = plot.at(*context, *known);
                canvas.circle("class=\"p-mark-known\"", at, 5.0);
                labels.push((at, (*name).to_owned()));
            }
        }
        let mut bars = Path::new();
        let mut diamonds = Path::new();
        for (context, value, half, name) in &estimated {
            let at = plot.at(*context, *value);
            if *half > 0.0 {
                let (low, high) = (plot.at(*context, value - half), plot.at(*context, value + half));
                bars = bars.line([low, high]);
                obstacles.push((at.0, high.1, low.1));
            }
            diamonds.diamond(at, 6.5);
            labels.push((at, (*name).to_owned()));
        }
        canvas.path("class=\"p-bar\"", &bars);
        canvas.path("class=\"p-mark\"", &diamonds);
    });
    if labels.len() <= 2 * NAMED {
        plot.labels(&mut canvas, &labels, &obstacles);
    } else {
        let text = counted(labels.len(), "environment");
        canvas.text("p-small p-muted", Anchor::End, (plot.left + plot.width, 18.0), &text);
    }
    Some(Figure {
        name: "contexts",
        title: "The parameter over the context",
        description: format!(
            "Known parameter over learned context of {}, the fitted map, and the estimates of {}.",
            counted(training.len(), "training environment"),
            counted(estimated.len(), "environment")
        ),
        caption: "The map from context to parameter is fitted on the training environments; estimates lie on it."
            .to_owned(),
        canvas,
    })
}
