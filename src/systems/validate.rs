//! Checks of a user's equations beyond the JSON schema; expressions are checked where they are compiled.

use std::collections::BTreeMap;

use super::equations::{Equations, FreeStart, MOST_NAMES, ParameterBounds, Range, StartSetting, StateEquation, Values};
use crate::dataset::RESERVED;
use crate::expressions::functions;
use crate::problems::Problems;

/// Most values of a parameter in a set of environments, and most environments of a set.
const MOST_ENVIRONMENTS: usize = 100_000;

impl Equations {
    /// Adds the problems of names, numbers and sets of environments.
    pub(crate) fn add_problems(&self, problems: &mut Problems) {
        self.check_names(problems);
        self.check_numbers(problems);
        self.check_starts(problems);
        self.check_channels(problems);
        self.check_preequilibration(problems);
        self.check_doses(problems);
        self.check_parameters(problems);
        self.check_environments(problems);
    }

    /// Names of states, outputs, inputs, parameters, covariates and constants, with their keys.
    fn names(&self) -> Vec<(String, &str)> {
        let states = self.states.iter().enumerate();
        let parameters = self.parameters.iter().enumerate();
        let states = states.map(|(index, state)| (format!("states.{index}.name"), state.name.as_str()));
        let parameters = parameters.map(|(index, it)| (format!("parameters.{index}.name"), it.name.as_str()));
        let inputs = self.inputs.iter().enumerate();
        let inputs = inputs.map(|(index, it)| (format!("inputs.{index}.name"), it.name.as_str()));
        let outputs = self.outputs.iter().enumerate();
        let outputs = outputs.map(|(index, it)| (format!("outputs.{index}.name"), it.name.as_str()));
        let covariates = self.covariates.iter().enumerate();
        let covariates = covariates.map(|(index, it)| (format!("covariates.{index}.name"), it.name.as_str()));
        let constants = self.constants.keys().map(|name| (format!("constants.{name}"), name.as_str()));
        let quantities = states.chain(outputs).chain(inputs).chain(parameters).chain(covariates);
        quantities.chain(constants).collect()
    }

    fn check_names(&self, problems: &mut Problems) {
        let is_plain = self.name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && self.name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        problems.require(
            is_plain,
            "name",
            format!("`{}`", self.name),
            "letters, digits, `.`, `_` and `-`, a letter or digit first",
            "rename the system",
        );
        for (key, count) in [("states", self.states.len()), ("parameters", self.parameters.len())] {
            let found = format!("{count} {key}");
            problems.require((1..=MOST_NAMES).contains(&count), key, found, "1 to 1000", "list each with its name");
        }
        for (key, count) in [
            ("outputs", self.outputs.len()),
            ("inputs", self.inputs.len()),
            ("covariates", self.covariates.len()),
            ("doses", self.doses.len()),
            ("infusions", self.infusions.len()),
            ("constants", self.constants.len()),
        ] {
            let remedy = "write some of them into the expressions, or into the data";
            problems.require(count <= MOST_NAMES, key, format!("{count} {key}"), "at most 1000", remedy);
        }
        let mut seen: BTreeMap<&str, String> = BTreeMap::new();
        for (key, name) in self.names() {
            let is_word = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !is_word {
                problems.add(
                    key.as_str(),
                    format!("`{name}`"),
                    "letters, digits and `_`, no digit first",
                    "rename it so that expressions can name it",
                );
            } else if functions::names().contains(&name) {
                problems.add(key.as_str(), format!("`{name}`, a function"), "a name of its own", "rename it");
            } else if matches!(name, "t" | "pi") {
                let meaning = if name == "t" { "the time" } else { "the number" };
                problems.add(key.as_str(), format!("`{name}`, {meaning}"), "a name of its own", "rename it");
            }
            if RESERVED.contains(&name) && !key.starts_with("constants") {
                let found = format!("`{name}`, which the dataset format uses itself");
                problems.add(key.as_str(), found, "a name of its own", "rename it");
            }
            if let Some(other) = seen.get(name) {
                problems.add(key.as_str(), format!("`{name}`, which {other} is too"), "a name of its own", "rename it");
            }
            seen.entry(name).or_insert(key);
        }
    }

    fn check_numbers(&self, problems: &mut Problems) {
        for (key, value) in [("horizon", self.horizon), ("time_step", self.time_step)] {
            let is_positive = value.is_finite() && value > 0.0;
            problems.require(
                is_positive,
                key,
                value,
                "a finite number above zero",
                "in the unit of time of the system",
            );
        }
        for (name, value) in &self.constants {
            let key = format!("constants.{name}");
            problems.require(value.is_finite(), key, value, "a finite number", "write the number itself");
        }
    }

    fn check_parameters(&self, problems: &mut Problems) {
        for (index, ParameterBounds { name, lower, upper, .. }) in self.parameters.iter().enumerate() {
            problems.require(
                lower.is_finite() && upper.is_finite() && lower < upper,
                format!("parameters.{index}"),
                format!("`{name}` from {lower} to {upper}"),
                "finite bounds, `lower` below `upper`",
                "bounds are there to find slips: choose them generously",
            );
        }
    }

    fn check_starts(&self, problems: &mut Problems) {
        for (index, StateEquation { name, initial, start, .. }) in self.states.iter().enumerate() {
            let of_initial = format!("states.{index}.initial");
            match (initial, start) {
                (Some([lower, upper]), _) if !(lower.is_finite() && upper.is_finite() && lower <= upper) => problems.add(
                    of_initial,
                    format!("[{lower}, {upper}]"),
                    "two finite numbers, the smaller first",
                    "equal numbers fix the initial value",
                ),
                (Some(_), Some(StartSetting::Number(_) | StartSetting::Expression(_))) => problems.add(
                    of_initial,
                    "both `initial` and a `start` that says what it is",
                    "one of the two",
                    "remove `initial`: simulations start there as well",
                ),
                (None, None) => problems.add(
                    format!("states.{index}"),
                    format!("neither `initial` nor `start` of `{name}`"),
                    "one of the two",
                    "write `initial = [0.0, 1.0]`, between which simulations start, or `start = 0.0`, a number, expression or bounds for fits",
                ),
                _ => {}
            }
            let key = format!("states.{index}.start");
            match start {
                Some(StartSetting::Number(value)) => {
                    problems.require(value.is_finite(), key, value, "a finite number", "write the number itself");
                }
                Some(StartSetting::Free(FreeStart { lower, upper, guess })) => {
                    let is_range = lower.is_finite() && upper.is_finite() && lower < upper;
                    problems.require(
                        is_range,
                        key.as_str(),
                        format!("from {lower} to {upper}"),
                        "finite bounds, `lower` below `upper`",
                        "an initial value that is known is written as `start = 0.0`",
                    );
                    if let Some(guess) = guess.filter(|guess| is_range && !(*lower..=*upper).contains(guess)) {
                        let expected = format!("a number from {lower} to {upper}");
                        problems.add(format!("{key}.guess"), guess, expected, "choose a value between the bounds");
                    }
                }
                Some(StartSetting::Expression(_)) | None => {}
            }
        }
    }

    /// Every channel is compared with one state or output.
    fn check_channels(&self, problems: &mut Problems) {
        let states = self.states.iter().map(|state| (state.name.as_str(), format!("the state `{}`", state.name)));
        let mut taken: BTreeMap<&str, String> = states.collect();
        for (index, output) in self.outputs.iter().enumerate().filter(|it| !it.1.channels.is_empty()) {
            for (place, name) in output.channels.iter().enumerate() {
                if let Some(other) = taken.insert(name, format!("the output `{}`", output.name)) {
                    problems.add(
                        format!("outputs.{index}.channels.{place}"),
                        format!("the channel `{name}`, which {other} is compared with"),
                        "each channel once",
                        "remove one of the two",
                    );
                }
            }
        }
        for (index, output) in self.outputs.iter().enumerate().filter(|it| it.1.channels.is_empty()) {
            if let Some(other) = taken.get(output.name.as_str()).filter(|other| other.starts_with("the output")) {
                let found = format!("`{}`, a channel which {other} is compared with", output.name);
                problems.add(format!("outputs.{index}.name"), found, "each channel once", "rename it");
            }
        }
    }

    fn check_preequilibration(&self, problems: &mut Problems) {
        let Some(rest) = &self.preequilibration else { return };
        let known: Vec<&str> = self.inputs.iter().map(|input| input.name.as_str()).collect();
        for (name, value) in rest {
            let key = format!("preequilibration.{name}");
            if known.is_empty() {
                problems.add(
                    key,
                    format!("`{name}`"),
                    "none: the system has no inputs",
                    "write `preequilibration = {}`",
                );
            } else if known.contains(&name.as_str()) {
                problems.require(value.is_finite(), key, value, "a finite number", "write the number itself");
            } else {
                problems.unknown(key, name, "input of the system", &known);
            }
        }
        for name in known.iter().filter(|name| !rest.contains_key(**name)) {
            let found = format!("no value of `{name}`");
            problems.add("preequilibration", found, "the value of every input", format!("add `{name} = 0.0`"));
        }
        for (index, state) in self.states.iter().enumerate() {
            let is_fixed = state.initial.is_some_and(|[lower, upper]| lower == upper);
            problems.require(
                state.start.is_some() || is_fixed,
                format!("states.{index}"),
                format!("a steady state before the start, and no `start` of `{}`", state.name),
                "where every state comes from",
                "write `start = 0.0`, or whatever leads to the steady state",
            );
        }
    }

    fn check_environments(&self, problems: &mut Problems) {
        let known: Vec<&str> = self.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        for (set, values) in &self.environments {
            let key = format!("environments.{set}");
            for name in values.keys().filter(|name| !known.contains(&name.as_str())) {
                problems.unknown(format!("{key}.{name}"), name, "parameter of the system", &known);
            }
            let mut size = 1_usize;
            for ParameterBounds { name, lower, upper, .. } in &self.parameters {
                let Some(values) = values.get(name) else {
                    problems.add(
                        key.as_str(),
                        format!("no `{name}`"),
                        format!("values of each of {}", known.join(", ")),
                        format!("add `{name} = [...]`"),
                    );
                    continue;
                };
                let ends = match values {
                    Values::List(list) => list.clone(),
                    Values::Range(range) => vec![range.from, range.to],
                };
                size = size.saturating_mul(values.len());
                for value in ends.into_iter().filter(|value| !(*lower..=*upper).contains(value)) {
                    problems.add(
                        format!("{key}.{name}"),
                        value,
                        format!("numbers from {lower} to {upper}"),
                        "choose values inside the bounds of the parameter",
                    );
                }
                if let Values::Range(Range { from, to, count }) = values {
                    problems.require(
                        from < to && *count >= 2 || from == to && *count == 1,
                        format!("{key}.{name}"),
                        format!("{count} values from {from} to {to}"),
                        "2 values or more in ascending order, or one value",
                        "exchange or change the ends, or change `count`",
                    );
                }
            }
            problems.require(
                (1..=MOST_ENVIRONMENTS).contains(&size),
                key.as_str(),
                format!("{size} environments"),
                "1 to 100000 environments",
                "change the number of values",
            );
        }
    }
}
