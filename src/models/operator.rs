//! What a library of products makes of each channel of a field.
//!
//! On a grid of one to three axes, in units of its spacing, `a_{-1}` and `a_{+1}` being the neighbours along an axis:
//!
//! ```text
//! laplacian            one axis      a_{-1} - 2 a + a_{+1}
//!                      two axes      S_0 S_1 a / 4 - 4 a,   S a = a_{-1} + 2 a + a_{+1}:  -3 at the centre, 1/2 at the sides, 1/4 at the corners
//!                      three axes    the sum of the first over the axes:  -6 at the centre, 1 at the sides
//! gradient             (a_{+1} - a_{-1}) / 2 along each axis
//! ```
//!
//! A neighbour beyond the end of an axis is what its [`Boundary`](crate::schema::Boundary) says: the point at the other end, zero, or the point
//! at the end itself.
//!
//! By Fourier series, on a square grid that is periodic along both axes, the side of the square being `2 pi`, so that what they make is as large
//! as the channel; of the wave vectors `k` with `|k_0|, |k_1| < n / 3`, so that products of two are free of aliases:
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

/// What is made of each channel of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operator {
    /// Laplacian, in units of the spacing. On one axis -2 at the centre and 1 at the sides; on two, -3 at the centre, 1/2 at the sides and 1/4 at
    /// the corners; on three, -6 at the centre and 1 at the sides.
    Laplacian,
    /// Central differences along each axis, in units of the spacing.
    Gradient,
    /// Laplacian by Fourier series, the side of a square periodic grid being 2 pi.
    SpectralLaplacian,
    /// Derivatives along both axes by Fourier series, the side of a square periodic grid being 2 pi.
    SpectralGradient,
    /// Velocity of the incompressible flow whose vorticity the channel is, by Fourier series, the side of a square periodic grid being 2 pi.
    Velocity,
    /// Nothing of a channel, but sine and cosine of one turn along each axis of a square periodic grid.
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

    /// Fields that it makes of one channel on a grid of so many axes.
    pub(crate) fn outputs(self, axes: usize) -> usize {
        match self {
            Operator::Laplacian | Operator::SpectralLaplacian => 1,
            Operator::Gradient | Operator::SpectralGradient | Operator::Velocity => axes,
            Operator::Waves => 0,
        }
    }

    /// Whether it is made on a square periodic grid alone.
    pub(crate) fn needs_square(self) -> bool {
        self.is_spectral() || self == Operator::Waves
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
