//! Errors of a trained model along trajectories that it did not see.
//!
//! ```text
//! e_rt = mean_c (x_rtc - y_rtc)^2          mean and quantiles over the trajectories r
//! ```

use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::engine::{Batch, Compute};
use crate::estimate::error::Error;
use crate::estimate::settings::InitialState;
use crate::schema::Split;

use super::support::Support;

/// Trajectories of each environment at most.
const TRAJECTORIES: usize = 32;
/// Share of the trajectories below the spread that is given, and above it.
const TAIL: f64 = 0.1;
/// Greatest difference of times that count as one, relative to the last.
const SAME: f64 = 1e-9;

/// Squared errors at each sample after the first, over trajectories of the training environments that are sampled alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Frames {
    /// The split that they are of.
    pub split: Split,
    /// How many trajectories.
    pub trajectories: usize,
    /// Time since the start `[L]`.
    pub times: Vec<f64>,
    /// Mean squared error, in the dataset's units `[L]`.
    pub mean: Vec<f64>,
    /// What a tenth of the trajectories lies below `[L]`.
    pub low: Vec<f64>,
    /// What a tenth lies above `[L]`.
    pub high: Vec<f64>,
}

/// The errors of `model` on the test split of `dataset`, or where it has none on the validation split; `None` where neither has two
/// trajectories of training environments that are sampled alike.
///
/// # Errors
/// If the dataset cannot be read, has other quantities than the model, or there is no engine.
pub fn frames(compute: Compute, dataset: &Dataset, model: &StoredModel) -> Result<Option<Frames>, Error> {
    crate::estimate::driver::check_quantities(dataset, model)?;
    let split = if dataset.index(Split::Test)?.is_empty() { Split::Validation } else { Split::Test };
    let (units, engine) = (model.manifest.units(), model.engine(compute)?.0);
    let (channels, index) = (units.state.len(), dataset.index(split)?);
    let (mut times, mut errors): (Vec<f64>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    for (environment, own) in model.manifest.environments.iter().zip(model.own_values()) {
        let of_environment = (0..index.len()).filter(|&row| index[row].environment == environment.id);
        let rows: Vec<usize> = of_environment.take(TRAJECTORIES).collect();
        let mut support = Support::new(dataset.read_rows(split, &rows)?, &units, InitialState::Observed);
        let since = |all: &[f64]| -> Vec<f64> { all.iter().skip(1).map(|t| t - all[0]).collect() };
        if let Some(first) = support.trajectories.first().filter(|_| times.is_empty()) {
            times = since(&first.times);
        }
        let slack = SAME * times.last().copied().unwrap_or(0.0);
        support.trajectories.retain(|it| {
            let own = since(&it.times);
            own.len() == times.len() && own.iter().zip(&times).all(|(a, b)| (a - b).abs() <= slack)
        });
        if support.trajectories.is_empty() {
            continue;
        }
        let mut weights = vec![0.0; model.model().layout().size()];
        model.rule().decode(&model.shared, own, &mut weights);
        let batch = Batch::new(channels, &units.between, &[support.segments()], (0, 0));
        let predictions = engine.predict(&weights, &batch);
        let of_frame = |at: usize| {
            let observed = (at..at + channels).filter(|&i| batch.mask[i] > 0.0);
            let squares = observed.map(|i| ((predictions[i] - batch.targets[i]) * units.state[i - at].scale).powi(2));
            let (sum, count) = squares.fold((0.0, 0.0), |(sum, count), square| (sum + square, count + 1.0));
            sum / count
        };
        let of_row = |row: usize| (0..times.len()).map(|l| of_frame((row * times.len() + l) * channels)).collect();
        errors.extend((0..support.trajectories.len()).map(of_row));
    }
    if errors.len() < 2 {
        return Ok(None);
    }
    let mut frames = Frames { split, trajectories: errors.len(), times, mean: vec![], low: vec![], high: vec![] };
    for l in 0..frames.times.len() {
        // Of a sample without an observed cell there is no error.
        let mut of_frame: Vec<f64> = errors.iter().map(|of_row| of_row[l]).filter(|it| !it.is_nan()).collect();
        of_frame.sort_by(f64::total_cmp);
        let quantile = |share: f64| {
            let place = (share * of_frame.len().saturating_sub(1) as f64).round() as usize;
            of_frame.get(place).copied().unwrap_or(f64::NAN)
        };
        frames.mean.push(of_frame.iter().sum::<f64>() / of_frame.len() as f64);
        frames.low.push(quantile(TAIL));
        frames.high.push(quantile(1.0 - TAIL));
    }
    Ok(Some(frames))
}
