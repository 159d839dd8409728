//! Copying a dataset: batch size and progress events.

use super::manifest::Manifest;
use crate::progress::{Event, Run};
use crate::schema::Split;

/// Most values (8 MiB) and most trajectories in memory at once; one trajectory may be larger.
const BATCH_VALUES: usize = 1 << 20;
const BATCH: usize = 64;

/// Number of trajectories to hold in memory at once.
pub(crate) fn batch_length(manifest: &Manifest) -> usize {
    let longest = manifest.splits.values().map(|summary| summary.longest).max().unwrap_or(0);
    (BATCH_VALUES / longest.saturating_mul(manifest.sample_size()).max(1)).clamp(1, BATCH)
}

/// Reports the number of trajectories copied.
pub(crate) struct CopyProgress<'a> {
    run: &'a Run<'a>,
    done: usize,
}

impl<'a> CopyProgress<'a> {
    pub(crate) fn begin(run: &'a Run<'a>, what: String, total: usize) -> Self {
        run.emit(Event::Begin { what, total: Some(total as u64), unit: "trajectories" });
        CopyProgress { run, done: 0 }
    }

    pub(crate) fn advance(&mut self, count: usize, split: Split) {
        self.done += count;
        self.run.emit(Event::Advance { done: self.done as u64, note: split.to_string() });
    }

    pub(crate) fn end(self) {
        self.run.emit(Event::End);
    }
}
