//! The environments that training inferred, beside the labels of the dataset.

use std::fmt::Write;

use super::figures::figure::counted;
use super::input::Input;
use super::number;
use super::number::escape;
use super::tables::{numeric, table, text};

/// Labels of an environment that are named at most.
const NAMED: usize = 6;

/// A row of each environment; nothing where labels were known.
pub(super) fn section(input: &Input) -> Option<String> {
    let inferred = input.learned.inferred.as_ref()?;
    let rows: Vec<Vec<String>> = input
        .training
        .iter()
        .enumerate()
        .map(|(k, environment)| {
            let mut labels: Vec<(&str, usize)> = inferred.labels_of(k).into_iter().collect();
            labels.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
            let count: usize = labels.iter().map(|it| it.1).sum();
            let named = labels.iter().take(NAMED).map(|(label, count)| format!("{} ({count})", escape(label)));
            let mut named = named.collect::<Vec<_>>().join(", ");
            if labels.len() > NAMED {
                let _ = write!(named, " and {} more", labels.len() - NAMED);
            }
            vec![escape(&environment.environment), number::count(count as u64), named]
        })
        .collect();
    let agreement = match inferred.adjusted_rand_index {
        Some(index) => {
            format!("Their adjusted Rand index with the labels of the dataset is {}.", number::significant(index))
        }
        None => "The labels of the dataset tell nothing to compare with.".to_owned(),
    };
    let caption = format!(
        "{} in the environments that training found, and how many have which label, of which training did not know. {agreement}",
        counted(inferred.trajectories.len(), "training trajectory")
    );
    Some(table(&caption, &[text("environment"), numeric("trajectories"), text("labels")], &rows))
}
