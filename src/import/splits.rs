//! Which trajectories go to which split.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::problem::{Kind, Problem, Problems, listing, shown, suggestion};
use super::settings::{Selection, Splits};
use super::trajectories::Trajectories;
use crate::random::Stream;
use crate::schema::Split;

/// Environment and trajectory ids of each split, in ascending order.
pub(super) type Assignment = BTreeMap<Split, Vec<(String, String)>>;

/// Assigns every trajectory; `trajectories` are the ids by environment.
pub(super) fn assign(splits: &Splits, trajectories: &BTreeMap<&str, Vec<&str>>, problems: &mut Problems) -> Assignment {
    let all = splits.estimates_all();
    for (index, environment) in splits.adapt.iter().enumerate().filter(|_| !all) {
        if !trajectories.contains_key(environment.as_str()) {
            let found = format!("no environment {}", shown(environment));
            let remedy = suggestion(environment, trajectories.keys().copied());
            let problem = Problem::new(Kind::UnknownEnvironment, found, "an environment of the table", remedy);
            problems.push(problem.setting(format!("import.splits.adapt[{index}]")));
        }
    }
    let adapt: BTreeSet<&str> = splits.adapt.iter().map(String::as_str).collect();
    let (new, training): (Vec<_>, Vec<_>) =
        trajectories.iter().partition(|(environment, _)| all || adapt.contains(*environment));

    let mut chooser = Chooser { splits, assignment: Assignment::new(), problems };
    let held_out = [(Split::Validation, &splits.validation), (Split::Test, &splits.test)];
    if !all {
        chooser.choose(&training, Split::Train, &held_out);
    }
    chooser.choose(&new, Split::Adapt, &[(Split::AdaptTest, &splits.adapt_test)]);
    if training.is_empty() && !all {
        let problem = Problem::new(
            Kind::EmptySplit,
            "every environment of the table",
            "some environments to train on",
            "leave environments out of it, or write [\"*\"] where none is to train",
        );
        chooser.problems.push(problem.setting("import.splits.adapt"));
    }
    chooser.assignment
}

/// Ends the id of a trajectory's end that was cut off.
pub(super) const LAST: &str = ".last";

/// The share of an environment's trajectories to cut off their ends, each as a trajectory of its own.
pub(super) fn end_share(splits: &Splits, environment: &str) -> Option<f64> {
    match splits.estimates_all() || splits.adapt.iter().any(|id| id == environment) {
        true => splits.adapt_test.last,
        false => splits.validation.last.or(splits.test.last),
    }
}

/// Reports samples that stand in two splits: what is learned from one would be judged on itself.
pub(super) fn check_repeated(assignment: &Assignment, table: &Trajectories, problems: &mut Problems) {
    let mut places: HashMap<[u8; 32], (Split, &str, &str)> = HashMap::new();
    for (&split, ids) in assignment {
        for (environment, trajectory) in ids {
            let piece = &table.environments[environment][trajectory];
            let Some(place) = piece.first else { continue };
            let first = *places.entry(piece.digest).or_insert((split, environment, trajectory));
            if first.0 != split {
                let found = format!(
                    "the samples of trajectory {} of environment {} in `{}` again as trajectory {} of environment {} in `{split}`",
                    shown(first.2),
                    shown(first.1),
                    first.0,
                    shown(trajectory),
                    shown(environment)
                );
                let remedy = "remove one of the two, or put them into one split";
                let problem = Problem::new(Kind::RepeatedSamples, found, "splits that share no samples", remedy);
                problems.push(problem.file(&table.files[place.file()].path).line(place.line()));
            }
        }
    }
}

struct Chooser<'a> {
    splits: &'a Splits,
    assignment: Assignment,
    problems: &'a mut Problems,
}

impl Chooser<'_> {
    /// Puts the trajectories of `environments` into the splits that hold some out, and what is left into `rest`.
    fn choose(&mut self, environments: &[(&&str, &Vec<&str>)], rest: Split, held_out: &[(Split, &Selection)]) {
        if environments.is_empty() {
            return;
        }
        let mistaken = self.check_ids(environments, held_out);
        let mut exhausted = Vec::new();
        for &(environment, trajectories) in environments {
            let mut left: BTreeSet<&str> = trajectories.iter().copied().collect();
            for &(split, selection) in held_out {
                for trajectory in self.chosen(split, selection, environment, &left, trajectories.len()) {
                    left.remove(trajectory.as_str());
                    self.assignment.entry(split).or_default().push(((*environment).to_owned(), trajectory));
                }
            }
            if left.is_empty() {
                exhausted.push(*environment);
            }
            let left = left.into_iter().map(|trajectory| ((*environment).to_owned(), trajectory.to_owned()));
            self.assignment.entry(rest).or_default().extend(left);
        }
        if !exhausted.is_empty() {
            let found = format!("no trajectory left for `{rest}` in {}", listing(&exhausted));
            let remedy = "hold fewer of them out";
            let problem = Problem::new(Kind::EmptySplit, found, "at least one in every environment", remedy);
            self.problems.push(problem.setting("import.splits"));
        }
        for &(split, selection) in held_out {
            let asked = selection.ways() == 1 && !mistaken.contains(&split);
            if asked && !self.assignment.contains_key(&split) {
                let expected = match split {
                    Split::Validation => {
                        "at least one: without them training cannot tell when it overfits, and no model can be chosen"
                    }
                    _ => "at least one, as the settings ask for some",
                };
                let (found, remedy) = match selection.last {
                    Some(_) => (
                        "no trajectory of four samples, two to cut off and two to stay",
                        "hold whole trajectories out, or write `adapt = [\"*\"]` where nothing is to train",
                    ),
                    None => (
                        "no trajectories",
                        "name others; an environment with a single trajectory has none to spare but its end: `last = 0.25`",
                    ),
                };
                let problem = Problem::new(Kind::EmptySplit, found, expected, remedy);
                self.problems.push(problem.setting(format!("import.splits.{split}")));
            }
        }
    }

    /// Reports ids that match nothing, and ids in two selections; returns the splits that have some.
    fn check_ids(&mut self, environments: &[(&&str, &Vec<&str>)], held_out: &[(Split, &Selection)]) -> BTreeSet<Split> {
        let mut mistaken = BTreeSet::new();
        let mut owner: BTreeMap<&str, Split> = BTreeMap::new();
        let plain: BTreeSet<&str> =
            environments.iter().flat_map(|(_, trajectories)| trajectories.iter().copied()).collect();
        for &(split, selection) in held_out {
            for (index, id) in selection.trajectories.iter().enumerate() {
                let key = format!("import.splits.{split}.trajectories[{index}]");
                if let Some(first) = owner.insert(id, split) {
                    let found = format!("{}, which is in `{first}` already", shown(id));
                    let problem = Problem::new(Kind::Setting, found, "each trajectory once", "remove one of the two");
                    self.problems.push(problem.setting(key));
                    mistaken.insert(split);
                } else if !environments.iter().any(|(e, trajectories)| trajectories.iter().any(|t| is_named(id, e, t)))
                {
                    let found = format!("no trajectory {} in the environments concerned", shown(id));
                    let expected = "the id of a trajectory, as `TRAJECTORY` or `ENVIRONMENT/TRAJECTORY`";
                    let remedy = suggestion(id, plain.iter().copied());
                    let problem = Problem::new(Kind::UnknownTrajectory, found, expected, remedy);
                    self.problems.push(problem.setting(key));
                    mistaken.insert(split);
                }
            }
        }
        mistaken
    }

    /// Trajectories of one environment for one split, out of those `left` of its `count`.
    fn chosen(
        &self,
        split: Split,
        selection: &Selection,
        environment: &str,
        left: &BTreeSet<&str>,
        count: usize,
    ) -> Vec<String> {
        if selection.last.is_some() {
            let ends = left.iter().filter(|trajectory| trajectory.ends_with(LAST));
            return ends.map(|&trajectory| trajectory.to_owned()).collect();
        }
        let Some(fraction) = selection.fraction else {
            let named =
                |trajectory: &&&str| selection.trajectories.iter().any(|id| is_named(id, environment, trajectory));
            return left.iter().filter(named).map(|&trajectory| trajectory.to_owned()).collect();
        };
        let seed = self.splits.seed.unwrap_or_default();
        let wanted = ((fraction * count as f64) as usize).max(1).min(left.len().saturating_sub(1));
        let mut drawn: Vec<(f64, &str)> =
            left.iter().map(|&trajectory| (lot(seed, split, environment, trajectory), trajectory)).collect();
        drawn.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(b.1)));
        let mut chosen: Vec<String> =
            drawn.into_iter().take(wanted).map(|(_, trajectory)| trajectory.to_owned()).collect();
        chosen.sort();
        chosen
    }
}

fn is_named(id: &str, environment: &str, trajectory: &str) -> bool {
    let rest = id.strip_prefix(environment).and_then(|rest| rest.strip_prefix('/'));
    id == trajectory || rest == Some(trajectory)
}

/// A trajectory's lot depends on itself alone, so adding environments or trajectories later leaves the others' as they are.
fn lot(seed: u64, split: Split, environment: &str, trajectory: &str) -> f64 {
    Stream::new(seed, &format!("{:?}", (split.name(), environment, trajectory)), &[]).unit()
}
