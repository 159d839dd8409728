//! What each column of a table is: by its name first, then by how it hangs together with others.

use super::columns::{Free, shown};
use super::doses::{Doses, doses};
use super::look::{Elsewhere, Look, ROWS, are_kept};
use super::names::{
    CHANNELS, ENVIRONMENTS, FLAGS, Named, OF_DOSES, ROW_NUMBERS, TIMES, TRAJECTORIES, UNITS, VALUES, is_quantity,
    named, speaks_of_time,
};
use super::rows::{distinct, repeated, tell};
use super::stacked::{Stacked, names_of_channels, stacked, units};
use crate::units::Unit;

/// The columns by what they are.
pub(crate) struct Roles<'a> {
    pub time: Option<&'a Look>,
    pub environment: Vec<&'a Look>,
    pub trajectory: Option<&'a Look>,
    pub doses: Option<Doses<'a>>,
    pub stacked: Option<Stacked<'a>>,
    /// Channels of a wide table.
    pub wide: Vec<&'a Look>,
    /// Columns that are not read, and what they may be.
    pub left: Vec<(&'a Look, String)>,
    /// What is unsure of the roles.
    pub notes: Vec<String>,
    /// Rows of measurements among those that were kept.
    pub rows: Vec<usize>,
}

/// The roles of `looks`; `is_named` says that names of files are ids of environments. `None` if no column can be a channel.
pub(crate) fn roles(looks: &[Look], is_named: bool) -> Option<Roles<'_>> {
    let mut free = Free(looks.iter().filter(|look| !look.name.is_empty()).collect());
    let mut left = Vec::new();
    let mut notes = Vec::new();
    let doses = doses(looks);
    for column in doses.iter().flat_map(|doses| &doses.columns) {
        free.take_this(column);
    }
    let rows: Vec<usize> = match &doses {
        Some(doses) => doses.rows.clone(),
        None => (0..looks.first()?.codes.len()).collect(),
    };
    let numbers_rows = |look: &Look| {
        look.counts_rows()
            || look.is_called(ROW_NUMBERS)
                && look.is_whole()
                && rows.len() > 2
                && look.is_number()
                && repeated(&[look], &rows) == 0
    };
    let is_measured = |look: &Look| look.is_called(VALUES) || look.is_called(CHANNELS);
    let time = free
        .take(|look| {
            let is_said = look.is_called(TIMES) || look.unit.is_none() && look.unit_of_time().is_some();
            is_said
                && (look.values.len() > 1
                    || looks.iter().all(|other| !other.is_called(TIMES) || other.values.len() < 2))
        })
        .or_else(|| free.take(|look| look.stamps > look.numbers && look.values.len() > 1))
        .or_else(|| free.take(|look| speaks_of_time(&look.name) && look.rises(&rows) && !numbers_rows(look)))
        .or_else(|| free.take(|look| look.unit_is_of_time() && look.rises(&rows)))
        .or_else(|| {
            free.take(|look| {
                let is_other = look.is_called(ENVIRONMENTS) || is_measured(look) || is_quantity(&look.name);
                look.rises(&rows) && named(&look.name) == Named::Other && !is_other && !numbers_rows(look)
            })
        });
    loop {
        // What is called otherwise is one only beside something else to measure.
        let is_beside = time.is_some() && free.0.iter().filter(|look| look.is_number()).count() > 1;
        let is_count = |look: &Look| numbers_rows(look) || is_beside && look.counts_from_the_first();
        let Some(number) = free.take(is_count) else { break };
        let why = match time {
            Some(_) => ", a number of each row",
            None => ", a number of each row and no time: only if samples are evenly spaced, make it the `time`",
        };
        left.push((number, why.to_owned()));
    }
    let channels = names_of_channels(&free, &[], false, &rows);
    let is_unit = |look: &Look| {
        let is_said = |channel: &&Look| tell(&[*channel], look, &rows);
        look.is_called(UNITS)
            && !look.is_number()
            && (channels.first().is_some_and(is_said) || look.values.iter().all(|text| Unit::parse(text).is_some()))
    };
    let unit = if channels.is_empty() { None } else { free.take(is_unit) };
    let mut environment: Vec<&Look> = match is_named {
        true => Vec::new(),
        false => free.take(|look| look.is_called(ENVIRONMENTS)).into_iter().collect(),
    };
    let trajectory = free.take(|look| look.is_called(TRAJECTORIES));

    let mut stacked = stacked(&mut free, &environment, trajectory, doses.is_some(), &rows, &mut notes);
    if stacked.is_none() && environment.is_empty() && !is_named {
        // Rows of one environment mostly stand together.
        let is_text = |look: &Look| {
            look.texts > 0 && !look.is_number() && look.values.len() > 1 && look.changes < look.values.len()
        };
        environment.extend(free.take(|look| is_text(look) && !look.is_called(FLAGS)));
    }
    if let Some(stacked) = &mut stacked {
        stacked.units = unit.map(|unit| units(stacked.channel, unit, &rows)).unwrap_or_default();
    }
    let mut ids: Vec<&Look> = environment.iter().copied().chain(trajectory).collect();
    ids.extend(stacked.as_ref().map(|stacked| stacked.channel));
    let mut added = apart(&mut free, &ids, time, stacked.is_some(), environment.is_empty() && !is_named, &rows);
    if is_named && let Some(column) = added.pop() {
        notes
            .push(format!("{:?} tells rows of one time apart: if not by channel, then as a trajectory", column.header));
        free.0.push(column);
    }
    for column in &added {
        notes.push(match stacked.is_some() {
            true => format!(
                "each {:?} is taken for a system of its own; where several are of one system, join that column and {:?} into one before the \
                 import, and name channels by it",
                column.header,
                stacked.as_ref().map_or("", |stacked| &stacked.channel.header)
            ),
            false => format!(
                "{:?} is taken for what has parameters of its own; it may also tell trajectories (`trajectory`), or name what is measured \
                 (`channel` of `layout = \"long\"`)",
                column.header
            ),
        });
    }
    environment.extend(added);

    // Where not all rows were kept, a column may change later.
    let keeps = |columns: &[&Look], look: &Look| {
        let most = columns.iter().map(|column| column.changes).sum();
        !columns.is_empty() && tell(columns, look, &rows) && (are_kept(looks) || look.changes <= most)
    };
    let is_covariate = |look: &Look| keeps(&environment, look);
    let ids: Vec<&Look> = environment.iter().copied().chain(trajectory).collect();
    let is_setting = |look: &Look| trajectory.is_some() && keeps(&ids, look);
    let varies = |look: &Look| look.values.len() > 1 && distinct(look, &rows) > 1;
    let is_channel = |look: &Look| look.is_number() && (varies(look) || look.elsewhere == Elsewhere::Varies);
    let wide: Vec<&Look> = match stacked {
        Some(_) => Vec::new(),
        None => {
            free.0.iter().copied().filter(|look| is_channel(look) && !is_covariate(look) && !is_setting(look)).collect()
        }
    };
    if wide.is_empty() && stacked.is_none() {
        return None;
    }
    for look in &wide {
        free.take_this(look);
    }
    let is_cut = looks.iter().any(|look| look.numbers + look.stamps + look.texts >= ROWS);
    let told: Vec<&Look> = ids.iter().copied().chain(stacked.as_ref().map(|stacked| stacked.channel)).collect();
    for look in free.0.iter().copied().chain(doses.iter().flat_map(|doses| unread(doses))).chain(unit) {
        let is_unit = stacked.is_some() && look.is_called(UNITS);
        let has_units = stacked.as_ref().is_some_and(|stacked| !stacked.units.is_empty());
        let why = match look {
            look if look.elsewhere == Elsewhere::Other => {
                ", the same within each file: a parameter of [import.side_table]?".to_owned()
            }
            look if look.values.len() <= 1 && look.elsewhere == Elsewhere::Same => match is_cut {
                true => ", the same in all rows that were looked at, which are not all".to_owned(),
                false => ", always the same".to_owned(),
            },
            _ if is_unit && has_units => ", whose units are those of the channels below".to_owned(),
            _ if is_unit => {
                ": a channel has values in DIFFERENT UNITS, which are taken alike: convert them first".to_owned()
            }
            look if doses.is_some() && look.is_called(OF_DOSES) => ", which is about doses".to_owned(),
            look if is_covariate(look) => {
                ", the same within an environment: a parameter of [import.side_table]?".to_owned()
            }
            look if is_setting(look) => {
                ", the same within a trajectory: if it is a setting and no id, make it a channel with `role = \"input\"`".to_owned()
            }
            look if stacked.is_some() && tell(&told, look, &rows) => ", the same within a channel".to_owned(),
            look if look.texts > 0 && !look.is_number() => format!(
                " ({}): if it tells systems apart, add it to `environment`; if it names what is measured, it is the `channel` of a long table; \
                 if it says which rows are good, use `rows`",
                shown(look)
            ),
            look if stacked.is_some() && is_channel(look) => {
                ": a second column of numbers; if it is measured too, this is no long table".to_owned()
            }
            _ => String::new(),
        };
        left.push((look, why));
    }
    Some(Roles { time, environment, trajectory, doses, stacked, wide, left, notes, rows })
}

/// Columns of doses that the mapping does not name.
fn unread<'a, 'd>(doses: &'d Doses<'a>) -> impl Iterator<Item = &'a Look> + use<'a, 'd> {
    let is_read = |look: &Look| {
        let mut read = doses.measured.iter().map(|condition| condition.0.column);
        read.any(|column| std::ptr::eq(column, look))
            || doses.given.as_ref().is_some_and(|given| {
                std::ptr::eq(given.amount, look)
                    || given.routes.as_ref().is_some_and(|routes| std::ptr::eq(routes.0, look))
            })
    };
    doses.columns.iter().copied().filter(move |look| !is_read(look))
}

/// Columns without which rows of one time would be the same channel twice, or samples of several systems one trajectory.
fn apart<'a>(
    free: &mut Free<'a>,
    ids: &[&'a Look],
    time: Option<&'a Look>,
    is_stacked: bool,
    lacks_environment: bool,
    rows: &[usize],
) -> Vec<&'a Look> {
    let (mut ids, mut added) = (ids.to_vec(), Vec::new());
    let Some(time) = time else { return added };
    loop {
        let all: Vec<&Look> = ids.iter().copied().chain([time]).collect();
        let before = repeated(&all, rows);
        let found = free.0.iter().copied().find(|look| {
            let is_id = look.texts > 0 && !look.is_number() && distinct(look, rows) > 1 && !look.is_called(FLAGS);
            let with: Vec<&Look> = all.iter().copied().chain([*look]).collect();
            let is_named = look.is_called(CHANNELS) || look.is_called(ENVIRONMENTS);
            let is_apart = || before > 0 && 2 * repeated(&with, rows) <= before;
            is_id
                && !tell(&ids, look, rows)
                && (is_apart() || is_named && (is_stacked || lacks_environment && added.is_empty()))
        });
        match found {
            Some(look) => {
                free.take_this(look);
                ids.push(look);
                added.push(look);
            }
            None => return added,
        }
    }
}
