//! The Arrow schema of a split.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema};

use crate::dataset::layout::{ENVIRONMENT, TIME, TRAJECTORY};
use crate::dataset::manifest::Manifest;
use crate::schema::{Input, Quantity};

pub(crate) const FORMAT_KEY: &str = "paramill.format";

pub(crate) const SPLIT_KEY: &str = "paramill.split";

/// The columns of a dataset's Parquet files; `missing` says whether cells of the channels may be null.
pub(crate) fn schema(manifest: &Manifest, missing: bool) -> Schema {
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

pub(crate) fn element() -> Arc<Field> {
    nested(0, false)
}

/// The element of a list: a double, null where it is `missing`, or a list of such elements of one axis less.
pub(crate) fn nested(axes: usize, missing: bool) -> Arc<Field> {
    let kind = if axes == 0 { DataType::Float64 } else { DataType::List(nested(axes - 1, missing)) };
    Arc::new(Field::new("element", kind, missing && axes == 0))
}

pub(crate) fn described(quantity: &Quantity, kind: DataType, nullable: bool, role: &str) -> Field {
    Field::new(&quantity.name, kind, nullable).with_metadata([
        ("description", quantity.description.as_str()),
        ("role", role),
        ("unit", quantity.unit.as_str()),
    ])
}
