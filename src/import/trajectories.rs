//! The table of samples, wide or long, to trajectories in the order of their ids and of time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::number::{Flaw, Markers, number};
use super::problem::{Kind, Problem, Problems, shown, suggestion};
use super::series::{Rules, Series, gather};
use super::settings::{Columns, Layout, Settings};
use super::source::{Delimiter, Row, Source};
use crate::dataset::Parent;
use crate::progress::Interrupt;

/// Joins the cells of several id columns.
const ID_SEPARATOR: &str = "/";

/// Every trajectory of the table.
pub(super) struct Trajectories {
    /// By environment, then by trajectory.
    pub environments: BTreeMap<String, BTreeMap<String, Series>>,
    /// The file they stand in.
    pub path: PathBuf,
    pub parent: Parent,
    /// Whether a request to stop came before the last row.
    pub stopped: bool,
    /// What became of cells and rows on the way.
    pub counts: Counts,
}

/// What an import did beside copying numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// Observed and missing cells of each channel `[C]`.
    pub observed: Vec<u64>,
    pub missing: Vec<u64>,
    /// Values that went into the mean with another of the same time, or gave way to one.
    pub merged: u64,
}

/// What the rows of one trajectory have given so far.
#[derive(Default)]
struct Track {
    /// Whether a row was left out because of a problem in it.
    broken: bool,
    /// One series of all channels for a wide table, one a channel for a long one.
    series: Vec<Series>,
}

type Tracks = BTreeMap<String, BTreeMap<String, Track>>;

impl Counts {
    /// What happened, a sentence each.
    pub fn sentences(&self, settings: &Settings) -> Vec<String> {
        let cells = settings.channels.iter().zip(self.missing.iter().zip(&self.observed));
        let mut sentences: Vec<String> = cells
            .filter(|(_, (missing, _))| **missing > 0)
            .map(|(channel, (missing, observed))| {
                format!("channel {}: {missing} of {} cells are missing", channel.name, missing + observed)
            })
            .collect();
        if self.merged > 0 {
            sentences.push(format!("{} values were merged with another of the same time", self.merged));
        }
        sentences
    }
}

/// Reads the table; `None` where it lacks the file or a column.
pub(super) fn read(
    settings: &Settings,
    directory: &Path,
    interrupt: &Interrupt,
    problems: &mut Problems,
) -> Option<Trajectories> {
    let table = &settings.table;
    let delimiter = Delimiter::parse(&table.delimiter)?;
    let source = Source::read(directory, &table.file, "import.table.file", delimiter, problems)?;
    let columns = TableColumns::find(settings, &source, problems);

    let missing = Markers::new(&table.missing);
    let mut tracks = Tracks::new();
    let mut names = ChannelNames::new(settings);
    let finished = source.rows(interrupt, problems, |row, problems| {
        let reader = RowReader { source: &source, row: &row, columns: &columns, missing: &missing };
        match table.layout {
            Layout::Wide => reader.wide(settings.channels.len(), &mut tracks, problems),
            Layout::Long => reader.long(&mut names, &mut tracks, problems),
        }
    });
    if !columns.complete || tracks.is_empty() {
        return None;
    }
    if table.layout == Layout::Long && !names.all_seen(settings, &source, problems) {
        return None;
    }
    let (environments, counts) = finish(settings, &source, tracks, problems);
    let parent = Parent { name: source.file.clone(), sha256: source.sha256.clone() };
    Some(Trajectories { environments, path: source.path, parent, stopped: !finished, counts })
}

/// Positions of the columns that the settings name; those that the header lacks are left out.
struct TableColumns {
    environment: Vec<usize>,
    trajectory: Vec<usize>,
    time: Option<usize>,
    /// Of each channel of a wide table.
    channels: Vec<Option<usize>>,
    /// Of a long table.
    channel: Option<usize>,
    value: Option<usize>,
    complete: bool,
    /// Id of the one environment where no column tells.
    only_environment: String,
}

impl TableColumns {
    fn find(settings: &Settings, source: &Source, problems: &mut Problems) -> Self {
        let table = &settings.table;
        let mut complete = true;
        let mut find = |key: &str, name: &str| {
            let column = source.column(&format!("import.{key}"), name, problems);
            complete &= column.is_some();
            column
        };
        let mut find_all = |key: &str, columns: &Columns| -> Vec<usize> {
            columns.0.iter().filter_map(|name| find(key, name)).collect()
        };
        let environment = find_all("table.environment", &table.environment);
        let trajectory = find_all("table.trajectory", &table.trajectory);
        let time = find("table.time", &table.time);
        let (mut channels, mut channel, mut value) = (Vec::new(), None, None);
        match table.layout {
            Layout::Wide => {
                for (index, wanted) in settings.channels.iter().enumerate() {
                    channels.push(find(&format!("channels[{index}].column"), &wanted.column));
                }
            }
            Layout::Long => {
                channel = table.channel.as_ref().and_then(|name| find("table.channel", name));
                value = table.value.as_ref().and_then(|name| find("table.value", name));
                complete &= channel.is_some() && value.is_some();
            }
        }
        let stem = Path::new(&table.file).file_stem().and_then(|stem| stem.to_str());
        let only_environment = stem.unwrap_or(&table.file).to_owned();
        TableColumns { environment, trajectory, time, channels, channel, value, complete, only_environment }
    }
}

/// The channels of a long table, and which of them have been met.
struct ChannelNames {
    /// Position of each channel, by what names it in the table; `None` for one to leave out.
    positions: BTreeMap<String, Option<usize>>,
    seen: Vec<bool>,
    unknown: BTreeSet<String>,
    met: BTreeSet<String>,
}

impl ChannelNames {
    fn new(settings: &Settings) -> Self {
        let ignored = settings.table.ignored_channels.iter().map(|name| (name.trim().to_owned(), None));
        let channels = settings.channels.iter().enumerate().map(|(i, c)| (c.column.trim().to_owned(), Some(i)));
        ChannelNames {
            positions: ignored.chain(channels).collect(),
            seen: vec![false; settings.channels.len()],
            unknown: BTreeSet::new(),
            met: BTreeSet::new(),
        }
    }

    /// Reports the channels that no row names.
    fn all_seen(&self, settings: &Settings, source: &Source, problems: &mut Problems) -> bool {
        for (index, channel) in settings.channels.iter().enumerate().filter(|(index, _)| !self.seen[*index]) {
            let found = format!("no row of channel {}", shown(&channel.column));
            let remedy = suggestion(&channel.column, self.met.iter().map(String::as_str));
            let problem = Problem::new(Kind::MissingColumn, found, "rows of every channel", remedy);
            problems.push(problem.file(&source.path).setting(format!("import.channels[{index}].column")));
        }
        self.seen.iter().all(|&seen| seen)
    }
}

struct RowReader<'a> {
    source: &'a Source,
    row: &'a Row<'a>,
    columns: &'a TableColumns,
    missing: &'a Markers,
}

impl RowReader<'_> {
    fn at(&self, column: usize, problem: Problem) -> Problem {
        problem.file(&self.source.path).line(self.row.line).column(column, &self.source.header[column])
    }

    fn time(&self, column: usize, problems: &mut Problems) -> Option<f64> {
        let cell = self.row.cells[column];
        let report = |flaw: Flaw| {
            let mut problem = flaw.problem(cell);
            if flaw == Flaw::Missing {
                problem.remedy = "fill it in or remove the row: a time is never missing".to_owned();
            }
            problems.push(self.at(column, problem));
        };
        number(cell).map_err(report).ok()
    }

    /// The value of a channel, NaN where it is missing.
    fn value(&self, column: usize, problems: &mut Problems) -> Option<f64> {
        let cell = self.row.cells[column];
        self.missing.value(cell).map_err(|flaw| problems.push(self.at(column, flaw.problem(cell)))).ok()
    }

    fn id(&self, columns: &[usize], otherwise: &str, problems: &mut Problems) -> Option<String> {
        if columns.is_empty() {
            return Some(otherwise.to_owned());
        }
        let mut usable = true;
        let cells: Vec<&str> = columns.iter().map(|&column| self.row.cells[column]).collect();
        for (&column, &cell) in columns.iter().zip(&cells) {
            if cell.is_empty() || cell.contains(char::is_control) {
                let found = if cell.is_empty() { "an empty cell".to_owned() } else { shown(cell) };
                let expected = "an id in printable characters";
                let problem = Problem::new(Kind::InvalidId, found, expected, "fill it in or remove the row");
                problems.push(self.at(column, problem));
                usable = false;
            } else if cells.len() > 1 && cell.contains(ID_SEPARATOR) {
                let expected = format!("an id without `{ID_SEPARATOR}`, which joins the id columns");
                let problem = Problem::new(Kind::InvalidId, shown(cell), expected, "write another character");
                problems.push(self.at(column, problem));
                usable = false;
            }
        }
        usable.then(|| cells.join(ID_SEPARATOR))
    }

    fn track<'t>(&self, tracks: &'t mut Tracks, width: usize, problems: &mut Problems) -> Option<&'t mut Track> {
        let environment = self.id(&self.columns.environment, &self.columns.only_environment, problems);
        let trajectory = self.id(&self.columns.trajectory, "1", problems);
        let track = tracks.entry(environment?).or_default().entry(trajectory?).or_default();
        track.series.resize_with(width, Series::default);
        Some(track)
    }

    fn wide(&self, channels: usize, tracks: &mut Tracks, problems: &mut Problems) {
        let time = self.columns.time.and_then(|column| self.time(column, problems));
        let mut state = Vec::with_capacity(channels);
        for &column in self.columns.channels.iter().flatten() {
            state.extend(self.value(column, problems));
        }
        let Some(track) = self.track(tracks, 1, problems) else { return };
        match time {
            Some(time) if state.len() == channels => track.series[0].push(time, &state, self.row.line),
            _ => track.broken = true,
        }
    }

    fn long(&self, names: &mut ChannelNames, tracks: &mut Tracks, problems: &mut Problems) {
        let mut channel = None;
        if let Some(column) = self.columns.channel {
            let name = self.row.cells[column];
            match names.positions.get(name) {
                Some(None) => return,
                Some(Some(position)) => {
                    names.seen[*position] = true;
                    names.met.insert(name.to_owned());
                    channel = Some(*position);
                }
                None => {
                    if names.unknown.insert(name.to_owned()) {
                        let known = names.positions.keys().map(String::as_str);
                        let remedy = format!(
                            "{} otherwise add it to `[[import.channels]]` or `import.table.ignored_channels`",
                            suggestion(name, known)
                        );
                        let found = if name.is_empty() { "an empty cell".to_owned() } else { shown(name) };
                        let problem = Problem::new(Kind::UnknownChannel, found, "the name of a channel", remedy);
                        problems.push(self.at(column, problem));
                    }
                    names.met.insert(name.to_owned());
                }
            }
        }
        let time = self.columns.time.and_then(|column| self.time(column, problems));
        let value = self.columns.value.and_then(|column| self.value(column, problems));
        let Some(track) = self.track(tracks, names.seen.len(), problems) else { return };
        match (channel, time, value) {
            (Some(channel), Some(time), Some(value)) => track.series[channel].push(time, &[value], self.row.line),
            _ => track.broken = true,
        }
    }
}

/// Orders and joins the samples of every trajectory. What follows from a row that was left out is not reported.
fn finish(
    settings: &Settings,
    source: &Source,
    tracks: Tracks,
    problems: &mut Problems,
) -> (BTreeMap<String, BTreeMap<String, Series>>, Counts) {
    let whole = !problems.has(&[Kind::RaggedRow, Kind::InvalidId, Kind::UnknownChannel]);
    let channels: Vec<&str> = settings.channels.iter().map(|channel| channel.name.as_str()).collect();
    let none = vec![0; channels.len()];
    let mut counts = Counts { observed: none.clone(), missing: none, merged: 0 };
    let mut any_broken = !whole;
    let mut environments = BTreeMap::new();
    for (environment, trajectories) in tracks {
        let mut finished = BTreeMap::new();
        for (trajectory, track) in trajectories {
            let whose = format!("trajectory {} of environment {}", shown(&trajectory), shown(&environment));
            let mut report = |problem: Problem| problems.push(problem.file(&source.path));
            let Settings { table, .. } = settings;
            let rules =
                Rules { disorder: table.disorder, duplicates: table.duplicates, whose: &whose, channels: &channels };
            let (samples, merged) = gather(track.series, &rules, &mut report);
            counts.merged += merged.values;
            for state in samples.states.chunks_exact(channels.len()) {
                for (c, value) in state.iter().enumerate() {
                    *(if value.is_nan() { &mut counts.missing[c] } else { &mut counts.observed[c] }) += 1;
                }
            }
            if whole && !track.broken && samples.times.len() < 2 {
                let found = match samples.times.len() {
                    0 => format!("no sample of {whose}: every cell is missing"),
                    _ => format!("a single sample of {whose}"),
                };
                let remedy = "remove it: it shows no motion";
                let mut problem = Problem::new(Kind::ShortTrajectory, found, "at least two samples", remedy);
                problem.line = samples.lines.first().copied();
                report(problem);
            }
            any_broken |= track.broken;
            finished.insert(trajectory, samples);
        }
        environments.insert(environment, finished);
    }
    for (index, channel) in
        settings.channels.iter().enumerate().filter(|(c, _)| counts.observed[*c] == 0 && !any_broken)
    {
        let found = format!("no value of channel {} in any row", shown(&channel.column));
        let expected = "an observed value at least once: a hidden state cannot be learned";
        let remedy = "leave the channel out, or correct `import.table.missing`";
        let problem = Problem::new(Kind::NeverObserved, found, expected, remedy);
        problems.push(problem.file(&source.path).setting(format!("import.channels[{index}].column")));
    }
    (environments, counts)
}
