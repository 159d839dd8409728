//! All that equations compute: the channels that are compared, states that nobody measures, and outputs that are compared with none.

use super::observables::{Observable, Observables};
use crate::schema::Quantity;
use crate::systems::System;

/// What a quantity of equations is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A channel of the dataset.
    Channel,
    /// A state that no channel measures.
    State,
    /// An output that no channel measures.
    Output,
}

impl Kind {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Channel => "channel",
            Kind::State => "state",
            Kind::Output => "output",
        }
    }
}

/// The channels `[C]` in the order of the equations, followed by what nobody measures `[H]`.
pub(crate) struct Everything {
    pub observables: Observables,
    /// What nobody measures `[H]`: states, then outputs.
    pub hidden: Vec<(Kind, Quantity)>,
}

impl Everything {
    /// Everything of `system`, of which the channels `[C]` are `observed`.
    pub(crate) fn of(system: &System, observed: &[(Observable, usize)]) -> Self {
        let is_hidden = |it: &Observable| observed.iter().all(|(channel, _)| channel != it);
        let states = system.channels.iter().enumerate().map(|(i, it)| (Observable::State(i), Kind::State, it));
        let outputs = system.outputs.channels.iter().enumerate();
        let outputs = outputs.map(|(j, it)| (Observable::Output(j), Kind::Output, it));
        let hidden: Vec<_> = states.chain(outputs).filter(|(observable, ..)| is_hidden(observable)).collect();
        let channels: Vec<Observable> =
            observed.iter().map(|it| it.0).chain(hidden.iter().map(|(observable, ..)| *observable)).collect();
        let has_output = channels.iter().any(|it| matches!(it, Observable::Output(_)));
        let quantity = |(_, kind, it): (_, Kind, &crate::systems::Channel)| {
            (kind, Quantity::new(&it.name, &it.unit, &it.description))
        };
        Everything {
            observables: Observables {
                channels,
                states: system.channels.len(),
                outputs: system.outputs.channels.len(),
                field: system.outputs.field.clone().filter(|_| has_output),
            },
            hidden: hidden.into_iter().map(quantity).collect(),
        }
    }
}
