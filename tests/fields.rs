//! Models of fields in space: gradients and tangents against finite differences, and what a model promises of space.

#[path = "fields/boundaries.rs"]
mod boundaries;
#[path = "common/dataset.rs"]
mod common;
#[path = "fields/heat.rs"]
mod heat;
#[path = "common/model.rs"]
mod model;

use approx::assert_relative_eq;
use paramill::engine::{self, Batch, Device, Engine, Precision, Products, Segment, Solver, Torch, Wrt};
use paramill::models::tensors::TensorModel;
use paramill::models::{AdaptedLayers, ConvNet, Fno, Library, Model, Operator, Settings};
use paramill::random::Stream;
use paramill::rules;
use paramill::schema::{Boundary, StateShape};
use tch::{Kind, Tensor};

/// Environments.
const E: usize = 3;

fn square() -> StateShape {
    StateShape::periodic(2, &[5, 5])
}

fn shape() -> StateShape {
    StateShape::periodic(2, &[6, 5])
}

/// Two channels on grids of one to three axes, of every boundary and of different ones.
fn shapes() -> Vec<StateShape> {
    use Boundary::{Periodic, Replicate, Zero};
    let on = |space: &[usize], boundaries: &[Boundary]| StateShape {
        channels: 2,
        space: space.to_vec(),
        boundaries: boundaries.to_vec(),
    };
    let mut shapes = vec![shape()];
    for boundary in [Periodic, Zero, Replicate] {
        shapes.push(on(&[7], &[boundary]));
        shapes.push(on(&[4, 3, 3], &[boundary; 3]));
    }
    shapes.extend([
        on(&[5, 4], &[Zero, Zero]),
        on(&[5, 4], &[Replicate, Replicate]),
        on(&[4, 5], &[Zero, Periodic]),
        on(&[4, 5], &[Replicate, Zero]),
        on(&[3, 4, 3], &[Periodic, Zero, Replicate]),
        on(&[3, 3, 5], &[Replicate, Periodic, Periodic]),
    ]);
    shapes
}

/// Each network for each of these grids.
fn models() -> Vec<(StateShape, Box<dyn TensorModel>)> {
    let of_shape = |shape: StateShape| -> [(StateShape, Box<dyn TensorModel>); 2] {
        let convnet = ConvNet::new(&shape, 3, 4, 3, 0.5);
        let fno = Fno::new(&shape, 2, 2, 3, 4);
        [(shape.clone(), Box::new(convnet)), (shape, Box::new(fno))]
    };
    shapes().into_iter().flat_map(of_shape).collect()
}

/// A model and its grid in words.
fn name(model: &dyn TensorModel, shape: &StateShape) -> String {
    format!("{} on {:?} {:?}", model.name(), shape.space, shape.boundaries)
}

/// An engine that takes each environment by itself, or all together.
fn torch(model: Box<dyn TensorModel>, apart: bool) -> Torch {
    Torch::new(model, (Solver::Rk4.tableau(1), 1), Device::Cpu, Precision::F64, apart)
}

/// Trajectories of unequal lengths, the last environment having one fewer.
fn batch(shape: &StateShape, stream: &mut Stream) -> Batch {
    let size = shape.size();
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
    for (shape, model) in models() {
        let mut stream = Stream::new(1, "fields", &[]);
        let batch = batch(&shape, &mut stream);
        let weights: Vec<f64> = (0..E).flat_map(|_| model.initial_weights(&mut stream)).collect();
        let (name, engine) = (name(model.as_ref(), &shape), torch(model, true));
        let (loss, gradient) = engine.loss_and_gradient(&weights, &batch);
        let value = |weights: &[f64]| engine::sum_of_squares(&engine.predict(weights, &batch), &batch) / batch.count();
        assert_relative_eq!(loss, value(&weights), max_relative = 1e-12);
        let h = 1e-6;
        let mut largest = 0.0_f64;
        for i in (0..weights.len()).step_by(7.max(weights.len() / 80)) {
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
    for (shape, model) in models() {
        let mut stream = Stream::new(2, "derivatives", &[]);
        let batch = batch(&shape, &mut stream);
        let weights: Vec<f64> = (0..E).flat_map(|_| model.initial_weights(&mut stream)).collect();
        let (name, engine) = (name(model.as_ref(), &shape), torch(model, true));
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
    for (shape, model) in models() {
        let mut stream = Stream::new(2, "fields", &[]);
        let batch = batch(&shape, &mut stream);
        let (size, d) = (model.layout().size(), 2);
        let mut basis = model.initial_weights(&mut stream);
        basis.extend((0..d * size).map(|_| 0.1 * stream.normal()));
        let contexts: Vec<f64> = (0..E * d).map(|_| stream.normal()).collect();
        let (name, engine) = (name(model.as_ref(), &shape), torch(model, true));
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
    for ((shape, model), (_, same)) in models().into_iter().zip(models()) {
        let mut stream = Stream::new(3, "fields", &[]);
        let batch = batch(&shape, &mut stream);
        let weights: Vec<f64> = (0..E).flat_map(|_| model.initial_weights(&mut stream)).collect();
        let answer = |apart: bool, model| {
            let engine = torch(model, apart);
            let (loss, gradient) = engine.loss_and_gradient(&weights, &batch);
            [vec![loss], gradient, engine.predict(&weights, &batch)]
        };
        for (alone, together) in answer(true, model).iter().flatten().zip(answer(false, same).iter().flatten()) {
            assert_relative_eq!(*alone, *together, epsilon = 1e-12, max_relative = 1e-9);
        }
    }
}

/// A shift of the state by whole points along the periodic axes shifts the rates of a convolutional network, across the edges too; along the others it
/// does not.
#[test]
fn convolutions_know_no_periodic_edge() {
    for shape in shapes() {
        let model = ConvNet::new(&shape, 3, 4, 3, 1.0);
        let mut stream = Stream::new(4, "fields", &[]);
        let weights = Tensor::from_slice(&model.initial_weights(&mut stream)).unsqueeze(0);
        let state: Vec<f64> = (0..shape.size()).map(|_| stream.normal()).collect();
        let sides: Vec<i64> = [1, 1, 2].into_iter().chain(shape.space.iter().map(|&n| n as i64)).collect();
        let state = Tensor::from_slice(&state).view(sides.as_slice());
        let rates = |state: &Tensor| model.field(&weights)(&state.reshape([1, 1, -1])).view(sides.as_slice());
        for (axis, boundary) in shape.boundaries.iter().enumerate() {
            let shifted = |field: &Tensor| field.roll([2i64], [3 + axis as i64]);
            let difference = (rates(&shifted(&state)) - shifted(&rates(&state))).abs().max().double_value(&[]);
            assert_eq!(difference < 1e-12, *boundary == Boundary::Periodic, "{shape:?}, axis {axis}: {difference}");
        }
    }
}

/// One spectral layer on a field of few wave numbers is exact on any grid: its rates agree where two grids meet.
#[test]
fn a_fourier_operator_works_at_another_resolution() {
    let at = |count: usize| {
        let shape = StateShape::periodic(1, &[count, count]);
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
    let (plain, plane, line) = (StateShape::without_space(2), shape(), StateShape::periodic(2, &[7]));
    let walled = StateShape { boundaries: vec![Boundary::Zero, Boundary::Periodic], ..square() };
    for (model, state, key, found) in [
        ("kind = \"mlp\"", &plane, "model", "\"mlp\" for fields on 6 x 5 points"),
        ("kind = \"convnet\"", &plain, "model", "\"convnet\" for states without space"),
        ("kind = \"convnet\"\nkernel = 4", &plane, "model.kernel", "4"),
        ("kind = \"convnet\"\nkernel = 15", &line, "", ""),
        ("kind = \"convnet\"\nkernel = 15", &plane, "model.kernel", "15 for fields on 6 x 5 points"),
        ("kind = \"fno\"", &plain, "model", "\"fno\" for states without space"),
        ("kind = \"fno\"", &StateShape::periodic(2, &[4, 1]), "model", "\"fno\" for fields on 4 x 1 points"),
        (
            "kind = \"library\"\noperators = [\"gradient\"]",
            &plain,
            "model.operators",
            "`gradient` for states without space",
        ),
        (
            "kind = \"library\"\noperators = [\"velocity\"]",
            &plane,
            "model.operators",
            "`velocity` for fields on 6 x 5 points",
        ),
        ("kind = \"library\"\noperators = [\"waves\"]", &line, "model.operators", "`waves` for fields on 7 points"),
        (
            "kind = \"library\"\noperators = [\"velocity\"]",
            &walled,
            "model.operators",
            "`velocity` for fields on 5 x 5 points with the boundaries zero, periodic",
        ),
        ("kind = \"library\"\noperators = [\"gradient\", \"gradient\"]", &plane, "model.operators", "`gradient` twice"),
        ("kind = \"library\"\ndegree = 7", &plane, "model.degree", "7"),
        ("kind = \"library\"\nsaturation = 7", &plain, "model.saturation", "7, a power in the denominator"),
        (
            "kind = \"library\"\ndegree = 6\noperator_degree = 6\noperators = [\"gradient\", \"laplacian\", \"waves\", \"velocity\"]",
            &square(),
            "model",
            "a library of 74613 products",
        ),
    ] {
        let problem = of(model).problem(state, 0).map_or_else(Default::default, |it| (it.key, it.found));
        assert_eq!(problem, (key.to_owned(), found.to_owned()), "{model}");
    }
    assert_eq!(of("kind = \"mlp\"").problem(&plain, 2), None);
    for shape in shapes() {
        for model in
            ["kind = \"convnet\"", "kind = \"fno\"", "kind = \"library\"\noperators = [\"laplacian\", \"gradient\"]"]
        {
            assert_eq!(of(model).problem(&shape, 0), None, "{model} on {shape:?}");
            let driven = of(model).problem(&shape, 2).map(|problem| problem.expected);
            assert_eq!(driven.is_some(), !model.contains("library"), "{model}: {driven:?}");
        }
    }
}

/// A network of one layer has the state for features: what its rates are then is those of a state that is scaled and shifted.
#[test]
fn film_scales_and_shifts_channels() {
    let model = ConvNet::new(&shape(), 1, 4, 3, 0.5);
    let rule = rules::Kind::CaviaFilm
        .build(model.layout(), rules::Shape { adapted: AdaptedLayers::All, context_dimension: 1, inner_rate: 0.1 });
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

/// One channel on few points, for what takes a backward pass for each value.
fn small_shapes() -> Vec<StateShape> {
    use Boundary::{Periodic, Replicate, Zero};
    let on = |space: &[usize], boundaries: &[Boundary]| StateShape {
        channels: 1,
        space: space.to_vec(),
        boundaries: boundaries.to_vec(),
    };
    let mut shapes = vec![on(&[3, 2], &[Zero, Replicate]), on(&[2, 3], &[Replicate, Periodic])];
    shapes.extend([Periodic, Zero, Replicate].map(|boundary| on(&[4], &[boundary])));
    shapes.push(on(&[3, 2, 2], &[Zero, Replicate, Periodic]));
    shapes
}

/// Libraries of products: with differences on any grid, with Fourier series on a square, with a denominator, without space.
fn libraries() -> Vec<(StateShape, Library)> {
    use Operator::{Gradient, Laplacian, SpectralGradient, SpectralLaplacian, Velocity, Waves};
    let square = square();
    let three = StateShape::without_space(3);
    let mut libraries = vec![
        (shape(), Library::new(&shape(), 0, [2, 2], &[Gradient, Laplacian], 0)),
        (shape(), Library::new(&shape(), 0, [2, 2], &[Laplacian], 2)),
        (square.clone(), Library::new(&square, 0, [2, 2], &[Velocity, SpectralLaplacian, SpectralGradient], 0)),
        (square.clone(), Library::new(&square, 0, [1, 1], &[Waves, SpectralLaplacian, Gradient], 1)),
        (three.clone(), Library::new(&three, 0, [2, 2], &[], 0)),
        (three.clone(), Library::new(&three, 0, [3, 3], &[], 4)),
    ];
    for shape in small_shapes() {
        libraries.push((shape.clone(), Library::new(&shape, 0, [2, 1], &[Laplacian, Gradient], 0)));
    }
    libraries
}

/// A batch of two environments of states of that shape, with rows of so many samples; the second has one.
fn batch_of(shape: &StateShape, [a, b, c]: [usize; 3], stream: &mut Stream) -> Batch {
    let mut trajectory = |length: usize| {
        let times: Vec<f64> = (0..length).map(|t| 0.05 * t as f64 + stream.uniform(0.0, 0.02)).collect();
        (times, (0..length * shape.size()).map(|_| 0.5 * stream.normal()).collect::<Vec<f64>>())
    };
    let all = [vec![trajectory(a), trajectory(b)], vec![trajectory(c)]];
    let segments: Vec<Vec<Segment>> = all
        .iter()
        .map(|of| of.iter().map(|(times, states)| Segment { times, states, inputs: &[] }).collect())
        .collect();
    Batch::new(shape.size(), &[], &segments, (0, 0))
}

/// `a` and `b` agree where `mask` is not zero, to a part of the largest value.
fn assert_agree(a: &[f64], b: &[f64], mask: impl Fn(usize) -> bool, tolerance: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    let places = || (0..a.len()).filter(|&i| mask(i));
    let largest = places().map(|i| b[i].abs()).fold(0.0, f64::max);
    let worst = places().map(|i| (a[i] - b[i]).abs()).fold(0.0, f64::max);
    assert!(places().all(|i| a[i].is_finite() && b[i].is_finite()), "{what} is not finite");
    assert!(largest > 1e-6 && worst <= tolerance * largest, "{what}: {worst:e} of {largest:e}");
}

#[test]
fn both_engines_compute_libraries_and_their_derivatives_agree_with_finite_differences() {
    for (which, (shape, library)) in libraries().into_iter().enumerate() {
        let mut stream = Stream::new(7, "libraries", &[which as u64]);
        let (size, batch) = (library.layout().size(), batch_of(&shape, [2, 3, 2], &mut stream));
        let interval = batch_of(&shape, [2; 3], &mut stream);
        let saturation = library.denominator_weights();
        let factor = |at: usize| if at % size >= size - saturation { 0.3 } else { 0.02 };
        let mut draw = |count: usize| (0..count * size).map(|at| factor(at) * stream.normal()).collect::<Vec<f64>>();
        let (weights, direction, basis) = (draw(2), draw(2), draw(3));
        let contexts = [0.4, -0.7, 1.1, 0.2];
        let cotangents: Vec<f64> = batch.mask.iter().map(|m| m * stream.normal()).collect();
        let torch = Torch::new(
            Box::new(libraries().remove(which).1),
            (Solver::Rk4.tableau(1), 2),
            Device::Cpu,
            Precision::F64,
            true,
        );
        let native = Products::new(library, Solver::Rk4.tableau(1), 2);
        let answers = |engine: &dyn Engine| {
            let (loss, gradient) = engine.loss_and_gradient(&weights, &batch);
            let jacobian = engine.jacobian(&weights, &batch);
            let (predictions, tangents) = engine.tangents(&basis, 2).roll_out(&contexts, &batch);
            let pushed = engine.push_forward(&weights, &direction, &batch);
            let pulled = engine.pull_back(&weights, &cotangents, &batch);
            let of_interval = engine.jacobian(&weights, &interval);
            let some: Vec<usize> = (0..size).step_by(3).collect();
            // Which columns are asked for does not depend on the grid, and each row costs torch a pass.
            for (of, batch) in [(&jacobian, &batch), (&of_interval, &interval)].into_iter().filter(|_| which < 6) {
                let part = engine.jacobian_of(&some, &weights, batch);
                assert_eq!(part.residuals, of.residuals);
                let rows: Vec<f64> = of.rows.chunks_exact(size).flat_map(|row| some.iter().map(|&p| row[p])).collect();
                assert_agree(&part.rows, &rows, |_| true, 1e-12, "some columns");
            }
            [
                engine.predict(&weights, &batch),
                predictions,
                pushed,
                tangents,
                vec![loss],
                gradient,
                pulled,
                jacobian.residuals,
                jacobian.rows,
                of_interval.residuals,
                of_interval.rows,
            ]
        };
        let (own, other) = (answers(&native), answers(&torch));
        for (answer, (own, other)) in own.iter().zip(&other).enumerate() {
            let per_value = if answer == 3 { 2 } else { 1 };
            let counts = |i: usize| answer > 3 || batch.mask[i / per_value] > 0.0;
            assert_agree(own, other, counts, 1e-9, &format!("library {which}, answer {answer}"));
        }
        let observed = |i: usize| batch.mask[i] > 0.0;
        let moved = |sign: f64| {
            let moved: Vec<f64> = weights.iter().zip(&direction).map(|(w, d)| w + sign * 1e-6 * d).collect();
            native.predict(&moved, &batch)
        };
        let difference: Vec<f64> = moved(1.0).iter().zip(moved(-1.0)).map(|(up, down)| (up - down) / 2e-6).collect();
        assert_agree(&own[2], &difference, observed, 1e-6, "push_forward");
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        assert_relative_eq!(dot(&cotangents, &own[2]), dot(&own[6], &direction), max_relative = 1e-9);
        // The initial state moves behind the contexts.
        let (count, tangents) = (2 + shape.size(), native.tangents(&basis, 2));
        let of_initial = tangents.roll_out_wrt(Wrt::ContextAndInitial, &contexts, &batch).1;
        let along: Vec<f64> = (0..batch.initial.len()).map(|_| stream.normal()).collect();
        let from = |sign: f64| {
            let mut batch = batch.clone();
            batch.initial.iter_mut().zip(&along).for_each(|(initial, d)| *initial += sign * 1e-6 * d);
            tangents.roll_out(&contexts, &batch).0
        };
        let difference: Vec<f64> = from(1.0).iter().zip(from(-1.0)).map(|(up, down)| (up - down) / 2e-6).collect();
        let row = |i: usize| i / (batch.steps * shape.size()) * shape.size();
        let along = |(i, of_value): (usize, &[f64])| dot(&of_value[2..], &along[row(i)..][..shape.size()]);
        let pushed: Vec<f64> = of_initial.chunks_exact(count).enumerate().map(along).collect();
        assert_agree(&pushed, &difference, observed, 1e-6, "initial states");
    }
}

/// A flow of waves: features by Fourier series are what is written of them.
#[test]
fn a_library_finds_the_rates_of_a_forced_flow() {
    let n = 12;
    let shape = StateShape::periodic(1, &[n, n]);
    let operators = [Operator::Velocity, Operator::SpectralGradient, Operator::SpectralLaplacian, Operator::Waves];
    let library = Library::new(&shape, 0, [2, 2], &operators, 0);
    // Features: w, v_x, v_y, w_x, w_y, lap w, and sine and cosine along x and y.
    let mut weights = vec![0.0; library.layout().size()];
    let products = library.products.clone();
    let mut set = |factors: &[usize], value: f64| {
        let mut names: Vec<usize> = factors.to_vec();
        names.sort_unstable_by(|a, b| b.cmp(a));
        let place = names.iter().fold(0, |parent, &feature| {
            1 + products.iter().position(|product| *product == (parent, feature)).expect("such a product")
        });
        weights[place] = value;
    };
    set(&[1, 3], -1.0);
    set(&[2, 4], -1.0);
    set(&[5], 0.01 * std::f64::consts::TAU.powi(2));
    set(&[6, 9], 0.1);
    let turn = |at: usize| std::f64::consts::TAU * at as f64 / n as f64;
    let place = |i: usize| (turn(i / n), turn(i % n));
    // The side is 2 pi for the features and one here; v . grad w is the same.
    // w = cos x + cos 2y: psi = cos x / k^2 + cos 2y / (4 k^2), k = 2 pi.
    let w: Vec<f64> = (0..n * n).map(|i| place(i).0.cos() + (2.0 * place(i).1).cos()).collect();
    let k = std::f64::consts::TAU;
    let rate = |i: usize| {
        let (x, y) = place(i);
        let (v_x, v_y) = (-(2.0 * y).sin() / (2.0 * k), x.sin() / k);
        let (w_x, w_y) = (-k * x.sin(), -2.0 * k * (2.0 * y).sin());
        let laplacian = -k * k * (x.cos() + 4.0 * (2.0 * y).cos());
        -v_x * w_x - v_y * w_y + 0.01 * laplacian + 0.1 * x.sin() * y.cos()
    };
    let (dt, times) = (0.5, [0.0, 0.5]);
    let states = [w.clone(), w.clone()].concat();
    let batch = Batch::new(n * n, &[], &[vec![Segment { times: &times, states: &states, inputs: &[] }]], (0, 0));
    let engine = Products::new(library, Solver::Euler.tableau(1), 1);
    for (i, value) in engine.predict(&weights, &batch).iter().enumerate() {
        assert_relative_eq!(*value, w[i] + dt * rate(i), epsilon = 1e-12);
    }
}
