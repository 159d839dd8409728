//! Whether what was observed of an environment is like what a model was trained on.

use super::context_range::is_beyond;
use crate::checkpoint::{Manifest, Motion};
use crate::schema::Trajectory;

/// Share of the motion of the training trajectory that moves least, below which a channel stands still.
const STILL: f64 = 0.05;

/// Which of `states [T, C]` at `times [T]`, on a grid `[T, C, n_1, .., n_k]`, in the dataset's units, lies further outside the range of the
/// training split than `slack` widths of it, if one does.
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

/// Which channel of a trajectory moves so little, beside the training trajectory that moves least, that it is stuck or its unit is another.
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
