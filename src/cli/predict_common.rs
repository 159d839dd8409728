//! What forecasts by a trained model and by equations have in common: their arguments, the table of inputs, and where the result goes.

use std::path::Path;

use super::arguments::Predict;
use super::output::{complain, of_options, print};
use crate::atomic;
use crate::forecast::{InputTable, KnownInputs, TooShort};
use crate::import;
use crate::pipeline::{Built, Error, Plan, Source, Stage, changes_since};
use crate::problems::{Kind, Problem};
use crate::schema::Input;

/// Most samples of a forecast.
const MOST_SAMPLES: f64 = 1e7;

/// Refuses products of the stages that are `used` where they were not made by the settings that the pipeline now has.
pub(super) fn check_stages(plan: &Plan, command: &Predict, used: &dyn Fn(Stage) -> bool) -> Result<(), Error> {
    for stage in plan.stages().into_iter().filter(|stage| used(*stage)) {
        let changes = changes_since(plan, stage, &Built);
        if !changes.is_empty() {
            let made = match stage {
                Stage::Train => "the model was",
                Stage::Map => "the context-to-parameter map was",
                Stage::Estimate => "the estimates were",
                _ => "the dataset was",
            };
            let set: String = command.set.iter().map(|set| format!(" --set '{set}'")).collect();
            return Err(Error::Usage(format!(
                "predict: {made} made by other settings ({}); run `paramill run {}{set}` first, or set the settings back",
                changes.join("; "),
                command.pipeline.display()
            )));
        }
    }
    Ok(())
}

/// Reads the table of `inputs [U]` at `path`, of which some are `sums [U]` of what is given, and whose times count in `time_unit`; warns of what is to be known of it.
pub(super) fn read_inputs(
    command: &Predict,
    plan: &Plan,
    path: &Path,
    (inputs, sums, time_unit): (&[Input], &[bool], &str),
) -> Result<KnownInputs, Error> {
    let archive = match &plan.source {
        Source::Import(settings) => Some(settings.as_ref()),
        Source::Generate(_) => None,
    };
    let table = InputTable { inputs, sums, time_unit, archive, origin: command.origin.as_deref() };
    let (known, warnings) = KnownInputs::read(path, &table).map_err(refused_table)?;
    of_options(warnings).iter().for_each(|warning| complain(&format!("warning: {warning}")));
    Ok(known)
}

/// Times from `start` in steps of `every` up to `--until`, which is the last of them, or else up to `end`.
pub(super) fn steps(command: &Predict, start: f64, every: f64, end: f64) -> Result<Vec<f64>, Error> {
    let until = command.until.unwrap_or(end);
    let steps = ((until - start) / every + 1e-9).floor();
    if !(1.0..=MOST_SAMPLES).contains(&steps) {
        let remedy = match steps < 1.0 {
            true => "give a later time, or begin elsewhere with --initial and --from",
            false => "give an earlier time, or longer steps with --every",
        };
        return Err(Error::Usage(format!(
            "--until {until}: found {steps} steps of {every} from the start at {start}, expected from 1 to {MOST_SAMPLES}; {remedy}"
        )));
    }
    let mut times: Vec<f64> = (0..=steps as u64).map(|step| start + step as f64 * every).collect();
    // What is asked for is not left out where the last step is a shorter one.
    let rest = until - times.last().copied().unwrap_or(start);
    times.extend((command.until.is_some() && rest > 1e-9 * every).then_some(until));
    Ok(times)
}

/// Writes the forecast of so many samples to where the arguments say.
pub(super) fn write(command: &Predict, text: &str, samples: usize) -> Result<(), Error> {
    match &command.to {
        Some(path) => {
            atomic::write_file(path, text.as_bytes()).map_err(|source| Error::Io { path: path.clone(), source })?;
            print(&format!("{}: {samples} samples\n", path.display()));
        }
        None => print(text),
    }
    Ok(())
}

/// Refuses a path at which something is, or in a directory that is not there: a forecast replaces nothing.
pub(super) fn check_new(path: &Path) -> Result<(), Error> {
    if path.symlink_metadata().is_ok() {
        return Err(Error::Usage(format!("--to {}: is there already; name a new file", path.display())));
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match directory.is_dir() {
        true => Ok(()),
        false => {
            let (path, directory) = (path.display(), directory.display());
            Err(Error::Usage(format!("--to {path}: found no directory {directory}; make it, or name another place")))
        }
    }
}

/// A table of inputs that cannot be used: a mistake in the arguments, or in the table.
fn refused_table(problems: Vec<Problem>) -> Error {
    let is_argument = |problem: &Problem| problem.kind == Kind::UnreadableFile || problem.place.path().is_none();
    let refuse = match problems.iter().all(is_argument) {
        true => import::Error::Settings,
        false => import::Error::Data,
    };
    refuse(of_options(problems)).into()
}

/// That an input is not known over all of the forecast, and what to do.
pub(super) fn in_words(TooShort { name, known: (first, last), wanted: (begin, end) }: &TooShort) -> String {
    format!(
        "--inputs: found values of {name} from time {first} to {last} and a forecast from {begin} to {end}; expected values over all of \
         it: add rows, shorten the forecast with --until, or give the time at which the trajectory's is 0 as --origin"
    )
}

/// `NAME=VALUE,NAME=VALUE` in the order of `names`, each of them once.
pub(super) fn values(option: &str, text: &str, names: &[&str]) -> Result<Vec<f64>, Error> {
    let wrong = |found: String| {
        let expected = names.iter().map(|name| format!("{name}=NUMBER")).collect::<Vec<_>>().join(",");
        Error::Usage(format!("{option}: found {found}; expected {expected}"))
    };
    let mut values = vec![None; names.len()];
    for pair in text.split(',') {
        let (name, value) = pair.split_once('=').ok_or_else(|| wrong(format!("`{pair}`")))?;
        let position = names.iter().position(|it| *it == name.trim());
        let position = position.ok_or_else(|| wrong(format!("the name `{}`", name.trim())))?;
        let value = value.trim().parse::<f64>().ok().filter(|value| value.is_finite());
        let value = value.ok_or_else(|| wrong(format!("`{pair}`, which is not a finite number")))?;
        if values[position].replace(value).is_some() {
            return Err(wrong(format!("`{}` twice", names[position])));
        }
    }
    let missing = names.iter().zip(&values).find(|(_, value)| value.is_none());
    match missing {
        Some((name, _)) => Err(wrong(format!("no value of `{name}`"))),
        None => Ok(values.into_iter().flatten().collect()),
    }
}
