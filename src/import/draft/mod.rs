//! A draft of the mapping of an archive: what its columns look like, as an `[import]` section to start from.

mod names;
mod profile;
mod rows;
mod doses;
mod inputs;
mod unassigned;
mod stacked;
mod left_out;
mod roles;
mod times;
mod toml;
mod archive;
mod mapping;
mod petab;
mod open;
mod no_channel;
mod attempts;
mod fields;
mod section;

pub use section::draft;
