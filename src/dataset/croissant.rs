//! `croissant.json`: the Croissant 1.1 description, from which tools load a dataset.
//!
//! Each Parquet file is a file object with its SHA-256; each split is a record set with a field a column. A split in several files is read
//! through a file set that holds them. Lists have their shape: `-1` samples, then the points of the grid.
//!
//! Source: MLCommons, Croissant Format Specification 1.1.

use serde_json::{Value, json};

use super::layout::{ENVIRONMENT, TIME, TRAJECTORY};
use super::manifest::Manifest;
use super::publication::Publication;
use super::store::Store;
use crate::schema::{Between, Input, Split};

/// The JSON-LD context of the specification.
const CONTEXT: &str = include_str!("croissant_context.json");

/// The description of a dataset whose splits are complete.
pub(crate) fn text(manifest: &Manifest) -> String {
    let context: Value = serde_json::from_str(CONTEXT).expect("the context is JSON");
    let splits = || manifest.splits.keys().copied();
    let mut distribution: Vec<Value> = splits().flat_map(|split| file_objects(manifest, split)).collect();
    distribution.extend(splits().filter(|split| manifest.shards(*split) > 1).map(|split| file_set(manifest, split)));
    let record_sets: Vec<Value> = splits().map(|split| record_set(manifest, split)).collect();
    let mut document = json!({
        "@context": context,
        "@type": "sc:Dataset",
        "name": manifest.name,
        "description": manifest.description,
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "license": manifest.license,
        "version": manifest.publication.version.as_deref().unwrap_or("1.0.0"),
        "distribution": distribution,
        "recordSet": record_sets,
    });
    let Publication { creators, citation, published, .. } = &manifest.publication;
    if !creators.is_empty() {
        let people = creators.iter().map(|name| json!({ "@type": "sc:Person", "name": name }));
        document["creator"] = people.collect();
    }
    let texts =
        [("citeAs", citation.clone()), ("url", manifest.publication.url()), ("datePublished", published.clone())];
    for (key, text) in texts {
        if let Some(text) = text {
            document[key] = text.into();
        }
    }
    if manifest.description.is_empty() {
        document["description"] = manifest.name.as_str().into();
    }
    format!("{document:#}\n")
}

fn file_objects(manifest: &Manifest, split: Split) -> Vec<Value> {
    let files = manifest.data_files(split, Store::Parquet);
    let objects = files.iter().filter_map(|path| manifest.file(path)).map(|entry| {
        json!({
            "@type": "cr:FileObject",
            "@id": entry.path,
            "name": entry.path,
            "contentUrl": entry.path,
            "contentSize": format!("{} B", entry.bytes),
            "encodingFormat": "application/x-parquet",
            "sha256": entry.sha256,
        })
    });
    objects.collect()
}

fn file_set_id(split: Split) -> String {
    format!("{split}-files")
}

fn file_set(manifest: &Manifest, split: Split) -> Value {
    let files = manifest.data_files(split, Store::Parquet);
    let held: Vec<Value> = files.iter().map(|path| json!({ "@id": path })).collect();
    json!({
        "@type": "cr:FileSet",
        "@id": file_set_id(split),
        "name": file_set_id(split),
        "containedIn": held,
        "encodingFormat": "application/x-parquet",
        "includes": "*.parquet",
    })
}

/// Ids must have no white space: it becomes `_`, and the codes of such a name's characters are appended, so that ids stay distinct.
fn field_id(split: Split, column: &str) -> String {
    if !column.contains(char::is_whitespace) {
        return format!("{split}/{column}");
    }
    let codes = column.chars().filter(|c| c.is_whitespace() || *c == '_').map(|c| format!("-{:x}", u32::from(c)));
    format!("{split}/{}{}", column.replace(char::is_whitespace, "_"), codes.collect::<String>())
}

fn record_set(manifest: &Manifest, split: Split) -> Value {
    let source = match &manifest.data_files(split, Store::Parquet)[..] {
        [file] => json!({ "fileObject": { "@id": file } }),
        _ => json!({ "fileSet": { "@id": file_set_id(split) } }),
    };
    let field = |column: &str, kind: &str, description: &str, shape: Option<&str>| {
        let mut source = source.clone();
        source["extract"] = json!({ "column": column });
        let mut field = json!({
            "@type": "cr:Field",
            "@id": field_id(split, column),
            "name": field_id(split, column),
            "description": description,
            "dataType": kind,
            "source": source,
        });
        if let Some(shape) = shape {
            field["isArray"] = true.into();
            field["arrayShape"] = shape.into();
        }
        field
    };
    let described = |description: &str, unit: &str| format!("{description} (unit: {unit})").trim_start().to_owned();
    let mut fields = vec![
        field(ENVIRONMENT, "sc:Text", "Id of the environment", None),
        field(TRAJECTORY, "sc:Text", "Id of the trajectory within its environment", None),
    ];
    for parameter in &manifest.parameters {
        let description = described(&parameter.description, &parameter.unit);
        fields.push(field(&parameter.name, "sc:Float", &description, None));
    }
    fields.push(field(TIME, "sc:Float", &described("Times of the samples", &manifest.time_unit), Some("-1")));
    let space = manifest.state_shape().space.into_iter().map(|count| format!(",{count}"));
    let shape: String = std::iter::once("-1".to_owned()).chain(space).collect();
    for channel in &manifest.channels {
        let description = described(&channel.description, &channel.unit);
        fields.push(field(&channel.name, "sc:Float", &description, Some(&shape)));
    }
    for Input { quantity, between } in &manifest.inputs {
        let description = match between {
            Between::Hold => format!("{} (input, held between samples)", quantity.description),
            Between::Linear => format!("{} (input, on straight lines between samples)", quantity.description),
        };
        fields.push(field(&quantity.name, "sc:Float", &described(description.trim(), &quantity.unit), Some("-1")));
    }
    json!({
        "@type": "cr:RecordSet",
        "@id": split.name(),
        "name": split.name(),
        "description": "One record a trajectory",
        "field": fields,
    })
}
