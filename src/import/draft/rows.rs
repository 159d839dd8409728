//! How the columns of a table hang together in its first rows.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::look::Look;

pub(crate) fn key(columns: &[&Look], row: usize) -> Vec<u64> {
    columns.iter().map(|look| look.codes[row]).collect()
}

/// How many rows are alike in all `columns` with one before them.
pub(crate) fn repeated(columns: &[&Look], rows: &[usize]) -> usize {
    let mut seen = HashSet::new();
    rows.iter().filter(|&&row| !seen.insert(key(columns, row))).count()
}

/// Whether cells of `columns` tell that of `other`, where it is not empty.
pub(crate) fn tell(columns: &[&Look], other: &Look, rows: &[usize]) -> bool {
    let mut told = HashMap::new();
    let mut filled = rows.iter().filter(|&&row| other.codes[row] != 0);
    filled.all(|&row| *told.entry(key(columns, row)).or_insert(other.codes[row]) == other.codes[row])
}

/// How many different cells a column has in the rows, empty ones aside; in all that were looked at, if these are all that were kept.
pub(crate) fn distinct(look: &Look, rows: &[usize]) -> usize {
    if rows.len() == look.codes.len() {
        return look.values.len();
    }
    let codes: HashSet<u64> = rows.iter().map(|&row| look.codes[row]).filter(|&code| code != 0).collect();
    codes.len()
}

/// Mean sizes of the numbers of `value` by the cells of `by`, the smallest and the largest.
pub(crate) fn sizes(value: &Look, by: &Look, rows: &[usize]) -> Option<(f64, f64)> {
    let mut sums: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for &row in rows.iter().filter(|&&row| value.numbers_of_rows[row].is_finite()) {
        let (sum, count) = sums.entry(by.codes[row]).or_default();
        *sum += value.numbers_of_rows[row].abs();
        *count += 1.0;
    }
    let means = || sums.values().map(|(sum, count)| sum / count);
    (!sums.is_empty()).then(|| (means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max)))
}

/// Different values of what is set in steps.
const FEW: usize = 16;

/// What the values of a quantity do within trajectories.
#[derive(Clone, Copy, Default)]
pub(crate) struct Course {
    pub values: usize,
    pub distinct: usize,
    /// Pairs of a value and the next of the same trajectory, and those of two different values.
    pub pairs: usize,
    pub changes: usize,
}

impl Course {
    /// Of the cells of `look` in `rows`, where cells of `ids` tell trajectories apart.
    pub fn of(look: &Look, ids: &[&Look], rows: impl Iterator<Item = usize>) -> Self {
        let (mut last, mut codes, mut course) = (HashMap::new(), HashSet::new(), Course::default());
        for row in rows.filter(|&row| look.numbers_of_rows[row].is_finite()) {
            let code = look.codes[row];
            codes.insert(code);
            course.values += 1;
            if let Some(before) = last.insert(key(ids, row), code) {
                course.pairs += 1;
                course.changes += usize::from(before != code);
            }
        }
        Course { distinct: codes.len(), ..course }
    }

    /// Whether it changes, but keeps each of a few values for a while.
    pub fn is_stepped(&self) -> bool {
        self.changes > 0
            && self.pairs >= 6
            && 3 * self.changes <= self.pairs
            && self.distinct <= FEW.max(self.values / 8)
    }

    /// Whether few values are there, and much fewer than the `most` of another quantity: a log of changes.
    pub fn is_seldom(&self, most: usize) -> bool {
        3 * self.values <= most && self.distinct <= FEW
    }

    /// Whether it only ever has one of very few values, however often they change.
    pub fn is_switched(&self) -> bool {
        self.changes > 0 && self.distinct <= 3 && self.values >= 12
    }
}
