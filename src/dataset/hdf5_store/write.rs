//! Writes a split as an HDF5 file image in memory; exports lay out the same variables in a file.
//!
//! The image is written to disk by `std::fs`, so a full disk is an error; libhdf5 would abort the process.

use std::ffi::{CString, c_char, c_int};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use hdf5_metno::plist::file_create::LinkCreationOrder;
use hdf5_metno::sync::sync;
use hdf5_metno::{Dataset, Error, File, FileBuilder, Hyperslab, Result, SliceOrIndex};
use hdf5_metno_sys::h5f::H5Fget_file_image;
use hdf5_metno_sys::h5i::hid_t;
use ndarray::{Array1, Array2, ArrayD, ArrayView1};

use super::attributes::{BOUNDARY, FORMAT_ATTRIBUTE, builder, string, text};
use super::the_well;
use crate::dataset::index::IndexEntry;
use crate::dataset::layout::{ENVIRONMENT_ID, POINT, SAMPLE, SAMPLE_COUNT, TIME, TRAJECTORY, TRAJECTORY_ID};
use crate::dataset::manifest::Manifest;
use crate::schema::{Boundary, FormatVersion, Input, Quantity, Split, StateShape, Trajectory};

/// Most values of a chunk of a `[B, T]` variable (128 KiB).
const CHUNK_VALUES: usize = 1 << 14;
/// Most values written at a time (16 MiB), but at least one chunk of samples.
const WRITTEN_VALUES: usize = 1 << 21;
/// Deflate level; higher ones take longer and do not compress noisy doubles further.
const DEFLATE: u8 = 4;

// The high-level library is linked by hdf5-metno-sys (feature `hl`), which does not declare these functions.
unsafe extern "C" {
    fn H5DSset_scale(dataset: hid_t, name: *const c_char) -> c_int;
    fn H5DSattach_scale(dataset: hid_t, scale: hid_t, dimension: u32) -> c_int;
}

/// Numbers images: libhdf5 takes two open in-memory files of the same name for one file.
static IMAGES: AtomicU64 = AtomicU64::new(0);

/// The bytes of the HDF5 file that holds `rows`, the trajectories of `split` in key order (at least one).
pub(crate) fn image(manifest: &Manifest, split: Split, rows: &[Trajectory]) -> Result<Vec<u8>> {
    let name = format!("paramill-image-{}.h5", IMAGES.fetch_add(1, Ordering::Relaxed));
    let file = FileBuilder::new()
        .with_fapl(|plist| plist.core_filebacked(false))
        .with_fcpl(|plist| plist.link_creation_order(LinkCreationOrder::Indexed).obj_track_times(false))
        .create(name)?;
    fill(&file, manifest, split, rows)?;
    file.flush()?;
    bytes_of(&file)
}

/// Writes the file of the one trajectory `row` to `path`, the same as its [`image`], without a second copy in memory.
pub(crate) fn write_long(path: &Path, manifest: &Manifest, split: Split, row: &Trajectory) -> Result<()> {
    // No other process uses the file yet, and a child process would inherit the lock.
    let file = FileBuilder::new()
        .with_fapl(|plist| plist.file_locking(false))
        .with_fcpl(|plist| plist.link_creation_order(LinkCreationOrder::Indexed).obj_track_times(false))
        .create(path)?;
    fill(&file, manifest, split, std::slice::from_ref(row))?;
    file.flush()
}

/// Writes the whole content of the file of `rows`.
fn fill(file: &File, manifest: &Manifest, split: Split, rows: &[Trajectory]) -> Result<()> {
    text(file, FORMAT_ATTRIBUTE, &FormatVersion::DATASET.to_string())?;
    let first = rows.first().map_or(&[][..], |row| &row.times);
    let shared = rows.iter().all(|row| same_bits(&row.times, first)).then_some(first).filter(|first| !first.is_empty());
    let index: Vec<IndexEntry> = rows.iter().map(IndexEntry::new).collect();
    SplitVariables::lay_out(file, manifest, split, &index, shared, true)?.append(rows)?;
    if shared.is_some() {
        the_well::add(file, manifest, rows.len())?;
    }
    Ok(())
}

/// The variables of a split in a file: created at once, filled row by row.
pub(crate) struct SplitVariables {
    /// `[B, T]`, if trajectories have different times.
    times: Option<Dataset>,
    channels: Vec<Dataset>,
    /// `[B, T]` each.
    inputs: Vec<Dataset>,
    state: StateShape,
    longest: usize,
    /// Number of filled rows.
    filled: usize,
}

impl SplitVariables {
    /// Creates all variables for the trajectories of `index`, with the common times `shared` if they have any. `on_point` adds a one-point axis
    /// to a state without space.
    pub(crate) fn lay_out(
        file: &File,
        manifest: &Manifest,
        split: Split,
        index: &[IndexEntry],
        shared: Option<&[f64]>,
        on_point: bool,
    ) -> Result<Self> {
        root_attributes(file, manifest, split)?;
        let longest = stored_length(index.iter().map(|row| row.samples).max().unwrap_or(0));
        let trajectory = Scale::new(file, TRAJECTORY, counting(index.len()).view())?;
        text(&trajectory.dataset, "long_name", "row of the trajectory")?;
        let (along, times) = match shared {
            Some(times) => {
                let time = Scale::new(file, TIME, ArrayView1::from(times))?;
                describe(&time.dataset, &Quantity::new(TIME, &manifest.time_unit, "time"))?;
                (time, None)
            }
            None => {
                let sample = Scale::new(file, SAMPLE, counting(longest).view())?;
                text(&sample.dataset, "long_name", "number of the sample in its trajectory")?;
                let times = variable(file, TIME, &[index.len(), longest], &[&trajectory, &sample])?;
                describe(&times, &Quantity::new(TIME, &manifest.time_unit, "time of the sample"))?;
                let counts = Array1::from_iter(index.iter().map(|row| row.samples as i64));
                let counts = builder(file).with_data(&counts).create(SAMPLE_COUNT)?;
                text(&counts, "long_name", "samples of the trajectory")?;
                trajectory.attach(&counts, 0)?;
                (sample, Some(times))
            }
        };
        for (name, id) in [
            (ENVIRONMENT_ID, (|row| &row.environment) as fn(&IndexEntry) -> &str),
            (TRAJECTORY_ID, |row| &row.trajectory),
        ] {
            let ids = index.iter().map(|row| string(id(row))).collect::<Result<Vec<_>>>()?;
            let ids = builder(file).with_data(&ids).create(name)?;
            trajectory.attach(&ids, 0)?;
        }
        for (k, parameter) in manifest.parameters.iter().enumerate() {
            let values = Array1::from_iter(index.iter().map(|row| row.parameters[k].unwrap_or(f64::NAN)));
            let values = builder(file).fill_value(f64::NAN).with_data(&values).create(parameter.name.as_str())?;
            describe(&values, parameter)?;
            fill_attribute(&values)?;
            trajectory.attach(&values, 0)?;
        }
        let mut scales = vec![trajectory, along];
        for axis in manifest.grid.iter().flat_map(|grid| &grid.axes) {
            let places = Array1::from_iter(axis.points());
            let scale = Scale::new(file, &axis.name, places.view())?;
            let description = match axis.boundary {
                Boundary::Periodic => "place on the axis; periodic",
                Boundary::Zero => "place on the axis; zero beyond its ends",
                Boundary::Replicate => "place on the axis; beyond its ends as at the ends",
            };
            describe(&scale.dataset, &Quantity::new(&axis.name, &axis.unit, description))?;
            text(&scale.dataset, BOUNDARY, axis.boundary.name())?;
            scales.push(scale);
        }
        let state = manifest.state_shape();
        let mut shape: Vec<usize> = [index.len(), longest].into_iter().chain(state.space.iter().copied()).collect();
        if on_point && shared.is_some() && manifest.grid.is_none() {
            let point = Scale::new(file, POINT, ArrayView1::from(&[0.0]))?;
            describe(&point.dataset, &Quantity::new(POINT, "1", "the state has no space"))?;
            scales.push(point);
            shape.push(1);
        }
        let scales: Vec<&Scale> = scales.iter().collect();
        let mut channels = Vec::with_capacity(manifest.channels.len());
        for channel in &manifest.channels {
            let values = variable(file, &channel.name, &shape, &scales)?;
            describe(&values, channel)?;
            channels.push(values);
        }
        let mut inputs = Vec::with_capacity(manifest.inputs.len());
        for Input { quantity, between } in &manifest.inputs {
            let values = variable(file, &quantity.name, &shape[..2], &scales[..2])?;
            describe(&values, quantity)?;
            text(&values, "between", between.name())?;
            inputs.push(values);
        }
        Ok(SplitVariables { times, channels, inputs, state, longest, filled: 0 })
    }

    /// Fills the next rows.
    pub(crate) fn append(&mut self, rows: &[Trajectory]) -> Result<()> {
        let place = self.filled..self.filled + rows.len();
        if let Some(variable) = &self.times {
            self.write(variable, &place, |samples| {
                let time = |(b, t): (usize, usize)| rows[b].times.get(samples.start + t).copied().unwrap_or(f64::NAN);
                Array2::from_shape_fn((rows.len(), samples.len()), time).into_raw_vec_and_offset().0
            })?;
        }
        for (c, variable) in self.channels.iter().enumerate() {
            self.write(variable, &place, |samples| padded_fields(rows, samples, &self.state, c))?;
        }
        for (u, variable) in self.inputs.iter().enumerate() {
            self.write(variable, &place, |samples| {
                let input = |(b, t): (usize, usize)| {
                    let t = samples.start + t;
                    if t < rows[b].len() { rows[b].input(t)[u] } else { f64::NAN }
                };
                Array2::from_shape_fn((rows.len(), samples.len()), input).into_raw_vec_and_offset().0
            })?;
        }
        self.filled = place.end;
        Ok(())
    }

    /// Writes these rows of a variable in whole chunks; `values` gives the values of a range of samples.
    fn write(&self, variable: &Dataset, rows: &Range<usize>, values: impl Fn(Range<usize>) -> Vec<f64>) -> Result<()> {
        let shape = variable.shape();
        let of_sample = rows.len() * shape[2..].iter().product::<usize>();
        let of_chunk = chunk(&shape)[1];
        let together = (WRITTEN_VALUES / (of_sample * of_chunk).max(1)).max(1) * of_chunk;
        for first in (0..self.longest).step_by(together) {
            let samples = first..(first + together).min(self.longest);
            write_samples(variable, rows.clone(), samples.clone(), values(samples))?;
        }
        Ok(())
    }
}

/// Length of the sample axis if the longest trajectory has `longest` samples: at least one.
pub(crate) fn stored_length(longest: usize) -> usize {
    longest.max(1)
}

/// Writes `values` as these rows of a variable.
pub(crate) fn write_rows(variable: &Dataset, rows: Range<usize>, values: Vec<f64>) -> Result<()> {
    write_samples(variable, rows, 0..variable.shape()[1], values)
}

fn write_samples(variable: &Dataset, rows: Range<usize>, samples: Range<usize>, values: Vec<f64>) -> Result<()> {
    let mut shape = variable.shape();
    (shape[0], shape[1]) = (rows.len(), samples.len());
    let others = shape[2..].iter().map(|count| 0..*count);
    let slices: Vec<SliceOrIndex> = [rows, samples].into_iter().chain(others).map(SliceOrIndex::from).collect();
    let values = ArrayD::from_shape_vec(shape, values).map_err(|error| Error::Internal(error.to_string()))?;
    variable.write_slice(&values, Hyperslab::from(slices))
}

fn root_attributes(file: &File, manifest: &Manifest, split: Split) -> Result<()> {
    text(file, "Conventions", "CF-1.11")?;
    text(file, "title", &format!("{}: {split}", manifest.name))?;
    text(file, "summary", &manifest.description)?;
    text(file, "license", &manifest.license)?;
    text(file, "paramill_split", split.name())
}

fn counting(length: usize) -> Array1<i64> {
    Array1::from_iter(0..length as i64)
}

fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// Channel `c` as `[B, samples, n_1, .., n_k]`, NaN (one bit pattern) in missing cells and after the end of a trajectory.
fn padded_fields(rows: &[Trajectory], samples: Range<usize>, state: &StateShape, c: usize) -> Vec<f64> {
    let of_row = samples.len() * state.points();
    let mut values = vec![f64::NAN; rows.len() * of_row];
    for (row, stored) in rows.iter().zip(values.chunks_exact_mut(of_row.max(1))) {
        let states = row.states.get(samples.start * state.size()..).unwrap_or_default();
        for (value, stored) in state.channel(states, c).flatten().zip(stored) {
            *stored = if value.is_nan() { f64::NAN } else { *value };
        }
    }
    values
}

/// A chunked, compressed, checksummed variable `[B, T, ..]`, NaN throughout. A chunk holds whole fields.
fn variable(file: &File, name: &str, shape: &[usize], scales: &[&Scale]) -> Result<Dataset> {
    let variable = builder(file)
        .chunk(chunk(shape))
        .shuffle()
        .deflate(DEFLATE)
        .fletcher32()
        .fill_value(f64::NAN)
        .empty::<f64>()
        .shape(shape)
        .create(name)?;
    fill_attribute(&variable)?;
    for (dimension, scale) in scales.iter().enumerate() {
        scale.attach(&variable, dimension as u32)?;
    }
    Ok(variable)
}

/// The shape of a chunk of a variable `[B, T, ..]`.
pub(crate) fn chunk(shape: &[usize]) -> Vec<usize> {
    let most = (CHUNK_VALUES / shape[2..].iter().product::<usize>().max(1)).max(1);
    let samples = shape[1].clamp(1, most);
    let rows = (most / samples).clamp(1, shape[0].max(1));
    [rows, samples].into_iter().chain(shape[2..].iter().copied()).collect()
}

fn describe(variable: &Dataset, quantity: &Quantity) -> Result<()> {
    let description = if quantity.description.is_empty() { &quantity.name } else { &quantity.description };
    text(variable, "long_name", description)?;
    text(variable, "units", &quantity.unit)
}

fn fill_attribute(variable: &Dataset) -> Result<()> {
    variable.new_attr::<f64>().shape([1]).create("_FillValue")?.write_raw(&[f64::NAN])
}

/// A dimension scale: a variable that names an axis of others.
struct Scale {
    dataset: Dataset,
}

impl Scale {
    fn new<T: hdf5_metno::H5Type>(file: &File, name: &str, values: ArrayView1<T>) -> Result<Self> {
        let dataset = builder(file).with_data(values).create(name)?;
        let label = CString::new(name).map_err(|error| Error::Internal(error.to_string()))?;
        // SAFETY: the dataset is open and the label is a NUL-terminated string; both outlive the call.
        let status = sync(|| unsafe { H5DSset_scale(dataset.id(), label.as_ptr()) });
        require_success(status, "set a dimension scale")?;
        Ok(Scale { dataset })
    }

    fn attach(&self, variable: &Dataset, dimension: u32) -> Result<()> {
        // SAFETY: both datasets are open and outlive the call.
        let status = sync(|| unsafe { H5DSattach_scale(variable.id(), self.dataset.id(), dimension) });
        require_success(status, "attach a dimension scale")
    }
}

fn require_success(status: c_int, what: &str) -> Result<()> {
    if status >= 0 { Ok(()) } else { Err(Error::Internal(format!("libhdf5 could not {what}"))) }
}

fn bytes_of(file: &File) -> Result<Vec<u8>> {
    let failed = || Error::Internal("libhdf5 could not give the image of a file in memory".to_owned());
    sync(|| {
        // SAFETY: a null buffer asks for the size only.
        let size = unsafe { H5Fget_file_image(file.id(), std::ptr::null_mut(), 0) };
        let mut bytes = vec![0; usize::try_from(size).map_err(|_| failed())?];
        // SAFETY: the buffer has the length that is passed, and outlives the call.
        let written = unsafe { H5Fget_file_image(file.id(), bytes.as_mut_ptr().cast(), bytes.len()) };
        if written == size && size > 0 { Ok(bytes) } else { Err(failed()) }
    })
}
