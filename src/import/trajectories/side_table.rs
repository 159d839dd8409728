//! The side table: what is known of each environment, and the parameters computed from it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::dataset::Parent;
use crate::digest::sha256_of_file;
use crate::expressions::Formula;
use crate::import::rows::unmet::UnmetValues;
use crate::import::settings::{Settings, SideTable};
use crate::import::tables::cell::{CellError, Notation};
use crate::import::tables::csv::Syntax;
use crate::import::tables::files::SourceFile;
use crate::import::tables::source::{Row, Source};
use crate::problems::{Kind, Problem, Problems, listing, shown, suggestion};
use crate::progress::Interrupt;

/// The parameters of the environments, as far as the side table has them.
pub(crate) struct KnownParameters {
    /// `[d_p]` of each environment, in the order of the settings; `None` where unknown.
    pub parameters: BTreeMap<String, Vec<Option<f64>>>,
    pub parent: Parent,
    /// What the user should know though nothing is wrong.
    pub warnings: Vec<Problem>,
}

/// Reads the side table; `environments` are those of the main table, `None` if that could not be read. `None` if a request to stop came, or
/// the table cannot be read.
pub(crate) fn read(
    settings: &Settings,
    side: &SideTable,
    directory: &Path,
    environments: Option<&BTreeSet<&str>>,
    interrupt: &Interrupt,
    problems: &mut Problems,
) -> Option<KnownParameters> {
    let syntax = Syntax::parse(&side.delimiter, None)?;
    let file = SourceFile::new(&side.file, directory.join(&side.file));
    let mut source = Source::open(&file, "import.side_table.file", syntax, problems)?;
    let notation = Notation::new(&side.decimal, &side.unknown);
    let formulas: Vec<Option<Formula>> =
        settings.parameters.iter().map(|parameter| Formula::parse(&parameter.expression).ok()).collect();
    let mut positions = BTreeMap::new();
    for (index, formula) in formulas.iter().enumerate() {
        for name in formula.iter().flat_map(Formula::names) {
            if !positions.contains_key(name.as_str()) {
                let key = format!("import.parameters[{index}].expression");
                positions.insert(name.as_str(), source.column(&key, name, problems));
            }
        }
    }
    let mut conditions = Vec::new();
    for (name, condition) in &side.rows {
        let column = source.column(&format!("import.side_table.rows.{name}"), name, problems);
        conditions.extend(column.map(|column| (column, condition)));
    }
    let mut unmet = UnmetValues::new(&side.rows);
    let key = source.column("import.side_table.key", &side.key, problems)?;
    let (header, path) = (source.header.clone(), file.path.clone());

    let mut lines = BTreeMap::new();
    let mut keys = BTreeSet::new();
    let mut parameters = BTreeMap::new();
    let finished = source.rows(interrupt, problems, |row, problems| {
        unmet.see(row, conditions.iter().map(|condition| condition.0), &notation);
        if !conditions.iter().all(|(column, condition)| notation.meets(condition, row.cell(*column))) {
            return;
        }
        let name = row.cell(key).text();
        let environment = side.rename.get(name.as_ref()).map_or(name.as_ref(), String::as_str).to_owned();
        keys.insert(name.to_string());
        let at = |problem: Problem| problem.file(&path).line(row.line).column(key, &header[key]);
        if name.is_empty() {
            problems.push(at(Problem::new(Kind::InvalidId, "an empty cell", "an id", "fill it in or remove the row")));
        } else if let Some(first) = lines.insert(environment.clone(), (row.line, name.to_string())) {
            let found = format!("environment {} a second time, after line {}", shown(&environment), first.0);
            let remedy = "remove one of the two rows, choose one by `rows`, or correct `import.side_table.rename`";
            problems.push(at(Problem::new(Kind::DuplicateKey, found, "one row an environment", remedy)));
        }
        let cells = Cells { notation: &notation, path: &path, header: &header, row, positions: &positions };
        parameters.insert(environment, cells.parameters(&formulas, problems));
    });

    if !finished {
        return None;
    }
    problems.extend(mistaken_renames(side, &source, &keys, environments));
    let mut warnings =
        environments.map_or_else(Vec::new, |environments| unmatched_warnings(&source, environments, &lines));
    warnings.extend(unmet.warnings("import.side_table.rows", &side.rows));
    let parent = file.parent(sha256_of_file(&file.path), problems)?;
    Some(KnownParameters { parameters, parent, warnings })
}

/// The problems with renamed keys that the side table does not have, and new names that are no environments of the table.
fn mistaken_renames(
    side: &SideTable,
    source: &Source,
    keys: &BTreeSet<String>,
    environments: Option<&BTreeSet<&str>>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, environment) in &side.rename {
        let at = |problem: Problem| problem.setting(format!("import.side_table.rename.{name}"));
        if !keys.contains(name) {
            let problem = Problem::new(
                Kind::UnknownKey,
                format!("no row {} in {}", shown(name), side.file),
                "a key of the side table",
                suggestion(name, keys.iter().map(String::as_str)),
            );
            problems.push(at(problem).file(&source.path));
        }
        if let Some(known) = environments.filter(|known| !known.contains(environment.as_str())) {
            let found = format!("no environment {}", shown(environment));
            let remedy = suggestion(environment, known.iter().copied());
            problems.push(at(Problem::new(Kind::UnknownEnvironment, found, "an environment of the table", remedy)));
        }
    }
    problems
}

/// Warns of rows without an environment, and of environments without a row.
fn unmatched_warnings(
    source: &Source,
    environments: &BTreeSet<&str>,
    lines: &BTreeMap<String, (u64, String)>,
) -> Vec<Problem> {
    let without_row: Vec<&str> =
        environments.iter().copied().filter(|environment| !lines.contains_key(*environment)).collect();
    let unused = lines.iter().filter(|(environment, _)| !environments.contains(environment.as_str()));
    let mut warnings: Vec<Problem> = unused
        .map(|(environment, (line, name))| {
            let candidates =
                if without_row.is_empty() { environments.iter().copied().collect() } else { without_row.clone() };
            let found = format!("row {}, which is no environment of the table", shown(name));
            let remedy = format!(
                "the row is ignored; if it should not be, map it under `import.side_table.rename` ({})",
                suggestion(environment, candidates)
            );
            let problem = Problem::new(Kind::UnusedRow, found, "the id of an environment", remedy);
            problem.file(&source.path).line(*line)
        })
        .collect();
    warnings.sort_by_key(|warning| warning.place.line());
    if !without_row.is_empty() {
        let found = format!("no row of {}", listing(&without_row));
        let remedy = "their parameters are unknown; if they should not be, map a row under `import.side_table.rename`";
        let problem = Problem::new(Kind::UnknownParameters, found, "a row an environment", remedy);
        warnings.push(problem.file(&source.path));
    }
    warnings
}

/// The cells of one row.
struct Cells<'a> {
    notation: &'a Notation,
    path: &'a Path,
    header: &'a [String],
    row: &'a Row<'a>,
    /// Columns by the names that formulas use.
    positions: &'a BTreeMap<&'a str, Option<usize>>,
}

impl Cells<'_> {
    /// The values of the parameters; `None` where a cell is marked as unknown, or has a problem.
    fn parameters(&self, formulas: &[Option<Formula>], problems: &mut Problems) -> Vec<Option<f64>> {
        let mut values = BTreeMap::new();
        for (&name, &position) in self.positions {
            if let Some(position) = position {
                values.insert(name, self.value(position, problems));
            }
        }
        formulas
            .iter()
            .map(|formula| {
                let formula = formula.as_ref()?;
                let inputs = formula.names().iter().map(|name| values.get(name.as_str()).copied().flatten());
                let value = formula.value(&inputs.collect::<Option<Vec<f64>>>()?);
                if !value.is_finite() {
                    let remedy = "correct the row or the expression, or mark the cell as unknown";
                    let found = format!("a parameter of value {value}");
                    let problem = Problem::new(Kind::ParameterValue, found, "a finite number", remedy);
                    problems.push(problem.file(self.path).line(self.row.line));
                }
                Some(value)
            })
            .collect()
    }

    /// The number in a column; `None` if it is marked as unknown, or has a problem.
    fn value(&self, column: usize, problems: &mut Problems) -> Option<f64> {
        let cell = self.row.cell(column);
        match self.notation.value(cell) {
            Ok(value) => Some(value).filter(|value| !value.is_nan()),
            Err(flaw) => {
                let mut problem = flaw.problem(cell);
                if let CellError::Missing | CellError::Censored | CellError::Text = flaw {
                    problem.remedy = "if it is unknown, add its spelling to `import.side_table.unknown`".to_owned();
                }
                problems.push(problem.file(self.path).line(self.row.line).column(column, &self.header[column]));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &str = "dataset = 'd'\ndirectory = '.'\ntime_unit = 's'\ntable = { file = 'f', time = 't' }\nchannels = []\n\
                            splits = {}\nside_table = { file = 'side.csv', key = 'id' }";

    #[test]
    fn a_request_to_stop_is_seen() {
        let settings: Settings = toml::from_str(SETTINGS).unwrap();
        let side = settings.side_table.as_ref().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let rows: String = (0..40_000).map(|row| format!("{row}\n")).collect();
        std::fs::write(directory.path().join("side.csv"), format!("id\n{rows}")).unwrap();
        let known = |interrupt: &Interrupt| {
            let mut problems = Problems::default();
            let known = read(&settings, side, directory.path(), None, interrupt, &mut problems);
            assert!(problems.is_empty());
            known.map(|known| known.parameters.len())
        };
        let interrupt = Interrupt::new();
        assert_eq!(known(&interrupt), Some(40_000));
        interrupt.request(2);
        assert_eq!(known(&interrupt), None);
    }
}
