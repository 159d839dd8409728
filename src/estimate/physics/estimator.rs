//! Estimates by known equations.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;

use super::budget::Budget;
use super::cramer_rao_of_fit::{Ended, bounds_of_fit};
use super::equations::Equations;
use super::experiment::Experiment;
use super::fit::trajectories as fitted_trajectories;
use super::fitting::Fitting;
use super::likelihood::measured::Measured;
use super::model::Model;
use super::result::{Fit, FittedOwn, FreeStart};
use super::series::Series;
use super::shared::together::{SharedFit, together};
use crate::blocks::{Rows, Store};
use crate::dataset::{Dataset, Manifest};
use crate::estimate::driver::{check_bounds, check_settings, estimate_rows, estimate_splits};
use crate::estimate::error::Error;
use crate::estimate::hull::Hull;
use crate::estimate::in_memory::by_environment;
use crate::estimate::settings::{InitialState, Loss, PhysicsSettings, Settings};
use crate::estimate::stream::{Observed, all_rows, environments, for_each_block};
use crate::estimate::table::environment_fit::EnvironmentFit;
use crate::estimate::table::errors::{FitErrors, PredictionErrors};
use crate::estimate::table::estimated::Estimated;
use crate::estimate::table::evaluation::Evaluation;
use crate::estimate::table::fitted::FittedSamples;
use crate::estimate::table::of_trajectory::OfTrajectory;
use crate::estimate::table::output::{Outcome, Output};
use crate::estimate::table::row::{Minima, Row, Status};
use crate::progress::{Event, Interrupt, Run};
use crate::schema::{Between, Input, Quantity, Split, Trajectory};
use crate::systems::System;

/// Estimates the parameters of every environment of the splits in `settings`, and writes the table to `directory`.
///
/// # Errors
/// See [`Error`]. An environment that cannot be fitted is no error: its row has a status.
pub(crate) fn resume(
    settings: &Settings,
    dataset: &Dataset,
    directory: &Path,
    store: Option<&Store>,
    run: &Run,
) -> Result<Outcome, Error> {
    check_bounds(settings)?;
    let estimator = Estimator::new(settings, dataset, run.interrupt)?;
    check_settings(settings, dataset, &estimator.equations.all_quantities())?;
    let output = Output::create(directory, dataset, None, &estimator.equations.quantities, settings)?;
    let output = output.with_start(estimator.equations.start(estimator.initial_state));
    let output = output.with_states(estimator.equations.hidden(), estimator.equations.free(estimator.initial_state));
    let output = output.with_own(estimator.equations.own_quantities.clone());
    let shared = estimator.shared_of_splits(dataset, &settings.splits, run)?;
    let output = output.with_noise(estimator.noise_terms())?;
    let block = |split, block: Vec<Observed>| estimator.block(split, block, shared.get(&split));
    let (outcome, early) = estimate_splits(settings, (dataset, store), output, Evaluation::default(), run, &block)?;
    if early > 0 {
        let what =
            "time stands in the equations, and samples lie before t = 0; `reason` of each says what became of them";
        run.emit(Event::Warn(format!("estimate.physics.system: {what} (environments: {early})")));
    }
    Ok(outcome)
}

/// Estimates some rows alone and keeps them in `store`, for [`resume`] to put together; the number of environments of each status.
///
/// # Errors
/// As [`resume`].
pub(crate) fn run_rows(
    settings: &Settings,
    dataset: &Dataset,
    rows: &[Rows],
    store: &Store,
    run: &Run,
) -> Result<BTreeMap<Status, usize>, Error> {
    check_bounds(settings)?;
    let estimator = Estimator::new(settings, dataset, run.interrupt)?;
    check_settings(settings, dataset, &estimator.equations.all_quantities())?;
    let shared = estimator.shared_of_splits(dataset, &settings.splits, run)?;
    estimate_rows(dataset, rows, store, run, &|split, block| estimator.block(split, block, shared.get(&split)))
}

/// Estimates the parameters of environments in memory by the equations of `system`, with default settings: one row an environment, in the order
/// in which they first occur.
///
/// The channels of the trajectories are the outputs of the system, or its states where it has no outputs, in its order and units, NaN where they
/// were not observed; their inputs are those of the system, on straight lines between samples. Initial states are estimated with the parameters,
/// as far as the system does not give them. Known parameters of trajectories (`[d_p]`, in the order of the system, or none at all) are not used,
/// but stand in the rows as the truth; covariates of the system follow them, and are.
///
/// # Errors
/// [`Error::Trajectories`] with every trajectory that does not fit the system. An environment that cannot be fitted is no error: its row has a
/// status.
///
/// ```
/// use paramill::estimate::Status;
/// use paramill::schema::Trajectory;
/// use paramill::{physics, systems};
///
/// // Prey and predators, counted eight times.
/// let system = systems::find("lotka-volterra").expect("a system of this name");
/// let states = [
///     1.40, 2.20, 1.08, 1.55, 1.16, 1.02, 1.60, 0.73, 2.40, 0.68, 3.10, 1.02, 2.48, 2.01, 1.46, 2.07,
/// ];
/// let culture = Trajectory {
///     environment: "pond".to_owned(),
///     trajectory: "summer".to_owned(),
///     parameters: Vec::new(),
///     times: (0..8).map(f64::from).collect(),
///     states: states.to_vec(),
///     inputs: Vec::new(),
/// };
/// let rows = physics::fit(&system, &[culture])?;
/// assert_eq!((rows.len(), rows[0].environment.as_str()), (1, "pond"));
/// for (parameter, estimate) in system.parameters.iter().zip(&rows[0].parameters) {
///     println!("{} = {} +- {}", parameter.name, estimate.value, estimate.standard_error);
/// }
/// # Ok::<(), paramill::estimate::Error>(())
/// ```
pub fn fit(system: &System, trajectories: &[Trajectory]) -> Result<Vec<Row>, Error> {
    fit_with(&Settings::default(), system, Between::Linear, trajectories)
}

/// As [`fit`], with settings, such as bounds, robust loss, or parameters that are fixed, and inputs that are `between` samples as it says.
///
/// # Errors
/// As [`fit`], and [`Error::Physics`] for settings that do not fit the system.
pub fn fit_with(
    settings: &Settings,
    system: &System,
    between: Between,
    trajectories: &[Trajectory],
) -> Result<Vec<Row>, Error> {
    check_bounds(settings)?;
    let inputs = system
        .inputs
        .iter()
        .map(|input| Input { quantity: Quantity::new(&input.name, &input.unit, &input.description), between });
    let covariates = system.covariates.iter().map(|it| Quantity::new(&it.name, &it.unit, &it.description));
    let known = system.parameter_quantities().into_iter().chain(covariates);
    let manifest = Manifest {
        grid: system.presets.first().and_then(|preset| preset.grid()),
        inputs: inputs.collect(),
        ..Manifest::in_memory(&system.time_unit, system.measured_quantities(), known.collect())
    };
    let environments = by_environment(trajectories, &manifest)?;
    let physics = settings.physics.clone().unwrap_or_default();
    let equations = Equations::in_memory(&physics, settings, system, &manifest)?;
    let interrupt = Interrupt::new();
    let estimator = Estimator::with_equations(settings, physics, equations, &manifest, &interrupt);
    let shared = match estimator.equations.shares() {
        true => estimator.shared(environments.clone(), None)?,
        false => None,
    };
    Ok(estimator.block(Split::Adapt, environments, shared.as_ref())?.into_iter().map(|it| it.row).collect())
}

/// Fits environments by known equations.
pub(crate) struct Estimator<'a> {
    pub(super) settings: &'a Settings,
    pub(super) physics: PhysicsSettings,
    /// Where held-out trajectories are; none of environments in memory.
    dataset: Option<&'a Dataset>,
    manifest: &'a Manifest,
    pub(super) equations: Equations,
    hull: Hull,
    /// Rows of the held-out trajectories of each environment in the adapt split.
    held_out: BTreeMap<String, Vec<usize>>,
    pub(super) initial_state: InitialState,
    pub(super) interrupt: &'a Interrupt,
}

impl<'a> Estimator<'a> {
    pub(crate) fn new(settings: &'a Settings, dataset: &'a Dataset, interrupt: &'a Interrupt) -> Result<Self, Error> {
        let physics = settings.physics.clone().unwrap_or_default();
        let equations = Equations::new(&physics, settings, dataset)?;
        let held_out = environments(&dataset.index(Split::AdaptTest)?).into_iter().map(|it| (it.id, it.rows)).collect();
        let estimator = Estimator::with_equations(settings, physics, equations, dataset.manifest(), interrupt);
        Ok(Estimator { dataset: Some(dataset), held_out, ..estimator })
    }

    /// Without held-out trajectories.
    fn with_equations(
        settings: &'a Settings,
        physics: PhysicsSettings,
        equations: Equations,
        manifest: &'a Manifest,
        interrupt: &'a Interrupt,
    ) -> Self {
        let hull = Hull::new(equations.known.clone());
        // Initial states of fields have too many values to estimate.
        let usual = if manifest.grid.is_some() { InitialState::Observed } else { InitialState::Estimated };
        let initial_state = settings.initial_state.unwrap_or(usual);
        Estimator {
            settings,
            physics,
            dataset: None,
            manifest,
            equations,
            hull,
            held_out: BTreeMap::new(),
            initial_state,
            interrupt,
        }
    }

    pub(crate) fn equations(&self) -> &Equations {
        &self.equations
    }

    /// The states whose initial values are fitted between bounds.
    pub(crate) fn free_starts(&self) -> Vec<Quantity> {
        self.equations.free(self.initial_state)
    }

    /// The parameters of the noise of each channel of the dataset, as columns of the table.
    pub(crate) fn noise_terms(&self) -> Vec<Quantity> {
        let Some(measured) = &self.equations.measured else { return Vec::new() };
        let all = self.equations.channel_indices.iter().zip(&measured.channels);
        all.flat_map(|(&index, it)| it.noise.columns(&self.manifest.channels[index])).collect()
    }

    /// A channel of the equations, as the dataset has it.
    pub(super) fn channel(&self, channel: usize) -> Quantity {
        self.manifest.channels[self.equations.channel_indices[channel]].clone()
    }

    /// The rows of a block of environments, and their fitted samples.
    pub(crate) fn block(
        &self,
        split: Split,
        block: Vec<Observed>,
        shared: Option<&SharedFit>,
    ) -> Result<Vec<Estimated>, Error> {
        block.into_par_iter().map(|observed| self.environment(split, observed, shared)).collect()
    }

    fn environment(&self, split: Split, observed: Observed, shared: Option<&SharedFit>) -> Result<Estimated, Error> {
        let observed = Observed { trajectories: self.usable(observed.trajectories), ..observed };
        let (experiment, fit) = match shared {
            Some(shared) => shared.fit(&self.fitting(), &observed),
            None => self.fit(&observed.parameters, &observed.trajectories),
        };
        let Observed { id, parameters, trajectories } = observed;
        let early = experiment.early_samples().is_some();
        let test_mse = match self.held_out.get(&id) {
            Some(held_out) if split == Split::Adapt => self.held_out_error(held_out, &experiment.model, &fit.values)?,
            _ => None,
        };
        let states = self.in_dataset_order(&experiment, &fit.states);
        let samples = match self.settings.fitted {
            true => {
                let samples = FittedSamples::from_states(&id, &trajectories, &states, self.manifest.channels.len());
                let hidden = self.hidden(&experiment, &fit.beneath);
                samples.with_hidden(&hidden, self.equations.hidden_states().len())
            }
            false => FittedSamples::default(),
        };
        let truth = self.equations.known_parameters(&parameters);
        let starts = self.starts(&experiment, &fit, &trajectories);
        let own = self.own(&experiment, &fit, &trajectories);
        let ended = Ended { initial: fit.initial.clone(), own: fit.own.clone() };
        let mut row = self.row(id, &truth, &experiment, fit, test_mse);
        match shared {
            Some(shared) if !row.status.is_failure() => shared.complete_row(&mut row),
            Some(_) => {}
            // The bounds of one environment alone.
            None => {
                let how = (&self.physics, self.interrupt);
                let bounds = bounds_of_fit(&self.equations, &experiment, (split, &truth, &row), ended, how);
                row.set_bounds(bounds.into_iter().flatten().map(Some).collect());
            }
        }
        Ok(Estimated { row, samples, starts, own, compared: Vec::new(), early })
    }

    /// The fitted values `[samples, H]` of what nobody measures, of each trajectory.
    fn hidden(&self, experiment: &Experiment, beneath: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let hidden = self.equations.hidden_states();
        let states = self.equations.state_names.len();
        let of_trajectory = |(series, beneath): (&Series, &Vec<f64>)| {
            let all = series.at_all_samples(beneath);
            all.chunks_exact(states).flat_map(|state| hidden.iter().map(|&it| state[it])).collect()
        };
        experiment.series.iter().zip(beneath).map(of_trajectory).collect()
    }

    /// The initial values that were fitted between bounds, with their intervals.
    fn starts(&self, experiment: &Experiment, fit: &Fit, trajectories: &[Trajectory]) -> Vec<OfTrajectory> {
        let start = |it: &FreeStart| {
            let (range, _) = experiment.model.free(it.state)?;
            Some(OfTrajectory::new(
                &trajectories[it.trajectory].trajectory,
                &self.equations.state_names[it.state],
                fit.interval((it.value, it.variance, it.share), range),
                (range.lower, range.upper),
            ))
        };
        fit.starts.iter().filter_map(start).collect()
    }

    /// The parameters of trajectories, with their intervals.
    fn own(&self, experiment: &Experiment, fit: &Fit, trajectories: &[Trajectory]) -> Vec<OfTrajectory> {
        let own = |FittedOwn { at, variance, share }: &FittedOwn| {
            let coordinate = experiment.model.own[at.parameter].coordinate;
            OfTrajectory::new(
                &trajectories[at.trajectory].trajectory,
                &self.equations.own_names[at.parameter],
                fit.interval((at.value, *variance, *share), coordinate),
                (coordinate.lower, coordinate.upper),
            )
        };
        fit.own.iter().map(own).collect()
    }

    /// Fitted states of each trajectory at all samples, with the channels in the order of the dataset.
    pub(super) fn in_dataset_order(&self, experiment: &Experiment, states: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let fitted = experiment.series.iter().zip(states);
        fitted.map(|(series, states)| self.equations.in_dataset_order(&series.at_all_samples(states))).collect()
    }

    /// The trajectories of an environment that have samples; fields from their first complete sample on, as their initial states are not
    /// estimated.
    pub(crate) fn usable(&self, trajectories: Vec<Trajectory>) -> Vec<Trajectory> {
        match self.manifest.grid {
            Some(_) => trajectories.into_iter().filter_map(Trajectory::from_start).collect(),
            None => trajectories.into_iter().filter(|trajectory| !trajectory.is_empty()).collect(),
        }
    }

    /// How its environments are fitted.
    pub(super) fn fitting(&self) -> Fitting<'_> {
        let Estimator { equations, settings, physics, initial_state, interrupt, .. } = self;
        Fitting { equations, settings, physics, initial_state: *initial_state, interrupt }
    }

    /// What all environments share, fitted together; none where nothing is shared.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    fn shared(&self, environments: Vec<Observed>, split: Option<Split>) -> Result<Option<SharedFit>, Error> {
        let usable = |it: Observed| Observed { trajectories: self.usable(it.trajectories), ..it };
        let environments: Vec<Observed> = environments.into_iter().map(usable).collect();
        let shared = together(&self.fitting(), &environments, split).transpose();
        match self.interrupt.requested() {
            Some(signal) => Err(Error::Interrupted { signal }),
            // Only an interrupt is an error.
            None => Ok(shared.ok().flatten()),
        }
    }

    /// The same of the environments of `splits` of the dataset.
    pub(crate) fn shared_of_splits(
        &self,
        dataset: &Dataset,
        splits: &[Split],
        run: &Run,
    ) -> Result<BTreeMap<Split, SharedFit>, Error> {
        let mut shared = BTreeMap::new();
        if !self.equations.shares() {
            return Ok(shared);
        }
        for &split in splits.iter().filter(|split| dataset.manifest().splits.contains_key(split)) {
            let what = format!("fit what all environments of {split} share");
            run.emit(Event::Begin { what, total: None, unit: "fits" });
            let mut environments = Vec::new();
            for_each_block(dataset, split, all_rows(dataset, split), |block| {
                environments.extend(block);
                Ok(())
            })?;
            shared.extend(self.shared(environments, Some(split))?.map(|it| (split, it)));
            run.emit(Event::End);
        }
        Ok(shared)
    }

    /// The problem of fitting a model to trajectories that were `measured` so.
    pub(super) fn experiment<'e>(
        &self,
        model: Cow<'e, Model>,
        trajectories: &[Trajectory],
        measured: Option<&Measured>,
    ) -> Experiment<'e> {
        let series = trajectories.iter().map(|trajectory| self.equations.series(trajectory)).collect();
        let mut experiment = Experiment::new(model, series, self.initial_state, self.settings.loss);
        if let Some(measured) = measured {
            experiment.limits = measured.limits(&experiment);
        }
        experiment
    }

    /// Fits trajectories of an environment with these `parameters [d_p]` of the dataset, as a problem and its result.
    pub(crate) fn fit(&self, parameters: &[Option<f64>], trajectories: &[Trajectory]) -> (Experiment<'_>, Fit) {
        self.fitting().fit(parameters, trajectories)
    }

    /// The errors of `states [T, C]` of each trajectory; values of which it is only known that they are `below` a limit have none.
    pub(super) fn errors(&self, experiment: &Experiment, states: &[Vec<f64>], below: &[bool]) -> FitErrors {
        let is_below = below.iter().copied().chain(std::iter::repeat(false));
        FitErrors::of_cells(
            self.manifest.channels.len(),
            self.settings.loss,
            experiment.cells.iter().zip(is_below).filter(|(_, below)| !below).filter_map(|(&(trajectory, cell), _)| {
                let channel = self.equations.channel_indices[experiment.model.channel(cell)];
                Some((channel, experiment.series[trajectory].observed()[cell], *states.get(trajectory)?.get(cell)?))
            }),
        )
    }

    /// The parameters of the noise, in the order of their columns; NaN where there is no fit.
    fn terms(&self, of_channels: Vec<Vec<f64>>) -> Vec<f64> {
        match of_channels.is_empty() {
            true => vec![f64::NAN; self.noise_terms().len()],
            false => of_channels.concat(),
        }
    }

    fn row(&self, id: String, truth: &[Option<f64>], experiment: &Experiment, fit: Fit, test_mse: Option<f64>) -> Row {
        let errors = self.errors(experiment, &fit.states, &fit.below);
        let profiles = fit.profiles;
        let mut autocorrelation = vec![f64::NAN; self.manifest.channels.len()];
        let measured = self.equations.channel_indices.iter().zip(&fit.autocorrelation);
        measured.for_each(|(&channel, rho)| autocorrelation[channel] = *rho);
        let fit = EnvironmentFit {
            environment: id,
            status: fit.status,
            reason: fit.reason,
            context: Vec::new(),
            values: &fit.values,
            covariance: &fit.covariance,
            truth,
            bounds: &self.equations.bounds,
            errors,
            noise_terms: self.terms(fit.noise_terms),
            likelihood: fit.likelihood,
            test_mse,
            points: fit.points,
            minima: fit.search.as_ref().map(|search| {
                let free = (fit.points as f64 - experiment.unknown_count() as f64).max(1.0);
                Minima { starts: search.costs.len(), at_best: search.at_best(free), second: search.second(free) }
            }),
            degrees_of_freedom: fit.degrees_of_freedom,
            shares: fit.shares,
            effective_points: fit.effective_points,
            autocorrelation,
            iterations: fit.iterations,
            in_hull: self.hull.holds(truth),
        };
        let mut row = fit.row();
        if !row.status.is_failure() {
            for (parameter, profile) in row.parameters.iter_mut().zip(&profiles) {
                (parameter.lower, parameter.upper) = (profile.lower, profile.upper);
            }
        }
        row
    }

    /// Mean squared error on held-out trajectories of an environment with the equations `model`, each from its first complete sample on; where
    /// it has none, and is no field, its initial state is fitted, as where channels are not just the states. None where one cannot be integrated.
    fn held_out_error(&self, rows: &[usize], model: &Model, values: &[f64]) -> Result<Option<f64>, Error> {
        if values.iter().any(|value| value.is_nan()) {
            return Ok(None);
        }
        let model = model.fixed_at(values);
        let mut error = PredictionErrors::default();
        let Some(dataset) = self.dataset else { return Ok(None) };
        for mut trajectory in dataset.read_rows(Split::AdaptTest, rows)? {
            let is_field = self.manifest.grid.is_some();
            let initial_state = match trajectory.start().filter(|_| model.is_observed_whole()) {
                Some(start) => {
                    trajectory.start_at(start);
                    InitialState::Observed
                }
                None if is_field || trajectory.missing() == trajectory.states.len() => continue,
                None => InitialState::Estimated,
            };
            let series = vec![self.equations.series(&trajectory)];
            let experiment = Experiment::new(Cow::Borrowed(&model), series, initial_state, Loss::Squares);
            let states = match initial_state {
                InitialState::Observed => {
                    experiment.states(&self.physics, &mut Budget::new(self.physics.max_evaluations, self.interrupt))
                }
                InitialState::Estimated => {
                    fitted_trajectories(&experiment, self.settings, &self.physics, None, self.interrupt)
                        .map(|it| it.rollout.states)
                }
            };
            let Some(states) = states else { return Ok(None) };
            for &(trajectory, cell) in &experiment.cells {
                error.add_value(states[trajectory][cell], experiment.series[trajectory].observed()[cell]);
            }
        }
        Ok(Some(error.mean_square()).filter(|_| error.count() > 0))
    }
}
