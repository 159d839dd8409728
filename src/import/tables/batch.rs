//! Columnar files, read in batches of rows.

use std::ops::Range;

use arrow_array::{Array, StringViewArray};

use super::cell::Cell;

/// Integers up to this magnitude are exact as `f64`.
pub(crate) const EXACT: u64 = 1 << 53;

/// Why a batch could not be read.
pub(crate) type Failure = String;

/// Why a file cannot be read as a table: what it is, and the remedy.
pub(crate) type Refusal = (String, &'static str);

/// The columns of a file, batch after batch.
pub(crate) struct Batches {
    pub names: Vec<String>,
    /// Unit of each column, from the file's metadata.
    pub units: Vec<Option<String>>,
    /// Names of columns that cannot be read, and what they are: `of the type struct`.
    pub unread: Vec<(String, String)>,
    /// Columns that tell apart parts of the file, which would be mixed up without them.
    pub apart: Vec<String>,
    pub batches: Box<dyn Iterator<Item = Result<Batch, Failure>> + Send>,
}

/// A block of rows, column by column.
pub(crate) struct Batch(pub Vec<Column>);

/// The values of one column of a batch.
pub(crate) enum Column {
    /// NaN where missing.
    Numbers(Vec<f64>),
    /// Not trimmed; null where missing. Equal texts may share their bytes.
    Texts(StringViewArray),
    /// Nanoseconds since 1970 (UTC).
    Instants(Vec<Option<i64>>),
}

impl Column {
    pub(crate) fn len(&self) -> usize {
        match self {
            Column::Numbers(numbers) => numbers.len(),
            Column::Texts(texts) => texts.len(),
            Column::Instants(instants) => instants.len(),
        }
    }

    /// Integers as numbers, or as texts if one of them would not be exact: they may be ids.
    pub(crate) fn integers<T: Copy + ToString>(
        values: impl Iterator<Item = Option<T>> + Clone,
        is_exact: impl Fn(T) -> bool,
        number: impl Fn(T) -> f64,
    ) -> Self {
        match values.clone().flatten().all(is_exact) {
            true => Column::Numbers(values.map(|value| value.map_or(f64::NAN, &number)).collect()),
            false => Column::Texts(values.map(|value| value.map(|value| value.to_string())).collect()),
        }
    }
}

impl Batches {
    pub(crate) fn new(
        names: Vec<String>,
        batches: impl Iterator<Item = Result<Batch, Failure>> + Send + 'static,
    ) -> Self {
        Batches {
            units: vec![None; names.len()],
            names,
            unread: Vec::new(),
            apart: Vec::new(),
            batches: Box::new(batches),
        }
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.next()
    }
}

impl Batch {
    pub(crate) fn rows(&self) -> usize {
        self.0.first().map_or(0, Column::len)
    }

    pub(crate) fn column(&self, column: usize) -> &Column {
        &self.0[column]
    }

    /// The number of consecutive rows, from `row` on, with equal cells in these columns. Searches in growing steps, so its cost is
    /// proportional to the result.
    pub(crate) fn equal_rows(&self, columns: &[usize], row: usize) -> usize {
        let left = self.rows() - row;
        let mut length = if columns.is_empty() { left } else { 1 };
        while length < left {
            let end = (8 * length).min(left);
            let same = columns.iter().map(|&column| self.equal_until(column, row, length..end)).min().unwrap_or(end);
            if same < end {
                return same;
            }
            length = end;
        }
        left
    }

    /// The first offset in `beyond` whose row differs from `row` in a column, else the end of `beyond`.
    fn equal_until(&self, column: usize, row: usize, beyond: Range<usize>) -> usize {
        fn first(beyond: Range<usize>, differs: impl Fn(usize) -> bool) -> usize {
            beyond.clone().find(|&i| differs(i)).unwrap_or(beyond.end)
        }
        match &self.0[column] {
            Column::Numbers(numbers) => first(beyond, |i| numbers[row + i].to_bits() != numbers[row].to_bits()),
            Column::Instants(instants) => first(beyond, |i| instants[row + i] != instants[row]),
            // The view of a short text holds the text itself, that of a long one its location.
            Column::Texts(texts) if texts.null_count() == 0 => {
                let views = &texts.views()[row..];
                first(beyond, |i| views[i] != views[0])
            }
            Column::Texts(_) => beyond.start,
        }
    }

    /// Raw bits of the cells in at most two columns: rows of this batch with equal bits have equal cells. `None` if a cell is missing.
    pub(crate) fn raw(&self, columns: &[usize], row: usize) -> Option<[u128; 2]> {
        let mut raw = [0; 2];
        if columns.len() > raw.len() {
            return None;
        }
        for (raw, &column) in raw.iter_mut().zip(columns) {
            *raw = match &self.0[column] {
                Column::Numbers(numbers) => numbers[row].to_bits().into(),
                Column::Texts(texts) => texts.is_valid(row).then(|| texts.views()[row])?,
                Column::Instants(instants) => instants[row]?.cast_unsigned().into(),
            };
        }
        Some(raw)
    }

    /// Drops the rows in which a number or time of this column is missing.
    pub(crate) fn keep_present(&mut self, column: usize) {
        fn kept<T>(values: &mut Vec<T>, keep: &[bool]) {
            let mut keep = keep.iter();
            values.retain(|_| keep.next() == Some(&true));
        }
        let keep: Vec<bool> = match &self.0[column] {
            Column::Numbers(numbers) => numbers.iter().map(|number| !number.is_nan()).collect(),
            Column::Instants(instants) => instants.iter().map(Option::is_some).collect(),
            Column::Texts(_) => return,
        };
        if keep.iter().all(|&keep| keep) {
            return;
        }
        for column in &mut self.0 {
            match column {
                Column::Numbers(numbers) => kept(numbers, &keep),
                Column::Texts(texts) => {
                    *texts = texts.iter().zip(&keep).filter(|row| *row.1).map(|row| row.0).collect();
                }
                Column::Instants(instants) => kept(instants, &keep),
            }
        }
    }

    pub(crate) fn cell(&self, column: usize, row: usize) -> Cell<'_> {
        match &self.0[column] {
            Column::Numbers(numbers) if numbers[row].is_nan() => Cell::Missing,
            Column::Numbers(numbers) => Cell::Number(numbers[row]),
            Column::Texts(texts) if texts.is_null(row) => Cell::Missing,
            Column::Texts(texts) => Cell::from_text(texts.value(row).trim()),
            Column::Instants(instants) => instants[row].map_or(Cell::Missing, Cell::Instant),
        }
    }
}
