//! Rows of doses among rows of measurements, as in tables for NONMEM and Monolix.
//!
//! `EVID` is 0 for a measurement, 1 for a dose (101 in tables for RxODE), 2 for another event, 3 for a reset, 4 for a reset and a dose.
//! Without it a row with an amount is a dose. `MDV` marks rows without a measurement, `CENS` values that are bounds; `RATE` or `TINF`
//! make a dose an infusion, `ADDL` and `II` repeat it, `SS` has it repeated before until the steady state. Source: NONMEM Users Guide, Part V,
//! chapter 6.

use std::collections::BTreeSet;

use super::names::{AMOUNT, AMOUNTS, EVENT, OF_DOSES, TIMES, VALUES, is_dose, is_quantity};
use super::profile::{MARKERS, Profile};
use super::rows::distinct;
use crate::import::rows::marks::{Mark, event_mark};

/// Most ways of giving a dose that become inputs of their own.
const MOST_ROUTES: usize = 4;
/// Most durations of infusions that are named.
const MOST_DURATIONS: usize = 8;

/// What a table says of doses.
pub(crate) struct Doses<'a> {
    /// Conditions that rows of measurements meet, each with a comment.
    pub measured: Vec<(Condition<'a>, &'static str)>,
    /// The doses, where they have amounts.
    pub given: Option<Given<'a>>,
    /// What is not read, or not in full.
    pub notes: Vec<String>,
    /// The rows of measurements.
    pub rows: Vec<usize>,
    /// Columns that are not measurements.
    pub columns: Vec<&'a Profile>,
}

/// Rows of doses.
pub(crate) struct Given<'a> {
    /// What these rows meet.
    pub condition: Condition<'a>,
    pub amount: &'a Profile,
    pub count: usize,
    /// The column of ways of giving a dose, and its values, if there are several.
    pub routes: Option<(&'a Profile, Vec<String>)>,
    /// The duration of a dose, if all have the same.
    pub duration: Option<f64>,
}

/// A condition on the cell of a column.
pub(crate) struct Condition<'a> {
    pub column: &'a Profile,
    /// What it must be one of.
    pub values: Vec<String>,
    /// Whether it must be none of these instead.
    pub not: bool,
}

/// The doses among the rows of a table; `None` if there is no sign of any.
pub(crate) fn doses<'a>(profiles: &'a [Profile]) -> Option<Doses<'a>> {
    let find = |names: &[&str]| profiles.iter().find(|profile| profile.numbers > 0 && profile.is_called(names));
    let event = find(&[EVENT]);
    let called_so = || profiles.iter().find(|profile| profile.numbers > 0 && is_dose(&profile.name));
    let amount = AMOUNTS.iter().find_map(|name| find(&[name])).or_else(called_so);
    let (others, of_event) = rows_of_events(profiles, event, amount)?;
    let given_rows: Vec<usize> = match amount {
        Some(amount) => of_event.iter().copied().filter(|&row| is_set(amount, row)).collect(),
        None => Vec::new(),
    };
    let mut notes = Vec::new();
    let amount = amount.filter(|_| !given_rows.is_empty());
    let (measured, condition) = match event {
        Some(event) => {
            notes.extend(notes_on_codes(event, amount, &of_event, &given_rows));
            let is_dose = Condition { column: event, values: whole_numbers(event, &given_rows), not: false };
            let zero = Condition { column: event, values: vec!["0".to_owned()], not: false };
            (zero, is_dose)
        }
        None => {
            let column = amount?;
            let mut values: Vec<String> = column.strange.iter().cloned().collect();
            if others.iter().any(|&row| column.codes[row] == 0) {
                values.push(String::new());
            }
            if others.iter().any(|&row| column.numbers_of_rows[row] == 0.0) {
                values.push("0".to_owned());
            }
            let not = Condition { column, values: values.clone(), not: true };
            (Condition { column, values, not: false }, not)
        }
    };
    let mut measured = vec![(measured, "the others are events")];
    let mut rows = others;
    let marks = [("mdv", "the others have no measurement"), ("cens", "the others are bounds, not measurements")];
    for (name, why) in marks {
        if let Some(column) = find(&[name]).filter(|column| rows.iter().any(|&row| is_set(column, row))) {
            rows.retain(|&row| !is_set(column, row));
            measured.push((Condition { column, values: vec!["0".to_owned()], not: false }, why));
        }
    }
    let given = amount.map(|amount| {
        let routes = find(&["cmt", "adm", "route"]).map(|column| (column, whole_numbers(column, &given_rows)));
        let duration = duration(profiles, amount, &given_rows, &mut notes);
        Given {
            condition,
            amount,
            count: given_rows.len(),
            routes: routes.filter(|(_, values)| (2..=MOST_ROUTES).contains(&values.len())),
            duration,
        }
    });
    notes.extend(notes_on_repeats(profiles, &given_rows));
    if event.is_none() {
        notes.extend(note_on_measured_doses(profiles, &given_rows));
    }
    // Measurements in several compartments are different quantities.
    let is_measured = |profile: &Profile| profile.is_called(&["cmt"]) && distinct(profile, &rows) > 1;
    let of_doses = |profile: &&Profile| {
        profile.is_called(OF_DOSES) && !is_measured(profile)
            || amount.is_some_and(|amount| std::ptr::eq(amount, *profile))
    };
    let columns = profiles.iter().filter(of_doses).collect();
    Some(Doses { measured, given, notes, rows, columns })
}

/// Whether a cell is a number other than zero.
fn is_set(profile: &Profile, row: usize) -> bool {
    let number = profile.numbers_of_rows[row];
    number.is_finite() && number != 0.0
}

/// The rows of measurements and those of events, by the kind of a row or else by its amount; `None` if there are no events.
fn rows_of_events(
    profiles: &[Profile],
    event: Option<&Profile>,
    amount: Option<&Profile>,
) -> Option<(Vec<usize>, Vec<usize>)> {
    let count = profiles.first()?.codes.len();
    let (measured, events): (Vec<usize>, Vec<usize>) = match (event, amount) {
        (Some(event), _) => (0..count).partition(|&row| !is_set(event, row)),
        (None, Some(amount)) => {
            let (given, rest): (Vec<usize>, Vec<usize>) = (0..count).partition(|&row| is_set(amount, row));
            let at_once = || is_dose(&amount.name) && given.windows(2).all(|pair| pair[1] > pair[0] + 1);
            let marks_doses =
                amount.is_called(&[AMOUNT]) || at_once() || nothing_measured(profiles, amount, &given, &rest);
            let readable = amount.strange.len() < MARKERS;
            if 2 * given.len() > count || !marks_doses || !readable {
                return None;
            }
            (rest, given)
        }
        (None, None) => return None,
    };
    (!events.is_empty()).then_some((measured, events))
}

/// What is not read of the kinds of events.
fn notes_on_codes(event: &Profile, amount: Option<&Profile>, events: &[usize], given: &[usize]) -> Vec<String> {
    let mut notes = Vec::new();
    let doses = whole_numbers(event, given);
    let rest: Vec<String> = whole_numbers(event, events).into_iter().filter(|code| !doses.contains(code)).collect();
    if !rest.is_empty() {
        notes.push(format!(
            "rows with {:?} {} have no amount and are left out: what they say (another event, a reset) is not read",
            event.header,
            rest.join(", ")
        ));
    }
    if doses.iter().any(|code| code == "4") {
        notes.push(format!(
            "{:?} 4 also resets the system, which is not read: tell what follows apart by a column of trajectories",
            event.header
        ));
    }
    let without_amount = events.iter().filter(|&&row| {
        doses.contains(&event.numbers_of_rows[row].to_string()) && amount.is_some_and(|amount| !is_set(amount, row))
    });
    let without_amount = without_amount.count();
    if without_amount > 0 {
        notes
            .push(format!("{without_amount} rows of doses have no amount: narrow `rows` of the events, or fill it in"));
    }
    notes
}

/// That doses are repeated, which is not read.
fn notes_on_repeats(profiles: &[Profile], given: &[usize]) -> Vec<String> {
    let find = |names: &[&str]| profiles.iter().find(|profile| profile.numbers > 0 && profile.is_called(names));
    // Both repeat a dose at an interval, without which they mean nothing; `SS` has no other codes.
    let interval = find(&["ii"]);
    let codes = [1.0, 2.0, 3.0];
    let marks =
        [("addl", &(|number: f64| number > 0.0) as &dyn Fn(f64) -> bool), ("ss", &|number| codes.contains(&number))];
    let mut notes = Vec::new();
    for (mark, counts) in marks.into_iter().filter_map(|(name, counts)| Some((event_mark(name)?, counts))) {
        let Some(column) = find(mark.names) else { continue };
        let repeats = |row: usize| interval.is_none_or(|interval| is_set(interval, row));
        let count = given.iter().filter(|&&row| counts(column.numbers_of_rows[row]) && repeats(row)).count();
        if count > 0 {
            let name = &column.header;
            let Mark { means, remedy, .. } = mark;
            notes.push(format!("{name:?} of {count} rows means {means}: NOT READ, {remedy}"));
        }
    }
    notes
}

/// That rows of doses also have a measurement, which is not read.
fn note_on_measured_doses(profiles: &[Profile], given: &[usize]) -> Option<String> {
    let is_value =
        |profile: &Profile| profile.is_called(VALUES) && !profile.is_called(AMOUNTS) || is_quantity(&profile.name);
    let is_measured = |&&row: &&usize| {
        profiles.iter().any(|profile| is_value(profile) && !is_dose(&profile.name) && is_set(profile, row))
    };
    let count = given.iter().filter(is_measured).count();
    (count > 0).then(|| {
        format!(
            "{count} rows have a dose and a measurement: the measurement is NOT READ, write it into a row of its own"
        )
    })
}

/// Whether some quantity is measured in most rows without an amount, and in none with one.
fn nothing_measured(profiles: &[Profile], amount: &Profile, given: &[usize], rest: &[usize]) -> bool {
    let mut others = profiles.iter().filter(|profile| !std::ptr::eq(*profile, amount) && !profile.is_called(TIMES));
    others.any(|profile| {
        let is_number = |row: &&usize| profile.numbers_of_rows[**row].is_finite();
        profile.is_number()
            && !given.iter().any(|row| is_number(&row))
            && 2 * rest.iter().filter(is_number).count() > rest.len()
    })
}

/// The different whole numbers of a column in some rows.
fn whole_numbers(profile: &Profile, rows: &[usize]) -> Vec<String> {
    let numbers = rows
        .iter()
        .map(|&row| profile.numbers_of_rows[row])
        .filter(|number| number.is_finite() && number.fract() == 0.0);
    let numbers: BTreeSet<i64> = numbers.map(|number| number as i64).collect();
    numbers.into_iter().map(|number| number.to_string()).collect()
}

/// The duration of a dose, if a column says it and all have the same; if they differ, `notes` says so.
fn duration(profiles: &[Profile], amount: &Profile, given: &[usize], notes: &mut Vec<String>) -> Option<f64> {
    let find = |names: &[&str]| profiles.iter().find(|profile| profile.numbers > 0 && profile.is_called(names));
    let set = |profile: &&Profile| {
        given.iter().any(|&row| profile.numbers_of_rows[row] != 0.0 && profile.numbers_of_rows[row].is_finite())
    };
    let (column, is_rate) = match (find(&["rate"]).filter(set), find(&["tinf", "dur", "duration"]).filter(set)) {
        (Some(rate), _) => (rate, true),
        (None, Some(duration)) => (duration, false),
        (None, None) => return None,
    };
    let durations: Vec<f64> = given
        .iter()
        .map(|&row| match (column.numbers_of_rows[row], is_rate) {
            (rate, true) => amount.numbers_of_rows[row] / rate,
            (duration, false) => duration,
        })
        .collect();
    let first = durations[0];
    if first.is_finite() && first > 0.0 && durations.iter().all(|other| (other - first).abs() <= 1e-6 * first) {
        return Some(first);
    }
    let mut different: Vec<f64> =
        durations.into_iter().filter(|duration| duration.is_finite() && *duration > 0.0).collect();
    different.sort_by(f64::total_cmp);
    different.dedup_by(|a, b| (*a - *b).abs() <= 1e-6 * b.abs());
    let shown: Vec<String> = different.iter().take(MOST_DURATIONS).map(f64::to_string).collect();
    let more = if different.len() > MOST_DURATIONS { ", ..." } else { "" };
    notes.push(format!(
        "{:?} makes infusions of doses, of {} different durations ({}{more}): NOT READ, each counts as given at once; for pulses write a section for each duration",
        column.header,
        different.len(),
        shown.join(", ")
    ));
    None
}
