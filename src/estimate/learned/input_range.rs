//! Whether what drives a system is what a model was trained on.

use super::context_range::is_beyond;
use crate::checkpoint::Manifest;

/// Which of `inputs [T, U]` at `times [T]`, in the dataset's units, lies further outside the range of the training split than `slack` widths
/// of it, if one does. Of an input that was constant there a model knows nothing else.
pub fn inputs_extrapolate(model: &Manifest, times: &[f64], inputs: &[f64], slack: f64) -> Option<String> {
    let scales = &model.input_scales;
    let samples = times.iter().zip(inputs.chunks_exact(scales.len().max(1)));
    samples.into_iter().find_map(|(time, sample)| {
        let values = model.inputs.iter().zip(scales).zip(sample);
        values.into_iter().find_map(|((input, scale), &value)| {
            let (least, greatest) = (scale.least, scale.greatest);
            let name = &input.quantity.name;
            is_beyond(value, least, greatest, slack).then(|| {
                format!("input {name} is {value:?} at time {time}; those of the training split go from {least:?} to {greatest:?}")
            })
        })
    })
}
