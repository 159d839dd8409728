//! From a pipeline file to its plan, or to the mapping of its archive.

use std::path::Path;

use super::check::read::{missing_stages, read, read_mapping};
use super::check::unheeded::unheeded;
use super::name::pipeline_name;
use super::plan::{Locations, Plan};
use crate::problems::{Kind, Problem};
use crate::{estimate, import};

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
        if read.settings.sweep.is_some() {
            let remedy = format!(
                "name the file of a cell, in `cells` of its workspace: `paramill status {}` lists them",
                file.display()
            );
            let problem = Problem::new(Kind::Setting, "[sweep], of many pipelines", "a single pipeline", remedy);
            return Err(vec![problem.setting("sweep").at(read.document.key_place(&["sweep".to_owned()]))]);
        }
        let without_dataset = missing_stages(&read.document);
        Plan::resolve(pipeline_name(file), read.document, read.settings, locations).ok_or(without_dataset)
    }

    /// Settings that are given and have no effect, each at its place.
    pub fn warnings(&self) -> Vec<Problem> {
        self.trains().map_or_else(Vec::new, |train| unheeded(&[(&self.document, train)]))
    }
}

/// What the files of an archive are, and how its environments are estimated.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapping {
    /// `[import]`.
    pub import: import::Settings,
    /// `[estimate]`, or its defaults.
    pub estimate: estimate::Settings,
}

impl Mapping {
    /// Reads `file`, a pipeline or no more than its `[import]` and `[estimate]`, and applies the `--set` arguments.
    ///
    /// # Errors
    /// Every problem, in order of place.
    pub fn load(file: &Path, arguments: &[String]) -> Result<Self, Vec<Problem>> {
        let read = read_mapping(file, arguments)?;
        match read.settings.import {
            Some(import) if read.problems.is_empty() => {
                Ok(Mapping { import, estimate: read.settings.estimate.unwrap_or_default() })
            }
            _ => Err(read.problems),
        }
    }
}
