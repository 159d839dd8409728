//! Files of NumPy with one array.
//!
//! ```text
//! file     "\x93NUMPY", major u8, minor u8, length of the header u16 (u32 from major 2 on), header, values
//! header   "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 20), }", padded by spaces, ended by a newline
//! ```
//!
//! Source: NEP 1 and `numpy.lib.format`. Pickled objects are not read: they are programs.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use half::f16;

use super::array_file::{ArrayFile, COPIED_WHOLE, Failure, Holds, Listed, Pick, Precision, Refusal};
use super::format::ArrayFormat;
use crate::regular;

/// First bytes of an array.
pub(crate) const SIGNATURE: &[u8] = b"\x93NUMPY";
/// Longest header that is read.
const LONGEST_HEADER: usize = 1 << 16;
/// Bytes of the longest run that is read at once.
const LONGEST_RUN: usize = 1 << 22;
/// Bytes of a text at most.
const LONGEST_TEXT: usize = 1 << 12;
/// Bytes of all texts at most.
const LONGEST_TEXTS: usize = 1 << 26;
/// Integers up to this magnitude are exact as doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Files with one array.
pub(crate) const FORMAT: ArrayFormat = ArrayFormat {
    #[cfg(test)]
    signature: SIGNATURE,
    endings: &["npy"],
    is_of: |head| head.starts_with(SIGNATURE),
    open,
};

fn open(path: &Path) -> Result<Box<dyn ArrayFile>, Refusal> {
    let unreadable = |error: io::Error| (error.to_string(), COPIED_WHOLE);
    let file = regular::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    let array = NpyArray::open(file, 0, length, String::new()).map_err(|found| (found, COPIED_WHOLE))?;
    Ok(Box::new(NpyFile { listed: vec![array.listed.clone()], array }))
}

struct NpyFile {
    listed: Vec<Listed>,
    array: NpyArray,
}

impl ArrayFile for NpyFile {
    fn listed(&self) -> &[Listed] {
        &self.listed
    }

    fn numbers(&mut self, _: usize, picks: &[Pick]) -> Result<Vec<f64>, Failure> {
        self.array.numbers(picks)
    }

    fn texts(&mut self, _: usize) -> Result<Vec<String>, Failure> {
        self.array.texts()
    }
}

/// An array in a stretch of a file.
pub(crate) struct NpyArray {
    pub listed: Listed,
    file: File,
    /// Where its values begin.
    start: u64,
    /// Bytes of a value.
    size: usize,
    element: Element,
    is_big: bool,
    /// Whether the first axis is the fastest.
    is_fortran: bool,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Element {
    Float,
    Signed,
    Unsigned,
    /// UCS-4, or bytes.
    Text {
        is_wide: bool,
    },
    Other,
}

impl NpyArray {
    /// The array in the `length` bytes of `file` from `offset` on.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn open(file: File, offset: u64, length: u64, name: String) -> Result<Self, Failure> {
        let mut fixed = [0; 12];
        let short = |_| format!("{length} bytes, too few for an array of NumPy");
        if length < fixed.len() as u64 {
            return Err(short(()));
        }
        file.read_exact_at(&mut fixed, offset).map_err(|error| error.to_string())?;
        if !fixed.starts_with(SIGNATURE) {
            return Err("no array of NumPy".to_owned());
        }
        let (header, before) = match fixed[6] {
            1 => (usize::from(u16::from_le_bytes([fixed[8], fixed[9]])), 10),
            2 | 3 => (u32::from_le_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]) as usize, 12),
            other => return Err(format!("version {other} of NumPy's format; versions 1 to 3 are read")),
        };
        if header > LONGEST_HEADER || (before + header) as u64 > length {
            return Err(format!("a header of {header} bytes in a file of {length}"));
        }
        let mut text = vec![0; header];
        file.read_exact_at(&mut text, offset + before as u64).map_err(|error| error.to_string())?;
        let text = String::from_utf8(text).map_err(|_| "a header that is not text".to_owned())?;
        let Header { descr, is_fortran, shape } =
            Header::parse(&text).ok_or_else(|| format!("a header that cannot be read: {}", text.trim()))?;
        let (element, is_big, size) = match descr.as_deref().map(described) {
            None => (Element::Other, false, 1),
            Some(None) => return Err(format!("the type {}", descr.unwrap_or_default())),
            Some(Some(described)) => described,
        };
        let holds = match (element, size) {
            (Element::Float, 2) => Holds::Numbers(Precision::Half),
            (Element::Float, 4) => Holds::Numbers(Precision::Single),
            (Element::Signed | Element::Unsigned, 8) => Holds::Numbers(Precision::Long),
            (Element::Float | Element::Signed | Element::Unsigned, _) => Holds::Numbers(Precision::Double),
            (Element::Text { .. }, _) => Holds::Texts,
            (Element::Other, _) => Holds::Other(match descr.as_deref() {
                Some("O" | "|O") => "of pickled objects, which are programs and are not run".to_owned(),
                Some(descr) if descr.contains('c') => "of complex numbers".to_owned(),
                Some(descr) => format!("of the type {descr}"),
                None => "of records with several fields".to_owned(),
            }),
        };
        let values = shape.iter().try_fold(size as u64, |product, &count| product.checked_mul(count as u64));
        let start = (before + header) as u64;
        let left = length - start;
        if !matches!(element, Element::Other) && values != Some(left) {
            let claim = values.map_or("more bytes than can be counted".to_owned(), |values| format!("{values} bytes"));
            return Err(format!("an array that claims {claim}, of which {left} are there"));
        }
        let listed = Listed { name, shape, holds };
        Ok(NpyArray { listed, file, start: offset + start, size, element, is_big, is_fortran })
    }

    /// The numbers at these positions, row-major.
    ///
    /// # Errors
    /// If the file cannot be read, or an integer is not exact as a double.
    pub(crate) fn numbers(&self, picks: &[Pick]) -> Result<Vec<f64>, Failure> {
        let shape = &self.listed.shape;
        // Strides of the file in values, slowest axis first as it is stored.
        let order: Vec<usize> =
            if self.is_fortran { (0..shape.len()).rev().collect() } else { (0..shape.len()).collect() };
        let mut strides = vec![1; shape.len()];
        for pair in order.windows(2).rev() {
            strides[pair[0]] = strides[pair[1]] * shape[pair[1]];
        }
        let mut to = vec![1; shape.len()];
        for axis in (1..shape.len()).rev() {
            to[axis - 1] = to[axis] * picks[axis].count;
        }
        let count: usize = picks.iter().map(|pick| pick.count).product();
        let mut values = vec![0.0; count];
        let (mut at, mut bytes) = (vec![0; order.len()], Vec::new());
        let Some((&fastest, slower)) = order.split_last() else {
            self.run(0, 1, 1, &mut bytes, |_, value| values[0] = value)?;
            return Ok(values);
        };
        if count == 0 {
            return Ok(values);
        }
        loop {
            let first: usize =
                order.iter().map(|&axis| (picks[axis].start + at[axis] * picks[axis].step) * strides[axis]).sum();
            let target: usize = slower.iter().map(|&axis| at[axis] * to[axis]).sum();
            let Pick { step, count, .. } = picks[fastest];
            self.run(first as u64, step, count, &mut bytes, |i, value| values[target + i * to[fastest]] = value)?;
            // The next run: as an odometer counts.
            let Some(&turned) = slower.iter().rev().find(|&&axis| at[axis] + 1 < picks[axis].count) else { break };
            let behind = slower.iter().position(|&axis| axis == turned).unwrap_or(0) + 1;
            slower[behind..].iter().for_each(|&axis| at[axis] = 0);
            at[turned] += 1;
        }
        Ok(values)
    }

    /// Hands over `count` values, every `step`-th from the value `first` on.
    fn run(
        &self,
        first: u64,
        step: usize,
        count: usize,
        bytes: &mut Vec<u8>,
        mut take: impl FnMut(usize, f64),
    ) -> Result<(), Failure> {
        let apart = step * self.size;
        let together = (LONGEST_RUN / apart).max(1);
        for begin in (0..count).step_by(together) {
            let some = together.min(count - begin);
            bytes.resize((some - 1) * apart + self.size, 0);
            let offset = self.start + (first + (begin * step) as u64) * self.size as u64;
            self.file.read_exact_at(bytes, offset).map_err(|error| error.to_string())?;
            for (i, value) in bytes.chunks(apart).enumerate() {
                take(begin + i, self.number(&value[..self.size])?);
            }
        }
        Ok(())
    }

    fn number(&self, bytes: &[u8]) -> Result<f64, Failure> {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        if self.is_big {
            word[..bytes.len()].reverse();
        }
        let low = u64::from_le_bytes(word);
        let number = match (self.element, self.size) {
            (Element::Float, 2) => f16::from_bits(low as u16).to_f64(),
            (Element::Float, 4) => f64::from(f32::from_bits(low as u32)),
            (Element::Float, _) => f64::from_bits(low),
            (Element::Signed, size) => {
                let unused = 64 - 8 * size as u32;
                ((low << unused).cast_signed() >> unused) as f64
            }
            _ => low as f64,
        };
        match self.size == 8 && self.element != Element::Float && number.abs() > EXACT {
            true => Err(format!("the integer {number}, beyond 2^53, where doubles are not exact")),
            false => Ok(number),
        }
    }

    /// All texts.
    ///
    /// # Errors
    /// If the file cannot be read, or holds no texts.
    pub(crate) fn texts(&self) -> Result<Vec<String>, Failure> {
        let Element::Text { is_wide } = self.element else { return Err("no texts".to_owned()) };
        let count: usize = self.listed.shape.iter().product();
        let all = count.saturating_mul(self.size);
        if self.size > LONGEST_TEXT || all > LONGEST_TEXTS {
            return Err(format!("texts of {} bytes, {count} of them", self.size));
        }
        let mut bytes = vec![0; all];
        self.file.read_exact_at(&mut bytes, self.start).map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| match is_wide {
            true => {
                let words = bytes.as_chunks().0.iter();
                let letters =
                    words.map(|word| if self.is_big { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) });
                letters.take_while(|letter| *letter != 0).map(char::from_u32).collect::<Option<String>>()
            }
            false => str::from_utf8(bytes).ok().map(|text| text.trim_end_matches('\0').to_owned()),
        };
        let texts = bytes.chunks_exact(self.size.max(1)).map(text).collect::<Option<Vec<_>>>();
        texts.ok_or_else(|| "bytes that are no text".to_owned())
    }
}

/// The kind, the order of bytes and the size of a type such as `<f4`; `None` if it is not written so.
fn described(descr: &str) -> Option<(Element, bool, usize)> {
    let (order, rest) = match descr.chars().next()? {
        '<' | '|' | '=' => (false, &descr[1..]),
        '>' => (true, &descr[1..]),
        _ => (false, descr),
    };
    let kind = rest.chars().next()?;
    if !kind.is_ascii() {
        return None;
    }
    let size: usize =
        if rest.len() == 1 { 1 } else { rest[1..].parse().ok().filter(|size| *size <= 1 << 24).unwrap_or(0) };
    let (element, size) = match (kind, size) {
        ('f', 2 | 4 | 8) => (Element::Float, size),
        ('i', 1 | 2 | 4 | 8) => (Element::Signed, size),
        ('u', 1 | 2 | 4 | 8) | ('b', 1) => (Element::Unsigned, size),
        ('U', 1..) => (Element::Text { is_wide: true }, 4 * size),
        ('S' | 'a', 1..) => (Element::Text { is_wide: false }, size),
        _ => (Element::Other, 1),
    };
    Some((element, order, size))
}

/// What the header says.
struct Header {
    /// `None` where it is a list of fields.
    descr: Option<String>,
    is_fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    /// Reads the literal of Python that a header is; `None` if it is none with the three keys.
    fn parse(text: &str) -> Option<Header> {
        let value = |key: &str| {
            let rest = text.split_once(&format!("'{key}':"))?.1;
            Some(rest.trim_start())
        };
        let descr = value("descr")?;
        let descr = match descr.strip_prefix('\'') {
            Some(rest) => Some(rest.split_once('\'')?.0.to_owned()),
            None => descr.starts_with('[').then_some(None)?,
        };
        let is_fortran = match value("fortran_order")? {
            rest if rest.starts_with("True") => true,
            rest if rest.starts_with("False") => false,
            _ => return None,
        };
        let inside = value("shape")?.strip_prefix('(')?.split_once(')')?.0;
        let counts = inside.split(',').map(str::trim).filter(|count| !count.is_empty());
        let shape = counts.map(|count| count.trim_end_matches('L').parse().ok()).collect::<Option<Vec<usize>>>()?;
        Some(Header { descr, is_fortran, shape })
    }
}
