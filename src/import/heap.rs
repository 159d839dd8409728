//! Global heaps of an HDF5 file, whose objects libhdf5 walks through without end where one has no size.
//!
//! ```text
//! "GCOL" 1 0 0 0  size u64  { index u16, references u16, 0 u32, size u64, bytes padded to 8 }..     index 0: the rest, header included
//! ```
//!
//! Source: HDF5 File Format Specification 3.0, section III.E.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

const SIGNATURE: &[u8] = b"GCOL\x01\0\0\0";
/// Bytes before the first object, and of an object's header.
const HEADER: u64 = 16;
/// Bytes searched at a time.
const PIECE: usize = 1 << 20;

/// Where the first global heap begins whose objects do not fill it, if there is one.
pub(super) fn broken(path: &Path) -> io::Result<Option<u64>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut piece = vec![0; PIECE + SIGNATURE.len()];
    let mut at = 0;
    while at < length {
        file.seek(SeekFrom::Start(at))?;
        let count = usize::try_from(length - at).unwrap_or(usize::MAX).min(piece.len());
        file.read_exact(&mut piece[..count])?;
        for place in piece[..count].windows(SIGNATURE.len()).enumerate().filter(|(_, bytes)| *bytes == SIGNATURE) {
            let start = at + place.0 as u64;
            if !is_filled(&mut file, start, length)? {
                return Ok(Some(start));
            }
        }
        at += PIECE as u64;
    }
    Ok(None)
}

fn is_filled(file: &mut File, start: u64, length: u64) -> io::Result<bool> {
    let mut number = |place: u64| -> io::Result<[u8; 16]> {
        let mut bytes = [0; 16];
        file.seek(SeekFrom::Start(place))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    };
    let size_of = |bytes: [u8; 16]| u64::from_le_bytes(bytes[8..].try_into().expect("half of sixteen bytes"));
    if length - start < HEADER {
        return Ok(false);
    }
    let size = size_of(number(start)?);
    if size > length - start {
        return Ok(false);
    }
    let (mut place, end) = (start + HEADER, start + size);
    while place + HEADER <= end {
        let header = number(place)?;
        let is_rest = header[..2] == [0, 0];
        let needed = match is_rest {
            true => size_of(header),
            false => size_of(header).checked_next_multiple_of(8).and_then(|size| size.checked_add(HEADER)).unwrap_or(0),
        };
        if needed < HEADER || needed > end - place {
            return Ok(false);
        }
        place += needed;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heap(objects: &[(u16, u64, usize)]) -> Vec<u8> {
        let mut bytes = SIGNATURE.to_vec();
        let body: usize = objects.iter().map(|(_, _, bytes)| 16 + bytes).sum();
        bytes.extend((16 + body as u64).to_le_bytes());
        for &(index, size, padding) in objects {
            bytes.extend(index.to_le_bytes());
            bytes.extend([0; 6]);
            bytes.extend(size.to_le_bytes());
            bytes.extend(vec![7; padding]);
        }
        bytes
    }

    #[test]
    fn objects_that_do_not_fill_their_heap_are_found() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("heap");
        let found = |objects: &[(u16, u64, usize)]| {
            let bytes = [vec![9; PIECE - 3], heap(objects)].concat(); // across two pieces
            std::fs::write(&path, bytes).unwrap();
            broken(&path).unwrap()
        };
        let start = Some(PIECE as u64 - 3);
        assert_eq!(found(&[(1, 5, 8), (2, 8, 8), (0, 32, 16)]), None);
        assert_eq!(found(&[(1, 5, 8), (0, 0, 16)]), start);
        assert_eq!(found(&[(1, u64::MAX, 8)]), start);
        assert_eq!(found(&[(1, 500, 8)]), start);
    }
}
