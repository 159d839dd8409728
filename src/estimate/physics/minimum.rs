//! What is said of the minimum that a fit ended at: values, their covariance, and a status.

use nalgebra::DMatrix;

use super::experiment::Experiment;
use super::fit::{Fitter, Point};
use crate::estimate::Status;

/// What a fit gave.
pub(super) struct Fit {
    /// Estimated parameters `[d]` in their units; NaN where there is none.
    pub values: Vec<f64>,
    /// Their covariance `[d, d]`; NaN where it is not determined.
    pub covariance: DMatrix<f64>,
    /// The initial state `[C]` of each trajectory.
    pub initial: Vec<Vec<f64>>,
    /// The fitted states `[T, C]` of each trajectory; empty where there are none.
    pub states: Vec<Vec<f64>>,
    pub status: Status,
    pub reason: String,
    /// Observed values that entered the fit.
    pub points: usize,
    pub iterations: usize,
}

/// Why a fit ended.
pub(super) type End = (Status, String);

impl Fitter<'_> {
    /// What the minimum `point` says, which is none where an `end` says why.
    pub fn finish(&self, point: Point, end: Option<End>, names: &[String], points: usize) -> Fit {
        let experiment = self.experiment;
        let held = experiment.held(&point.unknowns, &point.normal);
        let (mut values, slopes): (Vec<f64>, Vec<f64>) =
            experiment.parameters(&point.unknowns.coordinates).into_iter().unzip();
        let d = values.len();
        let lost = point.normal.undetermined(&held);
        let free: Vec<usize> = (0..d).filter(|&k| !held[k] && !lost[k]).collect();
        let mut covariance = DMatrix::from_element(d, d, f64::NAN);
        // Without Huber's weights, which come of the residuals.
        let plain = experiment.normal(&point.rollout, &self.weights, f64::INFINITY);
        let information = plain.information().map(|all| all.select_rows(&free).select_columns(&free));
        if let Some(inverse) = information.and_then(|information| Some(information.cholesky()?.inverse()))
            && points > experiment.unknowns()
        {
            let variance = self.variance(&point.rollout);
            for (i, &row) in free.iter().enumerate() {
                for (j, &column) in free.iter().enumerate() {
                    covariance[(row, column)] = variance * inverse[(i, j)] * slopes[row] * slopes[column];
                }
            }
        }
        let named = |which: &[bool]| {
            let named = names.iter().zip(which).filter(|(_, which)| **which).map(|(name, _)| name.as_str());
            named.collect::<Vec<_>>().join(", ")
        };
        let end = end.or_else(|| match (lost.contains(&true), held.contains(&true)) {
            (true, _) => Some((Status::Unidentifiable, format!("the data do not determine {}", named(&lost)))),
            (false, true) => Some((Status::AtBound, format!("at its bound: {}", named(&held)))),
            (false, false) => None,
        });
        let (status, reason) = end.unwrap_or((Status::Ok, String::new()));
        values.iter_mut().zip(&lost).filter(|(_, lost)| **lost).for_each(|(value, _)| *value = f64::NAN);
        Fit {
            values,
            covariance,
            initial: point.unknowns.initial,
            states: point.rollout.states,
            status,
            reason,
            points,
            iterations: self.iterations,
        }
    }
}

impl Fit {
    /// No estimate.
    pub fn nothing(experiment: &Experiment, (status, reason): End, points: usize, iterations: usize) -> Self {
        let d = experiment.model.coordinates.len();
        Fit {
            values: vec![f64::NAN; d],
            covariance: DMatrix::from_element(d, d, f64::NAN),
            initial: Vec::new(),
            states: Vec::new(),
            status,
            reason,
            points,
            iterations,
        }
    }
}
