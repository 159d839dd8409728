//! `paramill reference`: pages of the documentation that the program itself knows best.

pub(crate) mod markdown;
pub(crate) mod command_line;
pub(crate) mod settings;
pub(crate) mod systems;

use clap::ValueEnum;

use super::arguments::{Reference, ReferencePage};
use super::output::print;
use crate::atomic;
use crate::pipeline::Error;

/// Prints one page, or writes all of them.
///
/// # Errors
/// If a page cannot be written.
pub(crate) fn reference(command: &Reference) -> Result<u8, Error> {
    if let Some(page) = command.page {
        print(&text(page));
    }
    if let Some(directory) = &command.write {
        for &page in ReferencePage::value_variants() {
            let path = directory.join(format!("{}.md", name(page)));
            atomic::write_file(&path, text(page).as_bytes()).map_err(Error::io(&path))?;
            print(&format!("{}\n", path.display()));
        }
    }
    Ok(0)
}

/// The name on the command line, which is that of the file too.
fn name(page: ReferencePage) -> String {
    page.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn text(page: ReferencePage) -> String {
    match page {
        ReferencePage::CommandLine => command_line::page(),
        ReferencePage::Settings => settings::page(),
        ReferencePage::Systems => systems::page(),
    }
}
