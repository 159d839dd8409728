//! `paramill completions`.

use clap::CommandFactory;

use super::arguments::{Arguments, Completions};
use super::output::print;
use crate::pipeline::Error;

/// Prints the script of one shell.
pub(crate) fn completions(command: &Completions) -> Result<u8, Error> {
    let mut script = Vec::new();
    clap_complete::generate(command.shell, &mut Arguments::command(), env!("CARGO_PKG_NAME"), &mut script);
    print(&String::from_utf8_lossy(&script));
    Ok(0)
}
