//! Tables with several quantities in one column, and another that names them.

use std::collections::BTreeMap;

use super::columns::{Free, shown};
use super::look::{Look, code};
use super::names::{CHANNELS, FLAGS, VAGUE_VALUES, VALUES, is_quantity};
use super::rows::{distinct, sizes, tell};

/// Channels of a long table at most; a column of more names is something else.
const MOST_CHANNELS: usize = 64;
/// How much larger the values of one group of rows are than those of another before the two are taken for different quantities.
const APART: f64 = 5.0;

/// Several quantities in one column.
pub(crate) struct Stacked<'a> {
    pub channel: &'a Look,
    pub value: &'a Look,
    /// Units by the names of channels, where a column says them.
    pub units: BTreeMap<String, String>,
}

/// The columns that may name channels, from the likeliest.
pub(crate) fn names_of_channels<'a>(
    free: &Free<'a>,
    values: &[&Look],
    of_doses: bool,
    rows: &[usize],
) -> Vec<&'a Look> {
    let mut found: Vec<(usize, &Look)> = Vec::new();
    for look in &free.0 {
        let place = CHANNELS.iter().position(|name| look.is_called(&[name]));
        let is_code = look.is_number() && look.is_whole() && look.strange.len() <= 1;
        let is_name = !look.is_number() && look.stamps == 0 || is_code && (of_doses || !values.is_empty());
        let count = distinct(look, rows);
        if let Some(place) = place
            && is_name
            && (1..=MOST_CHANNELS).contains(&count)
            && look.values.len() <= MOST_CHANNELS
            && !(look.is_number() && count < 2)
        {
            found.push((place, look));
        }
    }
    found.sort_by_key(|it| it.0);
    found.into_iter().map(|it| it.1).collect()
}

/// The columns of a table with several quantities in one column, if it is one.
pub(crate) fn stacked<'a>(
    free: &mut Free<'a>,
    environment: &[&'a Look],
    trajectory: Option<&'a Look>,
    of_doses: bool,
    rows: &[usize],
    notes: &mut Vec<String>,
) -> Option<Stacked<'a>> {
    let is_covariate = |look: &Look| !environment.is_empty() && tell(environment, look, rows);
    let is_number = |look: &&Look| look.is_number() && distinct(look, rows) > 1;
    let called: Vec<&Look> = free.0.iter().copied().filter(|look| look.is_called(VALUES) && is_number(look)).collect();
    let mut candidates = names_of_channels(free, &called, of_doses, rows);
    // `value` may also be called like a column of names, such as `measurement`.
    candidates.retain(|look| !called.iter().any(|value| std::ptr::eq(*value, *look)));
    if candidates.iter().any(|look| distinct(look, rows) > 1) {
        candidates.retain(|look| distinct(look, rows) > 1);
    }
    let is_candidate = |look: &Look| candidates.iter().any(|candidate| std::ptr::eq(*candidate, look));
    let others: Vec<&Look> =
        free.0.iter().copied().filter(|look| is_number(look) && !is_covariate(look) && !is_candidate(look)).collect();
    let value = match (called.as_slice(), others.as_slice()) {
        // One measurement among several may be called so.
        ([value, ..], several) if several.len() > 1 && value.is_called(VAGUE_VALUES) => return None,
        ([value, ..], _) | ([], [value]) => *value,
        _ => return None,
    };
    // What another column tells is the coarser of the two.
    let finest: Vec<&Look> = candidates
        .iter()
        .enumerate()
        .filter(|(i, look)| {
            !candidates
                .iter()
                .enumerate()
                .any(|(j, other)| j != *i && tell(&[other], look, rows) && (j < *i || !tell(&[look], other, rows)))
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

/// A column whose name says nothing, but whose cells name quantities, or tell values of very different sizes apart.
fn unlisted<'a>(
    free: &Free<'a>,
    value: &Look,
    environment: &[&Look],
    trajectory: Option<&Look>,
    numbers: usize,
    rows: &[usize],
    notes: &mut Vec<String>,
) -> Option<&'a Look> {
    let ids: Vec<&Look> = environment.iter().copied().chain(trajectory).collect();
    let found = free.0.iter().copied().find(|look| {
        let is_text = look.texts > 0 && !look.is_number() && (2..=MOST_CHANNELS).contains(&look.values.len());
        let quantities = look.values.iter().filter(|name| is_quantity(name)).count();
        let are_apart = sizes(value, look, rows).is_some_and(|(least, most)| most > APART * least);
        is_text
            && numbers == 1
            && !look.is_called(FLAGS)
            && (ids.is_empty() || !tell(&ids, look, rows))
            && (2 * quantities > look.values.len() || are_apart && look.changes >= look.values.len())
    })?;
    notes.push(format!(
        "{:?} is taken to name what is measured, for its cells ({}) or the sizes of their values; if it tells systems apart, remove `layout`, \
         `channel` and `value`, and make it the `environment`",
        found.header,
        shown(found)
    ));
    Some(found)
}

/// The unit of each channel, where a column says it and no channel has several.
pub(crate) fn units(channel: &Look, unit: &Look, rows: &[usize]) -> BTreeMap<String, String> {
    if !tell(&[channel], unit, rows) {
        return BTreeMap::new();
    }
    let of = |name: &String| {
        let row = rows.iter().find(|&&row| channel.codes[row] == code(name) && unit.codes[row] != 0)?;
        let unit = unit.values.iter().find(|text| code(text) == unit.codes[*row])?;
        Some((name.clone(), unit.clone()))
    };
    channel.values.iter().filter_map(of).collect()
}
