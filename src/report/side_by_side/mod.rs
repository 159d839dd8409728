//! Several runs side by side: their figures, the settings in which they differ, and their training curves over one another.
//!
//! Runs that differ in nothing but their seed are one group, of which means and standard deviations are told. Runs on other data are never of one
//! group: errors on different data do not compare.

pub(crate) mod run;
pub(crate) mod group;
pub(crate) mod curves;
pub(crate) mod page;

pub use group::{Group, SideBySide, Spread};
pub use run::{ComparedRun, DataOfRun};
