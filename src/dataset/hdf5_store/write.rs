//! Writes a split as an HDF5 file image in memory; and, for exports, lays its variables out in any file.
//!
//! The image is written to disk by `std::fs`: a full disk is then an error, where libhdf5 would abort the process.

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

use super::attributes::{FORMAT_ATTRIBUTE, builder, string, text};
use super::the_well;
use crate::dataset::layout::{ENVIRONMENT_ID, POINT, SAMPLE, SAMPLE_COUNT, TIME, TRAJECTORY, TRAJECTORY_ID};
use crate::dataset::manifest::Manifest;
use crate::dataset::reader::IndexEntry;
use crate::schema::{FormatVersion, Input, Quantity, Split, StateShape, Trajectory};

/// Values of a chunk of a `[B, T]` variable, at most (128 KiB).
const CHUNK_VALUES: usize = 1 << 14;
/// Values written at a time, at most but for one chunk of samples (16 MiB).
const WRITTEN_VALUES: usize = 1 << 21;
/// Deflate level: beyond it, noisy doubles only cost time.
const DEFLATE: u8 = 4;

// The high-level library is linked by hdf5-metno-sys (feature `hl`), which declares nothing of it.
unsafe extern "C" {
    fn H5DSset_scale(dataset: hid_t, name: *const c_char) -> c_int;
    fn H5DSattach_scale(dataset: hid_t, scale: hid_t, dimension: u32) -> c_int;
}

/// libhdf5 takes two open in-memory files of one name for the same file.
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

/// Writes the file at `path` that [`image`] would be of the `row` alone, which need not stand in memory a second time.
pub(crate) fn write_long(path: &Path, manifest: &Manifest, split: Split, row: &Trajectory) -> Result<()> {
    // Nobody else knows the file yet, and a child of the process would keep the lock for as long as it lives.
    let file = FileBuilder::new()
        .with_fapl(|plist| plist.file_locking(false))
        .with_fcpl(|plist| plist.link_creation_order(LinkCreationOrder::Indexed).obj_track_times(false))
        .create(path)?;
    fill(&file, manifest, split, std::slice::from_ref(row))?;
    file.flush()
}

/// Writes all that the file of `rows` holds.
fn fill(file: &File, manifest: &Manifest, split: Split, rows: &[Trajectory]) -> Result<()> {
    text(file, FORMAT_ATTRIBUTE, &FormatVersion::DATASET.to_string())?;
    let first = rows.first().map_or(&[][..], |row| &row.times);
    let shared = rows.iter().all(|row| same_bits(&row.times, first)).then_some(first).filter(|first| !first.is_empty());
    let index: Vec<IndexEntry> = rows.iter().map(IndexEntry::of).collect();
    SplitVariables::lay_out(file, manifest, split, &index, shared, true)?.append(rows)?;
    if shared.is_some() {
        the_well::add(file, manifest, rows.len())?;
    }
    Ok(())
}

/// The variables of a split in a file: laid out at once, filled row after row.
pub(crate) struct SplitVariables {
    /// `[B, T]`, where trajectories have times of their own.
    times: Option<Dataset>,
    channels: Vec<Dataset>,
    /// `[B, T]` each.
    inputs: Vec<Dataset>,
    state: StateShape,
    longest: usize,
    /// Rows that are filled.
    filled: usize,
}

impl SplitVariables {
    /// Makes all variables of the split whose trajectories are those of `index`, with the `shared` times if they have the same. A state without
    /// space stands on the one point of an axis if `on_point`.
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
            let places = Array1::from_iter((0..axis.count).map(|i| i as f64 * axis.spacing));
            let scale = Scale::new(file, &axis.name, places.view())?;
            describe(&scale.dataset, &Quantity::new(&axis.name, &axis.unit, "place on the axis; periodic"))?;
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

    /// Fills the rows behind those that are filled.
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

    /// Writes these rows of a variable, whole chunks of some samples at a time, of which `values` gives all values.
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

/// Samples that a variable has room for where the longest trajectory has `longest`: no axis is empty.
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

/// `[B, samples, n_1, .., n_k]`: channel `c`, and NaN (of one bit pattern) where a cell is missing and after the end of a trajectory.
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
        check(status, "set a dimension scale")?;
        Ok(Scale { dataset })
    }

    fn attach(&self, variable: &Dataset, dimension: u32) -> Result<()> {
        // SAFETY: both datasets are open and outlive the call.
        let status = sync(|| unsafe { H5DSattach_scale(variable.id(), self.dataset.id(), dimension) });
        check(status, "attach a dimension scale")
    }
}

fn check(status: c_int, what: &str) -> Result<()> {
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
