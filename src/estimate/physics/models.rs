//! Several systems compared on one dataset: every environment fitted by each, and which the data prefer.
//!
//! ```text
//! AICc = AIC + 2 k (k + 1) / (n - k - 1),     w_m = exp(-D_m / 2) / sum_m' exp(-D_m' / 2),     D_m = AICc_m - min AICc
//! ```
//!
//! `k` unknowns, `n` observed values. Source: K. P. Burnham, D. R. Anderson, Model Selection and Multimodel Inference (2002), sections 2.4 and 2.9.

use std::collections::BTreeMap;
use std::path::Path;

use super::candidates::{Candidate, Systems};
use super::drawn::{Drawn, DrawnTrajectory, drawn};
use super::equations::Equations;
use super::estimator::{Estimator, resume as resume_one, run_rows as run_rows_of_one};
use super::replicates::Draws;
use super::shared::together::SharedFit;
use crate::blocks::{Rows, Store};
use crate::dataset::Dataset;
use crate::estimate::driver::{check_bounds, check_settings, estimate_rows, estimate_splits};
use crate::estimate::error::Error;
use crate::estimate::settings::Settings;
use crate::estimate::stream::Observed;
use crate::estimate::table::compared::{Compared, Comparison, compare};
use crate::estimate::table::estimated::Estimated;
use crate::estimate::table::evaluation::Evaluation;
use crate::estimate::table::output::{Outcome, Output};
use crate::estimate::table::row::{ParameterEstimate, Row, Status};
use crate::problems::Problems;
use crate::progress::Run;
use crate::schema::{Quantity, Split, Trajectory};

/// Estimates the parameters of every environment of the splits in `settings`, by one system or by each of several, and writes the table to
/// `directory`.
///
/// # Errors
/// See [`Error`]. An environment that cannot be fitted is no error: its row has a status.
pub fn run(settings: &Settings, dataset: &Dataset, directory: &Path, run: &Run) -> Result<Outcome, Error> {
    resume(settings, dataset, directory, None, run)
}

/// The same, behind the finished blocks in `store`, which takes further ones: whoever is stopped or killed, the next one goes on from there. The
/// table is the same byte for byte.
///
/// # Errors
/// As [`run`], and if a block cannot be written.
pub fn resume(
    settings: &Settings,
    dataset: &Dataset,
    directory: &Path,
    store: Option<&Store>,
    run: &Run,
) -> Result<Outcome, Error> {
    let candidates = settings.candidates().map_err(Error::Physics)?;
    if candidates.is_empty() {
        return resume_one(settings, dataset, directory, store, run);
    }
    check_bounds(settings)?;
    let several = Several::new(settings, &candidates, dataset, run)?;
    let models = &several.models;
    let output = Output::create(directory, dataset, None, &models.parameters, settings)?;
    let output = output.with_states(models.hidden.clone(), models.starts.clone()).with_own(models.own.clone());
    let output = output.with_noise(models.noise_terms.clone())?.with_models(models.names.clone())?;
    let block = |split, block: Vec<Observed>| several.block(split, &block);
    estimate_splits(settings, (dataset, store), output, Evaluation::default(), run, &block).map(|(outcome, _)| outcome)
}

/// Estimates some rows alone and keeps them in `store`, for [`resume`] to put together; the number of environments of each status.
///
/// # Errors
/// As [`resume`].
pub fn run_rows(
    settings: &Settings,
    dataset: &Dataset,
    rows: &[Rows],
    store: &Store,
    run: &Run,
) -> Result<BTreeMap<Status, usize>, Error> {
    let candidates = settings.candidates().map_err(Error::Physics)?;
    if candidates.is_empty() {
        return run_rows_of_one(settings, dataset, rows, store, run);
    }
    check_bounds(settings)?;
    let several = Several::new(settings, &candidates, dataset, run)?;
    estimate_rows(dataset, rows, store, run, &|split, block| several.block(split, &block))
}

/// The estimators of several systems.
struct Several<'a> {
    estimators: Vec<Estimator<'a>>,
    models: Models,
    /// By system and split: what all environments share.
    shared: Vec<BTreeMap<Split, SharedFit>>,
}

impl<'a> Several<'a> {
    fn new(
        settings: &Settings,
        candidates: &'a [Candidate],
        dataset: &'a Dataset,
        run: &Run<'a>,
    ) -> Result<Self, Error> {
        let (estimators, models) = estimators(candidates, dataset, run)?;
        check_settings(settings, dataset, &[models.parameters.as_slice(), &models.own].concat())?;
        let of_splits = estimators.iter().zip(candidates);
        let of_splits = of_splits.map(|(it, candidate)| it.shared_of_splits(dataset, &candidate.settings.splits, run));
        let shared = of_splits.collect::<Result<_, Error>>()?;
        Ok(Several { estimators, models, shared })
    }

    /// The estimates of a block of environments by the system that the data of each prefer.
    fn block(&self, split: Split, block: &[Observed]) -> Result<Vec<Estimated>, Error> {
        let mut by_model = Vec::new();
        for (estimator, shared) in self.estimators.iter().zip(&self.shared) {
            by_model.push(estimator.block(split, block.to_vec(), shared.get(&split))?.into_iter());
        }
        let environments = block.iter().map(|_| {
            let of_environment: Vec<Estimated> = by_model.iter_mut().filter_map(Iterator::next).collect();
            self.models.compared(of_environment)
        });
        Ok(environments.collect())
    }
}

/// The settings and the row of the system that a row is by; both as they are where one system is fitted.
///
/// # Errors
/// If the equations do not suit the dataset.
pub(crate) fn of_row(settings: &Settings, dataset: &Dataset, row: &Row, run: &Run) -> Result<(Settings, Row), Error> {
    let systems = Systems::new(settings)?;
    if !systems.are_compared {
        return Ok((settings.clone(), row.clone()));
    }
    let (_, models) = estimators(&systems.candidates, dataset, run)?;
    let (model, row) = models.alone(row);
    Ok((systems.candidates[model].settings.clone(), row))
}

/// An estimator of each system, and their quantities.
fn estimators<'a>(
    candidates: &'a [Candidate],
    dataset: &'a Dataset,
    run: &Run<'a>,
) -> Result<(Vec<Estimator<'a>>, Models), Error> {
    let estimators = candidates.iter().map(|it| Estimator::new(&it.settings, dataset, run.interrupt));
    let estimators = estimators.collect::<Result<Vec<Estimator>, Error>>()?;
    let models = Models::new(candidates.iter().map(|it| it.name.clone()).collect(), &estimators)?;
    Ok((estimators, models))
}

/// Draws environments of a dataset by their rows, each by the system that its row is by.
pub struct Drawings<'a> {
    dataset: &'a Dataset,
    /// By system.
    estimators: Vec<Estimator<'a>>,
    /// Where several systems are compared.
    models: Option<Models>,
    /// The rows of the dataset of each environment of a split.
    places: BTreeMap<(Split, String), Vec<usize>>,
}

impl<'a> Drawings<'a> {
    /// Of environments of these splits.
    ///
    /// # Errors
    /// If settings, systems and dataset disagree, or the dataset cannot be read.
    pub fn new(systems: &'a Systems, dataset: &'a Dataset, splits: &[Split], run: &Run<'a>) -> Result<Self, Error> {
        let (estimators, models) = match systems.are_compared {
            true => estimators(&systems.candidates, dataset, run).map(|(all, models)| (all, Some(models)))?,
            false => {
                let settings = systems.candidates.iter().map(|it| &it.settings);
                let only = settings.map(|settings| Estimator::new(settings, dataset, run.interrupt));
                (only.collect::<Result<_, _>>()?, None)
            }
        };
        let mut places: BTreeMap<(Split, String), Vec<usize>> = BTreeMap::new();
        for &split in splits {
            for (place, entry) in dataset.index(split)?.into_iter().enumerate() {
                places.entry((split, entry.environment)).or_default().push(place);
            }
        }
        Ok(Drawings { dataset, estimators, models, places })
    }

    /// All trajectories of an environment, with what was fitted to them by the system of its row; without a fit where it failed. Their initial states
    /// are fitted again under the parameters of the `row`, by the same likelihood and the noise that the row has; if that explains the data less well
    /// than the row says, the parameters are as well.
    ///
    /// # Errors
    /// If the dataset cannot be read, has no such environment, or it cannot be fitted.
    pub fn of(&self, split: Split, row: &Row) -> Result<Drawn, Error> {
        self.with_replicates(split, row, None)
    }

    /// The same, with trajectories for draws of what is not known of parameters and starts, where `draws` are asked for.
    ///
    /// # Errors
    /// As [`Drawings::of`].
    pub fn with_replicates(&self, split: Split, row: &Row, draws: Option<Draws>) -> Result<Drawn, Error> {
        let place = (split, row.environment.clone());
        let rows = self.places.get(&place).map_or(&[][..], Vec::as_slice);
        let trajectories = self.dataset.read_rows(split, rows)?;
        let drawn = match &self.models {
            Some(models) => {
                let (model, row) = models.alone(row);
                drawn(&self.estimators[model], &row, trajectories, draws)
            }
            None => drawn(&self.estimators[0], row, trajectories, draws),
        };
        let id = &row.environment;
        drawn?.ok_or_else(|| {
            let (found, expected) = match (rows.is_empty(), row.status.is_failure()) {
                (false, true) => (
                    format!("no trajectory of `{id}` in its {split} split with two samples"),
                    "two or more, to draw them",
                ),
                _ => (
                    format!("no environment `{id}` in its {split} split that can be fitted and drawn"),
                    "the dataset that the estimates were made from",
                ),
            };
            Error::Invalid { path: self.dataset.directory().to_owned(), found, expected: expected.to_owned() }
        })
    }
}

/// The first trajectory of an environment that can be drawn, and its fitted channels at its samples.
///
/// # Errors
/// As [`Drawings::of`].
pub fn portrait(
    settings: &Settings,
    dataset: &Dataset,
    split: Split,
    row: &Row,
    run: &Run,
) -> Result<(Trajectory, Vec<f64>), Error> {
    let drawn = Drawings::new(&Systems::new(settings)?, dataset, &[split], run)?.of(split, row)?;
    let first = drawn.trajectories.into_iter().find(DrawnTrajectory::is_visible);
    Ok(first.map(|it| (it.trajectory, it.states)).expect("some trajectory can be drawn"))
}

/// The place of the pair `j < k` of `u` in a list of all, row by row.
fn pair(j: usize, k: usize, u: usize) -> usize {
    j * u - j * (j + 1) / 2 + k - j - 1
}

/// Quantities of several systems in one table, and the place of each system's own among them.
struct Models {
    names: Vec<String>,
    parameters: Vec<Quantity>,
    /// By system.
    places: Vec<Vec<usize>>,
    own: Vec<Quantity>,
    hidden: Vec<Quantity>,
    hidden_places: Vec<Vec<usize>>,
    starts: Vec<Quantity>,
    noise_terms: Vec<Quantity>,
    noise_places: Vec<Vec<usize>>,
}

impl Models {
    /// # Errors
    /// [`Error::Physics`] if a quantity has more than one unit, or systems explain different channels.
    fn new(names: Vec<String>, estimators: &[Estimator]) -> Result<Self, Error> {
        let mut problems = Problems::default();
        let equations: Vec<&Equations> = estimators.iter().map(Estimator::equations).collect();
        let channels = |equations: &Equations| {
            let mut channels = equations.channel_names.clone();
            channels.sort();
            channels
        };
        if let Some(other) = equations.iter().position(|it| channels(it) != channels(equations[0])) {
            let of = |index: usize| format!("`{}` with {}", names[index], channels(equations[index]).join(", "));
            problems.add(
                "systems",
                format!("{}, and {}", of(0), of(other)),
                "systems that are compared with the same channels: likelihoods of different data say nothing of each other",
                "give each an output or state for every channel, or leave channels out of the dataset",
            );
        }
        let mut union = |what: &str, lists: Vec<Vec<Quantity>>| {
            let mut all: Vec<Quantity> = Vec::new();
            let mut places = Vec::new();
            for (list, name) in lists.into_iter().zip(&names) {
                let place = |it: Quantity| match all.iter().position(|known| known.name == it.name) {
                    Some(place) => {
                        problems.require(
                            all[place].unit == it.unit,
                            "systems",
                            format!(
                                "the {what} `{}` in `{}` and, in `{name}`, in `{}`",
                                it.name, all[place].unit, it.unit
                            ),
                            "one unit",
                            "rename one of the two, or correct its unit",
                        );
                        place
                    }
                    None => {
                        all.push(it);
                        all.len() - 1
                    }
                };
                places.push(list.into_iter().map(place).collect::<Vec<usize>>());
            }
            (all, places)
        };
        let of_each =
            |list: &dyn Fn(&Equations) -> Vec<Quantity>| equations.iter().map(|it| list(it)).collect::<Vec<_>>();
        let (parameters, places) = union("parameter", of_each(&|it| it.quantities.clone()));
        let (own, _) = union("parameter", of_each(&|it| it.own_quantities.clone()));
        let (hidden, hidden_places) = union("state", of_each(&|it| it.hidden()));
        let (starts, _) = union("state", estimators.iter().map(Estimator::free_starts).collect());
        let (noise_terms, noise_places) = union("noise", estimators.iter().map(Estimator::noise_terms).collect());
        if !problems.is_empty() {
            return Err(Error::Physics(problems.into_vec()));
        }
        Ok(Models { names, parameters, places, own, hidden, hidden_places, starts, noise_terms, noise_places })
    }

    /// The index of the system that a row is by, and the row of that system alone.
    fn alone(&self, row: &Row) -> (usize, Row) {
        let model = self.names.iter().position(|name| Some(name) == row.model.as_ref()).unwrap_or(0);
        let (places, u) = (&self.places[model], self.parameters.len());
        let pairs = (0..places.len()).flat_map(|j| (j + 1..places.len()).map(move |k| (places[j], places[k])));
        let correlation = |(a, b): (usize, usize)| row.correlations.get(pair(a.min(b), a.max(b), u)).copied();
        let alone = Row {
            parameters: places.iter().map(|&place| row.parameters[place]).collect(),
            correlations: pairs.map(|places| correlation(places).unwrap_or(f64::NAN)).collect(),
            noise_terms: self.noise_places[model].iter().filter_map(|&it| row.noise_terms.get(it).copied()).collect(),
            ..row.clone()
        };
        (model, alone)
    }

    /// The estimates of one environment by each system: those of the one that is preferred, with the comparison.
    fn compared(&self, mut of_environment: Vec<Estimated>) -> Estimated {
        let rows: Vec<&Row> = of_environment.iter().map(|it| &it.row).collect();
        let Comparison { preferred, weighed, left_out, note } = compare(&rows, &self.names);
        let compared =
            rows.iter().zip(weighed.into_iter().zip(left_out)).enumerate().map(|(model, (row, compared))| {
                let mut parameters = vec![None; self.parameters.len()];
                self.places[model].iter().zip(&row.parameters).for_each(|(&place, it)| parameters[place] = Some(*it));
                Compared::new(self.names[model].clone(), row, parameters, compared)
            });
        let compared = compared.collect();
        let mut best = of_environment.swap_remove(preferred);
        best.compared = compared;
        let row = &mut best.row;
        row.model = Some(self.names[preferred].clone());
        let none = ParameterEstimate {
            value: f64::NAN,
            standard_error: f64::NAN,
            degrees_of_freedom: f64::NAN,
            lower: f64::NAN,
            upper: f64::NAN,
            model_error: None,
            crlb: None,
            truth: None,
        };
        let (places, u) = (&self.places[preferred], self.parameters.len());
        let mut parameters = vec![none; u];
        places.iter().zip(&row.parameters).for_each(|(&place, it)| parameters[place] = *it);
        let mut correlations = vec![f64::NAN; u * u.saturating_sub(1) / 2];
        for j in 0..places.len() {
            for k in j + 1..places.len() {
                let (a, b) = (places[j].min(places[k]), places[j].max(places[k]));
                correlations[pair(a, b, u)] = row.correlations[pair(j, k, places.len())];
            }
        }
        let mut noise_terms = vec![f64::NAN; self.noise_terms.len()];
        let of_noise = self.noise_places[preferred].iter().zip(&row.noise_terms);
        of_noise.for_each(|(&place, value)| noise_terms[place] = *value);
        (row.parameters, row.correlations, row.noise_terms) = (parameters, correlations, noise_terms);
        if let Some(note) = note {
            row.reason = if row.reason.is_empty() { note } else { format!("{}; {note}", row.reason) };
        }
        best.samples.place_hidden(&self.hidden_places[preferred], self.hidden.len());
        best
    }
}
