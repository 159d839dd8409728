//! Environments of trajectories whose labels are unknown, or not to be used: inferred along with the weights.
//!
//! With the rollouts `x_r(theta_k)` of trajectory `r` under each of `K` environments `theta_k`, contexts and weights being held, then the
//! assignment `a`, in turn:
//!
//! ```text
//! a_r = argmin_k |x_r(theta_k) - y_r|^2          some steps of Adam on sum_r |x_r(theta_{a_r}) - y_r|^2
//! ```
//!
//! Rollouts are those of the segments that the next step of training sees, so they are short as long as long ones mean little. Contexts
//! start at random, for equal ones would predict all trajectories alike; an environment that is left without a trajectory takes the one that
//! its own environment predicts worst. Trajectories of the validation split belong to the environment that predicts them best.
//!
//! Source: DynaInfer; Liu, He, Wang, Yang, Wang, Cui, Liu, "Environment Inference for Learning Generalizable Dynamical System", NeurIPS 2025,
//! which has the two steps in turn. The random contexts, the segments and the remedy for an empty environment are ours.

use std::borrow::Cow;

use rayon::prelude::*;

use super::data::{SplitData, draw_restarts, restart_probability};
use super::error::Error;
use super::fit::Fit;
use super::settings::Labels;
use crate::checkpoint::{Assigned, Environment, Inferred, TrainingState};
use crate::dataset::Dataset;
use crate::problems::{Problem, Problems, many};
use crate::random::Stream;
use crate::schema::{Quantity, Split, Trajectory};

/// Trajectories that are rolled out together.
const TOGETHER: usize = 64;

/// `K` environments of which nothing is known.
pub(super) fn environments(count: usize, parameters: &[Quantity]) -> Vec<Environment> {
    let width = count.saturating_sub(1).to_string().len();
    let environment =
        |k: usize| Environment { id: format!("inferred-{k:0width$}"), parameters: vec![None; parameters.len()] };
    (0..count).map(environment).collect()
}

/// Why so many environments cannot be told apart by so many trajectories.
pub(super) fn too_few(environments: usize, trajectories: usize) -> Vec<Problem> {
    let mut problems = Problems::default();
    let found = format!("{environments} and {}", many(trajectories as u64, "training trajectory"));
    problems.add("inference.environments", found, "no more environments than trajectories", "lower it");
    problems.into_vec()
}

/// Random contexts `[K, d]` of this standard deviation.
pub(super) fn contexts(seed: u64, count: usize, std_dev: f64) -> Vec<f64> {
    let mut stream = Stream::new(seed, "inferred-contexts", &[]);
    (0..count).map(|_| std_dev * stream.normal()).collect()
}

impl Fit<'_> {
    /// The train split of a state, with its trajectories in the environments that they are assigned to.
    pub(super) fn train_of<'s>(&'s self, state: &TrainingState) -> Cow<'s, SplitData<'s>> {
        match self.settings.environments {
            Labels::Known => Cow::Borrowed(self.train),
            Labels::Infer => Cow::Owned(self.train.assigned(&state.assignments)),
        }
    }

    /// The validation split under the weights `[E, P]`, with its trajectories in the environments that predict them best.
    pub(super) fn validation_under<'s>(&'s self, weights: &[f64]) -> Result<Cow<'s, SplitData<'s>>, Error> {
        Ok(match self.settings.environments {
            Labels::Known => Cow::Borrowed(self.validation),
            Labels::Infer => Cow::Owned(self.validation.assigned(&self.best(self.validation, weights)?)),
        })
    }

    /// Assigns the training trajectories anew, if that is due before the next step.
    pub(super) fn assign(&self, state: &mut TrainingState) -> Result<(), Error> {
        let is_due = state.step.is_multiple_of(self.settings.inference.every);
        if self.settings.environments == Labels::Infer && is_due {
            let probability = restart_probability(&self.settings.teacher_forcing, state.step);
            let restarts = |row: usize, trajectory: &Trajectory| {
                draw_restarts(self.seed, state.step, row, trajectory, probability)
            };
            let errors = self.errors(self.train, &self.decode(&state.trained), restarts)?;
            state.assignments = without_empty(&errors, self.environments);
        }
        Ok(())
    }

    /// The environments that predict the trajectories of `split` best from their start.
    fn best(&self, split: &SplitData, weights: &[f64]) -> Result<Vec<usize>, Error> {
        Ok(self.errors(split, weights, |_, _| Vec::new())?.iter().map(|of_row| least(of_row)).collect())
    }

    /// Mean squared error of each trajectory of `split`, in the order of its rows, under each environment; infinite where a rollout is not
    /// finite.
    fn errors(
        &self,
        split: &SplitData,
        weights: &[f64],
        restarts: impl Fn(usize, &Trajectory) -> Vec<usize>,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let mut errors = Vec::new();
        for rows in split.rows_in_order().chunks(TOGETHER) {
            let mut ends = Vec::new();
            let batch = split.of_rows(rows, |row, trajectory| {
                let restarts = restarts(row, trajectory);
                ends.push(ends.last().unwrap_or(&0) + restarts.len() + 1);
                restarts
            })?;
            let of_segment = batch.steps * batch.channels;
            let of_environment = |weights: &[f64]| -> Vec<f64> {
                let predictions = self.engine.predict(weights, &batch);
                let error = |i: usize| {
                    let values = if i == 0 { 0 } else { ends[i - 1] * of_segment }..ends[i] * of_segment;
                    let (mut squares, mut count) = (0.0, 0.0);
                    for at in values.filter(|&at| batch.mask[at] > 0.0) {
                        let square = batch.mask[at] * batch.mask[at];
                        squares += square * (predictions[at] - batch.targets[at]).powi(2);
                        count += square;
                    }
                    Some(squares / count).filter(|it: &f64| it.is_finite()).unwrap_or(f64::INFINITY)
                };
                (0..rows.len()).map(error).collect()
            };
            let size = self.model.layout().size();
            let all: Vec<Vec<f64>> = weights.par_chunks_exact(size).map(of_environment).collect();
            errors.extend((0..rows.len()).map(|i| all.iter().map(|of| of[i]).collect::<Vec<f64>>()));
        }
        Ok(errors)
    }

    /// What training made of the trajectories, under the weights `[E, P]` of the model that is kept; nothing where labels are known.
    pub(super) fn inferred(&self, dataset: &Dataset, weights: &[f64]) -> Result<Option<Inferred>, Error> {
        if self.settings.environments == Labels::Known {
            return Ok(None);
        }
        let (index, best) = (dataset.index(Split::Train)?, self.best(self.train, weights)?);
        let assigned = self.train.rows_in_order().into_iter().zip(best).map(|(row, environment)| {
            let entry = &index[row];
            Assigned { label: entry.environment.clone(), trajectory: entry.trajectory.clone(), environment }
        });
        Ok(Some(Inferred::new(assigned.collect())))
    }
}

/// Index of the least error.
fn least(errors: &[f64]) -> usize {
    (0..errors.len()).min_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap_or(0)
}

/// The environment of the least error of each trajectory; one of `count` that would have none takes the trajectory whose own error is the
/// greatest, among those that do not have their environment alone.
fn without_empty(errors: &[Vec<f64>], count: usize) -> Vec<usize> {
    let mut assignments: Vec<usize> = errors.iter().map(|of_row| least(of_row)).collect();
    for k in 0..count {
        let members = |k: usize, assignments: &[usize]| assignments.iter().filter(|&&a| a == k).count();
        if members(k, &assignments) == 0 {
            let own = |r: usize| errors[r][assignments[r]];
            let shared = (0..errors.len()).filter(|&r| members(assignments[r], &assignments) > 1);
            if let Some(worst) = shared.max_by(|&a, &b| own(a).total_cmp(&own(b))) {
                assignments[worst] = k;
            }
        }
    }
    assignments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_without_a_trajectory_takes_the_worst_of_one_that_has_several() {
        let errors = [[1.0, 9.0, 5.0], [3.0, 9.0, 4.0], [9.0, 8.0, 9.0], [2.0, 9.0, f64::INFINITY]];
        let errors = errors.map(|of_row| of_row.to_vec());
        assert_eq!(without_empty(&errors, 3), [0, 2, 1, 0], "8 is greater than 3, but alone");
        assert_eq!(without_empty(&errors[..1], 3), [0], "there are no more");
    }

    #[test]
    fn ids_ascend() {
        let ids: Vec<String> = environments(11, &[]).into_iter().map(|it| it.id).collect();
        assert!(ids.is_sorted() && ids[10] == "inferred-10", "{ids:?}");
    }
}
