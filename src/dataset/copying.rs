//! What copies of a dataset have in common: how many trajectories are in memory at once, and what is told of the progress.

use super::manifest::Manifest;
use crate::progress::{Event, Run};
use crate::schema::Split;

/// Values held in memory at once (8 MiB), but for at least one trajectory, and trajectories at most.
const BATCH_VALUES: usize = 1 << 20;
const BATCH: usize = 64;

/// Trajectories of a dataset to hold in memory at once.
pub(crate) fn batch_length(manifest: &Manifest) -> usize {
    let longest = manifest.splits.values().map(|summary| summary.longest).max().unwrap_or(0);
    (BATCH_VALUES / longest.saturating_mul(manifest.sample_size()).max(1)).clamp(1, BATCH)
}

/// Counts the trajectories that are copied.
pub(crate) struct Copying<'a> {
    run: &'a Run<'a>,
    done: usize,
}

impl<'a> Copying<'a> {
    pub fn begin(run: &'a Run<'a>, what: String, total: usize) -> Self {
        run.emit(Event::Begin { what, total: Some(total as u64), unit: "trajectories" });
        Copying { run, done: 0 }
    }

    pub fn advance(&mut self, count: usize, split: Split) {
        self.done += count;
        self.run.emit(Event::Advance { done: self.done as u64, note: split.to_string() });
    }

    pub fn end(self) {
        self.run.emit(Event::End);
    }
}
