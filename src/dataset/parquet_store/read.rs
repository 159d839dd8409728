//! Streams a split from its Parquet file.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use super::claims::claim_problems;
use super::pages::Pages;
use super::panics::{catch_panic, catch_panics};
use super::schema::schema;
use crate::dataset::error::Error;
use crate::dataset::manifest::Manifest;
use crate::schema::{Split, StateShape, Trajectory};

/// Streams the trajectories of the file at `path` in stored order, `batch` at a time.
///
/// # Errors
/// If the file cannot be read or does not match the manifest (every difference).
pub(crate) fn stream(
    path: &Path,
    manifest: &Manifest,
    split: Split,
    batch: usize,
) -> Result<impl Iterator<Item = Result<Vec<Trajectory>, Error>> + Send + use<>, Error> {
    let name = path.to_owned();
    let damaged = move |found| Error::invalid(&name, found, "a Parquet file as it was written");
    let batches = catch_panic(|| open(path, manifest, split, batch)).map_err(&damaged)??;
    Ok(catch_panics(batches, damaged))
}

/// Number of trajectories in the file at `path`, as its footer says.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn rows(path: &Path) -> Result<usize, Error> {
    let footer = || {
        let file = File::open(path).map_err(Error::io(path))?;
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::default()).map_err(Error::parquet(path))?;
        Ok(usize::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or_default())
    };
    catch_panic(footer).map_err(|found| Error::invalid(path, found, "a Parquet file as it was written"))?
}

fn open(
    path: &Path,
    manifest: &Manifest,
    split: Split,
    batch: usize,
) -> Result<impl Iterator<Item = Result<Vec<Trajectory>, Error>> + Send + use<>, Error> {
    let file = File::open(path).map_err(Error::io(path))?;
    let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::default()).map_err(Error::parquet(path))?;
    let pages = Pages::new(Arc::new(file.try_clone().map_err(Error::io(path))?)).map_err(Error::io(path))?;
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(pages, metadata);
    let rows = manifest.splits.get(&split).map_or(0, |summary| summary.trajectories);
    let mut problems = Vec::new();
    let stored = builder.metadata().file_metadata().num_rows();
    match usize::try_from(stored) {
        Ok(stored) if stored == rows || (manifest.shards(split) > 1 && (1..rows).contains(&stored)) => {}
        _ => problems.push(format!("{stored} rows; expected {rows} as the manifest states")),
    }
    let missing = manifest.splits.get(&split).is_some_and(|summary| summary.missing > 0);
    let expected = schema(manifest, false);
    let with_nulls = schema(manifest, missing);
    for (field, with_nulls) in expected.fields().iter().zip(with_nulls.fields()) {
        match builder.schema().field_with_name(field.name()) {
            Err(_) => {
                problems.push(format!("column `{}` is missing; expected it as the manifest states", field.name()))
            }
            Ok(found) if ![field, with_nulls].iter().any(|it| it.data_type() == found.data_type()) => problems.push(
                format!("column `{}` has type {}; expected {}", field.name(), found.data_type(), field.data_type()),
            ),
            Ok(found) if found.is_nullable() && !field.is_nullable() => {
                problems.push(format!("column `{}` may hold nulls; expected a value in every row", field.name()));
            }
            Ok(_) => {}
        }
    }
    if problems.is_empty() && builder.schema().fields().len() != expected.fields().len() {
        problems.push(format!(
            "{} columns; expected the {} of the manifest's quantities, ids and time",
            builder.schema().fields().len(),
            expected.fields().len()
        ));
    }
    Error::problems(path, problems)?;
    let claims = claim_problems(&file, builder.metadata(), manifest, split).map_err(Error::parquet(path))?;
    Error::problems(path, claims)?;
    let decoder = Decoder {
        path: path.to_owned(),
        split,
        parameters: manifest.parameters.iter().map(|quantity| quantity.name.clone()).collect(),
        channels: manifest.channels.iter().map(|quantity| quantity.name.clone()).collect(),
        inputs: manifest.inputs.iter().map(|input| input.quantity.name.clone()).collect(),
        state: manifest.state_shape(),
    };
    let batches = builder.with_batch_size(batch.min(rows)).build().map_err(Error::parquet(path))?;
    Ok(batches.map(move |batch| decoder.decode(&batch.map_err(|error| Error::parquet(&decoder.path)(error.into()))?)))
}

struct Decoder {
    path: PathBuf,
    split: Split,
    parameters: Vec<String>,
    channels: Vec<String>,
    inputs: Vec<String>,
    state: StateShape,
}

impl Decoder {
    fn decode(&self, batch: &RecordBatch) -> Result<Vec<Trajectory>, Error> {
        use crate::dataset::layout::{ENVIRONMENT, TIME, TRAJECTORY};

        let column = |name: &str| {
            batch.column_by_name(name).ok_or_else(|| {
                Error::invalid(&self.path, format!("column `{name}` is missing"), "it as the manifest states")
            })
        };
        let environments = column(ENVIRONMENT)?.as_string::<i32>();
        let trajectories = column(TRAJECTORY)?.as_string::<i32>();
        let times = column(TIME)?.as_list::<i32>();
        let parameters = self.parameters.iter().map(|name| column(name)).collect::<Result<Vec<_>, _>>()?;
        let channels = self.channels.iter().map(|name| column(name)).collect::<Result<Vec<_>, _>>()?;
        let inputs = self.inputs.iter().map(|name| column(name)).collect::<Result<Vec<_>, _>>()?;
        let mut rows = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let times = times.value(row).as_primitive::<Float64Type>().values().to_vec();
            let mut trajectory = Trajectory {
                environment: environments.value(row).to_owned(),
                trajectory: trajectories.value(row).to_owned(),
                parameters: parameters
                    .iter()
                    .map(|values| values.is_valid(row).then(|| values.as_primitive::<Float64Type>().value(row)))
                    .collect(),
                states: vec![0.0; times.len() * self.state.size()],
                inputs: vec![0.0; times.len() * inputs.len()],
                times,
            };
            let mut problems = Vec::new();
            for (c, (values, name)) in channels.iter().zip(&self.channels).enumerate() {
                let samples = values.as_list::<i32>().value(row);
                if samples.len() != trajectory.times.len() {
                    problems.push(unlike("channel", name, samples.len(), trajectory.times.len()));
                    continue;
                }
                let Some(values) = flat(samples, &self.state.space) else {
                    let expected = format!("{:?}, the points of the grid", self.state.space);
                    problems.push(format!("channel `{name}` has a field of another shape; expected {expected}"));
                    continue;
                };
                let points = self.state.points().max(1);
                let states = trajectory.states.chunks_exact_mut(points).skip(c).step_by(channels.len());
                states.zip(values.chunks_exact(points)).for_each(|(state, value)| state.copy_from_slice(value));
            }
            for (u, (values, name)) in inputs.iter().zip(&self.inputs).enumerate() {
                let samples = values.as_list::<i32>().value(row);
                if samples.len() != trajectory.times.len() {
                    problems.push(unlike("input", name, samples.len(), trajectory.times.len()));
                    continue;
                }
                let stored = trajectory.inputs.iter_mut().skip(u).step_by(inputs.len());
                stored.zip(samples.as_primitive::<Float64Type>().values()).for_each(|(input, value)| *input = *value);
            }
            Error::trajectory(&self.path, self.split, &trajectory, problems)?;
            rows.push(trajectory);
        }
        Ok(rows)
    }
}

fn unlike(role: &str, name: &str, samples: usize, times: usize) -> String {
    format!("{role} `{name}` has {samples} samples; expected {times}, as many as times")
}

/// The values of nested lists of exactly these lengths, flattened, NaN for null; `None` if a list has another length.
fn flat(mut array: ArrayRef, lengths: &[usize]) -> Option<Vec<f64>> {
    for length in lengths {
        let lists = array.as_list::<i32>();
        let offsets = lists.value_offsets();
        if offsets.windows(2).any(|pair| usize::try_from(pair[1] - pair[0]) != Ok(*length)) {
            return None;
        }
        let (first, last) = (*offsets.first()? as usize, *offsets.last()? as usize);
        array = lists.values().slice(first, last - first);
    }
    Some(array.as_primitive::<Float64Type>().iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}
