//! The times of the samples, and which of them are read.

use super::array_file::{ArrayFile, Pick};
use super::conversion::conversion;
use super::layouts::Layout;
use super::search;
use super::search::{Arrays, Groups};
use crate::import::settings::fields::FieldTime;
use crate::import::settings::table::Origin;
use crate::import::tables::hdf5::since::Since;
use crate::problems::{Kind, Problem};
use crate::units::{Conversion, Unit};

/// The setting that problems name.
const KEY: &str = "import.fields.time";

/// Where times come from.
pub(crate) struct Times {
    source: Source,
    /// Samples of a trajectory in the file.
    samples: usize,
    settings: FieldTime,
}

enum Source {
    Values(Vec<f64>),
    Array {
        arrays: Arrays,
        /// Whether there is a row for each trajectory.
        of_rows: bool,
        conversion: Conversion,
        since: Option<(Since, Conversion)>,
        name: String,
    },
}

/// The samples of a trajectory that are read: their times, and their positions in the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sampled {
    pub times: Vec<f64>,
    pub pick: Pick,
    /// Samples of the trajectory in the file.
    pub of: usize,
}

impl Times {
    /// The times of a file with `samples` samples of each of `rows` trajectories, or environments with one trajectory each.
    ///
    /// # Errors
    /// The problem, without its file.
    pub(crate) fn new(
        file: &mut dyn ArrayFile,
        layout: Option<&Layout>,
        settings: &FieldTime,
        time_unit: &str,
        (rows, samples): (usize, usize),
        groups: &Groups,
    ) -> Result<Self, Problem> {
        let of = |source| Ok(Times { source, samples, settings: settings.clone() });
        if let Some(spacing) = settings.spacing {
            let start = settings.start.unwrap_or(0.0);
            return of(Source::Values((0..samples).map(|sample| start + sample as f64 * spacing).collect()));
        }
        if !settings.values.is_empty() {
            return match settings.values.len() == samples {
                true => of(Source::Values(settings.values.clone())),
                false => {
                    let found = format!("{} times for {samples} samples", settings.values.len());
                    let problem = Problem::new(Kind::Setting, found, "one a sample in the file", "correct the list");
                    Err(problem.setting(format!("{KEY}.values")))
                }
            };
        }
        let Some(name) = settings.array.clone().or_else(|| (layout?.time)(file)) else {
            let remedy = "add `time = { array = .. }`, or `time = { spacing = .. }` where samples are evenly spaced";
            return Err(Problem::new(Kind::Setting, "no times", "the times of the samples", remedy).setting(KEY));
        };
        let key = format!("{KEY}.array");
        let arrays = search::find(file, &name, &mut groups.clone()).map_err(|problem| problem.setting(&key))?;
        let listed = file.listed()[arrays.of(0)].clone();
        let may_be_longer = usize::from(layout.is_some_and(|layout| layout.has_a_last_time));
        let is_length = |length: usize| (samples..=samples + may_be_longer).contains(&length);
        let of_rows = match *listed.shape.as_slice() {
            [length] if is_length(length) => Some(false),
            [first, length] if is_length(length) && (first == rows || first == 1) => Some(true),
            _ => None,
        };
        let Some(of_rows) = of_rows.filter(|_| listed.precision().is_some()) else {
            let found = format!("array `{}` ({})", listed.name, listed.shape_in_words());
            let expected = format!("numbers, one for each of the {samples} samples, or {rows} times as many");
            let problem =
                Problem::new(Kind::UnsupportedFile, found, expected, "name another array, or the spacing of samples");
            return Err(problem.setting(key));
        };
        let unreadable = |found: String| unreadable(&listed.name, &found);
        let (unit, since) =
            (file.unit(arrays.of(0)).map_err(unreadable)?, file.since(arrays.of(0)).map_err(unreadable)?);
        let convert = match since {
            Some(_) => Conversion::NONE,
            None => conversion(
                unit.as_deref(),
                settings.unit.as_deref(),
                time_unit,
                "import.time_unit",
                "import.fields.time.unit",
            )?,
        };
        let since = match since {
            None => None,
            Some(since) => {
                let to = Unit::parse("ns").and_then(|ns| ns.to(Unit::parse(time_unit)?));
                let Some(to) = to else {
                    let found = format!("times since a date in `{}`, and the unit \"{time_unit}\"", listed.name);
                    let remedy = "write the unit to count in";
                    let problem = Problem::new(Kind::Setting, found, "a unit of time, such as `s` or `d`", remedy);
                    return Err(problem.setting("import.time_unit"));
                };
                Some((since, to))
            }
        };
        of(Source::Array { arrays, of_rows, conversion: convert, since, name: listed.name })
    }

    /// The samples of the trajectory in this row of the file, and in this group.
    ///
    /// # Errors
    /// The problem, without its file; `whose` names the trajectory.
    pub(crate) fn of(
        &self,
        file: &mut dyn ArrayFile,
        row: usize,
        group: usize,
        whose: &str,
    ) -> Result<Sampled, Problem> {
        let mut times = match &self.source {
            Source::Values(values) => values.clone(),
            Source::Array { arrays, of_rows, conversion, since, name } => {
                let array = arrays.of(group);
                let shape = &file.listed()[array].shape;
                let row = if shape[0] == 1 { 0 } else { row };
                let samples = Pick::all(self.samples);
                let picks = if *of_rows { vec![Pick::at(row), samples] } else { vec![samples] };
                if shape.len() != picks.len() || shape.last().is_none_or(|&length| length < self.samples) {
                    let found = format!("{} times for {} samples", file.listed()[array].shape_in_words(), self.samples);
                    return Err(unreadable(&file.listed()[array].name, &found));
                }
                let stored = file.numbers(array, &picks).map_err(|found| unreadable(name, &found))?;
                match since {
                    None => stored.into_iter().map(|time| conversion.apply(time)).collect(),
                    Some((since, to)) => {
                        let origin = match self.settings.origin {
                            Some(Origin::File) => 0,
                            _ => stored.first().and_then(|&first| since.instant(first).ok().flatten()).unwrap_or(0),
                        };
                        let instant = |time| {
                            Ok(since
                                .instant(time)?
                                .map_or(f64::NAN, |at| to.apply((i128::from(at) - i128::from(origin)) as f64)))
                        };
                        let times: Result<Vec<f64>, String> = stored.into_iter().map(instant).collect();
                        times.map_err(|found| unreadable(name, &found))?
                    }
                }
            }
        };
        let end = times.iter().position(|time| time.is_nan()).unwrap_or(times.len());
        if let Some(behind) = times[end..].iter().position(|time| !time.is_nan()) {
            let found = format!("no time of sample {end} of {whose}, and one of sample {}", end + behind);
            let remedy = "fill it in; times may be missing only after the last sample";
            return Err(Problem::new(Kind::MissingValue, found, "the time of every sample", remedy).setting(KEY));
        }
        times.truncate(end);
        let of = end;
        if let (Some(Origin::First), Some(first)) = (self.settings.origin, times.first().copied()) {
            times.iter_mut().for_each(|time| *time -= first);
        }
        if let Some(at) = times.iter().position(|time| time.is_infinite()) {
            let found = format!("{} as the time of sample {at} of {whose}", times[at]);
            return Err(Problem::new(Kind::NotFinite, found, "a finite time", "correct the file").setting(KEY));
        }
        if let Some(at) = times.windows(2).position(|pair| pair[1] <= pair[0]) {
            let found = format!("time {} of sample {} of {whose} after {}", times[at + 1], at + 1, times[at]);
            let remedy = "correct the file, or give `time = { spacing = .. }` if the samples are in order all the same";
            return Err(Problem::new(Kind::UnsortedTime, found, "increasing times", remedy).setting(KEY));
        }
        let FieldTime { from, to, every, .. } = self.settings;
        let first = times.partition_point(|&time| from.is_some_and(|from| time < from));
        let last = times.partition_point(|&time| to.is_none_or(|to| time <= to));
        let every = every.max(1);
        let times: Vec<f64> = times.get(first..last).unwrap_or_default().iter().copied().step_by(every).collect();
        Ok(Sampled { pick: Pick { start: first, step: every, count: times.len() }, times, of })
    }
}

/// The problem of times that cannot be read.
fn unreadable(name: &str, found: &str) -> Problem {
    let found = format!("array `{name}`, which {found}");
    let remedy = "name another array, or the spacing of samples";
    Problem::new(Kind::UnsupportedFile, found, "times", remedy).setting(format!("{KEY}.array"))
}
