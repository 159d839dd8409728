//! The rules that a trajectory keeps, whoever wrote it: the writer refuses what breaks them, and so does the reader.

use crate::schema::{Grid, Quantity, Split, StateShape, Trajectory};

/// What is wrong with a trajectory of a dataset with these channels, this grid and these parameters; a sentence each.
pub(super) fn trajectory_problems(
    trajectory: &Trajectory,
    channels: &[Quantity],
    grid: Option<&Grid>,
    parameters: &[Quantity],
) -> Vec<String> {
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
    if trajectory.len() < 2 {
        problems.push(format!("{} samples; expected at least 2", trajectory.len()));
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
    let state = StateShape::new(channels.len(), grid);
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

fn identifier_problem(what: &str, id: &str, problems: &mut Vec<String>) {
    if id.is_empty() {
        problems.push(format!("{what} id is empty; expected a name"));
    } else if id.chars().any(char::is_control) {
        problems.push(format!("{what} id {id:?} has a control character; expected printable text"));
    }
}

/// What is wrong with the place of `key` after `previous` in its split, if anything.
pub(super) fn order_problem(previous: Option<(&str, &str)>, key: (&str, &str)) -> Option<String> {
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

/// The splits within which an environment id means one and the same environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Population {
    Training,
    Adaptation,
    Grid,
}

impl Population {
    pub(super) fn of(split: Split) -> Self {
        match split {
            Split::Train | Split::Validation | Split::Test => Population::Training,
            Split::Adapt | Split::AdaptTest => Population::Adaptation,
            Split::Grid => Population::Grid,
        }
    }
}

/// What is wrong if one environment has both these sets of parameters, if anything.
pub(super) fn parameters_problem(known: &[Option<f64>], here: &[Option<f64>]) -> Option<String> {
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
    use super::*;

    #[test]
    fn every_problem_is_named_at_once() {
        let channels = [Quantity::new("x", "m", ""), Quantity::new("y", "m", "")];
        let parameters = [Quantity::new("k", "1", "")];
        let trajectory = Trajectory {
            environment: String::new(),
            trajectory: "a\u{0}".to_owned(),
            parameters: vec![Some(f64::INFINITY)],
            times: vec![0.0, 1.0, 1.0],
            states: vec![0.0, 1.0, f64::NAN, f64::NAN, f64::NEG_INFINITY, f64::NAN],
            inputs: Vec::new(),
        };
        let problems = trajectory_problems(&trajectory, &channels, None, &parameters);
        for part in
            ["environment id is empty", "control character", "`k` is inf", "of sample 2", "`x` is -inf at sample 2"]
        {
            assert!(problems.iter().any(|problem| problem.contains(part)), "{part}: {problems:?}");
        }
        assert_eq!(problems.len(), 5);
    }

    #[test]
    fn order_is_by_environment_then_trajectory() {
        assert_eq!(order_problem(None, ("b", "1")), None);
        assert_eq!(order_problem(Some(("a", "2")), ("b", "1")), None);
        assert!(order_problem(Some(("b", "1")), ("b", "1")).is_some_and(|problem| problem.contains("twice")));
        assert!(order_problem(Some(("b", "1")), ("a", "2")).is_some_and(|problem| problem.contains("ascending")));
    }
}
