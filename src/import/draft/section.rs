//! An `[import]` section from what the columns of an archive look like.

use std::path::Path;

use super::attempts::best_mapping;
use super::fields;
use super::no_channel::why_no_channel;
use super::open::{no_table, open};
use super::profile::{ROWS, profile, profile_elsewhere};
use super::roles::roles;
use crate::problems::Problem;

/// An `[import]` section, with comments, that reads the file at `path`, or all files of one kind in the folder at `path`: of tables, or of fields.
///
/// # Errors
/// If there is no table that can be read, or none of its columns can be a channel.
pub fn draft(path: &Path) -> Result<String, Vec<Problem>> {
    if let Some(section) = fields::draft(path)? {
        return Ok(section);
    }
    let mut opened = open(path)?;
    let notation = opened.archive.notation();
    let mut profiles = profile(&mut opened.source, &notation, &mut opened.problems);
    let mut left = ROWS;
    for mut source in opened.others() {
        profile_elsewhere(&mut profiles, &mut source, &notation, &mut left);
        if left == 0 {
            break;
        }
    }
    match roles(&profiles, opened.archive.pattern.is_some()) {
        Some(roles) => Ok(best_mapping(&opened.archive, &opened.file, &roles)),
        None if opened.problems.is_empty() => {
            let (found, remedy) = why_no_channel(&profiles, &opened.archive.unread);
            Err(no_table(path, &found, remedy))
        }
        None => Err(opened.problems.into_vec()),
    }
}
