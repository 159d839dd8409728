//! `paramill import`.

use super::arguments::Import;
use super::output::print_file;
use crate::import;
use crate::pipeline::Error;

pub fn import(command: &Import) -> Result<u8, Error> {
    let mapping = import::guess(&command.guess).map_err(import::Error::Data)?;
    print_file(&mapping);
    Ok(0)
}
