//! Runs the cells of a sweep one after the other, and gathers what came out of them: `sweep.json` and the page of the sweep.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::cells::{Cell, Sweep};
use super::error::Error;
use super::executor::Executor;
use super::plan::Plan;
use super::record::Record;
use super::recorded::run_recorded;
use super::run_record::RunRecord;
use super::runner::Options;
use super::stage::Stage;
use super::status::{Standing, State, standings};
use super::sweep_settings::Axis;
use crate::progress::{Event, Run};
use crate::report::{CellResults, CellState, Summary, SweepResults};
use crate::schema::TOOL;
use crate::{atomic, checkpoint, estimate, report, train};

/// Exit codes from here on are of signals.
const SIGNALS: u8 = 128;

/// How a cell went in a run of its sweep.
#[derive(Debug)]
pub struct CellOutcome {
    /// Its name.
    pub name: String,
    /// Its exit code.
    pub exit_code: u8,
    /// What stopped it.
    pub error: Option<Error>,
}

/// Runs these cells of the sweep as pipelines of their own, whatever becomes of one of them, and writes the results before the first and after each.
/// Cells that another run was at are looked at once more in the end. A request to stop ends the sweep; the same command goes on from there.
///
/// # Errors
/// If the file of a cell, or the results, cannot be written.
pub fn run_cells(
    sweep: &Sweep,
    cells: &[&Cell],
    options: &Options,
    wait: bool,
    executor: &dyn Executor,
    run: &Run<'_>,
) -> Result<(Vec<CellOutcome>, SweepResults), Error> {
    let mut results = sweep.results(executor, options);
    sweep.write_results(&results)?;
    let mut outcomes: BTreeMap<usize, CellOutcome> = BTreeMap::new();
    for is_again in [false, true] {
        for (index, cell) in cells.iter().enumerate() {
            let is_locked = outcomes.get(&index).is_some_and(|it| matches!(it.error, Some(Error::Locked { .. })));
            if run.interrupt.requested().is_some() || is_again && !is_locked {
                continue;
            }
            sweep.write_file_of(cell)?;
            run.emit(Event::Note(format!("cell {} of {}: {}", index + 1, cells.len(), cell.name)));
            let recorded = run_recorded(&cell.plan, options, wait, executor, run);
            let exit_code = recorded.exit_code();
            let error = recorded.result.err();
            if let Some(error) = &error {
                let is_same = |it: &&CellOutcome| {
                    it.name != cell.name && it.error.as_ref().map(Error::to_string) == Some(error.to_string())
                };
                let why = match outcomes.values().find(is_same) {
                    Some(first) => format!(", for the reason of {}", first.name),
                    None => format!(": {error}"),
                };
                run.emit(Event::Warn(format!("{}: ended with exit code {exit_code}{why}", cell.name)));
            }
            let mut of_cell = results_of(cell, executor, options);
            match error.as_ref().filter(|_| of_cell.state == CellState::NotRun && exit_code < SIGNALS) {
                Some(Error::Locked { .. }) => of_cell.reason = error.as_ref().map(Error::to_string),
                Some(error) => {
                    (of_cell.state, of_cell.error, of_cell.reason) = (CellState::Failed, Some(error.to_string()), None);
                }
                None => {}
            }
            results.cells.iter_mut().filter(|it| it.name == cell.name).for_each(|it| *it = of_cell.clone());
            sweep.write_results(&results)?;
            outcomes.insert(index, CellOutcome { name: cell.name.clone(), exit_code, error });
        }
    }
    Ok((outcomes.into_values().collect(), results))
}

/// The exit code of a sweep: that of its cells where all that did not end well end alike and none ended well, or another run was at them; else 4.
pub fn exit_code_of(cells: impl IntoIterator<Item = u8>) -> u8 {
    const SOME_FAILED: u8 = 4;
    const LOCKED: u8 = 6;
    let codes: Vec<u8> = cells.into_iter().collect();
    if let Some(signal) = codes.iter().find(|code| **code > SIGNALS) {
        return *signal;
    }
    let first = codes.first().copied().unwrap_or(0);
    match codes.iter().all(|code| *code == first) {
        true => first,
        false if codes.iter().all(|code| [0, LOCKED].contains(code)) => LOCKED,
        false => SOME_FAILED,
    }
}

impl Sweep {
    /// What came out of the cells so far. A cell whose products are not up to date has no figures.
    pub fn results(&self, executor: &dyn Executor, options: &Options) -> SweepResults {
        let axes = &self.settings.over;
        SweepResults {
            sweep: self.name.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            tool: TOOL.to_owned(),
            budget: self.settings.budget.clone(),
            axes: axes.iter().map(|axis| axis.title().to_owned()).collect(),
            seeds: axes.iter().position(Axis::is_of_seeds),
            columns: self.settings.columns.as_ref().and_then(|name| axes.iter().position(|axis| axis.title() == name)),
            figures: self.settings.figures.clone(),
            cells: self.cells.iter().map(|cell| results_of(cell, executor, options)).collect(),
        }
    }

    /// `sweep.json` in its workspace; `sweep--BUDGET.json` with a budget, whose cells are others.
    pub fn results_path(&self) -> PathBuf {
        self.workspace.join(format!("sweep{}.json", self.of_budget()))
    }

    /// The directory of its page, `report` or `report--BUDGET`.
    pub fn report_directory(&self) -> PathBuf {
        self.workspace.join(format!("report{}", self.of_budget()))
    }

    /// Writes the results and the page.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn write_results(&self, results: &SweepResults) -> Result<(), Error> {
        let path = self.results_path();
        let text = serde_json::to_string_pretty(results).map_err(std::io::Error::from).map_err(Error::io(&path))?;
        atomic::write_file(&path, format!("{text}\n").as_bytes()).map_err(Error::io(&path))?;
        results.write_page(&self.report_directory()).map_err(Error::Report)
    }
}

fn results_of(cell: &Cell, executor: &dyn Executor, options: &Options) -> CellResults {
    let plan = &cell.plan;
    let options = Options { stages: Vec::new(), force: Vec::new(), ..options.clone() };
    let standings = standings(plan, &options, executor);
    let error = match &standings {
        Ok(standings) => standings.iter().find_map(error_of),
        Err(error) => Some(error.to_string()),
    };
    let standings = standings.unwrap_or_default();
    let is_done = error.is_none() && standings.iter().all(|it| matches!(it.state, State::Current | State::Skipped));
    let records: BTreeMap<Stage, Record> =
        plan.stages().into_iter().filter_map(|stage| Some((stage, Record::read(&plan.record_path(stage))?))).collect();
    let records = if is_done { records } else { BTreeMap::new() };
    let train = records.get(&Stage::Train);
    let mut results = CellResults {
        name: cell.name.clone(),
        labels: cell.labels.clone(),
        state: match (is_done, &error) {
            (true, _) => CellState::Done,
            (false, Some(_)) => CellState::Failed,
            (false, None) => CellState::NotRun,
        },
        reason: (!is_done && error.is_none()).then(|| reason(plan, &standings)),
        error,
        figures: BTreeMap::new(),
        errors_over_time: None,
        published: plan.report.iter().flat_map(|report| report.published.clone()).collect(),
        dataset: plan.dataset.clone(),
        scales: plan.train.as_ref().map_or_else(String::new, scales),
        environments: 0,
        environments_failed: 0,
        training_steps: 0,
        seconds: records.iter().map(|(stage, record)| (stage.name().to_owned(), record.seconds)).collect(),
        device: train.map_or_else(String::new, |record| record.device.clone()),
        threads: records.get(&Stage::Estimate).or(train).map_or(0, |record| record.threads),
    };
    if is_done {
        read_figures(plan, &mut results);
    }
    results
}

/// What stopped a stage that failed, or stands in its way.
fn error_of(it: &Standing) -> Option<String> {
    let stopped = it.attempt.as_ref().and_then(|attempt| attempt.stopped.as_ref());
    match it.state {
        State::Failed => stopped.map(|stopped| stopped.message.clone()),
        State::Blocked => Some(it.reasons.join("; ")),
        _ => None,
    }
}

/// What would run of a cell, and why: the first stage that is not up to date, and those after it that have a reason of their own.
fn reason(plan: &Plan, standings: &[Standing]) -> String {
    let was_begun = |stage: &Stage| [plan.record_path(*stage), plan.attempt_path(*stage)].iter().any(|it| it.exists());
    if !plan.stages().iter().any(was_begun) && RunRecord::all(plan).next().is_none() {
        return "never run".to_owned();
    }
    let is_to_do = |it: &&Standing| it.state.is_to_do() || it.state == State::Running;
    let to_do = standings.iter().filter(is_to_do).enumerate();
    let told = to_do.filter(|(place, it)| *place == 0 || it.state == State::Due);
    let in_words = |(_, it): (usize, &Standing)| {
        let stopped = it.attempt.as_ref().and_then(|attempt| attempt.stopped.as_ref());
        let why = match (it.state, stopped) {
            (State::Running, _) => "runs now".to_owned(),
            (State::Interrupted, Some(stopped)) => stopped.message.clone(),
            (State::Interrupted, None) => "its process was killed".to_owned(),
            _ => it.reasons.join("; "),
        };
        format!("{}: {why}", it.stage)
    };
    told.map(in_words).collect::<Vec<_>>().join("; ")
}

/// In what units the errors of training and validation are, in words.
fn scales(train: &train::Settings) -> String {
    let scaling = serde_json::to_value(train.scaling).unwrap_or_default();
    let weights = train.weights.iter().map(|(channel, weight)| format!(", {channel} weighs {weight}"));
    format!("scaling {}{}", scaling.as_str().unwrap_or_default(), weights.collect::<String>())
}

/// The figures of the model and of the estimates.
fn read_figures(plan: &Plan, results: &mut CellResults) {
    let mut summary = Summary::default();
    if plan.train.is_some()
        && let Ok((model, _)) = checkpoint::Manifest::read(&plan.model_in_use())
    {
        results.training_steps = model.training.steps;
        summary.mse_validation = Some(model.training.validation);
    }
    if plan.estimate.is_some()
        && let Ok((estimates, _)) = estimate::Manifest::read(&plan.estimates_directory())
    {
        results.environments = estimates.evaluation.environments;
        results.environments_failed = estimates.evaluation.environments_failed;
        summary.evaluation = estimates.evaluation;
    }
    if plan.has(Stage::Report) {
        results.errors_over_time = Summary::read(&plan.report_directory()).and_then(|it| it.errors_over_time);
    }
    results.figures = report::figures_of(&serde_json::to_value(&summary).unwrap_or_default());
}
