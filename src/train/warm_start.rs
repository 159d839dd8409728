//! A training that starts from a trained model instead of random weights.
//!
//! Shared weights are those of the model, and so are its units: what was learned in them would be wrong in others. An environment that the model
//! knows by its id starts with its context there; a new one with a context that was fitted to the model. Tied contexts are tied as the model's are:
//! `xi_j = a_j + b_j p_j`, `a` and `b` by its training environments.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::error::Error;
use super::settings::{Contexts, Settings};
use crate::checkpoint::{ChannelScale, Environment, InputScale, StoredModel};
use crate::dataset::{self, changes};

/// Where a training starts.
pub struct WarmStart {
    /// The trained model.
    pub model: StoredModel,
    /// Contexts `[d]` of environments that it does not know, by their ids, fitted to it; those without one start amid the others. Of no use where
    /// contexts are tied.
    pub contexts: BTreeMap<String, Vec<f64>>,
}

impl WarmStart {
    /// The steps that are left: Gauss-Newton begins where Adam would lead, so with steps of the first there are none of the second.
    pub(super) fn settings(&self, settings: &Settings) -> Settings {
        let steps = if settings.gauss_newton.steps > 0 { 0 } else { settings.steps };
        Settings { steps, ..settings.clone() }
    }

    /// Checks that the weights of the model are those of a model by `settings` with contexts of `d` values for the dataset of `manifest`.
    ///
    /// # Errors
    /// [`Error::OtherStart`] with every difference.
    pub(super) fn check(&self, settings: &Settings, d: usize, manifest: &dataset::Manifest) -> Result<(), Error> {
        let of_model = &self.model.manifest;
        let before = &of_model.provenance.configuration;
        let setting = |key: &str| before.get(key).cloned().unwrap_or(Value::Null);
        let tied = |contexts: &Value| contexts == &json!(Contexts::Tied);
        let then = json!({
            "train.model": of_model.model, "train.rule": of_model.rule, "train.adapted_layers": of_model.adapted_layers,
            "train.context_dimension": of_model.context_dimension, "train.scaling": setting("scaling"),
            "time_unit": of_model.time_unit, "channels": of_model.channels, "inputs": of_model.inputs, "parameters": of_model.parameters,
            "grid": of_model.grid,
        });
        let now = json!({
            "train.model": settings.model, "train.rule": settings.rule, "train.adapted_layers": settings.adapted_layers,
            "train.context_dimension": d, "train.scaling": settings.scaling,
            "time_unit": manifest.time_unit, "channels": manifest.channels, "inputs": manifest.inputs, "parameters": manifest.parameters,
            "grid": manifest.grid,
        });
        let mut differences: Vec<String> =
            changes(&then, &now).into_iter().map(|(key, old, new)| format!("{key}: {old} -> {new}")).collect();
        // Tied contexts may be freed, but learned ones are not those that parameters would tie.
        if settings.contexts == Contexts::Tied && !tied(&setting("contexts")) {
            differences.push("train.contexts: \"learned\" -> \"tied\"".to_owned());
        }
        match differences.is_empty() {
            true => Ok(()),
            false => Err(Error::OtherStart { model: of_model.name.clone(), differences }),
        }
    }

    /// The scaling of channels `[C]` and of `inputs [U]`, whose ranges are those of the new data.
    pub(super) fn scales(&self, inputs: &[InputScale]) -> (Vec<ChannelScale>, Vec<InputScale>) {
        let of_model = &self.model.manifest;
        let scaled = |(now, before): (&InputScale, &InputScale)| InputScale { scale: before.scale, ..*now };
        (of_model.scales.clone(), inputs.iter().zip(&of_model.input_scales).map(scaled).collect())
    }

    /// The contexts `[E, d]` that `environments` start with.
    ///
    /// # Errors
    /// Where contexts are tied and a parameter is unknown: which, in words.
    pub(super) fn contexts(&self, contexts: Contexts, environments: &[Environment]) -> Result<Vec<f64>, String> {
        match contexts {
            Contexts::Tied => self.tied(environments),
            Contexts::Learned => Ok(environments.iter().flat_map(|it| self.context(&it.id)).collect()),
        }
    }

    fn context(&self, id: &str) -> Vec<f64> {
        let known = self.known().find(|(environment, _)| environment.id == id);
        match (known, self.contexts.get(id)) {
            (Some((_, context)), _) => context.to_vec(),
            (None, Some(context)) => context.clone(),
            (None, None) => {
                let (d, count) = (self.model.manifest.context_dimension, self.model.manifest.environments.len());
                let sum = |k: usize| self.known().map(|(_, context)| context[k]).sum::<f64>();
                (0..d).map(|k| sum(k) / count as f64).collect()
            }
        }
    }

    /// The model's training environments with their contexts `[d]`.
    fn known(&self) -> impl Iterator<Item = (&Environment, &[f64])> {
        self.model.manifest.environments.iter().zip(self.model.own_values())
    }

    fn tied(&self, environments: &[Environment]) -> Result<Vec<f64>, String> {
        let d = self.model.manifest.context_dimension;
        let ties: Vec<(f64, f64)> = (0..d).map(|j| self.tie(j)).collect();
        let mut contexts = Vec::with_capacity(environments.len() * d);
        for environment in environments {
            for (parameter, (offset, slope)) in environment.parameters.iter().zip(&ties) {
                let value =
                    parameter.ok_or_else(|| format!("environment {} has an unknown parameter", environment.id))?;
                contexts.push(offset + slope * value);
            }
        }
        Ok(contexts)
    }

    /// `(a_j, b_j)`: through the least and the greatest parameter, on whose line all lie.
    fn tie(&self, j: usize) -> (f64, f64) {
        let pairs = || self.known().filter_map(|(it, context)| Some((it.parameters[j]?, context[j])));
        let least = pairs().min_by(|a, b| a.0.total_cmp(&b.0));
        let greatest = pairs().max_by(|a, b| a.0.total_cmp(&b.0));
        match (least, greatest) {
            (Some((p, xi)), Some((q, eta))) if q > p => {
                let slope = (eta - xi) / (q - p);
                (xi - slope * p, slope)
            }
            _ => (0.0, 0.0),
        }
    }
}
