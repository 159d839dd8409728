//! Centre and scale of each channel over the observed cells of the training split, which is read as a stream because it
//! may be larger than memory.
//!
//! ```text
//! standard   centre = mean,     scale = sqrt(mean (y - mean)^2)
//! robust     centre = median,   scale = (q_75 - q_25) / 1.349
//! ```
//!
//! `q_p` is the value of rank `floor(p (n - 1))` of `n`; 1.349 is the distance of the quartiles of a Gaussian in
//! standard deviations. Where the quartiles coincide (half of the channel or more is a single value), the standard
//! deviation is used instead. A channel that is constant up to rounding keeps scale one.
//!
//! On a grid with a boundary of zeros, zero stays zero: the centre is zero, and the scale `sqrt(centre^2 + scale^2)` with both as above.
//!
//! Ranks are found by radix selection: each value is mapped to a 64-bit integer of the same order, and each of four
//! passes finds the next 16 bits by counting the values that share the bits found so far. The result is exact and does
//! not depend on the order of the values. Source: D. Knuth, The Art of Computer Programming 3, sections 5.2.5 and
//! 5.3.3.

use super::moments::Moments;
use super::settings::Scaling;
use crate::checkpoint::ChannelScale;
use crate::dataset::{Dataset, Error};
use crate::schema::{Boundary, Split};

/// Bits that one pass finds, and the number of their values.
const DIGIT: u32 = 16;
const DIGITS: usize = 1 << DIGIT;
/// Largest absolute values of a channel that a model can be trained on without scaling.
const USUAL: std::ops::RangeInclusive<f64> = 0.01..=100.0;
/// Distance of the quartiles of a Gaussian, in standard deviations.
const GAUSSIAN_WIDTH: f64 = 1.349;

/// The scale of each channel, and whether it is constant over the training split.
///
/// Values so large that their variance overflows give a scale that is not finite.
///
/// # Errors
/// Any error of reading.
pub(super) fn channel_scales(dataset: &Dataset, scaling: Scaling) -> Result<Vec<(ChannelScale, bool)>, Error> {
    let channels = dataset.manifest().channels.len();
    if scaling == Scaling::None {
        return Ok(vec![(ChannelScale { centre: 0.0, scale: 1.0 }, false); channels]);
    }
    let mut moments = vec![Moments::default(); channels];
    each_value(dataset, |c, value| moments[c].add(value))?;
    let scale = |it: &Moments| {
        let deviation = it.deviation();
        (ChannelScale { centre: it.mean, scale: deviation.unwrap_or(1.0) }, deviation.is_none())
    };
    let mut scales: Vec<(ChannelScale, bool)> = moments.iter().map(scale).collect();
    if scaling == Scaling::Robust {
        let count: Vec<u64> = moments.iter().map(|it| it.count).collect();
        for ((scale, is_constant), [low, median, high]) in scales.iter_mut().zip(quartiles(dataset, &count)?) {
            if !*is_constant && median.is_finite() {
                let width = (high - low) / GAUSSIAN_WIDTH;
                *scale = ChannelScale { centre: median, scale: if width > 0.0 { width } else { scale.scale } };
            }
        }
    }
    if dataset.manifest().state_shape().boundaries.contains(&Boundary::Zero) {
        for (ChannelScale { centre, scale }, is_constant) in &mut scales {
            *scale = if *is_constant { *scale } else { scale.hypot(*centre) };
            *centre = 0.0;
        }
    }
    Ok(scales)
}

/// Channels whose largest absolute value in the first batch of trajectories is far from one, with that value. Without
/// scaling, a model hardly sees a small channel, and hardly anything beside a large one.
///
/// # Errors
/// Any error of reading.
pub(super) fn odd_channels(dataset: &Dataset) -> Result<Vec<(usize, f64)>, Error> {
    let shape = dataset.manifest().state_shape();
    let Some(batch) = dataset.stream(Split::Train)?.next() else { return Ok(Vec::new()) };
    let batch = batch?;
    let greatest = |c: usize| {
        let fields = batch.iter().flat_map(|trajectory| shape.channel(&trajectory.states, c)).flatten();
        fields.filter(|value| !value.is_nan()).fold(0.0, |greatest: f64, value| greatest.max(value.abs()))
    };
    let sizes = (0..shape.channels).map(|c| (c, greatest(c)));
    Ok(sizes.filter(|(_, size)| *size > 0.0 && !USUAL.contains(size)).collect())
}

/// Calls `take` with the channel and the value of every observed cell of the training split.
fn each_value(dataset: &Dataset, mut take: impl FnMut(usize, f64)) -> Result<(), Error> {
    let shape = dataset.manifest().state_shape();
    let (channels, points) = (shape.channels, shape.points());
    for batch in dataset.stream(Split::Train)? {
        for state in batch?.iter().flat_map(|trajectory| trajectory.states.chunks_exact(shape.size())) {
            for point in 0..points {
                for c in 0..channels {
                    let value = state[c * points + point];
                    if !value.is_nan() {
                        take(c, value);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Maps a number to an integer of the same order; [`value`] maps it back.
fn ordered(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn value(ordered: u64) -> f64 {
    f64::from_bits(if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered })
}

/// A value whose first bits are known.
#[derive(Clone)]
struct Search {
    /// The bits known so far.
    prefix: u64,
    /// Rank of the value among those with this prefix.
    rank: u64,
    /// How many values have this prefix followed by each digit.
    counts: Vec<u64>,
}

/// The lower quartile, the median and the upper quartile of each channel of which `count [C]` values are observed; NaN
/// where there are none.
fn quartiles(dataset: &Dataset, count: &[u64]) -> Result<Vec<[f64; 3]>, Error> {
    let search = |n: u64, quarter: u64| Search {
        prefix: 0,
        rank: (u128::from(n.saturating_sub(1)) * u128::from(quarter) / 4) as u64,
        counts: vec![0; DIGITS],
    };
    let mut searches: Vec<[Search; 3]> = count.iter().map(|&n| [1, 2, 3].map(|quarter| search(n, quarter))).collect();
    for below in (0..u64::BITS).step_by(DIGIT as usize).rev() {
        each_value(dataset, |c, value| {
            let ordered = ordered(value);
            for search in &mut searches[c] {
                // All bits above are known; above the first digit there are none.
                if ordered.checked_shr(below + DIGIT).unwrap_or(0) == search.prefix {
                    search.counts[(ordered >> below) as usize % DIGITS] += 1;
                }
            }
        })?;
        for search in searches.iter_mut().flatten() {
            let mut digit = 0;
            while digit + 1 < DIGITS && search.rank >= search.counts[digit] {
                search.rank -= search.counts[digit];
                digit += 1;
            }
            search.prefix = search.prefix << DIGIT | digit as u64;
            search.counts.fill(0);
        }
    }
    let found = |(searches, &n): (&[Search; 3], &u64)| match n {
        0 => [f64::NAN; 3],
        _ => [0, 1, 2].map(|quarter| value(searches[quarter].prefix)),
    };
    Ok(searches.iter().zip(count).map(found).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_in_the_order_of_numbers() {
        let values = [f64::NEG_INFINITY, -1e300, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, 1.0 + f64::EPSILON, 1e300];
        assert!(values.map(ordered).is_sorted());
        assert!(values.iter().all(|&number| value(ordered(number)).to_bits() == number.to_bits()));
    }
}
