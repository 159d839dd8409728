//! Forecasts with a known context, and their bands.
//!
//! ```text
//! x(t_l) from x(t_0) under xi          band_c(t_l) = q sqrt((T Sigma T')_cc),  T = dx(t_l)/dxi [C, d]
//! ```
//!
//! `Sigma [d, d]` covariance of the context, `q` the quantile of Student's distribution: the band holds the trajectory itself with 95 %; a
//! new measurement also has its noise. A context is fitted to the trajectories of an environment, or follows from given parameters `p`
//! through the inverse of the context-to-parameter map, by Gauss-Newton on `map(xi) = p`.

use nalgebra::{DMatrix, DVector};

use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::engine::{Batch, Compute, Segment};
use crate::estimate::driver::check_quantities;
use crate::estimate::learned::adapt;
use crate::estimate::table::interval::quantile;
use crate::estimate::{Error, InitialState, Settings, Support};
use crate::schema::{Split, Trajectory};

/// Probability with which a band holds the trajectory.
const LEVEL: f64 = 0.95;
/// Most Gauss-Newton steps on the map.
const MOST_STEPS: usize = 100;
/// How near the map must come to given parameters, relative to their size.
const INVERSION_TOLERANCE: f64 = 1e-8;

/// A context and how well it is known.
#[derive(Clone, Debug)]
pub struct KnownContext {
    /// `[d]`.
    pub context: Vec<f64>,
    /// `[d, d]`; NaN where it is not determined.
    pub covariance: DMatrix<f64>,
    /// Degrees of freedom of the covariance.
    pub degrees_of_freedom: f64,
}

/// A rollout with its band, in the dataset's units.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// `[T]`, the first being the start.
    pub times: Vec<f64>,
    /// `[T, C]`.
    pub states: Vec<f64>,
    /// Half the width of the band `[T, C]`; NaN where the covariance is not determined.
    pub half_widths: Vec<f64>,
    /// Why some band is unknown; none where all are known.
    pub unknown: Option<String>,
}

/// Where a forecast of an environment starts: at the end of one of its trajectories.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Id of the trajectory.
    pub trajectory: String,
    /// Time of the state, in the dataset's unit.
    pub time: f64,
    /// `[C]`, in the dataset's units.
    pub state: Vec<f64>,
    /// Whether it is the last state of the fitted trajectory, rather than the last complete sample.
    pub is_fitted: bool,
}

impl Start {
    fn new(trajectory: &Trajectory, sample: usize, state: Vec<f64>, is_fitted: bool) -> Self {
        Start { trajectory: trajectory.trajectory.clone(), time: trajectory.times[sample], state, is_fitted }
    }

    /// The last complete sample.
    fn observed(trajectory: &Trajectory) -> Option<Self> {
        let last = (0..trajectory.len()).rev().find(|&t| trajectory.is_complete(t))?;
        Some(Start::new(trajectory, last, trajectory.state(last).to_vec(), false))
    }
}

/// The context of `environment`, fitted to its trajectories in the first split that has it; and where `trajectory`, or else the first of
/// these with a complete sample, can be continued (`None` without a complete sample).
///
/// Where initial states are estimated with the context, a trajectory that it was fitted to is continued from its last fitted state.
///
/// # Errors
/// If the dataset is not of the model's quantities, no split has the environment, it has no such trajectory, or its context cannot be
/// fitted.
pub fn context_of_environment(
    settings: &Settings,
    compute: Compute,
    dataset: &Dataset,
    model: &StoredModel,
    environment: &str,
    trajectory: Option<&str>,
) -> Result<(KnownContext, Option<Start>), Error> {
    check_quantities(dataset, model)?;
    let (split, observed) = observations(dataset, environment)?;
    let others = match trajectory {
        Some(_) => other_trajectories(dataset, split, environment)?,
        None => Vec::new(),
    };
    let position = match trajectory {
        None => observed.iter().position(|it| it.start().is_some()).unwrap_or(0),
        Some(id) => observed
            .iter()
            .chain(&others)
            .position(|it| it.trajectory == id)
            .ok_or_else(|| no_trajectory(id, environment, observed.iter().chain(&others)))?,
    };
    let units = model.manifest.units();
    let support = Support::new(observed.clone(), &units, settings.initial_state());
    let fit = adapt::Adapter::new(settings, compute, model)?.adapt(std::slice::from_ref(&support)).remove(0);
    if fit.context.iter().any(|xi| !xi.is_finite()) {
        return Err(Error::Unpredictable {
            found: format!("environment {environment}: {}", fit.reason),
            expected: "an environment whose context can be fitted".to_owned(),
        });
    }
    let start = match (settings.initial_state(), observed.get(position)) {
        (InitialState::Estimated, Some(trajectory)) => {
            let initial = &fit.initial_states[position];
            let states = [initial.as_slice(), &fit.predictions[position]].concat();
            let last = states[states.len() - initial.len()..].to_vec();
            let (_, last) = support.in_units(&[last], &units);
            last.into_iter().next().map(|state| Start::new(trajectory, trajectory.len() - 1, state, true))
        }
        _ => observed.iter().chain(&others).nth(position).and_then(Start::observed),
    };
    let known = KnownContext { context: fit.context, covariance: fit.covariance, degrees_of_freedom: fit.degrees };
    Ok((known, start))
}

/// The first split that has an environment, and its trajectories there.
fn observations(dataset: &Dataset, environment: &str) -> Result<(Split, Vec<Trajectory>), Error> {
    let mut known: Vec<String> = Vec::new();
    for split in [Split::Adapt, Split::Grid, Split::Train] {
        let observed = trajectories_of(dataset, split, environment)?;
        if !observed.is_empty() {
            return Ok((split, observed));
        }
        known.extend(dataset.index(split)?.into_iter().map(|entry| entry.environment));
    }
    known.dedup();
    let near = known.iter().rev().map(|id| (strsim::normalized_levenshtein(id, environment), id));
    let near = near.max_by(|a, b| a.0.total_cmp(&b.0)).map_or_else(String::new, |(_, id)| format!(", such as {id}"));
    Err(Error::Unpredictable {
        found: format!("no environment {environment} in {}", dataset.directory().display()),
        expected: format!("one of its environments{near}"),
    })
}

fn no_trajectory<'a>(id: &str, environment: &str, known: impl Iterator<Item = &'a Trajectory>) -> Error {
    let mut ids: Vec<&str> = known.map(|it| it.trajectory.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    Error::Unpredictable {
        found: format!("no trajectory {id} of environment {environment}"),
        expected: format!("one of its trajectories: {}", ids.join(", ")),
    }
}

/// The trajectories of an environment in a split.
fn trajectories_of(dataset: &Dataset, split: Split, environment: &str) -> Result<Vec<Trajectory>, Error> {
    let index = dataset.index(split)?;
    let rows: Vec<usize> = (0..index.len()).filter(|&row| index[row].environment == environment).collect();
    if rows.is_empty() { Ok(Vec::new()) } else { Ok(dataset.read_rows(split, &rows)?) }
}

/// The trajectories of an environment in all splits except `fitted`.
fn other_trajectories(dataset: &Dataset, fitted: Split, environment: &str) -> Result<Vec<Trajectory>, Error> {
    let mut all = Vec::new();
    for split in Split::ALL.into_iter().filter(|split| *split != fitted) {
        all.extend(trajectories_of(dataset, split, environment)?);
    }
    Ok(all)
}

/// The context `xi` that the map of `model` takes to `parameters [d_p]`: `xi += J^+ (q - map(xi))` with the pseudo-inverse `J^+` of
/// the map's Jacobian, until `|q - map(xi)|` is within tolerance; `q` are the parameters, or the powers of them that the map is affine in. Its covariance is that of the map's own error, `J^+ diag(v) J^+'`.
///
/// # Errors
/// If the model has no map, or the map does not reach the parameters.
pub fn context_of_parameters(model: &StoredModel, parameters: &[f64]) -> Result<KnownContext, Error> {
    let unpredictable = |found: String, expected: &str| Error::Unpredictable { found, expected: expected.to_owned() };
    let Some(map) = &model.map else {
        return Err(unpredictable(
            "a model without a context-to-parameter map".to_owned(),
            "one trained on environments with known parameters; or an environment whose context can be fitted",
        ));
    };
    let powers = map.raise(parameters);
    if let Some(j) = powers.iter().position(|q| !q.is_finite()) {
        let expected =
            "a finite number, and one above zero where the map is of its power, as in the training environments";
        return Err(unpredictable(format!("the parameter {} = {}", map.parameters[j], parameters[j]), expected));
    }
    let size = 1.0 + powers.iter().fold(0.0_f64, |size, p| size.max(p.abs()));
    let mut context = map.centre.clone();
    let jacobian = |context: &[f64]| {
        let rows = map.terms_jacobian(context);
        DMatrix::from_fn(parameters.len(), context.len(), |j, k| rows[j][k])
    };
    for _ in 0..MOST_STEPS {
        let residual: Vec<f64> = map.terms_sum(&context).iter().zip(&powers).map(|(mapped, q)| q - mapped).collect();
        if residual.iter().all(|r| r.abs() <= INVERSION_TOLERANCE * size) {
            let Ok(inverse) = jacobian(&context).pseudo_inverse(1e-12) else { break };
            let own = DMatrix::from_diagonal(&DVector::from_vec(map.terms_variance(&context)));
            let covariance = &inverse * own * inverse.transpose();
            let degrees_of_freedom = map.environments.len().saturating_sub(map.kind.terms(context.len())).max(1);
            return Ok(KnownContext { context, covariance, degrees_of_freedom: degrees_of_freedom as f64 });
        }
        let Ok(inverse) = jacobian(&context).pseudo_inverse(1e-12) else { break };
        let step = inverse * DVector::from_vec(residual);
        context.iter_mut().zip(step.iter()).for_each(|(xi, step)| *xi += step);
    }
    Err(unpredictable(
        format!("parameters {parameters:?}, which the map does not reach"),
        "parameters nearer to those of the training environments",
    ))
}

/// The rollout from `initial [C]` at the first of `times [T]` under `inputs [T, U]`, all in the dataset's units.
///
/// # Errors
/// If the inputs are not those of the model, one at each of `times` and finite; there is no such engine or device; or the rollout is not
/// finite.
pub fn forecast(
    compute: Compute,
    model: &StoredModel,
    known: &KnownContext,
    initial: &[f64],
    times: &[f64],
    inputs: &[f64],
) -> Result<Forecast, Error> {
    let rule = model.manifest.rule;
    if rule.owns_weights() {
        let found = format!(
            "a model with rule {}, whose environments own weights that no table of estimates holds",
            rule.name()
        );
        return Err(Error::Unpredictable {
            found,
            expected: "one whose rule has contexts, such as coda-l1".to_owned(),
        });
    }
    check_inputs(model, times, inputs)?;
    let units = model.manifest.units();
    let scales = &units.state;
    let (values, d) = (scales.len(), model.manifest.context_dimension);
    let scaled = initial.iter().zip(scales).map(|(x, scale)| scale.scaled(*x));
    let states = scaled.collect::<Vec<f64>>().repeat(times.len());
    let inputs: Vec<f64> = inputs.iter().zip(units.inputs.iter().cycle()).map(|(u, scale)| scale.scaled(*u)).collect();
    let (engine, _) = model.engine(compute)?;
    // An engine takes batches of a fixed number of environments: the others have no segment.
    let batch_size = engine.environments_per_batch();
    let mut segments = vec![vec![Segment { times, states: &states, inputs: &inputs }]];
    segments.resize(batch_size, Vec::new());
    let batch = Batch::new(values, &units.between, &segments, (1, 1));
    let mut contexts = known.context.clone();
    contexts.resize(batch_size * d, 0.0);
    let tangents = model.tangents(engine.as_ref());
    let (predictions, moved) = tangents.roll_out(&contexts, &batch);
    let quantile = quantile(LEVEL, known.degrees_of_freedom);
    let count = (times.len() - 1) * values;
    let (mut states, mut half_widths) = (initial.to_vec(), vec![0.0; values]);
    for (i, (z, tangent)) in predictions.iter().zip(moved.chunks_exact(d)).take(count).enumerate() {
        let scale = &scales[i % values];
        states.push(scale.unscaled(*z));
        let tangent = DVector::from_column_slice(tangent);
        let variance = (&known.covariance * &tangent).dot(&tangent);
        // Of exact data it may be below zero by rounding.
        let std_dev = if variance < 0.0 { 0.0 } else { variance.sqrt() };
        half_widths.push(quantile * std_dev * scale.scale);
    }
    if let Some(sample) = states.chunks_exact(values).position(|state| state.iter().any(|x| !x.is_finite())) {
        return Err(Error::DivergedForecast { time: times[sample] });
    }
    let unknown = half_widths.iter().any(|half| half.is_nan()).then(|| match quantile.is_nan() {
        true => "no degree of freedom is left to judge errors by: as many unknowns as observed values",
        false => "the covariance of the context is unknown",
    });
    Ok(Forecast { times: times.to_vec(), states, half_widths, unknown: unknown.map(str::to_owned) })
}

/// Checks that `inputs` are those of the model at each of `times`, and finite.
fn check_inputs(model: &StoredModel, times: &[f64], inputs: &[f64]) -> Result<(), Error> {
    let names: Vec<&str> = model.manifest.inputs.iter().map(|input| input.quantity.name.as_str()).collect();
    let unpredictable = |found: String, expected: String| Err(Error::Unpredictable { found, expected });
    if inputs.len() != times.len() * names.len() {
        let expected = match &names[..] {
            [] => "none, as the model was trained without inputs".to_owned(),
            _ => format!("a value of {} at each of {} times", names.join(", "), times.len()),
        };
        return unpredictable(format!("{} values of inputs", inputs.len()), expected);
    }
    match inputs.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let (name, time) = (names[at % names.len()], times[at / names.len()]);
            unpredictable(format!("the input {name} = {} at time {time}", inputs[at]), "finite numbers".to_owned())
        }
    }
}
