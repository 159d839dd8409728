//! Checks of `[generate]` beyond its JSON schema.

use std::collections::BTreeMap;

use super::dosing::Dosing;
use super::environments::{known, partner, select};
use super::happenings::happenings;
use super::recorded::Recorded;
use super::samples::{sample_count, sample_times};
use super::settings::{Environments, Settings, Solver, SplitSettings};
use crate::problems::{Problem, Problems};
use crate::schema::Split;
use crate::solve::Tolerance;
use crate::systems::{Dynamics, Parameter, Preset, Range, System};

/// Most environments of a set, trajectories of an environment and samples of a trajectory: ids have five digits.
const MOST: usize = 100_000;

/// The shortest inner step.
const LEAST_STEP: f64 = 1e-7;

impl Settings {
    /// All problems of the settings; empty if they are valid.
    pub fn validate(&self) -> Vec<Problem> {
        let mut problems = Problems::default();
        self.check_scalars(&mut problems);
        problems.extend(self.publication.problems().into_iter().map(|problem| problem.within("publication")));
        let system = match self.find_system() {
            Ok(system) => system,
            Err(of_system) => {
                problems.extend(of_system);
                return problems.into_vec();
            }
        };
        self.check_inputs(&system, &mut problems);
        self.check_times(&system, &mut problems);
        if let Some(observation) = &self.observation {
            let recorded = Recorded::new(&system, self.channels.as_deref()).quantities;
            let names: Vec<&str> = recorded.iter().map(|it| it.name.as_str()).collect();
            observation.add_problems(&names, &mut problems);
        }
        let preset = self.find_preset(&system);
        if let (None, Some(name)) = (preset, &self.preset) {
            let known: Vec<&str> = system.presets.iter().map(|preset| preset.name.as_str()).collect();
            problems.unknown("preset", name, "preset of the system", &known);
        }
        // For an unknown preset the first stands in: most presets of a system have the same kind of dynamics.
        if let Some(likely) = preset.or(system.presets.first()) {
            self.check_integration(&system, &likely.dynamics, &mut problems);
            self.check_channels(&system, !likely.space.is_empty(), &mut problems);
            problems.require(
                self.solver != Some(Solver::Rodas5p) || likely.tangent.is_some(),
                "solver",
                format!("`rodas5p` for `{}`, whose derivatives are not known", system.name),
                "an explicit method",
                "leave it out",
            );
        }
        for (&split, settings) in &self.splits {
            self.check_split(&system, preset, split, settings, &mut problems);
        }
        if let Some(preset) = preset.filter(|_| problems.is_empty()) {
            self.check_given(&system, preset, &mut problems);
        }
        problems.into_vec()
    }

    /// Checks that what is given can be given to every environment, and that fits would read it off the dataset.
    fn check_given(&self, system: &System, preset: &Preset, problems: &mut Problems) {
        let horizon = self.horizon.unwrap_or(system.horizon);
        let times = sample_times(horizon, self.time_step.unwrap_or(system.time_step));
        let dosing = Dosing::new(self, system, &times);
        let mut said: Vec<String> = Vec::new();
        for (&split, settings) in &self.splits {
            for environment in select(system, preset, split, settings).unwrap_or_default() {
                let Err(wrong) = happenings(&dosing, system, &environment.parameters) else { continue };
                if said.contains(&wrong) {
                    continue;
                }
                problems.add(
                    format!("splits.{split}"),
                    format!("environment `{}`: {wrong}", environment.id),
                    "doses, infusions and intervals that fits by equations take too",
                    "correct [[generate.doses]], [[generate.signals]] or the environment",
                );
                said.push(wrong);
            }
        }
    }

    fn check_scalars(&self, problems: &mut Problems) {
        let name = &self.dataset;
        let is_plain = name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        problems.require(
            is_plain,
            "dataset",
            format!("`{name}`"),
            "letters, digits, `.`, `_` and `-`, a letter or digit first",
            "rename the dataset; its name is also that of a directory",
        );
        problems.require(
            !self.splits.is_empty(),
            "splits",
            "none",
            "at least one split",
            "add a table such as [generate.splits.train]",
        );
    }

    /// Checks the settings of integration, and that none is set that the dynamics do not use.
    fn check_integration(&self, system: &System, dynamics: &Dynamics, problems: &mut Problems) {
        let Tolerance { rtol, atol, max_steps } = self.tolerance();
        problems.require(
            (1e-14..=0.1).contains(&rtol),
            "rtol",
            rtol,
            "a number from 1e-14 to 0.1",
            "1e-9 suits data that models are measured against",
        );
        problems.require(
            atol.is_finite() && atol >= 0.0,
            "atol",
            atol,
            "a finite number, zero or more",
            "1e-9 suits states of order one",
        );
        problems.require(max_steps >= 1, "max_steps", max_steps, "at least 1", "100000 suits most systems");
        let adaptive = [
            ("solver", self.solver.is_some()),
            ("rtol", self.rtol.is_some()),
            ("atol", self.atol.is_some()),
            ("max_steps", self.max_steps.is_some()),
        ];
        match dynamics {
            Dynamics::Field(_) if self.inner_step.is_none() => {}
            Dynamics::Field(_) => problems.add(
                "inner_step",
                "a fixed step",
                format!("none: `{}` is integrated adaptively", system.name),
                "remove it; `rtol` and `atol` say how precisely",
            ),
            Dynamics::Stepper(stepper) => {
                for (key, _) in adaptive.into_iter().filter(|(_, is_set)| *is_set) {
                    problems.add(
                        key,
                        "a setting of adaptive integration",
                        format!("none: `{}` has fixed steps ({})", system.name, stepper.name),
                        "remove it; `inner_step` says how long steps are",
                    );
                }
                let step = self.inner_step.unwrap_or(stepper.step);
                let longest = self.time_step.unwrap_or(system.time_step);
                if !(LEAST_STEP..=longest).contains(&step) {
                    problems.add(
                        "inner_step",
                        step,
                        format!("a number from {LEAST_STEP} to the sampling interval, {longest}"),
                        format!("{} is the system's own", stepper.step),
                    );
                }
            }
        }
    }

    fn check_times(&self, system: &System, problems: &mut Problems) {
        let horizon = self.horizon.unwrap_or(system.horizon);
        let time_step = self.time_step.unwrap_or(system.time_step);
        let mut are_positive = true;
        for (key, value) in [("horizon", horizon), ("time_step", time_step)] {
            let is_positive = value.is_finite() && value > 0.0;
            are_positive &= is_positive;
            problems.require(
                is_positive,
                key,
                value,
                "a finite number above zero",
                "leave it out for the system's own",
            );
        }
        if are_positive {
            let ratio = horizon / time_step;
            let key = if self.time_step.is_some() { "time_step" } else { "horizon" };
            problems.require(
                ratio < MOST as f64 && (2..=MOST).contains(&sample_count(horizon, time_step)),
                key,
                format!("horizon {horizon} and time step {time_step}"),
                "2 to 100000 samples of a trajectory",
                "change horizon or time_step",
            );
        }
    }

    fn check_split(
        &self,
        system: &System,
        preset: Option<&Preset>,
        split: Split,
        settings: &SplitSettings,
        problems: &mut Problems,
    ) {
        let key = format!("splits.{split}");
        problems.require(
            (1..=MOST).contains(&settings.trajectories),
            format!("{key}.trajectories"),
            settings.trajectories,
            "1 to 100000",
            "say how many trajectories each environment has",
        );
        if settings.limit == Some(0) {
            problems.add(format!("{key}.limit"), 0, "at least 1", "leave it out to keep every environment");
        }
        let before = problems.len();
        match (&settings.environments, preset) {
            (Environments::Explicit(list), _) => {
                check_list(system, &format!("{key}.environments"), list, problems);
            }
            (Environments::Grid(ranges), _) => {
                check_grid(system, &format!("{key}.environments"), ranges, problems);
            }
            (Environments::Named(_), _) if !system.covariates.is_empty() => {
                let names: Vec<&str> = system.covariates.iter().map(|it| it.name.as_str()).collect();
                problems.add(
                    format!("{key}.environments"),
                    format!("a set of the system, and the covariates {}", names.join(", ")),
                    "a list of tables, or a grid, with their values beside those of the parameters",
                    "write `environments = [{ .. }]`",
                );
            }
            (Environments::Named(name), Some(preset)) if preset.environment_set(name).is_none() => {
                let known: Vec<&str> = preset.environments.iter().map(|set| set.name.as_str()).collect();
                problems.unknown(format!("{key}.environments"), name, "set of environments", &known);
            }
            _ => {}
        }
        let are_known = problems.len() == before;
        if let (Split::Calibrate, true, Some(preset)) = (split, are_known, preset) {
            self.check_calibration(system, preset, settings, problems);
        }
        if let Some(partner) = partner(split).filter(|_| are_known) {
            self.check_partner(system, preset, split, settings, partner, problems);
        }
    }

    /// From environments that trained the model, its error on others cannot be learned. A point of a grid that is one of them does no harm.
    fn check_calibration(&self, system: &System, preset: &Preset, settings: &SplitSettings, problems: &mut Problems) {
        let of = |split: Split| self.splits.get(&split).and_then(|of_split| select(system, preset, split, of_split));
        let known: Vec<Vec<f64>> = of(Split::Train).into_iter().flatten().map(|it| it.parameters).collect();
        let own = select(system, preset, Split::Calibrate, settings).unwrap_or_default();
        let trained = own.iter().filter(|it| known.contains(&it.parameters)).count();
        if trained > 0 && 2 * trained >= own.len() {
            problems.add(
                "splits.calibrate.environments",
                format!("{trained} of {} environments that are those of splits.train", own.len()),
                "environments that neither train nor test, from which the model's own error is learned",
                "choose others, between the training environments and a bit beyond them",
            );
        }
    }

    /// Held-out trajectories are useful only if their environments are fitted in the partner split.
    fn check_partner(
        &self,
        system: &System,
        preset: Option<&Preset>,
        split: Split,
        settings: &SplitSettings,
        partner: Split,
        problems: &mut Problems,
    ) {
        let Some(partner_settings) = self.splits.get(&partner) else {
            problems.add(
                format!("splits.{split}"),
                format!("no split `{partner}`"),
                format!("a split `{partner}` of the same environments"),
                format!("add [generate.splits.{partner}] or remove [generate.splits.{split}]"),
            );
            return;
        };
        if settings.environments != partner_settings.environments {
            problems.add(
                format!("splits.{split}.environments"),
                "other environments",
                format!("the environments of splits.{partner}"),
                "give both splits the same `environments`",
            );
            return;
        }
        let Some(preset) = preset else { return };
        let own = select(system, preset, split, settings);
        let partners = select(system, preset, partner, partner_settings);
        if let (Some(own), Some(partners)) = (own, partners) {
            let is_shared = |index: usize| partners.binary_search_by_key(&index, |partner| partner.index).is_ok();
            let strangers = own.iter().filter(|environment| !is_shared(environment.index)).count();
            if strangers > 0 {
                problems.add(
                    format!("splits.{split}.limit"),
                    format!("{strangers} environments that splits.{partner} leaves out"),
                    format!("only environments of splits.{partner}"),
                    "give both splits the same `limit`",
                );
            }
        }
    }
}

fn check_grid(system: &System, key: &str, ranges: &BTreeMap<String, Range>, problems: &mut Problems) {
    let of_environment = known(system);
    let known: Vec<&str> = of_environment.iter().map(|parameter| parameter.name.as_str()).collect();
    for name in ranges.keys().filter(|name| !known.contains(&name.as_str())) {
        problems.unknown(format!("{key}.{name}"), name, "parameter of the system", &known);
    }
    for Parameter { name, lower, upper, .. } in &of_environment {
        let Some(range) = ranges.get(name) else {
            problems.add(
                key,
                format!("no `{name}`"),
                format!("a range for each of {}", known.join(", ")),
                format!("add `{name} = {{ from = ..., to = ..., count = ... }}`"),
            );
            continue;
        };
        for (end, value) in [("from", range.from), ("to", range.to)] {
            if !(*lower..=*upper).contains(&value) {
                problems.add(
                    format!("{key}.{name}.{end}"),
                    value,
                    format!("a number from {lower} to {upper}"),
                    "choose a value inside the bounds of the parameter",
                );
            }
        }
        problems.require(
            range.from < range.to && range.count >= 2 || range.from == range.to && range.count == 1,
            format!("{key}.{name}"),
            format!("{} values from {} to {}", range.count, range.from, range.to),
            "2 values or more in ascending order, or one value",
            "exchange or change the ends, or change `count`",
        );
    }
    let count = ranges.values().fold(1_usize, |count, range| count.saturating_mul(range.count));
    problems.require(
        count <= MOST,
        key,
        format!("{count} environments"),
        "at most 100000 environments",
        "lower a `count`",
    );
}

fn check_list(system: &System, key: &str, list: &[BTreeMap<String, f64>], problems: &mut Problems) {
    problems.require(
        (1..=MOST).contains(&list.len()),
        key,
        format!("{} environments", list.len()),
        "1 to 100000 environments",
        "list the parameters of each environment, as in [{ beta = 0.5, delta = 0.7 }]",
    );
    let of_environment = known(system);
    let known: Vec<&str> = of_environment.iter().map(|parameter| parameter.name.as_str()).collect();
    for (index, values) in list.iter().enumerate() {
        for name in values.keys().filter(|name| !known.contains(&name.as_str())) {
            problems.unknown(format!("{key}[{index}].{name}"), name, "parameter of the system", &known);
        }
        for Parameter { name, lower, upper, .. } in &of_environment {
            match values.get(name) {
                None => problems.add(
                    format!("{key}[{index}]"),
                    format!("no `{name}`"),
                    format!("a value for each of {}", known.join(", ")),
                    format!("add `{name} = ...`"),
                ),
                Some(value) if !(value.is_finite() && (*lower..=*upper).contains(value)) => problems.add(
                    format!("{key}[{index}].{name}"),
                    value,
                    format!("a number from {lower} to {upper}"),
                    "choose a value inside the bounds of the parameter",
                ),
                Some(_) => {}
            }
        }
    }
}
