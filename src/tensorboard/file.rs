//! A file of events that grows, whatever interrupts it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::event;
use super::record::{record, records};
use crate::{disk, regular};

/// TensorBoard reads files whose names have `tfevents` in them.
const NAME: &str = "events.out.tfevents.paramill";

/// The file of one training.
pub(super) struct EventFile {
    path: PathBuf,
    /// Bytes of whole events.
    end: u64,
    /// The last step that is in it.
    last: Option<u64>,
}

impl EventFile {
    /// The file in `directory`, made where it is missing. An event that an earlier process left unfinished is removed.
    ///
    /// # Errors
    /// Any error of reading and writing.
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        disk::create_directories(directory)?;
        let path = directory.join(NAME);
        let before = if path.exists() { regular::read(&path)? } else { Vec::new() };
        let (events, end) = records(&before);
        let last = events.iter().skip(1).filter_map(|it| event::step(it)).max();
        let mut file = EventFile { path, end: end as u64, last };
        if events.is_empty() {
            file.append(&event::version(now()))?;
        }
        Ok(file)
    }

    /// Adds the scalars of a step, unless it is not behind the last one: a training that goes on from a checkpoint comes by steps again, with the
    /// same values.
    ///
    /// # Errors
    /// Any error of writing; the step is not in the file then.
    pub(super) fn add(&mut self, step: u64, scalars: &[(&str, f64)]) -> io::Result<()> {
        if self.last.is_none_or(|last| last < step) {
            self.append(&event::summary(now(), step, scalars))?;
            self.last = Some(step);
        }
        Ok(())
    }

    fn append(&mut self, event: &[u8]) -> io::Result<()> {
        let bytes = record(event);
        disk::append_behind(&self.path, self.end, &bytes)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Steps in the file, the first event left out.
    fn steps(directory: &Path) -> Vec<Option<u64>> {
        let bytes = fs::read(directory.join(NAME)).unwrap();
        let (events, end) = records(&bytes);
        assert_eq!(end, bytes.len(), "something unfinished is in the file");
        events.into_iter().skip(1).map(event::step).collect()
    }

    #[test]
    fn a_torn_event_is_removed_and_steps_come_once() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("a/b");
        let mut file = EventFile::open(&directory).unwrap();
        for step in [10, 20, 30] {
            file.add(step, &[("loss", 1.0 / step as f64)]).unwrap();
        }
        let path = file.path().to_owned();
        let whole = fs::read(&path).unwrap();
        // As after a kill in the midst of the third event.
        fs::write(&path, &whole[..whole.len() - 7]).unwrap();
        assert_eq!(EventFile::open(&directory).unwrap().last, Some(20));
        let mut file = EventFile::open(&directory).unwrap();
        for step in [10, 20, 30, 40] {
            file.add(step, &[("loss", 1.0 / step as f64)]).unwrap();
        }
        assert_eq!(steps(&directory), [Some(10), Some(20), Some(30), Some(40)]);
    }
}
