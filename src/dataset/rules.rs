//! The rules of the format for trajectories; writer and reader refuse what breaks them.

use super::manifest::Manifest;
use crate::schema::{Input, Split, Trajectory};

/// The problems of a trajectory in `split`, a sentence each.
pub(crate) fn trajectory_problems(trajectory: &Trajectory, manifest: &Manifest, split: Split) -> Vec<String> {
    let Manifest { channels, parameters, inputs, .. } = manifest;
    let mut problems = Vec::new();
    identifier_problem("environment", &trajectory.environment, &mut problems);
    identifier_problem("trajectory", &trajectory.trajectory, &mut problems);
    if trajectory.parameters.len() != parameters.len() {
        problems.push(format!(
            "{} parameter values; expected {}, one a parameter of the manifest",
            trajectory.parameters.len(),
            parameters.len()
        ));
    }
    for (value, parameter) in trajectory.parameters.iter().zip(parameters) {
        if let Some(value) = value.filter(|value| !value.is_finite()) {
            problems.push(format!("parameter `{}` is {value}; expected a finite number or none", parameter.name));
        }
    }
    if trajectory.len() < split.fewest_samples() {
        problems.push(format!("{} samples; expected at least {}", trajectory.len(), split.fewest_samples()));
    }
    if let Some(t) = trajectory.times.iter().position(|time| !time.is_finite()) {
        problems.push(format!("time of sample {t} is {}; expected a finite number", trajectory.times[t]));
    } else if let Some(t) = trajectory.times.windows(2).position(|pair| pair[0] >= pair[1]) {
        problems.push(format!(
            "time {} of sample {} follows {}; expected strictly increasing times",
            trajectory.times[t + 1],
            t + 1,
            trajectory.times[t]
        ));
    }
    input_problems(trajectory, inputs, &mut problems);
    let state = manifest.state_shape();
    let expected = trajectory.len() * state.size();
    if trajectory.states.len() != expected {
        problems.push(format!(
            "{} state values; expected {expected} ({} samples of {} channels{})",
            trajectory.states.len(),
            trajectory.len(),
            channels.len(),
            if state.points() == 1 { String::new() } else { format!(" on {} points", state.points()) }
        ));
        return problems;
    }
    for (c, channel) in channels.iter().enumerate() {
        let bad = |values: &[f64]| values.iter().copied().find(|value| value.is_infinite());
        let samples = state.channel(&trajectory.states, c).enumerate();
        let mut bad = samples.filter_map(|(t, values)| Some((t, bad(values)?)));
        if let Some((t, value)) = bad.next() {
            problems.push(format!(
                "channel `{}` is {value} at sample {t} (and at {} more); expected finite numbers, or NaN where a cell is missing",
                channel.name,
                bad.count()
            ));
        }
    }
    problems
}

fn input_problems(trajectory: &Trajectory, inputs: &[Input], problems: &mut Vec<String>) {
    let (found, expected) = (trajectory.inputs.len(), trajectory.len() * inputs.len());
    if found != expected {
        problems.push(format!(
            "{found} input values; expected {expected} ({} samples of {} inputs)",
            trajectory.len(),
            inputs.len()
        ));
        return;
    }
    for (u, input) in inputs.iter().enumerate() {
        let values = trajectory.inputs.iter().skip(u).step_by(inputs.len()).enumerate();
        let mut bad = values.filter(|(_, value)| !value.is_finite());
        if let Some((t, value)) = bad.next() {
            problems.push(format!(
                "input `{}` is {value} at sample {t} (and at {} more); expected finite numbers: inputs are known at every sample",
                input.quantity.name,
                bad.count()
            ));
        }
    }
}

fn identifier_problem(what: &str, id: &str, problems: &mut Vec<String>) {
    if id.is_empty() {
        problems.push(format!("{what} id is empty; expected a name"));
    } else if id.chars().any(char::is_control) {
        problems.push(format!("{what} id {id:?} has a control character; expected printable text"));
    }
}

/// What is wrong with `key` following `previous` in a split, if anything.
pub(crate) fn order_problem(previous: Option<(&str, &str)>, key: (&str, &str)) -> Option<String> {
    let previous = previous?;
    if previous == key {
        Some("stands twice; expected each (environment, trajectory) once in a split".to_owned())
    } else if previous > key {
        Some(format!(
            "follows environment `{}`, trajectory `{}`; expected ascending (environment, trajectory)",
            previous.0, previous.1
        ))
    } else {
        None
    }
}

/// A group of splits in which an environment id names the same environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Population {
    /// `train`, `validation`, `test`.
    Training,
    /// `adapt`, `adapt_test`.
    Adaptation,
    /// `grid`.
    Grid,
    /// `calibrate`.
    Calibration,
}

impl Population {
    pub(crate) fn of_split(split: Split) -> Self {
        match split {
            Split::Train | Split::Validation | Split::Test => Population::Training,
            Split::Adapt | Split::AdaptTest => Population::Adaptation,
            Split::Grid => Population::Grid,
            Split::Calibrate => Population::Calibration,
        }
    }
}

/// What is wrong if two trajectories of one environment have these parameters, if anything.
pub(crate) fn parameters_problem(known: &[Option<f64>], here: &[Option<f64>]) -> Option<String> {
    (known != here).then(|| {
        format!(
            "parameters are {}; expected {} as in the environment's other trajectories",
            list_of(here),
            list_of(known)
        )
    })
}

fn list_of(parameters: &[Option<f64>]) -> String {
    let values: Vec<_> =
        parameters.iter().map(|value| value.map_or("unknown".to_owned(), |value| value.to_string())).collect();
    format!("[{}]", values.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_problem_is_named_at_once() {
        let quantity = |name: &str| json!({ "name": name });
        let manifest = json!({
            "format": { "major": 2, "minor": 0 }, "kind": "dataset", "name": "n", "description": "", "license": "unknown",
            "provenance": { "tool": "", "stage": "import", "configuration": null, "seed": null, "parents": [] },
            "time_unit": "s", "channels": [quantity("x"), quantity("y")], "parameters": [quantity("k")],
            "inputs": [quantity("u")], "data_tolerance": null, "splits": {}, "files": [],
        });
        let manifest: Manifest = serde_json::from_value(manifest).expect("a manifest");
        let trajectory = Trajectory {
            environment: String::new(),
            trajectory: "a\u{0}".to_owned(),
            parameters: vec![Some(f64::INFINITY)],
            times: vec![0.0, 1.0, 1.0],
            states: vec![0.0, 1.0, f64::NAN, f64::NAN, f64::NEG_INFINITY, f64::NAN],
            inputs: vec![0.0, f64::NAN, f64::INFINITY],
        };
        let problems = trajectory_problems(&trajectory, &manifest, Split::Train);
        for part in [
            "environment id is empty",
            "control character",
            "`k` is inf",
            "of sample 2",
            "`x` is -inf at sample 2",
            "`u` is NaN at sample 1 (and at 1 more)",
        ] {
            assert!(problems.iter().any(|problem| problem.contains(part)), "{part}: {problems:?}");
        }
        assert_eq!(problems.len(), 6);
        let none = trajectory_problems(&Trajectory { inputs: Vec::new(), ..trajectory }, &manifest, Split::Train);
        assert!(none.iter().any(|problem| problem.starts_with("0 input values; expected 3")), "{none:?}");
    }

    #[test]
    fn order_is_by_environment_then_trajectory() {
        assert_eq!(order_problem(None, ("b", "1")), None);
        assert_eq!(order_problem(Some(("a", "2")), ("b", "1")), None);
        assert!(order_problem(Some(("b", "1")), ("b", "1")).is_some_and(|problem| problem.contains("twice")));
        assert!(order_problem(Some(("b", "1")), ("a", "2")).is_some_and(|problem| problem.contains("ascending")));
    }
}
