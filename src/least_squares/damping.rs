//! The damping of Gauss-Newton steps (Levenberg-Marquardt) by the gain ratio.
//!
//! ```text
//! g = (f(z) - f(z + s)) / (f(z) - m(z + s))            decrease found over the one that the model `m` of `f` predicts
//! a step that is taken:    lambda <- lambda max(1/3, 1 - (2 g - 1)^3),   nu <- 2
//! one that is not:         lambda <- nu lambda,                           nu <- 2 nu
//! ```
//!
//! Source: H. B. Nielsen, "Damping Parameter in Marquardt's Method", report IMM-REP-1999-05, Technical University of Denmark, 1999.

/// Of dampings relative to the diagonal: one to begin with, and one beyond which no step can help any more.
const START: f64 = 1e-3;
const GREATEST: f64 = 1e12;

/// `lambda` and `nu`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Damping {
    /// `lambda`.
    pub value: f64,
    /// `nu`, the factor of the next increase.
    pub growth: f64,
}

impl Damping {
    /// To begin with `value`.
    pub fn new(value: f64) -> Self {
        Damping { value, growth: 2.0 }
    }

    /// To begin with where it is relative to the diagonal.
    pub fn relative() -> Self {
        Damping::new(START)
    }

    /// Behind a step that was taken: `found` is the decrease, `predicted` that of the model.
    pub fn taken(&mut self, found: f64, predicted: f64) {
        let gain = found / predicted.max(f64::MIN_POSITIVE);
        *self = Damping::new(self.value * f64::max(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0).powi(3)));
    }

    /// Behind a step that was not taken, or could not be computed.
    pub fn refused(&mut self) {
        self.value *= self.growth;
        self.growth *= 2.0;
    }

    /// Whether a damping relative to the diagonal is so great that no step can help any more.
    pub fn is_spent(self) -> bool {
        self.value > GREATEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_as_good_as_predicted_loosens_and_refusals_tighten_faster_and_faster() {
        let mut damping = Damping::new(3.0);
        damping.taken(1.0, 1.0);
        assert_eq!(damping, Damping { value: 1.0, growth: 2.0 });
        damping.taken(0.5, 1.0);
        assert_eq!(damping.value, 1.0, "half of what was predicted changes nothing");
        damping.taken(0.0, 1.0);
        assert_eq!(damping.value, 2.0);
        for expected in [4.0, 16.0, 128.0] {
            damping.refused();
            assert_eq!(damping.value, expected);
        }
        damping.taken(1.0, 1.0);
        assert_eq!(damping.growth, 2.0);
        let mut damping = Damping::relative();
        let refusals = (0..20).take_while(|_| {
            damping.refused();
            !damping.is_spent()
        });
        assert_eq!(refusals.count(), 9, "2^(1 + .. + 10) is the first of them beyond 1e15");
    }
}
