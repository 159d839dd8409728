//! Finished blocks of unfinished work: what a stage has computed for some rows of a split, kept so that nobody computes it again.
//!
//! ```text
//! WORKSPACE/blocks/STAGE-KEY/
//!   SPLIT-FIRST-ROWS.block     results for the rows FIRST .. FIRST + ROWS of a split
//! ```
//!
//! `KEY` is of settings, inputs and what computes, so blocks of one folder belong together whoever made them, and others never mix in. A block
//! appears by one rename and is the same whoever writes it, so one that is written twice does no harm.

pub(crate) mod exact;
pub(crate) mod rows;
pub(crate) mod store;

pub(crate) use exact::{Exact, exact_fields};
pub use rows::Rows;
pub(crate) use store::Part;
pub use store::{Listing, Store};
