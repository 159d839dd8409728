//! Whether new data came: the age of an archive's newest file.

use std::path::Path;
use std::time::SystemTime;

use jiff::Timestamp;

use super::clock::stated;
use super::plan::{Plan, Source};
use crate::import;

const SECONDS_A_DAY: u64 = 86_400;

/// What to say of an archive in which no file is younger than `run.data_days`; `None` if one is, or nobody asks. A file counts by when it was last
/// written, so that a clock that goes back makes none old.
pub(crate) fn old_data(plan: &Plan) -> Option<String> {
    let days = plan.run.data_days?;
    let Source::Import(settings) = &plan.source else { return None };
    let files = import::files(settings, Path::new("")).ok()?.into_iter();
    let written = files.filter_map(|(name, path)| Some((path.metadata().ok()?.modified().ok()?, name)));
    let (newest, name) = written.max()?;
    let age = SystemTime::now().duration_since(newest).unwrap_or_default();
    if age.as_secs() <= u64::from(days) * SECONDS_A_DAY {
        return None;
    }
    let time = Timestamp::try_from(newest).map(stated).unwrap_or_default();
    Some(format!(
        "no new data: found {name} as the newest file of the archive, written at {time}; expected one of the last {days} days \
         (run.data_days); look into where the data come from"
    ))
}
