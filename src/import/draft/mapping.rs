//! The roles of columns as a mapping: an `[import]` section with comments.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::archive::Archive;
use super::doses::{Condition, Doses, Given};
use super::inputs::{Proposal, proposals};
use super::profile::{Profile, code};
use super::roles::Roles;
use super::rows::Course;
use super::stacked::Stacked;
use super::times::{Split, Times};
use super::toml::{Toml, identifier, key, list, number};
use crate::import::tables::cell::{Cell, CellError, is_censored};
use crate::import::tables::files::SourceFile;
use crate::units::split_header;

/// What is held out of training, to choose the model by.
#[derive(Clone, Copy)]
pub(crate) enum HeldOut {
    /// Some trajectories, where a column tells them apart; else ends.
    Trajectories,
    /// The end of each trajectory.
    Ends,
    /// Nothing, as nothing is trained.
    Nothing,
}

/// A quantity that becomes a channel.
struct Quantity<'a> {
    column: &'a str,
    name: &'a str,
    /// The column that names it, in a table with several quantities in one column; else empty.
    of: &'a str,
    unit: Option<&'a str>,
    /// Where the unit was found.
    whence: String,
    course: Course,
}

impl Quantity<'_> {
    /// What its name is made from; a number alone would say too little.
    fn identifier(&self) -> Cow<'_, str> {
        match self.name.starts_with(|c: char| c.is_ascii_digit()) {
            true => format!("{}_{}", self.of, self.name).into(),
            false => self.name.into(),
        }
    }
}

impl Archive {
    /// The mapping with such splits; `extended` says whether inputs keep their first and last values beyond their samples.
    pub(super) fn mapping(&self, file: &SourceFile, roles: &Roles<'_>, held_out: HeldOut, extended: bool) -> String {
        let ids: Vec<&Profile> = roles.environment.iter().copied().chain(roles.trajectory).collect();
        let times = Times::of(roles.time, &ids, &roles.rows);
        let is_cut = times.split.as_ref().is_some_and(|split| split.is_sure && roles.doses.is_none());
        let mut text = Toml::default();
        let folder = self.directory.file_name().and_then(|name| name.to_str()).filter(|_| self.pattern.is_some());
        let dataset = identifier(folder.unwrap_or(file.stem())).replace('_', "-");
        text.line("# A draft from the first rows: read every line before you run it.");
        text.line("[import]");
        text.pair("dataset", &dataset, "");
        text.pair("directory", &self.directory.display().to_string(), "");
        text.pair("time_unit", &times.unit, times.why);
        self.table(&mut text, file, roles, &times, is_cut);
        let quantities = quantities(roles);
        let most = quantities.iter().map(|quantity| quantity.course.values).max().unwrap_or(0);
        for (quantity, proposal) in quantities.iter().zip(proposals_of(&quantities)) {
            text.channel(quantity, &proposal, most, extended);
        }
        if let Some(doses) = &roles.doses {
            text.doses(doses, &times.unit);
        }
        if let Some(conditions) = &self.conditions {
            text.line("\n# Not read of the PEtab problem: its model, its parameters, and what the observables' table says of formulas, noise and scale.");
            text.line("\n[import.side_table]    # parameters follow from it: [[import.parameters]]");
            text.pair("file", conditions, "");
            text.pair("delimiter", "\t", "");
            text.pair("key", "conditionId", "");
        }
        text.splits(roles, held_out, is_cut);
        text.text
    }

    /// The section of the table.
    fn table(&self, text: &mut Toml, file: &SourceFile, roles: &Roles<'_>, times: &Times, is_cut: bool) {
        let Roles { time, environment, trajectory, doses, stacked, wide, left, notes, .. } = roles;
        text.line("\n[import.table]");
        text.pair(
            "file",
            self.pattern.as_ref().unwrap_or(&file.name),
            "`{environment}.csv` takes ids from the names of files",
        );
        if self.delimiter != "," {
            text.pair("delimiter", &self.delimiter, "");
        }
        if self.decimal_comma {
            text.pair("decimal", ",", "");
        }
        if self.comment {
            text.pair("comment", "#", "");
        }
        match (environment.as_slice(), &self.pattern) {
            ([environment], _) => text.pair("environment", &environment.header, "what has parameters of its own"),
            ([], Some(_)) => {}
            ([], None) => text.line("# environment = \"COLUMN\"    # without it the file is one environment"),
            (several, _) => {
                let columns = list(several.iter().map(|profile| &profile.header));
                text.line(&format!(
                    "environment = {columns}    # what has parameters of its own: each pair that occurs"
                ));
            }
        }
        if let Some(trajectory) = trajectory {
            text.pair("trajectory", &trajectory.header, "");
        }
        match time {
            Some(time) => text.pair("time", &time.header, ""),
            None => text.pair(
                "time",
                "TIME",
                "NO COLUMN looks like a time: write one into the file, with its unit, or name it here",
            ),
        }
        if let Some((unit, first)) = &times.epoch {
            text.pair(
                "time_column_unit",
                unit,
                &format!("taken to count from 1970: the first is then {first}; correct it if it is not"),
            );
            text.pair("origin", "first", "times count from the first sample of each trajectory");
        }
        if let Some(Split { gap, why, .. }) = &times.split {
            match is_cut {
                true => text.line(&format!("split_gap = {gap:?}    # each record between gaps is a trajectory: {why}")),
                false => text.line(&format!("# split_gap = {gap:?}    # if records were interrupted: {why}")),
            }
        }
        if time.is_some_and(|time| time.stamps > 0 && !time.is_elapsed()) {
            text.pair("time_zone", "UTC", "of time stamps that do not say theirs");
        }
        if let Some(Stacked { channel, value, .. }) = stacked {
            text.pair("layout", "long", "a row a value");
            text.pair("channel", &channel.header, "");
            text.pair("value", &value.header, "");
        }
        let values = wide.iter().copied().chain(stacked.as_ref().map(|stacked| stacked.value));
        // A number in another notation is not missing: `paramill check` says what to do.
        let notation = self.notation();
        let is_number = |text: &str| {
            let number = notation.number(Cell::from_text(text));
            matches!(number, Err(CellError::Thousands(_) | CellError::DecimalComma | CellError::DecimalPoint))
        };
        let strange = values.flat_map(|profile| &profile.strange);
        let markers: BTreeSet<&String> = strange.filter(|text| !is_number(text)).collect();
        if markers.iter().any(|text| is_censored(text)) {
            text.line("# unsure: bounds of values (censoring) are not read; as `missing` they count as not measured, which is no bound");
        }
        if !markers.is_empty() {
            text.line(&format!(
                "missing = {}    # not numbers; empty cells are missing anyway",
                list(markers.into_iter())
            ));
        }
        for (condition, why) in doses.iter().flat_map(|doses| &doses.measured) {
            text.condition(condition, why);
        }
        text.line("# disorder = \"sort\"    # if the order of rows means nothing");
        text.line("# duplicates = \"mean\"    # if a channel may have two values at one time");
        for note in notes {
            text.line(&format!("# unsure: {note}"));
        }
        for (profile, why) in left {
            text.line(&format!("# left out: {:?}{why}", profile.header));
        }
        for (name, what) in &self.unread {
            text.line(&format!("# not read: {name:?} {what}"));
        }
    }
}

/// Whether the mapping has channels that are inputs.
pub(crate) fn has_inputs(roles: &Roles<'_>) -> bool {
    proposals_of(&quantities(roles)).iter().any(|proposal| matches!(proposal, Proposal::Input(_)))
}

fn proposals_of(quantities: &[Quantity<'_>]) -> Vec<Proposal> {
    proposals(&quantities.iter().map(|quantity| (quantity.name, quantity.course)).collect::<Vec<_>>())
}

/// The quantities that become channels.
fn quantities<'a>(roles: &'a Roles<'a>) -> Vec<Quantity<'a>> {
    let ids: Vec<&Profile> = roles.environment.iter().copied().chain(roles.trajectory).collect();
    let Some(Stacked { channel, value, units }) = &roles.stacked else {
        let of = |profile: &&'a Profile| Quantity {
            column: &profile.header,
            name: &profile.name,
            of: "",
            unit: profile.unit.as_deref(),
            whence: if split_header(&profile.header).1.is_some() {
                "as in the header"
            } else {
                "as the file states it"
            }
            .to_owned(),
            course: Course::follow(profile, &ids, roles.rows.iter().copied()),
        };
        return roles.wide.iter().map(of).collect();
    };
    let of = |name: &'a String| {
        let code = code(name);
        let rows = roles.rows.iter().copied().filter(|&row| channel.codes[row] == code);
        let (plain, own) = split_header(name);
        let (unit, whence) = match (own, units.get(name)) {
            (Some(own), Some(other)) if own != other => {
                (Some(own), format!("as in its name, but its rows say {other:?}"))
            }
            (Some(own), _) => (Some(own), "as in its name".to_owned()),
            (None, Some(unit)) => (Some(unit.as_str()), "as in its rows".to_owned()),
            (None, None) => (value.unit.as_deref(), "as in the header".to_owned()),
        };
        Quantity {
            column: name,
            name: plain,
            of: &channel.name,
            unit,
            whence,
            course: Course::follow(value, &ids, rows),
        }
    };
    // A name that stands in rows of events alone is not a channel.
    let is_measured = |name: &&String| {
        let code = code(name);
        let stands = |mut rows: std::ops::Range<usize>, kept: bool| {
            rows.any(|row| channel.codes[row] == code && (!kept || roles.rows.binary_search(&row).is_ok()))
        };
        let all = 0..channel.codes.len();
        roles.doses.is_none() || stands(all.clone(), true) || !stands(all, false)
    };
    channel.values.iter().filter(is_measured).map(of).collect()
}

impl Toml {
    /// A section of a channel; `most` is the number of values of the quantity that has most.
    fn channel(&mut self, quantity: &Quantity<'_>, proposal: &Proposal, most: usize, extended: bool) {
        let name = self.name(&quantity.identifier());
        self.line("\n[[import.channels]]");
        self.pair("column", quantity.column, "");
        self.pair("name", &name, "");
        self.unit(quantity.unit, &quantity.whence);
        let course = &quantity.course;
        let is_held = course.is_stepped() || course.is_switched() || course.is_seldom(most);
        match proposal {
            Proposal::State => {}
            Proposal::Perhaps(why) => {
                self.line(&format!("# role = \"input\"    # if it is no state but drives the system: {why}"));
                if is_held {
                    self.line("# between = \"hold\"    # an input that changes at once");
                }
            }
            Proposal::Input(why) => {
                self.pair(
                    "role",
                    "input",
                    &format!("{why}; \"state\" if the system itself makes it, and without the lines below"),
                );
                match is_held {
                    true => self.pair("between", "hold", "it changes at once"),
                    false => self.pair("between", "linear", "\"hold\" if it changes at once"),
                }
                if extended {
                    self.line("extend = true    # it is not known as long as the states are: its first and last values are kept");
                }
            }
        }
    }

    /// The section of the splits.
    fn splits(&mut self, roles: &Roles<'_>, held_out: HeldOut, is_cut: bool) {
        self.line("\n[import.splits]");
        let known = match roles.environment.as_slice() {
            [environment] => list(environment.values.iter().take(1)),
            _ => "[\"ID\"]".to_owned(),
        };
        match held_out {
            HeldOut::Nothing => {
                self.line("adapt = [\"*\"]    # all, for an estimate by equations: there is too little to train on");
            }
            _ => self.line(&format!("adapt = []    # environments to estimate, such as {known}")),
        }
        match held_out {
            HeldOut::Nothing => {}
            HeldOut::Trajectories if roles.trajectory.is_some() || is_cut => {
                self.line("validation = { fraction = 0.2 }    # trajectories that choose the model\nseed = 0");
            }
            _ => self.line("validation = { last = 0.25 }    # the end of each trajectory chooses the model"),
        }
    }

    /// A line of conditions on rows.
    fn condition(&mut self, condition: &Condition<'_>, why: &str) {
        let values: Vec<String> = condition.values.iter().map(|value| number(value)).collect();
        let values = match values.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let not = if condition.not { ".not" } else { "" };
        let note = if why.is_empty() { String::new() } else { format!("    # {why}") };
        self.line(&format!("rows.{}{not} = {values}{note}", key(&condition.column.header)));
    }

    /// The sections of doses, or what is to be said where there are none.
    fn doses(&mut self, doses: &Doses<'_>, time_unit: &str) {
        if !doses.notes.is_empty() || doses.given.is_none() {
            self.line("");
        }
        for note in &doses.notes {
            self.line(&format!("# doses: {note}"));
        }
        match &doses.given {
            None => self.line("# doses: no amounts; [[import.events]] with `shape = \"since\"` makes the time since the last one an input"),
            Some(given) => match &given.routes {
                None => self.given(given, None, time_unit),
                Some((column, values)) => {
                    for value in values {
                        let route = Condition { column, values: vec![value.clone()], not: false };
                        self.given(given, Some(route), time_unit);
                    }
                }
            },
        }
    }

    /// A section of doses, of one way of giving them if `route` says one.
    fn given(&mut self, given: &Given<'_>, route: Option<Condition<'_>>, time_unit: &str) {
        let unit = given.amount.unit.as_deref();
        let name = match &route {
            Some(route) => self.name(&format!("dose_{}", route.values.concat())),
            None => self.name("dose"),
        };
        self.line("");
        if route.is_none() {
            self.line(&format!("# {} of the rows looked at have an amount; `shape = \"since\"`, in a unit of time and without `column`, is the time since the last.", given.count));
        }
        self.line("[[import.events]]");
        self.pair("name", &name, "");
        match given.duration {
            Some(duration) => {
                let rate = format!("({})/({time_unit})", unit.unwrap_or("1"));
                self.unit(unit.map(|_| rate.as_str()), "an amount a time");
                self.pair("shape", "pulse", "the amount divided by `duration`, for that long");
                self.line(&format!("duration = {duration:?}    # of every dose in the file, as it counts time: `time_unit` must be the same"));
            }
            None => {
                self.unit(unit, "as in the header");
                self.pair(
                    "shape",
                    "cumulative",
                    "the sum of all amounts so far; \"pulse\" for infusions of a known `duration`",
                );
            }
        }
        self.pair("column", &given.amount.header, "");
        self.condition(&given.condition, "");
        if let Some(route) = route {
            self.condition(&route, "how it is given");
        }
    }
}
