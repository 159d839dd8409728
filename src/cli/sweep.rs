//! `paramill run` of a pipeline with `[sweep]`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::arguments::Run;
use super::output::{complain, print, print_json, table, warn};
use super::signals;
use super::slurm::{self, WOULD_RUN};
use super::terminal::{Style, Terminal, duration};
use crate::pipeline::{
    Action, Built, Cell, CellOutcome, Error, ExecutorChoice, Options, Stage, Sweep, exit_code_of, preview, run_cells,
};
use crate::printable::printable;
use crate::problems::{Problem, listing};
use crate::progress;
use crate::progress::Event;
use crate::report::{CellState, SweepResults};

/// Runs the cells, or says what would run, or submits their jobs.
pub(crate) fn run(command: &Run, sweep: &Sweep, options: &Options, quiet: bool) -> Result<u8, Error> {
    let cells = sweep.named(&command.cell)?;
    let warnings = warnings(command, &sweep.warnings());
    if cells.iter().any(|cell| command.executor.unwrap_or(cell.plan.executor) == ExecutorChoice::Slurm) {
        warn(&warnings);
        return submit(command, sweep, &cells, options);
    }
    if command.dry_run {
        warn(&warnings);
        return preview_all(command, &cells, options);
    }
    signals::listen();
    let terminal = Terminal::new(Style::detect(quiet));
    let handed = progress::Run { observer: &terminal, interrupt: &signals::INTERRUPT };
    warnings.into_iter().for_each(|warning| handed.emit(Event::Warn(warning)));
    let begun = std::time::Instant::now();
    let (outcomes, results) = run_cells(sweep, &cells, options, command.wait, &Built, &handed)?;
    terminal.close();
    let exit_code = exit_code_of(outcomes.iter().map(|it| it.exit_code));
    let took = duration(begun.elapsed().as_secs_f64());
    terminal.ended(&format!("{}: ended with exit code {exit_code} after {took}", sweep.name));
    if command.json {
        print_json(&json!({
            "sweep": sweep.name,
            "workspace": sweep.workspace,
            "cells": outcomes.iter().map(outcome_as_json).collect::<Vec<_>>(),
            "results": results,
            "best": results.best().map(|(name, error)| json!({ "name": name, "mse_validation": error })),
            "report": sweep.report_directory().join("index.html"),
            "exit_code": exit_code,
        }));
    } else {
        print(&shown(&results));
        print(&format!("report: {}\n", sweep.report_directory().join("index.html").display()));
    }
    Ok(exit_code)
}

/// What is told of settings without effect, if a model is to be trained.
pub(crate) fn warnings(command: &Run, problems: &[Problem]) -> Vec<String> {
    let trains = command.stage.is_empty() || command.stage.contains(&Stage::Train);
    problems.iter().filter(|_| trains).map(Problem::to_string).collect()
}

fn outcome_as_json(it: &CellOutcome) -> Value {
    let error = it.error.as_ref().map(error_as_json);
    json!({ "name": it.name, "exit_code": it.exit_code, "error": error })
}

/// The table of the combinations, and the best of them.
fn shown(results: &SweepResults) -> String {
    let mut text = table(&results.table());
    if let Some((best, error)) = results.best() {
        text.push_str(&format!("best by validation: {best} ({})\n", super::output::number(error)));
    }
    let mut failed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for cell in results.cells.iter().filter(|cell| cell.state == CellState::Failed) {
        failed.entry(cell.what_of_it()).or_default().push(&cell.name);
    }
    for (why, cells) in failed {
        let names = if let [one] = cells[..] { one.to_owned() } else { listing(&cells) };
        text.push_str(&format!("failed: {names}: {}\n", printable(why)));
    }
    text
}

/// What would run of each cell; one in whose way something stands keeps none of the others from being told.
fn preview_all(command: &Run, cells: &[&Cell], options: &Options) -> Result<u8, Error> {
    let mut rows = vec![["cell", "would run"].map(str::to_owned).to_vec()];
    let (mut all, mut exit_codes) = (Vec::new(), Vec::new());
    for cell in cells {
        let (said, mut told, code) = match preview(&cell.plan, options, &Built) {
            Ok(decisions) => {
                let to_do: Vec<&str> =
                    decisions.iter().filter(|it| it.action == Action::Run).map(|it| it.stage.name()).collect();
                let (said, code) = match to_do.is_empty() {
                    true => ("up to date".to_owned(), 0),
                    false => (to_do.join(", "), WOULD_RUN),
                };
                (said, json!({ "stages": decisions }), code)
            }
            Err(error) => {
                complain(&format!("{}: {error}", cell.name));
                ("nothing, for an error".to_owned(), json!({ "error": error_as_json(&error) }), error.exit_code())
            }
        };
        rows.push(vec![cell.name.clone(), said]);
        told["cell"] = json!(cell.name);
        told["workspace"] = json!(cell.plan.workspace);
        all.push(told);
        exit_codes.push(code);
    }
    let exit_code = of_dry_runs(exit_codes);
    match command.json {
        true => print_json(&json!({ "cells": all, "exit_code": exit_code })),
        false => print(&table(&rows)),
    }
    Ok(exit_code)
}

/// The exit code of all where each has one of its own, 8 where something would run.
fn of_dry_runs(codes: Vec<u8>) -> u8 {
    match codes.iter().all(|code| [0, WOULD_RUN].contains(code)) {
        true => codes.into_iter().max().unwrap_or(0),
        false => exit_code_of(codes),
    }
}

fn error_as_json(error: &Error) -> Value {
    json!({ "kind": error.kind(), "message": error.to_string() })
}

/// Submits the jobs of each cell, whose file they name. One whose jobs cannot be submitted, or wait since an earlier time, keeps none of the others.
fn submit(command: &Run, sweep: &Sweep, cells: &[&Cell], options: &Options) -> Result<u8, Error> {
    let mut all = Vec::new();
    let mut exit_codes = Vec::new();
    for cell in cells {
        // A dry run too, whose scripts name it.
        let file = sweep.write_file_of(cell)?;
        let asked =
            slurm::Asked { file: &file, set: &[], workspace: Some(&cell.plan.workspace), dry_run: command.dry_run };
        match slurm::submit(&asked, &cell.plan, options) {
            Ok(answer) => {
                if !command.json {
                    complain(&format!("{}:", cell.name));
                    print(&answer.text);
                }
                exit_codes.push(answer.exit_code);
                all.push(json!({ "cell": cell.name, "submission": answer.json }));
            }
            Err(error) => {
                complain(&format!("{}: {error}", cell.name));
                exit_codes.push(error.exit_code());
                all.push(json!({ "cell": cell.name, "error": error_as_json(&error) }));
            }
        }
    }
    let exit_code = of_dry_runs(exit_codes);
    if command.json {
        print_json(&json!({ "sweep": sweep.name, "cells": all, "exit_code": exit_code }));
    }
    Ok(exit_code)
}
