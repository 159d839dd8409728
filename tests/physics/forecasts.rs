//! Forecasts by fitted equations: their bands beside closed forms, and how often they hold simulated truth.

use std::path::Path;

use nalgebra::{Matrix2, Vector2};
use paramill::dataset::{Dataset, Manifest};
use paramill::estimate::physics::{Drawings, Draws, Forecaster, From, Kind, Predicted, Prediction, Systems, Wanted};
use paramill::estimate::{Row, Settings};
use paramill::progress::Run;
use paramill::random::Stream;
use paramill::schema::{Between, Input, Quantity, Split, Trajectory};
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::common::manifest;
use super::model::dataset_of;
use super::rows;

const NOISE: f64 = 0.05;
/// When forecasts are looked at; the samples end at 6.
const AHEAD: f64 = 8.0;

/// Decay of what is measured, from a start that is fitted.
const DECAY: &str = r#"
    method = "physics"
    [physics.system]
    name = "decay"
    horizon = 6.0
    time_step = 0.5
    states = [{ name = "x", derivative = "-k * x", initial = [0.0, 5.0] }]
    parameters = [{ name = "k", lower = 0.01, upper = 2.0 }]
"#;

/// The same into a compartment that nobody measures, whose start is free, seen through an output.
const CHAIN: &str = r#"
    method = "physics"
    [physics.system]
    name = "chain"
    horizon = 6.0
    time_step = 0.5
    states = [
        { name = "x", derivative = "-k * x", start = { lower = 0.0, upper = 9.0 } },
        { name = "z", derivative = "k * x - 0.1 * z", start = 0.0 },
    ]
    outputs = [{ name = "y", expression = "z / 2" }, { name = "sum", expression = "x + z" }]
    parameters = [{ name = "k", lower = 0.05, upper = 2.0 }]
"#;

/// Environments that start at `x0` and decay at `k`, each with one noisy channel of `value(k, x0, t)`.
fn dataset(root: &Path, channel: &str, count: usize, value: fn(f64, f64, f64) -> f64) -> Dataset {
    let quantity = |name: &str| Quantity::new(name, "1", "");
    let mut manifest = Manifest {
        channels: vec![quantity(channel)],
        parameters: vec![quantity("k"), quantity("x0")],
        time_unit: "1".to_owned(),
        ..manifest()
    };
    manifest.provenance.stage = "import".to_owned();
    let of = |id: usize| {
        let mut stream = Stream::new(11, channel, &[id as u64]);
        let (k, x0) = (stream.uniform(0.15, 0.4), stream.uniform(2.0, 4.0));
        let times: Vec<f64> = (0..25).map(|t| 0.25 * f64::from(t)).collect();
        Trajectory {
            environment: format!("e{id:04}"),
            trajectory: "0".to_owned(),
            parameters: vec![Some(k), Some(x0)],
            states: times.iter().map(|t| value(k, x0, *t) + NOISE * stream.normal()).collect(),
            times,
            inputs: Vec::new(),
        }
    };
    dataset_of(&root.join(channel), &manifest, vec![(Split::Adapt, (0..count).map(of).collect())])
}

fn decayed(k: f64, x0: f64, t: f64) -> f64 {
    x0 * (-k * t).exp()
}

/// What is in the second compartment.
fn carried(k: f64, x0: f64, t: f64) -> f64 {
    x0 * k / (k - 0.1) * ((-0.1 * t).exp() - (-k * t).exp())
}

/// The forecasts of all environments at [`AHEAD`], with their rows and trajectories.
fn forecasts(settings: &str, dataset: &Dataset, from: From) -> Vec<(Row, Trajectory, Prediction)> {
    let (parsed, run): (Settings, Run) = (toml::from_str(settings).unwrap(), Run::silent());
    let forecaster = Forecaster::new(&parsed, dataset, &run).unwrap();
    let trajectories = dataset.read(Split::Adapt).unwrap();
    let of_row = |(row, trajectory): (Row, Trajectory)| {
        let start = forecaster.start_time(&trajectory, from).unwrap().unwrap();
        let times = [start, AHEAD];
        let wanted = Wanted { from, times: &times, inputs: &[] };
        let found = forecaster.predict((&row, std::slice::from_ref(&trajectory)), 0, &wanted).unwrap();
        assert_eq!(found.times, times);
        (row, trajectory, found)
    };
    rows(settings, dataset, Split::Adapt).into_iter().zip(trajectories).map(of_row).collect()
}

fn half_width(it: &Predicted, t: usize) -> f64 {
    0.5 * (it.band[t].1 - it.band[t].0)
}

/// Fails unless about 95 % of `count` are held: within four standard errors.
fn assert_covered(what: &str, held: usize, count: usize) {
    let (held, expected) = (held as f64, 0.95 * count as f64);
    let allowed = 4.0 * (0.95 * 0.05 * count as f64).sqrt();
    assert!((held - expected).abs() < allowed, "{what}: {held} of {count}");
}

#[test]
fn a_band_is_that_of_the_regression() {
    let place = tempfile::tempdir().unwrap();
    let dataset = dataset(place.path(), "x", 3, decayed);
    for (row, trajectory, found) in forecasts(DECAY, &dataset, From::Fitted) {
        let k = row.parameters[0].value;
        let now = found.quantities[0].values[0];
        let x0 = now * (k * 6.0).exp();
        let slopes = |t: f64| Vector2::new(-t * decayed(k, x0, t), decayed(k, 1.0, t));
        let information: Matrix2<f64> = trajectory.times.iter().map(|t| slopes(*t) * slopes(*t).transpose()).sum();
        let squares: f64 =
            trajectory.times.iter().zip(&trajectory.states).map(|(t, x)| (x - decayed(k, x0, *t)).powi(2)).sum();
        let covariance = information.try_inverse().unwrap() * squares / 23.0;
        let quantile = StudentsT::new(0.0, 1.0, 23.0).unwrap().inverse_cdf(0.975);
        for (t, time) in [6.0, AHEAD].into_iter().enumerate() {
            let expected = quantile * (covariance * slopes(time)).dot(&slopes(time)).sqrt();
            let it = &found.quantities[0];
            approx::assert_relative_eq!(half_width(it, t), expected, max_relative = 1e-3);
            let (lower, upper) = it.measured.as_ref().unwrap()[t];
            let with_noise = expected.hypot(quantile * (squares / 23.0).sqrt());
            approx::assert_relative_eq!(0.5 * (upper - lower), with_noise, max_relative = 1e-3);
            approx::assert_relative_eq!(it.values[t], decayed(k, x0, time), max_relative = 1e-6);
        }
    }
}

#[test]
fn bands_hold_the_truth_as_often_as_they_say() {
    const COUNT: usize = 500;
    let place = tempfile::tempdir().unwrap();
    let dataset = dataset(place.path(), "x", COUNT, decayed);
    for from in [From::Fitted, From::Initial, From::Observed] {
        let (mut held, mut held_new) = (0, 0);
        for (id, (_, trajectory, found)) in forecasts(DECAY, &dataset, from).into_iter().enumerate() {
            let [k, x0] = [0, 1].map(|it| trajectory.parameters[it].unwrap());
            let (it, truth) = (&found.quantities[0], decayed(k, x0, AHEAD));
            let holds = |(lower, upper): (f64, f64), value: f64| usize::from((lower..=upper).contains(&value));
            held += holds(it.band[1], truth);
            let new = truth + NOISE * Stream::new(12, "new", &[id as u64]).normal();
            held_new += holds(it.measured.as_ref().unwrap()[1], new);
        }
        assert_covered(&format!("{from:?}, the trajectory"), held, COUNT);
        assert_covered(&format!("{from:?}, a new measurement"), held_new, COUNT);
    }
}

#[test]
fn hidden_states_and_outputs_are_forecast_too() {
    const COUNT: usize = 300;
    let place = tempfile::tempdir().unwrap();
    let dataset = dataset(place.path(), "y", COUNT, |k, x0, t| 0.5 * carried(k, x0, t));
    let found = forecasts(CHAIN, &dataset, From::Fitted);
    let names: Vec<(&str, Kind)> =
        found[0].2.quantities.iter().map(|it| (it.quantity.name.as_str(), it.kind)).collect();
    assert_eq!(names, [("y", Kind::Channel), ("x", Kind::State), ("z", Kind::State), ("sum", Kind::Output)]);
    let mut held = [0; 4];
    for (_, trajectory, found) in &found {
        let [k, x0] = [0, 1].map(|it| trajectory.parameters[it].unwrap());
        let (x, z) = (decayed(k, x0, AHEAD), carried(k, x0, AHEAD));
        for ((it, truth), held) in found.quantities.iter().zip([0.5 * z, x, z, x + z]).zip(&mut held) {
            *held += usize::from((it.band[1].0..=it.band[1].1).contains(&truth));
        }
        assert!(found.quantities[1].measured.is_none());
    }
    for (name, held) in names.iter().zip(held) {
        assert_covered(name.0, held, COUNT);
    }
}

#[test]
fn a_given_state_is_exact_and_doses_to_come_are_given() {
    let quantity = |name: &str| Quantity::new(name, "1", "");
    let mut manifest = Manifest {
        channels: vec![quantity("a")],
        parameters: vec![quantity("ke")],
        inputs: vec![Input { quantity: quantity("dose"), between: Between::Hold }],
        time_unit: "1".to_owned(),
        ..manifest()
    };
    manifest.provenance.stage = "import".to_owned();
    let settings = r#"
        method = "physics"
        [physics.system]
        name = "vein"
        horizon = 6.0
        time_step = 0.5
        inputs = [{ name = "dose" }]
        states = [{ name = "a", derivative = "-ke * a", start = 0.0 }]
        doses = [{ input = "dose", state = "a" }]
        parameters = [{ name = "ke", lower = 0.01, upper = 2.0 }]
    "#;
    let times: Vec<f64> = (0..13).map(|t| 0.5 * f64::from(t)).collect();
    let ke = 0.3_f64;
    let states = times.iter().map(|t| if *t == 0.0 { 0.0 } else { 10.0 * (-ke * t).exp() });
    let trajectory = Trajectory {
        environment: "e".to_owned(),
        trajectory: "0".to_owned(),
        parameters: vec![Some(ke)],
        states: states.collect(),
        inputs: vec![10.0; 13],
        times,
    };
    let place = tempfile::tempdir().unwrap();
    let dataset = dataset_of(&place.path().join("data"), &manifest, vec![(Split::Adapt, vec![trajectory.clone()])]);
    let row = rows(settings, &dataset, Split::Adapt).remove(0);
    let (parsed, run): (Settings, Run) = (toml::from_str(settings).unwrap(), Run::silent());
    let forecaster = Forecaster::new(&parsed, &dataset, &run).unwrap();
    assert_eq!(forecaster.inputs(), [(0, true)]);
    let given = [("a".to_owned(), 2.0)];
    // 4 at once and 6 more after a unit of time; what is given at a time acts after its sample.
    let (times, sums) = ([6.0, 7.0, 8.0], [4.0, 10.0, 10.0]);
    for (from, at_start) in [(From::Fitted, 10.0 * (-ke * 6.0).exp()), (From::Given(&given), 2.0)] {
        let wanted = Wanted { from, times: &times, inputs: &sums };
        let found = forecaster.predict((&row, std::slice::from_ref(&trajectory)), 0, &wanted).unwrap();
        let decay = |amount: f64| amount * (-ke).exp();
        let expected = [at_start, decay(at_start + 4.0), decay(decay(at_start + 4.0) + 6.0)];
        for (value, expected) in found.quantities[0].values.iter().zip(expected) {
            approx::assert_relative_eq!(*value, expected, max_relative = 1e-5);
        }
    }
    let wanted = Wanted { from: From::Given(&given), times: &times, inputs: &[0.0; 3] };
    let simulated = forecaster.simulate(&[0.5], &wanted).unwrap();
    approx::assert_relative_eq!(simulated.quantities[0].values[2], 2.0 * (-1.0_f64).exp(), max_relative = 1e-6);
    let (lower, upper) = simulated.quantities[0].band[2];
    assert!(lower == upper && simulated.quantities[0].measured.is_none());
    let unknown = [("b".to_owned(), 2.0)];
    let wanted = Wanted { from: From::Given(&unknown), ..wanted };
    let said = forecaster.simulate(&[0.5], &wanted).unwrap_err().to_string();
    assert_eq!(said, "found the state b; expected values of the states a");
}

/// What is driven by an input whose gain belongs to each trajectory.
const GAINS: &str = r#"
    method = "physics"
    physics.scopes = { gain = "trajectory" }
    [physics.system]
    name = "driven"
    horizon = 6.0
    time_step = 0.5
    inputs = [{ name = "u" }]
    states = [{ name = "x", derivative = "-k * x + gain * u", initial = [0.0, 5.0] }]
    parameters = [{ name = "k", lower = 0.01, upper = 2.0 }, { name = "gain", lower = 0.1, upper = 9.0 }]
"#;

/// Trajectories of one environment, of which those named are driven by 1.
fn driven(root: &Path, ids: &[(&str, f64)]) -> Dataset {
    let quantity = |name: &str| Quantity::new(name, "1", "");
    let mut manifest = Manifest {
        channels: vec![quantity("x")],
        parameters: vec![quantity("k")],
        inputs: vec![Input { quantity: quantity("u"), between: Between::Hold }],
        time_unit: "1".to_owned(),
        ..manifest()
    };
    manifest.provenance.stage = "import".to_owned();
    let mut stream = Stream::new(3, "driven", &[]);
    let times: Vec<f64> = (0..25).map(|t| 0.25 * f64::from(t)).collect();
    let mut of = |(id, u): &(&str, f64)| {
        let rest = 2.0 * u / 0.4;
        let value = |t: &f64| rest + (3.0 - rest) * (-0.4 * t).exp() + NOISE * stream.normal();
        Trajectory {
            environment: "e".to_owned(),
            trajectory: (*id).to_owned(),
            parameters: vec![Some(0.4)],
            states: times.iter().map(value).collect(),
            inputs: vec![*u; 25],
            times: times.clone(),
        }
    };
    dataset_of(&root.join("driven"), &manifest, vec![(Split::Adapt, ids.iter().map(&mut of).collect())])
}

/// The forecast of a trajectory over three units of time under an input of `u`.
fn under(settings: &str, dataset: &Dataset, (row, trajectory): (&Row, usize), from: From, u: f64) -> Prediction {
    let (parsed, run): (Settings, Run) = (toml::from_str(settings).unwrap(), Run::silent());
    let forecaster = Forecaster::new(&parsed, dataset, &run).unwrap();
    let trajectories = dataset.read(Split::Adapt).unwrap();
    let wanted = Wanted { from, times: &[6.0, 7.0, 9.0], inputs: &[u; 3] };
    forecaster.predict((row, &trajectories), trajectory, &wanted).unwrap()
}

/// A trajectory that is never driven says nothing of its gain: a forecast has no band where that matters, and one where it does not.
#[test]
fn what_nothing_limits_has_no_band() {
    let place = tempfile::tempdir().unwrap();
    let dataset = driven(place.path(), &[("driven", 1.0), ("quiet", 0.0)]);
    let row = rows(GAINS, &dataset, Split::Adapt).remove(0);
    for from in [From::Fitted, From::Observed, From::Given(&[("x".to_owned(), 0.5)])] {
        let still = under(GAINS, &dataset, (&row, 1), from, 0.0);
        let moved = under(GAINS, &dataset, (&row, 1), from, 1.0);
        let (still_x, moved_x) = (&still.quantities[0], &moved.quantities[0]);
        assert!(still.unknown.is_none() && half_width(still_x, 2) > 0.0, "{from:?}: {still:?}");
        assert!(moved_x.values[2].is_finite() && half_width(moved_x, 2).is_nan(), "{from:?}: {moved:?}");
        let (lower, upper) = moved_x.measured.as_ref().unwrap()[2];
        assert!(lower.is_nan() && upper.is_nan());
        assert_eq!(moved.unknown.as_deref(), Some("the data of trajectory quiet do not determine gain"));
        // At its start the forecast has not moved yet.
        assert!((half_width(moved_x, 0) - half_width(still_x, 0)).abs() <= 1e-6 * half_width(still_x, 0));
        assert!(half_width(&under(GAINS, &dataset, (&row, 0), from, 1.0).quantities[0], 2) > 0.0);
    }
}

/// Of one trajectory it is all the same whether a parameter is its own or its environment's, whatever the forecast starts from.
#[test]
fn a_band_knows_the_errors_of_what_a_trajectory_has_of_its_own() {
    let place = tempfile::tempdir().unwrap();
    let dataset = driven(place.path(), &[("driven", 1.0)]);
    let of_environment = GAINS.replace("physics.scopes = { gain = \"trajectory\" }", "");
    let [own, shared] = [GAINS, &of_environment].map(|it| rows(it, &dataset, Split::Adapt).remove(0));
    for from in [From::Fitted, From::Initial, From::Observed, From::Given(&[("x".to_owned(), 0.5)])] {
        let own = under(GAINS, &dataset, (&own, 0), from, 1.0);
        let shared = under(&of_environment, &dataset, (&shared, 0), from, 1.0);
        for t in 0..own.times.len() {
            let [a, b] = [&own, &shared].map(|it| half_width(&it.quantities[0], t));
            assert!((a - b).abs() <= 0.02 * b && (b > 0.0 || t == 0), "{from:?} at {t}: {a}, not {b}");
        }
    }
}

/// A row without standard errors, as of an environment that took no part in the fit of what all share, has forecasts without bands, and says so.
#[test]
fn without_standard_errors_the_mean_is_forecast() {
    let place = tempfile::tempdir().unwrap();
    let dataset = dataset(place.path(), "x", 1, decayed);
    let (row, trajectory, known) = forecasts(DECAY, &dataset, From::Fitted).remove(0);
    let (settings, run): (Settings, Run) = (toml::from_str(DECAY).unwrap(), Run::silent());
    let forecaster = Forecaster::new(&settings, &dataset, &run).unwrap();
    let mut without = row.clone();
    without.parameters[0].standard_error = f64::NAN;
    let none_left = Row { degrees_of_freedom: 0.0, ..row };
    for (row, reason) in [
        (without, "the estimates have no standard error of k"),
        (none_left, "no degree of freedom is left to judge errors by: as many unknowns as observed values"),
    ] {
        let wanted = Wanted { from: From::Fitted, times: &[6.0, AHEAD], inputs: &[] };
        let found = forecaster.predict((&row, std::slice::from_ref(&trajectory)), 0, &wanted).unwrap();
        assert_eq!(found.quantities[0].values, known.quantities[0].values);
        assert!(half_width(&found.quantities[0], 1).is_nan());
        assert_eq!(found.unknown.as_deref(), Some(reason));
    }
    assert!(known.unknown.is_none());
}

/// Trajectories for parameters and starts that are drawn scatter as their bands say, each environment in its own way, and the same again.
#[test]
fn replicates_scatter_as_the_bands_say() {
    let place = tempfile::tempdir().unwrap();
    let dataset = dataset(place.path(), "x", 3, decayed);
    let settings: Settings = toml::from_str(DECAY).unwrap();
    let (systems, run) = (Systems::new(&settings).unwrap(), Run::silent());
    let drawings = Drawings::new(&systems, &dataset, &[Split::Adapt], &run).unwrap();
    let all = forecasts(DECAY, &dataset, From::Initial);
    for (index, (row, _, _)) in all.iter().enumerate() {
        let draw = |index: usize| {
            let draws = Draws { seed: 5, indices: &[index as u64] };
            drawings.with_replicates(Split::Adapt, row, Some(draws)).unwrap()
        };
        let drawn = draw(index);
        let it = &drawn.trajectories[0];
        assert_eq!((drawn.draws, drawn.held.len(), it.replicates.len()), (200, 0, 200 * 25));
        let fine = it.fine.as_ref().unwrap();
        let quantile = StudentsT::new(0.0, 1.0, 23.0).unwrap().inverse_cdf(0.975);
        for sample in [0, 8, 24] {
            let place = fine.times.iter().position(|time| *time == it.trajectory.times[sample]).unwrap();
            let expected = fine.half_widths[place] / quantile;
            let values: Vec<f64> = it.replicates.iter().skip(sample).step_by(25).copied().collect();
            let mean = values.iter().sum::<f64>() / 200.0;
            let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 199.0;
            // Four standard errors of a mean and of a standard deviation of 200 draws.
            assert!((mean - it.states[sample]).abs() < 4.0 * expected / 200.0_f64.sqrt(), "{mean}");
            approx::assert_relative_eq!(squares.sqrt(), expected, max_relative = 4.0 / 400.0_f64.sqrt());
        }
        assert_eq!(draw(index).trajectories[0].replicates, it.replicates);
        assert_ne!(draw(index + 1).trajectories[0].replicates, it.replicates);
    }
}
