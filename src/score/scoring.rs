//! The figures of predictions.
//!
//! ```text
//! mse_in_domain     mean of (z - y)^2 over all values of the test split
//! mape_in_domain    mean of 100 |z - y| / |y| over its values y != 0
//! mse_adaptation    mean over environments of the mean of (z - y)^2 over their values of the adapt_test split
//! param_mape        mean over environments of the mean over parameters p != 0 of 100 |q - p| / |p|
//! ```
//!
//! `y` the values of a dataset in its units, but for those of each trajectory's first complete sample, from which predictions start, and of earlier
//! ones; `z` predictions at their times; `p` known parameters, `q` estimates. The hull is that of the known parameters of the train split.
//! Source: Kirchmeyer et al., ICML 2022, section 5, as [`Evaluation`](crate::estimate::Evaluation).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::fields;
use super::fields::Fields;
use super::predictions::{Numbers, Table, in_words, others, table_at, table_names};
use crate::dataset::{Dataset, Error, IndexEntry};
use crate::estimate::Hull;
use crate::estimate::table::errors::{Mean, PredictionErrors};
use crate::estimate::table::evaluation::ParameterErrors;
use crate::estimate::table::row::parameter_mape;
use crate::forecast::ROUNDING;
use crate::problems::{Kind, Problem, Problems};
use crate::schema::{Quantity, Split, Trajectory};

/// The tables of parameters, the first of which that is there is scored, as the program's own estimates are.
const PARAMETERS: [(&str, Split); 2] = [("parameters_grid", Split::Grid), ("parameters_adapt", Split::Adapt)];

/// The splits whose trajectories are scored.
const SCORED: [Split; 2] = [Split::Test, Split::AdaptTest];

/// The figures of predictions; none where a file is left out, or lacks something.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Score {
    /// Name of the dataset.
    pub dataset: String,
    /// SHA-256 of its manifest.
    pub dataset_sha256: String,
    /// Mean squared error on the test split.
    pub mse_in_domain: Option<f64>,
    /// Mean absolute percentage error on the test split, values of zero left out.
    pub mape_in_domain: Option<f64>,
    /// Mean over environments of the mean squared error on the adapt_test split.
    pub mse_adaptation: Option<f64>,
    /// The split that parameters are scored on.
    pub parameter_split: Option<Split>,
    /// Mean absolute percentage error of the parameters (percent), environments in the convex hull of the training environments.
    pub param_mape_in_hull: Option<f64>,
    /// The same outside of the hull.
    pub param_mape_out_of_hull: Option<f64>,
    /// The same over all environments with known parameters.
    pub param_mape_overall: Option<f64>,
    /// Environments of the parameter split in the hull.
    pub environments_in_hull: Option<usize>,
    /// Environments of the parameter split outside of the hull.
    pub environments_out_of_hull: Option<usize>,
}

/// A score, and what is to be said of the predictions.
pub struct Scored {
    /// The figures.
    pub score: Score,
    /// Everything that is missing or wrong; with any, figures are left out.
    pub problems: Vec<Problem>,
    /// Names in the directory that are no tables of predictions.
    pub not_read: Vec<String>,
    /// Tables that were read.
    pub tables: usize,
}

/// What is predicted of a split.
enum Predicted {
    Samples(Table),
    Fields(Fields),
}

impl Predicted {
    fn path(&self) -> &Path {
        match self {
            Predicted::Samples(table) => &table.path,
            Predicted::Fields(fields) => fields.path(),
        }
    }
}

/// Scores the tables in the directory `predictions`; of fields, the HDF5 files of trajectories there.
///
/// # Errors
/// If the dataset or the directory cannot be read, or a file of fields is not shaped as the dataset's.
pub fn score(dataset: &Dataset, predictions: &Path) -> Result<Scored, Error> {
    let manifest = dataset.manifest();
    let of_split = |split: Split| match manifest.grid.is_some() {
        true => fields::names(dataset, split),
        false => table_names(split.name()),
    };
    let of_parameters = PARAMETERS.into_iter().flat_map(|(name, _)| table_names(name));
    let names: Vec<String> = SCORED.into_iter().flat_map(of_split).chain(of_parameters).collect();
    let not_read = others(predictions, &names).map_err(|source| Error::Io { path: predictions.to_owned(), source })?;
    let mut score =
        Score { dataset: manifest.name.clone(), dataset_sha256: dataset.content_hash().to_owned(), ..Score::default() };
    let (mut problems, mut tables) = (Problems::default(), 0);
    for split in SCORED {
        let before = problems.len();
        let predicted = if manifest.grid.is_some() {
            let Some(fields) = Fields::open(dataset, split, predictions)? else { continue };
            tables += 1;
            Predicted::Fields(fields)
        } else {
            let Some(path) = table_at(predictions, split.name(), &mut problems) else { continue };
            tables += 1;
            let time = ("time", manifest.time_unit.as_str());
            let columns: Vec<(&str, &str)> = std::iter::once(time).chain(units_of(&manifest.channels)).collect();
            let ids = ["environment", "trajectory"];
            let Some(table) = Table::read(&path, &ids, &columns, &mut problems) else { continue };
            Predicted::Samples(table)
        };
        let errors = trajectory_errors(dataset, split, &predicted, &mut problems)?;
        if problems.len() > before {
            continue;
        }
        let mean = match split {
            Split::Test => Some(errors.all.mean_square()).filter(|_| errors.all.count() > 0),
            _ => errors.of_environments.mean(),
        };
        if mean.is_some_and(|mean| !mean.is_finite()) {
            let found =
                format!("predictions of {split} so far off that the mean of their squares is beyond all numbers");
            let problem = Problem::new(Kind::NotANumber, found, "a finite error", "look at what was written");
            problems.push(problem.file(predicted.path()));
            continue;
        }
        match split {
            Split::Test => (score.mse_in_domain, score.mape_in_domain) = (mean, errors.all.mape()),
            _ => score.mse_adaptation = mean,
        }
    }
    for (name, split) in PARAMETERS {
        let Some(path) = table_at(predictions, name, &mut problems) else { continue };
        tables += 1;
        if !manifest.splits.contains_key(&split) {
            problems.push(without_split(split, &path));
            continue;
        }
        let columns: Vec<(&str, &str)> = units_of(&manifest.parameters).collect();
        let table = Table::read(&path, &["environment"], &columns, &mut problems);
        if let Some(table) = table.filter(|_| score.parameter_split.is_none()) {
            score.parameter_split = Some(split);
            add_parameters(dataset, split, &table, &mut score, &mut problems)?;
        }
    }
    Ok(Scored { score, problems: problems.into_vec(), not_read, tables })
}

fn units_of(quantities: &[Quantity]) -> impl Iterator<Item = (&str, &str)> {
    quantities.iter().map(|it| (it.name.as_str(), it.unit.as_str()))
}

fn without_split(split: Split, path: &Path) -> Problem {
    let found = format!("predictions of {split}, which the dataset does not have");
    Problem::new(Kind::EmptySplit, found, "a split of the dataset", "remove it").file(path)
}

/// Errors of trajectories.
#[derive(Default)]
struct TrajectoryErrors {
    /// Over all values.
    all: PredictionErrors,
    /// Of the mean squares of environments.
    of_environments: Mean,
}

/// The errors of what is predicted on a split; adds a problem for everything that lacks a prediction.
fn trajectory_errors(
    dataset: &Dataset,
    split: Split,
    predicted: &Predicted,
    problems: &mut Problems,
) -> Result<TrajectoryErrors, Error> {
    let index = if dataset.manifest().splits.contains_key(&split) { dataset.index(split)? } else { Vec::new() };
    if index.is_empty() {
        problems.push(without_split(split, predicted.path()));
        return Ok(TrajectoryErrors::default());
    }
    if let Predicted::Samples(table) = predicted {
        let ids = |it: &IndexEntry| vec![it.environment.clone(), it.trajectory.clone()];
        table.check_ids(&index.iter().map(ids).collect(), problems);
    }
    let mut rows_of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (row, entry) in index.iter().enumerate() {
        rows_of.entry(&entry.environment).or_default().push(row);
    }
    let mut errors = TrajectoryErrors::default();
    for rows in rows_of.values() {
        let mut of_environment = PredictionErrors::default();
        for (row, trajectory) in rows.iter().zip(dataset.read_rows(split, rows)?) {
            let of_trajectory = match predicted {
                Predicted::Samples(table) => pairs_of(trajectory, table, problems),
                Predicted::Fields(fields) => fields.pairs_of(*row, &trajectory, problems)?,
            };
            for (predicted, observed) in of_trajectory {
                of_environment.add_value(predicted, observed);
                errors.all.add_value(predicted, observed);
            }
        }
        if of_environment.count() > 0 {
            errors.of_environments.add(of_environment.mean_square());
        }
    }
    Ok(errors)
}

/// Predicted and observed values of a trajectory, those that are missing in either left out; adds a problem for those that are not predicted.
fn pairs_of(trajectory: Trajectory, table: &Table, problems: &mut Problems) -> Vec<(f64, f64)> {
    let key = vec![trajectory.environment.clone(), trajectory.trajectory.clone()];
    // Without a complete sample there is nothing to start from.
    let Some(trajectory) = trajectory.from_start() else { return Vec::new() };
    let channels = trajectory.channels();
    let samples = trajectory.times.iter().zip(trajectory.states.chunks_exact(channels)).skip(1);
    let mut wanted = samples.filter(|(_, state)| state.iter().any(|value| !value.is_nan())).peekable();
    if wanted.peek().is_none() {
        return Vec::new();
    }
    let lack = |what: String, problems: &mut Problems| {
        let remedy = "add the row; a figure has no value without it";
        let problem = Problem::new(Kind::MissingValue, what, "a prediction of every value that is scored", remedy);
        problems.push(problem.file(&table.path));
    };
    let Some(rows) = table.rows.get(&key) else {
        lack(format!("nothing of {}", in_words(&key)), problems);
        return Vec::new();
    };
    let length = trajectory.times[trajectory.times.len() - 1] - trajectory.times[0];
    let mut pairs = Vec::new();
    for (time, state) in wanted {
        let near = rows_at(rows, *time, ROUNDING * length);
        let distance = |row: &&Numbers| (row.values[0] - time).abs();
        let Some(row) = near.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))) else {
            lack(format!("no time {time} of {}", in_words(&key)), problems);
            continue;
        };
        // Equal times were told as the table was read.
        if let Some([first, again]) = near.windows(2).find(|pair| pair[0].values[0] != pair[1].values[0]) {
            let [before, after] = [first, again].map(|row| row.values[0]);
            let found = format!("{} at the times {before} and {after}, which are one but for rounding", in_words(&key));
            let remedy = format!("remove one of the two rows (the other is in line {})", first.line);
            let problem = Problem::new(Kind::DuplicateTime, found, "each time once", remedy);
            problems.push(problem.file(&table.path).line(again.line));
        }
        for (observed, predicted) in state.iter().zip(&row.values[1..]).filter(|(observed, _)| !observed.is_nan()) {
            match !predicted.is_finite() {
                true => lack(format!("no number at time {time} (line {}) of {}", row.line, in_words(&key)), problems),
                false => pairs.push((*predicted, *observed)),
            }
        }
    }
    pairs
}

/// The rows within `slack` of a time.
fn rows_at(rows: &[Numbers], time: f64, slack: f64) -> &[Numbers] {
    let rows = &rows[rows.partition_point(|row| row.values[0] < time - slack)..];
    &rows[..rows.partition_point(|row| row.values[0] <= time + slack)]
}

/// Adds the errors of parameters; a figure that lacks an environment stays without a value.
fn add_parameters(
    dataset: &Dataset,
    split: Split,
    table: &Table,
    score: &mut Score,
    problems: &mut Problems,
) -> Result<(), Error> {
    let splits = &dataset.manifest().splits;
    let of_split = |split: Split| -> Result<BTreeMap<String, Vec<Option<f64>>>, Error> {
        let index = if splits.contains_key(&split) { dataset.index(split)? } else { Vec::new() };
        Ok(index.into_iter().map(|it| (it.environment, it.parameters)).collect())
    };
    let points = of_split(Split::Train)?.into_values().filter_map(|it| it.into_iter().collect::<Option<Vec<f64>>>());
    let hull = Hull::new(points.collect());
    let environments = of_split(split)?;
    let are_known = table.check_ids(&environments.keys().map(|id| vec![id.clone()]).collect(), problems);
    // What stands twice, or belongs to nothing, may be of any of them.
    let (mut errors, mut lacks) = (ParameterErrors::default(), [table.repeats || !are_known; 3]);
    for (id, truth) in environments.iter().filter(|(_, truth)| truth.iter().flatten().any(|truth| *truth != 0.0)) {
        let in_hull = hull.holds(truth);
        let row = table.rows.get(&vec![id.clone()]).and_then(|rows| rows.first());
        let mape = row.and_then(|row| parameter_mape(row.values.iter().copied().zip(truth.iter().copied())));
        match mape {
            Some(mape) => errors.add(mape, in_hull),
            None => {
                let what = if row.is_some() { "a number of every known parameter" } else { "a row" };
                let remedy = "add it; a figure has no value without it";
                let found = format!("no such estimate of {}", in_words(&[id]));
                problems.push(Problem::new(Kind::MissingValue, found, what, remedy).file(&table.path));
                lacks[2] = true;
                lacks[0] |= in_hull == Some(true);
                lacks[1] |= in_hull == Some(false);
            }
        }
    }
    let ParameterErrors { in_hull, out_of_hull, overall } = &errors;
    let figure = |mean: &Mean, lacks: bool| mean.mean().filter(|_| !lacks);
    score.param_mape_in_hull = figure(in_hull, lacks[0]);
    score.param_mape_out_of_hull = figure(out_of_hull, lacks[1]);
    score.param_mape_overall = figure(overall, lacks[2]);
    (score.environments_in_hull, score.environments_out_of_hull) = (Some(in_hull.count), Some(out_of_hull.count));
    Ok(())
}
