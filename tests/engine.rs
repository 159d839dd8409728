//! Every engine, against finite differences and against a rollout in plain arithmetic.

use approx::assert_relative_eq;
use paramill::engine::{self, Batch, Engine, Precision, Segment, Solver, Torch};
use paramill::models::{Mlp, Model};
use paramill::random::Stream;

const CHANNELS: usize = 2;

/// Times and states of the trajectories of each environment.
type Observed = Vec<Vec<(Vec<f64>, Vec<f64>)>>;

fn torch(solver: Solver, precision: Precision) -> Torch {
    Torch::new(Box::new(Mlp::new(CHANNELS, 3, 5)), solver.tableau(), tch::Device::Cpu, precision)
}

/// Two environments with trajectories of unequal lengths and irregular times.
fn observed(stream: &mut Stream) -> Observed {
    let mut trajectory = |length: usize| {
        let mut time = 0.0;
        let times = (0..length).map(|_| {
            time += stream.uniform(0.1, 0.5);
            time
        });
        let times: Vec<f64> = times.collect();
        let states = (0..length * CHANNELS).map(|_| stream.normal()).collect();
        (times, states)
    };
    vec![vec![trajectory(4), trajectory(6)], vec![trajectory(3)]]
}

fn batch(observed: &Observed, at_least: (usize, usize)) -> Batch {
    let segments: Vec<Vec<Segment>> =
        observed.iter().map(|rows| rows.iter().map(|(times, states)| Segment { times, states }).collect()).collect();
    Batch::new(CHANNELS, &segments, at_least)
}

fn weights(environments: usize, stream: &mut Stream) -> Vec<f64> {
    let model = Mlp::new(CHANNELS, 3, 5);
    (0..environments).flat_map(|_| model.initial_weights(stream)).collect()
}

#[test]
fn gradients_agree_with_finite_differences_for_every_solver() {
    for solver in [Solver::Euler, Solver::Rk4, Solver::Rk38] {
        let mut stream = Stream::new(1, "engine", &[]);
        let batch = batch(&observed(&mut stream), (0, 0));
        let weights = weights(2, &mut stream);
        let engine = torch(solver, Precision::F64);
        let (loss, gradient) = engine.loss_and_gradient(&weights, &batch);
        let predicted = engine::mean_squared_error(&engine.predict(&weights, &batch), &batch);
        assert_relative_eq!(loss, predicted, max_relative = 1e-12);
        let h = 1e-6;
        for i in 0..weights.len() {
            let value = |sign: f64| {
                let mut moved = weights.clone();
                moved[i] += sign * h;
                engine::mean_squared_error(&engine.predict(&moved, &batch), &batch)
            };
            let difference = (value(1.0) - value(-1.0)) / (2.0 * h);
            assert_relative_eq!(difference, gradient[i], epsilon = 1e-8, max_relative = 1e-6);
        }
    }
}

#[test]
fn single_precision_agrees_with_double() {
    let mut stream = Stream::new(2, "engine", &[]);
    let batch = batch(&observed(&mut stream), (0, 0));
    let weights = weights(2, &mut stream);
    let (loss_64, gradient_64) = torch(Solver::Rk4, Precision::F64).loss_and_gradient(&weights, &batch);
    let (loss_32, gradient_32) = torch(Solver::Rk4, Precision::F32).loss_and_gradient(&weights, &batch);
    assert_relative_eq!(loss_32, loss_64, max_relative = 1e-5);
    let largest = gradient_64.iter().fold(0.0, |largest: f64, g| largest.max(g.abs()));
    for (g_32, g_64) in gradient_32.iter().zip(&gradient_64) {
        assert_relative_eq!(g_32, g_64, epsilon = 1e-5 * largest);
    }
}

#[test]
fn tangents_agree_with_finite_differences_and_their_primal_with_decoded_weights() {
    for solver in [Solver::Euler, Solver::Rk4, Solver::Rk38] {
        let mut stream = Stream::new(3, "engine", &[]);
        let batch = batch(&observed(&mut stream), (0, 0));
        let basis = weights(3, &mut stream);
        let size = basis.len() / 3;
        let contexts = [0.3, -0.8, 1.2, 0.1];
        let decode = |contexts: &[f64]| -> Vec<f64> {
            let of_environment = |xi: &[f64]| -> Vec<f64> {
                (0..size).map(|i| basis[i] + xi[0] * basis[size + i] + xi[1] * basis[2 * size + i]).collect()
            };
            contexts.chunks(2).flat_map(of_environment).collect()
        };
        let engine = torch(solver, Precision::F64);
        let (predictions, tangents) = engine.tangents(&basis, &contexts, &batch);
        for (shared, decoded) in predictions.iter().zip(engine.predict(&decode(&contexts), &batch)) {
            assert_relative_eq!(shared, &decoded, max_relative = 1e-12, epsilon = 1e-12);
        }
        let h = 1e-6;
        for k in 0..4 {
            let value = |sign: f64| {
                let mut moved = contexts;
                moved[k] += sign * h;
                engine.predict(&decode(&moved), &batch)
            };
            let (up, down) = (value(1.0), value(-1.0));
            let size = batch.values_per_environment();
            for i in (k / 2) * size..(k / 2 + 1) * size {
                let difference = (up[i] - down[i]) / (2.0 * h);
                assert_relative_eq!(difference, tangents[i * 2 + k % 2], epsilon = 1e-7, max_relative = 1e-6);
            }
        }
    }
}

#[test]
fn padding_changes_neither_loss_nor_gradient() {
    let mut stream = Stream::new(4, "engine", &[]);
    let observed = observed(&mut stream);
    let weights = weights(2, &mut stream);
    let engine = torch(Solver::Rk4, Precision::F64);
    let (loss, gradient) = engine.loss_and_gradient(&weights, &batch(&observed, (0, 0)));
    let (padded_loss, padded_gradient) = engine.loss_and_gradient(&weights, &batch(&observed, (7, 11)));
    assert_relative_eq!(loss, padded_loss, max_relative = 1e-14);
    for (g, padded) in gradient.iter().zip(&padded_gradient) {
        assert_relative_eq!(g, padded, epsilon = 1e-15, max_relative = 1e-12);
    }
}

#[test]
fn a_rollout_is_the_runge_kutta_method_on_the_perceptron() {
    let mut stream = Stream::new(5, "engine", &[]);
    let observed = observed(&mut stream);
    let weights = weights(2, &mut stream);
    let predictions = torch(Solver::Rk4, Precision::F64).predict(&weights, &batch(&observed, (0, 0)));
    let theta = &weights[..weights.len() / 2];
    let field = |x: &[f64]| -> Vec<f64> {
        let (mut h, mut offset) = (x.to_vec(), 0);
        for (layer, &(inputs, outputs)) in [(2, 5), (5, 5), (5, 2)].iter().enumerate() {
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
    let (times, states) = &observed[0][0];
    let mut x = states[..CHANNELS].to_vec();
    for step in 0..times.len() - 1 {
        let dt = times[step + 1] - times[step];
        let at = |k: &[f64], c: f64| x.iter().zip(k).map(|(x, k)| x + c * dt * k).collect::<Vec<_>>();
        let k1 = field(&x);
        let k2 = field(&at(&k1, 0.5));
        let k3 = field(&at(&k2, 0.5));
        let k4 = field(&at(&k3, 1.0));
        for c in 0..CHANNELS {
            x[c] += dt / 6.0 * (k1[c] + 2.0 * k2[c] + 2.0 * k3[c] + k4[c]);
            assert_relative_eq!(x[c], predictions[step * CHANNELS + c], max_relative = 1e-12);
        }
    }
}
