//! Columns of a PEtab measurement table that are not read. Source: PEtab data format specification 1.0, "Measurement table".

use std::collections::BTreeSet;

use crate::import::settings::Settings;
use crate::import::tables::files::SourceFile;
use crate::problems::{Kind, Problem, shown};

/// The column by which a measurement table is recognised.
const OBSERVABLE: &str = "observableId";

pub(crate) const PREEQUILIBRATION: &str = "preequilibrationConditionId";

/// Columns of parameters of single rows.
const OVERRIDES: [&str; 2] = ["observableParameters", "noiseParameters"];

/// Positions of the columns that are not read and that no condition of the settings selects by.
#[derive(Default)]
pub(crate) struct UnreadColumns {
    /// A steady state before the first measurement: rows that fill it in are refused.
    pub preequilibration: Option<usize>,
    /// Parameters of single rows: warned of.
    pub overrides: Vec<usize>,
}

impl UnreadColumns {
    pub(crate) fn find(settings: &Settings, header: &[String]) -> Self {
        let find = |name: &str| {
            let column = header.iter().position(|column| column == name);
            column.filter(|_| !settings.table.rows.contains_key(name))
        };
        if !header.iter().any(|column| column == OBSERVABLE) {
            return UnreadColumns::default();
        }
        let overrides = OVERRIDES.iter().filter_map(|name| find(name)).collect();
        UnreadColumns { preequilibration: find(PREEQUILIBRATION), overrides }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.preequilibration.is_none() && self.overrides.is_empty()
    }
}

/// A warning per column of parameters of single rows that some row fills in.
pub(crate) fn warnings(filled: &BTreeSet<String>, files: &[SourceFile]) -> impl Iterator<Item = Problem> {
    filled.iter().map(|name| {
        let found = format!("parameters of rows in column {}", shown(name));
        let remedy = "measurements are used as they are, without these scales, offsets and noise: if the scale of an observable differs \
                      between rows, make each a channel of its own";
        Problem::new(Kind::Petab, found, "none", remedy).file(&files[0].path)
    })
}
