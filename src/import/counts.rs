//! What an import did beside copying numbers.

use super::series::Changes;
use super::settings::Settings;

/// Counts of rows, cells and samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// Rows read, and those among them that the settings leave out.
    pub rows: u64,
    pub unselected: u64,
    /// Observed and missing cells of each channel `[C]`.
    pub observed: Vec<u64>,
    pub missing: Vec<u64>,
    pub changes: Changes,
    /// Gaps at which a trajectory was cut, and single samples that were left over.
    pub cuts: u64,
    pub single: u64,
    /// Samples beyond the observed states, left out, and those within without any, kept for their inputs.
    pub outside: u64,
    pub driven: u64,
    /// Values of each input among the channels that were not sampled at the time of a sample.
    pub interpolated: Vec<u64>,
    /// Rows that are events of each input that these make.
    pub events: Vec<u64>,
}

impl Counts {
    pub fn new(settings: &Settings) -> Self {
        let channels = settings.states().count();
        let interpolated = vec![0; settings.driving().count()];
        let events = vec![0; settings.events.len()];
        Counts { observed: vec![0; channels], missing: vec![0; channels], interpolated, events, ..Counts::default() }
    }

    /// Adds one trajectory's states `[T, C]`; where it is driven, a sample may have none.
    pub fn add_states(&mut self, states: &[f64], is_driven: bool) {
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

    /// Adds what another has counted.
    pub fn add(&mut self, other: &Counts) {
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
        } = other;
        let of_channels = [
            (&mut self.observed, observed),
            (&mut self.missing, missing),
            (&mut self.interpolated, interpolated),
            (&mut self.events, events),
        ];
        for (sum, count) in of_channels.into_iter().flat_map(|(sums, counts)| sums.iter_mut().zip(counts)) {
            *sum += count;
        }
        self.outside += outside;
        self.driven += driven;
        self.rows += rows;
        self.unselected += unselected;
        self.changes.add(*changes);
        self.cuts += cuts;
        self.single += single;
    }

    /// What happened, a sentence each.
    pub fn sentences(&self, settings: &Settings) -> Vec<String> {
        let mut sentences = vec![format!("{} read", many(self.rows, "row"))];
        let mut say = |count: u64, what: &str, became: &str| {
            if count > 0 {
                sentences.push(format!("{} {became}", many(count, what)));
            }
        };
        say(self.unselected, "row", "left out, as `rows` asks");
        for ((_, channel), (missing, observed)) in settings.states().zip(self.missing.iter().zip(&self.observed)) {
            say(*missing, "cell", &format!("of {} missing in channel {}", missing + observed, channel.name));
        }
        for ((_, channel), count) in settings.driving().zip(&self.interpolated) {
            let between = channel.between.unwrap_or_default().name();
            say(*count, "value", &format!("of input {} interpolated ({between})", channel.name));
        }
        for (input, count) in settings.events.iter().zip(&self.events) {
            say(*count, "row", &format!("taken as events of input {}", input.name));
        }
        say(self.driven, "sample", "without any observed state kept for its inputs");
        say(self.outside, "sample", "of inputs before the first or after the last observed state left out");
        say(self.changes.emptied, "sample", "without any observed cell dropped");
        say(self.changes.merged, "value", "merged with another of the same channel and time");
        say(self.cuts, "gap", "at which a trajectory was cut");
        say(self.single, "sample", "left alone by such a cut and dropped");
        sentences
    }
}

fn many(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
