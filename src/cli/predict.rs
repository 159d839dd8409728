//! `paramill predict`.

use std::fmt::Write;
use std::path::Path;

use serde_json::json;

use super::arguments::Predict;
use super::output::{complain, of_options, print};
use crate::atomic;
use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::engine::{Compute, DeviceChoice, EngineChoice};
use crate::estimate::{Method, Settings};
use crate::forecast::{Forecast, InputTable, KnownContext, KnownInputs, Start, TooShort, TrainingSampling};
use crate::pipeline::{Built, Error, Locations, Plan, Source, Stage, changes_since};
use crate::problems::{Kind, Problem};
use crate::schema::Quantity;
use crate::{estimate, forecast, import};

/// A single rollout gains nothing on a GPU.
const COMPUTE: Compute = Compute { device: DeviceChoice::Cpu, engine: EngineChoice::Auto };
/// Most samples of a forecast.
const MOST_SAMPLES: f64 = 1e7;
/// Ratios of the step to that of the training at which no warning is due.
const USUAL: std::ops::RangeInclusive<f64> = 0.99..=1.01;

/// `paramill predict`: forecasts an environment, or a system of given parameters, as CSV or JSON.
pub(crate) fn predict(command: &Predict, quiet: bool) -> Result<u8, Error> {
    let locations = Locations { workspace: command.workspace.clone(), ..Locations::default() };
    let plan = Plan::load(&command.pipeline, &command.set, &locations).map_err(Error::Problems)?;
    check_plan(&plan, command)?;
    if let Some(path) = &command.to {
        check_new(path)?;
    }
    let model = StoredModel::read(&plan.model_in_use())?;
    let dataset = Dataset::open(&plan.dataset_directory)?;
    let channels = &model.manifest.channels;
    if model.manifest.grid.is_some() {
        return Err(Error::Usage(
            "predict: found a model of fields on a grid, whose initial state cannot be given as options".to_owned(),
        ));
    }
    let given = command.initial.as_deref().map(|text| values("--initial", text, channels)).transpose()?;
    let settings = plan.estimate.clone().unwrap_or_default();
    let (known, beginning) = begin(command, &settings, &dataset, &model, given)?;
    let (start, state) = (beginning.time(), beginning.state());
    let slack = settings.extrapolation;
    if let Some(reason) = estimate::extrapolates(&model, &known.context, slack) {
        warn_extrapolation(&reason);
    }
    if let Some(reason) = estimate::states_extrapolate(&model.manifest, &[start], state, slack) {
        warn_extrapolation(&reason);
    }
    let times = times(command, start, TrainingSampling::read(&dataset)?)?;
    let (times, inputs) = known_inputs(command, &plan, &model, times)?;
    if let Some(reason) = estimate::inputs_extrapolate(&model.manifest, &times, &inputs, slack) {
        warn_extrapolation(&reason);
    }
    let forecast = forecast::forecast(COMPUTE, &model, &known, state, &times, &inputs)?;
    if let Some(of) = beginning.in_words().filter(|_| !quiet) {
        complain(&format!("the forecast starts at time {start} from {of}"));
    }
    let text = match command.json {
        true => format!("{:#}\n", as_json(&beginning, &forecast, channels)),
        false => as_csv(&forecast, channels),
    };
    match &command.to {
        Some(path) => {
            atomic::write_file(path, text.as_bytes()).map_err(|source| Error::Io { path: path.clone(), source })?;
            print(&format!("{}: {} samples\n", path.display(), forecast.times.len()));
        }
        None => print(&text),
    }
    Ok(0)
}

/// Refuses a plan without a learned model, and a model that was not made by the settings that the pipeline now has.
fn check_plan(plan: &Plan, command: &Predict) -> Result<(), Error> {
    if plan.estimate.as_ref().is_some_and(|settings| settings.method == Method::Physics) {
        let found = "the pipeline estimates by known equations and has no model";
        return Err(Error::Usage(format!(
            "predict: {found}; expected one that trains (estimate.method = \"learned\")"
        )));
    }
    if !plan.model_in_use().is_dir() {
        let (model, pipeline) = (plan.model_in_use(), command.pipeline.display());
        return Err(Error::Usage(format!(
            "predict: {}: found no model; run `paramill run {pipeline}` first",
            model.display()
        )));
    }
    let by_map = command.parameters.is_some();
    let used = |stage: &Stage| *stage < Stage::Map || *stage == Stage::Map && by_map;
    for stage in plan.stages().into_iter().filter(used) {
        let changes = changes_since(plan, stage, &Built);
        if !changes.is_empty() {
            let made = match stage {
                Stage::Train => "the model",
                Stage::Map => "the context-to-parameter map",
                _ => "the dataset",
            };
            let set: String = command.set.iter().map(|set| format!(" --set '{set}'")).collect();
            return Err(Error::Usage(format!(
                "predict: {made} was made by other settings ({}); run `paramill run {}{set}` first, or set the settings back",
                changes.join("; "),
                command.pipeline.display()
            )));
        }
    }
    Ok(())
}

/// Refuses a path at which something is, or in a directory that is not there: a forecast replaces nothing.
fn check_new(path: &Path) -> Result<(), Error> {
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

/// The times of the forecast, from `start` in equal steps; warns of steps that the model was not trained on.
fn times(command: &Predict, start: f64, training: TrainingSampling) -> Result<Vec<f64>, Error> {
    let every = command.every.unwrap_or(training.step);
    if !USUAL.contains(&(every / training.step)) {
        complain(&format!(
            "warning: the model was trained on steps of {}; with steps of {every} it makes other forecasts",
            training.step
        ));
    }
    let until = command.until.unwrap_or(start + training.length);
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
    Ok((0..=steps as u64).map(|step| start + step as f64 * every).collect())
}

/// The times of the forecast with those at which an input bends, and the inputs `[T, U]` at them.
fn known_inputs(
    command: &Predict,
    plan: &Plan,
    model: &StoredModel,
    times: Vec<f64>,
) -> Result<(Vec<f64>, Vec<f64>), Error> {
    let inputs = &model.manifest.inputs;
    let names = inputs.iter().map(|it| it.quantity.name.as_str()).collect::<Vec<_>>().join(",");
    match (&command.inputs, inputs.is_empty()) {
        (None, true) => Ok((times, Vec::new())),
        (Some(path), false) => {
            let archive = match &plan.source {
                Source::Import(settings) => Some(settings.as_ref()),
                Source::Generate(_) => None,
            };
            let (time_unit, origin) = (model.manifest.time_unit.as_str(), command.origin.as_deref());
            let table = InputTable { inputs, time_unit, archive, origin };
            let (known, warnings) = KnownInputs::read(path, &table).map_err(refused_table)?;
            of_options(warnings).iter().for_each(|warning| complain(&format!("warning: {warning}")));
            let times = known.with_bends(times);
            let inputs = known.at(&times).map_err(|too_short| Error::Usage(in_words(&too_short)))?;
            Ok((times, inputs))
        }
        (None, false) => Err(Error::Usage(format!(
            "predict: found no values of the model's inputs {names} over the time of the forecast; give --inputs FILE with the columns \
             time,{names}"
        ))),
        (Some(_), true) => Err(Error::Usage("--inputs: the model has no inputs; leave it out".to_owned())),
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
fn in_words(TooShort { name, known: (first, last), wanted: (begin, end) }: &TooShort) -> String {
    format!(
        "--inputs: found values of {name} from time {first} to {last} and a forecast from {begin} to {end}; expected values over all of \
         it: add rows, shorten the forecast with --until, or give the time at which the trajectory's is 0 as --origin"
    )
}

/// Where a forecast starts.
enum Beginning {
    /// At the state that the arguments give.
    Given { time: f64, state: Vec<f64> },
    /// At the end of a trajectory.
    EndOf(Start),
}

impl Beginning {
    fn time(&self) -> f64 {
        match self {
            Beginning::Given { time, .. } | Beginning::EndOf(Start { time, .. }) => *time,
        }
    }

    fn state(&self) -> &[f64] {
        match self {
            Beginning::Given { state, .. } | Beginning::EndOf(Start { state, .. }) => state,
        }
    }

    /// The end of a trajectory in words; the arguments say the rest.
    fn in_words(&self) -> Option<String> {
        let Beginning::EndOf(Start { trajectory, is_fitted, .. }) = self else { return None };
        Some(match is_fitted {
            true => format!("the last state that was fitted to trajectory {trajectory}"),
            false => format!("the last complete sample of trajectory {trajectory}, as it was measured"),
        })
    }

    fn as_json(&self) -> serde_json::Value {
        let (kind, trajectory) = match self {
            Beginning::Given { .. } => ("given", None),
            Beginning::EndOf(start) if start.is_fitted => ("fitted", Some(&start.trajectory)),
            Beginning::EndOf(start) => ("observed", Some(&start.trajectory)),
        };
        json!({ "time": self.time(), "kind": kind, "trajectory": trajectory })
    }
}

/// The context to forecast with, and the start.
fn begin(
    command: &Predict,
    settings: &Settings,
    dataset: &Dataset,
    model: &StoredModel,
    given: Option<Vec<f64>>,
) -> Result<(KnownContext, Beginning), Error> {
    let given = given.map(|state| Beginning::Given { time: command.from.unwrap_or(0.0), state });
    if let Some(text) = &command.parameters {
        if model.manifest.parameters.is_empty() {
            let found = "a model without parameters, as its dataset has none";
            return Err(Error::Usage(format!("--parameters: found {found}; give --environment instead")));
        }
        let parameters = values("--parameters", text, &model.manifest.parameters)?;
        forecast::parameters_extrapolate(model, &parameters).iter().for_each(|reason| warn_extrapolation(reason));
        let known = forecast::context_of_parameters(model, &parameters)?;
        let given = given
            .ok_or_else(|| Error::Usage("--parameters: also needs --initial, the state to start from".to_owned()))?;
        return Ok((known, given));
    }
    if command.from.is_some() && given.is_none() {
        return Err(Error::Usage("--from: also needs --initial, the state at that time".to_owned()));
    }
    let environment = command.environment.as_deref().unwrap_or_default();
    let trajectory = command.trajectory.as_deref();
    let (known, end) = forecast::context_of_environment(settings, COMPUTE, dataset, model, environment, trajectory)?;
    match given.or(end.map(Beginning::EndOf)) {
        Some(beginning) => Ok((known, beginning)),
        None => Err(Error::Usage(format!(
            "--environment {environment}: found no sample with a value of every channel to start from; give --initial and --from, or \
             another --trajectory"
        ))),
    }
}

fn warn_extrapolation(reason: &str) {
    complain(&format!("warning: the model extrapolates, which the bands do not take into account: {reason}"));
}

/// `NAME=VALUE,NAME=VALUE` in the order of `quantities`, each of them once.
fn values(option: &str, text: &str, quantities: &[Quantity]) -> Result<Vec<f64>, Error> {
    let names: Vec<&str> = quantities.iter().map(|quantity| quantity.name.as_str()).collect();
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

fn as_csv(forecast: &Forecast, channels: &[Quantity]) -> String {
    let mut text = "time".to_owned();
    for Quantity { name, .. } in channels {
        let _ = write!(text, ",{name},{name}_lower,{name}_upper");
    }
    text.push('\n');
    let rows = forecast.states.chunks_exact(channels.len()).zip(forecast.half_widths.chunks_exact(channels.len()));
    for (time, (state, half_widths)) in forecast.times.iter().zip(rows) {
        let _ = write!(text, "{time}");
        for (value, half_width) in state.iter().zip(half_widths) {
            let _ = write!(text, ",{value},{},{}", value - half_width, value + half_width);
        }
        text.push('\n');
    }
    text
}

fn as_json(beginning: &Beginning, forecast: &Forecast, channels: &[Quantity]) -> serde_json::Value {
    let of = |c: usize, sign: f64| -> Vec<f64> {
        let values = forecast.states.iter().zip(&forecast.half_widths).skip(c).step_by(channels.len());
        values.map(|(value, half_width)| if sign == 0.0 { *value } else { value + sign * half_width }).collect()
    };
    let channels: serde_json::Map<String, serde_json::Value> = channels
        .iter()
        .enumerate()
        .map(|(c, channel)| {
            let of_channel =
                json!({ "unit": channel.unit, "value": of(c, 0.0), "lower": of(c, -1.0), "upper": of(c, 1.0) });
            (channel.name.clone(), of_channel)
        })
        .collect();
    json!({ "start": beginning.as_json(), "time": forecast.times, "channels": channels })
}
