//! Settings that may be written in more than one form.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// No name, one name, or several: in TOML a string or a list of strings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Names(pub Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrSeveral;

        impl<'de> Visitor<'de> for OneOrSeveral {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name, or a list of names")
            }

            fn visit_str<E>(self, name: &str) -> Result<Names, E> {
                Ok(Names(vec![name.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = items.next_element()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }

        deserializer.deserialize_any(OneOrSeveral)
    }
}

impl JsonSchema for Names {
    fn schema_name() -> Cow<'static, str> {
        "Names".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A name, or a list of names.",
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }]
        })
    }
}

/// What `{NAME}` in a pattern stands for, beside the ids of environments and trajectories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Braces {
    /// For itself.
    Text,
    /// For a value of that name.
    Value,
}

/// A condition on a cell: in TOML a value, a list of values, or `{ not = .. }` with either.
///
/// A number matches however the cell writes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Condition {
    /// The cell is one of these.
    Is(Vec<String>),
    /// The cell is none of these.
    Not {
        /// The values.
        not: Vec<String>,
    },
}

impl Condition {
    /// The values that the condition names.
    pub(crate) fn values(&self) -> &[String] {
        match self {
            Condition::Is(values) | Condition::Not { not: values } => values,
        }
    }
}

/// A string or a number, as text.
struct Value(String);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Values::deserialize(deserializer)?.0 {
            mut one if one.len() == 1 => Ok(Value(one.remove(0))),
            _ => Err(serde::de::Error::custom("found a list in a list; expected a string or a number")),
        }
    }
}

/// A string, a number, or a list of these.
struct Values(Vec<String>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Condition::deserialize(deserializer)? {
            Condition::Is(values) => Ok(Values(values)),
            Condition::Not { .. } => {
                Err(serde::de::Error::custom("found a table; expected a value or a list of values"))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Condition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form;

        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Not {
            not: Values,
        }

        impl<'de> Visitor<'de> for Form {
            type Value = Condition;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value, a list of values, or { not = .. }")
            }

            fn visit_str<E>(self, value: &str) -> Result<Condition, E> {
                Ok(Condition::Is(vec![value.to_owned()]))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Condition, E> {
                Ok(Condition::Is(vec![value.to_string()]))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Condition, E> {
                Ok(Condition::Is(vec![value.to_string()]))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Condition, E> {
                Ok(Condition::Is(vec![value.to_string()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Condition, A::Error> {
                let mut values = Vec::new();
                while let Some(Value(value)) = items.next_element()? {
                    values.push(value);
                }
                Ok(Condition::Is(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Condition, A::Error> {
                let Not { not: Values(not) } = Not::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Condition::Not { not })
            }
        }

        deserializer.deserialize_any(Form)
    }
}

impl JsonSchema for Condition {
    fn schema_name() -> Cow<'static, str> {
        "Condition".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let value = json_schema!({ "type": ["string", "number"] });
        let values = json_schema!({ "anyOf": [value, { "type": "array", "items": value }] });
        json_schema!({
            "description": "A value, a list of values, or { not = .. } with either.",
            "anyOf": [
                { "type": ["string", "number"] },
                { "type": "array", "items": value },
                { "type": "object", "properties": { "not": values }, "required": ["not"], "additionalProperties": false }
            ]
        })
    }
}
