//! What the program does to a disk, each operation once: all that is made, written, synced, renamed, linked, locked and removed for good.
//!
//! Every operation is a point at which a test makes the process die or the operation fail (`failpoints.rs`, which releases lack). How they
//! make up commits is the business of [`crate::atomic`]. What libhdf5 writes itself, exports and single long trajectories, passes no point.

mod operation;
#[cfg(feature = "failpoints")]
mod failpoints;
mod point;
mod files;
mod holder;
mod locks;

pub(crate) use files::{
    NewFile, append_line, copy, create, create_directories, exchange, hard_link, persist, remove_file, remove_tree,
    rename, rename_to_nothing, symlink, sync, temporary_directory, temporary_file, write, write_all,
};
pub(crate) use locks::{Held, Kind, Refusal, holder, is_a_live_lock, is_free, try_lock};
