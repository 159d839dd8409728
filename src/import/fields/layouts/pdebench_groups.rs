//! PDEBench, a group a trajectory: `0000/data` `[T, n_1, .., n_k, C]`, and `0000/grid/t`, `0000/grid/x`, `0000/grid/y`.
//!
//! Source: as of [`super::pdebench`]: its diffusion-reaction and shallow-water files in two dimensions.

use super::layout::{Layout, OfAxis, names};
use crate::import::fields::array_file::ArrayFile;
use crate::import::settings::fields::{CHANNEL, TIME, TRAJECTORY};

/// PDEBench with a group a trajectory.
pub(crate) const LAYOUT: Layout = Layout {
    name: "PDEBench (a group a trajectory)",
    is_of: |file| first(file).is_some(),
    axes,
    time: |_| Some(format!("{{{TRAJECTORY}}}/grid/t")),
    axis,
    has_a_last_time: false,
    lacks: "splits, units, parameters and what lies beyond the ends of an axis",
};

/// Names of the axes in space.
const SPACE: [&str; 3] = ["x", "y", "z"];

/// The first group of a trajectory.
fn first(file: &dyn ArrayFile) -> Option<String> {
    let group = file.listed().first()?.name.split_once('/')?.0.to_owned();
    let has = |name: &str| file.find(&format!("{group}/{name}")).is_some();
    (has("data") && has("grid/t") && has("grid/x")).then_some(group)
}

fn axes(file: &mut dyn ArrayFile, array: usize) -> Option<Vec<String>> {
    let listed = &file.listed()[array];
    let (group, "data") = listed.name.split_once('/')? else { return None };
    let has = |name: &&str| file.find(&format!("{group}/grid/{name}")).is_some();
    let space: Vec<&str> = SPACE.into_iter().filter(has).collect();
    let channels = listed.shape.len().checked_sub(1 + space.len()).filter(|channels| *channels <= 1)?;
    Some(names(&[&[TIME], &space[..], &[CHANNEL][..channels]].concat()))
}

fn axis(file: &mut dyn ArrayFile, name: &str) -> OfAxis {
    let path = first(file).map(|group| format!("{group}/grid/{name}"));
    (path.filter(|path| file.find(path).is_some()), None)
}
