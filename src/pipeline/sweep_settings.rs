//! `[sweep]` of a pipeline: what varies between its cells.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::problems::{Problems, one_of};

/// Most cells of a sweep.
pub(crate) const MOST_CELLS: usize = 10_000;

/// `[sweep]` of a pipeline: runs it once for every combination of the values of its axes. Each such cell is a pipeline of its own: it has its file and
/// its workspace under `cells` of the sweep's workspace, stands or falls by itself, and is up to date or not as any other. `paramill run` makes all of
/// them, and puts their figures side by side, over the seeds as mean and standard deviation. Cells whose `[generate]` or `[import]` differ have
/// datasets of their own: the values that tell them apart are added to the dataset's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepSettings {
    /// The axes; the last varies fastest.
    #[schemars(length(min = 1))]
    pub over: Vec<Axis>,
    /// Figures of the evaluation that the tables show, in order; those that any cell has if empty.
    #[serde(default)]
    pub figures: Vec<String>,
    /// The axis, by its name, whose values are columns of each figure in the tables; all are rows if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub columns: Option<String>,
    /// Settings of all cells by the name of a budget: `[sweep.budgets.quick]`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub budgets: BTreeMap<String, Map<String, Value>>,
    /// The budget that holds; none if absent. Its name stands before those of the cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub budget: Option<String>,
}

/// An axis of a sweep: a key with its values, or variants, which set several keys each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Its name in tables; the last part of `key` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub name: Option<String>,
    /// The setting that varies, such as `train.context_dimension` or `seed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub key: Option<String>,
    /// Its values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Value>,
    /// Or its values at equal distances.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AxisRange")]
    pub range: Option<AxisRange>,
    /// What is set in each cell, where one key does not say it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
}

/// Numbers at equal distances, both ends included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AxisRange {
    /// The first.
    pub from: f64,
    /// The last.
    pub to: f64,
    /// How many; from one whole number to the next if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "usize", range(min = 2, max = 10_000))]
    pub count: Option<usize>,
    /// Whether their logarithms are at equal distances.
    #[serde(default)]
    pub log: bool,
}

/// A named set of settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name in tables and directories.
    pub name: String,
    /// The settings, as they stand in a pipeline: `set.train.rule = "erm"`. A dotted key in quotes, `set."train.model" = { kind = "library" }`, replaces
    /// a table as a whole.
    #[serde(default)]
    pub set: Map<String, Value>,
}

impl AxisRange {
    /// The numbers; whole ones as integers.
    fn values(&self) -> Vec<Value> {
        let steps = self.count.map_or_else(|| (self.to - self.from).floor() as usize, |count| count - 1);
        let number = |at: usize| {
            let share = at as f64 / steps.max(1) as f64;
            match (self.count, self.log) {
                (None, _) => self.from + at as f64,
                (Some(_), true) => (self.from.ln() + share * (self.to.ln() - self.from.ln())).exp(),
                (Some(_), false) => self.from + share * (self.to - self.from),
            }
        };
        // Twelve digits: the ends of a logarithmic range come back as they were written.
        let rounded = |value: f64| format!("{value:.11e}").parse().unwrap_or(value);
        (0..=steps).map(|at| rounded(number(at))).map(shortest).collect()
    }

    fn problem(&self) -> Option<(String, &'static str)> {
        let found = format!("{} to {}", shortest(self.from), shortest(self.to));
        if self.from >= self.to {
            return Some((found, "an end above the beginning"));
        }
        if !(self.to - self.from).is_finite() {
            return Some((found, "ends whose distance is a number"));
        }
        if self.log && self.from <= 0.0 {
            return Some((found, "positive ends of a range of logarithms"));
        }
        if self.log && self.count.is_none() {
            return Some(("`log` without `count`".to_owned(), "how many numbers the range has"));
        }
        let whole = |it: f64| it.fract() == 0.0 && it.abs() < 1e9;
        if self.count.is_none() && !(whole(self.from) && whole(self.to)) {
            return Some((found, "whole numbers below 1e9, or `count` beside them"));
        }
        let count = self.count.filter(|count| (2..=MOST_CELLS).contains(count))?;
        let is_again = self.values().windows(2).any(|pair| pair[0] == pair[1]);
        is_again.then(|| (format!("{count} numbers from {found}"), "numbers that twelve digits tell apart"))
    }
}

/// A number as people write it.
fn shortest(value: f64) -> Value {
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => Value::from(value as i64),
        false => Value::from(value),
    }
}

/// What is set, and the dotted paths in the file at which its key and its value are said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting {
    pub key: String,
    pub value: Value,
    pub key_at: String,
    pub value_at: String,
}

/// One place on an axis: its label, and what is set there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AxisValue {
    pub label: String,
    pub set: Vec<Setting>,
}

impl Axis {
    /// Its name in tables.
    pub(crate) fn title(&self) -> &str {
        let of_key = || self.key.as_deref().and_then(|key| key.rsplit('.').next());
        self.name.as_deref().or_else(of_key).unwrap_or("variant")
    }

    /// Whether its values are seeds alone, over which the tables have mean and standard deviation.
    pub(crate) fn is_of_seeds(&self) -> bool {
        self.key.as_deref() == Some("seed")
    }

    /// Its places; `at` is the path of the axis in the file.
    pub(crate) fn places(&self, at: &str) -> Vec<AxisValue> {
        if let Some(key) = &self.key {
            let said = |index: usize| match self.range.is_some() {
                true => format!("{at}.range"),
                false => format!("{at}.values.{index}"),
            };
            let values = self.range.as_ref().map_or_else(|| self.values.clone(), AxisRange::values);
            let place = |(index, value): (usize, Value)| {
                let (label, key_at) = (label(&value), format!("{at}.key"));
                AxisValue { label, set: vec![Setting { key: key.clone(), value, key_at, value_at: said(index) }] }
            };
            return values.into_iter().enumerate().map(place).collect();
        }
        let place = |(index, variant): (usize, &Variant)| AxisValue {
            label: variant.name.clone(),
            set: leaves(&variant.set, "", &format!("{at}.variants.{index}.set")),
        };
        self.variants.iter().enumerate().map(place).collect()
    }

    /// Number of its places.
    fn len(&self) -> usize {
        match &self.range {
            // One that is wrong is told of by itself.
            Some(range) if range.problem().is_some() => 1,
            Some(range) => range.count.unwrap_or_else(|| (range.to - range.from) as usize + 1),
            None => self.values.len() + self.variants.len(),
        }
    }

    fn add_problems(&self, at: &str, problems: &mut Problems) {
        let range = self.range.is_some();
        let ways = [!self.values.is_empty(), range, !self.variants.is_empty()].into_iter().filter(|it| *it).count();
        if ways != 1 {
            let found = if ways == 0 { "an axis without values" } else { "an axis with values of two kinds" };
            let expected = "one of `values`, `range` and `variants`";
            problems.add(at, found, expected, "write `key = \"seed\"` and `values = [0, 1, 2]`, for instance");
        } else if self.key.is_some() != self.variants.is_empty() {
            let (found, remedy) = match &self.key {
                Some(_) => ("`key` beside `variants`, each of which says what it sets", "leave `key` out"),
                None => ("values of no key", "say which setting varies: `key = \"train.learning_rate\"`"),
            };
            problems.add(at, found, "a key with values, or variants", remedy);
        }
        if let Some((found, expected)) = self.range.as_ref().and_then(AxisRange::problem) {
            problems.add(format!("{at}.range"), found, expected, "correct the range");
        }
    }
}

impl SweepSettings {
    /// What is wrong with the values; keys begin at the root.
    pub(crate) fn validate(&self) -> Problems {
        let mut problems = Problems::default();
        let mut seen: Vec<&str> = Vec::new();
        for (index, axis) in self.over.iter().enumerate() {
            let at = format!("sweep.over.{index}");
            axis.add_problems(&at, &mut problems);
            let title = axis.title();
            if seen.contains(&title) {
                let found = format!("a second axis with the name \"{title}\"");
                problems.add(at, found, "names that differ", "give it another `name`");
            }
            seen.push(title);
        }
        if let Some(name) = self.columns.as_deref().filter(|name| !seen.contains(name)) {
            problems.add("sweep.columns", format!("the axis \"{name}\""), one_of(&seen), "name an axis");
        }
        let of_seeds = self.over.iter().find(|axis| axis.is_of_seeds()).map(Axis::title);
        if let Some(name) = self.columns.as_deref().filter(|name| Some(*name) == of_seeds) {
            let remedy = "leave it out: the tables have their mean and standard deviation";
            problems.add("sweep.columns", format!("\"{name}\", the axis of the seeds"), "another axis", remedy);
        }
        if let Some(name) = self.budget.as_ref().filter(|name| !self.budgets.contains_key(*name)) {
            let names: Vec<&str> = self.budgets.keys().map(String::as_str).collect();
            let remedy = match names.is_empty() {
                true => format!("add [sweep.budgets.{name}]"),
                false => format!("take one of {}", names.join(", ")),
            };
            problems.add("sweep.budget", format!("the budget \"{name}\""), "one of [sweep.budgets]", remedy);
        }
        let count = self.over.iter().map(Axis::len).try_fold(1usize, usize::checked_mul);
        if let Some(count) = Some(count.unwrap_or(usize::MAX)).filter(|count| *count > MOST_CELLS) {
            let remedy = "take fewer values on an axis";
            problems.add("sweep.over", format!("{count} cells"), format!("at most {MOST_CELLS}"), remedy);
        }
        problems
    }
}

/// The values of a table and the tables in it. A table under a key that is dotted itself, in quotes, replaces what stands there as a whole.
pub(crate) fn leaves(table: &Map<String, Value>, inside: &str, at: &str) -> Vec<Setting> {
    let leaf = |(key, value): (&String, &Value)| {
        let (path, said) = (format!("{inside}{key}"), format!("{at}.{key}"));
        match value {
            Value::Object(inner) if !inner.is_empty() && !key.contains('.') => {
                leaves(inner, &format!("{path}."), &said)
            }
            leaf => vec![Setting { key: path, value: leaf.clone(), key_at: said.clone(), value_at: said }],
        }
    };
    table.iter().flat_map(leaf).collect()
}

/// A value in a table or in the name of a cell.
fn label(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(value) if number.is_f64() && value != 0.0 && !(1e-3..1e5).contains(&value.abs()) => {
                format!("{value:e}")
            }
            _ => number.to_string(),
        },
        Value::Array(items) => items.iter().map(label).collect::<Vec<_>>().join("-"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ranges_hold_both_ends_and_whole_numbers_stay_whole() {
        let values = |range: Value| serde_json::from_value::<AxisRange>(range).unwrap().values();
        assert_eq!(values(json!({"from": 1, "to": 4})), [json!(1), json!(2), json!(3), json!(4)]);
        assert_eq!(values(json!({"from": 0, "to": 1, "count": 3})), [json!(0), json!(0.5), json!(1)]);
        assert_eq!(
            values(json!({"from": 1e-4, "to": 1e-2, "count": 3, "log": true})),
            [json!(1e-4), json!(1e-3), json!(1e-2)]
        );
    }

    #[test]
    fn what_a_variant_sets_is_found_in_tables_and_in_dotted_keys() {
        let set = json!({"train": {"rule": "erm", "model": {"width": 8}}, "report.title": "a", "train.model": {"kind": "library"}});
        let found = leaves(set.as_object().unwrap(), "", "set");
        let keys: Vec<_> = found.iter().map(|it| (it.key.as_str(), it.value_at.as_str())).collect();
        assert_eq!(
            keys,
            [
                ("train.rule", "set.train.rule"),
                ("train.model.width", "set.train.model.width"),
                ("report.title", "set.report.title"),
                ("train.model", "set.train.model")
            ]
        );
    }
}
