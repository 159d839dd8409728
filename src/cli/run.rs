//! `paramill run`.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::{Value, json};

use super::arguments::Run;
use super::log;
use super::output::{number, print, print_json, table, warn};
use super::signals;
use super::slurm;
use super::slurm::WOULD_RUN;
use super::sweep::{run as of_sweep, warnings};
use super::terminal::{Style, Terminal, duration};
use super::threads::start_threads;
use crate::estimate::Status;
use crate::pipeline::{
    Action, Built, Decision, Error, ExecutorChoice, Locations, Options, Plan, Stage, Sweep, preview, run_recorded,
};
use crate::progress;
use crate::progress::Event;
use crate::report::Summary;

pub(crate) fn run(command: &Run, quiet: bool) -> Result<u8, Error> {
    log::begin(&command.log)?;
    let locations = Locations { workspace: command.workspace.clone(), ..Locations::default() };
    let sweep = Sweep::load(&command.pipeline, &command.set, &locations).map_err(Error::Problems)?;
    // Once a pipeline has turned out to be sound.
    let options = || {
        start_threads(command.threads)?;
        Ok::<_, Error>(Options {
            stages: command.stage.clone(),
            force: command.force.clone(),
            compute: command.compute.compute(),
            threads: rayon::current_num_threads(),
        })
    };
    if let Some(sweep) = sweep {
        return of_sweep(command, &sweep, &options()?, quiet);
    }
    let plan = Plan::load(&command.pipeline, &command.set, &locations).map_err(Error::Problems)?;
    if let Some(cell) = command.cell.first() {
        return Err(Error::Usage(format!("found --cell {cell}; expected a pipeline with [sweep]; leave it out")));
    }
    let options = options()?;
    let warnings = warnings(command, &plan.warnings());
    if command.executor.unwrap_or(plan.executor) == ExecutorChoice::Slurm {
        let Run { pipeline: file, set, workspace, dry_run, json, .. } = command;
        warn(&warnings);
        let asked = slurm::Asked { file, set, workspace: workspace.as_ref(), dry_run: *dry_run };
        let answer = slurm::submit(&asked, &plan, &options)?;
        match json {
            true => print_json(&answer.json),
            false => print(&answer.text),
        }
        return Ok(answer.exit_code);
    }
    if command.dry_run {
        warn(&warnings);
        let decisions = preview(&plan, &options, &Built)?;
        let exit_code = if decisions.iter().any(|decision| decision.action == Action::Run) { WOULD_RUN } else { 0 };
        show_decisions(&plan, &decisions, command.json, exit_code);
        return Ok(exit_code);
    }
    signals::listen();
    let terminal = Terminal::new(Style::detect(quiet));
    let handed = progress::Run { observer: &terminal, interrupt: &signals::INTERRUPT };
    warnings.into_iter().for_each(|warning| handed.emit(Event::Warn(warning)));
    let begun = Instant::now();
    let recorded = run_recorded(&plan, &options, command.wait, &Built, &handed);
    terminal.close();
    let took = duration(begun.elapsed().as_secs_f64());
    terminal.ended(&format!("{}: ended with exit code {} after {took}", plan.name, recorded.exit_code()));
    let outcome = recorded.result?;
    let summary = read_summary(&plan).filter(|_| outcome.is_reported());
    let report = Some(plan.report_directory().join("index.html")).filter(|page| outcome.is_reported() && page.exists());
    if command.json {
        print_json(&json!({
            "pipeline": plan.name,
            "workspace": plan.workspace,
            "stages": outcome.stages,
            "summary": summary,
            "warnings": terminal.warnings(),
            "report": report,
            "environments": outcome.environments(),
            "environments_failed": outcome.environments_failed(),
            "statuses": outcome.statuses,
            "rejected": outcome.rejected,
            "record": recorded.record,
            "exit_code": outcome.exit_code(),
        }));
    } else {
        match &summary {
            Some(summary) => print(&figures(&plan, summary)),
            None if outcome.statuses.is_empty() => {}
            None => print(&table(&statuses(&outcome.statuses))),
        }
        match &report {
            Some(report) => print(&format!("report: {}\n", report.display())),
            None => print(&format!("workspace: {}\n", plan.workspace.display())),
        }
    }
    Ok(outcome.exit_code())
}

fn show_decisions(plan: &Plan, decisions: &[Decision], as_json: bool, exit_code: u8) {
    if as_json {
        return print_json(&json!({
            "pipeline": plan.name,
            "workspace": plan.workspace,
            "stages": decisions,
            "exit_code": exit_code,
        }));
    }
    let rows = decisions.iter().map(|decision| {
        let action = match decision.action {
            Action::Run => "would run",
            Action::Keep => "up to date",
            Action::Adopt => "would be adopted",
            Action::Depends => "may run",
            Action::Skip => "skipped",
        };
        let reasons = decision.reasons.join("; ");
        let reasons = if reasons == action { String::new() } else { reasons };
        vec![decision.stage.to_string(), action.to_owned(), reasons]
    });
    print(&table(&rows.collect::<Vec<_>>()));
}

/// The summary, if the report stage is part of the pipeline and has left one.
fn read_summary(plan: &Plan) -> Option<Summary> {
    if plan.has(Stage::Report) { Summary::read(&plan.report_directory()) } else { None }
}

/// A line for each status that occurs.
fn statuses(counts: &BTreeMap<Status, usize>) -> Vec<Vec<String>> {
    let line = |(status, count): (&Status, &usize)| vec![format!("status {}", status.name()), count.to_string()];
    counts.iter().map(line).collect()
}

fn figures(plan: &Plan, summary: &Summary) -> String {
    let mut rows = vec![vec!["figure".to_owned(), "value".to_owned(), "published".to_owned()]];
    let published = |figure: &str| {
        let all = plan.report.iter().flat_map(|report| &report.published);
        let said = all.filter(|published| published.figure == figure);
        said.map(|published| format!("{} ({})", number(published.value), published.source))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let fields = serde_json::to_value(summary).unwrap_or(Value::Null);
    for (name, value) in fields.as_object().into_iter().flatten() {
        if name == "statuses" {
            rows.extend(statuses(&summary.evaluation.statuses));
        }
        let shown = match value {
            Value::Number(value) if value.is_f64() => value.as_f64().map(number),
            Value::Number(value) if name.starts_with("environments") => Some(value.to_string()),
            _ => None,
        };
        if let Some(shown) = shown {
            let percent = if name.contains("mape") { " %" } else { "" };
            rows.push(vec![name.clone(), format!("{shown}{percent}"), published(name)]);
        }
    }
    table(&rows)
}
