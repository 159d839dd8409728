//! Compares the units in a file's header, and in the channel names of a long table, with those of the settings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::import::settings::Channel;
use crate::import::tables::source::Source;
use crate::problems::{Kind, Problem, Problems, shown};
use crate::units::{Conversion, Unit, split_header};

/// Finds the conversions of a file's columns, and reports units that contradict the settings.
pub(crate) struct HeaderUnits<'a> {
    pub source: &'a Source,
    pub warnings: &'a mut Vec<Problem>,
    /// What was converted, for the report of the import.
    pub conversions: &'a mut ConvertedColumns,
    pub problems: &'a mut Problems,
}

/// A name and the unit in brackets behind it, in the header of a column or in its cells.
struct NameWithUnit<'a> {
    column: usize,
    name: &'a str,
    unit: Option<&'a str>,
    /// What the text is, and where it stands, for messages.
    what: &'static str,
    place: String,
}

impl<'a> HeaderUnits<'a> {
    /// The conversion of a column's values to the unit `wanted`. `stated` is the column's unit according to the settings; `key` is the setting
    /// to name in problems.
    pub(crate) fn conversion(&mut self, column: usize, key: &str, wanted: &str, stated: Option<&str>) -> Conversion {
        let (name, unit) = split_header(&self.source.header[column]);
        let (what, place) = match (unit, self.source.stated_unit(column)) {
            (Some(own), Some(other)) => {
                self.require_same(column, key, (other, "that the file states"), (own, "as in its name"));
                ("header", "in the header")
            }
            (None, Some(_)) => ("attribute", "as the file states it"),
            (_, None) => ("header", "in the header"),
        };
        let unit = self.source.unit(column);
        self.compare(&NameWithUnit { column, name, unit, what, place: place.to_owned() }, key, wanted, stated)
    }

    /// The conversion of a channel of a long table, whose unit may stand in its name (column `names`) or in the header of `values`.
    pub(crate) fn long_channel_conversion(
        &mut self,
        names: usize,
        values: usize,
        key: &str,
        channel: &Channel,
    ) -> Conversion {
        let stated = channel.column_unit.as_deref();
        let (name, unit @ Some(own)) = split_header(&channel.column) else {
            return self.conversion(values, key, &channel.unit, stated);
        };
        let place = format!("in the name {}", shown(&channel.column));
        if let Some(header) = self.source.unit(values) {
            self.require_same(values, key, (header, "in the header"), (own, &format!("as {place}")));
        }
        self.compare(&NameWithUnit { column: names, name, unit, what: "name", place }, key, &channel.unit, stated)
    }

    /// Reports two different units of one column; each comes with where it stands.
    fn require_same(&mut self, column: usize, key: &str, (other, there): (&str, &str), (own, place): (&str, &str)) {
        if let (Some(a), Some(b)) = (Unit::parse(own), Unit::parse(other))
            && a.to(b) != Some(Conversion::NONE)
        {
            let found = format!("the unit {} {there}", shown(other));
            let expected = format!("{} {place}", shown(own));
            let problem = Problem::new(Kind::Unit, found, expected, "correct the one that is wrong").setting(key);
            self.problems.push(self.source.at_header(column, problem));
        }
    }

    /// The conversion from the stated unit, else the named one, to `wanted`.
    fn compare(&mut self, named: &NameWithUnit<'_>, key: &str, wanted: &str, stated: Option<&str>) -> Conversion {
        let Some(from) = stated.or(named.unit) else { return Conversion::NONE };
        if let (Some(stated), Some(header)) = (stated, named.unit) {
            self.compare_stated(named, key, stated, header);
        }
        if from.trim() == wanted.trim() {
            return Conversion::NONE;
        }
        let (Some(parsed), Some(target)) = (Unit::parse(from), Unit::parse(wanted)) else {
            let found = format!("the unit {}, which cannot be compared with {}", shown(from), shown(wanted));
            let setting = if key == "import.time_unit" { "time_column_unit" } else { "column_unit" };
            let remedy = format!(
                "correct the misspelt unit, or set `{setting} = {}` if the values need no conversion",
                shown(wanted)
            );
            let problem = Problem::new(Kind::Unit, found, "a known unit", remedy).setting(key);
            self.problems.push(self.source.at_header(named.column, problem));
            return Conversion::NONE;
        };
        let Some(conversion) = parsed.to(target) else {
            let expected = format!("one that can be converted into {}", shown(wanted));
            let remedy = format!("correct the unit under `{key}`, or name another column");
            let problem = Problem::new(Kind::Unit, format!("the unit {}", shown(from)), expected, remedy);
            self.problems.push(self.source.at_header(named.column, problem));
            return Conversion::NONE;
        };
        if (conversion.apply(0.0), conversion.apply(1.0)) != (0.0, 1.0) {
            let units = (named.name.to_owned(), from.trim().to_owned(), wanted.trim().to_owned());
            self.conversions.entry(units).or_default().insert(self.source.path.clone());
        }
        conversion
    }

    /// Reports a stated unit that contradicts the one in the header, and warns of a header whose unit is unknown.
    fn compare_stated(&mut self, named: &NameWithUnit<'_>, key: &str, stated: &str, header: &str) {
        match (Unit::parse(stated), Unit::parse(header)) {
            (Some(a), Some(b)) if a.to(b) != Some(Conversion::NONE) => {
                let found = format!("the unit {} {}", shown(header), named.place);
                let expected = format!("{} as in {key}_unit or {key}.column_unit", shown(stated));
                let remedy = format!("remove that setting, or correct the {}", named.what);
                let problem = Problem::new(Kind::Unit, found, expected, remedy);
                self.problems.push(self.source.at_header(named.column, problem));
            }
            (_, None) if stated.trim() != header.trim() => {
                let found = format!("the unit {}, which is not known", shown(header));
                let remedy = format!("values are read as {}, as the settings say", shown(stated));
                let note = Problem::new(Kind::Unit, found, "a known unit", remedy).setting(key);
                if !self.warnings.iter().any(|known| known.key == note.key && known.found == note.found) {
                    self.warnings.push(self.source.at_header(named.column, note));
                }
            }
            _ => {}
        }
    }
}

/// Files in which a column was converted, by `(column, unit in the file, unit of the dataset)`.
pub(crate) type ConvertedColumns = BTreeMap<(String, String, String), BTreeSet<PathBuf>>;
