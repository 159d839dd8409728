//! `paramill compare`.

use std::collections::BTreeSet;

use serde_json::json;

use super::compare_arguments::Compare;
use super::output::{number, print, print_json, table};
use crate::pipeline::{Error, side_by_side};
use crate::report::{SideBySide, Spread, write_side_by_side};

/// The file that a comparison leaves beside its page.
const FILE: &str = "comparison.json";

pub(crate) fn compare(command: &Compare) -> Result<u8, Error> {
    if let Some(directory) = command.to.as_ref().filter(|it| it.exists() && !it.join(FILE).is_file()) {
        let directory = directory.display();
        return Err(Error::Usage(format!(
            "--to {directory}: found something that is no comparison; expected a new directory, or one with {FILE}; name another"
        )));
    }
    let compared = side_by_side(&command.runs)?;
    if let Some(directory) = &command.to {
        write_side_by_side(&compared, directory).map_err(Error::Report)?;
    }
    if command.json {
        print_json(&json!(compared));
        return Ok(0);
    }
    print(&table(&rows(&compared)));
    if let Some(directory) = &command.to {
        print(&format!("report: {}\n", directory.join("index.html").display()));
    }
    Ok(0)
}

/// A column a group of runs: its figures, then the settings that differ.
fn rows(compared: &SideBySide) -> Vec<Vec<String>> {
    let groups = &compared.groups;
    let row = |name: &str, cells: Vec<String>| [vec![name.to_owned()], cells].concat();
    let spread = |spread: Option<&Spread>| match spread {
        None => "-".to_owned(),
        Some(Spread { mean, std_dev: None, .. }) => number(*mean),
        Some(Spread { mean, std_dev: Some(std_dev), .. }) => format!("{} ± {}", number(*mean), number(*std_dev)),
    };
    let mut rows = vec![row("", groups.iter().map(|group| group.name.clone()).collect())];
    if compared.data > 1 {
        rows.push(row("data", groups.iter().map(|group| (group.data + 1).to_string()).collect()));
    }
    let figures: BTreeSet<&str> = groups.iter().flat_map(|group| group.figures.keys().copied()).collect();
    for name in figures {
        rows.push(row(name, groups.iter().map(|group| spread(group.figures.get(name))).collect()));
    }
    let statuses: BTreeSet<_> = groups.iter().flat_map(|group| group.statuses.keys().copied()).collect();
    for status in statuses {
        let counts = groups.iter().map(|group| group.statuses.get(&status).copied().unwrap_or(0).to_string());
        rows.push(row(&format!("status {}", status.name()), counts.collect()));
    }
    for key in &compared.differing {
        let values = groups.iter().map(|group| group.setting(key).map_or_else(|| "-".to_owned(), ToString::to_string));
        rows.push(row(key, values.collect()));
    }
    rows
}
