//! Archives of NumPy: zip files whose members `NAME.npy` are arrays, stored or deflated.
//!
//! ```text
//! end          "PK\5\6", .., members u16 at 10, bytes of the directory u32 at 12, its place u32 at 16, comment
//! end, 64 bit  "PK\6\6", .., members u64 at 32, bytes of the directory u64 at 40, its place u64 at 48; found by "PK\6\7", u32, its place u64
//! directory    "PK\1\2", flags u16 at 8, method u16 at 10, checksum u32 at 16, sizes u32 at 20 and 24, lengths u16 at 28, 30 and 32,
//!              place u32 at 42, name, extra fields (1: what of the sizes and the place did not fit, u64 each), comment
//! member       "PK\3\4", lengths of name and extra fields u16 at 26 and 28, name, extra fields, data
//! ```
//!
//! A deflated member is unpacked once, into a temporary file without a name.
//!
//! Source: PKWARE, APPNOTE.TXT 6.3.10.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::array_file::{ArrayFile, COPIED_WHOLE, Failure, Listed, Pick, Refusal};
use super::format::ArrayFormat;
use super::npy::NpyArray;
use crate::{disk, regular};

const SIGNATURE: &[u8] = b"PK\x03\x04";
const END: &[u8] = b"PK\x05\x06";
const END_64: &[u8] = b"PK\x06\x06";
const PLACE_OF_END_64: &[u8] = b"PK\x06\x07";
const ENTRY: &[u8] = b"PK\x01\x02";
/// Bytes of these parts without what follows them.
const END_BYTES: usize = 22;
const END_64_BYTES: u64 = 56;
const PLACE_BYTES: u64 = 20;
const ENTRY_BYTES: usize = 46;
const MEMBER_BYTES: usize = 30;
/// A comment at the end is at most so long.
const LONGEST_COMMENT: u64 = 1 << 16;
/// Bytes of a directory at most.
const LARGEST_DIRECTORY: u64 = 1 << 24;
/// Bytes that a deflated byte can stand for at most.
const GREATEST_DEFLATION: u64 = 1040;
/// What stands where a number does not fit.
const ELSEWHERE: u32 = u32::MAX;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const PIECE: usize = 1 << 16;

/// Archives of arrays.
pub(crate) const FORMAT: ArrayFormat = ArrayFormat {
    #[cfg(test)]
    signature: SIGNATURE,
    endings: &["npz"],
    is_of: |head| head.starts_with(SIGNATURE),
    open,
};

fn open(path: &Path) -> Result<Box<dyn ArrayFile>, Refusal> {
    let file = regular::open(path).map_err(|error| (error.to_string(), COPIED_WHOLE))?;
    let members = members(&file).map_err(|found| (found, COPIED_WHOLE))?;
    let mut arrays = Vec::new();
    for member in members.into_iter().filter(|member| member.name.ends_with(".npy")) {
        let name = member.name.clone();
        let array = member.array(path).map_err(|found| (format!("`{name}`: {found}"), COPIED_WHOLE))?;
        arrays.push(array);
    }
    if arrays.is_empty() {
        return Err(("a zip archive without arrays".to_owned(), "name a file that `numpy.savez` wrote"));
    }
    arrays.sort_by(|a, b| a.listed.name.cmp(&b.listed.name));
    let listed = arrays.iter().map(|array| array.listed.clone()).collect();
    Ok(Box::new(NpzFile { listed, arrays }))
}

struct NpzFile {
    listed: Vec<Listed>,
    arrays: Vec<NpyArray>,
}

impl ArrayFile for NpzFile {
    fn listed(&self) -> &[Listed] {
        &self.listed
    }

    fn numbers(&mut self, array: usize, picks: &[Pick]) -> Result<Vec<f64>, Failure> {
        self.arrays[array].numbers(picks)
    }

    fn texts(&mut self, array: usize) -> Result<Vec<String>, Failure> {
        self.arrays[array].texts()
    }
}

/// A member of the archive.
struct Member {
    name: String,
    method: u16,
    is_encrypted: bool,
    checksum: u32,
    /// Bytes as they are stored, and unpacked.
    stored: u64,
    unpacked: u64,
    /// Where it begins.
    place: u64,
}

impl Member {
    fn array(self, path: &Path) -> Result<NpyArray, Failure> {
        let words = |error: io::Error| error.to_string();
        let name = self.name.trim_end_matches(".npy").to_owned();
        let mut file = regular::open(path).map_err(words)?;
        let length = file.metadata().map_err(words)?.len();
        let head = piece(&file, length, self.place, MEMBER_BYTES as u64)?;
        let start = self.place + (MEMBER_BYTES + short(&head, 26) + short(&head, 28)) as u64;
        if !head.starts_with(SIGNATURE) || start.checked_add(self.stored).is_none_or(|end| end > length) {
            return Err(format!("{} bytes from byte {start} on in a file of {length}", self.stored));
        }
        match self.method {
            _ if self.is_encrypted => Err("an encrypted member".to_owned()),
            STORED if self.stored == self.unpacked => NpyArray::open(file, start, self.stored, name),
            DEFLATED => {
                if self.unpacked > self.stored.saturating_mul(GREATEST_DEFLATION) {
                    return Err(format!("{} bytes that claim to be {} unpacked", self.stored, self.unpacked));
                }
                file.seek(SeekFrom::Start(start)).map_err(words)?;
                let unpacked =
                    self.unpacked(file).map_err(|error| format!("a member that cannot be unpacked: {error}"))?;
                NpyArray::open(unpacked, 0, self.unpacked, name)
            }
            other => Err(format!("packed by the method {other}; stored and deflated members are read")),
        }
    }

    /// The unpacked bytes in a temporary file; `file` stands at the packed ones.
    fn unpacked(&self, file: File) -> io::Result<File> {
        let folder: PathBuf = std::env::temp_dir();
        let spare = disk::free(&folder)?;
        if self.unpacked > spare {
            let found = format!("{} bytes, and {spare} free in {}", self.unpacked, folder.display());
            return Err(io::Error::new(io::ErrorKind::StorageFull, found));
        }
        let unpacked = disk::temporary_file(&folder, "paramill-npz-")?.into_file();
        let mut writer = BufWriter::new(unpacked);
        let mut reader = DeflateDecoder::new(BufReader::new(file.take(self.stored))).take(self.unpacked + 1);
        let (mut crc, mut buffer, mut written) = (Crc::new(), vec![0; PIECE], 0);
        loop {
            let read = reader.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            crc.update(&buffer[..read]);
            writer.write_all(&buffer[..read])?;
            written += read as u64;
        }
        if written != self.unpacked || crc.sum() != self.checksum {
            let found = format!("{written} bytes with another checksum than the archive's, or not {}", self.unpacked);
            return Err(io::Error::new(io::ErrorKind::InvalidData, found));
        }
        writer.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

/// The members that the directory at the end lists.
fn members(file: &File) -> Result<Vec<Member>, Failure> {
    let length = file.metadata().map_err(|error| error.to_string())?.len();
    let tail_length = length.min(LONGEST_COMMENT + END_BYTES as u64);
    let tail = piece(file, length, length - tail_length, tail_length)?;
    let end = (0..tail.len().saturating_sub(END_BYTES - 1)).rev().find(|&at| tail[at..].starts_with(END));
    let end = end.ok_or("no directory at its end: a part of the archive is missing")?;
    let (mut size, mut place) = (u64::from(long(&tail, end + 12)), u64::from(long(&tail, end + 16)));
    let before = length - tail_length + end as u64;
    if [size, place].contains(&u64::from(ELSEWHERE)) && before >= PLACE_BYTES {
        let locator = piece(file, length, before - PLACE_BYTES, PLACE_BYTES)?;
        if locator.starts_with(PLACE_OF_END_64) {
            let end = piece(file, length, word(&locator, 8), END_64_BYTES)?;
            if !end.starts_with(END_64) {
                return Err("a damaged directory".to_owned());
            }
            (size, place) = (word(&end, 40), word(&end, 48));
        }
    }
    if size > LARGEST_DIRECTORY {
        return Err(format!("a directory of {size} bytes"));
    }
    let directory = piece(file, length, place, size)?;
    let mut members = Vec::new();
    let mut at = 0;
    while directory.len() >= at + ENTRY_BYTES {
        let entry = &directory[at..];
        let [name, extra, comment] = [28, 30, 32].map(|place| short(entry, place));
        let end = ENTRY_BYTES + name + extra + comment;
        if !entry.starts_with(ENTRY) || entry.len() < end {
            return Err("a damaged directory".to_owned());
        }
        let (name, rest) = entry[ENTRY_BYTES..end].split_at(name);
        let name = String::from_utf8(name.to_vec()).map_err(|_| "a name that is not UTF-8".to_owned())?;
        let mut larger = larger_numbers(&rest[..extra]).into_iter();
        let mut number = |place: usize| match long(entry, place) {
            ELSEWHERE => larger.next().unwrap_or(u64::from(ELSEWHERE)),
            small => u64::from(small),
        };
        // In the order in which the larger ones stand.
        let [unpacked, stored, place] = [24, 20, 42].map(&mut number);
        let (method, is_encrypted) = (short(entry, 10) as u16, short(entry, 8) & 1 == 1);
        members.push(Member { name, method, is_encrypted, checksum: long(entry, 16), stored, unpacked, place });
        at += end;
    }
    Ok(members)
}

/// The numbers that did not fit into an entry, from its extra fields.
fn larger_numbers(mut extra: &[u8]) -> Vec<u64> {
    while extra.len() >= 4 {
        let (kind, length) = (short(extra, 0), short(extra, 2));
        let Some(field) = extra.get(4..4 + length) else { break };
        if kind == 1 {
            return field.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        }
        extra = &extra[4 + length..];
    }
    Vec::new()
}

/// Bytes of the file, if it has them.
fn piece(file: &File, length: u64, at: u64, size: u64) -> Result<Vec<u8>, Failure> {
    if at.checked_add(size).is_none_or(|end| end > length) {
        return Err(format!("{size} bytes from byte {at} on in a file of {length}"));
    }
    let mut bytes = vec![0; size as usize];
    file.read_exact_at(&mut bytes, at).map_err(|error| error.to_string())?;
    Ok(bytes)
}

fn short(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

fn long(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from(long(bytes, at)) | u64::from(long(bytes, at + 4)) << 32
}
