//! The ids of trajectories and environments in a file, and the parameters of these.

use std::collections::BTreeMap;

use super::array_file::ArrayFile;
use super::facts::{Extent, Facts, Known, Place};
use super::search::Groups;
use crate::expressions::Formula;
use crate::import::settings::fields::{ENVIRONMENT, Fields, TRAJECTORY};
use crate::import::settings::{Parameter, Settings};
use crate::import::tables::files::SourceFile;
use crate::problems::{Kind, Problem, shown};

/// Arrays with ids in files of ours.
const OWN_ENVIRONMENTS: [&str; 2] = ["environment_id", "environment"];
const OWN_TRAJECTORIES: [&str; 2] = ["trajectory_id", "trajectory"];

/// What identifies rows, and their parameters.
pub(crate) struct Named {
    /// `None` where the file's name or an axis tells.
    environment: Option<Vec<Facts>>,
    trajectory: Option<Vec<Facts>>,
    /// Of each parameter; `None` of one that nothing is known of, all of which are missing where a side table has them.
    parameters: Vec<Option<Computed>>,
}

/// How a parameter is computed.
struct Computed {
    formula: Formula,
    /// Of the formula's names.
    facts: Vec<Facts>,
    name: String,
}

impl Named {
    /// What the settings name in a file.
    ///
    /// # Errors
    /// Every problem, without its file.
    pub(super) fn find(
        file: &mut dyn ArrayFile,
        source: &SourceFile,
        settings: &Settings,
        fields: &Fields,
        groups: &Groups,
        extent: Extent,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut known = Known { file, groups, extent, captured: &source.captured };
        let mut ids = |key: &str, names: &[String], own: &[&str], is_told: bool| {
            if names.is_empty() {
                return if is_told { None } else { known.own_ids(own).map(|facts| vec![facts]) };
            }
            let mut all = Vec::new();
            for (index, name) in names.iter().enumerate() {
                match known.facts(name) {
                    Ok(facts) => all.push(facts),
                    Err(problem) => problems.push(problem.setting(format!("import.fields.{key}[{index}]"))),
                }
            }
            Some(all)
        };
        let environment_is_told = source.environment.is_some() || groups.are == ENVIRONMENT || extent.environments > 1;
        let environment = ids("environment", &fields.environment.0, &OWN_ENVIRONMENTS, environment_is_told);
        let trajectory_is_told = source.trajectory.is_some() || groups.are == TRAJECTORY;
        let trajectory = ids("trajectory", &fields.trajectory.0, &OWN_TRAJECTORIES, trajectory_is_told);
        let mut parameters = Vec::new();
        // With a side table, it has the parameters.
        let of_files = settings.parameters.iter().enumerate().filter(|_| settings.side_table.is_none());
        for (index, Parameter { name, expression, .. }) in of_files {
            let Ok(formula) = Formula::parse(expression) else {
                parameters.push(None);
                continue;
            };
            let facts = formula.names().iter().map(|name| known.facts(name)).collect::<Result<Vec<_>, _>>();
            match facts {
                Ok(facts) => parameters.push(Some(Computed { formula, facts, name: name.clone() })),
                Err(problem) => problems.push(problem.setting(format!("import.parameters[{index}].expression"))),
            }
        }
        if problems.is_empty() { Ok(Named { environment, trajectory, parameters }) } else { Err(problems) }
    }

    /// The ids of the environment and the trajectory at a place.
    pub(super) fn ids(
        &self,
        source: &SourceFile,
        lengths: &BTreeMap<String, usize>,
        groups: &Groups,
        place: Place,
    ) -> (String, String) {
        let joined = |facts: &Vec<Facts>| facts.iter().map(|it| it.of(place).text()).collect::<Vec<_>>().join("/");
        let told = |captured: &Option<String>, axis: &str, at: usize| {
            let group = (groups.are == axis).then(|| groups.ids[place.group].clone());
            let number = lengths.contains_key(axis).then(|| at.to_string());
            let parts: Vec<String> = captured.clone().into_iter().chain(group).chain(number).collect();
            (!parts.is_empty()).then(|| parts.join("/"))
        };
        let environment = self.environment.as_ref().map(joined);
        let environment = environment.or_else(|| told(&source.environment, ENVIRONMENT, place.environment));
        let trajectory = self.trajectory.as_ref().map(joined);
        let trajectory = trajectory.or_else(|| told(&source.trajectory, TRAJECTORY, place.trajectory));
        (environment.unwrap_or_else(|| stem(source).to_owned()), trajectory.unwrap_or_else(|| "1".to_owned()))
    }

    /// The values of the parameters of a row.
    pub(super) fn parameters(&self, place: Place, whose: &str, problems: &mut Vec<Problem>) -> Vec<Option<f64>> {
        let mut value = |(index, computed): (usize, &Option<Computed>)| {
            let Computed { formula, facts, name } = computed.as_ref()?;
            let key = format!("import.parameters[{index}].expression");
            let mut inputs = Vec::with_capacity(facts.len());
            for (facts, name) in facts.iter().zip(formula.names()) {
                let fact = facts.of(place);
                let Some(number) = fact.number() else {
                    let found = format!("{} as `{name}` of {whose}", shown(&fact.text()));
                    problems.push(Problem::new(Kind::NotANumber, found, "a number", "name another value").setting(key));
                    return None;
                };
                if number.is_nan() {
                    return None; // unknown
                }
                inputs.push(number);
            }
            let value = formula.value(&inputs);
            if !value.is_finite() {
                let found = format!("a parameter `{name}` of value {value} of {whose}");
                let remedy = "correct the expression or the file; NaN stands for an unknown value";
                problems.push(Problem::new(Kind::ParameterValue, found, "a finite number", remedy).setting(key));
                return None;
            }
            Some(value)
        };
        self.parameters.iter().enumerate().map(&mut value).collect()
    }
}

/// The name of a file without folders and extensions.
fn stem(source: &SourceFile) -> &str {
    let name = source.name.rsplit('/').next().unwrap_or(&source.name);
    name.rsplit_once('.').map_or(name, |(stem, ending)| if super::formats::is_ending(ending) { stem } else { name })
}
