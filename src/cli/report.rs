//! `paramill report`.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use super::output::print;
use super::report_arguments::Report;
use crate::pipeline::{Built, Error, Locations, Options, Plan, Sweep};
use crate::report::CellState;

/// The variable that names the program which shows pages.
const BROWSER: &str = "BROWSER";
/// That program where nothing names one.
const USUAL: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Prints the path of the report's page, and shows it where that is asked for.
pub(crate) fn report(command: &Report) -> Result<u8, Error> {
    let locations = Locations { workspace: command.workspace.clone(), ..Locations::default() };
    let pipeline = command.pipeline.display();
    let (has_report, directory) =
        match Sweep::load(&command.pipeline, &command.set, &locations).map_err(Error::Problems)? {
            Some(sweep) => {
                // As the cells stand now, which may have been run one by one.
                let results = sweep.results(&Built, &Options::of_a_look());
                let directory = sweep.report_directory();
                if results.count(CellState::Done) > 0 || directory.exists() {
                    sweep.write_results(&results)?;
                }
                (true, directory)
            }
            None => {
                let plan = Plan::load(&command.pipeline, &command.set, &locations).map_err(Error::Problems)?;
                (plan.report.is_some(), plan.report_directory())
            }
        };
    let page = directory.join("index.html");
    if !has_report {
        return Err(Error::Usage(format!(
            "report: {pipeline}: found no section [report]; add it, and run the pipeline"
        )));
    }
    if !page.is_file() {
        return Err(Error::Usage(format!(
            "report: {}: found no report; run `paramill run {pipeline}` first",
            page.display()
        )));
    }
    print(&format!("{}\n", page.display()));
    if command.open {
        let program = std::env::var_os(BROWSER).filter(|it| !it.is_empty()).unwrap_or_else(|| OsString::from(USUAL));
        let shown = Command::new(&program).arg(&page).stdin(Stdio::null()).stdout(Stdio::null()).status();
        let program = program.display();
        let found = match shown {
            Ok(status) if status.success() => return Ok(0),
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        return Err(Error::Usage(format!(
            "report: {program} did not show the page: {found}; open it by hand, or name a browser in {BROWSER}"
        )));
    }
    Ok(0)
}
