//! Values that conditions on rows name and that no row has: mistaken ones, mostly.

use std::collections::BTreeMap;

use crate::import::settings::forms::Condition;
use crate::import::tables::cell::Writing;
use crate::import::tables::source::Row;
use crate::problems::shown;
use crate::problems::{Kind, Problem};

/// The values of conditions, and whether a row has had each.
pub(crate) struct Unmet(Vec<Vec<(Condition, bool)>>);

impl Unmet {
    pub fn new(conditions: &BTreeMap<String, Condition>) -> Self {
        let alone = |value: &String| (Condition::Is(vec![value.clone()]), false);
        Unmet(conditions.values().map(|condition| condition.values().iter().map(alone).collect()).collect())
    }

    /// Takes note of the cells of a row; `columns` are those of the conditions.
    pub fn see(&mut self, row: &Row<'_>, columns: impl Iterator<Item = usize>, writing: &Writing) {
        for (values, column) in self.0.iter_mut().zip(columns) {
            for (value, is_met) in values.iter_mut().filter(|value| !value.1) {
                *is_met = writing.meets(value, row.cell(column));
            }
        }
    }

    /// Warns of each value that no row has had; `key` is the setting of the conditions.
    pub fn warnings(&self, key: &str, conditions: &BTreeMap<String, Condition>) -> Vec<Problem> {
        let mut warnings = Vec::new();
        for ((name, condition), values) in conditions.iter().zip(&self.0) {
            for (value, _) in condition.values().iter().zip(values).filter(|(_, (_, is_met))| !is_met) {
                let found = format!("{}, which no row has in column {}", shown(value), shown(name));
                let remedy = "correct it, or leave it out of the condition";
                let problem = Problem::new(Kind::UnusedRow, found, "values that rows have", remedy);
                warnings.push(problem.setting(format!("{key}.{name}")));
            }
        }
        warnings
    }
}
