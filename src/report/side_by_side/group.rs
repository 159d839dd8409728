//! Runs in groups, and how groups differ.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::run::ComparedRun;
use crate::estimate::Status;

/// A figure over the runs of a group that have it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation, by the number of runs less one; absent for one run.
    pub std_dev: Option<f64>,
    /// The number of runs.
    pub runs: usize,
}

impl Spread {
    /// Of these values; `None` of none.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let runs = values.len();
        let mean = (runs > 0).then(|| values.iter().sum::<f64>() / runs as f64)?;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Spread { mean, std_dev: (runs > 1).then(|| (squares / (runs - 1) as f64).sqrt()), runs })
    }
}

/// Runs that differ in nothing but their seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The workspace of its first run, and how many others there are.
    pub name: String,
    /// Which of the kinds of data it is on, from 0.
    pub data: usize,
    /// In the order in which they were named.
    pub runs: Vec<ComparedRun>,
    /// Key figures by name.
    pub figures: BTreeMap<&'static str, Spread>,
    /// By parameter the median relative error of an estimate (percent).
    pub errors: BTreeMap<String, Spread>,
    /// Environments of each status, over all runs.
    pub statuses: BTreeMap<Status, usize>,
    /// Wall time by stage, in seconds.
    pub seconds: BTreeMap<String, Spread>,
}

impl Group {
    fn new(runs: Vec<ComparedRun>, data: usize) -> Self {
        let spread_of = |pairs: Vec<(String, f64)>| {
            let mut values = BTreeMap::<String, Vec<f64>>::new();
            pairs.into_iter().for_each(|(name, value)| values.entry(name).or_default().push(value));
            values.into_iter().filter_map(|(name, values)| Some((name, Spread::of(&values)?))).collect()
        };
        let mut figures = BTreeMap::<&str, Vec<f64>>::new();
        for (figure, value) in runs.iter().flat_map(ComparedRun::figures) {
            figures.entry(figure).or_default().push(value);
        }
        let mut statuses = BTreeMap::new();
        for (status, count) in runs.iter().filter_map(|run| run.evaluation.as_ref()).flat_map(|it| &it.statuses) {
            *statuses.entry(*status).or_default() += count;
        }
        let others = match runs.len() {
            1 => String::new(),
            2 => " and another".to_owned(),
            more => format!(" and {} others", more - 1),
        };
        Group {
            name: format!("{}{others}", runs[0].workspace),
            data,
            figures: figures.into_iter().filter_map(|(name, values)| Some((name, Spread::of(&values)?))).collect(),
            errors: spread_of(runs.iter().flat_map(|run| run.errors.clone()).collect()),
            seconds: spread_of(runs.iter().flat_map(|run| run.seconds.clone()).collect()),
            statuses,
            runs,
        }
    }

    /// The seeds of its runs, in words.
    pub(crate) fn seeds(&self) -> String {
        let seeds: Vec<String> = self.runs.iter().filter_map(|run| run.seed).map(|seed| seed.to_string()).collect();
        seeds.join(", ")
    }

    /// The value of a setting, which all of its runs share.
    pub fn setting(&self, key: &str) -> Option<&Value> {
        self.runs[0].settings.get(key)
    }
}

/// Groups of runs, and the settings in which they differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SideBySide {
    /// In the order in which their first runs were named.
    pub groups: Vec<Group>,
    /// Dotted keys of settings that are not the same in all groups.
    pub differing: Vec<String>,
    /// Kinds of data: how many there are.
    pub data: usize,
}

impl SideBySide {
    /// Of these runs, of which there is at least one.
    pub fn new(runs: Vec<ComparedRun>) -> Self {
        let mut origins: Vec<String> = Vec::new();
        let mut groups: Vec<(usize, Vec<ComparedRun>)> = Vec::new();
        for run in runs {
            let place = origins.iter().position(|origin| *origin == run.data.origin);
            let data = place.unwrap_or(origins.len());
            if place.is_none() {
                origins.push(run.data.origin.clone());
            }
            // A run of the same seed is no other draw: it stands by itself.
            let is_alike = |(of_data, group): &&mut (usize, Vec<ComparedRun>)| {
                *of_data == data
                    && group[0].settings == run.settings
                    && group.iter().all(|other| other.seed.is_some() && other.seed != run.seed)
            };
            match groups.iter_mut().find(is_alike) {
                Some((_, group)) => group.push(run),
                None => groups.push((data, vec![run])),
            }
        }
        let groups: Vec<Group> = groups.into_iter().map(|(data, runs)| Group::new(runs, data)).collect();
        let keys: BTreeSet<&String> = groups.iter().flat_map(|group| group.runs[0].settings.keys()).collect();
        let differs = |key: &&&String| groups.iter().any(|group| group.setting(key) != groups[0].setting(key));
        let differing = keys.iter().filter(differs).map(|key| (*key).clone()).collect();
        SideBySide { groups, differing, data: origins.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(workspace: &str, seed: u64, width: u64, origin: &str, validation: f64) -> ComparedRun {
        let mut run = ComparedRun { workspace: workspace.to_owned(), seed: Some(seed), ..ComparedRun::default() };
        run.settings = [("train.width", json!(width)), ("train.rate", json!(0.1))]
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        run.data.origin = origin.to_owned();
        run.validation = Some(validation);
        run
    }

    #[test]
    fn runs_are_averaged_over_seeds_and_over_nothing_else() {
        let compared = SideBySide::new(vec![
            run("a", 0, 8, "pairs", 1.0),
            run("b", 0, 16, "pairs", 5.0),
            run("c", 1, 8, "pairs", 2.0),
            run("d", 2, 8, "other pairs", 7.0),
            run("e", 2, 8, "pairs", 6.0),
            run("f", 2, 8, "pairs", 6.0),
        ]);
        let names: Vec<(&str, usize)> = compared.groups.iter().map(|it| (it.name.as_str(), it.data)).collect();
        assert_eq!(names, [("a and 2 others", 0), ("b", 0), ("d", 1), ("f", 0)]);
        // Mean 3 and variance (4 + 1 + 9) / 2.
        let spread = compared.groups[0].figures["mse_validation"];
        assert_eq!((spread.mean, spread.runs), (3.0, 3));
        approx::assert_relative_eq!(spread.std_dev.unwrap(), 7f64.sqrt(), max_relative = 1e-15);
        assert_eq!(compared.groups[1].figures["mse_validation"].std_dev, None);
        assert_eq!((compared.differing.as_slice(), compared.data), (["train.width".to_owned()].as_slice(), 2));
    }
}
