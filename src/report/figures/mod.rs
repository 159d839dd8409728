//! The figures of a report, one a file, and one line each in [`ALL`].

pub(crate) mod figure;
mod agreement;
mod cells;
mod context_pairs;
mod contexts;
pub(crate) mod panel;
mod driven;
mod trajectories;
mod fields;
pub(crate) mod hull;
pub(crate) mod losses;
mod frames;
mod gradients;
mod landscape;
mod of_trajectories;
mod portraits;
mod predictive_check;
mod profiles;
mod residuals;
mod waterfall;
mod error_map;

use self::figure::Figure;
use super::input::Input;

/// Draws a figure; `None` where the input has nothing to show in it.
pub type Draw = fn(&Input) -> Option<Figure>;

/// Every figure, in the order of the page.
pub const ALL: [Draw; 16] = [
    error_map::figure,
    error_map::of_trajectories,
    agreement::figure,
    of_trajectories::figure,
    contexts::figure,
    portraits::figure,
    trajectories::figure,
    fields::figure,
    residuals::figure,
    predictive_check::figure,
    waterfall::figure,
    profiles::figure,
    frames::figure,
    landscape::figure,
    gradients::figure,
    losses::figure,
];
