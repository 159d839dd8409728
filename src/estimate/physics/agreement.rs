//! Checks that the states, inputs and parameters of equations are those of a dataset: by name, in the same units. Nothing is converted.

use crate::dataset::Manifest;
use crate::problems::{Problem, Problems};
use crate::schema::Quantity;
use crate::systems::{System, SystemSettings};
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
    /// Every state and input of `system`, and every unit, that disagrees with the dataset; keys begin with `system`. `named` is how the
    /// settings name the system.
    pub(crate) fn disagreements(&self, system: &System, named: &SystemSettings) -> Vec<Problem> {
        let mut problems = Problems::default();
        // Equations in a file or table have a key for every part.
        let key = |part: String| match named {
            SystemSettings::Equations(_) => format!("system.{part}"),
            SystemSettings::Named(_) => "system".to_owned(),
        };
        for (index, state) in system.channels.iter().enumerate() {
            match self.channels.iter().find(|it| it.name == state.name) {
                Some(channel) => {
                    compare_units(key(format!("states.{index}.unit")), &state.name, &state.unit, &channel.unit, &mut problems);
                }
                None => problems.add(
                    key(format!("states.{index}.name")),
                    format!("the state `{}`, and a dataset with the channels {}", state.name, names(&self.channels)),
                    "every state among the channels of the dataset",
                    "rename the state or the channel; a state that nobody measured needs a column of its own with a value in one row at least, \
                     such as what it starts from, and is estimated from there",
                ),
            }
        }
        for (index, input) in system.inputs.iter().enumerate() {
            match self.inputs.iter().find(|it| it.name == input.name) {
                Some(known) => {
                    compare_units(
                        key(format!("inputs.{index}.unit")),
                        &input.name,
                        &input.unit,
                        &known.unit,
                        &mut problems,
                    );
                }
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
