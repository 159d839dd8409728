//! Covariances of estimates where residuals are correlated from sample to sample.
//!
//! ```text
//! C' = sum_runs sum_ij a_i a_j' s^2 rho^|i - j|,     a_i = M h_i,     h_i = j_i - B_t D_t^-1 k_i
//! ```
//!
//! `a_i [d]` is how far a weighted residual of unit size moves the estimates, `j_i [d]` its derivatives by the parameters, `k_i [u]` those by the
//! unknowns of its own trajectory `t`, `M`, `B` and `D` as in [`normal`](super::normal), `rho` the [correlation](crate::estimate::serial_correlation)
//! of successive residuals of a channel; a run are the residuals of a channel in one trajectory. With `rho = 0` this is `s^2 M`.

use nalgebra::{DMatrix, DVector};

use super::experiment::Rollout;
use super::fitter::{Fitter, Iterate};
use crate::estimate::serial_correlation::SerialCorrelation;

/// Residuals of less than this many times the tolerance of integration may be errors of integration.
const ABOVE_INTEGRATION: f64 = 1e3;

/// Trajectory and channel of a residual, with what it adds to a sum.
type Scored = ((usize, usize), DVector<f64>);

impl Fitter<'_> {
    /// The correlation of successive weighted residuals, as far as they count; not of fields, nor of errors of integration.
    pub(crate) fn serial_correlation(&self, rollout: &Rollout) -> SerialCorrelation {
        let experiment = self.experiment;
        let channels = experiment.model.channels;
        let mut counts = vec![0; channels];
        let mut runs = vec![vec![Vec::new(); experiment.series.len()]; channels];
        for &(trajectory, cell) in &experiment.cells {
            let channel = experiment.model.channel(cell);
            let residual = self.weights[trajectory][cell] * experiment.residual(rollout, trajectory, cell);
            counts[channel] += 1;
            runs[channel][trajectory].push(residual.clamp(-self.limit, self.limit));
        }
        let is_measured = |channel: usize| {
            let least = ABOVE_INTEGRATION * self.physics.rtol * experiment.scales[channel];
            let least = least.max(experiment.resolutions[channel].std_dev);
            experiment.model.points == 1 && self.residual_size(rollout, channel) >= least
        };
        let of_channels = counts.into_iter().zip(runs).enumerate();
        let of_channels =
            of_channels.map(|(channel, (count, runs))| (count, if is_measured(channel) { runs } else { Vec::new() }));
        let unknowns = experiment.unknown_count() as f64;
        SerialCorrelation::new(of_channels, unknowns, self.estimate.serial_correlation)
    }

    /// The covariance `[d, d]` of the estimates under correlated residuals; `covariance [d, d]` is that under independent ones, NaN where it is
    /// unknown.
    pub(crate) fn widened(
        &self,
        iterate: &Iterate,
        covariance: DMatrix<f64>,
        serial: &SerialCorrelation,
    ) -> DMatrix<f64> {
        let channels = self.experiment.model.channels;
        if (0..channels).all(|channel| serial.counted(channel) == 0.0) {
            return covariance;
        }
        let variance = self.variance(&iterate.rollout);
        let known: Vec<usize> = (0..covariance.nrows()).filter(|&k| covariance[(k, k)].is_finite()).collect();
        let Some(scores) = self.scores(iterate).filter(|_| !known.is_empty() && variance > 0.0) else {
            return covariance;
        };
        let inverse = covariance.select_rows(&known).select_columns(&known) / variance;
        let slopes = self.experiment.parameters(&iterate.unknowns.coordinates);
        let slopes = DVector::from_iterator(known.len(), known.iter().map(|&k| slopes[k].1));
        let moves = scores.into_iter().map(|((trajectory, channel), score)| {
            ((trajectory, channel), &inverse * score.select_rows(&known).component_div(&slopes))
        });
        let sums = self.sum_of_products(moves, known.len(), serial) * (variance * serial.variance_factor());
        let mut widened = covariance;
        for (i, &row) in known.iter().enumerate() {
            for (j, &column) in known.iter().enumerate() {
                widened[(row, column)] = sums[(i, j)];
            }
        }
        widened
    }

    /// The factor of the variance of the unknown `index` of a trajectory's own under correlated residuals.
    pub(crate) fn own_factor(
        &self,
        iterate: &Iterate,
        (trajectory, index): (usize, usize),
        serial: &SerialCorrelation,
    ) -> f64 {
        let channels = self.experiment.model.channels;
        if (0..channels).all(|channel| serial.counted(channel) == 0.0) {
            return 1.0;
        }
        let normal = self.experiment.normal(&iterate.rollout, &self.weights, f64::INFINITY);
        let d = self.experiment.model.coordinates.len();
        let factor = || {
            let (own, carried) = normal.own_column(trajectory, index)?;
            // How far a score of the parameters carries over to the unknown.
            let carried = if d == 0 { carried } else { normal.information()?.cholesky()?.solve(&carried) };
            let scores = self.scores(iterate)?.into_iter().zip(&self.experiment.cells);
            let moves = scores.map(|((place, score), &(of, cell))| {
                let weight = self.weights[of][cell];
                let row = self.experiment.derivatives(&iterate.rollout, of, cell);
                let direct =
                    if of == trajectory { own.iter().zip(&row[d..]).map(|(a, b)| a * b).sum::<f64>() } else { 0.0 };
                (place, DVector::from_element(1, weight * direct - carried.dot(&score)))
            });
            let sum = self.sum_of_products(moves, 1, serial)[(0, 0)];
            Some(sum / normal.own_variance(trajectory, index)? * serial.variance_factor())
        };
        factor().filter(|factor| factor.is_finite()).unwrap_or(1.0)
    }

    /// What correlated residuals add to the variance `[s, s]` of the score along `directions [d, s]`, beyond that of independent ones; none where
    /// they add nothing.
    pub(crate) fn widening(
        &self,
        iterate: &Iterate,
        directions: &DMatrix<f64>,
        serial: &SerialCorrelation,
    ) -> Option<DMatrix<f64>> {
        let channels = self.experiment.model.channels;
        if (0..channels).all(|channel| serial.counted(channel) == 0.0) {
            return None;
        }
        let scores: Vec<Scored> =
            self.scores(iterate)?.into_iter().map(|(place, score)| (place, directions.tr_mul(&score))).collect();
        let mut independent = DMatrix::zeros(directions.ncols(), directions.ncols());
        scores.iter().for_each(|(_, score)| independent += score * score.transpose());
        let all = self.sum_of_products(scores.into_iter(), directions.ncols(), serial);
        Some(all * serial.variance_factor() - independent)
    }

    /// The score `h_i [d]` of each weighted residual, with its trajectory and channel; none where a block is singular.
    fn scores(&self, iterate: &Iterate) -> Option<Vec<Scored>> {
        let experiment = self.experiment;
        let projections = experiment.normal(&iterate.rollout, &self.weights, f64::INFINITY).projections()?;
        let d = experiment.model.coordinates.len();
        let score = |&(trajectory, cell): &(usize, usize)| {
            let row = experiment.derivatives(&iterate.rollout, trajectory, cell);
            let projection = &projections[trajectory];
            let own = DVector::from_row_slice(&row[d..d + projection.ncols()]);
            let score = (DVector::from_row_slice(&row[..d]) - projection * own) * self.weights[trajectory][cell];
            ((trajectory, experiment.model.channel(cell)), score)
        };
        Some(experiment.cells.iter().map(score).collect())
    }

    /// `sum_ij a_i a_j' rho^|i - j|` over the residuals of each run, with `a [d]` by trajectory and channel, in the order of time.
    fn sum_of_products(
        &self,
        moves: impl Iterator<Item = Scored>,
        d: usize,
        serial: &SerialCorrelation,
    ) -> DMatrix<f64> {
        let channels = self.experiment.model.channels;
        let mut sum = DMatrix::zeros(d, d);
        // Of each run `sum_{j < i} rho^(i - j) a_j`.
        let mut before = vec![DVector::<f64>::zeros(d); self.experiment.series.len() * channels];
        for ((trajectory, channel), own) in moves {
            let before = &mut before[trajectory * channels + channel];
            sum += &own * own.transpose();
            let cross = &own * before.transpose();
            sum += &cross + cross.transpose();
            *before = (&*before + own) * serial.counted(channel);
        }
        sum
    }
}
