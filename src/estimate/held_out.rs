//! How a trained model does on held-out trajectories, environment by environment: what two models are compared by.

use super::driver::{check_learned, check_quantities};
use super::error::Error;
use super::learned::estimator::Estimator;
use super::settings::Settings;
use super::stream;
use super::table::row::Row;
use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::engine::Compute;
use crate::progress::{Event, Run};
use crate::schema::Split;

/// How one environment fared.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// Its id.
    pub environment: String,
    /// Whether no context could be fitted to its trajectories of the train split.
    pub failed: bool,
    /// Mean squared error on its trajectories of the test split under that context, channels in the dataset's units; none if there is none.
    pub squared_error: Option<f64>,
    /// Mean absolute percentage error of its parameters (percent); none where none is known or given.
    pub parameter_error: Option<f64>,
    /// Known parameters whose 95 % interval holds the truth, and known parameters that have an interval.
    pub covered: [usize; 2],
    /// Values of its held-out trajectories that lie in their 95 % bands under that context, and values that have a band: none of fields.
    pub in_bands: [usize; 2],
}

/// Known parameters whose 95 % interval holds the truth, and those that have an interval.
fn covered(row: &Row) -> [usize; 2] {
    let of_known = row.parameters.iter().filter_map(|it| {
        let truth = it.truth.filter(|_| it.lower.is_finite() && it.upper.is_finite())?;
        Some((it.lower..=it.upper).contains(&truth))
    });
    of_known.fold([0, 0], |[held, known], holds| [held + usize::from(holds), known + 1])
}

/// Fits a context to the train split of every environment that has held-out trajectories in the test split, as `settings` ask, and measures errors
/// on these. The environments stand in stored order, whatever the model. A model that was trained on the same environments has no advantage but
/// what it learned: its training contexts are not used.
///
/// # Errors
/// If the dataset cannot be read, has other quantities than the model, or is not for a trained model; and on an interrupt.
pub fn held_out(
    settings: &Settings,
    compute: Compute,
    dataset: &Dataset,
    model: &StoredModel,
    run: &Run,
) -> Result<Vec<HeldOut>, Error> {
    check_quantities(dataset, model)?;
    check_learned(settings)?;
    // Neither bounds on errors nor fitted trajectories are compared.
    let settings = &Settings { physics: None, fitted: false, ..settings.clone() };
    let estimator =
        Estimator::new(settings, compute, Some(dataset), model, run)?.judged_by(Split::Train, Split::Test)?;
    let mut all = Vec::new();
    run.emit(Event::Begin { what: "judge the model".to_owned(), total: None, unit: "environments" });
    stream::for_each_block(dataset, Split::Train, stream::all_rows(dataset, Split::Train), |mut block| {
        block.retain(|environment| estimator.has_held_out(&environment.id));
        let estimated = estimator.judged(Split::Train, block)?;
        // Rows of an interrupted block may be incomplete.
        run.interrupt.requested().map_or(Ok(()), |signal| Err(Error::Interrupted { signal }))?;
        all.extend(estimated.into_iter().map(|(it, in_bands)| HeldOut {
            covered: covered(&it.row),
            in_bands,
            failed: it.row.status.is_failure(),
            squared_error: it.row.test_mse.filter(|error| error.is_finite()),
            parameter_error: it.row.parameter_mape(),
            environment: it.row.environment,
        }));
        run.emit(Event::Advance { done: all.len() as u64, note: String::new() });
        Ok(())
    })?;
    run.emit(Event::End);
    Ok(all)
}
