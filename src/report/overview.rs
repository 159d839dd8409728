//! The first screen of the page: what was estimated, how well, and how each fit ended.

use std::collections::BTreeMap;

use super::figures::figure::counted;
use super::input::Input;
use super::number;
use super::number::escape;
use super::tables::{numeric, table, text};
use crate::estimate::{ParameterEstimate, Row, Status};

/// Parameters that are named in a sentence at most.
const NAMED: usize = 6;

/// What was estimated of what, in a sentence.
pub(crate) fn lead(input: &Input) -> String {
    let environments = counted(input.summary.evaluation.environments, "environment");
    if input.learned.owns_weights {
        return format!("Errors of a trained model on {environments}; no parameters are read from it.");
    }
    let all: Vec<String> = input.parameters.iter().map(number::quantity).collect();
    let more = match all.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let own: Vec<String> = input.own_parameters.iter().map(number::quantity).collect();
    let own = if own.is_empty() { String::new() } else { format!(", and {} of each trajectory", own.join(", ")) };
    let what = match all.is_empty() {
        true => "contexts".to_owned(),
        false => format!("{}{more}", all[..all.len().min(NAMED)].join(", ")),
    };
    let how = match input.summary.training_steps {
        0 if input.summary.map.is_none() => "by known equations",
        _ => "by a trained model",
    };
    format!("Estimated {how}: {} of {environments}{}.", escape(&what), escape(&own))
}

/// The estimates of each parameter over all environments, and how well they are known; nothing without parameters.
pub(crate) fn parameters(input: &Input) -> Option<String> {
    let rows: Vec<&Row> = input.estimates.iter().filter(|row| !row.status.is_failure()).collect();
    if input.estimated().is_empty() || rows.is_empty() {
        return None;
    }
    let of = |k: usize, value: &dyn Fn(&ParameterEstimate) -> Option<f64>| {
        let values = rows.iter().filter_map(|row| value(row.parameters.get(k)?)).filter(|value| value.is_finite());
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let relative = |it: &ParameterEstimate| Some(100.0 * it.standard_error / it.value.abs());
    let error = |it: &ParameterEstimate| Some(100.0 * ((it.value - it.truth?) / it.truth?).abs());
    let over_bound = |it: &ParameterEstimate| Some(((it.value - it.truth?) / it.crlb?).powi(2));
    let count = input.parameters.len();
    let known = (0..count).any(|k| !of(k, &error).is_empty());
    let bounded = (0..count).any(|k| !of(k, &over_bound).is_empty());
    let mut headers =
        vec![text("parameter"), numeric("median"), numeric("from"), numeric("to"), numeric("standard error")];
    if known {
        headers.push(numeric("error"));
    }
    if bounded {
        headers.push(numeric("error over bound"));
    }
    let row = |(k, parameter)| {
        let values = of(k, &|it| Some(it.value));
        let mut cells = vec![
            escape(&number::quantity(parameter)),
            number::optional(quantile(&values, 0.5)),
            number::optional(quantile(&values, 0.05)),
            number::optional(quantile(&values, 0.95)),
            number::percent(quantile(&of(k, &relative), 0.5)),
        ];
        if known {
            cells.push(number::percent(quantile(&of(k, &error), 0.5)));
        }
        if bounded {
            let squares = of(k, &over_bound);
            let mean = squares.iter().sum::<f64>() / squares.len() as f64;
            cells.push(number::optional(Some(mean.sqrt()).filter(|it| it.is_finite())));
        }
        cells
    };
    let rows: Vec<Vec<String>> = input.parameters.iter().enumerate().map(row).collect();
    let error = if known { ", median difference from the known value" } else { "" };
    let bound = match bounded {
        true => ", and root mean square of error over Cramér-Rao bound (1 is the best that can be)",
        false => "",
    };
    let caption = format!(
        "Estimates over the environments that did not fail: median, quantiles of 5 and 95 %, median standard error of one estimate{error}{bound}."
    );
    Some(table(&caption, &headers, &rows))
}

/// How many environments have each status, and what the most of them say; nothing if none was estimated.
pub(crate) fn statuses(input: &Input) -> Option<String> {
    let counts = &input.summary.evaluation.statuses;
    let all: usize = counts.values().sum();
    let row = |(status, count): (&Status, &usize)| {
        let share = 100.0 * *count as f64 / all as f64;
        vec![
            format!("<code>{}</code>", status.name()),
            number::count(*count as u64),
            number::percent(Some(share)),
            escape(status.meaning()),
            commonest(input.estimates.iter().filter(|row| row.status == *status)),
        ]
    };
    let rows: Vec<Vec<String>> = counts.iter().map(row).collect();
    let headers =
        [text("status"), numeric("environments"), numeric("share"), text("meaning"), text("what most of them say")];
    (all > 0).then(|| table("How the fits ended.", &headers, &rows))
}

/// The reason that most of the rows have but for its numbers, as the first of these gives it.
fn commonest<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let mut alike: BTreeMap<String, (usize, &Row)> = BTreeMap::new();
    for row in rows.filter(|row| !row.reason.is_empty()) {
        let pattern = row.reason.chars().filter(|it| !it.is_ascii_digit()).collect();
        alike.entry(pattern).or_insert((0, row)).0 += 1;
    }
    // Of equally many the first in the order of the table.
    let most = alike.values().max_by(|a, b| a.0.cmp(&b.0).then(b.1.environment.cmp(&a.1.environment)));
    most.map_or_else(String::new, |(count, row)| {
        let more = if *count > 1 { format!(" and {} alike", number::count(*count as u64 - 1)) } else { String::new() };
        format!("{} <span class=\"soft\">({}{more})</span>", escape(&row.reason), escape(&row.environment))
    })
}

/// A quantile of sorted values, on straight lines between them.
fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(below + place.fract() * (above - below))
}
