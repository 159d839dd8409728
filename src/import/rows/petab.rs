//! What a PEtab table of measurements says beside measurements. Source: PEtab data format specification 1.0, "Measurement table".

use std::collections::BTreeSet;

use super::row::RowReader;
use crate::import::settings::Settings;
use crate::import::tables::cell::Cell;
use crate::import::tables::files::SourceFile;
use crate::problems::shown;
use crate::problems::{Kind, Problem, Problems};

/// Tells a table of measurements.
const OBSERVABLE: &str = "observableId";

const PREEQUILIBRATION: &str = "preequilibrationConditionId";

/// Parameters of a row's own.
const OVERRIDES: [&str; 2] = ["observableParameters", "noiseParameters"];

/// Columns of a table of measurements that are not read.
#[derive(Default)]
pub(crate) struct Unread {
    preequilibration: Option<usize>,
    overrides: Vec<usize>,
}

impl Unread {
    /// Those that no condition of the settings is about.
    pub fn find(settings: &Settings, header: &[String]) -> Self {
        let find = |name: &str| {
            let column = header.iter().position(|column| column == name);
            column.filter(|_| !settings.table.rows.contains_key(name))
        };
        if !header.iter().any(|column| column == OBSERVABLE) {
            return Unread::default();
        }
        let overrides = OVERRIDES.iter().filter_map(|name| find(name)).collect();
        Unread { preequilibration: find(PREEQUILIBRATION), overrides }
    }

    pub fn is_empty(&self) -> bool {
        self.preequilibration.is_none() && self.overrides.is_empty()
    }

    /// Whether a row cannot be taken without what is not read, which is reported; adds names of columns that it fills in to `filled`.
    pub fn refuses(&self, reader: &RowReader<'_>, filled: &mut BTreeSet<String>, problems: &mut Problems) -> bool {
        for &column in self.overrides.iter().filter(|&&column| reader.row.cell(column) != Cell::Missing) {
            if !filled.contains(&reader.header[column]) {
                filled.insert(reader.header[column].clone());
            }
        }
        let Some(column) = self.preequilibration else { return false };
        let cell = reader.row.cell(column);
        if cell == Cell::Missing {
            return false;
        }
        let found = format!("the pre-equilibration condition {}", shown(&cell.text()));
        let remedy = format!(
            "a steady state before the first measurement is not simulated: leave these rows out with `rows.{PREEQUILIBRATION} = \"\"` in \
             [import.table], or list the conditions to keep there: their trajectories then start at their first measurements"
        );
        problems.push(reader.at(column, Problem::new(Kind::Petab, found, "none", remedy)));
        true
    }
}

/// Warns of columns that rows fill in.
pub(crate) fn ignored(filled: &BTreeSet<String>, files: &[SourceFile]) -> impl Iterator<Item = Problem> {
    filled.iter().map(|name| {
        let found = format!("parameters of rows in column {}", shown(name));
        let remedy = "measurements are taken as they are, whatever scale, offset or noise these say: if the scale of an observable differs \
                      between rows, tell them apart as channels";
        Problem::new(Kind::Petab, found, "none", remedy).file(&files[0].path)
    })
}
