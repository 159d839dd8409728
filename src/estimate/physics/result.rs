//! What is said of the minimum that a fit ended at: values, their covariance, and a status with its reason.

use nalgebra::DMatrix;

use super::experiment::Experiment;
use super::fit::{End, Fitter, Point};
use super::search::{Best, FAR};
use crate::estimate::residuals;
use crate::estimate::table::interval::{LEVEL, quantile};
use crate::estimate::table::row::Status;

/// Residuals of so many times what integration allows are not those of integration.
const ABOVE_INTEGRATION: f64 = 1e3;

/// What a fit gave.
pub(crate) struct Fit {
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

/// What things are called in reasons.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    /// `[d]`.
    pub parameters: &'a [String],
    /// `[C]`.
    pub channels: &'a [String],
}

impl Names<'_> {
    fn of(&self, which: &[bool]) -> String {
        let named = self.parameters.iter().zip(which).filter(|(_, which)| **which).map(|(name, _)| name.as_str());
        named.collect::<Vec<_>>().join(", ")
    }
}

impl Fitter<'_> {
    /// What a minimum says, which is none where its `end` says why.
    pub fn finish(&self, best: Best, names: Names) -> Fit {
        let Best { point, end, rival } = best;
        let experiment = self.experiment;
        let (points, unknowns) = (experiment.cells.len(), experiment.unknowns());
        let held = experiment.held(&point.unknowns, &point.normal);
        let mut values: Vec<f64> = experiment.parameters(&point.unknowns.coordinates).iter().map(|it| it.0).collect();
        let d = values.len();
        let lost = point.normal.undetermined(&held);
        // What lies at its bound is an estimate as well, and the others are no better known for it.
        let none = vec![false; d];
        let covariance = match self.covariance(&point, &none, &lost) {
            known if (0..d).all(|k| lost[k] || known[(k, k)].is_finite()) => known,
            _ => self.covariance(&point, &held, &lost),
        };
        let half = quantile(LEVEL, points as f64 - unknowns as f64);
        let vague: Vec<bool> = (0..d)
            .map(|k| {
                let (coordinate, half) = (experiment.model.coordinates[k], half * covariance[(k, k)].sqrt());
                !held[k] && values[k] - half <= coordinate.lower && values[k] + half >= coordinate.upper
            })
            .collect();
        let shown = |values: &[f64]| {
            let all = names.parameters.iter().zip(values).map(|(name, value)| format!("{name} {value:.4e}"));
            all.collect::<Vec<_>>().join(", ")
        };
        let of_rival = rival.map(|rival| {
            format!(
                "{} explain the data as well as {}; narrow the bounds, or fix a parameter",
                shown(&rival),
                shown(&values)
            )
        });
        let far = self.excess(&point, self.settings.rtol).filter(|(_, excess)| *excess > FAR);
        let far = far.map(|(channel, _)| {
            let [size, noise] = [self.size_of(&point.rollout, channel), self.noise_of(channel)];
            let name = &names.channels[channel];
            format!("residuals of {size:.3e} in {name}, whose samples show a noise of {noise:.3e}")
        });
        // Of samples that are few the noise is not told well, but equations explain more than the mean does.
        let unexplained = || {
            let is_nothing = |&channel: &usize| {
                let size = self.size_of(&point.rollout, channel);
                size > 0.7 * experiment.scales[channel] && size > 3.0 * self.noise_of(channel)
            };
            let channel = (0..experiment.model.channels).find(is_nothing)?;
            let [size, scale] = [self.size_of(&point.rollout, channel), experiment.scales[channel]];
            Some(format!("residuals of {size:.3e} in {}, which deviates by {scale:.3e}", names.channels[channel]))
        };
        let far = far.or_else(unexplained).or_else(|| {
            let (channel, given, first) = self.contradiction()?;
            let name = &names.channels[channel];
            Some(format!("the equations give {name} = {given} where the first sample is {first}; widen its `initial`, or begin where it holds"))
        });
        let at_bound = || {
            let bounds = (0..d).filter(|&k| held[k]).map(|k| {
                let is_lower = values[k] <= experiment.model.coordinates[k].lower;
                format!(
                    "{} at its {} bound {}",
                    names.parameters[k],
                    if is_lower { "lower" } else { "upper" },
                    values[k]
                )
            });
            bounds.collect::<Vec<_>>().join(", ")
        };
        let end = end.or_else(|| match () {
            () if points == unknowns => Some((
                Status::TooFewPoints,
                format!("{points} observed values for {unknowns} unknowns leave nothing to judge the fit by"),
            )),
            () if lost.contains(&true) => {
                Some((Status::Unidentifiable, format!("the data do not determine {}", names.of(&lost))))
            }
            () if of_rival.is_some() => Some((Status::Unidentifiable, of_rival.clone().unwrap_or_default())),
            () if vague.contains(&true) => {
                let reason =
                    format!("the data do not narrow down {}: any value within the bounds may be", names.of(&vague));
                Some((Status::Unidentifiable, reason))
            }
            () if held.contains(&true) => Some((
                Status::AtBound,
                [Some(at_bound()), far.clone()].into_iter().flatten().collect::<Vec<_>>().join("; "),
            )),
            () => far.clone().map(|far| (Status::Misfit, far)),
        });
        let (status, reason) = end.unwrap_or((Status::Ok, String::new()));
        let notes = if status.is_failure() { Vec::new() } else { self.notes(&point, names) };
        let reason = std::iter::once(reason).chain(notes).filter(|it| !it.is_empty()).collect::<Vec<_>>().join("; ");
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

    /// The covariance `[d, d]` of the parameters, without those `held`, which are taken as known, and those `lost`; NaN where it is not known.
    pub fn covariance(&self, point: &Point, held: &[bool], lost: &[bool]) -> DMatrix<f64> {
        let experiment = self.experiment;
        let slopes: Vec<f64> = experiment.parameters(&point.unknowns.coordinates).iter().map(|it| it.1).collect();
        let d = slopes.len();
        let free: Vec<usize> = (0..d).filter(|&k| !held[k] && !lost[k]).collect();
        let mut covariance = DMatrix::from_element(d, d, f64::NAN);
        // Without Huber's weights, which come of the residuals.
        let plain = experiment.normal(&point.rollout, &self.weights, f64::INFINITY);
        let information = plain.information().map(|all| all.select_rows(&free).select_columns(&free));
        if let Some(inverse) = information.and_then(|information| Some(information.cholesky()?.inverse()))
            && experiment.cells.len() > experiment.unknowns()
        {
            let variance = self.variance(&point.rollout);
            for (i, &row) in free.iter().enumerate() {
                for (j, &column) in free.iter().enumerate() {
                    covariance[(row, column)] = variance * inverse[(i, j)] * slopes[row] * slopes[column];
                }
            }
        }
        covariance
    }

    /// What the user should know of an estimate though it has converged.
    fn notes(&self, point: &Point, names: Names) -> Vec<String> {
        let experiment = self.experiment;
        let correlated = (0..experiment.model.channels).filter_map(|channel| {
            let least = ABOVE_INTEGRATION * self.settings.rtol * experiment.scales[channel];
            if experiment.model.points > 1 || self.size_of(&point.rollout, channel) < least {
                return None;
            }
            let runs = experiment.residuals(&point.rollout, channel);
            let count = runs.iter().map(Vec::len).sum();
            let said = residuals::serial_correlation(residuals::lag_one(&runs), count)?;
            Some(format!("{}: {said}", names.channels[channel]))
        });
        correlated.chain(experiment.early()).collect()
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
