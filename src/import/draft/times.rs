//! The times of a table: their unit, how long trajectories last, and whether there are gaps in them.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::profile::Profile;
use super::rows::key;
use crate::units::Unit;

/// Seconds since 1970 at the beginnings of 1990 and 2100.
const PRESENT: [f64; 2] = [631_152_000.0, 4_102_444_800.0];
/// Units of times counted from 1970, and how many make a second.
const EPOCHS: [(&str, f64); 4] = [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)];
/// Units that a dataset may count in, in seconds; and between how many of them a trajectory should last.
const UNITS: [(&str, f64); 4] = [("s", 1.0), ("min", 60.0), ("h", 3600.0), ("d", 86_400.0)];
const SUITED: [f64; 2] = [1.0, 30.0];
/// A step longer than [`GAP`] medians is a gap; the others are regular if none is longer than [`REGULAR`] medians.
const GAP: f64 = 20.0;
const REGULAR: f64 = 5.0;
/// Fewest steps from which gaps are found, and fewest times of a segment between gaps.
const FEWEST_STEPS: usize = 10;
const FEWEST_TIMES: usize = 3;

/// What a mapping says of times.
pub(crate) struct Times {
    /// The dataset's unit of time, and why.
    pub unit: String,
    pub why: &'static str,
    /// The unit of numbers that count from 1970, and the first of them as a date.
    pub epoch: Option<(&'static str, String)>,
    pub split: Option<Split>,
}

/// Where trajectories are to be cut.
pub(crate) struct Split {
    /// In the dataset's unit of time, between the regular steps and the gaps.
    pub gap: f64,
    pub why: String,
    /// Whether every step is regular or a gap, and the segments between gaps are long enough.
    pub is_sure: bool,
}

impl Times {
    /// From the cells of `time` in `rows`, where the cells of `ids` tell trajectories apart.
    pub(super) fn of(time: Option<&Profile>, ids: &[&Profile], rows: &[usize]) -> Self {
        let unsaid = "not said in the file: correct it";
        let Some(time) = time else { return Times { unit: "s".to_owned(), why: unsaid, epoch: None, split: None } };
        let said = time.unit_of_time();
        let are_stamps = time.stamps > time.numbers;
        let epoch = if are_stamps || said.is_some() { None } else { epoch(time) };
        let per_second = epoch.map_or(1.0, |(_, per_second)| per_second);
        let all = if are_stamps { &time.seconds_of_rows } else { &time.numbers_of_rows };
        let mut records: BTreeMap<Vec<u64>, Vec<f64>> = BTreeMap::new();
        for &row in rows.iter().filter(|&&row| all[row].is_finite()) {
            records.entry(key(ids, row)).or_default().push(all[row] / per_second);
        }
        let records: Vec<Vec<f64>> = records
            .into_values()
            .map(|mut times| {
                times.sort_by(f64::total_cmp);
                times.dedup();
                times
            })
            .collect();
        let gaps = Gaps::find(&records);
        let bound = gaps.as_ref().filter(|gaps| gaps.is_sure).map_or(f64::INFINITY, |gaps| gaps.bound);
        let segments = records.iter().flat_map(|times| segments(times, bound));
        let lasting =
            segments.map(|segment| segment[segment.len() - 1] - segment[0]).filter(|&duration| duration > 0.0);
        let (unit, why) = match said {
            Some(said) => (said, "as in the header"),
            None if time.is_elapsed() => (
                suited(lasting.collect()),
                "elapsed times are converted to it; a unit near the system's own time scale trains best",
            ),
            None if are_stamps => (
                suited(lasting.collect()),
                "time stamps are converted to it; a unit near the system's own time scale trains best",
            ),
            None if epoch.is_some() => (
                suited(lasting.collect()),
                "times are converted to it; a unit near the system's own time scale trains best",
            ),
            None => ("s", unsaid),
        };
        let counted = if are_stamps || epoch.is_some() { "s" } else { unit };
        let conversion = Unit::parse(counted).and_then(|from| from.to(Unit::parse(unit)?));
        let split = gaps.zip(conversion).map(|(gaps, conversion)| Split {
            gap: rounded(conversion.apply(gaps.bound)),
            why: format!(
                "{} of {} trajectories have a gap of more than {GAP} median steps, of {:?} {counted}",
                gaps.records,
                records.len(),
                rounded(gaps.median)
            ),
            is_sure: gaps.is_sure,
        });
        let date = |per_second: f64| {
            let first = time.numbers_of_rows.iter().find(|number| number.is_finite()).map(|first| first / per_second);
            first.and_then(|first| Timestamp::from_second(first as i64).ok()).map(|first| first.to_string())
        };
        let epoch = epoch.and_then(|(unit, per_second)| Some((unit, date(per_second)?)));
        Times { unit: unit.to_owned(), why, epoch, split }
    }
}

/// Gaps in most of several trajectories.
struct Gaps {
    median: f64,
    /// Between the longest step that is no gap and the shortest gap.
    bound: f64,
    /// Trajectories with a gap.
    records: usize,
    is_sure: bool,
}

impl Gaps {
    /// Finds gaps in the increasing times of each trajectory; `None` unless most trajectories have one.
    fn find(records: &[Vec<f64>]) -> Option<Self> {
        let steps = |times: &[f64]| times.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<f64>>();
        let median = median(records.iter().flat_map(|times| steps(times)).collect(), FEWEST_STEPS)?;
        let is_gap = |step: &f64| *step > GAP * median;
        let gapped = records.iter().filter(|times| steps(times).iter().any(&is_gap)).count();
        if 2 * gapped <= records.len() {
            return None;
        }
        let all = || records.iter().flat_map(|times| steps(times));
        let longest = all().filter(|step| !is_gap(step)).fold(median, f64::max);
        let shortest = all().filter(is_gap).fold(f64::INFINITY, f64::min);
        let bound = (longest * shortest).sqrt();
        let mut segments = records.iter().flat_map(|times| segments(times, bound));
        let is_sure = longest <= REGULAR * median && segments.all(|segment| segment.len() >= FEWEST_TIMES);
        Some(Gaps { median, bound, records: gapped, is_sure })
    }
}

/// The runs of times in which no step is longer than `bound`.
fn segments(times: &[f64], bound: f64) -> impl Iterator<Item = &[f64]> {
    times.chunk_by(move |a, b| b - a <= bound)
}

/// The upper median; `None` of fewer than `least` values.
fn median(mut values: Vec<f64>, least: usize) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    (values.len() >= least).then(|| values[values.len() / 2])
}

/// The unit in which all numbers are times between 1990 and 2100 counted from 1970, and how many of it make a second.
fn epoch(time: &Profile) -> Option<(&'static str, f64)> {
    let numbers = || time.numbers_of_rows.iter().filter(|number| number.is_finite());
    EPOCHS.into_iter().find(|(_, per_second)| {
        numbers().count() > 1 && numbers().all(|number| (PRESENT[0]..PRESENT[1]).contains(&(number / per_second)))
    })
}

/// The unit in which the median of `durations`, in seconds, is nearest to the range [`SUITED`].
fn suited(durations: Vec<f64>) -> &'static str {
    let Some(median) = median(durations, 1) else { return "s" };
    let away = |seconds: f64| {
        let duration = median / seconds;
        (SUITED[0] / duration).max(duration / SUITED[1]).max(1.0)
    };
    UNITS.into_iter().min_by(|a, b| away(a.1).total_cmp(&away(b.1))).map_or("s", |unit| unit.0)
}

/// Rounded to two significant digits.
fn rounded(number: f64) -> f64 {
    format!("{number:.1e}").parse().unwrap_or(number)
}
