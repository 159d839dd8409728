//! A pipeline as jobs of Slurm: arrays of shards, one job that trains, and what puts them together, each after the one before.
//!
//! What is done is known from what the shards have left, what runs from `squeue`. Job ids say nothing: Slurm may start a job twice, and give an
//! id a second time.

pub(crate) mod client;
pub(crate) mod script;
pub(crate) mod jobs;
pub(crate) mod submitted;
pub(crate) mod submit;
pub(crate) mod standing;
pub(crate) mod failure;

pub use failure::tell_of_failure;
pub use jobs::Job;
pub use standing::{StageShards, shards_of};
pub use submit::{Submission, prepare, submit};
pub use submitted::Submitted;
