//! The equations that are fitted to a dataset, whose channels, inputs and parameters are matched with those of the system by name.

use std::borrow::Cow;
use std::sync::Arc;

use super::agreement::Quantities;
use super::cramer_rao::NoiseLevel;
use super::dosing;
use super::estimated::{EstimatedParameter, estimated};
use super::everything::Everything;
use super::likelihood::measured::{Known, Measured, problems as problems_of_measurement};
use super::model::{Derivatives, Model, OwnParameter};
use super::observables::{Observable, Observables};
use super::rest::Rest;
use super::series::Series;
use crate::dataset::{Dataset, Manifest};
use crate::estimate::bounds::Bounds;
use crate::estimate::error::Error;
use crate::estimate::measurement::Scope;
use crate::estimate::settings::{InitialState, PhysicsSettings, Settings};
use crate::generate;
use crate::generate::Observation;
use crate::problems::{Problem, Problems};
use crate::schema::{Grid, GridAxis, Quantity, Split, Trajectory};
use crate::systems::{Dynamics, InitialValue, Preset, System};

/// Most known parameters of training environments that fits start from, beside their median.
const MOST_STARTS: usize = 12;

/// Equations, and how their quantities correspond to those of a dataset.
pub(crate) struct Equations {
    pub model: Model,
    /// How channels were measured, where that is said.
    pub measured: Option<Measured>,
    /// The index in the dataset of each input whose values samples have beside them `[M]`.
    beside_indices: Vec<usize>,
    /// Names of the estimated parameters `[d]` but for those of trajectories.
    pub names: Vec<String>,
    /// Places among these of the parameters that all environments share.
    pub shared: Vec<usize>,
    /// Names of the parameters of trajectories `[o]`.
    pub own_names: Vec<String>,
    /// These with their units.
    pub own_quantities: Vec<Quantity>,
    /// The estimated parameters `[d]` with their units.
    pub quantities: Vec<Quantity>,
    /// Bounds of the estimated parameters `[d]`.
    pub bounds: Vec<Bounds>,
    /// The index in the dataset of each channel that is compared `[C]`.
    pub channel_indices: Vec<usize>,
    /// The index in the dataset of each input of the system `[U]`.
    pub input_indices: Vec<usize>,
    /// The known parameters of the training environments `[n][d]`.
    pub known: Vec<Vec<f64>>,
    /// Parameters `[n][d]` that fits start from: the median of the known ones, and some of them.
    pub starts: Vec<Vec<f64>>,
    /// Number of channels of the dataset.
    dataset_channels: usize,
    /// The index in the dataset of each estimated parameter `[d]`, where the dataset has it.
    pub parameter_indices: Vec<Option<usize>>,
    /// Whether the dataset was simulated, and how it was observed then.
    pub is_simulated: bool,
    observation: Option<Observation>,
    /// `[C]`.
    pub channel_names: Vec<String>,
    /// All that they compute.
    pub everything: Everything,
    /// The states `[N]`.
    pub states: Vec<Quantity>,
    /// The names of the states `[N]`.
    pub state_names: Vec<String>,
    /// Name, and index among the parameters of the dataset, of each covariate `[A]`.
    pub covariates: Vec<(String, usize)>,
}

impl Equations {
    /// The equations that `settings` name, or else those that `dataset` was simulated with.
    ///
    /// # Errors
    /// [`Error::Physics`] with every disagreement of settings, system and dataset.
    pub(crate) fn new(settings: &PhysicsSettings, estimate: &Settings, dataset: &Dataset) -> Result<Self, Error> {
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
            return Err(Error::Physics(problems.into_vec()));
        };
        let system = of_system.find().map_err(Error::Physics)?;
        let own = simulated.as_ref().filter(|simulated| &simulated.system == of_system);
        let preset = own.and_then(|own| own.find_preset(&system)).or(system.presets.first());
        settings.check_against(&system, &mut problems);
        problems.extend(Quantities::from(manifest).disagreements(&system, of_system));
        let estimated = estimated(&system, settings, estimate, &manifest.parameters, &mut problems);
        problems.extend(dosing::problems(&system, manifest));
        let grid = preset.and_then(|preset| preset.grid());
        let of_measurement = check_measurement(estimate, settings, &estimated, manifest);
        if problems.is_empty() && !of_measurement.is_empty() {
            return Err(Error::Settings(of_measurement));
        }
        if grid != manifest.grid {
            problems.add(
                "system",
                on_grid(&system.name, grid.as_ref()),
                on_grid("a system", manifest.grid.as_ref()),
                "name equations on the grid of the dataset; built-in ones know their own grid alone",
            );
        }
        let (Some(preset), true) = (preset, problems.is_empty()) else {
            return Err(Error::Physics(problems.into_vec()));
        };
        let step = own.and_then(|own| own.inner_step);
        let start = (system.uses_time || own.is_some()).then_some(0.0);
        let mut equations = Equations::of_system(&system, preset, (step, start), (settings, estimated), manifest);
        equations.measure(estimate, settings, manifest);
        equations.is_simulated = simulated.is_some();
        equations.observation = simulated.and_then(|simulated| simulated.observation);
        let training = dataset.index(Split::Train)?;
        let known =
            training.iter().filter_map(|entry| equations.known_parameters(&entry.parameters).into_iter().collect());
        equations.known = distinct(known.collect());
        equations.starts = starts(&equations.known);
        Ok(equations)
    }

    /// The equations of `system` for trajectories in memory, whose quantities are those of the system; `manifest` describes them.
    ///
    /// # Errors
    /// [`Error::Physics`] with every problem of the settings.
    pub(crate) fn in_memory(
        settings: &PhysicsSettings,
        estimate: &Settings,
        system: &System,
        manifest: &Manifest,
    ) -> Result<Self, Error> {
        let mut problems = Problems::default();
        settings.check_against(system, &mut problems);
        problems.extend(dosing::problems(system, manifest));
        let estimated = estimated(system, settings, estimate, &manifest.parameters, &mut problems);
        let of_measurement = check_measurement(estimate, settings, &estimated, manifest);
        if problems.is_empty() && !of_measurement.is_empty() {
            return Err(Error::Settings(of_measurement));
        }
        match (system.presets.first(), problems.is_empty()) {
            (Some(preset), true) => {
                let start = system.uses_time.then_some(0.0);
                let mut equations =
                    Equations::of_system(system, preset, (None, start), (settings, estimated), manifest);
                equations.measure(estimate, settings, manifest);
                Ok(equations)
            }
            _ => Err(Error::Physics(problems.into_vec())),
        }
    }

    /// The equations without known parameters to start from: those of `preset`, integrated with `step` where its steps are fixed, and from the
    /// time `start` if given; with the `estimated` parameters.
    fn of_system(
        system: &System,
        preset: &Preset,
        (step, start): (Option<f64>, Option<f64>),
        (settings, estimated): (&PhysicsSettings, Vec<EstimatedParameter>),
        manifest: &Manifest,
    ) -> Self {
        let step = step.or(match &preset.dynamics {
            Dynamics::Stepper(stepper) => Some(stepper.step),
            Dynamics::Field(_) => None,
        });
        let derivatives = match &preset.tangent {
            Some(field) => Derivatives::Sensitivities(Arc::clone(field)),
            None => Derivatives::Differences(preset.dynamics.clone(), step.unwrap_or_default()),
        };
        let observed = observed(system, manifest);
        let of_input = |name: &str| manifest.inputs.iter().position(|it| it.quantity.name == name);
        let of_parameter = |name: &str| manifest.parameters.iter().position(|it| it.name == name);
        let input_indices: Vec<usize> = system.inputs.iter().filter_map(|input| of_input(&input.name)).collect();
        let (own, estimated): (Vec<EstimatedParameter>, Vec<_>) =
            estimated.into_iter().partition(|it| it.scope == Scope::Trajectory);
        let names: Vec<String> = estimated.iter().map(|it| it.quantity.name.clone()).collect();
        let parameter_indices: Vec<Option<usize>> = names.iter().map(|name| of_parameter(name)).collect();
        let covariates = system.covariates.iter().filter_map(|it| Some((it.name.clone(), of_parameter(&it.name)?)));
        let parameters = system.parameters.iter().map(|it| settings.fixed.get(&it.name).copied().unwrap_or(0.0));
        let channel_name = |it: &(Observable, usize)| manifest.channels[it.1].name.clone();
        let states = system.channel_quantities();
        let rest = system.preequilibration.clone();
        Equations {
            quantities: estimated.iter().map(|it| it.quantity.clone()).collect(),
            own_quantities: own.iter().map(|it| it.quantity.clone()).collect(),
            own_names: own.iter().map(|it| it.quantity.name.clone()).collect(),
            model: Model {
                derivatives,
                channels: observed.len(),
                observables: observables(system, &observed),
                points: manifest.state_shape().points(),
                between: input_indices.iter().map(|&index| manifest.inputs[index].between).collect(),
                parameters: parameters.chain(system.covariates.iter().map(|_| f64::NAN)).collect(),
                estimated: estimated.iter().map(|it| it.index).collect(),
                coordinates: estimated.iter().map(EstimatedParameter::coordinate).collect(),
                own: own.iter().map(|it| OwnParameter { index: it.index, coordinate: it.coordinate() }).collect(),
                initial: system.initial.clone(),
                starts: system.starts.clone(),
                rest: rest.map(|inputs| Rest { inputs, horizon: system.horizon }),
                doses: system.doses.clone(),
                start,
            },
            measured: None,
            shared: (0..estimated.len()).filter(|&k| estimated[k].scope == Scope::All).collect(),
            beside_indices: Vec::new(),
            bounds: estimated.iter().map(|it| Bounds { min: Some(it.lower), max: Some(it.upper) }).collect(),
            names,
            channel_indices: observed.iter().map(|it| it.1).collect(),
            input_indices,
            known: Vec::new(),
            starts: Vec::new(),
            dataset_channels: manifest.channels.len(),
            parameter_indices,
            is_simulated: false,
            observation: None,
            channel_names: observed.iter().map(channel_name).collect(),
            everything: Everything::of(system, &observed),
            state_names: states.iter().map(|it| it.name.clone()).collect(),
            states,
            covariates: covariates.collect(),
        }
    }

    /// Takes what the settings say of noise, limits and priors.
    fn measure(&mut self, estimate: &Settings, settings: &PhysicsSettings, manifest: &Manifest) {
        self.measured = Measured::new(estimate, settings, &self.channel_names, (&self.names, &self.own_names));
        let of_input = |name: &String| manifest.inputs.iter().position(|it| it.quantity.name == *name);
        let beside = self.measured.iter().flat_map(|measured| &measured.beside);
        self.beside_indices = beside.filter_map(of_input).collect();
    }

    /// The equations of an environment with these `parameters [d_p]` of the dataset.
    ///
    /// # Errors
    /// The covariates that are unknown.
    pub(crate) fn model(&self, parameters: &[Option<f64>]) -> Result<Cow<'_, Model>, String> {
        if self.covariates.is_empty() {
            return Ok(Cow::Borrowed(&self.model));
        }
        let known = |index: usize| parameters.get(index).copied().flatten();
        let unknown: Vec<&str> =
            self.covariates.iter().filter(|it| known(it.1).is_none()).map(|it| it.0.as_str()).collect();
        if !unknown.is_empty() {
            return Err(unknown.join(", "));
        }
        let mut model = self.model.clone();
        let first = model.parameters.len() - self.covariates.len();
        let values = self.covariates.iter().filter_map(|it| known(it.1));
        model.parameters[first..].iter_mut().zip(values).for_each(|(place, value)| *place = value);
        Ok(Cow::Owned(model))
    }

    /// Whether environments share something that is estimated.
    pub(crate) fn shares(&self) -> bool {
        let of_noise = self.measured.as_ref().is_some_and(|measured| !measured.shared_terms().is_empty());
        of_noise || !self.shared.is_empty()
    }

    /// All estimated parameters, those of trajectories last.
    pub(crate) fn all_quantities(&self) -> Vec<Quantity> {
        [self.quantities.as_slice(), &self.own_quantities].concat()
    }

    /// The initial values that the equations give, in words; none where they give none, or trajectories start as they were observed.
    pub(crate) fn start(&self, initial_state: InitialState) -> Option<String> {
        let obeys = |state: usize| initial_state == InitialState::Estimated || self.model.hides(state);
        let given = self.state_names.iter().enumerate().filter(|(state, _)| obeys(*state)).filter_map(
            |(state, name)| match self.model.initial(state) {
                InitialValue::AsObserved => None,
                InitialValue::Number(value) => Some(format!("{name} = {value}")),
                InitialValue::Expression(text) => Some(format!("{name} = {text}")),
                InitialValue::Free { lower, upper, .. } => Some(format!("{name} from {lower} to {upper}")),
            },
        );
        let given: Vec<String> = given.collect();
        let when = match self.model.start {
            Some(start) => format!("at t = {start}"),
            None => "at the first sample or event of each trajectory".to_owned(),
        };
        let how = if self.model.rest.is_some() { "the steady state from " } else { "" };
        (!given.is_empty()).then(|| format!("{how}{} {when}", given.join(", ")))
    }

    /// The indices of the states that no channel measures.
    pub(crate) fn hidden_states(&self) -> Vec<usize> {
        (0..self.states.len()).filter(|&state| self.model.points == 1 && self.model.cell_of(state).is_none()).collect()
    }

    /// These states.
    pub(crate) fn hidden(&self) -> Vec<Quantity> {
        self.hidden_states().into_iter().map(|state| self.states[state].clone()).collect()
    }

    /// The states whose initial values are fitted between bounds.
    pub(crate) fn free(&self, initial_state: InitialState) -> Vec<Quantity> {
        let is_free = |state: &usize| {
            let obeys = initial_state == InitialState::Estimated || self.model.hides(*state);
            obeys && self.model.free(*state).is_some()
        };
        (0..self.states.len()).filter(is_free).map(|state| self.states[state].clone()).collect()
    }

    /// A trajectory of the dataset with the channels and inputs of the system.
    pub(crate) fn series(&self, trajectory: &Trajectory) -> Series {
        let samples = 0..trajectory.len();
        let inputs = samples.flat_map(|t| self.input_indices.iter().map(move |&index| trajectory.input(t)[index]));
        let observed = self.in_system_order(&trajectory.states);
        let beside = if self.beside_indices.is_empty() { 0..0 } else { 0..trajectory.len() };
        let beside = beside.flat_map(|t| self.beside_indices.iter().map(move |&index| trajectory.input(t)[index]));
        Series::new(trajectory.times.clone(), observed, inputs.collect(), self.model.size())
            .with_beside(beside.collect())
    }

    /// States of the dataset with the channels in the order of the system.
    pub(crate) fn in_system_order(&self, states: &[f64]) -> Vec<f64> {
        let points = self.model.points;
        let samples = states.chunks_exact(self.dataset_channels * points);
        let fields =
            samples.flat_map(|sample| self.channel_indices.iter().map(move |&it| &sample[it * points..][..points]));
        fields.flatten().copied().collect()
    }

    /// States `[T, C]` of the system with the channels in the order of the dataset; NaN in those that the system does not have.
    pub(crate) fn in_dataset_order(&self, states: &[f64]) -> Vec<f64> {
        let points = self.model.points;
        let samples = states.chunks_exact(self.model.size());
        let mut ordered = vec![f64::NAN; samples.len() * self.dataset_channels * points];
        for (sample, of_system) in ordered.chunks_exact_mut(self.dataset_channels * points).zip(samples) {
            for (&index, field) in self.channel_indices.iter().zip(of_system.chunks_exact(points)) {
                sample[index * points..(index + 1) * points].copy_from_slice(field);
            }
        }
        ordered
    }

    /// The true values `[d]` of the estimated parameters, where they are among the known `parameters [d_p]` of the dataset.
    pub(crate) fn known_parameters(&self, parameters: &[Option<f64>]) -> Vec<Option<f64>> {
        let known = |index: &Option<usize>| parameters.get((*index)?).copied().flatten();
        self.parameter_indices.iter().map(known).collect()
    }

    /// The noise of each channel of the system in `split`, where the dataset was simulated with noise.
    pub(crate) fn simulated_noise(&self, split: Split) -> Option<Vec<NoiseLevel>> {
        let observation = self.observation.as_ref().filter(|it| it.splits.contains(&split) && it.jitter == 0.0)?;
        let levels = self.channel_names.iter().map(|channel| {
            let (absolute, relative) = observation.deviations(channel);
            Some(NoiseLevel { absolute, relative }).filter(|_| absolute > 0.0 || relative > 0.0)
        });
        levels.collect()
    }
}

/// What is compared, with its index among the channels of the dataset: states in the order of the system, then outputs.
fn observed(system: &System, manifest: &Manifest) -> Vec<(Observable, usize)> {
    let of_channel = |name: &str| manifest.channels.iter().position(|it| it.name == name);
    let states = system.channels.iter().enumerate();
    let states = states.filter_map(|(i, it)| Some((Observable::State(i), of_channel(&it.name)?)));
    let outputs = system.outputs.compared.iter().enumerate();
    let outputs = outputs.flat_map(|(j, names)| names.iter().map(move |name| (j, name)));
    states.chain(outputs.filter_map(|(j, name)| Some((Observable::Output(j), of_channel(name)?)))).collect()
}

/// What each channel is; none where they are the states in their order.
fn observables(system: &System, observed: &[(Observable, usize)]) -> Option<Observables> {
    let channels: Vec<Observable> = observed.iter().map(|it| it.0).collect();
    let has_output = channels.iter().any(|it| matches!(it, Observable::Output(_)));
    (has_output || channels.len() < system.channels.len()).then(|| Observables {
        channels,
        states: system.channels.len(),
        outputs: system.outputs.channels.len(),
        field: system.outputs.field.clone().filter(|_| has_output),
    })
}

/// Every problem of what the settings say of noise, limits, priors and scales.
fn check_measurement(
    estimate: &Settings,
    settings: &PhysicsSettings,
    estimated: &[EstimatedParameter],
    manifest: &Manifest,
) -> Vec<Problem> {
    let parameters = estimated.iter().map(|it| (it.quantity.name.as_str(), it.lower));
    let known = Known {
        channels: manifest.channels.iter().map(|it| it.name.as_str()).collect(),
        inputs: manifest.inputs.iter().map(|it| it.quantity.name.as_str()).collect(),
        parameters: parameters.collect(),
    };
    problems_of_measurement(estimate, settings, &known)
}

/// A system and its grid, in words.
fn on_grid(name: &str, grid: Option<&Grid>) -> String {
    let axis = |axis: &GridAxis| {
        let start = if axis.start == 0.0 { String::new() } else { format!(" from {}", axis.start) };
        format!("{} points{start} {} apart ({})", axis.count, axis.spacing, axis.boundary.name())
    };
    match grid {
        Some(grid) => format!("`{name}` on {}", grid.axes.iter().map(axis).collect::<Vec<_>>().join(" by ")),
        None => format!("`{name}` without a grid"),
    }
}

/// The different parameters `[n][d]`, sorted.
fn distinct(mut known: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    known.sort_by(|a, b| {
        a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|it| it.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    known.dedup();
    known
}

/// The median of the known parameters, and some of them, evenly chosen in their order.
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
