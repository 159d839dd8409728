//! What can be wrong with a pipeline before it runs: its document, its sections, its stages together, and the archive.

pub(crate) mod stages;
pub(crate) mod sections;
pub(crate) mod starts;
pub(crate) mod computable;
pub(crate) mod archive;
pub(crate) mod schema;
