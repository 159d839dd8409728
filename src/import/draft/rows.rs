//! How the columns of a table depend on each other in its first rows.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::profile::Profile;

/// The cells of `columns` in a row, as their hashes.
pub(crate) fn key(columns: &[&Profile], row: usize) -> Vec<u64> {
    columns.iter().map(|profile| profile.codes[row]).collect()
}

/// How many rows have the same cells in all `columns` as an earlier row.
pub(crate) fn repeated(columns: &[&Profile], rows: &[usize]) -> usize {
    let mut seen = HashSet::new();
    rows.iter().filter(|&&row| !seen.insert(key(columns, row))).count()
}

/// Whether the cells of `columns` determine that of `other`, where it is not empty.
pub(crate) fn determine(columns: &[&Profile], other: &Profile, rows: &[usize]) -> bool {
    let mut told = HashMap::new();
    let mut filled = rows.iter().filter(|&&row| other.codes[row] != 0);
    filled.all(|&row| *told.entry(key(columns, row)).or_insert(other.codes[row]) == other.codes[row])
}

/// How many different cells a column has in `rows`, empty ones aside; in all rows that were read, if `rows` are all that were kept.
pub(crate) fn distinct(profile: &Profile, rows: &[usize]) -> usize {
    if rows.len() == profile.codes.len() {
        return profile.values.len();
    }
    let codes: HashSet<u64> = rows.iter().map(|&row| profile.codes[row]).filter(|&code| code != 0).collect();
    codes.len()
}

/// The smallest and the largest mean of `|value|` over the groups of rows with equal cells of `by`.
pub(crate) fn sizes(value: &Profile, by: &Profile, rows: &[usize]) -> Option<(f64, f64)> {
    let mut sums: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for &row in rows.iter().filter(|&&row| value.numbers_of_rows[row].is_finite()) {
        let (sum, count) = sums.entry(by.codes[row]).or_default();
        *sum += value.numbers_of_rows[row].abs();
        *count += 1.0;
    }
    let means = || sums.values().map(|(sum, count)| sum / count);
    (!sums.is_empty()).then(|| (means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max)))
}

/// Most different values of a quantity that is set in steps.
const FEW: usize = 16;

/// How the values of a quantity change within trajectories.
#[derive(Clone, Copy, Default)]
pub(crate) struct Course {
    /// Numbers, and different ones.
    pub values: usize,
    pub distinct: usize,
    /// Pairs of successive values of one trajectory, and those of two different values.
    pub pairs: usize,
    pub changes: usize,
}

impl Course {
    /// Follows the cells of `profile` in `rows`, where the cells of `ids` tell trajectories apart.
    pub(super) fn follow(profile: &Profile, ids: &[&Profile], rows: impl Iterator<Item = usize>) -> Self {
        let (mut last, mut codes, mut course) = (HashMap::new(), HashSet::new(), Course::default());
        for row in rows.filter(|&row| profile.numbers_of_rows[row].is_finite()) {
            let code = profile.codes[row];
            codes.insert(code);
            course.values += 1;
            if let Some(before) = last.insert(key(ids, row), code) {
                course.pairs += 1;
                course.changes += usize::from(before != code);
            }
        }
        Course { distinct: codes.len(), ..course }
    }

    /// Whether it changes, but keeps each of its few values for a while.
    pub(super) fn is_stepped(&self) -> bool {
        self.changes > 0
            && self.pairs >= 6
            && 3 * self.changes <= self.pairs
            && self.distinct <= FEW.max(self.values / 8)
    }

    /// Whether it has few values, far fewer than the `most` of another quantity: a log of changes.
    pub(super) fn is_seldom(&self, most: usize) -> bool {
        3 * self.values <= most && self.distinct <= FEW
    }

    /// Whether it has only two or three different values, however often they change.
    pub(super) fn is_switched(&self) -> bool {
        self.changes > 0 && self.distinct <= 3 && self.values >= 12
    }
}
