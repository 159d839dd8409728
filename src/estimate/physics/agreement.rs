//! Checks that the states, outputs, inputs, covariates and parameters of equations are those of a dataset: by name, in the same units. Nothing
//! is converted.

use crate::dataset::Manifest;
use crate::problems::{Problem, Problems, did_you_mean};
use crate::schema::Quantity;
use crate::systems::{Channel, InitialValue, System, SystemSettings};
use crate::units::is_same_unit;

/// The quantities that a dataset has, or will have.
pub(crate) struct Quantities {
    /// Unit of time.
    pub time_unit: String,
    /// Measured states.
    pub channels: Vec<Quantity>,
    /// Known signals that drive the system.
    pub inputs: Vec<Quantity>,
    /// Parameters of environments.
    pub parameters: Vec<Quantity>,
}

impl From<&Manifest> for Quantities {
    fn from(manifest: &Manifest) -> Self {
        Quantities {
            time_unit: manifest.time_unit.clone(),
            channels: manifest.channels.clone(),
            inputs: manifest.inputs.iter().map(|input| input.quantity.clone()).collect(),
            parameters: manifest.parameters.clone(),
        }
    }
}

impl Quantities {
    /// Everything of `system`, and every unit, that disagrees with the dataset; keys begin with `system`. `named` is how the
    /// settings name the system.
    pub(crate) fn disagreements(&self, system: &System, named: &SystemSettings) -> Vec<Problem> {
        let mut problems = Problems::default();
        // Equations in a file or table have a key for every part.
        let key = |part: String| match named {
            SystemSettings::Equations(_) => format!("system.{part}"),
            SystemSettings::Named(_) => "system".to_owned(),
        };
        let of_units = |kind: &str, index: usize, what: &Channel, known: &Quantity, problems: &mut Problems| {
            compare_units(key(format!("{kind}.{index}.unit")), &what.name, &what.unit, &known.unit, problems);
        };
        for (index, state) in system.channels.iter().enumerate() {
            match self.channels.iter().find(|it| it.name == state.name) {
                Some(channel) => of_units("states", index, state, channel, &mut problems),
                None if system.initial.get(index).is_some_and(|it| *it != InitialValue::AsObserved) => {}
                None => problems.add(
                    key(format!("states.{index}.name")),
                    format!(
                        "the state `{}`, which has no start and is none of the channels {}",
                        state.name,
                        names(&self.channels)
                    ),
                    "a start of every state that is not measured",
                    match named {
                        SystemSettings::Named(_) => "rename the channel, or write the equations with a `start`",
                        SystemSettings::Equations(_) => {
                            "rename the state or the channel; or say where the state starts in place of `initial`: a number (`start = 0.0`), an \
                             expression of parameters (`start = \"baseline\"`), or bounds to fit it between \
                             (`start = { lower = 0.0, upper = 1.0 }`)"
                        }
                    },
                ),
            }
        }
        for (index, (output, compared)) in system.outputs.channels.iter().zip(&system.outputs.compared).enumerate() {
            for channel in self.channels.iter().filter(|channel| compared.contains(&channel.name)) {
                of_units("outputs", index, output, channel, &mut problems);
            }
        }
        // Whoever states outputs, or leaves a state to its start, means every channel to be one of them.
        let is_measured = |it: &Channel| self.channels.iter().any(|channel| channel.name == it.name);
        if !system.outputs.channels.is_empty() || !system.channels.iter().all(is_measured) {
            let states: Vec<&str> = system.channels.iter().map(|it| it.name.as_str()).collect();
            let outputs: Vec<&str> = system.outputs.compared.iter().flatten().map(String::as_str).collect();
            let known = [states.as_slice(), outputs.as_slice()].concat();
            let of_system = match outputs.is_empty() {
                true => format!("the states {} and no outputs", states.join(", ")),
                false => format!("the states {} and the outputs {}", states.join(", "), outputs.join(", ")),
            };
            for channel in self.channels.iter().filter(|channel| !known.contains(&channel.name.as_str())) {
                problems.add(
                    "system",
                    format!("the channel `{}`, and a system with {of_system}", channel.name),
                    "every channel among the states and outputs",
                    did_you_mean(&channel.name, known.iter().copied()).unwrap_or_else(|| {
                        format!(
                            "add `outputs = [{{ name = \"{}\", expression = \"...\" }}]` to the equations, or leave the channel out of the \
                             dataset (`role = \"ignore\"`)",
                            channel.name
                        )
                    }),
                );
            }
        }
        for (index, covariate) in system.covariates.iter().enumerate() {
            match self.parameters.iter().find(|it| it.name == covariate.name) {
                Some(known) => of_units("covariates", index, covariate, known, &mut problems),
                None => problems.add(
                    key(format!("covariates.{index}.name")),
                    match self.parameters.is_empty() {
                        true => format!("the covariate `{}`, and a dataset that knows nothing of its environments", covariate.name),
                        false => format!(
                            "the covariate `{}`, and a dataset that knows of its environments {}",
                            covariate.name,
                            names(&self.parameters)
                        ),
                    },
                    "every covariate among what is known of the environments",
                    "rename one of the two, or import it from a table of the environments ([import.side_table], [[import.parameters]])",
                ),
            }
        }
        for (index, input) in system.inputs.iter().enumerate() {
            match self.inputs.iter().find(|it| it.name == input.name) {
                Some(known) => of_units("inputs", index, input, known, &mut problems),
                None => problems.add(
                    key(format!("inputs.{index}.name")),
                    match self.inputs.is_empty() {
                        true => format!("the input `{}`, and a dataset without inputs", input.name),
                        false => {
                            format!("the input `{}`, and a dataset with the inputs {}", input.name, names(&self.inputs))
                        }
                    },
                    "every input among those of the dataset",
                    "rename one of the two, or import the signal (`role = \"input\"`, or [[import.events]])",
                ),
            }
        }
        compare_units(key("time_unit".to_owned()), "time", &system.time_unit, &self.time_unit, &mut problems);
        for (index, parameter) in system.parameters.iter().enumerate() {
            if let Some(known) = self.parameters.iter().find(|it| it.name == parameter.name) {
                let key = key(format!("parameters.{index}.unit"));
                compare_units(key, &parameter.name, &parameter.unit, &known.unit, &mut problems);
            }
        }
        problems.into_vec()
    }
}

fn names(quantities: &[Quantity]) -> String {
    quantities.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Adds a problem if the units of equations and data differ. Equations without units, all in `1`, hold in any.
fn compare_units(key: String, what: &str, of_system: &str, of_dataset: &str, problems: &mut Problems) {
    if of_system.trim() != "1" && is_same_unit(of_system, of_dataset) == Some(false) {
        problems.add(
            key,
            format!("`{what}` in `{of_system}` in the equations and in `{of_dataset}` in the data"),
            "the same unit: nothing is converted between the two",
            "write the equations in the unit of the data, or let the import convert: a channel's `unit` is what its values become",
        );
    }
}
