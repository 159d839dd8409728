//! The estimates on disk: one Parquet row per environment, and a manifest.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::BooleanBuilder;
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::columns::{CRLB, clash, schema};
use super::compared::ComparedWriter;
use super::evaluation::Evaluation;
use super::fitted::FittedWriter;
use super::of_trajectory::OfTrajectoriesWriter;
use super::parquet::{create, io_error, unwritten};
use super::row::{Minima, ParameterEstimate, Row};
use crate::checkpoint::StoredModel;
use crate::dataset::{Dataset, FileEntry, Parent, Provenance};
use crate::digest::{sha256, sha256_of_file};
use crate::disk::{self, NewFile};
use crate::estimate::error::Error;
use crate::estimate::settings::Settings;
use crate::schema::{FormatVersion, Quantity, Split};
use crate::{atomic, seal};

/// The column of the system that a row is of.
pub(crate) const MODEL: &str = "model";
pub(crate) const MANIFEST_FILE: &str = "manifest.json";
/// The remedy for damaged estimates.
pub(crate) const REMEDY: &str = "make them again by forcing the stage `estimate`";

/// `manifest.json` of a directory of estimates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Version of the format.
    pub format: FormatVersion,
    /// Always `estimates`.
    pub kind: String,
    /// What made the estimates, from which dataset and model.
    pub provenance: Provenance,
    /// Channels of the dataset.
    pub channels: Vec<Quantity>,
    /// Estimated parameters.
    pub parameters: Vec<Quantity>,
    /// `d_xi`; 0 by known equations.
    pub context_dimension: usize,
    /// Tolerance of the data themselves (the solver's `rtol`); absent where it is unknown, as for measurements.
    pub data_tolerance: Option<f64>,
    /// `affine`, `quadratic`, or `power` and the powers it is of; absent where there is no map.
    pub map: Option<String>,
    /// The initial values that known equations give, in words; absent where they give none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// States of known equations that nobody measured; fitted trajectories have columns for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<Quantity>,
    /// States of known equations whose initial values were fitted between bounds to each trajectory: `starts_SPLIT.parquet` has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<Quantity>,
    /// Parameters of which each trajectory has a value of its own: `trajectories_SPLIT.parquet` has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of_trajectories: Vec<Quantity>,
    /// Names of the systems that were compared: a column `model` says which one a row is of, and `models_SPLIT.parquet` has all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
    /// The parameters of the noise of channels by its kind, each a column `noise_CHANNEL_NAME`; absent where no kind is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noise_terms: Vec<Quantity>,
    /// The figures of the estimation.
    pub evaluation: Evaluation,
    /// The estimated splits, one file each.
    pub splits: Vec<Split>,
    /// Size and SHA-256 of every file beside the manifest.
    pub files: Vec<FileEntry>,
}

/// The part of a manifest that every format version has.
#[derive(Deserialize)]
struct Header {
    kind: String,
    format: FormatVersion,
}

impl Manifest {
    /// The suffix of the columns with Cramér-Rao bounds, in this version of the format.
    pub(crate) fn crlb(&self) -> &'static str {
        if self.format.major < 3 { "bound" } else { CRLB }
    }

    /// Reads the manifest of `directory`; also returns the SHA-256 of its bytes, hex.
    ///
    /// # Errors
    /// If it is missing, not what its seal says, or not the manifest of estimates.
    pub fn read(directory: &Path) -> Result<(Self, String), Error> {
        let path = directory.join(MANIFEST_FILE);
        let bytes = seal::read(directory, MANIFEST_FILE, REMEDY).map_err(|error| match error {
            seal::Error::Io { path, source } => Error::Io { path, source },
            seal::Error::Invalid { path, found, expected } => Error::Invalid { path, found, expected },
        })?;
        let invalid = |found: String| Error::Invalid {
            path: path.clone(),
            found,
            expected: format!("the manifest of estimates that paramill writes; {REMEDY}"),
        };
        let header: Header = serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
        if header.kind != "estimates" {
            return Err(invalid(format!("kind `{}`", header.kind)));
        }
        if let Some((found, expected)) = header.format.problem(FormatVersion::ESTIMATES) {
            return Err(Error::Invalid { path, found, expected });
        }
        let manifest = serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
        Ok((manifest, sha256(&bytes)))
    }
}

/// A directory of estimates that is being written.
pub(crate) struct Output {
    target: PathBuf,
    directory: atomic::Directory,
    manifest: Manifest,
    schema: Arc<Schema>,
    time_unit: String,
}

/// A writer of the file of one split.
pub(crate) struct SplitWriter {
    split: Split,
    path: PathBuf,
    schema: Arc<Schema>,
    writer: ArrowWriter<NewFile>,
    /// Rows that wait: the bytes must not depend on how many come at a time.
    waiting: Vec<Row>,
}

/// Rows that are handed to Parquet at a time.
const BATCH: usize = 1024;

impl Output {
    /// An output for estimates of `parameters` of the environments of `dataset`, by `model` if it is not by known equations.
    ///
    /// # Errors
    /// If the directory cannot be created, or two columns would have the same name.
    pub(crate) fn create(
        target: &Path,
        dataset: &Dataset,
        model: Option<&StoredModel>,
        parameters: &[Quantity],
        settings: &Settings,
    ) -> Result<Self, Error> {
        let of_dataset = dataset.manifest();
        let directory = atomic::Directory::create(target).map_err(|source| io_error(target, source))?;
        let of_model = model.map(|it| Parent { name: it.manifest.name.clone(), sha256: it.content_hash.clone() });
        let parents =
            std::iter::once(Parent { name: of_dataset.name.clone(), sha256: dataset.content_hash().to_owned() });
        let manifest = Manifest {
            format: FormatVersion::ESTIMATES,
            kind: "estimates".to_owned(),
            provenance: Provenance::new(
                "estimate",
                serde_json::to_value(settings).expect("settings are plain data"),
                None,
                parents.chain(of_model).collect(),
            ),
            channels: of_dataset.channels.clone(),
            parameters: parameters.to_vec(),
            context_dimension: model.map_or(0, |model| model.manifest.context_dimension),
            data_tolerance: of_dataset.data_tolerance,
            map: model.and_then(|model| model.map.as_ref()).map(|map| map.description()),
            start: None,
            hidden: Vec::new(),
            starts: Vec::new(),
            of_trajectories: Vec::new(),
            models: Vec::new(),
            noise_terms: Vec::new(),
            evaluation: Evaluation::default(),
            splits: Vec::new(),
            files: Vec::new(),
        };
        if let Some(clash) = clash(parameters, &manifest.channels, &[], (manifest.context_dimension, false)) {
            return Err(clash.into());
        }
        let schema = Arc::new(schema(parameters, &manifest.channels, &[], manifest.context_dimension));
        let time_unit = of_dataset.time_unit.clone();
        Ok(Output { target: target.to_owned(), directory, manifest, schema, time_unit })
    }

    /// States the initial values that the equations give.
    pub(crate) fn with_start(mut self, start: Option<String>) -> Self {
        self.manifest.start = start;
        self
    }

    /// States what is hidden, and whose initial values are fitted between bounds.
    pub(crate) fn with_states(mut self, hidden: Vec<Quantity>, starts: Vec<Quantity>) -> Self {
        (self.manifest.hidden, self.manifest.starts) = (hidden, starts);
        self
    }

    /// States which parameters each trajectory has a value of its own of.
    pub(crate) fn with_own(mut self, parameters: Vec<Quantity>) -> Self {
        self.manifest.of_trajectories = parameters;
        self
    }

    /// With columns for the parameters of the noise.
    ///
    /// # Errors
    /// If two columns would have the same name.
    pub(crate) fn with_noise(mut self, terms: Vec<Quantity>) -> Result<Self, Error> {
        let Manifest { parameters, channels, context_dimension, .. } = &self.manifest;
        if let Some(clash) = clash(parameters, channels, &terms, (*context_dimension, false)) {
            return Err(clash.into());
        }
        let schema = schema(parameters, channels, &terms, *context_dimension);
        (self.schema, self.manifest.noise_terms) = (Arc::new(schema), terms);
        Ok(self)
    }

    /// With a column for the system that a row is of, and files in which all are compared.
    ///
    /// # Errors
    /// If two columns would have the same name.
    pub(crate) fn with_models(mut self, names: Vec<String>) -> Result<Self, Error> {
        let Manifest { parameters, channels, noise_terms, .. } = &self.manifest;
        if let Some(clash) = clash(parameters, channels, noise_terms, (0, true)) {
            return Err(clash.into());
        }
        let of_model = Arc::new(Field::new(MODEL, DataType::Utf8, true));
        let fields = self.schema.fields().iter().cloned().chain([of_model]);
        let schema = Schema::new(fields.collect::<Vec<_>>());
        (self.schema, self.manifest.models) = (Arc::new(schema), names);
        Ok(self)
    }

    /// A writer of the comparison of models in a split, where there is one.
    pub(crate) fn compared(&self, split: Split) -> Result<Option<ComparedWriter>, Error> {
        let path = self.directory.path().join(format!("models_{split}.parquet"));
        match self.manifest.models.is_empty() {
            true => Ok(None),
            false => ComparedWriter::create(path, &self.manifest.parameters).map(Some),
        }
    }

    /// Completes the file of the comparison of models in a split.
    pub(crate) fn close_compared(&mut self, compared: ComparedWriter) -> Result<(), Error> {
        self.close_file(&compared.path, compared.writer)
    }

    /// A writer of the rows of a split.
    pub(crate) fn split(&self, split: Split) -> Result<SplitWriter, Error> {
        let path = self.directory.path().join(format!("{split}.parquet"));
        let (writer, schema) = (create(&path, self.schema.clone())?, self.schema.clone());
        Ok(SplitWriter { split, writer, path, schema, waiting: Vec::new() })
    }

    /// A writer of the fitted trajectories of a split.
    pub(crate) fn fitted(&self, split: Split) -> Result<FittedWriter, Error> {
        let path = self.directory.path().join(format!("fitted_{split}.parquet"));
        FittedWriter::create(path, &self.manifest.channels, &self.manifest.hidden, &self.time_unit)
    }

    /// A writer of the fitted initial values of a split, where there are any.
    pub(crate) fn starts(&self, split: Split) -> Result<Option<OfTrajectoriesWriter>, Error> {
        self.of_trajectories(&self.manifest.starts, format!("starts_{split}.parquet"), "state")
    }

    /// A writer of the parameters of trajectories of a split, where there are any.
    pub(crate) fn own(&self, split: Split) -> Result<Option<OfTrajectoriesWriter>, Error> {
        self.of_trajectories(&self.manifest.of_trajectories, format!("trajectories_{split}.parquet"), "parameter")
    }

    fn of_trajectories(&self, all: &[Quantity], name: String, of: &str) -> Result<Option<OfTrajectoriesWriter>, Error> {
        let path = self.directory.path().join(name);
        if all.is_empty() { Ok(None) } else { OfTrajectoriesWriter::create(path, of).map(Some) }
    }

    /// Completes the file of a split.
    pub(crate) fn close(&mut self, mut writer: SplitWriter) -> Result<(), Error> {
        let last = std::mem::take(&mut writer.waiting);
        writer.write_batch(&last)?;
        self.manifest.splits.push(writer.split);
        self.close_file(&writer.path, writer.writer)
    }

    /// Completes the file of fitted trajectories of a split.
    pub(crate) fn close_fitted(&mut self, fitted: FittedWriter) -> Result<(), Error> {
        self.close_file(&fitted.path, fitted.writer)
    }

    /// Completes the file of fitted initial values, or of parameters of trajectories, of a split.
    pub(crate) fn close_of_trajectories(&mut self, starts: OfTrajectoriesWriter) -> Result<(), Error> {
        self.close_file(&starts.path, starts.writer)
    }

    fn close_file(&mut self, path: &Path, writer: ArrowWriter<NewFile>) -> Result<(), Error> {
        writer.close().map_err(unwritten(path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.manifest.files.push(listed(self.directory.path(), &name)?);
        Ok(())
    }

    /// Writes the manifest and publishes the directory.
    pub(crate) fn finish(mut self, evaluation: Evaluation) -> Result<Outcome, Error> {
        self.manifest.evaluation = evaluation;
        publish(self.directory, &self.target, self.manifest)
    }
}

/// The file `name` of `directory` as a manifest lists it.
pub(crate) fn listed(directory: &Path, name: &str) -> Result<FileEntry, Error> {
    let path = directory.join(name);
    let bytes = fs::metadata(&path).map_err(|source| io_error(&path, source))?.len();
    let sha256 = sha256_of_file(&path).map_err(|source| io_error(&path, source))?;
    Ok(FileEntry { path: name.to_owned(), bytes, sha256 })
}

/// Writes the manifest of `directory`, and publishes it at `target`.
pub(crate) fn publish(directory: atomic::Directory, target: &Path, manifest: Manifest) -> Result<Outcome, Error> {
    let mut bytes = serde_json::to_vec_pretty(&manifest).expect("plain data always serialise");
    bytes.push(b'\n');
    let path = directory.path().join(MANIFEST_FILE);
    disk::write(&path, &bytes).map_err(|source| io_error(&path, source))?;
    seal::write(directory.path(), MANIFEST_FILE, &bytes).map_err(|source| io_error(target, source))?;
    directory.publish().map_err(|source| io_error(target, source))?;
    Ok(Outcome { manifest, content_hash: sha256(&bytes) })
}

impl SplitWriter {
    /// Writes rows; values that are not finite are null.
    pub(crate) fn write(&mut self, rows: Vec<Row>) -> Result<(), Error> {
        self.waiting.extend(rows);
        while self.waiting.len() >= BATCH {
            let later = self.waiting.split_off(BATCH);
            let batch = std::mem::replace(&mut self.waiting, later);
            self.write_batch(&batch)?;
        }
        Ok(())
    }

    fn write_batch(&mut self, rows: &[Row]) -> Result<(), Error> {
        let number = |value: &dyn Fn(&Row) -> Option<f64>| -> ArrayRef {
            Arc::new(Float64Array::from_iter(rows.iter().map(|row| value(row).filter(|value| value.is_finite()))))
        };
        let text = |value: &dyn Fn(&Row) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(rows.iter().map(value)))
        };
        let count = |value: &dyn Fn(&Row) -> usize| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| value(row) as u64)))
        };
        let Some(first) = rows.first() else { return Ok(()) };
        let mut columns = vec![
            text(&|row| row.environment.clone()),
            text(&|row| row.status.name().to_owned()),
            text(&|row| row.reason.clone()),
        ];
        for j in 0..first.parameters.len() {
            let of_parameter: [fn(&ParameterEstimate) -> Option<f64>; 8] = [
                |it| Some(it.value),
                |it| Some(it.standard_error),
                |it| Some(it.lower),
                |it| Some(it.upper),
                |it| it.crlb,
                |it| it.truth,
                |it| it.model_error,
                |it| Some(it.degrees_of_freedom),
            ];
            columns.extend(of_parameter.map(|value| number(&|row| value(&row.parameters[j]))));
        }
        columns.extend((0..first.correlations.len()).map(|pair| number(&|row| Some(row.correlations[pair]))));
        columns.extend((0..first.noise.len()).map(|channel| number(&|row| Some(row.noise[channel]))));
        let of_channels = 0..first.autocorrelation.len();
        columns.extend(of_channels.map(|channel| number(&|row| row.autocorrelation[channel])));
        columns.extend((0..first.noise_terms.len()).map(|term| number(&|row| Some(row.noise_terms[term]))));
        for k in 0..first.context.len() {
            columns.push(number(&|row| Some(row.context[k])));
        }
        columns.push(number(&|row| Some(row.trajectory_rmse)));
        columns.push(number(&|row| Some(row.trajectory_mape)));
        columns.push(number(&|row| row.test_mse));
        columns.push(count(&|row| row.points));
        columns.push(number(&|row| Some(row.degrees_of_freedom)));
        columns.push(number(&|row| row.likelihood.map(|it| it.minus_two_log)));
        columns.push(number(&|row| row.likelihood.map(|it| it.aic)));
        columns.push(number(&|row| row.likelihood.map(|it| it.bic)));
        for of_minima in [|it: &Minima| it.starts, |it: &Minima| it.at_best] {
            let counts = rows.iter().map(|row| row.minima.as_ref().map(|it| of_minima(it) as u64));
            columns.push(Arc::new(UInt64Array::from_iter(counts)));
        }
        columns.push(number(&|row| row.minima?.second));
        columns.push(count(&|row| row.iterations));
        let mut in_hull = BooleanBuilder::new();
        rows.iter().for_each(|row| in_hull.append_option(row.in_hull));
        columns.push(Arc::new(in_hull.finish()));
        if self.schema.index_of(MODEL).is_ok() {
            columns.push(Arc::new(StringArray::from_iter(rows.iter().map(|row| row.model.as_deref()))));
        }
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        let written = batch.map_err(ParquetError::from).and_then(|batch| self.writer.write(&batch));
        written.map_err(unwritten(&self.path))
    }
}

/// The result of an estimation.
pub struct Outcome {
    /// The manifest that was written.
    pub manifest: Manifest,
    /// SHA-256 of the manifest, hex.
    pub content_hash: String,
}
