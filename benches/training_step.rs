//! One CoDA training step on Lotka-Volterra shapes (9 environments, 4 trajectories of 20 points, perceptron 2-64-64-64-2),
//! one iteration of 64 contexts, and one Gauss-Newton step of all rules on the 1,368 residuals.

use criterion::{Criterion, criterion_group, criterion_main};
use paramill::engine::{Batch, Device, Engine, Native, Precision, Segment, Solver, Torch};
use paramill::models::{AdaptedLayers, Mlp, Model};
use paramill::progress::Interrupt;
use paramill::random::Stream;
use paramill::rules::{Kind, Shape};
use paramill::train::{Contexts, GaussNewton, LinearModel, LocalModel};

fn batch(environments: usize, rows: usize) -> Batch {
    let mut stream = Stream::new(0, "bench", &[]);
    let times: Vec<f64> = (0..20).map(|t| 0.5 * f64::from(t)).collect();
    let states: Vec<Vec<f64>> =
        (0..environments * rows).map(|_| (0..40).map(|_| stream.uniform(0.5, 3.0)).collect()).collect();
    let segments: Vec<Vec<Segment>> = states
        .chunks(rows)
        .map(|rows| rows.iter().map(|states| Segment { times: &times, states, inputs: &[] }).collect())
        .collect();
    Batch::new(2, &[], &segments, (0, 0))
}

fn weights(count: usize) -> Vec<f64> {
    let model = Mlp::new(2, 0, 4, 64);
    (0..count).flat_map(|e| model.initial_weights(&mut Stream::new(0, "weights", &[e as u64]))).collect()
}

fn benchmarks(criterion: &mut Criterion) {
    let (model, tableau) = (Mlp::new(2, 0, 4, 64), Solver::Rk4.tableau(1));
    let engines: [Box<dyn Engine>; 2] = [
        Box::new(Native::<f32>::new(&model, tableau.clone())),
        Box::new(Torch::new(Box::new(model), (tableau, 1), Device::Cpu, Precision::F32, false)),
    ];
    for engine in &engines {
        let (training, theta) = (batch(9, 4), weights(9));
        criterion.bench_function(&format!("{}/loss_and_gradient/lv", engine.name()), |bencher| {
            bencher.iter(|| engine.loss_and_gradient(&theta, &training));
        });
        let (adaptation, basis) = (batch(64, 1), weights(3));
        let contexts = vec![0.01; 128];
        criterion.bench_function(&format!("{}/tangents/lv-64", engine.name()), |bencher| {
            let tangents = engine.tangents(&basis, 2);
            bencher.iter(|| tangents.roll_out(&contexts, &adaptation));
        });
    }
}

/// Residuals and Jacobian stand ready: what is timed is the linear algebra.
fn gauss_newton(criterion: &mut Criterion) {
    let (model, settings, interrupt) = (Mlp::new(2, 0, 4, 64), GaussNewton::default(), Interrupt::new());
    let engine = Native::<f64>::new(&model, Solver::Rk4.tableau(1));
    let jacobian = engine.jacobian(&weights(9), &batch(9, 4));
    let shape = Shape { adapted: AdaptedLayers::All, context_dimension: 2, inner_rate: 0.1 };
    for kind in Kind::ALL.into_iter().filter(|kind| !kind.owns_weights()) {
        let rule = kind.build(model.layout(), shape);
        let mut trained = rule.initial_shared(weights(1), 0.1, &mut Stream::new(0, "shared", &[]));
        trained.resize(trained.len() + 18, 0.1);
        criterion.bench_function(&format!("gauss_newton/{kind:?}/lv"), |bencher| {
            bencher.iter(|| {
                LinearModel::new(rule.as_ref(), &settings, Contexts::Learned, &trained, jacobian.clone(), &interrupt)
                    .step(1.0, None)
            });
        });
    }
}

criterion_group!(benches, benchmarks, gauss_newton);
criterion_main!(benches);
