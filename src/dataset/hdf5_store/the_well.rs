//! The groups of The Well's layout. Their variables are hard links to those in the root group, so nothing is stored twice.
//!
//! | group | content |
//! |---|---|
//! | `dimensions` | `time` and the axes in space |
//! | `t0_fields` | the channels `[B, T, n_1, .., n_k]` |
//! | `t1_fields`, `t2_fields` | empty: a dataset has no vector or tensor fields |
//! | `scalars` | the parameters `[B]`, and the inputs `[B, T]`, which vary in time |
//! | `boundary_conditions` | a mask of both ends of each axis, which is `periodic`, a `wall` (zero beyond it) or `open` (beyond it as at the end) |
//!
//! The layout requires one time axis and at least one axis in space: files whose trajectories have different times have no such groups,
//! and a state without space has a one-point axis named [`POINT`].
//!
//! Source: R. Ohana et al., The Well, NeurIPS 2024 (datasets and benchmarks), and what its loader, `the_well` 1.2, reads. The Well's own files
//! hold single precision; its loader takes double as well.

use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{Dataset, File, Group, Location, Result};
use ndarray::Array1;

use super::attributes::{builder, string, text};
use crate::dataset::layout::{POINT, TIME};
use crate::dataset::manifest::Manifest;
use crate::schema::Boundary;

/// Adds the groups to a file that has its variables, of `trajectories` rows at common times.
pub(crate) fn add(file: &File, manifest: &Manifest, trajectories: usize) -> Result<()> {
    let grid: Vec<(&str, Boundary)> = match &manifest.grid {
        Some(grid) => grid.axes.iter().map(|axis| (axis.name.as_str(), axis.boundary)).collect(),
        None => vec![(POINT, Boundary::Periodic)],
    };
    let axes: Vec<&str> = grid.iter().map(|(name, _)| *name).collect();
    text(file, "dataset_name", &manifest.name)?;
    text(file, "grid_type", "cartesian")?;
    number(file, "n_spatial_dims", axes.len())?;
    number(file, "n_trajectories", trajectories)?;
    // Parameters that are constant in the file; ours differ from row to row.
    texts(file, "simulation_parameters", &[])?;

    let dimensions = group(file, "dimensions")?;
    texts(&dimensions, "spatial_dims", &axes)?;
    for name in axes.iter().copied().chain([TIME]) {
        let dimension = link(file, "dimensions", name)?;
        varies(&dimension, false, name == TIME)?;
    }
    let channels: Vec<&str> = manifest.channels.iter().map(|channel| channel.name.as_str()).collect();
    for (order, names) in [&channels[..], &[], &[]].into_iter().enumerate() {
        let fields = group(file, &format!("t{order}_fields"))?;
        texts(&fields, "field_names", names)?;
    }
    for name in channels {
        let field = link(file, "t0_fields", name)?;
        varies(&field, true, true)?;
        field.new_attr::<bool>().shape([axes.len()]).create("dim_varying")?.write_raw(&vec![true; axes.len()])?;
    }
    let parameters = manifest.parameters.iter().map(|parameter| (parameter.name.as_str(), false));
    let inputs = manifest.inputs.iter().map(|input| (input.quantity.name.as_str(), true));
    let scalars: Vec<(&str, bool)> = parameters.chain(inputs).collect();
    let names: Vec<&str> = scalars.iter().map(|(name, _)| *name).collect();
    let of_scalars = group(file, "scalars")?;
    texts(&of_scalars, "field_names", &names)?;
    for (name, in_time) in scalars {
        let scalar = link(file, "scalars", name)?;
        varies(&scalar, true, in_time)?;
    }
    group(file, "boundary_conditions")?;
    for (name, boundary) in grid {
        let kind = match boundary {
            Boundary::Periodic => "periodic",
            Boundary::Zero => "wall",
            Boundary::Replicate => "open",
        };
        let condition = group(file, &format!("boundary_conditions/{name}_{kind}"))?;
        text(&condition, "bc_type", kind)?;
        texts(&condition, "associated_dims", &[name])?;
        texts(&condition, "associated_fields", &[])?;
        varies(&condition, false, false)?;
        let count = file.dataset(name)?.size();
        let ends = Array1::from_iter((0..count).map(|i| i == 0 || i + 1 == count));
        builder(&condition).with_data(&ends).create("mask")?;
    }
    Ok(())
}

/// Creates a group without a creation time, so that bytes depend on contents alone.
fn group(file: &File, name: &str) -> Result<Group> {
    file.create_group_builder().with_gcpl(|plist| plist.obj_track_times(false)).create(name)
}

/// Links the variable `name` of the root group into `group`.
fn link(file: &File, group: &str, name: &str) -> Result<Dataset> {
    file.link_hard(&format!("/{name}"), &format!("{group}/{name}"))?;
    file.dataset(name)
}

fn varies(location: &Location, sample: bool, time: bool) -> Result<()> {
    location.new_attr::<bool>().create("sample_varying")?.write_scalar(&sample)?;
    location.new_attr::<bool>().create("time_varying")?.write_scalar(&time)
}

fn number(location: &Location, name: &str, value: usize) -> Result<()> {
    location.new_attr::<i64>().create(name)?.write_scalar(&(value as i64))
}

fn texts(location: &Location, name: &str, values: &[&str]) -> Result<()> {
    let values = values.iter().map(|value| string(value)).collect::<Result<Vec<VarLenUnicode>>>()?;
    let attribute = location.new_attr::<VarLenUnicode>().shape([values.len()]).create(name)?;
    if values.is_empty() { Ok(()) } else { attribute.write_raw(&values) }
}
