//! Settings that are given and that the rule has no use for: a run would be the same without them.

use serde_json::Value;

use crate::pipeline::document::{Document, segments};
use crate::problems::{Kind, Problem, one_of};
use crate::rules;
use crate::train;

/// The settings of `[train]` that a document gives and that no rule of all these heeds, each at its first place; keys begin at the root. One that
/// repeats its default is not told: files with every default filled in have it too.
pub(crate) fn unheeded(all: &[(&Document, &train::Settings)]) -> Vec<Problem> {
    let default = train::Settings::default();
    let problem = |setting: &&str| {
        if all.iter().any(|(_, train)| train.rule.heeds(setting)) {
            return None;
        }
        let (key, preset) = (format!("train.{setting}"), value(&default, setting));
        let is_given = |(document, train): &&(&Document, &train::Settings)| {
            document.is_given(&segments(&key)) && value(train, setting) != preset
        };
        let (document, train) = all.iter().find(is_given)?;
        let whose = match all.iter().all(|(_, other)| other.rule == train.rule) {
            true => format!("the rule \"{}\", which has no use for it", train.rule.name()),
            false => "rules none of which has a use for it".to_owned(),
        };
        let found = format!("{}, and {whose}", value(train, setting));
        let users: Vec<&str> =
            rules::Kind::ALL.into_iter().filter(|it| it.heeds(setting)).map(|it| it.name()).collect();
        let expected = format!("it with {} alone", one_of(&users));
        let problem = Problem::new(Kind::Setting, found, expected, "leave it out, or choose such a rule");
        Some(document.placed(problem.setting(key)))
    };
    rules::SETTINGS_OF_SOME.iter().filter_map(problem).collect()
}

fn value(train: &train::Settings, setting: &str) -> Value {
    let pointer = format!("/{}", setting.replace('.', "/"));
    serde_json::to_value(train).ok().and_then(|all| all.pointer(&pointer).cloned()).unwrap_or_default()
}
