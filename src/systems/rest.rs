//! When a system has come to rest, before it starts.
//!
//! It is integrated over intervals that double, until one leaves it as it is but for [`STILL`], and over one more: what decays exponentially is then
//! left to the fourth power of that.

/// Change over an interval, relative to the value, below which a system is nearly at rest: more than errors of integration.
const STILL: f64 = 1e-3;
/// Values below this share of the greatest one count as zero.
const NOTHING: f64 = 1e-6;
/// Length of the first interval, in horizons of the system.
pub(crate) const FIRST: f64 = 8.0;
/// Intervals at most, each as long as all before.
pub(crate) const DOUBLINGS: usize = 40;

/// Whether values have hardly changed.
pub(crate) fn is_still(before: &[f64], after: &[f64]) -> bool {
    let greatest = after.iter().fold(0.0, |greatest: f64, value| greatest.max(value.abs()));
    let allowed = |value: f64| STILL * value.abs().max(NOTHING * greatest);
    before.iter().zip(after).all(|(before, after)| (after - before).abs() <= allowed(*after))
}

/// That a system does not come to rest, in words.
pub(crate) fn restless(time: f64) -> String {
    format!(
        "the system does not come to rest before its start: it still moves at t = {time:e}; remove `preequilibration`, or correct the equations"
    )
}
