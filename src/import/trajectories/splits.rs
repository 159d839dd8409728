//! Assigns trajectories to splits.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use super::segment::END_SUFFIX;
use super::set::Trajectories;
use crate::import::settings::{Selection, Settings, Splits};
use crate::problems::{Kind, Problem, Problems, listing, shown, suggestion};
use crate::random::Stream;
use crate::schema::Split;

/// The positions of the trajectories of each split, ascending.
pub(crate) type Assignment = BTreeMap<Split, Vec<usize>>;

/// Assigns every trajectory to a split; those with too few samples to train on are left out, with a warning.
pub(crate) fn assign(
    settings: &Settings,
    table: &Trajectories,
    warnings: &mut Vec<Problem>,
    problems: &mut Problems,
) -> Assignment {
    let splits = &settings.splits;
    let all = splits.estimates_all();
    let environments = table.environments();
    let id = |of_one: &Range<usize>| table.environment(of_one.start);
    for (key, named) in [("adapt", &splits.adapt), ("calibrate", &splits.calibrate)] {
        for (index, environment) in named.iter().enumerate().filter(|_| !all) {
            if environments.binary_search_by(|of_one| id(of_one).cmp(environment)).is_err() {
                let found = format!("no environment {}", shown(environment));
                let remedy = suggestion(environment, environments.iter().map(id));
                let expected = match settings.fields {
                    Some(_) => "an environment of the files",
                    None => "an environment of the table",
                };
                let problem = Problem::new(Kind::UnknownEnvironment, found, expected, remedy);
                problems.push(problem.setting(format!("import.splits.{key}[{index}]")));
            }
        }
    }
    let [adapt, calibrate] =
        [&splits.adapt, &splits.calibrate].map(|named| named.iter().map(String::as_str).collect::<BTreeSet<_>>());
    let (new, others): (Vec<_>, Vec<_>) =
        environments.into_iter().partition(|of_one| all || adapt.contains(id(of_one)));
    let (known, training): (Vec<_>, Vec<_>) = others.into_iter().partition(|of_one| calibrate.contains(id(of_one)));
    let has_training = !training.is_empty();

    let cut = match (settings.table.split_gap, settings.table.split_length) {
        (Some(_), _) => Some("split_gap"),
        (None, Some(_)) => Some("split_length"),
        (None, None) => None,
    };
    let is_whole = problems.is_empty();
    let mut chooser = Chooser { splits, table, cut, is_whole, assignment: Assignment::new(), problems };
    if !all {
        let held_out = [(Split::Validation, &splits.validation), (Split::Test, &splits.test)];
        let (training, short) = chooser.by_length(training);
        if training.is_empty() && !short.is_empty() {
            let found = chooser.too_short(&short, "nothing is left to train on: give them more samples");
            chooser.problems.push(found);
        } else if !short.is_empty() {
            let remedy = "they are left out of training, as they show no motion; name their environments in \
                          `import.splits.adapt` to have them among the estimates";
            warnings.push(chooser.too_short(&short, remedy));
        }
        chooser.choose(&training, Split::Train, &held_out);
    }
    let new: Vec<Vec<usize>> = new.into_iter().map(Iterator::collect).collect();
    if chooser.is_whole
        && !new.is_empty()
        && !new.iter().flatten().any(|&segment| chooser.is_long_enough(segment, Split::Train))
    {
        let short: Vec<usize> = new.iter().flatten().copied().collect();
        warnings.push(chooser.too_short(&short, "no environment can be estimated: give them more samples"));
    }
    chooser.choose(&new, Split::Adapt, &[(Split::AdaptTest, &splits.adapt_test)]);
    let known: Vec<Vec<usize>> = known.into_iter().map(Iterator::collect).collect();
    chooser.choose(&known, Split::Calibrate, &[]);
    if !has_training && !all {
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

/// Most trajectories that a problem names.
const NAMED: usize = 12;

/// Reports trajectories whose samples are in two splits: a model would be judged on what it was trained on.
pub(crate) fn report_repeated(assignment: &Assignment, table: &Trajectories, problems: &mut Problems) {
    if assignment.len() < 2 {
        return;
    }
    let mut places: HashMap<[u8; 32], (Split, usize)> = HashMap::new();
    for (&split, segments) in assignment {
        for &position in segments {
            let segment = &table.segments[position];
            let Some(place) = segment.first else { continue };
            let first = *places.entry(segment.digest).or_insert((split, position));
            if first.0 != split {
                let found = format!(
                    "the samples of trajectory {} of environment {} in `{}` again as trajectory {} of environment {} in `{split}`",
                    shown(&table.id(first.1)),
                    shown(table.environment(first.1)),
                    first.0,
                    shown(&table.id(position)),
                    shown(table.environment(position))
                );
                let remedy = "remove one of the two, or put them into one split";
                let problem = Problem::new(Kind::RepeatedSamples, found, "splits that share no samples", remedy);
                problems.push(problem.file(&table.files[place.file()].path).line(place.line()));
            }
        }
    }
}

/// Distributes the trajectories of environments among splits.
struct Chooser<'a> {
    splits: &'a Splits,
    table: &'a Trajectories,
    /// The setting by which records are cut.
    cut: Option<&'static str>,
    /// Whether no row was left out because of a problem; else trajectories that are too short are not reported.
    is_whole: bool,
    assignment: Assignment,
    problems: &'a mut Problems,
}

impl Chooser<'_> {
    fn is_long_enough(&self, segment: usize, split: Split) -> bool {
        !self.is_whole || self.table.segments[segment].samples.len() >= split.fewest_samples()
    }

    /// The trajectories of each environment that are long enough to train on, and all that are not.
    fn by_length(&self, environments: Vec<Range<usize>>) -> (Vec<Vec<usize>>, Vec<usize>) {
        let mut short = Vec::new();
        let mut long = |of_one: Range<usize>| {
            let (long, rest): (Vec<_>, Vec<_>) =
                of_one.partition(|&segment| self.is_long_enough(segment, Split::Train));
            short.extend(rest);
            long
        };
        let all: Vec<Vec<usize>> = environments.into_iter().map(&mut long).filter(|long| !long.is_empty()).collect();
        (all, short)
    }

    /// The problem with trajectories of too few samples.
    fn too_short(&self, short: &[usize], remedy: &str) -> Problem {
        let name = |&segment: &usize| format!("{} of {}", self.table.id(segment), self.table.environment(segment));
        let more = if short.len() > NAMED { ", .." } else { "" };
        let names = listing(&short.iter().take(NAMED).map(name).collect::<Vec<_>>()) + more;
        let found = match short {
            [one] if self.table.segments[*one].samples.is_empty() => format!("no sample of trajectory {names}"),
            [_] => format!("a single sample of trajectory {names}"),
            _ => format!("{} trajectories of one sample or none: {names}", short.len()),
        };
        let remedy = match self.cut {
            Some(key) => format!("{remedy}, or choose a longer `import.table.{key}`"),
            None => remedy.to_owned(),
        };
        let problem = Problem::new(Kind::ShortTrajectory, found, "at least two samples", remedy);
        match short.first().and_then(|&segment| self.table.segments[segment].first) {
            Some(place) => problem.file(&self.table.files[place.file()].path).line(place.line()),
            None => problem.setting("import.splits"),
        }
    }

    /// Holds some trajectories of each of `environments` out, and puts the others into `rest`.
    fn choose(&mut self, environments: &[Vec<usize>], rest: Split, held_out: &[(Split, &Selection)]) {
        if environments.is_empty() {
            return;
        }
        let mistaken = self.report_ids(environments, held_out);
        let mut exhausted = Vec::new();
        for trajectories in environments {
            let mut left = trajectories.clone();
            for &(split, selection) in held_out {
                let chosen = self.chosen(split, selection, &left, trajectories.len());
                left.retain(|segment| chosen.binary_search(segment).is_err());
                if !chosen.is_empty() {
                    self.assignment.entry(split).or_default().extend(chosen);
                }
            }
            if left.is_empty() {
                exhausted.push(self.table.environment(trajectories[0]));
            }
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

    /// Reports ids that match no trajectory, and ids in two selections; returns the splits with such ids.
    fn report_ids(&mut self, environments: &[Vec<usize>], held_out: &[(Split, &Selection)]) -> BTreeSet<Split> {
        let mut mistaken = BTreeSet::new();
        let mut owner: BTreeMap<&str, Split> = BTreeMap::new();
        let table = self.table;
        let all = || environments.iter().flatten().map(|&segment| (table.environment(segment), table.id(segment)));
        for &(split, selection) in held_out {
            for (index, id) in selection.trajectories.iter().enumerate() {
                let key = format!("import.splits.{split}.trajectories[{index}]");
                if let Some(first) = owner.insert(id, split) {
                    let found = format!("{}, which is in `{first}` already", shown(id));
                    let problem = Problem::new(Kind::Setting, found, "each trajectory once", "remove one of the two");
                    self.problems.push(problem.setting(key));
                    mistaken.insert(split);
                } else if !all().any(|(environment, trajectory)| is_named(id, environment, &trajectory)) {
                    let found = format!("no trajectory {} in the environments concerned", shown(id));
                    let expected = "the id of a trajectory, as `TRAJECTORY` or `ENVIRONMENT/TRAJECTORY`";
                    let ids: BTreeSet<_> = all().map(|(_, trajectory)| trajectory).collect();
                    let remedy = suggestion(id, ids.iter().map(AsRef::as_ref));
                    let problem = Problem::new(Kind::UnknownTrajectory, found, expected, remedy);
                    self.problems.push(problem.setting(key));
                    mistaken.insert(split);
                }
            }
        }
        mistaken
    }

    /// The trajectories of one environment for one split, ascending, out of those `left` of its `count`.
    fn chosen(&self, split: Split, selection: &Selection, left: &[usize], count: usize) -> Vec<usize> {
        let Chooser { splits, table, .. } = self;
        let able = left.iter().copied().filter(|&segment| self.is_long_enough(segment, split));
        if selection.last.is_some() {
            return able.filter(|&segment| table.id(segment).ends_with(END_SUFFIX)).collect();
        }
        let Some(fraction) = selection.fraction else {
            let named = |&segment: &usize| {
                let (environment, trajectory) = (table.environment(segment), table.id(segment));
                selection.trajectories.iter().any(|id| is_named(id, environment, &trajectory))
            };
            return able.filter(named).collect();
        };
        let seed = splits.seed.unwrap_or_default();
        let wanted = ((fraction * count as f64) as usize).max(1).min(left.len().saturating_sub(1));
        let mut drawn: Vec<(f64, usize)> =
            able.map(|segment| (draw(seed, split, table.environment(segment), &table.id(segment)), segment)).collect();
        drawn.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut chosen: Vec<usize> = drawn.into_iter().take(wanted).map(|(_, segment)| segment).collect();
        chosen.sort_unstable();
        chosen
    }
}

/// Whether `id`, a trajectory's or `ENVIRONMENT/TRAJECTORY`, is that of a trajectory.
fn is_named(id: &str, environment: &str, trajectory: &str) -> bool {
    let rest = id.strip_prefix(environment).and_then(|rest| rest.strip_prefix('/'));
    id == trajectory || rest == Some(trajectory)
}

/// A random number for a trajectory. It is keyed by the trajectory's ids, so environments and trajectories that are added later do not
/// change those of the others.
fn draw(seed: u64, split: Split, environment: &str, trajectory: &str) -> f64 {
    Stream::new(seed, &format!("{:?}", (split.name(), environment, trajectory)), &[]).unit()
}
