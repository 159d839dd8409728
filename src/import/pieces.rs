//! Rows of tracks to the trajectories of the dataset: in the order of time, cut at gaps, their ends cut off.

use std::collections::BTreeMap;
use std::ops::Range;

use sha2::{Digest, Sha256};

use super::clock::Clock;
use super::counts::Counts;
use super::files::SourceFile;
use super::problem::{Kind, Problem, Problems, shown};
use super::series::{Changes, Place, Rules, Series, gather};
use super::settings::Settings;
use super::splits::{LAST, end_share};
use super::store::{Store, unusable};

/// The samples of one track, in the units of the dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Samples {
    /// Increasing times `[T]`.
    pub times: Vec<f64>,
    /// States `[T, C]`, row-major; NaN where a cell is missing.
    pub states: Vec<f64>,
    /// Where each sample stands `[T]`.
    pub places: Vec<Place>,
}

/// A trajectory of the dataset: some samples of a track. What they are is read again when it is written.
pub(super) struct Piece {
    pub track: usize,
    pub samples: Range<usize>,
    /// Where its first sample stands.
    pub first: Option<Place>,
    /// SHA-256 of its times and states.
    pub digest: [u8; 32],
}

/// By environment, then by trajectory.
pub(super) type Pieces = BTreeMap<String, BTreeMap<String, Piece>>;

/// What tracks are read with.
pub(super) struct Tracks<'a> {
    pub settings: &'a Settings,
    pub files: &'a [SourceFile],
    pub clock: &'a Clock,
}

impl Samples {
    fn channels(&self) -> usize {
        self.states.len().checked_div(self.times.len()).unwrap_or(0)
    }

    /// Times and states of some of the samples.
    pub fn part(&self, samples: Range<usize>) -> (&[f64], &[f64]) {
        let channels = self.channels();
        (&self.times[samples.clone()], &self.states[samples.start * channels..samples.end * channels])
    }
}

impl Piece {
    fn of(track: usize, all: &Samples, samples: Range<usize>) -> Self {
        let (times, states) = all.part(samples.clone());
        let mut digest = Sha256::new();
        for number in times.iter().chain(states) {
            digest.update(number.to_le_bytes());
        }
        Piece { track, first: all.places.get(samples.start).copied(), samples, digest: digest.finalize().into() }
    }
}

impl Tracks<'_> {
    /// Orders and joins the samples of one track; `whose` names it in problems.
    pub fn gather(&self, rows: Vec<Series>, whose: &str, problems: &mut Problems) -> (Samples, Changes) {
        let channels: Vec<&str> = self.settings.states().map(|(_, channel)| channel.name.as_str()).collect();
        let (disorder, duplicates) = (self.settings.table.disorder, self.settings.table.duplicates);
        let rules = Rules { disorder, duplicates, whose, channels: &channels, clock: self.clock, files: self.files };
        let (series, changes) = gather(rows, &rules, &mut |problem| problems.push(problem));
        (timed(series, &rules, problems), changes)
    }

    /// Makes the trajectories. What follows from a row that was left out is not reported.
    pub fn pieces(&self, store: &mut Store, counts: &mut Counts, problems: &mut Problems) -> Pieces {
        let Tracks { settings, files, .. } = *self;
        let whole = !problems.has(&[Kind::RaggedRow, Kind::InvalidId, Kind::UnknownChannel, Kind::InvalidText]);
        let mut any_broken = !whole;
        let mut environments = Pieces::new();
        let mut order: Vec<usize> = (0..store.tracks.len()).collect();
        let ids = |i: usize| (&store.tracks[i].environment, &store.tracks[i].trajectory);
        order.sort_by(|&a, &b| ids(a).cmp(&ids(b)));
        for position in order {
            let rows = match store.rows(position) {
                Ok(rows) => rows,
                Err(error) => {
                    problems.push(unusable(&error));
                    break;
                }
            };
            let track = &store.tracks[position];
            let whose = format!("trajectory {} of environment {}", shown(&track.trajectory), shown(&track.environment));
            let (samples, changes) = self.gather(rows, &whose, problems);
            counts.add(&samples.states, changes);
            any_broken |= track.broken;
            let usable = whole && !track.broken;
            if usable {
                problems.extend(too_short(&samples, &whose, files));
            }
            let cuts = cut(&samples.times, settings.table.split_gap, counts);
            if let (true, true, Some(gap)) = (usable, cuts.is_empty(), settings.table.split_gap) {
                let found = format!("no two samples of {whose} within {gap}");
                let problem = Problem::new(Kind::ShortTrajectory, found, "at least two samples", "choose a longer gap");
                problems.push(problem.setting("import.table.split_gap"));
            }
            let count = cuts.len();
            let of_environment = environments.entry(track.environment.clone()).or_default();
            let share = end_share(&settings.splits, &track.environment);
            for (number, range) in (1..).zip(cuts) {
                let id = if count == 1 { track.trajectory.clone() } else { format!("{}.{number}", track.trajectory) };
                let end = share.map_or(0, |share| ((share * range.len() as f64).ceil() as usize).max(2));
                let at = if range.len() >= end + 2 { range.end - end } else { range.end };
                let end = (id.clone() + LAST, at..range.end);
                for (id, range) in
                    [(id, range.start..at)].into_iter().chain([end].into_iter().filter(|end| !end.1.is_empty()))
                {
                    let piece = Piece::of(position, &samples, range);
                    if of_environment.insert(id.clone(), piece).is_some() {
                        let found = format!("trajectory {} a second time: a piece of {whose} has its id", shown(&id));
                        let problem =
                            Problem::new(Kind::InvalidId, found, "each id once", "rename the other trajectory");
                        problems.push(problem.setting("import.table"));
                    }
                }
            }
        }
        for (position, (index, channel)) in settings.states().enumerate() {
            if counts.observed[position] == 0 && !any_broken {
                let found = format!("no value of channel {} in any row", shown(&channel.column));
                let expected = "an observed value at least once: a hidden state cannot be learned";
                let remedy = "leave the channel out, or correct `import.table.missing`";
                let problem = Problem::new(Kind::NeverObserved, found, expected, remedy);
                problems.push(problem.file(&files[0].path).setting(format!("import.channels[{index}].column")));
            }
        }
        environments
    }
}

/// The problem with a track of less than two samples.
fn too_short(samples: &Samples, whose: &str, files: &[SourceFile]) -> Option<Problem> {
    let found = match samples.times.len() {
        0 => format!("no sample of {whose}: every cell is missing"),
        1 => format!("a single sample of {whose}"),
        _ => return None,
    };
    let remedy = "remove it: it shows no motion";
    let problem = Problem::new(Kind::ShortTrajectory, found, "at least two samples", remedy);
    Some(match samples.places.first() {
        Some(place) => problem.file(&files[place.file()].path).line(place.line()),
        None => problem,
    })
}

/// The samples at times in the dataset's unit, which may be too coarse for them.
fn timed(series: Series, rules: &Rules<'_>, problems: &mut Problems) -> Samples {
    let Series { moments, states, places } = series;
    let times: Vec<f64> = moments.iter().map(|&moment| rules.clock.time(moment, moments[0])).collect();
    if let Some(t) = (1..times.len()).find(|&t| moments[t - 1] < moments[t] && times[t - 1] >= times[t]) {
        let [a, b] = [t - 1, t].map(|t| rules.clock.shown(moments[t]));
        let found = format!("times {a} and {b} of {}, which are the same number in the unit of time", rules.whose);
        let remedy = "set `import.table.origin = \"first\"`";
        let problem = Problem::new(Kind::DuplicateTime, found, "each time once in a trajectory", remedy);
        problems.push(rules.at(places[t], problem));
    }
    Samples { times, states, places }
}

/// The samples between which no two are further apart than `gap`; single ones are left out.
fn cut(times: &[f64], gap: Option<f64>, counts: &mut Counts) -> Vec<Range<usize>> {
    let Some(gap) = gap else { return std::iter::once(0..times.len()).collect() };
    let cuts: Vec<usize> = (1..times.len()).filter(|&t| times[t] - times[t - 1] > gap).collect();
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([times.len()]);
    let (pieces, single): (Vec<_>, Vec<_>) = starts.zip(ends).map(|(a, b)| a..b).partition(|piece| piece.len() >= 2);
    counts.cuts += cuts.len() as u64;
    counts.single += single.len() as u64;
    pieces
}
