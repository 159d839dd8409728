//! A Gaussian random field on the periodic unit square.
//!
//! ```text
//! w(x) = Re sum_k s_k c_k exp(2 pi i k . x),    s_k = sqrt(2) sigma (|2 pi k|^2 + tau^2)^(-alpha/2),    sigma = tau^(alpha - 1)
//! ```
//!
//! `w [n, n]` at `x = (i/n, j/n)`; `k` integer, both components in `[-n/2, n/2)`, not both zero; `c_k` complex standard normal,
//! `E |c_k|^2 = 1`. So `w` has mean zero and the covariance `sigma^2 (-lap + tau^2)^(-alpha)`, but for what lies beyond `n/2`.
//! Source: Z. Li et al., Fourier Neural Operator for Parametric Partial Differential Equations, ICLR 2021, appendix A.3 and
//! its published code, of which `s_k` is taken.

use std::f64::consts::{SQRT_2, TAU};

use crate::fourier::{Field, Fourier};

/// Parameters of the distribution.
#[derive(Clone, Copy)]
pub(crate) struct RandomField {
    /// Smoothness `alpha`.
    pub smoothness: f64,
    /// Inverse correlation length `tau`.
    pub inverse_length: f64,
}

impl RandomField {
    /// Writes a field `[n, n]` drawn with `uniform`, which gives independent draws from `[0, 1)`.
    pub(crate) fn draw(self, n: usize, uniform: &mut dyn FnMut() -> f64, field: &mut [f64]) {
        let mut spectrum = Field::zero(n * n);
        for (place, (re, im)) in spectrum.re.iter_mut().zip(&mut spectrum.im).enumerate() {
            let size = self.size(wave_number(place / n, n), wave_number(place % n, n));
            // Box and Muller: a complex standard normal number from two uniform ones.
            let radius = (-(1.0 - uniform()).ln()).sqrt();
            let (sine, cosine) = (TAU * uniform()).sin_cos();
            (*re, *im) = (size * radius * cosine, size * radius * sine);
        }
        Fourier::new(n).inverse(&mut spectrum);
        field.copy_from_slice(&spectrum.re);
    }

    /// `s_k`; zero for `k = 0`.
    fn size(self, k_x: f64, k_y: f64) -> f64 {
        let square = TAU * TAU * (k_x * k_x + k_y * k_y);
        if square == 0.0 {
            return 0.0;
        }
        let RandomField { smoothness, inverse_length } = self;
        let scale = SQRT_2 * inverse_length.powf(smoothness - 1.0);
        scale * (square + inverse_length * inverse_length).powf(-0.5 * smoothness)
    }
}

/// The wave number at `position` of a spectrum's axis with `n` points.
fn wave_number(position: usize, n: usize) -> f64 {
    if position < n / 2 { position as f64 } else { position as f64 - n as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    #[test]
    fn fields_have_the_mean_and_the_covariance_of_their_law() {
        let law = RandomField { smoothness: 2.5, inverse_length: 7.0 };
        let (n, fields, lag) = (16, 4000, 3);
        // Half the squares of `s_k`, at lag zero and at `lag` points along x.
        let mut expected = [0.0; 2];
        for place in 0..n * n {
            let k = [wave_number(place / n, n), wave_number(place % n, n)];
            let power = 0.5 * law.size(k[0], k[1]).powi(2);
            expected[0] += power;
            expected[1] += power * (TAU * k[0] * lag as f64 / n as f64).cos();
        }
        let mut stream = Stream::new(2, "field", &[]);
        let mut field = vec![0.0; n * n];
        let mut found = [0.0; 2];
        for _ in 0..fields {
            law.draw(n, &mut || stream.unit(), &mut field);
            let mean = field.iter().sum::<f64>() / field.len() as f64;
            assert!(mean.abs() < 1e-12, "{mean}");
            found[0] += field[0] * field[0] / f64::from(fields);
            found[1] += field[0] * field[lag * n] / f64::from(fields);
        }
        // Five standard errors of a variance from as many normal draws.
        let margin = 5.0 * expected[0] * (2.0 / f64::from(fields)).sqrt();
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < margin, "{found} {expected} {margin}");
        }
    }
}
