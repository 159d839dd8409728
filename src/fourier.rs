//! The discrete Fourier transform of a complex field on a square periodic grid, by `rustfft`.
//!
//! ```text
//! forward   X[p, q] = sum_ij x[i, j] exp(-2 pi i (p i + q j) / n)
//! inverse   x[i, j] = sum_pq X[p, q] exp(+2 pi i (p i + q j) / n)        neither is divided by n^2
//! ```
//!
//! `n` points along each axis; real and imaginary parts are separate arrays `[n, n]`, row-major. The spectrum is stored transposed, `X[q, p]` in row
//! `q`: a transform is then one pass over the rows, one transposition and a second pass.

use std::sync::Arc;

use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};

pub(crate) type Complex = [f64; 2];

/// A complex field `[n, n]` as real and imaginary part.
#[derive(Clone)]
pub(crate) struct Field {
    pub re: Vec<f64>,
    pub im: Vec<f64>,
}

impl Field {
    /// Zero everywhere.
    pub(crate) fn zero(points: usize) -> Self {
        Field { re: vec![0.0; points], im: vec![0.0; points] }
    }
}

/// The transform of fields of one size, with its buffers.
pub(crate) struct Fourier {
    n: usize,
    of_rows: Arc<dyn Fft<f64>>,
    /// `[n, n]` each.
    values: [Vec<Complex64>; 2],
    scratch: Vec<Complex64>,
}

impl Fourier {
    /// For fields `[n, n]`.
    pub(crate) fn new(n: usize) -> Self {
        let of_rows = FftPlanner::new().plan_fft_forward(n);
        let zeros = |count| vec![Complex64::default(); count];
        let scratch = zeros(of_rows.get_inplace_scratch_len());
        Fourier { n, of_rows, values: [zeros(n * n), zeros(n * n)], scratch }
    }

    /// From a field to its spectrum, in place.
    pub(crate) fn forward(&mut self, field: &mut Field) {
        self.transform(&mut field.re, &mut field.im);
    }

    /// From a spectrum to its field, in place: the forward transform with the parts exchanged.
    pub(crate) fn inverse(&mut self, field: &mut Field) {
        self.transform(&mut field.im, &mut field.re);
    }

    fn transform(&mut self, re: &mut [f64], im: &mut [f64]) {
        let n = self.n;
        let [rows, columns] = &mut self.values;
        for ((value, re), im) in rows.iter_mut().zip(&*re).zip(&*im) {
            *value = Complex64::new(*re, *im);
        }
        self.of_rows.process_with_scratch(rows, &mut self.scratch);
        for (i, row) in rows.chunks_exact(n).enumerate() {
            row.iter().enumerate().for_each(|(q, value)| columns[q * n + i] = *value);
        }
        self.of_rows.process_with_scratch(columns, &mut self.scratch);
        for ((value, re), im) in columns.iter().zip(re).zip(im) {
            (*re, *im) = (value.re, value.im);
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
        for n in [6, 8, 32] {
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
