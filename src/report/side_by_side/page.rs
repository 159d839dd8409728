//! The page of a comparison, and its directory.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use super::curves;
use super::group::{Group, SideBySide, Spread};
use super::run::{is_percent, label};
use crate::estimate::Status;
use crate::report::error::Error;
use crate::report::figures::figure::counted;
use crate::report::number;
use crate::report::number::escape;
use crate::report::page::{foot, head, section};
use crate::report::tables::{numeric, table, text};
use crate::{atomic, disk};

/// Most characters of a setting that are shown.
const SHOWN: usize = 240;

/// Writes `index.html` and `comparison.json` as the directory `directory`, which appears complete or not at all and replaces an older one.
///
/// # Errors
/// [`Error::Io`] if it cannot be written.
pub fn write_side_by_side(compared: &SideBySide, directory: &Path) -> Result<(), Error> {
    let io = |source| Error::Io { path: directory.to_owned(), source };
    let mut json = serde_json::to_vec_pretty(compared).map_err(std::io::Error::from).map_err(io)?;
    json.push(b'\n');
    let place = atomic::Directory::create(directory).map_err(io)?;
    for (name, bytes) in [("index.html", html(compared).into_bytes()), ("comparison.json", json)] {
        disk::write(&place.path().join(name), bytes).map_err(io)?;
    }
    place.publish().map_err(io)
}

fn html(compared: &SideBySide) -> String {
    let runs: usize = compared.groups.iter().map(|group| group.runs.len()).sum();
    let title = format!("{} side by side", counted(runs, "run"));
    let mut page = head(&title, &curves::rules());
    let _ = writeln!(page, "<header>\n<h1>{title}</h1>\n<p class=\"lead\">{}</p>", escape(&lead(compared)));
    page.push_str("</header>\n<main>\n");
    page.push_str(&figures(compared));
    section(&mut page, "settings", "What differs");
    page.push_str(&settings(compared));
    section(&mut page, "statuses", "How the fits ended");
    page.push_str(&statuses(compared).unwrap_or_else(|| "<p>Nothing was estimated.</p>\n".to_owned()));
    if let Some(errors) = errors(compared) {
        section(&mut page, "errors", "Errors by parameter");
        page.push_str(&errors);
    }
    let groups = compared.groups.iter();
    let over_time = groups.map(|group| {
        let of_runs = group.runs.iter().filter_map(|run| run.errors_over_time.as_ref());
        (group.name.as_str(), of_runs.collect())
    });
    for drawn in [curves::over_time(over_time.collect()), curves::losses(compared)].into_iter().flatten() {
        section(&mut page, drawn.0.name, drawn.0.title);
        page.push_str(&curves::in_page(drawn));
    }
    section(&mut page, "runs", "The runs");
    page.push_str(&all_runs(compared));
    page.push_str(&foot("All figures are in <code>comparison.json</code>."));
    page
}

fn lead(compared: &SideBySide) -> String {
    let averaged = match compared.groups.iter().any(|group| group.runs.len() > 1) {
        true => {
            "Runs that differ in their seed only stand together: mean, and in brackets the standard deviation over seeds."
        }
        false => "No two of them differ in their seed only.",
    };
    let data = match compared.data {
        1 => "All are on the same data, or on data that differ in their seed only.".to_owned(),
        kinds => format!("They are on {kinds} kinds of data: errors on one do not compare with those on another."),
    };
    format!("{averaged} {data}")
}

/// A letter, and behind `Z` a number.
fn letter(data: usize) -> String {
    u8::try_from(data)
        .ok()
        .filter(|it| *it < 26)
        .map_or_else(|| (data + 1).to_string(), |it| char::from(b'A' + it).to_string())
}

fn spread(spread: Option<&Spread>, percent: bool) -> String {
    let shown = |value: f64| if percent { number::percent(Some(value)) } else { number::significant(value) };
    match spread {
        None => number::ABSENT.to_owned(),
        Some(Spread { mean, std_dev: None, .. }) => shown(*mean),
        Some(Spread { mean, std_dev: Some(std_dev), .. }) => {
            format!("{} <span class=\"soft\">[± {}]</span>", shown(*mean), shown(*std_dev))
        }
    }
}

/// The first cells of every row: the group, and its data where there are several.
fn begun(compared: &SideBySide, group: &Group) -> Vec<String> {
    let mut cells = vec![escape(&group.name)];
    if compared.data > 1 {
        cells.push(letter(group.data));
    }
    cells
}

fn headers(compared: &SideBySide) -> Vec<(String, bool)> {
    let mut headers = vec![text("runs")];
    if compared.data > 1 {
        headers.push(text("data"));
    }
    headers
}

fn figures(compared: &SideBySide) -> String {
    let names: Vec<&str> = {
        let mut seen = Vec::new();
        for (figure, _) in compared.groups.iter().flat_map(|group| &group.runs).flat_map(|run| run.figures()) {
            if !seen.contains(&figure) {
                seen.push(figure);
            }
        }
        seen
    };
    let mut header = headers(compared);
    header.push(text("seeds"));
    header.extend(names.iter().map(|name| numeric(&label(name))));
    header.extend([numeric("environments"), numeric("failed"), numeric("training, s")]);
    let row = |group: &Group| {
        let mut cells = begun(compared, group);
        cells.push(escape(&group.seeds()));
        cells.extend(names.iter().map(|name| spread(group.figures.get(name), is_percent(name))));
        let count = |is_counted: &dyn Fn(Status) -> bool| {
            let counts = group.statuses.iter().filter(|(status, _)| is_counted(**status));
            number::count(counts.map(|(_, count)| *count as u64).sum())
        };
        cells.extend([count(&|_| true), count(&Status::is_failure), spread(group.seconds.get("train"), false)]);
        cells
    };
    let rows: Vec<Vec<String>> = compared.groups.iter().map(row).collect();
    table("Key figures; environments are counted over all runs of a row.", &header, &rows)
}

fn settings(compared: &SideBySide) -> String {
    if compared.differing.is_empty() {
        return "<p>All settings are the same.</p>\n".to_owned();
    }
    let shown = |value: Option<&Value>| {
        let text = match value {
            None | Some(Value::Null) => return number::ABSENT.to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        let short: String = text.chars().take(SHOWN).collect();
        let more = if short.len() < text.len() { "…" } else { "" };
        format!("<code>{}{more}</code>", escape(&short))
    };
    let mut header = vec![text("setting")];
    header.extend(compared.groups.iter().map(|group| text(&group.name)));
    let row = |key: &String| {
        let values = compared.groups.iter().map(|group| shown(group.setting(key)));
        [format!("<code>{}</code>", escape(key))].into_iter().chain(values).collect()
    };
    let rows: Vec<Vec<String>> = compared.differing.iter().map(row).collect();
    table("Settings that are not the same in all runs, with every default filled in; seeds left out.", &header, &rows)
}

fn statuses(compared: &SideBySide) -> Option<String> {
    let all: BTreeSet<Status> = compared.groups.iter().flat_map(|group| group.statuses.keys().copied()).collect();
    let mut header = headers(compared);
    header.extend(all.iter().map(|status| numeric(status.name())));
    let row = |group: &Group| {
        let mut cells = begun(compared, group);
        let count = |status| group.statuses.get(status).copied().unwrap_or(0);
        cells.extend(all.iter().map(|status| number::count(count(status) as u64)));
        cells
    };
    let rows: Vec<Vec<String>> = compared.groups.iter().map(row).collect();
    (!all.is_empty()).then(|| table("Environments of each status, over all runs of a row.", &header, &rows))
}

fn errors(compared: &SideBySide) -> Option<String> {
    let all: BTreeSet<&String> = compared.groups.iter().flat_map(|group| group.errors.keys()).collect();
    let mut header = headers(compared);
    header.extend(all.iter().map(|name| numeric(&number::name(name))));
    let row = |group: &Group| {
        let mut cells = begun(compared, group);
        cells.extend(all.iter().map(|name| spread(group.errors.get(*name), true)));
        cells
    };
    let rows: Vec<Vec<String>> = compared.groups.iter().map(row).collect();
    let caption = "Median over environments of the relative error of an estimate, failed environments left out.";
    (!all.is_empty()).then(|| table(caption, &header, &rows))
}

fn all_runs(compared: &SideBySide) -> String {
    let headers = [
        text("run"),
        text("data"),
        text("dataset"),
        text("its content"),
        numeric("seed"),
        text("device"),
        text("engine"),
        numeric("all stages, s"),
    ];
    let rows = compared.groups.iter().flat_map(|group| group.runs.iter().map(move |run| (group, run)));
    let rows: Vec<Vec<String>> = rows
        .map(|(group, run)| {
            let content: String = run.data.sha256.chars().take(12).collect();
            vec![
                escape(&run.workspace),
                letter(group.data),
                escape(&run.data.name),
                format!("<code>{}</code>", escape(&content)),
                run.seed.map_or_else(|| number::ABSENT.to_owned(), |seed| seed.to_string()),
                escape(&run.device),
                escape(&run.engine),
                number::significant(run.seconds.values().sum()),
            ]
        })
        .collect();
    table("Every run by itself.", &headers, &rows)
}
