//! The report of synthetic runs: structure and words, not pixels.
//!
//! `PARAMILL_REPORTS=DIR cargo test --release --test report` keeps the reports in `DIR`, to be looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use paramill::checkpoint::{Assigned, Inferred};
use paramill::estimate::{Coverage, Evaluation, Frames, Geometry, Landscape, ParameterEstimate, Row, Status};
use paramill::physics::Profile;
use paramill::report::{
    CheckBin, Event, FIGURES, Fit, FittedEnvironment, Input, Learned, LossPoint, OwnEstimate, Portrait,
    PredictiveCheck, Published, Summary, Surroundings, Term, TrainingEnvironment, write,
};
use paramill::schema::{self, Between, Grid, GridAxis, Quantity, Split};
use resvg::usvg::roxmltree::Document;

/// Deterministic numbers in `[0, 1)` (a linear congruential generator; quality does not matter here).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

fn parameter(value: f64, standard_error: f64, truth: f64) -> ParameterEstimate {
    let half = 2.0 * standard_error;
    ParameterEstimate {
        value,
        standard_error,
        degrees_of_freedom: 60.0,
        lower: value - half,
        upper: value + half,
        model_error: None,
        crlb: None,
        truth: Some(truth),
    }
}

fn row(environment: String, context: Vec<f64>, parameters: Vec<ParameterEstimate>) -> Row {
    Row {
        environment,
        status: Status::Ok,
        reason: String::new(),
        context,
        model: None,
        correlations: vec![0.1; parameters.len() * parameters.len().saturating_sub(1) / 2],
        parameters,
        noise: Vec::new(),
        noise_terms: Vec::new(),
        likelihood: None,
        autocorrelation: Vec::new(),
        trajectory_rmse: 3.4e-3,
        trajectory_mape: 0.21,
        test_mse: None,
        points: 38,
        degrees_of_freedom: 36.0,
        iterations: 7,
        minima: None,
        in_hull: None,
    }
}

fn empty() -> Input {
    Input {
        title: "Nothing yet".to_owned(),
        description: String::new(),
        summary: Summary::default(),
        time_unit: "1".to_owned(),
        channels: Vec::new(),
        inputs: Vec::new(),
        hidden: Vec::new(),
        grid: None,
        parameters: Vec::new(),
        training: Vec::new(),
        terms: Vec::new(),
        system: None,
        estimates: Vec::new(),
        own_parameters: Vec::new(),
        of_trajectories: Vec::new(),
        portraits: Vec::new(),
        fits: Vec::new(),
        checks: Vec::new(),
        surroundings: Vec::new(),
        initial_states_fitted: false,
        losses: Vec::new(),
        published: Vec::new(),
        undrawn: Vec::new(),
        effective_pipeline: String::new(),
        learned: Learned::default(),
    }
}

fn lotka_volterra(beta: f64, delta: f64, start: (f64, f64)) -> (Vec<f64>, Vec<f64>) {
    let field = |(x, y): (f64, f64)| (0.5 * x - beta * x * y, delta * x * y - 0.5 * y);
    let (mut state, mut times, mut states) = (start, Vec::new(), Vec::new());
    for sample in 0..20 {
        times.push(f64::from(sample) * 0.5);
        states.extend([state.0, state.1]);
        for _ in 0..500 {
            let (dx, dy) = field(state);
            state = (state.0 + 1e-3 * dx, state.1 + 1e-3 * dy);
        }
    }
    (times, states)
}

/// The context that a model might have learned for (beta, delta).
fn context(beta: f64, delta: f64) -> Vec<f64> {
    let (u, v) = (beta - 0.75, delta - 0.75);
    vec![0.031 * u - 0.012 * v + 0.02 * u * v, 0.009 * u + 0.027 * v - 0.014 * u * u]
}

/// A fit with two minima, and one parameter whose interval is open.
fn surroundings() -> Surroundings {
    let parabola = |value: f64| (value, 50.0 * (value - 0.7).powi(2));
    let profile = |lower: f64, points: std::ops::Range<i32>| Profile {
        lower,
        upper: 0.7 + (3.84f64 / 50.0).sqrt(),
        points: points.map(|i| parabola(0.35 + 0.05 * f64::from(i))).collect(),
        limit: 3.84,
    };
    Surroundings {
        title: "adapt-0".to_owned(),
        costs: [0.0, 0.01, 0.02, 0.3, 240.0, 251.0, 1800.0, f64::INFINITY].to_vec(),
        profiles: vec![profile(0.7 - (3.84f64 / 50.0).sqrt(), 0..15), profile(f64::NAN, 5..15)],
    }
}

/// Errors that grow along trajectories, bowls around two contexts with a corner that is not finite, and environments that were inferred.
fn learned() -> Learned {
    let times: Vec<f64> = (1..20).map(|t| 0.5 * f64::from(t)).collect();
    let mean: Vec<f64> = times.iter().map(|t| 1e-7 * (0.4 * t).exp()).collect();
    let frames = Frames {
        split: Split::Test,
        trajectories: 288,
        low: mean.iter().map(|it| 0.1 * it).collect(),
        high: mean.iter().map(|it| 2.5 * it).collect(),
        times,
        mean,
    };
    let (points, end) = (21, 0.02);
    let landscape = |environment: &str, place: [f64; 2]| {
        let at = |i: usize| end * (2.0 * i as f64 / (points - 1) as f64 - 1.0);
        let loss = |i: usize| match i {
            0 => f64::NAN,
            _ => 1e-6 + (at(i % points) - place[0]).powi(2) + 3.0 * (at(i / points) - place[1]).powi(2),
        };
        Landscape { environment: environment.to_owned(), place, losses: (0..points * points).map(loss).collect() }
    };
    let geometry = Geometry {
        is_of_contexts: true,
        ends: [[-end, end]; 2],
        points,
        landscapes: vec![landscape("train-0", [-0.006, 0.004]), landscape("train-8", [0.008, -0.011])],
        singular_values: vec![3.0, 1.2, 0.04, 3e-3, 1e-3, 2e-4, 0.0],
    };
    let assigned = |i: usize| Assigned { label: format!("<{}>", i / 4), trajectory: i.to_string(), environment: i / 6 };
    let inferred = Inferred::new((0..12).map(assigned).collect());
    Learned { owns_weights: false, frames: Some(frames), geometry: Some(geometry), inferred: Some(inferred) }
}

fn grid() -> Input {
    let mut noise = Noise(5);
    let estimate = |value: f64, truth: f64| parameter(value, 2e-3, truth);
    let mut estimates = Vec::new();
    for (index, (beta, delta)) in
        [(0.625, 0.625), (0.625, 1.125), (1.125, 0.625), (1.125, 1.125)].into_iter().enumerate()
    {
        let parameters = vec![estimate(beta * 1.001, beta), estimate(delta * 0.9985, delta)];
        let mut adapted = row(format!("adapt-{index}"), context(beta, delta), parameters);
        adapted.test_mse = Some(1.3e-5);
        adapted.in_hull = Some(index == 0);
        estimates.push(adapted);
    }
    for index in 0..2601 {
        let (beta, delta) = (0.25 + 0.02 * f64::from(index % 51), 0.25 + 0.02 * f64::from(index / 51));
        let outside = |p: f64| (0.5 - p).max(p - 1.0).max(0.0);
        let distance = outside(beta).hypot(outside(delta));
        let ripple = 0.0015 * (1.1 + (9.0 * beta).sin() * (11.0 * delta).cos()) + 0.03 * distance.powf(1.3);
        let error = ripple * (0.35 * noise.normal()).exp();
        let parameters = vec![estimate(beta * (1.0 + error), beta), estimate(delta * (1.0 - 0.8 * error), delta)];
        let mut cell = row(format!("grid-{index:05}"), context(beta, delta), parameters);
        cell.in_hull = Some(distance == 0.0);
        if (index % 51) + (index / 51) < 3 {
            cell.status = Status::Diverged;
            cell.reason = "no step led to a finite rollout".to_owned();
            cell.parameters = vec![estimate(f64::NAN, beta), estimate(f64::NAN, delta)];
        } else if index == 1200 {
            cell.status = Status::NotConverged;
            cell.reason = "stopped after 50 iterations".to_owned();
        }
        estimates.push(cell);
    }
    let levels = [0.5, 0.75, 1.0];
    let training: Vec<TrainingEnvironment> = (0..9)
        .map(|index| {
            let (beta, delta) = (levels[index % 3], levels[index / 3]);
            TrainingEnvironment {
                environment: format!("train-{index}"),
                context: context(beta, delta),
                parameters: vec![Some(beta), Some(delta)],
                mapped: vec![beta * 1.0004, delta * 0.9997],
            }
        })
        .collect();
    let portraits = [(0.625, 0.625), (0.625, 1.125), (1.125, 0.625), (1.125, 1.125)]
        .map(|(beta, delta)| {
            let (times, truth) = lotka_volterra(beta, delta, (1.4, 1.9));
            let (_, prediction) = lotka_volterra(beta * 1.012, delta * 0.99, (1.4, 1.9));
            Portrait {
                title: format!("β = {beta}, δ = {delta}"),
                times,
                truth,
                prediction,
                inputs: Vec::new(),
                letter: Some((if beta < 1.0 { 'A' } else { 'B' }, [beta, delta])),
                ..Portrait::default()
            }
        })
        .to_vec();
    let losses = (0..30_000)
        .map(|step| {
            let fall = 2.0 * (-f64::from(step) / 1500.0).exp() + 0.02 * (-f64::from(step) / 9000.0).exp() + 6e-6;
            let overfit = 1.0 + 0.5 * (f64::from(step) / 22_000.0).powi(4);
            LossPoint {
                step: step as u64,
                train: fall * (0.4 * noise.normal()).exp(),
                validation: (step % 100 == 0).then(|| 1.3 * fall * overfit * (0.1 * noise.normal()).exp()),
            }
        })
        .collect();
    let published = [
        ("mse_in_domain", 1.35e-5),
        ("mse_adaptation", 1.24e-5),
        ("param_mape_in_hull", 0.15),
        ("param_mape_out_of_hull", 0.73),
        ("param_mape_overall", 0.59),
    ]
    .map(|(figure, value)| Published {
        figure: figure.to_owned(),
        value,
        source: "CoDA-l1, Kirchmeyer, Yin et al., ICML 2022".to_owned(),
    })
    .to_vec();
    Input {
        title: "Lotka-Volterra, the grid of 2601".to_owned(),
        description: "Prey and predators: one model learned from nine systems, the two interaction rates of 2601 others read off it.".to_owned(),
        summary: Summary {
            pipeline: "lv-grid".to_owned(),
            evaluation: Evaluation {
            mse_in_domain: Some(1.62e-5),
            mse_adaptation: Some(1.18e-5),
            coverage: vec![
                Coverage { nominal: 50.0, overall: 48.3, in_hull: Some(51.2) },
                Coverage { nominal: 95.0, overall: 90.4, in_hull: Some(94.8) },
            ],
            error_over_bound_in_hull: Some(1.31),
            error_over_bound_overall: Some(2.07),
            param_mape_in_hull: Some(0.183),
            param_mape_out_of_hull: Some(0.912),
            param_mape_overall: Some(0.737),
            environments: 2605,
            environments_in_hull: Some(625),
            environments_out_of_hull: Some(1976),
            environments_failed: 7,
            statuses: BTreeMap::from([(Status::Ok, 2598), (Status::NotConverged, 1), (Status::Diverged, 6)]),
                ..Evaluation::default()
            },
            seconds: BTreeMap::from([
                ("generate".to_owned(), 2.31),
                ("train".to_owned(), 1284.2),
                ("estimate".to_owned(), 11.42),
            ]),
            device: "cpu".to_owned(),
            engine: "torch".to_owned(),
            threads: 2,
            seed: 7,
            data_tolerance: Some(1e-9),
            start: Some("x = 0 at t = 0".to_owned()),
            map: Some("quadratic".to_owned()),
            calibrated_on: Some(40),
            training_steps: 30_000,
            errors_over_time: None,
            mse_validation: Some(1.44e-5),
        },
        time_unit: "1".to_owned(),
        channels: vec![Quantity::new("x", "1", "prey"), Quantity::new("y", "1", "predators")],
        grid: None,
        inputs: Vec::new(),
        hidden: Vec::new(),
        parameters: vec![Quantity::new("beta", "1", "predation"), Quantity::new("delta", "1", "growth of predators")],
        terms: ["x", "x y"]
            .map(|product| {
                let coefficients = training.iter().map(|it| it.parameters[0].unwrap_or(0.0) + 0.5).collect();
                Term { rate: "x".to_owned(), product: product.to_owned(), coefficients }
            })
            .to_vec(),
        system: Some(Err("x < y".to_owned())),
        learned: learned(),
        training,
        estimates,
        own_parameters: Vec::new(),
        of_trajectories: Vec::new(),
        portraits,
        fits: Vec::new(),
        checks: Vec::new(),
        surroundings: vec![surroundings()],
        initial_states_fitted: false,
        losses,
        published,
        undrawn: Vec::new(),
        effective_pipeline: "name = \"lv-grid\"\n\n[train]\nrule = \"coda-l1\"\nsteps = 30000 # < a & b >\n".to_owned(),
    }
}

fn balls() -> Input {
    let mut noise = Noise(11);
    let names = ["Baseball", "Blue Basketball", "Golf Ball", "Tennis Ball"];
    let truths = [0.0291, 0.0812, 0.0304, 0.0598];
    let value = |truth: f64| -0.4 + 9.0 * truth;
    let mapped = |context: f64| (context + 0.4) / 9.0;
    let training = ["Bowling Ball", "Green Basketball", "Orange Whiffle Ball", "Volleyball", "Yellow Whiffle Ball"]
        .into_iter()
        .zip([0.0058, 0.0795, 0.148, 0.133, 0.1032])
        .map(|(name, truth)| TrainingEnvironment {
            environment: name.to_owned(),
            context: vec![value(truth * 1.05 - 0.003)],
            parameters: vec![Some(truth)],
            mapped: vec![mapped(value(truth * 1.05 - 0.003))],
        })
        .collect();
    let estimates = names
        .into_iter()
        .zip(truths)
        .map(|(name, truth)| {
            let estimate = parameter(truth + 0.006 * noise.normal(), 0.004 + 0.003 * noise.next(), truth);
            let mut row = row(name.to_owned(), vec![value(estimate.value)], vec![estimate]);
            row.trajectory_rmse = 0.31;
            row
        })
        .collect();
    let portraits = names
        .into_iter()
        .enumerate()
        .map(|(index, name)| {
            let times: Vec<f64> = (0..40).map(|t| f64::from(t) / 15.0).collect();
            let fall = |t: f64, drag: f64| 47.0 - (9.81 / drag.powi(2)) * ((drag * t).cosh().ln());
            let drag = 0.2 + 0.08 * index as f64;
            Portrait {
                title: format!("{name}, drop 1"),
                truth: times.iter().map(|t| fall(*t, drag) + 0.15 * noise.normal()).collect(),
                prediction: times.iter().map(|t| fall(*t, drag * 1.06)).collect(),
                times,
                inputs: Vec::new(),
                ..Portrait::default()
            }
        })
        .collect();
    Input {
        title: "Ball drops".to_owned(),
        description: "Balls dropped from a bridge: cross-section over mass from the fall alone.".to_owned(),
        summary: Summary {
            pipeline: "ball-drops".to_owned(),
            evaluation: Evaluation {
                param_mape_overall: Some(9.13),
                mse_in_domain: Some(0.087),
                environments: 4,
                ..Evaluation::default()
            },
            device: "cpu".to_owned(),
            engine: "torch".to_owned(),
            threads: 2,
            training_steps: 3000,
            map: Some("affine".to_owned()),
            ..Summary::default()
        },
        time_unit: "s".to_owned(),
        channels: vec![Quantity::new("height", "m", "above the river")],
        grid: None,
        parameters: vec![Quantity::new("area_per_mass", "m2 kg-1", "cross-section over mass")],
        training,
        estimates,
        portraits,
        losses: (0..60)
            .map(|i| LossPoint {
                step: i * 50,
                train: 0.5 * (-(i as f64) / 9.0).exp() + 0.01,
                validation: Some(0.6 * (-(i as f64) / 9.0).exp() + 0.014),
            })
            .collect(),
        undrawn: Vec::new(),
        effective_pipeline: "name = \"ball-drops\"\n".to_owned(),
        ..empty()
    }
}

/// Seven channels, three parameters, many environments.
fn oscillator() -> Input {
    let mut noise = Noise(3);
    let names = ["k1", "K1", "q"];
    let estimates = (0..900)
        .map(|index| {
            let parameters = [(80.0, 20.0), (0.5, 0.5), (3.5, 1.0)]
                .map(|(low, span)| {
                    let truth = low + span * noise.next();
                    parameter(truth + 0.03 * span * noise.normal(), 0.01, truth)
                })
                .to_vec();
            row(format!("e{index:03}"), vec![0.0; 3], parameters)
        })
        .collect();
    let portraits = (0..3)
        .map(|index| {
            let times: Vec<f64> = (0..20).map(|t| f64::from(t) * 0.05).collect();
            let wave = |c: i32, t: f64, slip: f64| {
                1.0 + 0.3 * f64::from(c) + (0.8 - 0.1 * f64::from(c)) * (6.0 * t + slip + f64::from(c + index)).sin()
            };
            let states = |slip: f64| times.iter().flat_map(|t| (0..7).map(move |c| wave(c, *t, slip))).collect();
            Portrait {
                title: format!("k1 = {}", 80 + 10 * index),
                truth: states(0.0),
                prediction: states(0.06),
                times: times.clone(),
                inputs: Vec::new(),
                ..Portrait::default()
            }
        })
        .collect();
    let training = (0..6)
        .map(|index| {
            let [a, b, c] =
                [80.0 + 4.0 * f64::from(index), 0.5 + 0.1 * f64::from(index % 3), 3.5 + 0.2 * f64::from(index % 2)];
            TrainingEnvironment {
                environment: format!("train-{index}"),
                context: vec![0.1 * (a - 90.0), b - 0.6, c - 3.6],
                parameters: vec![Some(a), Some(b), Some(c)],
                mapped: vec![a, b, c],
            }
        })
        .collect();
    Input {
        title: "Glycolytic oscillator".to_owned(),
        time_unit: "min".to_owned(),
        channels: (1..8).map(|i| Quantity::new(&format!("S{i}"), "mmol L-1", "")).collect(),
        parameters: names.map(|name| Quantity::new(name, "1", "")).to_vec(),
        training,
        estimates,
        portraits,
        ..empty()
    }
}

/// Two fields on 12 x 8 points; one portrait is too short.
fn waves() -> Input {
    let axis = |name: &str, count| GridAxis::periodic(name, "m", count, 1.0);
    let wave = |slip: f64| -> Vec<f64> {
        let values = (0..3 * 2 * 12 * 8).map(|i| (f64::from(i % 96) * 0.13 + f64::from(i / 96) + slip).sin());
        values.collect()
    };
    let portrait = |title: &str, prediction| Portrait {
        title: title.to_owned(),
        times: vec![0.0, 1.0, 2.0],
        truth: wave(0.0),
        prediction,
        inputs: Vec::new(),
        ..Portrait::default()
    };
    let mut broken = wave(0.0);
    broken[5 * 96..].fill(f64::NAN);
    Input {
        title: "Waves".to_owned(),
        channels: vec![Quantity::new("u", "1", "inhibitor"), Quantity::new("v", "1", "activator")],
        grid: Some(Grid { axes: vec![axis("x", 12), axis("y", 8)] }),
        portraits: vec![portrait("F = 1", wave(0.2)), portrait("F = 2", broken), portrait("F = 3", vec![1.0])],
        ..empty()
    }
}

/// Doses at 0 and 12 hours, of which a concentration is measured and an amount is hidden; some values lie below their limit, and one environment has
/// two trajectories.
fn patients() -> Input {
    let mut noise = Noise(8);
    let after = |t: f64, of: &dyn Fn(f64) -> f64| {
        [0.0, 12.0].iter().map(|dose| if t > *dose { of(t - dose) } else { 0.0 }).sum::<f64>()
    };
    let concentration = |t: f64| after(t, &|t| 12.0 * ((-0.15 * t).exp() - (-0.9 * t).exp()));
    let depot = |t: f64| after(t, &|t| 100.0 * (-0.9 * t).exp());
    let mut portrait = |title: &str| {
        let times: Vec<f64> = (0..13).map(|t| 2.0 * f64::from(t)).collect();
        let fine: Vec<f64> = (0..=400).map(|t| 0.06 * f64::from(t)).collect();
        let residuals: Vec<f64> = times.iter().map(|t| if *t == 0.0 { f64::NAN } else { noise.normal() }).collect();
        let prediction: Vec<f64> = times.iter().map(|t| concentration(*t)).collect();
        let truth = prediction.iter().zip(&residuals).map(|(z, r)| if r.is_nan() { f64::NAN } else { z + 0.4 * r });
        Portrait {
            title: title.to_owned(),
            truth: truth.collect(),
            below: prediction.iter().map(|z| *z < 2.5).collect(),
            prediction,
            inputs: times.iter().map(|t| if *t < 12.0 { 100.0 } else { 200.0 }).collect(),
            fit: Some(Fit {
                values: fine.iter().flat_map(|t| [concentration(*t), depot(*t)]).collect(),
                half_widths: fine.iter().flat_map(|t| [0.1 * concentration(*t) + 0.05, f64::NAN]).collect(),
                times: fine,
                unknown: "nothing limits <depot>".to_owned(),
            }),
            residuals,
            events: [0.0, 12.0].map(|time| Event { time, input: 0, amount: 100.0 }).to_vec(),
            letter: None,
            times,
        }
    };
    let fits: Vec<FittedEnvironment> = (0..3)
        .map(|id| FittedEnvironment {
            environment: format!("subject <{id}>"),
            status: "ok".to_owned(),
            trajectories: (0..=usize::from(id == 1)).map(|visit| portrait(&format!("visit {visit}"))).collect(),
        })
        .collect();
    let own = |environment: &str, trajectory: &str, value: f64| OwnEstimate {
        environment: environment.to_owned(),
        trajectory: trajectory.to_owned(),
        parameter: 0,
        value,
        lower: value - 0.2,
        upper: value + 9.0,
    };
    let of_trajectories = vec![
        own("subject <0>", "visit <0>", 1.0),
        own("subject <0>", "visit <1>", f64::NAN),
        own("subject <0>", "visit <2>", 1.3),
        own("subject <1>", "visit <0>", f64::NAN),
    ];
    let bin = |time: f64| {
        let z = concentration(time);
        let around = |middle: f64| [middle - 0.3, middle, middle + 0.3];
        let observed = [z - 0.7, z + 0.1, z + 0.6];
        CheckBin { time, count: 40, observed, simulated: [z - 0.66, z, z + 0.66].map(around) }
    };
    Input {
        title: "Two doses".to_owned(),
        time_unit: "h".to_owned(),
        channels: vec![Quantity::new("concentration", "mg L-1", "")],
        inputs: vec![schema::Input { quantity: Quantity::new("dose", "mg", ""), between: Between::Hold }],
        hidden: vec![Quantity::new("depot", "mg", "")],
        portraits: fits.iter().map(|it| it.trajectories[0].clone()).collect(),
        fits,
        checks: vec![PredictiveCheck {
            channel: 0,
            replicates: 200,
            draws: 40,
            held: 2,
            bins: (1..12).map(|t| bin(2.0 * f64::from(t))).collect(),
        }],
        initial_states_fitted: true,
        own_parameters: vec![Quantity::new("rate", "h-1", "")],
        of_trajectories,
        ..empty()
    }
}

/// Everything that can be wrong, is.
fn wreck() -> Input {
    let mut input = grid();
    input.title = "<script>alert('x')</script> & \"friends\"\u{1}".to_owned();
    for (index, row) in input.estimates.iter_mut().enumerate() {
        row.status = [Status::Diverged, Status::TooFewPoints, Status::NotConverged, Status::Ok][index % 4];
        row.reason = "<b>broken</b>".to_owned();
        row.context = vec![f64::NAN, f64::INFINITY];
        row.trajectory_rmse = f64::NAN;
        row.test_mse = Some(f64::NAN);
        for parameter in &mut row.parameters {
            parameter.value = if index % 8 == 3 { 1e300 } else { f64::NAN };
            parameter.standard_error = f64::INFINITY;
        }
    }
    for environment in &mut input.training {
        environment.context[0] = f64::NAN;
        environment.mapped.clear();
    }
    input.surroundings[0].costs[0] = f64::NAN;
    input.surroundings[0].profiles[0].points[3] = (f64::NAN, f64::INFINITY);
    input.surroundings[0].profiles[1].limit = f64::NAN;
    input.portraits[0].prediction.iter_mut().for_each(|value| *value = f64::NAN);
    input.portraits[1].truth.truncate(3);
    input.portraits[2].prediction.iter_mut().skip(9).for_each(|value| *value *= 1e12);
    input.portraits[3].times.clear();
    input
        .losses
        .iter_mut()
        .skip(10)
        .for_each(|point| (point.train, point.validation) = (f64::NAN, Some(f64::INFINITY)));
    input.summary.evaluation.mse_in_domain = Some(f64::NAN);
    input.summary.evaluation.mse_adaptation = Some(1e-19);
    input.published.push(Published {
        figure: "no_such_figure".to_owned(),
        value: 0.0,
        source: "<i>nobody</i>".to_owned(),
    });
    input
}

struct Report {
    directory: PathBuf,
    _temporary: tempfile::TempDir,
}

impl Report {
    fn of(name: &str, input: &Input) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let root = std::env::var_os("PARAMILL_REPORTS").map_or_else(|| temporary.path().to_owned(), PathBuf::from);
        let directory = root.join(name);
        write(input, &directory).unwrap();
        Report { directory, _temporary: temporary }
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.directory.join(file)).unwrap()
    }

    fn files(&self, ending: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(&self.directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(ending))
            .collect();
        names.sort();
        names
    }

    /// What holds for every report.
    fn check(&self) {
        let page = self.text("index.html");
        assert!(page.len() < 1_500_000, "{} bytes", page.len());
        let without_namespaces = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        // One script, which is the program's own: what comes from data is text.
        assert_eq!(page.to_lowercase().matches("<script").count(), 1);
        assert!(page.contains(&format!("<script>\n{}</script>\n</body>", include_str!("../src/report/page.js"))));
        for forbidden in ["http:", "https:", "<script ", "src=", "@import", "url(h", "<link"] {
            assert!(!without_namespaces.contains(forbidden), "{forbidden} in {}", self.directory.display());
        }
        let pictures = self.files(".svg");
        for name in &pictures {
            check_svg(&self.text(name));
            let png = fs::read(self.directory.join(Path::new(name).with_extension("png"))).unwrap();
            assert_eq!(&png[1..4], b"PNG");
            let width = u32::from_be_bytes(png[16..20].try_into().unwrap());
            assert!((1500..1800).contains(&width), "{name} is {width} pixels wide");
        }
        assert_eq!(page.matches("<svg ").count(), pictures.len());
        for part in page.split("<svg ").skip(1) {
            check_svg(&format!("<svg {}</svg>", part.split("</svg>").next().unwrap()));
        }
        let ids: Vec<&str> = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        let mut distinct = ids.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(ids.len(), distinct.len(), "ids repeat: {ids:?}");
    }
}

/// Well-formed, described, and with finite coordinates only.
fn check_svg(text: &str) {
    let document = Document::parse(text).unwrap();
    let root = document.root_element();
    for tag in ["title", "desc"] {
        assert!(
            root.children().any(|node| node.has_tag_name(("http://www.w3.org/2000/svg", tag)) && node.text().is_some())
        );
    }
    for node in document.descendants() {
        for attribute in ["d", "x", "y", "cx", "cy", "width", "height", "viewBox", "transform"] {
            let value = node.attribute(attribute).unwrap_or_default();
            assert!(!value.contains("NaN") && !value.contains("inf"), "{attribute}={value}");
        }
    }
    assert!(!text.contains("-9999"), "a coordinate without a place");
}

/// Every figure of the list: none of an empty run, a sound one of some run, under a name of its own, and alike each time.
#[test]
fn every_figure_is_drawn_where_it_has_something_to_show() {
    let inputs = [grid(), balls(), oscillator(), waves(), patients(), wreck()];
    let mut names = BTreeSet::new();
    for (place, draw) in FIGURES.iter().enumerate() {
        assert!(draw(&empty()).is_none(), "figure {place} of an empty run");
        let drawn: Vec<_> = inputs.iter().filter_map(|input| Some((input, draw(input)?))).collect();
        let name = drawn.first().unwrap_or_else(|| panic!("figure {place} is never drawn")).1.name;
        assert!(names.insert(name), "{name} is the name of two figures");
        for (input, figure) in drawn {
            assert_eq!(figure.name, name);
            assert!(!figure.title.is_empty() && !figure.caption.is_empty() && !figure.description.is_empty(), "{name}");
            check_svg(&figure.standalone());
            assert_eq!(draw(input).unwrap().standalone(), figure.standalone(), "{name}");
        }
    }
}

#[test]
fn the_grid_has_all_its_pictures_and_figures() {
    let input = grid();
    let report = Report::of("grid", &input);
    report.check();
    assert_eq!(
        report.files(".svg"),
        [
            "contexts.svg",
            "frames.svg",
            "gradients.svg",
            "landscape.svg",
            "loss.svg",
            "parameter-error-map.svg",
            "portraits.svg",
            "profiles.svg",
            "trajectories.svg",
            "trajectory-error-map.svg",
            "waterfall.svg"
        ]
    );
    let page = report.text("index.html");
    // The first two values have nearly all of the squares; of two landscapes each has one cell without a loss.
    assert!(page.contains("99 % of the sum of squares are in 2 directions"));
    assert_eq!(report.text("landscape.svg").matches("class=\"p-void\"").count(), 2);
    assert!(report.text("frames.svg").contains("288 trajectories of the test split"));
    assert_eq!(report.text("parameter-error-map.svg").matches(">A</text>").count(), 2);
    assert!(page.contains("&lt;0&gt; (4), &lt;1&gt; (2)"), "labels of an inferred environment");
    for shown in
        ["1.62×10⁻⁵", "1.18×10⁻⁵", "0.183", "0.912", "0.737", "2605", "625 environments", "10⁻⁹", "30\u{202f}000"]
    {
        assert!(page.contains(shown), "{shown} is not on the page");
    }
    assert!(page.contains("&lt; a &amp; b &gt;"));
    assert!(page.contains("status not ok (7)"));
    // What comes first: what was estimated, how well, and how each fit ended, with what most of them say.
    assert!(page.contains("Estimated by a trained model: "), "{}", &page[page.find("<header").unwrap()..][..600]);
    for (status, alike) in [
        (Status::Ok, "<td></td>"),
        (Status::Diverged, "no step led to a finite rollout <span class=\"soft\">(grid-00000 and 5 alike)</span>"),
        (Status::NotConverged, "stopped after 50 iterations <span class=\"soft\">(grid-01200)</span>"),
    ] {
        let name = format!("<th scope=\"row\"><code>{}</code></th>", status.name());
        let row = page.split(&name).nth(1).unwrap();
        let row = row.split("</tr>").next().unwrap();
        let count = input.summary.evaluation.statuses[&status].to_string();
        assert!(
            row.contains(&format!(">{count}</td>")) && row.contains(status.meaning()) && row.contains(alike),
            "{row}"
        );
    }
    let summary: Summary = serde_json::from_str(&report.text("summary.json")).unwrap();
    assert_eq!(summary, input.summary);
    let lines = csv::Reader::from_path(report.directory.join("comparison.csv"))
        .unwrap()
        .into_deserialize::<BTreeMap<String, String>>()
        .collect::<Result<Vec<_>, _>>()
        .unwrap();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[1]["figure"], "mse_adaptation");
    let ratio: f64 = lines[1]["ratio"].parse().unwrap();
    approx::assert_relative_eq!(ratio, 1.18 / 1.24, max_relative = 1e-12);
    assert_eq!(lines[1]["below_tolerance"], "false");
}

/// The points `x y` of the path of a class in a picture, one list a path.
fn paths(picture: &str, class: &str) -> Vec<Vec<(f64, f64)>> {
    let start = format!("<path class=\"{class}\" d=\"M");
    let paths = picture.split(&start).skip(1).map(|rest| rest.split('"').next().unwrap());
    let point = |point: &str| point.split_once(' ').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap())).unwrap();
    paths.map(|path| path.split('L').map(point).collect()).collect()
}

/// One, two and three channels beside one, three and six inputs.
#[test]
fn inputs_stand_below_their_channels_held_as_steps_and_linear_as_lines() {
    for (mut input, count) in [(balls(), 1), (grid(), 3), (oscillator(), 6)] {
        let driver = |u: usize| schema::Input {
            quantity: Quantity::new(&format!("valve_{u}"), "m3 s-1", ""),
            between: [Between::Hold, Between::Linear][u % 2],
        };
        input.inputs = (0..count).map(driver).collect();
        for portrait in &mut input.portraits {
            let of_time = |(t, _)| (0..count).map(move |u| f64::from(u8::from((t + u) % 5 < 2)));
            portrait.inputs = portrait.times.iter().enumerate().flat_map(of_time).collect();
        }
        let report = Report::of(&format!("driven-{count}"), &input);
        report.check();
        let picture = report.text("trajectories.svg");
        let drawn = paths(&picture, "p-input");
        let shown = count.min(4);
        // The first is that of the legend.
        assert_eq!(drawn.len(), 1 + shown * input.portraits.len());
        let samples = input.portraits[0].times.len();
        let held = drawn[1..].iter().filter(|path| path.len() == 2 * samples - 1).count();
        assert_eq!(held, shown.div_ceil(2) * input.portraits.len());
        assert!(drawn[1..].iter().all(|path| path.len() == samples || path.len() == 2 * samples - 1));
        for path in drawn[1..].iter().filter(|path| path.len() > samples) {
            assert!(path.windows(2).all(|pair| pair[0].0 == pair[1].0 || pair[0].1 == pair[1].1), "{path:?}");
        }
        assert_eq!(picture.matches("input valve").count(), shown * input.portraits.len());
        assert!(picture.contains("input valve 0 (m³ s⁻¹)"), "{picture}");
        assert_eq!(report.text("index.html").contains("The first 4 of 6 inputs."), count == 6);
        // What is not there for every sample is not drawn, and nothing else is lost.
        input.portraits[0].inputs.pop();
        let picture = Report::of(&format!("driven-{count}-cut"), &input).text("trajectories.svg");
        assert_eq!(paths(&picture, "p-input").len(), 1 + shown * (input.portraits.len() - 1));
    }
}

/// Fits by equations are drawn between the samples, with what is hidden and given; every trajectory is on a page of its own.
#[test]
fn fits_are_drawn_on_a_fine_grid_with_what_is_hidden_and_given() {
    let input = patients();
    let report = Report::of("patients", &input);
    report.check();
    assert_eq!(
        report.files(".svg"),
        ["of-trajectories.svg", "predictive-check.svg", "residuals.svg", "trajectories.svg"]
    );
    // Two trajectories have a value of their own with its interval, two have none; the second environment has none at all.
    let picture = report.text("of-trajectories.svg");
    assert_eq!(picture.matches("<circle class=\"p-mark\"").count(), 1 + 2);
    assert!(
        picture.contains("visit &lt;2&gt;")
            && picture.contains("rate (h⁻¹)")
            && picture.contains("not determined by the data of any trajectory")
    );
    let picture = report.text("trajectories.svg");
    assert_eq!(picture.matches("hidden depot (mg)").count(), 3);
    assert_eq!(picture.matches("given at once: dose (mg)").count(), 3);
    // The peak of the fit, which no sample has, is drawn: lower on the page is a greater number.
    let fit = &paths(&picture, "p-guess")[1];
    let highest = |path: &[(f64, f64)]| path.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    assert!(fit.len() > 25 && highest(fit) > 0.0, "{fit:?}");
    let axis = highest(fit) - 54.0;
    assert!((0.0..40.0).contains(&axis), "the fit fills its panel: {axis}");
    let page = report.text("index.html");
    assert!(page.contains("what is hidden beneath"));
    let check = "Each was simulated 200 times, in turn for 40 draws at least of parameters and starts from the covariance of the estimates, at the times";
    assert!(page.contains(check) && page.contains("In some environments something stays as it was fitted"));

    let page = report.text("fits.html");
    for forbidden in ["<script", "src=", "@import", "<link"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    // One picture a trajectory, of a channel, a hidden state and doses; links to each environment.
    assert_eq!((page.matches("<svg ").count(), page.matches("<section id=\"fit-").count()), (4, 3));
    assert!(page.contains("<a href=\"fits.html#fit-2\">subject &lt;2&gt;</a>") && page.contains("<h3>visit 1</h3>"));
    assert!(page.contains("Without a band where it is unknown: nothing limits &lt;depot&gt;."));
    assert!(page.len() < 120_000, "{} bytes", page.len());
    for part in page.split("<svg ").skip(1) {
        check_svg(&format!("<svg {}</svg>", part.split("</svg>").next().unwrap()));
    }
    let ids: Vec<&str> = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len(), "{ids:?}");
    // Values below their limit stand apart.
    assert_eq!(
        page.matches("<circle class=\"p-below\"").count(),
        1 + 4 * input.portraits[0].below.iter().skip(1).filter(|it| **it).count()
    );

    let mut many = input;
    many.fits = (0..90).map(|_| many.fits[0].clone()).collect();
    let report = Report::of("many-patients", &many);
    assert_eq!(report.files(".html"), ["fits-2.html", "fits.html", "index.html"]);
    assert!(report.text("fits.html").contains("<a href=\"fits-2.html#fit-89\">"));
    assert!(report.text("fits-2.html").contains("<section id=\"fit-89\">"));
}

/// Two channels that only grow or fall have no portrait worth seeing; those that turn have both.
#[test]
fn channels_stand_against_time_and_portraits_where_a_trajectory_turns() {
    let mut input = grid();
    let of_turning = Report::of("turning", &input);
    assert!(of_turning.text("index.html").contains("the prediction from the same initial state"));
    for portrait in &mut input.portraits {
        let monotone = |t: &f64| [(-t).exp(), 1.0 - (-0.3 * t).exp()];
        portrait.prediction = portrait.times.iter().flat_map(monotone).collect();
        // Noise turns the data, and says nothing.
        let noise = portrait.truth.iter().enumerate().map(|(i, _)| 0.01 * (i as f64 * 7.3).sin());
        portrait.truth = portrait.prediction.iter().zip(noise).map(|(value, noise)| value + noise).collect();
    }
    input.initial_states_fitted = true;
    let report = Report::of("monotone", &input);
    report.check();
    let pictures = report.files(".svg");
    assert!(pictures.contains(&"trajectories.svg".to_owned()) && !pictures.contains(&"portraits.svg".to_owned()));
    let page = report.text("index.html");
    assert!(page.contains("initial states included") && !page.contains("same initial state"));
    let picture = report.text("trajectories.svg");
    assert!(input.channels.iter().all(|channel| picture.contains(channel.name.as_str())));
}

#[test]
fn a_few_balls_stand_beside_their_truth() {
    let report = Report::of("balls", &balls());
    report.check();
    assert_eq!(report.files(".svg"), ["contexts.svg", "estimates.svg", "loss.svg", "trajectories.svg"]);
    let (page, picture) = (report.text("index.html"), report.text("estimates.svg"));
    for name in ["Baseball", "Blue Basketball", "Golf Ball", "Tennis Ball"] {
        assert!(page.contains(name) && picture.contains(name), "{name}");
    }
    assert!(picture.contains("area per mass (m² kg⁻¹)"));
    assert!(!page.contains("relative tolerance") && page.contains("<dt>tolerance of the data</dt><dd>unknown</dd>"));
    assert!(!page.contains("Published beside ours"));
    assert_eq!(report.text("comparison.csv").lines().count(), 1);
}

#[test]
fn more_parameters_have_a_panel_each() {
    let report = Report::of("oscillator", &oscillator());
    report.check();
    assert_eq!(report.files(".svg"), ["contexts.svg", "estimates.svg", "trajectories.svg"]);
    // A panel of each of three coordinates and three parameters, in which six environments trained.
    assert_eq!(report.text("contexts.svg").matches("<circle class=\"p-mark-known\"").count(), 1 + 9 * 6);
    let picture = report.text("estimates.svg");
    for name in ["true k1", "true K1", "true q"] {
        assert!(picture.contains(name), "{name}");
    }
}

#[test]
fn a_few_scattered_environments_are_points_on_the_map() {
    let mut input = grid();
    input.estimates.truncate(4);
    let report = Report::of("scattered", &input);
    report.check();
    let picture = report.text("parameter-error-map.svg");
    assert_eq!(picture.matches("class=\"p-ring\"").count(), 4);
    assert!(report.files(".svg").contains(&"estimates.svg".to_owned()));
}

#[test]
fn fields_are_shown_as_pictures_of_each_channel() {
    let report = Report::of("waves", &waves());
    report.check();
    assert_eq!(report.files(".svg"), ["fields.svg"]);
    let picture = report.text("fields.svg");
    for (title, rows) in [("F = 1", 2), ("F = 2", 2), ("F = 3", 0)] {
        assert_eq!(picture.matches(&format!(">{title}: ")).count(), rows, "{title}");
    }
    // Where a prediction is not a number its place stays empty, and so does that of the difference.
    assert_eq!(picture.matches("class=\"p-void\"").count(), 4 * 4);
}

/// One channel on axes of these points, and its values at times that are not equally far apart.
fn on_axes(counts: &[usize], value: impl Fn(usize, usize) -> f64) -> Input {
    let axes = counts.iter().zip(["x", "y", "z"]);
    let axes = axes.map(|(count, name)| GridAxis { start: 4.0, ..GridAxis::periodic(name, "m", *count, 0.5) });
    let times = vec![0.0, 1.0, 4.0];
    let points: usize = counts.iter().product();
    let truth: Vec<f64> = (0..times.len() * points).map(|i| value(i / points, i % points)).collect();
    let prediction = truth.iter().map(|value| value + 0.25).collect();
    let portrait = Portrait { title: "A".to_owned(), times, truth, prediction, ..Portrait::default() };
    Input {
        title: "Axes".to_owned(),
        time_unit: "s".to_owned(),
        channels: vec![Quantity::new("u", "K", "")],
        grid: Some(Grid { axes: axes.collect() }),
        portraits: vec![portrait],
        ..empty()
    }
}

#[test]
fn fields_on_one_axis_are_shown_over_time() {
    // The upper point is 0 at first, then 1; the lower one always 1.
    let report = Report::of("line", &on_axes(&[2], |t, point| if t == 0 && point == 0 { 0.0 } else { 1.0 }));
    report.check();
    let picture = report.text("fields.svg");
    assert_eq!(picture.matches("class=\"p-void\"").count(), 3, "data, prediction and difference");
    // The first sample reaches half way to the second: an eighth of the width.
    assert!(picture.contains("M12 50h32.62v96h-32.62z") || picture.contains("M12 50h32.63v96h-32.63z"), "{picture}");
    assert!(report.text("index.html").contains("Time (s) to the right, x (m) downwards."));
}

#[test]
fn fields_on_three_axes_are_shown_by_their_middle_slice() {
    let report = Report::of("space", &on_axes(&[3, 2, 2], |t, point| (10 * t + point) as f64));
    report.check();
    let picture = report.text("fields.svg");
    // Points 4 to 7 of the last sample and of the first.
    assert!(picture.contains(">colours from 4.00 to 27.0<"), "{picture}");
    assert!(report.text("index.html").contains("first of three axes, x = 4.50 m."));
}

#[test]
fn an_empty_run_has_a_page_without_pictures() {
    let report = Report::of("empty", &empty());
    report.check();
    assert!(report.files(".svg").is_empty() && report.files(".png").is_empty());
    let page = report.text("index.html");
    assert!(page.contains("No environment was estimated.") && page.contains("no error to report"));
}

#[test]
fn broken_numbers_break_nothing() {
    let report = Report::of("wreck", &wreck());
    report.check();
    let page = report.text("index.html");
    assert!(!page.contains("<b>broken") && !page.contains("<i>nobody") && page.contains("&lt;b&gt;broken"));
    assert!(page.contains("below data tolerance"));
    assert!(page.contains("more are in the estimates"));
    assert!(report.files(".svg").contains(&"parameter-error-map.svg".to_owned()));
    // Without the program's own script, which knows the word.
    let shown = page.split("<script>").next().unwrap();
    assert!(!shown.contains("NaN"), "NaN is on the page");
    let summary: serde_json::Value = serde_json::from_str(&report.text("summary.json")).unwrap();
    assert!(summary["mse_in_domain"].is_null());
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let (first, second) = (Report::of("again", &balls()), Report::of("again", &balls()));
    for name in first.files("") {
        assert!(
            fs::read(first.directory.join(&name)).unwrap() == fs::read(second.directory.join(&name)).unwrap(),
            "{name}"
        );
    }
}
