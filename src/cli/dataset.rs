//! `paramill dataset`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use super::check::check;
use super::dataset_arguments::{DatasetCommand, Diff, Export, Merge, Publish, Regenerate, SplitDataset};
use super::kinds::{A_DATASET, lead_to};
use super::output::{complain, number, print, print_json};
use super::show::show_dataset;
use super::signals;
use super::terminal::{Style, Terminal};
use super::threads::start_threads;
use crate::dataset;
use crate::dataset::{Dataset, Difference, Manifest, Missed, diff, is_selected, merge, missed, seal, select};
use crate::pipeline::{Error, sweep_directories};
use crate::problems::many;
use crate::{generate, progress};

/// Names printed of each list.
const MOST_NAMES: usize = 5;
/// Exit code if two datasets differ.
const DIFFERENT: u8 = 3;
/// Exit code if a dataset lacks what others want.
const UNFIT: u8 = 3;

pub(crate) fn dataset(command: &DatasetCommand, quiet: bool) -> Result<u8, Error> {
    match command {
        DatasetCommand::Show(command) => show_dataset(command),
        DatasetCommand::Verify(command) => check(command),
        DatasetCommand::Merge(command) => merge_all(command, quiet),
        DatasetCommand::Split(command) => split(command, quiet),
        DatasetCommand::Export(command) => export(command, quiet),
        DatasetCommand::Seal(command) => {
            lead_to([(command.dataset.as_path(), A_DATASET)])?;
            seal(&command.dataset)?;
            print(&format!("{}: README.md is recorded\n", command.dataset.display()));
            Ok(0)
        }
        DatasetCommand::Diff(command) => compare(command),
        DatasetCommand::Regenerate(command) => regenerate(command, quiet),
        DatasetCommand::Publish(command) => publish(command),
    }
}

fn merge_all(command: &Merge, quiet: bool) -> Result<u8, Error> {
    lead_to(command.datasets.iter().map(|path| (path.as_path(), A_DATASET)))?;
    refuse_existing(&command.to)?;
    let datasets = command.datasets.iter().map(|path| Dataset::open(path)).collect::<Result<Vec<_>, _>>()?;
    let merged = observed(quiet, &command.to, |run| merge(&datasets, &command.to, run))?;
    print(&summary(&merged, &command.to));
    Ok(0)
}

fn split(command: &SplitDataset, quiet: bool) -> Result<u8, Error> {
    lead_to([(command.dataset.as_path(), A_DATASET)])?;
    let dataset = Dataset::open(&command.dataset)?;
    let ids: BTreeSet<String> = command.environments.iter().cloned().collect();
    let sides = [(Some(&command.to), true), (command.rest.as_ref(), false)];
    let sides: Vec<_> = sides.into_iter().filter_map(|(path, inside)| Some((path?, inside))).collect();
    // A split that was stopped between its two outputs continues.
    let made: Vec<bool> = sides.iter().map(|(path, inside)| is_selected(&dataset, &ids, *inside, path)).collect();
    let goes_on = made.contains(&false);
    let (done, sides): (Vec<_>, Vec<_>) = sides.into_iter().zip(made).partition(|(_, made)| goes_on && *made);
    sides.iter().try_for_each(|((path, _), _)| refuse_existing(path))?;
    if command.rest.as_ref() == Some(&command.to) {
        return Err(Error::Usage(format!("--rest {}: is the place of --to; name another", command.to.display())));
    }
    if let Some(rest) = &command.rest {
        let splits = dataset.manifest().splits.keys();
        let indices = splits.map(|split| dataset.index(*split)).collect::<Result<Vec<_>, _>>()?;
        if indices.iter().flatten().all(|entry| ids.contains(&entry.environment)) {
            let rest = rest.display();
            return Err(Error::Usage(format!("--rest {rest}: no environment is left for it; leave --rest out")));
        }
    }
    for ((path, _), _) in done {
        print(&format!("{}: is there already, made the same way\n", path.display()));
    }
    for ((path, inside), _) in sides {
        let selected = observed(quiet, path, |run| select(&dataset, &ids, inside, path, run))?;
        print(&summary(&selected, path));
    }
    Ok(0)
}

fn export(command: &Export, quiet: bool) -> Result<u8, Error> {
    lead_to([(command.dataset.as_path(), A_DATASET)])?;
    refuse_existing(&command.to)?;
    let dataset = Dataset::open(&command.dataset)?;
    observed(quiet, &command.to, |run| dataset::export(&dataset, command.format, &command.to, run))?;
    let files: Vec<String> = dataset.manifest().splits.keys().map(|split| command.format.file_name(*split)).collect();
    print(&format!("{}: {}\n", command.to.display(), files.join(", ")));
    Ok(0)
}

/// Runs `work`, which makes `directory`, with progress on the terminal; signals ask it to stop.
fn observed<T>(quiet: bool, directory: &Path, work: impl FnOnce(&progress::Run) -> T) -> T {
    signals::listen();
    let terminal = Terminal::new(Style::detect(quiet));
    let run = progress::Run { observer: &terminal, interrupt: &signals::INTERRUPT };
    let folder = directory.parent().filter(|folder| !folder.as_os_str().is_empty());
    sweep_directories(folder.unwrap_or(Path::new(".")), &run);
    let done = work(&run);
    terminal.close();
    done
}

/// One line on what a new dataset contains.
fn summary(manifest: &Manifest, path: &Path) -> String {
    let splits = manifest
        .splits
        .iter()
        .map(|(split, summary)| format!("{split} {}", many(summary.trajectories as u64, "trajectory")));
    format!("{}: {}\n", path.display(), splits.collect::<Vec<_>>().join(", "))
}

fn compare(command: &Diff) -> Result<u8, Error> {
    lead_to([&command.a, &command.b].map(|path| (path.as_path(), A_DATASET)))?;
    let (a, b) = (Dataset::open(&command.a)?, Dataset::open(&command.b)?);
    let difference = diff(&a, &b)?;
    let same = if command.provenance { difference.is_empty() } else { difference.is_of_provenance() };
    if command.json {
        print_json(&json!({ "same": same, "difference": difference }));
    } else {
        print(&lines(&difference, &a));
    }
    Ok(if same { 0 } else { DIFFERENT })
}

fn lines(difference: &Difference, a: &Dataset) -> String {
    if difference.is_empty() {
        return "the same: what they hold, and what they say of themselves\n".to_owned();
    }
    let mut text = String::new();
    if difference.is_of_provenance() {
        text.push_str("the same trajectories, of another origin:\n");
    }
    for (key, a, b) in difference.provenance.iter().chain(&difference.manifest) {
        text.push_str(&format!("{key}: {a} -> {b}\n"));
    }
    for (split, difference) in &difference.splits {
        let lists = [
            ("only in the first", &difference.only_in_a),
            ("only in the second", &difference.only_in_b),
            ("with other parameters", &difference.parameters),
            ("with other times", &difference.times),
            ("with other inputs", &difference.inputs),
            ("with other states", &difference.states),
        ];
        for (what, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
            let shown = names.iter().take(MOST_NAMES).cloned().collect::<Vec<_>>().join(", ");
            let more = if names.len() > MOST_NAMES { ", .." } else { "" };
            text.push_str(&format!("{split}: {} {what}: {shown}{more}\n", many(names.len() as u64, "trajectory")));
        }
        if difference.missing > 0 {
            text.push_str(&format!("{split}: {} cells are missing in one of both only\n", difference.missing));
        }
        for (channel, greatest) in a.manifest().channels.iter().zip(&difference.greatest) {
            let unit = if channel.unit == "1" { String::new() } else { format!(" {}", channel.unit) };
            text.push_str(&format!("{split}: `{}` differs by at most {}{unit}\n", channel.name, number(*greatest)));
        }
    }
    text
}

fn regenerate(command: &Regenerate, quiet: bool) -> Result<u8, Error> {
    lead_to([(command.dataset.as_path(), A_DATASET)])?;
    let original = Dataset::open(&command.dataset)?;
    refuse_existing(&command.to)?;
    start_threads(command.threads)?;
    observed(quiet, &command.to, |run| generate::regenerate(original.manifest(), &command.to, run))?;
    let again = Dataset::open(&command.to)?;
    let same = again.content_hash() == original.content_hash();
    if command.json {
        print_json(&json!({ "dataset": command.to, "same": same }));
    } else if same {
        print(&format!("{}: byte for byte the same as {}\n", command.to.display(), command.dataset.display()));
    } else {
        let (tool, now) = (&original.manifest().provenance.tool, &again.manifest().provenance.tool);
        complain(&format!(
            "{}: not the same as {} (made by {tool}, now {now}); `paramill dataset diff` says what differs",
            command.to.display(),
            command.dataset.display()
        ));
    }
    Ok(if same { 0 } else { DIFFERENT })
}

fn publish(command: &Publish) -> Result<u8, Error> {
    lead_to([(command.dataset.as_path(), A_DATASET)])?;
    let Missed { damage, problems } = missed(&command.dataset)?;
    let path = command.dataset.display();
    if command.json {
        print_json(&json!({ "dataset": command.dataset, "damage": damage, "problems": problems }));
    } else if damage.is_empty() && problems.is_empty() {
        print(&format!("{path}: nothing is missing\n"));
    } else {
        damage.iter().for_each(|problem| complain(problem));
        problems.iter().for_each(|problem| complain(&problem.to_string()));
        complain(&format!("error: {path}: {}", many((damage.len() + problems.len()) as u64, "problem")));
    }
    Ok(if damage.is_empty() && problems.is_empty() { 0 } else { UNFIT })
}

fn refuse_existing(path: &Path) -> Result<(), Error> {
    match path.symlink_metadata() {
        Ok(_) => Err(Error::Usage(format!("{}: is there already; name a new place with --to", path.display()))),
        Err(_) => Ok(()),
    }
}
