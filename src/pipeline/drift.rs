//! How the model of a pipeline drifts: the estimates of now beside its training, and what the records of runs say of those before.

use std::collections::BTreeMap;

use super::audit::{Act, AuditEntry, audit};
use super::error::Error;
use super::plan::Plan;
use super::run_record::RunRecord;
use super::versions::{Version, versions};
use crate::checkpoint::{Manifest, StoredModel};
use crate::estimate::{self, Hull, Row};
use crate::report::{Drift, DriftRun, Place};

/// Most environments whose place is looked at.
const EXAMINED: usize = 10_000;

/// What the estimates of a run were like, for its record: the median over environments of the error of the fitted trajectories, and of the noise
/// of each channel by its name.
pub(crate) fn medians(plan: &Plan) -> Option<(Option<f64>, BTreeMap<String, f64>)> {
    let directory = plan.estimates_directory();
    let (manifest, _) = estimate::Manifest::read(&directory).ok()?;
    let mut errors = Vec::new();
    let mut noise: Vec<Vec<f64>> = vec![Vec::new(); manifest.channels.len()];
    for &split in &manifest.splits {
        for row in estimate::rows(&directory, &manifest, split).ok()? {
            let row = row.ok()?;
            errors.push(row.trajectory_rmse);
            noise.iter_mut().zip(&row.noise).for_each(|(of_channel, noise)| of_channel.push(*noise));
        }
    }
    let names = manifest.channels.iter().map(|channel| channel.name.clone());
    let noise = names.zip(noise).filter_map(|(name, values)| Some((name, median(values)?)));
    Some((median(errors), noise.collect()))
}

/// The median of the finite values.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|value| value.is_finite());
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => None,
        0 => Some(0.5 * (values[middle - 1] + values[middle])),
        _ => Some(values[middle]),
    }
}

/// The drift of the model of `plan`.
///
/// # Errors
/// If the estimates or their model cannot be read.
pub fn drift(plan: &Plan) -> Result<Drift, Error> {
    let (all, moves) = (versions(plan), audit(plan));
    let version = |name: &str| all.iter().find(|version| version.name == name);
    let mut runs: Vec<RunRecord> =
        RunRecord::all(plan).filter(|run| run.error.is_none() && run.environments > 0).collect();
    runs.reverse();
    let runs = runs.into_iter().map(|run| DriftRun {
        validation: run.model.as_deref().and_then(version).and_then(validation),
        held_out: run.model.as_deref().and_then(|name| held_out(&moves, name)),
        begun: run.begun,
        version: run.model,
        trajectory_rmse: run.trajectory_rmse,
        noise: run.noise,
        statuses: run.statuses,
    });
    let mut made_by = None;
    for candidate in &all {
        if candidate.is_of_estimates(plan)? {
            made_by = Some(candidate);
        }
    }
    Ok(Drift {
        pipeline: plan.name.clone(),
        version: made_by.map(|version| version.name.clone()),
        runs: runs.collect(),
        place: place(plan, made_by)?,
    })
}

fn validation(version: &Version) -> Option<f64> {
    Some(Manifest::read(&version.directory).ok()?.0.training.validation)
}

/// The error of a version on the held-out set when it was judged last.
fn held_out(moves: &[AuditEntry], name: &str) -> Option<f64> {
    let of_gate = |entry: &AuditEntry| {
        let gate = entry.gate.as_ref()?;
        match entry.to == name {
            true => gate.candidate.squared_error,
            false if entry.from.as_deref() == Some(name) && entry.act == Act::Rejected => gate.current.squared_error,
            false => None,
        }
    };
    moves.iter().rev().find_map(of_gate)
}

/// Where the estimated environments lie beside the training of their model.
fn place(plan: &Plan, version: Option<&Version>) -> Result<Place, Error> {
    let directory = plan.estimates_directory();
    if !plan.estimates_by_model() || !directory.is_dir() {
        return Ok(Place::default());
    }
    let model = StoredModel::read(&version.map_or_else(|| plan.model_in_use(), |version| version.directory.clone()))?;
    if model.manifest.rule.owns_weights() {
        return Ok(Place::default());
    }
    let training: Vec<Vec<f64>> = model.own_values().map(<[f64]>::to_vec).collect();
    let (manifest, _) = estimate::Manifest::read(&directory)?;
    let mut contexts: Vec<Vec<f64>> = Vec::new();
    for &split in &manifest.splits {
        for row in estimate::rows(&directory, &manifest, split)? {
            let Row { context, .. } = row?;
            if context.len() == model.manifest.context_dimension && context.iter().all(|xi| xi.is_finite()) {
                contexts.push(context);
            }
        }
    }
    let environments = contexts.len();
    let hull = Hull::new(training.clone());
    let examined = contexts.into_iter().step_by(environments.div_ceil(EXAMINED).max(1));
    let contexts: Vec<(Vec<f64>, bool)> = examined
        .map(|context| {
            let holds = hull.contains(&context);
            (context, holds)
        })
        .collect();
    let outside = contexts.iter().filter(|(_, holds)| !holds).count();
    Ok(Place { environments, examined: contexts.len(), outside, training, contexts })
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn a_median_leaves_out_what_is_not_finite() {
        assert_eq!(median(vec![3.0, f64::NAN, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, f64::INFINITY, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![f64::NAN]), None);
    }
}
