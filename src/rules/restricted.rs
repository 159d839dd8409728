//! A rule under which some weights of every environment are zero, or stay as they are.

use super::context_fit::ContextFit;
use super::rule::Rule;
use super::shared_tensor::SharedTensor;
use crate::models::Layout;

/// `rule` with weights that do not move.
pub struct Restricted<'a> {
    rule: &'a dyn Rule,
    /// `[P]`.
    is_fixed: Vec<bool>,
    /// Whether these weights are zero.
    is_zero: bool,
}

impl<'a> Restricted<'a> {
    /// Under `rule`, but for the weights `[P]` that `is_dropped` tells, which are zero.
    pub fn dropped(rule: &'a dyn Rule, is_dropped: Vec<bool>) -> Self {
        Restricted { rule, is_fixed: is_dropped, is_zero: true }
    }

    /// Under `rule`, but the weights `[P]` that `is_held` tells depend on nothing.
    pub fn held(rule: &'a dyn Rule, is_held: Vec<bool>) -> Self {
        Restricted { rule, is_fixed: is_held, is_zero: false }
    }

    /// Sets to zero the shared values that only fixed weights depend on.
    pub fn clear(&self, shared: &mut [f64]) {
        let ones = vec![1.0; self.rule.context_size()];
        let reached = |of_fixed: bool| {
            let weights: Vec<f64> = self.is_fixed.iter().map(|&it| f64::from(u8::from(it == of_fixed))).collect();
            let (mut reached, mut d_context) = (vec![0.0; shared.len()], ones.clone());
            self.rule.pull_back(&vec![1.0; shared.len()], &ones, &weights, &mut reached, &mut d_context);
            reached
        };
        let (fixed, moving) = (reached(true), reached(false));
        for ((value, fixed), moving) in shared.iter_mut().zip(fixed).zip(moving) {
            if fixed != 0.0 && moving == 0.0 {
                *value = 0.0;
            }
        }
    }

    /// Derivatives by `weights`, or of them, zero for those that are fixed.
    fn moving(&self, weights: &[f64]) -> Vec<f64> {
        weights.iter().zip(&self.is_fixed).map(|(weight, &fixed)| if fixed { 0.0 } else { *weight }).collect()
    }
}

impl Rule for Restricted<'_> {
    fn shared_size(&self) -> usize {
        self.rule.shared_size()
    }

    fn context_size(&self) -> usize {
        self.rule.context_size()
    }

    fn initial_context(&self) -> Vec<f64> {
        self.rule.initial_context()
    }

    fn decode(&self, shared: &[f64], context: &[f64], weights: &mut [f64]) {
        self.rule.decode(shared, context, weights);
        if self.is_zero {
            weights.iter_mut().zip(&self.is_fixed).filter(|(_, fixed)| **fixed).for_each(|(weight, _)| *weight = 0.0);
        }
    }

    fn push_forward(
        &self,
        shared: &[f64],
        context: &[f64],
        d_shared: &[f64],
        d_context: &[f64],
        d_weights: &mut [f64],
    ) {
        let mut more = vec![0.0; d_weights.len()];
        self.rule.push_forward(shared, context, d_shared, d_context, &mut more);
        d_weights.iter_mut().zip(self.moving(&more)).for_each(|(d, more)| *d += more);
    }

    fn pull_back(
        &self,
        shared: &[f64],
        context: &[f64],
        d_weights: &[f64],
        d_shared: &mut [f64],
        d_context: &mut [f64],
    ) {
        self.rule.pull_back(shared, context, &self.moving(d_weights), d_shared, d_context);
    }

    fn moving_weights(&self, size: usize) -> Vec<usize> {
        let moving = self.rule.moving_weights(size).into_iter();
        moving.filter(|&weight| !self.is_fixed[weight]).collect()
    }

    fn tensors(&self, layout: &Layout) -> Vec<SharedTensor> {
        self.rule.tensors(layout)
    }

    fn penalty(&self, shared: &[f64]) -> f64 {
        self.rule.penalty(shared)
    }

    fn majorizer_weights(&self, shared: &[f64]) -> Vec<f64> {
        self.rule.majorizer_weights(shared)
    }

    fn is_affine(&self) -> bool {
        self.rule.is_affine()
    }

    fn context_fit(&self) -> ContextFit {
        self.rule.context_fit()
    }
}
