//! Sums of the stages of a step, over states of any length.
//!
//! ```text
//! out = y + dt sum_i w_i k_i
//! ```
//!
//! `y [C]` state, `k_i [C]` stages, `w_i` coefficients of the method. Every value is summed in the order of the stages, and no
//! multiplication is fused with an addition: results are the same on all processors.

use pulp::{Arch, Simd, WithSimd};

/// States of at least so many values are worth the vectors of the processor.
pub(crate) const LONG: usize = 64;
/// Stages of a method, at most.
const MOST_STAGES: usize = 16;
/// Registers that are summed side by side, while each stage is read once.
const REGISTERS: usize = 8;

/// `out = state + dt sum_i weights_i stages_i`, of `stages [m, C]`; without a state, the sum alone.
pub(crate) fn combine(state: Option<&[f64]>, dt: f64, weights: &[f64], stages: &[f64], out: &mut [f64]) {
    let size = out.len();
    let terms = weights.iter().zip(stages.chunks_exact(size)).filter(|(weight, _)| **weight != 0.0);
    if size < LONG {
        match state {
            Some(state) => out.copy_from_slice(state),
            None => out.fill(0.0),
        }
        for (weight, stage) in terms {
            for (value, slope) in out.iter_mut().zip(stage) {
                *value += dt * weight * slope;
            }
        }
        return;
    }
    let mut list = [(0.0, &[][..]); MOST_STAGES];
    let mut count = 0;
    for (place, (weight, stage)) in list.iter_mut().zip(terms) {
        *place = (dt * weight, stage);
        count += 1;
    }
    Arch::new().dispatch(Combination { state, terms: &list[..count], out });
}

struct Combination<'a> {
    state: Option<&'a [f64]>,
    terms: &'a [(f64, &'a [f64])],
    out: &'a mut [f64],
}

impl WithSimd for Combination<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let zero = simd.splat_f64s(0.0);
        let mut terms = [(zero, &[][..]); MOST_STAGES];
        for (term, (weight, stage)) in terms.iter_mut().zip(self.terms) {
            *term = (simd.splat_f64s(*weight), S::as_simd_f64s(stage).0.as_chunks::<REGISTERS>().0);
        }
        let terms = &terms[..self.terms.len()];
        let blocks = S::as_mut_simd_f64s(self.out).0.as_chunks_mut::<REGISTERS>().0;
        let state = self.state.map(|state| S::as_simd_f64s(state).0.as_chunks::<REGISTERS>().0);
        let done = size_of_val(blocks) / size_of::<f64>();
        for (index, block) in blocks.iter_mut().enumerate() {
            let mut sums = state.map_or([zero; REGISTERS], |state| state[index]);
            for (weight, stage) in terms {
                let stage = &stage[index];
                for (sum, slope) in sums.iter_mut().zip(stage) {
                    *sum = simd.add_f64s(*sum, simd.mul_f64s(*weight, *slope));
                }
            }
            *block = sums;
        }
        for (index, value) in self.out.iter_mut().enumerate().skip(done) {
            let start = self.state.map_or(0.0, |state| state[index]);
            *value = self.terms.iter().fold(start, |sum, (weight, stage)| sum + weight * stage[index]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_change_no_bit() {
        for size in [3, 63, 64, 65, 200, 331] {
            let numbers: Vec<f64> = (0..6 * size).map(|i| (i as f64 * 0.7).sin()).collect();
            let (state, stages) = numbers.split_at(size);
            let weights = [0.3, 0.0, -1.7, 0.1, 2.5];
            for state in [Some(state), None] {
                let mut out = vec![f64::NAN; size];
                combine(state, 0.01, &weights, stages, &mut out);
                for (index, value) in out.iter().enumerate() {
                    let mut expected = state.map_or(0.0, |state| state[index]);
                    for (weight, stage) in weights.iter().zip(stages.chunks_exact(size)) {
                        expected += 0.01 * weight * stage[index];
                    }
                    assert_eq!(*value, expected, "{size}, {index}");
                }
            }
        }
    }
}
