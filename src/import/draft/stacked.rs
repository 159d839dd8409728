//! Tables with several quantities in one column of values, and another column that names them.

use std::collections::BTreeMap;

use super::names::{CHANNELS, FLAGS, VAGUE_VALUES, VALUES, is_quantity};
use super::profile::{Profile, code};
use super::rows::{determine, distinct, sizes};
use super::unassigned::{Unassigned, first_cells};

/// Most channels of a long table; a column with more names is something else.
const MOST_CHANNELS: usize = 64;
/// Ratio of the mean sizes of two groups of values above which they are taken for different quantities.
const APART: f64 = 5.0;

/// The columns of a long table.
pub(crate) struct Stacked<'a> {
    pub channel: &'a Profile,
    pub value: &'a Profile,
    /// Units by the names of channels, where a column says them.
    pub units: BTreeMap<String, String>,
}

/// The columns that may name channels, likeliest first.
pub(crate) fn names_of_channels<'a>(
    free: &Unassigned<'a>,
    values: &[&Profile],
    of_doses: bool,
    rows: &[usize],
) -> Vec<&'a Profile> {
    let mut found: Vec<(usize, &Profile)> = Vec::new();
    for profile in &free.0 {
        let place = CHANNELS.iter().position(|name| profile.is_called(&[name]));
        let is_code = profile.is_number() && profile.is_whole() && profile.strange.len() <= 1;
        let is_name = !profile.is_number() && profile.stamps == 0 || is_code && (of_doses || !values.is_empty());
        let count = distinct(profile, rows);
        if let Some(place) = place
            && is_name
            && (1..=MOST_CHANNELS).contains(&count)
            && profile.values.len() <= MOST_CHANNELS
            && !(profile.is_number() && count < 2)
        {
            found.push((place, profile));
        }
    }
    found.sort_by_key(|it| it.0);
    found.into_iter().map(|it| it.1).collect()
}

/// The columns of a table with several quantities in one column, if it is one.
pub(crate) fn stacked<'a>(
    free: &mut Unassigned<'a>,
    environment: &[&'a Profile],
    trajectory: Option<&'a Profile>,
    of_doses: bool,
    rows: &[usize],
    notes: &mut Vec<String>,
) -> Option<Stacked<'a>> {
    let is_covariate = |profile: &Profile| !environment.is_empty() && determine(environment, profile, rows);
    let is_number = |profile: &&Profile| profile.is_number() && distinct(profile, rows) > 1;
    let called: Vec<&Profile> =
        free.0.iter().copied().filter(|profile| profile.is_called(VALUES) && is_number(profile)).collect();
    let mut candidates = names_of_channels(free, &called, of_doses, rows);
    // A column of values may have a name of these too, such as `measurement`.
    candidates.retain(|profile| !called.iter().any(|value| std::ptr::eq(*value, *profile)));
    if candidates.iter().any(|profile| distinct(profile, rows) > 1) {
        candidates.retain(|profile| distinct(profile, rows) > 1);
    }
    let is_candidate = |profile: &Profile| candidates.iter().any(|candidate| std::ptr::eq(*candidate, profile));
    let others: Vec<&Profile> = free
        .0
        .iter()
        .copied()
        .filter(|profile| is_number(profile) && !is_covariate(profile) && !is_candidate(profile))
        .collect();
    let value = match (called.as_slice(), others.as_slice()) {
        // Such a name may be that of one measurement among several.
        ([value, ..], several) if several.len() > 1 && value.is_called(VAGUE_VALUES) => return None,
        ([value, ..], _) | ([], [value]) => *value,
        _ => return None,
    };
    // A column that another determines is the coarser of the two.
    let finest: Vec<&Profile> = candidates
        .iter()
        .enumerate()
        .filter(|(i, profile)| {
            !candidates.iter().enumerate().any(|(j, other)| {
                j != *i && determine(&[other], profile, rows) && (j < *i || !determine(&[profile], other, rows))
            })
        })
        .map(|it| *it.1)
        .collect();
    let channel = match finest.first() {
        Some(channel) => *channel,
        None => unlisted(free, value, environment, trajectory, others.len(), rows, notes)?,
    };
    free.take_this(channel);
    free.take_this(value);
    Some(Stacked { channel, value, units: BTreeMap::new() })
}

/// A column of channels whose name says nothing, but whose cells name quantities, or separate values of very different sizes.
fn unlisted<'a>(
    free: &Unassigned<'a>,
    value: &Profile,
    environment: &[&Profile],
    trajectory: Option<&Profile>,
    numbers: usize,
    rows: &[usize],
    notes: &mut Vec<String>,
) -> Option<&'a Profile> {
    let ids: Vec<&Profile> = environment.iter().copied().chain(trajectory).collect();
    let found = free.0.iter().copied().find(|profile| {
        let is_text = profile.texts > 0 && !profile.is_number() && (2..=MOST_CHANNELS).contains(&profile.values.len());
        let quantities = profile.values.iter().filter(|name| is_quantity(name)).count();
        let are_apart = sizes(value, profile, rows).is_some_and(|(least, most)| most > APART * least);
        is_text
            && numbers == 1
            && !profile.is_called(FLAGS)
            && (ids.is_empty() || !determine(&ids, profile, rows))
            && (2 * quantities > profile.values.len() || are_apart && profile.changes >= profile.values.len())
    })?;
    notes.push(format!(
        "{:?} is taken to name what is measured, for its cells ({}) or the sizes of their values; if it tells systems apart, remove `layout`, \
         `channel` and `value`, and make it the `environment`",
        found.header,
        first_cells(found)
    ));
    Some(found)
}

/// The unit of each channel by the column `unit`; none if a channel has several.
pub(crate) fn units(channel: &Profile, unit: &Profile, rows: &[usize]) -> BTreeMap<String, String> {
    if !determine(&[channel], unit, rows) {
        return BTreeMap::new();
    }
    let of = |name: &String| {
        let row = rows.iter().find(|&&row| channel.codes[row] == code(name) && unit.codes[row] != 0)?;
        let unit = unit.values.iter().find(|text| code(text) == unit.codes[*row])?;
        Some((name.clone(), unit.clone()))
    };
    channel.values.iter().filter_map(of).collect()
}
