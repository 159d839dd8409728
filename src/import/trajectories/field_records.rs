//! The records of files of fields: one a trajectory of a file, read from it when it is asked for.

use std::ops::Range;

use super::samples::Samples;
use crate::import::fields::array_file::ArrayFile;
use crate::import::fields::described::{Described, Row};
use crate::import::fields::formats;
use crate::import::fields::read::states;
use crate::import::rows::source_lines::{SourceLine, SourceLines};
use crate::import::tables::files::SourceFile;
use crate::problems::{Kind, Problem, shown};

/// Files that are kept open at most.
const OPEN: usize = 8;

/// The trajectories of files of fields.
pub(crate) struct FieldRecords {
    /// By file.
    described: Vec<Described>,
    /// The file of each record, and its row there.
    places: Vec<(usize, usize)>,
    /// Numbers that stand for a missing value.
    missing: Vec<f64>,
    /// Open files; the one that was used last is last.
    open: Vec<(usize, Box<dyn ArrayFile>)>,
    /// The record that was read last, and its samples.
    last: Option<(usize, Samples)>,
}

impl FieldRecords {
    /// The records of described files, whose numbers in `missing` are missing values.
    pub(crate) fn new(described: Vec<Described>, missing: Vec<f64>) -> Self {
        let rows = |(file, it): (usize, &Described)| (0..it.rows.len()).map(move |row| (file, row)).collect::<Vec<_>>();
        let places = described.iter().enumerate().flat_map(rows).collect();
        FieldRecords { described, places, missing, open: Vec::new(), last: None }
    }

    /// Number of records.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The description of a record.
    pub(crate) fn row(&self, record: usize) -> &Row {
        let (file, row) = self.places[record];
        &self.described[file].rows[row]
    }

    /// The file of a record, and the number of the trajectory in it, from 1.
    pub(crate) fn line(&self, record: usize) -> SourceLine {
        let (file, row) = self.places[record];
        SourceLine::new(file, row as u64 + 1)
    }

    /// Closes files, and frees samples.
    pub(crate) fn forget_samples(&mut self) {
        (self.open, self.last) = (Vec::new(), None);
    }

    /// All samples of a record, and how many more had no observed value and are left out.
    ///
    /// # Errors
    /// The problem of a file that cannot be read.
    #[expect(clippy::result_large_err, reason = "rare, and it ends the import")]
    pub(crate) fn samples(&mut self, files: &[SourceFile], record: usize) -> Result<(Samples, usize), Problem> {
        let (index, row) = self.places[record];
        let path = &files[index].path;
        match self.open.iter().position(|(file, _)| *file == index) {
            Some(at) => self.open[at..].rotate_left(1),
            None => {
                if self.open.len() == OPEN {
                    self.open.remove(0);
                }
                self.open.push((index, formats::open(path)?));
            }
        }
        let FieldRecords { described, open, missing, .. } = self;
        let Some((_, file)) = open.last_mut() else { return Ok((Samples::default(), 0)) };
        let described = &described[index];
        let row = &described.rows[row];
        let mut states = states(file.as_mut(), described, row, missing).map_err(|(channel, found)| {
            let array = described.sources[channel].arrays.of(row.place.group);
            let name = &file.listed()[array].name;
            let whose = format!("trajectory {} of environment {}", shown(&row.trajectory), shown(&row.environment));
            let found = format!("array `{name}`, which cannot be read for {whose}: {found}");
            let problem =
                Problem::new(Kind::UnreadableFile, found, "a whole file", "check that the file was copied whole");
            problem.file(path).setting(format!("import.fields.channels[{channel}].array"))
        })?;
        let mut times = row.sampled.times.clone();
        let size = states.len() / times.len().max(1);
        let is_empty = |state: &[f64]| state.iter().all(|value| value.is_nan());
        let kept: Vec<bool> = states.chunks_exact(size.max(1)).map(|state| !is_empty(state)).collect();
        let dropped = kept.iter().filter(|kept| !**kept).count();
        if dropped > 0 {
            let mut keep = kept.iter();
            times.retain(|_| keep.next() == Some(&true));
            let mut at = 0;
            states.retain(|_| {
                at += 1;
                kept[(at - 1) / size]
            });
        }
        Ok((Samples { times, states, inputs: Vec::new(), lines: SourceLines::default() }, dropped))
    }

    /// Some of the samples of a record.
    ///
    /// # Errors
    /// The problem of a file that cannot be read.
    #[expect(clippy::result_large_err, reason = "rare, and it ends the import")]
    pub(super) fn some_samples(
        &mut self,
        files: &[SourceFile],
        record: usize,
        samples: &Range<usize>,
    ) -> Result<Samples, Problem> {
        let all = match self.last.take().filter(|last| last.0 == record) {
            Some((_, all)) => all,
            None => self.samples(files, record)?.0,
        };
        if *samples == (0..all.times.len()) {
            return Ok(all);
        }
        let part = all.part(samples.clone());
        self.last = Some((record, all));
        Ok(part)
    }
}
