//! The tables of samples, wide or long, to trajectories in the order of their ids and of time.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::cell::Writing;
use super::clock::Clock;
use super::counts::Counts;
use super::files::{self, SourceFile};
use super::problem::{Kind, Problem, Problems, shown};
use super::series::{Place, Rules, Series, gather};
use super::settings::{Layout, Settings};
use super::source::{Source, syntax};
use super::table::{ChannelNames, IDS_APART, RowReader, TableColumns};
use crate::dataset::Parent;
use crate::digest::sha256_of_file;
use crate::progress::Interrupt;

/// Every trajectory of the tables.
pub(super) struct Trajectories {
    /// By environment, then by trajectory.
    pub environments: BTreeMap<String, BTreeMap<String, Samples>>,
    /// The files they stand in.
    pub files: Vec<SourceFile>,
    pub parents: Vec<Parent>,
    /// Whether a request to stop came before the last row.
    pub stopped: bool,
    pub counts: Counts,
    /// What the user should know though nothing is wrong.
    pub warnings: Vec<Problem>,
}

/// The samples of one trajectory, in the units of the dataset.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Samples {
    /// Increasing times `[T]`.
    pub times: Vec<f64>,
    /// States `[T, C]`, row-major; NaN where a cell is missing.
    pub states: Vec<f64>,
    /// Where each sample stands `[T]`.
    pub places: Vec<Place>,
}

impl Samples {
    /// Cuts the samples from `at` on off.
    pub fn split_off(&mut self, at: usize) -> Samples {
        let channels = self.states.len().checked_div(self.times.len()).unwrap_or(0);
        Samples {
            times: self.times.split_off(at),
            states: self.states.split_off(at * channels),
            places: self.places.split_off(at),
        }
    }
}

/// What the rows of one trajectory have given so far.
struct Track {
    environment: String,
    trajectory: String,
    /// Whether a row was left out because of a problem in it.
    broken: bool,
    /// One series of all channels for a wide table, one a channel for a long one.
    series: Vec<Series>,
}

/// Tracks by their ids; rows of one trajectory mostly follow one another.
#[derive(Default)]
struct Tracks {
    positions: HashMap<String, usize>,
    list: Vec<Track>,
    key: String,
    last: (String, usize),
}

impl Tracks {
    /// The track of a row; `None` and a problem if its ids cannot be read.
    fn of(&mut self, reader: &RowReader<'_>, width: usize, problems: &mut Problems) -> Option<&mut Track> {
        reader.ids(&mut self.key);
        if self.list.is_empty() || self.key != self.last.0 {
            let position = match self.positions.get(&self.key) {
                Some(&position) => position,
                None if !reader.check_ids(problems) => return None,
                None => {
                    let (environment, trajectory) = self.key.split_once(IDS_APART)?;
                    self.list.push(Track {
                        environment: environment.to_owned(),
                        trajectory: trajectory.to_owned(),
                        broken: false,
                        series: vec![Series::default(); width],
                    });
                    self.positions.insert(self.key.clone(), self.list.len() - 1);
                    self.list.len() - 1
                }
            };
            self.last.0.clone_from(&self.key);
            self.last.1 = position;
        }
        self.list.get_mut(self.last.1)
    }
}

/// Reads the tables; `None` where a file or a column is lacking.
pub(super) fn read(
    settings: &Settings,
    directory: &Path,
    interrupt: &Interrupt,
    problems: &mut Problems,
) -> Option<Trajectories> {
    let table = &settings.table;
    let syntax = syntax(&table.delimiter, table.comment.as_deref())?;
    let files = files::find(directory, &table.file, "import.table.file", problems);
    let writing = Writing::new(&table.decimal, &table.missing);
    let mut reading = Reading {
        settings,
        writing,
        clock: Clock::new(settings),
        names: ChannelNames::new(settings),
        tracks: Tracks::default(),
        state: Vec::new(),
        counts: Counts::new(settings.states().count()),
    };
    let (mut complete, mut finished) = (!files.is_empty(), true);
    let (mut parents, mut warnings) = (Vec::new(), Vec::new());
    for (index, file) in files.iter().enumerate() {
        let Some(mut source) = Source::open(file, "import.table.file", syntax, problems) else {
            complete = false;
            continue;
        };
        let columns = TableColumns::find(settings, file, &source, &mut warnings, problems);
        complete &= columns.complete;
        finished &= reading.file(index, file, &mut source, &columns, interrupt, problems);
        match sha256_of_file(&file.path) {
            Ok(sha256) => parents.push(Parent { name: file.name.clone(), sha256 }),
            Err(_) => complete = false,
        }
    }
    let Reading { clock, names, tracks, mut counts, .. } = reading;
    let lacks_rows = tracks.list.is_empty();
    if complete && finished && lacks_rows && problems.is_empty() {
        let problem =
            Problem::new(Kind::NoRows, "no row that `rows` keeps", "at least one row", "widen the conditions");
        problems.push(problem.setting("import.table.rows"));
    }
    if !complete || lacks_rows {
        return None;
    }
    if table.layout == Layout::Long && !names.all_seen(settings, &files[0], problems) {
        return None;
    }
    if clock.lacks_unit() {
        let found = format!("time stamps, and the unit {}", shown(&settings.time_unit));
        let problem =
            Problem::new(Kind::Setting, found, "a unit of time, such as `s` or `d`", "write the unit to count in");
        problems.push(problem.setting("import.time_unit"));
        return None;
    }
    let environments = finish(settings, &files, &clock, tracks, &mut counts, problems);
    Some(Trajectories { environments, files, parents, stopped: !finished, counts, warnings })
}

/// All that outlasts one file.
struct Reading<'a> {
    settings: &'a Settings,
    writing: Writing,
    clock: Clock,
    names: ChannelNames,
    tracks: Tracks,
    /// Scratch.
    state: Vec<f64>,
    counts: Counts,
}

impl Reading<'_> {
    /// Reads the rows of one file; false if a request to stop cut it short.
    fn file(
        &mut self,
        index: usize,
        file: &SourceFile,
        source: &mut Source,
        columns: &TableColumns,
        interrupt: &Interrupt,
        problems: &mut Problems,
    ) -> bool {
        let header = source.header.clone();
        let layout = self.settings.table.layout;
        let width = match layout {
            Layout::Wide => 1,
            Layout::Long => self.settings.states().count(),
        };
        source.rows(interrupt, problems, |row, problems| {
            let reader = RowReader { file, header: &header, row, columns, writing: &self.writing };
            self.counts.rows += 1;
            if !reader.is_selected() {
                self.counts.unselected += 1;
                return;
            }
            let channel = match layout {
                Layout::Wide => None,
                Layout::Long => match reader.channel(&mut self.names, problems) {
                    Some(channel) => channel,
                    None => return,
                },
            };
            if reader.is_event(problems) {
                return;
            }
            let time = reader.time(&mut self.clock, problems);
            let place = Place::new(index, row.line);
            let usable = match layout {
                Layout::Wide => reader.state(&mut self.state, problems),
                Layout::Long => {
                    self.state.clear();
                    self.state.extend(reader.long_value(channel, problems));
                    channel.is_some() && !self.state.is_empty()
                }
            };
            let Some(track) = self.tracks.of(&reader, width, problems) else { return };
            match time {
                Some(time) if usable => track.series[channel.unwrap_or(0)].push(time, &self.state, place),
                _ => track.broken = true,
            }
        })
    }
}

/// Orders and joins the samples of every trajectory, and cuts it at gaps. What follows from a row that was left out is not reported.
fn finish(
    settings: &Settings,
    files: &[SourceFile],
    clock: &Clock,
    tracks: Tracks,
    counts: &mut Counts,
    problems: &mut Problems,
) -> BTreeMap<String, BTreeMap<String, Samples>> {
    let whole = !problems.has(&[Kind::RaggedRow, Kind::InvalidId, Kind::UnknownChannel, Kind::InvalidText]);
    let table = &settings.table;
    let channels: Vec<&str> = settings.states().map(|(_, channel)| channel.name.as_str()).collect();
    let mut any_broken = !whole;
    let mut environments: BTreeMap<String, BTreeMap<String, Samples>> = BTreeMap::new();
    let mut list = tracks.list;
    list.sort_by(|a, b| (&a.environment, &a.trajectory).cmp(&(&b.environment, &b.trajectory)));
    for Track { environment, trajectory, broken, series } in list {
        let whose = format!("trajectory {} of environment {}", shown(&trajectory), shown(&environment));
        let (disorder, duplicates) = (table.disorder, table.duplicates);
        let rules = Rules { disorder, duplicates, whose: &whose, channels: &channels, clock, files };
        let (series, changes) = gather(series, &rules, &mut |problem| problems.push(problem));
        counts.add(&series.states, changes);
        let usable = whole && !broken;
        any_broken |= broken;
        if usable && series.moments.len() < 2 {
            let found = match series.moments.len() {
                0 => format!("no sample of {whose}: every cell is missing"),
                _ => format!("a single sample of {whose}"),
            };
            let remedy = "remove it: it shows no motion";
            let problem = Problem::new(Kind::ShortTrajectory, found, "at least two samples", remedy);
            problems.push(match series.places.first() {
                Some(&place) => rules.at(place, problem),
                None => problem,
            });
        }
        let samples = timed(series, &rules, problems);
        let pieces = cut(samples, table.split_gap, counts);
        if usable && pieces.is_empty() && table.split_gap.is_some() {
            let found = format!("no two samples of {whose} within {}", table.split_gap.unwrap_or_default());
            let problem = Problem::new(Kind::ShortTrajectory, found, "at least two samples", "choose a longer gap");
            problems.push(problem.setting("import.table.split_gap"));
        }
        let count = pieces.len();
        let of_environment = environments.entry(environment).or_default();
        for (number, samples) in (1..).zip(pieces) {
            let id = if count == 1 { trajectory.clone() } else { format!("{trajectory}.{number}") };
            if of_environment.insert(id.clone(), samples).is_some() {
                let found = format!("trajectory {} a second time: a piece of {whose} has its id", shown(&id));
                let problem = Problem::new(Kind::InvalidId, found, "each id once", "rename the other trajectory");
                problems.push(problem.setting("import.table.split_gap"));
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

/// Cuts a trajectory where two samples are further apart than `gap`; pieces of one sample are left out.
fn cut(mut samples: Samples, gap: Option<f64>, counts: &mut Counts) -> Vec<Samples> {
    let Some(gap) = gap else { return vec![samples] };
    let cuts: Vec<usize> =
        (1..samples.times.len()).filter(|&t| samples.times[t] - samples.times[t - 1] > gap).collect();
    let mut pieces: Vec<Samples> = cuts.iter().rev().map(|&t| samples.split_off(t)).collect();
    pieces.push(samples);
    pieces.reverse();
    counts.cuts += cuts.len() as u64;
    let all = pieces.len();
    pieces.retain(|piece| piece.times.len() >= 2);
    counts.single += (all - pieces.len()) as u64;
    pieces
}
