//! Rows of cells to samples: the columns that the settings name, and the rows of one trajectory together.

pub(crate) mod places;
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
