//! Reads a Parquet file from several threads; the size that a page claims is checked before it is allocated.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};

/// Greatest compression ratio: a block of zstd takes at least 4 bytes for 128 KiB.
pub(crate) const GREATEST_COMPRESSION: u64 = 1 << 15;

/// Greatest ratio of snappy: a copy of 64 bytes takes 3.
const GREATEST_OF_SNAPPY: u64 = 22;

/// Most bytes of a page; most writers end a page after 1 MiB, some only with its row group.
const LARGEST: u64 = 1 << 29;

/// Bytes of a page's header read at a time.
const BLOCK: usize = 1 << 9;

/// Field numbers of a page's header in Apache's `parquet.thrift`.
const UNCOMPRESSED_SIZE: i16 = 2;
const COMPRESSED_SIZE: i16 = 3;

/// A Parquet file whose pages are read.
#[derive(Clone)]
pub(crate) struct Pages {
    file: Arc<File>,
    length: u64,
    /// Greatest compression ratio of a page.
    compression: u64,
}

impl Pages {
    /// To read the column at this index of the file with this `metadata`.
    ///
    /// # Errors
    /// If the file has no length.
    pub(crate) fn for_column(file: Arc<File>, metadata: &ParquetMetaData, column: usize) -> io::Result<Self> {
        let of_snappy = |codec: Compression| matches!(codec, Compression::SNAPPY);
        let all = metadata.row_groups().iter().all(|group| of_snappy(group.column(column).compression()));
        Ok(Pages { compression: if all { GREATEST_OF_SNAPPY } else { GREATEST_COMPRESSION }, ..Pages::new(file)? })
    }

    /// To read any column.
    ///
    /// # Errors
    /// If the file has no length.
    pub(crate) fn new(file: Arc<File>) -> io::Result<Self> {
        Ok(Pages { length: file.metadata()?.len(), file, compression: GREATEST_COMPRESSION })
    }

    /// Refuses a page whose header, `bytes` at `offset`, claims an impossible size.
    fn check_page(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let [uncompressed, compressed] = sizes(bytes);
        let inside = self.length.saturating_sub(offset);
        let most = compressed.min(inside).saturating_mul(self.compression);
        if compressed > inside || uncompressed > most {
            return Err(io::Error::other(format!(
                "a page at byte {offset} that claims {uncompressed} bytes, more than its {compressed} can hold"
            )));
        }
        if uncompressed > LARGEST {
            return Err(io::Error::other(format!(
                "a page of {uncompressed} bytes; expected {LARGEST} at most: write the file again in smaller row groups"
            )));
        }
        Ok(())
    }
}

impl Length for Pages {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Pages {
    type T = Header;

    /// Called for page headers; values are read by [`Pages::get_bytes`].
    fn get_read(&self, start: u64) -> Result<Header> {
        Ok(Header { pages: self.clone(), next: start, block: Vec::new(), at: 0, is_checked: false })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            let found = format!("{length} bytes at byte {start} of a file of {}", self.length);
            return Err(ParquetError::EOF(found));
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}

/// The header of a page.
pub(crate) struct Header {
    pages: Pages,
    next: u64,
    block: Vec<u8>,
    at: usize,
    is_checked: bool,
}

impl Read for Header {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.at == self.block.len() {
            self.block.resize(BLOCK, 0);
            let read = self.pages.file.read_at(&mut self.block, self.next)?;
            self.block.truncate(read);
            if !self.is_checked {
                self.pages.check_page(&self.block, self.next)?;
                self.is_checked = true;
            }
            self.next += read as u64;
            self.at = 0;
        }
        let read = (&self.block[self.at..]).read(bytes)?;
        self.at += read;
        Ok(read)
    }
}

/// The greatest uncompressed and compressed size that a page's header claims, in Thrift's compact protocol. Only the leading integer
/// fields are read, where writers put the sizes.
fn sizes(header: &[u8]) -> [u64; 2] {
    const INTEGER: u8 = 5;
    let mut bytes = header.iter().copied();
    let (mut field, mut sizes) = (0_i16, [0; 2]);
    while let Some(head) = bytes.next().filter(|head| head & 0xf == INTEGER) {
        let step = i16::from(head >> 4);
        let number = if step > 0 { Some(i64::from(field + step)) } else { zigzag(&mut bytes) };
        let (Some(number), Some(value)) = (number.and_then(|it| i16::try_from(it).ok()), zigzag(&mut bytes)) else {
            break;
        };
        field = number.min(i16::MAX - 15);
        let value = u64::try_from(value).unwrap_or(0);
        match number {
            UNCOMPRESSED_SIZE => sizes[0] = value.max(sizes[0]),
            COMPRESSED_SIZE => sizes[1] = value.max(sizes[1]),
            _ => {}
        }
    }
    sizes
}

/// A variable-length integer with its sign in the lowest bit.
fn zigzag(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let byte = bytes.next()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((value >> 1) as i64 ^ -((value & 1) as i64));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_of_a_page_are_read_from_its_header() {
        // Fields 1, 2 and 3, then one that is no integer.
        assert_eq!(sizes(&[0x15, 4, 0x15, 0x80, 1, 0x15, 0x14, 0x2c, 0x15, 9]), [64, 10]);
        // The second by its number, and again.
        assert_eq!(sizes(&[0x05, 4, 0x12, 0x15, 8, 0x05, 4, 0x04]), [9, 4]);
        assert_eq!(sizes(&[0x15, 4, 0x15, 0xff]), [0, 0]);
        assert_eq!(sizes(&[]), [0, 0]);
    }
}
