//! The model that settings name.

use super::model::TensorModel;
use crate::models::settings::{Named, Settings};
use crate::schema::StateShape;

/// The model for states of that shape with that many inputs, for which there is no [`problem`](Settings::problem).
pub fn build(settings: &Settings, state: &StateShape, inputs: usize) -> Box<dyn TensorModel> {
    match settings.named(state, inputs) {
        Named::Mlp(model) => Box::new(model),
        Named::ConvNet(model) => Box::new(model),
        Named::Fno(model) => Box::new(model),
        Named::Library(model) => Box::new(model),
    }
}
