//! What a format of files of arrays is.

use std::path::Path;

use super::array_file::{ArrayFile, Refusal};

/// A format of files of arrays.
pub(crate) struct ArrayFormat {
    /// A beginning that no other format has, for tests.
    #[cfg(test)]
    pub signature: &'static [u8],
    /// Endings of the names of its files.
    pub endings: &'static [&'static str],
    /// Whether a file with these first bytes is of this format.
    pub is_of: fn(&[u8]) -> bool,
    /// Opens a file.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub open: fn(&Path) -> Result<Box<dyn ArrayFile>, Refusal>,
}
