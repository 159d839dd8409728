//! Whether new data came: the age of an archive's newest file.

use std::path::Path;
use std::time::SystemTime;

use jiff::Timestamp;

use super::clock::stated;
use super::plan::{Plan, Source};
use crate::import;

const SECONDS_A_DAY: f64 = 86_400.0;

/// The newest file of an archive.
pub(crate) struct Newest {
    name: String,
    written: SystemTime,
}

impl Newest {
    /// The file of the archive of `plan` that was written last; `None` where the data are simulated, or no file can be looked at.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        let Source::Import(settings) = &plan.source else { return None };
        let files = import::files(settings, Path::new("")).ok()?.into_iter();
        let written = files.filter_map(|(name, path)| Some((path.metadata().ok()?.modified().ok()?, name)));
        written.max().map(|(written, name)| Newest { name, written })
    }

    /// When it was written, UTC.
    pub(crate) fn written(&self) -> String {
        Timestamp::try_from(self.written).map(stated).unwrap_or_default()
    }

    /// What to say where it is older than `run.data_days`; `None` if it is not, or nobody asks. It counts by when it was last written, so that a clock
    /// that goes back makes none old.
    pub(crate) fn problem(&self, plan: &Plan) -> Option<String> {
        let days = plan.run.data_days?;
        let age = SystemTime::now().duration_since(self.written).unwrap_or_default();
        if age.as_secs_f64() <= days * SECONDS_A_DAY {
            return None;
        }
        let (name, time) = (&self.name, self.written());
        Some(format!(
            "no new data: found {name} as the newest file of the archive, written at {time}; expected one of the last {} \
             (run.data_days); look into where the data come from",
            in_words(days)
        ))
    }
}

/// `36 hours`, `2 days`.
fn in_words(days: f64) -> String {
    match days.fract() == 0.0 {
        true => format!("{days} days"),
        false => format!("{} hours", (days * 240.0).round() / 10.0),
    }
}
