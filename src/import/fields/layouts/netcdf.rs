//! netCDF-4, and other HDF5 files with dimension scales: the axes of an array have names, and variables of these names hold coordinates.
//!
//! An axis is of samples if its coordinates are times since a date or it is called `time`, `t` or `sample`; of trajectories if it is called `trajectory`,
//! `member`, `ensemble`, `realization` or `run`; of environments if it is called `environment`; of channels, `channel`, `component` or `variable`. Any other
//! is in space. Nothing says what lies beyond its ends, but in files of ours the attribute `boundary`.
//!
//! Source: CF Conventions 1.11, section 2.4.

use super::layout::{Layout, OfAxis, own_boundary};
use crate::import::fields::array_file::ArrayFile;
use crate::import::settings::fields::{CHANNEL, ENVIRONMENT, TIME, TRAJECTORY};

/// netCDF-4.
pub(crate) const LAYOUT: Layout = Layout {
    name: "netCDF",
    is_of: |file| (0..file.listed().len().min(MOST)).any(|array| axes(file, array).is_some()),
    axes,
    time,
    axis,
    has_a_last_time: false,
    lacks: "splits and, but in files of ours, ids and what lies beyond the ends of an axis",
};

/// Arrays that are looked at to tell the layout.
const MOST: usize = 64;

/// Names of axes that are not in space, and what these are.
const ROLES: [(&str, &[&str]); 4] = [
    (TIME, &["time", "t", "sample"]),
    (TRAJECTORY, &["trajectory", "member", "ensemble", "realization", "run"]),
    (ENVIRONMENT, &["environment"]),
    (CHANNEL, &["channel", "component", "variable"]),
];

fn axes(file: &mut dyn ArrayFile, array: usize) -> Option<Vec<String>> {
    let count = file.listed()[array].shape.len();
    let names = file.axis_names(array).into_iter().collect::<Option<Vec<String>>>()?;
    if count < 2 || names.len() != count {
        return None;
    }
    let role = |name: String| {
        let small = name.to_lowercase();
        let known = ROLES.iter().find(|(_, names)| names.contains(&small.as_str()));
        known.map_or(name, |(role, _)| (*role).to_owned())
    };
    let axes: Vec<String> = names.into_iter().map(role).collect();
    axes.iter().any(|axis| axis == TIME).then_some(axes)
}

fn time(file: &mut dyn ArrayFile) -> Option<String> {
    ["time", "t"].into_iter().find(|name| file.find(name).is_some()).map(str::to_owned)
}

fn axis(file: &mut dyn ArrayFile, name: &str) -> OfAxis {
    let boundary = own_boundary(file, name);
    (file.find(name).map(|_| name.to_owned()), boundary)
}
