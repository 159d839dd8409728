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
}

impl Counts {
    pub fn new(channels: usize) -> Self {
        Counts { observed: vec![0; channels], missing: vec![0; channels], ..Counts::default() }
    }

    /// Adds one trajectory's states `[T, C]`.
    pub fn add_states(&mut self, states: &[f64], changes: Changes) {
        self.changes.merged += changes.merged;
        self.changes.emptied += changes.emptied;
        for state in states.chunks_exact(self.observed.len().max(1)) {
            for (c, value) in state.iter().enumerate() {
                *(if value.is_nan() { &mut self.missing[c] } else { &mut self.observed[c] }) += 1;
            }
        }
    }

    /// Adds what another has counted.
    pub fn add(&mut self, other: &Counts) {
        let Counts { rows, unselected, observed, missing, changes, cuts, single } = other;
        for (sum, count) in self.observed.iter_mut().zip(observed).chain(self.missing.iter_mut().zip(missing)) {
            *sum += count;
        }
        self.rows += rows;
        self.unselected += unselected;
        self.changes.merged += changes.merged;
        self.changes.emptied += changes.emptied;
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
