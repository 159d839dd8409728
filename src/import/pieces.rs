//! Rows of tracks to the trajectories of the dataset: in the order of time, cut at gaps, their ends cut off.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::clock::{Clock, Moment};
use super::counts::Counts;
use super::events::{Events, idle, signals};
use super::files::SourceFile;
use super::inputs::drive;
use super::problem::{Kind, Problem, Problems, shown};
use super::series::{Place, Rules, Series, gather};
use super::settings::Settings;
use super::splits::{LAST, end_share};
use super::store::{Store, Track, unusable};
use crate::schema::{compared, start_of};

/// Numbers whose bytes are digested at a time.
const DIGESTED: usize = 1 << 10;

/// The samples of one track, in the units of the dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Samples {
    /// Increasing times `[T]`.
    pub times: Vec<f64>,
    /// States `[T, C]`, row-major; NaN where a cell is missing.
    pub states: Vec<f64>,
    /// Inputs `[T, U]`, row-major.
    pub inputs: Vec<f64>,
    /// Where each sample stands `[T]`.
    pub places: Vec<Place>,
}

/// A trajectory of the dataset: some samples of a track. What they are is read again when it is written.
pub(super) struct Piece {
    pub track: usize,
    pub samples: Range<usize>,
    /// Where its first sample stands.
    pub first: Option<Place>,
    /// SHA-256 of its times, states and inputs.
    pub digest: [u8; 32],
    /// Whether it has a complete sample that another follows, which a rollout starts from.
    pub has_start: bool,
    /// Observed values behind that sample, which a rollout is compared with.
    pub compared: usize,
}

/// By environment, then by trajectory.
pub(super) type Pieces = BTreeMap<String, BTreeMap<String, Piece>>;

/// What tracks are read with.
pub(super) struct Tracks<'a> {
    pub settings: &'a Settings,
    pub files: &'a [SourceFile],
    pub clock: &'a Clock,
    pub events: &'a Events,
}

impl Samples {
    /// Times, states and inputs of some of the samples.
    fn slices<'a>(&'a self, samples: Range<usize>) -> [&'a [f64]; 3] {
        let of = |values: &'a [f64]| -> &'a [f64] {
            let width = values.len().checked_div(self.times.len()).unwrap_or(0);
            &values[samples.start * width..samples.end * width]
        };
        [of(&self.times), of(&self.states), of(&self.inputs)]
    }

    /// Some of the samples.
    pub fn part(&self, samples: Range<usize>) -> Samples {
        let [times, states, inputs] = self.slices(samples.clone()).map(<[f64]>::to_vec);
        Samples { times, states, inputs, places: self.places[samples].to_vec() }
    }

    /// The samples at which a state was observed, where there are inputs that make samples of their own, and two such samples.
    fn observed(&self) -> Option<Vec<usize>> {
        let channels = self.states.len() / self.times.len().max(1);
        let is_observed = |&t: &usize| self.states[t * channels..][..channels].iter().any(|value| !value.is_nan());
        let observed: Vec<usize> =
            if self.inputs.is_empty() { Vec::new() } else { (0..self.times.len()).filter(is_observed).collect() };
        Some(observed).filter(|observed| observed.len() >= 2)
    }
}

impl Piece {
    fn of(track: usize, all: &Samples, samples: Range<usize>) -> Self {
        let mut digest = Sha256::new();
        let mut bytes = Vec::new();
        for numbers in all.slices(samples.clone()).into_iter().flat_map(|values| values.chunks(DIGESTED)) {
            bytes.clear();
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            digest.update(&bytes);
        }
        let [times, states, _] = all.slices(samples.clone());
        Piece {
            track,
            first: all.places.get(samples.start).copied(),
            has_start: start_of(states, times.len()).is_some(),
            compared: compared(states, times.len()),
            samples,
            digest: digest.finalize().into(),
        }
    }
}

impl Tracks<'_> {
    /// Orders and joins the samples of one track; `whose` names it in problems.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub fn gather(
        &self,
        store: &Store,
        track: usize,
        whose: &str,
        counts: &mut Counts,
        problems: &mut Problems,
    ) -> io::Result<Samples> {
        let channels: Vec<&str> = self.settings.sampled().map(|(_, channel)| channel.name.as_str()).collect();
        let (disorder, duplicates) = (self.settings.table.disorder, self.settings.table.duplicates);
        let rules = Rules { disorder, duplicates, whose, channels: &channels, clock: self.clock, files: self.files };
        let (series, changes) = gather(store.rows(track)?, &rules, &mut |problem| problems.push(problem));
        counts.changes.add(changes);
        let states = self.settings.states().count();
        let first = series.first_observed(states);
        let samples = timed(series, first, &rules, problems);
        let Track { environment, trajectory, .. } = &store.tracks[track];
        let events =
            self.events.of(environment, trajectory, |moment| self.clock.time(moment, first.unwrap_or(moment)))?;
        let mut without_effect = Vec::new();
        let made = |span, times: &[f64]| {
            without_effect.extend(idle(self.settings, &events, span));
            signals(self.settings, &events, span, times, whose)
        };
        let driven = drive(samples, self.settings, made, whose, counts);
        counts.idle.iter_mut().zip(&without_effect).for_each(|(sum, count)| *sum += count);
        Ok(match driven {
            Ok(samples) => samples,
            Err(found) => {
                problems.extend(found.into_iter().map(|(problem, place)| match place {
                    Some(place) => rules.at(place, problem),
                    None => problem,
                }));
                Samples::default()
            }
        })
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
            if counts.observed[position] == 0 && !any_broken && !problems.has(&[Kind::InputSpan]) {
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
        let (mut problems, mut counts) = (Problems::default(), Counts::new(settings));
        let samples = self.gather(store, position, &whose, &mut counts, &mut problems)?;
        counts.add_states(&samples.states, !samples.inputs.is_empty());
        let usable = whole && !track.broken && !problems.has(&[Kind::InputSpan]);
        if usable {
            problems.extend(too_short(&samples, &whose, files));
        }
        let observed = samples.observed();
        let position_of = |i: usize| observed.as_ref().map_or(i, |observed| observed[i]);
        let times: Cow<'_, [f64]> = match &observed {
            Some(observed) => observed.iter().map(|&t| samples.times[t]).collect(),
            None => samples.times.as_slice().into(),
        };
        let cuts = cut(&times, table.split_gap, table.split_length, &mut counts);
        let piece = |range: Range<usize>| match range.is_empty() {
            true => Piece::of(position, &samples, 0..0),
            false => Piece::of(position, &samples, position_of(range.start)..position_of(range.end - 1) + 1),
        };
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
            let of_end = (at < range.end).then(|| (id.clone() + LAST, piece(at..range.end)));
            pieces.push((id, piece(range.start..at)));
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
fn timed(series: Series, first: Option<Moment>, rules: &Rules<'_>, problems: &mut Problems) -> Samples {
    let Series { moments, states, places } = series;
    let times: Vec<f64> = moments.iter().map(|&moment| rules.clock.time(moment, first.unwrap_or(moment))).collect();
    if let Some(t) = (1..times.len()).find(|&t| moments[t - 1] < moments[t] && times[t - 1] >= times[t]) {
        let [a, b] = [t - 1, t].map(|t| rules.clock.shown(moments[t]));
        let found = format!("times {a} and {b} of {}, which are the same number in the unit of time", rules.whose);
        let remedy = "set `import.table.origin = \"first\"`";
        let problem = Problem::new(Kind::DuplicateTime, found, "each time once in a trajectory", remedy);
        problems.push(rules.at(places[t], problem));
    }
    Samples { times, states, inputs: Vec::new(), places }
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
