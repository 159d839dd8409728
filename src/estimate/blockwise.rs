//! Estimates rows of a split block by block. What finished blocks hold is taken from them, and what is estimated is kept as further blocks, so
//! that whoever comes next goes on behind it: this process after a kill, or one that puts together what several machines have made.

use std::time::{Duration, Instant};

use super::error::Error;
use super::stream;
use super::stream::{BLOCK, Observed};
use super::table::estimated::Estimated;
use crate::blocks::{Part, Rows, Store};
use crate::dataset::Dataset;
use crate::progress::{Event, Run};
use crate::schema::Split;

/// Environments of the first block that is kept.
const FIRST: usize = 64;
/// A block that takes less is followed by one of twice as many environments, up to [`BLOCK`]; one that takes more by one of half as many.
/// Estimates do not depend on it.
const SHORT: Duration = Duration::from_secs(5);
const LONG: Duration = Duration::from_secs(20);

/// Hands the estimates of `rows` to `sink`, in stored order. The block that ends them is kept only if something `follows` before they are in their
/// place: else it would be written for the instant until the table is.
///
/// # Errors
/// Those of reading the dataset, of `estimate`, of keeping blocks, and of `sink`; and an interrupt, behind the last finished block.
pub(crate) fn for_each_estimated(
    dataset: &Dataset,
    rows: &Rows,
    (store, follows): (Option<&Store>, bool),
    run: &Run,
    estimate: &dyn Fn(Split, Vec<Observed>) -> Result<Vec<Estimated>, Error>,
    mut sink: impl FnMut(Vec<Estimated>) -> Result<(), Error>,
) -> Result<(), Error> {
    let split = rows.split;
    let not_interrupted = || run.interrupt.requested().map_or(Ok(()), |signal| Err(Error::Interrupted { signal }));
    let all = || vec![Part { rows: rows.clone(), is_finished: false }];
    let mut length = if store.is_some() { FIRST } else { BLOCK };
    for part in store.map_or_else(all, |store| store.parts(rows)) {
        if let Some(store) = store.filter(|_| part.is_finished) {
            not_interrupted()?;
            if let Some(estimated) = store.read(&part.rows) {
                sink(estimated)?;
                continue;
            }
            let path = store.path(&part.rows);
            let what = format!("{}: not as it was written; what it held is estimated again", path.display());
            run.emit(Event::Warn(what));
            store.discard(&part.rows);
        }
        let mut first = part.rows.first;
        stream::for_each_block(dataset, split, part.rows.range(), |mut waiting| {
            while !waiting.is_empty() {
                not_interrupted()?;
                let later = waiting.split_off(length.min(waiting.len()));
                let block = std::mem::replace(&mut waiting, later);
                let end = first + block.iter().map(|it| it.trajectories.len()).sum::<usize>();
                let begun = Instant::now();
                let estimated = estimate(split, block)?;
                // Rows of an interrupted block may be incomplete.
                not_interrupted()?;
                if let Some(store) = store.filter(|_| follows || end < rows.range().end) {
                    let rows = Rows::new(split, first..end);
                    let written = store.write(&rows, &estimated);
                    written.map_err(|source| Error::Io { path: store.path(&rows), source })?;
                    length = match begun.elapsed() {
                        took if took < SHORT => BLOCK.min(2 * length),
                        took if took > LONG => (length / 2).max(1),
                        _ => length,
                    };
                }
                first = end;
                sink(estimated)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}
