//! HDF5 as PDEBench lays it out.
//!
//! | dataset | shape |
//! |---|---|
//! | `tensor` | `[B, T, n_1, .., n_k, C]`: trajectories, samples, the axes of the grid, channels; without a grid `[B, T, C]` |
//! | `t-coordinate`, `x-coordinate`, `y-coordinate`, `z-coordinate` | `[T]`, `[n_1]`, `[n_2]`, `[n_3]` |
//! | `parameters` | `[B, d_p]`, NaN where unknown |
//! | `environment`, `trajectory` | `[B]`, text |
//!
//! The attributes `channels` of `tensor` and `names` of `parameters` say what the last axis holds; `units` gives the units, and `boundary` of an
//! axis what lies beyond its ends. The last three datasets and the attributes are ours: PDEBench has one set of parameters a file, in its name.
//!
//! Source: M. Takamoto et al., PDEBench, NeurIPS 2022 (datasets and benchmarks). Deviations: double precision; `t-coordinate` holds the times
//! of the samples and no end.

use std::path::PathBuf;

use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{File, FileBuilder, Location};
use ndarray::{Array1, Array2};

use super::format::{ExportFormat, SplitWriter};
use crate::dataset::error::Error;
use crate::dataset::hdf5_store::attributes::{BOUNDARY, builder, string, text};
use crate::dataset::hdf5_store::write::{chunk, write_rows};
use crate::dataset::index::IndexEntry;
use crate::dataset::layout::{ENVIRONMENT, TRAJECTORY};
use crate::dataset::manifest::Manifest;
use crate::dataset::reader::Dataset;
use crate::disk;
use crate::schema::{Quantity, Split, StateShape, Trajectory};

const AXES: [&str; 3] = ["x", "y", "z"];
/// As in the dataset's own HDF5 copy.
const DEFLATE: u8 = 4;

/// `pdebench`.
pub(crate) const FORMAT: ExportFormat = ExportFormat { name: "pdebench", extension: "hdf5", is_hdf5: true, create };

struct PdeBenchFile {
    path: PathBuf,
    file: File,
    tensor: hdf5_metno::Dataset,
    state: StateShape,
    /// Trajectories written.
    done: usize,
}

fn create<'a>(path: PathBuf, dataset: &'a Dataset, split: Split) -> Result<Box<dyn SplitWriter + 'a>, Error> {
    if let Some(input) = dataset.manifest().inputs.first() {
        let found = format!("the input `{}`", input.quantity.name);
        let expected = "no inputs, for which the layout has no place; export them as netcdf or csv";
        return Err(Error::invalid(dataset.directory(), found, expected));
    }
    let index = dataset.index(split)?;
    let Some(times) = dataset.shared_times(split)? else {
        let found = format!("trajectories of split `{split}` with times of their own");
        let expected = "one time axis, which is all that the layout has; export them as netcdf or csv";
        return Err(Error::invalid(dataset.directory(), found, expected));
    };
    disk::before_library_creates(&path).map_err(Error::io(&path))?;
    // No other process uses the file yet, and a child process would inherit the lock.
    let file = FileBuilder::new()
        .with_fapl(|plist| plist.file_locking(false))
        .with_fcpl(|plist| plist.obj_track_times(false))
        .create(&path);
    let file = file.map_err(Error::unwritten(&path))?;
    let tensor = lay_out(&file, dataset.manifest(), &index, times).map_err(Error::unwritten(&path))?;
    Ok(Box::new(PdeBenchFile { path, file, tensor, state: dataset.manifest().state_shape(), done: 0 }))
}

impl SplitWriter for PdeBenchFile {
    fn append(&mut self, rows: &[Trajectory]) -> Result<(), Error> {
        disk::before_library_writes(&self.path).map_err(Error::io(&self.path))?;
        let (channels, points) = (self.state.channels, self.state.points());
        let mut values = Vec::with_capacity(rows.iter().map(|row| row.states.len()).sum());
        for state in rows.iter().flat_map(|row| row.states.chunks_exact((channels * points).max(1))) {
            for point in 0..points {
                values.extend((0..channels).map(|channel| state[channel * points + point]));
            }
        }
        let place = self.done..self.done + rows.len();
        write_rows(&self.tensor, place.clone(), values).map_err(Error::unwritten(&self.path))?;
        self.done = place.end;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        self.file.flush().map_err(Error::unwritten(&self.path))
    }
}

fn lay_out(
    file: &File,
    manifest: &Manifest,
    index: &[IndexEntry],
    times: Vec<f64>,
) -> hdf5_metno::Result<hdf5_metno::Dataset> {
    text(file, "title", &manifest.name)?;
    text(file, "summary", &manifest.description)?;
    text(file, "license", &manifest.license)?;
    let shape: Vec<usize> = [index.len(), times.len()]
        .into_iter()
        .chain(manifest.state_shape().space)
        .chain([manifest.channels.len()])
        .collect();
    let tensor = builder(file).chunk(chunk(&shape)).shuffle().deflate(DEFLATE).empty::<f64>().shape(shape);
    let tensor = tensor.create("tensor")?;
    names(&tensor, "channels", &manifest.channels)?;
    coordinate(file, "t", times, &manifest.time_unit)?;
    for (name, axis) in AXES.iter().zip(manifest.grid.iter().flat_map(|grid| &grid.axes)) {
        let places = coordinate(file, name, axis.points().collect(), &axis.unit)?;
        text(&places, BOUNDARY, axis.boundary.name())?;
    }
    let values = Array2::from_shape_fn((index.len(), manifest.parameters.len()), |(b, k)| {
        index[b].parameters[k].unwrap_or(f64::NAN)
    });
    let parameters = builder(file).with_data(&values).create("parameters")?;
    names(&parameters, "names", &manifest.parameters)?;
    for (name, id) in
        [(ENVIRONMENT, (|row| &row.environment) as fn(&IndexEntry) -> &str), (TRAJECTORY, |row| &row.trajectory)]
    {
        let ids = index.iter().map(|row| string(id(row))).collect::<hdf5_metno::Result<Vec<_>>>()?;
        builder(file).with_data(&ids).create(name)?;
    }
    Ok(tensor)
}

fn coordinate(file: &File, axis: &str, places: Vec<f64>, unit: &str) -> hdf5_metno::Result<hdf5_metno::Dataset> {
    let coordinate = builder(file).with_data(&Array1::from(places)).create(format!("{axis}-coordinate").as_str())?;
    text(&coordinate, "units", unit)?;
    Ok(coordinate)
}

/// The names of `quantities` as the attribute `attribute`, and their units beside it.
fn names(location: &Location, attribute: &str, quantities: &[Quantity]) -> hdf5_metno::Result<()> {
    for (attribute, of) in [(attribute, (|it| &it.name) as fn(&Quantity) -> &str), ("units", |it| &it.unit)] {
        let values = quantities.iter().map(|it| string(of(it))).collect::<hdf5_metno::Result<Vec<VarLenUnicode>>>()?;
        let attribute = location.new_attr::<VarLenUnicode>().shape([values.len()]).create(attribute)?;
        if !values.is_empty() {
            attribute.write_raw(&values)?;
        }
    }
    Ok(())
}
