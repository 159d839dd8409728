//! The page of the settings, from the JSON Schema of pipeline files.
//!
//! Every table of settings is a heading of the page by its path, `[import.table]`, with a row a key. A type that stands at several paths is
//! written once, where it comes first; the others lead there.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::markdown::{WRITTEN_BY, anchor, code, one_line, table};
use crate::pipeline::published;

const INTRODUCTION: &str = "\
The keys of a pipeline file, which is TOML. Each section of the top level is a stage; a file with `[generate]` has no `[import]`. What is left
out has the default; `paramill show PIPELINE` prints a pipeline with every default filled in, and `schemas/pipeline.json` holds this page as
JSON Schema, for editors. A file with the equations of a system (`paramill check my-system.toml`) has the keys of `[generate.system]` at its top
level.
";

pub(crate) fn page() -> String {
    let schema = published().into_iter().find(|it| it.name == "pipeline").map(|it| it.schema()).unwrap_or_default();
    let definitions = schema["$defs"].as_object().cloned().unwrap_or_default();
    let mut page = Page { definitions: &definitions, written: BTreeMap::new(), text: String::new() };
    page.text = format!("{WRITTEN_BY}# Settings of a pipeline\n\n{INTRODUCTION}\n");
    page.object("", &schema);
    format!("{}\n", page.text.trim_end())
}

struct Page<'a> {
    definitions: &'a Map<String, Value>,
    /// The heading of each type that has one.
    written: BTreeMap<String, String>,
    text: String,
}

/// A table of settings that a row of another one leads to.
struct Below<'a> {
    path: String,
    heading: String,
    node: &'a Value,
}

/// What the rows of a table leave to be said below it.
#[derive(Default)]
struct Rest<'a> {
    choices: String,
    below: Vec<Below<'a>>,
}

impl<'a> Page<'a> {
    /// The rows of an object at `path`, then what they lead to.
    fn object(&mut self, path: &str, node: &'a Value) {
        let required: Vec<&str> = node["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut rest = Rest::default();
        let mut rows = Vec::new();
        for (key, property) in node["properties"].as_object().into_iter().flatten() {
            if property.get("const").is_some() {
                continue;
            }
            let here = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let (_, resolved) = self.resolve(property);
            let value = self.value(&here, property, false, &mut rest);
            self.choices(key, resolved, &mut rest);
            let default = match property.get("default").or_else(|| resolved.get("default")) {
                _ if required.contains(&key.as_str()) => "required".to_owned(),
                None | Some(Value::Null) => String::new(),
                Some(Value::Object(default)) if default.is_empty() => String::new(),
                Some(Value::Object(_)) => "see there".to_owned(),
                Some(default) => code(default),
            };
            let said = property.get("description").or_else(|| resolved.get("description"));
            rows.push(vec![code(key), value, default, plain(said)]);
        }
        self.text.push_str(&table(&["key", "value", "default", "meaning"], &rows));
        self.text.push_str(&rest.choices);
        for below in rest.below {
            self.section(&below);
        }
    }

    fn section(&mut self, it: &Below<'a>) {
        let depth = 2 + it.path.matches('.').count().min(2);
        self.text.push_str(&format!("{} `{}`\n\n", "#".repeat(depth), it.heading));
        if let Some(said) = it.node["description"].as_str() {
            self.text.push_str(&format!("{}\n\n", without_links(said)));
        }
        let kinds = alternatives(it.node);
        for kind in kinds {
            let name = kind.pointer("/properties/kind/const").and_then(Value::as_str).unwrap_or_default();
            self.text.push_str(&format!("`kind = \"{name}\"`: {}\n\n", plain(kind.get("description"))));
            self.object(&it.path, kind);
        }
        if kinds.is_empty() {
            self.object(&it.path, it.node);
        }
    }

    /// What a value may be, in a few words; tables of settings in it come `below`.
    fn value(&mut self, path: &str, node: &'a Value, in_list: bool, rest: &mut Rest<'a>) -> String {
        let (definition, node) = self.resolve(node);
        if has_keys(node) {
            return self.link(path, definition, node, in_list, rest);
        }
        let choices = alternatives(node);
        if !choices.is_empty() {
            let mut values: Vec<String> = Vec::new();
            for choice in choices.iter().filter(|choice| choice["type"] != "null") {
                let value = self.value(path, choice, in_list, rest);
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            return any_of(&values);
        }
        if let Some(only) = node.get("const") {
            return code(only);
        }
        if let Some(names) = node["enum"].as_array() {
            return any_of(&names.iter().map(code).collect::<Vec<_>>());
        }
        let mut types = match &node["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            one => Vec::from_iter(one.as_str()),
        };
        types.retain(|it| *it != "null");
        let words = types.into_iter().map(|it| match it {
            "array" => {
                let inner = self.value(path, &node["items"], true, rest);
                match (node["minItems"].as_u64(), node["maxItems"].as_u64()) {
                    (Some(least), Some(most)) if least == most => format!("list of {least}: {inner}"),
                    _ => format!("list: {inner}"),
                }
            }
            "object" => {
                let inner = self.value(&format!("{path}.NAME"), &node["additionalProperties"], false, rest);
                format!("by name: {inner}")
            }
            "string" => "text".to_owned(),
            "boolean" => "`true` or `false`".to_owned(),
            "integer" => format!("whole number{}", range(node)),
            _ => format!("number{}", range(node)),
        });
        any_of(&words.collect::<Vec<_>>())
    }

    /// A link to a table of settings, which is written below if it stands nowhere yet.
    fn link(
        &mut self,
        path: &str,
        definition: Option<String>,
        node: &'a Value,
        in_list: bool,
        rest: &mut Rest<'a>,
    ) -> String {
        let heading = if in_list { format!("[[{path}]]") } else { format!("[{path}]") };
        if let Some(heading) = definition.as_ref().and_then(|definition| self.written.get(definition)) {
            return format!("as [`{heading}`](#{})", anchor(heading));
        }
        if let Some(definition) = &definition {
            self.written.insert(definition.clone(), heading.clone());
        }
        let link = format!("[`{heading}`](#{})", anchor(&heading));
        rest.below.push(Below { path: path.to_owned(), heading, node });
        link
    }

    /// What each choice of `key` means, where the types say it.
    fn choices(&self, key: &str, node: &Value, rest: &mut Rest<'a>) {
        let described = alternatives(node).iter().filter(|choice| !has_keys(choice)).filter_map(|choice| {
            let name = match (choice.get("const"), choice["enum"].as_array()) {
                (Some(name), _) => code(name),
                (None, Some(names)) => names.iter().map(code).collect::<Vec<_>>().join(", "),
                _ => return None,
            };
            let said = plain(choice.get("description"));
            (!said.is_empty()).then(|| format!("- {name}: {said}\n"))
        });
        let lines: String = described.collect();
        if !lines.is_empty() {
            rest.choices.push_str(&format!("`{key}`:\n\n{lines}\n"));
        }
    }

    /// The type that a node names, and its name; the node itself where it names none.
    fn resolve(&self, node: &'a Value) -> (Option<String>, &'a Value) {
        let name = node["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
        let named = name.and_then(|name| Some((name, self.definitions.get(name)?)));
        match named {
            Some((name, definition)) => (Some(name.to_owned()), definition),
            // A value that may be left out is `anyOf` a type and null.
            None => match alternatives(node) {
                [one, null] if null["type"] == "null" => self.resolve(one),
                _ => (None, node),
            },
        }
    }
}

/// Whether a node is a table with keys of its own, or one of several such by their `kind`.
fn has_keys(node: &Value) -> bool {
    node.get("properties").is_some() || alternatives(node).iter().any(|it| it.pointer("/properties/kind").is_some())
}

fn alternatives(node: &Value) -> &[Value] {
    let choices = node["oneOf"].as_array().or_else(|| node["anyOf"].as_array());
    choices.map_or(&[], Vec::as_slice)
}

/// Alternatives: `a, b or c`.
fn any_of(values: &[String]) -> String {
    match values {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The limits of a number.
fn range(node: &Value) -> String {
    let bound = |sign: &str, key: &str| node.get(key).map(|value| format!("{sign} {value}"));
    let least = bound("≥", "minimum").or_else(|| bound(">", "exclusiveMinimum"));
    let most = bound("≤", "maximum").or_else(|| bound("<", "exclusiveMaximum"));
    least.into_iter().chain(most).map(|it| format!(" {it}")).collect::<Vec<_>>().join(",")
}

/// A description on one line.
fn plain(said: Option<&Value>) -> String {
    one_line(&without_links(said.and_then(Value::as_str).unwrap_or_default()))
}

/// Links of rustdoc lead nowhere on a page.
fn without_links(text: &str) -> String {
    text.replace("[`", "`").replace("`]", "`")
}
