//! A first mapping of an archive: what its columns look like, as an `[import]` section to start from.

mod names;
mod look;
mod rows;
mod doses;
mod inputs;
pub(crate) mod columns;
mod stacked;
mod roles;
mod times;
mod toml;
pub(crate) mod archive;
mod mapping;
mod guess;

pub use guess::guess;
