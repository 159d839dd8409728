//! Trajectories per second of `generate`, files and all, beside SciPy's `solve_ivp` under `multiprocessing` (Navier-Stokes: a batched
//! PyTorch loop), turn by turn.
//!
//! ```text
//! cargo bench --bench generation                                   five rounds
//! cargo bench --bench generation -- 3                              three
//! ```
//!
//! Both integrate the training environments by Dormand-Prince 8(5,3) to equal tolerances, or by equal steps, and on as many cores.
//! The peer keeps its trajectories in memory, and the start of its processes is not counted. PyTorch is timed over 3 x 200 of the 39,000
//! steps that a trajectory takes.

use std::path::Path;
use std::time::Instant;

use paramill::generate;
use paramill::progress::{Interrupt, Run, Silent};

mod machine;

use machine::{Failure, load, machine, median, peer_median, python, spread};

/// A system and how much of it is simulated.
struct Work {
    system: &'static str,
    environments: usize,
    /// Ours, of each environment.
    trajectories: usize,
    /// The peer's script and what it is called with, before the number of cores.
    peer: (&'static str, &'static [&'static str]),
}

const TOLERANCE: &str = "1e-9";
const WORK: [Work; 4] = [
    Work {
        system: "lotka-volterra",
        environments: 9,
        trajectories: 2000,
        peer: ("generation_scipy.py", &["lotka-volterra", "288", TOLERANCE]),
    },
    Work {
        system: "glycolytic-oscillator",
        environments: 9,
        trajectories: 2000,
        peer: ("generation_scipy.py", &["glycolytic-oscillator", "288", TOLERANCE]),
    },
    Work {
        system: "gray-scott",
        environments: 4,
        trajectories: 50,
        peer: ("generation_scipy.py", &["gray-scott", "16", TOLERANCE]),
    },
    Work { system: "navier-stokes", environments: 5, trajectories: 8, peer: ("generation_torch.py", &["20", "200"]) },
];
/// The peer's processes are its parallelism.
const ONE_THREAD: [(&str, &str); 2] = [("OMP_NUM_THREADS", "1"), ("OPENBLAS_NUM_THREADS", "1")];

fn main() -> Result<(), Failure> {
    let rounds = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let rounds: usize = rounds.map_or(Ok(5), |count| count.parse())?;
    let cores = std::thread::available_parallelism()?.to_string();
    let python = python()?;
    println!("{}", machine());

    let place = tempfile::tempdir()?;
    let (mut ours, mut peers) = (WORK.map(|_| Vec::new()), WORK.map(|_| Vec::new()));
    for round in 1..=rounds {
        println!("round {round} of {rounds}, load {}", load());
        for (index, work) in WORK.iter().enumerate() {
            ours[index].push(work.trajectories_per_second(&place.path().join(work.system))?);
            let (script, arguments) = work.peer;
            let arguments = [arguments, &[cores.as_str()]].concat();
            let environment: &[(&str, &str)] = if script.ends_with("torch.py") { &[] } else { &ONE_THREAD };
            peers[index].push(peer_median(&python, script, &arguments, environment)?);
        }
    }

    println!("\n| system | Paramill, trajectories/s | peer, trajectories/s | ratio: median (min to max) |");
    println!("|---|---:|---:|---:|");
    for ((work, ours), peers) in WORK.iter().zip(&ours).zip(&peers) {
        let ratios: Vec<f64> = ours.iter().zip(peers).map(|(ours, peer)| ours / peer).collect();
        println!("| {} | {:.4} | {:.4} | {} |", work.system, median(ours), median(peers), spread(&ratios));
    }
    println!("\n{rounds} rounds, turn by turn; load now {}", load());
    Ok(())
}

impl Work {
    /// From the settings to the dataset on disk.
    fn trajectories_per_second(&self, directory: &Path) -> Result<f64, Failure> {
        let tolerance = match self.system {
            "navier-stokes" => String::new(),
            _ => format!("rtol = {TOLERANCE}\natol = {TOLERANCE}\n"),
        };
        let settings: generate::Settings = toml::from_str(&format!(
            "dataset = \"bench\"\nsystem = \"{}\"\n{tolerance}[splits.train]\nenvironments = \"train\"\ntrajectories = {}\n",
            self.system, self.trajectories
        ))?;
        let run = Run { observer: &Silent, interrupt: &Interrupt::new() };
        let start = Instant::now();
        generate::run(&settings, 0, directory, &run)?;
        Ok((self.environments * self.trajectories) as f64 / start.elapsed().as_secs_f64())
    }
}
