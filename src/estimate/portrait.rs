//! One trajectory beside what a fitted context says of it.

use super::Error;
use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::engine::{Batch, Compute, Segment};
use crate::schema::{Split, Trajectory};
use crate::train;

/// Truth and prediction of the first support trajectory of an environment under a context, in the dataset's units `[T, C]`.
///
/// # Errors
/// If the dataset cannot be read or has no such environment.
pub fn portrait(
    compute: Compute,
    dataset: &Dataset,
    model: &StoredModel,
    split: Split,
    environment: &str,
    context: &[f64],
) -> Result<(Trajectory, Vec<f64>), Error> {
    let row = dataset.index(split)?.iter().position(|entry| entry.environment == environment);
    let row = row.ok_or_else(|| Error::Invalid {
        path: dataset.directory().to_owned(),
        found: format!("no environment `{environment}` in its {split} split"),
        expected: "the dataset that the estimates were made from".to_owned(),
    })?;
    let observed = dataset.read_rows(split, &[row])?.remove(0);
    let scales = model.manifest.scales_of_state();
    let mut scaled = observed.clone();
    train::scale(&mut scaled, &scales);
    let rule = model.rule();
    let mut weights = vec![0.0; model.model().layout().size()];
    rule.decode(&model.shared, context, &mut weights);
    let segment = Segment { times: &scaled.times, states: &scaled.states };
    let batch = Batch::new(scales.len(), &[vec![segment]], (0, 0));
    let mut prediction = observed.state(0).to_vec();
    for state in model.engine(compute)?.0.predict(&weights, &batch).chunks_exact(scales.len()) {
        prediction.extend(state.iter().zip(&scales).map(|(value, scale)| value * scale.scale + scale.centre));
    }
    Ok((observed, prediction))
}
