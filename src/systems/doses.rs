//! Checks of doses and resets, and their places in a system.

use super::equations::{DoseEquation, Equations, StartSetting};
use super::system::{Dose, Doses, InitialValue, TangentField};
use crate::problems::Problems;

impl Equations {
    /// Adds the problems of doses and resets but for those of expressions.
    pub(crate) fn check_doses(&self, problems: &mut Problems) {
        let inputs: Vec<&str> = self.inputs.iter().map(|input| input.name.as_str()).collect();
        let states: Vec<&str> = self.states.iter().map(|state| state.name.as_str()).collect();
        let of_input = |key: String, name: &str, problems: &mut Problems| match inputs.is_empty() {
            true => problems.add(
                key,
                format!("`{name}`, and a system without inputs"),
                "an input, which says when and how much",
                format!("add `inputs = [{{ name = \"{name}\", unit = \"mg\" }}]`, in the unit of the data"),
            ),
            false if inputs.contains(&name) => {}
            false => problems.unknown(key, name, "input of the system", &inputs),
        };
        for (index, DoseEquation { input, state, interval, .. }) in self.doses.iter().enumerate() {
            of_input(format!("doses.{index}.input"), input, problems);
            if !states.contains(&state.as_str()) {
                problems.unknown(format!("doses.{index}.state"), state, "state of the system", &states);
            }
            let Some(interval) = interval else { continue };
            let key = format!("doses.{index}.interval");
            of_input(key.clone(), interval, problems);
            if self.doses.iter().any(|dose| dose.input == *interval) {
                problems.add(
                    key,
                    format!("`{interval}`, which is a sum of amounts"),
                    "an input of its own, which rises by a time where doses are in their steady state",
                    "make it of the column of the intervals: `shape = \"bolus\"`, `rows.SS = 1` in [[import.events]]",
                );
            }
        }
        let Some(reset) = &self.reset else { return };
        of_input("reset".to_owned(), reset, problems);
        let also = self.doses.iter().any(|dose| dose.input == *reset || dose.interval.as_ref() == Some(reset));
        problems.require(
            !also,
            "reset",
            format!("`{reset}`, which says something of doses too"),
            "an input of its own, which rises where the system is reset",
            "make it of the rows that reset the system: `shape = \"bolus\"` without a column, in [[import.events]]",
        );
        problems.require(
            self.preequilibration.is_none(),
            "reset",
            "a reset, and a steady state before the start",
            "starts that are numbers or expressions: a reset to a steady state is not computed",
            "remove one of the two, or give what follows a reset an id of its own in a column of trajectories",
        );
        for (index, state) in self.states.iter().enumerate() {
            let is_said = match &state.start {
                Some(start) => !matches!(start, StartSetting::Free(_)),
                None => state.initial.is_some_and(|[lower, upper]| lower == upper),
            };
            problems.require(
                is_said,
                format!("states.{index}.start"),
                format!("a reset, and a start of `{}` that is not known", state.name),
                "a number or an expression of parameters, to which the state returns",
                "write `start = 0.0`",
            );
        }
    }

    /// The doses of valid equations; `field` writes bioavailabilities and lag times, and states start as `initial` and `starts` say.
    pub(crate) fn doses(
        &self,
        field: TangentField,
        initial: &[InitialValue],
        starts: Option<&TangentField>,
    ) -> Option<Doses> {
        let of_input = |name: &String| self.inputs.iter().position(|input| input.name == *name);
        let way = |dose: &DoseEquation| {
            Some(Dose {
                input: of_input(&dose.input)?,
                state: self.states.iter().position(|state| state.name == dose.state)?,
                interval: dose.interval.as_ref().and_then(of_input),
            })
        };
        let ways: Vec<Dose> = self.doses.iter().filter_map(way).collect();
        let reset = self.reset.as_ref().and_then(of_input);
        (!ways.is_empty() || reset.is_some()).then(|| Doses {
            ways,
            field,
            reset,
            initial: initial.to_vec(),
            starts: starts.cloned(),
        })
    }
}
