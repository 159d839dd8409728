//! Trajectories beside what was fitted to them.

use std::borrow::Cow;

use super::estimator::Estimator;
use super::experiment::{Experiment, Rollout};
use super::fit::trajectories as fitted_trajectories;
use crate::dataset::Dataset;
use crate::estimate::error::Error;
use crate::estimate::settings::Settings;
use crate::estimate::table::row::Row;
use crate::progress::Run;
use crate::schema::{Split, Trajectory};

/// Share by which the errors of drawn trajectories may exceed those in the table: it is not visible.
const VISIBLE: f64 = 1e-3;

/// A trajectory beside what was fitted to it, at all its samples.
pub struct Drawn {
    /// What was observed.
    pub trajectory: Trajectory,
    /// The fitted channels `[T, C]`.
    pub states: Vec<f64>,
    /// The fitted states that nobody measures `[T, H]`, in the order of [`Manifest::hidden`](crate::estimate::Manifest::hidden).
    pub hidden: Vec<f64>,
}

/// The first trajectory of an environment that can be drawn, with what was fitted to it. Its initial states are fitted
/// again under the parameters of its `row`; if that explains the data less well than the row says, the parameters are as well.
///
/// # Errors
/// If the dataset cannot be read, has no such environment, or it cannot be fitted.
pub(crate) fn drawn(
    settings: &Settings,
    dataset: &Dataset,
    split: Split,
    row: &Row,
    run: &Run,
) -> Result<Drawn, Error> {
    let environment = row.environment.as_str();
    let index = dataset.index(split)?;
    let rows: Vec<usize> = (0..index.len()).filter(|&row| index[row].environment == environment).collect();
    let trajectories = dataset.read_rows(split, &rows)?;
    let estimator = Estimator::new(settings, dataset, run.interrupt)?;
    let trajectories = estimator.usable(trajectories);
    let Fitted { channels, hidden } = estimator.fitted_to(row, &trajectories).unwrap_or_else(|| {
        let parameters = trajectories.first().map_or(&[][..], |it| &it.parameters);
        let (experiment, fit) = estimator.fit(parameters, &trajectories);
        estimator.fitted(&experiment, &fit.states, &fit.beneath)
    });
    if let Some(signal) = run.interrupt.requested() {
        return Err(Error::Interrupted { signal });
    }
    let hidden = hidden.into_iter().chain(std::iter::repeat(Vec::new()));
    let mut fitted = trajectories.into_iter().zip(channels).zip(hidden);
    let drawn = fitted.find(|((it, _), _)| it.len() > 1 && it.missing() < it.states.len());
    let drawn = drawn.map(|((trajectory, states), hidden)| Drawn { trajectory, states, hidden });
    drawn.ok_or_else(|| Error::Invalid {
        path: dataset.directory().to_owned(),
        found: format!("no environment `{environment}` in its {split} split that can be fitted and drawn"),
        expected: "the dataset that the estimates were made from".to_owned(),
    })
}

/// What was fitted to trajectories, at all their samples.
struct Fitted {
    /// `[T, C]` of each, in the order of the dataset.
    channels: Vec<Vec<f64>>,
    /// States that nobody measures `[T, H]` of each; may be empty.
    hidden: Vec<Vec<f64>>,
}

impl Estimator<'_> {
    /// Trajectories under the parameters of their row, if these explain them as well as the row says.
    fn fitted_to(&self, row: &Row, trajectories: &[Trajectory]) -> Option<Fitted> {
        let values: Vec<f64> = row.parameters.iter().map(|parameter| parameter.value).collect();
        if values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let model = self.equations.model(&trajectories.first()?.parameters).ok()?.fixed_at(&values);
        let series = trajectories.iter().map(|trajectory| self.equations.series(trajectory)).collect();
        let experiment = Experiment::new(Cow::Owned(model), series, self.initial_state, self.settings.loss);
        let Rollout { states, beneath, .. } =
            fitted_trajectories(&experiment, self.settings, &self.physics, self.interrupt)?;
        let zero: Vec<Vec<f64>> = states.iter().map(|states| vec![0.0; states.len()]).collect();
        let [rmse, size] = [&states, &zero].map(|states| self.errors(&experiment, states, &[]).rmse);
        (rmse <= (1.0 + VISIBLE) * row.trajectory_rmse + VISIBLE * size)
            .then(|| self.fitted(&experiment, &states, &beneath))
    }

    fn fitted(&self, experiment: &Experiment, channels: &[Vec<f64>], beneath: &[Vec<f64>]) -> Fitted {
        let channels = self.in_dataset_order(experiment, channels);
        Fitted { channels, hidden: self.hidden(experiment, beneath) }
    }
}
