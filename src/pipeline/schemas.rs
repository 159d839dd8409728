//! The JSON Schemas of what Paramill reads and writes, generated from the types.

use serde_json::Value;

use super::record::Record;
use super::run_record::RunRecord;
use super::settings::Settings;
use crate::report::Summary;
use crate::systems::Equations;
use crate::{checkpoint, dataset, estimate};

/// A schema by the name of its file, `schemas/NAME.json`.
pub struct Published {
    /// Name of its file without the ending.
    pub name: &'static str,
    /// One line of description.
    pub about: &'static str,
    schema: fn() -> schemars::Schema,
}

impl Published {
    /// The schema as JSON.
    pub fn schema(&self) -> Value {
        (self.schema)().to_value()
    }

    /// The schema as the text of its file.
    pub fn text(&self) -> String {
        format!("{:#}\n", self.schema())
    }
}

/// Every schema, by name.
pub fn published() -> [Published; 8] {
    [
        Published {
            name: "dataset-manifest",
            about: "manifest.json of a dataset",
            schema: || schemars::schema_for!(dataset::Manifest),
        },
        Published {
            name: "estimates-manifest",
            about: "manifest.json of a directory of estimates",
            schema: || schemars::schema_for!(estimate::Manifest),
        },
        Published {
            name: "model-manifest",
            about: "manifest.json of a model",
            schema: || schemars::schema_for!(checkpoint::Manifest),
        },
        Published { name: "pipeline", about: "a pipeline file", schema: || schemars::schema_for!(Settings) },
        Published {
            name: "run-record",
            about: "records/TIME-PROCESS.json of a workspace",
            schema: || schemars::schema_for!(RunRecord),
        },
        Published {
            name: "stage-record",
            about: "stages/NAME.json of a workspace",
            schema: || schemars::schema_for!(Record),
        },
        Published { name: "summary", about: "summary.json of a report", schema: || schemars::schema_for!(Summary) },
        Published {
            name: "system",
            about: "a file with the equations of a system",
            schema: || schemars::schema_for!(Equations),
        },
    ]
}
