//! Checks of doses and resets, and their places in a system.

use super::equations::{DoseEquation, Equations, InfusionEquation, StartSetting};
use super::system::{Dose, Doses, Infusion, InitialValue, TangentField};
use crate::expressions::program::Program;
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
        for (index, DoseEquation { input, state, interval, superposed, .. }) in self.doses.iter().enumerate() {
            of_input(format!("doses.{index}.input"), input, problems);
            if !states.contains(&state.as_str()) {
                problems.unknown(format!("doses.{index}.state"), state, "state of the system", &states);
            }
            for (key, name) in [("interval", interval), ("superposed", superposed)] {
                let Some(name) = name else { continue };
                of_input(format!("doses.{index}.{key}"), name, problems);
                self.check_interval(format!("doses.{index}.{key}"), name, problems);
            }
        }
        for (index, InfusionEquation { input, interval, superposed }) in self.infusions.iter().enumerate() {
            of_input(format!("infusions.{index}.input"), input, problems);
            problems.require(
                interval.is_some() || superposed.is_some(),
                format!("infusions.{index}"),
                format!("neither `interval` nor `superposed` of `{input}`"),
                "one of the two: an infusion without a steady state needs no entry",
                "remove the entry, or add `interval = \"NAME\"`",
            );
            for (key, name) in [("interval", interval), ("superposed", superposed)] {
                let Some(name) = name else { continue };
                of_input(format!("infusions.{index}.{key}"), name, problems);
                self.check_interval(format!("infusions.{index}.{key}"), name, problems);
            }
        }
        let Some(reset) = &self.reset else { return };
        of_input("reset".to_owned(), reset, problems);
        let also = self.doses.iter().any(|dose| dose.input == *reset)
            || self.infusions.iter().any(|it| it.input == *reset)
            || self.intervals(false).chain(self.intervals(true)).any(|name| name == reset);
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

    /// The inputs that are intervals of steady states: of those that are added to the states, or of the others.
    fn intervals(&self, are_added: bool) -> impl Iterator<Item = &String> {
        let of_doses = self.doses.iter().map(|it| [&it.interval, &it.superposed]);
        let of_infusions = self.infusions.iter().map(|it| [&it.interval, &it.superposed]);
        of_doses.chain(of_infusions).filter_map(move |of| of[usize::from(are_added)].as_ref())
    }

    /// Whether anything is given again and again since ever.
    pub(crate) fn repeats(&self) -> bool {
        self.intervals(false).chain(self.intervals(true)).next().is_some()
    }

    /// Checks that an interval is an input of its own.
    fn check_interval(&self, key: String, name: &String, problems: &mut Problems) {
        let is_amount =
            self.doses.iter().any(|dose| dose.input == *name) || self.infusions.iter().any(|it| it.input == *name);
        let is_both = self.intervals(false).any(|it| it == name) && self.intervals(true).any(|it| it == name);
        if is_amount || is_both {
            let what = if is_amount { "a sum of amounts, or a rate" } else { "an `interval` and `superposed`" };
            problems.add(
                key,
                format!("`{name}`, which is {what}"),
                "an input of its own, which rises by a time where doses are in their steady state",
                "make it of the column of the intervals: `shape = \"bolus\"`, `rows.SS = 1` in [[import.events]] (or 2, where it is `superposed`)",
            );
        }
    }

    /// Adds the problems of bioavailabilities and lag times that are the same whatever the parameters; `program` computes both of each dose.
    pub(crate) fn check_constant_doses(&self, program: &Program, problems: &mut Problems) {
        // What depends on an unknown number is unknown.
        let unknown = vec![f64::NAN; self.parameters.len() + self.covariates.len()];
        let mut values = vec![0.0; 2 * self.doses.len()];
        program.derivative(&unknown, f64::NAN, &[], &mut values);
        for (index, [bioavailability, lag]) in values.as_chunks::<2>().0.iter().enumerate() {
            for (key, value, what) in [("bioavailability", bioavailability, "share"), ("lag", lag, "time")] {
                problems.require(
                    value.is_nan() || (*value >= 0.0 && value.is_finite()),
                    format!("doses.{index}.{key}"),
                    value,
                    &format!("a {what} of at least 0"),
                    "correct the number, or leave it out",
                );
            }
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
                superposed: dose.superposed.as_ref().and_then(of_input),
            })
        };
        let ways: Vec<Dose> = self.doses.iter().filter_map(way).collect();
        let reset = self.reset.as_ref().and_then(of_input);
        let infusion = |it: &InfusionEquation| {
            Some(Infusion {
                input: of_input(&it.input)?,
                interval: it.interval.as_ref().and_then(of_input),
                superposed: it.superposed.as_ref().and_then(of_input),
            })
        };
        let infusions: Vec<Infusion> = self.infusions.iter().filter_map(infusion).collect();
        (!ways.is_empty() || !infusions.is_empty() || reset.is_some()).then(|| Doses {
            ways,
            infusions,
            field,
            reset,
            initial: initial.to_vec(),
            starts: starts.cloned(),
        })
    }
}
