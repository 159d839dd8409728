//! Reads variable-length texts without libhdf5, which allocates whatever length an element claims and loops forever on a damaged heap.
//!
//! ```text
//! element    length u32, address of its heap u64 (0: no text), index u32
//! heap       "GCOL" 1 0 0 0, size u64, { index u16, references u16, 0 u32, size u64, bytes padded to 8 }..     index 0: what is left
//! ```
//!
//! Source: HDF5 File Format Specification 3.0, section III.E.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use hdf5_metno::dataset::Layout;
use hdf5_metno::plist::file_create::{Sizeof, SizeofInfo};
use hdf5_metno::sync::sync;
use hdf5_metno::{Attribute, Dataset};
use hdf5_metno_sys::h5::herr_t;
use hdf5_metno_sys::h5a::{H5Aget_type, H5Aread};
use hdf5_metno_sys::h5i::hid_t;
use hdf5_metno_sys::h5t::{H5T_cdata_t, H5T_class_t, H5T_pers_t, H5Tclose, H5Tcreate, H5Tregister, H5Tunregister};
use hdf5_metno_sys::h5z::{H5Z_FILTER_DEFLATE, H5Z_FILTER_FLETCHER32, H5Z_FILTER_SHUFFLE, H5Z_filter_t};

use super::external::filters;

const SIGNATURE: &[u8] = b"GCOL\x01\0\0\0";
/// Bytes before the first object of a heap, and of an object's header.
const HEADER: usize = 16;
/// Bytes of an element.
const ELEMENT: usize = 16;
/// Bytes of a checksum.
const CHECKSUM: usize = 4;
/// Most bytes of a chunk or heap.
const LARGEST: u64 = 1 << 26;
/// Most bytes of a text.
const LONGEST: usize = 1 << 24;

/// Why texts cannot be read.
pub(crate) type Failure = String;

/// The texts of a variable of at most one axis.
pub(crate) struct Texts {
    file: File,
    bytes: u64,
    elements: Elements,
    heap: Option<Heap>,
}

/// Where the elements are stored.
enum Elements {
    /// Contiguously from this address; `None` if none was ever written.
    Contiguous(Option<u64>),
    Chunked {
        /// Elements of a chunk.
        length: usize,
        chunks: BTreeMap<usize, Chunk>,
        /// In the order of writing.
        filters: Vec<H5Z_filter_t>,
        decoded: Option<(usize, Vec<u8>)>,
    },
    /// In memory: those of an attribute.
    Read(Vec<u8>),
}

struct Chunk {
    address: u64,
    size: u64,
    /// One bit per filter that was not applied.
    skipped: u32,
}

struct Heap {
    address: u64,
    bytes: Vec<u8>,
    objects: HashMap<u32, Range<usize>>,
}

/// Texts without repetition, and which element has which.
pub(crate) struct SomeTexts {
    pub texts: Vec<String>,
    /// The text of each element; `None` where there is none.
    pub places: Vec<Option<usize>>,
}

impl Texts {
    /// The texts of a variable in the file at `path`.
    ///
    /// # Errors
    /// If their storage layout is not supported.
    pub(crate) fn new(path: &Path, variable: &Dataset) -> Result<Self, Failure> {
        let unreadable = |error: hdf5_metno::Error| error.to_string();
        let (file, bytes) = opened(path, &variable.file().map_err(unreadable)?)?;
        let elements = match (variable.layout(), variable.chunk().as_deref()) {
            (Layout::Contiguous, _) => {
                let stored = variable.storage_size();
                if stored != 0 && stored != (variable.size() as u64).saturating_mul(ELEMENT as u64) {
                    return Err(format!("{} texts in {stored} bytes", variable.size()));
                }
                Elements::Contiguous(variable.offset().filter(|_| stored > 0))
            }
            (Layout::Chunked, Some(&[length])) if (1..=LARGEST as usize / ELEMENT).contains(&length) => {
                let mut chunks = BTreeMap::new();
                let visited = variable.chunks_visit(|chunk| {
                    let first = chunk.offset.first().copied().unwrap_or(0) as usize;
                    let (address, size, skipped) = (chunk.addr, chunk.size, chunk.filter_mask);
                    chunks.insert(first / length, Chunk { address, size, skipped });
                    0
                });
                visited.map_err(unreadable)?;
                let filters = filters(variable).map_err(unreadable)?;
                Elements::Chunked { length, chunks, filters, decoded: None }
            }
            (layout, _) => return Err(format!("texts in the layout {layout:?}")),
        };
        Ok(Texts { file, bytes, elements, heap: None })
    }

    /// The texts of an attribute of an object in `of`, the file at `path`.
    ///
    /// # Errors
    /// If their storage layout is not supported.
    pub(crate) fn of_attribute(path: &Path, of: &hdf5_metno::File, attribute: &Attribute) -> Result<Self, Failure> {
        let (file, bytes) = opened(path, of)?;
        Ok(Texts { file, bytes, elements: Elements::Read(elements_of(attribute)?), heap: None })
    }

    /// Reads the texts of these elements.
    ///
    /// # Errors
    /// If the file is damaged.
    pub(crate) fn read(&mut self, range: Range<usize>) -> Result<SomeTexts, Failure> {
        let mut found: HashMap<[u8; ELEMENT], Option<usize>> = HashMap::new();
        let mut read = SomeTexts { texts: Vec::new(), places: Vec::with_capacity(range.len()) };
        for element in self.elements(range)? {
            let place = match found.get(&element) {
                Some(&place) => place,
                None => {
                    let text = self.text(element)?;
                    let place = text.map(|text| {
                        read.texts.push(text);
                        read.texts.len() - 1
                    });
                    found.insert(element, place);
                    place
                }
            };
            read.places.push(place);
        }
        Ok(read)
    }

    /// Reads what these elements refer to in their heap, whatever it is; empty where there is nothing.
    ///
    /// # Errors
    /// If the file is damaged.
    pub(crate) fn objects(&mut self, range: Range<usize>) -> Result<Vec<Vec<u8>>, Failure> {
        let elements = self.elements(range)?;
        elements.into_iter().map(|element| Ok(self.object(element)?.map(<[u8]>::to_vec).unwrap_or_default())).collect()
    }

    fn elements(&mut self, range: Range<usize>) -> Result<Vec<[u8; ELEMENT]>, Failure> {
        let Texts { file, bytes: of_file, elements, .. } = self;
        let size = range.len() * ELEMENT;
        let mut bytes = match elements {
            Elements::Contiguous(Some(start)) => {
                let start = start.saturating_add((range.start * ELEMENT) as u64);
                piece(file, *of_file, start, size as u64)?
            }
            Elements::Read(elements) => {
                elements.get(range.start * ELEMENT..).and_then(|rest| rest.get(..size)).ok_or("no such text")?.to_vec()
            }
            _ => vec![0; size],
        };
        match elements {
            Elements::Contiguous(_) | Elements::Read(_) => {}
            Elements::Chunked { length, chunks, filters, decoded } => {
                for (row, to) in range.zip(bytes.chunks_exact_mut(ELEMENT)) {
                    let (chunk, within) = (row / *length, row % *length * ELEMENT);
                    if decoded.as_ref().is_none_or(|decoded| decoded.0 != chunk) {
                        let Some(stored) = chunks.get(&chunk) else { continue };
                        let raw = piece(file, *of_file, stored.address, stored.size)?;
                        *decoded = Some((chunk, unfiltered(raw, filters, stored.skipped, *length * ELEMENT)?));
                    }
                    let decoded = decoded.as_ref().map_or(&[][..], |decoded| &decoded.1);
                    to.copy_from_slice(decoded.get(within..within + ELEMENT).ok_or("a chunk that is too short")?);
                }
            }
        }
        Ok(bytes.as_chunks().0.to_vec())
    }

    fn text(&mut self, element: [u8; ELEMENT]) -> Result<Option<String>, Failure> {
        let length = u32::from_le_bytes([element[0], element[1], element[2], element[3]]) as usize;
        let Some(text) = self.object(element)? else { return Ok(None) };
        if length > LONGEST {
            return Err(format!("a text of {length} bytes; expected {LONGEST} at most"));
        }
        if text.len() != length {
            return Err(format!("a text of {length} bytes where its heap holds {}", text.len()));
        }
        // A text ends at its first zero byte.
        let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
        str::from_utf8(text).map(|text| Some(text.to_owned())).map_err(|_| "bytes that are not UTF-8".to_owned())
    }

    /// The bytes that an element refers to; `None` if it refers to none.
    fn object(&mut self, element: [u8; ELEMENT]) -> Result<Option<&[u8]>, Failure> {
        let [_, low, high, index] = *element.as_chunks().0 else { return Ok(None) };
        let [low, high, index] = [low, high, index].map(u32::from_le_bytes);
        let address = u64::from(high) << 32 | u64::from(low);
        if address == 0 {
            return Ok(None);
        }
        if self.heap.as_ref().is_none_or(|heap| heap.address != address) {
            self.heap = Some(Heap::read(&self.file, self.bytes, address)?);
        }
        let heap = self.heap.as_ref();
        let object = heap.and_then(|heap| heap.bytes.get(heap.objects.get(&index)?.clone()));
        object.map(Some).ok_or_else(|| format!("a text that its heap at byte {address} does not hold"))
    }
}

/// The file and its size; refuses files with a user block or short addresses.
fn opened(path: &Path, file: &hdf5_metno::File) -> Result<(File, u64), Failure> {
    let properties = file.fcpl().map_err(|error| error.to_string())?;
    let eight = SizeofInfo { sizeof_addr: Sizeof::Bytes8, sizeof_size: Sizeof::Bytes8 };
    if properties.userblock() != 0 || properties.sizes() != eight {
        return Err("texts in a file with a user block or short addresses".to_owned());
    }
    let file = File::open(path).map_err(|error| error.to_string())?;
    let bytes = file.metadata().map_err(|error| error.to_string())?.len();
    Ok((file, bytes))
}

/// The stored elements of an attribute. libhdf5 returns only converted values, so a conversion to bytes that changes nothing is registered.
fn elements_of(attribute: &Attribute) -> Result<Vec<u8>, Failure> {
    let count = attribute.size();
    if (count as u64).saturating_mul(ELEMENT as u64) > LARGEST {
        return Err(format!("{count} texts"));
    }
    let mut bytes = vec![0; count * ELEMENT];
    // SAFETY: the attribute is open and outlives the calls. As it is stored, an element of a type of variable length has `ELEMENT` bytes where
    // addresses have eight, which has been looked at, and so has one of the type that is read to: the buffer holds as many of them.
    let status = sync(|| unsafe {
        let (from, to) = (H5Aget_type(attribute.id()), H5Tcreate(H5T_class_t::H5T_OPAQUE, ELEMENT));
        let (soft, name) = (H5T_pers_t::H5T_PERS_SOFT, c"as stored".as_ptr());
        let registered = H5Tregister(soft, name, from, to, Some(as_stored));
        let status = if registered < 0 { registered } else { H5Aread(attribute.id(), to, bytes.as_mut_ptr().cast()) };
        H5Tunregister(soft, name, from, to, Some(as_stored));
        H5Tclose(to);
        H5Tclose(from);
        status
    });
    if status < 0 { Err("an attribute that cannot be read".to_owned()) } else { Ok(bytes) }
}

extern "C" fn as_stored(
    _from: hid_t,
    _to: hid_t,
    _data: *mut H5T_cdata_t,
    _count: usize,
    _stride: usize,
    _background_stride: usize,
    _values: *mut c_void,
    _background: *mut c_void,
    _properties: hid_t,
) -> herr_t {
    0
}

impl Heap {
    fn read(file: &File, of_file: u64, address: u64) -> Result<Self, Failure> {
        let damaged = || format!("a damaged heap at byte {address}");
        let head = piece(file, of_file, address, HEADER as u64)?;
        if !head.starts_with(SIGNATURE) {
            return Err(damaged());
        }
        let bytes = piece(file, of_file, address, u64_at(&head, 8).ok_or_else(damaged)?)?;
        let mut objects = HashMap::new();
        let mut at = HEADER;
        while at + HEADER <= bytes.len() {
            let index = u16::from_le_bytes([bytes[at], bytes[at + 1]]);
            if index == 0 {
                break;
            }
            let size = u64_at(&bytes, at + 8).and_then(|size| usize::try_from(size).ok()).ok_or_else(damaged)?;
            let start = at + HEADER;
            let end = start.checked_add(size).filter(|&end| end <= bytes.len()).ok_or_else(damaged)?;
            objects.insert(u32::from(index), start..end);
            at = start + size.next_multiple_of(8);
        }
        Ok(Heap { address, bytes, objects })
    }
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Reads `size` bytes at `address`, if the file has them.
fn piece(file: &File, of_file: u64, address: u64, size: u64) -> Result<Vec<u8>, Failure> {
    let inside = address.checked_add(size).is_some_and(|end| end <= of_file);
    if !inside || size > LARGEST {
        return Err(format!("{size} bytes at byte {address} of a file of {of_file}"));
    }
    let mut bytes = vec![0; size as usize];
    file.read_exact_at(&mut bytes, address).map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Undoes the filters of a chunk of `length` bytes.
fn unfiltered(bytes: Vec<u8>, filters: &[H5Z_filter_t], skipped: u32, length: usize) -> Result<Vec<u8>, Failure> {
    let applied = (0..).zip(filters).filter(|(position, _)| skipped.checked_shr(*position).unwrap_or(0) & 1 == 0);
    let applied: Vec<H5Z_filter_t> = applied.map(|(_, &filter)| filter).collect();
    applied.into_iter().rev().try_fold(bytes, |mut bytes, filter| match filter {
        H5Z_FILTER_FLETCHER32 => {
            bytes.truncate(bytes.len().saturating_sub(CHECKSUM));
            Ok(bytes)
        }
        H5Z_FILTER_DEFLATE => {
            let mut inflated = Vec::new();
            let most = (length + CHECKSUM) as u64;
            let read = flate2::read::ZlibDecoder::new(&bytes[..]).take(most).read_to_end(&mut inflated);
            read.map(|_| inflated).map_err(|error: io::Error| error.to_string())
        }
        H5Z_FILTER_SHUFFLE => {
            // First bytes of all elements, then second bytes, ..; an incomplete element follows unchanged.
            let count = bytes.len() / ELEMENT;
            let mut elements = bytes.clone();
            for (i, element) in elements[..count * ELEMENT].chunks_exact_mut(ELEMENT).enumerate() {
                element.iter_mut().enumerate().for_each(|(b, byte)| *byte = bytes[b * count + i]);
            }
            Ok(elements)
        }
        other => Err(format!("the filter {other}")),
    })
}
