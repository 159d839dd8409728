//! Units in the headers of a file against those of the settings.

use super::counts::Conversions;
use super::problem::{Kind, Problem, Problems, shown};
use super::source::Source;
use super::unit::{Conversion, Unit, split_header};

/// Compares the units of a file's header with those of the settings.
pub(super) struct Units<'a> {
    pub source: &'a Source,
    pub warnings: &'a mut Vec<Problem>,
    pub conversions: &'a mut Conversions,
    pub problems: &'a mut Problems,
}

impl Units<'_> {
    /// How values of a column become values of the unit `wanted`; `stated` is the column's unit as the settings say it.
    pub fn conversion(&mut self, column: usize, key: &str, wanted: &str, stated: Option<&str>) -> Conversion {
        let header = self.source.unit(column);
        let same = |a: &str, b: &str| a.trim() == b.trim();
        let conversion = |from: &str| Unit::parse(from)?.to(Unit::parse(wanted)?);
        let Some(from) = stated.or(header) else { return Conversion::NONE };
        if let (Some(stated), Some(header)) = (stated, header)
            && let (Some(a), Some(b)) = (Unit::parse(stated), Unit::parse(header))
            && a.to(b) != Some(Conversion::NONE)
        {
            let found = format!("the unit {} in the header", shown(header));
            let expected = format!("{} as in {key}_unit or {key}.column_unit", shown(stated));
            let problem = Problem::new(Kind::Unit, found, expected, "remove that setting, or correct the header");
            self.problems.push(self.source.at_header(column, problem));
        }
        if let (Some(stated), Some(header)) = (stated, header)
            && Unit::parse(header).is_none()
            && !same(stated, header)
        {
            let found = format!("the unit {}, which is not known", shown(header));
            let remedy = format!("values are taken in {}, as the settings say", shown(stated));
            let note = Problem::new(Kind::Unit, found, "a known unit", remedy).setting(key);
            if !self.warnings.iter().any(|known| known.setting == note.setting && known.found == note.found) {
                self.warnings.push(self.source.at_header(column, note));
            }
        }
        match (Unit::parse(from), Unit::parse(wanted)) {
            _ if same(from, wanted) => Conversion::NONE,
            (Some(_), Some(_)) => conversion(from)
                .inspect(|conversion| {
                    if (conversion.apply(0.0), conversion.apply(1.0)) != (0.0, 1.0) {
                        let column = split_header(&self.source.header[column]).0;
                        let units = (column.to_owned(), from.trim().to_owned(), wanted.trim().to_owned());
                        self.conversions.entry(units).or_default().insert(self.source.path.clone());
                    }
                })
                .unwrap_or_else(|| {
                    let expected = format!("one that can be converted into {}", shown(wanted));
                    let remedy = format!("correct the unit under `{key}`, or name another column");
                    let problem = Problem::new(Kind::Unit, format!("the unit {}", shown(from)), expected, remedy);
                    self.problems.push(self.source.at_header(column, problem));
                    Conversion::NONE
                }),
            _ => {
                let found = format!("the unit {}, which cannot be compared with {}", shown(from), shown(wanted));
                let setting = if key == "import.time_unit" { "time_column_unit" } else { "column_unit" };
                let remedy = format!(
                    "correct the one that is misspelt, or say what the values are in: `{setting} = {}` if they are to be taken as they are",
                    shown(wanted)
                );
                let problem = Problem::new(Kind::Unit, found, "a known unit", remedy).setting(key);
                self.problems.push(self.source.at_header(column, problem));
                Conversion::NONE
            }
        }
    }
}
