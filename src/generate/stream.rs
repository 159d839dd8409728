//! Random draws that depend on nothing but what they are for.
//!
//! Each trajectory draws from its own ChaCha20 stream, whose 256-bit key is (seed, split, environment number, trajectory
//! number), 64 bits each. So neither threads, nor order, nor the number of environments and trajectories changes a draw.
//! Source: D. J. Bernstein, ChaCha, a variant of Salsa20 (2008).

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::schema::Split;

/// The draws of one trajectory.
pub(super) struct Stream(ChaCha20Rng);

impl Stream {
    pub(super) fn new(seed: u64, split: Split, environment: usize, trajectory: usize) -> Self {
        let mut key = [0; 32];
        let words = [seed, number(split), environment as u64, trajectory as u64];
        for (bytes, word) in key.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Stream(ChaCha20Rng::from_seed(key))
    }

    /// Uniform on `[0, 1)`: the upper 53 bits of a draw, so that the bytes do not depend on the version of a library.
    pub(super) fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

/// The number of a split in keys; part of what a seed means, so never to be changed.
fn number(split: Split) -> u64 {
    match split {
        Split::Train => 0,
        Split::Validation => 1,
        Split::Test => 2,
        Split::Adapt => 3,
        Split::AdaptTest => 4,
        Split::Grid => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_key_matters() {
        let first = |seed, split, environment, trajectory| {
            Stream::new(seed, split, environment, trajectory).uniform().to_bits()
        };
        let mut draws = vec![
            first(0, Split::Train, 0, 0),
            first(1, Split::Train, 0, 0),
            first(0, Split::Test, 0, 0),
            first(0, Split::Train, 1, 0),
            first(0, Split::Train, 0, 1),
        ];
        assert_eq!(draws[0], first(0, Split::Train, 0, 0));
        draws.sort_unstable();
        draws.dedup();
        assert_eq!(draws.len(), 5);
    }

    #[test]
    fn draws_are_uniform() {
        let mut stream = Stream::new(7, Split::Grid, 3, 1);
        let draws: Vec<f64> = (0..20_000).map(|_| stream.uniform()).collect();
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / draws.len() as f64;
        // Four standard errors of the mean and of the variance of 20,000 uniform draws.
        assert!((mean - 0.5).abs() < 4.0 * (1.0_f64 / 12.0 / 20_000.0).sqrt(), "mean {mean}");
        assert!((variance - 1.0 / 12.0).abs() < 4.0 * (1.0_f64 / 180.0 / 20_000.0).sqrt(), "variance {variance}");
    }
}
