//! From the units of a file to those of the dataset.

use crate::problems::{Kind, Problem, shown};
use crate::units::{Conversion, Unit};

/// The conversion of numbers in the unit `stated` by the settings, else that `of_file`, to `wanted`; none where nothing says one. `key` is the
/// setting to name in problems, beside which `stated_key` says the unit in the file.
///
/// # Errors
/// The problem, without its file.
pub(crate) fn conversion(
    of_file: Option<&str>,
    stated: Option<&str>,
    wanted: &str,
    key: &str,
    stated_key: &str,
) -> Result<Conversion, Problem> {
    let Some(from) = stated.or(of_file) else { return Ok(Conversion::NONE) };
    let parsed = |unit: &str| Unit::parse(unit);
    if let (Some(stated), Some(of_file)) = (stated, of_file)
        && let (Some(a), Some(b)) = (parsed(stated), parsed(of_file))
        && a.to(b) != Some(Conversion::NONE)
    {
        let found = format!("the unit {} in the file", shown(of_file));
        let expected = format!("{}, as `{stated_key}` says", shown(stated));
        return Err(Problem::new(Kind::Unit, found, expected, "remove that setting, or correct the file").setting(key));
    }
    if from.trim() == wanted.trim() {
        return Ok(Conversion::NONE);
    }
    match (parsed(from), parsed(wanted)) {
        (Some(from_unit), Some(target)) => from_unit.to(target).ok_or_else(|| {
            let expected = format!("one that can be converted into {}", shown(wanted));
            let remedy = format!("correct the unit under `{key}`, or name another array");
            Problem::new(Kind::Unit, format!("the unit {}", shown(from)), expected, remedy).setting(key)
        }),
        _ => {
            let found = format!("the unit {}, which cannot be compared with {}", shown(from), shown(wanted));
            let remedy = format!(
                "correct the misspelt unit, or set `{stated_key} = {}` if the values need no conversion",
                shown(wanted)
            );
            Err(Problem::new(Kind::Unit, found, "a known unit", remedy).setting(key))
        }
    }
}

/// Whether it leaves every number as it is.
pub(crate) fn is_none(conversion: Conversion) -> bool {
    conversion == Conversion::NONE
}
