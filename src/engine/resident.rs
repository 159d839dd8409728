//! Training that stays on a device: steps of Adam that are planned ahead, and made without the host between them.
//!
//! A step has the same shapes as every other: whole trajectories, of which a rollout starts anew from the observed state at some samples.
//! What differs between steps, which trajectories and which samples, is data.

use super::batch::Batch;
use crate::rules::Places;

/// Steps that are planned at once, at most.
pub const MOST_STEPS: usize = 64;

/// Of Adam, the decay of the running mean of the gradient: Kingma and Ba, ICLR 2015, algorithm 1.
pub(crate) const BETA_1: f64 = 0.9;
/// The decay of the running mean of its square.
pub(crate) const BETA_2: f64 = 0.999;
/// What keeps a step finite where that is zero.
pub(crate) const EPSILON: f64 = 1e-8;

/// What is minimised, over the shared values `z [S]` and the contexts `xi_e [d]`:
/// `sum m^2 (x(theta_e) - y)^2 / sum m^2 + mu sum_e |xi_e|^2 + lambda Omega`.
pub struct Objective<'a> {
    /// How weights follow from `z` and `xi_e`, and what `Omega` is.
    pub places: &'a Places,
    /// `S`.
    pub shared: usize,
    /// `d`.
    pub context_dimension: usize,
    /// `mu`; none where contexts are not learned.
    pub context_penalty: Option<f64>,
    /// `lambda`.
    pub locality_penalty: f64,
    /// Largest norm of the gradient.
    pub gradient_clip: f64,
    /// Every training trajectory, whole: `R` rows of each of `E` environments, with `L` steps.
    pub data: &'a Batch,
    /// Rows `B` of each environment that a step takes.
    pub rows: usize,
}

/// `K` steps ahead, at most [`MOST_STEPS`].
pub struct Plan {
    /// Adam's number of the first of them, from 1.
    pub first: u64,
    /// Learning rates `[K]`.
    pub rates: Vec<f64>,
    /// The rows `[K, E, B]` among the `R` of their environment; none where it has fewer than `B`.
    pub rows: Vec<Option<usize>>,
    /// Whether a row starts anew from the observed state before its step `l`, `[K, E, B, L]`.
    pub restarts: Vec<bool>,
}

/// What steps change: `z` and `xi`, and Adam's running means of the gradient and of its square, each `[S + E d]`.
pub struct Moved<'a> {
    /// Shared values, then contexts.
    pub trained: &'a mut [f64],
    /// Running mean of the gradient.
    pub first_moment: &'a mut [f64],
    /// Running mean of the squared gradient.
    pub second_moment: &'a mut [f64],
}

/// What became of a plan.
pub struct Made {
    /// The mean squared error before each step that was made.
    pub losses: Vec<f64>,
    /// Whether the step after these had a loss or a gradient that is not finite: it changed nothing.
    pub diverged: bool,
}

/// Makes steps of Adam on a device.
pub trait Resident {
    /// Makes the steps of `plan`, or fewer if `goes_on` says no between them.
    fn run(&mut self, plan: &Plan, moved: Moved, goes_on: &dyn Fn() -> bool) -> Made;

    /// How steps are made, in words.
    fn how(&self) -> String;
}
