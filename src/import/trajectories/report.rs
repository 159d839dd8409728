//! What an import changed, counted.

use super::equal_times::Ties;
use super::tally::Tally;
use crate::dataset::Treatment;
use crate::import::rows::header_units::ConvertedColumns;
use crate::import::rows::merge::Changes;
use crate::import::rows::set_back::SET_BACK;
use crate::import::settings::Settings;
use crate::problems::{Kind, Problem, many};

/// Counts of rows, cells and samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    /// Rows read, and those among them that the settings leave out.
    pub rows: u64,
    pub unselected: u64,
    /// Observed and missing cells of each channel `[C]`.
    pub observed: Vec<u64>,
    pub missing: Vec<u64>,
    pub changes: Changes,
    /// Times at which a channel has different values that were merged.
    pub differing: Tally,
    /// Trajectories in which values were merged over an hour that the clock apparently showed twice.
    pub set_back: Tally,
    /// Places at which a trajectory was cut, and single samples left over by cuts.
    pub cuts: u64,
    pub single: u64,
    /// Samples beyond the observed states, which are left out; and those within them without a state, which are kept for their inputs.
    pub outside: u64,
    pub driven: u64,
    /// Values of each input among the channels that were interpolated to the time of a sample.
    pub interpolated: Vec<u64>,
    /// Rows that are events of each input made of events.
    pub events: Vec<u64>,
    /// Events of each such input that lie before or after the observed states of their trajectory, and have no effect.
    pub idle: Vec<u64>,
    /// Samples at the time of an event.
    pub ties: Ties,
    /// Trajectories that begin at an event, before their first observed state.
    pub led: u64,
    /// Files in which a column was converted from one unit to another.
    pub conversions: ConvertedColumns,
}

impl Counts {
    /// Zero counts for the channels and inputs of `settings`.
    pub(crate) fn new(settings: &Settings) -> Self {
        let channels = settings.states().count();
        let interpolated = vec![0; settings.driving().count()];
        let [events, idle] = [(); 2].map(|()| vec![0; settings.events.len()]);
        let [observed, missing] = [(); 2].map(|()| vec![0; channels]);
        Counts { observed, missing, interpolated, events, idle, ..Counts::default() }
    }

    /// Adds the states `[T, C]` of one trajectory; a sample of a driven one may have none.
    pub(crate) fn add_states(&mut self, states: &[f64], is_driven: bool) {
        for state in states.chunks_exact(self.observed.len().max(1)) {
            if is_driven && state.iter().all(|value| value.is_nan()) {
                self.driven += 1;
                continue;
            }
            for (c, value) in state.iter().enumerate() {
                *(if value.is_nan() { &mut self.missing[c] } else { &mut self.observed[c] }) += 1;
            }
        }
    }

    /// Adds the counts of later records.
    pub(crate) fn extend(&mut self, later: &Counts) {
        let Counts {
            rows,
            unselected,
            observed,
            missing,
            changes,
            cuts,
            single,
            outside,
            driven,
            interpolated,
            events,
            idle,
            ties,
            led,
            differing,
            set_back,
            conversions: _,
        } = later;
        let of_channels = [
            (&mut self.observed, observed),
            (&mut self.missing, missing),
            (&mut self.interpolated, interpolated),
            (&mut self.events, events),
            (&mut self.idle, idle),
        ];
        for (sum, count) in of_channels.into_iter().flat_map(|(sums, counts)| sums.iter_mut().zip(counts)) {
            *sum += count;
        }
        self.ties.extend(ties);
        self.led += led;
        self.differing.extend(differing);
        self.set_back.extend(set_back);
        self.outside += outside;
        self.driven += driven;
        self.rows += rows;
        self.unselected += unselected;
        self.changes.add(changes);
        self.cuts += cuts;
        self.single += single;
    }

    /// Warns of rows that were merged, probably because a clock was set back.
    pub(crate) fn clock_warning(&self) -> Option<Problem> {
        let Tally { count, first } = &self.set_back;
        let more = if *count > 1 {
            format!(", and the like in {} more", many(*count - 1, "trajectory"))
        } else {
            String::new()
        };
        let found = format!("{}{more}, that differ and were merged", first.as_ref()?);
        let remedy = format!("{SET_BACK}: merged, two hours are one and all later times an hour early");
        let expected = "hours that the clock shows once";
        Some(Problem::new(Kind::DuplicateTime, found, expected, remedy).setting("import.table.duplicates"))
    }

    /// What was changed, and how often.
    pub(crate) fn report(&self, settings: &Settings) -> Vec<Treatment> {
        let mut report = Vec::new();
        let mut say = |done: &str, of: Option<&str>, count: u64, what: &str, became: &str| {
            if count > 0 {
                let text = format!("{} {became}", many(count, what));
                report.push(Treatment { done: done.to_owned(), of: of.map(str::to_owned), count, text });
            }
        };
        say("rows_left_out", None, self.unselected, "row", "left out, as `rows` asks");
        for ((column, from, to), files) in &self.conversions {
            let became = format!("in which column {column} was converted from {from} to {to}");
            say("converted", Some(column), files.len() as u64, "file", &became);
        }
        for ((_, channel), (missing, observed)) in settings.states().zip(self.missing.iter().zip(&self.observed)) {
            let became = format!("of {} missing in channel {}", missing + observed, channel.name);
            say("missing", Some(&channel.name), *missing, "cell", &became);
        }
        for ((_, channel), count) in settings.driving().zip(&self.interpolated) {
            let between = channel.between.unwrap_or_default().name();
            let became = format!("of input {} interpolated ({between})", channel.name);
            say("interpolated", Some(&channel.name), *count, "value", &became);
        }
        for (input, count) in settings.events.iter().zip(&self.events) {
            say("events", Some(&input.name), *count, "row", &format!("taken as events of input {}", input.name));
        }
        for (input, count) in settings.events.iter().zip(&self.idle) {
            let became = format!("of input {} before or after the observed states: without effect", input.name);
            say("idle_events", Some(&input.name), *count, "event", &became);
        }
        let taken = format!("at the time of an event, {} of them taken as after it", self.ties.after);
        say("at_events", None, self.ties.samples, "sample", &taken);
        say("led", None, self.led, "trajectory", "begun at an event before the first observed state");
        let kept = "without any observed state kept for the inputs";
        say("input_samples", None, self.driven, "sample", kept);
        let beyond = "before the first or after the last observed state left out";
        say("outside", None, self.outside, "sample", beyond);
        say("dropped", None, self.changes.emptied, "sample", "without any observed cell dropped");
        let mut merged = "merged with another of the same channel and time".to_owned();
        if let Tally { count, first: Some(first) } = &self.differing {
            merged += &format!(", which differ at {}, first at {first}", many(*count, "place"));
        }
        say("merged", None, self.changes.merged, "value", &merged);
        say("cut", None, self.cuts, "place", "at which a trajectory was cut, by `split_gap` or `split_length`");
        say("left_alone", None, self.single, "sample", "left alone by such a cut and dropped");
        report
    }
}
