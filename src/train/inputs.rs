//! The scale of each input: `(u - centre) / scale`, where `centre` is its mean over the samples of the training split
//! from the first observed state on, and `scale` its standard deviation.
//!
//! Inputs are scaled whatever the setting for channels: no rollout is compared with them, and the network gets them
//! beside the state. Nothing can be learned of an input that is constant up to rounding; its scale is its own size, or
//! one if that is larger, so that a different value changes little.

use super::moments::Moments;
use crate::checkpoint::{ChannelScale, InputScale};
use crate::dataset::{Dataset, Error};
use crate::schema::{Split, Trajectory};

/// Reads the training split in one streaming pass, if there are inputs. Values so large that their variance overflows
/// give a scale that is not finite.
///
/// # Errors
/// Any error of reading.
pub(super) fn input_scales(dataset: &Dataset) -> Result<Vec<InputScale>, Error> {
    let inputs = dataset.manifest().inputs.len();
    if inputs == 0 {
        return Ok(Vec::new());
    }
    let mut all = vec![(Moments::default(), f64::INFINITY, f64::NEG_INFINITY); inputs];
    for batch in dataset.stream(Split::Train)? {
        for trajectory in batch?.into_iter().map(Trajectory::from_observed) {
            for sample in trajectory.inputs.chunks_exact(inputs) {
                for ((moments, least, greatest), value) in all.iter_mut().zip(sample) {
                    moments.add(*value);
                    (*least, *greatest) = (least.min(*value), greatest.max(*value));
                }
            }
        }
    }
    let scale = |(moments, least, greatest): (Moments, f64, f64)| {
        let centre = moments.mean;
        let scale = moments.deviation().unwrap_or_else(|| centre.abs().max(1.0));
        InputScale { scale: ChannelScale { centre, scale }, least, greatest }
    };
    Ok(all.into_iter().map(scale).collect())
}
