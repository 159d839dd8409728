//! A first mapping of an archive: what its columns look like, as an `[import]` section to start from.

mod names;
mod look;
mod rows;
mod doses;
mod inputs;
mod stacked;
pub(crate) mod columns;
mod roles;
mod times;
mod toml;
mod mapping;
pub(crate) mod archive;
mod guess;

pub use guess::guess;
