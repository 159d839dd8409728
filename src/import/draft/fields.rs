//! A draft of [import.fields] for a file of arrays, or a folder of such files.

use std::fs;
use std::path::{Path, PathBuf};

use super::attempts::{best, is_large};
use super::toml::{Toml, identifier, list, quoted};
use crate::import::fields::array_file::{ArrayFile, Fact, Holds, Listed};
use crate::import::fields::formats;
use crate::import::fields::layouts;
use crate::import::fields::layouts::Layout;
use crate::import::settings::fields::{CHANNEL, ENVIRONMENT, TIME, TRAJECTORY, is_of_no_space};
use crate::problems::{Kind, Problem};
use crate::units::Unit;

/// An axis of more positions is none of channels.
const MOST_CHANNELS: usize = 8;
/// Channels that a draft names at most.
const NAMED: usize = 32;
/// Names of coordinates, by the axis that they are of.
const COORDINATES: [(&str, &[&str]); 4] = [
    (TIME, &["time", "times", "t"]),
    ("x", &["x", "lon", "longitude"]),
    ("y", &["y", "lat", "latitude"]),
    ("z", &["z", "lev", "level", "height", "depth"]),
];
/// Attributes of a file that are no parameters.
const NO_PARAMETERS: [&str; 4] = ["n_spatial_dims", "n_trajectories", "grid_type", "_NCProperties"];
/// What remains to be chosen where splits are drafted: trajectories, their ends, or nothing to train on.
const SPLITS: [&str; 3] = [
    "adapt = []    # environments to estimate\nvalidation = { fraction = 0.2 }    # trajectories that choose the model\nseed = 0\n",
    "adapt = []    # environments to estimate\nvalidation = { last = 0.25 }    # the end of each trajectory chooses the model\n",
    "adapt = [\"*\"]    # all, for an estimate by equations: there is too little to train on\n",
];

/// What is to be drafted.
struct Guessed<'a> {
    file: &'a mut dyn ArrayFile,
    layout: Option<Layout>,
    /// The arrays of the channels, all of the same axes; for groups, those of the first.
    arrays: Vec<usize>,
    axes: Vec<String>,
    /// The group of the first trajectory, where each has its own.
    group: Option<String>,
}

/// A section for the file at `path`, or for the files in the folder at `path`; `None` if that holds no fields.
///
/// # Errors
/// If the file is one of arrays, and cannot be read.
pub(super) fn draft(path: &Path) -> Result<Option<String>, Vec<Problem>> {
    let first = if path.is_dir() { first_in(path) } else { Some(path.to_owned()) };
    let Some(first) = first.filter(|first| formats::of_file(first).is_some()) else { return Ok(None) };
    let is_numpy = first.extension().is_some_and(|ending| ending == "npy" || ending == "npz");
    let mut file = match formats::open(&first) {
        Ok(file) => file,
        // What is no file of fields may yet be one of tables, whose reader then says what is wrong.
        Err(problem) if is_numpy => return Err(vec![problem.setting("guess")]),
        Err(_) => return Ok(None),
    };
    let Some(mut guessed) = guess(file.as_mut(), is_numpy) else {
        if !is_numpy {
            return Ok(None);
        }
        let remedy = "name a file with an array of numbers, [time, x] at least";
        return Err(vec![
            Problem::new(Kind::UnsupportedFile, "no array of fields", "fields on a grid", remedy).file(&first),
        ]);
    };
    let head = guessed.head(path, &first);
    let large = is_large(&first);
    Ok(Some(best(SPLITS.iter().map(|splits| format!("{head}\n[import.splits]\n{splits}")), large)))
}

/// The first file of arrays in a folder.
fn first_in(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let is_of_arrays = |path: &PathBuf| {
        path.is_file() && path.extension().and_then(|ending| ending.to_str()).is_some_and(formats::is_ending)
    };
    entries.filter(is_of_arrays).min()
}

/// What the arrays of a file are, if some of them are fields.
fn guess(file: &mut dyn ArrayFile, is_numpy: bool) -> Option<Guessed<'_>> {
    let layout = layouts::ALL.into_iter().find(|layout| (layout.is_of)(file));
    let of_numbers = |it: &Listed| matches!(it.holds, Holds::Numbers(_));
    if let Some(layout) = layout {
        let mut fields = Vec::new();
        for array in 0..file.listed().len() {
            if !of_numbers(&file.listed()[array]) || stands_in_group(file.listed(), array) {
                continue;
            }
            let Some(axes) = (layout.axes)(file, array) else { continue };
            let shape = &file.listed()[array].shape;
            let in_space = axes.iter().zip(shape).filter(|(axis, length)| !is_of_no_space(axis) && **length > 1);
            if in_space.count() > 0 && axes.iter().any(|axis| axis == TIME) {
                fields.push((array, axes));
            }
        }
        let (first, axes) = fields.first()?.clone();
        let without = |axes: &[String]| axes.iter().filter(|axis| *axis != CHANNEL).cloned().collect::<Vec<_>>();
        let time = (layout.time)(file).unwrap_or_default();
        let group = time.contains(&format!("{{{TRAJECTORY}}}"));
        let group = group.then(|| file.listed()[first].name.split('/').next().unwrap_or_default().to_owned());
        let is_of_first = |array: usize| {
            let name = &file.listed()[array].name;
            group.as_ref().is_none_or(|group| name.starts_with(&format!("{group}/")))
        };
        let same = fields.iter().filter(|(array, other)| without(other) == without(&axes) && is_of_first(*array));
        let arrays = same.map(|(array, _)| *array).collect();
        return Some(Guessed { file, layout: Some(layout), arrays, axes, group });
    }
    let long = |it: &Listed| it.shape.iter().filter(|&&length| length > 1).count();
    let least = if is_numpy { 2 } else { 3 };
    let candidates = file.listed().iter().enumerate().filter(|(_, it)| of_numbers(it) && long(it) >= least);
    let (_, shape) =
        candidates.map(|(i, it)| (i, it.shape.clone())).max_by_key(|(_, shape)| shape.iter().product::<usize>())?;
    let arrays = (0..file.listed().len())
        .filter(|&i| of_numbers(&file.listed()[i]) && file.listed()[i].shape == shape)
        .collect();
    let axes = axes_of(file.listed(), &shape);
    Some(Guessed { file, layout: None, arrays, axes, group: None })
}

/// Whether an array at the root stands in a group too, as in files of ours.
fn stands_in_group(listed: &[Listed], array: usize) -> bool {
    let Listed { name, shape, .. } = &listed[array];
    let is_the_same = |it: &Listed| it.name.contains('/') && it.own_name() == name && it.shape == *shape;
    !name.contains('/') && listed.iter().any(is_the_same)
}

/// Guesses what the axes of a shape are: by arrays with coordinates, else by their number and lengths.
fn axes_of(listed: &[Listed], shape: &[usize]) -> Vec<String> {
    let names: &[&str] = match (shape.len(), shape.last()) {
        (2, _) => &[TIME, "x"],
        (3, Some(&last)) if last <= MOST_CHANNELS => &[TIME, "x", CHANNEL],
        (3, _) if shape[1] == shape[2] => &[TIME, "x", "y"],
        (3, _) => &[TRAJECTORY, TIME, "x"],
        (4, Some(&last)) if last <= MOST_CHANNELS => &[TIME, "x", "y", CHANNEL],
        (4, _) => &[TRAJECTORY, TIME, "x", "y"],
        (5, Some(&last)) if last <= MOST_CHANNELS => &[TRAJECTORY, TIME, "x", "y", CHANNEL],
        (5, _) => &[TRAJECTORY, TIME, "x", "y", "z"],
        _ => &[TRAJECTORY, TIME, "x", "y", "z", CHANNEL],
    };
    let mut axes: Vec<String> = names.iter().take(shape.len()).map(|&name| name.to_owned()).collect();
    axes.resize_with(shape.len(), || CHANNEL.to_owned());
    let found: Vec<(&str, usize)> =
        COORDINATES.iter().filter_map(|(axis, names)| Some((*axis, length_of(listed, names)?))).collect();
    let mut by_coordinates = vec![None; shape.len()];
    for (axis, length) in &found {
        let place = (0..shape.len()).find(|&i| shape[i] == *length && by_coordinates[i].is_none());
        place.into_iter().for_each(|place| by_coordinates[place] = Some((*axis).to_owned()));
    }
    if by_coordinates.iter().flatten().any(|axis| axis == TIME) && by_coordinates.iter().flatten().count() > 1 {
        let last = shape.len() - 1;
        let rest = |(i, axis): (usize, Option<String>)| {
            axis.unwrap_or_else(|| if i == last && shape[i] <= MOST_CHANNELS { CHANNEL } else { TRAJECTORY }.to_owned())
        };
        axes = by_coordinates.into_iter().enumerate().map(rest).collect();
    }
    axes
}

/// The length of the array of coordinates of one of these names.
fn length_of(listed: &[Listed], names: &[&str]) -> Option<usize> {
    let is_named = |it: &&Listed| names.contains(&it.own_name().to_lowercase().as_str());
    listed.iter().filter(is_named).find(|it| it.shape.len() == 1).map(|it| it.shape[0])
}

/// The path of that array.
fn path_of(listed: &[Listed], names: &[&str], length: usize) -> Option<String> {
    let is_named = |it: &&Listed| names.contains(&it.own_name().to_lowercase().as_str()) && it.shape == [length];
    listed.iter().find(is_named).map(|it| it.name.clone())
}

impl Guessed<'_> {
    /// All sections but the splits.
    fn head(&mut self, path: &Path, first: &Path) -> String {
        let mut text = Toml::default();
        let (folder, name) =
            (first.parent().filter(|it| !it.as_os_str().is_empty()), first.file_name().unwrap_or_default());
        let stem = if path.is_dir() { path.file_name() } else { first.file_stem() };
        let dataset = identifier(&stem.unwrap_or_default().to_string_lossy()).replace('_', "-");
        text.line("# A draft from the shapes and names of the arrays: read every line before you run it.");
        text.line("[import]");
        text.pair("dataset", &dataset, "");
        text.pair("directory", &folder.unwrap_or(Path::new(".")).display().to_string(), "");
        let (unit, whence) = self.time_unit();
        text.pair("time_unit", &unit, whence);
        text.line("\n[import.fields]");
        let ending = first.extension().unwrap_or_default().to_string_lossy();
        let file =
            if path.is_dir() { format!("{{environment}}.{ending}") } else { name.to_string_lossy().into_owned() };
        text.pair(
            "file",
            &file,
            "`*` for several files; `{environment}`, or `{NAME}` for a value, takes what stands in their names",
        );
        if let Some(pattern) = values_in(&name.to_string_lossy()).filter(|_| !path.is_dir()) {
            let note = "if its name holds values: then `expression` of a parameter may name them";
            text.line(&format!("# file = {}    # {note}", quoted(&pattern)));
        }
        match self.layout {
            Some(layout) => {
                text.line(&format!("# Laid out as {} has it; axes: {}.", layout.name, list(self.axes.iter())))
            }
            None => text.line(&format!("axes = {}    # guessed from {}", list(self.axes.iter()), self.shape())),
        }
        self.time(&mut text);
        self.grid(&mut text);
        self.channels(&mut text);
        self.parameters(&mut text);
        text.text
    }

    fn shape(&self) -> String {
        self.file.listed()[self.arrays[0]].shape_in_words()
    }

    fn length(&self, axis: &str) -> usize {
        let shape = &self.file.listed()[self.arrays[0]].shape;
        self.axes.iter().zip(shape).find(|(name, _)| *name == axis).map_or(1, |(_, length)| *length)
    }

    /// The array of times.
    fn times(&mut self) -> Option<String> {
        match self.layout {
            Some(layout) => (layout.time)(self.file),
            None => path_of(self.file.listed(), COORDINATES[0].1, self.length(TIME)),
        }
    }

    fn time_unit(&mut self) -> (String, &'static str) {
        let unsaid = ("1".to_owned(), "not said in the file: correct it");
        let Some(path) = self.times() else { return unsaid };
        let path = path.replace(&format!("{{{TRAJECTORY}}}"), self.group.as_deref().unwrap_or_default());
        let Some(array) = self.file.find(&path) else { return unsaid };
        if let Ok(Some(_)) = self.file.since(array) {
            return ("d".to_owned(), "to count in, from the first sample: the file has times since a date");
        }
        match self.file.unit(array) {
            Ok(Some(unit)) if Unit::parse(&unit).is_some() => (unit, "as the file says"),
            _ => unsaid,
        }
    }

    fn time(&mut self, text: &mut Toml) {
        match (self.layout, self.times()) {
            (Some(_), Some(_)) => {}
            (_, Some(array)) => text.line(&format!("time = {{ array = {} }}", quoted(&array))),
            (_, None) => text.line("time = { spacing = 1.0 }    # between two samples: not said in the file"),
        }
    }

    fn grid(&mut self, text: &mut Toml) {
        text.line("grid = [");
        let names: Vec<String> = self.axes.iter().filter(|axis| !is_of_no_space(axis)).cloned().collect();
        for name in names {
            let length = self.length(&name);
            let (mut coordinates, boundary) = match self.layout {
                Some(layout) => (layout.axis)(self.file, &name),
                None => (None, None),
            };
            let mut parts = vec![format!("name = {}", quoted(&name))];
            if coordinates.is_none() {
                let known = COORDINATES.iter().find(|(axis, _)| *axis == name).map_or(&[][..], |(_, names)| names);
                coordinates = path_of(self.file.listed(), known, length);
                parts.extend(coordinates.iter().map(|array| format!("array = {}", quoted(array))));
            }
            let mut notes = Vec::new();
            if coordinates.is_none() {
                parts.push("unit = \"1\", spacing = 1.0".to_owned());
                notes.push("the spacing is not said in the file");
            }
            let boundary = boundary.map_or_else(
                || {
                    notes.push("not said what lies beyond its ends: \"periodic\", \"zero\" or \"replicate\"");
                    "periodic"
                },
                |boundary| boundary.name(),
            );
            parts.push(format!("boundary = \"{boundary}\""));
            let note = if notes.is_empty() { String::new() } else { format!("    # {}", notes.join("; ")) };
            text.line(&format!("    {{ {} }},{note}", parts.join(", ")));
        }
        text.line("]");
    }

    fn channels(&mut self, text: &mut Toml) {
        text.line("channels = [");
        let space: Vec<String> = self.axes.iter().filter(|axis| !is_of_no_space(axis)).cloned().collect();
        let mut left = NAMED;
        for array in self.arrays.clone() {
            let listed = self.file.listed()[array].clone();
            let axes = match self.layout {
                Some(layout) => (layout.axes)(self.file, array).unwrap_or_default(),
                None => self.axes.clone(),
            };
            let components: usize = axes
                .iter()
                .zip(&listed.shape)
                .filter(|(axis, _)| *axis == CHANNEL)
                .map(|(_, length)| *length)
                .product();
            let has_channels = axes.iter().any(|axis| axis == CHANNEL);
            let is_vector = listed.name.starts_with("t1_fields/");
            let (unit, note) = match self.file.unit(array) {
                Ok(Some(unit)) if Unit::parse(&unit).is_some() => (unit, ""),
                _ => ("1".to_owned(), "    # the unit is not said in the file: correct it"),
            };
            let names = self.file.attribute(&listed.name, "channels").unwrap_or_default();
            let units = self.file.attribute(&listed.name, "units").unwrap_or_default();
            let own = if listed.own_name().is_empty() { "u" } else { listed.own_name() };
            let path = match &self.group {
                Some(group) => listed.name.replacen(group, &format!("{{{TRAJECTORY}}}"), 1),
                None => listed.name.clone(),
            };
            for index in 0..components.min(left) {
                let called = match (names.get(index), space.get(index)) {
                    (Some(name), _) => name.text(),
                    (None, Some(axis)) if is_vector && components == space.len() => format!("{own}_{axis}"),
                    _ if has_channels && components > 1 => format!("{own}_{index}"),
                    _ => own.to_owned(),
                };
                let (unit, note) = match units.get(index) {
                    Some(unit) if units.len() == components && has_channels => (unit.text(), ""),
                    _ => (unit.clone(), note),
                };
                let mut parts =
                    vec![format!("name = {}", quoted(&text.name(&called))), format!("unit = {}", quoted(&unit))];
                parts.extend((!path.is_empty()).then(|| format!("array = {}", quoted(&path))));
                parts.extend((has_channels && components > 1).then(|| format!("index = {index}")));
                text.line(&format!("    {{ {} }},{note}", parts.join(", ")));
            }
            left = left.saturating_sub(components);
        }
        text.line("]");
    }

    fn parameters(&mut self, text: &mut Toml) {
        let rows = self.length(TRAJECTORY);
        let listed = |name: &str| {
            self.file.attribute("", name).unwrap_or_default().iter().map(|it| it.text()).collect::<Vec<_>>()
        };
        let mut names = listed("simulation_parameters");
        if names.is_empty() {
            names = self.file.attribute_names("");
        }
        names.retain(|name| !NO_PARAMETERS.contains(&name.as_str()) && is_number(self.file, name));
        let mut of_rows = Vec::new();
        for it in self.file.listed() {
            let is_scalar = it.name.starts_with("scalars/") && matches!(it.holds, Holds::Numbers(_));
            match it.shape.as_slice() {
                [] | [1] if is_scalar => names.push(it.own_name().to_owned()),
                [length] if is_scalar && *length == rows => of_rows.push(it.own_name().to_owned()),
                _ => {}
            }
        }
        of_rows.extend(self.file.attribute("parameters", "names").unwrap_or_default().iter().map(|it| it.text()));
        let has_ids = ["environment_id", ENVIRONMENT].iter().any(|name| self.file.find(name).is_some());
        if !of_rows.is_empty() && !has_ids {
            text.line(&format!("environment = {}    # each of their values is an environment", list(of_rows.iter())));
        }
        if names.is_empty() && of_rows.is_empty() {
            text.line("\n# [[import.parameters]]    # none is said in the file; `expression` may name a `{NAME}` of the file's name, or [import.side_table] has them");
        }
        for name in names.iter().chain(&of_rows) {
            text.line("\n[[import.parameters]]");
            let called = text.name(name);
            text.pair("name", &called, "");
            text.unit(None, "");
            text.pair("expression", &format!("{{{name}}}"), "");
        }
    }
}

/// The pattern of a file's name that seems to hold values, as `Nu0.5_Rho1.0.hdf5` or `F_0.03_k_0.06.h5`; `None` if it does not.
fn values_in(name: &str) -> Option<String> {
    let (stem, ending) = name.rsplit_once('.')?;
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphabetic());
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit()) && text.parse::<f64>().is_ok();
    let mut parts: Vec<String> = stem.split('_').map(str::to_owned).collect();
    let mut has_value = false;
    for i in 0..parts.len() {
        let start = parts[i].find(|c: char| c.is_ascii_digit()).unwrap_or(parts[i].len());
        let (word, number) = parts[i].split_at(start);
        if is_word(word) && is_number(number) && number.contains('.') {
            parts[i] = format!("{word}{{{word}}}");
            has_value = true;
        } else if i > 0 && is_word(&parts[i - 1]) && is_number(&parts[i]) {
            parts[i] = format!("{{{}}}", parts[i - 1]);
            has_value = true;
        }
    }
    has_value.then(|| format!("{}.{ending}", parts.join("_")))
}

/// Whether an attribute of the file is one number.
fn is_number(file: &dyn ArrayFile, name: &str) -> bool {
    let facts = file.attribute("", name).unwrap_or_default();
    matches!(facts.as_slice(), [Fact::Number(..)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(shape: &[usize], coordinates: &[(&str, usize)]) -> Vec<String> {
        let listed = |(name, length): &(&str, usize)| Listed {
            name: (*name).to_owned(),
            shape: vec![*length],
            holds: Holds::Numbers(crate::import::fields::array_file::Precision::Double),
        };
        axes_of(&coordinates.iter().map(listed).collect::<Vec<_>>(), shape)
    }

    #[test]
    fn values_in_the_name_of_a_file_make_a_pattern() {
        let pattern = |name| values_in(name).unwrap_or_default();
        assert_eq!(pattern("ReacDiff_Nu0.5_Rho1.0.hdf5"), "ReacDiff_Nu{Nu}_Rho{Rho}.hdf5");
        assert_eq!(pattern("gray_scott_F_0.029_k_0.057.h5"), "gray_scott_F_{F}_k_{k}.h5");
        assert_eq!(["fisher_a.hdf5", "2D_rdb_NA_NA.h5", "half.npy"].map(pattern), [""; 3]);
    }

    #[test]
    fn axes_are_told_by_coordinates_or_lengths() {
        assert_eq!(axes(&[20, 64], &[]), ["time", "x"]);
        assert_eq!(axes(&[5, 20, 64], &[]), ["trajectory", "time", "x"]);
        assert_eq!(axes(&[5, 20, 32, 32, 2], &[]), ["trajectory", "time", "x", "y", "channel"]);
        assert_eq!(axes(&[32, 16, 7, 20], &[("x", 32), ("y", 16), ("t", 20)]), ["x", "y", "trajectory", "time"]);
    }
}
