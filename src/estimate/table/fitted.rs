//! Fitted trajectories beside the observed ones: one Parquet row a sample.

use super::parquet as parquet_file;
use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;

use crate::checkpoint::ChannelScale;
use crate::estimate::error::Error;
use crate::estimate::learned::support::Support;
use crate::schema::{Quantity, Trajectory};

/// The samples of one environment, in the dataset's units.
#[derive(Default)]
pub(crate) struct Fit {
    environment: String,
    trajectories: Vec<String>,
    times: Vec<f64>,
    /// `[C][samples]`.
    observed: Vec<Vec<f64>>,
    /// `[C][samples]`; the first sample of a trajectory is where the rollout starts.
    fitted: Vec<Vec<f64>>,
}

impl Fit {
    /// `initial_states` (one `[C]` a trajectory), `predictions` (one `[T - 1, C]`) and `support` are scaled by `scales [C]`.
    pub fn new(
        environment: &str,
        support: &Support,
        initial_states: &[Vec<f64>],
        predictions: &[Vec<f64>],
        scales: &[ChannelScale],
    ) -> Self {
        let channels = scales.len();
        let mut fit = Fit { environment: environment.to_owned(), ..Fit::default() };
        fit.observed.resize(channels, Vec::new());
        fit.fitted.resize(channels, Vec::new());
        for ((trajectory, start), prediction) in support.trajectories.iter().zip(initial_states).zip(predictions) {
            fit.times.extend(&trajectory.times);
            fit.trajectories.extend(trajectory.times.iter().map(|_| trajectory.trajectory.clone()));
            let values = trajectory.states.iter().zip(start.iter().chain(prediction));
            for (i, (y, z)) in values.enumerate() {
                let c = i % channels;
                fit.observed[c].push(scales[c].unscaled(*y));
                fit.fitted[c].push(scales[c].unscaled(*z));
            }
        }
        fit
    }

    /// `states [T, C]` of each of the trajectories, in the dataset's units.
    pub fn of_states(environment: &str, trajectories: &[Trajectory], states: &[Vec<f64>], channels: usize) -> Self {
        let mut fit = Fit { environment: environment.to_owned(), ..Fit::default() };
        fit.observed.resize(channels, Vec::new());
        fit.fitted.resize(channels, Vec::new());
        for (trajectory, states) in trajectories.iter().zip(states) {
            fit.times.extend(&trajectory.times);
            fit.trajectories.extend(trajectory.times.iter().map(|_| trajectory.trajectory.clone()));
            for (i, (y, z)) in trajectory.states.iter().zip(states).enumerate() {
                fit.observed[i % channels].push(*y);
                fit.fitted[i % channels].push(*z);
            }
        }
        fit
    }
}

/// The file of one split.
pub(crate) struct FittedWriter {
    pub path: PathBuf,
    pub writer: ArrowWriter<File>,
    schema: Arc<Schema>,
}

impl FittedWriter {
    pub fn create(path: PathBuf, channels: &[Quantity], time_unit: &str) -> Result<Self, Error> {
        let number = |name: String, unit: &str| {
            let metadata = HashMap::from([("unit".to_owned(), unit.to_owned())]);
            Field::new(name, DataType::Float64, true).with_metadata(metadata)
        };
        let mut fields = vec![
            Field::new("environment", DataType::Utf8, false),
            Field::new("trajectory", DataType::Utf8, false),
            number("time".to_owned(), time_unit),
        ];
        for channel in channels {
            fields.push(number(channel.name.clone(), &channel.unit));
            fields.push(number(format!("{}_fitted", channel.name), &channel.unit));
        }
        let schema = Arc::new(Schema::new(fields));
        Ok(FittedWriter { writer: parquet_file::parquet(&path, schema.clone())?, path, schema })
    }

    pub fn write(&mut self, fit: &Fit) -> Result<(), Error> {
        let number = |values: &[f64]| -> ArrayRef {
            Arc::new(Float64Array::from_iter(values.iter().map(|&value| Some(value).filter(|value| value.is_finite()))))
        };
        let environment = fit.times.iter().map(|_| fit.environment.as_str());
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(environment)),
            Arc::new(StringArray::from_iter_values(&fit.trajectories)),
            number(&fit.times),
        ];
        for (observed, fitted) in fit.observed.iter().zip(&fit.fitted) {
            columns.extend([number(observed), number(fitted)]);
        }
        let written = RecordBatch::try_new(self.schema.clone(), columns).map_err(parquet::errors::ParquetError::from);
        let written = written.and_then(|batch| self.writer.write(&batch));
        written.map_err(parquet_file::unwritten(&self.path))
    }
}
