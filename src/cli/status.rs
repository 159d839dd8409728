//! `paramill status`.

use std::path::Path;

use serde_json::{Value, json};

use super::output::{complain, error_as_json, print, print_json, table};
use super::status_arguments::Status as Arguments;
use super::terminal::duration;
use crate::pipeline::{
    Built, Error, Locations, Options, Plan, Progress, StageShards, StageStatus, State, Status, Sweep, as_ranges,
    status as stand,
};
use crate::problems::many;
use crate::report::{CellResults, CellState, SweepResults};

pub(crate) fn status(command: &Arguments) -> Result<u8, Error> {
    if command.workspace.is_some() && command.pipelines.len() > 1 {
        let found = command.pipelines.len();
        return Err(Error::Usage(format!("--workspace with {found} pipelines; expected one: ask for each by itself")));
    }
    let all: Vec<_> = command.pipelines.iter().map(|file| (file, of(file, command))).collect();
    let exit_code = all.iter().filter_map(|(_, it)| it.as_ref().err().map(Error::exit_code)).max().unwrap_or(0);
    if command.json {
        let pipelines = all.iter().map(|(file, it)| match it {
            Ok(Standing::One(status)) => as_json(file, status, command),
            Ok(Standing::Cells(results)) => json!({ "file": file, "sweep": results }),
            Err(error) => {
                let mut value = json!({ "file": file });
                value["error"] = error_as_json(error)["error"].clone();
                value
            }
        });
        print_json(&json!({ "pipelines": pipelines.collect::<Vec<_>>(), "exit_code": exit_code }));
        return Ok(exit_code);
    }
    let mut texts = Vec::new();
    for (file, it) in &all {
        match it {
            Ok(Standing::One(status)) => texts.push(text(file, status, command)),
            Ok(Standing::Cells(results)) => texts.push(of_cells(file, results, command)),
            Err(error) => complain(&error.to_string()),
        }
    }
    print(&texts.join("\n"));
    Ok(exit_code)
}

/// How a pipeline stands, or the cells of one with `[sweep]`.
enum Standing {
    One(Box<Status>),
    Cells(Box<SweepResults>),
}

fn of(file: &Path, command: &Arguments) -> Result<Standing, Error> {
    let locations = Locations { workspace: command.workspace.clone(), ..Locations::default() };
    let options = Options::of_a_look();
    if let Some(sweep) = Sweep::load(file, &command.set, &locations).map_err(Error::Problems)? {
        return Ok(Standing::Cells(Box::new(sweep.results(&Built, &options))));
    }
    let plan = Plan::load(file, &command.set, &locations).map_err(Error::Problems)?;
    Ok(Standing::One(Box::new(stand(&plan, &options, &Built)?)))
}

/// The cells of a sweep, each with the file by which it is a pipeline of its own.
fn of_cells(file: &Path, results: &SweepResults, command: &Arguments) -> String {
    let (all, done) = (results.cells.len(), results.count(CellState::Done));
    let mut text = format!("{}: {done} of {} done\n", results.sweep, many(all as u64, "cell"));
    let mut rows = vec![["cell", "state", "what of it"].map(str::to_owned).to_vec()];
    for cell in &results.cells {
        // What all cells met is told of the first.
        let is_same = |it: &&CellResults| it.error.is_some() && it.error == cell.error;
        let first = results.cells.iter().find(is_same).filter(|first| first.name != cell.name);
        let what = first.map_or_else(|| cell.what_of_it().to_owned(), |first| format!("as {}", first.name));
        rows.push(vec![cell.name.clone(), cell.state.name().to_owned(), what]);
    }
    text.push_str(&table(&rows));
    if done < all {
        text.push_str(&format!("next: {}\n", of_run(file, command)));
    }
    text
}

fn as_json(file: &Path, status: &Status, command: &Arguments) -> Value {
    let mut value = serde_json::to_value(status).unwrap_or(Value::Null);
    value["file"] = json!(file);
    for (place, shards) in status.shards.iter().enumerate() {
        value["shards"][place]["repair"] = json!(repair(file, shards, command));
    }
    value["next"] = json!(next(file, status, command));
    value
}

fn text(file: &Path, status: &Status, command: &Arguments) -> String {
    let mut text = format!("{}: {} in {}\n", status.pipeline, size(status.bytes), status.workspace.display());
    if status.running {
        let by = status.process.map_or_else(String::new, |process| format!(", process {process}"));
        text = format!("{}: running{by}; {} in {}\n", status.pipeline, size(status.bytes), status.workspace.display());
    }
    let mut rows = vec![["stage", "state", "age", "took", "size", "what of it"].map(str::to_owned).to_vec()];
    rows.extend(status.stages.iter().map(row));
    text.push_str(&table(&rows));
    text.extend(status.shards.iter().map(|shards| of_shards(shards, &repair(file, shards, command))));
    if status.environments > 0 {
        let (all, failed) = (status.environments, status.environments_failed);
        text.push_str(&format!("environments: {all} estimated, {failed} failed\n"));
    }
    if let Some(run) = &status.last_run {
        let age = status.last_run_age_seconds.map_or_else(String::new, |age| format!(", {} ago", duration(age)));
        let is_told = |it: &StageStatus, message: &String| {
            it.reasons.contains(message) || it.stopped.as_ref().is_some_and(|stopped| stopped.message == *message)
        };
        let message = run.error.as_ref().map(|error| &error.message);
        let untold = message.filter(|message| !status.stages.iter().any(|it| is_told(it, message)));
        let untold = untold.map_or_else(String::new, |message| format!(": {message}"));
        text.push_str(&format!("last run: exit code {} after {}{age}{untold}\n", run.exit_code, duration(run.seconds)));
    }
    if let Some(next) = next(file, status, command) {
        text.push_str(&format!("next: {next}\n"));
    }
    text
}

fn row(it: &StageStatus) -> Vec<String> {
    let time = |seconds: Option<f64>| seconds.map_or_else(|| "-".to_owned(), duration);
    let mut said = Vec::new();
    if let Some(stopped) = &it.stopped {
        said.push(format!("exit code {}: {}", stopped.exit_code, stopped.message));
    } else if it.state == State::Interrupted {
        said.push("its process was killed".to_owned());
    }
    said.extend(it.progress.iter().map(|progress| format!("{} {}", progress.part, share(progress))));
    said.extend(it.kept.iter().map(|kept| format!("{} in {}", share(kept), kept.part)));
    let of_state = it.reasons.join("; ");
    if !of_state.is_empty() && of_state != "up to date" {
        said.push(of_state);
    }
    let size = if it.bytes == 0 { "-".to_owned() } else { size(it.bytes) };
    let (age, took) = (time(it.age_seconds), time(it.seconds));
    vec![it.stage.to_string(), it.state.name().to_owned(), age, took, size, said.join("; ")]
}

fn share(progress: &Progress) -> String {
    match progress.total {
        Some(total) => format!("{}/{total} {}", progress.done, progress.unit),
        None => format!("{} {}", progress.done, progress.unit),
    }
}

/// How the shards of a stage stand, and the command that makes those that nobody is at.
fn of_shards(it: &StageShards, repair: &Option<String>) -> String {
    let mut parts = vec![format!("{} of {} done", it.done.len(), it.total)];
    for (what, shards) in [("running", &it.running), ("waiting", &it.waiting), ("missing", &it.missing)] {
        if !shards.is_empty() {
            parts.push(format!("{} {what} ({})", shards.len(), as_ranges(shards)));
        }
    }
    parts.extend(
        it.failed
            .iter()
            .map(|(index, why)| format!("{index} failed with exit code {}: {}", why.exit_code, why.message)),
    );
    parts.extend(it.unknown.iter().map(|why| format!("what runs is not known: {why}")));
    format!(
        "shards of {}: {}\n{}",
        it.stage,
        parts.join("; "),
        repair.as_ref().map_or_else(String::new, |it| format!("repair: {it}\n"))
    )
}

/// The command that makes the shards that nobody is at, or puts them together; `None` while Slurm is at all of them.
fn repair(file: &Path, it: &StageShards, command: &Arguments) -> Option<String> {
    let plan = quoted(&it.plan.display().to_string());
    let (is_idle, is_done) = (!it.failed.is_empty() || !it.missing.is_empty(), it.done.len() == it.total);
    match (it.by_slurm, is_done) {
        (true, _) if is_idle || is_done => Some(format!("{} --executor slurm", of_run(file, command))),
        (false, true) => Some(format!("paramill shard merge {plan}")),
        (false, false) if is_idle => Some(format!("paramill shard run {plan} missing")),
        _ => None,
    }
}

/// The command that runs the pipeline.
fn of_run(file: &Path, command: &Arguments) -> String {
    let mut words = vec!["paramill".to_owned(), "run".to_owned(), file.display().to_string()];
    words.extend(command.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]));
    if let Some(workspace) = &command.workspace {
        words.extend(["--workspace".to_owned(), workspace.display().to_string()]);
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The command that goes on, repairs, or shows what failed; `None` if there is nothing to do, a run is at it, or a stage is blocked.
fn next(file: &Path, status: &Status, command: &Arguments) -> Option<String> {
    let any = |is: fn(State) -> bool| status.stages.iter().any(|stage| is(stage.state));
    // What a blocked stage needs is a choice of the user's, which its reasons name.
    if status.running || any(|state| state == State::Blocked) {
        None
    } else if any(State::is_to_do) {
        Some(of_run(file, command))
    } else if status.environments_failed > 0 {
        Some(format!("paramill show {}", quoted(&status.workspace.join("estimates").display().to_string())))
    } else {
        None
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Bytes in readable units, by powers of 1000.
fn size(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let unit = (0..units.len() - 1).find(|&unit| bytes < 1000_u64.pow(unit as u32 + 1)).unwrap_or(units.len() - 1);
    match unit {
        0 => format!("{bytes} B"),
        _ => format!("{:.1} {}", bytes as f64 / 1000_f64.powi(unit as i32), units[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_words_are_as_people_and_shells_read_them() {
        assert_eq!([0, 999, 1000, 12_345_678].map(size), ["0 B", "999 B", "1.0 kB", "12.3 MB"]);
        assert_eq!(["a/b-c.toml", "two words", "it's"].map(quoted), ["a/b-c.toml", "'two words'", r"'it'\''s'"]);
    }
}
