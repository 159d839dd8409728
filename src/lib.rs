//! Paramill: learns one context-conditioned dynamics model from many related systems and reads each system's
//! physical parameters off its context.
//!
//! What a program needs of it: [`Model::open`] and [`Model::estimate`] for a trained model, [`physics::fit`] for known equations,
//! [`Model::forecast`], [`Dataset::open`], and [`pipeline::run`] for whole pipelines.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use paramill::schema::Split;
//! use paramill::{Dataset, Model};
//!
//! let dataset = Dataset::open(Path::new("datasets/lv-demo"))?;
//! let model = Model::open(Path::new("runs/lv-demo/models/lv-demo"))?;
//! for row in model.estimate(&dataset.read(Split::Adapt)?)? {
//!     println!("{}: {} {:?}", row.environment, row.status.name(), row.parameters);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The order of the modules is the flow: each uses only those above it, and `tests/architecture.rs` keeps it so.

#![warn(missing_docs, unreachable_pub, clippy::print_stdout, clippy::print_stderr)]

pub mod schema;
pub mod progress;
pub mod printable;
pub mod regular;
mod disk;
pub mod atomic;
pub mod digest;
pub mod seal;
pub mod blocks;
pub mod random;
pub mod problems;
pub mod units;
pub mod expressions;
pub mod signals;
pub mod least_squares;
mod fourier;
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
pub mod tensorboard;
pub mod estimate;
pub mod forecast;
pub mod library;
pub mod score;
pub mod report;
pub mod pipeline;
pub mod archive;
pub mod cli;

pub use dataset::Dataset;
pub use estimate::physics;
pub use library::Model;
