//! Where trajectories start, how long they are, and how far their samples are apart.

use crate::dataset::{Dataset, Error};
use crate::schema::Split;

/// What a file of equations says of trajectories, as those of a training split are.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampling {
    /// The longest one from its first sample to one interval behind its last.
    pub horizon: f64,
    /// The median interval between samples.
    pub time_step: f64,
    /// From the least to the greatest first sample of each channel `[C]`, rounded outwards; not a single value.
    pub initial: Vec<[f64; 2]>,
}

impl Sampling {
    /// Of the training split of `dataset`, which has no space.
    ///
    /// # Errors
    /// Any error of reading.
    pub fn of_training(dataset: &Dataset) -> Result<Self, Error> {
        let channels = dataset.manifest().channels.len();
        let none = [f64::INFINITY, f64::NEG_INFINITY];
        let (mut first, mut all) = (vec![none; channels], vec![none; channels]);
        let (mut intervals, mut longest) = (Vec::new(), 0.0_f64);
        for batch in dataset.stream(Split::Train)? {
            for trajectory in batch? {
                intervals.extend(trajectory.times.windows(2).map(|pair| pair[1] - pair[0]));
                let ends = trajectory.times.first().zip(trajectory.times.last());
                longest = longest.max(ends.map_or(0.0, |(first, last)| last - first));
                for (t, sample) in trajectory.states.chunks_exact(channels).enumerate() {
                    let ranges = if t == 0 { &mut [&mut first, &mut all][..] } else { &mut [&mut all][..] };
                    for range in ranges {
                        range.iter_mut().zip(sample).for_each(|(range, value)| widen(range, *value));
                    }
                }
            }
        }
        intervals.sort_by(f64::total_cmp);
        let time_step = intervals.get(intervals.len() / 2).map_or(f64::NAN, |interval| decimal(*interval, 12));
        let initial = first.into_iter().zip(all).map(|(first, all)| initial(first, all));
        Ok(Sampling { horizon: decimal(longest + time_step, 12), time_step, initial: initial.collect() })
    }
}

/// Makes a range contain a value, unless that is missing.
fn widen(range: &mut [f64; 2], value: f64) {
    *range = [range[0].min(value), range[1].max(value)];
}

/// The range of the first samples, or of all samples where no first one was observed. Where it is a single value, a hundredth of the range of
/// all samples to both sides: equal bounds would fix the start of every trajectory, which data cannot ask for.
fn initial(first: [f64; 2], all: [f64; 2]) -> [f64; 2] {
    let [lower, upper] = if first[0] <= first[1] { first } else { all };
    if lower < upper {
        return outwards([lower, upper]);
    }
    let width = (0.01 * (all[1] - all[0])).max(1e-6 * lower.abs()).max(1e-6);
    outwards([lower - width, upper + width])
}

/// A range with ends of few digits that contains this one: ends move by less than a hundredth of its width, and keep their signs.
pub(super) fn outwards([lower, upper]: [f64; 2]) -> [f64; 2] {
    let unit = |end: f64| {
        let of = |size: f64, digits: i32| 10.0_f64.powi(size.abs().log10().floor() as i32 - digits);
        let unit = of(upper - lower, 2);
        if end == 0.0 { unit } else { unit.min(of(end, 1)) }
    };
    let [down, up] = [lower, upper].map(unit);
    [decimal((lower / down).floor() * down, 12), decimal((upper / up).ceil() * up, 12)]
}

/// The nearest number with so many digits: what is meant by `0.30000000000000004`.
fn decimal(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_rounded_outwards_and_are_no_single_value() {
        assert_eq!(outwards([1.00231, 2.99812]), [1.0, 3.0]);
        assert_eq!(outwards([0.00512, 7.0]), [0.0051, 7.0]);
        assert_eq!(outwards([-0.3, 0.0]), [-0.3, 0.0]);
        assert_eq!(outwards([-123_456.0, -123_450.0]), [-123_456.0, -123_450.0]);
        assert_eq!(initial([2.0, 2.0], [1.0, 5.0]), [1.96, 2.04]);
        assert_eq!(initial([f64::INFINITY, f64::NEG_INFINITY], [1.0, 5.0]), [1.0, 5.0]);
        let [lower, upper] = initial([0.0, 0.0], [0.0, 0.0]);
        assert!(lower < 0.0 && upper > 0.0);
    }
}
