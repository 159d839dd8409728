//! Several systems that are compared on one dataset: the settings of each.

use crate::estimate::error::Error;
use crate::estimate::settings::{PhysicsSettings, Settings};
use crate::problems::{Problem, Problems};
use crate::systems::SystemSettings;

/// One of the systems that are compared.
pub(crate) struct Candidate {
    /// Name of the system.
    pub name: String,
    /// The settings with this system alone, as far as they are about it.
    pub settings: Settings,
}

/// The systems that environments are fitted by: one, or several that are compared.
pub struct Systems {
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) are_compared: bool,
}

impl Systems {
    /// Those of `settings`.
    ///
    /// # Errors
    /// [`Error::Physics`] with every problem of the systems.
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        let candidates = settings.candidates().map_err(Error::Physics)?;
        if candidates.is_empty() {
            let only = Candidate { name: String::new(), settings: settings.clone() };
            return Ok(Systems { candidates: vec![only], are_compared: false });
        }
        Ok(Systems { candidates, are_compared: true })
    }
}

impl Settings {
    /// The systems that are compared; none where one system is fitted.
    ///
    /// # Errors
    /// Every problem of the systems; keys are relative to `[estimate.physics]`.
    pub(crate) fn candidates(&self) -> Result<Vec<Candidate>, Vec<Problem>> {
        let systems = self.physics.as_ref().map_or(&[][..], |physics| &physics.systems);
        let candidates = systems.iter().enumerate().map(|(index, system)| {
            let found = system.find().map_err(|problems| in_list(problems, index))?;
            let names: Vec<&str> = found.parameters.iter().map(|it| it.name.as_str()).collect();
            Ok(Candidate { name: found.name.clone(), settings: self.with_system(system, &names) })
        });
        candidates.collect()
    }

    /// The settings with one system, which has these parameters.
    fn with_system(&self, system: &SystemSettings, parameters: &[&str]) -> Settings {
        let mut settings = self.clone();
        let physics = settings.physics.get_or_insert_default();
        (physics.system, physics.systems) = (Some(system.clone()), Vec::new());
        let is_meant = |name: &String| parameters.contains(&name.as_str());
        physics.fixed.retain(|name, _| is_meant(name));
        physics.priors.retain(|name, _| is_meant(name));
        physics.scales.retain(|name, _| is_meant(name));
        physics.scopes.retain(|name, _| is_meant(name) || name.starts_with("noise_"));
        settings.bounds.retain(|name, _| is_meant(name));
        settings
    }
}

/// Problems of one system, whose keys begin with `system`, with those of its place in the list.
fn in_list(problems: Vec<Problem>, index: usize) -> Vec<Problem> {
    let placed = |problem: Problem| {
        let key = problem.key.strip_prefix("system").map(|rest| format!("systems.{index}{rest}"));
        match key {
            Some(key) => problem.setting(key),
            None => problem,
        }
    };
    problems.into_iter().map(placed).collect()
}

impl PhysicsSettings {
    /// Every problem of the settings that shows without a dataset; keys are relative to `[estimate.physics]`.
    pub fn validate(&self) -> Vec<Problem> {
        if !self.systems.is_empty() {
            return self.problems_of_systems();
        }
        let Some(of_system) = &self.system else { return Vec::new() };
        match of_system.find() {
            Err(problems) => problems,
            Ok(system) => {
                let mut problems = Problems::default();
                self.check_against(&system, &mut problems);
                problems.into_vec()
            }
        }
    }

    fn problems_of_systems(&self) -> Vec<Problem> {
        let mut problems = Problems::default();
        problems.require(
            self.system.is_none(),
            "systems",
            "`system` and `systems`",
            "one of the two",
            "remove `system`, or add it to the list",
        );
        problems.require(
            self.systems.len() > 1,
            "systems",
            "one system",
            "two systems or more, which are compared",
            "add another one, or write `system = ...`",
        );
        let mut parameters: Vec<String> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for (index, of_system) in self.systems.iter().enumerate() {
            let system = match of_system.find() {
                Ok(system) => system,
                Err(of_system) => {
                    problems.extend(in_list(of_system, index));
                    continue;
                }
            };
            problems.require(
                !names.contains(&system.name),
                format!("systems.{index}"),
                format!("`{}` a second time", system.name),
                "a name of its own for each system",
                "rename one of the two (`name` in its file)",
            );
            names.push(system.name.clone());
            let of_this: Vec<&str> = system.parameters.iter().map(|it| it.name.as_str()).collect();
            let alone =
                Settings { physics: Some(self.clone()), ..Settings::default() }.with_system(of_system, &of_this);
            let mut own = Problems::default();
            alone.physics.unwrap_or_default().check_against(&system, &mut own);
            problems.extend(in_list(own.into_vec(), index));
            parameters.extend(system.parameters.iter().map(|it| it.name.clone()));
        }
        parameters.sort();
        parameters.dedup();
        let known: Vec<&str> = parameters.iter().map(String::as_str).collect();
        let fixed = self.fixed.keys().map(|name| ("fixed", name));
        let of_scopes = self.scopes.keys().filter(|name| !name.starts_with("noise_")).map(|name| ("scopes", name));
        let others = self.priors.keys().map(|name| ("priors", name));
        let others = others.chain(self.scales.keys().map(|name| ("scales", name)));
        for (key, name) in fixed.chain(of_scopes).chain(others) {
            if !known.contains(&name.as_str()) {
                problems.unknown(format!("{key}.{name}"), name, "parameter of one of the systems", &known);
            }
        }
        problems.into_vec()
    }
}
