//! `[generate]` of a pipeline.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::amounts::Amounts;
use super::course::Course;
use super::observation::Observation;
use super::samples::sample_count;
use crate::dataset::Publication;
use crate::problems::Problem;
use crate::schema::Split;
use crate::solve::{DOP853, DOPRI5, RODAS5P, TSIT5, Tableau, Tolerance};
use crate::systems::{Dynamics, Preset, Range, System, SystemSettings};

/// What to simulate, and how precisely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Name of the dataset, which is also the name of its directory.
    #[schemars(regex(pattern = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"))]
    pub dataset: String,
    /// Name of the system (`paramill list systems`), or a table of equations.
    ///
    /// In a pipeline file it may also be the path of a `.toml` file with the equations, relative to the pipeline file; they
    /// are then read in place of the path.
    pub system: SystemSettings,
    /// Variant of the system's benchmark. The system's first where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// SPDX expression of the dataset's licence.
    #[serde(default = "default_license")]
    pub license: String,
    /// Who made the dataset, and how it is cited, for those who find it where it is published.
    #[serde(default, skip_serializing_if = "Publication::is_empty")]
    pub publication: Publication,
    /// Adaptive method of integration; `dop853` where absent. Where a trajectory turns out to be stiff, `rodas5p`, a method for stiff systems,
    /// takes over from it by itself; it may also be named, for systems whose derivatives are known. Not for systems with an integrator of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Solver")]
    pub solver: Option<Solver>,
    /// Error of an adaptive step allowed relative to the state; 1e-9 where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1e-14, max = 0.1))]
    pub rtol: Option<f64>,
    /// Error of an adaptive step allowed beside that, in the unit of the state; 1e-9 where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub atol: Option<f64>,
    /// Adaptive steps after which a trajectory is given up; 100000 where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_steps: Option<u64>,
    /// Longest step of a system with an integrator of its own (navier-stokes), which is then fixed. The system's own where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub inner_step: Option<f64>,
    /// Horizon `T`; samples lie at `0, dt, .., T - dt`. The system's own where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub horizon: Option<f64>,
    /// Sampling interval `dt`. The system's own where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub time_step: Option<f64>,
    /// What is recorded: states and outputs of the system, by name. Its states where absent. Not for fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>", extend("minItems" = 1, "uniqueItems" = true))]
    pub channels: Option<Vec<String>>,
    /// Amounts that are given to every trajectory, by inputs that are `doses` of the system. An input that is its `reset` or the `interval` of a steady
    /// state is given so too: the amount is then 1, or that interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doses: Vec<Amounts>,
    /// Signals that drive every trajectory: one for each input that is no sum of amounts. An infusion is one whose rate rises, and falls by as much.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<Course>,
    /// What sensors make of the trajectories; where absent, the dataset holds the truth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Observation")]
    pub observation: Option<Observation>,
    /// The splits of the dataset.
    #[schemars(schema_with = "splits_schema")]
    pub splits: BTreeMap<Split, SplitSettings>,
}

/// The trajectories of one split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitSettings {
    /// A named set of the system, a list of parameter tables, or a grid: a range for each parameter. A system with covariates needs a list or a grid,
    /// which have values of these too.
    pub environments: Environments,
    /// Trajectories of each environment.
    #[schemars(range(min = 1, max = 100_000))]
    pub trajectories: usize,
    /// Keep at most this many environments: every axis of a named set or grid is thinned evenly and keeps its ends; so is an
    /// explicit list. Environments keep the ids and the trajectories they have without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub limit: Option<usize>,
}

/// Which environments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Environments {
    /// A named set of the system, such as `train`.
    Named(String),
    /// One table of parameter values an environment.
    Explicit(Vec<BTreeMap<String, f64>>),
    /// All combinations of values of the parameters, numbered with the last parameter running fastest.
    Grid(BTreeMap<String, Range>),
}

/// Adaptive method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Solver {
    /// Dormand-Prince, order 5.
    Dopri5,
    /// Tsitouras, order 5.
    Tsit5,
    /// Dormand-Prince, order 8: the cheapest at tight tolerances.
    #[default]
    Dop853,
    /// Rodas5P, order 5, for stiff systems, from the start of every trajectory.
    Rodas5p,
}

impl Solver {
    /// The coefficients of an explicit method; none of the one for stiff systems.
    pub fn tableau(self) -> Option<&'static Tableau> {
        match self {
            Solver::Dopri5 => Some(&DOPRI5),
            Solver::Tsit5 => Some(&TSIT5),
            Solver::Dop853 => Some(&DOP853),
            Solver::Rodas5p => None,
        }
    }

    /// Its name in reports.
    pub fn name(self) -> &'static str {
        self.tableau().map_or(RODAS5P.name, |tableau| tableau.name)
    }
}

impl Settings {
    /// The system that the settings name or describe.
    ///
    /// # Errors
    /// The name is unknown, or the equations are wrong.
    pub fn find_system(&self) -> Result<Arc<System>, Vec<Problem>> {
        self.system.find()
    }

    /// The preset of `system` that the settings name; its first where they name none.
    pub fn find_preset<'a>(&self, system: &'a System) -> Option<&'a Preset> {
        match &self.preset {
            Some(name) => system.preset(name),
            None => system.presets.first(),
        }
    }

    /// Number of samples of a trajectory.
    pub fn samples(&self, system: &System) -> usize {
        let (horizon, time_step) = (self.horizon.unwrap_or(system.horizon), self.time_step.unwrap_or(system.time_step));
        sample_count(horizon, time_step)
    }

    /// The settings with all defaults filled in.
    pub fn resolved(&self, system: &System) -> Settings {
        let mut settings = Settings {
            preset: self.preset.clone().or_else(|| system.presets.first().map(|preset| preset.name.clone())),
            horizon: Some(self.horizon.unwrap_or(system.horizon)),
            time_step: Some(self.time_step.unwrap_or(system.time_step)),
            ..self.clone()
        };
        match self.find_preset(system).map(|preset| &preset.dynamics) {
            Some(Dynamics::Field(_)) => {
                let Tolerance { rtol, atol, max_steps } = self.tolerance();
                settings.solver = Some(self.solver.unwrap_or_default());
                (settings.rtol, settings.atol, settings.max_steps) = (Some(rtol), Some(atol), Some(max_steps));
            }
            Some(Dynamics::Stepper(stepper)) => settings.inner_step = Some(self.inner_step.unwrap_or(stepper.step)),
            None => {}
        }
        settings
    }

    /// Tolerances and step limit of one adaptive integration.
    pub fn tolerance(&self) -> Tolerance {
        Tolerance {
            rtol: self.rtol.unwrap_or(1e-9),
            atol: self.atol.unwrap_or(1e-9),
            max_steps: self.max_steps.unwrap_or(100_000),
        }
    }
}

fn default_license() -> String {
    "MIT OR Apache-2.0".to_owned()
}

/// A map's derived schema does not say which keys it takes.
fn splits_schema(generator: &mut SchemaGenerator) -> Schema {
    let properties: serde_json::Map<String, serde_json::Value> = Split::ALL
        .into_iter()
        .map(|split| (split.name().to_owned(), generator.subschema_for::<SplitSettings>().to_value()))
        .collect();
    json_schema!({ "type": "object", "properties": properties, "additionalProperties": false, "minProperties": 1 })
}
