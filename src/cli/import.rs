//! `paramill import`.

use super::arguments::Import;
use super::kinds::{Wanted, lead_to};
use super::output::{of_options, print_file};
use crate::import;
use crate::pipeline::Error;

/// `paramill import --guess PATH`: prints a draft of the mapping of an archive.
pub(crate) fn import(command: &Import) -> Result<u8, Error> {
    lead_to([(command.guess.as_path(), (Wanted::Either, "a file of an archive, or its directory"))])?;
    let mapping = import::draft(&command.guess).map_err(|problems| import::Error::Data(of_options(problems)))?;
    print_file(&mapping);
    Ok(0)
}
