//! `paramill estimate`.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use super::estimate_arguments::Estimate;
use super::kinds::{Wanted, lead_to};
use super::log;
use super::output::{print, print_json, table};
use super::signals;
use super::slurm::WOULD_RUN;
use super::terminal::{Style, Terminal};
use super::threads::start_threads;
use crate::archive::{Again, Request, Update, update};
use crate::checkpoint::{Opened, StoredModel};
use crate::estimate::Method;
use crate::pipeline::{Error, Mapping};
use crate::progress;

/// Most names that a line shows.
const NAMED: usize = 8;

pub(crate) fn estimate(command: &Estimate, quiet: bool) -> Result<u8, Error> {
    log::begin(&command.log)?;
    let mapping = Mapping::load(&command.data, &command.set).map_err(Error::Problems)?;
    let model = match (&command.model, mapping.estimate.method) {
        (Some(path), Method::Learned) => {
            lead_to([(path.as_path(), (Wanted::Either, "the directory or the bundle of a model"))])?;
            Some(StoredModel::read(Opened::new(path)?.directory())?)
        }
        (None, Method::Physics) => None,
        (None, Method::Learned) => {
            let remedy =
                "give the directory or the bundle of a model, or equations by `method = \"physics\"` in [estimate]";
            return Err(Error::Usage(format!("--model: expected with `method = \"learned\"`; {remedy}")));
        }
        (Some(_), Method::Physics) => {
            let found = "--model: found with `method = \"physics\"`, which estimates by equations";
            return Err(Error::Usage(format!("{found}; leave one of the two out")));
        }
    };
    start_threads(command.threads)?;
    let again = Again(command.again.clone());
    let request = Request {
        import: &mapping.import,
        estimate: &mapping.estimate,
        model: model.as_ref(),
        table: &command.table,
        again: &again,
        settle: Duration::from_secs_f64(command.settle),
        is_dry: command.dry_run,
    };
    signals::listen();
    let terminal = Terminal::new(Style::detect(quiet));
    let run = progress::Run { observer: &terminal, interrupt: &signals::INTERRUPT };
    let done = update(&request, command.compute.compute(), &run);
    terminal.close();
    let done = done?;
    let exit_code = exit_code(&done, command.dry_run);
    if command.json {
        print_json(&json!({
            "table": command.table,
            "model": model.as_ref().map(|model| &model.manifest.name),
            "update": done,
            "warnings": terminal.warnings(),
            "exit_code": exit_code,
        }));
    } else {
        print(&in_words(&done, command));
    }
    Ok(exit_code)
}

fn exit_code(done: &Update, is_dry: bool) -> u8 {
    match done.environments_failed {
        _ if is_dry && done.due() > 0 => WOULD_RUN,
        0 if done.unreadable_files.is_empty() => 0,
        failed if failed > 0 && failed == done.environments => 5,
        _ => 4,
    }
}

fn in_words(done: &Update, command: &Estimate) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut add = |what: &str, count: usize, names: String| {
        if count > 0 {
            rows.push(vec![what.to_owned(), count.to_string(), names]);
        }
    };
    for (what, names) in [("new", &done.new), ("changed", &done.changed), ("again", &done.again)] {
        add(what, names.len(), listed(names.iter()));
    }
    add("kept", done.kept, String::new());
    let hint = "rows of another model or other settings: `--again other-model` estimates them anew".to_owned();
    add("by others", done.by_others, hint);
    let of_files: [(&str, &BTreeSet<String>); 4] = [
        ("new files", &done.new_files),
        ("changed files", &done.changed_files),
        ("vanished files", &done.vanished_files),
        ("files that wait", &done.waiting_files),
    ];
    for (what, names) in of_files {
        add(what, names.len(), listed(names.iter()));
    }
    add("unreadable files", done.unreadable_files.len(), listed(done.unreadable_files.keys()));
    for (status, count) in &done.statuses {
        add(&format!("status {}", status.name()), *count, String::new());
    }
    let end = match (command.dry_run, done.due()) {
        (true, due) => format!("{due} would be estimated\n"),
        (false, 0) => "nothing is due\n".to_owned(),
        (false, _) => format!("table: {} ({} rows)\n", command.table.display(), done.rows),
    };
    table(&rows) + &end
}

/// The first names, and how many more there are.
fn listed<'n>(names: impl ExactSizeIterator<Item = &'n String>) -> String {
    let count = names.len();
    let mut shown: Vec<&str> = names.take(NAMED).map(String::as_str).collect();
    let more = format!("and {} more", count.saturating_sub(NAMED));
    if count > NAMED {
        shown.push(&more);
    }
    shown.join(", ")
}
