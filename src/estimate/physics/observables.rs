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

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use nalgebra::DVector;

    use crate::dataset::Manifest;
    use crate::estimate::physics::budget::Budget;
    use crate::estimate::physics::equations::Equations;
    use crate::estimate::physics::experiment::{Experiment, Unknowns};
    use crate::estimate::physics::normal::Step;
    use crate::estimate::physics::series::Series;
    use crate::estimate::settings::{InitialState, Loss, PhysicsSettings, Settings};
    use crate::progress::Interrupt;
    use crate::schema::{Between, Input, Quantity};
    use crate::solve::DOP853;
    use crate::systems;

    /// Every kind of start, states measured and hidden, outputs with time, input and covariate, and more directions than a dual number has.
    const SYSTEM: &str = r#"
        name = "it"
        horizon = 5.0
        time_step = 0.5
        states = [
            { name = "a", derivative = "-k * a + u", start = { lower = 0.5, upper = 9.0, guess = 2.0 } },
            { name = "b", derivative = "k * a - sin(b) * m / w", start = "m^2 + 0.1 * u * w" },
            { name = "c", derivative = "b - c", start = 0.5 },
            { name = "d", derivative = "-d * k + 0.1 * t", start = { lower = -1.0, upper = 3.0 } },
        ]
        outputs = [
            { name = "x", expression = "g * b^2 + u * t + exp(-d) * w" },
            { name = "unseen", expression = "a" },
            { name = "z", expression = "a / (g + c)" },
        ]
        inputs = [{ name = "u" }]
        covariates = [{ name = "w" }]
        parameters = [
            { name = "k", lower = 0.01, upper = 5.0 },
            { name = "m", lower = -2.0, upper = 5.0 },
            { name = "g", lower = 0.1, upper = 5.0 },
        ]
    "#;

    #[test]
    fn channels_have_the_derivatives_of_their_differences() {
        let system = toml::from_str::<systems::Equations>(SYSTEM).unwrap().system().unwrap();
        let channels = ["z", "b", "x"].map(|name| Quantity::new(name, "1", ""));
        let known = ["w", "k", "m", "g"].map(|name| Quantity::new(name, "1", ""));
        let input = Input { quantity: Quantity::new("u", "1", ""), between: Between::Linear };
        let manifest = Manifest { inputs: vec![input], ..Manifest::in_memory("1", channels.to_vec(), known.to_vec()) };
        let settings = (PhysicsSettings::default(), Settings::default());
        let equations = Equations::in_memory(&settings.0, &settings.1, &system, &manifest).unwrap();
        assert_eq!(equations.channel_names, ["b", "x", "z"]);
        let model = equations.model(&[Some(1.7), None, None, None]).unwrap();
        let times: Vec<f64> = (0..6).map(|t| 0.5 * f64::from(t)).collect();
        let observed: Vec<f64> = (0..18).map(|cell| 1.0 + (f64::from(cell)).sin()).collect();
        let series = Series::new(times, observed, vec![0.3, 0.9, 0.2, 0.2, 1.0, 0.0], 3);
        let experiment =
            Experiment::new(Cow::Owned(model.into_owned()), vec![series], InitialState::Estimated, Loss::Squares);
        // The first sample of every channel follows from unknowns.
        assert_eq!((experiment.cells.len(), experiment.unknown_count()), (18, 5));
        let mut integrator = experiment.integrator(&DOP853, 1e-12, 100_000).unwrap();
        let interrupt = Interrupt::new();
        let mut roll_out = |unknowns: &Unknowns| {
            experiment.roll_out(&mut integrator, unknowns, &mut Budget::new(u64::MAX, &interrupt)).unwrap()
        };
        let unknowns = experiment.start(&[0.6, 1.2, 0.8]);
        let found = roll_out(&unknowns);
        assert_eq!((found.beneath[0].len(), found.sensitivities[0].len()), (24, 90));
        assert_eq!(found.beneath[0][..4], [2.0, 1.2 * 1.2 + 0.1 * 0.3 * 1.7, 0.5, 1.0]);
        let h = 1e-5;
        for direction in 0..5 {
            let [after, before] = [h, -h].map(|by| {
                let unit = |k: usize| if k == direction { by } else { 0.0 };
                let step = Step {
                    parameters: DVector::from_fn(3, |k, _| unit(k)),
                    initial: vec![DVector::from_fn(2, |k, _| unit(3 + k))],
                };
                roll_out(&experiment.after_step(&unknowns, &step).0).states.concat()
            });
            for cell in 0..18 {
                let slope = (after[cell] - before[cell]) / (2.0 * h);
                let found = found.sensitivities[0][cell * 5 + direction];
                assert!((found - slope).abs() < 1e-7 * (1.0 + slope.abs()), "{direction} {cell}: {found} {slope}");
            }
        }
    }
}
