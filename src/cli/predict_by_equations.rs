//! `paramill predict` of a pipeline that estimates by known equations.

use serde_json::{Map, Value, json};

use super::arguments::{Predict, StartChoice};
use super::output::complain;
use super::predict_common::{check_stages, in_words, read_inputs, steps, values, write};
use super::predict_table::{Column, csv, warning};
use crate::dataset::Dataset;
use crate::estimate;
use crate::estimate::physics::{Forecaster, From, Kind, Predicted, Prediction, Wanted};
use crate::estimate::{Row, Settings};
use crate::forecast::{KnownInputs, ROUNDING};
use crate::pipeline::{Error, Plan, Stage};
use crate::progress::Run;
use crate::schema::{Input, Split, Trajectory};

/// Forecasts an environment by its fit, or a system with given parameters.
pub(super) fn by_equations(command: &Predict, plan: &Plan, quiet: bool) -> Result<u8, Error> {
    check_stages(plan, command, &|stage| stage <= Stage::Estimate)?;
    let dataset = Dataset::open(&plan.dataset_directory)?;
    if dataset.manifest().grid.is_some() {
        return Err(Error::Usage(
            "predict: found equations of fields on a grid, whose initial state cannot be given as options".to_owned(),
        ));
    }
    let settings = plan.estimate.clone().unwrap_or_default();
    let run = Run::silent();
    // Of several systems the one that the environment's row is by.
    let (settings, row) = match command.environment.as_deref() {
        Some(environment) => {
            if command.system.is_some() {
                let expected = "the one that its row is by; leave it out, or give --parameters instead";
                return Err(Error::Usage(format!("--system: found it beside --environment; expected {expected}")));
            }
            let (split, row) = row_of(plan, environment, &settings)?;
            let (settings, row) = estimate::physics::of_row(&settings, &dataset, &row, &run)?;
            (settings, Some((split, row)))
        }
        None => (of_system(command, settings, &dataset, &run)?, None),
    };
    let forecaster = Forecaster::new(&settings, &dataset, &run)?;
    let given = command.initial.as_deref().map(|text| pairs("--initial", text)).transpose()?;
    let about = Equations { command, plan, dataset: &dataset, forecaster: &forecaster };
    // Of given parameters everything is known.
    let has_bands = row.is_some();
    let (prediction, start) = match row {
        Some((split, row)) => about.forecast(split, &row, given.as_deref())?,
        None => about.simulated(command.parameters.as_deref().unwrap_or_default(), given.as_deref())?,
    };
    if let Some(of) = start.trajectory.as_ref().filter(|_| !quiet) {
        complain(&format!("the forecast starts at time {} from {} {of}", start.time, start.words));
    }
    if let Some(reason) = &prediction.unknown {
        complain(&warning(reason));
    }
    let text = match command.json {
        true => format!("{:#}\n", as_json(&start, &prediction, has_bands)),
        false => as_csv(&prediction, has_bands)?,
    };
    write(command, &text, prediction.times.len())?;
    Ok(0)
}

/// Where a forecast starts.
struct Start {
    time: f64,
    /// Its name in JSON, and in words.
    kind: &'static str,
    words: &'static str,
    /// Id of the trajectory; none of a given state.
    trajectory: Option<String>,
}

struct Equations<'a> {
    command: &'a Predict,
    plan: &'a Plan,
    dataset: &'a Dataset,
    forecaster: &'a Forecaster<'a>,
}

impl Equations<'_> {
    /// The forecast of an environment of the estimates.
    fn forecast(&self, split: Split, row: &Row, given: Option<&[(String, f64)]>) -> Result<(Prediction, Start), Error> {
        let command = self.command;
        if command.from.is_some() && given.is_none() {
            return Err(Error::Usage("--from: also needs --initial, the state at that time".to_owned()));
        }
        let environment = command.environment.as_deref().unwrap_or_default();
        let index = self.dataset.index(split)?;
        let rows: Vec<usize> = (0..index.len()).filter(|&row| index[row].environment == environment).collect();
        let trajectories = self.forecaster.usable(self.dataset.read_rows(split, &rows)?);
        let place = place_of(command.trajectory.as_deref(), &trajectories, environment)?;
        let trajectory = &trajectories[place];
        let id = Some(trajectory.trajectory.clone());
        let (from, kind, words) = match (given, command.start.unwrap_or_default()) {
            (Some(given), _) => (From::Given(given), "given", ""),
            (None, StartChoice::Fitted) => (From::Fitted, "fitted", "the end of the fit to trajectory"),
            (None, StartChoice::Initial) => (From::Initial, "initial", "the fitted start of trajectory"),
            (None, StartChoice::Observed) => {
                (From::Observed, "observed", "the last complete sample, as it was measured, of trajectory")
            }
        };
        let time = self.forecaster.start_time(trajectory, from)?.unwrap_or(command.from.unwrap_or(0.0));
        let (every, length) = sampling(trajectory);
        let times = steps(command, time, command.every.unwrap_or(every), time + length)?;
        // Up to the last sample of a trajectory that is gone on with, signals are those of the dataset.
        let last = trajectory.times.last().copied().filter(|_| given.is_none());
        let (times, inputs) = self.inputs(times, last)?;
        let wanted = Wanted { from, times: &times, inputs: &inputs };
        let prediction = self.forecaster.predict((row, &trajectories), place, &wanted)?;
        Ok((prediction, Start { time, kind, words, trajectory: id.filter(|_| given.is_none()) }))
    }

    /// The trajectory of a system with given parameters.
    fn simulated(&self, text: &str, given: Option<&[(String, f64)]>) -> Result<(Prediction, Start), Error> {
        let (command, names) = (self.command, self.forecaster.parameters());
        if command.start.is_some() {
            return Err(Error::Usage("--start: needs --environment, whose trajectory it is about".to_owned()));
        }
        let parameters = values("--parameters", text, &names.iter().map(String::as_str).collect::<Vec<_>>())?;
        let time = command.from.unwrap_or(0.0);
        let (Some(every), Some(until)) = (command.every, command.until) else {
            return Err(Error::Usage(
                "--parameters: also needs --until and --every, as a system with given parameters has no samples"
                    .to_owned(),
            ));
        };
        let (times, inputs) = self.inputs(steps(command, time, every, until)?, None)?;
        let wanted = Wanted { from: From::Given(given.unwrap_or_default()), times: &times, inputs: &inputs };
        let prediction = self.forecaster.simulate(&parameters, &wanted)?;
        Ok((prediction, Start { time, kind: "given", words: "", trajectory: None }))
    }

    /// The times of the forecast with those at which an input bends, and the inputs of the system `[T, U]` at them; the dataset knows signals up to its
    /// `last` sample of the trajectory.
    fn inputs(&self, times: Vec<f64>, last: Option<f64>) -> Result<(Vec<f64>, Vec<f64>), Error> {
        let of_system = self.forecaster.inputs();
        let inputs: Vec<Input> =
            of_system.iter().map(|(index, _)| self.dataset.manifest().inputs[*index].clone()).collect();
        let sums: Vec<bool> = of_system.iter().map(|(_, is_sum)| *is_sum).collect();
        let names = inputs.iter().map(|it| it.quantity.name.as_str()).collect::<Vec<_>>().join(",");
        let known_until = last.unwrap_or(f64::NEG_INFINITY);
        let is_known = times.last().is_none_or(|end| *end <= known_until);
        match &self.command.inputs {
            Some(_) if inputs.is_empty() => {
                Err(Error::Usage("--inputs: the equations have no inputs; leave it out".to_owned()))
            }
            Some(path) => {
                let known =
                    read_inputs(self.command, self.plan, path, (&inputs, &sums, &self.dataset.manifest().time_unit))?;
                let times = with_time(known.with_bends(times), known_until);
                self.warn_of_given(&known, &times, (known_until, &sums));
                let values = known.at_with(&times, &sums, known_until);
                let values = values.map_err(|too_short| Error::Usage(in_words(&too_short)))?;
                Ok((times, values))
            }
            // Nothing more is given, or nothing is asked beyond the dataset.
            None if is_known || sums.iter().all(|is_sum| *is_sum) => {
                let count = times.len() * inputs.len();
                Ok((times, vec![0.0; count]))
            }
            None => Err(Error::Usage(format!(
                "predict: found no values of the inputs {names} over the time of the forecast; give --inputs FILE with the columns \
                 time,{names}"
            ))),
        }
    }

    /// Warns of what a table gives before the forecast begins, and besides what the dataset gives.
    fn warn_of_given(&self, known: &KnownInputs, times: &[f64], (known_until, sums): (f64, &[bool])) {
        let Some(&begin) = times.first() else { return };
        let before = known.given_between((f64::NEG_INFINITY, begin.next_down()), sums);
        if !before.is_empty() {
            complain(&format!(
                "warning: --inputs: what rows before the start at {begin} give of {} is not given again",
                before.join(", ")
            ));
        }
        let besides = known.given_between((begin.next_down(), known_until.next_down()), sums);
        if begin < known_until && !besides.is_empty() {
            complain(&format!(
                "warning: --inputs: what rows before the last sample at {known_until} give of {} is given besides what the dataset gives",
                besides.join(", ")
            ));
        }
    }
}

/// The settings with the system that the arguments name, or whose parameters they give, where several are compared.
fn of_system(command: &Predict, settings: Settings, dataset: &Dataset, run: &Run) -> Result<Settings, Error> {
    let candidates = settings.candidates().map_err(estimate::Error::Physics)?;
    if candidates.is_empty() {
        return match &command.system {
            None => Ok(settings),
            Some(_) => Err(Error::Usage("--system: found one system; leave it out".to_owned())),
        };
    }
    let mut given: Vec<String> = pairs("--parameters", command.parameters.as_deref().unwrap_or_default())?
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    given.sort();
    let (mut all, mut suit) = (Vec::new(), Vec::new());
    for candidate in candidates {
        let mut parameters = Forecaster::new(&candidate.settings, dataset, run)?.parameters();
        all.push(format!("{} ({})", candidate.name, parameters.join(", ")));
        parameters.sort();
        let is_meant = match &command.system {
            Some(name) => *name == candidate.name,
            None => parameters == given,
        };
        suit.extend(is_meant.then_some(candidate));
    }
    let (all, found) = (all.join(" and "), given.join(", "));
    match (suit.len(), &command.system) {
        (1, _) => Ok(suit.swap_remove(0).settings),
        (_, Some(name)) => Err(Error::Usage(format!("--system: found {name}; expected one of {all}"))),
        (0, None) => Err(Error::Usage(format!(
            "--parameters: found {found}, and the systems {all}; expected values of all parameters of one of them"
        ))),
        (_, None) => Err(Error::Usage(format!(
            "--parameters: found {found}, which are the parameters of more than one of the systems {all}; add --system NAME"
        ))),
    }
}

/// Ascending times with one more, if it lies between the first and the last; a time within rounding of it becomes it.
fn with_time(mut times: Vec<f64>, time: f64) -> Vec<f64> {
    let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return times };
    let slack = ROUNDING * (last - first);
    if first + slack < time && time < last - slack {
        times.retain(|it| (it - time).abs() > slack);
        times.insert(times.partition_point(|it| *it < time), time);
    }
    times
}

/// The place of the trajectory of that id, or of the first.
fn place_of(id: Option<&str>, trajectories: &[Trajectory], environment: &str) -> Result<usize, Error> {
    let place = match id {
        None => (!trajectories.is_empty()).then_some(0),
        Some(id) => trajectories.iter().position(|it| it.trajectory == id),
    };
    place.ok_or_else(|| {
        let ids: Vec<&str> = trajectories.iter().map(|it| it.trajectory.as_str()).collect();
        let expected = format!("one of the trajectories that were fitted: {}", ids.join(", "));
        let found = format!("no trajectory {} of environment {environment}", id.unwrap_or("with samples"));
        estimate::Error::Unpredictable { found, expected }.into()
    })
}

/// The median interval between samples of a trajectory, and its length; 1 where there is one sample.
fn sampling(trajectory: &Trajectory) -> (f64, f64) {
    let mut steps: Vec<f64> = trajectory.times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_by(f64::total_cmp);
    let every = steps.get(steps.len() / 2).copied().unwrap_or(1.0);
    (every, steps.iter().sum::<f64>().max(every))
}

/// `NAME=VALUE,NAME=VALUE`.
fn pairs(option: &str, text: &str) -> Result<Vec<(String, f64)>, Error> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        Some((name.trim().to_owned(), value.trim().parse::<f64>().ok().filter(|value| value.is_finite())?))
    };
    let mut pairs: Vec<(String, f64)> = Vec::new();
    for text in text.split(',') {
        let wrong = |found: String| Error::Usage(format!("{option}: found {found}; expected NAME=NUMBER,.."));
        let found = pair(text).ok_or_else(|| wrong(format!("`{text}`")))?;
        if pairs.iter().any(|it| it.0 == found.0) {
            return Err(wrong(format!("`{}` twice", found.0)));
        }
        pairs.push(found);
    }
    Ok(pairs)
}

fn as_csv(prediction: &Prediction, has_bands: bool) -> Result<String, Error> {
    fn column(it: &Predicted, has_bands: bool) -> Column<'_> {
        let Predicted { quantity, values, band, measured, .. } = it;
        let measured = measured.iter().map(|ends| ("_measured", ends.clone()));
        let band = has_bands.then(|| ("", band.clone()));
        Column { name: &quantity.name, values: values.clone(), bands: band.into_iter().chain(measured).collect() }
    }
    let columns: Vec<Column> = prediction.quantities.iter().map(|it| column(it, has_bands)).collect();
    csv(&prediction.times, &columns, prediction.unknown.as_deref())
}

fn as_json(start: &Start, prediction: &Prediction, has_bands: bool) -> Value {
    let (mut channels, mut hidden) = (Map::new(), Map::new());
    for it in &prediction.quantities {
        let ends = |band: &[(f64, f64)]| -> (Vec<f64>, Vec<f64>) { band.iter().copied().unzip() };
        let mut of_it = json!({ "unit": it.quantity.unit, "value": it.values });
        if has_bands {
            let (lower, upper) = ends(&it.band);
            (of_it["lower"], of_it["upper"]) = (json!(lower), json!(upper));
        }
        if let Some(measured) = &it.measured {
            let (lower, upper) = ends(measured);
            (of_it["measured_lower"], of_it["measured_upper"]) = (json!(lower), json!(upper));
        }
        match it.kind {
            Kind::Channel => channels.insert(it.quantity.name.clone(), of_it),
            kind => {
                of_it["kind"] = json!(kind.name());
                hidden.insert(it.quantity.name.clone(), of_it)
            }
        };
    }
    let knows = match start.kind {
        "given" => "parameters",
        _ => "parameters and start",
    };
    let band = json!({
        "level": 0.95, "knows": knows, "measured": "and the noise of a new measurement", "unknown": prediction.unknown,
    });
    json!({
        "start": { "time": start.time, "kind": start.kind, "trajectory": start.trajectory },
        "band": if has_bands { band } else { Value::Null },
        "time": prediction.times,
        "channels": channels,
        "hidden": hidden,
    })
}

/// The row of an environment in the estimates, with its split.
fn row_of(plan: &Plan, environment: &str, settings: &Settings) -> Result<(Split, Row), Error> {
    let directory = plan.estimates_directory();
    let (manifest, _) = estimate::Manifest::read(&directory)?;
    let mut known: Vec<String> = Vec::new();
    for &split in settings.splits.iter().filter(|split| manifest.splits.contains(split)) {
        for row in estimate::rows(&directory, &manifest, split)? {
            let row = row?;
            if row.environment == environment {
                return Ok((split, row));
            }
            known.push(row.environment);
        }
    }
    let near = known.iter().rev().map(|id| (strsim::normalized_levenshtein(id, environment), id));
    let near = near.max_by(|a, b| a.0.total_cmp(&b.0)).map_or_else(String::new, |(_, id)| format!(", such as {id}"));
    Err(estimate::Error::Unpredictable {
        found: format!("no environment {environment} in {}", directory.display()),
        expected: format!("one of the estimated environments{near}"),
    }
    .into())
}
