//! Clocks that were set back an hour, and so showed an hour of local times twice.

use crate::import::tables::clock::Moment;

/// What to do where a clock was set back.
pub(crate) const SET_BACK: &str =
    "where the clock was set back an hour, write the times with their offsets from UTC (`+01:00`), or in UTC";

/// Nanoseconds.
pub(crate) const HOUR: i64 = 3_600_000_000_000;

/// Hours between two times at which clocks are set back, at least.
const SEASON: i64 = 2400;

/// The first, the last and the number of the times at which rows differ, if a clock that was set back explains them all: they fall into
/// stretches of less than an hour, no more of them than there were changes of the clock within `span`.
pub(crate) fn shown_twice(mut differing: Vec<Moment>, span: (Moment, Moment)) -> Option<(Moment, Moment, usize)> {
    differing.sort_unstable();
    differing.dedup();
    let (first, last) = (*differing.first()?, *differing.last()?);
    let stretches: Vec<&[Moment]> = differing.chunk_by(|earlier, later| later.after(*earlier) < HOUR).collect();
    let within_an_hour = stretches.iter().all(|stretch| stretch[stretch.len() - 1].after(stretch[0]) < HOUR);
    let most = 1 + span.1.after(span.0) / (SEASON * HOUR);
    (within_an_hour && stretches.len() as i64 <= most).then_some((first, last, differing.len()))
}
