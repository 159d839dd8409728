//! Checks that the stages of a pipeline fit together: that each gets what it needs from those before, as far as settings tell.

use std::collections::BTreeSet;
use std::path::Path;

use crate::checkpoint::MapKind;
use crate::estimate;
use crate::estimate::physics::agreement::Quantities;
use crate::estimate::physics::{Known, problems_of_measurement};
use crate::estimate::{Clash, InitialState, MapChoice, Method, PhysicsSettings};
use crate::generate;
use crate::import;
use crate::import::Survey;
use crate::pipeline::plan::CURRENT;
use crate::pipeline::settings::Settings;
use crate::problems::{Problem, Problems, listing};
use crate::schema::{Quantity, Split, StateShape};
use crate::systems::{System, SystemSettings};
use crate::train;
use crate::train::Contexts;

/// The dataset that the first stage will make.
struct Foreseen {
    quantities: Quantities,
    state: StateShape,
    /// Environments of the train split; known for simulations only.
    training: Option<usize>,
}

/// The training settings, if a model is trained: not where estimates are made by equations.
pub(crate) fn trains(settings: &Settings) -> Option<&train::Settings> {
    let by_equations = settings.estimate.as_ref().is_some_and(|estimate| estimate.method == Method::Physics);
    settings.train.as_ref().filter(|_| !by_equations)
}

/// Every contradiction between stages; keys begin at the root. `is_given` tells whether the file itself gives a setting.
pub(crate) fn disagreements(settings: &Settings, is_given: &dyn Fn(&str) -> bool) -> Vec<Problem> {
    let mut problems = Problems::default();
    let splits = splits_of(settings);
    if let Some(estimate) = &settings.estimate {
        has_splits(&splits, &estimate.splits, settings.import.is_some(), is_given("estimate.splits"), &mut problems);
    }
    if let Some(train) = trains(settings) {
        has_steps(train, &mut problems);
        has_start(train, settings, &mut problems);
        has_splits_to_train(&splits, settings.import.is_some(), &mut problems);
    }
    promotes(settings, &splits, &mut problems);
    if let (None, Some(days)) = (&settings.import, settings.run.as_ref().and_then(|run| run.data_days)) {
        let found = format!("{days}, and a dataset that is simulated");
        problems.add("run.data_days", found, "an archive whose files have an age", "remove it");
    }
    if let Some(dataset) = Foreseen::new(settings) {
        if let Some(train) = trains(settings) {
            dataset.suits_training(train, settings, &mut problems);
        }
        if let Some(estimate) = &settings.estimate {
            dataset.suits_estimate(estimate, settings, &mut problems);
        }
    }
    problems.into_vec()
}

/// Contradictions that only the archive reveals.
pub(crate) fn disagreements_with(survey: &Survey, settings: &Settings) -> Problems {
    let mut problems = Problems::default();
    let Some(train) = trains(settings) else { return problems };
    let of_train = survey.environments.get(&Split::Train);
    let environments: Vec<_> = of_train.into_iter().flatten().filter(|(_, values)| !values.is_empty()).collect();
    let unknown: Vec<&str> =
        environments.iter().filter(|it| it.1.contains(&None)).map(|(environment, _)| environment.as_str()).collect();
    if train.contexts == Contexts::Tied && !unknown.is_empty() {
        problems.add(
            "train.contexts",
            format!("\"tied\", and unknown parameters of the environments {}", listing(&unknown)),
            "known parameters of every training environment",
            "give them in the side table, or write \"learned\"",
        );
    }
    let parameters = environments.first().map_or(0, |(_, values)| values.len());
    let d = train.dimension(parameters);
    let known = environments.len() - unknown.len();
    if settings.map.is_some() && known > 0 {
        enough_for_map(settings, d, known, &mut problems);
    }
    problems
}

impl Foreseen {
    fn new(settings: &Settings) -> Option<Foreseen> {
        match (&settings.generate, &settings.import) {
            (Some(generate), _) => Foreseen::simulated(generate),
            (None, Some(import)) => Foreseen::imported(import),
            (None, None) => None,
        }
    }

    /// `None` if the settings have problems of their own.
    fn simulated(settings: &generate::Settings) -> Option<Foreseen> {
        if !settings.validate().is_empty() {
            return None;
        }
        let system = settings.find_system().ok()?;
        let channels = settings.kept(&system);
        let of_system = system.state_shape(settings.find_preset(&system)?);
        let state = StateShape { channels: channels.len(), ..of_system };
        Some(Foreseen {
            quantities: Quantities {
                time_unit: system.time_unit.to_owned(),
                channels,
                inputs: system.inputs.iter().map(|it| Quantity::new(&it.name, &it.unit, &it.description)).collect(),
                parameters: generate::known_quantities(&system),
            },
            training: settings.environments(Split::Train).filter(|_| settings.observation.is_none()),
            state,
        })
    }

    /// `None` if the files of fields do not tell their grid.
    fn imported(settings: &import::Settings) -> Option<Foreseen> {
        let grid = import::grid(settings, Path::new(""));
        if settings.fields.is_some() && grid.is_none() {
            return None;
        }
        let quantities = Quantities {
            time_unit: settings.time_unit.clone(),
            channels: settings.state_quantities(),
            inputs: settings.inputs().map(|input| input.quantity).collect(),
            parameters: settings.parameter_quantities(),
        };
        let state = StateShape::new(quantities.channels.len(), grid.as_ref());
        Some(Foreseen { state, quantities, training: None })
    }

    fn suits_training(&self, train: &train::Settings, settings: &Settings, problems: &mut Problems) {
        problems.extend(train.rule_problems().into_iter().map(|problem| problem.within("train")));
        let (d, has_contexts) = (train.dimension(self.quantities.parameters.len()), !train.rule.owns_weights());
        if has_contexts && d == 0 {
            problems.add(
                "train.context_dimension",
                "nothing, and a dataset without parameters",
                "how many numbers tell one environment from another",
                "add `context_dimension = 2` or the like to [train], or give the dataset parameters",
            );
        } else if has_contexts
            && train.contexts == Contexts::Tied
            && !train.chooses_dimension()
            && d != self.quantities.parameters.len()
        {
            let found = format!(
                "\"tied\", with {} parameters and {d} dimensions of a context",
                self.quantities.parameters.len()
            );
            let expected = "as many known parameters as dimensions";
            problems.add("train.contexts", found, expected, "remove `context_dimension`, or write \"learned\"");
        }
        let channels: Vec<&str> = self.quantities.channels.iter().map(|it| it.name.as_str()).collect();
        let of_weights = train::weight_problems(&train.weights, &channels).into_iter();
        problems.extend(of_weights.map(|problem| problem.within("train")));
        let of_model = train.model.problem(&self.state, self.quantities.inputs.len());
        let suits = of_model.is_none();
        problems.extend(of_model.map(|problem| problem.within("train")));
        if let Some((setting, found, expected)) = train.rule.problem(&train.model, train.adapted_layers) {
            let remedy = "leave it out, or choose another rule of `paramill list rules`";
            problems.add(format!("train.{setting}"), found, expected, remedy);
        } else if suits {
            let model = train.model.build(&self.state, self.quantities.inputs.len());
            if let Some((found, expected)) = train.rule.layout_problem(model.layout()) {
                problems.add("train.model", found, expected, "set another `width`, or choose another rule");
            }
        }
        if !has_contexts {
            self.reads_no_parameters(train, settings, problems);
            return;
        }
        let Some(environments) = self.training else { return };
        if settings.map.is_some() && !self.quantities.parameters.is_empty() {
            enough_for_map(settings, d, environments, problems);
        }
    }

    /// Under a rule without contexts there is nothing that a map could read parameters from.
    fn reads_no_parameters(&self, train: &train::Settings, settings: &Settings, problems: &mut Problems) {
        let rule = train.rule.name();
        let remedy = "remove it, or choose a rule with contexts; without parameters, [estimate] tells errors of trajectories alone";
        if settings.map.is_some() {
            let found = format!("a section [map] with rule \"{rule}\", whose environments have no context");
            problems.add("map", found, "none: parameters are read from contexts", remedy);
        }
        let estimates = settings.estimate.as_ref();
        if estimates.is_some_and(|estimate| estimate.initial_state == Some(InitialState::Estimated)) {
            let found = format!("\"estimated\" with rule \"{rule}\", whose environments own weights");
            problems.add("estimate.initial_state", found, "\"observed\"", "leave it out");
        }
    }

    fn suits_estimate(&self, estimate: &estimate::Settings, settings: &Settings, problems: &mut Problems) {
        if !self.state.space.is_empty() {
            let fields = "a dataset of fields";
            if estimate.fitted {
                problems.add("estimate.fitted", format!("true, and {fields}"), "false for fields", "leave it out");
            }
            if estimate.initial_state == Some(InitialState::Estimated) {
                let found = format!("\"estimated\", and {fields}, whose initial states have too many values");
                problems.add("estimate.initial_state", found, "\"observed\" for fields", "leave it out");
            }
        }
        for (name, bounds) in &estimate.bounds {
            if let (Some(min), Some(max)) = (bounds.min, bounds.max)
                && min > max
            {
                let found = format!("min {min} above max {max}");
                problems.add(format!("estimate.bounds.{name}"), found, "the smaller one as min", "exchange the two");
            }
        }
        match estimate.method {
            Method::Learned => {
                problems.extend(
                    estimate::problems_of_learned(estimate).into_iter().map(|problem| problem.within("estimate")),
                );
                let known: Vec<&str> = self.quantities.parameters.iter().map(|it| it.name.as_str()).collect();
                known_bounds(estimate, &known, problems);
                let d = settings.train.as_ref().map_or(known.len(), |train| train.dimension(known.len()));
                self.has_distinct_columns(&self.quantities.parameters, &[], (d, false), problems);
                if let Some(named) = estimate.physics.as_ref().and_then(|physics| physics.system.as_ref())
                    && let Ok(system) = named.find()
                {
                    self.suits_system(&system, named, problems);
                }
            }
            // What is wrong with the systems themselves is said elsewhere.
            Method::Physics => match estimate.candidates() {
                Ok(candidates) if candidates.is_empty() => self.suits_equations((estimate, false), settings, problems),
                Ok(candidates) => {
                    for (index, candidate) in candidates.iter().enumerate() {
                        let mut of_this = Problems::default();
                        self.suits_equations((&candidate.settings, true), settings, &mut of_this);
                        let place = format!("estimate.physics.systems.{index}");
                        problems.extend(of_this.into_vec().into_iter().map(|problem| {
                            match problem
                                .key
                                .strip_prefix("estimate.physics.system")
                                .map(|rest| format!("{place}{rest}"))
                            {
                                Some(key) => problem.setting(key),
                                None => problem,
                            }
                        }));
                    }
                }
                Err(_) => {}
            },
        }
    }

    fn suits_equations(
        &self,
        (estimate, are_compared): (&estimate::Settings, bool),
        settings: &Settings,
        problems: &mut Problems,
    ) {
        let physics = estimate.physics.clone().unwrap_or_default();
        let simulated = settings.generate.as_ref().map(|generate| &generate.system);
        let Some(Ok(system)) = physics.system.as_ref().or(simulated).map(SystemSettings::find) else {
            return;
        };
        if physics.system.is_none() {
            let physics = PhysicsSettings { system: simulated.cloned(), ..physics.clone() };
            problems.extend(physics.validate().into_iter().map(|problem| match problem.key.as_str() {
                "system" => problem.setting("estimate.method"),
                _ => problem.within("estimate.physics"),
            }));
        }
        let estimated: Vec<&str> = system.parameters.iter().map(|it| it.name.as_str()).collect();
        let estimated: Vec<&str> = estimated.into_iter().filter(|name| !physics.fixed.contains_key(*name)).collect();
        known_bounds(estimate, &estimated, problems);
        let quantities: Vec<Quantity> =
            system.parameter_quantities().into_iter().filter(|it| estimated.contains(&it.name.as_str())).collect();
        let noise_terms = estimate.noise_columns(&physics, &self.quantities.channels);
        self.has_distinct_columns(&quantities, &noise_terms, (0, are_compared), problems);
        let lower = |name: &str, lower: f64| {
            estimate.bounds.get(name).and_then(|bounds| bounds.min).map_or(lower, |min| min.max(lower))
        };
        let of_system = system.parameters.iter().filter(|it| estimated.contains(&it.name.as_str()));
        let known = Known {
            channels: self.quantities.channels.iter().map(|it| it.name.as_str()).collect(),
            inputs: self.quantities.inputs.iter().map(|it| it.name.as_str()).collect(),
            parameters: of_system.map(|it| (it.name.as_str(), lower(&it.name, it.lower))).collect(),
        };
        let of_measurement = problems_of_measurement(estimate, &physics, &known).into_iter();
        problems.extend(of_measurement.map(|problem| problem.within("estimate")));
        for parameter in system.parameters.iter().filter(|parameter| estimated.contains(&parameter.name.as_str())) {
            let Some(bounds) = estimate.bounds.get(&parameter.name) else { continue };
            let [min, max] = [bounds.min.unwrap_or(parameter.lower), bounds.max.unwrap_or(parameter.upper)];
            if min <= max && min.max(parameter.lower) >= max.min(parameter.upper) {
                problems.add(
                    format!("estimate.bounds.{}", parameter.name),
                    format!("{min} to {max}, which leave nothing of {} to {}", parameter.lower, parameter.upper),
                    "bounds that overlap those of the equations",
                    "widen one of them, or name the parameter in [estimate.physics.fixed]",
                );
            }
        }
        if let Some(named) = &physics.system {
            self.suits_system(&system, named, problems);
        }
    }

    /// Checks that the columns of the table of estimates have distinct names.
    fn has_distinct_columns(
        &self,
        parameters: &[Quantity],
        noise_terms: &[Quantity],
        of_table: (usize, bool),
        problems: &mut Problems,
    ) {
        let clash = estimate::clash(parameters, &self.quantities.channels, noise_terms, of_table);
        if let Some(Clash { column, first, second }) = clash {
            problems.add(
                "estimate",
                format!("the column `{column}` of the table of estimates twice: {first} and {second} make it"),
                "names that make distinct columns",
                "rename one of them",
            );
        }
    }

    /// Checks states, inputs and units of equations against those of the dataset.
    fn suits_system(&self, system: &System, named: &SystemSettings, problems: &mut Problems) {
        let disagreements = self.quantities.disagreements(system, named).into_iter();
        problems.extend(disagreements.map(|problem| problem.within("estimate.physics")));
    }
}

/// The splits that the first stage makes.
fn splits_of(settings: &Settings) -> BTreeSet<Split> {
    if let Some(generate) = &settings.generate {
        return generate.splits.keys().copied().collect();
    }
    let Some(import::Settings { splits: of, .. }) = &settings.import else { return BTreeSet::new() };
    let (trains, estimates) = (!of.estimates_all(), !of.adapt.is_empty());
    let splits = [
        (Split::Train, trains),
        (Split::Validation, trains && !of.validation.is_empty()),
        (Split::Test, trains && !of.test.is_empty()),
        (Split::Adapt, estimates),
        (Split::AdaptTest, estimates && !of.adapt_test.is_empty()),
        (Split::Calibrate, !of.calibrate.is_empty()),
    ];
    splits.into_iter().filter(|(_, made)| *made).map(|(split, _)| split).collect()
}

fn has_splits(splits: &BTreeSet<Split>, asked: &[Split], imported: bool, is_given: bool, problems: &mut Problems) {
    let made: Vec<&str> = splits.iter().map(|split| split.name()).collect();
    let expected = format!("some of {}", made.join(", "));
    let remedy = match imported {
        true => "name environments to estimate in `import.splits.adapt`, all of them by [\"*\"]".to_owned(),
        false => "add a split of new environments, such as [generate.splits.adapt]".to_owned(),
    };
    let section = if imported { "[import]" } else { "[generate]" };
    if !asked.iter().any(|split| splits.contains(split)) {
        problems.add("estimate.splits", format!("no split that {section} makes"), expected, remedy);
    } else if is_given && asked != estimate::Settings::default().splits {
        // The default lists every possible split; a user who lists splits means each of them.
        for (place, split) in asked.iter().enumerate().filter(|(_, split)| !splits.contains(split)) {
            let found = format!("`{split}`, which {section} does not make");
            let remedy = format!("remove it, or {remedy}");
            problems.add(format!("estimate.splits.{place}"), found, expected.clone(), remedy);
        }
    }
}

fn has_splits_to_train(splits: &BTreeSet<Split>, imported: bool, problems: &mut Problems) {
    for split in [Split::Train, Split::Validation].into_iter().filter(|split| !splits.contains(split)) {
        match (imported, split) {
            (false, _) => problems.add(
                "generate.splits",
                format!("no split `{split}`"),
                "it, because the pipeline has a [train] section",
                format!("add [generate.splits.{split}]"),
            ),
            (true, Split::Train) => problems.add(
                "import.splits.adapt",
                "[\"*\"]: every environment is estimated and none trains",
                "environments to train on, because the pipeline has a [train] section",
                "name the environments to estimate, or estimate by equations: `estimate.method = \"physics\"`",
            ),
            // The import itself reports a missing validation split.
            (true, _) => {}
        }
    }
}

/// The gate has models to compare, and a held-out set.
fn promotes(settings: &Settings, splits: &BTreeSet<Split>, problems: &mut Problems) {
    if settings.promote.is_none() {
        return;
    }
    if trains(settings).is_none() {
        let expected = "a [train] section, and estimates by the model";
        problems.add("promote", "[promote], and no model that is trained", expected, "remove it, or train a model");
    } else if !splits.contains(&Split::Test) {
        let remedy = match settings.import.is_some() {
            true => "hold out trajectories in `import.splits.test`",
            false => "add [generate.splits.test]",
        };
        problems.add("promote", "no split `test`", "it: both models are judged on it", remedy);
    }
    if let (Some(train), Some(promote)) = (trains(settings), &settings.promote)
        && train.rule.owns_weights()
    {
        let limits =
            [("coverage", promote.coverage.is_some()), ("forecast_coverage", promote.forecast_coverage.is_some())];
        for (key, _) in limits.into_iter().filter(|(_, is_given)| *is_given) {
            let found = format!("a limit, and rule \"{}\", whose models have no intervals", train.rule.name());
            problems.add(format!("promote.{key}"), found, "a rule with contexts", "remove it, or choose such a rule");
        }
    }
    let of_settings = settings.promote.iter().flat_map(|promote| promote.validate());
    problems.extend(of_settings.map(|problem| problem.within("promote")));
    let kept = settings.run.as_ref().map_or(0, |run| run.models);
    if kept < 2 {
        let expected = "2 or more, because the pipeline has a [promote] section";
        problems.add("run.models", kept.to_string(), expected, "keep as many versions as you may want to go back by");
    }
}

fn known_bounds(estimate: &estimate::Settings, known: &[&str], problems: &mut Problems) {
    for name in estimate.bounds.keys().filter(|name| !known.contains(&name.as_str())) {
        let key = format!("estimate.bounds.{name}");
        match known.is_empty() {
            false => problems.unknown(key, name, "parameter that is estimated", known),
            true => problems.add(key, format!("`{name}`"), "none: no parameter is known or estimated", "remove it"),
        }
    }
}

/// Adam or Gauss-Newton makes a step.
fn has_steps(train: &train::Settings, problems: &mut Problems) {
    if train.steps == 0 && train.gauss_newton.steps == 0 {
        problems.add(
            "train.gauss_newton.steps",
            "0, and `train.steps = 0`: nothing is trained",
            "1 or more where `train.steps` is 0",
            "set it, or train by Adam: `train.steps = 12000`",
        );
    }
}

/// There is, or may be, a model to start from.
fn has_start(train: &train::Settings, settings: &Settings, problems: &mut Problems) {
    let Some(start) = train.warm_start.as_deref() else { return };
    let key = "train.warm_start";
    if start == CURRENT {
        if settings.run.as_ref().is_none_or(|run| run.models == 0) {
            let expected = "versions of the model, of which one is in use";
            problems.add(key, format!("\"{CURRENT}\", and no versions"), expected, "set `run.models = 2` or more");
        }
    } else if !Path::new(start).exists() {
        let expected = format!("the directory or the bundle of a model, or \"{CURRENT}\"");
        problems.add(
            key,
            format!("nothing at \"{start}\""),
            expected,
            "check the path, or leave it out and train from nothing",
        );
    }
}

fn enough_for_map(settings: &Settings, d: usize, known: usize, problems: &mut Problems) {
    let kind = match settings.map.as_ref().map(|map| map.kind) {
        Some(MapChoice::Quadratic) => MapKind::Quadratic,
        Some(MapChoice::Power) => MapKind::Power,
        Some(MapChoice::Auto | MapChoice::Affine) | None => MapKind::Affine,
    };
    if known < kind.terms(d) {
        problems.add(
            "map",
            format!("{known} training environments with known parameters"),
            format!("{} at least: as many as the {} map has terms", kind.terms(d), kind.name()),
            "add environments, or lower `train.context_dimension`",
        );
    }
}
