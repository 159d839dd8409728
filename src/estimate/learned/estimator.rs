//! Estimates environments by a trained model: fits their contexts, maps them to parameters, and judges the result.

use std::collections::BTreeMap;

use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;

use super::adapt;
use super::adaptation::Adaptation;
use super::calibration::{Fitted, in_bands};
use super::context_range::TrainingRange;
use super::input_range::inputs_extrapolate;
use super::state_range::{stands_still, states_extrapolate};
use super::support::Support;
use crate::checkpoint::{Manifest, ParameterMap, StoredModel, Units};
use crate::dataset::Dataset;
use crate::engine::{Batch, Compute};
use crate::estimate::bounds::Bounds;
use crate::estimate::error::Error;
use crate::estimate::hull::Hull;
use crate::estimate::misfit::{misfit, serial_correlation};
use crate::estimate::serial_correlation::SerialCorrelation;
use crate::estimate::settings::{InitialState, Settings};
use crate::estimate::stream::{Observed, environments};
use crate::estimate::table::environment_fit::{EnvironmentFit, noise};
use crate::estimate::table::errors::{FitErrors, PredictionErrors};
use crate::estimate::table::estimated::Estimated;
use crate::estimate::table::fitted::FittedSamples;
use crate::estimate::table::interval::Part;
use crate::estimate::table::row::{Row, Status};
use crate::estimate::{bounds, physics};
use crate::progress::Run;
use crate::schema::{Split, Trajectory};

/// Fits contexts by a model and maps them to parameters.
pub(crate) struct Estimator<'a> {
    settings: &'a Settings,
    /// Dataset of the held-out trajectories; `None` for environments in memory.
    dataset: Option<&'a Dataset>,
    model: &'a StoredModel,
    adapter: adapt::Adapter<'a>,
    hull: Hull,
    /// Of the contexts that the map was fitted on.
    contexts: Hull,
    /// Bounds in the order of the parameters.
    bounds: Vec<Bounds>,
    /// Rows of held-out trajectories of adapted environments.
    held_out: BTreeMap<String, Vec<usize>>,
    /// The split whose environments have them, and the split that they are in.
    judged: (Split, Split),
    units: Units,
    /// Bounds on the errors by known equations, where the settings name some.
    least_errors: Option<physics::ModelBounds<'a>>,
    range: TrainingRange,
}

impl<'a> Estimator<'a> {
    pub(crate) fn new(
        settings: &'a Settings,
        compute: Compute,
        dataset: Option<&'a Dataset>,
        model: &'a StoredModel,
        run: &'a Run,
    ) -> Result<Self, Error> {
        let known = model.manifest.environments.iter();
        let points = known.filter_map(|it| it.parameters.iter().copied().collect::<Option<Vec<f64>>>()).collect();
        let names = model.manifest.parameters.iter().map(|it| it.name.as_str());
        let estimator = Estimator {
            settings,
            bounds: bounds::bounds_in_order(&settings.bounds, names),
            dataset,
            model,
            adapter: adapt::Adapter::new(settings, compute, model)?,
            hull: Hull::new(points),
            contexts: Hull::new(
                model.map.iter().flat_map(|map| &map.environments).map(|it| it.context.clone()).collect(),
            ),
            units: model.manifest.units(),
            least_errors: match dataset {
                Some(dataset) => physics::ModelBounds::new(settings, dataset, run.interrupt)?,
                None => None,
            },
            range: TrainingRange::new(model),
            held_out: BTreeMap::new(),
            judged: (Split::Adapt, Split::AdaptTest),
        };
        estimator.judged_by(Split::Adapt, Split::AdaptTest)
    }

    /// The same, but environments of the split `fitted` are judged by their trajectories in `held_out`.
    pub(crate) fn judged_by(self, fitted: Split, held_out: Split) -> Result<Self, Error> {
        let known = match self.dataset {
            Some(dataset) => environments(&dataset.index(held_out)?),
            None => Vec::new(),
        };
        let known = known.into_iter().map(|it| (it.id, it.rows)).collect();
        Ok(Estimator { held_out: known, judged: (fitted, held_out), ..self })
    }

    /// Whether the environment `id` has held-out trajectories.
    pub(crate) fn has_held_out(&self, id: &str) -> bool {
        self.held_out.contains_key(id)
    }

    /// The rows of a block of environments, and their fitted trajectories.
    pub(crate) fn block(&self, split: Split, block: Vec<Observed>) -> Result<Vec<Estimated>, Error> {
        Ok(self.estimated(split, block, false)?.into_iter().map(|(estimated, _)| estimated).collect())
    }

    /// The same, and how many values of its held-out trajectories lie in their 95 % bands, and how many there are: none of fields.
    pub(crate) fn judged(&self, split: Split, block: Vec<Observed>) -> Result<Vec<(Estimated, [usize; 2])>, Error> {
        self.estimated(split, block, self.model.manifest.grid.is_none())
    }

    fn estimated(
        &self,
        split: Split,
        block: Vec<Observed>,
        are_bands_judged: bool,
    ) -> Result<Vec<(Estimated, [usize; 2])>, Error> {
        let mut environments = Vec::with_capacity(block.len());
        let mut supports = Vec::with_capacity(block.len());
        for Observed { id, parameters, trajectories } in block {
            let single = has_single_samples(&trajectories);
            environments.push((id, parameters, single, self.observed_beyond(&trajectories)));
            supports.push(Support::new(trajectories, &self.units, self.settings.initial_state()));
        }
        let adaptations = self.adapter.adapt(&supports);
        let engine = self.adapter.engine.as_ref();
        let has_bands = are_bands_judged && !self.model.manifest.rule.owns_weights();
        let tangents = has_bands.then(|| self.model.tangents(engine));
        environments
            .into_par_iter()
            .zip(&supports)
            .zip(adaptations)
            .map(|(((id, parameters, single, beyond), support), mut adaptation)| {
                if single && adaptation.status == Status::NoData {
                    adaptation.status = Status::TooFewPoints;
                }
                let test_mse = match self.held_out.get(&id) {
                    Some(held_out) if split == self.judged.0 => self.held_out_error(held_out, &adaptation.context)?,
                    _ => None,
                };
                let fitted = tangents.as_deref().map(|tangents| {
                    (
                        tangents,
                        Fitted {
                            context: adaptation.context.clone(),
                            covariance: adaptation.covariance.clone(),
                            degrees: adaptation.degrees,
                        },
                    )
                });
                let predictions = std::mem::take(&mut adaptation.predictions);
                let initial_states = std::mem::take(&mut adaptation.initial_states);
                let channels = self.model.manifest.channels.len();
                let errors = FitErrors::of_predictions(
                    &support.trajectories,
                    &predictions,
                    &self.units.state,
                    channels,
                    self.settings.loss,
                );
                let fit = match self.settings.fitted {
                    true => FittedSamples::from_scaled(
                        &id,
                        &support.trajectories,
                        &initial_states,
                        &predictions,
                        &self.units.state,
                    ),
                    false => FittedSamples::default(),
                };
                let serial = serial_correlation(
                    &self.model.manifest,
                    &support.trajectories,
                    &predictions,
                    &errors,
                    (support.points() as f64 - adaptation.degrees, self.settings.serial_correlation),
                );
                let mut row = self.row(id, &parameters, (support, beyond), (adaptation, &serial), errors, test_mse);
                if row.status == Status::Ok {
                    let names = self.model.manifest.channels.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
                    row.reason = serial.notes(&names).join("; ");
                }
                if let Some(least_errors) = &self.least_errors {
                    let values: Vec<f64> = row.parameters.iter().map(|it| it.value).collect();
                    let (trajectories, initial) = support.in_units(&initial_states, &self.units);
                    let (truth, values, noise) = (&parameters, &values, &row.noise);
                    let fitted = physics::LearnedFit { split, truth, values, noise, trajectories, initial };
                    row.set_bounds(least_errors.bounds(&fitted));
                }
                let in_bands = match (fitted, self.held_out.get(&row.environment)) {
                    (Some((tangents, fitted)), Some(rows)) if !row.status.is_failure() => {
                        let held_out = self.held_out(self.judged.1, rows)?;
                        in_bands((engine, tangents), &fitted, &row.noise, &held_out, &self.units)
                    }
                    _ => [0, 0],
                };
                let (starts, own, compared) = (Vec::new(), Vec::new(), Vec::new());
                Ok((Estimated { row, samples: fit, starts, own, compared, early: false }, in_bands))
            })
            .collect()
    }

    /// The row of one environment. `beyond` says how its observed states differ from the training data, if they do.
    fn row(
        &self,
        id: String,
        known: &[Option<f64>],
        (support, beyond): (&Support, Option<String>),
        (adaptation, serial): (Adaptation, &SerialCorrelation),
        errors: FitErrors,
        test_mse: Option<f64>,
    ) -> Row {
        let Adaptation { mut context, covariance, degrees, mut status, mut reason, iterations, .. } = adaptation;
        // Weights that an environment owns are not told in its row.
        context.truncate(self.model.manifest.context_dimension);
        let (points, effective) = (support.points() as f64, serial.effective_points());
        let is_widened = effective < points && degrees > 0.0;
        let covariance =
            if is_widened { covariance * (serial.variance_factor() * points / effective) } else { covariance };
        let d_p = known.len();
        let degrees_of_freedom = if is_widened { degrees - (points - effective) } else { degrees };
        let effective_points = if is_widened { effective } else { points };
        let (values, of_parameters, of_model) = match &self.model.map {
            Some(map) => {
                let jacobian = map.jacobian(&context);
                let jacobian = DMatrix::from_fn(d_p, context.len(), |j, k| jacobian[j][k]);
                let of_noise = &jacobian * &covariance * jacobian.transpose();
                let noise = noise(&errors, degrees_of_freedom, effective_points);
                let (of_parameters, parts) = self.with_own_error(map, &context, of_noise, &noise);
                (map.apply(&context), of_parameters, parts)
            }
            None => (vec![f64::NAN; d_p], DMatrix::from_element(d_p, d_p, f64::NAN), Vec::new()),
        };
        if status == Status::Ok {
            let fitted = (context.as_slice(), &covariance, degrees);
            (status, reason) = self.judge((support, beyond), fitted, &values, &errors);
        }
        let fit = EnvironmentFit {
            environment: id,
            status,
            reason,
            context,
            values: &values,
            covariance: &of_parameters,
            truth: known,
            bounds: &self.bounds,
            noise_terms: Vec::new(),
            likelihood: None,
            errors,
            test_mse,
            points: support.points(),
            minima: None,
            degrees_of_freedom,
            shares: Vec::new(),
            effective_points,
            autocorrelation: serial.measured(),
            iterations,
            in_hull: self.hull.holds(known),
        };
        fit.row_of_model(&of_model)
    }

    /// The covariance of parameters, the model's own error included, that have `of_noise [d_p, d_p]` by a fit that shows the `noise [C]`, and the model's
    /// part of each variance where it was learned; else with the error of the map alone, and no parts.
    fn with_own_error(
        &self,
        map: &ParameterMap,
        context: &[f64],
        of_noise: DMatrix<f64>,
        noise: &[f64],
    ) -> (DMatrix<f64>, Vec<Part>) {
        let Some(error) = map.model_error.as_ref().filter(|_| self.settings.model_error) else {
            return (of_noise + DMatrix::from_diagonal(&DVector::from_vec(map.variance(context))), Vec::new());
        };
        let variances: Vec<f64> = of_noise.diagonal().iter().copied().collect();
        let (in_hull, left) = (self.contexts.contains(context), left(&self.model.manifest, noise));
        let (own, kept) = (error.covariance((context, in_hull), &variances, left), error.kept(in_hull, left));
        let both = of_noise.map_with_location(|j, k, of_noise| kept[j] * kept[k] * of_noise + own[j][k]);
        let degrees_of_freedom = error.degrees_of_freedom();
        let parts = own.iter().enumerate().map(|(j, own)| Part { variance: own[j], degrees_of_freedom }).collect();
        (both, parts)
    }

    /// How the observed states of an environment differ from the training data, in words; `None` if they do not.
    fn observed_beyond(&self, trajectories: &[Trajectory]) -> Option<String> {
        let (manifest, slack) = (&self.model.manifest, self.settings.extrapolation);
        trajectories.iter().find_map(|it| {
            states_extrapolate(manifest, &it.times, &it.states, slack).or_else(|| stands_still(manifest, it))
        })
    }

    /// How the inputs of an environment leave their training range, in words; `None` if they do not.
    fn driven_beyond(&self, support: &Support) -> Option<String> {
        let scales = &self.units.inputs;
        support.trajectories.iter().find_map(|it| {
            let inputs = it.inputs.iter().zip(scales.iter().cycle()).map(|(u, scale)| scale.unscaled(*u));
            let inputs: Vec<f64> = inputs.collect();
            inputs_extrapolate(&self.model.manifest, &it.times, &inputs, self.settings.extrapolation)
        })
    }

    /// The status of a fit that converged, and its reason.
    fn judge(
        &self,
        (support, beyond): (&Support, Option<String>),
        (context, covariance, degrees): (&[f64], &DMatrix<f64>, f64),
        values: &[f64],
        errors: &FitErrors,
    ) -> (Status, String) {
        let manifest = &self.model.manifest;
        if !errors.rmse.is_finite() {
            return (Status::Diverged, "the fitted rollout is not finite".to_owned());
        }
        if degrees <= 0.0 {
            let (points, unknowns) = (support.points(), support.points() as f64 - degrees);
            let reason = format!("{points} observed values for {unknowns} unknowns leave nothing to judge the fit by");
            return (Status::TooFewPoints, reason);
        }
        if covariance.iter().any(|value| !value.is_finite()) {
            return (Status::Unidentifiable, "the trajectories do not determine the context".to_owned());
        }
        if let Some(map) = &self.model.map
            && let Some(j) = values.iter().position(|value| !value.is_finite())
        {
            let (name, q) = (&manifest.parameters[j].name, map.terms_sum(context)[j]);
            let formula = map.powers().nth(j).map_or_else(String::new, |power| power.formula(name));
            let mut reason = format!("{name} has no value: the map gives {formula} = {q:.6} for this context");
            if self.range.left_by(context, self.settings.extrapolation).is_some() {
                reason += ", far from those of the training: the fit ended in another minimum, or the system is unlike these; more \
                           trajectories would tell";
            }
            return (Status::Unidentifiable, reason);
        }
        for ((bounds, &value), quantity) in self.bounds.iter().zip(values).zip(&manifest.parameters) {
            let cut = bounds.cut(value);
            if cut != value && !value.is_nan() {
                let name = &quantity.name;
                return (Status::AtBound, format!("{name} was estimated as {value:.6}, beyond its bound {cut}"));
            }
        }
        // Unusual states or inputs explain a far context and a poor fit, so they are reported first.
        let beyond = beyond.or_else(|| self.driven_beyond(support));
        let beyond = beyond.or_else(|| self.range.left_by(context, self.settings.extrapolation));
        match beyond {
            Some(reason) => (Status::OutsideTrainingRange, reason),
            None => match misfit(manifest, &support.trajectories, errors) {
                Some(reason) => (Status::Misfit, reason),
                None => (Status::Ok, String::new()),
            },
        }
    }

    /// Mean squared error, in the dataset's units, on held-out trajectories under a context.
    fn held_out_error(&self, rows: &[usize], context: &[f64]) -> Result<Option<f64>, Error> {
        if context.iter().any(|xi| !xi.is_finite()) {
            return Ok(None);
        }
        let held_out = self.held_out(self.judged.1, rows)?;
        let mut error = PredictionErrors::default();
        self.add_error(context, &held_out, &mut error);
        Ok(Some(error.mean_square()).filter(|_| error.count() > 0))
    }

    /// Errors on the test split under the training contexts.
    pub(crate) fn errors_in_domain(&self) -> Result<PredictionErrors, Error> {
        let mut error = PredictionErrors::default();
        let Some(dataset) = self.dataset else { return Ok(error) };
        let environments = environments(&dataset.index(Split::Test)?);
        let own_values: Vec<&[f64]> = self.model.own_values().collect();
        for environment in &environments {
            let known = self.model.manifest.environments.iter().position(|it| it.id == environment.id);
            let Some(place) = known else { continue };
            let held_out = self.held_out(Split::Test, &environment.rows)?;
            self.add_error(own_values[place], &held_out, &mut error);
        }
        Ok(error)
    }

    /// Held-out trajectories, to which nothing is fitted; each starts at its first complete sample.
    fn held_out(&self, split: Split, rows: &[usize]) -> Result<Support, Error> {
        let trajectories = match self.dataset {
            Some(dataset) => dataset.read_rows(split, rows)?,
            None => Vec::new(),
        };
        Ok(Support::new(trajectories, &self.units, InitialState::Observed))
    }

    fn add_error(&self, context: &[f64], held_out: &Support, error: &mut PredictionErrors) {
        let mut weights = vec![0.0; self.model.model().layout().size()];
        self.model.rule().decode(&self.model.shared, context, &mut weights);
        let Units { state, between, .. } = &self.units;
        let batch = Batch::new(state.len(), between, &[held_out.segments()], (0, 0));
        error.add(&self.adapter.engine.predict(&weights, &batch), &batch, state);
    }
}

/// What a fit leaves per degree of freedom, `s^2` of [`ModelError`](crate::checkpoint::ModelError): the mean over the channels of the squared `noise
/// [C]`, which is in the dataset's units, in the model's.
pub(super) fn left(manifest: &Manifest, noise: &[f64]) -> f64 {
    let squares = noise.iter().zip(&manifest.scales).map(|(noise, scale)| (noise / scale.scale).powi(2));
    squares.sum::<f64>() / noise.len() as f64
}

/// Whether there are observations, but no trajectory has more than one sample.
fn has_single_samples(trajectories: &[Trajectory]) -> bool {
    trajectories.iter().all(|it| it.len() < 2) && trajectories.iter().any(|it| it.missing() < it.states.len())
}
