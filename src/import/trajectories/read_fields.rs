//! Files of fields to trajectories in the order of their ids.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::field_records::FieldRecords;
use super::segment::{Part, Segment};
use super::set::{Records, Trajectories};
use super::split_records::end_share;
use crate::dataset::Treatment;
use crate::digest::sha256_of_file;
use crate::import::fields::described::{Described, Row, describe};
use crate::import::fields::formats;
use crate::import::settings::Settings;
use crate::import::settings::fields::Fields;
use crate::import::settings::forms::Braces;
use crate::import::tables::files;
use crate::problems::{Kind, Problem, Problems, listing, many, shown};
use crate::progress::Interrupt;
use crate::schema::{Grid, GridAxis, StateShape};

/// The setting that names the files.
const KEY: &str = "import.fields.file";
/// Grids of two files are the same if their spacing and start differ by less than this part of the spacing.
const SAME: f64 = 1e-3;

/// Reads the files that are wanted by name; `None` if one is missing, or cannot be read.
pub(crate) fn read(
    settings: &Settings,
    fields: &Fields,
    directory: &Path,
    is_wanted: &dyn Fn(&str) -> bool,
    interrupt: &Interrupt,
    problems: &mut Problems,
) -> Option<Trajectories> {
    let mut files = files::find_with(directory, &fields.file, Braces::Value, KEY, problems);
    files.retain(|file| is_wanted(&file.name));
    let (mut all, mut parents, mut is_complete) = (Vec::new(), Vec::new(), !files.is_empty());
    for file in &files {
        if interrupt.requested().is_some() {
            return None;
        }
        let described = formats::open(&file.path)
            .map_err(|problem| vec![problem.setting(KEY)])
            .and_then(|mut open| describe(open.as_mut(), file, settings, fields));
        match described {
            Ok(described) => all.push(described),
            Err(found) => {
                is_complete = false;
                problems.extend(found.into_iter().map(|problem| problem.file(&file.path)));
                continue;
            }
        }
        match file.parent(sha256_of_file(&file.path), problems) {
            Some(parent) => parents.push(parent),
            None => is_complete = false,
        }
    }
    let grid = all.first().map(|described| described.grid.clone())?;
    if !is_complete {
        return None;
    }
    for (described, file) in all.iter().zip(&files) {
        problems.extend(differences(&grid, &described.grid).map(|problem| problem.file(&file.path)));
    }
    let mut told = Told::new(fields, &all);
    let mut records = FieldRecords::new(all, fields.missing.clone());
    let parameters = parameters(settings, &records, &files, problems);
    if !problems.is_empty() {
        return None;
    }
    let shape = StateShape::new(fields.channels.len(), Some(&grid));
    let mut segments = Vec::new();
    for record in 0..records.len() {
        if interrupt.requested().is_some() {
            return None;
        }
        let (samples, dropped) = match records.samples(&files, record) {
            Ok(read) => read,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        let row = records.row(record);
        told.dropped += dropped as u64;
        for channel in 0..shape.channels {
            let values = shape.channel(&samples.states, channel).flatten();
            let (mut missing, mut infinite) = (0, 0);
            values.for_each(|value| {
                missing += u64::from(value.is_nan());
                infinite += u64::from(value.is_infinite());
            });
            told.missing[channel] += missing;
            told.observed[channel] += (samples.times.len() * shape.points()) as u64 - missing;
            if infinite > 0 {
                let problem = infinity(row, fields, &grid, channel, infinite, &samples.states, &shape);
                problems.push(problem.file(&files[records.line(record).file()].path));
            }
        }
        let length = samples.times.len();
        let share = end_share(&settings.splits, &row.environment);
        let end = share.map_or(0, |share| ((share * length as f64).ceil() as usize).max(2));
        let at = if length >= end + 2 { length - end } else { length };
        let mut add = |is_end: bool, range: std::ops::Range<usize>| {
            let mut segment = Segment::new(record, &samples, Part { number: 0, is_end }, range);
            segment.first = Some(records.line(record));
            segments.push(segment);
        };
        add(false, 0..at);
        if at < length {
            add(true, at..length);
        }
    }
    told.never_observed(fields, problems);
    let id = |segment: &Segment| {
        let row = records.row(segment.record);
        (row.environment.clone(), segment.id(&row.trajectory).into_owned())
    };
    segments.sort_by_cached_key(id);
    for pair in segments.windows(2).filter(|pair| id(&pair[0]) == id(&pair[1])) {
        let (environment, trajectory) = id(&pair[1]);
        let first = records.line(pair[0].record);
        let place = records.line(pair[1].record);
        let found = format!(
            "trajectory {} of environment {} a second time, after {}:{}",
            shown(&trajectory),
            shown(&environment),
            files[first.file()].name,
            first.line()
        );
        let remedy =
            "tell them apart by `trajectory` or `environment` of [import.fields], or by `{trajectory}` in its `file`";
        let problem = Problem::new(Kind::InvalidId, found, "each id once", remedy).setting("import.fields.trajectory");
        problems.push(problem.file(&files[place.file()].path).line(place.line()));
    }
    let (notes, treatments) = (told.notes(&records, files.len()), told.treatments(fields));
    Some(Trajectories {
        segments,
        files,
        parents,
        grid: Some(grid),
        parameters,
        notes,
        treatments,
        warnings: Vec::new(),
        records: Records::Fields(Box::new(records)),
    })
}

/// The grid of the first file; `None` if it cannot be told.
pub(crate) fn grid(settings: &Settings, fields: &Fields, directory: &Path) -> Option<Grid> {
    let files = files::find_with(directory, &fields.file, Braces::Value, KEY, &mut Problems::default());
    let first = files.first()?;
    let mut open = formats::open(&first.path).ok()?;
    Some(describe(open.as_mut(), first, settings, fields).ok()?.grid)
}

/// The problems with a grid that is not that of the first file.
fn differences(first: &Grid, other: &Grid) -> impl Iterator<Item = Problem> {
    let pairs = first.axes.iter().zip(&other.axes);
    let (names, others) = (axes_in_words(first), axes_in_words(other));
    let order = (names != others).then(|| {
        let remedy = "name the axes in the order of the dataset in `grid`";
        Problem::new(
            Kind::UnsupportedFile,
            format!("the axes {others}"),
            format!("{names}, as in the first file"),
            remedy,
        )
    });
    let is_same = order.is_none();
    let differing: Vec<Problem> = pairs
        .filter(|_| is_same)
        .flat_map(|(first, other)| {
            let close = |a: f64, b: f64| (a - b).abs() <= SAME * first.spacing;
            let GridAxis { name, .. } = other;
            let say = |found: String, expected: String| {
                let remedy = "import files of other grids as other datasets, or give every file the same one (`every` reads some of the points)";
                Problem::new(Kind::UnsupportedFile, found, format!("{expected}, as in the first file"), remedy)
            };
            [
                (first.count != other.count)
                    .then(|| say(format!("{} points on axis `{name}`", other.count), first.count.to_string())),
                (!close(first.spacing, other.spacing))
                    .then(|| say(format!("a spacing of {} on axis `{name}`", other.spacing), first.spacing.to_string())),
                (!close(first.start, other.start))
                    .then(|| say(format!("axis `{name}` from {}", other.start), format!("from {}", first.start))),
                (first.unit != other.unit)
                    .then(|| say(format!("axis `{name}` in the unit {}", shown(&other.unit)), shown(&first.unit))),
                (first.boundary != other.boundary).then(|| {
                    say(format!("a boundary `{}` of axis `{name}`", other.boundary.name()), format!("`{}`", first.boundary.name()))
                }),
            ]
        })
        .flatten()
        .collect();
    order.into_iter().chain(differing).map(|problem| problem.setting("import.fields.grid"))
}

fn axes_in_words(grid: &Grid) -> String {
    listing(&grid.axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>())
}

/// The known parameters of each environment, which all its trajectories share.
fn parameters(
    settings: &Settings,
    records: &FieldRecords,
    files: &[files::SourceFile],
    problems: &mut Problems,
) -> BTreeMap<String, Vec<Option<f64>>> {
    let mut known: BTreeMap<String, (usize, Vec<Option<f64>>)> = BTreeMap::new();
    if settings.side_table.is_some() {
        return BTreeMap::new();
    }
    let mut reported = BTreeSet::new();
    for record in 0..records.len() {
        let Row { environment, trajectory, parameters, .. } = records.row(record);
        let (first, values) = known.entry(environment.clone()).or_insert_with(|| (record, parameters.clone()));
        let differs = |k: &usize| values[*k] != parameters[*k];
        let Some(k) = (0..parameters.len()).find(differs) else { continue };
        if !reported.insert((environment.clone(), k)) {
            continue;
        }
        let text = |value: Option<f64>| value.map_or("unknown".to_owned(), |value| value.to_string());
        let (first, place) = (records.line(*first), records.line(record));
        let name = &settings.parameters[k].name;
        let found = format!(
            "{name} = {} of trajectory {} of environment {}",
            text(parameters[k]),
            shown(trajectory),
            shown(environment)
        );
        let expected = format!(
            "{}, as in {}:{}: an environment has one value",
            text(values[k]),
            files[first.file()].name,
            first.line()
        );
        let remedy = "tell environments apart by the values, such as `environment = [\"F\", \"k\"]` of [import.fields]";
        let problem = Problem::new(Kind::ParameterValue, found, expected, remedy);
        problems.push(
            problem
                .file(&files[place.file()].path)
                .line(place.line())
                .setting(format!("import.parameters[{k}].expression")),
        );
    }
    known.into_iter().map(|(environment, (_, values))| (environment, values)).collect()
}

/// The problem of infinite values of a channel in a trajectory.
fn infinity(
    row: &Row,
    fields: &Fields,
    grid: &Grid,
    channel: usize,
    count: u64,
    states: &[f64],
    shape: &StateShape,
) -> Problem {
    let mut samples = shape.channel(states, channel).enumerate();
    let first = samples.find_map(|(t, values)| Some((t, values.iter().position(|value| value.is_infinite())?)));
    let (sample, mut point) = first.unwrap_or_default();
    let mut place = Vec::new();
    for axis in grid.axes.iter().rev() {
        place.push(format!("{} {}", axis.name, point % axis.count));
        point /= axis.count;
    }
    place.reverse();
    let found = format!(
        "infinity in channel `{}` of trajectory {} of environment {}, at time {} and point {} ({} in all)",
        fields.channels[channel].name,
        shown(&row.trajectory),
        shown(&row.environment),
        row.sampled.times.get(sample).copied().unwrap_or_default(),
        place.join(", "),
        many(count, "value")
    );
    let remedy = "the simulation diverged: leave it out, or end it before by `time.to`; what only stands for a missing value is NaN";
    Problem::new(Kind::NotFinite, found, "finite numbers", remedy).setting(format!("import.fields.channels[{channel}]"))
}

/// What is told of an import.
struct Told {
    /// What layouts have no place for.
    layouts: BTreeMap<&'static str, &'static str>,
    observed: Vec<u64>,
    missing: Vec<u64>,
    dropped: u64,
    /// Samples that `every`, `from` and `to` leave out.
    thinned: u64,
    /// Points of a field that `every` leaves out.
    points: u64,
    /// Files in which a channel is converted, by channel and units.
    converted: BTreeMap<(String, String, String), u64>,
}

impl Told {
    fn new(fields: &Fields, all: &[Described]) -> Self {
        let layouts = all.iter().filter_map(|it| Some((it.layout?, it.lacks?))).collect();
        let rows = all.iter().flat_map(|it| &it.rows);
        let thinned = rows.map(|row| (row.sampled.of - row.sampled.times.len()) as u64).sum();
        let points = all
            .first()
            .map_or(0, |it| it.points_in_file.saturating_sub(it.points.iter().map(|pick| pick.count).product()) as u64);
        let mut converted = BTreeMap::new();
        for units in all.iter().flat_map(|it| &it.converted) {
            *converted.entry(units.clone()).or_insert(0) += 1;
        }
        let [observed, missing] = [(); 2].map(|()| vec![0; fields.channels.len()]);
        Told { layouts, observed, missing, dropped: 0, thinned, points, converted }
    }

    /// Adds the problems of channels without any value.
    fn never_observed(&self, fields: &Fields, problems: &mut Problems) {
        for (index, channel) in fields.channels.iter().enumerate().filter(|(index, _)| self.observed[*index] == 0) {
            if !problems.is_empty() {
                return;
            }
            let found = format!("no value of channel {} in any file", shown(&channel.name));
            let remedy = "leave the channel out, or correct `missing`";
            let problem = Problem::new(Kind::NeverObserved, found, "an observed value at least once", remedy);
            problems.push(problem.setting(format!("import.fields.channels[{index}]")));
        }
    }

    fn notes(&self, records: &FieldRecords, files: usize) -> Vec<String> {
        let read = format!("{} in {} read", many(records.len() as u64, "trajectory"), many(files as u64, "file"));
        let lacks = self
            .layouts
            .iter()
            .map(|(layout, lacks)| format!("laid out as {layout} has it, which says nothing of {lacks}"));
        std::iter::once(read).chain(lacks).collect()
    }

    fn treatments(&self, fields: &Fields) -> Vec<Treatment> {
        let mut treatments = Vec::new();
        let mut say = |done: &str, of: Option<&str>, count: u64, text: String| {
            if count > 0 {
                treatments.push(Treatment { done: done.to_owned(), of: of.map(str::to_owned), count, text });
            }
        };
        for ((channel, from, to), &files) in &self.converted {
            let text = format!("{} in which channel {channel} was converted from {from} to {to}", many(files, "file"));
            say("converted", Some(channel), files, text);
        }
        for (channel, (&missing, &observed)) in fields.channels.iter().zip(self.missing.iter().zip(&self.observed)) {
            let text =
                format!("{} of {} missing in channel {}", many(missing, "cell"), missing + observed, channel.name);
            say("missing", Some(&channel.name), missing, text);
        }
        let text = format!("{} left out, as `time` of [import.fields] asks", many(self.thinned, "sample"));
        say("samples_left_out", None, self.thinned, text);
        let text = format!("{} of each field left out, as `grid` of [import.fields] asks", many(self.points, "point"));
        say("points_left_out", None, self.points, text);
        let text = format!("{} without any observed cell dropped", many(self.dropped, "sample"));
        say("dropped", None, self.dropped, text);
        treatments
    }
}
