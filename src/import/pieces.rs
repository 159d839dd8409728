//! Rows of tracks to the trajectories of the dataset: in the order of time, cut at gaps, their ends cut off.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::clock::Clock;
use super::counts::Counts;
use super::files::SourceFile;
use super::problem::{Kind, Problem, Problems, shown};
use super::series::{Changes, Place, Rules, Series, gather};
use super::settings::Settings;
use super::splits::{LAST, end_share};
use super::store::{Store, Track, unusable};

/// Numbers whose bytes are digested at a time.
const DIGESTED: usize = 1 << 10;

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
        let mut bytes = Vec::new();
        for numbers in times.chunks(DIGESTED).chain(states.chunks(DIGESTED)) {
            bytes.clear();
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            digest.update(&bytes);
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
    pub fn pieces(&self, store: &Store, counts: &mut Counts, problems: &mut Problems) -> Pieces {
        let Tracks { settings, files, .. } = *self;
        let whole = !problems.has(&[Kind::RaggedRow, Kind::InvalidId, Kind::UnknownChannel, Kind::InvalidText]);
        let any_broken = !whole || store.tracks.iter().any(|track| track.broken);
        let mut environments = Pieces::new();
        let mut order: Vec<usize> = (0..store.tracks.len()).collect();
        let ids = |i: usize| (&store.tracks[i].environment, &store.tracks[i].trajectory);
        order.sort_by(|&a, &b| ids(a).cmp(&ids(b)));
        let made: Vec<io::Result<Made>> = order.par_iter().map(|&track| self.made(store, track, whole)).collect();
        for (track, made) in order.into_iter().zip(made) {
            let made = match made {
                Ok(made) => made,
                Err(error) => {
                    problems.push(unusable(&error));
                    break;
                }
            };
            counts.add(&made.counts);
            problems.append(made.problems);
            let of_environment = environments.entry(store.tracks[track].environment.clone()).or_default();
            for (id, piece) in made.pieces {
                if of_environment.insert(id.clone(), piece).is_some() {
                    let whose = whose(&store.tracks[track]);
                    let found = format!("trajectory {} a second time: a piece of {whose} has its id", shown(&id));
                    let problem = Problem::new(Kind::InvalidId, found, "each id once", "rename the other trajectory");
                    problems.push(problem.setting("import.table"));
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

    /// Makes the trajectories of one track; `whole` says that no row of any was left out.
    fn made(&self, store: &Store, position: usize, whole: bool) -> io::Result<Made> {
        let Tracks { settings, files, .. } = *self;
        let (table, track) = (&settings.table, &store.tracks[position]);
        let whose = whose(track);
        let (mut problems, mut counts) = (Problems::default(), Counts::new(settings.states().count()));
        let (samples, changes) = self.gather(store.rows(position)?, &whose, &mut problems);
        counts.add_states(&samples.states, changes);
        let usable = whole && !track.broken;
        if usable {
            problems.extend(too_short(&samples, &whose, files));
        }
        let cuts = cut(&samples.times, table.split_gap, table.split_length, &mut counts);
        if usable && cuts.is_empty() {
            let within = table.split_gap.into_iter().chain(table.split_length).reduce(f64::min);
            let found = format!("no two samples of {whose} within {}", within.unwrap_or_default());
            let (key, remedy) = match table.split_gap {
                Some(_) => ("split_gap", "choose a longer gap"),
                None => ("split_length", "choose a longer length"),
            };
            let problem = Problem::new(Kind::ShortTrajectory, found, "at least two samples", remedy);
            problems.push(problem.setting(format!("import.table.{key}")));
        }
        let mut pieces = Vec::new();
        let count = cuts.len();
        let share = end_share(&settings.splits, &track.environment);
        for (number, range) in (1..).zip(cuts) {
            let id = if count == 1 { track.trajectory.clone() } else { format!("{}.{number}", track.trajectory) };
            let end = share.map_or(0, |share| ((share * range.len() as f64).ceil() as usize).max(2));
            let at = if range.len() >= end + 2 { range.end - end } else { range.end };
            let of_end = (at < range.end).then(|| (id.clone() + LAST, Piece::of(position, &samples, at..range.end)));
            pieces.push((id, Piece::of(position, &samples, range.start..at)));
            pieces.extend(of_end);
        }
        Ok(Made { pieces, counts, problems })
    }
}

/// What one track gives.
struct Made {
    /// By the ids of their trajectories.
    pieces: Vec<(String, Piece)>,
    counts: Counts,
    problems: Problems,
}

/// Names a track in problems.
fn whose(track: &Track) -> String {
    format!("trajectory {} of environment {}", shown(&track.trajectory), shown(&track.environment))
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
fn cut(times: &[f64], gap: Option<f64>, length: Option<f64>, counts: &mut Counts) -> Vec<Range<usize>> {
    let (gap, length) = match (gap, length) {
        (None, None) => return std::iter::once(0..times.len()).collect(),
        (gap, length) => (gap.unwrap_or(f64::INFINITY), length.unwrap_or(f64::INFINITY)),
    };
    let mut cuts = Vec::new();
    let mut start = 0;
    for t in 1..times.len() {
        if times[t] - times[t - 1] > gap || times[t] - times[start] > length {
            cuts.push(t);
            start = t;
        }
    }
    let starts = [0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([times.len()]);
    let (pieces, single): (Vec<_>, Vec<_>) = starts.zip(ends).map(|(a, b)| a..b).partition(|piece| piece.len() >= 2);
    counts.cuts += cuts.len() as u64;
    counts.single += single.len() as u64;
    pieces
}
