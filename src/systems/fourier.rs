//! The discrete Fourier transform of a complex field on a square periodic grid.
//!
//! ```text
//! forward   X[p, q] = sum_ij x[i, j] exp(-2 pi i (p i + q j) / n)
//! inverse   x[i, j] = sum_pq X[p, q] exp(+2 pi i (p i + q j) / n)        neither is divided by n^2
//! ```
//!
//! `n` points along each axis, a power of two; real and imaginary parts apart, `[n, n]`, row-major. The spectrum stands
//! transposed, `X[q, p]` in row `q`: a transform is then one pass down the columns, one transposition and a second pass.
//!
//! A pass transforms all columns at once, so that vectors run along the rows: Stockham's method with factors of four, and
//! one of two where `n` is no power of four. No fused multiply-add is used: the bits are those of every processor.
//! Source: C. Van Loan, Computational Frameworks for the Fast Fourier Transform, SIAM 1992, sections 1.7 and 2.4.

use pulp::{Arch, Simd, WithSimd};

pub(super) type Complex = [f64; 2];

/// A complex field `[n, n]` in two parts.
#[derive(Clone)]
pub(super) struct Field {
    pub re: Vec<f64>,
    pub im: Vec<f64>,
}

impl Field {
    /// Zero everywhere.
    pub(super) fn zero(points: usize) -> Self {
        Field { re: vec![0.0; points], im: vec![0.0; points] }
    }
}

/// The transform of fields of one size, and its memory.
pub(super) struct Fourier {
    n: usize,
    architecture: Arch,
    /// `exp(-2 pi i k / n)`, `k < n`.
    roots: Vec<Complex>,
    scratch: Field,
}

impl Fourier {
    /// For fields `[n, n]`.
    ///
    /// # Panics
    /// If `n` is no power of two from 8 up.
    pub(super) fn new(n: usize) -> Self {
        assert!(n.is_power_of_two() && n >= 8, "{n} points along an axis");
        let root = |k: usize| {
            let (sine, cosine) = (std::f64::consts::TAU * k as f64 / n as f64).sin_cos();
            [cosine, -sine]
        };
        Fourier { n, architecture: Arch::new(), roots: (0..n).map(root).collect(), scratch: Field::zero(n * n) }
    }

    /// From a field to its spectrum, in place.
    pub(super) fn forward(&mut self, field: &mut Field) {
        self.transform([&mut field.re, &mut field.im]);
    }

    /// From a spectrum to its field, in place: the forward transform with the parts exchanged.
    pub(super) fn inverse(&mut self, field: &mut Field) {
        self.transform([&mut field.im, &mut field.re]);
    }

    fn transform(&mut self, [re, im]: [&mut Vec<f64>; 2]) {
        let Fourier { n, architecture, roots, scratch } = self;
        architecture.dispatch(Transform { n: *n, roots, x: [re, im], scratch: [&mut scratch.re, &mut scratch.im] });
    }
}

type Parts<'a> = [&'a mut Vec<f64>; 2];

struct Transform<'a> {
    n: usize,
    roots: &'a [Complex],
    x: Parts<'a>,
    scratch: Parts<'a>,
}

impl WithSimd for Transform<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Transform { n, roots, x: [x_re, x_im], scratch: [y_re, y_im] } = self;
        for pass in 0..2 {
            if pass == 1 {
                transpose(n, x_re, y_re);
                transpose(n, x_im, y_im);
                std::mem::swap(x_re, y_re);
                std::mem::swap(x_im, y_im);
            }
            // `length` values remain to be transformed at each of `stride` places of a column.
            let (mut length, mut stride) = (n, 1);
            while length > 1 {
                let factor = if length.is_multiple_of(4) { 4 } else { 2 };
                let stage = Stage { parts: length / factor, width: stride * n, turn: n / length };
                let (x, y) = ([&x_re[..], &x_im[..]], [&mut y_re[..], &mut y_im[..]]);
                if factor == 4 {
                    stage.four(simd, roots, x, y)
                } else {
                    stage.two(simd, x, y)
                }
                std::mem::swap(x_re, y_re);
                std::mem::swap(x_im, y_im);
                (length, stride) = (length / factor, stride * factor);
            }
        }
    }
}

/// One stage of a pass: `parts` butterflies over blocks of `width` neighbouring values.
#[derive(Clone, Copy)]
struct Stage {
    parts: usize,
    width: usize,
    /// Butterfly `p` turns by the roots with numbers `turn p`, `2 turn p`, `3 turn p`.
    turn: usize,
}

impl Stage {
    /// `y[4p + m] = w^m sum_l (-i)^(l m) x[p + l parts]`, `w = exp(-2 pi i turn p / n)`, `l, m = 0 .. 3`.
    #[inline(always)]
    fn four<S: Simd>(self, simd: S, roots: &[Complex], [x_re, x_im]: [&[f64]; 2], [y_re, y_im]: [&mut [f64]; 2]) {
        let Stage { parts, width, turn } = self;
        let (x_re, x_im) = (S::as_simd_f64s(x_re).0, S::as_simd_f64s(x_im).0);
        let (y_re, y_im) = (S::as_mut_simd_f64s(y_re).0, S::as_mut_simd_f64s(y_im).0);
        let width = width / S::F64_LANES;
        for p in 0..parts {
            let w_1 = splat(simd, roots[turn * p]);
            let w_2 = splat(simd, roots[2 * turn * p]);
            let w_3 = splat(simd, roots[3 * turn * p]);
            let (re, im) = (blocks(x_re, p, parts, width), blocks(x_im, p, parts, width));
            let (to_re, to_im) = (&mut y_re[4 * p * width..][..4 * width], &mut y_im[4 * p * width..][..4 * width]);
            for q in 0..width {
                let (a, b) = ([re[0][q], im[0][q]], [re[1][q], im[1][q]]);
                let (c, d) = ([re[2][q], im[2][q]], [re[3][q], im[3][q]]);
                let (sum_ac, [re_ac, im_ac]) = (add(simd, a, c), subtract(simd, a, c));
                let (sum_bd, [re_bd, im_bd]) = (add(simd, b, d), subtract(simd, b, d));
                // `(a - c) - i (b - d)` and `(a - c) + i (b - d)`.
                let less = [simd.add_f64s(re_ac, im_bd), simd.sub_f64s(im_ac, re_bd)];
                let more = [simd.sub_f64s(re_ac, im_bd), simd.add_f64s(im_ac, re_bd)];
                [to_re[q], to_im[q]] = add(simd, sum_ac, sum_bd);
                [to_re[width + q], to_im[width + q]] = multiply(simd, w_1, less);
                [to_re[2 * width + q], to_im[2 * width + q]] = multiply(simd, w_2, subtract(simd, sum_ac, sum_bd));
                [to_re[3 * width + q], to_im[3 * width + q]] = multiply(simd, w_3, more);
            }
        }
    }

    /// `y[m] = x[0] + (-1)^m x[1]`: the last stage, which turns nothing.
    #[inline(always)]
    fn two<S: Simd>(self, simd: S, [x_re, x_im]: [&[f64]; 2], [y_re, y_im]: [&mut [f64]; 2]) {
        halves(simd, x_re, y_re);
        halves(simd, x_im, y_im);
    }
}

/// Sum and difference of the halves of `x`.
#[inline(always)]
fn halves<S: Simd>(simd: S, x: &[f64], y: &mut [f64]) {
    let (x, y) = (S::as_simd_f64s(x).0, S::as_mut_simd_f64s(y).0);
    let ((a, b), (sum, difference)) = (x.split_at(x.len() / 2), y.split_at_mut(x.len() / 2));
    for (((a, b), sum), difference) in a.iter().zip(b).zip(sum).zip(difference) {
        *sum = simd.add_f64s(*a, *b);
        *difference = simd.sub_f64s(*a, *b);
    }
}

/// Blocks `p`, `p + parts`, `p + 2 parts` and `p + 3 parts`.
#[inline(always)]
fn blocks<T>(x: &[T], p: usize, parts: usize, width: usize) -> [&[T]; 4] {
    let (first, step) = (p * width, parts * width);
    [
        &x[first..][..width],
        &x[first + step..][..width],
        &x[first + 2 * step..][..width],
        &x[first + 3 * step..][..width],
    ]
}

#[inline(always)]
fn splat<S: Simd>(simd: S, [re, im]: Complex) -> [S::f64s; 2] {
    [simd.splat_f64s(re), simd.splat_f64s(im)]
}

#[inline(always)]
fn add<S: Simd>(simd: S, [a_re, a_im]: [S::f64s; 2], [b_re, b_im]: [S::f64s; 2]) -> [S::f64s; 2] {
    [simd.add_f64s(a_re, b_re), simd.add_f64s(a_im, b_im)]
}

#[inline(always)]
fn subtract<S: Simd>(simd: S, [a_re, a_im]: [S::f64s; 2], [b_re, b_im]: [S::f64s; 2]) -> [S::f64s; 2] {
    [simd.sub_f64s(a_re, b_re), simd.sub_f64s(a_im, b_im)]
}

#[inline(always)]
fn multiply<S: Simd>(simd: S, [a_re, a_im]: [S::f64s; 2], [b_re, b_im]: [S::f64s; 2]) -> [S::f64s; 2] {
    [
        simd.sub_f64s(simd.mul_f64s(a_re, b_re), simd.mul_f64s(a_im, b_im)),
        simd.add_f64s(simd.mul_f64s(a_re, b_im), simd.mul_f64s(a_im, b_re)),
    ]
}

/// `to[j, i] = from[i, j]`, both `[n, n]`, `n` a multiple of 8: in blocks of 8 x 8, each held in registers.
#[inline(always)]
fn transpose(n: usize, from: &[f64], to: &mut [f64]) {
    let (from, to, blocks) = (from.as_chunks::<8>().0, to.as_chunks_mut::<8>().0, n / 8);
    for i in 0..blocks {
        for j in 0..blocks {
            let mut block = [[0.0; 8]; 8];
            for (k, row) in block.iter_mut().enumerate() {
                *row = from[(8 * i + k) * blocks + j];
            }
            let [a, b, c, d, e, f, g, h] = block;
            for k in 0..8 {
                to[(8 * j + k) * blocks + i] = [a[k], b[k], c[k], d[k], e[k], f[k], g[k], h[k]];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern.
    fn field(n: usize) -> Field {
        let value = |k: usize| ((k * k + 3 * k) as f64 * 0.7).sin();
        Field { re: (0..n * n).map(value).collect(), im: (n * n..2 * n * n).map(value).collect() }
    }

    #[test]
    fn agrees_with_the_sum_that_defines_it() {
        for n in [8, 16, 32] {
            let field = field(n);
            let mut spectrum = field.clone();
            Fourier::new(n).forward(&mut spectrum);
            for (p, q) in [(0, 0), (1, 0), (0, 1), (3, n - 2), (n / 2, 5)] {
                let (mut re, mut im) = (0.0, 0.0);
                for (at, (x_re, x_im)) in field.re.iter().zip(&field.im).enumerate() {
                    let turns = (p * (at / n) + q * (at % n)) as f64 / n as f64;
                    let (sine, cosine) = (std::f64::consts::TAU * turns).sin_cos();
                    re += x_re * cosine + x_im * sine;
                    im += x_im * cosine - x_re * sine;
                }
                let (found_re, found_im) = (spectrum.re[q * n + p], spectrum.im[q * n + p]);
                assert!((found_re - re).abs() < 1e-10 && (found_im - im).abs() < 1e-10, "{n}: {p}, {q}");
            }
        }
    }

    #[test]
    fn the_inverse_gives_the_field_back() {
        let n = 32;
        let field = field(n);
        let mut there = field.clone();
        let mut fourier = Fourier::new(n);
        fourier.forward(&mut there);
        fourier.inverse(&mut there);
        for (before, after) in field.re.iter().chain(&field.im).zip(there.re.iter().chain(&there.im)) {
            assert!((before - after / (n * n) as f64).abs() < 1e-14, "{before} {after}");
        }
    }
}
