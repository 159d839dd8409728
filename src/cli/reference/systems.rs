//! The page of the built-in systems and of the solvers, from their lists.

use super::markdown::{WRITTEN_BY, code, table};
use crate::schema::Quantity;
use crate::solve::{self, Tableau};
use crate::systems::{self, Axis, Dynamics, EnvironmentSet, Preset, System};

pub(crate) fn page() -> String {
    let mut text = format!(
        "{WRITTEN_BY}# Systems and solvers\n\n\
         What `generate.system` and `estimate.physics.system` can name. Equations of your own stand in their place: see\n\
         [Systems of your own](../guides/own-system.md).\n\n"
    );
    systems::all().iter().for_each(|it| text.push_str(&system(it)));
    text.push_str(
        "## Solvers\n\n\
         Explicit Runge-Kutta methods. Those with an error estimate integrate data to a tolerance (`generate.solver`); the others take fixed\n\
         steps from sample to sample, through which a model is trained (`train.solver`, `train.substeps`).\n\n",
    );
    let rows: Vec<_> = solve::all().into_iter().map(solver).collect();
    text.push_str(&table(&["name", "order", "stages", "steps"], &rows));
    format!("{}\n", text.trim_end())
}

fn system(it: &System) -> String {
    let mut text = format!("## {}\n\n{}.\n\n", it.name, it.description);
    text.push_str(&format!(
        "Trajectories last {} and are sampled every {} (time in {}) unless `generate.horizon` and `generate.time_step` say otherwise.\n\n",
        it.horizon,
        it.time_step,
        code(&it.time_unit)
    ));
    let quantity = |it: Quantity| vec![code(it.name), code(it.unit), it.description];
    text.push_str(&table(
        &["state", "unit", "what it is"],
        &it.channel_quantities().into_iter().map(quantity).collect::<Vec<_>>(),
    ));
    let parameters = it.parameters.iter().zip(it.parameter_quantities());
    let rows: Vec<_> = parameters
        .map(|(bounds, parameter)| {
            let mut row = quantity(parameter);
            row.insert(2, format!("{} to {}", bounds.lower, bounds.upper));
            row
        })
        .collect();
    text.push_str(&table(&["parameter", "unit", "range", "what it is"], &rows));
    it.presets.iter().for_each(|preset| text.push_str(&of_preset(it, preset)));
    text
}

fn of_preset(system: &System, it: &Preset) -> String {
    let mut text = format!("Preset `{}`: {}.", it.name, it.description);
    if !it.space.is_empty() {
        let axes: Vec<_> = it.space.iter().map(|axis| axis.count.to_string()).collect();
        text.push_str(&format!(" Fields on {} points.", axes.join(" x ")));
    }
    if let Dynamics::Stepper(stepper) = &it.dynamics {
        text.push_str(&format!(" Integrated by {}, steps of {}.", stepper.name, stepper.step));
    }
    text.push_str("\n\n");
    let rows: Vec<_> =
        it.environments.iter().map(|set| vec![code(&set.name), set.len().to_string(), values(system, set)]).collect();
    text.push_str(&table(&["environments", "how many", "parameters"], &rows));
    text
}

fn values(system: &System, set: &EnvironmentSet) -> String {
    let axes = system.parameters.iter().zip(&set.axes).map(|(parameter, axis)| {
        let values = match axis {
            Axis::Values(values) => values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            Axis::Uniform { first, last, count } => format!("{count} from {first} to {last}"),
        };
        format!("`{}`: {values}", parameter.name)
    });
    axes.collect::<Vec<_>>().join("; ")
}

fn solver(it: &Tableau) -> Vec<String> {
    let steps = if it.embedded.is_some() { "adaptive, to a tolerance" } else { "fixed" };
    vec![code(it.name), it.order.to_string(), it.stages.len().to_string(), steps.to_owned()]
}
