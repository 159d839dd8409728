//! The memory that a stage takes at least, beside what it may: that of `[run]`, or all that the machine or its control group grants.
//!
//! In bytes, for `V` values (times, channels, inputs) that are made or read, `B` of them in a block, `S = min(V, 2^21)` in a shard of a dataset:
//!
//! ```text
//! generate:  8 (2 B + S)     blocks that are simulated and written, and the shard that they join; 8 (B + S) on one thread
//! import:    splits itself: rows beyond a part of what it may take wait in a temporary file
//! train:     see `train::memory`
//! estimate:  8 * 2 B         a block that is estimated, and the next one that is read; 8 B on one thread
//! report:    no bound but its own: at most 10,000 rows of a split, and fits of a million samples
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::plan::Plan;
use super::stage::Stage;
use crate::dataset::Manifest;
use crate::estimate::stream::values_together;
use crate::generate::Extent;
use crate::import;
use crate::schema::Split;
use crate::train::LeastMemory;

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;
/// An import takes this part of its memory for rows: others are for ids, the file that is read, and the shard that is written.
const PART_OF_IMPORT: u64 = 4;

/// Bytes that a stage may take, and who says so; `None` where nobody does.
fn allowed(plan: &Plan) -> Option<(u64, &'static str)> {
    match plan.run.memory_mib {
        Some(mib) => Some((u64::from(mib).saturating_mul(MIB), "as run.memory_mib says")),
        None => granted(Path::new("/")),
    }
}

/// Bytes of rows that an import keeps in memory: a part of what it may take.
pub(crate) fn of_import(plan: &Plan) -> u64 {
    let part = allowed(plan).map_or(u64::MAX, |(most, _)| most / PART_OF_IMPORT);
    part.min(import::ROWS_IN_MEMORY)
}

/// Checks that a simulation may take what it takes at least.
///
/// # Errors
/// [`Error::Memory`] if it may not.
pub(crate) fn require_for_generating(plan: &Plan, extent: Extent) -> Result<(), Error> {
    let (blocks, shard) = (bytes_of(extent.blocks), bytes_of(extent.shard));
    let remedy = "take fewer threads, each of which simulates a trajectory, or sample less often (generate.time_step)";
    require(plan, Stage::Generate, &[("trajectories", blocks), ("a shard of the dataset", shard)], remedy)
}

/// Checks that the estimates of a dataset may take what they take at least, on so many threads.
///
/// # Errors
/// [`Error::Memory`] if they may not.
pub(crate) fn require_for_estimating(plan: &Plan, manifest: &Manifest, threads: usize) -> Result<(), Error> {
    let splits = plan.estimate.iter().flat_map(|settings| &settings.splits);
    let of_split = |split: &Split| {
        let summary = manifest.splits.get(split)?;
        let values = (summary.samples as u64).saturating_mul(1 + manifest.sample_size() as u64);
        Some(values_together(values, summary.environments as u64, threads))
    };
    let most = splits.filter_map(of_split).max().unwrap_or(0);
    let remedy = "take one thread, which reads no block ahead, or give each environment fewer samples";
    require(plan, Stage::Estimate, &[("trajectories of environments", bytes_of(most))], remedy)
}

fn bytes_of(values: u64) -> u64 {
    values.saturating_mul(size_of::<f64>() as u64)
}

/// Checks that a training may take what it takes at least.
///
/// # Errors
/// [`Error::Memory`] if it may not.
pub(crate) fn require_for_training(plan: &Plan, least: LeastMemory) -> Result<(), Error> {
    let remedy = match least.data.max(least.values).max(least.step) {
        most if most == least.data => "lower train.memory_budget_mib: what is beyond it is read from the disk",
        most if most == least.values => "train a smaller model, or adapt fewer of its layers",
        _ => {
            "set train.gauss_newton.method = \"conjugate-gradients\", which takes no matrix, or lower \
             train.gauss_newton.trajectories_per_environment"
        }
    };
    let parts = [("data", least.data), ("trained values", least.values), ("a Gauss-Newton step", least.step)];
    require(plan, Stage::Train, &parts, remedy)
}

/// Checks that `stage` may take all of these `parts`.
fn require(plan: &Plan, stage: Stage, parts: &[(&str, u64)], remedy: &'static str) -> Result<(), Error> {
    let least = parts.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let Some((most, of)) = allowed(plan).filter(|(most, _)| least > *most) else { return Ok(()) };
    let mib = |bytes: u64| bytes.div_ceil(MIB);
    let parts: Vec<String> = parts.iter().map(|(what, bytes)| format!("{what} {}", mib(*bytes))).collect();
    let found = format!("at least {} MiB of memory ({})", mib(least), parts.join(", "));
    Err(Error::Memory { stage, found, most: format!("{} MiB, {of}", most / MIB), remedy })
}

/// The memory of the machine, or that of this process's control group if it is less, and which of the two; `None` where the system tells
/// neither. `root` is the root of the file system.
fn granted(root: &Path) -> Option<(u64, &'static str)> {
    let of_machine = fs::read_to_string(root.join("proc/meminfo")).ok().and_then(|text| {
        let kib = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB"))?;
        Some((kib.trim().parse::<u64>().ok()?.saturating_mul(1024), "which is all that this machine has"))
    });
    let of_group = groups(root).into_iter().filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok()).min();
    let of_group = of_group.map(|bytes| (bytes, "which is the limit of this process's control group"));
    of_machine.into_iter().chain(of_group).min_by_key(|(bytes, _)| *bytes)
}

/// The files with the limits of the control groups that this process is in, of either version.
fn groups(root: &Path) -> Vec<PathBuf> {
    let all = root.join("sys/fs/cgroup");
    let mut files = vec![all.join("memory/memory.limit_in_bytes")];
    let text = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    if let Some(group) = text.lines().find_map(|line| line.strip_prefix("0::/")) {
        // Each group's limit holds for those below it.
        files.extend(Path::new(group).ancestors().map(|group| all.join(group).join("memory.max")));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_machine_and_groups_holds() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(granted(root.path()), None);
        put("proc/meminfo", "MemTotal:       2048 kB\nMemFree:        1024 kB\n");
        assert_eq!(granted(root.path()).unwrap(), (2 << 20, "which is all that this machine has"));
        put("proc/self/cgroup", "0::/slurm/job_7/step_0\n");
        put("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
        assert_eq!(granted(root.path()).unwrap().0, 2 << 20);
        put("sys/fs/cgroup/slurm/job_7/memory.max", "1048576\n");
        assert_eq!(granted(root.path()).unwrap(), (1 << 20, "which is the limit of this process's control group"));
    }
}
