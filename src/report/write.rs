//! Writes a report as a directory.

use std::path::Path;

use super::error::Error;
use super::input::{Input, Summary};
use super::{comparison, equations, figures, gallery, page, png};
use crate::{atomic, disk};

/// Writes a report as the directory `directory`, which appears complete or not at all and replaces an older one.
///
/// Numbers that are not finite are shown as absent and not drawn; figures without data are left out. Returns what could not be drawn and why,
/// which the page says too: a figure that fails costs neither the others nor the report.
///
/// # Errors
/// [`Error::Io`] if the directory cannot be written.
pub fn write(input: &Input, directory: &Path) -> Result<Vec<String>, Error> {
    let io = |source| Error::Io { path: directory.to_owned(), source };
    let lines = comparison::lines(input);
    let figures: Vec<_> = figures::ALL.iter().filter_map(|draw| draw(input)).collect();
    let mut undrawn = input.undrawn.clone();
    let mut files = Vec::new();
    let mut keep = |name: String, made: Result<Vec<u8>, String>| match made {
        Ok(bytes) => files.push((name, bytes)),
        Err(problem) => undrawn.push(format!("{name} ({problem})")),
    };
    keep("summary.json".to_owned(), json(&input.summary).map_err(|error| error.to_string()));
    keep("comparison.csv".to_owned(), table(&lines));
    if let Some(terms) = equations::csv(input) {
        keep("equations.csv".to_owned(), terms);
    }
    if let Some(system) = equations::system_file(input) {
        keep("system.toml".to_owned(), Ok(system.into_bytes()));
    }
    for figure in &figures {
        let svg = figure.standalone();
        keep(format!("{}.png", figure.name), png::render(&svg));
        keep(format!("{}.svg", figure.name), Ok(svg.into_bytes()));
    }
    let page = page::html(input, &lines, &figures, &undrawn);
    files.push(("index.html".to_owned(), page.into_bytes()));
    files.extend(gallery::pages(input, &page::head).into_iter().map(|(name, page)| (name, page.into_bytes())));

    let place = atomic::Directory::create(directory).map_err(io)?;
    for (name, bytes) in &files {
        disk::write(&place.path().join(name), bytes).map_err(io)?;
    }
    place.publish().map_err(io)?;
    Ok(undrawn)
}

/// JSON as a text file.
pub(crate) fn json(summary: &Summary) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(summary)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// `comparison.csv`, which always has its header.
pub(crate) fn table(lines: &[comparison::Comparison]) -> Result<Vec<u8>, String> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(Vec::new());
    writer.write_record(comparison::COLUMNS).map_err(|error| error.to_string())?;
    for line in lines {
        writer.serialize(line).map_err(|error| error.to_string())?;
    }
    writer.into_inner().map_err(|error| error.to_string())
}
