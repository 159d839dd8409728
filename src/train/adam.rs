//! Adam: `m <- b1 m + (1 - b1) g`, `v <- b2 v + (1 - b2) g^2`, `w <- w - lr mhat / (sqrt(vhat) + eps)`,
//! `mhat = m / (1 - b1^t)`, `vhat = v / (1 - b2^t)`. Source: Kingma and Ba, ICLR 2015, algorithm 1.

use crate::engine::{BETA_1, BETA_2, EPSILON};

/// Makes step `t` (from 1) on `weights`; all slices have one length.
pub(super) fn step(weights: &mut [f64], first: &mut [f64], second: &mut [f64], gradient: &[f64], rate: f64, t: u64) {
    let t = i32::try_from(t).unwrap_or(i32::MAX);
    let (correction_1, correction_2) = (1.0 - BETA_1.powi(t), 1.0 - BETA_2.powi(t));
    for (((w, m), v), g) in weights.iter_mut().zip(first).zip(second).zip(gradient) {
        *m = BETA_1 * *m + (1.0 - BETA_1) * g;
        *v = BETA_2 * *v + (1.0 - BETA_2) * g * g;
        *w -= rate * (*m / correction_1) / ((*v / correction_2).sqrt() + EPSILON);
    }
}

/// Scales `gradient` down to norm `limit` if it is longer. Returns its norm before.
pub(super) fn clip(gradient: &mut [f64], limit: f64) -> f64 {
    let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    if norm > limit {
        gradient.iter_mut().for_each(|g| *g *= limit / norm);
    }
    norm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_has_the_length_of_the_rate_and_a_quadratic_is_minimised() {
        let (mut w, mut m, mut v) = ([3.0, -2.0], [0.0; 2], [0.0; 2]);
        for t in 1..=2000 {
            let before = w;
            let gradient = [2.0 * (w[0] - 1.0), 20.0 * (w[1] - 1.0)];
            step(&mut w, &mut m, &mut v, &gradient, 0.01, t);
            if t == 1 {
                approx::assert_relative_eq!(before[0] - w[0], 0.01, max_relative = 1e-6);
                approx::assert_relative_eq!(before[1] - w[1], -0.01, max_relative = 1e-6);
            }
        }
        approx::assert_relative_eq!(w[0], 1.0, epsilon = 1e-3);
        approx::assert_relative_eq!(w[1], 1.0, epsilon = 1e-3);
    }

    #[test]
    fn clipping_keeps_direction_and_bounds_length() {
        let mut gradient = [3.0, 4.0];
        assert_eq!(clip(&mut gradient, 1.0), 5.0);
        approx::assert_relative_eq!(gradient[0], 0.6, max_relative = 1e-12);
        assert_eq!(clip(&mut gradient, 2.0), clip(&mut gradient, 1.0));
    }
}
