//! What every comparison with a peer says of the machine, and of its turns.

use std::path::{Path, PathBuf};
use std::process::Command;

pub type Failure = Box<dyn std::error::Error>;

/// The Python of the peers: `PEERS_PYTHON`, or that of `make bench`.
pub fn python() -> Result<PathBuf, Failure> {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join(".tools/peers/bin/python");
    let python = std::env::var_os("PEERS_PYTHON").map_or(made, PathBuf::from);
    if !python.exists() {
        return Err(format!("{}: not found; `make bench` makes it", python.display()).into());
    }
    Ok(python)
}

/// Runs a script of this directory and returns the number that it prints behind the word `median`.
pub fn peer_median(
    python: &Path,
    script: &str,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<f64, Failure> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers");
    let mut command = Command::new(python);
    command.current_dir(directory).args(["-B", script]).args(arguments).envs(variables.iter().copied());
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let words: Vec<&str> = text.split_whitespace().collect();
    let place = words.iter().position(|word| *word == "median").filter(|_| output.status.success());
    let Some(place) = place else {
        return Err(format!("{script}: {}", String::from_utf8_lossy(&output.stderr)).into());
    };
    Ok(words[place + 1].parse()?)
}

pub fn machine() -> String {
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        processors.lines().find_map(|line| Some(line.strip_prefix("model name")?.trim_start_matches([' ', '\t', ':'])));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!("machine: {}, {cores} cores, load {}", model.unwrap_or("unknown"), load())
}

pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * (sorted[middle - 1] + sorted[middle]) }
}

/// `median (min to max)`.
pub fn spread(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(0.0, f64::max);
    format!("{:.1} ({least:.1} to {greatest:.1})", median(values))
}
