//! How much each term of a library adds to its rate.
//!
//! The size of a term is its coefficient times the root mean square of its product over samples: no unit changes its share of the greatest of
//! the same rate.

use crate::engine::{Batch, Engine};
use crate::models::{Block, Layout};

/// Segments whose derivatives are held at once.
const TOGETHER: usize = 64;

/// Root mean square `[P]` of the derivatives of the predictions of a `batch` of one environment by its weights, up to a factor that all share.
pub(super) fn root_mean_squares(engine: &dyn Engine, weights: &[f64], batch: &Batch) -> Vec<f64> {
    let mut squares = vec![0.0; weights.len()];
    for row in (0..batch.rows).step_by(TOGETHER) {
        let jacobian = engine.jacobian(weights, &batch.part(0..1, row..batch.rows.min(row + TOGETHER)));
        for row in jacobian.rows.chunks_exact(weights.len()) {
            squares.iter_mut().zip(row).for_each(|(sum, value)| *sum += value * value);
        }
    }
    squares.into_iter().map(f64::sqrt).collect()
}

/// Sizes `[P]` of the terms of an environment with `weights [P]`, up to a factor that all share, over the starts of the segments of `batch`,
/// which are one interval long.
pub(super) fn sizes(layout: &Layout, engine: &dyn Engine, weights: &[f64], batch: &Batch) -> Vec<f64> {
    // Nothing moves where all coefficients are zero, and derivatives by them are the products times the interval.
    let mut still = weights.to_vec();
    coefficients(layout).for_each(|block| still[block.range()].fill(0.0));
    let products = root_mean_squares(engine, &still, batch);
    weights.iter().zip(products).map(|(weight, product)| weight.abs() * product).collect()
}

/// Turns sizes into shares of the greatest of the same rate. Weights of a denominator, which are no terms, get one.
pub(super) fn to_shares(layout: &Layout, sizes: &mut [f64]) {
    let rate = |block: &Block, c: usize| block.offset + c * block.shape[1]..block.offset + (c + 1) * block.shape[1];
    for c in 0..coefficients(layout).map(|block| block.shape[0]).max().unwrap_or(0) {
        let of_rate: Vec<usize> = coefficients(layout).flat_map(|block| rate(block, c)).collect();
        let greatest = of_rate.iter().fold(f64::MIN_POSITIVE, |most, &p| most.max(sizes[p]));
        of_rate.iter().for_each(|&p| sizes[p] /= greatest);
    }
    layout.blocks.iter().filter(|block| block.shape.len() != 2).for_each(|block| sizes[block.range()].fill(1.0));
}

/// The blocks that have a coefficient for each product of each rate.
fn coefficients(layout: &Layout) -> impl Iterator<Item = &Block> {
    layout.blocks.iter().filter(|block| block.shape.len() == 2)
}
