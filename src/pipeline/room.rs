//! The room that a stage takes on the disk, by estimate, beside what is free there: what will not fit does not begin.
//!
//! In bytes, for `V` values (times, channels, inputs) of a dataset, `E` environments, `p` parameters, `C` channels, `N` samples and `m` trained values:
//!
//! ```text
//! generate:  8 V                            both copies, compressed (0.98 of it on Lotka-Volterra with 2000 samples a trajectory)
//! import:    the dataset of before
//! train:     3 * 32 m                       checkpoints, each with four of every value
//! estimate:  2 * 8 E (12 + 6 p + 3 C)       the table, and finished blocks; fitted trajectories: 8 N (1 + 2 C)
//! report:    the report of before
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use super::decide::product_path;
use super::error::Error;
use super::plan::{Plan, Source};
use super::stage::Stage;
use crate::dataset::{Dataset, Manifest, SplitSummary};
use crate::progress::{Event, Run};
use crate::{disk, generate, train};

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;
/// Checkpoints of a training that are on the disk at once, with the one that is being written.
const CHECKPOINTS: u64 = 3;

/// Checks that there is room for what `stage` will write, and for what `run.free_mib` leaves; `make_room` removes what may go, and says how much it
/// was.
///
/// # Errors
/// [`Error::NoRoom`] with both figures. A file system that does not tell refuses nothing.
pub(crate) fn require(
    plan: &Plan,
    stage: Stage,
    threads: usize,
    make_room: &dyn Fn() -> Result<usize, Error>,
    run: &Run<'_>,
) -> Result<(), Error> {
    let place = standing(&product_path(plan, stage));
    let needed = needed(plan, stage, threads).unwrap_or(0);
    let wanted = needed.saturating_add(u64::from(plan.run.free_mib).saturating_mul(MIB));
    let is_short = || disk::free(&place).is_ok_and(|free| free < wanted);
    if !is_short() {
        return Ok(());
    }
    let removed = make_room()?;
    if removed > 0 {
        run.emit(Event::Note(format!("the disk is nearly full: {removed} old versions were removed, as [run] allows")));
        if !is_short() {
            return Ok(());
        }
    }
    let free = disk::free(&place).unwrap_or(0);
    let (needed, kept) = (needed.div_ceil(MIB), plan.run.free_mib);
    Err(Error::NoRoom { stage, path: place, needed, kept, free: free / MIB })
}

/// Bytes that `stage` will write, where that can be told.
fn needed(plan: &Plan, stage: Stage, threads: usize) -> Option<u64> {
    let doubles = |count: u64| count.saturating_mul(size_of::<f64>() as u64);
    match (stage, &plan.source) {
        (Stage::Generate, Source::Generate(settings)) => {
            Some(doubles(generate::extent(settings, plan.seed, threads).ok()?.values))
        }
        (Stage::Import, _) => Some(bytes(&plan.dataset_directory)),
        (Stage::Train, _) => {
            let dataset = Dataset::open(&plan.dataset_directory).ok()?;
            let least = train::least_memory(plan.train.as_ref()?, dataset.manifest());
            Some(least.values.saturating_mul(CHECKPOINTS))
        }
        (Stage::Estimate, _) => {
            let dataset = Dataset::open(&plan.dataset_directory).ok()?;
            Some(doubles(of_estimates(plan, dataset.manifest())?))
        }
        (Stage::Report, _) => Some(bytes(&plan.report_directory())),
        _ => None,
    }
}

/// Values of the tables of estimates and of their blocks.
fn of_estimates(plan: &Plan, manifest: &Manifest) -> Option<u64> {
    let settings = plan.estimate.as_ref()?;
    let (parameters, channels) = (manifest.parameters.len() as u64, manifest.channels.len() as u64);
    let of_row = 12 + 6 * parameters + 3 * channels;
    let of_splits = settings.splits.iter().filter_map(|split| manifest.splits.get(split));
    let of_split = |summary: &SplitSummary| {
        let fitted = if settings.fitted { summary.samples as u64 * (1 + 2 * channels) } else { 0 };
        2 * of_row * summary.environments as u64 + fitted
    };
    Some(of_splits.map(of_split).sum())
}

/// The lowest folder above `path` that is there.
fn standing(path: &Path) -> PathBuf {
    let is_there = |folder: &&Path| !folder.as_os_str().is_empty() && folder.exists();
    path.ancestors().skip(1).find(is_there).unwrap_or(Path::new(".")).to_owned()
}

/// Bytes of a file, or of all files in a directory; links are not followed. Files that go away meanwhile count nothing.
pub(crate) fn bytes(path: &Path) -> u64 {
    match path.symlink_metadata() {
        Ok(it) if it.is_dir() => {
            fs::read_dir(path).into_iter().flatten().flatten().map(|entry| bytes(&entry.path())).sum()
        }
        Ok(it) if it.is_file() => it.len(),
        _ => 0,
    }
}
