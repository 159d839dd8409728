//! What the product of a stage depends on, and its digest.
//!
//! The fingerprint is SHA-256 over the canonical JSON (keys sorted, no spaces) of
//! `{stage, algorithm, settings, seed, parents}`. Equal fingerprints mean equal products, because a stage reads
//! nothing else.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::stage::Stage;
use crate::dataset;
use crate::dataset::Parent;
use crate::digest::sha256;

/// The parent of a training that starts from the version in use.
pub(crate) const MODEL_IN_USE: &str = "the model in use";

/// Everything that decides a stage's product.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ingredients {
    /// The stage that makes the product.
    pub stage: Stage,
    /// The version of the stage's algorithm; the first in records from before there were others.
    #[serde(default = "first")]
    pub algorithm: u32,
    /// The effective settings.
    pub settings: Value,
    /// Absent where the stage draws nothing.
    pub seed: Option<u64>,
    /// Inputs by content, in the order of the stages or by name.
    pub parents: Vec<Parent>,
}

impl Ingredients {
    /// The fingerprint, hex.
    pub fn fingerprint(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or(Value::Null);
        sha256(canonical(&value).to_string().as_bytes())
    }

    /// The same without the model in use, whose change alone makes nothing anew: a model that comes into use would else train the next one.
    fn lasting(&self) -> Ingredients {
        let mut lasting = self.clone();
        lasting.parents.retain(|parent| parent.name != MODEL_IN_USE);
        lasting
    }

    /// Whether what is made from `other` would be made anew from these.
    pub fn is_as(&self, other: &Ingredients) -> bool {
        self.lasting().fingerprint() == other.lasting().fingerprint()
    }

    /// How `self` differs from what the recorded product was made from, in words.
    pub fn changes_since(&self, recorded: &Ingredients) -> Vec<String> {
        let (now, recorded) = (self.lasting(), &recorded.lasting());
        now.changes(recorded)
    }

    fn changes(&self, recorded: &Ingredients) -> Vec<String> {
        let mut changes = differences(&recorded.settings, &self.settings);
        if recorded.seed != self.seed {
            changes.push(format!("seed {} -> {}", optional(recorded.seed), optional(self.seed)));
        }
        for parent in &self.parents {
            match recorded.parents.iter().find(|other| other.name == parent.name) {
                Some(other) if other.sha256 == parent.sha256 => {}
                Some(_) => changes.push(format!("{} has changed", parent.name)),
                None => changes.push(format!("{} is new", parent.name)),
            }
        }
        for gone in recorded.parents.iter().filter(|old| !self.parents.iter().any(|new| new.name == old.name)) {
            changes.push(format!("{} is gone", gone.name));
        }
        if recorded.algorithm != self.algorithm {
            changes.push(format!("algorithm {} -> {}", recorded.algorithm, self.algorithm));
        }
        changes
    }
}

fn first() -> u32 {
    1
}

/// The same value with the keys of every table sorted.
pub(crate) fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(table) => {
            let sorted: BTreeMap<_, _> = table.iter().collect();
            sorted.into_iter().map(|(key, value)| (key.clone(), canonical(value))).collect()
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        other => other.clone(),
    }
}

/// The leaves in which two settings differ, as `key: old -> new`.
pub(crate) fn differences(old: &Value, new: &Value) -> Vec<String> {
    dataset::changes(old, new).into_iter().map(|(key, old, new)| format!("{key}: {old} -> {new}")).collect()
}

fn optional(seed: Option<u64>) -> String {
    seed.map_or("(none)".to_owned(), |seed| seed.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_order_of_keys_does_not_matter_and_their_values_do() {
        let ingredients = |settings: Value| Ingredients {
            stage: Stage::Train,
            algorithm: 1,
            settings,
            seed: Some(1),
            parents: vec![],
        };
        let one = ingredients(json!({"a": 1.5, "b": {"c": 2, "d": [1]}}));
        let other_order = ingredients(json!({"b": {"d": [1], "c": 2}, "a": 1.5}));
        let other_value = ingredients(json!({"a": 1.5, "b": {"c": 3, "d": [1]}}));
        assert_eq!(one.fingerprint(), other_order.fingerprint());
        assert_ne!(one.fingerprint(), other_value.fingerprint());
        assert_eq!(other_value.changes_since(&one), ["b.c: 2 -> 3"]);
        assert_eq!(other_order.changes_since(&one), [""; 0]);
        let raised = Ingredients { algorithm: 2, ..one.clone() };
        assert_ne!(one.fingerprint(), raised.fingerprint());
        assert_eq!(raised.changes_since(&one), ["algorithm 1 -> 2"]);
        // Another model in use is another start, and no reason to train.
        let from = |name: &str| Ingredients {
            parents: vec![Parent { name: name.to_owned(), sha256: "0".to_owned() }],
            ..one.clone()
        };
        assert_ne!(from(MODEL_IN_USE).fingerprint(), one.fingerprint());
        assert!(from(MODEL_IN_USE).is_as(&one) && from(MODEL_IN_USE).changes_since(&one).is_empty());
        assert!(!from("the dataset").is_as(&one));
    }
}
