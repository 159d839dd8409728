//! Files of known layouts: datasets of this program, The Well and PDEBench.

use std::path::Path;

use hdf5_metno::{Dataset, File};

use super::values::{Axis, Values};
use super::variables::{Columns, EXPORT, MOST_CHANNELS, Tables, lacks, names, variable};
use crate::import::tables::batch::Refusal;

/// The table of a file that has the layout of this program's datasets, of The Well or of PDEBench; `None` if it has none of them.
pub(crate) fn known_layout(path: &Path, file: &File) -> Option<Result<Tables, Refusal>> {
    if file.link_exists("environment_id") {
        Some(own(path, file))
    } else if file.link_exists("t0_fields") {
        Some(the_well(path, file))
    } else if file.link_exists("tensor") && file.link_exists("t-coordinate") {
        Some(pde_bench(path, file))
    } else {
        None
    }
}

fn own(path: &Path, file: &File) -> Result<Tables, Refusal> {
    let rows = variable(file, "environment_id")?.size();
    let times = variable(file, "time")?;
    let samples = times.shape().last().copied().unwrap_or(0);
    let mut columns = Columns::default();
    for name in names(file) {
        let Ok(values) = file.dataset(&name) else { continue };
        let axes = match values.shape().as_slice() {
            [length] if name == "time" && *length == samples => vec![Axis::Samples],
            [length] if *length == rows => vec![Axis::Rows],
            shape if is_series(shape, rows, samples) => series(shape, 0),
            _ => continue,
        };
        columns.add(path, &name, values, axes)?;
    }
    Ok(columns.table(rows, samples, times.ndim() > 1))
}

fn the_well(path: &Path, file: &File) -> Result<Tables, Refusal> {
    let group = |name: &str| file.group(name).map_err(|_| lacks(name));
    let times = variable(&group("dimensions")?, "time")?;
    let samples = times.shape().last().copied().unwrap_or(0);
    let fields = group("t0_fields")?;
    let first = names(&fields).into_iter().next().ok_or_else(|| lacks("t0_fields/.."))?;
    let rows = variable(&fields, &first)?.shape().first().copied().unwrap_or(0);
    let time_axes = if times.ndim() == 1 { vec![Axis::Samples] } else { series(&times.shape(), 0) };
    let mut columns = Columns::default();
    columns.put("trajectory", Values::Index);
    columns.add(path, "time", times, time_axes)?;
    for name in names(&fields) {
        let field = variable(&fields, &name)?;
        if !is_series(&field.shape(), rows, samples) {
            return Err(on_a_grid(&name, &field));
        }
        let axes = series(&field.shape(), 0);
        columns.add(path, &name, field, axes)?;
    }
    if let Ok(scalars) = file.group("scalars") {
        for name in names(&scalars) {
            let scalar = variable(&scalars, &name)?;
            if scalar.size() == rows && scalar.ndim() == 1 {
                columns.add(path, &name, scalar, vec![Axis::Rows])?;
            } else if scalar.size() == 1 {
                let axes = vec![Axis::At(0); scalar.ndim()];
                columns.add(path, &name, scalar, axes)?;
            }
        }
    }
    Ok(columns.table(rows, samples, false))
}

fn pde_bench(path: &Path, file: &File) -> Result<Tables, Refusal> {
    let (tensor, times) = (variable(file, "tensor")?, variable(file, "t-coordinate")?);
    let shape = tensor.shape();
    let (&[rows, samples], beyond) =
        shape.split_first_chunk().ok_or_else(|| lacks("tensor of trajectories and times"))?;
    if beyond.len() > 1 || file.link_exists("x-coordinate") {
        return Err(on_a_grid("tensor", &tensor));
    }
    if times.ndim() != 1 || times.size() < samples {
        return Err((format!("{} times for {samples} samples", times.size()), EXPORT));
    }
    let mut columns = Columns::default();
    for name in ["environment", "trajectory"] {
        match file.dataset(name) {
            Ok(ids) if ids.shape() == [rows] => columns.add(path, name, ids, vec![Axis::Rows])?,
            _ if name == "trajectory" => columns.put(name, Values::Index),
            _ => {}
        }
    }
    columns.add(path, "time", times, vec![Axis::Samples])?;
    match beyond.first() {
        None | Some(1) => columns.add(path, "tensor", tensor, series(&shape, 0))?,
        Some(&channels) => {
            if channels > MOST_CHANNELS {
                return Err(on_a_grid("tensor", &tensor));
            }
            for c in 0..channels {
                columns.add(path, &format!("tensor.{c}"), tensor.clone(), series(&shape, c))?;
            }
        }
    }
    Ok(columns.table(rows, samples, false))
}

/// The refusal of a field over space.
fn on_a_grid(name: &str, variable: &Dataset) -> Refusal {
    let shape = variable.shape().iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
    (
        format!("`{name}` of {shape} values: a field on a grid, which is no table"),
        "read it by [import.fields] in place of [import.table]",
    )
}

/// Whether a shape is `[rows, samples, 1, ..]`.
fn is_series(shape: &[usize], rows: usize, samples: usize) -> bool {
    shape.len() >= 2 && shape[..2] == [rows, samples] && shape[2..].iter().all(|&count| count == 1)
}

/// The axes of a shape `[rows, samples, .., channels]`, read at position `last` of the last one.
fn series(shape: &[usize], last: usize) -> Vec<Axis> {
    let space = shape.len().saturating_sub(2);
    let beyond = (1..=space).map(|axis| Axis::At(if axis == space { last } else { 0 }));
    [Axis::Rows, Axis::Samples].into_iter().chain(beyond).collect()
}
