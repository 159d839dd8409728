//! The data that a context is fitted to.

use super::minimizer::Prior;
use crate::checkpoint::Units;
use crate::engine::{Segment, Wrt};
use crate::estimate::settings::InitialState;
use crate::schema::Trajectory;

/// The observed trajectories of one environment, in the model's own units.
#[derive(Clone, Debug, Default)]
pub struct Support {
    /// The trajectories, each from the sample that its rollout starts from.
    pub trajectories: Vec<Trajectory>,
}

impl Support {
    /// Converts `trajectories` to the `units` of a model. Each starts at its first observed state or, where initial
    /// states are not estimated, at its first complete sample; then those without a complete sample that another
    /// follows are left out.
    pub fn new(trajectories: impl IntoIterator<Item = Trajectory>, units: &Units, initial_state: InitialState) -> Self {
        let trajectories = trajectories.into_iter();
        let mut trajectories: Vec<Trajectory> = match initial_state {
            InitialState::Observed => trajectories.filter_map(Trajectory::from_start).collect(),
            InitialState::Estimated => {
                trajectories.filter(|trajectory| !trajectory.is_empty()).map(Trajectory::from_observed).collect()
            }
        };
        trajectories.iter_mut().for_each(|trajectory| units.scale(trajectory));
        Support { trajectories }
    }

    /// Number of observed values in the fit, the first samples not counted.
    pub fn points(&self) -> usize {
        let later = self.trajectories.iter().flat_map(|it| it.states.iter().skip(it.channels()));
        later.filter(|value| !value.is_nan()).count()
    }

    /// The trajectories and the given runs of `states` `[.., C]`, converted to the dataset's units.
    pub(crate) fn in_units(&self, states: &[Vec<f64>], units: &Units) -> (Vec<Trajectory>, Vec<Vec<f64>>) {
        let mut trajectories = self.trajectories.clone();
        trajectories.iter_mut().for_each(|trajectory| units.unscale(trajectory));
        let unscaled = |states: &Vec<f64>| {
            states.iter().zip(units.state.iter().cycle()).map(|(z, scale)| scale.unscaled(*z)).collect()
        };
        (trajectories, states.iter().map(unscaled).collect())
    }

    pub(crate) fn segments(&self) -> Vec<Segment<'_>> {
        self.trajectories
            .iter()
            .map(|it| Segment { times: &it.times, states: &it.states, inputs: &it.inputs })
            .collect()
    }

    /// Initial states `[B, C]` that their fit starts from: the first observed value of each channel, or the mean of its
    /// prior where a trajectory has none.
    pub(crate) fn initial_guess(&self) -> Vec<f64> {
        let mut guess = Vec::new();
        for trajectory in &self.trajectories {
            let channels = trajectory.channels();
            for c in 0..channels {
                let mut of_channel = trajectory.states.iter().skip(c).step_by(channels).copied();
                guess.push(of_channel.find(|value| !value.is_nan()).unwrap_or_else(|| self.spread(c).0));
            }
        }
        guess
    }

    /// Priors of the estimated initial values that were not observed, with their indices in the initial states `[B,
    /// C]`.
    pub(crate) fn priors(&self, wrt: Wrt) -> Vec<Prior> {
        if wrt == Wrt::Context {
            return Vec::new();
        }
        let first = self.trajectories.iter().flat_map(|it| it.states[..it.channels()].iter().enumerate());
        let missing = first.enumerate().filter(|(_, (_, value))| value.is_nan());
        let prior = |(place, (c, _))| {
            let (mean, std_dev) = self.spread(c);
            Prior { place, mean, std_dev }
        };
        missing.map(prior).collect()
    }

    /// Mean and standard deviation of the observed values of channel `c`; zero and one, those of the model's own units,
    /// where none was observed; one also where the values are constant.
    fn spread(&self, c: usize) -> (f64, f64) {
        let observed = || {
            let values = self.trajectories.iter().flat_map(|it| it.states.iter().skip(c).step_by(it.channels().max(1)));
            values.filter(|value| !value.is_nan())
        };
        let count = observed().count() as f64;
        if count == 0.0 {
            return (0.0, 1.0);
        }
        let mean = observed().sum::<f64>() / count;
        let std_dev = (observed().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
        (mean, if std_dev > f64::EPSILON * mean.abs() { std_dev } else { 1.0 })
    }
}
