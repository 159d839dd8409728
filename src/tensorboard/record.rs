//! Records: bytes with their length and checksums, all little-endian.
//!
//! ```text
//! length: u64, mask(crc32c(length)): u32, bytes, mask(crc32c(bytes)): u32
//! mask(c) = (c rotated right by 15 bits) + 0xa282ead8
//! ```

use super::crc32c::crc32c;

/// Bytes before those of a record, and behind them.
const HEAD: usize = 12;
const TAIL: usize = 4;

fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// `bytes` as a record.
pub(super) fn record(bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u64).to_le_bytes();
    [length.as_slice(), &masked(&length), bytes, &masked(bytes)].concat()
}

/// The first record of `file`, if it is whole, and what follows it.
fn first(file: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, checksum) = (file.get(..8)?, file.get(8..HEAD)?);
    let size = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
    let end = HEAD.checked_add(size)?;
    let (bytes, tail) = (file.get(HEAD..end)?, file.get(end..end.checked_add(TAIL)?)?);
    (checksum == masked(length) && tail == masked(bytes)).then(|| (bytes, &file[end + TAIL..]))
}

/// The records of `file` up to one that is not whole, and the bytes that they take.
pub(super) fn records(file: &[u8]) -> (Vec<&[u8]>, usize) {
    let (mut records, mut rest) = (Vec::new(), file);
    while let Some((record, behind)) = first(rest) {
        records.push(record);
        rest = behind;
    }
    (records, file.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_whole_ends_the_file() {
        let file = [record(b"one"), record(b""), record(b"three")].concat();
        assert_eq!(records(&file), (vec![b"one".as_slice(), b"", b"three"], file.len()));
        let before = file.len() - record(b"three").len();
        for end in before..file.len() {
            assert_eq!(records(&file[..end]), (vec![b"one".as_slice(), b""], before), "{end} bytes");
        }
        for place in before..file.len() {
            let mut damaged = file.clone();
            damaged[place] ^= 1;
            assert_eq!(records(&damaged).1, before, "byte {place}");
        }
        assert_eq!(records(&[0; 64]), (Vec::new(), 0), "what a crash of the machine may leave");
    }
}
