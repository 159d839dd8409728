//! Fits the context-to-parameter map on the training environments, by least squares.
//!
//! Contexts are those that the estimator itself fits to the training environments' trajectories, so that the map is
//! fitted to contexts obtained in the same way as those of new environments; where such a fit ends in another minimum than training found, it is that of
//! training, for one wrong context would spoil the map. Another map than the affine one is chosen
//! only where its leave-one-out error is smaller.

use nalgebra::DMatrix;

use super::adapt;
use super::map_candidate::Candidate;
use super::support::Support;
use crate::checkpoint::{LeaveOneOut, MapKind, MapResidual, ParameterMap, StoredModel};
use crate::dataset::Dataset;
use crate::engine::{Compute, warn_of_cuda};
use crate::estimate::error::Error;
use crate::estimate::settings::{MapChoice, MapSettings, Settings};
use crate::progress::{Event, Run};
use crate::schema::Split;

/// Fits the map of `model` on the train split of `dataset`. `None` where no environment has known parameters.
///
/// # Errors
/// If the dataset cannot be read, or too few environments with known parameters could be fitted.
pub fn run(
    settings: &MapSettings,
    estimate: &Settings,
    compute: Compute,
    dataset: &Dataset,
    model: &StoredModel,
    run: &Run,
) -> Result<Option<ParameterMap>, Error> {
    crate::estimate::driver::check_quantities(dataset, model)?;
    crate::estimate::driver::check_initial_state(estimate, dataset)?;
    let manifest = &model.manifest;
    let known: Vec<(&str, Vec<f64>, &[f64])> = manifest
        .environments
        .iter()
        .zip(model.own_values())
        .filter_map(|(it, own)| {
            let parameters = it.parameters.iter().copied().collect::<Option<Vec<f64>>>()?;
            Some((it.id.as_str(), parameters, own))
        })
        .filter(|(_, parameters, _)| !parameters.is_empty())
        .collect();
    if known.is_empty() {
        let why = match manifest.inferred {
            Some(_) => "training inferred the environments, whose parameters nobody knows",
            None => "no training environment has known parameters",
        };
        run.emit(Event::Note(format!("{why}: there is no map")));
        return Ok(None);
    }
    let units = manifest.units();
    let mut trajectories = vec![Vec::new(); known.len()];
    for trajectory in dataset.read(Split::Train)? {
        if let Ok(place) = known.binary_search_by(|(id, _, _)| (*id).cmp(trajectory.environment.as_str())) {
            trajectories[place].push(trajectory);
        }
    }
    let supports: Vec<Support> =
        trajectories.into_iter().map(|it| Support::new(it, &units, estimate.initial_state())).collect();
    let adapter = adapt::Adapter::new(estimate, compute, model)?;
    warn_of_cuda(run);
    let trained: Vec<&[f64]> = known.iter().map(|(_, _, own)| *own).collect();
    let adaptations = adapter.adapt_known(&supports, &trained);
    let mut fitted = Vec::new();
    for ((id, parameters, _), adaptation) in known.into_iter().zip(adaptations) {
        if adaptation.context.iter().all(|xi| xi.is_finite()) {
            fitted.push((id.to_owned(), adaptation.context, parameters));
        } else {
            run.emit(Event::Warn(format!("environment {id} is left out of the map: {}", adaptation.reason)));
        }
    }
    let names = manifest.parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let map = fit(settings.kind, names, &fitted)?;
    run.emit(Event::Note(format!(
        "{} map on {} environments; leave-one-out error over spread: affine {}, quadratic {}, power {}",
        map.description(),
        map.environments.len(),
        percent(map.leave_one_out.affine),
        percent(map.leave_one_out.quadratic),
        percent(map.leave_one_out.power)
    )));
    Ok(Some(map))
}

fn percent(value: Option<f64>) -> String {
    value.map_or("unknown (too few environments, or a parameter that does not vary)".to_owned(), |value| {
        format!("{:.3} %", 100.0 * value)
    })
}

/// Fits the map to (environment, context `[d]`, parameters `[d_p]`).
///
/// # Errors
/// If there are fewer environments than terms.
pub fn fit(
    choice: MapChoice,
    parameters: Vec<String>,
    environments: &[(String, Vec<f64>, Vec<f64>)],
) -> Result<ParameterMap, Error> {
    let d = environments.first().map_or(0, |(_, context, _)| context.len());
    let count = environments.len();
    let needed = match choice {
        MapChoice::Quadratic => MapKind::Quadratic,
        MapChoice::Power => MapKind::Power,
        MapChoice::Auto | MapChoice::Affine => MapKind::Affine,
    };
    if count < needed.terms(d) {
        return Err(Error::TooFewForMap { kind: needed.name(), expected: needed.terms(d), found: count });
    }
    let mean = |k: usize| environments.iter().map(|(_, context, _)| context[k]).sum::<f64>() / count as f64;
    let centre: Vec<f64> = (0..d).map(mean).collect();
    let deviation = |k: usize| {
        let squares: f64 = environments.iter().map(|(_, context, _)| (context[k] - centre[k]).powi(2)).sum();
        (squares / count as f64).sqrt()
    };
    let scale: Vec<f64> = (0..d).map(|k| Some(deviation(k)).filter(|&s| s > 0.0).unwrap_or(1.0)).collect();
    let z: Vec<Vec<f64>> = environments
        .iter()
        .map(|(_, context, _)| {
            context.iter().zip(&centre).zip(&scale).map(|((xi, centre), scale)| (xi - centre) / scale).collect()
        })
        .collect();
    let known = DMatrix::from_fn(count, parameters.len(), |i, j| environments[i].2[j]);
    let candidate = |kind: MapKind| Candidate::fit(kind, &z, &known);
    let (affine, power) = (candidate(MapKind::Affine), candidate(MapKind::Power));
    let quadratic = (count >= MapKind::Quadratic.terms(d)).then(|| candidate(MapKind::Quadratic));
    let leave_one_out = LeaveOneOut {
        affine: affine.leave_one_out,
        quadratic: quadratic.as_ref().and_then(|candidate| candidate.leave_one_out),
        power: power.leave_one_out,
    };
    let chosen = match (choice, quadratic) {
        (MapChoice::Auto, quadratic) => quadratic.into_iter().chain([power]).fold(affine, better),
        (MapChoice::Quadratic, Some(quadratic)) => quadratic,
        (MapChoice::Power, _) => power,
        (MapChoice::Affine | MapChoice::Quadratic, _) => affine,
    };
    let mut map = ParameterMap {
        kind: chosen.kind,
        parameters,
        centre,
        scale,
        coefficients: chosen.coefficients,
        powers: chosen.powers,
        residual_variance: chosen.residual_variance,
        inverse_gram: chosen.inverse_gram,
        leave_one_out,
        environments: Vec::new(),
        model_error: None,
    };
    map.environments = environments
        .iter()
        .map(|(environment, context, parameters)| MapResidual {
            environment: environment.clone(),
            context: context.clone(),
            parameters: parameters.clone(),
            residuals: map.apply(context).iter().zip(parameters).map(|(mapped, known)| mapped - known).collect(),
        })
        .collect();
    Ok(map)
}

/// `other` where both errors are known and its is the smaller one.
fn better(first: Candidate, other: Candidate) -> Candidate {
    match (first.leave_one_out, other.leave_one_out) {
        (Some(error), Some(of_other)) if of_other < error => other,
        _ => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environments(bend: f64) -> Vec<(String, Vec<f64>, Vec<f64>)> {
        let mut environments = Vec::new();
        for i in 0..3 {
            for j in 0..3 {
                let (x, y) = (f64::from(i) - 1.0, f64::from(j) * 0.5);
                let wiggle = 1e-3 * f64::from((7 * i + 3 * j) % 5 - 2);
                let parameters = vec![1.0 + 2.0 * x - y + bend * x * y + wiggle, x + y + bend * x * x - wiggle];
                environments.push((format!("e{i}{j}"), vec![x, y], parameters));
            }
        }
        environments
    }

    #[test]
    fn the_quadratic_map_is_chosen_only_where_it_predicts_better() {
        let names = || vec!["p".to_owned(), "q".to_owned()];
        assert_eq!(fit(MapChoice::Auto, names(), &environments(0.0)).unwrap().kind, MapKind::Affine);
        let bent = fit(MapChoice::Auto, names(), &environments(0.5)).unwrap();
        assert_eq!(bent.kind, MapKind::Quadratic);
        assert!(bent.environments.iter().flat_map(|it| &it.residuals).all(|residual| residual.abs() < 5e-3));
        assert_eq!(fit(MapChoice::Affine, names(), &environments(0.5)).unwrap().kind, MapKind::Affine);
    }

    /// The error of fits that leave one of `all` out in turn, each with the powers of the fit of all.
    fn error_of_left_out(choice: MapChoice, names: &[String], all: &[(String, Vec<f64>, Vec<f64>)]) -> f64 {
        let (count, powers) = (all.len() as f64, fit(choice, names.to_vec(), all).unwrap().powers);
        let mut sum = 0.0;
        for j in 0..names.len() {
            let values: Vec<f64> = all.iter().map(|it| it.2[j]).collect();
            let mean = values.iter().sum::<f64>() / count;
            let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
            for i in 0..all.len() {
                let mut others = all.to_vec();
                let left_out = others.remove(i);
                let without = fit(choice, names.to_vec(), &others).unwrap();
                assert_eq!(without.powers, powers);
                sum += (without.apply(&left_out.1)[j] - left_out.2[j]).powi(2) / variance;
            }
        }
        (sum / (count * names.len() as f64)).sqrt()
    }

    #[test]
    fn leave_one_out_errors_are_those_of_really_leaving_one_out() {
        let (names, all) = (["p", "q"].map(str::to_owned), environments(0.5));
        let closed = fit(MapChoice::Affine, names.to_vec(), &all).unwrap().leave_one_out.affine.unwrap();
        let found = error_of_left_out(MapChoice::Affine, &names, &all);
        approx::assert_relative_eq!(closed, found, max_relative = 1e-9);
    }

    /// By simulation: the spread of a new environment's parameter about its mapped context.
    #[test]
    fn the_variance_is_that_of_a_new_environment() {
        let (noise, context) = (0.1, [2.5]);
        let mut squares = 0.0;
        let mut stated = 0.0;
        for trial in 0..2000 {
            let mut stream = crate::random::Stream::new(trial, "map", &[]);
            let environments: Vec<_> = (0..8)
                .map(|i| {
                    let xi = f64::from(i) / 4.0;
                    (format!("e{i}"), vec![xi], vec![1.0 + 2.0 * xi + noise * stream.normal()])
                })
                .collect();
            let map = fit(MapChoice::Affine, vec!["p".into()], &environments).unwrap();
            let truth = 1.0 + 2.0 * context[0] + noise * stream.normal();
            squares += (map.apply(&context)[0] - truth).powi(2);
            stated += map.variance(&context)[0];
        }
        // Both are means over 2000 trials, with standard errors of about 3 %.
        approx::assert_relative_eq!(squares / 2000.0, stated / 2000.0, max_relative = 0.12);
    }

    /// `beta = 1 / sqrt(affine)`, `ln delta` affine and `gamma`, of both signs, affine, to `noise`.
    fn curved(noise: f64) -> Vec<(String, Vec<f64>, Vec<f64>)> {
        let environment = |i: u32| {
            let (x, y) = (f64::from(i % 4) * 0.5, f64::from(i / 4) * 0.5);
            let wiggle = 1.0 + noise * f64::from((7 * i) % 5);
            (format!("e{i:02}"), vec![x, y], parameters_at(x, y).into_iter().map(|p| p * wiggle).collect())
        };
        (0..16).map(environment).collect()
    }

    fn parameters_at(x: f64, y: f64) -> Vec<f64> {
        vec![1.0 / (4.0 + x - y).sqrt(), (0.5 * x + y - 2.0).exp(), 1.0 + 2.0 * x - 3.0 * y]
    }

    fn three() -> Vec<String> {
        ["beta", "delta", "gamma"].map(str::to_owned).to_vec()
    }

    #[test]
    fn powers_are_recovered_and_hold_beyond_the_training_range() {
        for choice in [MapChoice::Power, MapChoice::Auto] {
            let map = fit(choice, three(), &curved(0.0)).unwrap();
            assert_eq!(map.description(), "power (beta^-2, ln delta, gamma)");
            for (x, y) in [(0.3, 0.7), (6.0, -5.0), (-3.0, -2.0), (4.0, 7.0)] {
                for (mapped, truth) in map.apply(&[x, y]).into_iter().zip(parameters_at(x, y)) {
                    approx::assert_relative_eq!(mapped, truth, max_relative = 1e-9);
                }
            }
            assert!(map.leave_one_out.power.unwrap() < 1e-12 && map.leave_one_out.affine.unwrap() > 1e-3);
            // Where `1 / beta^2` would be negative there is no `beta`; the others have values.
            let beyond = map.apply(&[-5.0, 0.0]);
            assert!(beyond[0].is_nan() && beyond[1].is_finite() && beyond[2].is_finite(), "{beyond:?}");
        }
        let affine = fit(MapChoice::Power, vec!["p".into(), "q".into()], &environments(0.0)).unwrap();
        assert_eq!(affine.description(), "power (p, q)");
        assert_eq!(affine.leave_one_out.power, affine.leave_one_out.affine);
        assert_eq!(
            fit(MapChoice::Power, three(), &curved(0.0)[..3]).unwrap().description(),
            "power (beta, delta, gamma)"
        );
    }

    #[test]
    fn leave_one_out_errors_of_powers_are_those_of_really_leaving_one_out() {
        let all = curved(1e-3);
        let closed = fit(MapChoice::Power, three(), &all).unwrap().leave_one_out.power.unwrap();
        let found = error_of_left_out(MapChoice::Power, &three(), &all);
        approx::assert_relative_eq!(closed, found, max_relative = 1e-7);
    }

    #[test]
    fn too_few_environments_are_refused() {
        let few = environments(0.0)[..2].to_vec();
        assert!(matches!(
            fit(MapChoice::Auto, vec!["p".into(), "q".into()], &few),
            Err(Error::TooFewForMap { expected: 3, found: 2, .. })
        ));
    }
}
