//! Checks the settings of [import.fields] before any file is opened.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use super::settings::fields::{CHANNEL, Fields, TIME, is_of_no_space};
use super::settings::{FieldTime, Settings};
use super::tables::files::ids_in;
use crate::problems::shown;
use crate::units::Unit;

/// Whether a path stays within its directory.
pub(crate) fn stays_inside(file: &str) -> bool {
    !file.trim().is_empty() && Path::new(file).components().all(|part| matches!(part, Component::Normal(_)))
}

/// Reports a unit `from` that cannot be converted into `to`.
pub(crate) fn conversion(key: String, from: &str, to: &str, report: &mut impl FnMut(String, String, &str, &str)) {
    let known = |unit: &str| Unit::parse(unit);
    if from.trim() != to.trim() && known(from).and_then(|from| from.to(known(to)?)).is_none() {
        let found = format!("{}, which cannot be converted into {}", shown(from), shown(to));
        report(key, found, "a unit of the same dimension", "correct one of the two units");
    }
}

/// Reports every impossible value and contradiction of the section.
pub(crate) fn validate_fields(
    settings: &Settings,
    fields: &Fields,
    report: &mut impl FnMut(String, String, &str, &str),
) {
    let of_tables = [
        ("table", !settings.table.is_absent()),
        ("channels", !settings.channels.is_empty()),
        ("events", !settings.events.is_empty()),
        ("at_equal_times", settings.at_equal_times.is_some()),
    ];
    for (key, _) in of_tables.iter().filter(|part| part.1) {
        report((*key).into(), "a section".into(), "none beside [import.fields]", "remove one of the two");
    }
    files(fields, report);
    axes(fields, report);
    channels(fields, report);
    grid(fields, report);
    times(settings, &fields.time, report);
}

fn files(fields: &Fields, report: &mut impl FnMut(String, String, &str, &str)) {
    if fields.file.0.is_empty() {
        report("fields.file".into(), "none".into(), "at least one file", "name the files with the fields");
    }
    for name in &fields.file.0 {
        if !stays_inside(name) {
            let remedy = "put the folder into `import.directory`";
            report("fields.file".into(), shown(name), "a path inside `import.directory`", remedy);
        }
        let (environments, trajectories) = ids_in(name);
        for (id, count, names) in
            [("environment", environments, &fields.environment), ("trajectory", trajectories, &fields.trajectory)]
        {
            if count > 1 {
                let found = format!("`{{{id}}}` {count} times in {}", shown(name));
                report("fields.file".into(), found, "each id once", "write `*` in the other places");
            }
            if count > 0 && !names.0.is_empty() {
                let found = format!("`{{{id}}}` in `file`, and names");
                report(format!("fields.{id}"), found, "one of them", "remove the names, or write `*` in `file`");
            }
        }
    }
}

fn axes(fields: &Fields, report: &mut impl FnMut(String, String, &str, &str)) {
    let mut seen = BTreeSet::new();
    for (index, axis) in fields.axes.iter().enumerate() {
        if axis != CHANNEL && !seen.insert(axis) {
            let found = format!("{} a second time", shown(axis));
            report(
                format!("fields.axes[{index}]"),
                found,
                "each axis once, but `channel`",
                "name it by what it runs over",
            );
        }
    }
    if !fields.axes.is_empty() && !seen.iter().any(|axis| *axis == TIME) {
        let found = format!("{}, without `time`", shown(&fields.axes.join(", ")));
        report("fields.axes".into(), found, "an axis of samples", "name the axis of the samples `time`");
    }
}

fn channels(fields: &Fields, report: &mut impl FnMut(String, String, &str, &str)) {
    if fields.channels.is_empty() {
        let remedy = "add `channels = [{ name = .., unit = .., array = .. }]`";
        report("fields.channels".into(), "none".into(), "at least one", remedy);
    }
    let mut read = BTreeSet::new();
    for (index, channel) in fields.channels.iter().enumerate() {
        if !read.insert((&channel.array, channel.index)) {
            let found = format!("{} a second time", shown(channel.array.as_deref().unwrap_or_default()));
            let remedy = "name another array, or another `index`";
            report(format!("fields.channels[{index}].array"), found, "each channel from a place of its own", remedy);
        }
        if let Some(stated) = &channel.array_unit {
            conversion(format!("fields.channels[{index}].array_unit"), stated, &channel.unit, report);
        }
    }
}

fn grid(fields: &Fields, report: &mut impl FnMut(String, String, &str, &str)) {
    let mut seen = BTreeSet::new();
    for (index, axis) in fields.grid.iter().enumerate() {
        let mut say = |key: &str, found: String, expected: &str, remedy: &str| {
            report(format!("fields.grid[{index}].{key}"), found, expected, remedy);
        };
        if is_of_no_space(&axis.name) || axis.name.trim().is_empty() {
            say("name", shown(&axis.name), "the name of an axis in space", "rename it, in `axes` too");
        }
        if !seen.insert(&axis.name) {
            say("name", format!("{} a second time", shown(&axis.name)), "each axis once", "remove one of the two");
        }
        if !fields.axes.is_empty() && !fields.axes.contains(&axis.name) {
            let found = format!("{}, which is not among `axes`", shown(&axis.name));
            say("name", found, "one of them", "correct it here or there");
        }
        if let Some(spacing) = axis.spacing.filter(|spacing| !(spacing.is_finite() && *spacing > 0.0)) {
            say("spacing", spacing.to_string(), "a positive number", "write the distance between two points");
        }
        if let Some(start) = axis.start.filter(|start| !start.is_finite()) {
            say("start", start.to_string(), "a number", "write the coordinate of the first point");
        }
        if axis.every == 0 {
            say("every", "0".into(), "1 or more", "write 1 to read every point");
        }
    }
}

fn times(settings: &Settings, time: &FieldTime, report: &mut impl FnMut(String, String, &str, &str)) {
    let mut say = |key: &str, found: String, expected: &str, remedy: &str| {
        report(format!("fields.time{key}"), found, expected, remedy);
    };
    let ways = [time.array.is_some(), time.spacing.is_some(), !time.values.is_empty()];
    if ways.iter().filter(|way| **way).count() > 1 {
        say("", "more than one of `array`, `spacing` and `values`".into(), "one of them", "remove the others");
    }
    if let Some(spacing) = time.spacing.filter(|spacing| !(spacing.is_finite() && *spacing > 0.0)) {
        say(".spacing", spacing.to_string(), "a positive number", "write the time between two samples");
    }
    if time.start.is_some() && time.spacing.is_none() {
        say(".start", "a value".into(), "none without `spacing`", "remove it");
    }
    if time.every == 0 {
        say(".every", "0".into(), "1 or more", "write 1 to read every sample");
    }
    for (key, value) in [(".start", time.start), (".from", time.from), (".to", time.to)] {
        if let Some(value) = value.filter(|value| !value.is_finite()) {
            say(key, value.to_string(), "a number", "correct it");
        }
    }
    if let (Some(from), Some(to)) = (time.from, time.to)
        && from > to
    {
        say(".to", format!("{to}, before `from` {from}"), "a later time", "exchange the two");
    }
    if let Some(unit) = &time.unit {
        conversion("fields.time.unit".into(), unit, &settings.time_unit, report);
    }
}
