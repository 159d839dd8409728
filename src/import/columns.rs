//! Files that hold columns of one type each, handed over some rows at a time.

use super::cell::Cell;

/// What a batch of columns could not be read for.
pub(super) type Failure = String;

/// Why a file cannot be read as a table: what it is, and what to do.
pub(super) type Refusal = (String, &'static str);

/// The columns of a file, batch after batch.
pub(super) struct Batches {
    pub names: Vec<String>,
    batches: Box<dyn Iterator<Item = Result<Batch, Failure>>>,
}

/// Some rows of every column.
pub(super) struct Batch(pub Vec<Column>);

/// Values of one column.
pub(super) enum Column {
    /// NaN where missing.
    Numbers(Vec<f64>),
    Texts(Vec<Option<String>>),
    /// Nanoseconds since the beginning of 1970 (UTC).
    Instants(Vec<Option<i64>>),
}

impl Batches {
    pub fn new(names: Vec<String>, batches: impl Iterator<Item = Result<Batch, Failure>> + 'static) -> Self {
        Batches { names, batches: Box::new(batches) }
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
        self.0.first().map_or(0, |column| match column {
            Column::Numbers(numbers) => numbers.len(),
            Column::Texts(texts) => texts.len(),
            Column::Instants(instants) => instants.len(),
        })
    }

    /// Keeps the rows in which the numbers of one column are there.
    pub fn keep_present(&mut self, column: usize) {
        fn kept<T>(values: &mut Vec<T>, keep: &[bool]) {
            let mut keep = keep.iter();
            values.retain(|_| keep.next() == Some(&true));
        }
        let Column::Numbers(numbers) = &self.0[column] else { return };
        if !numbers.iter().any(|number| number.is_nan()) {
            return;
        }
        let keep: Vec<bool> = numbers.iter().map(|number| !number.is_nan()).collect();
        for column in &mut self.0 {
            match column {
                Column::Numbers(numbers) => kept(numbers, &keep),
                Column::Texts(texts) => kept(texts, &keep),
                Column::Instants(instants) => kept(instants, &keep),
            }
        }
    }

    pub fn cell(&self, column: usize, row: usize) -> Cell<'_> {
        match &self.0[column] {
            Column::Numbers(numbers) if numbers[row].is_nan() => Cell::Missing,
            Column::Numbers(numbers) => Cell::Number(numbers[row]),
            Column::Texts(texts) => texts[row].as_deref().map_or(Cell::Missing, |text| Cell::from_text(text.trim())),
            Column::Instants(instants) => instants[row].map_or(Cell::Missing, Cell::Instant),
        }
    }
}
