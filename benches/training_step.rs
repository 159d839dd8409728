//! One CoDA training step on Lotka-Volterra shapes (9 environments, 4 trajectories of 20 points, perceptron 2-64-64-64-2),
//! and one Gauss-Newton iteration of 64 environments.

use criterion::{Criterion, criterion_group, criterion_main};
use paramill::engine::{Batch, Engine, Precision, Segment, Solver, Torch};
use paramill::models::{Mlp, Model};
use paramill::random::Stream;

fn batch(environments: usize, rows: usize) -> Batch {
    let mut stream = Stream::new(0, "bench", &[]);
    let times: Vec<f64> = (0..20).map(|t| 0.5 * f64::from(t)).collect();
    let states: Vec<Vec<f64>> =
        (0..environments * rows).map(|_| (0..40).map(|_| stream.uniform(0.5, 3.0)).collect()).collect();
    let segments: Vec<Vec<Segment>> =
        states.chunks(rows).map(|rows| rows.iter().map(|states| Segment { times: &times, states }).collect()).collect();
    Batch::new(2, &segments, (0, 0))
}

fn weights(count: usize) -> Vec<f64> {
    let model = Mlp::new(2, 4, 64);
    (0..count).flat_map(|e| model.initial_weights(&mut Stream::new(0, "weights", &[e as u64]))).collect()
}

fn benchmarks(criterion: &mut Criterion) {
    let engine = Torch::new(Box::new(Mlp::new(2, 4, 64)), Solver::Rk4.tableau(), tch::Device::Cpu, Precision::F32);
    let (training, theta) = (batch(9, 4), weights(9));
    criterion.bench_function("torch/loss_and_gradient/lv", |bencher| {
        bencher.iter(|| engine.loss_and_gradient(&theta, &training));
    });
    let (adaptation, basis) = (batch(64, 1), weights(3));
    let contexts = vec![0.01; 128];
    criterion.bench_function("torch/tangents/lv-64", |bencher| {
        bencher.iter(|| engine.tangents(&basis, &contexts, &adaptation));
    });
}

criterion_group!(benches, benchmarks);
criterion_main!(benches);
