//! Text files: what they are by their first bytes, decompression, and the byte-order mark.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use super::batch::Refusal;
use super::formats;
use crate::regular;

const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes that tell the type of a file.
const HEAD: usize = 1 << 12;

/// Bytes of text that [`beginning`] returns at most.
const BEGINNING: u64 = 1 << 16;

/// Opens a regular file and reads its first bytes.
///
/// # Errors
/// If it cannot be opened or read.
pub(crate) fn open_with_head(path: &Path) -> io::Result<(File, Vec<u8>)> {
    let mut file = regular::open(path)?;
    let mut head = Vec::new();
    file.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    file.rewind()?;
    Ok((file, head))
}

/// The text of a file, decompressed and without its byte-order mark, or the refusal of a file that is not text.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn decompressed(file: File, head: &[u8]) -> io::Result<Result<Box<dyn Read>, Refusal>> {
    let mut text: Box<dyn Read> = match head {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(file)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::new(file)?),
        _ => Box::new(file),
    };
    let mut head = Vec::new();
    text.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    if let Some((found, remedy)) = unsupported(&head) {
        return Ok(Err((found.to_owned(), remedy)));
    }
    if head.starts_with(UTF8_MARK) {
        head.drain(..UTF8_MARK.len());
    }
    Ok(Ok(Box::new(io::Cursor::new(head).chain(text))))
}

/// What a file that is not text is, and the remedy.
fn unsupported(head: &[u8]) -> Option<(&'static str, &'static str)> {
    let kinds: [(&[u8], &str, &str); 7] = [
        (b"BZh", "a bzip2 file", "bzip2 is not supported: decompress it with `bunzip2`"),
        (b"\xfd7zXZ", "an xz file", "xz is not supported: decompress it with `unxz`"),
        (b"PK\x03\x04", "a zip file or a workbook", "these are not supported: extract it, or export the sheet as CSV"),
        (b"CDF", "a NetCDF-3 file", "NetCDF-3 is not supported: convert it with `nccopy -k nc4`"),
        (b"MATLAB 5.0", "a MATLAB file of version 5 to 7", "save it with `-v7.3`, or export the samples as CSV"),
        (b"\xff\xfe", "UTF-16 text", "UTF-16 is not supported: convert it with `iconv -t UTF-8`"),
        (b"\xfe\xff", "UTF-16 text", "UTF-16 is not supported: convert it with `iconv -t UTF-8`"),
    ];
    kinds.iter().find(|kind| head.starts_with(kind.0)).map(|kind| (kind.1, kind.2)).or_else(|| {
        let remedy = "binary files are not supported: export the data as CSV";
        head.contains(&0).then_some(("a binary file (it has zero bytes)", remedy))
    })
}

/// The beginning of a text file, decompressed; `None` if it is not text or cannot be read.
pub(crate) fn beginning(path: &Path) -> Option<String> {
    let (file, head) = open_with_head(path).ok()?;
    if formats::of_file(&head).is_some() {
        return None;
    }
    let mut text = Vec::new();
    decompressed(file, &head).ok()?.ok()?.take(BEGINNING).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}
