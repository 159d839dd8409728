//! HDF5 files as tables of one row a sample.
//!
//! Symbols: `B` trajectories, `T` samples of the longest. Layouts, told by what a file holds:
//!
//! | layout | columns |
//! |---|---|
//! | a dataset of this program | `environment_id`, `trajectory_id`, parameters `[B]`; `time` `[T]` or `[B, T]`; channels `[B, T]` |
//! | The Well | `trajectory` (0, 1, ..); `time` `[T]` of `dimensions`; `t0_fields` `[B, T, 1, ..]`; `scalars` `[B]` or one number |
//! | PDEBench | ids `[B]` or (0, 1, ..); `time`, of `t-coordinate`; `tensor` `[B, T]`, or `tensor.0`, .. of `[B, T, C]` |
//! | any other | every variable `[T]` of numbers or texts, by its path; all are of one length |

use std::ops::Range;
use std::path::Path;

use arrow_array::builder::StringViewBuilder;
use arrow_buffer::Buffer;
use hdf5_metno::types::{FixedAscii, FixedUnicode, IntSize, TypeDescriptor};
use hdf5_metno::{Dataset, File, Group, H5Type, Hyperslab, SliceOrIndex};
use ndarray::IxDyn;

use super::columns::{Batch, Batches, Column, EXACT, Failure, Refusal};
use crate::dataset::{Texts, hdf5_reach_problems};

/// Rows read at a time.
const ROWS: usize = 1 << 13;

/// Groups within groups that are looked into.
const DEEPEST: usize = 4;

/// Bytes that a stored byte can stand for at most: deflate's limit is 1032.
const GREATEST_DEFLATION: u64 = 1040;

/// Bytes of a text of fixed length at most.
const LONGEST_TEXT: usize = 256;

/// Channels of a tensor at most; an axis of more is one in space.
const MOST_CHANNELS: usize = 64;

const COPY: &str = "copy the values into a plain file, for example with `h5repack`";
const EXPORT: &str = "export the samples as CSV or Parquet: one row a sample, one column a channel";

/// Axes of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axes {
    None,
    Rows,
    Samples,
    /// Rows and samples, at this position of the last axis beyond them.
    Both(usize),
}

enum Values {
    Numbers(Dataset, Axes),
    /// Of 64 bits, with a sign or without.
    Integers(Dataset, Axes, bool),
    /// Of one length each, in Unicode or not.
    FixedTexts(Dataset, Axes, bool),
    Texts(Texts, Axes),
    /// The number of the trajectory.
    Index,
}

struct Table {
    columns: Vec<(String, Values)>,
    rows: usize,
    samples: usize,
    /// Whether what has no time is no sample: trajectories of unequal lengths.
    padded: bool,
}

/// Opens a file, told by its layout.
pub(super) fn open(path: &Path) -> Result<Batches, Refusal> {
    let damaged = |error: hdf5_metno::Error| {
        (format!("an HDF5 file that cannot be read: {error}"), "check that the file was copied whole")
    };
    let file = File::open(path).map_err(damaged)?;
    let reaching = hdf5_reach_problems(path, &file)
        .map_err(|error| (error.to_string(), "check that the file was copied whole"))?;
    if !reaching.is_empty() {
        return Err((reaching.join("; "), COPY));
    }
    let table = if file.link_exists("environment_id") {
        own(path, &file)
    } else if file.link_exists("t0_fields") {
        the_well(path, &file)
    } else if file.link_exists("tensor") && file.link_exists("t-coordinate") {
        pde_bench(path, &file)
    } else {
        plain(path, &file)
    }?;
    let names = table.columns.iter().map(|(name, _)| name.clone()).collect();
    Ok(Batches::new(names, table.batches()))
}

fn own(path: &Path, file: &File) -> Result<Table, Refusal> {
    let rows = variable(file, "environment_id")?.size();
    let times = variable(file, "time")?;
    let samples = times.shape().last().copied().unwrap_or(0);
    let mut columns = Vec::new();
    for name in names(file) {
        let Ok(values) = file.dataset(&name) else { continue };
        let axes = match values.shape().as_slice() {
            [length] if name == "time" && *length == samples => Axes::Samples,
            [length] if *length == rows => Axes::Rows,
            shape if is_series(shape, rows, samples) => Axes::Both(0),
            _ => continue,
        };
        columns.extend(column(path, &name, values, axes)?);
    }
    Ok(Table { columns, rows, samples, padded: times.ndim() > 1 })
}

fn the_well(path: &Path, file: &File) -> Result<Table, Refusal> {
    let group = |name: &str| file.group(name).map_err(|_| lacks(name));
    let times = variable(&group("dimensions")?, "time")?;
    let samples = times.shape().last().copied().unwrap_or(0);
    let fields = group("t0_fields")?;
    let first = names(&fields).into_iter().next().ok_or_else(|| lacks("t0_fields/.."))?;
    let rows = variable(&fields, &first)?.shape().first().copied().unwrap_or(0);
    let time_axes = if times.ndim() == 1 { Axes::Samples } else { Axes::Both(0) };
    let mut columns = vec![("trajectory".to_owned(), Values::Index)];
    columns.extend(column(path, "time", times, time_axes)?);
    for name in names(&fields) {
        let field = variable(&fields, &name)?;
        if !is_series(&field.shape(), rows, samples) {
            return Err(on_a_grid(&name, &field));
        }
        columns.extend(column(path, &name, field, Axes::Both(0))?);
    }
    if let Ok(scalars) = file.group("scalars") {
        for name in names(&scalars) {
            let scalar = variable(&scalars, &name)?;
            let axes = if scalar.size() == rows && scalar.ndim() == 1 { Axes::Rows } else { Axes::None };
            if axes == Axes::Rows || scalar.size() == 1 {
                columns.extend(column(path, &name, scalar, axes)?);
            }
        }
    }
    Ok(Table { columns, rows, samples, padded: false })
}

fn pde_bench(path: &Path, file: &File) -> Result<Table, Refusal> {
    let (tensor, times) = (variable(file, "tensor")?, variable(file, "t-coordinate")?);
    let shape = tensor.shape();
    let (&[rows, samples], beyond) =
        shape.split_first_chunk().ok_or_else(|| lacks("tensor of trajectories and times"))?;
    if beyond.len() > 1 || file.link_exists("x-coordinate") {
        return Err(on_a_grid("tensor", &tensor));
    }
    if times.ndim() != 1 || times.size() < samples {
        return Err((format!("{} times of {samples} samples", times.size()), EXPORT));
    }
    let mut columns = Vec::new();
    for name in ["environment", "trajectory"] {
        match file.dataset(name) {
            Ok(ids) if ids.shape() == [rows] => columns.extend(column(path, name, ids, Axes::Rows)?),
            _ if name == "trajectory" => columns.push((name.to_owned(), Values::Index)),
            _ => {}
        }
    }
    columns.extend(column(path, "time", times, Axes::Samples)?);
    match beyond.first() {
        None | Some(1) => columns.extend(column(path, "tensor", tensor, Axes::Both(0))?),
        Some(&channels) => {
            if channels > MOST_CHANNELS {
                return Err(on_a_grid("tensor", &tensor));
            }
            for c in 0..channels {
                columns.extend(column(path, &format!("tensor.{c}"), tensor.clone(), Axes::Both(c))?);
            }
        }
    }
    Ok(Table { columns, rows, samples, padded: false })
}

fn plain(path: &Path, file: &File) -> Result<Table, Refusal> {
    let mut found = Vec::new();
    let root = file.as_group().map_err(|error| (error.to_string(), COPY))?;
    collect(&root, "", 0, &mut found);
    let mut columns = Vec::new();
    let mut lengths: Vec<(String, usize)> = Vec::new();
    for (name, values) in found.into_iter().filter(|(_, values)| values.ndim() == 1) {
        let length = values.size();
        if let Some(column) = column(path, &name, values, Axes::Samples)? {
            lengths.push((name, length));
            columns.push(column);
        }
    }
    let Some(&(_, samples)) = lengths.first() else {
        return Err(("an HDF5 file without a variable of one axis".to_owned(), EXPORT));
    };
    if let Some((name, length)) = lengths.iter().find(|(_, length)| *length != samples) {
        return Err((
            format!("variables of different lengths: `{}` of {samples}, `{name}` of {length}", lengths[0].0),
            EXPORT,
        ));
    }
    Ok(Table { columns, rows: 1, samples, padded: false })
}

/// Every variable in a group and those within it, by its path.
fn collect(group: &Group, path: &str, depth: usize, found: &mut Vec<(String, Dataset)>) {
    for name in names(group) {
        let place = if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
        if let Ok(values) = group.dataset(&name) {
            found.push((place, values));
        } else if let (Ok(inner), true) = (group.group(&name), depth < DEEPEST) {
            collect(&inner, &place, depth + 1, found);
        }
    }
}

fn names(group: &Group) -> Vec<String> {
    let mut names = group.member_names().unwrap_or_default();
    names.sort();
    names
}

fn lacks(name: &str) -> Refusal {
    (format!("no variable `{name}`"), EXPORT)
}

fn on_a_grid(name: &str, variable: &Dataset) -> Refusal {
    let shape = variable.shape().iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
    (format!("`{name}` of {shape} values: a field on a grid, which cannot be imported"), EXPORT)
}

fn variable(group: &Group, name: &str) -> Result<Dataset, Refusal> {
    group.dataset(name).map_err(|_| lacks(name))
}

/// Whether a shape is `[rows, samples, 1, ..]`.
fn is_series(shape: &[usize], rows: usize, samples: usize) -> bool {
    shape.len() >= 2 && shape[..2] == [rows, samples] && shape[2..].iter().all(|&count| count == 1)
}

/// A variable as a column, if it is of numbers or texts; refused if it claims more than its bytes can hold.
fn column(path: &Path, name: &str, variable: Dataset, axes: Axes) -> Result<Option<(String, Values)>, Refusal> {
    let claimed = variable.size().saturating_mul(size_of::<f64>()) as u64;
    let most = variable.storage_size().saturating_mul(GREATEST_DEFLATION);
    if claimed > most.max(ROWS as u64) {
        return Err((
            format!("`{name}` claims {claimed} bytes, more than its {} can hold", variable.storage_size()),
            COPY,
        ));
    }
    let kind = variable.dtype().and_then(|kind| kind.to_descriptor()).ok();
    Ok(match kind {
        Some(TypeDescriptor::Integer(IntSize::U8)) => Some((name.to_owned(), Values::Integers(variable, axes, true))),
        Some(TypeDescriptor::Unsigned(IntSize::U8)) => Some((name.to_owned(), Values::Integers(variable, axes, false))),
        Some(TypeDescriptor::Float(_) | TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_)) => {
            Some((name.to_owned(), Values::Numbers(variable, axes)))
        }
        Some(TypeDescriptor::FixedAscii(length) | TypeDescriptor::FixedUnicode(length)) if length > LONGEST_TEXT => {
            return Err((format!("`{name}` of texts of {length} bytes; {LONGEST_TEXT} are read at most"), EXPORT));
        }
        Some(TypeDescriptor::FixedAscii(_)) => Some((name.to_owned(), Values::FixedTexts(variable, axes, false))),
        Some(TypeDescriptor::FixedUnicode(_)) => Some((name.to_owned(), Values::FixedTexts(variable, axes, true))),
        Some(TypeDescriptor::VarLenUnicode | TypeDescriptor::VarLenAscii) if !matches!(axes, Axes::Both(_)) => {
            let texts = Texts::new(path, &variable).map_err(|found| (format!("`{name}`: {found}"), COPY))?;
            Some((name.to_owned(), Values::Texts(texts, axes)))
        }
        _ => None,
    })
}

impl Table {
    fn batches(self) -> impl Iterator<Item = Result<Batch, Failure>> {
        let Table { mut columns, rows, samples, padded } = self;
        let together = (ROWS / samples.max(1)).max(1);
        let blocks = (0..rows).step_by(together).flat_map(move |row| {
            let of_rows = row..(row + together).min(rows);
            let step = if together == 1 { ROWS } else { samples.max(1) };
            (0..samples).step_by(step).map(move |sample| (of_rows.clone(), sample..(sample + step).min(samples)))
        });
        blocks.map(move |(rows, samples)| {
            let read = columns
                .iter_mut()
                .map(|(name, values)| values.read(&rows, &samples).map_err(|found| format!("`{name}`: {found}")));
            let mut batch = Batch(read.collect::<Result<_, _>>()?);
            if let Some(time) = columns.iter().position(|(name, _)| padded && name == "time") {
                batch.keep_present(time);
            }
            Ok(batch)
        })
    }
}

impl Values {
    /// The values of these rows and samples, row after row.
    fn read(&mut self, rows: &Range<usize>, samples: &Range<usize>) -> Result<Column, Failure> {
        Ok(match self {
            Values::Index => {
                Column::Numbers(rows.clone().flat_map(|row| samples.clone().map(move |_| row as f64)).collect())
            }
            Values::Numbers(variable, axes) => Column::Numbers(read(variable, *axes, rows, samples)?),
            Values::Integers(variable, axes, true) => {
                let values = read::<i64>(variable, *axes, rows, samples)?;
                Column::integers(
                    values.iter().copied().map(Some),
                    |value| value.unsigned_abs() <= EXACT,
                    |value| value as f64,
                )
            }
            Values::Integers(variable, axes, false) => {
                let values = read::<u64>(variable, *axes, rows, samples)?;
                Column::integers(values.iter().copied().map(Some), |value| value <= EXACT, |value| value as f64)
            }
            Values::FixedTexts(variable, axes, false) => {
                let texts = read::<FixedAscii<LONGEST_TEXT>>(variable, *axes, rows, samples)?;
                fixed_texts(texts.iter().map(FixedAscii::as_bytes))?
            }
            Values::FixedTexts(variable, axes, true) => {
                let texts = read::<FixedUnicode<LONGEST_TEXT>>(variable, *axes, rows, samples)?;
                fixed_texts(texts.iter().map(FixedUnicode::as_bytes))?
            }
            Values::Texts(texts, axes) => {
                let of_axis = match axes {
                    Axes::Rows => rows.clone(),
                    Axes::Samples => samples.clone(),
                    Axes::None | Axes::Both(_) => 0..1,
                };
                let read = texts.read(of_axis)?;
                let mut column = StringViewBuilder::new();
                let texts = read.texts.iter().map(|text| {
                    let length = u32::try_from(text.len()).map_err(|error| error.to_string())?;
                    Ok((column.append_block(Buffer::from(text.as_bytes())), length))
                });
                let texts = texts.collect::<Result<Vec<_>, Failure>>()?;
                for place in spread(read.places, *axes, rows.len(), samples.len()) {
                    match place.map(|place| texts[place]) {
                        Some((block, length)) => column.try_append_view(block, 0, length).map_err(|e| e.to_string())?,
                        None => column.append_null(),
                    }
                }
                Column::Texts(column.finish())
            }
        })
    }
}

/// The values of these rows and samples, row after row.
fn read<T: H5Type + Clone>(
    variable: &Dataset,
    axes: Axes,
    rows: &Range<usize>,
    samples: &Range<usize>,
) -> Result<Vec<T>, Failure> {
    let values = match slices(variable, axes, rows, samples) {
        Some(slices) => variable.read_slice::<T, _, IxDyn>(Hyperslab::from(slices)),
        None => variable.read_dyn::<T>(),
    };
    let values = values.map_err(|error| error.to_string())?.into_raw_vec_and_offset().0;
    Ok(spread(values, axes, rows.len(), samples.len()))
}

fn fixed_texts<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Result<Column, Failure> {
    let text =
        |bytes| std::str::from_utf8(bytes).map(Some).map_err(|error| format!("a text that is not UTF-8: {error}"));
    Ok(Column::Texts(texts.map(text).collect::<Result<_, _>>()?))
}

/// Where the values of these rows and samples stand in a variable; `None` for all of it.
fn slices(variable: &Dataset, axes: Axes, rows: &Range<usize>, samples: &Range<usize>) -> Option<Vec<SliceOrIndex>> {
    let ranges: Vec<Range<usize>> = match axes {
        Axes::None => return None,
        Axes::Rows => vec![rows.clone()],
        Axes::Samples => vec![samples.clone()],
        Axes::Both(last) => {
            let space = variable.ndim().saturating_sub(2);
            let beyond = (1..=space).map(|axis| if axis == space { last..last + 1 } else { 0..1 });
            [rows.clone(), samples.clone()].into_iter().chain(beyond).collect()
        }
    };
    Some(ranges.into_iter().map(SliceOrIndex::from).collect())
}

/// Values along `axes`, repeated for every row and sample.
fn spread<T: Clone>(values: Vec<T>, axes: Axes, rows: usize, samples: usize) -> Vec<T> {
    let all = rows * samples;
    match axes {
        Axes::Both(_) => values,
        Axes::Samples => values.iter().cycle().take(all.min(rows * values.len())).cloned().collect(),
        Axes::Rows => values.into_iter().flat_map(|value| std::iter::repeat_n(value, samples)).collect(),
        Axes::None => values.into_iter().take(1).flat_map(|value| std::iter::repeat_n(value, all)).collect(),
    }
}
