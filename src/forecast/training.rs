//! What a forecast is compared with: the sampling and the parameters of the training environments.

use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::estimate::Error;
use crate::schema::Split;

/// How the first trajectory of the training split is sampled, in the dataset's unit of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainingSampling {
    /// Median interval between samples; 1 for a single sample.
    pub step: f64,
    /// From the first sample to the last.
    pub length: f64,
}

impl TrainingSampling {
    /// Reads it from a dataset.
    ///
    /// # Errors
    /// If the training split cannot be read.
    pub fn read(dataset: &Dataset) -> Result<Self, Error> {
        let first = dataset.read_rows(Split::Train, &[0])?.remove(0);
        let mut steps: Vec<f64> = first.times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        steps.sort_by(f64::total_cmp);
        let length = first.times.last().copied().unwrap_or(0.0) - first.times.first().copied().unwrap_or(0.0);
        Ok(TrainingSampling { step: steps.get(steps.len() / 2).copied().unwrap_or(1.0), length })
    }
}

/// Each of `parameters [d_p]` that lies beyond those of the training environments, in words.
pub fn parameters_extrapolate(model: &StoredModel, parameters: &[f64]) -> Vec<String> {
    let mut beyond = Vec::new();
    for (k, (quantity, value)) in model.manifest.parameters.iter().zip(parameters).enumerate() {
        let known = model.manifest.environments.iter().filter_map(|environment| environment.parameters[k]);
        let (least, greatest) = known.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), it| (a.min(it), b.max(it)));
        if !(least..=greatest).contains(value) && least <= greatest {
            let name = &quantity.name;
            beyond.push(format!("{name} is {value}; those of the training environments go from {least} to {greatest}"));
        }
    }
    beyond
}
