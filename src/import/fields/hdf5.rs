//! HDF5 files, of which netCDF-4 files are some, as files of arrays.
//!
//! An array is a variable in any group, named by its path. What attributes of netCDF say of its numbers holds; its axes have the names of the
//! dimension scales that its attribute `DIMENSION_LIST` refers to.
//!
//! Source: HDF5 Dimension Scale Specification; NetCDF-4 Format.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use hdf5_metno::sync::sync;
use hdf5_metno::types::{FloatSize, IntSize, TypeDescriptor};
use hdf5_metno::{Attribute, Dataset, File, Hyperslab, Location, SliceOrIndex};
use hdf5_metno_sys::h5o::{H5O_INFO_BASIC, H5O_info2_t, H5Oget_info3};
use hdf5_metno_sys::h5t::{H5T_class_t, H5Tget_class};
use ndarray::IxDyn;

use super::array_file::{ArrayFile, COPIED_WHOLE, Fact, Failure, Holds, Listed, Pick, Precision, Refusal};
use super::format::ArrayFormat;
use crate::dataset::{Texts, hdf5_external_problems};
use crate::import::tables::hdf5::attributes::{Attributes, attributes, texts_of};
use crate::import::tables::hdf5::is_hdf5;
use crate::import::tables::hdf5::since::Since;

/// Depth of nested groups that are searched.
const DEEPEST: usize = 8;
/// Arrays that are listed at most.
const MOST_ARRAYS: usize = 1 << 17;
/// Bytes that a stored byte can stand for at most: deflate's limit is 1032.
const GREATEST_DEFLATION: u64 = 1040;
/// Bytes that any array may claim.
const SMALL: u64 = 1 << 13;
/// Most texts of an array.
const MOST_TEXTS: usize = 1 << 20;
/// Integers up to this magnitude are exact as doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// Bytes of an address in the file.
const ADDRESS: usize = 8;

/// HDF5 and netCDF-4 files.
pub(crate) const FORMAT: ArrayFormat = ArrayFormat {
    #[cfg(test)]
    signature: crate::import::tables::hdf5::SIGNATURE,
    endings: &["h5", "hdf5", "hdf", "nc", "nc4", "mat"],
    is_of: is_hdf5,
    open,
};

fn open(path: &Path) -> Result<Box<dyn ArrayFile>, Refusal> {
    let damaged = |error: hdf5_metno::Error| (format!("an HDF5 file that cannot be read: {error}"), COPIED_WHOLE);
    let file = File::open(path).map_err(damaged)?;
    let reaching = hdf5_external_problems(path, &file).map_err(|error| (error.to_string(), COPIED_WHOLE))?;
    if !reaching.is_empty() {
        let remedy = "copy the values into a plain file, for example with `h5repack`";
        return Err((reaching.join("; "), remedy));
    }
    let mut found = Vec::new();
    list(&file, String::new(), 0, &mut found)?;
    found.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    let (listed, variables) = found.into_iter().unzip();
    Ok(Box::new(Hdf5File { path: path.to_owned(), file, listed, variables, read: HashMap::new(), scales: None }))
}

/// Adds the arrays of a group and of the groups in it.
fn list(
    group: &hdf5_metno::Group,
    place: String,
    depth: usize,
    found: &mut Vec<(Listed, Dataset)>,
) -> Result<(), Refusal> {
    for name in group.member_names().unwrap_or_default() {
        let path = if place.is_empty() { name.clone() } else { format!("{place}/{name}") };
        if found.len() == MOST_ARRAYS {
            return Err((format!("more than {MOST_ARRAYS} arrays"), "put fewer into a file"));
        }
        if let Ok(variable) = group.dataset(&name) {
            let listed = Listed { holds: holds(&variable), shape: variable.shape(), name: path };
            found.push((listed, variable));
        } else if let Ok(inside) = group.group(&name)
            && depth < DEEPEST
        {
            list(&inside, path, depth + 1, found)?;
        }
    }
    Ok(())
}

fn holds(variable: &Dataset) -> Holds {
    let Ok(kind) = variable.dtype() else { return Holds::Other("of an unknown type".to_owned()) };
    let numbers = Holds::Numbers;
    match kind.to_descriptor() {
        Ok(TypeDescriptor::Float(FloatSize::U4)) => numbers(Precision::Single),
        Ok(TypeDescriptor::Integer(IntSize::U8) | TypeDescriptor::Unsigned(IntSize::U8)) => numbers(Precision::Long),
        Ok(
            TypeDescriptor::Float(_)
            | TypeDescriptor::Integer(_)
            | TypeDescriptor::Unsigned(_)
            | TypeDescriptor::Boolean,
        ) => numbers(Precision::Double),
        Ok(
            TypeDescriptor::FixedAscii(_)
            | TypeDescriptor::FixedUnicode(_)
            | TypeDescriptor::VarLenAscii
            | TypeDescriptor::VarLenUnicode,
        ) => Holds::Texts,
        Ok(TypeDescriptor::Compound(compound)) => {
            let fields: Vec<&str> = compound.fields.iter().map(|field| field.name.as_str()).collect();
            match fields.as_slice() {
                ["r", "i"] => Holds::Other("of complex numbers".to_owned()),
                _ => Holds::Other(format!("of records with the fields {}", fields.join(", "))),
            }
        }
        Ok(other) => Holds::Other(format!("of the type {other}")),
        // A number of half precision has no descriptor, and libhdf5 converts it.
        Err(_) if is_float(&kind) => numbers(Precision::Half),
        Err(error) => Holds::Other(format!("of an unknown type ({error})")),
    }
}

fn is_float(kind: &hdf5_metno::Datatype) -> bool {
    // SAFETY: the type is open and outlives the call.
    kind.size() == 2 && sync(|| unsafe { H5Tget_class(kind.id()) }) == H5T_class_t::H5T_FLOAT
}

struct Hdf5File {
    path: PathBuf,
    file: File,
    listed: Vec<Listed>,
    variables: Vec<Dataset>,
    /// What the attributes of arrays say that were asked for.
    read: HashMap<usize, Result<Attributes, Failure>>,
    /// Names of dimension scales by the address of their header in the file.
    scales: Option<BTreeMap<u64, String>>,
}

impl Hdf5File {
    fn attributes_of(&mut self, array: usize) -> Result<Attributes, Failure> {
        let Hdf5File { path, variables, read, .. } = self;
        let attributes = || {
            let kind = variables[array].dtype().and_then(|kind| kind.to_descriptor());
            attributes(path, &variables[array], &kind.unwrap_or(TypeDescriptor::Boolean))
        };
        read.entry(array).or_insert_with(attributes).clone()
    }

    fn location(&self, path: &str) -> Option<Location> {
        match path {
            "" => self.file.as_group().ok().map(|group| (*group).clone()),
            path => match self.find(path) {
                Some(array) => Some((**self.variables[array]).clone()),
                None => self.file.group(path).ok().map(|group| (*group).clone()),
            },
        }
    }

    fn facts(&self, attribute: &Attribute) -> Option<Vec<Fact>> {
        if let Ok(Some(texts)) = texts_of(&self.path, &self.file, attribute) {
            return Some(texts.into_iter().map(Fact::Text).collect());
        }
        const MOST: usize = 64;
        if attribute.size() > MOST {
            return None;
        }
        let precision = match attribute.dtype().and_then(|kind| kind.to_descriptor()).ok()? {
            TypeDescriptor::Float(FloatSize::U4) => Precision::Single,
            TypeDescriptor::Float(_)
            | TypeDescriptor::Integer(_)
            | TypeDescriptor::Unsigned(_)
            | TypeDescriptor::Boolean => Precision::Double,
            _ => return None,
        };
        let numbers = attribute.read_raw::<f64>().ok()?;
        Some(numbers.into_iter().map(|number| Fact::Number(number, precision)).collect())
    }
}

impl ArrayFile for Hdf5File {
    fn listed(&self) -> &[Listed] {
        &self.listed
    }

    fn numbers(&mut self, array: usize, picks: &[Pick]) -> Result<Vec<f64>, Failure> {
        let coding = self.attributes_of(array)?.coding;
        let variable = &self.variables[array];
        require_possible(variable)?;
        let words = |error: hdf5_metno::Error| error.to_string();
        let mut numbers = match picks {
            [] => variable.read_raw::<f64>().map_err(words)?,
            picks => {
                let slice =
                    |&Pick { start, step, count }: &Pick| SliceOrIndex::SliceCount { start, step, count, block: 1 };
                if picks.iter().any(|pick| pick.count == 0) {
                    return Ok(Vec::new());
                }
                let selection = Hyperslab::from(picks.iter().map(slice).collect::<Vec<_>>());
                let read = variable.read_slice::<f64, _, IxDyn>(selection).map_err(words)?;
                read.into_raw_vec_and_offset().0
            }
        };
        coding.decode(&mut numbers);
        if self.listed[array].precision() == Some(Precision::Long)
            && let Some(long) = numbers.iter().find(|number| number.abs() > EXACT)
        {
            return Err(format!("the integer {long}, beyond 2^53, where doubles are not exact"));
        }
        Ok(numbers)
    }

    fn require_possible(&self, array: usize) -> Result<(), Failure> {
        require_possible(&self.variables[array])
    }

    fn texts(&mut self, array: usize) -> Result<Vec<String>, Failure> {
        let variable = &self.variables[array];
        let count = variable.size();
        if count > MOST_TEXTS || variable.ndim() > 1 {
            return Err(format!("{} texts; {MOST_TEXTS} along one axis are read", self.listed[array].shape_in_words()));
        }
        require_possible(variable)?;
        match variable.dtype().and_then(|kind| kind.to_descriptor()) {
            Ok(TypeDescriptor::VarLenAscii | TypeDescriptor::VarLenUnicode) => {
                let read = Texts::new(&self.path, variable)?.read(0..count)?;
                let text = |place: &Option<usize>| place.map_or(String::new(), |place| read.texts[place].clone());
                Ok(read.places.iter().map(text).collect())
            }
            _ => fixed_texts(variable),
        }
    }

    fn unit(&mut self, array: usize) -> Result<Option<String>, Failure> {
        Ok(self.attributes_of(array)?.unit)
    }

    fn since(&mut self, array: usize) -> Result<Option<Since>, Failure> {
        Ok(self.attributes_of(array)?.coding.since())
    }

    fn axis_names(&mut self, array: usize) -> Vec<Option<String>> {
        let Hdf5File { path, file, listed, variables, scales, .. } = self;
        let scales = scales.get_or_insert_with(|| {
            let names = listed.iter().zip(&*variables);
            names.filter_map(|(it, variable)| Some((address(variable)?, it.own_name().to_owned()))).collect()
        });
        let lists =
            variables[array].attr("DIMENSION_LIST").ok().filter(|list| list.size() == listed[array].shape.len());
        let references = lists.and_then(|list| {
            let mut lists = Texts::of_attribute(path, file, &list).ok()?;
            lists.objects(0..list.size()).ok()
        });
        let name = |reference: &Vec<u8>| {
            let address = reference.get(..ADDRESS)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))?;
            scales.get(&address).cloned()
        };
        references.unwrap_or_default().iter().map(name).collect()
    }

    fn attribute(&self, path: &str, name: &str) -> Option<Vec<Fact>> {
        self.facts(&self.location(path)?.attr(name).ok()?)
    }

    fn attribute_names(&self, path: &str) -> Vec<String> {
        self.location(path).and_then(|location| location.attr_names().ok()).unwrap_or_default()
    }

    fn has_group(&self, name: &str) -> bool {
        self.file.group(name).is_ok()
    }
}

/// The address of the header of an array in its file.
fn address(variable: &Dataset) -> Option<u64> {
    let mut info = std::mem::MaybeUninit::<H5O_info2_t>::zeroed();
    // SAFETY: the array is open, and libhdf5 fills in what it is given; all zeros are a valid value of it too. A token of a file on disk begins
    // with the address, little-endian.
    sync(|| unsafe {
        if H5Oget_info3(variable.id(), info.as_mut_ptr(), H5O_INFO_BASIC) < 0 {
            return None;
        }
        let token = std::ptr::addr_of!((*info.as_ptr()).token).cast::<[u8; ADDRESS]>();
        Some(u64::from_le_bytes(token.read_unaligned()))
    })
}

/// Refuses an array that claims more values than its bytes can hold, before memory is reserved for them.
fn require_possible(variable: &Dataset) -> Result<(), Failure> {
    let size = variable.dtype().map_or(size_of::<f64>(), |kind| kind.size()) as u64;
    let claimed = (variable.size() as u64).saturating_mul(size);
    let most = variable.storage_size().saturating_mul(GREATEST_DEFLATION).max(SMALL);
    if claimed > most {
        return Err(format!(
            "claims {claimed} bytes, more than the {} that are stored can hold",
            variable.storage_size()
        ));
    }
    let chunk =
        variable.chunk().map_or(0, |chunk| chunk.iter().fold(size, |bytes, &count| bytes.saturating_mul(count as u64)));
    match chunk > most {
        true => Err(format!(
            "claims chunks of {chunk} bytes, more than the {} that are stored can hold",
            variable.storage_size()
        )),
        false => Ok(()),
    }
}

fn fixed_texts(variable: &Dataset) -> Result<Vec<String>, Failure> {
    use hdf5_metno::types::FixedAscii;

    const LONGEST: usize = 256;
    let size = variable.dtype().map_or(0, |kind| kind.size());
    if size > LONGEST {
        return Err(format!("texts of {size} bytes; {LONGEST} are read at most"));
    }
    let texts = match variable.dtype().and_then(|kind| kind.to_descriptor()) {
        Ok(TypeDescriptor::FixedUnicode(_)) => {
            let texts =
                variable.read_raw::<hdf5_metno::types::FixedUnicode<LONGEST>>().map_err(|error| error.to_string())?;
            texts.iter().map(|text| str::from_utf8(text.as_bytes()).map(str::to_owned)).collect::<Result<Vec<_>, _>>()
        }
        _ => {
            let texts = variable.read_raw::<FixedAscii<LONGEST>>().map_err(|error| error.to_string())?;
            texts.iter().map(|text| str::from_utf8(text.as_bytes()).map(str::to_owned)).collect()
        }
    };
    texts.map_err(|error| error.to_string())
}
