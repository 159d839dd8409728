//! LEADS: the vector field is the sum of one that all environments share and one of the environment's own,
//!
//! ```text
//! dx/dt = f(x; phi) + g_e(x; psi_e)
//! ```
//!
//! with `f` and `g_e` of one architecture, and `g_e` kept small, so that `f` explains what environments have in common.
//!
//! The sum of two networks is one network of twice the width whose halves do not see each other: hidden units of the first half are those of
//! `f`, of the second those of `g_e`, and the output sums both. So this rule takes any network of even width and splits it, and every engine
//! computes it as it is; weights between the halves are zero.
//!
//! The context is `xi_e = psi_e - psi_0`, with the fixed random start `psi_0` of the layers of `g`, whose last one is zero: a context of zero is
//! `g_e = 0`, the shared model. The bias of the last layer has a part of both.
//!
//! Source: Yin, Ayed, de Bezenac, Baskiotis, Gallinari, "LEADS: Learning Dynamical Systems that Generalize Across Environments", NeurIPS 2021,
//! equation 3; compared in Kirchmeyer, Yin et al., ICML 2022. Difference from the source: it penalises the norm of `g_e` over the observed
//! states, and the spectral norms of its layers. Here the penalty of contexts, `|psi_e - psi_0|^2`, stands for both: it is zero where `g_e` is,
//! and bounds the squared spectral norms of what the layers differ by from their start.
//!
//! The shared values are `phi`: `S` is the number of weights of `f`.

use super::context_fit::ContextFit;
use super::own_weights::OwnWeights;
use crate::models::{Block, Layout};
use crate::random::Stream;

/// Whose a weight is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Shared,
    Own,
    /// Both have a part of it.
    Both,
    /// It would join the halves.
    Neither,
}

/// The rule for a network of this layout.
pub(super) fn rule(layout: &Layout) -> OwnWeights {
    let mut stream = Stream::new(0, "leads", &[]);
    let (mut shared, mut owned, mut start) = (Vec::new(), Vec::new(), Vec::new());
    for (at, block) in layout.blocks.iter().enumerate() {
        let axes = halved(layout, at);
        let bound = 1.0 / (fan_in(block) as f64).sqrt();
        let is_last = layer(block) == layer(layout.blocks.last().expect("a network has layers"));
        for index in block.range() {
            let side = side(block, &axes, index - block.offset);
            if matches!(side, Side::Shared | Side::Both) {
                shared.push(index);
            }
            if matches!(side, Side::Own | Side::Both) {
                owned.push(index);
                start.push(if is_last { 0.0 } else { stream.uniform(-bound, bound) });
            }
        }
    }
    OwnWeights { shared, owned, start, name: "phi", fit: ContextFit::GaussNewton }
}

/// What stands in the way of splitting a network of this layout, if anything does.
pub(super) fn problem(layout: &Layout) -> Option<String> {
    let odd = |at: usize| {
        let block = &layout.blocks[at];
        halved(layout, at).into_iter().find(|&axis| !block.shape[axis].is_multiple_of(2))
    };
    let (at, axis) = (0..layout.blocks.len()).find_map(|at| Some((at, odd(at)?)))?;
    Some(format!("{} features in `{}`", layout.blocks[at].shape[axis], layout.blocks[at].name))
}

/// The number of the layer of a block named `layers.INDEX.WHAT`.
fn layer(block: &Block) -> Option<&str> {
    block.name.split('.').nth(1)
}

/// The axes of block `at` along which hidden features lie.
fn halved(layout: &Layout, at: usize) -> Vec<usize> {
    let block = &layout.blocks[at];
    let is_first = layer(block) == layer(&layout.blocks[0]);
    let is_last = layer(block) == layout.blocks.last().and_then(layer);
    // Of a spectrum `[waves, waves, in, out, 2]`, weights `[out, in, ..]`, or a bias `[out]`.
    let (output, input) = match block.shape.len() {
        5 => (3, Some(2)),
        1 => (0, None),
        _ => (0, Some(1)),
    };
    let axes = [input.filter(|_| !is_first), Some(output).filter(|_| !is_last)];
    axes.into_iter().flatten().collect()
}

/// Number of values that an output of the block is a sum of.
fn fan_in(block: &Block) -> usize {
    match block.shape.len() {
        5 => block.shape[2],
        1 => block.shape[0],
        _ => block.shape[1..].iter().product(),
    }
}

/// Whose the value `at` of `block` is, whose hidden features lie along `axes`.
fn side(block: &Block, axes: &[usize], at: usize) -> Side {
    let half = |axis: usize| {
        let stride: usize = block.shape[axis + 1..].iter().product();
        at / stride % block.shape[axis] >= block.shape[axis] / 2
    };
    let halves: Vec<bool> = axes.iter().map(|&axis| half(axis)).collect();
    match (halves.contains(&false), halves.contains(&true)) {
        (true, true) => Side::Neither,
        (true, false) => Side::Shared,
        (false, true) => Side::Own,
        (false, false) => Side::Both,
    }
}
