//! What a library of products makes of each channel of a periodic field.
//!
//! On a grid, in units of its spacing, `S a` being `a_{-1} + 2 a + a_{+1}` along an axis:
//!
//! ```text
//! laplacian            S_0 S_1 a / 4 - 4 a                    nine points: -3 at the centre, 1/2 at the sides, 1/4 at the corners
//! gradient             (a_{+1} - a_{-1}) / 2 along each axis
//! ```
//!
//! By Fourier series, the side of the square being `2 pi`, so that what they make is as large as the channel; of the wave vectors `k` with `|k_0|, |k_1| < n / 3`, so that products of two are free of aliases:
//!
//! ```text
//! spectral-laplacian   -|k|^2 A_k
//! spectral-gradient    i k_0 A_k,   i k_1 A_k
//! velocity             i k_1 A_k / |k|^2,   -i k_0 A_k / |k|^2
//! ```
//!
//! `velocity` is that of an incompressible flow with the vorticity `a`: `v = (d psi/dy, -d psi/dx)`, `lap psi = -a`.

use std::f64::consts::TAU;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is made of each channel of a periodic field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operator {
    /// Laplacian of nine points, in units of the spacing: -3 at the centre, 1/2 at the sides, 1/4 at the corners.
    Laplacian,
    /// Central differences along both axes, in units of the spacing.
    Gradient,
    /// Laplacian by Fourier series, the side of a square grid being 2 pi.
    SpectralLaplacian,
    /// Derivatives along both axes by Fourier series, the side of a square grid being 2 pi.
    SpectralGradient,
    /// Velocity of the incompressible flow whose vorticity the channel is, by Fourier series, the side of a square grid being 2 pi.
    Velocity,
    /// Nothing of a channel, but sine and cosine of one turn along each axis of a square grid.
    Waves,
}

impl Operator {
    /// The name used in settings.
    pub fn name(self) -> &'static str {
        match self {
            Operator::Laplacian => "laplacian",
            Operator::Gradient => "gradient",
            Operator::SpectralLaplacian => "spectral-laplacian",
            Operator::SpectralGradient => "spectral-gradient",
            Operator::Velocity => "velocity",
            Operator::Waves => "waves",
        }
    }

    /// Fields that it makes of one channel.
    pub(crate) fn outputs(self) -> usize {
        match self {
            Operator::Laplacian | Operator::SpectralLaplacian => 1,
            Operator::Gradient | Operator::SpectralGradient | Operator::Velocity => 2,
            Operator::Waves => 0,
        }
    }

    /// Whether it is a Fourier series.
    pub fn is_spectral(self) -> bool {
        matches!(self, Operator::SpectralLaplacian | Operator::SpectralGradient | Operator::Velocity)
    }

    /// The factor of each Fourier coefficient `[n, n]`, for each field it makes; none if it is no Fourier series.
    pub(crate) fn multipliers(self, n: usize) -> Vec<Vec<[f64; 2]>> {
        let of = |factor: fn(f64, f64) -> [f64; 2]| -> Vec<[f64; 2]> {
            let waves = |place: usize| [place / n, place % n].map(|at| signed(at, n));
            let value = |place: usize| match waves(place) {
                [p, q] if is_kept(p, q, n) => factor(p as f64, q as f64),
                _ => [0.0; 2],
            };
            (0..n * n).map(value).collect()
        };
        match self {
            Operator::SpectralLaplacian => vec![of(|p, q| [-(p * p + q * q), 0.0])],
            Operator::SpectralGradient => vec![of(|p, _| [0.0, p]), of(|_, q| [0.0, q])],
            Operator::Velocity => vec![of(|p, q| [0.0, over_square(q, p, q)]), of(|p, q| [0.0, -over_square(p, p, q)])],
            Operator::Laplacian | Operator::Gradient | Operator::Waves => Vec::new(),
        }
    }
}

/// One for the Fourier coefficients `[n, n]` that are kept, zero for the others.
pub(crate) fn kept(n: usize) -> Vec<f64> {
    let value = |place: usize| f64::from(u8::from(is_kept(signed(place / n, n), signed(place % n, n), n)));
    (0..n * n).map(value).collect()
}

/// Sine and cosine of one turn along the first axis, then along the second `[4, n n]`.
pub(crate) fn waves(n: usize) -> Vec<f64> {
    let turn = |at: usize| (TAU * at as f64 / n as f64).sin_cos();
    let of = |value: &dyn Fn(usize) -> f64| (0..n * n).map(value).collect::<Vec<f64>>();
    [
        of(&|place| turn(place / n).0),
        of(&|place| turn(place / n).1),
        of(&|place| turn(place % n).0),
        of(&|place| turn(place % n).1),
    ]
    .concat()
}

/// The wave number of the coefficient at `at`.
fn signed(at: usize, n: usize) -> isize {
    if 2 * at > n { at as isize - n as isize } else { at as isize }
}

fn is_kept(p: isize, q: isize, n: usize) -> bool {
    let most = ((n - 1) / 3) as isize;
    p.abs() <= most && q.abs() <= most
}

/// `a / (p^2 + q^2)`, zero for the mean.
fn over_square(a: f64, p: f64, q: f64) -> f64 {
    let square = p * p + q * q;
    if square > 0.0 { a / square } else { 0.0 }
}
