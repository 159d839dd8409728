//! A folder of finished blocks.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::exact::Exact;
use super::rows::Rows;
use crate::digest::sha256;
use crate::schema::Split;
use crate::{atomic, disk, regular};

/// What a block begins with; the number is the version of its format.
const HEAD: &[u8] = b"paramill block 1\n";
/// The name of a block ends with it.
const ENDING: &str = ".block";

/// A folder of finished blocks; it need not be there.
#[derive(Clone, Debug)]
pub struct Store {
    directory: PathBuf,
}

/// Rows that a finished block holds, or that none does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub rows: Rows,
    pub is_finished: bool,
}

impl Store {
    /// The folder at this path.
    pub fn at(directory: impl Into<PathBuf>) -> Self {
        Store { directory: directory.into() }
    }

    /// Where it is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What blocks there are, by their names.
    pub fn listing(&self) -> Listing {
        let mut blocks: BTreeMap<Split, Vec<Rows>> = BTreeMap::new();
        let entries = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        for rows in entries.filter_map(|entry| rows_of(entry.file_name().to_str()?)) {
            blocks.entry(rows.split).or_default().push(rows);
        }
        blocks.values_mut().for_each(|blocks| blocks.sort_by_key(|rows| (rows.first, usize::MAX - rows.count)));
        Listing(blocks)
    }

    /// These rows in order, in finished blocks and in what is between.
    pub(crate) fn parts(&self, rows: &Rows) -> Vec<Part> {
        self.listing().parts(rows)
    }

    /// What a block holds for exactly these rows; `None` if it is not there or not as it was written.
    pub(crate) fn read<T: Exact>(&self, rows: &Rows) -> Option<Vec<T>> {
        let bytes = regular::read(&self.path(rows)).ok()?;
        let (body, digest) = bytes.split_last_chunk::<64>()?;
        let mut body = body.strip_prefix(HEAD).filter(|_| sha256(body).as_bytes() == digest)?;
        let values = Vec::read(&mut body)?;
        body.is_empty().then_some(values)
    }

    /// Keeps what was computed for these rows, by one rename.
    ///
    /// # Errors
    /// Any error of writing; the store is then unchanged.
    pub(crate) fn write<T: Exact>(&self, rows: &Rows, values: &Vec<T>) -> io::Result<()> {
        let mut bytes = HEAD.to_vec();
        values.write(&mut bytes);
        let digest = sha256(&bytes);
        bytes.extend(digest.as_bytes());
        atomic::write_file(&self.path(rows), &bytes)
    }

    /// Removes a block that is not as it was written.
    pub(crate) fn discard(&self, rows: &Rows) {
        let _ = disk::remove_file(&self.path(rows));
    }

    /// The file of a block.
    pub(crate) fn path(&self, Rows { split, first, count }: &Rows) -> PathBuf {
        self.directory.join(format!("{split}-{first:010}-{count}{ENDING}"))
    }
}

/// The blocks of each split by their first rows, the longest first.
#[derive(Clone, Debug)]
pub struct Listing(BTreeMap<Split, Vec<Rows>>);

impl Listing {
    /// How many of these rows no finished block holds.
    pub fn missing(&self, rows: &Rows) -> usize {
        self.parts(rows).iter().filter(|part| !part.is_finished).map(|part| part.rows.count).sum()
    }

    /// Rows in finished blocks, over all splits.
    pub fn finished(&self) -> usize {
        let whole = |&split: &Split| usize::MAX - self.missing(&Rows::new(split, 0..usize::MAX));
        self.0.keys().map(whole).sum()
    }

    /// These rows in order, in finished blocks and in what is between. Where blocks overlap, the earlier one counts.
    fn parts(&self, rows: &Rows) -> Vec<Part> {
        let split = rows.split;
        let part = |from: usize, to: usize, is_finished| Part { rows: Rows::new(split, from..to), is_finished };
        let blocks = self.0.get(&split).map_or(&[][..], Vec::as_slice);
        let (mut at, end) = (rows.first, rows.range().end);
        let mut parts = Vec::new();
        for block in &blocks[blocks.partition_point(|block| block.first < at)..] {
            let Range { start, end: of_block } = block.range();
            if start >= end {
                break;
            }
            if start < at || of_block > end {
                continue;
            }
            if start > at {
                parts.push(part(at, start, false));
            }
            at = of_block;
            parts.push(part(start, at, true));
        }
        if at < end {
            parts.push(part(at, end, false));
        }
        parts
    }
}

/// The rows of a block, by its name.
fn rows_of(name: &str) -> Option<Rows> {
    let (rest, count) = name.strip_suffix(ENDING)?.rsplit_once('-')?;
    let (split, first) = rest.rsplit_once('-')?;
    let split = Split::ALL.into_iter().find(|it| it.name() == split)?;
    let (first, count): (usize, usize) = (first.parse().ok()?, count.parse().ok()?);
    (count > 0 && first.checked_add(count).is_some()).then_some(Rows { split, first, count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_by_their_rows_and_damage_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::at(root.path().join("blocks"));
        let of = |split, from, to| Rows::new(split, from..to);
        let [grid, other] = [Split::Grid, Split::AdaptTest];
        assert_eq!((store.listing().missing(&of(grid, 0, 9)), store.listing().finished()), (9, 0));
        for (from, to) in [(2, 4), (2, 3), (3, 7), (6, 8)] {
            store.write(&of(grid, from, to), &vec![from as f64; to - from]).unwrap();
        }
        store.write(&of(other, 0, 1), &vec![1.0]).unwrap();
        let parts = [(0, 2, false), (2, 4, true), (4, 6, false), (6, 8, true), (8, 9, false)];
        let parts = parts.map(|(from, to, is_finished)| Part { rows: of(grid, from, to), is_finished });
        assert_eq!(store.parts(&of(grid, 0, 9)), parts);
        assert_eq!(
            (
                store.listing().missing(&of(grid, 2, 4)),
                store.listing().missing(&of(grid, 0, 9)),
                store.listing().finished()
            ),
            (0, 5, 5)
        );
        assert_eq!(store.read::<f64>(&of(grid, 2, 4)), Some(vec![2.0, 2.0]));
        assert_eq!(store.read::<String>(&of(grid, 2, 4)), None);
        let path = store.path(&of(grid, 2, 4));
        let mut bytes = fs::read(&path).unwrap();
        bytes[HEAD.len() + 9] ^= 1;
        fs::write(&path, bytes).unwrap();
        assert_eq!(store.read::<f64>(&of(grid, 2, 4)), None);
        store.discard(&of(grid, 2, 4));
        assert_eq!(store.listing().missing(&of(grid, 0, 9)), 4, "the shorter one, and the next, are found then");
    }
}
