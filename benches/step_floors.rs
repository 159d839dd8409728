//! Gauss-Newton steps of the benchmark's pipelines beside their floors: operations by count over the rate of a large product.
//!
//! ```text
//! cargo bench --bench step_floors
//! cargo bench --bench step_floors -- pipelines/gs-library.toml 3       one pipeline, 3 rounds
//! ```
//!
//! A step is on whole trajectories of the whole train split: residuals and Jacobian, the equations, one damped solution, and the
//! residuals at its end. It is computed as training does it, by the method of the fewest operations, which are the ones that training
//! itself counts (`src/train/method.rs`). The rate is that of a product of two 2048 x 2048 matrices in double precision in the same
//! rounds, on all cores. Weights are random and small: how long a step takes does not depend on their values.

use std::path::Path;
use std::time::Instant;

use faer::{Mat, Par};
use paramill::dataset::Dataset;
use paramill::engine::{Batch, Compute, DeviceChoice, Engine, EngineChoice, Precision, Segment, sum_of_squares};
use paramill::generate;
use paramill::progress::{Interrupt, Run, Silent};
use paramill::random::Stream;
use paramill::rules::{Rule, decode_all};
use paramill::schema::{Split, Trajectory};
use paramill::train::{self, Contexts, LinearModel, LocalModel, Method, NormalEquations, Rollouts, Sizes};

type Failure = Box<dyn std::error::Error>;

const COMPUTE: Compute = Compute { device: DeviceChoice::Cpu, engine: EngineChoice::Auto };
const PIPELINES: [&str; 4] = ["lv-grid", "go-library", "gs-library", "ns-library"];
/// Values of the rows whose Jacobian is held at once for the normal equations, as in training.
const VALUES: usize = 2048;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let rounds: usize = arguments.get(1).map_or(Ok(5), |count| count.parse())?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pipelines = match arguments.first() {
        Some(one) => vec![root.join(one)],
        None => PIPELINES.map(|name| root.join(format!("pipelines/{name}.toml"))).to_vec(),
    };
    println!("{} threads", rayon::current_num_threads());
    println!("| pipeline | method | GFLOP a step | step, s | product, GFLOP/s | floor, s | step over floor |");
    println!("|---|---|---:|---:|---:|---:|---:|");
    for pipeline in pipelines {
        println!("{}", line(&pipeline, rounds)?);
    }
    Ok(())
}

/// The line of a pipeline.
fn line(pipeline: &Path, rounds: usize) -> Result<String, Failure> {
    let document: toml::Table = std::fs::read_to_string(pipeline)?.parse()?;
    let section = |name: &str| document.get(name).cloned().ok_or(format!("{}: no [{name}]", pipeline.display()));
    let settings: train::Settings = section("train")?.try_into()?;
    let mut generate: generate::Settings = section("generate")?.try_into()?;
    generate.splits.retain(|split, _| *split == Split::Train);
    let place = tempfile::tempdir()?;
    let run = Run { observer: &Silent, interrupt: &Interrupt::new() };
    generate::run(&generate, 0, &place.path().join("dataset"), &run)?;
    let dataset = Dataset::open(&place.path().join("dataset"))?;

    let (manifest, trajectories) = (dataset.manifest(), dataset.read(Split::Train)?);
    let (state, d) = (manifest.state_shape(), manifest.parameters.len());
    let segment = |it: &Trajectory| (it.times.clone(), it.states.clone());
    let held: Vec<Vec<(Vec<f64>, Vec<f64>)>> = trajectories
        .chunk_by(|a, b| a.environment == b.environment)
        .map(|of_one| of_one.iter().map(segment).collect())
        .collect();
    let segments: Vec<Vec<Segment>> = held
        .iter()
        .map(|rows| rows.iter().map(|(times, states)| Segment { times, states, inputs: &[] }).collect())
        .collect();
    let batch = Batch::new(state.size(), &[], &segments, (0, 0));
    let model = settings.model.build(&state, 0);
    let rule = settings.rule.build(model.layout(), settings.shape(d));
    let (engine, _) = COMPUTE.engine(&settings.model, &state, 0, settings.solver, settings.substeps, Precision::F64)?;

    let library = settings.model.library(&state, 0);
    let rollouts = Rollouts::new(&settings, (&state, 0), batch.environments, batch.values(), batch.steps);
    let sizes = Sizes::new(rule.as_ref(), model.layout(), settings.contexts, rollouts);
    let method = sizes.method(&settings.gauss_newton);
    let counted = sizes.operations(&settings.gauss_newton).into_iter().find(|(it, _)| *it == method);
    let (_, counted) = counted.ok_or("a method that is not counted")?;

    let small = if library.is_some() { 1e-3 } else { 1.0 };
    let mut weights = model.initial_weights(&mut Stream::new(0, "weights", &[]));
    weights.iter_mut().for_each(|weight| *weight *= small);
    let mut trained = rule.initial_shared(weights, 0.1 * small, &mut Stream::new(0, "shared", &[]));
    trained.extend((0..batch.environments * d).map(|k| 0.1 * (k % 3) as f64));
    let of_step = Step { settings: &settings, method, rule: rule.as_ref(), engine: engine.as_ref(), batch: &batch };
    let matrix = Mat::<f64>::from_fn(2048, 2048, |i, j| ((i * 31 + j * 17) % 64) as f64 / 64.0);
    let (mut step, mut product) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..rounds {
        let start = Instant::now();
        of_step.make(&trained, model.layout().size())?;
        step = step.min(start.elapsed().as_secs_f64());
        for _ in 0..3 {
            let mut to = Mat::<f64>::zeros(2048, 2048);
            let start = Instant::now();
            faer::linalg::matmul::matmul(&mut to, faer::Accum::Replace, &matrix, &matrix, 1.0, Par::rayon(0));
            product = product.min(start.elapsed().as_secs_f64());
        }
    }
    let rate = 2.0 * 2048f64.powi(3) / product / 1e9;
    let floor = counted / rate;
    let name = pipeline.file_stem().unwrap_or_default().display();
    Ok(format!(
        "| `{name}` | {} | {counted:.2} | {step:.3} | {rate:.0} | {floor:.3} | {:.1} |",
        method.name(),
        step / floor
    ))
}

/// What a step is made of.
struct Step<'a> {
    settings: &'a train::Settings,
    method: Method,
    rule: &'a dyn Rule,
    engine: &'a dyn Engine,
    batch: &'a Batch,
}

impl Step<'_> {
    /// One step from `trained`, for a model of `size` weights.
    fn make(&self, trained: &[f64], size: usize) -> Result<(), Failure> {
        let Step { settings, rule, engine, batch, .. } = *self;
        let (newton, interrupt) = (&settings.gauss_newton, Interrupt::new());
        let weights = decode_all(rule, trained, batch.environments, size);
        let model: Box<dyn LocalModel> = match self.method {
            Method::Weights => {
                let moving = rule.moving_weights(size);
                let together = (VALUES / (batch.steps * batch.channels)).max(1);
                let parts = weights.chunks_exact(size).enumerate().flat_map(|(e, weights)| {
                    let moving = &moving;
                    (0..batch.rows).step_by(together).map(move |row| {
                        let part = batch.part(e..e + 1, row..batch.rows.min(row + together));
                        (e, engine.jacobian_of(moving, weights, &part))
                    })
                });
                let sizes = (batch.values(), size);
                Box::new(NormalEquations::new(rule, newton, Contexts::Learned, trained, sizes, parts, &interrupt))
            }
            Method::Residuals => {
                let jacobian = engine.jacobian(&weights, batch);
                Box::new(LinearModel::new(rule, newton, Contexts::Learned, trained, jacobian, &interrupt))
            }
            other => return Err(format!("no floor is known of the method {}", other.name()).into()),
        };
        let damping = newton.damping * model.mean_diagonal().max(1e-9);
        let step = model.step(damping, None).ok_or("no step")?;
        let moved = decode_all(rule, &step.trained, batch.environments, size);
        std::hint::black_box(sum_of_squares(&engine.predict(&moved, batch), batch));
        Ok(())
    }
}
