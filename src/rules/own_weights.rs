//! Rules whose environments own some of the weights:
//!
//! ```text
//! theta_e = S phi + E (psi_0 + xi_e)
//! ```
//!
//! `S` puts the shared values `phi [S]` at the places of the shared weights, `E` what an environment owns, `xi_e [d]` beside its start `psi_0`, at
//! those of the owned ones. A weight may be both, and is their sum; one that is neither is zero.

use super::context_fit::ContextFit;
use super::places::{Locality, Places};
use super::rule::Rule;
use super::shared_tensor::SharedTensor;
use crate::models::{Block, Layout};
use crate::random::Stream;

/// A network some of whose weights belong to the environment.
pub(super) struct OwnWeights {
    /// Places of `phi` among the weights `[P]`.
    pub shared: Vec<usize>,
    /// Places of `xi`.
    pub owned: Vec<usize>,
    /// `psi_0 [d]`.
    pub start: Vec<f64>,
    /// What the tensors of `phi` are called in files.
    pub name: &'static str,
    /// How the values of a new environment are found.
    pub fit: ContextFit,
}

impl OwnWeights {
    /// All weights are shared, and those in the range `owned` have a part of the environment's own, which is zero at first.
    pub(super) fn beside_shared(layout: &Layout, owned: std::ops::Range<usize>, fit: ContextFit) -> Self {
        let (shared, start) = ((0..layout.size()).collect(), vec![0.0; owned.len()]);
        OwnWeights { shared, owned: owned.collect(), start, name: "theta", fit }
    }
}

impl Rule for OwnWeights {
    fn shared_size(&self) -> usize {
        self.shared.len()
    }

    fn context_size(&self) -> usize {
        self.owned.len()
    }

    fn initial_shared(&self, weights: Vec<f64>, _std_dev: f64, _stream: &mut Stream) -> Vec<f64> {
        self.shared.iter().map(|&index| weights[index]).collect()
    }

    fn decode(&self, shared: &[f64], context: &[f64], weights: &mut [f64]) {
        weights.fill(0.0);
        self.shared.iter().zip(shared).for_each(|(&index, phi)| weights[index] = *phi);
        let owned = self.owned.iter().zip(self.start.iter().zip(context));
        owned.for_each(|(&index, (start, xi))| weights[index] += start + xi);
    }

    fn push_forward(
        &self,
        _shared: &[f64],
        _context: &[f64],
        d_shared: &[f64],
        d_context: &[f64],
        d_weights: &mut [f64],
    ) {
        self.shared.iter().zip(d_shared).for_each(|(&index, d)| d_weights[index] += d);
        self.owned.iter().zip(d_context).for_each(|(&index, d)| d_weights[index] += d);
    }

    fn pull_back(
        &self,
        _shared: &[f64],
        _context: &[f64],
        d_weights: &[f64],
        d_shared: &mut [f64],
        d_context: &mut [f64],
    ) {
        self.shared.iter().zip(d_shared).for_each(|(&index, d)| *d += d_weights[index]);
        self.owned.iter().zip(d_context).for_each(|(&index, d)| *d += d_weights[index]);
    }

    fn moving_weights(&self, size: usize) -> Vec<usize> {
        let mut moves = vec![false; size];
        self.shared.iter().chain(&self.owned).for_each(|&index| moves[index] = true);
        (0..size).filter(|&index| moves[index]).collect()
    }

    fn tensors(&self, layout: &Layout) -> Vec<SharedTensor> {
        let of_block = |block: &Block| {
            let places = self.shared.iter().enumerate().filter(|(_, index)| block.range().contains(index));
            let indices: Vec<usize> = places.map(|(place, _)| place).collect();
            // A part of a block has no shape of its own.
            let shape = if indices.len() == block.size() { block.shape.clone() } else { vec![indices.len()] };
            SharedTensor { name: format!("{}.{}", self.name, block.name), shape, indices }
        };
        layout.blocks.iter().map(of_block).collect()
    }

    fn is_affine(&self) -> bool {
        true
    }

    fn places(&self, weights: usize) -> Option<Places> {
        let (mut constants, mut owned, mut starts) = (vec![None; weights], vec![None; weights], vec![0.0; weights]);
        self.shared.iter().enumerate().for_each(|(i, &p)| constants[p] = Some(i));
        for (i, (&p, start)) in self.owned.iter().zip(&self.start).enumerate() {
            (owned[p], starts[p]) = (Some(i), *start);
        }
        Some(Places { constants, columns: Vec::new(), owned, starts, locality: Locality::None })
    }

    fn context_fit(&self) -> ContextFit {
        self.fit
    }
}
