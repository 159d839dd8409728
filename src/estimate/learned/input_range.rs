//! Whether inputs are within the range that a model was trained on.

use super::context_range::is_beyond;
use crate::checkpoint::Manifest;

/// The first of `inputs [T, U]` at `times [T]`, in the dataset's units, that lies outside the input's range over the
/// training split by more than `slack` times its width, in words; `None` if there is none. For an input that was
/// constant in training, any other value counts.
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
