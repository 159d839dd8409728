//! A visual predictive check: data beside simulations from the fits, at the times of the samples, for parameters as uncertain as they are and with the
//! noise of the fits.
//!
//! ```text
//! y_r = z_r + noise,  r = 1 .. R:      quantiles of y over a stretch of time beside those of y_1, .., y_R
//! ```
//!
//! `z_r` the value of a sample for parameters and starts that are drawn from the covariance of the estimates; draws of an environment are used in turn,
//! where they are fewer than `R`, and where there are none `z_r` is the fitted value. A value below its limit of quantification counts as at it, observed or simulated. Draws are keyed by the seed of
//! the pipeline, channel, environment and trajectory. Source: N. Holford, The visual predictive check (2005), PAGE 14, abstract 738.

use rayon::prelude::*;

use super::fits::Fits;
use crate::random::Stream;
use crate::report::{CheckBin, PredictiveCheck};

/// Simulations of every trajectory.
const REPLICATES: usize = 200;
/// Samples of a channel at most, about; of more, every so many.
const MOST: usize = 20_000;
/// Stretches of time at most.
const BINS: usize = 12;
/// Values of a stretch at least.
const FEWEST: usize = 10;
/// The quantiles of data and of each simulation,
const QUANTILES: [f64; 3] = [0.05, 0.5, 0.95];
/// and those over the simulations.
const OVER: [f64; 3] = [0.025, 0.5, 0.975];

/// A sample: its time, what was observed, and what was simulated in each replicate `[R]`.
struct Sample {
    time: f64,
    observed: f64,
    simulated: Vec<f64>,
}

/// The check of each channel that has enough values.
pub(crate) fn checks(fits: &Fits, channels: usize, seed: u64) -> Vec<PredictiveCheck> {
    let fitted = || fits.drawn.iter().map(|it| &it.1).filter(|it| !it.scatter.is_empty());
    let draws = fitted().map(|it| it.draws).filter(|draws| *draws > 0).min().unwrap_or(0);
    let held = fitted().filter(|it| it.draws == 0 || !it.held.is_empty()).count();
    let of_channel = |channel: usize| {
        let bins = bins(samples(fits, channel, channels, seed));
        (!bins.is_empty()).then_some(PredictiveCheck { channel, replicates: REPLICATES, draws, held, bins })
    };
    (0..channels).into_par_iter().filter_map(of_channel).collect()
}

fn samples(fits: &Fits, channel: usize, channels: usize, seed: u64) -> Vec<Sample> {
    let (mut samples, mut number_of) = (Vec::new(), 0_usize);
    let all: usize = fits.drawn.iter().flat_map(|it| &it.1.trajectories).map(|it| it.trajectory.len()).sum();
    let stride = all.div_ceil(MOST).max(1);
    for (place, drawn) in &fits.drawn {
        let Some(scatter) = drawn.scatter.get(channel).copied().flatten() else { continue };
        for (number, it) in drawn.trajectories.iter().enumerate() {
            let mut stream = Stream::new(seed, "predictive check", &[channel as u64, *place as u64, number as u64]);
            for (t, time) in it.trajectory.times.iter().enumerate() {
                let cell = t * channels + channel;
                let Some(limit) = it.limits.get(cell).copied().filter(|limit| !limit.is_nan()) else { continue };
                number_of += 1;
                if number_of % stride != 0 {
                    continue;
                }
                let (z, beside) = (it.states[cell], it.beside[cell]);
                let size = it.trajectory.states.len();
                let value = |r: usize| match drawn.draws {
                    0 => z,
                    draws => it.replicates[(r % draws) * size + cell],
                };
                let simulated = (0..REPLICATES).map(|r| scatter.draw(value(r), beside, &mut stream).max(limit));
                samples.push(Sample {
                    time: *time,
                    observed: it.trajectory.states[cell].max(limit),
                    simulated: simulated.collect(),
                });
            }
        }
    }
    samples
}

/// The quantiles of samples in stretches of time with about as many each; samples of one time are not parted.
fn bins(mut samples: Vec<Sample>) -> Vec<CheckBin> {
    samples.sort_by(|a, b| a.time.total_cmp(&b.time));
    let wanted = (samples.len() / BINS).max(FEWEST);
    let mut bins: Vec<Vec<Sample>> = Vec::new();
    for sample in samples {
        match bins.last_mut() {
            Some(bin) if bin.len() < wanted || bin[bin.len() - 1].time == sample.time => bin.push(sample),
            _ => bins.push(vec![sample]),
        }
    }
    if bins.len() > 1 && bins[bins.len() - 1].len() < FEWEST {
        let last = bins.pop().unwrap_or_default();
        bins.last_mut().expect("one is left").extend(last);
    }
    bins.retain(|bin| bin.len() >= FEWEST);
    bins.iter().map(|bin| of_bin(bin)).collect()
}

fn of_bin(bin: &[Sample]) -> CheckBin {
    let of_replicate = |r: usize| quantiles(bin.iter().map(|it| it.simulated[r]).collect(), QUANTILES);
    let simulated: Vec<[f64; 3]> = (0..REPLICATES).map(of_replicate).collect();
    CheckBin {
        time: quantiles(bin.iter().map(|it| it.time).collect(), QUANTILES)[1],
        count: bin.len(),
        observed: quantiles(bin.iter().map(|it| it.observed).collect(), QUANTILES),
        simulated: [0, 1, 2].map(|q| quantiles(simulated.iter().map(|it| it[q]).collect(), OVER)),
    }
}

/// Quantiles of values, on straight lines between the sorted ones.
fn quantiles(mut values: Vec<f64>, shares: [f64; 3]) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    shares.map(|share| {
        let place = share * last as f64;
        let below = (place.floor() as usize).min(last);
        let above = (below + 1).min(last);
        values[below] + (place - below as f64) * (values[above] - values[below])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws of one distribution: data lie in the bands about as often as these say, in bins that hold them all.
    #[test]
    fn data_of_the_simulated_distribution_lie_in_the_bands() {
        let mut stream = Stream::new(4, "check", &[]);
        let samples: Vec<Sample> = (0..2000)
            .map(|i| Sample {
                time: f64::from(i / 40),
                observed: stream.normal(),
                simulated: (0..REPLICATES).map(|_| stream.normal()).collect(),
            })
            .collect();
        let bins = bins(samples);
        assert!((8..=BINS + 1).contains(&bins.len()), "{}", bins.len());
        assert_eq!(bins.iter().map(|bin| bin.count).sum::<usize>(), 2000);
        assert!(bins.windows(2).all(|pair| pair[0].time < pair[1].time));
        let pairs = bins.iter().flat_map(|bin| bin.observed.iter().zip(&bin.simulated));
        let outside = pairs.filter(|(observed, [low, _, high])| **observed < *low || **observed > *high).count();
        // Of about 36 quantiles 1.8 are expected outside, six with a probability of less than one in a hundred.
        assert!(outside < 6, "{outside}");
        for bin in &bins {
            for (quantile, expected) in bin.simulated.iter().zip([-1.645, 0.0, 1.645]) {
                assert!((quantile[1] - expected).abs() < 0.15, "{quantile:?}");
            }
        }
        assert_eq!(quantiles(vec![3.0, 1.0, 2.0], [0.0, 0.25, 1.0]), [1.0, 1.5, 3.0]);
    }
}
