//! What the times of a table are: their unit, how long trajectories last, and whether there are gaps in them.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::look::Look;
use super::rows::key;
use crate::units::Unit;

/// Seconds since 1970 at the beginnings of 1990 and 2100.
const PRESENT: [f64; 2] = [631_152_000.0, 4_102_444_800.0];
/// How often numbers count a second.
const EPOCHS: [(&str, f64); 4] = [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)];
/// Units that a dataset may count in, in seconds, and the durations that suit them.
const UNITS: [(&str, f64); 4] = [("s", 1.0), ("min", 60.0), ("h", 3600.0), ("d", 86_400.0)];
const SUITED: [f64; 2] = [1.0, 30.0];
/// A step that is so many times the median is a gap; others are regular up to the second.
const GAP: f64 = 20.0;
const REGULAR: f64 = 5.0;
/// Steps below which nothing is said of gaps, and times that a piece between gaps must have.
const FEWEST_STEPS: usize = 10;
const FEWEST_TIMES: usize = 3;

/// What is to be said of times.
pub(crate) struct Times {
    /// The unit of the dataset, and why.
    pub unit: String,
    pub why: &'static str,
    /// The unit of numbers that count from 1970, and the first of them as a date.
    pub epoch: Option<(&'static str, String)>,
    pub split: Option<Split>,
}

/// Where trajectories are to be cut.
pub(crate) struct Split {
    /// In the unit of the dataset, between the regular steps and the gaps.
    pub gap: f64,
    pub why: String,
    /// Whether steps are regular or gaps and nothing else, and enough stands between the gaps.
    pub is_sure: bool,
}

impl Times {
    /// Of the cells of `time` in `rows`, where cells of `ids` tell trajectories apart.
    pub fn of(time: Option<&Look>, ids: &[&Look], rows: &[usize]) -> Self {
        let unsaid = "not said in the file: correct it";
        let Some(time) = time else { return Times { unit: "s".to_owned(), why: unsaid, epoch: None, split: None } };
        let said = time.unit_of_time();
        let are_stamps = time.stamps > time.numbers;
        let epoch = if are_stamps || said.is_some() { None } else { epoch(time) };
        let per_second = epoch.map_or(1.0, |(_, per_second)| per_second);
        let all = if are_stamps { &time.seconds_of_rows } else { &time.numbers_of_rows };
        let mut tracks: BTreeMap<Vec<u64>, Vec<f64>> = BTreeMap::new();
        for &row in rows.iter().filter(|&&row| all[row].is_finite()) {
            tracks.entry(key(ids, row)).or_default().push(all[row] / per_second);
        }
        let tracks: Vec<Vec<f64>> = tracks
            .into_values()
            .map(|mut times| {
                times.sort_by(f64::total_cmp);
                times.dedup();
                times
            })
            .collect();
        let gaps = Gaps::of(&tracks);
        let bound = gaps.as_ref().filter(|gaps| gaps.is_sure).map_or(f64::INFINITY, |gaps| gaps.bound);
        let pieces = tracks.iter().flat_map(|times| pieces(times, bound));
        let lasting = pieces.map(|piece| piece[piece.len() - 1] - piece[0]).filter(|&duration| duration > 0.0);
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
                gaps.tracks,
                tracks.len(),
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
    /// Between the longest step that is none and the shortest gap.
    bound: f64,
    tracks: usize,
    is_sure: bool,
}

impl Gaps {
    /// Of increasing times of each trajectory.
    fn of(tracks: &[Vec<f64>]) -> Option<Self> {
        let steps = |times: &[f64]| times.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<f64>>();
        let median = median(tracks.iter().flat_map(|times| steps(times)).collect(), FEWEST_STEPS)?;
        let is_gap = |step: &f64| *step > GAP * median;
        let gapped = tracks.iter().filter(|times| steps(times).iter().any(&is_gap)).count();
        if 2 * gapped <= tracks.len() {
            return None;
        }
        let all = || tracks.iter().flat_map(|times| steps(times));
        let longest = all().filter(|step| !is_gap(step)).fold(median, f64::max);
        let shortest = all().filter(is_gap).fold(f64::INFINITY, f64::min);
        let bound = (longest * shortest).sqrt();
        let mut pieces = tracks.iter().flat_map(|times| pieces(times, bound));
        let is_sure = longest <= REGULAR * median && pieces.all(|piece| piece.len() >= FEWEST_TIMES);
        Some(Gaps { median, bound, tracks: gapped, is_sure })
    }
}

/// Times between which no step is longer than `bound`.
fn pieces(times: &[f64], bound: f64) -> impl Iterator<Item = &[f64]> {
    times.chunk_by(move |a, b| b - a <= bound)
}

/// The upper median, of `least` values at least.
fn median(mut values: Vec<f64>, least: usize) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    (values.len() >= least).then(|| values[values.len() / 2])
}

/// The unit that numbers are of, if all are times of the present counted from 1970; and how often it counts a second.
fn epoch(time: &Look) -> Option<(&'static str, f64)> {
    let numbers = || time.numbers_of_rows.iter().filter(|number| number.is_finite());
    EPOCHS.into_iter().find(|(_, per_second)| {
        numbers().count() > 1 && numbers().all(|number| (PRESENT[0]..PRESENT[1]).contains(&(number / per_second)))
    })
}

/// The unit in which a median of durations, in seconds, comes nearest to those that suit.
fn suited(durations: Vec<f64>) -> &'static str {
    let Some(median) = median(durations, 1) else { return "s" };
    let away = |seconds: f64| {
        let duration = median / seconds;
        (SUITED[0] / duration).max(duration / SUITED[1]).max(1.0)
    };
    UNITS.into_iter().min_by(|a, b| away(a.1).total_cmp(&away(b.1))).map_or("s", |unit| unit.0)
}

/// A number of two digits.
fn rounded(number: f64) -> f64 {
    format!("{number:.1e}").parse().unwrap_or(number)
}
