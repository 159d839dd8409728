//! A dataset as CSV: one file a split, one row a sample (and point of the grid, where there is one).

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use super::layout::{ENVIRONMENT, TIME, TRAJECTORY};
use super::{Dataset, Error, Manifest, Store};
use crate::atomic;
use crate::schema::Trajectory;

/// Trajectories held in memory at once.
const BATCH: usize = 64;

/// Writes `SPLIT.csv` for every split into `directory`, which appears complete or not at all. Numbers are the shortest that read back as the
/// same double; an unknown parameter and a missing cell are empty.
///
/// # Errors
/// If the dataset cannot be read or is not what its manifest states, or the place cannot be written to.
pub fn export_csv(dataset: &Dataset, directory: &Path) -> Result<(), Error> {
    let place = atomic::Directory::create(directory).map_err(Error::io(directory))?;
    let manifest = dataset.manifest();
    for &split in manifest.splits.keys() {
        let path = place.path().join(format!("{split}.csv"));
        let file = File::create(&path).map_err(Error::io(&path))?;
        let mut writer = csv::Writer::from_writer(BufWriter::new(file));
        let failed = |error: csv::Error| Error::io(&path)(error.into());
        writer.write_record(header(manifest)).map_err(failed)?;
        for batch in dataset.batches(split, Store::Parquet, BATCH)? {
            for trajectory in batch? {
                rows(manifest, &trajectory, &mut writer).map_err(failed)?;
            }
        }
        let mut file = writer.into_inner().map_err(|error| Error::io(&path)(error.into_error()))?;
        file.flush().map_err(Error::io(&path))?;
    }
    place.publish().map_err(Error::io(directory))
}

fn header(manifest: &Manifest) -> Vec<&str> {
    let axes = manifest.grid.iter().flat_map(|grid| &grid.axes).map(|axis| axis.name.as_str());
    let mut names = vec![ENVIRONMENT, TRAJECTORY];
    names.extend(manifest.parameters.iter().map(|parameter| parameter.name.as_str()));
    names.push(TIME);
    names.extend(axes);
    names.extend(manifest.channels.iter().map(|channel| channel.name.as_str()));
    names
}

fn rows(manifest: &Manifest, trajectory: &Trajectory, writer: &mut csv::Writer<impl Write>) -> csv::Result<()> {
    let shape = manifest.state_shape();
    let axes: Vec<_> = manifest.grid.iter().flat_map(|grid| &grid.axes).collect();
    let mut fixed = vec![trajectory.environment.clone(), trajectory.trajectory.clone()];
    fixed.extend(trajectory.parameters.iter().map(|value| value.map_or_else(String::new, number)));
    for (time, state) in trajectory.times.iter().zip(trajectory.states.chunks_exact(shape.size().max(1))) {
        for point in 0..shape.points() {
            let mut left = shape.points();
            let mut within = point;
            let coordinates: Vec<String> = axes
                .iter()
                .map(|axis| {
                    left /= axis.count;
                    let index = within / left;
                    within %= left;
                    number(index as f64 * axis.spacing)
                })
                .collect();
            let values = (0..shape.channels).map(|c| {
                let value = state[c * shape.points() + point];
                if value.is_nan() { String::new() } else { number(value) }
            });
            let row = fixed.iter().cloned().chain([number(*time)]).chain(coordinates).chain(values);
            writer.write_record(row.collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

fn number(value: f64) -> String {
    format!("{value:?}")
}
