//! The noise that suits given trajectories best: `phi [q]` of the greatest likelihood with everything else held.
//!
//! It costs no integration, so that the steps of all unknowns need not find their way along a bent valley of trajectories and noise. Each kind
//! of noise has a Newton's method of its own, with the second derivatives of the likelihood by differences of the first, and with the absolute
//! values of their eigenvalues, which keeps it from going up.

use nalgebra::{DMatrix, DVector};

use super::density::Information;
use super::objective::{Objective, Parameter};
use crate::estimate::physics::experiment::Rollout;

/// Iterations at most.
const ITERATIONS: usize = 30;
/// Times that a step is halved at most.
const HALVINGS: usize = 8;
/// Decrease of `-2 log L` below which it has settled.
const SETTLED: f64 = 1e-9;
/// The longest step of a logarithm.
const LONGEST: f64 = 2.0;
/// Step of the differences.
const STEP: f64 = 1e-4;
/// Curvatures below this share of the greatest one count as that.
const FLAT: f64 = 1e-6;

impl Objective<'_> {
    /// `phi [q]` of the greatest likelihood near `phi` with the trajectories of `rollout`.
    pub(crate) fn settled(&self, rollout: &Rollout, mut phi: Vec<f64>) -> Vec<f64> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for noise in &self.noise {
            let of_channel = noise.parameters.iter().filter_map(|parameter| match *parameter {
                Parameter::Estimated { index, .. } => Some(index),
                Parameter::Known(_) => None,
            });
            let group: Vec<usize> = of_channel.collect();
            if !group.is_empty() && !groups.contains(&group) {
                groups.push(group);
            }
        }
        for group in &groups {
            for _ in 0..ITERATIONS {
                let (value, gradient) = self.of_group(group, rollout, &phi);
                let active = self.active(&phi, &gradient);
                let free: Vec<usize> = group.iter().copied().filter(|&index| !active[index]).collect();
                if free.is_empty() || !value.is_finite() {
                    break;
                }
                let slope = |index: usize| {
                    let at = |by: f64| {
                        let mut moved = phi.clone();
                        moved[index] += by;
                        self.of_group(group, rollout, &moved).1
                    };
                    let (after, before) = (at(STEP), at(-STEP));
                    free.iter().map(|&row| (after[row] - before[row]) / (2.0 * STEP)).collect::<Vec<f64>>()
                };
                let columns: Vec<f64> = free.iter().flat_map(|&index| slope(index)).collect();
                let curvature = DMatrix::from_vec(free.len(), free.len(), columns);
                let gradient = DVector::from_iterator(free.len(), free.iter().map(|&index| gradient[index]));
                let Some(mut step) = newton_step(&curvature, &gradient) else { break };
                let mut better = None;
                for _ in 0..HALVINGS {
                    let mut moved = phi.clone();
                    free.iter().zip(step.iter()).for_each(|(&index, by)| moved[index] += by);
                    let moved = self.clamped(moved.into_iter());
                    let after = self.of_group(group, rollout, &moved).0;
                    if after < value {
                        better = Some((moved, value - after));
                        break;
                    }
                    step *= 0.5;
                }
                let Some((moved, decrease)) = better else { break };
                phi = moved;
                if decrease < SETTLED {
                    break;
                }
            }
        }
        phi
    }

    /// `-2 log L` of the values whose noise a group is, and half of its derivatives by `phi [q]`.
    fn of_group(&self, group: &[usize], rollout: &Rollout, phi: &[f64]) -> (f64, Vec<f64>) {
        let (mut value, mut gradient) = (0.0, vec![0.0; phi.len()]);
        for cell in &self.cells {
            let parameters = &self.noise[cell.channel].parameters;
            let is_in = |it: &Parameter| matches!(it, Parameter::Estimated { index, .. } if group.contains(index));
            if !parameters.iter().any(is_in) {
                continue;
            }
            let density = self.density(cell, rollout, phi, Information::OfOutcome);
            value += density.value;
            for (parameter, by) in parameters.iter().zip(&density.gradient[1..]) {
                if let Parameter::Estimated { index, .. } = *parameter {
                    gradient[index] += by;
                }
            }
        }
        (value, gradient)
    }
}

/// A step against the gradient by the absolute curvature; none where that is not finite.
fn newton_step(curvature: &DMatrix<f64>, gradient: &DVector<f64>) -> Option<DVector<f64>> {
    if !curvature.iter().chain(gradient.iter()).all(|it| it.is_finite()) {
        return None;
    }
    let eigen = (0.5 * (curvature + curvature.transpose())).symmetric_eigen();
    let greatest = eigen.eigenvalues.amax().max(f64::MIN_POSITIVE);
    let mut along = eigen.eigenvectors.tr_mul(gradient);
    along.iter_mut().zip(eigen.eigenvalues.iter()).for_each(|(it, value)| *it /= -value.abs().max(FLAT * greatest));
    Some((&eigen.eigenvectors * along).map(|by| by.clamp(-LONGEST, LONGEST)))
}
