//! What is wrong with what a user gave: where, what was found, what was expected, and what to do.

mod words;
mod names;
mod kind;
mod place;
mod problem;
mod collector;

pub use collector::LISTED;
pub(crate) use collector::Problems;
pub use kind::Kind;
pub(crate) use names::{did_you_mean, nearest, suggestion};
pub use place::{Column, Place};
pub use problem::Problem;
pub(crate) use words::{form_of, listing, many, one_of, shown};
