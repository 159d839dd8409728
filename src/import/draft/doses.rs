//! Rows of doses among those of measurements, as tables for NONMEM and Monolix have them.
//!
//! `EVID` is 0 for a measurement, 1 for a dose (101 in tables for RxODE), 2 for another event, 3 for a reset, 4 for a reset and a dose.
//! Without it a row with an amount is a dose. `MDV` marks rows without a measurement, `CENS` values that are only bounds; `RATE` or `TINF`
//! make an infusion of a dose, `ADDL` and `II` repeat it, `SS` has it repeated for ever before. Source: NONMEM Users Guide, Part V,
//! chapter 6.

use std::collections::BTreeSet;

use super::look::{Look, MARKERS};
use super::names::{AMOUNT, AMOUNTS, EVENT, OF_DOSES, TIMES, VALUES, is_dose, is_quantity};
use super::rows::distinct;
use crate::import::rows::marks::{Mark, event_mark};

/// Ways of giving a dose that become inputs of their own at most.
const MOST_ROUTES: usize = 4;
/// Durations of infusions that are named at most.
const MOST_DURATIONS: usize = 8;

/// What the columns of a table say of doses.
pub(crate) struct Doses<'a> {
    /// Conditions that rows of measurements meet, with what is to be said of them.
    pub measured: Vec<(Condition<'a>, &'static str)>,
    /// Where there are amounts.
    pub given: Option<Given<'a>>,
    /// What is not read, or only in part.
    pub notes: Vec<String>,
    /// The rows of measurements.
    pub rows: Vec<usize>,
    /// Columns that are no measurement.
    pub columns: Vec<&'a Look>,
}

/// Rows that are doses.
pub(crate) struct Given<'a> {
    pub condition: Condition<'a>,
    pub amount: &'a Look,
    pub count: usize,
    /// The column that says how a dose is given, and what it says, if there are several ways.
    pub routes: Option<(&'a Look, Vec<String>)>,
    /// How long every dose takes, if all take as long.
    pub duration: Option<f64>,
}

/// What a cell must be.
pub(crate) struct Condition<'a> {
    pub column: &'a Look,
    pub values: Vec<String>,
    /// Whether it must be none of these.
    pub not: bool,
}

/// Doses among the rows of `looks`; `None` where nothing speaks of any.
pub(crate) fn doses<'a>(looks: &'a [Look]) -> Option<Doses<'a>> {
    let find = |names: &[&str]| looks.iter().find(|look| look.numbers > 0 && look.is_called(names));
    let event = find(&[EVENT]);
    let called_so = || looks.iter().find(|look| look.numbers > 0 && is_dose(&look.name));
    let amount = AMOUNTS.iter().find_map(|name| find(&[name])).or_else(called_so);
    let count = looks.first()?.codes.len();
    let number = |look: &Look, row: usize| look.numbers_of_rows[row];
    let is_set = |look: &Look, row: usize| number(look, row).is_finite() && number(look, row) != 0.0;
    let all: Vec<usize> = (0..count).collect();
    let (others, of_event): (Vec<usize>, Vec<usize>) = match (event, amount) {
        (Some(event), _) => all.iter().partition(|&&row| !is_set(event, row)),
        (None, Some(amount)) => {
            let (given, rest): (Vec<usize>, Vec<usize>) = all.iter().partition(|&&row| is_set(amount, row));
            let at_once = || is_dose(&amount.name) && given.windows(2).all(|pair| pair[1] > pair[0] + 1);
            let marks_doses =
                amount.is_called(&[AMOUNT]) || at_once() || nothing_measured(looks, amount, &given, &rest);
            let readable = amount.strange.len() < MARKERS;
            if given.is_empty() || 2 * given.len() > count || !marks_doses || !readable {
                return None;
            }
            (rest, given)
        }
        (None, None) => return None,
    };
    if of_event.is_empty() {
        return None;
    }
    let given_rows: Vec<usize> = match amount {
        Some(amount) => of_event.iter().copied().filter(|&row| is_set(amount, row)).collect(),
        None => Vec::new(),
    };
    let mut notes = Vec::new();
    let amount = amount.filter(|_| !given_rows.is_empty());
    let (measured, condition) = match event {
        Some(event) => {
            let of = |rows: &[usize]| whole_numbers(event, rows);
            let (doses, all) = (of(&given_rows), of(&of_event));
            let rest: Vec<&String> = all.iter().filter(|code| !doses.contains(code)).collect();
            if !rest.is_empty() {
                notes.push(format!(
                    "rows with {:?} {} have no amount and are left out: what they say (another event, a reset) is not read",
                    event.header,
                    rest.iter().map(|code| code.as_str()).collect::<Vec<_>>().join(", ")
                ));
            }
            if doses.iter().any(|code| code == "4") {
                notes.push(format!(
                    "{:?} 4 also resets the system, which is not read: tell what follows apart by a column of trajectories",
                    event.header
                ));
            }
            let without_amount = of_event.iter().filter(|&&row| {
                doses.contains(&number(event, row).to_string()) && amount.is_some_and(|amount| !is_set(amount, row))
            });
            let without_amount = without_amount.count();
            if without_amount > 0 {
                notes.push(format!(
                    "{without_amount} rows of doses have no amount: narrow `rows` of the events, or fill it in"
                ));
            }
            let is_dose = Condition { column: event, values: doses, not: false };
            let zero = Condition { column: event, values: vec!["0".to_owned()], not: false };
            (zero, is_dose)
        }
        None => {
            let column = amount?;
            let mut values: Vec<String> = column.strange.iter().cloned().collect();
            if others.iter().any(|&row| column.codes[row] == 0) {
                values.push(String::new());
            }
            if others.iter().any(|&row| number(column, row) == 0.0) {
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
        let duration = duration(looks, amount, &given_rows, &mut notes);
        Given {
            condition,
            amount,
            count: given_rows.len(),
            routes: routes.filter(|(_, values)| (2..=MOST_ROUTES).contains(&values.len())),
            duration,
        }
    });
    // Both repeat a dose at an interval, and say nothing without one; `SS` has no other codes.
    let interval = find(&["ii"]);
    let codes = [1.0, 2.0, 3.0];
    let marks =
        [("addl", &(|number: f64| number > 0.0) as &dyn Fn(f64) -> bool), ("ss", &|number| codes.contains(&number))];
    for (mark, counts) in marks.into_iter().filter_map(|(name, counts)| Some((event_mark(name)?, counts))) {
        if let Some(column) = find(mark.names) {
            let repeats = |row: usize| interval.is_none_or(|interval| is_set(interval, row));
            let count = given_rows.iter().filter(|&&row| counts(number(column, row)) && repeats(row)).count();
            if count > 0 {
                let name = &column.header;
                let Mark { means, remedy, .. } = mark;
                notes.push(format!("{name:?} of {count} rows means {means}: NOT READ, {remedy}"));
            }
        }
    }
    if event.is_none() {
        let both = given_rows.iter().filter(|&&row| {
            let is_value = |look: &Look| look.is_called(VALUES) && !look.is_called(AMOUNTS) || is_quantity(&look.name);
            looks.iter().any(|look| is_value(look) && !is_dose(&look.name) && is_set(look, row))
        });
        let both = both.count();
        if both > 0 {
            notes.push(format!(
                "{both} rows have a dose and a measurement: the measurement is NOT READ, write it into a row of its own"
            ));
        }
    }
    // Measurements in several compartments are different quantities.
    let is_measured = |look: &Look| look.is_called(&["cmt"]) && distinct(look, &rows) > 1;
    let of_doses = |look: &&Look| {
        look.is_called(OF_DOSES) && !is_measured(look) || amount.is_some_and(|amount| std::ptr::eq(amount, *look))
    };
    let columns = looks.iter().filter(of_doses).collect();
    Some(Doses { measured, given, notes, rows, columns })
}

/// Whether some quantity is measured in most other rows, and in none with an amount.
fn nothing_measured(looks: &[Look], amount: &Look, given: &[usize], rest: &[usize]) -> bool {
    let mut others = looks.iter().filter(|look| !std::ptr::eq(*look, amount) && !look.is_called(TIMES));
    others.any(|look| {
        let is_number = |row: &&usize| look.numbers_of_rows[**row].is_finite();
        look.is_number()
            && !given.iter().any(|row| is_number(&row))
            && 2 * rest.iter().filter(is_number).count() > rest.len()
    })
}

/// The different whole numbers of a column.
fn whole_numbers(look: &Look, rows: &[usize]) -> Vec<String> {
    let numbers =
        rows.iter().map(|&row| look.numbers_of_rows[row]).filter(|number| number.is_finite() && number.fract() == 0.0);
    let numbers: BTreeSet<i64> = numbers.map(|number| number as i64).collect();
    numbers.into_iter().map(|number| number.to_string()).collect()
}

/// How long every dose takes, if that is said and the same of all; else what is not read of it goes into `notes`.
fn duration(looks: &[Look], amount: &Look, given: &[usize], notes: &mut Vec<String>) -> Option<f64> {
    let find = |names: &[&str]| looks.iter().find(|look| look.numbers > 0 && look.is_called(names));
    let set = |look: &&Look| {
        given.iter().any(|&row| look.numbers_of_rows[row] != 0.0 && look.numbers_of_rows[row].is_finite())
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
