//! `paramill list`.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::arguments::{List, Listed};
use super::output::{print, print_json, table};
use crate::engine::EngineChoice;
use crate::pipeline::Error;
use crate::{models, rules, systems};

/// Something that a pipeline can name.
#[derive(Serialize)]
struct Item {
    name: String,
    description: String,
}

pub(crate) fn list(command: &List) -> Result<u8, Error> {
    let items = match command.what {
        Listed::Systems => systems(),
        Listed::Models => choices(&schemars::schema_for!(models::Settings).to_value()),
        Listed::Engines => engines(),
        Listed::Rules => choices(&schemars::schema_for!(rules::Kind).to_value()),
    };
    if command.json {
        print_json(&json!(items));
    } else {
        let rows: Vec<_> = items.iter().map(|item| vec![item.name.clone(), item.description.clone()]).collect();
        print(&table(&rows));
    }
    Ok(0)
}

fn systems() -> Vec<Item> {
    let item =
        |system: &Arc<systems::System>| Item { name: system.name.clone(), description: system.description.clone() };
    systems::all().iter().map(item).collect()
}

fn engines() -> Vec<Item> {
    let item = |(engine, computes): (EngineChoice, &str)| {
        let absent = if engine.is_built_in() { "" } else { "; not in this build" };
        Item { name: engine.to_string(), description: format!("{computes}{absent}") }
    };
    EngineChoice::ALL.map(item).into()
}

/// The alternatives of an enum's schema, which are described where they are defined.
fn choices(schema: &Value) -> Vec<Item> {
    let alternatives = schema.get("oneOf").and_then(Value::as_array);
    alternatives
        .into_iter()
        .flatten()
        .filter_map(|alternative| {
            let named = alternative.get("const").or_else(|| alternative.pointer("/properties/kind/const"));
            let description = alternative.get("description").and_then(Value::as_str).unwrap_or_default();
            Some(Item { name: named?.as_str()?.to_owned(), description: description.replace('\n', " ") })
        })
        .collect()
}
