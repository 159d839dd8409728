//! Values of arguments, as they are read from text.

use crate::engine::{DeviceChoice, EngineChoice};

pub(crate) fn engine(text: &str) -> Result<EngineChoice, String> {
    text.parse()
}

pub(crate) fn device(text: &str) -> Result<DeviceChoice, String> {
    text.parse()
}

pub(crate) fn finite(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| "expected a finite number".to_owned())
}

pub(crate) fn positive(text: &str) -> Result<f64, String> {
    finite(text).ok().filter(|&value| value > 0.0).ok_or_else(|| "expected a finite number above zero".to_owned())
}

pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    finite(text).ok().filter(|&value| value >= 0.0).ok_or_else(|| "expected a finite number, 0 or above".to_owned())
}
