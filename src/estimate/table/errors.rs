//! Errors of fitted trajectories.
//!
//! Mean squared errors are over all channels, trajectories and samples but what is missing and the first sample of a trajectory, which
//! is given. `MAPE(z, y) = mean over j with y_j != 0 of |z_j - y_j| / |y_j|`, in percent, of fitted values `z` and observed ones `y`.

use crate::checkpoint::ChannelScale;
use crate::engine::Batch;
use crate::estimate::settings::Loss;
use crate::least_squares::robust;
use crate::schema::Trajectory;

/// A running mean.
#[derive(Default)]
pub(crate) struct Mean {
    sum: f64,
    pub count: usize,
}

impl Mean {
    pub(crate) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    /// None of no values.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }
}

/// Errors of the fitted trajectories of one environment, in the dataset's units.
pub(crate) struct FitErrors {
    /// Root mean squared error.
    pub rmse: f64,
    /// Mean absolute percentage error, in percent.
    pub mape: f64,
    /// Size of the errors of each channel `[C]`: their root mean square, or under Huber's loss a robust standard deviation.
    pub by_channel: Vec<f64>,
}

impl FitErrors {
    /// Errors of scaled `predictions` (one `[T - 1, C]` per trajectory) against scaled `trajectories`. `scales` has one entry per value of
    /// a state: `channels` channels of equally many values.
    pub(crate) fn of_predictions(
        trajectories: &[Trajectory],
        predictions: &[Vec<f64>],
        scales: &[ChannelScale],
        channels: usize,
        loss: Loss,
    ) -> Self {
        let points = scales.len() / channels.max(1);
        let cells = trajectories.iter().zip(predictions).flat_map(|(trajectory, prediction)| {
            let observed = trajectory.states.get(scales.len()..).unwrap_or_default();
            observed.iter().zip(prediction).enumerate().filter(|(_, (y, _))| !y.is_nan()).map(|(i, (y, z))| {
                let value = i % scales.len();
                (value / points, observed_value(scales[value], *y), scales[value].unscaled(*z))
            })
        });
        FitErrors::of_cells(channels, loss, cells)
    }

    /// Errors over cells `(channel, observed, fitted)`.
    pub(crate) fn of_cells(channels: usize, loss: Loss, cells: impl Iterator<Item = (usize, f64, f64)>) -> Self {
        let mut sizes = vec![Vec::new(); channels];
        let mut squares: Vec<Mean> = (0..channels).map(|_| Mean::default()).collect();
        let mut relative = Mean::default();
        for (channel, observed, fitted) in cells {
            let error = fitted - observed;
            squares[channel].add(error * error);
            if loss == Loss::Huber {
                sizes[channel].push(error.abs());
            }
            if observed != 0.0 {
                relative.add(100.0 * (error / observed).abs());
            }
        }
        let root = |mean: &Mean| mean.mean().unwrap_or(f64::NAN).sqrt();
        let all =
            squares.iter().fold(Mean::default(), |all, it| Mean { sum: all.sum + it.sum, count: all.count + it.count });
        FitErrors {
            rmse: root(&all),
            mape: relative.mean().unwrap_or(f64::NAN),
            by_channel: match loss {
                Loss::Squares => squares.iter().map(root).collect(),
                Loss::Huber => {
                    sizes.into_iter().map(|sizes| robust::std_dev(sizes.into_iter()).unwrap_or(f64::NAN)).collect()
                }
            },
        }
    }
}

/// A value that was zero in the dataset's units comes back from scaled ones as this share of the centre of its channel, or less.
const ZERO: f64 = 1e-12;

/// A scaled observed value in the dataset's units, in which a zero is a zero again.
fn observed_value(of_channel: ChannelScale, scaled: f64) -> f64 {
    let value = of_channel.unscaled(scaled);
    if value.abs() <= ZERO * of_channel.centre.abs() { 0.0 } else { value }
}

/// Running errors of predictions, in the dataset's units.
#[derive(Default)]
pub(crate) struct PredictionErrors {
    squares: Mean,
    relative: Mean,
}

impl PredictionErrors {
    /// Adds the errors of scaled predictions at the targets of a batch that were observed.
    pub(crate) fn add(&mut self, predictions: &[f64], batch: &Batch, scales: &[ChannelScale]) {
        for (i, (z, y)) in predictions.iter().zip(&batch.targets).enumerate() {
            if batch.mask[i] > 0.0 {
                let of_channel = scales[i % scales.len()];
                self.add_error((z - y) * of_channel.scale, observed_value(of_channel, *y));
            }
        }
    }

    /// Adds the error of a value.
    pub(crate) fn add_value(&mut self, predicted: f64, observed: f64) {
        self.add_error(predicted - observed, observed);
    }

    fn add_error(&mut self, error: f64, observed: f64) {
        self.squares.add(error * error);
        if observed != 0.0 {
            self.relative.add(100.0 * (error / observed).abs());
        }
    }

    /// The mean squared error; NaN where no error was added.
    pub(crate) fn mean_square(&self) -> f64 {
        self.squares.mean().unwrap_or(f64::NAN)
    }

    /// The mean absolute percentage error; none where no value but zeros was observed, or some so small that it is beyond all numbers.
    pub(crate) fn mape(&self) -> Option<f64> {
        self.relative.mean().filter(|mean| mean.is_finite())
    }

    pub(crate) fn count(&self) -> usize {
        self.squares.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: errors of 1, 2 and 5 at 4, 10 and 0; what is relative to a number next to nothing is no number.
    #[test]
    fn zeros_have_a_square_and_no_percentage() {
        let mut errors = PredictionErrors::default();
        assert_eq!((errors.mape(), errors.count()), (None, 0));
        for (predicted, observed) in [(5.0, 4.0), (8.0, 10.0), (5.0, 0.0)] {
            errors.add_value(predicted, observed);
        }
        assert_eq!((errors.mean_square(), errors.mape(), errors.count()), (10.0, Some(22.5), 3));
        errors.add_value(1.0, 1e-320);
        assert_eq!(errors.mape(), None);
    }

    /// A zero that was centred and scaled is one still; a small number that was not is none.
    #[test]
    fn zeros_stay_zeros_in_the_units_of_a_model() {
        for (centre, scale, value, expected) in [(0.7, 0.3, 0.0, None), (0.0, 1.0, 1e-13, Some(100.0))] {
            let of_channel = ChannelScale { centre, scale };
            let scaled = |value: f64| (value - centre) / scale;
            let times = [0.0, 1.0];
            let states = [scaled(value), scaled(value)];
            let segment = crate::engine::Segment { times: &times, states: &states, inputs: &[] };
            let batch = Batch::new(1, &[], &[vec![segment]], (1, 1));
            let mut errors = PredictionErrors::default();
            errors.add(&[scaled(2.0 * value); 1], &batch, &[of_channel]);
            assert_eq!(errors.count(), 1);
            match expected {
                None => assert_eq!(errors.mape(), None),
                Some(expected) => approx::assert_relative_eq!(errors.mape().unwrap(), expected, max_relative = 1e-9),
            }
        }
    }
}
