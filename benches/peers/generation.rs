//! Trajectories per second of `generate`, files and all, beside SciPy's `solve_ivp` under `multiprocessing`, turn by turn.
//!
//! ```text
//! cargo bench --bench generation                                   five rounds
//! cargo bench --bench generation -- 3                              three
//! ```
//!
//! Both integrate the training environments by Dormand-Prince 8(5,3) to 20 samples with equal tolerances and on as many cores.
//! The peer keeps its trajectories in memory, and the start of its processes is not counted.

use std::path::Path;
use std::time::Instant;

use paramill::generate;
use paramill::progress::{Interrupt, Run, Silent};

mod machine;

use machine::{Failure, load, machine, median, peer_median, python, spread};

const SYSTEMS: [&str; 2] = ["lotka-volterra", "glycolytic-oscillator"];
const TOLERANCE: &str = "1e-9";
const ENVIRONMENTS: usize = 9;
const TRAJECTORIES_PER_ENVIRONMENT: usize = 2000;
/// Trajectories that the peer integrates at a time; it prints the median of three.
const PEER_TRAJECTORIES: &str = "288";
/// The peer's processes are its parallelism.
const ONE_THREAD: [(&str, &str); 2] = [("OMP_NUM_THREADS", "1"), ("OPENBLAS_NUM_THREADS", "1")];

fn main() -> Result<(), Failure> {
    let rounds = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let rounds: usize = rounds.map_or(Ok(5), |count| count.parse())?;
    let cores = std::thread::available_parallelism()?.to_string();
    let python = python()?;
    println!("{}", machine());

    let place = tempfile::tempdir()?;
    let (mut ours, mut peers) = (SYSTEMS.map(|_| Vec::new()), SYSTEMS.map(|_| Vec::new()));
    for round in 1..=rounds {
        println!("round {round} of {rounds}, load {}", load());
        for (index, system) in SYSTEMS.into_iter().enumerate() {
            ours[index].push(trajectories_per_second(system, &place.path().join(system))?);
            let arguments = [system, PEER_TRAJECTORIES, TOLERANCE, &cores];
            peers[index].push(peer_median(&python, "generation_scipy.py", &arguments, &ONE_THREAD)?);
        }
    }

    println!("\n| system | Paramill, trajectories/s | SciPy, trajectories/s | ratio: median (min to max) |");
    println!("|---|---:|---:|---:|");
    for ((system, ours), peers) in SYSTEMS.iter().zip(&ours).zip(&peers) {
        let ratios: Vec<f64> = ours.iter().zip(peers).map(|(ours, peer)| ours / peer).collect();
        println!("| {system} | {:.0} | {:.0} | {} |", median(ours), median(peers), spread(&ratios));
    }
    println!("\n{rounds} rounds, turn by turn; load now {}", load());
    Ok(())
}

/// From the settings to the dataset on disk.
fn trajectories_per_second(system: &str, directory: &Path) -> Result<f64, Failure> {
    let settings: generate::Settings = toml::from_str(&format!(
        "dataset = \"bench\"\nsystem = \"{system}\"\nrtol = {TOLERANCE}\natol = {TOLERANCE}\n\
         [splits.train]\nenvironments = \"train\"\ntrajectories = {TRAJECTORIES_PER_ENVIRONMENT}\n"
    ))?;
    let run = Run { observer: &Silent, interrupt: &Interrupt::new() };
    let start = Instant::now();
    generate::run(&settings, 0, directory, &run)?;
    Ok((ENVIRONMENTS * TRAJECTORIES_PER_ENVIRONMENT) as f64 / start.elapsed().as_secs_f64())
}
