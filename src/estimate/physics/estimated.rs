//! Which parameters of a system are estimated, between which bounds, and what has one value of each.

use super::coordinates::Coordinate;
use crate::estimate::measurement::{Scale, Scope};
use crate::estimate::settings::{PhysicsSettings, Settings};
use crate::problems::Problems;
use crate::schema::Quantity;
use crate::systems::System;

/// A parameter that is estimated.
#[derive(Clone, Debug)]
pub(crate) struct EstimatedParameter {
    /// Its index in the system.
    pub index: usize,
    pub quantity: Quantity,
    /// The bounds of the system, narrowed by those of the settings.
    pub lower: f64,
    pub upper: f64,
    pub scope: Scope,
    scale: Option<Scale>,
}

impl EstimatedParameter {
    /// In which it is fitted.
    pub(crate) fn coordinate(&self) -> Coordinate {
        let coordinate = Coordinate::new(self.lower, self.upper);
        if self.scale == Some(Scale::Linear) { coordinate.linear() } else { coordinate }
    }
}

impl PhysicsSettings {
    /// Fixed parameters and scopes against the parameters of the system.
    pub(crate) fn check_against(&self, system: &System, problems: &mut Problems) {
        let known: Vec<&str> = system.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        for (name, value) in &self.fixed {
            let key = format!("fixed.{name}");
            match system.parameters.iter().find(|parameter| parameter.name == *name) {
                None => problems.unknown(key, name, "parameter of the system", &known),
                Some(parameter) => problems.require(
                    (parameter.lower..=parameter.upper).contains(value),
                    key,
                    value,
                    &format!("a number from {} to {}", parameter.lower, parameter.upper),
                    "choose a value inside the bounds of the parameter",
                ),
            }
        }
        if known.iter().all(|name| self.fixed.contains_key(*name)) {
            problems.add("fixed", "every parameter", "one at least that is left to estimate", "remove one");
            return;
        }
        let estimated: Vec<&str> = known.iter().copied().filter(|name| !self.fixed.contains_key(*name)).collect();
        for name in self.scopes.keys() {
            let key = format!("scopes.{name}");
            match self.fixed.contains_key(name) {
                true => problems.add(
                    key,
                    format!("`{name}`, which is fixed"),
                    "a parameter that is estimated",
                    "remove one of the two",
                ),
                false if estimated.contains(&name.as_str()) => {}
                // Of the noise, which is checked with the channels.
                false if name.starts_with("noise_") => {}
                false => problems.unknown(key, name, "parameter that is estimated", &estimated),
            }
        }
        if estimated.iter().all(|name| self.scope(name) == Scope::Trajectory) {
            problems.add(
                "scopes",
                "a value for each trajectory of every parameter",
                "one parameter at least that the trajectories of an environment share",
                "leave out `scopes`, and make each trajectory an environment of its own (`environment` names its column in [import.table])",
            );
        }
    }

    /// What has one value of a parameter.
    pub(crate) fn scope(&self, name: &str) -> Scope {
        self.scopes.get(name).copied().unwrap_or_default()
    }
}

/// The estimated parameters: those of the dataset in its order, then the others; adds bounds that leave nothing to `problems`.
pub(crate) fn estimated(
    system: &System,
    settings: &PhysicsSettings,
    estimate: &Settings,
    of_dataset: &[Quantity],
    problems: &mut Problems,
) -> Vec<EstimatedParameter> {
    let quantities = system.parameter_quantities();
    let is_estimated = |it: &usize| !settings.fixed.contains_key(&system.parameters[*it].name);
    let mut indices: Vec<usize> = (0..system.parameters.len()).filter(is_estimated).collect();
    let place = |it: usize| of_dataset.iter().position(|quantity| quantity.name == system.parameters[it].name);
    indices.sort_by_key(|&it| place(it).unwrap_or(usize::MAX));
    let of_parameter = |index: usize| {
        let parameter = &system.parameters[index];
        let narrower = estimate.bounds.get(&parameter.name).copied().unwrap_or_default();
        let mut lower = narrower.min.map_or(parameter.lower, |min| min.max(parameter.lower));
        let mut upper = narrower.max.map_or(parameter.upper, |max| max.min(parameter.upper));
        if lower >= upper {
            problems.add(
                "system",
                format!(
                    "`{}` from {} to {}, and estimate.bounds.{0} that leave nothing",
                    parameter.name, parameter.lower, parameter.upper
                ),
                "bounds that overlap",
                "widen one of them, or name the parameter in `fixed`",
            );
            (lower, upper) = (parameter.lower, parameter.upper);
        }
        EstimatedParameter {
            index,
            quantity: place(index).map_or_else(|| quantities[index].clone(), |place| of_dataset[place].clone()),
            lower,
            upper,
            scope: settings.scope(&parameter.name),
            scale: settings.scales.get(&parameter.name).copied(),
        }
    };
    indices.into_iter().map(of_parameter).collect()
}
