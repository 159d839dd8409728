//! Tables of the page.

use std::fmt::Write;

use super::comparison;
use super::comparison::Comparison;
use super::errors::{parameter_mape, trusted_mape};
use super::figures::figure::counted;
use super::input::{Input, Summary};
use super::number;
use super::number::escape;
use crate::estimate::{ModelFigures, Row, Status};

/// Most environments of a run that are all listed.
const SMALL: usize = 50;
/// Most environments listed with a status other than `ok`.
const MOST_FAILED: usize = 50;
/// Environments listed each of the best, the middle and the worst of a large run.
const SOME: usize = 4;

/// A table: headers with whether their column holds numbers, and rows of escaped cells, the first of them a header.
pub(crate) fn table(caption: &str, headers: &[(String, bool)], rows: &[Vec<String>]) -> String {
    let class =
        |index: usize| if headers.get(index).is_some_and(|(_, numeric)| *numeric) { " class=\"number\"" } else { "" };
    let mut out =
        format!("<div class=\"scroll\"><table><caption><span>{}</span></caption><thead><tr>", escape(caption));
    for (index, (header, _)) in headers.iter().enumerate() {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(index), escape(header));
    }
    out.push_str("</tr></thead><tbody>\n");
    for row in rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let _ = match index {
                0 => write!(out, "<th scope=\"row\">{cell}</th>"),
                _ => write!(out, "<td{}>{cell}</td>", class(index)),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
    out
}

pub(crate) fn text(header: &str) -> (String, bool) {
    (header.to_owned(), false)
}

pub(crate) fn numeric(header: &str) -> (String, bool) {
    (header.to_owned(), true)
}

/// A badge if an error is below the tolerance of the data, else nothing.
pub(crate) fn tolerance_badge(summary: &Summary, figure: &str) -> &'static str {
    match comparison::below_tolerance(summary, figure) {
        Some(true) => " <span class=\"badge\">below data tolerance</span>",
        _ => "",
    }
}

/// Our figures compared with published ones.
pub(crate) fn published(input: &Input, lines: &[Comparison]) -> String {
    let tolerance = input.summary.data_tolerance.map_or_else(|| "unknown".to_owned(), number::setting);
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|line| {
            let ratio = match line.ratio {
                Some(ratio) if ratio < 1.0 => format!("<strong>{}</strong>", number::significant(ratio)),
                ratio => number::optional(ratio),
            };
            vec![
                escape(&comparison::label(&line.figure)),
                comparison::shown(&line.figure, line.ours) + tolerance_badge(&input.summary, &line.figure),
                comparison::shown(&line.figure, Some(line.published)),
                ratio,
                tolerance.clone(),
                escape(&line.source),
            ]
        })
        .collect();
    let headers = [
        text("figure"),
        numeric("ours"),
        numeric("published"),
        numeric("ratio"),
        numeric("data tolerance"),
        text("source"),
    ];
    table(
        "Ours beside published figures; the ratio is ours over published, in bold where ours is less.",
        &headers,
        &rows,
    )
}

/// The models that were compared; nothing if one was fitted.
pub(crate) fn models(summary: &Summary) -> Option<String> {
    let models = &summary.evaluation.models;
    let row = |it: &ModelFigures| {
        let delta = it.median_delta.map_or_else(|| "-".to_owned(), number::significant);
        let [preferred, failed, not_compared] =
            [it.preferred, it.failed, it.not_compared].map(|count| number::count(count as u64));
        vec![escape(&it.model), preferred, delta, not_compared, failed]
    };
    let rows: Vec<Vec<String>> = models.iter().map(row).collect();
    let headers =
        [text("model"), numeric("preferred"), numeric("median ΔAICc"), numeric("not compared"), numeric("failed")];
    let caption = "Environments in which each model has the least AICc, and its AICc less the least: 2 is little, 10 decides. A model is not \
                   compared where its fit failed, or the values are too few for AICc. Pictures and tables show each environment by its preferred \
                   model.";
    (!rows.is_empty()).then(|| table(caption, &headers, &rows))
}

/// Environments with a status other than `ok`; nothing if there are none.
pub(crate) fn failed(input: &Input) -> Option<String> {
    let failed: Vec<&Row> = input.estimates.iter().filter(|row| row.status != Status::Ok).collect();
    let counts = input.summary.evaluation.statuses.iter();
    let counted: usize = counts.filter(|(status, _)| **status != Status::Ok).map(|(_, count)| count).sum();
    let all = if input.is_thinned() { failed.len().max(counted) } else { failed.len() };
    if all == 0 {
        return None;
    }
    if failed.is_empty() {
        return Some(format!(
            "<p>{} with another status than <code>ok</code> are in the estimates.</p>\n",
            number::count(all as u64)
        ));
    }
    let rows: Vec<Vec<String>> = failed
        .iter()
        .take(MOST_FAILED)
        .map(|row| {
            vec![
                escape(&row.environment),
                format!("<code>{}</code>", row.status.name()),
                escape(&row.reason),
                number::count(row.points as u64),
                number::count(row.iterations as u64),
            ]
        })
        .collect();
    let headers = [text("environment"), text("status"), text("reason"), numeric("points"), numeric("iterations")];
    let mut out = table("Environments whose status is not ok.", &headers, &rows);
    if all > rows.len() {
        let rest = number::count((all - rows.len()) as u64);
        let _ = writeln!(out, "<p>{rest} more are in the estimates.</p>");
    }
    Some(out)
}

/// All estimates of a small run; the best, middle and worst of a large one. Nothing if there are none.
pub(crate) fn estimates(input: &Input) -> Option<String> {
    if input.estimates.is_empty() {
        return None;
    }
    let brackets = if input.estimated().is_empty() { "" } else { "; in brackets the 95 % interval" };
    if input.estimates.len() <= SMALL {
        let rows: Vec<&Row> = input.estimates.iter().collect();
        return Some(listed(input, &format!("All estimated environments{brackets}."), &rows));
    }
    let mut ranked: Vec<(f64, &Row)> =
        input.estimates.iter().filter_map(|row| Some((trusted_mape(row)?, row))).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.environment.cmp(&b.1.environment)));
    if ranked.len() < 3 * SOME {
        let rows: Vec<&Row> = input.estimates.iter().take(SMALL).collect();
        return Some(listed(input, &format!("The first of the estimated environments{brackets}."), &rows));
    }
    let part = |from: usize| -> Vec<&Row> { ranked[from..from + SOME].iter().map(|(_, row)| *row).collect() };
    let middle = (ranked.len() - SOME) / 2;
    let parts = [
        ("Smallest parameter error; in brackets the 95 % interval.", part(0)),
        ("About the median parameter error.", part(middle)),
        ("Largest parameter error.", part(ranked.len() - SOME)),
    ];
    Some(parts.into_iter().map(|(caption, rows)| listed(input, caption, &rows)).collect())
}

fn listed(input: &Input, caption: &str, rows: &[&Row]) -> String {
    let known = !input.estimated().is_empty()
        && rows.iter().any(|row| row.parameters.iter().any(|parameter| parameter.truth.is_some()));
    let tested = rows.iter().any(|row| row.test_mse.is_some());
    let hull = rows.iter().any(|row| row.in_hull.is_some());
    // Without parameters, contexts are what distinguishes environments.
    let longest = rows.iter().map(|row| row.context.len()).max().unwrap_or(0);
    let contexts = if input.estimated().is_empty() { longest } else { 0 };
    let mut headers = vec![text("environment")];
    headers.extend((0..contexts).map(|k| numeric(&format!("context {k}"))));
    for parameter in input.estimated() {
        headers.push(numeric(&number::quantity(parameter)));
        if known {
            headers.push(numeric("truth"));
        }
    }
    if known {
        headers.push(numeric("error"));
    }
    headers.push(numeric("trajectory RMSE"));
    if tested {
        headers.push(numeric("test MSE"));
    }
    headers.push(numeric("points"));
    if hull {
        headers.push(text("in hull"));
    }
    headers.push(text("status"));
    let cells = rows.iter().map(|row| {
        let mut cells = vec![escape(&row.environment)];
        cells.extend((0..contexts).map(|k| number::optional(row.context.get(k).copied())));
        for index in 0..input.estimated().len() {
            let estimate = row.parameters.get(index);
            cells.push(estimate.map_or_else(
                || number::ABSENT.to_owned(),
                |estimate| {
                    let value = number::significant(estimate.value);
                    if estimate.lower.is_finite() && estimate.upper.is_finite() {
                        let (lower, upper) = (number::significant(estimate.lower), number::significant(estimate.upper));
                        format!("{value} <span class=\"soft\">[{lower}, {upper}]</span>")
                    } else {
                        value
                    }
                },
            ));
            if known {
                cells.push(number::optional(estimate.and_then(|estimate| estimate.truth)));
            }
        }
        if known {
            cells.push(number::percent(parameter_mape(row)));
        }
        cells.push(number::significant(row.trajectory_rmse));
        if tested {
            cells.push(number::optional(row.test_mse));
        }
        cells.push(number::count(row.points as u64));
        if hull {
            cells.push(match row.in_hull {
                Some(true) => "yes".to_owned(),
                Some(false) => "no".to_owned(),
                None => number::ABSENT.to_owned(),
            });
        }
        cells.push(format!("<code>{}</code>", row.status.name()));
        cells
    });
    table(caption, &headers, &cells.collect::<Vec<_>>())
}

/// How often intervals contain the known parameters, and errors relative to the Cramér-Rao bound; `None` if neither is known.
pub(crate) fn intervals(summary: &Summary) -> Option<String> {
    if summary.evaluation.coverage.is_empty() {
        return None;
    }
    let rows: Vec<Vec<String>> = summary
        .evaluation
        .coverage
        .iter()
        .map(|it| {
            let nominal = number::significant(it.nominal);
            vec![format!("{nominal} %"), number::percent(it.in_hull), number::percent(Some(it.overall))]
        })
        .collect();
    let headers = [text("interval"), numeric("contains the truth, in hull"), numeric("overall")];
    let account = match summary.calibrated_on {
        Some(environments) => format!(
            "They account for the noise of the data and for the model's own error, learned from {} that it was not trained on.",
            counted(environments, "environment")
        ),
        None => "They account for the noise of the data only: where the data are nearly exact, errors of the model and its solver dominate, and \
                 these shares are not meaningful."
            .to_owned(),
    };
    let caption = format!("How often the intervals contain the known parameters. {account}");
    let mut out = table(&caption, &headers, &rows);
    if let Some(overall) = summary.evaluation.error_over_bound_overall {
        let of = |value: Option<f64>| number::optional(value);
        let _ = writeln!(
            out,
            "<p>Parameter errors over the Cramér-Rao bound, root mean square: {} in the hull, {} overall.</p>",
            of(summary.evaluation.error_over_bound_in_hull),
            of(Some(overall))
        );
    }
    Some(out)
}

/// Device, engine, threads, seed and times of the run.
pub(crate) fn run(summary: &Summary) -> String {
    let mut pairs = vec![
        ("pipeline", escape(&summary.pipeline)),
        ("device", escape(&summary.device)),
        ("engine", escape(&summary.engine)),
        ("threads", number::count(summary.threads as u64)),
        ("seed", summary.seed.to_string()),
    ];
    if summary.training_steps > 0 {
        pairs.push(("training steps", number::count(summary.training_steps)));
    }
    if let Some(map) = &summary.map {
        pairs.push(("context-to-parameter map", escape(map)));
    }
    pairs.push(("tolerance of the data", summary.data_tolerance.map_or_else(|| "unknown".to_owned(), number::setting)));
    let seconds: Vec<(String, String)> = summary
        .seconds
        .iter()
        .map(|(stage, seconds)| (format!("time: {}", escape(stage)), number::duration(*seconds)))
        .collect();
    let mut out = "<dl class=\"facts\">".to_owned();
    let pairs = pairs.into_iter().map(|(term, value)| (term.to_owned(), value)).chain(seconds);
    for (term, value) in pairs {
        let value = if value.is_empty() { number::ABSENT.to_owned() } else { value };
        let _ = write!(out, "<div><dt>{term}</dt><dd>{value}</dd></div>");
    }
    out.push_str("</dl>\n");
    out
}
