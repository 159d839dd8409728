//! Initial values that were fitted to trajectories: one Parquet row per trajectory and state, beside the table of estimates.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;

use super::parquet::{create, unwritten};
use super::row::ParameterEstimate;
use crate::blocks::exact_fields;
use crate::disk::NewFile;
use crate::estimate::error::Error;

exact_fields!(FittedStart: trajectory, state, estimate);

/// The initial value of one state of one trajectory.
pub(crate) struct FittedStart {
    pub trajectory: String,
    pub state: String,
    /// In the unit of the state.
    pub estimate: ParameterEstimate,
}

/// A writer of the file of one split.
pub(crate) struct StartsWriter {
    pub path: PathBuf,
    pub writer: ArrowWriter<NewFile>,
    schema: Arc<Schema>,
}

impl StartsWriter {
    /// An empty file. Values of different states have different units, which stand beside the states in the manifest.
    pub(crate) fn create(path: PathBuf) -> Result<Self, Error> {
        let text = |name: &str| Field::new(name, DataType::Utf8, false);
        let number = |name: &str| {
            let metadata = HashMap::from([("unit".to_owned(), String::new())]);
            Field::new(name, DataType::Float64, true).with_metadata(metadata)
        };
        let texts = ["environment", "trajectory", "state"].map(text);
        let numbers = ["value", "standard_error", "lower", "upper"].map(number);
        let schema = Arc::new(Schema::new(texts.into_iter().chain(numbers).collect::<Vec<_>>()));
        Ok(StartsWriter { writer: create(&path, schema.clone())?, path, schema })
    }

    /// Writes the initial values of one environment; values that are not finite are null.
    pub(crate) fn write(&mut self, environment: &str, starts: &[FittedStart]) -> Result<(), Error> {
        let text = |value: &dyn Fn(&FittedStart) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(starts.iter().map(value)))
        };
        let number = |value: fn(&ParameterEstimate) -> f64| -> ArrayRef {
            let values = starts.iter().map(|start| Some(value(&start.estimate)).filter(|value| value.is_finite()));
            Arc::new(Float64Array::from_iter(values))
        };
        let columns = vec![
            text(&|_| environment.to_owned()),
            text(&|start| start.trajectory.clone()),
            text(&|start| start.state.clone()),
            number(|it| it.value),
            number(|it| it.standard_error),
            number(|it| it.lower),
            number(|it| it.upper),
        ];
        let written = RecordBatch::try_new(self.schema.clone(), columns).map_err(ParquetError::from);
        let written = written.and_then(|batch| self.writer.write(&batch));
        written.map_err(unwritten(&self.path))
    }
}
