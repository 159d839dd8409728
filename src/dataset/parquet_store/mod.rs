//! The Parquet copy: one row a trajectory, list columns, zstd.
//!
//! | column | type |
//! |---|---|
//! | `environment`, `trajectory` | string |
//! | each parameter | double, null where unknown |
//! | `time`, each channel, each input | list of double, one a sample |
//! | each channel on a grid | list of one field a sample; a field is a list of its rows, and so on: `[T][n_1]..[n_k]` |
//!
//! A missing cell is null. The columns of a file without any promise that there are none.
//!
//! Nested lists rather than lists of fixed size: Parquet itself has no other, and every reader opens them.
//!
//! Field metadata hold `unit`, `description` and `role`, of an input `between` as well; the file's key-value metadata hold `paramill.format` and
//! `paramill.split`.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema};

use super::Manifest;
use super::layout::{ENVIRONMENT, TIME, TRAJECTORY};
use crate::schema::{Input, Quantity};

mod caught;
mod claims;
mod long;
mod pages;
mod read;
mod write;

pub(crate) use caught::caught;
pub(super) use long::write_long;
pub(crate) use pages::Pages;
pub(super) use read::stream;
pub(super) use write::write;

const FORMAT_KEY: &str = "paramill.format";
const SPLIT_KEY: &str = "paramill.split";

/// The columns of a dataset's Parquet files; `missing` says whether cells of the channels may be null.
fn schema(manifest: &Manifest, missing: bool) -> Schema {
    let mut fields = vec![
        Field::new(ENVIRONMENT, DataType::Utf8, false).with_metadata([("role", "environment id")]),
        Field::new(TRAJECTORY, DataType::Utf8, false).with_metadata([("role", "trajectory id")]),
    ];
    fields
        .extend(manifest.parameters.iter().map(|parameter| described(parameter, DataType::Float64, true, "parameter")));
    let list = DataType::List(element());
    let time = Quantity::new(TIME, &manifest.time_unit, "Times of the samples");
    fields.push(described(&time, list.clone(), false, "time"));
    let axes = manifest.state_shape().space.len();
    let fields_of_samples = DataType::List(nested(axes, missing));
    fields.extend(
        manifest.channels.iter().map(|channel| described(channel, fields_of_samples.clone(), false, "channel")),
    );
    fields.extend(manifest.inputs.iter().map(|Input { quantity, between }| {
        let mut field = described(quantity, list.clone(), false, "input");
        field.metadata_mut().insert("between".to_owned(), between.name().to_owned());
        field
    }));
    Schema::new(Fields::from(fields))
}

fn element() -> Arc<Field> {
    nested(0, false)
}

/// The element of a list: a double, null where it is `missing`, or a list of such elements of one axis less.
fn nested(axes: usize, missing: bool) -> Arc<Field> {
    let kind = if axes == 0 { DataType::Float64 } else { DataType::List(nested(axes - 1, missing)) };
    Arc::new(Field::new("element", kind, missing && axes == 0))
}

fn described(quantity: &Quantity, kind: DataType, nullable: bool, role: &str) -> Field {
    Field::new(&quantity.name, kind, nullable).with_metadata([
        ("description", quantity.description.as_str()),
        ("role", role),
        ("unit", quantity.unit.as_str()),
    ])
}
