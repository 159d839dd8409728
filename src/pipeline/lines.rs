//! Line and column of a byte of a text, in a time that does not depend on where it is.

use crate::problems::{Column, Place};

/// Bytes between two stored counts of characters.
const STRETCH: usize = 1 << 10;

/// The lines of a text.
pub(crate) struct Lines<'a> {
    text: &'a str,
    /// The byte at which each line begins.
    starts: Vec<usize>,
    /// Characters before each stretch of bytes.
    characters: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(end, _)| end + 1)).collect();
        let stretches = text.as_bytes().chunks(STRETCH).map(begun);
        let sums = stretches.scan(0, |sum, count| Some(std::mem::replace(sum, *sum + count)));
        Lines { text, starts, characters: sums.collect() }
    }

    /// Line and column of byte `offset` of the text of `file`; both from 1, columns in characters.
    pub(crate) fn position(&self, file: &str, offset: usize) -> Place {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|start| *start <= offset);
        let column = self.characters_before(offset) - self.characters_before(self.starts[line - 1]) + 1;
        Place::File { path: file.into(), line: Some(line as u64), column: Some(Column::Character(column)) }
    }

    fn characters_before(&self, offset: usize) -> usize {
        let stretch = offset / STRETCH;
        let before = self.characters.get(stretch).copied();
        before.map_or_else(
            || begun(&self.text.as_bytes()[..offset]),
            |before| before + begun(&self.text.as_bytes()[stretch * STRETCH..offset]),
        )
    }
}

/// Number of characters that begin in these bytes.
fn begun(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_are_those_that_are_counted() {
        for text in ["", "é", "a\nbé\n\nc".repeat(700).as_str(), &"é".repeat(3 * STRETCH / 2 + 1), &"a".repeat(STRETCH)]
        {
            let lines = Lines::of(text);
            for offset in (0..=text.len()).step_by(7).chain([text.len(), text.len() + 9]) {
                let before = &text[..text.floor_char_boundary(offset)];
                let start = before.rfind('\n').map_or(0, |end| end + 1);
                let (line, column) = (before.matches('\n').count() + 1, before[start..].chars().count() + 1);
                let found = lines.position("f", offset);
                let found = (found.line(), found.column().map(Column::number));
                assert_eq!(found, (Some(line as u64), Some(column)), "{offset}");
            }
        }
    }
}
