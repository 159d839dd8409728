//! `paramill results`.

use std::path::PathBuf;

use super::kinds::{Wanted, lead_to};
use super::output::print;
use super::report_arguments::Results;
use crate::pipeline::Error;
use crate::regular;
use crate::report::{SweepResults, results_page};

pub(crate) fn results(command: &Results) -> Result<u8, Error> {
    let expected = "`sweep.json` of the workspace of a sweep, which `paramill run` writes";
    lead_to(command.files.iter().map(|path| (path.as_path(), (Wanted::File, expected))))?;
    let read = |path: &PathBuf| {
        let bytes = regular::read(path).map_err(Error::io(path))?;
        let results = serde_json::from_slice::<SweepResults>(&bytes).map_err(|error| error.to_string());
        let sound = results.and_then(|it| it.problem().map_or(Ok(it), Err));
        sound.map_err(|found| Error::Damaged {
            path: path.clone(),
            found: format!("no results ({found})"),
            expected: format!("{expected}; get it again"),
        })
    };
    let all = command.files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    print(&results_page(&all));
    Ok(0)
}
