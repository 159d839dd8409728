//! Estimates of an archive that grows: what is new or changed is estimated, into one table that says of each row what it was made from.
//!
//! ```text
//! estimates/tanks/
//!   manifest.json     as of other estimates
//!   adapt.parquet     one row per environment, with its files and lines, its model, and when it was estimated
//!   sources.json      the files that were read: size, time of change, SHA-256
//! ```

pub(crate) mod sources;
pub(crate) mod origin;
pub(crate) mod again;
pub(crate) mod known;
pub(crate) mod table;
pub(crate) mod request;
pub(crate) mod reading;
pub(crate) mod finished;
pub(crate) mod update;

pub use again::{Again, Selector};
pub use request::{Request, Update};
pub use sources::{SourceRecord, Sources};
pub use update::update;
