//! Which equations are fitted to which dataset: channels and parameters find each other by name.

use std::sync::Arc;

use super::agreement::Quantities;
use super::coordinates::Coordinate;
use super::cramer_rao::Deviation;
use super::experiment::{Law, Model};
use super::series::Series;
use super::settings::Settings;
use crate::dataset::Dataset;
use crate::estimate::error::Error;
use crate::estimate::settings::InitialState;
use crate::estimate::table::interval::Bounds;
use crate::generate;
use crate::generate::Observation;
use crate::problems::settings::{Problem, Problems};
use crate::schema::{Grid, Quantity, Split, Trajectory};
use crate::systems::{Dynamics, System};

/// Known parameters of training environments that a fit may start from, beside their median.
const MOST_STARTS: usize = 12;

/// The equations, and how they speak of a dataset.
pub(crate) struct Equations {
    pub model: Model,
    /// The estimated parameters `[d]`.
    pub names: Vec<String>,
    pub quantities: Vec<Quantity>,
    pub bounds: Vec<Bounds>,
    /// The place of each channel of the system among those of the dataset.
    pub places: Vec<usize>,
    /// The place of each input of the system among those of the dataset.
    inputs: Vec<usize>,
    /// The known parameters of the training environments `[n][d]`.
    pub known: Vec<Vec<f64>>,
    /// Where fits start from: the median of the known parameters, and some of them.
    pub starts: Vec<Vec<f64>>,
    /// Channels of the dataset.
    channels: usize,
    /// The place of each estimated parameter among those of the dataset, where it has it.
    pub truths: Vec<Option<usize>>,
    observation: Option<Observation>,
    pub channel_names: Vec<String>,
}

impl Settings {
    /// Everything wrong with the settings, as far as they tell without a dataset; keys begin inside their table.
    pub fn validate(&self) -> Vec<Problem> {
        let Some(of_system) = &self.system else { return Vec::new() };
        match of_system.find() {
            Err(problems) => problems,
            Ok(system) => {
                let mut problems = Problems::default();
                self.check(&system, &mut problems);
                problems.0
            }
        }
    }

    fn check(&self, system: &System, problems: &mut Problems) {
        let known: Vec<&str> = system.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        for (name, value) in &self.fixed {
            let key = format!("fixed.{name}");
            match system.parameters.iter().find(|parameter| parameter.name == *name) {
                None => problems.unknown(key, name, "parameter of the system", &known),
                Some(parameter) => problems.require(
                    (parameter.lower..=parameter.upper).contains(value),
                    key,
                    value,
                    &format!("a number from {} to {}", parameter.lower, parameter.upper),
                    "choose a value inside the bounds of the parameter",
                ),
            }
        }
        if known.iter().all(|name| self.fixed.contains_key(*name)) {
            problems.add("fixed", "every parameter", "one at least that is left to estimate", "remove one");
        }
    }
}

impl Equations {
    /// The equations that `settings` name, or else those that `dataset` was simulated with.
    ///
    /// # Errors
    /// [`Error::Physics`] with everything in which settings, system and dataset do not fit together.
    pub fn new(
        settings: &Settings,
        estimate: &crate::estimate::settings::Settings,
        dataset: &Dataset,
    ) -> Result<Self, Error> {
        let manifest = dataset.manifest();
        let simulated = manifest.provenance.stage == "generate";
        let simulated: Option<generate::Settings> =
            if simulated { serde_json::from_value(manifest.provenance.configuration.clone()).ok() } else { None };
        let mut problems = Problems::default();
        let of_system = settings.system.as_ref().or(simulated.as_ref().map(|simulated| &simulated.system));
        let Some(of_system) = of_system else {
            problems.add(
                "system",
                "nothing, and a dataset that was not simulated",
                "the name of a system, or a file with its equations",
                "add `system = \"...\"` to [estimate.physics]",
            );
            return Err(Error::Physics(problems.0));
        };
        let system = of_system.find().map_err(Error::Physics)?;
        let own = simulated.as_ref().filter(|simulated| &simulated.system == of_system);
        let preset = own.and_then(|own| own.find_preset(&system)).or(system.presets.first());
        settings.check(&system, &mut problems);
        problems.0.extend(Quantities::from(manifest).disagreements(&system, of_system));
        let estimated = estimated(&system, settings, &manifest.parameters);
        let bounds = bounds(&system, &estimated, estimate, &mut problems);
        let grid = preset.and_then(|preset| preset.grid());
        if grid != manifest.grid {
            problems.add(
                "system",
                spelled(&system.name, grid.as_ref()),
                spelled("a system", manifest.grid.as_ref()),
                "name equations on the grid of the dataset; built-in ones know their own grid alone",
            );
        }
        let (Some(preset), true) = (preset, problems.0.is_empty()) else {
            return Err(Error::Physics(problems.0));
        };
        let step = own.and_then(|own| own.inner_step).or(match &preset.dynamics {
            Dynamics::Stepper(stepper) => Some(stepper.step),
            Dynamics::Field(_) => None,
        });
        let law = match &preset.tangent {
            Some(field) => Law::Differentiated(Arc::clone(field)),
            None => Law::Simulated(preset.dynamics.clone(), step.unwrap_or_default()),
        };
        let of_channel = |name: &str| manifest.channels.iter().position(|it| it.name == name);
        let of_input = |name: &str| manifest.inputs.iter().position(|it| it.quantity.name == name);
        let place = |name: &str| manifest.parameters.iter().position(|it| it.name == name);
        let inputs: Vec<usize> = system.inputs.iter().filter_map(|input| of_input(&input.name)).collect();
        let names: Vec<String> = estimated.iter().map(|&it| system.parameters[it].name.clone()).collect();
        let truths: Vec<Option<usize>> = names.iter().map(|name| place(name)).collect();
        let of_system = system.parameter_quantities();
        let quantities = estimated.iter().zip(&truths).map(|(&it, truth)| match truth {
            Some(place) => manifest.parameters[*place].clone(),
            None => of_system[it].clone(),
        });
        let mut equations = Equations {
            quantities: quantities.collect(),
            model: Model {
                law,
                channels: system.channels.len(),
                points: manifest.state_shape().points(),
                between: inputs.iter().map(|&place| manifest.inputs[place].between).collect(),
                parameters: system
                    .parameters
                    .iter()
                    .map(|it| settings.fixed.get(&it.name).copied().unwrap_or(0.0))
                    .collect(),
                estimated,
                coordinates: bounds.iter().map(|it| Coordinate { lower: it.0, upper: it.1 }).collect(),
                given: system.given.clone(),
                start: (system.uses_time || own.is_some()).then_some(0.0),
            },
            bounds: bounds.iter().map(|it| Bounds { min: Some(it.0), max: Some(it.1) }).collect(),
            names,
            places: system.channels.iter().filter_map(|channel| of_channel(&channel.name)).collect(),
            inputs,
            known: Vec::new(),
            starts: Vec::new(),
            channels: manifest.channels.len(),
            truths,
            observation: simulated.and_then(|simulated| simulated.observation),
            channel_names: system.channels.iter().map(|channel| channel.name.clone()).collect(),
        };
        let training = dataset.index(Split::Train)?;
        let known = training.iter().filter_map(|entry| equations.truth(&entry.parameters).into_iter().collect());
        equations.known = distinct(known.collect());
        equations.starts = starts(&equations.known);
        Ok(equations)
    }

    /// What is given of the state where the system starts, in words; none where nothing is, or the first sample is taken as it is.
    pub fn start(&self, initial_state: InitialState) -> Option<String> {
        let given = (0..self.model.channels).filter_map(|value| {
            let given = self.model.given(value).filter(|_| initial_state == InitialState::Estimated)?;
            Some(format!("{} = {given}", self.channel_names[value]))
        });
        let given: Vec<String> = given.collect();
        let when = match self.model.start {
            Some(start) => format!("at t = {start}"),
            None => "at the first sample or event of each trajectory".to_owned(),
        };
        (!given.is_empty()).then(|| format!("{} {when}", given.join(", ")))
    }

    /// A trajectory of the dataset with the channels of the system.
    pub fn series(&self, trajectory: &Trajectory) -> Series {
        let samples = 0..trajectory.len();
        let inputs = samples.flat_map(|t| self.inputs.iter().map(move |&place| trajectory.input(t)[place])).collect();
        Series::new(trajectory.times.clone(), self.in_system_order(&trajectory.states), inputs)
    }

    /// States of the dataset with the channels of the system.
    pub fn in_system_order(&self, states: &[f64]) -> Vec<f64> {
        let points = self.model.points;
        let samples = states.chunks_exact(self.channels * points);
        let fields =
            samples.flat_map(|sample| self.places.iter().map(move |&place| &sample[place * points..][..points]));
        fields.flatten().copied().collect()
    }

    /// States `[T, C]` of the system with the channels of the dataset; NaN in those that the system does not have.
    pub fn in_dataset_order(&self, states: &[f64]) -> Vec<f64> {
        let points = self.model.points;
        let samples = states.chunks_exact(self.model.size());
        let mut ordered = vec![f64::NAN; samples.len() * self.channels * points];
        for (sample, of_system) in ordered.chunks_exact_mut(self.channels * points).zip(samples) {
            for (&place, field) in self.places.iter().zip(of_system.chunks_exact(points)) {
                sample[place * points..(place + 1) * points].copy_from_slice(field);
            }
        }
        ordered
    }

    /// The estimated parameters `[d]` among those of the dataset, as far as they are known.
    pub fn truth(&self, parameters: &[Option<f64>]) -> Vec<Option<f64>> {
        self.truths.iter().map(|place| place.and_then(|place| parameters.get(place).copied().flatten())).collect()
    }

    /// The noise of each channel of the system in `split`, where the dataset was simulated with noise.
    pub fn noise(&self, split: Split) -> Option<Vec<Deviation>> {
        let observation = self.observation.as_ref().filter(|it| it.splits.contains(&split) && it.jitter == 0.0)?;
        let deviations = self.channel_names.iter().map(|channel| {
            let (absolute, relative) = observation.deviations(channel);
            Some(Deviation { absolute, relative }).filter(|_| absolute > 0.0 || relative > 0.0)
        });
        deviations.collect()
    }
}

/// A system and where it lives, in words.
fn spelled(name: &str, grid: Option<&Grid>) -> String {
    let axis = |axis: &crate::schema::GridAxis| format!("{} points {} apart", axis.count, axis.spacing);
    match grid {
        Some(grid) => format!("`{name}` on {}", grid.axes.iter().map(axis).collect::<Vec<_>>().join(" by ")),
        None => format!("`{name}` without a grid"),
    }
}

/// The places of the estimated parameters among those of `system`: those of the dataset in its order, then the others.
fn estimated(system: &System, settings: &Settings, of_dataset: &[Quantity]) -> Vec<usize> {
    let mut estimated: Vec<usize> =
        (0..system.parameters.len()).filter(|&it| !settings.fixed.contains_key(&system.parameters[it].name)).collect();
    let place = |it: usize| of_dataset.iter().position(|quantity| quantity.name == system.parameters[it].name);
    estimated.sort_by_key(|&it| place(it).unwrap_or(usize::MAX));
    estimated
}

/// Lower and upper bound of each estimated parameter: those of the system, narrowed by those of the settings.
fn bounds(
    system: &System,
    estimated: &[usize],
    estimate: &crate::estimate::settings::Settings,
    problems: &mut Problems,
) -> Vec<(f64, f64)> {
    let of_parameter = |&it: &usize| {
        let parameter = &system.parameters[it];
        let narrower = estimate.bounds.get(&parameter.name).copied().unwrap_or_default();
        let lower = narrower.min.map_or(parameter.lower, |min| min.max(parameter.lower));
        let upper = narrower.max.map_or(parameter.upper, |max| max.min(parameter.upper));
        if lower < upper {
            return (lower, upper);
        }
        problems.add(
            "system",
            format!(
                "`{}` from {} to {}, and estimate.bounds.{0} that leave nothing",
                parameter.name, parameter.lower, parameter.upper
            ),
            "bounds that overlap",
            "widen one of them, or name the parameter in `fixed`",
        );
        (parameter.lower, parameter.upper)
    };
    estimated.iter().map(of_parameter).collect()
}

/// Each once, in order.
fn distinct(mut known: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    known.sort_by(|a, b| {
        a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|it| it.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    known.dedup();
    known
}

/// The median of the known parameters, and some of them at equal distances in their order.
fn starts(known: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let Some(first) = known.first() else { return Vec::new() };
    let median = |k: usize| {
        let mut values: Vec<f64> = known.iter().map(|parameters| parameters[k]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let stride = known.len().div_ceil(MOST_STARTS);
    let median = (0..first.len()).map(median).collect();
    std::iter::once(median).chain(known.iter().step_by(stride).cloned()).collect()
}
