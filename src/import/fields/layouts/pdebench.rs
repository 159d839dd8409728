//! PDEBench, all trajectories in an array: `tensor`, or one array a quantity, beside `t-coordinate`, `x-coordinate`, `y-coordinate`, `z-coordinate`.
//!
//! An array is `[B, T, n_1, .., n_k]` or `[B, T, n_1, .., n_k, C]`. There may be one time more than samples. Nothing says what lies beyond the ends of an
//! axis, but in files of ours the attribute `boundary` of its coordinates.
//!
//! Source: M. Takamoto et al., PDEBench, NeurIPS 2022 (datasets and benchmarks), and the files that it publishes.

use super::layout::{Layout, OfAxis, names, own_boundary};
use crate::import::fields::array_file::ArrayFile;
use crate::import::settings::fields::{CHANNEL, TIME, TRAJECTORY};

/// PDEBench with all trajectories in an array.
pub(crate) const LAYOUT: Layout = Layout {
    name: "PDEBench",
    is_of: |file| file.find("t-coordinate").is_some() && file.find("x-coordinate").is_some(),
    axes,
    time: |_| Some("t-coordinate".to_owned()),
    axis,
    has_a_last_time: true,
    lacks: "splits and, but in files of ours, ids, units, parameters and what lies beyond the ends of an axis",
};

/// Names of the axes in space.
const SPACE: [&str; 3] = ["x", "y", "z"];

fn coordinates(name: &str) -> String {
    format!("{name}-coordinate")
}

fn axes(file: &mut dyn ArrayFile, array: usize) -> Option<Vec<String>> {
    let space: Vec<&str> = SPACE.into_iter().filter(|name| file.find(&coordinates(name)).is_some()).collect();
    let listed = &file.listed()[array];
    let channels = listed.shape.len().checked_sub(2 + space.len()).filter(|channels| *channels <= 1)?;
    let lengths = space.iter().map(|name| file.find(&coordinates(name)).map(|it| &file.listed()[it].shape));
    let is_field = lengths.zip(&listed.shape[2..]).all(|(found, length)| found.is_some_and(|it| it[..] == [*length]));
    is_field.then(|| names(&[&[TRAJECTORY, TIME], &space[..], &[CHANNEL][..channels]].concat()))
}

fn axis(file: &mut dyn ArrayFile, name: &str) -> OfAxis {
    let path = coordinates(name);
    let boundary = own_boundary(file, &path);
    (file.find(&path).map(|_| path), boundary)
}
