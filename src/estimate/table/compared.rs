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
use super::row::{LogLikelihood, ParameterEstimate, Row, Status};
use crate::blocks::exact_fields;
use crate::disk::NewFile;
use crate::estimate::error::Error;
use crate::schema::Quantity;

exact_fields!(
    Compared: model, environment, status, reason, comparison, points, trajectory_rmse, minus_two_log, aic, bic, weighed, parameters
);
exact_fields!(Weighed: aicc, delta, weight, is_preferred);

/// One model among those that were fitted to an environment.
#[derive(Clone, Debug)]
pub(crate) struct Compared {
    pub model: String,
    environment: String,
    pub status: Status,
    reason: String,
    /// Why it is not compared with the others; empty where it is.
    pub comparison: String,
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
    pub(crate) fn new(
        model: String,
        row: &Row,
        parameters: Vec<Option<ParameterEstimate>>,
        (weighed, comparison): (Weighed, String),
    ) -> Self {
        let likelihood = row.likelihood;
        Compared {
            model,
            environment: row.environment.clone(),
            status: row.status,
            reason: row.reason.clone(),
            comparison,
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
    let (k, n) = (unknowns(likelihood), row.points as f64);
    let left = n - k - 1.0;
    if left > 0.0 { likelihood.aic + 2.0 * k * (k + 1.0) / left } else { f64::INFINITY }
}

/// `k`, of which a part may be of unknowns that environments share.
fn unknowns(likelihood: LogLikelihood) -> f64 {
    (likelihood.aic - likelihood.minus_two_log) / 2.0
}

/// Why a row is not compared; empty where it is.
fn left_out(row: &Row) -> String {
    match row.likelihood {
        None if row.status.is_failure() => format!("its fit is `{}`", row.status.name()),
        None => "its fit has no likelihood".to_owned(),
        Some(likelihood) if aicc(row).is_infinite() => {
            let k = (100.0 * unknowns(likelihood)).round() / 100.0;
            format!("{} values are too few for the AICc of {k} unknowns", row.points)
        }
        Some(_) => String::new(),
    }
}

/// How the models of one environment compare.
pub(crate) struct Comparison {
    /// The index of the preferred one; where none is, of the first whose fit did not fail.
    pub preferred: usize,
    pub weighed: Vec<Weighed>,
    /// Why each is not compared; empty of those that are.
    pub left_out: Vec<String>,
    /// The same in words, and why none is preferred; none where all are compared.
    pub note: Option<String>,
}

/// Compares the fits of one environment by the models `names`.
pub(crate) fn compare(rows: &[&Row], names: &[String]) -> Comparison {
    let none = Weighed { aicc: f64::NAN, delta: f64::NAN, weight: f64::NAN, is_preferred: false };
    let first = rows.iter().position(|row| !row.status.is_failure()).unwrap_or(0);
    let fitted: Vec<&&Row> = rows.iter().filter(|row| row.likelihood.is_some()).collect();
    let alone = || rows.iter().map(|row| Weighed { aicc: aicc(row), ..none }).collect::<Vec<_>>();
    if let Some(other) = fitted.iter().find(|row| row.points != fitted[0].points) {
        let why = format!(
            "their fits count {} and {} values, as starts that are given leave out first samples",
            fitted[0].points, other.points
        );
        let note = Some(format!("models are not compared: {why}"));
        return Comparison { preferred: first, weighed: alone(), left_out: vec![why; rows.len()], note };
    }
    let left_out: Vec<String> = rows.iter().map(|row| left_out(row)).collect();
    let named = names.iter().zip(&left_out).filter(|(_, why)| !why.is_empty());
    let named: Vec<String> = named.map(|(name, why)| format!("`{name}` is not compared: {why}")).collect();
    let note = (!named.is_empty()).then(|| named.join(", "));
    let criteria: Vec<f64> = rows.iter().map(|row| aicc(row)).collect();
    let least = criteria.iter().copied().filter(|it| it.is_finite()).fold(f64::INFINITY, f64::min);
    if least.is_infinite() {
        return Comparison { preferred: first, weighed: alone(), left_out, note };
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
    Comparison { preferred: best, weighed: weighed.collect(), left_out, note }
}

/// Sums over the environments of one model.
#[derive(Default)]
struct OfModel {
    name: String,
    deltas: Vec<f64>,
    preferred: usize,
    failed: usize,
    not_compared: usize,
}

/// Sums over environments by model, in the order in which models first occur.
#[derive(Default)]
pub(crate) struct ModelTally {
    models: Vec<OfModel>,
}

impl ModelTally {
    pub(crate) fn add(&mut self, compared: &Compared) {
        let place = self.models.iter().position(|it| it.name == compared.model).unwrap_or_else(|| {
            self.models.push(OfModel { name: compared.model.clone(), ..OfModel::default() });
            self.models.len() - 1
        });
        let of_model = &mut self.models[place];
        of_model.deltas.extend(Some(compared.weighed.delta).filter(|delta| delta.is_finite()));
        of_model.preferred += usize::from(compared.weighed.is_preferred);
        of_model.failed += usize::from(compared.status.is_failure());
        of_model.not_compared += usize::from(!compared.comparison.is_empty());
    }

    pub(crate) fn figures(self) -> Vec<ModelFigures> {
        let figures = |OfModel { name, mut deltas, preferred, failed, not_compared }: OfModel| {
            deltas.sort_by(f64::total_cmp);
            let median_delta = deltas.get(deltas.len() / 2).copied();
            ModelFigures { model: name, preferred, median_delta, failed, not_compared }
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
        let mut fields: Vec<Field> = ["environment", "model", "status", "reason", "comparison"].map(text).to_vec();
        fields.push(Field::new("preferred", DataType::Boolean, false));
        fields.push(Field::new("points", DataType::UInt64, false));
        fields.push(number("trajectory_rmse".to_owned(), ""));
        let criteria = ["minus_two_log_likelihood", "aic", "aicc", "bic", "aicc_delta", "aicc_weight"];
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
            text(&|it| it.comparison.clone()),
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
