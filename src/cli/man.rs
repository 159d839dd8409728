//! `paramill man`.

use clap::CommandFactory;
use clap_mangen::Man as Page;

use super::arguments::{Arguments, Man};
use super::output::print;
use crate::atomic;
use crate::pipeline::Error;

/// Prints the page of the program, or writes those of all its commands.
///
/// # Errors
/// If a page cannot be written.
pub(crate) fn man(command: &Man) -> Result<u8, Error> {
    let mut program = Arguments::command().disable_help_subcommand(true);
    program.build();
    let Some(directory) = &command.write else {
        print(&text(&Page::new(program)));
        return Ok(0);
    };
    for page in pages(program) {
        let path = directory.join(page.get_filename());
        atomic::write_file(&path, text(&page).as_bytes()).map_err(Error::io(&path))?;
        print(&format!("{}\n", path.display()));
    }
    Ok(0)
}

/// The page of a command, and those of the commands below it.
fn pages(command: clap::Command) -> Vec<Page> {
    let below: Vec<clap::Command> = command.get_subcommands().cloned().collect();
    std::iter::once(Page::new(command)).chain(below.into_iter().flat_map(pages)).collect()
}

fn text(page: &Page) -> String {
    let mut roff = Vec::new();
    page.render(&mut roff).expect("memory takes every write");
    // Examples and columns keep their blanks: lines of text are not stretched to the margin.
    String::from_utf8_lossy(&roff).replace("\n.SH EXTRA\n", "\n.SH NOTES\n.ad l\n")
}
