//! The `system` key of a pipeline's sections.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::builtin;
use super::equations::Equations;
use super::system::System;
use crate::problems::{Problem, Problems};

/// Which system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum SystemSettings {
    /// A built-in system by its name.
    Named(String),
    /// A system by its equations.
    Equations(Box<Equations>),
}

impl SystemSettings {
    /// The name of the system.
    pub fn name(&self) -> &str {
        match self {
            SystemSettings::Named(name) => name,
            SystemSettings::Equations(equations) => &equations.name,
        }
    }

    /// The system that is named or described.
    ///
    /// # Errors
    /// The name is unknown, or the equations are wrong; keys begin with `system`.
    pub fn find(&self) -> Result<Arc<System>, Vec<Problem>> {
        match self {
            SystemSettings::Equations(equations) => equations
                .system()
                .map_err(|problems| problems.into_iter().map(|problem| problem.within("system")).collect::<Vec<_>>()),
            SystemSettings::Named(name) => builtin::find(name).ok_or_else(|| {
                let known: Vec<&str> = builtin::all().iter().map(|system| system.name.as_str()).collect();
                let mut problems = Problems::default();
                problems.unknown("system", name, "system", &known);
                problems.into_vec()
            }),
        }
    }
}
