//! A file, with what the settings and its layout say of it: the arrays of the channels, the grid, and one row a trajectory.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::array_file::{ArrayFile, Holds, Listed, Pick};
use super::conversion::conversion;
use super::facts::{Extent, Place};
use super::layouts;
use super::layouts::Layout;
use super::named::Named;
use super::search::{Arrays, Groups};
use super::times::{Sampled, Times};
use super::{search, space};
use crate::import::settings::Settings;
use crate::import::settings::fields::{CHANNEL, ENVIRONMENT, Fields, TIME, TRAJECTORY, is_of_no_space};
use crate::import::tables::files::SourceFile;
use crate::problems::{Kind, Problem, listing, shown};
use crate::schema::{Grid, GridAxis};
use crate::units::Conversion;

/// Most axes in space.
const MOST_IN_SPACE: usize = 3;

/// What an axis of an array runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Environment,
    Trajectory,
    Time,
    Channel,
    /// The axis of the grid at that position.
    Space(usize),
}

/// Where a channel is read from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub arrays: Arrays,
    pub roles: Vec<Role>,
    /// Position on the axes of channels, the last one fastest.
    pub position: usize,
    pub conversion: Conversion,
}

/// A trajectory in a file.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub environment: String,
    pub trajectory: String,
    pub place: Place,
    pub sampled: Arc<Sampled>,
    /// Known parameters `[d_p]`.
    pub parameters: Vec<Option<f64>>,
}

/// A file, as far as it can be told without reading its fields.
pub(crate) struct Described {
    pub layout: Option<&'static str>,
    /// What the layout has no place for.
    pub lacks: Option<&'static str>,
    pub grid: Grid,
    /// The points that are read, by the axes of the grid.
    pub points: Vec<Pick>,
    /// By the channels of the dataset.
    pub sources: Vec<Source>,
    pub rows: Vec<Row>,
    /// Points of a field in the file.
    pub points_in_file: usize,
    /// Channels whose values are converted: name, unit in the file, unit of the dataset.
    pub converted: Vec<(String, String, String)>,
}

/// Describes an open file.
///
/// # Errors
/// Every problem that was found, without its file.
pub(crate) fn describe(
    file: &mut dyn ArrayFile,
    source: &SourceFile,
    settings: &Settings,
    fields: &Fields,
) -> Result<Described, Vec<Problem>> {
    let layout = layouts::ALL.into_iter().find(|layout| (layout.is_of)(file));
    let mut groups = Groups::default();
    let mut problems = Vec::new();
    let mut found = Vec::new();
    for index in 0..fields.channels.len() {
        match channel(file, layout.as_ref(), fields, index, &mut groups) {
            Ok(channel) => found.push(channel),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let lengths = lengths(file, &found, &groups)?;
    let space = axes_in_space(fields, &found)?;
    let extent = Extent {
        environments: lengths.get(ENVIRONMENT).copied().unwrap_or(1),
        groups: groups.ids.len().max(1),
        trajectories: lengths.get(TRAJECTORY).copied().unwrap_or(1),
    };
    let mut axes = Vec::new();
    for name in &space {
        match space::axis(file, layout.as_ref(), fields, name, lengths[name.as_str()], &groups) {
            Ok(axis) => axes.push(axis),
            Err(found) => problems.extend(found),
        }
    }
    let (sources, converted) = match sources(file, fields, found, &space) {
        Ok(sources) => sources,
        Err(found) => {
            problems.extend(found);
            Default::default()
        }
    };
    let rows_of_times =
        if extent.environments > 1 && extent.trajectories == 1 { extent.environments } else { extent.trajectories };
    let samples = (rows_of_times, lengths[TIME]);
    let times = Times::new(file, layout.as_ref(), &fields.time, &settings.time_unit, samples, &groups);
    let names = Named::find(file, source, settings, fields, &groups, extent);
    let (times, names) = match (times, names) {
        (Ok(times), Ok(names)) if problems.is_empty() => (times, names),
        (times, names) => {
            problems.extend(times.err());
            problems.extend(names.err().into_iter().flatten());
            return Err(problems);
        }
    };
    let mut rows = Vec::new();
    for environment in 0..extent.environments {
        for group in 0..extent.groups {
            for trajectory in 0..extent.trajectories {
                let place = Place { environment, group, trajectory };
                let (environment, trajectory) = names.ids(source, &lengths, &groups, place);
                let whose = format!("trajectory {} of environment {}", shown(&trajectory), shown(&environment));
                let row = if extent.trajectories == 1 { place.environment } else { place.trajectory };
                match times.of(file, row, group, &whose) {
                    Ok(sampled) => {
                        // Most files have the same times for all.
                        let same = rows.last().map(|row: &Row| &row.sampled).filter(|last| ***last == sampled).cloned();
                        let sampled = same.unwrap_or_else(|| Arc::new(sampled));
                        let parameters = names.parameters(place, &whose, &mut problems);
                        rows.push(Row { environment, trajectory, place, sampled, parameters });
                    }
                    Err(problem) => problems.push(problem),
                }
            }
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let points_in_file = space.iter().map(|name| lengths[name.as_str()]).product();
    let (axes, points): (Vec<GridAxis>, Vec<Pick>) = axes.into_iter().unzip();
    Ok(Described {
        layout: layout.map(|layout| layout.name),
        lacks: layout.map(|layout| layout.lacks),
        grid: Grid { axes },
        points,
        sources,
        rows,
        points_in_file,
        converted,
    })
}

/// The arrays of a channel and the names of their axes.
type Found = (Arrays, Vec<String>);

/// Finds the arrays of a channel, and what their axes are.
fn channel(
    file: &mut dyn ArrayFile,
    layout: Option<&Layout>,
    fields: &Fields,
    index: usize,
    groups: &mut Groups,
) -> Result<Found, Problem> {
    let channel = &fields.channels[index];
    let key = format!("import.fields.channels[{index}].array");
    let arrays = match &channel.array {
        Some(name) => search::find(file, name, groups),
        None => search::only(file).map(Arrays::One),
    };
    let arrays = arrays.map_err(|problem| problem.setting(&key))?;
    let listed = file.listed()[arrays.of(0)].clone();
    let whose = format!("array `{}` ({})", listed.name, listed.shape_in_words());
    if let Some(what) = other(&listed) {
        let found = format!("{whose} {what}");
        let remedy = "name another array, or convert it first";
        return Err(Problem::new(Kind::UnsupportedFile, found, "an array of real numbers", remedy).setting(&key));
    }
    let all = match &arrays {
        Arrays::One(array) => std::slice::from_ref(array),
        Arrays::OfGroups(arrays) => arrays,
    };
    for &array in all {
        file.require_possible(array).map_err(|found| {
            let found = format!("array `{}`, which {found}", file.listed()[array].name);
            let remedy = "check that the file was copied whole";
            Problem::new(Kind::UnreadableFile, found, "values that are there", remedy).setting(&key)
        })?;
    }
    let wrong = |found: String, expected: String, remedy: &str| {
        Err(Problem::new(Kind::UnsupportedFile, found, expected, remedy).setting("import.fields.axes"))
    };
    let count = listed.shape.len();
    let axes = match fields.axes.is_empty() {
        false => {
            let without: Vec<String> = fields.axes.iter().filter(|axis| *axis != CHANNEL).cloned().collect();
            if count == fields.axes.len() {
                fields.axes.clone()
            } else if count == without.len() {
                without
            } else {
                let named = fields.axes.join(", ");
                let expected = format!("{} axes, as many as are named: {named}", fields.axes.len());
                return wrong(
                    format!("{count} axes of {whose}"),
                    expected,
                    "name every axis of the array, in its order",
                );
            }
        }
        true => match layout.and_then(|layout| (layout.axes)(file, arrays.of(0))) {
            Some(axes) if axes.len() == count => axes,
            _ => {
                let remedy = "write what each runs over, such as `axes = [\"trajectory\", \"time\", \"x\", \"y\"]`";
                return wrong(
                    format!("{whose}, of whose axes the file says nothing"),
                    "a name for each axis".to_owned(),
                    remedy,
                );
            }
        },
    };
    let components: usize =
        axes.iter().zip(&listed.shape).filter(|(axis, _)| *axis == CHANNEL).map(|(_, n)| *n).product();
    let key = format!("import.fields.channels[{index}].index");
    match (channel.index, axes.iter().any(|axis| axis == CHANNEL)) {
        (_, true) if components == 0 => {
            let found = format!("no position on the axis `channel` of {whose}");
            Err(Problem::new(Kind::NoRows, found, "at least one", "leave the channel out").setting(key))
        }
        (None, true) if components > 1 => {
            let found = format!("none, and {components} positions on the axis `channel` of {whose}");
            let problem =
                Problem::new(Kind::Setting, found, format!("one from 0 to {}", components - 1), "say which is read");
            Err(problem.setting(key))
        }
        (Some(index), true) if index >= components => {
            let found = format!("{index}, and {components} positions on the axis `channel` of {whose}");
            let problem = Problem::new(
                Kind::Setting,
                found,
                format!("one from 0 to {}", components.saturating_sub(1)),
                "correct it",
            );
            Err(problem.setting(key))
        }
        (Some(index), false) => {
            let found = format!("{index}, and no axis `channel` of {whose}");
            Err(Problem::new(Kind::Setting, found, "none", "remove it, or name the axis in `axes`").setting(key))
        }
        _ => Ok((arrays, axes)),
    }
}

/// What an array holds that is not numbers, in words.
fn other(listed: &Listed) -> Option<String> {
    match &listed.holds {
        Holds::Numbers(_) => None,
        Holds::Texts => Some("of texts".to_owned()),
        Holds::Other(what) => Some(what.clone()),
    }
}

/// The length of each axis; all arrays, in all groups, agree.
fn lengths(file: &dyn ArrayFile, found: &[Found], groups: &Groups) -> Result<BTreeMap<String, usize>, Vec<Problem>> {
    let mut lengths: BTreeMap<String, (usize, &str)> = BTreeMap::new();
    let mut problems = Vec::new();
    for (index, (arrays, axes)) in found.iter().enumerate() {
        for group in 0..groups.ids.len().max(1) {
            let listed = &file.listed()[arrays.of(group)];
            if listed.shape.len() != axes.len() {
                let found =
                    format!("{} axes of array `{}` ({})", listed.shape.len(), listed.name, listed.shape_in_words());
                let problem = Problem::new(
                    Kind::UnsupportedFile,
                    found,
                    format!("{}", axes.len()),
                    "give every group arrays of one shape",
                );
                problems.push(problem.setting(format!("import.fields.channels[{index}].array")));
                continue;
            }
            for (axis, &length) in axes.iter().zip(&listed.shape).filter(|(axis, _)| *axis != CHANNEL) {
                let (first, whose) = *lengths.entry(axis.clone()).or_insert((length, &listed.name));
                if first != length {
                    let found = format!("{length} positions on axis `{axis}` of array `{}`", listed.name);
                    let expected = format!("{first}, as in array `{whose}`");
                    let problem = Problem::new(
                        Kind::UnsupportedFile,
                        found,
                        expected,
                        "correct `axes`, or name arrays of one grid",
                    );
                    problems.push(problem.setting(format!("import.fields.channels[{index}].array")));
                }
                if length == 0 {
                    let found = format!("no position on axis `{axis}` of array `{}`", listed.name);
                    let problem = Problem::new(Kind::NoRows, found, "at least one", "leave the file out");
                    problems.push(problem.setting(format!("import.fields.channels[{index}].array")));
                }
            }
        }
    }
    if problems.is_empty() && !lengths.contains_key(TIME) {
        let found = "no axis `time`";
        let remedy = "name the axis of the samples `time`; fields without time are no trajectories";
        let problem = Problem::new(Kind::Setting, found, "an axis of samples", remedy);
        problems.push(problem.setting("import.fields.axes"));
    }
    if problems.is_empty() { Ok(lengths.into_iter().map(|(axis, it)| (axis, it.0)).collect()) } else { Err(problems) }
}

/// The names of the axes in space, in the order of the dataset.
fn axes_in_space(fields: &Fields, found: &[Found]) -> Result<Vec<String>, Vec<Problem>> {
    let mut space: Vec<String> = Vec::new();
    let in_arrays: Vec<&String> =
        found.iter().flat_map(|(_, axes)| axes).filter(|axis| !is_of_no_space(axis)).collect();
    let mut problems = Vec::new();
    for (index, axis) in fields.grid.iter().enumerate() {
        if in_arrays.contains(&&axis.name) {
            space.push(axis.name.clone());
        } else {
            let names: Vec<&str> = in_arrays.iter().map(|name| name.as_str()).collect();
            let found = format!("{}, which no array has", shown(&axis.name));
            let remedy = if names.is_empty() {
                "there are none".to_owned()
            } else {
                format!("there are {}", listing(&names[..names.len().min(MOST_IN_SPACE)]))
            };
            let problem = Problem::new(Kind::Setting, found, "an axis in space of the arrays", remedy);
            problems.push(problem.setting(format!("import.fields.grid[{index}].name")));
        }
    }
    for name in in_arrays {
        if !space.contains(name) {
            space.push(name.clone());
        }
    }
    if problems.is_empty() && !(1..=MOST_IN_SPACE).contains(&space.len()) {
        let found = match space.len() {
            0 => "no axis in space".to_owned(),
            _ => format!("{} axes in space: {}", space.len(), listing(&space)),
        };
        let remedy = "name the axes in `axes` by what they are; series without space are read by [import.table]";
        problems.push(Problem::new(Kind::Setting, found, "one to three", remedy).setting("import.fields.axes"));
    }
    if problems.is_empty() { Ok(space) } else { Err(problems) }
}

/// What each channel is read from, and what is converted.
type Sources = (Vec<Source>, Vec<(String, String, String)>);

fn sources(
    file: &mut dyn ArrayFile,
    fields: &Fields,
    found: Vec<Found>,
    space: &[String],
) -> Result<Sources, Vec<Problem>> {
    let (mut sources, mut converted, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (arrays, axes)) in found.into_iter().enumerate() {
        let channel = &fields.channels[index];
        let key = format!("import.fields.channels[{index}]");
        let absent: Vec<&String> = space.iter().filter(|name| !axes.contains(*name)).collect();
        if !absent.is_empty() {
            let found = format!("array `{}` without the axes {}", file.listed()[arrays.of(0)].name, listing(&absent));
            let problem =
                Problem::new(Kind::UnsupportedFile, found, "a field on the whole grid", "leave the channel out");
            problems.push(problem.setting(format!("{key}.array")));
            continue;
        }
        let role = |axis: &String| match axis.as_str() {
            ENVIRONMENT => Role::Environment,
            TRAJECTORY => Role::Trajectory,
            TIME => Role::Time,
            CHANNEL => Role::Channel,
            name => Role::Space(space.iter().position(|it| it == name).unwrap_or(0)),
        };
        let roles: Vec<Role> = axes.iter().map(role).collect();
        let unit = match file.unit(arrays.of(0)) {
            Ok(unit) => unit,
            Err(found) => {
                let found = format!("array `{}` {found}", file.listed()[arrays.of(0)].name);
                let problem =
                    Problem::new(Kind::UnsupportedFile, found, "attributes as CF has them", "correct the file");
                problems.push(problem.setting(format!("{key}.array")));
                continue;
            }
        };
        let stated = channel.array_unit.as_deref();
        match conversion(unit.as_deref(), stated, &channel.unit, &format!("{key}.unit"), &format!("{key}.array_unit")) {
            Ok(conversion) => {
                if (conversion.apply(0.0), conversion.apply(1.0)) != (0.0, 1.0) {
                    let from = stated.or(unit.as_deref()).unwrap_or_default();
                    converted.push((channel.name.clone(), from.to_owned(), channel.unit.clone()));
                }
                sources.push(Source { arrays, roles, position: channel.index.unwrap_or(0), conversion });
            }
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok((sources, converted)) } else { Err(problems) }
}
