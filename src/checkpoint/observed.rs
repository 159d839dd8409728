//! Range and motion of the channels in the training data, which environments to estimate are compared with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::{StateShape, Trajectory};

/// Fewest observed samples of a channel that its motion is computed from.
const FEWEST_SAMPLES: usize = 3;

/// One channel over the training split, and how well the model follows it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedChannel {
    /// Least value over the training split, in the channel's unit.
    pub least: f64,
    /// Greatest value over the training split, in the channel's unit.
    pub greatest: f64,
    /// The motion of the trajectory that moves least; zero where none shows any.
    pub least_motion: Motion,
    /// Root mean squared error of the model on the validation split, in the channel's unit.
    pub validation: f64,
}

/// How much a channel moves along a trajectory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Motion {
    /// Standard deviation over the samples; for a field, about the mean of each grid point.
    pub deviation: f64,
    /// The deviation divided by the time span of the samples, which suits comparison with shorter trajectories.
    pub rate: f64,
}

impl Motion {
    /// The motion of each channel of `trajectory` `[C]`; `None` where too few samples were observed or the squares
    /// overflow.
    pub fn of(trajectory: &Trajectory, shape: &StateShape) -> Vec<Option<Motion>> {
        (0..shape.channels).map(|channel| Motion::of_channel(trajectory, shape, channel)).collect()
    }

    fn of_channel(trajectory: &Trajectory, shape: &StateShape, channel: usize) -> Option<Motion> {
        let fields: Vec<&[f64]> = shape.channel(&trajectory.states, channel).collect();
        let is_observed = |field: &&[f64]| field.iter().any(|value| !value.is_nan());
        let observed: Vec<f64> = trajectory
            .times
            .iter()
            .zip(&fields)
            .filter(|(_, field)| is_observed(field))
            .map(|(time, _)| *time)
            .collect();
        if observed.len() < FEWEST_SAMPLES {
            return None;
        }
        let (mut squares, mut count) = (0.0, 0.0);
        for point in 0..shape.points() {
            let values = || fields.iter().map(|field| field[point]).filter(|value| !value.is_nan());
            let n = values().count() as f64;
            let mean = values().sum::<f64>() / n;
            squares += values().map(|value| (value - mean).powi(2)).sum::<f64>();
            count += n;
        }
        let deviation = (squares / count).sqrt();
        let motion = Motion { deviation, rate: deviation / (observed[observed.len() - 1] - observed[0]) };
        (motion.deviation.is_finite() && motion.rate.is_finite()).then_some(motion)
    }

    /// The smaller deviation and the smaller rate of the two.
    pub fn least(self, other: Motion) -> Motion {
        Motion { deviation: self.deviation.min(other.deviation), rate: self.rate.min(other.rate) }
    }
}
