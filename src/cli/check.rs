//! `paramill check`.

use std::path::Path;

use serde_json::{Value, json};

use super::check_arguments::Check;
use super::kinds::recognise;
use super::output::{complain, print, print_json, warn};
use crate::checkpoint::{self, Opened, is_bundle};
use crate::pipeline::{
    Checked, Error, Locations, Sweep, check as check_pipeline, check_directory, load_system, read_manifest,
};
use crate::problems::many;

/// The result for one path.
struct Finding {
    path: String,
    exit_code: u8,
    problems: Vec<Value>,
    lines: Vec<String>,
    /// Warnings, which leave the exit code at 0.
    warnings: Vec<String>,
    /// What was not checked.
    note: Option<String>,
}

pub(crate) fn check(command: &Check) -> Result<u8, Error> {
    let findings: Vec<_> = command.paths.iter().map(|path| check_one(path, &command.set)).collect();
    // Problems of a pipeline (2) take precedence over problems of data (3).
    let exit_code = findings.iter().map(|finding| finding.exit_code).filter(|&code| code != 0).min().unwrap_or(0);
    if command.json {
        let paths = findings
            .iter()
            .map(|it| json!({ "path": it.path, "problems": it.problems, "warnings": it.warnings, "note": it.note }));
        let paths: Vec<_> = paths.collect();
        print_json(&json!({ "paths": paths, "exit_code": exit_code }));
        return Ok(exit_code);
    }
    for finding in &findings {
        finding.lines.iter().for_each(|line| complain(line));
        warn(&finding.warnings);
        if finding.lines.is_empty() {
            let note = finding.note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
            print(&format!("{}: no problems{note}\n", finding.path));
        }
    }
    let count: usize = findings.iter().map(|finding| finding.lines.len()).sum();
    if count > 0 {
        complain(&format!("error: {}", many(count as u64, "problem")));
    }
    Ok(exit_code)
}

fn check_one(path: &Path, arguments: &[String]) -> Finding {
    let shown = path.display().to_string();
    let finding = |exit_code: u8, problems: Vec<Value>, lines: Vec<String>| {
        let exit_code = if lines.is_empty() { 0 } else { exit_code };
        Finding { path: shown.clone(), exit_code, problems, lines, warnings: Vec::new(), note: None }
    };
    let of_text = |exit_code: u8, lines: Vec<String>| {
        let problems = lines.iter().map(|line| json!({ "file": shown, "message": line })).collect();
        finding(exit_code, problems, lines)
    };
    if let Err(error) = recognise(path) {
        return of_text(error.exit_code(), vec![error.to_string()]);
    }
    if is_bundle(path) {
        // It is verified as it is unpacked.
        return of_text(3, Opened::new(path).err().into_iter().flat_map(checkpoint::Error::lines).collect());
    }
    if path.is_dir() {
        return match read_manifest(path).and_then(|manifest| check_directory(path, &manifest)) {
            Ok(lines) => of_text(3, lines),
            Err(error) => of_text(error.exit_code(), vec![error.to_string()]),
        };
    }
    if let Some(system) = load_system(path) {
        let problems = system.err().unwrap_or_default();
        let lines = problems.iter().map(ToString::to_string).collect();
        return finding(2, problems.iter().map(|problem| json!(problem)).collect(), lines);
    }
    match Sweep::load(path, arguments, &Locations::default()) {
        Ok(None) => {}
        Ok(Some(sweep)) => {
            let note = format!("{}; the archive of an import is not checked", many(sweep.cells.len() as u64, "cell"));
            let warnings = sweep.warnings().iter().map(ToString::to_string).collect();
            return Finding { note: Some(note), warnings, ..finding(0, Vec::new(), Vec::new()) };
        }
        Err(problems) => {
            let lines = problems.iter().map(ToString::to_string).collect();
            return finding(2, problems.iter().map(|problem| json!(problem)).collect(), lines);
        }
    }
    let Checked { settings, archive, warnings, absent } = check_pipeline(path, arguments);
    let exit_code = if settings.is_empty() { 3 } else { 2 };
    let lines = settings.iter().chain(&archive).map(ToString::to_string).collect();
    let problems = settings.iter().chain(&archive).map(|problem| json!(problem)).collect();
    let note = absent.map(|directory| format!("the archive {directory} is not there and was not checked"));
    let warnings = warnings.iter().map(ToString::to_string).collect();
    Finding { warnings, note, ..finding(exit_code, problems, lines) }
}
