//! Settings that are given and that training has no use for: a run would be the same without them.

use serde_json::Value;

use crate::models;
use crate::pipeline::document::{Document, segments};
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

/// The settings of `[train]` that a document gives and that none of all these trainings heeds, each at its first place; keys begin at the root. One that
/// repeats its default is not told: files with every default filled in have it too.
pub(crate) fn unheeded(all: &[(&Document, &Settings)]) -> Vec<Problem> {
    let for_rule = rules::SETTINGS_OF_SOME.into_iter().filter_map(|setting| by_no_rule(all, setting));
    let mut problems: Vec<Problem> = for_rule.collect();
    for condition in CONDITIONS.iter().filter(|it| !all.iter().any(|(_, train)| (it.holds)(train))) {
        for setting in condition.of {
            let [expected, remedy] = condition.expected.map(str::to_owned);
            let told = told(all, setting, condition.otherwise, expected, &remedy);
            problems.extend(told.filter(|it| problems.iter().all(|other| other.key != it.key)));
        }
    }
    problems
}

/// A setting that no rule of all these heeds.
fn by_no_rule(all: &[(&Document, &Settings)], setting: &str) -> Option<Problem> {
    let (_, first) = all.first()?;
    if all.iter().any(|(_, train)| train.rule.heeds(setting)) {
        return None;
    }
    let whose = match all.iter().all(|(_, other)| other.rule == first.rule) {
        true => format!("the rule \"{}\", which has no use for it", first.rule.name()),
        false => "rules none of which has a use for it".to_owned(),
    };
    let users: Vec<&str> = rules::Kind::ALL.into_iter().filter(|it| it.heeds(setting)).map(|it| it.name()).collect();
    told(all, setting, &whose, format!("it with {} alone", one_of(&users)), "leave it out, or choose such a rule")
}

/// A setting that nothing heeds, at its first place, if one of all these gives it another value than its own.
fn told(
    all: &[(&Document, &Settings)],
    setting: &str,
    otherwise: &str,
    expected: String,
    remedy: &str,
) -> Option<Problem> {
    let (key, preset) = (format!("train.{setting}"), value(&Settings::default(), setting));
    // A variant of a sweep may give the table that it stands in.
    let path = segments(&key);
    let is_given = |(document, train): &&(&Document, &Settings)| {
        (document.is_given(&path) || document.is_given(&path[..path.len() - 1])) && value(train, setting) != preset
    };
    let (document, train) = all.iter().find(is_given)?;
    let found = format!("{}, and {otherwise}", value(train, setting));
    Some(document.placed(Problem::new(Kind::Setting, found, expected, remedy).setting(key)))
}

fn value(train: &Settings, setting: &str) -> Value {
    let pointer = format!("/{}", setting.replace('.', "/"));
    serde_json::to_value(train).ok().and_then(|all| all.pointer(&pointer).cloned()).unwrap_or_default()
}
