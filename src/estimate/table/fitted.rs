//! Fitted trajectories beside the observed ones: one Parquet row per sample.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;

use super::parquet::{create, unwritten};
use crate::blocks::exact_fields;
use crate::checkpoint::ChannelScale;
use crate::disk::NewFile;
use crate::estimate::error::Error;
use crate::schema::{Quantity, Trajectory};

exact_fields!(FittedSamples: environment, trajectories, times, observed, fitted, hidden);

/// The samples of one environment, in the dataset's units.
#[derive(Default)]
pub(crate) struct FittedSamples {
    environment: String,
    /// `[samples]`.
    trajectories: Vec<String>,
    times: Vec<f64>,
    /// `[C][samples]`.
    observed: Vec<Vec<f64>>,
    /// `[C][samples]`; the first sample of a trajectory is where the rollout starts.
    fitted: Vec<Vec<f64>>,
    /// Fitted values of what nobody measures `[H][samples]`.
    hidden: Vec<Vec<f64>>,
}

impl FittedSamples {
    /// From scaled `trajectories`, their scaled initial states (one `[C]` per trajectory) and predictions (one `[T - 1, C]` per
    /// trajectory), and the `scales [C]`.
    pub(crate) fn from_scaled(
        environment: &str,
        trajectories: &[Trajectory],
        initial_states: &[Vec<f64>],
        predictions: &[Vec<f64>],
        scales: &[ChannelScale],
    ) -> Self {
        let mut samples = FittedSamples::new(environment, scales.len());
        for ((trajectory, start), prediction) in trajectories.iter().zip(initial_states).zip(predictions) {
            samples.add(trajectory, start.iter().chain(prediction), |c, value| scales[c].unscaled(value));
        }
        samples
    }

    /// From trajectories and their fitted `states` (one `[T, C]` per trajectory), in the dataset's units.
    pub(crate) fn from_states(
        environment: &str,
        trajectories: &[Trajectory],
        states: &[Vec<f64>],
        channels: usize,
    ) -> Self {
        let mut samples = FittedSamples::new(environment, channels);
        for (trajectory, states) in trajectories.iter().zip(states) {
            samples.add(trajectory, states.iter(), |_, value| value);
        }
        samples
    }

    /// Adds what nobody measures at the same samples, `hidden [samples, H]` of each trajectory.
    pub(crate) fn with_hidden(mut self, hidden: &[Vec<f64>], count: usize) -> Self {
        let of_state = |state: usize| {
            hidden.iter().flat_map(|values| values.iter().skip(state).step_by(count)).copied().collect::<Vec<f64>>()
        };
        self.hidden = (0..count).map(of_state).collect();
        self.hidden.iter_mut().for_each(|values| values.resize(self.times.len(), f64::NAN));
        self
    }

    /// Puts what nobody measures to these places among `count` columns; the others have no values.
    pub(crate) fn place_hidden(&mut self, places: &[usize], count: usize) {
        let mut placed = vec![vec![f64::NAN; self.times.len()]; count];
        places.iter().zip(std::mem::take(&mut self.hidden)).for_each(|(&place, values)| placed[place] = values);
        self.hidden = placed;
    }

    fn new(environment: &str, channels: usize) -> Self {
        let columns = vec![Vec::new(); channels];
        let environment = environment.to_owned();
        FittedSamples { environment, observed: columns.clone(), fitted: columns, ..FittedSamples::default() }
    }

    fn add<'a>(
        &mut self,
        trajectory: &Trajectory,
        fitted: impl Iterator<Item = &'a f64>,
        in_units: impl Fn(usize, f64) -> f64,
    ) {
        self.times.extend(&trajectory.times);
        self.trajectories.extend(trajectory.times.iter().map(|_| trajectory.trajectory.clone()));
        let channels = self.observed.len();
        for (i, (y, z)) in trajectory.states.iter().zip(fitted).enumerate() {
            let c = i % channels;
            self.observed[c].push(in_units(c, *y));
            self.fitted[c].push(in_units(c, *z));
        }
    }
}

/// A writer of the file of one split.
pub(crate) struct FittedWriter {
    pub path: PathBuf,
    pub writer: ArrowWriter<NewFile>,
    schema: Arc<Schema>,
}

impl FittedWriter {
    /// A file with columns for the observed and the fitted values of each channel, and for the fitted ones of what is `hidden`.
    pub(crate) fn create(
        path: PathBuf,
        channels: &[Quantity],
        hidden: &[Quantity],
        time_unit: &str,
    ) -> Result<Self, Error> {
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
        fields.extend(hidden.iter().map(|it| number(format!("{}_fitted", it.name), &it.unit)));
        let schema = Arc::new(Schema::new(fields));
        Ok(FittedWriter { writer: create(&path, schema.clone())?, path, schema })
    }

    /// Writes the samples of one environment.
    pub(crate) fn write(&mut self, samples: &FittedSamples) -> Result<(), Error> {
        let number = |values: &[f64]| -> ArrayRef {
            Arc::new(Float64Array::from_iter(values.iter().map(|&value| Some(value).filter(|value| value.is_finite()))))
        };
        let environment = samples.times.iter().map(|_| samples.environment.as_str());
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(environment)),
            Arc::new(StringArray::from_iter_values(&samples.trajectories)),
            number(&samples.times),
        ];
        for (observed, fitted) in samples.observed.iter().zip(&samples.fitted) {
            columns.extend([number(observed), number(fitted)]);
        }
        columns.extend(samples.hidden.iter().map(|values| number(values)));
        let written = RecordBatch::try_new(self.schema.clone(), columns).map_err(ParquetError::from);
        let written = written.and_then(|batch| self.writer.write(&batch));
        written.map_err(unwritten(&self.path))
    }
}
