//! What goes wrong with a report.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Evaluation, Row};
use crate::schema::{Grid, Quantity};
use crate::{atomic, schema};

/// What goes wrong with a report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{path}: {source}; check that the place is writable and has room")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{file} of the report cannot be made: {problem}")]
    Format { file: String, problem: String },
}
