//! Attributes of a variable, by the conventions of netCDF.
//!
//! A stored number `q` is missing if it is `_FillValue`, one of `missing_value`, or outside `valid_range` (`valid_min`, `valid_max`); else its
//! value is `scale_factor q + add_offset`, in `units` (or `unit`). Where integers are scaled and the limits are not integers, the limits apply
//! to the values. `UNIT since DATE` makes the numbers times, in UTC if `DATE` has no zone.
//!
//! Source: NetCDF Users Guide, appendix A; CF Conventions 1.11, sections 3.1, 4.4 and 8.1.

use std::path::Path;

use hdf5_metno::dataset::FillValue;
use hdf5_metno::types::{FixedAscii, FixedUnicode, FloatSize, IntSize, TypeDescriptor};
use hdf5_metno::{Attribute, Dataset, File};

use super::since::Since;
use crate::dataset::Texts;
use crate::import::tables::batch::{Column, Failure};
use crate::problems::shown;

/// Bytes of a text of fixed length at most, in an attribute or as a value.
pub(crate) const LONGEST_TEXT: usize = 256;
/// Values of an attribute at most.
const MOST_VALUES: usize = 64;

/// Default fill values of netCDF by type.
const SHORT: f64 = -32_767.0;
const INT: f64 = -2_147_483_647.0;
const INT64: f64 = -9_223_372_036_854_775_806.0;
const USHORT: f64 = 65_535.0;
const UINT: f64 = 4_294_967_295.0;
const UINT64: f64 = 18_446_744_073_709_551_614.0;
const FLOAT: f64 = 9.969_209_968_386_869e36;

/// The unit and the coding of a variable.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes {
    pub unit: Option<String>,
    pub coding: Coding,
}

/// How stored numbers encode values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Coding {
    missing: Vec<f64>,
    /// Limits of the stored numbers, or of the values.
    range: [f64; 2],
    range_is_of_values: bool,
    scale: f64,
    offset: f64,
    since: Option<Since>,
}

impl Default for Coding {
    fn default() -> Self {
        let range = [f64::NEG_INFINITY, f64::INFINITY];
        Coding { missing: Vec::new(), range, range_is_of_values: false, scale: 1.0, offset: 0.0, since: None }
    }
}

impl Coding {
    /// Whether the values are the stored numbers, missing ones aside.
    pub(super) fn is_identity(&self) -> bool {
        self.scale == 1.0 && self.offset == 0.0 && self.since.is_none()
    }

    pub(super) fn is_missing(&self, stored: f64) -> bool {
        let limited = if self.range_is_of_values { self.scaled(stored) } else { stored };
        self.missing.contains(&stored) || limited < self.range[0] || limited > self.range[1]
    }

    fn scaled(&self, stored: f64) -> f64 {
        self.scale * stored + self.offset
    }

    /// The date from which the values count, if they are times.
    pub(crate) fn since(&self) -> Option<Since> {
        self.since
    }

    /// Decodes stored numbers in place; those of times since a date keep its unit.
    pub(crate) fn decode(&self, numbers: &mut [f64]) {
        if *self != Coding::default() {
            for number in numbers {
                *number = if self.is_missing(*number) { f64::NAN } else { self.scaled(*number) };
            }
        }
    }

    /// Decodes stored numbers.
    ///
    /// # Errors
    /// If one is a time outside the representable range.
    pub(super) fn column(&self, mut numbers: Vec<f64>) -> Result<Column, Failure> {
        self.decode(&mut numbers);
        match &self.since {
            Some(since) => {
                Ok(Column::Instants(numbers.into_iter().map(|number| since.instant(number)).collect::<Result<_, _>>()?))
            }
            None => Ok(Column::Numbers(numbers)),
        }
    }
}

/// Reads the attributes of one variable.
struct Reader<'a> {
    path: &'a Path,
    variable: &'a Dataset,
    kind: &'a TypeDescriptor,
}

/// Reads the attributes of a variable of numbers.
///
/// # Errors
/// What the variable is, in words, if an attribute of it cannot be read.
pub(crate) fn attributes(path: &Path, variable: &Dataset, kind: &TypeDescriptor) -> Result<Attributes, String> {
    let reader = Reader { path, variable, kind };
    reader.refuse_unsigned()?;
    let unit = reader
        .text("units")?
        .or(reader.text("unit")?)
        .map(|unit| unit.trim().to_owned())
        .filter(|unit| !unit.is_empty());
    let calendar = reader.text("calendar")?;
    let since = unit.as_deref().map(|unit| Since::parse(unit, calendar.as_deref())).transpose()?.flatten();
    let (fill, mut missing) = (reader.numbers("_FillValue")?, reader.numbers("missing_value")?.unwrap_or_default());
    match fill {
        Some(fill) => missing.extend(fill),
        None => missing.extend(reader.default_fill()),
    }
    let [scale, offset] = [reader.number("scale_factor")?, reader.number("add_offset")?];
    if let Some(scale) = scale.filter(|scale| !scale.is_finite() || *scale == 0.0) {
        return Err(format!("with a `scale_factor` of {scale}"));
    }
    let is_scaled = scale.is_some() || offset.is_some();
    let (range, range_is_of_values) = reader.range(is_scaled)?;
    let (scale, offset) = (scale.unwrap_or(1.0), offset.unwrap_or(0.0));
    // Times since a date have no unit of their own.
    let unit = unit.filter(|_| since.is_none());
    Ok(Attributes { unit, coding: Coding { missing, range, range_is_of_values, scale, offset, since } })
}

impl Reader<'_> {
    /// Refuses an attribute `_Unsigned` that contradicts the sign of the stored integers.
    fn refuse_unsigned(&self) -> Result<(), String> {
        let is_unsigned = match self.kind {
            TypeDescriptor::Integer(_) => Some("true"),
            TypeDescriptor::Unsigned(_) => Some("false"),
            _ => None,
        };
        if let Some(other) =
            self.text("_Unsigned")?.filter(|it| is_unsigned.is_some_and(|is| it.eq_ignore_ascii_case(is)))
        {
            return Err(format!("with `_Unsigned` = {}", shown(&other)));
        }
        Ok(())
    }

    fn attribute(&self, name: &str) -> Option<Attribute> {
        self.variable.attr(name).ok().filter(|attribute| attribute.size() > 0)
    }

    /// The limits, and whether they apply to the values instead of the stored numbers.
    fn range(&self, is_scaled: bool) -> Result<([f64; 2], bool), String> {
        let mut range = Coding::default().range;
        match self.numbers("valid_range")?.as_deref() {
            None => {}
            Some(&[least, most]) => range = [least, most],
            Some(other) => return Err(format!("with a `valid_range` of {} numbers", other.len())),
        }
        range[0] = range[0].max(self.number("valid_min")?.unwrap_or(f64::NEG_INFINITY));
        range[1] = range[1].min(self.number("valid_max")?.unwrap_or(f64::INFINITY));
        let is_integer =
            |kind: &TypeDescriptor| matches!(kind, TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_));
        let is_not_integer = |name: &&str| {
            let kind = self.attribute(name).and_then(|it| it.dtype().ok()?.to_descriptor().ok());
            kind.is_some_and(|kind| !is_integer(&kind))
        };
        let is_of_values =
            is_scaled && is_integer(self.kind) && ["valid_range", "valid_min", "valid_max"].iter().any(is_not_integer);
        Ok((range, is_of_values))
    }

    /// The fill value of the variable, if it is the default of netCDF for its type.
    fn default_fill(&self) -> Option<f64> {
        let default = match self.kind {
            TypeDescriptor::Integer(IntSize::U2) => SHORT,
            TypeDescriptor::Integer(IntSize::U4) => INT,
            TypeDescriptor::Integer(IntSize::U8) => INT64,
            TypeDescriptor::Unsigned(IntSize::U2) => USHORT,
            TypeDescriptor::Unsigned(IntSize::U4) => UINT,
            TypeDescriptor::Unsigned(IntSize::U8) => UINT64,
            TypeDescriptor::Float(_) => FLOAT,
            _ => return None,
        };
        let properties = self.variable.dcpl().ok().filter(|it| it.fill_value_defined() == FillValue::UserDefined)?;
        properties.fill_value_as::<f64>().filter(|fill| *fill == default)
    }

    fn number(&self, name: &str) -> Result<Option<f64>, String> {
        match self.numbers(name)?.as_deref() {
            None => Ok(None),
            Some(&[number]) => Ok(Some(number)),
            Some(several) => Err(format!("with a `{name}` of {} numbers", several.len())),
        }
    }

    /// The numbers of an attribute, rounded to single precision if the variable is.
    fn numbers(&self, name: &str) -> Result<Option<Vec<f64>>, String> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        let unread = || format!("with a `{name}` that is not a number");
        let kind = attribute.dtype().and_then(|kind| kind.to_descriptor()).map_err(|_| unread())?;
        let mut numbers = match kind {
            _ if attribute.size() > MOST_VALUES => {
                return Err(format!("with a `{name}` of {} values", attribute.size()));
            }
            TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_) | TypeDescriptor::Float(_) => {
                attribute.read_raw::<f64>().map_err(|_| unread())?
            }
            _ => vec![self.text(name)?.and_then(|text| text.trim().parse().ok()).ok_or_else(unread)?],
        };
        let is_single =
            *self.kind == TypeDescriptor::Float(FloatSize::U4) && !["scale_factor", "add_offset"].contains(&name);
        if is_single {
            numbers.iter_mut().for_each(|number| *number = f64::from(*number as f32));
        }
        Ok(Some(numbers))
    }

    fn text(&self, name: &str) -> Result<Option<String>, String> {
        let Some(attribute) = self.attribute(name) else { return Ok(None) };
        let file = self.variable.file().map_err(|error| error.to_string())?;
        let texts = texts_of(self.path, &file, &attribute);
        match texts.map_err(|found| format!("with a `{name}` that cannot be read: {found}"))?.as_deref() {
            Some([text]) => Ok(Some(text.clone())),
            // Our exports for PDEBench have the unit of each channel of an array.
            Some([_, _, ..]) if name == "units" => Ok(None),
            _ => Err(format!("with a `{name}` that is not a text")),
        }
    }
}

/// The texts of an attribute of an object in `file`, which is at `path`; `None` if it holds none, or none that can be read.
///
/// # Errors
/// If their storage is damaged.
pub(crate) fn texts_of(path: &Path, file: &File, attribute: &Attribute) -> Result<Option<Vec<String>>, String> {
    let kind = attribute.dtype().and_then(|kind| kind.to_descriptor());
    if attribute.size() > MOST_VALUES {
        return Ok(None);
    }
    let owned = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
    Ok(match kind {
        Ok(TypeDescriptor::FixedAscii(length) | TypeDescriptor::FixedUnicode(length)) if length > LONGEST_TEXT => None,
        Ok(TypeDescriptor::FixedAscii(_)) => {
            let texts = attribute.read_raw::<FixedAscii<LONGEST_TEXT>>().ok();
            texts.and_then(|texts| texts.iter().map(|text| owned(text.as_bytes())).collect())
        }
        Ok(TypeDescriptor::FixedUnicode(_)) => {
            let texts = attribute.read_raw::<FixedUnicode<LONGEST_TEXT>>().ok();
            texts.and_then(|texts| texts.iter().map(|text| owned(text.as_bytes())).collect())
        }
        Ok(TypeDescriptor::VarLenAscii | TypeDescriptor::VarLenUnicode) => {
            let read = Texts::of_attribute(path, file, attribute)?.read(0..attribute.size())?;
            let text = |place: Option<usize>| place.map_or(String::new(), |place| read.texts[place].clone());
            Some(read.places.iter().copied().map(text).collect())
        }
        _ => None,
    })
}

/// Whether a variable of netCDF is a dimension without coordinates.
pub(crate) fn is_bare_dimension(path: &Path, variable: &Dataset) -> bool {
    const NAME: &str = "This is a netCDF dimension but not a netCDF variable";
    let name = Reader { path, variable, kind: &TypeDescriptor::Boolean }.text("NAME");
    name.is_ok_and(|name| name.is_some_and(|name| name.starts_with(NAME)))
}

/// Whether a variable has the coordinates of a dimension.
pub(crate) fn is_coordinate(path: &Path, variable: &Dataset) -> bool {
    let class = Reader { path, variable, kind: &TypeDescriptor::Boolean }.text("CLASS");
    class.is_ok_and(|class| class.is_some_and(|class| class == "DIMENSION_SCALE"))
}

/// What a variable of MATLAB is, in words, if it does not hold plain numbers.
pub(crate) fn matlab_class(path: &Path, variable: &Dataset) -> Option<String> {
    let reader = Reader { path, variable, kind: &TypeDescriptor::Boolean };
    let class = reader.text("MATLAB_class").ok()??;
    let holds_others = reader.attribute("MATLAB_object_decode").is_some() || ["char", "cell"].contains(&class.as_str());
    match holds_others {
        true => Some(format!("of the MATLAB class {class}")),
        false => reader.attribute("MATLAB_empty").map(|_| "that is empty in MATLAB".to_owned()),
    }
}
