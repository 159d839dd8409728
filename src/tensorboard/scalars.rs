//! What a training tells, written down.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::file::EventFile;
use crate::progress::{Event, Look, Observer};

/// Keeps the losses, the learning rate and the damping of a training in an event file, and hands every event on.
pub struct Scalars<'a> {
    observer: &'a dyn Observer,
    /// None once it could not be written.
    file: Mutex<Option<EventFile>>,
}

impl<'a> Scalars<'a> {
    /// With the file in `directory`, which goes on where it ends. Where it cannot be written, `observer` is warned once, and the training goes on.
    pub fn new(directory: &Path, observer: &'a dyn Observer) -> Self {
        let file = EventFile::open(directory).map_err(|error| warn(observer, directory, &error)).ok();
        Scalars { observer, file: Mutex::new(file) }
    }

    fn keep(&self, look: &Look) {
        let values = [
            ("loss/train", Some(look.train)),
            ("loss/validation", look.validation),
            ("learning_rate", look.learning_rate),
            ("gauss_newton/damping", look.damping),
        ];
        let scalars: Vec<(&str, f64)> =
            values.into_iter().filter_map(|(tag, value)| Some((tag, value.filter(|it| it.is_finite())?))).collect();
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = file.as_mut()
            && let Err(error) = open.add(look.step, &scalars)
        {
            warn(self.observer, open.path(), &error);
            *file = None;
        }
    }
}

fn warn(observer: &dyn Observer, path: &Path, error: &io::Error) {
    let path = path.display();
    observer
        .observe(Event::Warn(format!("{path}: events for TensorBoard cannot be written ({error}); training goes on")));
}

impl Observer for Scalars<'_> {
    fn observe(&self, event: Event) {
        if let Event::Look(look) = &event {
            self.keep(look);
        }
        self.observer.observe(event);
    }

    fn complete(&self, sha256: &str, inode: u64) -> io::Result<()> {
        self.observer.complete(sha256, inode)
    }
}
