//! Variables of a file as columns, and tables of one row per sample that read them block by block.

use std::path::Path;

use hdf5_metno::types::{IntSize, TypeDescriptor};
use hdf5_metno::{Dataset, Group};

use super::attributes::{Attributes, LONGEST_TEXT, attributes};
use super::values::{Axis, Member, Values};
use crate::dataset::Texts;
use crate::import::tables::batch::{Batch, Failure, Refusal};

/// Rows read at a time.
const ROWS: usize = 1 << 13;

/// Bytes that a stored byte can stand for at most: deflate's limit is 1032.
const GREATEST_DEFLATION: u64 = 1040;

/// Channels of a tensor at most; a longer axis is taken for one in space.
pub(crate) const MOST_CHANNELS: usize = 64;

/// What to do about a file that is damaged or refers to others.
pub(crate) const COPY: &str = "copy the values into a plain file, for example with `h5repack`";
/// What to do about a layout that cannot be read.
pub(crate) const EXPORT: &str = "export the samples as CSV or Parquet: one row a sample, one column a channel";

/// A column of a table.
pub(crate) struct Variable {
    pub name: String,
    pub unit: Option<String>,
    pub values: Values,
}

/// The columns of a table, and the names of variables that cannot be read with what they are.
#[derive(Default)]
pub(crate) struct Columns {
    pub read: Vec<Variable>,
    pub unread: Vec<(String, String)>,
}

/// A table of `rows` trajectories of `samples` samples each.
pub(crate) struct Table {
    pub columns: Vec<Variable>,
    pub rows: usize,
    pub samples: usize,
    /// Whether samples without a time are padding: trajectories have different lengths.
    pub padded: bool,
}

/// The tables of a file, all of the same columns, to be read one after the other.
pub(crate) struct Tables {
    pub tables: Vec<Table>,
    /// Names of variables that are not read, and what they are.
    pub unread: Vec<(String, String)>,
    /// Columns that tell apart parts of the file that the settings might mix up.
    pub apart: Vec<String>,
}

/// Names of what a group contains, in order.
pub(crate) fn names(group: &Group) -> Vec<String> {
    let mut names = group.member_names().unwrap_or_default();
    names.sort();
    names
}

/// The refusal of a file without a variable that its layout needs.
pub(crate) fn lacks(name: &str) -> Refusal {
    (format!("no variable `{name}`"), EXPORT)
}

/// A variable of a group.
///
/// # Errors
/// The refusal of a file without it.
pub(crate) fn variable(group: &Group, name: &str) -> Result<Dataset, Refusal> {
    group.dataset(name).map_err(|_| lacks(name))
}

impl Columns {
    /// Adds a variable, or leaves it if its type cannot be read; `axes` says what each of its axes runs over.
    ///
    /// # Errors
    /// The refusal of a file whose variable claims more values than its bytes can hold.
    pub(super) fn add(&mut self, path: &Path, name: &str, variable: Dataset, axes: Vec<Axis>) -> Result<(), Refusal> {
        check_claim(name, &variable)?;
        let Some(kind) = variable.dtype().and_then(|kind| kind.to_descriptor()).ok() else {
            self.leave(name, "of an unsupported type".to_owned());
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

    /// Adds a member of a compound variable.
    ///
    /// # Errors
    /// The refusal of a file whose variable claims more values than its bytes can hold.
    pub(super) fn add_member(
        &mut self,
        name: &str,
        variable: Dataset,
        axes: Vec<Axis>,
        member: Member,
    ) -> Result<(), Refusal> {
        check_claim(name, &variable)?;
        self.put(name, Values::Member(variable, axes, member));
        Ok(())
    }

    /// Adds a column without a unit.
    pub(super) fn put(&mut self, name: &str, values: Values) {
        self.read.push(Variable { name: name.to_owned(), unit: None, values });
    }

    /// Notes a variable that is not read, and what it is.
    pub(super) fn leave(&mut self, name: &str, what: String) {
        self.unread.push((name.to_owned(), what));
    }

    /// The columns as the only table of a file.
    pub(super) fn table(self, rows: usize, samples: usize, padded: bool) -> Tables {
        let table = Table { columns: self.read, rows, samples, padded };
        Tables { tables: vec![table], unread: self.unread, apart: Vec::new() }
    }
}

/// Refuses a variable that claims more values than its bytes can hold, before memory is reserved for them.
fn check_claim(name: &str, variable: &Dataset) -> Result<(), Refusal> {
    let claimed = variable.size().saturating_mul(size_of::<f64>()) as u64;
    let most = variable.storage_size().saturating_mul(GREATEST_DEFLATION);
    if claimed <= most.max(ROWS as u64) {
        return Ok(());
    }
    Err((format!("`{name}` claims {claimed} bytes, more than its {} can hold", variable.storage_size()), COPY))
}

impl Table {
    /// The rows of the table in batches, trajectory after trajectory.
    pub(super) fn batches(self) -> impl Iterator<Item = Result<Batch, Failure>> {
        let Table { mut columns, rows, samples, padded } = self;
        let together = (ROWS / samples.max(1)).max(1);
        let blocks = (0..rows).step_by(together).flat_map(move |row| {
            let block = row..(row + together).min(rows);
            let step = if together == 1 { ROWS } else { samples.max(1) };
            (0..samples).step_by(step).map(move |sample| (block.clone(), sample..(sample + step).min(samples)))
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
