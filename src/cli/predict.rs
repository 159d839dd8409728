//! `paramill predict`.

use serde_json::json;

use super::arguments::Predict;
use super::output::complain;
use super::predict_by_equations::by_equations;
use super::predict_common::{check_new, check_stages, in_words, read_inputs, steps, values, write};
use super::predict_table::{Column, csv, warning};
use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::engine::{Compute, DeviceChoice, EngineChoice};
use crate::estimate::{Method, Settings};
use crate::forecast::{Forecast, KnownContext, Start, TrainingSampling};
use crate::pipeline::{Error, Locations, Plan, Stage};
use crate::schema::Quantity;
use crate::{estimate, forecast};

/// A single rollout gains nothing on a GPU.
const COMPUTE: Compute = Compute { device: DeviceChoice::Cpu, engine: EngineChoice::Auto };
/// Ratios of the step to that of the training at which no warning is due.
const USUAL: std::ops::RangeInclusive<f64> = 0.99..=1.01;

/// `paramill predict`: forecasts an environment, or a system of given parameters, as CSV or JSON.
pub(crate) fn predict(command: &Predict, quiet: bool) -> Result<u8, Error> {
    let locations = Locations { workspace: command.workspace.clone(), ..Locations::default() };
    let plan = Plan::load(&command.pipeline, &command.set, &locations).map_err(Error::Problems)?;
    if let Some(path) = &command.to {
        check_new(path)?;
    }
    if plan.estimate.as_ref().is_some_and(|settings| settings.method == Method::Physics) {
        return by_equations(command, &plan, quiet);
    }
    check_plan(&plan, command)?;
    if command.start.is_some() {
        return Err(Error::Usage(
            "--start: found a trained model, which starts as estimate.initial_state says; leave it out".to_owned(),
        ));
    }
    if command.system.is_some() {
        return Err(Error::Usage("--system: found a trained model, which knows no systems; leave it out".to_owned()));
    }
    let model = StoredModel::read(&plan.model_in_use())?;
    let dataset = Dataset::open(&plan.dataset_directory)?;
    let channels = &model.manifest.channels;
    if model.manifest.grid.is_some() {
        return Err(Error::Usage(
            "predict: found a model of fields on a grid, whose initial state cannot be given as options".to_owned(),
        ));
    }
    let given = command.initial.as_deref().map(|text| values("--initial", text, &names(channels))).transpose()?;
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
    if let Some(reason) = &forecast.unknown {
        complain(&warning(reason));
    }
    let text = match command.json {
        true => format!("{:#}\n", as_json(&beginning, &forecast, channels)),
        false => as_csv(&forecast, channels)?,
    };
    write(command, &text, forecast.times.len())?;
    Ok(0)
}

/// Refuses a plan without a learned model, and a model that was not made by the settings that the pipeline now has.
fn check_plan(plan: &Plan, command: &Predict) -> Result<(), Error> {
    if !plan.model_in_use().is_dir() {
        let (model, pipeline) = (plan.model_in_use(), command.pipeline.display());
        return Err(Error::Usage(format!(
            "predict: {}: found no model; run `paramill run {pipeline}` first",
            model.display()
        )));
    }
    let by_map = command.parameters.is_some();
    check_stages(plan, command, &|stage| stage < Stage::Map || stage == Stage::Map && by_map)
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
    steps(command, start, every, start + training.length)
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
            let known =
                read_inputs(command, plan, path, (inputs, &vec![false; inputs.len()], &model.manifest.time_unit))?;
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
        let parameters = values("--parameters", text, &names(&model.manifest.parameters))?;
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

fn names(quantities: &[Quantity]) -> Vec<&str> {
    quantities.iter().map(|quantity| quantity.name.as_str()).collect()
}

fn as_csv(forecast: &Forecast, channels: &[Quantity]) -> Result<String, Error> {
    let column = |(c, name)| {
        let of = |all: &[f64]| -> Vec<f64> { all.iter().skip(c).step_by(channels.len()).copied().collect() };
        let (values, halves) = (of(&forecast.states), of(&forecast.half_widths));
        let band = values.iter().zip(halves).map(|(value, half)| (value - half, value + half)).collect();
        Column { name, values, bands: vec![("", band)] }
    };
    let columns: Vec<Column> = names(channels).into_iter().enumerate().map(column).collect();
    csv(&forecast.times, &columns, forecast.unknown.as_deref())
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
    let unknown = &forecast.unknown;
    json!({ "start": beginning.as_json(), "band": { "unknown": unknown }, "time": forecast.times, "channels": channels })
}
