//! What was fitted to each trajectory by itself: one Parquet row per trajectory and state, or parameter, beside the table of estimates.

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

exact_fields!(OfTrajectory: trajectory, name, estimate, at_lower);

/// The initial value of a state, or a parameter, of one trajectory.
pub(crate) struct OfTrajectory {
    pub trajectory: String,
    /// Of the state or parameter.
    pub name: String,
    /// In the unit of that.
    pub estimate: ParameterEstimate,
    /// Whether it lies at its lower bound, or at the upper one; none between them.
    pub at_lower: Option<bool>,
}

impl OfTrajectory {
    /// Of a value between bounds, at one of which it lies exactly.
    pub(crate) fn new(trajectory: &str, name: &str, estimate: ParameterEstimate, (lower, upper): (f64, f64)) -> Self {
        let (is_lower, is_upper) = (estimate.value <= lower, estimate.value >= upper);
        let at_lower = (is_lower || is_upper).then_some(is_lower);
        OfTrajectory { trajectory: trajectory.to_owned(), name: name.to_owned(), estimate, at_lower }
    }
}

/// A writer of the file of one split.
pub(crate) struct OfTrajectoriesWriter {
    pub path: PathBuf,
    pub writer: ArrowWriter<NewFile>,
    schema: Arc<Schema>,
}

impl OfTrajectoriesWriter {
    /// An empty file with the names in the column `of`. Their units stand beside them in the manifest.
    pub(crate) fn create(path: PathBuf, of: &str) -> Result<Self, Error> {
        let text = |name: &str| Field::new(name, DataType::Utf8, false);
        let number = |name: &str| {
            let metadata = HashMap::from([("unit".to_owned(), String::new())]);
            Field::new(name, DataType::Float64, true).with_metadata(metadata)
        };
        let texts = ["environment", "trajectory", of].map(text);
        let numbers = ["value", "standard_error", "lower", "upper"].map(number);
        let at_bound = Field::new("at_bound", DataType::Utf8, true);
        let schema = Arc::new(Schema::new(texts.into_iter().chain(numbers).chain([at_bound]).collect::<Vec<_>>()));
        Ok(OfTrajectoriesWriter { writer: create(&path, schema.clone())?, path, schema })
    }

    /// Writes what was fitted to the trajectories of one environment; values that are not finite are null.
    pub(crate) fn write(&mut self, environment: &str, all: &[OfTrajectory]) -> Result<(), Error> {
        let text = |value: &dyn Fn(&OfTrajectory) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(all.iter().map(value)))
        };
        let number = |value: fn(&ParameterEstimate) -> f64| -> ArrayRef {
            let values = all.iter().map(|it| Some(value(&it.estimate)).filter(|value| value.is_finite()));
            Arc::new(Float64Array::from_iter(values))
        };
        let columns = vec![
            text(&|_| environment.to_owned()),
            text(&|it| it.trajectory.clone()),
            text(&|it| it.name.clone()),
            number(|it| it.value),
            number(|it| it.standard_error),
            number(|it| it.lower),
            number(|it| it.upper),
            Arc::new(StringArray::from_iter(
                all.iter().map(|it| it.at_lower.map(|is_lower| if is_lower { "lower" } else { "upper" })),
            )),
        ];
        let written = RecordBatch::try_new(self.schema.clone(), columns).map_err(ParquetError::from);
        let written = written.and_then(|batch| self.writer.write(&batch));
        written.map_err(unwritten(&self.path))
    }
}
