//! Reads the environments of a split in blocks of bounded size, on a thread of its own while others compute.

use std::ops::Range;
use std::sync::mpsc::sync_channel;

use super::error::Error;
use crate::dataset::{Dataset, IndexEntry};
use crate::schema::{Split, Trajectory};

/// Environments in a block at most.
pub(crate) const BLOCK: usize = 1024;
/// Values after which a block ends before that (16 MiB).
const BLOCK_VALUES: usize = 1 << 21;

/// One environment and all its trajectories in the split.
#[derive(Clone)]
pub(crate) struct Observed {
    pub id: String,
    /// True parameters `[d_p]` where they are known.
    pub parameters: Vec<Option<f64>>,
    pub trajectories: Vec<Trajectory>,
}

/// Values that are in memory at once, where a split has so many `values` in so many `environments` of about one size: those of a block, and with
/// more than one thread those of the next.
pub(crate) fn values_together(values: u64, environments: u64, threads: usize) -> u64 {
    let of_block = values / environments.max(1) * BLOCK as u64;
    let block = of_block.min(BLOCK_VALUES as u64).max(values / environments.max(1)).min(values);
    if threads > 1 { values.min(2 * block) } else { block }
}

/// The rows of a split, all of them.
pub(crate) fn all_rows(dataset: &Dataset, split: Split) -> Range<usize> {
    0..dataset.manifest().splits.get(&split).map_or(0, |summary| summary.trajectories)
}

/// Calls `work` with each block of these rows in stored order. With more than one thread the next block is read meanwhile.
///
/// # Errors
/// The first error of reading or of `work`.
pub(crate) fn for_each_block(
    dataset: &Dataset,
    split: Split,
    rows: Range<usize>,
    mut work: impl FnMut(Vec<Observed>) -> Result<(), Error>,
) -> Result<(), Error> {
    if rayon::current_num_threads() == 1 {
        // `--threads 1` means one thread.
        let mut done = Ok(());
        read(dataset, split, rows, |block| {
            done = block.and_then(&mut work);
            done.is_ok()
        });
        return done;
    }
    std::thread::scope(|scope| {
        // The channel holds nothing: one block is worked on while one is being read.
        let (sender, receiver) = sync_channel(0);
        scope.spawn(move || read(dataset, split, rows, |block| sender.send(block).is_ok()));
        for block in receiver {
            work(block?)?;
        }
        Ok(())
    })
}

/// Sends the blocks of a split, up to the first error, until `send` returns false.
fn read(
    dataset: &Dataset,
    split: Split,
    rows: Range<usize>,
    mut send: impl FnMut(Result<Vec<Observed>, Error>) -> bool,
) {
    let batches = match dataset.stream_rows(split, rows) {
        Ok(batches) => batches,
        Err(error) => {
            send(Err(error.into()));
            return;
        }
    };
    let mut block: Vec<Observed> = Vec::new();
    let mut values = 0;
    for batch in batches {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => {
                send(Err(error.into()));
                return;
            }
        };
        for trajectory in batch {
            let is_known = block.last().is_some_and(|last| last.id == trajectory.environment);
            if !is_known && (block.len() == BLOCK || values >= BLOCK_VALUES) {
                values = 0;
                if !send(Ok(std::mem::take(&mut block))) {
                    return;
                }
            }
            values += trajectory.times.len() + trajectory.states.len() + trajectory.inputs.len();
            if !is_known {
                let (id, parameters) = (trajectory.environment.clone(), trajectory.parameters.clone());
                block.push(Observed { id, parameters, trajectories: Vec::new() });
            }
            if let Some(last) = block.last_mut() {
                last.trajectories.push(trajectory);
            }
        }
    }
    if !block.is_empty() {
        send(Ok(block));
    }
}

/// An environment and the rows of its trajectories in a split.
pub(crate) struct EnvironmentRows {
    pub(crate) id: String,
    pub(crate) rows: Vec<usize>,
}

/// The environments of a split, in stored order.
pub(crate) fn environments(index: &[IndexEntry]) -> Vec<EnvironmentRows> {
    let mut environments: Vec<EnvironmentRows> = Vec::new();
    for (row, entry) in index.iter().enumerate() {
        match environments.last_mut() {
            Some(last) if last.id == entry.environment => last.rows.push(row),
            _ => environments.push(EnvironmentRows { id: entry.environment.clone(), rows: vec![row] }),
        }
    }
    environments
}
