//! The estimates of a directory, read back.

use std::path::{Path, PathBuf};

use arrow_array::{Array, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::columns::{LIKELIHOOD, MODEL_ERROR, OF_INTERVAL, autocorrelation_name, correlation_names, noise_name};
use super::output::{MODEL, Manifest, REMEDY};
use super::parquet::io_error;
use super::row::{LogLikelihood, Minima, ParameterEstimate, Row, Status};
use crate::dataset::listed_problem;
use crate::estimate::error::Error;
use crate::regular;
use crate::schema::{Quantity, Split};

/// Reads the rows of one split back, all at once.
///
/// # Errors
/// If the file is missing, was changed since it was written, or lacks a column.
pub fn read_rows(directory: &Path, manifest: &Manifest, split: Split) -> Result<Vec<Row>, Error> {
    rows(directory, manifest, split)?.collect()
}

/// Streams the rows of one split back, in ascending order of the environments' ids.
///
/// # Errors
/// If the file is missing, or was changed since it was written. The error of a row group that cannot be read is an item of the stream.
pub fn rows<'a>(
    directory: &Path,
    manifest: &'a Manifest,
    split: Split,
) -> Result<impl Iterator<Item = Result<Row, Error>> + use<'a>, Error> {
    let path = check_digest(directory, manifest, &format!("{split}.parquet"))?;
    let file = regular::open(&path).map_err(|source| io_error(&path, source))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(ParquetRecordBatchReaderBuilder::build);
    let reader = reader.map_err(|error| invalid(&path, error.to_string()))?;
    Ok(reader.flat_map(move |batch| {
        let mut rows = Vec::new();
        let read = batch.map_err(|error| invalid(&path, error.to_string())).and_then(|batch| {
            read_batch(&batch, manifest, &mut rows).ok_or_else(|| invalid(&path, "a column missing".to_owned()))
        });
        rows.into_iter().map(Ok).chain(read.err().map(Err))
    }))
}

/// The path of the file `name`, if its size and SHA-256 are those in the manifest.
pub(crate) fn check_digest(directory: &Path, manifest: &Manifest, name: &str) -> Result<PathBuf, Error> {
    let path = directory.join(name);
    let problem = match manifest.files.iter().find(|file| file.path == name) {
        Some(entry) => listed_problem(directory, entry),
        None => Some("no such file among those of the manifest".to_owned()),
    };
    problem.map_or(Ok(path.clone()), |problem| Err(invalid(&path, problem)))
}

/// Every problem of a directory of estimates, one sentence each.
pub fn verify(directory: &Path) -> Vec<String> {
    let manifest = match Manifest::read(directory) {
        Ok((manifest, _)) => manifest,
        Err(error) => return vec![error.to_string()],
    };
    let of_rows = manifest.splits.iter().filter_map(|&split| match rows(directory, &manifest, split) {
        Ok(rows) => rows.filter_map(Result::err).next(),
        Err(error) => Some(error),
    });
    let tables = manifest.splits.iter().map(|split| format!("{split}.parquet")).collect::<Vec<_>>();
    let others = manifest.files.iter().filter(|file| !tables.contains(&file.path));
    let of_others = others.filter_map(|file| check_digest(directory, &manifest, &file.path).err());
    of_rows.chain(of_others).map(|error| error.to_string()).collect()
}

fn read_batch(batch: &RecordBatch, manifest: &Manifest, rows: &mut Vec<Row>) -> Option<()> {
    fn column<'a, T: 'static>(batch: &'a RecordBatch, name: &str) -> Option<&'a T> {
        batch.column_by_name(name)?.as_any().downcast_ref()
    }
    fn value(array: &Float64Array, row: usize) -> Option<f64> {
        array.is_valid(row).then(|| array.value(row))
    }
    let text = |name: &str| column::<StringArray>(batch, name);
    let number = |name: &str| column::<Float64Array>(batch, name);
    let count = |name: &str| column::<UInt64Array>(batch, name);
    let (environment, status, reason) = (text("environment")?, text("status")?, text("reason")?);
    let parameters = manifest.parameters.iter().map(|Quantity { name, .. }| {
        let of_parameter = |what: &str| number(&format!("{name}_{what}"));
        let [standard_error, lower, upper, crlb, truth] =
            ["standard_error", "lower", "upper", manifest.crlb(), "true"].map(of_parameter);
        // Tables before 3.5 have neither.
        let of_model = [MODEL_ERROR, OF_INTERVAL].map(of_parameter);
        Some((number(name)?, standard_error?, lower?, upper?, crlb?, truth?, of_model))
    });
    let parameters: Vec<_> = parameters.collect::<Option<_>>()?;
    let correlations = correlation_names(&manifest.parameters).map(|name| number(&name)).collect::<Option<Vec<_>>>()?;
    let noise = manifest.channels.iter().map(|it| number(&noise_name(it))).collect::<Option<Vec<_>>>()?;
    let noise_terms = manifest.noise_terms.iter().map(|it| number(&it.name)).collect::<Option<Vec<_>>>()?;
    // Tables before 3.2 have none.
    let likelihood = LIKELIHOOD.map(number);
    let autocorrelation: Vec<_> = manifest.channels.iter().map(|it| number(&autocorrelation_name(it))).collect();
    let contexts =
        (0..manifest.context_dimension).map(|k| number(&format!("context_{k}"))).collect::<Option<Vec<_>>>()?;
    let (rmse, mape, test_mse) = (number("trajectory_rmse")?, number("trajectory_mape")?, number("test_mse")?);
    let (points, degrees_of_freedom, iterations) =
        (count("points")?, number("degrees_of_freedom")?, count("iterations")?);
    let minima = count("starts").zip(count("starts_at_best")).zip(number("second_minimum"));
    let in_hull = column::<BooleanArray>(batch, "in_hull")?;
    let model = text(MODEL).filter(|_| !manifest.models.is_empty());
    for i in 0..batch.num_rows() {
        let or_nan = |array: &Float64Array| value(array, i).unwrap_or(f64::NAN);
        rows.push(Row {
            environment: environment.value(i).to_owned(),
            status: Status::ALL.into_iter().find(|it| it.name() == status.value(i))?,
            reason: reason.value(i).to_owned(),
            model: model.filter(|it| it.is_valid(i)).map(|it| it.value(i).to_owned()),
            context: contexts.iter().map(|array| or_nan(array)).collect(),
            parameters: parameters
                .iter()
                .map(|(estimate, standard_error, lower, upper, crlb, truth, of_model)| ParameterEstimate {
                    value: or_nan(estimate),
                    standard_error: or_nan(standard_error),
                    degrees_of_freedom: or_nan(of_model[1].unwrap_or(degrees_of_freedom)),
                    lower: or_nan(lower),
                    upper: or_nan(upper),
                    model_error: of_model[0].and_then(|array| value(array, i)),
                    crlb: value(crlb, i),
                    truth: value(truth, i),
                })
                .collect(),
            correlations: correlations.iter().map(|array| or_nan(array)).collect(),
            noise: noise.iter().map(|array| or_nan(array)).collect(),
            noise_terms: noise_terms.iter().map(|array| or_nan(array)).collect(),
            likelihood: match likelihood.map(|array| value(array?, i)) {
                [Some(minus_two_log), Some(aic), Some(bic)] => Some(LogLikelihood { minus_two_log, aic, bic }),
                _ => None,
            },
            autocorrelation: autocorrelation.iter().map(|array| value((*array)?, i)).collect(),
            trajectory_rmse: or_nan(rmse),
            trajectory_mape: or_nan(mape),
            test_mse: value(test_mse, i),
            points: points.value(i) as usize,
            degrees_of_freedom: or_nan(degrees_of_freedom),
            minima: minima.filter(|((starts, _), _)| starts.is_valid(i)).map(|((starts, at_best), second)| Minima {
                starts: starts.value(i) as usize,
                at_best: at_best.value(i) as usize,
                second: value(second, i),
            }),
            iterations: iterations.value(i) as usize,
            in_hull: in_hull.is_valid(i).then(|| in_hull.value(i)),
        });
    }
    Some(())
}

fn invalid(path: &Path, found: String) -> Error {
    Error::Invalid { path: path.to_owned(), found, expected: format!("estimates that paramill writes; {REMEDY}") }
}

/// A parameter of one trajectory.
#[derive(Clone, Debug, PartialEq)]
pub struct TrajectoryEstimate {
    /// Id of the environment.
    pub environment: String,
    /// Id of the trajectory in it.
    pub trajectory: String,
    /// Name of the parameter.
    pub parameter: String,
    /// Estimate; NaN where the data do not determine it.
    pub value: f64,
    /// Ends of the 95 % interval; NaN where there is none.
    pub lower: f64,
    /// See `lower`.
    pub upper: f64,
}

/// Reads the parameters of trajectories of one split back, all at once; empty where trajectories have none of their own.
///
/// # Errors
/// If the file is missing, was changed since it was written, or lacks a column.
pub fn read_trajectories(
    directory: &Path,
    manifest: &Manifest,
    split: Split,
) -> Result<Vec<TrajectoryEstimate>, Error> {
    if manifest.of_trajectories.is_empty() {
        return Ok(Vec::new());
    }
    let path = check_digest(directory, manifest, &format!("trajectories_{split}.parquet"))?;
    let file = regular::open(&path).map_err(|source| io_error(&path, source))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).and_then(ParquetRecordBatchReaderBuilder::build);
    let mut all = Vec::new();
    for batch in reader.map_err(|error| invalid(&path, error.to_string()))? {
        let batch = batch.map_err(|error| invalid(&path, error.to_string()))?;
        let missing = || invalid(&path, "a column missing".to_owned());
        let text = |name: &str| batch.column_by_name(name)?.as_any().downcast_ref::<StringArray>();
        let number = |name: &str| batch.column_by_name(name)?.as_any().downcast_ref::<Float64Array>();
        let [environment, trajectory, parameter] = ["environment", "trajectory", "parameter"].map(text);
        let [value, lower, upper] = ["value", "lower", "upper"].map(number);
        let texts = environment.zip(trajectory).zip(parameter).ok_or_else(missing)?;
        let ((environment, trajectory), parameter) = texts;
        let ((value, lower), upper) = value.zip(lower).zip(upper).ok_or_else(missing)?;
        let or_nan = |array: &Float64Array, row: usize| if array.is_valid(row) { array.value(row) } else { f64::NAN };
        all.extend((0..batch.num_rows()).map(|row| TrajectoryEstimate {
            environment: environment.value(row).to_owned(),
            trajectory: trajectory.value(row).to_owned(),
            parameter: parameter.value(row).to_owned(),
            value: or_nan(value, row),
            lower: or_nan(lower, row),
            upper: or_nan(upper, row),
        }));
    }
    Ok(all)
}
