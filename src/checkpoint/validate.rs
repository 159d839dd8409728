//! Checks of a model's manifest and map: the limits of pipeline settings, matching counts, finite numbers.
//!
//! A seal shows that a model is as it was written, not that paramill wrote it. Limits are stated once, in the schemas
//! of the types, which pipelines are checked against too; what a schema cannot state is checked here. Sizes are
//! compared with the weights later, before anything is allocated.

use std::collections::BTreeSet;
use std::path::Path;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use jsonschema::paths::LocationSegment;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::Error;
use super::files::{CARD_FILE, LOG_FILE, MAP_FILE, WEIGHTS_FILE, parse};
use super::inferred::Inferred;
use super::manifest::{ChannelScale, Manifest};
use super::map::{MapKind, ParameterMap};
use super::power::Power;
use crate::dataset::grid_problems;

/// Most characters of a value that a message shows.
const SHOWN: usize = 60;

/// Reads `bytes` of the file `path` as a `T` within the limits of its schema.
///
/// # Errors
/// If they are not JSON, or with everything that breaks the schema, by its key.
pub(crate) fn read<T: JsonSchema + DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, Error> {
    let value: Value = parse(path, bytes)?;
    let validator = jsonschema::validator_for(schemars::schema_for!(T).as_value()).expect("schemas of types are sound");
    let mut problems = Vec::new();
    validator.iter_errors(&value).for_each(|error| explain(&error, &mut problems));
    Error::problems(path, problems)?;
    parse(path, bytes)
}

/// Adds a sentence for each problem in `error`.
fn explain(error: &ValidationError<'_>, problems: &mut Vec<String>) {
    use ValidationErrorKind as Kind;
    let key = key_of(error);
    let expected = match error.kind() {
        Kind::OneOfNotValid { context } | Kind::AnyOf { context } => {
            // Where a tag chooses between alternatives, only the one that it names is looked at.
            let named = context.iter().find(|branch| branch.iter().all(|error| allowed(error).is_empty()));
            if let Some(named) = named {
                return named.iter().for_each(|error| explain(error, problems));
            }
            one_of(&context.iter().flatten().flat_map(allowed).collect::<Vec<_>>())
        }
        Kind::Required { property } => {
            let inside = if key.is_empty() { String::new() } else { format!("{key}.") };
            let property = property.as_str().unwrap_or_default();
            return problems.push(format!("`{inside}{property}` is missing; expected a value"));
        }
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::Enum { .. } => one_of(&allowed(error)),
        Kind::AdditionalProperties { .. } | Kind::UnevaluatedProperties { .. } => "no keys but its own".to_owned(),
        _ => "what the schema of a model states".to_owned(),
    };
    problems.push(format!("`{key}` is {}; expected {expected}", brief(error.instance())));
}

/// The accepted values, if `error` is about a choice between some.
fn allowed<'a>(error: &'a ValidationError<'_>) -> Vec<&'a Value> {
    match error.kind() {
        ValidationErrorKind::Enum { options } => options.as_array().into_iter().flatten().collect(),
        ValidationErrorKind::Constant { expected_value } => vec![expected_value.as_ref()],
        _ => Vec::new(),
    }
}

fn one_of(options: &[&Value]) -> String {
    format!("one of {}", options.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}

fn key_of(error: &ValidationError<'_>) -> String {
    let segments = error.instance_path().segments().map(|segment| match segment {
        LocationSegment::Property(name) => name.into_owned(),
        LocationSegment::Index(index) => index.to_string(),
    });
    segments.collect::<Vec<_>>().join(".")
}

/// A value for a message, cut where it is long.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

impl Manifest {
    /// What is wrong with the manifest; a sentence each.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut counted = |key: &str, found: usize, of: &str, expected: usize| {
            if found != expected {
                problems.push(format!("`{key}` has {found} entries; expected {expected}, one for each of `{of}`"));
            }
        };
        counted("scales", self.scales.len(), "channels", self.channels.len());
        counted("input_scales", self.input_scales.len(), "inputs", self.inputs.len());
        if !self.weights.is_empty() {
            counted("weights", self.weights.len(), "channels", self.channels.len());
        }
        if !self.observed.is_empty() {
            counted("observed", self.observed.len(), "channels", self.channels.len());
        }
        for (e, environment) in self.environments.iter().enumerate() {
            let key = format!("environments.{e}.parameters");
            counted(&key, environment.parameters.len(), "parameters", self.parameters.len());
        }
        let count = self.environments.len();
        let of = |it: &Inferred| it.trajectories.iter().find(|it| it.environment >= count).map(|it| it.environment);
        if let Some(beyond) = self.inferred.as_ref().and_then(of) {
            problems.push(format!("`inferred` names the environment {beyond}; expected one of the {count}, from 0"));
        }
        for (key, count) in [("channels", self.channels.len()), ("environments", self.environments.len())] {
            if count == 0 {
                problems.push(format!("`{key}` is empty; expected one at least"));
            }
        }
        if let Some(pair) = self.environments.windows(2).find(|pair| pair[0].id >= pair[1].id) {
            let (first, second) = (&pair[0].id, &pair[1].id);
            problems.push(format!("`environments` has {second:?} after {first:?}; expected ascending ids, each once"));
        }
        let names = self.channels.iter().chain(self.inputs.iter().map(|it| &it.quantity)).chain(&self.parameters);
        let mut seen = BTreeSet::new();
        for name in names.map(|it| it.name.as_str()).filter(|name| !seen.insert(*name)) {
            problems
                .push(format!("`{name}` is the name of two channels, inputs or parameters; expected distinct names"));
        }
        let scales = self.scales.iter().enumerate().map(|(c, scale)| (format!("scales.{c}"), scale));
        let of_inputs = self.input_scales.iter().enumerate().map(|(u, it)| (format!("input_scales.{u}"), &it.scale));
        for (key, ChannelScale { centre, scale }) in scales.chain(of_inputs) {
            if !(centre.is_finite() && scale.is_finite() && *scale > 0.0) {
                problems.push(format!("`{key}` is {scale} about {centre}; expected a scale above zero"));
            }
        }
        if let Some(weight) = self.weights.iter().find(|weight| !(weight.is_finite() && **weight > 0.0)) {
            problems.push(format!("`weights` has {weight}; expected numbers above zero"));
        }
        problems.extend(self.grid.iter().flat_map(grid_problems));
        if problems.is_empty()
            && let Some(problem) = self.model.problem(&self.state_shape(), self.inputs.len())
        {
            problems.push(format!("`{}` is {}; expected {}", problem.key, problem.found, problem.expected));
        }
        if problems.is_empty()
            && let Some((found, expected)) =
                self.rule.layout_problem(self.model.build(&self.state_shape(), self.inputs.len()).layout())
        {
            problems.push(format!("`model` has {found}; expected {expected}"));
        }
        if let Some((setting, found, expected)) = self.rule.problem(&self.model, self.adapted_layers) {
            problems.push(format!("`{setting}` is {found}; expected {expected}"));
        }
        if (self.context_dimension == 0) != self.rule.owns_weights() {
            let (d, rule) = (self.context_dimension, self.rule.name());
            problems.push(format!(
                "`context_dimension` is {d} with rule {rule}; expected 0 for rules whose environments own weights alone"
            ));
        }
        if self.inner_rate.is_some() != self.rule.trains_through_adaptation() {
            problems.push(
                "`inner_rate` is given or missing; expected it for rules with a step of adaptation alone".to_owned(),
            );
        }
        let files: Vec<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        if files != [WEIGHTS_FILE, LOG_FILE] && files != [WEIGHTS_FILE, LOG_FILE, MAP_FILE] {
            let expected = format!("{WEIGHTS_FILE}, {LOG_FILE} and, where there is one, {MAP_FILE}");
            problems.push(format!("`files` lists {}; expected {expected}", brief(&Value::from(files))));
        }
        if let Some(card) = self.card.as_ref().filter(|card| card.path != CARD_FILE) {
            problems.push(format!("`card.path` is {}; expected {CARD_FILE}", brief(&Value::from(card.path.clone()))));
        }
        problems
    }
}

impl ParameterMap {
    /// What is wrong with the map for the model of `manifest`; a sentence each.
    pub(crate) fn problems(&self, manifest: &Manifest) -> Vec<String> {
        let d = manifest.context_dimension;
        let (parameters, terms) = (manifest.parameters.len(), self.kind.terms(d));
        let mut problems = Vec::new();
        let mut counted = |key: &str, found: usize, expected: usize, of: &str| {
            if found != expected {
                problems.push(format!("`{key}` has {found} values; expected {expected}, one for each {of}"));
            }
        };
        let (of_context, of_parameters, of_terms) =
            ("dimension of a context", "parameter of the model", "term of the map");
        counted("centre", self.centre.len(), d, of_context);
        counted("scale", self.scale.len(), d, of_context);
        counted("coefficients", self.coefficients.len(), parameters, of_parameters);
        counted("residual_variance", self.residual_variance.len(), parameters, of_parameters);
        counted("inverse_gram", self.inverse_gram.len(), terms, of_terms);
        if !self.powers.is_empty() {
            counted("powers", self.powers.len(), parameters, of_parameters);
        }
        let rows = |key: &'static str, rows: &'_ [Vec<f64>]| -> Vec<(String, usize)> {
            rows.iter().enumerate().map(|(row, values)| (format!("{key}.{row}"), values.len())).collect()
        };
        for (key, found) in
            [rows("coefficients", &self.coefficients), rows("inverse_gram", &self.inverse_gram)].concat()
        {
            counted(&key, found, terms, of_terms);
        }
        for (e, environment) in self.environments.iter().enumerate() {
            let key = |of: &str| format!("environments.{e}.{of}");
            counted(&key("context"), environment.context.len(), d, of_context);
            counted(&key("parameters"), environment.parameters.len(), parameters, of_parameters);
            counted(&key("residuals"), environment.residuals.len(), parameters, of_parameters);
        }
        let names: Vec<&str> = manifest.parameters.iter().map(|it| it.name.as_str()).collect();
        if self.parameters != names {
            let found = brief(&Value::from(self.parameters.clone()));
            problems.push(format!("`parameters` is {found}; expected those of the model, {}", names.join(", ")));
        }
        if let Some(scale) = self.scale.iter().find(|scale| **scale <= 0.0) {
            problems.push(format!("`scale` has {scale}; expected numbers above zero"));
        }
        if let Some(power) = self.powers.iter().find(|power| !Power::ALL.contains(power)) {
            let expected = Power::ALL.map(|power| power.exponent().to_string()).join(", ");
            problems.push(format!("`powers` has {}; expected some of {expected}", power.exponent()));
        }
        if self.kind != MapKind::Power && !self.powers.is_empty() {
            problems
                .push(format!("`powers` stands in a map of the kind {}; expected it in a power map", self.kind.name()));
        }
        problems.extend(self.model_error.iter().flat_map(|error| error.problems(d, parameters)));
        if let Some(variance) = self.residual_variance.iter().find(|variance| **variance < 0.0) {
            problems.push(format!("`residual_variance` has {variance}; expected numbers from zero up"));
        }
        problems
    }
}
