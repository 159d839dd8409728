//! Models of fields in space: gradients and tangents against finite differences, and what a model promises of space.

use approx::assert_relative_eq;
use paramill::engine::{self, Batch, Device, Engine, Precision, Segment, Solver, Torch};
use paramill::models::tensors::TensorModel;
use paramill::models::{AdaptedLayers, ConvNet, Fno, Model, Settings};
use paramill::random::Stream;
use paramill::rules;
use paramill::schema::StateShape;
use tch::{Kind, Tensor};

/// Environments.
const E: usize = 3;

fn shape() -> StateShape {
    StateShape { channels: 2, space: vec![6, 5] }
}

fn models() -> [fn() -> Box<dyn TensorModel>; 2] {
    [|| Box::new(ConvNet::new(&shape(), 3, 4, 3, 0.5)), || Box::new(Fno::new(&shape(), 2, 2, 3, 4))]
}

/// An engine that takes each environment by itself, or all together.
fn torch(model: Box<dyn TensorModel>, apart: bool) -> Torch {
    Torch::new(model, (Solver::Rk4.tableau(1), 1), Device::Cpu, Precision::F64, apart)
}

/// Trajectories of unequal lengths, the last environment having one fewer.
fn batch(stream: &mut Stream) -> Batch {
    let size = shape().size();
    let lengths: [&[usize]; E] = [&[3, 4], &[4, 2], &[3]];
    let mut trajectory = |length: usize| {
        let times: Vec<f64> = (0..length).map(|t| 0.2 * t as f64 + stream.uniform(0.0, 0.1)).collect();
        (times, (0..length * size).map(|_| stream.normal()).collect::<Vec<f64>>())
    };
    let all: Vec<Vec<_>> = lengths.iter().map(|of| of.iter().map(|&length| trajectory(length)).collect()).collect();
    let segments: Vec<Vec<Segment>> = all
        .iter()
        .map(|of| of.iter().map(|(times, states)| Segment { times, states, inputs: &[] }).collect())
        .collect();
    Batch::new(size, &[], &segments, (0, 0))
}

#[test]
fn gradients_agree_with_finite_differences() {
    for model in models() {
        let (model, mut stream) = (model(), Stream::new(1, "fields", &[]));
        let batch = batch(&mut stream);
        let weights: Vec<f64> = (0..E).flat_map(|_| model.initial_weights(&mut stream)).collect();
        let (name, engine) = (model.name(), torch(model, true));
        let (loss, gradient) = engine.loss_and_gradient(&weights, &batch);
        let value = |weights: &[f64]| engine::sum_of_squares(&engine.predict(weights, &batch), &batch) / batch.count();
        assert_relative_eq!(loss, value(&weights), max_relative = 1e-12);
        let h = 1e-6;
        let mut largest = 0.0_f64;
        for i in (0..weights.len()).step_by(7) {
            let moved = |sign: f64| {
                let mut moved = weights.clone();
                moved[i] += sign * h;
                value(&moved)
            };
            let difference = (moved(1.0) - moved(-1.0)) / (2.0 * h);
            assert_relative_eq!(difference, gradient[i], epsilon = 1e-8, max_relative = 1e-5);
            largest = largest.max(gradient[i].abs());
        }
        assert!(largest > 1e-3, "{name}: every gradient is next to nothing");
    }
}

#[test]
fn derivatives_of_predictions_agree_with_finite_differences_and_are_each_others_transpose() {
    for model in models() {
        let (model, mut stream) = (model(), Stream::new(2, "derivatives", &[]));
        let batch = batch(&mut stream);
        let weights: Vec<f64> = (0..E).flat_map(|_| model.initial_weights(&mut stream)).collect();
        let (name, engine) = (model.name(), torch(model, true));
        let direction: Vec<f64> = weights.iter().map(|_| stream.normal()).collect();
        let along = |sign: f64| {
            let moved: Vec<f64> = weights.iter().zip(&direction).map(|(w, d)| w + sign * 1e-6 * d).collect();
            engine.predict(&moved, &batch)
        };
        let difference: Vec<f64> = along(1.0).iter().zip(along(-1.0)).map(|(up, down)| (up - down) / 2e-6).collect();
        let pushed = engine.push_forward(&weights, &direction, &batch);
        let largest = pushed.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        assert!(largest > 0.0, "{name}");
        assert_relative_eq!(pushed.as_slice(), difference.as_slice(), epsilon = 1e-6 * largest, max_relative = 1e-6);
        let cotangents: Vec<f64> = batch.mask.iter().map(|m| m * stream.normal()).collect();
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let pulled = engine.pull_back(&weights, &cotangents, &batch);
        assert_relative_eq!(dot(&cotangents, &pushed), dot(&pulled, &direction), max_relative = 1e-10);
    }
}

#[test]
fn tangents_agree_with_finite_differences_and_predictions_with_decoded_weights() {
    for model in models() {
        let (model, mut stream) = (model(), Stream::new(2, "fields", &[]));
        let batch = batch(&mut stream);
        let (size, d) = (model.layout().size(), 2);
        let mut basis = model.initial_weights(&mut stream);
        basis.extend((0..d * size).map(|_| 0.1 * stream.normal()));
        let contexts: Vec<f64> = (0..E * d).map(|_| stream.normal()).collect();
        let (name, engine) = (model.name(), torch(model, true));
        let tangents = engine.tangents(&basis, d);
        let (predictions, derivatives) = tangents.roll_out(&contexts, &batch);
        let weights: Vec<f64> = contexts
            .chunks_exact(d)
            .flat_map(|xi| {
                (0..size).map(|i| basis[i] + xi[0] * basis[size + i] + xi[1] * basis[2 * size + i]).collect::<Vec<_>>()
            })
            .collect();
        for (a, b) in predictions.iter().zip(engine.predict(&weights, &batch)) {
            assert_relative_eq!(*a, b, epsilon = 1e-11);
        }
        let h = 1e-6;
        for k in 0..d {
            let moved = |sign: f64| {
                let moved: Vec<f64> =
                    contexts.iter().enumerate().map(|(i, xi)| xi + if i % d == k { sign * h } else { 0.0 }).collect();
                tangents.roll_out(&moved, &batch).0
            };
            let differences = moved(1.0).into_iter().zip(moved(-1.0)).map(|(up, down)| (up - down) / (2.0 * h));
            for (value, difference) in differences.enumerate().filter(|(value, _)| batch.mask[*value] > 0.0) {
                assert_relative_eq!(difference, derivatives[value * d + k], epsilon = 1e-6, max_relative = 1e-5);
            }
        }
        assert!(
            derivatives.iter().any(|derivative| derivative.abs() > 1e-2),
            "{name}: every tangent is next to nothing"
        );
    }
}

#[test]
fn environments_together_give_what_each_gives_alone() {
    for model in models() {
        let mut stream = Stream::new(3, "fields", &[]);
        let batch = batch(&mut stream);
        let weights: Vec<f64> = (0..E).flat_map(|_| model().initial_weights(&mut stream)).collect();
        let answer = |apart: bool| {
            let engine = torch(model(), apart);
            let (loss, gradient) = engine.loss_and_gradient(&weights, &batch);
            [vec![loss], gradient, engine.predict(&weights, &batch)]
        };
        for (alone, together) in answer(true).iter().flatten().zip(answer(false).iter().flatten()) {
            assert_relative_eq!(*alone, *together, epsilon = 1e-12, max_relative = 1e-9);
        }
    }
}

/// A shift of the state by whole points shifts the rates of a convolutional network, across the edges too.
#[test]
fn convolutions_know_no_edge() {
    let model = ConvNet::new(&shape(), 3, 4, 3, 1.0);
    let mut stream = Stream::new(4, "fields", &[]);
    let weights = Tensor::from_slice(&model.initial_weights(&mut stream)).unsqueeze(0);
    let state: Vec<f64> = (0..60).map(|_| stream.normal()).collect();
    let state = Tensor::from_slice(&state).view([1, 1, 2, 6, 5]);
    let rates = |state: &Tensor| model.field(&weights)(&state.reshape([1, 1, 60])).view([1, 1, 2, 6, 5]);
    let shifted = rates(&state.roll([2i64, 1], [3i64, 4]));
    let difference = (shifted - rates(&state).roll([2i64, 1], [3i64, 4])).abs().max().double_value(&[]);
    assert!(difference < 1e-12, "{difference}");
}

/// One spectral layer on a field of few wave numbers is exact on any grid: its rates agree where two grids meet.
#[test]
fn a_fourier_operator_works_at_another_resolution() {
    let at = |count: usize| {
        let shape = StateShape { channels: 1, space: vec![count, count] };
        let model = Fno::new(&shape, 1, 3, 4, 5);
        let weights = Tensor::from_slice(&model.initial_weights(&mut Stream::new(5, "fields", &[]))).unsqueeze(0);
        let place = Tensor::arange(count as i64, (Kind::Double, tch::Device::Cpu))
            * (2.0 * std::f64::consts::PI / count as f64);
        let state = place.sin().view([-1, 1]) + (&place * 2.0).cos().view([1, -1]) * place.cos().view([-1, 1]);
        model.field(&weights)(&state.view([1, 1, -1])).view([count as i64, count as i64])
    };
    let coarse = at(8);
    let fine = at(24).slice(0, 0, None, 3).slice(1, 0, None, 3);
    let difference = (&coarse - fine).abs().max().double_value(&[]);
    assert!(difference < 1e-12, "{difference}");
    assert!(coarse.std(false).double_value(&[]) > 1e-3, "the rates are the same everywhere");
}

#[test]
fn a_model_says_what_states_it_is_for() {
    let of = |text: &str| -> Settings { toml::from_str(text).unwrap() };
    let (plain, plane) = (StateShape { channels: 2, space: Vec::new() }, shape());
    for (model, state, found) in [
        ("kind = \"mlp\"", &plane, "fields on 6 x 5 points"),
        ("kind = \"convnet\"", &plain, "states without space"),
        ("kind = \"convnet\"\nkernel = 4", &plane, "kernel = 4"),
        ("kind = \"fno\"", &plain, "states without space"),
    ] {
        assert_eq!(of(model).problem(state, 0).map(|(found, _)| found).as_deref(), Some(found), "{model}");
    }
    for (model, state) in [("kind = \"mlp\"", &plain), ("kind = \"convnet\"", &plane), ("kind = \"fno\"", &plane)] {
        assert_eq!(of(model).problem(state, 0), None, "{model}");
        let driven = of(model).problem(state, 2).map(|(found, _)| found);
        assert_eq!(driven.as_deref(), (state.space.len() == 2).then_some("2 inputs"), "{model}");
    }
}

/// A network of one layer has the state for features: what its rates are then is those of a state that is scaled and shifted.
#[test]
fn film_scales_and_shifts_channels() {
    let model = ConvNet::new(&shape(), 1, 4, 3, 0.5);
    let rule = rules::Kind::CaviaFilm.build(model.layout(), AdaptedLayers::All, 1);
    let mut stream = Stream::new(9, "fields", &[]);
    let shared = rule.initial_shared(model.initial_weights(&mut stream), 0.5, &mut stream);
    let (size, xi) = (model.layout().size(), 0.7);
    let mut weights = vec![0.0; size];
    rule.decode(&shared, &[xi], &mut weights);
    let rates = |weights: &[f64], state: Vec<f64>| -> Vec<f64> {
        let state = Tensor::from_slice(&state).view([1, 1, -1]);
        let rates = model.field(&Tensor::from_slice(weights).unsqueeze(0))(&state).view([-1]);
        Vec::try_from(&rates).unwrap()
    };
    let points = shape().points();
    let state: Vec<f64> = (0..shape().size()).map(|_| stream.normal()).collect();
    let modulated = state.iter().enumerate().map(|(i, x)| {
        let channel = size + i / points;
        (1.0 + xi * shared[channel]) * x + xi * shared[channel + 2]
    });
    let expected = rates(&shared[..size], modulated.collect());
    assert_relative_eq!(rates(&weights, state).as_slice(), expected.as_slice(), epsilon = 1e-12);
}
