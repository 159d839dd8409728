//! CSV: one row per sample (and grid point). Numbers are the shortest that read back as the same double; unknown parameters and missing
//! cells are empty.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use super::format::{ExportFormat, SplitWriter};
use crate::dataset::error::Error;
use crate::dataset::layout::{ENVIRONMENT, TIME, TRAJECTORY};
use crate::dataset::manifest::Manifest;
use crate::dataset::reader::Dataset;
use crate::disk::{self, NewFile};
use crate::schema::{Split, Trajectory};

/// `csv`.
pub(crate) const FORMAT: ExportFormat = ExportFormat { name: "csv", extension: "csv", is_hdf5: false, create };

struct CsvFile<'a> {
    path: PathBuf,
    manifest: &'a Manifest,
    writer: csv::Writer<BufWriter<NewFile>>,
}

fn create<'a>(path: PathBuf, dataset: &'a Dataset, _: Split) -> Result<Box<dyn SplitWriter + 'a>, Error> {
    let manifest = dataset.manifest();
    let file = disk::create(&path).map_err(Error::io(&path))?;
    let mut writer = csv::Writer::from_writer(BufWriter::new(file));
    writer.write_record(header(manifest)).map_err(|error| Error::io(&path)(error.into()))?;
    Ok(Box::new(CsvFile { path, manifest, writer }))
}

impl SplitWriter for CsvFile<'_> {
    fn append(&mut self, trajectories: &[Trajectory]) -> Result<(), Error> {
        let written = trajectories.iter().try_for_each(|it| rows(self.manifest, it, &mut self.writer));
        written.map_err(|error| Error::io(&self.path)(error.into()))
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        let path = self.path;
        let mut file = self.writer.into_inner().map_err(|error| Error::io(&path)(error.into_error()))?;
        file.flush().map_err(Error::io(&path))
    }
}

fn header(manifest: &Manifest) -> Vec<&str> {
    let axes = manifest.grid.iter().flat_map(|grid| &grid.axes).map(|axis| axis.name.as_str());
    let mut names = vec![ENVIRONMENT, TRAJECTORY];
    names.extend(manifest.parameters.iter().map(|parameter| parameter.name.as_str()));
    names.push(TIME);
    names.extend(axes);
    names.extend(manifest.channels.iter().map(|channel| channel.name.as_str()));
    names.extend(manifest.inputs.iter().map(|input| input.quantity.name.as_str()));
    names
}

fn rows(manifest: &Manifest, trajectory: &Trajectory, writer: &mut csv::Writer<impl Write>) -> csv::Result<()> {
    let shape = manifest.state_shape();
    let axes: Vec<_> = manifest.grid.iter().flat_map(|grid| &grid.axes).collect();
    let mut fixed = vec![trajectory.environment.clone(), trajectory.trajectory.clone()];
    fixed.extend(trajectory.parameters.iter().map(|value| value.map_or_else(String::new, number)));
    let samples = trajectory.times.iter().zip(trajectory.states.chunks_exact(shape.size().max(1)));
    for (t, (time, state)) in samples.enumerate() {
        for point in 0..shape.points() {
            let mut left = shape.points();
            let mut within = point;
            let coordinates: Vec<String> = axes
                .iter()
                .map(|axis| {
                    left /= axis.count;
                    let index = within / left;
                    within %= left;
                    number(axis.start + index as f64 * axis.spacing)
                })
                .collect();
            let values = (0..shape.channels).map(|c| {
                let value = state[c * shape.points() + point];
                if value.is_nan() { String::new() } else { number(value) }
            });
            let row = fixed.iter().cloned().chain([number(*time)]).chain(coordinates).chain(values);
            let row = row.chain(trajectory.input(t).iter().copied().map(number));
            writer.write_record(row.collect::<Vec<_>>())?;
        }
    }
    Ok(())
}

fn number(value: f64) -> String {
    format!("{value:?}")
}
