//! Tables of predictions: their rows by what they are of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::import::tables::cell::{CellError, Notation};
use crate::import::tables::csv::Syntax;
use crate::import::tables::files::SourceFile;
use crate::import::tables::source::Source;
use crate::problems::{Kind, Problem, Problems, shown};
use crate::progress::Interrupt;
use crate::units::is_same_unit;

/// Endings of the files that are read.
const ENDINGS: [&str; 2] = ["csv", "parquet"];

/// The names that the file of the table `name` may have.
pub(super) fn table_names(name: &str) -> Vec<String> {
    ENDINGS.iter().map(|ending| format!("{name}.{ending}")).collect()
}

/// The path of the table `name` in a directory, where it is there; two of one name are a problem.
pub(super) fn table_at(directory: &Path, name: &str, problems: &mut Problems) -> Option<PathBuf> {
    let paths: Vec<PathBuf> = table_names(name).iter().map(|name| directory.join(name)).collect();
    let found: Vec<&PathBuf> = paths.iter().filter(|path| path.exists()).collect();
    if let [first, second] = found[..] {
        let twice = format!("{} beside {}", second.display(), first.display());
        problems.push(Problem::new(Kind::Setting, twice, "one of the two", "remove the other").file(first));
        return None;
    }
    found.first().map(|path| (*path).clone())
}

/// The names of a directory that are not in `names`, in order.
///
/// # Errors
/// If it cannot be read.
pub(super) fn others(directory: &Path, names: &[String]) -> std::io::Result<Vec<String>> {
    let mut others = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        others.extend((!names.contains(&name)).then_some(name));
    }
    others.sort();
    Ok(others)
}

/// Rows of numbers `[V]` by their ids, each with its line; with the time first where rows are samples.
pub(super) struct Table {
    pub path: PathBuf,
    /// Ascending by time where rows are samples.
    pub rows: BTreeMap<Vec<String>, Vec<Numbers>>,
    /// Whether something stands in it twice.
    pub repeats: bool,
}

/// The numbers of a row; NaN where a cell is empty.
pub(super) struct Numbers {
    pub line: u64,
    pub values: Vec<f64>,
}

impl Table {
    /// Reads the columns `ids`, then `numbers`, each with its unit, of the table at `path`; none, and why, if a column is missing or of another unit,
    /// or the file cannot be read.
    pub(super) fn read(path: &Path, ids: &[&str], numbers: &[(&str, &str)], problems: &mut Problems) -> Option<Self> {
        let syntax = Syntax::parse(",", None)?;
        let name = path.display().to_string();
        let file = SourceFile::new(name, path);
        let mut source = Source::open(&file, "", syntax, problems)?;
        let mut column = |(name, unit): (&str, Option<&str>)| {
            let place = source.column("", name, problems)?;
            let stated =
                source.unit(place).filter(|stated| unit.is_some_and(|unit| is_same_unit(stated, unit) == Some(false)));
            let Some(stated) = stated else { return Some(place) };
            let found = format!("the unit {}", shown(stated));
            let expected = format!("{}, as in the dataset", shown(unit.unwrap_or_default()));
            let problem = Problem::new(Kind::Unit, found, expected, "write the numbers in the unit of the dataset");
            problems.push(problem.file(path).column(place, &source.header[place]));
            None
        };
        let wanted =
            ids.iter().map(|name| (*name, None)).chain(numbers.iter().map(|(name, unit)| (*name, Some(*unit))));
        let places: Vec<Option<usize>> = wanted.map(&mut column).collect();
        let places: Vec<usize> = places.into_iter().collect::<Option<_>>()?;
        let (of_ids, of_numbers) = places.split_at(ids.len());
        let (header, notation) = (source.header.clone(), Notation::new(".", &[]));
        let mut rows: BTreeMap<Vec<String>, Vec<Numbers>> = BTreeMap::new();
        source.rows(&Interrupt::new(), problems, |row, problems| {
            let key = of_ids.iter().map(|&place| row.cell(place).text().into_owned()).collect();
            let value = |&place: &usize| {
                let cell = row.cell(place);
                notation.number(cell).unwrap_or_else(|flaw| {
                    // An empty cell is told of where it is asked for.
                    if flaw != CellError::Missing {
                        let remedy = "write a number with a decimal point";
                        let problem = Problem::new(Kind::NotANumber, cell.shown(), "a finite number", remedy);
                        problems.push(problem.file(path).line(row.line).column(place, &header[place]));
                    }
                    f64::NAN
                })
            };
            let values = of_numbers.iter().map(value).collect();
            rows.entry(key).or_default().push(Numbers { line: row.line, values });
        });
        let (has_times, mut repeats) = (ids.len() > 1, false);
        for (key, of_key) in &mut rows {
            of_key.sort_by(|a, b| if has_times { a.values[0].total_cmp(&b.values[0]) } else { a.line.cmp(&b.line) });
            let is_again = |pair: &&[Numbers]| !has_times || pair[0].values[0] == pair[1].values[0];
            if let Some([first, again]) = of_key.windows(2).find(is_again) {
                let at = if has_times { format!(" at time {}", first.values[0]) } else { String::new() };
                let found = format!("{}{at} a second time, after line {}", in_words(key), first.line);
                let problem = Problem::new(Kind::DuplicateTime, found, "each once", "remove one of the two rows");
                problems.push(problem.file(path).line(again.line));
                repeats = true;
            }
        }
        Some(Table { path: path.to_owned(), rows, repeats })
    }

    /// Adds a problem for every id of the table that is not `known`. Returns whether all are.
    pub(super) fn check_ids(&self, known: &BTreeSet<Vec<String>>, problems: &mut Problems) -> bool {
        let before = problems.len();
        for (key, rows) in self.rows.iter().filter(|(key, _)| !known.contains(*key)) {
            let problem =
                Problem::new(Kind::UnknownEnvironment, in_words(key), "one of the dataset", "correct the ids");
            problems.push(problem.file(&self.path).line(rows.first().map_or(1, |row| row.line)));
        }
        problems.len() == before
    }
}

/// An environment, or a trajectory of one.
pub(super) fn in_words<S: AsRef<str>>(key: &[S]) -> String {
    let of = |place: usize| key.get(place).map(|id| shown(id.as_ref()));
    match (of(0), of(1)) {
        (Some(environment), Some(trajectory)) => format!("environment {environment}, trajectory {trajectory}"),
        (environment, _) => format!("environment {}", environment.unwrap_or_default()),
    }
}
