//! The role of each column of a table: by its name first, then by how it depends on the others.

use super::doses::{Doses, doses};
use super::left_out::{Constancy, Remarks, is_channel, unread_columns};
use super::names::{
    CHANNELS, ENVIRONMENTS, FLAGS, InputHint, ROW_NUMBERS, TIMES, TRAJECTORIES, UNITS, VALUES, input_hint, is_quantity,
    speaks_of_time,
};
use super::profile::Profile;
use super::rows::{determine, distinct, repeated};
use super::stacked::{Stacked, names_of_channels, stacked, units};
use super::unassigned::Unassigned;
use crate::units::Unit;

/// The columns by their roles.
pub(crate) struct Roles<'a> {
    pub time: Option<&'a Profile>,
    pub environment: Vec<&'a Profile>,
    pub trajectory: Option<&'a Profile>,
    pub doses: Option<Doses<'a>>,
    pub stacked: Option<Stacked<'a>>,
    /// Channels of a wide table.
    pub wide: Vec<&'a Profile>,
    /// Columns that are not read, each with a remark on what it may be.
    pub left: Vec<(&'a Profile, String)>,
    /// What is uncertain about the roles.
    pub notes: Vec<String>,
    /// Rows of measurements among those that were kept.
    pub rows: Vec<usize>,
}

/// The roles of the columns; `is_named` says that the names of files are ids of environments. `None` if no column can be a channel.
pub(crate) fn roles(profiles: &[Profile], is_named: bool) -> Option<Roles<'_>> {
    let mut free = Unassigned(profiles.iter().filter(|profile| !profile.name.is_empty()).collect());
    let mut left = Vec::new();
    let mut notes = Vec::new();
    let doses = doses(profiles);
    for column in doses.iter().flat_map(|doses| &doses.columns) {
        free.take_this(column);
    }
    let rows: Vec<usize> = match &doses {
        Some(doses) => doses.rows.clone(),
        None => (0..profiles.first()?.codes.len()).collect(),
    };
    let time = time_column(&mut free, profiles, &rows);
    left.extend(row_numbers(&mut free, time, &rows));
    let channels = names_of_channels(&free, &[], false, &rows);
    let is_unit = |profile: &Profile| {
        let is_said = |channel: &&Profile| determine(&[*channel], profile, &rows);
        profile.is_called(UNITS)
            && !profile.is_number()
            && (channels.first().is_some_and(is_said) || profile.values.iter().all(|text| Unit::parse(text).is_some()))
    };
    let unit = if channels.is_empty() { None } else { free.take(is_unit) };
    let mut environment: Vec<&Profile> = match is_named {
        true => Vec::new(),
        false => free.take(|profile| profile.is_called(ENVIRONMENTS)).into_iter().collect(),
    };
    let trajectory = free.take(|profile| profile.is_called(TRAJECTORIES));

    let mut stacked = stacked(&mut free, &environment, trajectory, doses.is_some(), &rows, &mut notes);
    if stacked.is_none() && environment.is_empty() && !is_named {
        // The rows of an environment mostly follow each other.
        let is_text = |profile: &Profile| {
            profile.texts > 0
                && !profile.is_number()
                && profile.values.len() > 1
                && profile.changes < profile.values.len()
        };
        environment.extend(free.take(|profile| is_text(profile) && !profile.is_called(FLAGS)));
    }
    if let Some(stacked) = &mut stacked {
        stacked.units = unit.map(|unit| units(stacked.channel, unit, &rows)).unwrap_or_default();
    }
    let mut ids: Vec<&Profile> = environment.iter().copied().chain(trajectory).collect();
    ids.extend(stacked.as_ref().map(|stacked| stacked.channel));
    let mut added = apart(&mut free, &ids, time, stacked.is_some(), environment.is_empty() && !is_named, &rows);
    if is_named && let Some(column) = added.pop() {
        notes
            .push(format!("{:?} tells rows of one time apart: if not by channel, then as a trajectory", column.header));
        free.0.push(column);
    }
    notes.extend(added.iter().map(|column| note_on_id(column, stacked.as_ref())));
    environment.extend(added);

    let constancy = Constancy { profiles, environment: &environment, trajectory, rows: &rows };
    let is_channel = |profile: &Profile| is_channel(profile, &rows);
    let wide: Vec<&Profile> = match stacked {
        Some(_) => Vec::new(),
        None => free
            .0
            .iter()
            .copied()
            .filter(|profile| is_channel(profile) && !constancy.is_covariate(profile) && !constancy.is_setting(profile))
            .collect(),
    };
    if wide.is_empty() && stacked.is_none() {
        return None;
    }
    for profile in &wide {
        free.take_this(profile);
    }
    let remarks = Remarks { constancy, doses: doses.as_ref(), stacked: stacked.as_ref() };
    let unread = doses.iter().flat_map(|doses| unread_columns(doses));
    left.extend(free.0.iter().copied().chain(unread).chain(unit).map(|profile| (profile, remarks.on(profile))));
    Some(Roles { time, environment, trajectory, doses, stacked, wide, left, notes, rows })
}

/// Whether the cells of a column number the rows, apart from restarts, and its name says so.
fn numbers_rows(profile: &Profile, rows: &[usize]) -> bool {
    profile.counts_rows()
        || profile.is_called(ROW_NUMBERS)
            && profile.is_whole()
            && rows.len() > 2
            && profile.is_number()
            && repeated(&[profile], rows) == 0
}

/// The column of times: by its name, by its cells, by a word of its name, by its unit, else any that rises and is called nothing else.
fn time_column<'a>(free: &mut Unassigned<'a>, profiles: &[Profile], rows: &[usize]) -> Option<&'a Profile> {
    let is_measured = |profile: &Profile| profile.is_called(VALUES) || profile.is_called(CHANNELS);
    let may_rise = |profile: &Profile| profile.rises(rows) && !numbers_rows(profile, rows);
    free.take(|profile| {
        let is_said = profile.is_called(TIMES) || profile.unit.is_none() && profile.unit_of_time().is_some();
        is_said
            && (profile.values.len() > 1
                || profiles.iter().all(|other| !other.is_called(TIMES) || other.values.len() < 2))
    })
    .or_else(|| free.take(|profile| profile.stamps > profile.numbers && profile.values.len() > 1))
    .or_else(|| free.take(|profile| speaks_of_time(&profile.name) && may_rise(profile)))
    .or_else(|| free.take(|profile| profile.unit_is_of_time() && profile.rises(rows)))
    .or_else(|| {
        free.take(|profile| {
            let is_other = profile.is_called(ENVIRONMENTS) || is_measured(profile) || is_quantity(&profile.name);
            may_rise(profile) && input_hint(&profile.name) == InputHint::None && !is_other
        })
    })
}

/// Columns that number the rows, each with a remark.
fn row_numbers<'a>(free: &mut Unassigned<'a>, time: Option<&Profile>, rows: &[usize]) -> Vec<(&'a Profile, String)> {
    let mut found = Vec::new();
    loop {
        // A column of another name numbers the rows only if there is another column to measure.
        let is_beside = time.is_some() && free.0.iter().filter(|profile| profile.is_number()).count() > 1;
        let is_count = |profile: &Profile| numbers_rows(profile, rows) || is_beside && profile.counts_from_the_first();
        let Some(number) = free.take(is_count) else { return found };
        let why = match time {
            Some(_) => ", a number of each row",
            None => ", a number of each row and no time: only if samples are evenly spaced, make it the `time`",
        };
        found.push((number, why.to_owned()));
    }
}

/// That a column is taken for ids of environments, as rows of one time differ in it, and what else it may be.
fn note_on_id(column: &Profile, stacked: Option<&Stacked<'_>>) -> String {
    match stacked {
        Some(stacked) => format!(
            "each {:?} is taken for a system of its own; where several are of one system, join that column and {:?} into one before the \
             import, and name channels by it",
            column.header, stacked.channel.header
        ),
        None => format!(
            "{:?} is taken for what has parameters of its own; it may also tell trajectories (`trajectory`), or name what is measured \
             (`channel` of `layout = \"long\"`)",
            column.header
        ),
    }
}

/// Columns without which a channel would have several values at one time, or a trajectory the samples of several systems.
fn apart<'a>(
    free: &mut Unassigned<'a>,
    ids: &[&'a Profile],
    time: Option<&'a Profile>,
    is_stacked: bool,
    lacks_environment: bool,
    rows: &[usize],
) -> Vec<&'a Profile> {
    let (mut ids, mut added) = (ids.to_vec(), Vec::new());
    let Some(time) = time else { return added };
    loop {
        let all: Vec<&Profile> = ids.iter().copied().chain([time]).collect();
        let before = repeated(&all, rows);
        let found = free.0.iter().copied().find(|profile| {
            let is_id =
                profile.texts > 0 && !profile.is_number() && distinct(profile, rows) > 1 && !profile.is_called(FLAGS);
            let with: Vec<&Profile> = all.iter().copied().chain([*profile]).collect();
            let is_named = profile.is_called(CHANNELS) || profile.is_called(ENVIRONMENTS);
            let is_apart = || before > 0 && 2 * repeated(&with, rows) <= before;
            is_id
                && !determine(&ids, profile, rows)
                && (is_apart() || is_named && (is_stacked || lacks_environment && added.is_empty()))
        });
        match found {
            Some(profile) => {
                free.take_this(profile);
                ids.push(profile);
                added.push(profile);
            }
            None => return added,
        }
    }
}
