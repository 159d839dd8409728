//! The arithmetic rate of the native engine against what the machine can do.
//!
//! The peak is measured in the same run: a product of two 2048 x 2048 single-precision matrices by libtorch. All rates count a
//! multiply-add as two operations. `whole gradient` divides the operations of all hidden products (forward, to the inputs, to
//! the weights) by the time of the whole call; `one hidden layer` divides those of one 64 x 64 layer by what a network costs
//! more for having it, which leaves out what is not of the layer: laying out weights, the step, the loss.
//!
//! On one core, time is the processor time of the thread, which does not count what others do on the machine; on all cores it
//! is the clock on the wall, and the best of many rounds.

use std::time::Instant;

use paramill::engine::{Batch, Engine, Native, Segment, Solver};
use paramill::models::{Mlp, Model};
use paramill::random::Stream;
use tch::{Device, Kind, Tensor};

const WIDTH: usize = 64;
/// Lengths of the two networks whose difference is taken.
const LAYERS: [usize; 2] = [4, 12];
const SAMPLES: usize = 20;
const ROUNDS: usize = 15;

fn main() {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    for threads in [1, cores] {
        tch::set_num_threads(threads as i32);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
        pool.install(|| rates(threads));
    }
}

fn rates(threads: usize) {
    let matrix = || Tensor::rand([2048, 2048], (Kind::Float, Device::Cpu));
    let (a, b) = (matrix(), matrix());
    for (what, environments, rows) in [("9 x 4 rows", 9, 4), ("18 x 32 rows", 18, 32)] {
        let networks = LAYERS.map(|layers| Mlp::new(2, 0, layers, WIDTH));
        let engines = networks.each_ref().map(|model| Native::<f32>::new(model, Solver::Rk4.tableau(1)));
        let weights = networks.each_ref().map(|model| weights(model, environments));
        // Multiply-adds of a 64 x 64 layer, three times over, for each row, step and stage.
        let operations = (2 * 3 * WIDTH * WIDTH * environments * rows * (SAMPLES - 1) * 4) as f64;
        let (states, times) = samples(environments * rows);
        let segments: Vec<Vec<Segment>> = states
            .chunks(rows)
            .map(|rows| rows.iter().map(|states| Segment { times: &times, states, inputs: &[] }).collect())
            .collect();
        let batch = Batch::new(2, &[], &segments, (0, 0));
        let gradient = |k: usize| {
            seconds(threads, || {
                engines[k].loss_and_gradient(&weights[k], &batch);
            })
        };
        let (mut peak, mut whole, mut layer) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            peak.push(2.0 * 2048f64.powi(3) / seconds(threads, || drop(a.matmul(&b))));
            let [short, long] = [gradient(0), gradient(1)];
            whole.push(operations * (LAYERS[0] - 2) as f64 / short);
            layer.push(operations * (LAYERS[1] - LAYERS[0]) as f64 / (long - short));
        }
        let best = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
        // A difference can be too good by chance, so that of the layer is a median.
        let (peak, whole, layer) = (best(&peak), best(&whole), median(layer));
        println!("training, {what}, threads: {threads}; peak {:.0} GFLOP/s", peak / 1e9);
        println!("  whole gradient   {:5.1} GFLOP/s, {:2.0} % of the peak", whole / 1e9, 100.0 * whole / peak);
        println!("  one hidden layer {:5.1} GFLOP/s, {:2.0} % of the peak", layer / 1e9, 100.0 * layer / peak);
    }
}

/// Seconds of one call, over calls for a tenth of a second: of the thread on its processor if it is the only one, else by the
/// clock and the least of them.
fn seconds(threads: usize, mut work: impl FnMut()) -> f64 {
    let (begin, mut calls, mut least) = (Instant::now(), 0, f64::INFINITY);
    let on_processor = processor_seconds();
    while calls == 0 || begin.elapsed().as_secs_f64() < 0.1 {
        let start = Instant::now();
        work();
        least = least.min(start.elapsed().as_secs_f64());
        calls += 1;
    }
    match (threads, on_processor, processor_seconds()) {
        (1, Some(before), Some(after)) => (after - before) / f64::from(calls),
        _ => least,
    }
}

/// Processor time of this thread, where the system tells it.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? * 1e-9)
}

fn samples(count: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut stream = Stream::new(0, "bench", &[]);
    let states = (0..count).map(|_| (0..2 * SAMPLES).map(|_| stream.uniform(0.5, 3.0)).collect()).collect();
    (states, (0..SAMPLES).map(|t| 0.5 * t as f64).collect())
}

fn weights(model: &Mlp, environments: usize) -> Vec<f64> {
    (0..environments as u64).flat_map(|e| model.initial_weights(&mut Stream::new(0, "weights", &[e]))).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
