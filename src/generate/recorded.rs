//! What is recorded of a simulated system: its states, or states and outputs that are named.

use super::settings::Settings;
use crate::expressions::Dual;
use crate::problems::Problems;
use crate::schema::Quantity;
use crate::systems::{System, TangentField};

/// What one recorded channel is.
#[derive(Clone, Copy, Debug)]
enum Column {
    State(usize),
    Output(usize),
}

/// The recorded channels `[C]`, in their order.
pub(crate) struct Recorded {
    pub quantities: Vec<Quantity>,
    /// None where the channels are the states in their order, on a grid too.
    columns: Option<Vec<Column>>,
    outputs: usize,
    field: Option<TangentField>,
}

/// All that can be recorded.
fn known(system: &System) -> Vec<(Column, Quantity)> {
    let states = system.channel_quantities().into_iter().enumerate().map(|(i, it)| (Column::State(i), it));
    let outputs = system.outputs.channels.iter().zip(&system.outputs.compared).enumerate();
    let outputs = outputs.flat_map(|(j, (output, names))| {
        names.iter().map(move |name| (Column::Output(j), Quantity::new(name, &output.unit, &output.description)))
    });
    states.chain(outputs).collect()
}

impl Recorded {
    /// The channels that are `wanted`, or else the states.
    pub(crate) fn new(system: &System, wanted: Option<&[String]>) -> Self {
        let known = known(system);
        let chosen: Option<Vec<(Column, Quantity)>> = wanted
            .map(|names| names.iter().filter_map(|name| known.iter().find(|it| it.1.name == *name).cloned()).collect());
        let (columns, quantities) = match chosen {
            None => (None, system.channel_quantities()),
            Some(chosen) => {
                let (columns, quantities) = chosen.into_iter().unzip();
                (Some(columns), quantities)
            }
        };
        Recorded { quantities, columns, outputs: system.outputs.channels.len(), field: system.outputs.field.clone() }
    }

    /// The channels `[T, C]` at `times [T]`, from `states [T, N]` and the parameters at a time, as a field reads them.
    pub(crate) fn of_states(&self, parameters: &dyn Fn(f64) -> Vec<f64>, times: &[f64], states: Vec<f64>) -> Vec<f64> {
        let Some(columns) = &self.columns else { return states };
        let n = states.len() / times.len().max(1);
        let mut outputs = vec![Dual::default(); self.outputs];
        let mut channels = Vec::with_capacity(times.len() * columns.len());
        for (time, state) in times.iter().zip(states.chunks_exact(n)) {
            if let Some(field) = &self.field {
                let parameters: Vec<Dual> = parameters(*time).into_iter().map(Dual::from).collect();
                let state: Vec<Dual> = state.iter().map(|&value| Dual::from(value)).collect();
                field.first(&parameters, Dual::from(*time), &state, &mut outputs);
            }
            channels.extend(columns.iter().map(|column| match *column {
                Column::State(i) => state[i],
                Column::Output(j) => outputs[j].value,
            }));
        }
        channels
    }
}

impl Settings {
    /// The channels that the dataset has: those recorded, without those that nobody keeps.
    pub(crate) fn kept(&self, system: &System) -> Vec<Quantity> {
        let mut channels = Recorded::new(system, self.channels.as_deref()).quantities;
        channels.retain(|channel| self.is_kept(&channel.name));
        channels
    }

    /// Whether a channel is not dropped.
    pub(super) fn is_kept(&self, channel: &str) -> bool {
        let dropped = self.observation.iter().flat_map(|observation| &observation.dropped);
        dropped.into_iter().all(|dropped| dropped != channel)
    }

    /// Adds what is wrong with `channels`.
    pub(super) fn check_channels(&self, system: &System, is_field: bool, problems: &mut Problems) {
        let Some(channels) = &self.channels else { return };
        let names: Vec<String> = known(system).into_iter().map(|it| it.1.name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for (index, name) in channels.iter().enumerate() {
            let key = format!("channels.{index}");
            if !names.contains(&name.as_str()) {
                problems.unknown(key, name, "state or output", &names);
            } else if channels[..index].contains(name) {
                problems.add(key, format!("`{name}` again"), "each channel once", "remove it");
            }
        }
        problems.require(
            !channels.is_empty(),
            "channels",
            "none",
            "at least one channel",
            "leave it out for all states",
        );
        problems.require(
            !is_field,
            "channels",
            "channels by name, and fields on a grid",
            "all states of a field",
            "leave it out; `observation.dropped` names fields that nobody records",
        );
    }
}
