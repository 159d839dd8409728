//! Settings that are given and that training has no use for: a run would be the same without them.

use serde_json::Value;

use crate::models;
use crate::pipeline::document::Document;
use crate::problems::{Kind, Problem, one_of};
use crate::rules;
use crate::train::{Contexts, Labels, Method, Settings};

/// What another setting has to be for some settings of `[train]` to matter.
struct Condition {
    of: &'static [&'static str],
    holds: fn(&Settings) -> bool,
    /// What is found where it does not hold.
    otherwise: &'static str,
    /// What is expected, and what to do.
    expected: [&'static str; 2],
}

const CONDITIONS: [Condition; 7] = [
    Condition {
        of: &["inference.environments", "inference.every", "inference.spread"],
        holds: |train| train.environments == Labels::Infer,
        otherwise: "the environments are those of the dataset",
        expected: ["it with `train.environments = \"infer\"` alone", "leave it out, or set that"],
    },
    Condition {
        of: &["tied_deviation"],
        holds: |train| train.contexts == Contexts::Tied,
        otherwise: "contexts are learned",
        expected: ["it with `train.contexts = \"tied\"` alone", "leave it out, or set that"],
    },
    Condition {
        of: &["context_penalty", "gauss_newton.context_penalty"],
        holds: |train| train.contexts == Contexts::Learned,
        otherwise: "contexts are tied",
        expected: ["it with `train.contexts = \"learned\"` alone", "leave it out, or set that"],
    },
    Condition {
        of: &[
            "context_penalty",
            "locality_penalty",
            "pool",
            "learning_rate",
            "schedule",
            "gradient_clip",
            "steps_on",
            "trajectories_per_environment",
            "teacher_forcing.start",
            "teacher_forcing.decay",
            "teacher_forcing.every",
            "validate_every",
            "patience",
            "checkpoint_every",
        ],
        holds: makes_steps_of_adam,
        otherwise: "Adam makes no steps",
        expected: ["it with `train.steps` above 0 alone", "leave it out, or set that; Gauss-Newton has its own"],
    },
    Condition {
        of: &[
            "gauss_newton.method",
            "gauss_newton.first_segment",
            "gauss_newton.segment_growth",
            "gauss_newton.segment_decrease",
            "gauss_newton.segment_steps",
            "gauss_newton.patience",
            "gauss_newton.damping",
            "gauss_newton.acceleration",
            "gauss_newton.locality_penalty",
            "gauss_newton.context_penalty",
            "gauss_newton.trajectories_per_environment",
            "gauss_newton.drop_terms",
            "gauss_newton.inner_steps",
            "gauss_newton.inner_tolerance",
            "gauss_newton.checkpoint_every",
        ],
        holds: |train| train.gauss_newton.steps > 0,
        otherwise: "Gauss-Newton makes no steps",
        expected: ["it with `train.gauss_newton.steps` above 0 alone", "leave it out, or set that"],
    },
    Condition {
        of: &["gauss_newton.inner_steps", "gauss_newton.inner_tolerance"],
        holds: |train| matches!(train.gauss_newton.method, Method::Auto | Method::ConjugateGradients),
        otherwise: "its steps are not made by conjugate gradients",
        expected: [
            "it with `train.gauss_newton.method = \"conjugate-gradients\"` or \"auto\"",
            "leave it out, or set that",
        ],
    },
    Condition {
        of: &["gauss_newton.drop_terms"],
        holds: |train| matches!(train.model, models::Settings::Library { .. }),
        otherwise: "the model is a network",
        expected: ["it with a library of products alone", "leave it out"],
    },
];

/// Whether Adam moves anything: from a model that is there Gauss-Newton begins at once.
fn makes_steps_of_adam(train: &Settings) -> bool {
    let is_left_out =
        train.gauss_newton.steps > 0 && train.warm_start.as_deref().is_some_and(|start| start != "current");
    train.steps > 0 && !is_left_out
}

/// A training, its document, and its settings as JSON.
struct Training<'a> {
    document: &'a Document,
    settings: &'a Settings,
    values: Value,
}

/// The settings of `[train]` that a document gives and that none of all these trainings heeds, each at its first place; keys begin at the root. One that
/// repeats its default is not told: files with every default filled in have it too.
pub(crate) fn unheeded(all: &[(&Document, &Settings)]) -> Vec<Problem> {
    let all: Vec<Training<'_>> =
        all.iter().map(|&(document, settings)| Training { document, settings, values: as_json(settings) }).collect();
    let presets = as_json(&Settings::default());
    let for_rule = rules::SETTINGS_OF_SOME.into_iter().filter_map(|setting| by_no_rule(&all, &presets, setting));
    let mut problems: Vec<Problem> = for_rule.collect();
    for condition in CONDITIONS.iter().filter(|it| !all.iter().any(|training| (it.holds)(training.settings))) {
        for setting in condition.of {
            let [expected, remedy] = condition.expected.map(str::to_owned);
            let told = told(&all, &presets, setting, condition.otherwise, expected, &remedy);
            problems.extend(told.filter(|it| problems.iter().all(|other| other.key != it.key)));
        }
    }
    problems
}

/// A setting that no rule of all these heeds.
fn by_no_rule(all: &[Training<'_>], presets: &Value, setting: &str) -> Option<Problem> {
    let first = all.first()?.settings.rule;
    if all.iter().any(|training| training.settings.rule.heeds(setting)) {
        return None;
    }
    let otherwise = match all.iter().all(|training| training.settings.rule == first) {
        true => format!("the rule \"{}\", which has no use for it", first.name()),
        false => "rules none of which has a use for it".to_owned(),
    };
    let users: Vec<&str> = rules::Kind::ALL.into_iter().filter(|it| it.heeds(setting)).map(|it| it.name()).collect();
    let expected = format!("it with {} alone", one_of(&users));
    told(all, presets, setting, &otherwise, expected, "leave it out, or choose such a rule")
}

/// A setting that nothing heeds, at its first place, if one of all these gives it another value than its own: what differs was given.
fn told(
    all: &[Training<'_>],
    presets: &Value,
    setting: &str,
    otherwise: &str,
    expected: String,
    remedy: &str,
) -> Option<Problem> {
    let pointer = format!("/{}", setting.replace('.', "/"));
    let preset = presets.pointer(&pointer);
    let first = all.iter().find(|training| training.values.pointer(&pointer) != preset)?;
    let found = format!("{}, and {otherwise}", first.values.pointer(&pointer).unwrap_or(&Value::Null));
    let problem = Problem::new(Kind::Setting, found, expected, remedy).setting(format!("train.{setting}"));
    Some(first.document.placed(problem))
}

fn as_json(settings: &Settings) -> Value {
    serde_json::to_value(settings).unwrap_or_default()
}
