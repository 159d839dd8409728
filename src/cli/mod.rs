//! The command line: parses arguments, calls the library, prints the result, and maps errors to exit codes.

pub(crate) mod check_arguments;
pub(crate) mod status_arguments;
pub(crate) mod model_arguments;
pub(crate) mod dataset_arguments;
pub(crate) mod log_arguments;
pub(crate) mod choices;
pub(crate) mod compute_arguments;
pub(crate) mod estimate_arguments;
pub(crate) mod shard_arguments;
pub(crate) mod report_arguments;
pub(crate) mod compare_arguments;
pub(crate) mod score_arguments;
pub(crate) mod arguments;
pub(crate) mod kinds;
pub(crate) mod rotation;
pub(crate) mod log;
pub(crate) mod output;
pub(crate) mod show;
pub(crate) mod report;
pub(crate) mod results;
pub(crate) mod compare;
pub(crate) mod check;
pub(crate) mod signals;
mod sparkline;
mod losses;
mod resident;
pub(crate) mod terminal;
pub(crate) mod threads;
pub(crate) mod slurm;
pub(crate) mod sweep;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod estimate;
pub(crate) mod shard;
pub(crate) mod model_bundle;
pub(crate) mod model_drift;
pub(crate) mod model;
pub(crate) mod dataset;
pub(crate) mod import;
pub(crate) mod score;
pub(crate) mod list;
pub(crate) mod predict_table;
pub(crate) mod predict_common;
mod predict_by_equations;
mod predict;
pub(crate) mod schema;
pub(crate) mod completions;
pub(crate) mod man;
pub(crate) mod reference;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::pipeline::Error;
use crate::problems::many;
use arguments::{Arguments, Command};

/// The command line as clap knows it: what completions, manual and reference are made from.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Parses the process's arguments and executes the command.
pub fn main() -> ExitCode {
    signals::outlive_file_limits();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() && std::env::args().any(|argument| argument == "--json") => {
            let error = Error::Usage(error.to_string().trim_end().to_owned());
            output::print_json(&output::error_as_json(&error));
            return ExitCode::from(error.exit_code());
        }
        Err(error) if error.use_stderr() => {
            output::complain(error.to_string().trim_end());
            return ExitCode::from(2);
        }
        Err(error) => error.exit(),
    };
    let as_json = arguments.command.wants_json();
    let done = match arguments.command {
        Command::Run(command) => run::run(&command, arguments.quiet),
        Command::Estimate(command) => estimate::estimate(&command, arguments.quiet),
        Command::Status(command) => status::status(&command),
        Command::Shard(command) => shard::shard(&command, arguments.quiet),
        Command::Model(command) => model::model(&command),
        Command::Import(command) => import::import(&command),
        Command::Predict(command) => predict::predict(&command, arguments.quiet),
        Command::Score(command) => score::score(&command),
        Command::Check(command) => check::check(&command),
        Command::Show(command) => show::show(&command),
        Command::Report(command) => report::report(&command),
        Command::Results(command) => results::results(&command),
        Command::Compare(command) => compare::compare(&command),
        Command::Schema(command) => schema::schema(&command),
        Command::List(command) => list::list(&command),
        Command::Dataset(command) => dataset::dataset(&command, arguments.quiet),
        Command::Reference(command) => reference::reference(&command),
        Command::Completions(command) => completions::completions(&command),
        Command::Man(command) => man::man(&command),
    };
    ExitCode::from(done.unwrap_or_else(|error| {
        if as_json {
            output::print_json(&output::error_as_json(&error));
        }
        if !as_json || log::is_json() {
            report_error(&error);
        } else {
            output::keep(&log::Entry::new("error", &format!("error: {error}")));
        }
        error.exit_code()
    }))
}

fn report_error(error: &Error) {
    match error {
        Error::Problems(problems) => {
            problems.iter().for_each(|problem| output::say(&log::Entry::new("error", &problem.to_string())));
            output::complain(&format!("error: {}", many(problems.len() as u64, "problem")));
        }
        error => {
            output::complain(&format!("error: {error}"));
            if error.is_of_the_machine() {
                output::complain(
                    "hint: check that the place is writable and has room; what was there before is unchanged",
                );
            }
        }
    }
}
