//! What the channels of a dataset are in the equations: states, or outputs, which are functions of them.

use super::function::{Along, Function};
use crate::signals::Drive;
use crate::systems::TangentField;

/// What one channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Observable {
    /// The state of this index.
    State(usize),
    /// The output of this index.
    Output(usize),
}

/// What each channel is, where channels are not just the states in their order.
#[derive(Clone)]
pub(crate) struct Observables {
    /// `[C]`.
    pub channels: Vec<Observable>,
    /// Number of states `N`.
    pub states: usize,
    /// Number of outputs `O` of the system, measured or not.
    pub outputs: usize,
    /// Computes all outputs; `None` where no channel is one.
    pub field: Option<TangentField>,
}

impl Observables {
    /// The channels `[T, C]` under `drive`, with their derivatives along `k` directions, from states `[T, N]` with theirs; parameters `[d_p]`
    /// move by `directions [d_p, k]`.
    pub(crate) fn of_states(
        &self,
        parameters: &[f64],
        directions: &[f64],
        drive: &Drive,
        (states, slopes): (&[f64], &[f64]),
    ) -> Along {
        let (samples, c) = (drive.times.len(), self.channels.len());
        let k = slopes.len().checked_div(states.len()).unwrap_or(0);
        let outputs = match &self.field {
            Some(field) => {
                let function = Function { field, parameters, directions, k };
                function.along(drive, samples, (states, slopes), self.outputs)
            }
            None => Along { values: Vec::new(), slopes: Vec::new() },
        };
        let mut along = Along { values: vec![0.0; samples * c], slopes: vec![0.0; samples * c * k] };
        for t in 0..samples {
            for (channel, observable) in self.channels.iter().enumerate() {
                let (values, slopes, from) = match *observable {
                    Observable::State(i) => (states, slopes, t * self.states + i),
                    Observable::Output(j) => (&*outputs.values, &*outputs.slopes, t * self.outputs + j),
                };
                let cell = t * c + channel;
                along.values[cell] = values[from];
                along.slopes[cell * k..(cell + 1) * k].copy_from_slice(&slopes[from * k..(from + 1) * k]);
            }
        }
        along
    }
}
