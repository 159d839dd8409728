//! Values in conditions on rows that no row has: mostly misspelt ones.

use std::collections::BTreeMap;

use crate::import::settings::forms::Condition;
use crate::import::tables::cell::Notation;
use crate::import::tables::source::Row;
use crate::problems::{Kind, Problem, shown};

/// For each condition, its values and whether a row has had them.
pub(crate) struct UnmetValues(Vec<Vec<(Condition, bool)>>);

impl UnmetValues {
    pub(crate) fn new(conditions: &BTreeMap<String, Condition>) -> Self {
        let alone = |value: &String| (Condition::Is(vec![value.clone()]), false);
        UnmetValues(conditions.values().map(|condition| condition.values().iter().map(alone).collect()).collect())
    }

    /// Checks the cells of a row against the values; `columns` are those of the conditions, in order.
    pub(crate) fn see(&mut self, row: &Row<'_>, columns: impl Iterator<Item = usize>, notation: &Notation) {
        for (values, column) in self.0.iter_mut().zip(columns) {
            for (value, is_met) in values.iter_mut().filter(|value| !value.1) {
                *is_met = notation.meets(value, row.cell(column));
            }
        }
    }

    /// A warning per value that no row has; `key` is the setting of the conditions.
    pub(crate) fn warnings(&self, key: &str, conditions: &BTreeMap<String, Condition>) -> Vec<Problem> {
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
