//! The states that a solver can step: arrays and tensors.

/// A state that a Runge-Kutta step can advance: `self + dt * sum_i c_i k_i`.
///
/// `Step` is `f64` for one trajectory, and a tensor with one step per row for a batch.
pub trait State: Sized {
    /// The length of a step.
    type Step;

    /// `self + dt * sum_i c_i k_i` for `terms = [(c_i, k_i)]`; terms with `c_i = 0` are not passed.
    fn advance(&self, dt: &Self::Step, terms: &[(f64, &Self)]) -> Self;
}

impl State for Vec<f64> {
    type Step = f64;

    fn advance(&self, dt: &f64, terms: &[(f64, &Self)]) -> Self {
        let mut next = self.clone();
        for (coefficient, derivative) in terms {
            let weight = dt * coefficient;
            for (value, slope) in next.iter_mut().zip(derivative.iter()) {
                *value += weight * slope;
            }
        }
        next
    }
}
