//! `[import.fields]` of a pipeline: fields on regular grids in arrays, and how these are read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::forms::Names;
use super::table::Origin;
use crate::schema::{Boundary, Quantity};

/// Name of the axis of environments.
pub(crate) const ENVIRONMENT: &str = "environment";
/// Name of the axis of trajectories.
pub(crate) const TRAJECTORY: &str = "trajectory";
/// Name of the axis of samples.
pub(crate) const TIME: &str = "time";
/// Name of an axis of channels, or of the components of a vector.
pub(crate) const CHANNEL: &str = "channel";

/// Fields on a regular grid, in place of [[import.table]]: arrays in HDF5, netCDF-4, `.npy` or `.npz` files, which are told by their content.
///
/// Files as The Well and PDEBench lay them out, and of netCDF whose axes have names, say most of it themselves: then `file` and `channels`
/// suffice. What is given here goes before what a file says.
///
/// ```toml
/// [import.fields]
/// file = "gray_scott_F_{F}_k_{k}.hdf5"
/// axes = ["trajectory", "time", "x", "y"]
/// environment = ["F", "k"]
/// time = { spacing = 10.0 }
/// grid = [
///     { name = "x", unit = "1", spacing = 0.01, boundary = "periodic" },
///     { name = "y", unit = "1", spacing = 0.01, boundary = "periodic" },
/// ]
/// channels = [{ name = "u", unit = "1", array = "U" }, { name = "v", unit = "1", array = "V" }]
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fields {
    /// Path of the file within `directory`, or a list of them. `*` matches any characters and `?` any single one; `{environment}` and
    /// `{trajectory}` match characters that are the id of the file's content, and any other `{NAME}` matches a value that may be named in
    /// `environment`, `trajectory` and the expressions of parameters.
    pub file: Names,
    /// What each axis of the arrays runs over, in their order: `environment`, `trajectory`, `time`, `channel`, and any other name for an axis
    /// in space. An array without channels leaves out `channel`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<String>,
    /// The arrays to read, in the order of the dataset's channels.
    pub channels: Vec<FieldChannel>,
    /// The axes in space, as far as the files do not describe them. Their order is that of the dataset. Default: all that the arrays have, in
    /// their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grid: Vec<FieldAxis>,
    /// The times of the samples.
    #[serde(default)]
    pub time: FieldTime,
    /// What identifies the environment: values that the file's name holds, attributes, or arrays of one value a trajectory; several are
    /// joined with `/`. With neither this, nor `{environment}`, nor an axis `environment`, each file is one environment, whose id is the file's
    /// name without extension.
    #[serde(default)]
    pub environment: Names,
    /// What identifies the trajectory, in the same way. Otherwise it is its number on the axis `trajectory`, from 0.
    #[serde(default)]
    pub trajectory: Names,
    /// Numbers that stand for a missing value, in addition to NaN and the fill values of netCDF.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<f64>,
}

/// A channel of the dataset, which is a field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FieldChannel {
    /// Name in the dataset.
    pub name: String,
    /// Unit in UDUNITS spelling (`m s-1`, `1` for none). Values in another unit of the same dimension are converted into it.
    pub unit: String,
    /// Path of the array in the file, `t0_fields/u`, or its own name if that is unique. `{trajectory}/data` or `{environment}/data` is an array in
    /// each of several groups. May be left out where a file has one array.
    #[serde(default)]
    pub array: Option<String>,
    /// Position on the axis `channel`, from 0. Where there are several such axes it counts over all, the last one fastest.
    #[serde(default)]
    pub index: Option<usize>,
    /// Unit in the file, if its attribute `units` does not say it in UDUNITS spelling.
    #[serde(default)]
    pub array_unit: Option<String>,
    /// Description in one sentence.
    #[serde(default)]
    pub description: String,
}

/// An axis in space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FieldAxis {
    /// Its name among `axes`, and in the dataset.
    pub name: String,
    /// Unit in UDUNITS spelling. Default: that of the coordinates in the file, or `1`.
    #[serde(default)]
    pub unit: Option<String>,
    /// Path of the array with the coordinates of its points, which must be evenly spaced.
    #[serde(default)]
    pub array: Option<String>,
    /// Distance between neighbouring points in the file, in `unit`, where it has no coordinates.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub spacing: Option<f64>,
    /// Coordinate of the first point, in `unit`. Default: that in the file, or 0.
    #[serde(default)]
    pub start: Option<f64>,
    /// What lies beyond the first and the last point: `periodic`, `zero` or `replicate` (the value of the nearest point). Must be given where the
    /// file does not say it.
    #[serde(default)]
    pub boundary: Option<Boundary>,
    /// Only every so many-th point is read, from the first. Along a periodic axis it divides the number of points.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1))]
    pub every: usize,
}

/// The times of samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FieldTime {
    /// Path of the array of times: one a sample, or one a trajectory and sample (NaN after the end of a trajectory).
    pub array: Option<String>,
    /// Instead, the time between two samples in the file, in `import.time_unit`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub spacing: Option<f64>,
    /// The time of the first sample, with `spacing`.
    pub start: Option<f64>,
    /// Instead, the times of all samples in the file, in `import.time_unit`.
    pub values: Vec<f64>,
    /// Unit of the numbers in `array`, if its attribute `units` does not say it and it is not `import.time_unit`.
    pub unit: Option<String>,
    /// The zero of time. Default: that of the numbers; for times since a date (`days since 2020-01-01`), the first sample of each trajectory.
    pub origin: Option<Origin>,
    /// Only every so many-th sample is read, from the first that is not before `from`.
    #[serde(skip_serializing_if = "is_one")]
    #[schemars(range(min = 1))]
    pub every: usize,
    /// Samples before this time, in `import.time_unit` as the dataset counts it, are left out.
    pub from: Option<f64>,
    /// Samples after this time are left out.
    pub to: Option<f64>,
}

impl Default for FieldTime {
    fn default() -> Self {
        FieldTime {
            array: None,
            spacing: None,
            start: None,
            values: Vec::new(),
            unit: None,
            origin: None,
            every: 1,
            from: None,
            to: None,
        }
    }
}

fn one() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(every: &usize) -> bool {
    *every == 1
}

impl Fields {
    /// What is said of the axis of that name, and its position among those that are described.
    pub(crate) fn axis(&self, name: &str) -> Option<(usize, &FieldAxis)> {
        self.grid.iter().enumerate().find(|(_, axis)| axis.name == name)
    }

    /// The channels of the dataset.
    pub(crate) fn quantities(&self) -> Vec<Quantity> {
        self.channels.iter().map(|it| Quantity::new(&it.name, &it.unit, &it.description)).collect()
    }
}

/// Whether an axis of that name is none in space.
pub(crate) fn is_of_no_space(name: &str) -> bool {
    [ENVIRONMENT, TRAJECTORY, TIME, CHANNEL].contains(&name)
}
