//! Trajectories of the dataset as segments of records.

use std::borrow::Cow;
use std::ops::Range;

use sha2::{Digest, Sha256};

use super::samples::Samples;
use crate::import::rows::source_lines::SourceLine;
use crate::schema::start_of;

/// Ends the id of a trajectory that is the held-out end of another.
pub(crate) const END_SUFFIX: &str = ".last";
/// Numbers whose bytes are digested at a time.
const DIGESTED: usize = 1 << 10;

/// A trajectory of the dataset: some samples of a record. The samples themselves are read again when it is written.
pub(crate) struct Segment {
    /// Position of the record.
    pub record: usize,
    /// Its name within the record.
    part: Part,
    pub samples: Range<usize>,
    /// Where its first sample stands.
    pub first: Option<SourceLine>,
    /// SHA-256 of its times, states and inputs.
    pub digest: [u8; 32],
    /// Whether it has a complete sample that another follows, from which a rollout can start.
    pub has_start: bool,
}

/// Which part of its record a segment is.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    /// Its number, from 1, among those between gaps; 0 if the record was not cut at gaps.
    pub number: u32,
    /// Whether it is an end that was cut off to be held out.
    pub is_end: bool,
}

impl Segment {
    /// The segment of some of the samples of the record at a position.
    pub(crate) fn new(record: usize, all: &Samples, part: Part, samples: Range<usize>) -> Self {
        let mut digest = Sha256::new();
        let mut bytes = Vec::new();
        for numbers in all.slices(samples.clone()).into_iter().flat_map(|values| values.chunks(DIGESTED)) {
            bytes.clear();
            bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            digest.update(&bytes);
        }
        let [times, states, _] = all.slices(samples.clone());
        Segment {
            record,
            part,
            first: all.lines.get(samples.start).filter(|_| !samples.is_empty()),
            has_start: start_of(states, times.len()).is_some(),
            samples,
            digest: digest.finalize().into(),
        }
    }

    /// The id of the trajectory; `record` is the id of the segment's record.
    pub(crate) fn id<'a>(&self, record: &'a str) -> Cow<'a, str> {
        let end = if self.part.is_end { END_SUFFIX } else { "" };
        match (self.part.number, end) {
            (0, "") => record.into(),
            (0, end) => format!("{record}{end}").into(),
            (number, end) => format!("{record}.{number}{end}").into(),
        }
    }

    /// Whether it is only a part of its record.
    pub(crate) fn is_part(&self) -> bool {
        self.part.number > 0 || self.part.is_end
    }
}
