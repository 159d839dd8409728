//! The starts and profiles of a few environments, for the report.

use super::error::Error;
use crate::dataset::Dataset;
use crate::estimate::physics::{self, SharedProfiles, Surroundings};
use crate::estimate::{self, Intervals, Row, Settings};
use crate::progress::Run;
use crate::report;
use crate::schema::Split;

/// Environments that are shown.
const SHOWN: usize = 4;

/// What lies around the estimates of environments with more than one minimum, those first whose second one is nearly as good; else around the
/// worst, where several starts were tried or profiles made. Adds why others have none to `undrawn`.
///
/// # Errors
/// At a request to stop.
pub(crate) fn surroundings(
    settings: &Settings,
    dataset: &Dataset,
    rows: &[(Split, Row)],
    run: &Run,
    undrawn: &mut Vec<String>,
) -> Result<Vec<report::Surroundings>, Error> {
    let (mut found, mut shared) = (Vec::new(), SharedProfiles::default());
    for (split, row) in chosen(rows, settings.intervals == Intervals::Profile) {
        match physics::surroundings(settings, dataset, (*split, row), &mut shared, run) {
            Ok(Surroundings { costs, profiles }) => {
                found.push(report::Surroundings { title: row.environment.clone(), costs, profiles });
            }
            Err(error @ estimate::Error::Interrupted { .. }) => return Err(error.into()),
            Err(error) => undrawn.push(format!("the minima of {} ({error})", row.environment)),
        }
    }
    Ok(found)
}

fn chosen(rows: &[(Split, Row)], are_profiled: bool) -> Vec<&(Split, Row)> {
    let second = |row: &Row| row.minima.and_then(|it| it.second);
    let mut several: Vec<&(Split, Row)> = rows.iter().filter(|(_, row)| second(row).is_some()).collect();
    several.sort_by(|a, b| second(&a.1).unwrap_or_default().total_cmp(&second(&b.1).unwrap_or_default()));
    several.truncate(SHOWN);
    if several.is_empty() {
        let is_worth =
            |row: &Row| row.minima.is_some_and(|it| it.starts > 1 || are_profiled && !row.status.is_failure());
        let worst = rows.iter().filter(|(_, row)| is_worth(row));
        several.extend(worst.max_by(|a, b| a.1.trajectory_rmse.total_cmp(&b.1.trajectory_rmse)));
    }
    several
}
