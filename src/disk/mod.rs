//! What the program does to a disk, each operation once: all that is made, written, synced, renamed, linked, locked and removed for good.
//!
//! Every operation is a point at which a test makes the process die or the operation fail (`failpoints.rs`, which releases lack). How they
//! make up commits is the business of [`crate::atomic`]. Datasets are HDF5 files in memory first; of exports and single long trajectories, which libhdf5
//! writes itself, each file and each batch of rows passes a point before it is written.

mod operation;
#[cfg(feature = "failpoints")]
mod failpoints;
mod point;
mod files;
mod holder;
mod locks;

pub(crate) use files::{
    NewFile, append_behind, append_line, before_library_creates, before_library_writes, create, create_directories,
    exchange, free, link_tree, persist, remove_file, remove_tree, rename, rename_to_nothing, symlink, sync, take_after,
    temporary_directory, temporary_file, write, write_all,
};
pub(crate) use locks::{Held, Kind, Refusal, holder, is_a_live_lock, is_free, try_lock};
