//! Columns of a table that have no role yet.

use super::profile::Profile;

/// Most cells of a column that are shown.
const SHOWN: usize = 4;

/// The columns that have no role yet.
pub(crate) struct Unassigned<'a>(pub Vec<&'a Profile>);

impl<'a> Unassigned<'a> {
    /// Takes the first column that is so.
    pub(super) fn take(&mut self, is: impl Fn(&Profile) -> bool) -> Option<&'a Profile> {
        let position = self.0.iter().position(|profile| is(profile))?;
        Some(self.0.remove(position))
    }

    /// Takes one of the columns.
    pub(super) fn take_this(&mut self, this: &Profile) {
        self.0.retain(|profile| !std::ptr::eq(*profile, this));
    }
}

/// The first different cells of a column.
pub(crate) fn first_cells(profile: &Profile) -> String {
    let mut shown: Vec<String> = profile.values.iter().take(SHOWN).map(|value| crate::problems::shown(value)).collect();
    if profile.values.len() > SHOWN {
        shown.push("...".to_owned());
    }
    shown.join(", ")
}
