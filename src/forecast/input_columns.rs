//! The columns of a table of inputs: by the name of the input, or by the name that its column has in the archive.

use crate::import::rows::header_units::{ConvertedColumns, HeaderUnits};
use crate::import::tables::source::Source;
use crate::problems::{Kind, Problem, Problems, shown};
use crate::units::{Conversion, Unit, is_same_unit, split_header};

/// The setting that problems name: the table itself.
pub(crate) const TABLE: &str = "inputs";

/// Name and unit of a column to find.
pub(crate) struct WantedColumn<'a> {
    pub name: &'a str,
    pub unit: &'a str,
    /// Its name in the archive, where there is one.
    pub archived: Option<&'a str>,
    /// Its unit in the archive, where the settings state one.
    pub stated: Option<&'a str>,
}

/// A column and how its values are converted to the unit of the dataset.
pub(crate) type FoundColumn = (usize, Conversion);

/// Finds every column; `None` if one is missing or ambiguous, which `problems` then says.
pub(crate) fn find_columns(
    wanted: &[WantedColumn<'_>],
    source: &Source,
    warnings: &mut Vec<Problem>,
    problems: &mut Problems,
) -> Option<Vec<FoundColumn>> {
    let (mut conversions, mut in_units) = (ConvertedColumns::new(), Problems::default());
    let mut units = HeaderUnits { source, warnings, conversions: &mut conversions, problems: &mut in_units };
    let mut found = Vec::with_capacity(wanted.len());
    for column in wanted {
        match column.find(source) {
            Ok((index, stated)) => found.push((index, units.conversion(index, TABLE, column.unit, stated))),
            Err(found) => problems.extend(found),
        }
    }
    // The settings of the archive belong to a dataset that is already made: only the table can be corrected.
    let in_table =
        |problem| Problem { remedy: "convert the values, and write their unit into the header".to_owned(), ..problem };
    problems.extend(in_units.into_vec().into_iter().map(in_table));
    (found.len() == wanted.len()).then_some(found)
}

impl<'a> WantedColumn<'a> {
    /// The column, and the unit of its values where the archive states it and the header does not.
    fn find(&self, source: &Source) -> Result<(usize, Option<&'a str>), Vec<Problem>> {
        let (column, is_archived) = self.column(source)?;
        let stated = self.stated_unit(source, column, is_archived).map_err(|problem| vec![*problem])?;
        Ok((column, stated))
    }

    /// The column, and whether it has the archive's name.
    fn column(&self, source: &Source) -> Result<(usize, bool), Vec<Problem>> {
        let name = self.name;
        let archived = self.archived.map(str::trim).filter(|archived| *archived != name);
        let mut missing = Problems::default();
        let by_name = source.column(TABLE, name, &mut missing);
        let by_archive = archived.and_then(|archived| {
            let bare = split_header(archived).0;
            let with_unit = source.column(TABLE, archived, &mut missing);
            with_unit.or_else(|| source.column(TABLE, bare, &mut missing).filter(|_| bare != archived))
        });
        let ambiguous = |found: String, remedy: &str| {
            let problem = Problem::new(Kind::DuplicateColumn, found, "one of them", remedy);
            Err(vec![problem.file(&source.path).setting(TABLE)])
        };
        let header = &source.header;
        let alike: Vec<String> =
            header.iter().filter(|column| split_header(column).0 == name).map(|column| shown(column)).collect();
        if alike.len() > 1 {
            let found = format!("the columns {}, each of which may be {}", alike.join(" and "), shown(name));
            return ambiguous(found, "remove or rename the others");
        }
        match (by_name, by_archive) {
            (Some(named), Some(other)) if named != other => {
                let [named, other] = [named, other].map(|column| shown(&header[column]));
                let found = format!("the columns {named} and {other}, either of which may be {}", shown(name));
                ambiguous(found, "remove or rename the other")
            }
            (Some(column), _) | (None, Some(column)) => Ok((column, by_archive.is_some())),
            (None, None) => {
                let also = archived.map_or_else(String::new, |it| format!(", or {} as in the archive", shown(it)));
                let is_uncut = matches!(header.as_slice(), [only] if only.contains([',', ';', '\t', '|']));
                let first = missing.into_vec().into_iter().take(1).map(|mut problem| {
                    problem.expected =
                        format!("{}{also}: one column of times and one for each input", problem.expected);
                    if is_uncut {
                        problem.remedy = "separate the cells as in the archive".to_owned();
                    }
                    problem
                });
                Err(first.collect())
            }
        }
    }

    /// The unit that the archive states, if it holds for this column: one of the archive's name, or one whose header has an unknown unit.
    fn stated_unit(&self, source: &Source, column: usize, is_archived: bool) -> Result<Option<&'a str>, Box<Problem>> {
        let WantedColumn { name, unit, archived, stated } = *self;
        let is_shared = archived.is_some_and(|archived| split_header(archived).0 == name);
        match (source.unit(column), stated) {
            (Some(header), stated) => Ok(stated.filter(|_| Unit::parse(header).is_none())),
            (None, stated) if is_archived => Ok(stated),
            (None, Some(stated)) if is_shared && is_same_unit(stated, unit) != Some(true) => {
                let [archived, wanted] = [stated, unit].map(shown);
                let found = format!("no unit in the header, where the archive has {archived} and the dataset {wanted}");
                let remedy = format!("write it: `{name} [{stated}]` or `{name} [{unit}]`");
                let problem = Problem::new(Kind::MissingColumn, found, "the unit of the values", remedy);
                Err(Box::new(source.at_header(column, problem)))
            }
            (None, _) => Ok(None),
        }
    }
}
