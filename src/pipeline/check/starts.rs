//! Checks that training trajectories have a sample to start from. A rollout starts at a complete sample (all channels observed) that another
//! follows; a trajectory without one is left out of training, and an environment with no other trajectories cannot train.

use std::collections::BTreeMap;

use super::stages::trains;
use crate::import::{Startless, Survey};
use crate::pipeline::settings::Settings;
use crate::problems::{Kind, Problem, Problems, listing};
use crate::schema::Split;

const EXPECTED: &str = "a sample with every channel observed, and another after it";

/// Adds what training would refuse to `problems`; returns the warnings that it would give.
pub(crate) fn starts(survey: &Survey, settings: &Settings, problems: &mut Problems) -> Vec<Problem> {
    let mut warnings = Vec::new();
    if trains(settings).is_none() {
        return warnings;
    }
    for split in [Split::Train, Split::Validation] {
        let Some(found) = survey.without_start.get(&split).filter(|found| !found.is_empty()) else { continue };
        let all = survey.environments.get(&split).map_or(0, BTreeMap::len);
        let without: Vec<&str> =
            found.iter().filter(|it| it.1.trajectories == it.1.of).map(|it| it.0.as_str()).collect();
        // One environment suffices to choose the model, but each environment of the train split needs a context.
        if !without.is_empty() && (split == Split::Train || without.len() == all) {
            problems.add(
                "train",
                format!(
                    "{} of {all} environments of the {split} split of whose trajectories none has a sample to start from: {}",
                    without.len(),
                    listing(&without)
                ),
                EXPECTED,
                remedy(split, settings),
            );
        } else {
            warnings.push(warning(split, found, settings));
        }
    }
    warnings
}

fn warning(split: Split, found: &BTreeMap<String, Startless>, settings: &Settings) -> Problem {
    let names: Vec<String> =
        found.iter().map(|(name, it)| format!("{name} ({} of {})", it.trajectories, it.of)).collect();
    let count: usize = found.values().map(|it| it.trajectories).sum();
    let found = format!(
        "{count} trajectories of the {split} split without a sample to start from, of the environments {}",
        listing(&names)
    );
    let remedy = format!("training leaves them out; if it should not, {}", remedy(split, settings));
    Problem::new(Kind::NoStart, found, EXPECTED, remedy).setting("train")
}

/// What to do about trajectories of `split` without a start.
fn remedy(split: Split, settings: &Settings) -> String {
    let cut = settings.import.as_ref().is_some_and(|import| import.splits.validation.last.is_some());
    let last = match split {
        Split::Validation if cut => "raise `import.splits.validation.last`",
        Split::Validation => "hold out other trajectories",
        _ => {
            "estimate such environments instead (`import.splits.adapt`), with `estimate.initial_state = \"estimated\"`"
        }
    };
    format!("give the missing cells, leave out the channel that lacks them (`role = \"ignore\"`), or {last}")
}
