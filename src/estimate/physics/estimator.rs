//! Estimates by known equations.

use super::cramer_rao;
use super::fit;
use super::settings::Settings;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use super::budget::Meter;
use super::equations::Equations;
use super::experiment::Experiment;
use super::result::{Fit, Names};
use crate::dataset::Dataset;
use crate::estimate::driver::{check_settings, estimate_splits};
use crate::estimate::error::Error;
use crate::estimate::hull::Hull;
use crate::estimate::settings::{InitialState, Loss};
use crate::estimate::stream::{Observed, environments};
use crate::estimate::table::evaluation::{Evaluation, FitErrors, SquaredError};
use crate::estimate::table::output::Outcome;
use crate::estimate::table::row::{Found, Row, Status};
use crate::estimate::table::{fitted, output};
use crate::progress::{Event, Interrupt, Run};
use crate::schema::{Split, Trajectory};

/// How much worse than in the table a trajectory may be drawn: nobody sees it.
pub(crate) const VISIBLE: f64 = 1e-3;

/// Estimates the parameters of every environment of the splits in `settings`, and puts `directory` in place.
///
/// # Errors
/// See [`Error`]. An environment that cannot be fitted is not an error: it has a status.
pub fn run(
    settings: &crate::estimate::settings::Settings,
    dataset: &Dataset,
    directory: &Path,
    run: &Run,
) -> Result<Outcome, Error> {
    crate::estimate::driver::check_bounds(settings)?;
    let estimator = Estimator::new(settings, dataset, run.interrupt)?;
    check_settings(settings, dataset, &estimator.equations.quantities)?;
    let output = output::Output::create(directory, dataset, None, &estimator.equations.quantities, settings)?;
    let output = output.with_start(estimator.equations.start(estimator.initial_state));
    let block = |split, block: Vec<Observed>| estimator.block(split, block);
    let outcome = estimate_splits(settings, dataset, output, Evaluation::default(), run, block)?;
    let early = estimator.early.into_inner();
    if early > 0 {
        let what =
            "time stands in the equations, and samples lie before t = 0; `reason` of each says what became of them";
        run.emit(Event::Warn(format!("estimate.physics.system: {what} (environments: {early})")));
    }
    Ok(outcome)
}

/// The first trajectory of an environment with something to follow, and the fitted states `[T, C]` at its samples, complete ones and others:
/// those of the estimated parameters in its `row`, under which only initial states are fitted again. Where that does not explain the data as
/// well as the row says, all is.
///
/// # Errors
/// If the dataset cannot be read, has no such environment, or it cannot be fitted.
pub fn portrait(
    settings: &crate::estimate::settings::Settings,
    dataset: &Dataset,
    split: Split,
    row: &Row,
    run: &Run,
) -> Result<(Trajectory, Vec<f64>), Error> {
    let environment = row.environment.as_str();
    let index = dataset.index(split)?;
    let rows: Vec<usize> = (0..index.len()).filter(|&row| index[row].environment == environment).collect();
    let trajectories = dataset.read_rows(split, &rows)?;
    let estimator = Estimator::new(settings, dataset, run.interrupt)?;
    let trajectories = estimator.usable(trajectories);
    let states = estimator.states_of(row, &trajectories).unwrap_or_else(|| {
        let (experiment, fit) = estimator.fit(&trajectories);
        estimator.in_dataset_order(&experiment, &fit.states)
    });
    if let Some(signal) = run.interrupt.requested() {
        return Err(Error::Interrupted { signal });
    }
    let mut fitted = trajectories.into_iter().zip(states);
    let drawn = fitted.find(|(trajectory, _)| trajectory.len() > 1 && trajectory.missing() < trajectory.states.len());
    drawn.ok_or_else(|| Error::Invalid {
        path: dataset.directory().to_owned(),
        found: format!("no environment `{environment}` in its {split} split that can be fitted and drawn"),
        expected: "the dataset that the estimates were made from".to_owned(),
    })
}

pub(crate) struct Estimator<'a> {
    settings: &'a crate::estimate::settings::Settings,
    of_physics: Settings,
    dataset: &'a Dataset,
    equations: Equations,
    hull: Hull,
    /// Rows of held-out trajectories of adapted environments.
    held_out: BTreeMap<String, Vec<usize>>,
    initial_state: InitialState,
    /// Environments with samples before the time at which the system starts.
    early: AtomicUsize,
    interrupt: &'a Interrupt,
}

impl<'a> Estimator<'a> {
    fn new(
        settings: &'a crate::estimate::settings::Settings,
        dataset: &'a Dataset,
        interrupt: &'a Interrupt,
    ) -> Result<Self, Error> {
        let of_physics = settings.physics.clone().unwrap_or_default();
        let equations = Equations::new(&of_physics, settings, dataset)?;
        let held_out = environments(&dataset.index(Split::AdaptTest)?).into_iter().map(|it| (it.id, it.rows)).collect();
        let hull = Hull::new(equations.known.clone());
        // Fields have too many values to estimate them all.
        let usual = if dataset.manifest().grid.is_some() { InitialState::Observed } else { InitialState::Estimated };
        let initial_state = settings.initial_state.unwrap_or(usual);
        Ok(Estimator {
            settings,
            of_physics,
            dataset,
            equations,
            hull,
            held_out,
            initial_state,
            early: AtomicUsize::new(0),
            interrupt,
        })
    }

    /// The rows of a block of environments, and their fitted trajectories.
    fn block(&self, split: Split, block: Vec<Observed>) -> Result<Vec<(Row, fitted::Fit)>, Error> {
        block.into_par_iter().map(|observed| self.environment(split, observed)).collect()
    }

    fn environment(&self, split: Split, observed: Observed) -> Result<(Row, fitted::Fit), Error> {
        let Observed { id, parameters, trajectories } = observed;
        let trajectories = self.usable(trajectories);
        let (experiment, fit) = self.fit(&trajectories);
        self.early.fetch_add(usize::from(experiment.early().is_some()), Relaxed);
        let test_mse = match self.held_out.get(&id) {
            Some(held_out) if split == Split::Adapt => self.held_out_error(held_out, &fit.values)?,
            _ => None,
        };
        let states = self.in_dataset_order(&experiment, &fit.states);
        let samples = match self.settings.fitted {
            true => fitted::Fit::of_states(&id, &trajectories, &states, self.dataset.manifest().channels.len()),
            false => fitted::Fit::default(),
        };
        let truth = self.equations.truth(&parameters);
        let bounds = self.equations.noise(split).and_then(|noise| {
            let known: Vec<f64> = truth.iter().copied().collect::<Option<_>>()?;
            cramer_rao::standard_errors(&experiment, &known, &fit.initial, &noise, &self.of_physics, self.interrupt)
        });
        let mut row = self.row(id, &truth, &experiment, fit, test_mse);
        row.set_bounds(bounds.into_iter().flatten().map(Some).collect());
        Ok((row, samples))
    }

    /// Fitted states of each trajectory as the dataset has its samples and channels.
    fn in_dataset_order(&self, experiment: &Experiment, states: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let size = self.equations.model.size();
        let fitted = experiment.series.iter().zip(states);
        fitted.map(|(series, states)| self.equations.in_dataset_order(&series.of_all_samples(states, size))).collect()
    }

    /// The trajectories of an environment that have samples, of fields from their first complete samples on: what is missing there is not
    /// estimated.
    fn usable(&self, trajectories: Vec<Trajectory>) -> Vec<Trajectory> {
        match self.dataset.manifest().grid {
            Some(_) => trajectories.into_iter().filter_map(Trajectory::from_start).collect(),
            None => trajectories.into_iter().filter(|trajectory| !trajectory.is_empty()).collect(),
        }
    }

    fn fit(&self, trajectories: &[Trajectory]) -> (Experiment<'_>, Fit) {
        let series = trajectories.iter().map(|trajectory| self.equations.series(trajectory)).collect();
        let experiment = Experiment::new(&self.equations.model, series, self.initial_state, self.settings.loss);
        let Equations { names, starts, channel_names, .. } = &self.equations;
        let named = Names { parameters: names, channels: channel_names };
        let fit = match experiment.beyond_squares() {
            None => fit::fit(&experiment, named, starts, self.settings, &self.of_physics, self.interrupt),
            Some((channel, size)) => {
                let name = &channel_names[channel];
                let reason = format!(
                    "`{name}` has values of about {size:.0e}, the squares of which are no numbers; correct them, or give them in another unit"
                );
                Fit::nothing(&experiment, (Status::Diverged, reason), experiment.cells.len(), 0)
            }
        };
        (experiment, fit)
    }

    /// The states `[T, C]` of trajectories under the parameters of their row, if they explain them as well as it says.
    fn states_of(&self, row: &Row, trajectories: &[Trajectory]) -> Option<Vec<Vec<f64>>> {
        let values: Vec<f64> = row.parameters.iter().map(|parameter| parameter.value).collect();
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let model = self.equations.model.with(&values);
        let series = trajectories.iter().map(|trajectory| self.equations.series(trajectory)).collect();
        let experiment = Experiment::new(&model, series, self.initial_state, self.settings.loss);
        let states = fit::states(&experiment, self.settings, &self.of_physics, self.interrupt)?;
        let nothing: Vec<Vec<f64>> = states.iter().map(|states| vec![0.0; states.len()]).collect();
        let [rmse, size] = [&states, &nothing].map(|states| self.errors(&experiment, states).rmse);
        (rmse <= (1.0 + VISIBLE) * row.trajectory_rmse + VISIBLE * size)
            .then(|| self.in_dataset_order(&experiment, &states))
    }

    /// What is left of the observed values beside `states [T, C]` of each trajectory.
    fn errors(&self, experiment: &Experiment, states: &[Vec<f64>]) -> FitErrors {
        FitErrors::of(
            self.dataset.manifest().channels.len(),
            self.settings.loss,
            experiment.cells.iter().filter_map(|&(trajectory, cell)| {
                let channel = self.equations.places[experiment.model.channel(cell)];
                Some((channel, experiment.series[trajectory].observed[cell], *states.get(trajectory)?.get(cell)?))
            }),
        )
    }

    fn row(&self, id: String, truth: &[Option<f64>], experiment: &Experiment, fit: Fit, test_mse: Option<f64>) -> Row {
        let errors = self.errors(experiment, &fit.states);
        let degrees = fit.points as f64 - experiment.unknowns() as f64;
        let found = Found {
            environment: id,
            status: fit.status,
            reason: fit.reason,
            context: Vec::new(),
            values: &fit.values,
            covariance: &fit.covariance,
            truth,
            bounds: &self.equations.bounds,
            errors,
            test_mse,
            points: fit.points,
            degrees,
            iterations: fit.iterations,
            in_hull: self.hull.holds(truth),
        };
        found.row()
    }

    /// Mean squared error on held-out trajectories, each from its first complete sample on; to one without, of values at points, an initial
    /// state is fitted. None where one cannot be followed.
    fn held_out_error(&self, rows: &[usize], values: &[f64]) -> Result<Option<f64>, Error> {
        if values.iter().any(|value| value.is_nan()) {
            return Ok(None);
        }
        let model = self.equations.model.with(values);
        let mut error = SquaredError::default();
        for mut trajectory in self.dataset.read_rows(Split::AdaptTest, rows)? {
            let is_field = self.dataset.manifest().grid.is_some();
            let initial_state = match trajectory.start() {
                Some(start) => {
                    trajectory.start_at(start);
                    InitialState::Observed
                }
                None if is_field || trajectory.missing() == trajectory.states.len() => continue,
                None => InitialState::Estimated,
            };
            let series = vec![self.equations.series(&trajectory)];
            let experiment = Experiment::new(&model, series, initial_state, Loss::Squares);
            let states = match initial_state {
                InitialState::Observed => {
                    let mut meter = Meter::new(self.of_physics.max_evaluations, self.interrupt);
                    experiment.states(&self.of_physics, &mut meter)
                }
                InitialState::Estimated => fit::states(&experiment, self.settings, &self.of_physics, self.interrupt),
            };
            let Some(states) = states else { return Ok(None) };
            for &(trajectory, cell) in &experiment.cells {
                error.add_value(states[trajectory][cell] - experiment.series[trajectory].observed[cell]);
            }
        }
        Ok(Some(error.mean()).filter(|_| error.count() > 0))
    }
}
