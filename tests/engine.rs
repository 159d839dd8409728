//! Every engine, against finite differences and against a rollout in plain arithmetic.

use approx::assert_relative_eq;
use paramill::engine::{
    self, Batch, Compute, DeviceChoice, Engine, EngineChoice, Native, Precision, Segment, Solver, Tangents, Wrt,
};
use paramill::models::{self, Mlp, Model};
use paramill::random::Stream;
use paramill::schema::{Between, StateShape};

const CHANNELS: usize = 2;

/// Without inputs, and with one of each kind.
const BETWEEN: [&[Between]; 2] = [&[], &[Between::Hold, Between::Linear]];

/// Times, states and inputs of the trajectories of each environment.
type Observed = Vec<Vec<(Vec<f64>, Vec<f64>, Vec<f64>)>>;

const SOLVERS: [Solver; 3] = [Solver::Euler, Solver::Rk4, Solver::Rk38];

fn state() -> StateShape {
    StateShape::without_space(CHANNELS)
}

fn perceptron(layers: usize) -> models::Settings {
    models::Settings::Mlp { layers, width: 5 }
}

/// Perceptrons of several depths, and libraries of products without and with a denominator.
fn all_models() -> Vec<models::Settings> {
    let library =
        |degree, saturation| models::Settings::Library { degree, operator_degree: 1, operators: None, saturation };
    [1, 2, 3].map(perceptron).into_iter().chain([library(2, 0), library(1, 3)]).collect()
}

/// Every engine of this build, for a model.
fn engines(
    model: &models::Settings,
    inputs: usize,
    (solver, substeps): (Solver, usize),
    precision: Precision,
) -> Vec<Box<dyn Engine>> {
    let engine = |(engine, _): &(EngineChoice, &str)| {
        let compute = Compute { device: DeviceChoice::Cpu, engine: *engine };
        let made = compute.engine(model, &state(), inputs, solver, substeps, precision);
        assert_eq!(made.is_ok(), engine.is_built_in(), "{engine}");
        made.ok().map(|(made, _)| made)
    };
    EngineChoice::ALL.iter().filter_map(engine).collect()
}

/// What a test checks, for every engine, solver (one step from sample to sample, and three) and model in double precision, with and without
/// inputs.
fn for_all(check: impl Fn(&dyn Engine, &models::Settings, &[Between])) {
    for solver in SOLVERS {
        for model in all_models() {
            for substeps in [1, 3] {
                for between in BETWEEN {
                    for engine in engines(&model, between.len(), (solver, substeps), Precision::F64) {
                        check(engine.as_ref(), &model, between);
                    }
                }
            }
        }
    }
}

/// Two environments with trajectories of unequal lengths and irregular times; about every fourth value after the first samples is missing,
/// and with inputs all values of a second sample.
fn observed(stream: &mut Stream, inputs: usize) -> Observed {
    let mut trajectory = |length: usize| {
        let mut time = 0.0;
        let times = (0..length).map(|_| {
            time += stream.uniform(0.1, 0.5);
            time
        });
        let times: Vec<f64> = times.collect();
        let cell = |cell: usize| {
            let value = stream.normal();
            let is_missing = cell >= CHANNELS && stream.unit() < 0.25;
            if is_missing || (inputs > 0 && cell / CHANNELS == 1) { f64::NAN } else { value }
        };
        let states = (0..length * CHANNELS).map(cell).collect();
        let inputs = (0..length * inputs).map(|_| stream.normal()).collect();
        (times, states, inputs)
    };
    vec![vec![trajectory(4), trajectory(6)], vec![trajectory(3)]]
}

fn batch(observed: &Observed, between: &[Between], at_least: (usize, usize)) -> Batch {
    let segments: Vec<Vec<Segment>> = observed
        .iter()
        .map(|rows| rows.iter().map(|(times, states, inputs)| Segment { times, states, inputs }).collect())
        .collect();
    Batch::new(CHANNELS, between, &segments, at_least)
}

/// Random weights; those of a library, which begin at zero, are moved.
fn weights(model: &models::Settings, inputs: usize, environments: usize, stream: &mut Stream) -> Vec<f64> {
    let is_library = matches!(model, models::Settings::Library { .. });
    let model = model.build(&state(), inputs);
    let mut weights: Vec<f64> = (0..environments).flat_map(|_| model.initial_weights(stream)).collect();
    if is_library {
        weights.iter_mut().for_each(|weight| *weight += 0.02 * stream.normal());
    }
    weights
}

#[test]
fn gradients_agree_with_finite_differences_for_every_solver() {
    for_all(|engine, model, between| {
        let mut stream = Stream::new(1, "engine", &[]);
        let mut batch = batch(&observed(&mut stream, between.len()), between, (0, 0));
        batch.weigh(&[1.3, 0.4]);
        let weights = weights(model, between.len(), 2, &mut stream);
        let (loss, gradient) = engine.loss_and_gradient(&weights, &batch);
        let predicted = engine::sum_of_squares(&engine.predict(&weights, &batch), &batch) / batch.count();
        assert_relative_eq!(loss, predicted, max_relative = 1e-12);
        let h = 1e-6;
        for i in 0..weights.len() {
            let value = |sign: f64| {
                let mut moved = weights.clone();
                moved[i] += sign * h;
                engine::sum_of_squares(&engine.predict(&moved, &batch), &batch) / batch.count()
            };
            let difference = (value(1.0) - value(-1.0)) / (2.0 * h);
            assert_relative_eq!(difference, gradient[i], epsilon = 1e-8, max_relative = 1e-6);
        }
    });
}

/// Largest difference between `a` and `b`, relative to the largest value of `b`.
fn difference(a: &[f64], b: &[f64]) -> f64 {
    let largest = b.iter().fold(0.0, |largest: f64, b| largest.max(b.abs()));
    a.iter().zip(b).fold(0.0, |worst: f64, (a, b)| worst.max((a - b).abs())) / largest
}

/// Paper-sized: widths that fill registers, rows that do not fill a tile.
#[test]
fn engines_give_the_same_answers_for_perceptrons() {
    // Fifteen inputs make two registers of what one would hold.
    let many = [Between::Linear; 15];
    for (solver, between) in SOLVERS.into_iter().flat_map(|it| [BETWEEN[0], BETWEEN[1], &many].map(|them| (it, them))) {
        let inputs = between.len();
        let (model, mut stream) = (Mlp::new(CHANNELS, inputs, 4, 64), Stream::new(2, "engine", &[]));
        let row = |stream: &mut Stream| observed(stream, inputs)[0][1].clone();
        let observed = vec![(0..7).map(|_| row(&mut stream)).collect(), observed(&mut stream, inputs)[0].clone()];
        let mut batch = batch(&observed, between, (0, 0));
        batch.weigh(&[0.4, 1.3]);
        let mut basis: Vec<f64> = model.initial_weights(&mut stream);
        basis.extend((0..2 * basis.len()).map(|_| 0.03 * stream.normal()));
        let weights = &basis[..2 * basis.len() / 3];
        let contexts = [0.5, -0.2, 1.0, 0.3];
        let answers = |engine: &dyn Engine| {
            let (loss, gradient) = engine.loss_and_gradient(weights, &batch);
            let (predictions, tangents) = engine.tangents(&basis, 2).roll_out(&contexts, &batch);
            let jacobian = engine.jacobian(weights, &batch);
            let predicted = engine.predict(weights, &batch);
            [vec![loss], gradient, predicted, predictions, tangents, jacobian.residuals, jacobian.rows]
        };
        let paper = models::Settings::Mlp { layers: 4, width: 64 };
        let engines = |precision| engines(&paper, inputs, (solver, 1), precision);
        let [double, single] = [Precision::F64, Precision::F32]
            .map(|precision| engines(precision).iter().map(|engine| answers(engine.as_ref())).collect::<Vec<_>>());
        let (reference, others) = double.split_first().unwrap();
        for (answer, expected) in reference.iter().enumerate() {
            // Padding counts for nothing: only observed values are compared.
            let masked = |values: &[f64]| -> Vec<f64> {
                let per_value = if answer == 2 || answer == 3 { 1 } else { 2 };
                let counts = |i: usize| !(2..5).contains(&answer) || batch.mask[i / per_value] > 0.0;
                values.iter().enumerate().map(|(i, value)| if counts(i) { *value } else { 0.0 }).collect()
            };
            let against = |values: &[f64]| difference(&masked(values), &masked(expected));
            for (answers, tolerance) in others.iter().map(|it| (it, 1e-10)).chain(single.iter().map(|it| (it, 1e-5))) {
                assert!(against(&answers[answer]) < tolerance, "answer {answer}: {}", against(&answers[answer]));
            }
        }
    }
}

#[test]
fn an_environment_does_not_depend_on_its_neighbours_or_its_place() {
    let between = BETWEEN[1];
    let (model, mut stream) = (Mlp::new(CHANNELS, between.len(), 4, 64), Stream::new(6, "engine", &[]));
    let mut basis: Vec<f64> = model.initial_weights(&mut stream);
    basis.extend((0..2 * basis.len()).map(|_| 0.03 * stream.normal()));
    let observed: Observed = (0..5).map(|_| observed(&mut stream, between.len())[0].clone()).collect();
    let contexts: Vec<f64> = (0..10).map(|_| stream.normal()).collect();
    let engine = Native::<f32>::new(&model, Solver::Rk4.tableau(1));
    let tangents = engine.tangents(&basis, 2);
    let (all, all_tangents) = tangents.roll_out(&contexts, &batch(&observed, between, (0, 0)));
    for e in 0..5 {
        let alone = batch(&observed[e..=e].to_vec(), between, (0, 0));
        let (own, own_tangents) = tangents.roll_out(&contexts[2 * e..2 * e + 2], &alone);
        assert_eq!(own, all[e * own.len()..(e + 1) * own.len()]);
        assert_eq!(own_tangents, all_tangents[e * own_tangents.len()..(e + 1) * own_tangents.len()]);
    }
}

/// Predictions at the contexts of two environments are those of the decoded weights, and tangents, the context's first among those of a value,
/// the differences of these.
fn assert_follow_contexts(
    engine: &dyn Engine,
    batch: &Batch,
    contexts: [f64; 4],
    decode: &dyn Fn(&[f64]) -> Vec<f64>,
    predictions: &[f64],
    tangents: &[f64],
) {
    for (found, decoded) in predictions.iter().zip(engine.predict(&decode(&contexts), batch)) {
        assert_relative_eq!(found, &decoded, max_relative = 1e-12, epsilon = 1e-12);
    }
    let (h, per_value) = (1e-6, tangents.len() / predictions.len());
    let of_environment = batch.values_per_environment();
    for k in 0..4 {
        let value = |sign: f64| {
            let mut moved = contexts;
            moved[k] += sign * h;
            engine.predict(&decode(&moved), batch)
        };
        let (up, down) = (value(1.0), value(-1.0));
        for i in (k / 2) * of_environment..(k / 2 + 1) * of_environment {
            let difference = (up[i] - down[i]) / (2.0 * h);
            assert_relative_eq!(difference, tangents[i * per_value + k % 2], epsilon = 1e-7, max_relative = 1e-6);
        }
    }
}

#[test]
fn tangents_agree_with_finite_differences_and_their_primal_with_decoded_weights() {
    for_all(|engine, model, between| {
        let mut stream = Stream::new(3, "engine", &[]);
        let batch = batch(&observed(&mut stream, between.len()), between, (0, 0));
        let basis = weights(model, between.len(), 3, &mut stream);
        let size = basis.len() / 3;
        let contexts = [0.3, -0.8, 1.2, 0.1];
        let decode = |contexts: &[f64]| -> Vec<f64> {
            let of_environment = |xi: &[f64]| -> Vec<f64> {
                (0..size).map(|i| basis[i] + xi[0] * basis[size + i] + xi[1] * basis[2 * size + i]).collect()
            };
            contexts.chunks(2).flat_map(of_environment).collect()
        };
        let (predictions, tangents) = engine.tangents(&basis, 2).roll_out(&contexts, &batch);
        assert_follow_contexts(engine, &batch, contexts, &decode, &predictions, &tangents);
    });
}

#[test]
fn tangents_with_respect_to_initial_states_agree_with_finite_differences() {
    for_all(|engine, model, between| {
        let mut stream = Stream::new(10, "engine", &[]);
        let batch = batch(&observed(&mut stream, between.len()), between, (0, 0));
        let basis = weights(model, between.len(), 3, &mut stream);
        let contexts = [0.3, -0.8, 1.2, 0.1];
        let shared = engine.tangents(&basis, 2);
        let (predictions, tangents) = shared.roll_out_wrt(Wrt::ContextAndInitial, &contexts, &batch);
        let (alone, of_context) = shared.roll_out(&contexts, &batch);
        assert!(difference(&predictions, &alone) < 1e-14);
        let behind: Vec<f64> = tangents.chunks(4).flat_map(|of_value| &of_value[..2]).copied().collect();
        assert!(difference(&behind, &of_context) < 1e-13);
        let h = 1e-6;
        for (initial, _) in batch.initial.iter().enumerate() {
            let value = |sign: f64| {
                let mut moved = batch.clone();
                moved.initial[initial] += sign * h;
                shared.roll_out(&contexts, &moved).0
            };
            let (up, down) = (value(1.0), value(-1.0));
            let row = initial / CHANNELS * batch.steps * CHANNELS;
            for i in row..row + batch.steps * CHANNELS {
                let difference = (up[i] - down[i]) / (2.0 * h);
                let of_initial = tangents[i * 4 + 2 + initial % CHANNELS];
                // Of a row that is padding nothing is said.
                if batch.mask[row..row + batch.steps * CHANNELS].iter().any(|mask| *mask > 0.0)
                    && batch.dt[i / CHANNELS] > 0.0
                {
                    assert_relative_eq!(difference, of_initial, epsilon = 1e-7, max_relative = 1e-6);
                }
            }
        }
    });
}

#[test]
fn the_jacobian_gives_the_gradient_and_names_the_environment() {
    for_all(|engine, model, between| {
        let mut stream = Stream::new(7, "engine", &[]);
        let batch = batch(&observed(&mut stream, between.len()), between, (0, 0));
        let weights = weights(model, between.len(), 2, &mut stream);
        let jacobian = engine.jacobian(&weights, &batch);
        assert_eq!(jacobian.residuals.len() as f64, batch.count());
        let size = weights.len() / 2;
        let mut sum = vec![0.0; weights.len()];
        for (i, (&e, residual)) in jacobian.environments.iter().zip(&jacobian.residuals).enumerate() {
            for (p, value) in jacobian.rows[i * size..(i + 1) * size].iter().enumerate() {
                sum[e * size + p] += 2.0 * residual * value / batch.count();
            }
        }
        let (_, gradient) = engine.loss_and_gradient(&weights, &batch);
        for (sum, gradient) in sum.iter().zip(gradient) {
            assert_relative_eq!(*sum, gradient, epsilon = 1e-13, max_relative = 1e-10);
        }
    });
}

#[test]
fn derivatives_of_predictions_agree_with_finite_differences_and_are_each_others_transpose() {
    for_all(|engine, model, between| {
        let mut stream = Stream::new(23, "derivatives", &[]);
        let batch = batch(&observed(&mut stream, between.len()), between, (0, 0));
        let weights = weights(model, between.len(), batch.environments, &mut stream);
        let direction: Vec<f64> = weights.iter().map(|_| stream.normal()).collect();
        let along = |sign: f64| {
            let moved: Vec<f64> = weights.iter().zip(&direction).map(|(w, d)| w + sign * 1e-6 * d).collect();
            engine.predict(&moved, &batch)
        };
        let observed = |values: Vec<f64>| -> Vec<f64> { values.iter().zip(&batch.mask).map(|(v, m)| v * m).collect() };
        let difference: Vec<f64> = along(1.0).iter().zip(along(-1.0)).map(|(up, down)| (up - down) / 2e-6).collect();
        let (pushed, difference) = (observed(engine.push_forward(&weights, &direction, &batch)), observed(difference));
        assert_relative_eq!(pushed.as_slice(), difference.as_slice(), epsilon = 1e-7, max_relative = 1e-6);
        let cotangents = observed(pushed.iter().map(|_| stream.normal()).collect());
        let pulled = engine.pull_back(&weights, &cotangents, &batch);
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        assert_relative_eq!(dot(&cotangents, &pushed), dot(&pulled, &direction), max_relative = 1e-10);
        let parts: Vec<f64> = (0..batch.environments)
            .flat_map(|e| {
                let own =
                    |values: &[f64]| values.chunks_exact(values.len() / batch.environments).nth(e).unwrap().to_vec();
                let of_row = |row: usize| {
                    let part = batch.part(e..e + 1, row..row + 1);
                    let each = cotangents.len() / batch.environments / batch.rows;
                    engine.pull_back(&own(&weights), &own(&cotangents)[row * each..(row + 1) * each], &part)
                };
                let [first, second] = [0, 1].map(of_row);
                first.into_iter().zip(second).map(|(a, b)| a + b).collect::<Vec<f64>>()
            })
            .collect();
        assert_relative_eq!(parts.as_slice(), pulled.as_slice(), epsilon = 1e-12, max_relative = 1e-10);
    });
}

#[test]
fn missing_values_count_for_nothing() {
    for between in BETWEEN {
        let mut stream = Stream::new(8, "engine", &[]);
        let observed = observed(&mut stream, between.len());
        let values = observed.iter().flatten().flat_map(|(_, states, _)| &states[CHANNELS..]);
        let seen = values.clone().filter(|value| !value.is_nan()).count();
        assert!(seen < values.count());
        let batch = batch(&observed, between, (0, 0));
        assert_eq!(batch.count(), seen as f64);
        let cells = || batch.targets.iter().zip(&batch.mask);
        assert!(cells().all(|(target, mask)| *mask == 1.0 || (*target, *mask) == (0.0, 0.0)));
        let mut other = batch.clone();
        other.targets.iter_mut().zip(&batch.mask).filter(|(_, mask)| **mask == 0.0).for_each(|(it, _)| *it = 1e3);
        for_all(|engine, model, of_engine| {
            if of_engine != between {
                return;
            }
            let weights = weights(model, between.len(), 2, &mut Stream::new(9, "engine", &[]));
            assert_eq!(engine.loss_and_gradient(&weights, &batch), engine.loss_and_gradient(&weights, &other));
            let jacobian = engine.jacobian(&weights, &batch);
            assert_eq!(jacobian.residuals.len(), seen);
            assert_eq!(jacobian, engine.jacobian(&weights, &other));
        });
    }
}

#[test]
fn padding_changes_neither_loss_nor_gradient() {
    let mut stream = Stream::new(4, "engine", &[]);
    let between = BETWEEN[1];
    let observed = observed(&mut stream, between.len());
    let weights = weights(&perceptron(3), between.len(), 2, &mut stream);
    for engine in engines(&perceptron(3), between.len(), (Solver::Rk4, 1), Precision::F64) {
        let (loss, gradient) = engine.loss_and_gradient(&weights, &batch(&observed, between, (0, 0)));
        let (padded_loss, padded_gradient) = engine.loss_and_gradient(&weights, &batch(&observed, between, (7, 11)));
        assert_relative_eq!(loss, padded_loss, max_relative = 1e-14);
        for (g, padded) in gradient.iter().zip(&padded_gradient) {
            assert_relative_eq!(g, padded, epsilon = 1e-15, max_relative = 1e-12);
        }
    }
}

#[test]
fn a_rollout_is_the_runge_kutta_method_on_the_perceptron() {
    let mut stream = Stream::new(5, "engine", &[]);
    let between = BETWEEN[1];
    let observed = observed(&mut stream, between.len());
    let weights = weights(&perceptron(3), between.len(), 2, &mut stream);
    for (engine, substeps) in [1, 3]
        .into_iter()
        .flat_map(|n| engines(&perceptron(3), 2, (Solver::Rk4, n), Precision::F64).into_iter().map(move |it| (it, n)))
    {
        let predictions = engine.predict(&weights, &batch(&observed, between, (0, 0)));
        let theta = &weights[..weights.len() / 2];
        let field = |x: &[f64], u: [f64; 2]| -> Vec<f64> {
            let (mut h, mut offset) = ([x, &u].concat(), 0);
            for (layer, &(inputs, outputs)) in [(4, 5), (5, 5), (5, 2)].iter().enumerate() {
                let bias = offset + inputs * outputs;
                let unit = |o: usize| {
                    let products = (0..inputs).map(|i| theta[offset + o * inputs + i] * h[i]);
                    let a: f64 = products.sum::<f64>() + theta[bias + o];
                    if layer < 2 { a / (1.0 + (-a).exp()) } else { a }
                };
                h = (0..outputs).map(unit).collect();
                offset = bias + outputs;
            }
            h
        };
        let (times, states, inputs) = &observed[0][0];
        let mut x = states[..CHANNELS].to_vec();
        for step in 0..times.len() - 1 {
            let dt = (times[step + 1] - times[step]) / substeps as f64;
            for substep in 0..substeps {
                // The first input is held, the second on a straight line to the next sample.
                let u = |c: f64| {
                    let share = (substep as f64 + c) / substeps as f64;
                    [inputs[2 * step], (1.0 - share) * inputs[2 * step + 1] + share * inputs[2 * step + 3]]
                };
                let at = |k: &[f64], c: f64| x.iter().zip(k).map(|(x, k)| x + c * dt * k).collect::<Vec<_>>();
                let k1 = field(&x, u(0.0));
                let k2 = field(&at(&k1, 0.5), u(0.5));
                let k3 = field(&at(&k2, 0.5), u(0.5));
                let k4 = field(&at(&k3, 1.0), u(1.0));
                for c in 0..CHANNELS {
                    x[c] += dt / 6.0 * (k1[c] + 2.0 * k2[c] + 2.0 * k3[c] + k4[c]);
                }
            }
            for c in 0..CHANNELS {
                assert_relative_eq!(x[c], predictions[step * CHANNELS + c], max_relative = 1e-12);
            }
        }
    }
}

#[test]
fn engines_agree_on_several_steps_between_samples() {
    let mut stream = Stream::new(6, "engine", &[]);
    let between = BETWEEN[1];
    let observed = observed(&mut stream, between.len());
    let weights = weights(&perceptron(3), between.len(), 2, &mut stream);
    for solver in SOLVERS {
        let batch = batch(&observed, between, (0, 0));
        let predictions = |substeps: usize| {
            let engines = engines(&perceptron(3), 2, (solver, substeps), Precision::F64);
            engines.iter().map(|engine| engine.predict(&weights, &batch)).collect::<Vec<_>>()
        };
        let (of_one, of_three) = (predictions(1), predictions(3));
        for (a, one) in of_three.iter().zip(&of_one) {
            assert!(a != one);
            // Padding has no step; what is predicted there is nobody's.
            for value in (0..a.len()).filter(|value| batch.dt[value / CHANNELS] > 0.0) {
                assert_relative_eq!(a[value], of_three[0][value], epsilon = 1e-12, max_relative = 1e-10);
            }
        }
    }
}

#[test]
fn tangents_of_weights_that_are_curved_in_the_context_agree_with_finite_differences() {
    for_all(|engine, model, between| {
        let mut stream = Stream::new(11, "engine", &[]);
        let batch = batch(&observed(&mut stream, between.len()), between, (0, 0));
        let parts = weights(model, between.len(), 3, &mut stream);
        let size = parts.len() / 3;
        // theta + sin(xi_1) v + xi_1 xi_2 w, and its tangents behind it.
        let weights_at = |xi: &[f64]| -> Vec<f64> {
            let rows = [[1.0, xi[0].sin(), xi[0] * xi[1]], [0.0, xi[0].cos(), xi[1]], [0.0, 0.0, xi[0]]];
            let value = |row: &[f64; 3], p: usize| (0..3).map(|k| row[k] * parts[k * size + p]).sum();
            rows.iter().flat_map(|row| (0..size).map(|p| value(row, p)).collect::<Vec<f64>>()).collect()
        };
        let decode = |contexts: &[f64]| -> Vec<f64> {
            contexts.chunks(2).flat_map(|xi| weights_at(xi)[..size].to_vec()).collect()
        };
        let contexts = [0.3, -0.8, 1.2, 0.1];
        let curved = engine::Linearised::new(engine, 2, weights_at);
        let (predictions, tangents) = curved.roll_out_wrt(Wrt::ContextAndInitial, &contexts, &batch);
        assert_follow_contexts(engine, &batch, contexts, &decode, &predictions, &tangents);
    });
}
