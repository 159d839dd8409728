//! Several models of one environment beside each other: one Parquet row per environment and model, beside the table of estimates.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;

use super::evaluation::ModelFigures;
use super::parquet::{create, unwritten};
use super::row::{ParameterEstimate, Row, Status};
use crate::blocks::exact_fields;
use crate::disk::NewFile;
use crate::estimate::error::Error;
use crate::schema::Quantity;

exact_fields!(
    Compared: model, environment, status, reason, points, trajectory_rmse, minus_two_log, aic, bic, weighed, parameters
);
exact_fields!(Weighed: aicc, delta, weight, is_preferred);

/// One model among those that were fitted to an environment.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    pub model: String,
    environment: String,
    pub status: Status,
    reason: String,
    points: usize,
    trajectory_rmse: f64,
    minus_two_log: f64,
    aic: f64,
    bic: f64,
    pub weighed: Weighed,
    /// In the order of the table; none of those that the model does not have.
    parameters: Vec<Option<ParameterEstimate>>,
}

/// How one model compares with the others; NaN where it does not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Weighed {
    /// Akaike's criterion for few samples.
    pub aicc: f64,
    /// The criterion less that of the best.
    pub delta: f64,
    /// Akaike's weight.
    pub weight: f64,
    pub is_preferred: bool,
}

impl Compared {
    pub(crate) fn new(model: String, row: &Row, parameters: Vec<Option<ParameterEstimate>>, weighed: Weighed) -> Self {
        let likelihood = row.likelihood;
        Compared {
            model,
            environment: row.environment.clone(),
            status: row.status,
            reason: row.reason.clone(),
            points: row.points,
            trajectory_rmse: row.trajectory_rmse,
            minus_two_log: likelihood.map_or(f64::NAN, |it| it.minus_two_log),
            aic: likelihood.map_or(f64::NAN, |it| it.aic),
            bic: likelihood.map_or(f64::NAN, |it| it.bic),
            weighed,
            parameters,
        }
    }
}

/// `AICc` of a row; NaN where its fit has no likelihood, infinite where the unknowns are nearly as many as the values.
fn aicc(row: &Row) -> f64 {
    let Some(likelihood) = row.likelihood else { return f64::NAN };
    let (k, n) = ((likelihood.aic - likelihood.minus_two_log) / 2.0, row.points as f64);
    let left = n - k - 1.0;
    if left > 0.0 { likelihood.aic + 2.0 * k * (k + 1.0) / left } else { f64::INFINITY }
}

/// The index of the preferred of several models of one environment, how each compares, and a note where none is preferred: then it is the first
/// one whose fit did not fail.
pub(crate) fn preferred(rows: &[&Row]) -> (usize, Vec<Weighed>, Option<String>) {
    let none = Weighed { aicc: f64::NAN, delta: f64::NAN, weight: f64::NAN, is_preferred: false };
    let first = rows.iter().position(|row| !row.status.is_failure()).unwrap_or(0);
    let fitted: Vec<&&Row> = rows.iter().filter(|row| row.likelihood.is_some()).collect();
    let alone = || rows.iter().map(|row| Weighed { aicc: aicc(row), ..none }).collect::<Vec<_>>();
    if let Some(other) = fitted.iter().find(|row| row.points != fitted[0].points) {
        let note = format!(
            "models are not compared: their fits count {} and {} values, as starts that are given leave out first samples",
            fitted[0].points, other.points
        );
        return (first, alone(), Some(note));
    }
    let criteria: Vec<f64> = rows.iter().map(|row| aicc(row)).collect();
    let least = criteria.iter().copied().filter(|it| it.is_finite()).fold(f64::INFINITY, f64::min);
    if least.is_infinite() {
        return (first, alone(), None);
    }
    let shares: Vec<f64> =
        criteria.iter().map(|it| if it.is_nan() { 0.0 } else { (0.5 * (least - it)).exp() }).collect();
    let sum: f64 = shares.iter().sum();
    let best = criteria.iter().position(|it| *it == least).unwrap_or(first);
    let weighed = criteria.iter().zip(&shares).enumerate().map(|(model, (criterion, share))| Weighed {
        aicc: *criterion,
        delta: criterion - least,
        weight: share / sum,
        is_preferred: model == best,
    });
    (best, weighed.collect(), None)
}

/// Sums over environments by model, in the order in which models first occur.
#[derive(Default)]
pub(crate) struct ModelTally {
    models: Vec<(String, Vec<f64>, usize, usize)>,
}

impl ModelTally {
    pub(crate) fn add(&mut self, compared: &Compared) {
        let place = self.models.iter().position(|it| it.0 == compared.model).unwrap_or_else(|| {
            self.models.push((compared.model.clone(), Vec::new(), 0, 0));
            self.models.len() - 1
        });
        let (_, deltas, preferred, failed) = &mut self.models[place];
        deltas.extend(Some(compared.weighed.delta).filter(|delta| !delta.is_nan()));
        *preferred += usize::from(compared.weighed.is_preferred);
        *failed += usize::from(compared.status.is_failure());
    }

    pub(crate) fn figures(self) -> Vec<ModelFigures> {
        let figures = |(model, mut deltas, preferred, failed): (String, Vec<f64>, usize, usize)| {
            deltas.sort_by(f64::total_cmp);
            let median = deltas.get(deltas.len() / 2).copied().filter(|delta| delta.is_finite());
            ModelFigures { model, preferred, median_delta: median, failed }
        };
        self.models.into_iter().map(figures).collect()
    }
}

/// A writer of the file of one split.
pub(crate) struct ComparedWriter {
    pub path: PathBuf,
    pub writer: ArrowWriter<NewFile>,
    schema: Arc<Schema>,
}

impl ComparedWriter {
    /// An empty file for models with these parameters, all together.
    pub(crate) fn create(path: PathBuf, parameters: &[Quantity]) -> Result<Self, Error> {
        let text = |name: &str| Field::new(name, DataType::Utf8, false);
        let number = |name: String, unit: &str| {
            let metadata = HashMap::from([("unit".to_owned(), unit.to_owned())]);
            Field::new(name, DataType::Float64, true).with_metadata(metadata)
        };
        let mut fields: Vec<Field> = ["environment", "model", "status", "reason"].map(text).to_vec();
        fields.push(Field::new("preferred", DataType::Boolean, false));
        fields.push(Field::new("points", DataType::UInt64, false));
        fields.push(number("trajectory_rmse".to_owned(), ""));
        let criteria = ["minus_two_log_likelihood", "aic", "aicc", "bic", "delta", "weight"];
        fields.extend(criteria.map(|name| number(name.to_owned(), "1")));
        for Quantity { name, unit, .. } in parameters {
            fields.push(number(name.clone(), unit));
            fields.push(number(format!("{name}_standard_error"), unit));
        }
        let schema = Arc::new(Schema::new(fields));
        Ok(ComparedWriter { writer: create(&path, schema.clone())?, path, schema })
    }

    /// Writes the models of environments; values that are not finite are null.
    pub(crate) fn write(&mut self, all: &[&Compared]) -> Result<(), Error> {
        let Some(first) = all.first() else { return Ok(()) };
        let text = |value: &dyn Fn(&Compared) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(all.iter().map(|it| value(it))))
        };
        let number = |value: &dyn Fn(&Compared) -> f64| -> ArrayRef {
            Arc::new(Float64Array::from_iter(all.iter().map(|it| Some(value(it)).filter(|value| value.is_finite()))))
        };
        let mut columns = vec![
            text(&|it| it.environment.clone()),
            text(&|it| it.model.clone()),
            text(&|it| it.status.name().to_owned()),
            text(&|it| it.reason.clone()),
            Arc::new(BooleanArray::from_iter(all.iter().map(|it| Some(it.weighed.is_preferred)))),
            Arc::new(UInt64Array::from_iter_values(all.iter().map(|it| it.points as u64))),
            number(&|it| it.trajectory_rmse),
            number(&|it| it.minus_two_log),
            number(&|it| it.aic),
            number(&|it| it.weighed.aicc),
            number(&|it| it.bic),
            number(&|it| it.weighed.delta),
            number(&|it| it.weighed.weight),
        ];
        for k in 0..first.parameters.len() {
            columns.push(number(&|it| it.parameters[k].map_or(f64::NAN, |it| it.value)));
            columns.push(number(&|it| it.parameters[k].map_or(f64::NAN, |it| it.standard_error)));
        }
        let written = RecordBatch::try_new(self.schema.clone(), columns).map_err(ParquetError::from);
        let written = written.and_then(|batch| self.writer.write(&batch));
        written.map_err(unwritten(&self.path))
    }
}
