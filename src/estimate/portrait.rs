//! One trajectory beside what a fitted context says of it.

use super::{Error, InitialState, Support};
use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::engine::{Batch, Compute};
use crate::schema::{Split, Trajectory};

/// Truth and prediction of the first support trajectory of an environment under a context, in the dataset's units `[T, C]`, from its first
/// complete sample on; of the first trajectory that has one, if any has.
///
/// # Errors
/// If the dataset cannot be read, has no such environment, or is not of the model's quantities.
pub fn portrait(
    compute: Compute,
    dataset: &Dataset,
    model: &StoredModel,
    split: Split,
    environment: &str,
    context: &[f64],
) -> Result<Option<(Trajectory, Vec<f64>)>, Error> {
    super::check_quantities(dataset, model)?;
    let index = dataset.index(split)?;
    let rows: Vec<usize> = (0..index.len()).filter(|&row| index[row].environment == environment).collect();
    if rows.is_empty() {
        return Err(Error::Invalid {
            path: dataset.directory().to_owned(),
            found: format!("no environment `{environment}` in its {split} split"),
            expected: "the dataset that the estimates were made from".to_owned(),
        });
    }
    let mut observed = None;
    for row in rows {
        observed = dataset.read_rows(split, &[row])?.remove(0).from_start();
        if observed.is_some() {
            break;
        }
    }
    let Some(observed) = observed else { return Ok(None) };
    let units = model.manifest.units();
    let scales = &units.state;
    let support = Support::new([observed.clone()], &units, InitialState::Observed);
    let rule = model.rule();
    let mut weights = vec![0.0; model.model().layout().size()];
    rule.decode(&model.shared, context, &mut weights);
    let batch = Batch::new(scales.len(), &units.between, &[support.segments()], (0, 0));
    let mut prediction = observed.state(0).to_vec();
    for state in model.engine(compute)?.0.predict(&weights, &batch).chunks_exact(scales.len()) {
        prediction.extend(state.iter().zip(scales).map(|(value, scale)| value * scale.scale + scale.centre));
    }
    Ok(Some((observed, prediction)))
}
