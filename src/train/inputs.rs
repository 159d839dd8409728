//! The scale of each input: `(u - centre) / scale`, `centre` its mean over the samples of the training split and `scale` its deviation.
//!
//! Inputs are scaled whatever is said of channels: no rollout is compared with them, and a network sees them beside the state. One that is
//! constant but for rounding keeps scale one.

use crate::checkpoint::ChannelScale;
use crate::dataset::{Dataset, Error, Store};
use crate::schema::Split;

/// Trajectories read at a time.
const READ_AHEAD: usize = 256;

/// Reads the training split in one streaming pass, if there are inputs. Values too large for their spread to be a number give a scale that is
/// not finite.
///
/// # Errors
/// Any error of reading.
pub fn input_scales(dataset: &Dataset) -> Result<Vec<ChannelScale>, Error> {
    let inputs = dataset.manifest().inputs.len();
    if inputs == 0 {
        return Ok(Vec::new());
    }
    // Welford's running mean and sum of squares.
    let (mut count, mut mean, mut squares) = (0.0, vec![0.0; inputs], vec![0.0; inputs]);
    for batch in dataset.batches(Split::Train, Store::Parquet, READ_AHEAD)? {
        for sample in batch?.iter().flat_map(|trajectory| trajectory.inputs.chunks_exact(inputs)) {
            count += 1.0;
            for ((value, mean), squares) in sample.iter().zip(&mut mean).zip(&mut squares) {
                let difference = value - *mean;
                *mean += difference / count;
                *squares += difference * (value - *mean);
            }
        }
    }
    let scale = |(mean, squares): (&f64, &f64)| {
        let deviation = (squares / f64::max(count, 1.0)).sqrt();
        let is_constant = deviation <= f64::EPSILON * f64::abs(*mean);
        ChannelScale { centre: *mean, scale: if is_constant { 1.0 } else { deviation } }
    };
    Ok(mean.iter().zip(&squares).map(scale).collect())
}
