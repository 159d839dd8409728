//! Where a library with a denominator starts, if Gauss-Newton begins from nothing.
//!
//! Fitted together from nothing, environments settle on contexts that suit one denominator, and leave them hardly. Alone, each finds its own:
//! [`first_denominator`](Fit::first_denominator) gives a start, a few steps with it held and more with all free fit every environment on
//! segments of one interval. Terms that are small in some environment are dropped from all, a law being the same everywhere, and the others are
//! fitted from nothing again, as long as segments of the validation split are fitted as well. The weights of the environments are then about
//! `theta_c + W xi_e`: contexts are the first principal components of the weights, each measured by what it changes in the predictions.

use std::ops::Range;

use nalgebra::{DMatrix, SymmetricEigen};
use rayon::prelude::*;

use super::alone::Start;
use super::data::{SplitData, even_restarts};
use super::error::Error;
use super::fit::Fit;
use super::settings::Contexts;
use super::term_sizes;
use crate::checkpoint::TrainingState;
use crate::engine::{Batch, sum_of_squares};
use crate::progress::{Event, Run};

/// Most trajectories of each environment, of both splits.
const TRAJECTORIES: usize = 8;
/// Steps with `delta` held, and with all free.
const STEPS: [usize; 2] = [8, 24];
/// Shares of a rate below which terms are dropped, one after the other.
const THRESHOLDS: [f64; 4] = [1e-3, 3e-3, 1e-2, 3e-2];
/// Greatest error on segments of the validation split after terms are dropped, over that before.
const GREATEST: f64 = 1.1;
/// Mean squared error of segments that is good enough to go on from, over the mean square of the states.
const GOOD: f64 = 1e-8;

/// What environments found alone.
struct Found {
    /// `[E, P]`.
    weights: Vec<Vec<f64>>,
    /// Mean squared error on segments of the validation split.
    error: f64,
}

impl Fit<'_> {
    /// Which weights `[P]` are left out of a library with a denominator: those that are zero in all environments; `None` where there are none.
    pub(super) fn left_out(&self, trained: &[f64]) -> Option<Vec<bool>> {
        self.denominator().filter(|_| self.settings.steps == 0)?;
        let (weights, size) = (self.decode(trained), self.model.layout().size());
        let is_zero = |p: usize| weights.iter().skip(p).step_by(size).all(|weight| *weight == 0.0);
        let is_zero: Vec<bool> = (0..size).map(is_zero).collect();
        is_zero.contains(&true).then_some(is_zero)
    }

    /// Sets shared values and contexts of a fresh `state`, if the model is a library with a denominator.
    ///
    /// # Errors
    /// [`Error::Interrupted`] with a checkpoint of `state` as it was; errors of reading.
    pub(super) fn start_alone(&self, state: &mut TrainingState, run: &Run) -> Result<(), Error> {
        let Some(denominator) = self.denominator() else { return Ok(()) };
        let train = self.segments(self.train)?;
        let found = self.found_alone(denominator, &train, run)?;
        if let Some(signal) = run.interrupt.requested() {
            return Err(Error::Interrupted { signal, step: state.step, checkpoint: self.store.save(state)? });
        }
        if let Some(weights) = found {
            self.begin_at(state, &weights, &train);
        }
        Ok(())
    }

    /// Of a split, segments of one interval of each environment.
    fn segments(&self, split: &SplitData) -> Result<Vec<Batch>, Error> {
        let batch = split.batch(0, TRAJECTORIES, |_, trajectory| even_restarts(trajectory, 1))?;
        Ok((0..self.environments).map(|e| batch.environment(e)).collect())
    }

    /// The weights `[E, P]` of the environments; `None` if a signal comes.
    fn found_alone(
        &self,
        (places, power): (Range<usize>, usize),
        train: &[Batch],
        run: &Run,
    ) -> Result<Option<Vec<Vec<f64>>>, Error> {
        let good = GOOD * self.mean_square()?;
        let validation = self.segments(self.validation)?;
        let Some(mut denominator) = self.first_denominator(power, train, run) else { return Ok(None) };
        let Some(mut found) = self.rounds(&places, &denominator.delta, (train, &validation), good, run) else {
            return Ok(None);
        };
        // A second channel takes as long to look for as the first, so it is looked for where one is not enough.
        while found.error > good && denominator.delta.iter().any(|delta| *delta != 0.0) {
            let Some(wider) = self.wider_denominator(power, &denominator, train, run) else { return Ok(None) };
            if wider.delta == denominator.delta {
                break;
            }
            let Some(other) = self.rounds(&places, &wider.delta, (train, &validation), good, run) else {
                return Ok(None);
            };
            if other.error >= found.error {
                break;
            }
            (denominator, found) = (wider, other);
        }
        Ok(Some(found.weights))
    }

    /// Fits all environments alone from `delta`, in rounds with fewer and fewer terms; `None` if a signal comes.
    fn rounds(
        &self,
        places: &Range<usize>,
        delta: &[f64],
        (train, validation): (&[Batch], &[Batch]),
        good: f64,
        run: &Run,
    ) -> Option<Found> {
        let layout = self.model.layout();
        let interrupted = || run.interrupt.requested().is_some();
        let fit = |deltas: &[&[f64]], is_dropped: &[bool]| {
            let of_environment = |(batch, delta): (&Batch, &&[f64])| {
                let start = Start { places, delta, is_dropped };
                self.fit_alone(&start, batch, STEPS, run).1
            };
            let weights: Vec<Vec<f64>> = train.par_iter().zip(deltas).map(of_environment).collect();
            let of_batch =
                |(weights, batch): (&Vec<f64>, &Batch)| sum_of_squares(&self.reference.predict(weights, batch), batch);
            let squares: f64 = weights.iter().zip(validation).map(of_batch).sum();
            let error = squares / validation.iter().map(Batch::count).sum::<f64>();
            Found { weights, error: if error.is_finite() { error } else { f64::INFINITY } }
        };
        let total = Some(1 + THRESHOLDS.len() as u64);
        run.emit(Event::Begin { what: "environments alone".to_owned(), total, unit: "rounds" });
        let mut is_dropped = vec![false; layout.size()];
        let mut best = fit(&vec![delta; self.environments], &is_dropped);
        for (done, threshold) in (1..).zip(THRESHOLDS) {
            let kept = is_dropped.iter().filter(|it| !**it).count();
            let note = format!("{kept} coefficients, validation {:.2e} on one interval", best.error);
            run.emit(Event::Advance { done, note });
            let mut least = vec![f64::INFINITY; layout.size()];
            for (weights, batch) in best.weights.iter().zip(train) {
                let mut shares = term_sizes::sizes(layout, self.reference, weights, batch);
                term_sizes::to_shares(layout, &mut shares);
                least.iter_mut().zip(shares).for_each(|(least, share)| *least = least.min(share));
            }
            let more: Vec<bool> = is_dropped.iter().zip(least).map(|(it, share)| *it || share < threshold).collect();
            if more == is_dropped {
                continue;
            }
            let deltas: Vec<&[f64]> = best.weights.iter().map(|weights| &weights[places.clone()]).collect();
            let found = fit(&deltas, &more);
            if interrupted() {
                break;
            }
            if found.error > f64::max(GREATEST * best.error, good) {
                break;
            }
            (best, is_dropped) = (found, more);
        }
        run.emit(Event::End);
        if interrupted() {
            return None;
        }
        let kept = is_dropped.iter().filter(|it| !**it).count();
        run.emit(Event::Note(format!(
            "alone, each environment has {kept} of {} coefficients; mean squared error on one interval of the validation split {:.2e}",
            layout.size(),
            best.error
        )));
        Some(best)
    }

    /// Sets `state` so that the weights of the environments are about `found [E, P]`.
    fn begin_at(&self, state: &mut TrainingState, found: &[Vec<f64>], train: &[Batch]) {
        let (environments, d) = (found.len(), self.rule.context_size());
        let size = self.model.layout().size();
        let weights = DMatrix::from_fn(environments, size, |e, p| found[e][p]);
        let contexts = match self.settings.contexts {
            Contexts::Tied => DMatrix::from_row_slice(environments, d, &self.initial_contexts),
            Contexts::Learned => {
                let mut squares = vec![0.0; size];
                for (weights, batch) in found.iter().zip(train) {
                    let slopes = term_sizes::root_mean_squares(self.reference, weights, batch);
                    squares.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += slope * slope);
                }
                principal_components(&weights, &squares, d)
            }
        };
        let design = contexts.clone().insert_column(0, 1.0);
        let inverse = design.pseudo_inverse(1e-12).expect("the tolerance is positive");
        let affine = inverse * weights;
        let rows: Vec<Vec<f64>> = affine.row_iter().map(|row| row.iter().copied().collect()).collect();
        if let Some(shared) = self.rule.affine_shared(&rows[0], &rows[1..]) {
            state.trained = shared;
            state.trained.extend(contexts.transpose().iter());
        }
    }
}

/// The first `d` principal components `[E, d]` of `values [E, P]`, columns of which count by `squares [P]`; each has unit mean square, and
/// is positive where it is greatest.
fn principal_components(values: &DMatrix<f64>, squares: &[f64], d: usize) -> DMatrix<f64> {
    let count = values.nrows();
    let centred =
        DMatrix::from_fn(count, values.ncols(), |e, p| (values[(e, p)] - values.column(p).mean()) * squares[p].sqrt());
    let eigen = SymmetricEigen::new(&centred * centred.transpose());
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
    DMatrix::from_fn(count, d, |e, k| {
        let Some(&column) = order.get(k) else { return 0.0 };
        let vector = eigen.eigenvectors.column(column);
        vector[e] * vector[vector.iamax()].signum() * (count as f64).sqrt()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_of_a_plane_span_it() {
        let of = |e: usize| [(e % 3) as f64, (e / 3) as f64 - 1.0];
        let values = DMatrix::from_fn(9, 4, |e, p| {
            let [a, b] = of(e);
            [1.0 + 2.0 * a, b - a, 5.0, 3.0 * b][p]
        });
        let contexts = principal_components(&values, &[1.0, 0.5, 2.0, 1e-3], 2);
        for k in 0..2 {
            approx::assert_relative_eq!(contexts.column(k).norm_squared(), 9.0, max_relative = 1e-12);
        }
        let design = contexts.insert_column(0, 1.0);
        let left = &values - &design * (design.clone().pseudo_inverse(1e-12).unwrap() * &values);
        assert!(left.norm() < 1e-12, "{left}");
        // Three environments have two components at most.
        assert_eq!(principal_components(&values.rows(0, 1).into_owned(), &[1.0; 4], 2).column(1).norm(), 0.0);
    }
}
