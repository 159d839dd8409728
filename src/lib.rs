//! Paramill: learns one context-conditioned dynamics model from many related systems and reads each system's
//! physical parameters off its context.
//!
//! The order below is the flow. A module uses only modules above it; `tests/architecture.rs` keeps it so.

pub mod schema;
pub mod progress;
pub mod printable;
pub mod regular;
pub mod atomic;
pub mod digest;
pub mod seal;
pub mod random;
pub mod problems;
pub mod units;
pub mod expressions;
pub mod signals;
pub mod least_squares;
pub mod dataset;
pub mod solve;
pub mod systems;
pub mod generate;
pub mod import;
pub mod models;
pub mod rules;
pub mod engine;
pub mod checkpoint;
pub mod train;
pub mod estimate;
pub mod forecast;
pub mod report;
pub mod pipeline;
pub mod cli;
