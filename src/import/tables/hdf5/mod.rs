//! HDF5 files as tables of one row a sample.
//!
//! Symbols: `B` trajectories, `T` samples of the longest. Layouts, told by what a file holds:
//!
//! | layout | columns |
//! |---|---|
//! | a dataset of this program | `environment_id`, `trajectory_id`, parameters `[B]`; `time` `[T]` or `[B, T]`; channels `[B, T]` |
//! | The Well | `trajectory` (0, 1, ..); `time` `[T]` of `dimensions`; `t0_fields` `[B, T, 1, ..]`; `scalars` `[B]` or one number |
//! | PDEBench | ids `[B]` or (0, 1, ..); `time`, of `t-coordinate`; `tensor` `[B, T]`, or `tensor.0`, .. of `[B, T, C]` |
//! | any other | variables and members of tables, see [`plain`] |

pub(crate) mod since;
pub(crate) mod attributes;
pub(crate) mod values;
pub(crate) mod plain;

use std::path::Path;

use hdf5_metno::types::{IntSize, TypeDescriptor};
use hdf5_metno::{Dataset, File, Group};

use super::batch::{Batch, Batches, Failure, Refusal};
use crate::dataset::{Texts, hdf5_external_problems};
use attributes::{Attributes, attributes};
use values::{Axis, Member, Values};

/// Rows read at a time.
const ROWS: usize = 1 << 13;

/// Bytes that a stored byte can stand for at most: deflate's limit is 1032.
const GREATEST_DEFLATION: u64 = 1040;

/// Bytes of a text of fixed length at most.
const LONGEST_TEXT: usize = 256;

/// Channels of a tensor at most; an axis of more is one in space.
const MOST_CHANNELS: usize = 64;

/// Where a file may begin behind a block of the user's, as those of MATLAB do.
const BEGINNINGS: [usize; 4] = [0, 512, 1024, 2048];
const SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";

const COPY: &str = "copy the values into a plain file, for example with `h5repack`";
const EXPORT: &str = "export the samples as CSV or Parquet: one row a sample, one column a channel";

/// A column of a table.
struct Variable {
    name: String,
    unit: Option<String>,
    values: Values,
}

/// Columns that are read; names of others, and what they are.
#[derive(Default)]
struct Columns {
    read: Vec<Variable>,
    unread: Vec<(String, String)>,
}

struct Table {
    columns: Vec<Variable>,
    rows: usize,
    samples: usize,
    /// Whether what has no time is no sample: trajectories of unequal lengths.
    padded: bool,
}

/// Tables of the same columns, one behind the other, and what is not read.
pub(crate) struct Tables {
    tables: Vec<Table>,
    unread: Vec<(String, String)>,
    /// Names of columns that tell apart what the settings may not.
    apart: Vec<String>,
}

/// Whether a file is of this kind, by its first bytes.
pub(crate) fn is_hdf5(head: &[u8]) -> bool {
    BEGINNINGS.iter().any(|&at| head.get(at..).is_some_and(|rest| rest.starts_with(SIGNATURE)))
}

/// Opens a file, told by its layout.
pub(crate) fn open(path: &Path) -> Result<Batches, Refusal> {
    let damaged = |error: hdf5_metno::Error| {
        (format!("an HDF5 file that cannot be read: {error}"), "check that the file was copied whole")
    };
    let file = File::open(path).map_err(damaged)?;
    let reaching = hdf5_external_problems(path, &file)
        .map_err(|error| (error.to_string(), "check that the file was copied whole"))?;
    if !reaching.is_empty() {
        return Err((reaching.join("; "), COPY));
    }
    let Tables { tables, unread, apart } = if file.link_exists("environment_id") {
        own(path, &file)
    } else if file.link_exists("t0_fields") {
        the_well(path, &file)
    } else if file.link_exists("tensor") && file.link_exists("t-coordinate") {
        pde_bench(path, &file)
    } else {
        plain::tables(path, &file)
    }?;
    let columns = || tables.first().into_iter().flat_map(|table| &table.columns);
    let names = columns().map(|column| column.name.clone()).collect();
    let units = columns().map(|column| column.unit.clone()).collect();
    Ok(Batches { unread, units, apart, ..Batches::new(names, tables.into_iter().flat_map(Table::batches)) })
}

fn own(path: &Path, file: &File) -> Result<Tables, Refusal> {
    let rows = variable(file, "environment_id")?.size();
    let times = variable(file, "time")?;
    let samples = times.shape().last().copied().unwrap_or(0);
    let mut columns = Columns::default();
    for name in names(file) {
        let Ok(values) = file.dataset(&name) else { continue };
        let axes = match values.shape().as_slice() {
            [length] if name == "time" && *length == samples => vec![Axis::Samples],
            [length] if *length == rows => vec![Axis::Rows],
            shape if is_series(shape, rows, samples) => series(shape, 0),
            _ => continue,
        };
        columns.add(path, &name, values, axes)?;
    }
    Ok(columns.table(rows, samples, times.ndim() > 1))
}

fn the_well(path: &Path, file: &File) -> Result<Tables, Refusal> {
    let group = |name: &str| file.group(name).map_err(|_| lacks(name));
    let times = variable(&group("dimensions")?, "time")?;
    let samples = times.shape().last().copied().unwrap_or(0);
    let fields = group("t0_fields")?;
    let first = names(&fields).into_iter().next().ok_or_else(|| lacks("t0_fields/.."))?;
    let rows = variable(&fields, &first)?.shape().first().copied().unwrap_or(0);
    let time_axes = if times.ndim() == 1 { vec![Axis::Samples] } else { series(&times.shape(), 0) };
    let mut columns = Columns::default();
    columns.put("trajectory", Values::Index);
    columns.add(path, "time", times, time_axes)?;
    for name in names(&fields) {
        let field = variable(&fields, &name)?;
        if !is_series(&field.shape(), rows, samples) {
            return Err(on_a_grid(&name, &field));
        }
        let axes = series(&field.shape(), 0);
        columns.add(path, &name, field, axes)?;
    }
    if let Ok(scalars) = file.group("scalars") {
        for name in names(&scalars) {
            let scalar = variable(&scalars, &name)?;
            if scalar.size() == rows && scalar.ndim() == 1 {
                columns.add(path, &name, scalar, vec![Axis::Rows])?;
            } else if scalar.size() == 1 {
                let axes = vec![Axis::At(0); scalar.ndim()];
                columns.add(path, &name, scalar, axes)?;
            }
        }
    }
    Ok(columns.table(rows, samples, false))
}

fn pde_bench(path: &Path, file: &File) -> Result<Tables, Refusal> {
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
    let mut columns = Columns::default();
    for name in ["environment", "trajectory"] {
        match file.dataset(name) {
            Ok(ids) if ids.shape() == [rows] => columns.add(path, name, ids, vec![Axis::Rows])?,
            _ if name == "trajectory" => columns.put(name, Values::Index),
            _ => {}
        }
    }
    columns.add(path, "time", times, vec![Axis::Samples])?;
    match beyond.first() {
        None | Some(1) => columns.add(path, "tensor", tensor, series(&shape, 0))?,
        Some(&channels) => {
            if channels > MOST_CHANNELS {
                return Err(on_a_grid("tensor", &tensor));
            }
            for c in 0..channels {
                columns.add(path, &format!("tensor.{c}"), tensor.clone(), series(&shape, c))?;
            }
        }
    }
    Ok(columns.table(rows, samples, false))
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

/// Axes of a shape `[rows, samples, ..]`, at this position of the last axis beyond these.
fn series(shape: &[usize], last: usize) -> Vec<Axis> {
    let space = shape.len().saturating_sub(2);
    let beyond = (1..=space).map(|axis| Axis::At(if axis == space { last } else { 0 }));
    [Axis::Rows, Axis::Samples].into_iter().chain(beyond).collect()
}

impl Columns {
    /// Adds a variable; refused if it claims more than its bytes can hold.
    fn add(&mut self, path: &Path, name: &str, variable: Dataset, axes: Vec<Axis>) -> Result<(), Refusal> {
        check_claim(name, &variable)?;
        let Some(kind) = variable.dtype().and_then(|kind| kind.to_descriptor()).ok() else {
            self.leave(name, "of a type of its own".to_owned());
            return Ok(());
        };
        let Attributes { unit, coding } = match &kind {
            TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_) | TypeDescriptor::Float(_) => {
                match attributes(path, &variable, &kind) {
                    Ok(attributes) => attributes,
                    Err(found) => {
                        self.leave(name, found);
                        return Ok(());
                    }
                }
            }
            _ => Attributes::default(),
        };
        let values = match kind {
            TypeDescriptor::Integer(IntSize::U8) => Values::Integers(variable, axes, coding, true),
            TypeDescriptor::Unsigned(IntSize::U8) => Values::Integers(variable, axes, coding, false),
            TypeDescriptor::Float(_)
            | TypeDescriptor::Integer(_)
            | TypeDescriptor::Unsigned(_)
            | TypeDescriptor::Boolean => Values::Numbers(variable, axes, coding),
            TypeDescriptor::FixedAscii(length) | TypeDescriptor::FixedUnicode(length) if length > LONGEST_TEXT => {
                return Err((format!("`{name}` of texts of {length} bytes; {LONGEST_TEXT} are read at most"), EXPORT));
            }
            TypeDescriptor::FixedAscii(_) => Values::FixedTexts(variable, axes, false),
            TypeDescriptor::FixedUnicode(_) => Values::FixedTexts(variable, axes, true),
            TypeDescriptor::VarLenUnicode | TypeDescriptor::VarLenAscii if axes.len() <= 1 => {
                let texts = Texts::new(path, &variable).map_err(|found| (format!("`{name}`: {found}"), COPY))?;
                Values::Texts(texts, axes)
            }
            other => {
                self.leave(name, format!("of the type {other}"));
                return Ok(());
            }
        };
        self.read.push(Variable { name: name.to_owned(), unit, values });
        Ok(())
    }

    /// Adds the member of a table.
    fn add_member(&mut self, name: &str, variable: Dataset, axes: Vec<Axis>, member: Member) -> Result<(), Refusal> {
        check_claim(name, &variable)?;
        self.put(name, Values::Member(variable, axes, member));
        Ok(())
    }

    fn put(&mut self, name: &str, values: Values) {
        self.read.push(Variable { name: name.to_owned(), unit: None, values });
    }

    fn leave(&mut self, name: &str, what: String) {
        self.unread.push((name.to_owned(), what));
    }

    /// The only table of its file.
    fn table(self, rows: usize, samples: usize, padded: bool) -> Tables {
        let table = Table { columns: self.read, rows, samples, padded };
        Tables { tables: vec![table], unread: self.unread, apart: Vec::new() }
    }
}

fn check_claim(name: &str, variable: &Dataset) -> Result<(), Refusal> {
    let claimed = variable.size().saturating_mul(size_of::<f64>()) as u64;
    let most = variable.storage_size().saturating_mul(GREATEST_DEFLATION);
    if claimed <= most.max(ROWS as u64) {
        return Ok(());
    }
    Err((format!("`{name}` claims {claimed} bytes, more than its {} can hold", variable.storage_size()), COPY))
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
                .map(|it| it.values.read(&rows, &samples).map_err(|found| format!("`{}`: {found}", it.name)));
            let mut batch = Batch(read.collect::<Result<_, _>>()?);
            if let Some(time) = columns.iter().position(|column| padded && column.name == "time") {
                batch.keep_present(time);
            }
            Ok(batch)
        })
    }
}
