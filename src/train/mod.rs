//! One fit loop that emits events.
//!
//! Minimises `1/n sum |x(theta_e) - y|^2 + lambda_xi sum_e |xi_e|^2 + lambda Omega` over the shared values and the
//! contexts `xi_e`, which start at zero. Source: the training protocol of CoDA (Kirchmeyer et al., ICML 2022, section 3).
//!
//! The model that is kept is the one with the least mean squared error on whole trajectories of the validation split.

mod error;
mod adam;
mod steps_on;
mod settings;
mod checkpoints;
mod data;
mod method;
mod memory;
mod parts;
mod curriculum;
mod through_adaptation;
mod expansion;
mod descent;
mod fit;
mod ahead;
mod inference;
mod symmetric;
mod curvature;
mod local_model;
mod linear_model;
mod normal_equations;
mod conjugate_gradients;
mod alone;
mod denominator;
mod term_sizes;
mod start;
mod gauss_newton;
mod dropping;
mod moments;
mod inputs;
mod observed;
mod scales;
mod warm_start;
mod dimension;

use std::collections::BTreeMap;
use std::path::Path;

#[doc(hidden)]
pub use conjugate_gradients::{MatrixFree, Point};
#[doc(hidden)]
pub use curvature::Curvature;
pub use descent::{Descent, Moving};
pub use error::Error;
#[doc(hidden)]
pub use linear_model::LinearModel;
#[doc(hidden)]
pub use local_model::{LocalModel, Step};
#[doc(hidden)]
pub use memory::{LeastMemory, least_memory};
#[doc(hidden)]
pub use method::{Rollouts, Sizes};
#[doc(hidden)]
pub use normal_equations::NormalEquations;
#[doc(hidden)]
pub use parts::Cost;
pub use settings::{
    Choice, Chosen, ContextDimension, Contexts, GaussNewton, Inference, Labels, Method, Pool, Scaling, Schedule,
    Settings, TeacherForcing,
};
pub use steps_on::StepsOn;
pub use warm_start::WarmStart;

use crate::checkpoint;
use crate::checkpoint::{ChannelScale, Manifest, StoredModel, TrainingStore, TrainingSummary, Units};
use crate::dataset::{Dataset, Parent, Provenance};
use crate::digest::sha256;
use crate::engine::{Compute, DeviceChoice, Precision, warn_of_cuda};
use crate::problems::{Problem, Problems};
use crate::progress::{Event, Run};
use crate::schema::{FormatVersion, Quantity, Split, algorithm};

/// Trains on `dataset` and puts the model in place as `directory`.
///
/// An unfinished training with the same settings, seed and data resumes from its newest checkpoint, with the losses
/// that it would have had without the interruption.
///
/// # Errors
/// See [`Error`]; no model is written then, but the checkpoints are.
pub fn run(
    settings: &Settings,
    seed: u64,
    compute: Compute,
    dataset: &Dataset,
    directory: &Path,
    run: &Run,
) -> Result<StoredModel, Error> {
    run_from(settings, seed, compute, (dataset, None), directory, run)
}

/// Trains as [`run_from`] does, once for each dimension of the contexts that is tried where the settings leave that to the validation split.
///
/// # Errors
/// As [`run_from`].
pub fn run_choosing(
    settings: &Settings,
    seed: u64,
    compute: Compute,
    inputs: (&Dataset, Option<&WarmStart>),
    directory: &Path,
    run: &Run,
) -> Result<StoredModel, Error> {
    let fit = |settings: &Settings, directory: &Path| run_from(settings, seed, compute, inputs, directory, run);
    match settings.chooses_dimension() && !settings.rule.owns_weights() {
        true => dimension::choose(settings, (seed, inputs.0.content_hash()), directory, &fit, run),
        false => fit(settings, directory),
    }
}

/// The same, but from a trained model where there is a `start`.
///
/// # Errors
/// As [`run`], and [`Error::OtherStart`].
pub fn run_from(
    settings: &Settings,
    seed: u64,
    compute: Compute,
    (dataset, start): (&Dataset, Option<&WarmStart>),
    directory: &Path,
    run: &Run,
) -> Result<StoredModel, Error> {
    if settings.steps == 0 && settings.gauss_newton.steps == 0 {
        return Err(Error::NoSteps);
    }
    let manifest = dataset.manifest();
    let environments = data::environments(dataset)?;
    check_splits(dataset, &environments, settings.environments)?;
    let environments = match settings.environments {
        Labels::Known => environments,
        Labels::Infer => inference::environments(settings.inference.environments, &manifest.parameters),
    };
    let context_dimension = settings.dimension(manifest.parameters.len());
    if context_dimension == 0 && !settings.rule.owns_weights() {
        return Err(Error::NoContextDimension { dataset: dataset.directory().to_owned() });
    }
    if let Some(start) = start {
        start.check(settings, context_dimension, manifest)?;
    }
    let weights = channel_weights(&settings.weights, &manifest.channels)?;
    let (scales, is_constant): (Vec<ChannelScale>, Vec<bool>) =
        scales::channel_scales(dataset, settings.scaling)?.into_iter().unzip();
    for (channel, _) in manifest.channels.iter().zip(is_constant).filter(|(_, is_constant)| *is_constant) {
        run.emit(Event::Warn(format!(
            "channel `{}` has one value all over the train split; it is not scaled",
            channel.name
        )));
    }
    if settings.scaling == Scaling::None {
        for (c, size) in scales::odd_channels(dataset)? {
            run.emit(Event::Warn(format!(
                "channel `{}` has values of the size {size:.3e}, and is not scaled: a model learns best from values about 1; set \
                 `train.scaling = \"standard\"`",
                manifest.channels[c].name
            )));
        }
    }
    let input_scales = inputs::input_scales(dataset)?;
    for (input, _) in manifest.inputs.iter().zip(&input_scales).filter(|(_, it)| it.least == it.greatest) {
        let name = &input.quantity.name;
        run.emit(Event::Warn(format!(
            "input `{name}` has one value all over the train split: nothing is learned of it"
        )));
    }
    let (scales, input_scales) = match start {
        Some(start) => start.scales(&input_scales),
        None => (scales, input_scales),
    };
    let channels = manifest.channels.iter().map(|it| format!("channel `{}`", it.name)).zip(&scales);
    let of_inputs = input_scales.iter().map(|it| &it.scale);
    let inputs = manifest.inputs.iter().map(|it| format!("input `{}`", it.quantity.name)).zip(of_inputs);
    for (quantity, scale) in channels.chain(inputs) {
        if !(scale.centre.is_finite() && scale.scale.is_finite()) {
            return Err(Error::TooLarge { dataset: dataset.directory().to_owned(), quantity });
        }
    }
    let budget = settings.memory_budget_mib * (1 << 20);
    let units = Units::new(&scales, &manifest.state_shape(), &input_scales, &manifest.inputs);
    let roots: Vec<f64> = manifest.state_shape().of_values(&weights).into_iter().map(f64::sqrt).collect();
    let open =
        |split| data::SplitData::open(dataset, split, (&environments, settings.environments), &units, &roots, budget);
    let (train, validation) = (open(Split::Train)?, open(Split::Validation)?);
    for (split, data) in [(Split::Train, &train), (Split::Validation, &validation)] {
        if data.left_out() > 0 {
            run.emit(Event::Warn(format!(
                "{split} split: {} trajectories are left out: no sample follows a complete one, which a rollout starts from",
                data.left_out()
            )));
        }
        let few = settings.environments == Labels::Infer && data.rows_in_order().len() < environments.len();
        if few && split == Split::Train {
            let (count, found) = (environments.len(), data.rows_in_order().len());
            return Err(Error::Settings(inference::too_few(count, found)));
        }
        let found: Vec<String> = match settings.environments {
            Labels::Infer if !data.rows_in_order().is_empty() => Vec::new(),
            _ => data.empty_environments().map(|e| environments[e].id.clone()).collect(),
        };
        // In the train split, an environment without a trajectory gets no context; for validation, one usable environment will do.
        if !found.is_empty() && (split == Split::Train || found.len() == environments.len()) {
            return Err(Error::NoStart { dataset: dataset.directory().to_owned(), split, found });
        }
    }
    if let Some(superseded) = settings.gauss_newton.superseded() {
        run.emit(Event::Warn(superseded.to_string()));
    }
    if !train.is_held() {
        run.emit(Event::Note(format!(
            "the train split exceeds train.memory_budget_mib = {}: it is read from disk batch by batch",
            settings.memory_budget_mib
        )));
    }

    let (state, inputs) = (manifest.state_shape(), manifest.inputs.len());
    if let Some(problem) = settings.model.problem(&state, inputs) {
        return Err(Error::UnsuitableModel { dataset: dataset.directory().to_owned(), problem: Box::new(problem) });
    }
    let model = settings.model.build(&state, inputs);
    if let Some((setting, found, expected)) = settings.rule.problem(&settings.model, settings.adapted_layers) {
        return Err(Error::UnsuitableRule { setting, found, expected });
    }
    if let Some((found, expected)) = settings.rule.layout_problem(model.layout()) {
        return Err(Error::UnsuitableRule { setting: "model", found, expected });
    }
    let problems = settings.rule_problems();
    if !problems.is_empty() {
        return Err(Error::Settings(problems));
    }
    let rule = settings.rule.build(model.layout(), settings.shape(context_dimension));
    let of_newton = &settings.gauss_newton;
    let found = train.most_residuals(of_newton.trajectories_per_environment);
    let of_interval = settings.solver.tableau(1).weights.len() * settings.substeps;
    let rollouts = Rollouts::new(settings, (&state, inputs), environments.len(), found, train.longest());
    let sizes = Sizes::new(rule.as_ref(), model.layout(), settings.contexts, rollouts);
    if of_newton.steps > 0 {
        run.emit(Event::Note(sizes.note(of_newton)));
    }
    // Gradients through a step of adaptation or an expansion have differences of gradients, too small for single precision.
    let through_adaptation = settings.rule.trains_through_adaptation();
    let is_second_order = through_adaptation || settings.rule.trains_through_expansion();
    let precision = if is_second_order { Precision::F64 } else { settings.precision };
    let (engine, device) =
        compute.engine(&settings.model, &state, inputs, settings.solver, settings.substeps, precision)?;
    warn_of_cuda(run);
    let not_tied = |found| Error::NotTied { dataset: dataset.directory().to_owned(), found };
    let initial_contexts = match (start, settings.contexts) {
        (Some(start), contexts) => start.contexts(contexts, &environments).map_err(not_tied)?,
        (None, Contexts::Learned) if settings.environments == Labels::Infer => {
            inference::contexts(seed, rule.context_size() * environments.len(), settings.inference.spread)
        }
        (None, Contexts::Learned) => rule.initial_context().repeat(environments.len()),
        (None, Contexts::Tied) => {
            tied_contexts(&environments, context_dimension, settings.tied_deviation).map_err(not_tied)?
        }
    };
    let method = sizes.method(of_newton);
    // Jacobians are computed row by row, which only the CPU does well.
    let takes_jacobians = of_newton.steps > 0 && method != Method::ConjugateGradients;
    let of_reference = if takes_jacobians { Compute { device: DeviceChoice::Cpu, ..compute } } else { compute };
    let (reference, _) =
        of_reference.engine(&settings.model, &state, inputs, settings.solver, settings.substeps, Precision::F64)?;
    let configuration = serde_json::to_value(settings).expect("settings are plain data");
    let mut parents = vec![Parent { name: manifest.name.clone(), sha256: dataset.content_hash().to_owned() }];
    parents.extend(start.map(|start| {
        let StoredModel { manifest, content_hash, .. } = &start.model;
        Parent { name: format!("model {}", manifest.name), sha256: content_hash.clone() }
    }));
    let store = TrainingStore::new(directory, &fingerprint(&configuration, seed, &parents));
    let remaining = start.map(|start| start.settings(settings));
    let fit = fit::Fit {
        settings: remaining.as_ref().unwrap_or(settings),
        start: start.map(|start| start.model.shared.as_slice()),
        seed,
        engine: engine.as_ref(),
        device,
        reference: reference.as_ref(),
        initial_contexts,
        model: model.as_ref(),
        rule: rule.as_ref(),
        method,
        cost: Cost { weights: model.layout().size(), evaluations: of_interval as f64 / state.channels.max(1) as f64 },
        environments: environments.len(),
        train: &train,
        validation: &validation,
        store: &store,
    };
    let (state, stop_reason) = fit.run(run)?;
    let state = fit.drop_terms(state, run)?;
    let Some(best) = state.best else {
        return Err(Error::NothingGood { steps: state.step });
    };
    let (shared, contexts) = best.trained.split_at(rule.shared_size());
    let mut observed = observed::of_training(dataset)?;
    let weights_of_best = fit.decode(&best.trained);
    let inferred = fit.inferred(dataset, &weights_of_best)?;
    let validation = fit.validation_under(&weights_of_best)?;
    let errors =
        observed::validation_errors(&validation, reference.as_ref(), &weights_of_best, &scales, best.validation)?;
    observed.iter_mut().zip(errors).for_each(|(channel, error)| channel.validation = error);

    let mut stored = StoredModel {
        manifest: Manifest {
            format: FormatVersion::MODEL,
            kind: "model".to_owned(),
            name: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            license: manifest.license.clone(),
            provenance: Provenance::new("train", configuration, Some(seed), parents),
            model: settings.model.clone(),
            rule: settings.rule,
            adapted_layers: settings.adapted_layers,
            inner_rate: through_adaptation.then_some(settings.inner_rate),
            solver: settings.solver,
            substeps: settings.substeps,
            precision: settings.precision,
            context_dimension,
            time_unit: manifest.time_unit.clone(),
            channels: manifest.channels.clone(),
            grid: manifest.grid.clone(),
            inputs: manifest.inputs.clone(),
            parameters: manifest.parameters.clone(),
            scales,
            input_scales,
            observed,
            weights,
            environments,
            inferred,
            training: TrainingSummary {
                steps: state.step,
                best_step: best.step,
                validation: best.validation,
                stop_reason,
                device: device.to_string(),
                engine: engine.name().to_owned(),
            },
            data_tolerance: manifest.data_tolerance,
            files: Vec::new(),
            card: None,
        },
        shared: shared.to_vec(),
        contexts: contexts.to_vec(),
        log: state.log,
        map: None,
        content_hash: String::new(),
    };
    stored.publish(directory, run)?;
    store.remove()?;
    Ok(stored)
}

/// The weight of each of `channels` in the loss, scaled to mean one; empty where `settings` have none.
fn channel_weights(settings: &BTreeMap<String, f64>, channels: &[Quantity]) -> Result<Vec<f64>, Error> {
    let names: Vec<&str> = channels.iter().map(|channel| channel.name.as_str()).collect();
    let problems = weight_problems(settings, &names);
    if !problems.is_empty() {
        return Err(Error::Settings(problems));
    }
    if settings.is_empty() {
        return Ok(Vec::new());
    }
    let weights: Vec<f64> = names.iter().map(|&name| settings.get(name).copied().unwrap_or(1.0)).collect();
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    Ok(weights.into_iter().map(|weight| weight / mean).collect())
}

/// Everything wrong with `train.weights` for channels of these names; the keys of the problems begin with `weights`.
pub(crate) fn weight_problems(weights: &BTreeMap<String, f64>, channels: &[&str]) -> Vec<Problem> {
    let mut problems = Problems::default();
    for (name, weight) in weights {
        if !channels.contains(&name.as_str()) {
            problems.unknown(format!("weights.{name}"), name, "channel of the dataset", channels);
        }
        let sound = (1e-12..=1e12).contains(weight);
        let remedy = "give 1 to a channel that counts like those without a weight, more to one that counts more";
        problems.require(sound, format!("weights.{name}"), weight, "a number from 1e-12 to 1e12", remedy);
    }
    problems.into_vec()
}

/// Digest of the settings, seed and inputs of a training, which tells it from others.
fn fingerprint(configuration: &serde_json::Value, seed: u64, parents: &[Parent]) -> String {
    let parents: Vec<&str> = parents.iter().map(|parent| parent.sha256.as_str()).collect();
    let text = format!("{configuration}\n{seed}\n{}\n{}", parents.join("\n"), algorithm("train"));
    sha256(text.as_bytes())
}

/// The standardised parameters `[E, d]` times `scale`, or the reason why contexts cannot be tied.
fn tied_contexts(
    environments: &[checkpoint::Environment],
    context_dimension: usize,
    scale: f64,
) -> Result<Vec<f64>, String> {
    let parameters = environments.first().map_or(0, |environment| environment.parameters.len());
    if parameters != context_dimension {
        return Err(format!("there are {parameters} parameters for {context_dimension} context dimensions"));
    }
    let mut contexts = vec![0.0; environments.len() * context_dimension];
    for j in 0..parameters {
        let values: Vec<f64> = environments
            .iter()
            .map(|it| it.parameters[j].ok_or_else(|| format!("environment {} has an unknown parameter", it.id)))
            .collect::<Result<_, _>>()?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let deviation = (values.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
        for (e, value) in values.iter().enumerate() {
            contexts[e * context_dimension + j] =
                if deviation > 0.0 { scale * (value - mean) / deviation } else { 0.0 };
        }
    }
    Ok(contexts)
}

fn check_splits(dataset: &Dataset, environments: &[checkpoint::Environment], labels: Labels) -> Result<(), Error> {
    let missing = |split, purpose| Error::MissingSplit { dataset: dataset.directory().to_owned(), split, purpose };
    if environments.is_empty() {
        return Err(missing(Split::Train, "fit the model"));
    }
    let validation = dataset.index(Split::Validation)?;
    if validation.is_empty() {
        return Err(missing(Split::Validation, "choose the model; one is never chosen on test data"));
    }
    if labels == Labels::Infer {
        return Ok(());
    }
    let mut unknown: Vec<String> = validation
        .into_iter()
        .map(|entry| entry.environment)
        .filter(|id| environments.binary_search_by(|known| known.id.cmp(id)).is_err())
        .collect();
    unknown.dedup();
    if unknown.is_empty() {
        return Ok(());
    }
    let dataset = dataset.directory().to_owned();
    Err(Error::UnknownEnvironments { dataset, split: Split::Validation, found: unknown })
}
