//! Whether the observed states of an environment are like those that a model was trained on.

use super::context_range::is_beyond;
use crate::checkpoint::{Manifest, Motion};
use crate::schema::Trajectory;

/// A channel stands still if it moves less than this share of the least motion over the training trajectories.
const STILL: f64 = 0.05;

/// The first of `states [T, C]` (on a grid `[T, C, n_1, .., n_k]`) at `times [T]`, in the dataset's units, that lies
/// outside the channel's range over the training split by more than `slack` times its width, in words; `None` if there
/// is none.
pub fn states_extrapolate(model: &Manifest, times: &[f64], states: &[f64], slack: f64) -> Option<String> {
    let shape = model.state_shape();
    model.channels.iter().zip(&model.observed).enumerate().find_map(|(c, (channel, observed))| {
        let (least, greatest) = (observed.least, observed.greatest);
        let mut fields = times.iter().zip(shape.channel(states, c));
        fields.find_map(|(time, field)| {
            let beyond = |value: &&f64| !value.is_nan() && is_beyond(**value, least, greatest, slack);
            let name = &channel.name;
            field.iter().find(beyond).map(|value| {
                format!("{name} is {value:?} at time {time}; the training split goes from {least:?} to {greatest:?}")
            })
        })
    })
}

/// The channel, in words, that moves so much less than in any training trajectory that it is probably stuck or in
/// another unit; `None` if there is none.
pub(crate) fn stands_still(model: &Manifest, trajectory: &Trajectory) -> Option<String> {
    let motions = Motion::of(trajectory, &model.state_shape());
    let mut channels = model.channels.iter().zip(&model.observed).zip(motions);
    channels.find_map(|((channel, observed), motion)| {
        let (motion, least) = (motion?, observed.least_motion);
        let is_still = motion.deviation < STILL * least.deviation && motion.rate < STILL * least.rate;
        is_still.then(|| {
            format!(
                "{} stands still along trajectory {}, with a standard deviation of {:.3e}; those of the training split have {:.3e} or more",
                channel.name, trajectory.trajectory, motion.deviation, least.deviation
            )
        })
    })
}
