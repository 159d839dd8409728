//! What a format of columnar files is.

use std::path::Path;

use super::batch::{Batches, Refusal};

/// A format of files that hold columns of one type each.
pub(crate) struct Format {
    /// A beginning that no other format has, for tests.
    #[cfg(test)]
    pub signature: &'static [u8],
    /// What messages call it.
    pub name: &'static str,
    /// Endings of the names of its files.
    pub endings: &'static [&'static str],
    /// Whether a file with these first bytes is of this format.
    pub is_of: fn(&[u8]) -> bool,
    /// Opens a file.
    ///
    /// # Errors
    /// Why it cannot be read as a table.
    pub open: fn(&Path) -> Result<Batches, Refusal>,
}
