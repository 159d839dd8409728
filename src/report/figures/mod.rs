//! The pictures of a report, one a file.

pub(crate) mod figure;
mod agreement;
mod cells;
mod contexts;
pub(crate) mod panel;
mod driven;
mod trajectories;
mod fields;
mod hull;
mod losses;
mod portraits;
mod error_map;

use self::figure::Figure;
use super::input::Input;

/// The pictures that the input has something for, in the order of the page.
pub fn all(input: &Input) -> Vec<Figure> {
    [
        error_map::figure(input),
        agreement::figure(input),
        contexts::figure(input),
        portraits::figure(input),
        trajectories::figure(input),
        fields::figure(input),
        losses::figure(input),
    ]
    .into_iter()
    .flatten()
    .collect()
}
