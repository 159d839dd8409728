//! Paramill beside what its users run today, turn by turn on one machine: a table of ratios.
//!
//! ```text
//! make bench                                                      all of it
//! cargo bench --bench peers -- pipelines/lv-demo.toml 3           another pipeline, 3 rounds
//! ```
//!
//! `PEERS_PYTHON` names another Python than `.tools/peers/bin/python`.
//!
//! Training: one CoDA-l1 step on Lotka-Volterra (9 environments, 4 trajectories of 20 points, perceptron 2-64-64-64-2, RK4):
//! decoding, loss, gradient, penalties, clipping and Adam, and on our side the making of the batch. Peers: PyTorch with
//! torchdiffeq, and compiled JAX. Estimation: the grid split of the pipeline, from reading the dataset to the rows on disk.
//! Peer: SciPy's least squares with the true equations on one core; beside it also our own with the true equations, both at
//! a tolerance of 1e-8. The scripts of the peers lie beside this file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

mod machine;

use paramill::checkpoint::StoredModel;
use paramill::dataset::Dataset;
use paramill::engine::{Batch, Compute, DeviceChoice, EngineChoice, Precision, Segment};
use paramill::estimate;
use paramill::progress::{Interrupt, Run, Silent};
use paramill::random::Stream;
use paramill::schema::{Split, StateShape, Trajectory};
use paramill::train::{self, Descent, Moving};

use machine::{Failure, load, machine, median, peer_median, python, spread};

/// Steps and environments that a peer times in one turn; it prints their median.
const PEER_STEPS: &str = "50";
const PEER_ENVIRONMENTS: &str = "20";
/// Our steps in one turn.
const STEPS: usize = 200;
const COMPUTE: Compute = Compute { device: DeviceChoice::Cpu, engine: EngineChoice::Auto };

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pipeline = root.join(arguments.first().map_or("pipelines/lv-grid.toml", String::as_str));
    let rounds: usize = arguments.get(1).map_or(Ok(5), |count| count.parse())?;
    let python = python()?;
    println!("{}", machine());

    let place = tempfile::tempdir()?;
    let (dataset, model) = whole_pipeline(&pipeline, place.path())?;
    let training = dataset.read(Split::Train)?;
    let mut step = Step::new(&training, model.manifest.channels.len())?;

    let mut lines = [
        Line::new("training step", "PyTorch", "lv_torch.py", PEER_STEPS),
        Line::new("training step", "JAX", "lv_jax.py", PEER_STEPS),
        Line::new("estimate, per environment", "SciPy, one core", "lv_scipy.py", PEER_ENVIRONMENTS),
        Line::new("estimate by the equations, per environment", "SciPy, one core", "lv_scipy.py", PEER_ENVIRONMENTS),
    ];
    for round in 1..=rounds {
        println!("round {round} of {rounds}, load {}", load());
        for (line, ours) in lines.iter_mut().zip([Ours::Step, Ours::Step, Ours::Estimate, Ours::Physics]) {
            line.ours.push(match ours {
                Ours::Step => step.milliseconds()?,
                Ours::Estimate => estimate_milliseconds(&dataset, Some(&model), &place.path().join("estimates"))?,
                Ours::Physics => estimate_milliseconds(&dataset, None, &place.path().join("physics"))?,
            });
            line.peers.push(line.peer_milliseconds(&python)?);
        }
    }

    println!("\n| work | Paramill, ms | peer | peer, ms | ratio: median (min to max) |\n|---|---:|---|---:|---:|");
    for line in &lines {
        let ratios: Vec<f64> = line.peers.iter().zip(&line.ours).map(|(peer, ours)| peer / ours).collect();
        println!(
            "| {} | {:.3} | {} | {:.2} | {} |",
            line.work,
            median(&line.ours),
            line.peer,
            median(&line.peers),
            spread(&ratios)
        );
    }
    println!("\n{rounds} rounds, turn by turn; load now {}", load());
    Ok(())
}

#[derive(Clone, Copy)]
enum Ours {
    Step,
    Estimate,
    Physics,
}

/// One line of the table.
struct Line {
    work: &'static str,
    peer: &'static str,
    script: &'static str,
    count: &'static str,
    ours: Vec<f64>,
    peers: Vec<f64>,
}

impl Line {
    fn new(work: &'static str, peer: &'static str, script: &'static str, count: &'static str) -> Self {
        Line { work, peer, script, count, ours: Vec::new(), peers: Vec::new() }
    }

    fn peer_milliseconds(&self, python: &Path) -> Result<f64, Failure> {
        let one_core: &[_] = &[("OMP_NUM_THREADS", "1"), ("OPENBLAS_NUM_THREADS", "1")];
        let variables = if self.script == "lv_scipy.py" { one_core } else { &[] };
        peer_median(python, self.script, &[self.count], variables)
    }
}

/// Runs the whole pipeline from nothing, and says how long its stages took.
fn whole_pipeline(pipeline: &Path, place: &Path) -> Result<(Dataset, StoredModel), Failure> {
    println!("running {} from nothing", pipeline.display());
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_paramill"));
    command.arg("run").arg(pipeline).args(["--device", "cpu", "--workspace", "run"]).current_dir(place);
    let output = command.output()?;
    if !output.status.success() && output.status.code() != Some(4) {
        return Err(format!("{}: {}", pipeline.display(), String::from_utf8_lossy(&output.stderr)).into());
    }
    println!("whole pipeline: {:.1} s", start.elapsed().as_secs_f64());
    Ok((
        Dataset::open(&only_entry(&place.join("datasets"))?)?,
        StoredModel::read(&only_entry(&place.join("run/models"))?)?,
    ))
}

fn only_entry(directory: &Path) -> Result<PathBuf, Failure> {
    let entries = std::fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
    let mut visible = entries.iter().filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    Ok(visible.next().ok_or("nothing was made")?.path())
}

/// A training step on whole trajectories, as the peers make it.
struct Step<'a> {
    settings: train::Settings,
    environments: Vec<Vec<Segment<'a>>>,
    channels: usize,
    trained: Vec<f64>,
    moments: [Vec<f64>; 2],
    steps: u64,
}

impl<'a> Step<'a> {
    fn new(training: &'a [Trajectory], channels: usize) -> Result<Self, Failure> {
        let segment = |it: &'a Trajectory| Segment { times: &it.times, states: &it.states, inputs: &[] };
        let environments: Vec<Vec<Segment>> = training
            .chunk_by(|a, b| a.environment == b.environment)
            .map(|of_one| of_one.iter().map(segment).collect())
            .collect();
        let settings = train::Settings::default();
        let (model, d) = (settings.model.build(&StateShape::new(channels, None), 0), 2);
        let rule = settings.rule.build(model.layout(), settings.shape(d));
        let weights = model.initial_weights(&mut Stream::new(0, "initial-weights", &[]));
        let mut trained = rule.initial_shared(weights, 0.1, &mut Stream::new(0, "initial-shared", &[]));
        trained.resize(trained.len() + environments.len() * d, 0.0);
        let moments = [vec![0.0; trained.len()], vec![0.0; trained.len()]];
        Ok(Step { settings, environments, channels, trained, moments, steps: 0 })
    }

    /// Median of a turn.
    fn milliseconds(&mut self) -> Result<f64, Failure> {
        let settings = &self.settings;
        let state = StateShape::new(self.channels, None);
        let model = settings.model.build(&state, 0);
        let rule = settings.rule.build(model.layout(), settings.shape(2));
        let weights = model.layout().size();
        let (engine, _) =
            COMPUTE.engine(&settings.model, &state, 0, settings.solver, settings.substeps, Precision::F32)?;
        let environments = self.environments.len();
        let descent =
            Descent { settings, seed: 0, engine: engine.as_ref(), rule: rule.as_ref(), weights, environments };
        let mut times = Vec::with_capacity(STEPS);
        for _ in 0..STEPS {
            let start = Instant::now();
            let batch = Batch::new(self.channels, &[], &self.environments, (0, 0));
            let [first_moment, second_moment] = &mut self.moments;
            self.steps += 1;
            descent
                .step(
                    &batch,
                    settings.learning_rate,
                    self.steps,
                    Moving { trained: &mut self.trained, first_moment, second_moment },
                )
                .ok_or("the loss is not finite")?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        Ok(median(&times))
    }
}

/// By the model, or by the equations that the dataset was simulated with.
fn estimate_milliseconds(dataset: &Dataset, model: Option<&StoredModel>, directory: &Path) -> Result<f64, Failure> {
    let settings = estimate::Settings { splits: vec![Split::Grid], ..estimate::Settings::default() };
    let run = Run { observer: &Silent, interrupt: &Interrupt::new() };
    let start = Instant::now();
    let dataset = Dataset::open(dataset.directory())?;
    let outcome = match model {
        Some(model) => estimate::run(&settings, COMPUTE, &dataset, model, directory, &run)?,
        None => estimate::physics::run(&settings, &dataset, directory, &run)?,
    };
    Ok(start.elapsed().as_secs_f64() * 1e3 / outcome.manifest.evaluation.environments as f64)
}
