//! HDF5 files of no known layout: variables of numbers or texts with an axis of `T` samples.
//!
//! | in the file | columns |
//! |---|---|
//! | a variable `[T]`, perhaps with further axes of length 1 | one, named by its path |
//! | numbers `[T, C]` or `[C, T]` | `name.0`, `name.1`, .. |
//! | one number | one, constant |
//! | `[B, T]` or `[T, B]` beside a coordinate `[B]` of netCDF | one, and the coordinate tells trajectories apart |
//! | a table: a variable `[T]` of compound values | one per member, by its name |
//! | several groups or tables with the same names | these names, and `group` (`group.1`, `group.2`, .. for nested groups) |
//!
//! Files of MATLAB 7.3 (whose axes are reversed) and of netCDF-4 (whose variables have attributes) are read so.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hdf5_metno::types::{FloatSize, IntSize, TypeDescriptor};
use hdf5_metno::{Dataset, File, Group};

use super::attributes::{LONGEST_TEXT, is_bare_dimension, is_coordinate, matlab_class};
use super::values::{Axis, Member, Values};
use super::variables::{COPY, Columns, EXPORT, MOST_CHANNELS, Table, Tables, Variable, names};
use crate::import::tables::batch::Refusal;

/// Depth of nested groups that are searched.
const DEEPEST: usize = 4;

/// Unread variables named in a message at most.
const NAMED: usize = 3;

/// What to do about groups that are not alike.
const SAME: &str =
    "give every group the variables of the others: each is then an environment, `environment = \"group\"`";

/// A variable, or a member of a compound one.
struct Part {
    name: String,
    variable: Dataset,
    /// The type to read a member as.
    member: Option<TypeDescriptor>,
}

impl Part {
    /// Length of its only axis other than those of length 1; `None` if there are several.
    fn length(&self) -> Option<usize> {
        let shape = self.variable.shape();
        let mut long = shape.iter().filter(|&&length| length != 1);
        match (long.next(), long.next()) {
            (None, _) => Some(1),
            (Some(&length), None) => Some(length),
            _ => None,
        }
    }

    fn is_of_numbers(&self) -> bool {
        let kind = self.variable.dtype().and_then(|kind| kind.to_descriptor());
        let is_number =
            |kind| matches!(kind, TypeDescriptor::Integer(_) | TypeDescriptor::Unsigned(_) | TypeDescriptor::Float(_));
        kind.is_ok_and(is_number)
    }

    fn shape_in_words(&self) -> String {
        self.variable.shape().iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
    }
}

/// The parts of a file by the path of their group or table.
type Groups = BTreeMap<String, Vec<Part>>;

/// The tables of a file.
///
/// # Errors
/// Why the file cannot be read as tables.
pub(crate) fn tables(path: &Path, file: &File) -> Result<Tables, Refusal> {
    let root = file.as_group().map_err(|error| (error.to_string(), COPY))?;
    let mut found = Found { path, groups: Groups::new(), left: Columns::default() };
    found.collect(&root, "", 0);
    let Found { groups, left, .. } = found;
    let found = match are_alike(&groups)? {
        true => tables_of_groups(path, groups, left)?,
        false => table_of_file(path, groups, left)?,
    };
    if found.tables.iter().all(|table| table.columns.is_empty()) {
        let named = found.unread.iter().take(NAMED).map(|(name, what)| format!("; `{name}` is one {what}"));
        let named: String = named.collect();
        return Err((format!("an HDF5 file without a variable of one axis of numbers or texts{named}"), EXPORT));
    }
    Ok(found)
}

/// What has been found in a file.
struct Found<'a> {
    path: &'a Path,
    groups: Groups,
    /// Only `unread` is used.
    left: Columns,
}

impl Found<'_> {
    /// Adds every variable in the group at `path` and in the groups within it.
    fn collect(&mut self, group: &Group, path: &str, depth: usize) {
        // Internal to MATLAB and PyTables.
        let is_hidden = |name: &String| name.starts_with('#') || name.starts_with("_i_");
        for name in names(group).into_iter().filter(|name| !is_hidden(name)) {
            let own_path = joined(path, &name);
            match group.dataset(&name) {
                Ok(variable) => self.variable(name, variable, path, &own_path),
                Err(_) if depth < DEEPEST => {
                    if let Ok(inner) = group.group(&name) {
                        self.collect(&inner, &own_path, depth + 1);
                    }
                }
                Err(_) => {}
            }
        }
    }

    /// Adds the variable at `path`, which is in `group`.
    fn variable(&mut self, name: String, variable: Dataset, group: &str, path: &str) {
        if is_bare_dimension(self.path, &variable) {
            return;
        }
        if let Some(what) = matlab_class(self.path, &variable) {
            self.left.leave(path, what);
            return;
        }
        match variable.dtype().and_then(|kind| kind.to_descriptor()) {
            Ok(TypeDescriptor::Compound(kind)) => {
                for field in kind.fields {
                    self.member(field.name, variable.clone(), &field.ty, path);
                }
            }
            _ => self.put(group, Part { name, variable, member: None }),
        }
    }

    /// Adds a member of the compound variable at `path`, to be read as the widest type of its kind.
    fn member(&mut self, name: String, variable: Dataset, kind: &TypeDescriptor, path: &str) {
        let widest = |kind: &TypeDescriptor| match kind {
            TypeDescriptor::Integer(_) => Some(TypeDescriptor::Integer(IntSize::U8)),
            TypeDescriptor::Unsigned(_) => Some(TypeDescriptor::Unsigned(IntSize::U8)),
            TypeDescriptor::Float(_) => Some(TypeDescriptor::Float(FloatSize::U8)),
            _ => None,
        };
        let read = match kind {
            TypeDescriptor::FixedAscii(length) | TypeDescriptor::FixedUnicode(length) if *length <= LONGEST_TEXT => {
                Some(kind.clone())
            }
            TypeDescriptor::FixedArray(of, count) if *count <= MOST_CHANNELS => {
                widest(of).map(|of| TypeDescriptor::FixedArray(Box::new(of), *count))
            }
            kind => widest(kind),
        };
        match read {
            Some(read) => self.put(path, Part { name, variable, member: Some(read) }),
            None => self.left.leave(&name, format!("of the type {kind} in a table")),
        }
    }

    fn put(&mut self, group: &str, part: Part) {
        self.groups.entry(group.to_owned()).or_default().push(part);
    }
}

/// The path of a member of a group.
fn joined(group: &str, name: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{group}/{name}") }
}

/// Whether a group has a variable of more than one value.
fn is_sampled(parts: &[Part]) -> bool {
    parts.iter().any(|part| part.length() != Some(1))
}

fn names_of(parts: &[Part]) -> BTreeSet<&str> {
    parts.iter().map(|part| part.name.as_str()).collect()
}

/// Whether the groups of a file have the same variables, each with samples of its own.
///
/// # Errors
/// The refusal of a file whose groups are neither alike nor of one number of samples.
fn are_alike(groups: &Groups) -> Result<bool, Refusal> {
    let sampled: Vec<(&String, BTreeSet<&str>)> =
        groups.iter().filter(|(_, parts)| is_sampled(parts)).map(|(group, parts)| (group, names_of(parts))).collect();
    let [first, .., last] = sampled.as_slice() else { return Ok(false) };
    if first.1.len() > 1 && sampled.iter().all(|group| group.1 == first.1) {
        return Ok(true);
    }
    if samples(groups.values().flatten()).is_ok() {
        return Ok(false);
    }
    let other = sampled.iter().find(|group| group.1 != first.1).unwrap_or(last);
    let listed = |(group, names): &(&String, BTreeSet<&str>)| {
        let names: Vec<&str> = names.iter().copied().collect();
        format!("`/{group}` of `{}`", names.join("`, `"))
    };
    Err((format!("groups of different variables and lengths: {}, {}", listed(first), listed(other)), SAME))
}

/// The number of samples: that of the times, else that of most variables.
///
/// # Errors
/// The refusal of a file in which several numbers are equally likely.
fn samples<'a>(parts: impl Iterator<Item = &'a Part> + Clone) -> Result<usize, Refusal> {
    let is_time = |part: &&Part| ["t", "time"].contains(&part.name.to_lowercase().as_str());
    let times: BTreeSet<usize> = parts.clone().filter(is_time).filter_map(Part::length).collect();
    if let [only] = *times.into_iter().collect::<Vec<_>>() {
        return Ok(only);
    }
    let mut counts: BTreeMap<usize, (usize, &str)> = BTreeMap::new();
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    for part in parts.clone() {
        let Some(length) = part.length().filter(|&length| length != 1) else { continue };
        counts.entry(length).or_insert((0, &part.name)).0 += 1;
        let first = *named.entry(&part.name).or_insert(length);
        if first != length {
            return Err((format!("variables `{}` of {first} and of {length} values", part.name), SAME));
        }
    }
    let mut ordered: Vec<(usize, (usize, &str))> = counts.into_iter().collect();
    ordered.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    match ordered.as_slice() {
        [(length, _)] => Ok(*length),
        [(a, (most, first)), (b, (second, other)), ..] if most == second => {
            Err((format!("variables of different lengths: `{first}` of {a}, `{other}` of {b}"), EXPORT))
        }
        [(length, _), ..] => Ok(*length),
        // Only matrices: their longer axis.
        [] => Ok(parts.flat_map(|part| part.variable.shape()).max().unwrap_or(1)),
    }
}

/// The number of trajectories: the length of a coordinate other than that of the samples, else 1.
fn rows<'a>(path: &Path, parts: impl Iterator<Item = &'a Part>, samples: usize) -> usize {
    let coordinates = parts.filter(|part| part.length().is_some() && is_coordinate(path, &part.variable));
    let others: BTreeSet<usize> = coordinates.filter_map(Part::length).filter(|&it| it != samples && it != 1).collect();
    if let [only] = *others.into_iter().collect::<Vec<_>>() { only } else { 1 }
}

/// One table of all variables, named by their paths.
fn table_of_file(path: &Path, groups: Groups, mut columns: Columns) -> Result<Tables, Refusal> {
    let samples = samples(groups.values().flatten())?;
    let rows = rows(path, groups.values().flatten(), samples);
    let is_single = groups.len() == 1;
    for (group, parts) in groups {
        for part in parts {
            let is_bare = group.is_empty() || is_single && part.member.is_some();
            let name = if is_bare { part.name.clone() } else { joined(&group, &part.name) };
            columns.add_part(path, &name, part, rows, samples)?;
        }
    }
    let coordinates = columns.read.iter().filter(|column| rows > 1 && column.values.is_of_rows());
    let apart = coordinates.map(|column| column.name.clone()).collect();
    Ok(Tables { apart, ..columns.table(rows, samples, false) })
}

/// One table per group.
fn tables_of_groups(path: &Path, groups: Groups, left: Columns) -> Result<Tables, Refusal> {
    let (mut tables, mut unread) = (Vec::new(), left.unread);
    let sampled = groups.values().find(|parts| is_sampled(parts)).map(|parts| names_of(parts)).unwrap_or_default();
    let sampled: BTreeSet<String> = sampled.into_iter().map(str::to_owned).collect();
    // A group may have a single sample. Groups of other names describe the whole file.
    let is_alike = |parts: &[Part]| names_of(parts).into_iter().eq(sampled.iter().map(String::as_str));
    let (groups, others): (Groups, Groups) = groups.into_iter().partition(|(_, parts)| is_alike(parts));
    for (group, part) in others.iter().flat_map(|(group, parts)| parts.iter().map(move |part| (group, part))) {
        unread.push((joined(group, &part.name), "beside the groups of samples".to_owned()));
    }
    let ids = ids_of_groups(groups.keys());
    for (parts, ids) in groups.into_values().zip(ids) {
        let mut columns = Columns::default();
        let samples = samples(parts.iter())?;
        for (level, id) in (1..).zip(&ids) {
            let mut name = if ids.len() > 1 { format!("group.{level}") } else { "group".to_owned() };
            while parts.iter().any(|part| part.name == name) {
                name.push('_');
            }
            columns.put(&name, Values::Same(id.clone()));
        }
        for part in parts {
            let name = part.name.clone();
            columns.add_part(path, &name, part, 1, samples)?;
        }
        unread.extend(columns.unread);
        tables.push(Table { columns: columns.read, rows: 1, samples, padded: false });
    }
    drop_columns_that_differ(&mut tables, &mut unread);
    let columns = tables.first().into_iter().flat_map(|table| &table.columns);
    let ids = columns.filter(|column| matches!(column.values, Values::Same(_)));
    let apart = ids.map(|column| column.name.clone()).collect();
    Ok(Tables { tables, unread, apart })
}

/// The ids of groups: their paths without the beginning and the end that all have in common, one id per level if all are equally deep.
fn ids_of_groups<'a>(groups: impl Iterator<Item = &'a String>) -> Vec<Vec<String>> {
    let paths: Vec<Vec<&str>> = groups.map(|group| group.split('/').collect()).collect();
    let shortest = paths.iter().map(|path| path.len()).min().unwrap_or(0);
    let is_shared = |depth: &usize| paths.iter().all(|path| path[*depth] == paths[0][*depth]);
    let shared = (0..shortest.saturating_sub(1)).take_while(is_shared).count();
    // Groups that each hold a table of one name have their end in common.
    let from_end = |path: &[&str], back: usize| path[path.len() - 1 - back].to_owned();
    let is_end_shared = |back: &usize| paths.iter().all(|path| from_end(path, *back) == from_end(&paths[0], *back));
    let ends = (0..shortest.saturating_sub(shared + 1)).take_while(is_end_shared).count();
    let own: Vec<&[&str]> = paths.iter().map(|path| &path[shared..path.len() - ends]).collect();
    let is_even = own.iter().all(|ids| ids.len() == own[0].len());
    own.iter()
        .map(|ids| if is_even { ids.iter().map(|&id| id.to_owned()).collect() } else { vec![ids.join("/")] })
        .collect()
}

/// Keeps the columns that all tables have in the same unit.
fn drop_columns_that_differ(tables: &mut [Table], unread: &mut Vec<(String, String)>) {
    let mut units: BTreeMap<String, Vec<Option<String>>> = BTreeMap::new();
    for Variable { name, unit, .. } in tables.iter().flat_map(|table| &table.columns) {
        units.entry(name.clone()).or_default().push(unit.clone());
    }
    units.retain(|name, units| {
        let is_alike = units.iter().all(|unit| *unit == units[0]);
        if !is_alike {
            let different: BTreeSet<&str> = units.iter().map(|unit| unit.as_deref().unwrap_or("none")).collect();
            let different: Vec<&str> = different.into_iter().collect();
            unread.push((name.clone(), format!("in different units in different groups, {}", different.join(" and "))));
        }
        is_alike && units.len() == tables.len()
    });
    for table in tables {
        table.columns.retain(|column| units.contains_key(&column.name));
    }
}

impl Columns {
    /// Adds the columns of a part, in a file of `rows` trajectories of `samples` samples.
    fn add_part(&mut self, path: &Path, name: &str, part: Part, rows: usize, samples: usize) -> Result<(), Refusal> {
        let shape = part.variable.shape();
        let along = |sampled: usize, at: usize| -> Vec<Axis> {
            (0..shape.len()).map(|axis| if axis == sampled { Axis::Samples } else { Axis::At(at) }).collect()
        };
        let sampled: Vec<usize> = (0..shape.len()).filter(|&axis| shape[axis] == samples).collect();
        let (axes, channels) = match (part.length(), sampled.as_slice()) {
            (Some(1), _) if samples > 1 => (vec![Axis::At(0); shape.len()], 1),
            (Some(_), &[axis, ..]) => (along(axis, 0), 1),
            (Some(length), _) if length == rows => {
                (shape.iter().map(|&it| if it == rows { Axis::Rows } else { Axis::At(0) }).collect(), 1)
            }
            (Some(length), _) => {
                self.leave(name, format!("of {length} values, where there are {samples} samples"));
                return Ok(());
            }
            (None, &[axis]) if shape.len() == 2 && rows > 1 && shape[1 - axis] == rows => {
                (if axis == 0 { vec![Axis::Samples, Axis::Rows] } else { vec![Axis::Rows, Axis::Samples] }, 1)
            }
            (None, &[axis]) if shape.len() == 2 && shape[1 - axis] <= MOST_CHANNELS && part.is_of_numbers() => {
                (along(axis, 0), shape[1 - axis])
            }
            _ => {
                self.leave(name, format!("of {} values", part.shape_in_words()));
                return Ok(());
            }
        };
        let Part { variable, member, name: own } = part;
        match member {
            None if channels == 1 => self.add(path, name, variable, axes),
            None => (0..channels).try_for_each(|c| {
                let axes = axes.iter().map(|axis| if *axis == Axis::Samples { *axis } else { Axis::At(c) }).collect();
                self.add(path, &format!("{name}.{c}"), variable.clone(), axes)
            }),
            Some(TypeDescriptor::FixedArray(of, count)) => (0..count).try_for_each(|at| {
                let kind = TypeDescriptor::FixedArray(of.clone(), count);
                let member = Member { name: own.clone(), kind, at };
                self.add_member(&format!("{name}.{at}"), variable.clone(), axes.clone(), member)
            }),
            Some(kind) => self.add_member(name, variable, axes, Member { name: own, kind, at: 0 }),
        }
    }
}
