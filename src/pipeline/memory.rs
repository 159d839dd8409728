//! The memory that a stage may take: that of `[run]`, or all that the machine or its control group grants.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::Error;
use super::plan::Plan;
use crate::train::LeastMemory;

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// Checks that a training may take what it takes at least.
///
/// # Errors
/// [`Error::Memory`] if it may not.
pub(crate) fn require_for_training(plan: &Plan, least: LeastMemory) -> Result<(), Error> {
    let (most, of) = match plan.run.memory_mib {
        Some(mib) => (u64::from(mib).saturating_mul(MIB), "as run.memory_mib says"),
        None => match granted(Path::new("/")) {
            Some(granted) => granted,
            None => return Ok(()),
        },
    };
    if least.total() <= most {
        return Ok(());
    }
    let mib = |bytes: u64| bytes.div_ceil(MIB);
    let found = format!(
        "at least {} MiB of memory (data {}, trained values {}, a Gauss-Newton step {})",
        mib(least.total()),
        mib(least.data),
        mib(least.values),
        mib(least.step)
    );
    let remedy = match least.data.max(least.values).max(least.step) {
        most if most == least.data => "lower train.memory_budget_mib: what is beyond it is read from the disk",
        most if most == least.values => "train a smaller model, or adapt fewer of its layers",
        _ => {
            "set train.gauss_newton.method = \"conjugate-gradients\", which takes no matrix, or lower \
             train.gauss_newton.trajectories_per_environment"
        }
    };
    Err(Error::Memory { found, most: format!("{} MiB, {of}", most / MIB), remedy })
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
