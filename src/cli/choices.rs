//! What the values of options may be.

use crate::engine::{DeviceChoice, EngineChoice};
use crate::pipeline::ExecutorChoice;

/// What makes the stages, by its name.
pub(crate) fn executor(text: &str) -> Result<ExecutorChoice, String> {
    match text {
        "local" => Ok(ExecutorChoice::Local),
        "slurm" => Ok(ExecutorChoice::Slurm),
        _ => Err(format!("found `{text}`, expected local or slurm")),
    }
}

/// The engine that a word names.
pub(crate) fn engine(text: &str) -> Result<EngineChoice, String> {
    text.parse()
}

/// The device that a word names.
pub(crate) fn device(text: &str) -> Result<DeviceChoice, String> {
    text.parse()
}

/// A finite number.
pub(crate) fn finite(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| "expected a finite number".to_owned())
}

/// A finite number, zero or above.
pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    finite(text).ok().filter(|&value| value >= 0.0).ok_or_else(|| "expected a finite number, 0 or above".to_owned())
}

/// A finite number above zero.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    finite(text).ok().filter(|&value| value > 0.0).ok_or_else(|| "expected a finite number above zero".to_owned())
}
