//! Writes a split as an HDF5 file image in memory.
//!
//! The image is written to disk by `std::fs`: a full disk is then an error, where libhdf5 would abort the process.

use std::ffi::{CString, c_char, c_int};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use hdf5_metno::plist::dataset_create::AttrCreationOrder;
use hdf5_metno::plist::file_create::LinkCreationOrder;
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{Dataset, DatasetBuilder, Error, File, FileBuilder, Group, Location, Result, sync::sync};
use hdf5_metno_sys::h5f::H5Fget_file_image;
use hdf5_metno_sys::h5i::hid_t;
use ndarray::{Array1, Array2, ArrayD, Axis};

use super::{FORMAT_ATTRIBUTE, the_well};
use crate::dataset::Manifest;
use crate::dataset::layout::{ENVIRONMENT_ID, POINT, SAMPLE, SAMPLE_COUNT, TIME, TRAJECTORY, TRAJECTORY_ID};
use crate::schema::{FormatVersion, Quantity, Split, StateShape, Trajectory};

/// Values of a chunk of a `[B, T]` variable, at most (128 KiB).
const CHUNK_VALUES: usize = 1 << 14;
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
pub(in crate::dataset) fn image(manifest: &Manifest, split: Split, rows: &[Trajectory]) -> Result<Vec<u8>> {
    let name = format!("paramill-image-{}.h5", IMAGES.fetch_add(1, Ordering::Relaxed));
    let file = FileBuilder::new()
        .with_fapl(|plist| plist.core_filebacked(false))
        .with_fcpl(|plist| plist.link_creation_order(LinkCreationOrder::Indexed).obj_track_times(false))
        .create(name)?;
    root_attributes(&file, manifest, split)?;

    let longest = rows.iter().map(Trajectory::len).max().unwrap_or(0);
    let trajectory = Scale::new(&file, TRAJECTORY, &counting(rows.len()))?;
    text(&trajectory.dataset, "long_name", "row of the trajectory")?;
    let first_times = rows.first().map_or(&[][..], |row| &row.times);
    let shared = rows.iter().all(|row| same_bits(&row.times, first_times));
    let along = if shared {
        let time = Scale::new(&file, TIME, &Array1::from(first_times.to_vec()))?;
        describe(&time.dataset, &Quantity::new(TIME, &manifest.time_unit, "time"))?;
        time
    } else {
        let sample = Scale::new(&file, SAMPLE, &counting(longest))?;
        text(&sample.dataset, "long_name", "number of the sample in its trajectory")?;
        let times = padded(rows, longest, |row, t| row.times[t]).into_dyn();
        let time = gridded(&file, TIME, &times, &[&trajectory, &sample])?;
        describe(&time, &Quantity::new(TIME, &manifest.time_unit, "time of the sample"))?;
        let counts = Array1::from_iter(rows.iter().map(|row| row.len() as i64));
        let counts = builder(&file).with_data(&counts).create(SAMPLE_COUNT)?;
        text(&counts, "long_name", "samples of the trajectory")?;
        trajectory.attach(&counts, 0)?;
        sample
    };
    for (name, id) in
        [(ENVIRONMENT_ID, id_of_environment as fn(&Trajectory) -> &str), (TRAJECTORY_ID, id_of_trajectory)]
    {
        let ids = rows.iter().map(|row| string(id(row))).collect::<Result<Vec<_>>>()?;
        let ids = builder(&file).with_data(&ids).create(name)?;
        trajectory.attach(&ids, 0)?;
    }
    for (k, parameter) in manifest.parameters.iter().enumerate() {
        let values = Array1::from_iter(rows.iter().map(|row| row.parameters[k].unwrap_or(f64::NAN)));
        let values = builder(&file).fill_value(f64::NAN).with_data(&values).create(parameter.name.as_str())?;
        describe(&values, parameter)?;
        fill_attribute(&values)?;
        trajectory.attach(&values, 0)?;
    }
    let mut scales = vec![trajectory, along];
    for axis in manifest.grid.iter().flat_map(|grid| &grid.axes) {
        let places = Array1::from_iter((0..axis.count).map(|i| i as f64 * axis.spacing));
        let scale = Scale::new(&file, &axis.name, &places)?;
        describe(&scale.dataset, &Quantity::new(&axis.name, &axis.unit, "place on the axis; periodic"))?;
        scales.push(scale);
    }
    if shared && manifest.grid.is_none() {
        let point = Scale::new(&file, POINT, &Array1::from_elem(1, 0.0))?;
        describe(&point.dataset, &Quantity::new(POINT, "1", "the state has no space"))?;
        scales.push(point);
    }
    let scales: Vec<&Scale> = scales.iter().collect();
    let state = manifest.state_shape();
    for (c, channel) in manifest.channels.iter().enumerate() {
        let mut values = padded_fields(rows, longest, &state, c);
        if values.ndim() < scales.len() {
            values.insert_axis_inplace(Axis(2));
        }
        let values = gridded(&file, &channel.name, &values, &scales)?;
        describe(&values, channel)?;
    }
    if shared {
        the_well::add(&file, manifest, rows.len())?;
    }
    file.flush()?;
    bytes_of(&file)
}

fn id_of_environment(row: &Trajectory) -> &str {
    &row.environment
}

fn id_of_trajectory(row: &Trajectory) -> &str {
    &row.trajectory
}

fn root_attributes(file: &File, manifest: &Manifest, split: Split) -> Result<()> {
    text(file, "Conventions", "CF-1.11")?;
    text(file, "title", &format!("{}: {split}", manifest.name))?;
    text(file, "summary", &manifest.description)?;
    text(file, "license", &manifest.license)?;
    text(file, FORMAT_ATTRIBUTE, &FormatVersion::CURRENT.to_string())?;
    text(file, "paramill_split", split.name())
}

fn counting(length: usize) -> Array1<i64> {
    Array1::from_iter(0..length as i64)
}

fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

/// `[B, longest]`: `value(row, t)`, and NaN after the end of a trajectory.
fn padded(rows: &[Trajectory], longest: usize, value: impl Fn(&Trajectory, usize) -> f64) -> Array2<f64> {
    Array2::from_shape_fn((rows.len(), longest), |(b, t)| {
        let row = &rows[b];
        if t < row.len() { value(row, t) } else { f64::NAN }
    })
}

pub(super) fn builder(group: &Group) -> DatasetBuilder {
    group
        .new_dataset_builder()
        .obj_track_times(false)
        .attr_creation_order(AttrCreationOrder::Tracked)
        .char_encoding(hdf5_metno::plist::link_create::CharEncoding::Utf8)
}

/// `[B, longest, n_1, .., n_k]`: channel `c`, and NaN (of one bit pattern) where a cell is missing and after the end of a trajectory.
fn padded_fields(rows: &[Trajectory], longest: usize, state: &StateShape, c: usize) -> ArrayD<f64> {
    let shape: Vec<usize> = [rows.len(), longest].into_iter().chain(state.space.iter().copied()).collect();
    let mut values = ArrayD::from_elem(shape, f64::NAN);
    let stored = values.as_slice_mut().expect("an array that was just made is contiguous");
    for (row, stored) in rows.iter().zip(stored.chunks_exact_mut((longest * state.points()).max(1))) {
        for (value, stored) in state.channel(&row.states, c).flatten().zip(stored) {
            *stored = if value.is_nan() { f64::NAN } else { *value };
        }
    }
    values
}

/// A chunked, compressed, checksummed variable `[B, T, ..]`. A chunk holds whole fields.
fn gridded(file: &File, name: &str, values: &ArrayD<f64>, scales: &[&Scale]) -> Result<Dataset> {
    let (shape, points) = (values.shape(), values.shape()[2..].iter().product::<usize>());
    let most = (CHUNK_VALUES / points.max(1)).max(1);
    let chunk_samples = shape[1].clamp(1, most);
    let chunk_rows = (most / chunk_samples).clamp(1, shape[0].max(1));
    let chunk: Vec<usize> = [chunk_rows, chunk_samples].into_iter().chain(shape[2..].iter().copied()).collect();
    let variable = builder(file)
        .chunk(chunk)
        .shuffle()
        .deflate(DEFLATE)
        .fletcher32()
        .fill_value(f64::NAN)
        .with_data(values)
        .create(name)?;
    fill_attribute(&variable)?;
    for (dimension, scale) in scales.iter().enumerate() {
        scale.attach(&variable, dimension as u32)?;
    }
    Ok(variable)
}

fn describe(variable: &Dataset, quantity: &Quantity) -> Result<()> {
    let description = if quantity.description.is_empty() { &quantity.name } else { &quantity.description };
    text(variable, "long_name", description)?;
    text(variable, "units", &quantity.unit)
}

fn fill_attribute(variable: &Dataset) -> Result<()> {
    variable.new_attr::<f64>().shape([1]).create("_FillValue")?.write_raw(&[f64::NAN])
}

pub(super) fn string(text: &str) -> Result<VarLenUnicode> {
    VarLenUnicode::from_str(text).map_err(|error| Error::Internal(format!("{text:?}: {error}")))
}

pub(super) fn text(location: &Location, name: &str, value: &str) -> Result<()> {
    location.new_attr::<VarLenUnicode>().create(name)?.write_scalar(&string(value)?)
}

/// A dimension scale: a variable that names an axis of others.
struct Scale {
    dataset: Dataset,
}

impl Scale {
    fn new<T: hdf5_metno::H5Type>(file: &File, name: &str, values: &Array1<T>) -> Result<Self> {
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
