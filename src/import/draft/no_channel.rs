//! Why no column of a table can be a channel.

use super::profile::Profile;
use crate::problems::{listing, shown};

/// Why no column can be a channel, and what to do.
pub(crate) fn why_no_channel(profiles: &[Profile], unread: &[(String, String)]) -> (String, &'static str) {
    let rows = profiles.iter().map(|profile| profile.numbers + profile.stamps + profile.texts).max().unwrap_or(0);
    let named = |is: &dyn Fn(&Profile) -> bool| {
        let names: Vec<&str> =
            profiles.iter().filter(|profile| is(profile)).map(|profile| profile.header.as_str()).collect();
        (!names.is_empty()).then(|| listing(&names))
    };
    if rows == 0 {
        return ("a header without rows".to_owned(), "name a file with measurements");
    }
    if let [(name, what), ..] = unread {
        let found = format!("no column that can be a channel, and {} {what}, which is not read", shown(name));
        return (found, "write that column as numbers or time stamps, or the samples as CSV");
    }
    if let [only] = profiles {
        let found = format!("a single column {}", shown(&only.header));
        return (found, "if it should be several, they are separated by something unusual: write the mapping by hand");
    }
    if rows == 1 {
        return ("a single row".to_owned(), "name a file with several measurements over time");
    }
    if let Some(names) = named(&|profile| profile.is_number() && profile.values.len() == 1) {
        let remedy = "nothing is learned from a constant: name a file in which something changes over time";
        return (format!("beside a time only values that never change, in {names}"), remedy);
    }
    if let Some(names) = named(&|profile| profile.numbers > 0 && !profile.is_number()) {
        let found = format!("numbers and other text mixed in {names}");
        return (found, "correct the cells, or write the mapping by hand and declare its markers under `missing`");
    }
    if let Some(names) = named(&|profile| profile.is_number()) {
        let found = format!("only {names} with numbers, and no measurement beside them");
        return (found, "name a file with a column of times and one of measurements at least");
    }
    let names = listing(&profiles.iter().map(|profile| profile.header.as_str()).collect::<Vec<_>>());
    (format!("no column of numbers among {names}"), "name a file with measurements")
}
