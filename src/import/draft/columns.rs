//! Columns of a table that have no role yet.

use super::look::Look;

/// Different cells of a column that is left out which are shown.
const SHOWN: usize = 4;

/// The columns that have no role yet.
pub(crate) struct Free<'a>(pub Vec<&'a Look>);

impl<'a> Free<'a> {
    pub fn take(&mut self, is: impl Fn(&Look) -> bool) -> Option<&'a Look> {
        let position = self.0.iter().position(|look| is(look))?;
        Some(self.0.remove(position))
    }

    pub fn take_this(&mut self, this: &Look) {
        self.0.retain(|look| !std::ptr::eq(*look, this));
    }
}

/// The first cells of a column.
pub(crate) fn shown(look: &Look) -> String {
    let mut shown: Vec<String> = look.values.iter().take(SHOWN).map(|value| crate::problems::shown(value)).collect();
    if look.values.len() > SHOWN {
        shown.push("...".to_owned());
    }
    shown.join(", ")
}
