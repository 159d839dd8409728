//! Learns how far estimates by a model are off for its own sake, from environments with known parameters that did not train it.
//!
//! Their contexts are fitted and mapped as those of any other. The errors `e_j` of a parameter are then taken as normal with the variances
//! `V_j + S_j` of [`ModelError`], and `a_j`, `k_j` and `g_j` are those that make greatest
//!
//! ```text
//! -1/2 sum_i (ln T_i + e_i^2 / T_i) - (g - 1)^2 / 2,     T_i = V_i + s_i (a + k u_i),   s_i = (1 + D_i^2)^g,   u_i = min(1, m^2 / s^2) V_i
//! ```
//!
//! over the environments `i`. The last term is what is known of `g` before: an affine map whose coefficients are uncertain has `g = 1`. For each `g` of
//! a grid `a` and `k` follow by
//!
//! ```text
//! a <- a sqrt(sum_i s_i e_i^2 / T_i^2 / sum_i s_i / T_i),     k <- k sqrt(sum_i s_i u_i e_i^2 / T_i^2 / sum_i s_i u_i / T_i)
//! ```
//!
//! which never makes the likelihood less and keeps both from zero up. Where enough contexts lie in the convex hull of those of the training, or
//! out of it, `c_j` is then the least number with which `ceil(0.95 (n + 1))` of the `n` intervals there hold the truth; where they do so with
//! `c_j = 0`, `r_j` is the least share of `u_i` with which they do. Whatever the law of the errors, the interval of another such environment then holds it
//! in 95 % (V. Vovk, A. Gammerman, G. Shafer, Algorithmic Learning in a Random World, 2005).
//!
//! Source: H. Zhou, L. Hu, J. Zhou, K. Lange, MM algorithms for variance components
//! models (Journal of Computational and Graphical Statistics, 2019).

use std::collections::BTreeMap;

use nalgebra::{DMatrix, DVector};

use super::estimator::{Estimator, left};
use crate::checkpoint::{ModelError, ParameterError, ParameterMap, StoredModel};
use crate::dataset::Dataset;
use crate::engine::Compute;
use crate::estimate::error::Error;
use crate::estimate::hull::Hull;
use crate::estimate::settings::Settings;
use crate::estimate::stream;
use crate::estimate::table::interval::{LEVEL, quantile};
use crate::estimate::table::row::{ParameterEstimate, Row, Status};
use crate::progress::{Event, Run};
use crate::schema::Split;

/// Fewer environments tell too little of a variance.
const FEWEST: usize = 8;
/// Steps of `a` and `k`.
const STEPS: usize = 400;
/// Step of the grid of `g`, and how many there are.
const GROWTHS: (f64, usize) = (0.25, 17);
/// Variance of a direction of the training contexts, relative to that of the widest, below which it counts as so wide: in a direction in which they do
/// not differ any other context would else be infinitely far.
const NARROWEST: f64 = 1e-6;

/// The error of `model`, which has a map, on the split `calibrate` of `dataset`; `None`, with a note or a warning, where it cannot be learned.
///
/// # Errors
/// If the dataset cannot be read or has other quantities than the model, or the model cannot be computed; and on an interrupt.
pub fn run(
    settings: &Settings,
    compute: Compute,
    dataset: &Dataset,
    model: &StoredModel,
    run: &Run,
) -> Result<Option<ModelError>, Error> {
    let Some(map) = &model.map else { return Ok(None) };
    if !settings.model_error || !dataset.manifest().splits.contains_key(&Split::Calibrate) {
        return Ok(None);
    }
    // Neither bounds on errors nor fitted trajectories are asked for, and a value cut at a bound is no estimate.
    let settings = &Settings { physics: None, fitted: false, bounds: BTreeMap::new(), ..settings.clone() };
    let estimator = Estimator::new(settings, compute, Some(dataset), model, run)?;
    let (mut calibration, mut all) = (Calibration::new(map), 0);
    let split = Split::Calibrate;
    run.emit(Event::Begin { what: "calibrate the intervals".to_owned(), total: None, unit: "environments" });
    stream::for_each_block(dataset, split, stream::all_rows(dataset, split), |block| {
        all += block.len();
        let estimated = estimator.block(split, block)?;
        run.interrupt.requested().map_or(Ok(()), |signal| Err(Error::Interrupted { signal }))?;
        estimated.iter().for_each(|it| calibration.add(&it.row, map, left(&model.manifest, &it.row.noise)));
        run.emit(Event::Advance { done: all as u64, note: String::new() });
        Ok(())
    })?;
    run.emit(Event::End);
    let count = calibration.spreads.len();
    if count < FEWEST {
        run.emit(Event::Warn(format!(
            "intervals do not know the model's own error: of {all} environments of the split calibrate {count} have known parameters and the status \
             ok; {FEWEST} at least are needed"
        )));
        return Ok(None);
    }
    let error = calibration.fit();
    run.emit(Event::Note(format!(
        "intervals know the model's own error from {count} of {all} environments; of theirs without it {:.1} % hold the truth",
        100.0 * calibration.covered()
    )));
    Ok(Some(error))
}

/// What environments with known parameters tell of the error.
struct Calibration {
    /// The error that is learned, of which the distance is known so far.
    error: ModelError,
    /// Of the training contexts.
    hull: Hull,
    /// Whether each environment lies in it.
    in_hull: Vec<bool>,
    /// `1 + D^2` of each environment.
    spreads: Vec<f64>,
    /// `s^2` of each.
    left: Vec<f64>,
    /// Errors `[d_p]` of each.
    errors: Vec<Vec<f64>>,
    /// Variances `V [d_p]` of each.
    variances: Vec<Vec<f64>>,
    /// Known parameters whose interval holds the truth.
    held: usize,
}

impl Calibration {
    fn new(map: &ParameterMap) -> Self {
        let contexts: Vec<DVector<f64>> =
            map.environments.iter().map(|it| DVector::from_column_slice(&it.context)).collect();
        let (d, count) = (map.centre.len(), contexts.len() as f64);
        let centre = contexts.iter().fold(DVector::zeros(d), |sum, context| sum + context) / count;
        let away = contexts.iter().map(|context| context - &centre);
        let covariance = away.fold(DMatrix::zeros(d, d), |sum, away| sum + &away * away.transpose()) / count;
        let mut eigen = covariance.symmetric_eigen();
        let widest = eigen.eigenvalues.max().max(f64::MIN_POSITIVE);
        let inverse = |width: f64| if width < NARROWEST * widest { 1.0 / widest } else { 1.0 / width };
        eigen.eigenvalues.apply(|width| *width = inverse(*width));
        let precision = eigen.recompose();
        let error = ModelError {
            centre: centre.iter().copied().collect(),
            precision: rows(&precision),
            left: 0.0,
            parameters: Vec::new(),
            correlations: Vec::new(),
            environments: 0,
        };
        let hull = Hull::new(map.environments.iter().map(|it| it.context.clone()).collect());
        let (in_hull, spreads) = (Vec::new(), Vec::new());
        let (left, errors, variances) = (Vec::new(), Vec::new(), Vec::new());
        Calibration { error, hull, in_hull, spreads, left, errors, variances, held: 0 }
    }

    /// Adds an environment, if its parameters are known and its fit is without a caution.
    fn add(&mut self, row: &Row, map: &ParameterMap, left: f64) {
        let truth: Option<Vec<f64>> = row.parameters.iter().map(|it| it.truth).collect();
        let Some(truth) = truth.filter(|_| row.status == Status::Ok) else { return };
        let errors: Vec<f64> = row.parameters.iter().zip(&truth).map(|(it, truth)| it.value - truth).collect();
        let own = map.variance(&row.context);
        let variances: Vec<f64> =
            row.parameters.iter().zip(own).map(|(it, own)| (it.standard_error.powi(2) - own).max(0.0)).collect();
        if !errors.iter().chain(&variances).all(|value| value.is_finite()) || !left.is_finite() {
            return;
        }
        let holds = |(it, truth): (&ParameterEstimate, &f64)| (it.lower..=it.upper).contains(truth);
        self.held += row.parameters.iter().zip(&truth).filter(|it| holds(*it)).count();
        self.in_hull.push(self.hull.contains(&row.context));
        self.spreads.push(self.error.spread(&row.context));
        self.left.push(left);
        self.errors.push(errors);
        self.variances.push(variances);
    }

    /// The share of the intervals that hold the truth as they are.
    fn covered(&self) -> f64 {
        self.held as f64 / self.errors.iter().map(Vec::len).sum::<usize>() as f64
    }

    fn fit(&self) -> ModelError {
        let (count, parameters) = (self.spreads.len(), self.errors[0].len());
        let mut error = self.error.clone();
        error.left = self.left.iter().copied().fold(0.0, f64::max);
        error.environments = count;
        let mut scaled = DMatrix::zeros(count, parameters);
        for j in 0..parameters {
            let of_fit: Vec<Datum> = (0..count)
                .map(|i| Datum {
                    square: self.errors[i][j].powi(2),
                    variance: self.variances[i][j],
                    spread: self.spreads[i],
                    of_model: error.share(self.left[i]) * self.variances[i][j],
                })
                .collect();
            let mut found = most_likely(&of_fit);
            for (i, it) in of_fit.iter().enumerate() {
                let total = it.variance + found.variance(it.spread, it.of_model);
                scaled[(i, j)] = if total > 0.0 { self.errors[i][j] / total.sqrt() } else { 0.0 };
            }
            let quantile = quantile(LEVEL, error.degrees_of_freedom());
            let of = |side: bool| of_fit.iter().zip(&self.in_hull).filter(move |it| *it.1 == side).map(|it| it.0);
            let [inside, outside] = [true, false].map(|side| enough(of(side), &found, quantile));
            (found.in_hull, found.kept_in_hull) = inside.unwrap_or((1.0, 1.0));
            // Too few out of it show nothing by which intervals could be narrower there.
            (found.out_of_hull, found.kept_out_of_hull) = outside.unwrap_or((found.in_hull.max(1.0), 1.0));
            error.parameters.push(found);
        }
        let moments = scaled.transpose() * &scaled;
        let correlation = |j: usize, k: usize| {
            let size = (moments[(j, j)] * moments[(k, k)]).sqrt();
            if j == k {
                1.0
            } else if size > 0.0 {
                moments[(j, k)] / size
            } else {
                0.0
            }
        };
        error.correlations = rows(&DMatrix::from_fn(parameters, parameters, correlation));
        error
    }
}

fn rows(matrix: &DMatrix<f64>) -> Vec<Vec<f64>> {
    matrix.row_iter().map(|row| row.iter().copied().collect()).collect()
}

/// `c` and `r` with which the intervals of these, `quantile` deviations to each side, hold the truth in 95 %: `c` is 0 or `r` 1. `None` of too few to tell.
fn enough<'a>(data: impl Iterator<Item = &'a Datum>, found: &ParameterError, quantile: f64) -> Option<(f64, f64)> {
    // From 0 to 1 it is `r`; above, `1 + c`.
    let needed = |it: &Datum| {
        let (square, own) = (it.square / quantile.powi(2), found.variance(it.spread, it.of_model));
        let (missing, noise) = (square - it.variance, it.variance - it.of_model);
        if missing > 0.0 {
            1.0 + missing / own
        } else if square > noise {
            (square - noise) / it.of_model
        } else {
            0.0
        }
    };
    let mut needed: Vec<f64> = data.map(needed).collect();
    needed.sort_unstable_by(f64::total_cmp);
    let place = (LEVEL * (needed.len() + 1) as f64).ceil() as usize;
    let needed = needed.get(place.checked_sub(1)?).copied().filter(|wider| wider.is_finite())?;
    Some(((needed - 1.0).max(0.0), needed.min(1.0)))
}

/// One error of one parameter.
struct Datum {
    /// `e^2`.
    square: f64,
    /// `V`.
    variance: f64,
    /// `1 + D^2`.
    spread: f64,
    /// `u`.
    of_model: f64,
}

/// `a`, `k` and `g` that make the likelihood greatest.
fn most_likely(data: &[Datum]) -> ParameterError {
    let growths = (0..GROWTHS.1).map(|i| i as f64 * GROWTHS.0);
    let fits = growths.map(|growth| {
        let found = with_growth(data, growth);
        let penalty = 0.5 * (growth - 1.0).powi(2);
        (penalty - likelihood(data, &found), found)
    });
    let best = fits.reduce(|best, other| if other.0 < best.0 { other } else { best });
    best.map_or(as_likely(0.0, 0.0, 1.0), |(_, found)| found)
}

/// These, and `c` and `r` of 1.
fn as_likely(constant: f64, factor: f64, growth: f64) -> ParameterError {
    ParameterError {
        constant,
        factor,
        growth,
        in_hull: 1.0,
        out_of_hull: 1.0,
        kept_in_hull: 1.0,
        kept_out_of_hull: 1.0,
    }
}

/// The logarithm of the likelihood, but for a constant; an error that is exactly zero where nothing has a variance says nothing.
fn likelihood(data: &[Datum], found: &ParameterError) -> f64 {
    let of_one = |it: &Datum| {
        let total = it.variance + found.variance(it.spread, it.of_model);
        if total > 0.0 { -0.5 * (total.ln() + it.square / total) } else { 0.0 }
    };
    data.iter().map(of_one).sum()
}

/// `a` and `k` for one `g`.
fn with_growth(data: &[Datum], growth: f64) -> ParameterError {
    let spreads: Vec<f64> = data.iter().map(|it| it.spread.powf(growth)).collect();
    let sum = |of: &dyn Fn(&Datum) -> f64| data.iter().zip(&spreads).map(|(it, spread)| spread * of(it)).sum::<f64>();
    let (squares, of_model) = (data.iter().map(|it| it.square).sum::<f64>(), sum(&|it| it.of_model));
    let half = |divisor: f64| if divisor > 0.0 { 0.5 * squares / divisor } else { 0.0 };
    let mut found = as_likely(half(sum(&|_| 1.0)), half(of_model), growth);
    for _ in 0..STEPS {
        let total = |it: &Datum| it.variance + found.variance(it.spread, it.of_model);
        let (mut by_constant, mut by_factor) = ([0.0; 2], [0.0; 2]);
        for (it, spread) in data.iter().zip(&spreads) {
            let total = total(it);
            if total > 0.0 {
                let (pull, weight) = (spread * it.square / (total * total), spread / total);
                by_constant = [by_constant[0] + pull, by_constant[1] + weight];
                by_factor = [by_factor[0] + it.of_model * pull, by_factor[1] + it.of_model * weight];
            }
        }
        let step = |[pull, weight]: [f64; 2]| if weight > 0.0 { (pull / weight).sqrt() } else { 0.0 };
        found.constant *= step(by_constant);
        found.factor *= step(by_factor);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// Errors that are drawn by the law are found to follow it.
    #[test]
    fn the_law_of_drawn_errors_is_found() {
        let truth = as_likely(0.04, 3.0, 1.5);
        let mut stream = Stream::new(7, "model errors", &[]);
        let data: Vec<Datum> = (0..4000)
            .map(|_| {
                let (spread, variance) = (1.0 + 4.0 * stream.unit(), 0.2 * stream.unit());
                let total = variance + truth.variance(spread, variance);
                let normal = (0..12).map(|_| stream.unit()).sum::<f64>() - 6.0;
                Datum { square: total * normal * normal, variance, spread, of_model: variance }
            })
            .collect();
        let found = most_likely(&data);
        approx::assert_abs_diff_eq!(found.growth, truth.growth, epsilon = 0.26);
        for spread in [1.0, 2.5, 5.0] {
            for variance in [0.02, 0.18] {
                let [found, truth] = [found, truth].map(|it| it.variance(spread, variance));
                approx::assert_relative_eq!(found, truth, max_relative = 0.15);
            }
        }
    }

    /// Of 39 errors with a variance of 1 the interval must hold 38: by hand, the two greatest being 9 and 20, it must reach to 9.
    #[test]
    fn intervals_are_as_wide_as_other_errors_need() {
        let of = |error: f64| Datum { square: error * error, variance: 0.0, spread: 1.0, of_model: 1.0 };
        let mut data: Vec<Datum> = (0..37).map(|i| of(0.05 * f64::from(i))).collect();
        data.extend([of(20.0), of(-9.0)]);
        let found = as_likely(0.0, 4.0, 1.0);
        let (wider, kept) = enough(data.iter(), &found, 2.0).unwrap();
        assert_eq!(kept, 1.0);
        approx::assert_relative_eq!(2.0 * (wider * 4.0).sqrt(), 9.0, max_relative = 1e-12);
        assert_eq!(enough(data[..18].iter(), &found, 2.0), None);
        let (least, _) = enough(data[..19].iter(), &found, 2.0).unwrap();
        approx::assert_relative_eq!(2.0 * (least * 4.0).sqrt(), 0.9, max_relative = 1e-12);
    }

    /// Of 39 errors up to 3.8 the interval must hold 38, so it reaches to 3.7, though the fit gives each a deviation of 10.
    #[test]
    fn intervals_are_no_wider_than_other_errors_need() {
        let of = |i: i32, of_model: f64| Datum {
            square: (0.1 * f64::from(i)).powi(2),
            variance: 100.0,
            spread: 1.0,
            of_model,
        };
        let found = as_likely(0.0, 1.0, 1.0);
        let all: Vec<Datum> = (0..39).map(|i| of(i, 100.0)).collect();
        let (wider, kept) = enough(all.iter(), &found, 2.0).unwrap();
        assert_eq!(wider, 0.0);
        approx::assert_relative_eq!(2.0 * (kept * 100.0).sqrt(), 3.7, max_relative = 1e-12);
        // Where noise alone explains more than the errors are, nothing else is kept, and the noise is.
        let noisy: Vec<Datum> = (0..39).map(|i| of(i, 40.0)).collect();
        assert_eq!(enough(noisy.iter(), &found, 2.0), Some((0.0, 0.0)));
    }

    /// Errors as large as their variances say leave nothing to the model.
    #[test]
    fn where_noise_explains_the_errors_nothing_is_added() {
        let mut stream = Stream::new(8, "noise", &[]);
        let data: Vec<Datum> = (0..4000)
            .map(|_| {
                let normal = (0..12).map(|_| stream.unit()).sum::<f64>() - 6.0;
                Datum { square: normal * normal, variance: 1.0, spread: 1.0 + stream.unit(), of_model: 1.0 }
            })
            .collect();
        let found = most_likely(&data);
        assert!(found.variance(1.5, 1.0) < 0.06, "{found:?}");
        // And exact estimates without a variance are taken as such.
        let exact = Datum { square: 0.0, variance: 0.0, spread: 1.0, of_model: 0.0 };
        assert_eq!(most_likely(&[exact]).variance(1.0, 0.0), 0.0);
    }
}
