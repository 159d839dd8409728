//! The damping of Levenberg-Marquardt steps, by the gain ratio.
//!
//! ```text
//! (J'J + lambda D) s = -J'r,     rho = (f(u) - f(u + s)) / predicted reduction,     D = diag(J'J), or 1
//! accepted:  lambda <- lambda max(1/3, 1 - (2 rho - 1)^3),  nu <- 2          rejected:  lambda <- nu lambda,  nu <- 2 nu
//! ```
//!
//! Source: H. B. Nielsen, Damping parameter in Marquardt's method, report IMM-REP-1999-05, Technical University of Denmark (1999).

/// Damping of the first step where it is relative to the diagonal.
const INITIAL: f64 = 1e-3;
/// Such a damping beyond which no step helps any more.
const GREATEST: f64 = 1e12;

/// The damping `lambda` of the next step, and the factor `nu` by which a rejected step raises it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Damping {
    /// `lambda`.
    pub value: f64,
    /// `nu`.
    pub growth: f64,
}

impl Default for Damping {
    fn default() -> Self {
        Damping::new(INITIAL)
    }
}

impl Damping {
    /// A first step with the damping `value`.
    pub(crate) fn new(value: f64) -> Self {
        Damping { value, growth: 2.0 }
    }

    /// Adapts to an accepted step that reduced the objective by `reduction`, where its quadratic model predicted `predicted`.
    pub(crate) fn accept(&mut self, reduction: f64, predicted: f64) {
        let gain = reduction / predicted.max(f64::MIN_POSITIVE);
        self.value *= f64::max(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0).powi(3));
        self.growth = 2.0;
    }

    /// Raises the damping after a step that increased the objective, or had no solution.
    pub(crate) fn reject(&mut self) {
        self.value *= self.growth;
        self.growth *= 2.0;
    }

    /// Whether a damping relative to the diagonal is too large for any step to help.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.value > GREATEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damping_follows_the_gain_ratio() {
        let mut damping = Damping::default();
        damping.accept(1.0, 1.0);
        approx::assert_relative_eq!(damping.value, INITIAL / 3.0);
        damping.accept(1.0, 2.0);
        approx::assert_relative_eq!(damping.value, INITIAL / 3.0);
        damping.accept(0.0, 1.0);
        approx::assert_relative_eq!(damping.value, 2.0 * INITIAL / 3.0);
        damping.reject();
        damping.reject();
        approx::assert_relative_eq!(damping.value, 16.0 * INITIAL / 3.0);
        damping.accept(1.0, 2.0);
        damping.reject();
        approx::assert_relative_eq!(damping.value, 32.0 * INITIAL / 3.0);
        assert!(!damping.is_exhausted());
        (0..10).for_each(|_| damping.reject());
        assert!(damping.is_exhausted());
    }
}
