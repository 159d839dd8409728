//! What can be wrong with a pipeline before it runs: its document, its sections, its stages together, and its archive.

pub(crate) mod schema;
pub(crate) mod system_file;
pub(crate) mod stages;
pub(crate) mod sections;
pub(crate) mod read;
pub(crate) mod starts;
pub(crate) mod computable;
pub(crate) mod unheeded;
pub(crate) mod archive;
