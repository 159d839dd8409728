//! From a pipeline file to its plan.

use std::path::Path;

use super::check::read::{missing_stages, read};
use super::name::pipeline_name;
use super::plan::{Locations, Plan};
use crate::problems::Problem;

impl Plan {
    /// Reads `file`, applies the `--set` arguments, and resolves it.
    ///
    /// # Errors
    /// Every problem, in order of place.
    pub fn load(file: &Path, arguments: &[String], locations: &Locations) -> Result<Self, Vec<Problem>> {
        let read = read(file, arguments)?;
        if !read.problems.is_empty() {
            return Err(read.problems);
        }
        let without_dataset = missing_stages(&read.document);
        Plan::resolve(pipeline_name(file), read.document, read.settings, locations).ok_or(without_dataset)
    }
}
