//! From rows of cells to samples: finds the columns that the settings name, stores rows by record, and merges the rows of a record.

pub(crate) mod source_lines;
pub(crate) mod set_back;
pub(crate) mod merge;
pub(crate) mod header_units;
pub(crate) mod spill;
pub(crate) mod petab;
pub(crate) mod marks;
pub(crate) mod columns;
pub(crate) mod row;
pub(crate) mod store;
pub(crate) mod unmet;
pub(crate) mod unread_marks;
pub(crate) mod bulk;
