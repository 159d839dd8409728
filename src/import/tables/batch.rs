//! Files that hold columns of one type each, handed over some rows at a time.

use std::ops::Range;

use arrow_array::{Array, StringViewArray};

use super::cell::Cell;

/// Integers up to here are numbers to the last digit.
pub(crate) const EXACT: u64 = 1 << 53;

/// What a batch of columns could not be read for.
pub(crate) type Failure = String;

/// Why a file cannot be read as a table: what it is, and what to do.
pub(crate) type Refusal = (String, &'static str);

/// The columns of a file, batch after batch.
pub(crate) struct Batches {
    pub names: Vec<String>,
    /// The unit of each that the file states beside its name.
    pub units: Vec<Option<String>>,
    /// Names of columns that the file has beside these, and what they are: `of the type struct`.
    pub unread: Vec<(String, String)>,
    /// Names of columns without which parts of the file would run into one another.
    pub apart: Vec<String>,
    pub batches: Box<dyn Iterator<Item = Result<Batch, Failure>> + Send>,
}

/// Some rows of every column.
pub(crate) struct Batch(pub Vec<Column>);

/// Values of one column.
pub(crate) enum Column {
    /// NaN where missing.
    Numbers(Vec<f64>),
    /// Not trimmed; null where missing. Rows of one text may share its bytes.
    Texts(StringViewArray),
    /// Nanoseconds since the beginning of 1970 (UTC).
    Instants(Vec<Option<i64>>),
}

impl Column {
    pub fn len(&self) -> usize {
        match self {
            Column::Numbers(numbers) => numbers.len(),
            Column::Texts(texts) => texts.len(),
            Column::Instants(instants) => instants.len(),
        }
    }

    /// Numbers, or texts where a number would not be exact: integers may be ids.
    pub fn integers<T: Copy + ToString>(
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
    pub fn new(names: Vec<String>, batches: impl Iterator<Item = Result<Batch, Failure>> + Send + 'static) -> Self {
        Batches {
            units: vec![None; names.len()],
            names,
            unread: Vec::new(),
            apart: Vec::new(),
            batches: Box::new(batches),
        }
    }

    pub fn empty() -> Self {
        Batches::new(Vec::new(), std::iter::empty())
    }
}

impl Iterator for Batches {
    type Item = Result<Batch, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.next()
    }
}

impl Batch {
    pub fn rows(&self) -> usize {
        self.0.first().map_or(0, Column::len)
    }

    pub fn column(&self, column: usize) -> &Column {
        &self.0[column]
    }

    /// How many rows from `row` on have the same cells as it in these columns. The look at each goes little further than all of them are.
    pub fn alike(&self, columns: &[usize], row: usize) -> usize {
        let left = self.rows() - row;
        let mut length = if columns.is_empty() { left } else { 1 };
        while length < left {
            let end = (8 * length).min(left);
            let same = columns.iter().map(|&column| self.same(column, row, length..end)).min().unwrap_or(end);
            if same < end {
                return same;
            }
            length = end;
        }
        left
    }

    /// How far in `beyond` rows after `row` have the same cell as it in a column.
    fn same(&self, column: usize, row: usize, beyond: Range<usize>) -> usize {
        fn first(beyond: Range<usize>, differs: impl Fn(usize) -> bool) -> usize {
            beyond.clone().find(|&i| differs(i)).unwrap_or(beyond.end)
        }
        match &self.0[column] {
            Column::Numbers(numbers) => first(beyond, |i| numbers[row + i].to_bits() != numbers[row].to_bits()),
            Column::Instants(instants) => first(beyond, |i| instants[row + i] != instants[row]),
            // A view of a short text holds the text itself; of a long one, where it stands.
            Column::Texts(texts) if texts.null_count() == 0 => {
                let views = &texts.views()[row..];
                first(beyond, |i| views[i] != views[0])
            }
            Column::Texts(_) => beyond.start,
        }
    }

    /// What tells the cells of a row in these columns, two at most, apart from those of other rows; `None` where a cell is missing.
    pub fn raw(&self, columns: &[usize], row: usize) -> Option<[u128; 2]> {
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

    /// Keeps the rows in which the numbers, or times, of one column are there.
    pub fn keep_present(&mut self, column: usize) {
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

    pub fn cell(&self, column: usize, row: usize) -> Cell<'_> {
        match &self.0[column] {
            Column::Numbers(numbers) if numbers[row].is_nan() => Cell::Missing,
            Column::Numbers(numbers) => Cell::Number(numbers[row]),
            Column::Texts(texts) if texts.is_null(row) => Cell::Missing,
            Column::Texts(texts) => Cell::from_text(texts.value(row).trim()),
            Column::Instants(instants) => instants[row].map_or(Cell::Missing, Cell::Instant),
        }
    }
}
