//! The trajectories of an archive, whatever they were read from.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::ops::{Range, RangeInclusive};

use super::field_records::FieldRecords;
use super::row_records::RowRecords;
use super::samples::Samples;
use super::segment::Segment;
use crate::dataset::{Parent, Treatment};
use crate::import::rows::source_lines::SourceLine;
use crate::import::rows::store::unusable_temporary_file;
use crate::import::settings::Settings;
use crate::import::tables::files::SourceFile;
use crate::problems::Problem;
use crate::schema::Grid;

/// The trajectories of an archive. Their samples are read when they are asked for.
pub(crate) struct Trajectories {
    pub segments: Vec<Segment>,
    /// The files with samples.
    pub files: Vec<SourceFile>,
    pub parents: Vec<Parent>,
    /// The grid of fields.
    pub grid: Option<Grid>,
    /// Known parameters `[d_p]` by environment, as far as the files of the samples have them.
    pub parameters: BTreeMap<String, Vec<Option<f64>>>,
    /// What was read, and what else there is to tell of it.
    pub notes: Vec<String>,
    /// What was changed, and how often.
    pub treatments: Vec<Treatment>,
    /// What the user should know though nothing is wrong.
    pub warnings: Vec<Problem>,
    pub(super) records: Records,
}

/// What trajectories are made from.
pub(crate) enum Records {
    Rows(Box<RowRecords>),
    Fields(Box<FieldRecords>),
}

impl Records {
    fn environment(&self, record: usize) -> &str {
        match self {
            Records::Rows(rows) => rows.store.records[record].environment(),
            Records::Fields(fields) => &fields.row(record).environment,
        }
    }

    fn trajectory(&self, record: usize) -> &str {
        match self {
            Records::Rows(rows) => rows.store.records[record].trajectory(),
            Records::Fields(fields) => &fields.row(record).trajectory,
        }
    }
}

impl Trajectories {
    /// The id of the environment of a trajectory.
    pub(crate) fn environment(&self, segment: usize) -> &str {
        self.records.environment(self.segments[segment].record)
    }

    /// The id of a trajectory.
    pub(crate) fn id(&self, segment: usize) -> Cow<'_, str> {
        let segment = &self.segments[segment];
        segment.id(self.records.trajectory(segment.record))
    }

    /// The positions of the trajectories of each environment.
    pub(crate) fn environments(&self) -> Vec<Range<usize>> {
        let environment = |segment: &Segment| self.records.environment(segment.record);
        let mut end = 0;
        let of_one = |segments: &[Segment]| {
            let start = end;
            end += segments.len();
            start..end
        };
        self.segments.chunk_by(|a, b| environment(a) == environment(b)).map(of_one).collect()
    }

    /// Where a trajectory's record stands: by file, the first and the last line; of fields, the number of the trajectory.
    ///
    /// # Errors
    /// If the temporary file cannot be read.
    pub(crate) fn lines(&self, segment: usize) -> io::Result<Vec<(&SourceFile, RangeInclusive<u64>)>> {
        let record = self.segments[segment].record;
        let mut lines: BTreeMap<usize, RangeInclusive<u64>> = BTreeMap::new();
        let mut add = |line: SourceLine| {
            let of_file = lines.entry(line.file()).or_insert(line.line()..=line.line());
            *of_file = line.line().min(*of_file.start())..=line.line().max(*of_file.end());
        };
        match &self.records {
            Records::Rows(rows) => {
                rows.store.rows(record)?.iter().flat_map(|series| series.lines.iter()).for_each(&mut add);
            }
            Records::Fields(fields) => add(fields.line(record)),
        }
        Ok(lines.into_iter().map(|(file, lines)| (&self.files[file], lines)).collect())
    }

    /// Frees the memory of all samples; ids and counts stay.
    pub(crate) fn forget_samples(&mut self) {
        match &mut self.records {
            Records::Rows(rows) => rows.store.forget_rows(),
            Records::Fields(fields) => fields.forget_samples(),
        }
    }

    /// The samples of a trajectory.
    ///
    /// # Errors
    /// If the temporary file, or the source file, cannot be read.
    #[expect(clippy::result_large_err, reason = "rare, and it ends the import")]
    pub(crate) fn samples(&mut self, settings: &Settings, segment: usize) -> Result<Samples, Problem> {
        let Segment { record, samples, .. } = &self.segments[segment];
        match &mut self.records {
            Records::Rows(rows) => {
                let read = rows.samples(settings, &self.files, *record, samples);
                read.map_err(|error| unusable_temporary_file(&error))
            }
            Records::Fields(fields) => fields.some_samples(&self.files, *record, samples),
        }
    }
}
