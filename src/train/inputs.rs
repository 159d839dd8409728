//! The scale of each input: `(u - centre) / scale`, `centre` its mean over the samples of the training split and `scale` its deviation.
//!
//! Inputs are scaled whatever is said of channels: no rollout is compared with them, and a network sees them beside the state. Of one that is
//! constant but for rounding nothing is learned: its scale is its own size, or one if that is more, so that another value moves little.

use crate::checkpoint::{ChannelScale, InputScale};
use crate::dataset::{Dataset, Error, Store};
use crate::schema::Split;

/// Trajectories read at a time.
const READ_AHEAD: usize = 256;

/// Reads the training split in one streaming pass, if there are inputs. Values too large for their spread to be a number give a scale that is
/// not finite.
///
/// # Errors
/// Any error of reading.
pub fn input_scales(dataset: &Dataset) -> Result<Vec<InputScale>, Error> {
    let inputs = dataset.manifest().inputs.len();
    if inputs == 0 {
        return Ok(Vec::new());
    }
    // Welford's running mean and sum of squares.
    let (mut count, mut mean, mut squares) = (0.0, vec![0.0; inputs], vec![0.0; inputs]);
    let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); inputs];
    for batch in dataset.batches(Split::Train, Store::Parquet, READ_AHEAD)? {
        for sample in batch?.iter().flat_map(|trajectory| trajectory.inputs.chunks_exact(inputs)) {
            count += 1.0;
            for (((value, mean), squares), range) in sample.iter().zip(&mut mean).zip(&mut squares).zip(&mut ranges) {
                *range = (range.0.min(*value), range.1.max(*value));
                let difference = value - *mean;
                *mean += difference / count;
                *squares += difference * (value - *mean);
            }
        }
    }
    let scale = |((mean, squares), (least, greatest)): ((f64, f64), (f64, f64))| {
        let deviation = (squares / f64::max(count, 1.0)).sqrt();
        let is_constant = deviation <= f64::EPSILON * mean.abs();
        let scale = ChannelScale { centre: mean, scale: if is_constant { mean.abs().max(1.0) } else { deviation } };
        InputScale { scale, least, greatest }
    };
    Ok(mean.into_iter().zip(squares).zip(ranges).map(scale).collect())
}
