//! What is wrong with what a user gave: where, what was found, what was expected, and what to do.

mod diagnostic;
mod problem;
mod words;
mod names;
pub mod settings;

pub use diagnostic::{Diagnostic, Place};
pub(crate) use names::{nearest, suggestion};
pub(crate) use problem::Problems;
pub use problem::{Kind, LISTED, Problem};
pub(crate) use words::{form_of, listing, many, shown};
