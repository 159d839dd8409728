//! Range and motion of the channels of the training split, and how well the kept model follows each on the validation
//! split.

use super::data::SplitData;
use super::error::Error;
use crate::checkpoint::{ChannelScale, Motion, ObservedChannel};
use crate::dataset;
use crate::dataset::Dataset;
use crate::engine::Engine;
use crate::schema::Split;

/// The range and the motion of each channel, in one streaming pass over the training split. The model's validation
/// errors are not filled in yet.
///
/// # Errors
/// Any error of reading.
pub(super) fn of_training(dataset: &Dataset) -> Result<Vec<ObservedChannel>, dataset::Error> {
    let shape = dataset.manifest().state_shape();
    let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); shape.channels];
    let mut motions: Vec<Option<Motion>> = vec![None; shape.channels];
    for batch in dataset.stream(Split::Train)? {
        for trajectory in batch? {
            for (channel, (least, greatest)) in ranges.iter_mut().enumerate() {
                let values = shape.channel(&trajectory.states, channel).flatten().filter(|value| !value.is_nan());
                for &value in values {
                    (*least, *greatest) = (least.min(value), greatest.max(value));
                }
            }
            for (least, motion) in motions.iter_mut().zip(Motion::of(&trajectory, &shape)) {
                *least = [*least, motion].into_iter().flatten().reduce(Motion::least);
            }
        }
    }
    let channel = |((least, greatest), motion): ((f64, f64), Option<Motion>)| {
        let least_motion = motion.unwrap_or(Motion { deviation: 0.0, rate: 0.0 });
        ObservedChannel { least, greatest, least_motion, validation: 0.0 }
    };
    Ok(ranges.into_iter().zip(motions).map(channel).collect())
}

/// Root mean squared error of each channel on whole trajectories of the validation split, in the units of the dataset;
/// for a channel without a value there, `otherwise` (the error over all channels in the model's own units) in the
/// channel's unit.
///
/// `weights [E, P]` and `scales [C]` are the model's.
///
/// # Errors
/// Any error of reading.
pub(super) fn validation_errors(
    validation: &SplitData,
    engine: &dyn Engine,
    weights: &[f64],
    scales: &[ChannelScale],
    otherwise: f64,
) -> Result<Vec<f64>, Error> {
    let mut squares = vec![(0.0, 0.0); scales.len()];
    validation.each_part(|batch| {
        let points = batch.channels / scales.len();
        let compared = engine.predict(weights, batch).into_iter().zip(&batch.targets).zip(&batch.mask).enumerate();
        for (i, ((predicted, target), _)) in compared.filter(|(_, (_, mask))| **mask > 0.0) {
            let (sum, count) = &mut squares[i % batch.channels / points];
            *sum += (predicted - target).powi(2);
            *count += 1.0;
        }
    })?;
    let mean = |(sum, count): (f64, f64)| if count > 0.0 { sum / count } else { otherwise };
    Ok(squares.into_iter().zip(scales).map(|(of_channel, scale)| mean(of_channel).sqrt() * scale.scale).collect())
}
