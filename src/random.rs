//! Random streams keyed by seed, purpose and indices.
//!
//! A draw depends on this key alone, not on threads or on the number of other draws.

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

/// A stream of pseudo-random numbers.
pub struct Stream(ChaCha12Rng);

impl Stream {
    /// The stream of `purpose` with `indices` under `seed`.
    pub fn new(seed: u64, purpose: &str, indices: &[u64]) -> Self {
        let mut hash = Sha256::new();
        hash.update(seed.to_le_bytes());
        hash.update((purpose.len() as u64).to_le_bytes());
        hash.update(purpose.as_bytes());
        for index in indices {
            hash.update(index.to_le_bytes());
        }
        Stream(ChaCha12Rng::from_seed(hash.finalize().into()))
    }

    /// Uniform on `[0, 1)`, 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform on `[low, high)`.
    pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Standard normal, by the method of Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_key_matters() {
        let first = |seed, purpose, indices: &[u64]| Stream::new(seed, purpose, indices).unit().to_bits();
        let mut draws = vec![
            first(0, "train", &[0, 0]),
            first(1, "train", &[0, 0]),
            first(0, "test", &[0, 0]),
            first(0, "train", &[1, 0]),
            first(0, "train", &[0, 1]),
            first(0, "train", &[0]),
        ];
        assert_eq!(draws[0], first(0, "train", &[0, 0]));
        draws.sort_unstable();
        draws.dedup();
        assert_eq!(draws.len(), 6);
    }

    #[test]
    fn draws_are_uniform() {
        let mut stream = Stream::new(7, "grid", &[3, 1]);
        let draws: Vec<f64> = (0..20_000).map(|_| stream.unit()).collect();
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        // Four standard errors of the mean and of the variance of 20,000 uniform draws.
        assert!((mean - 0.5).abs() < 4.0 * (1.0_f64 / 12.0 / 20_000.0).sqrt(), "mean {mean}");
        assert!((variance - 1.0 / 12.0).abs() < 4.0 * (1.0_f64 / 180.0 / 20_000.0).sqrt(), "variance {variance}");
    }
}
