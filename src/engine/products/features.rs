//! The features of a library that depend on the state: linear in it, so their tangents are those features of its tangents.

use crate::fourier::{Complex, Field, Fourier};
use crate::models::{Library, Operator, kept};

/// The linear map from states `[C, N]` to features `[D, N]`, the channels first.
pub(super) struct Features {
    channels: usize,
    space: [usize; 2],
    /// Operators on the grid, each with its first feature.
    local: Vec<(Operator, usize)>,
    spectral: Option<Spectral>,
}

/// Fourier series: spectra are transposed, and factors divided by the number of points.
struct Spectral {
    /// Feature of the first channel, with the factor of each coefficient.
    series: Vec<(usize, Vec<Complex>)>,
    kept: Vec<f64>,
}

/// Buffers of one thread.
pub(super) struct Scratch {
    fourier: Fourier,
    spectrum: Field,
    field: Field,
}

impl Features {
    /// The features of `library`.
    pub(super) fn new(library: &Library) -> Self {
        let (channels, [n, m]) = (library.channels, library.space);
        let points = (n * m) as f64;
        let transposed = |place: usize| place % n * n + place / n;
        let (mut local, mut series, mut next) = (Vec::new(), Vec::new(), channels);
        for &operator in &library.operators {
            if matches!(operator, Operator::Laplacian | Operator::Gradient) {
                local.push((operator, next));
            }
            for (output, factors) in operator.multipliers(n).iter().enumerate() {
                let factors = (0..n * n).map(|place| factors[transposed(place)].map(|part| part / points));
                series.push((next + output * channels, factors.collect()));
            }
            next += channels * operator.outputs();
        }
        let kept = kept(n).iter().map(|value| value / points).collect();
        let spectral = (!series.is_empty()).then_some(Spectral { kept, series });
        Features { channels, space: library.space, local, spectral }
    }

    /// Buffers for Fourier series, where there are any.
    pub(super) fn scratch(&self) -> Option<Scratch> {
        let [n, m] = self.space;
        self.spectral.as_ref().map(|_| Scratch {
            fourier: Fourier::new(n),
            spectrum: Field::zero(n * m),
            field: Field::zero(n * m),
        })
    }

    fn points(&self) -> usize {
        self.space[0] * self.space[1]
    }

    /// Writes the features `[K, D, N]` of `K` states `[K, C, N]`. Without space there are as many points as there are.
    #[inline(always)]
    pub(super) fn apply(&self, points: usize, states: &[f64], scratch: &mut Option<Scratch>, to: &mut [f64]) {
        let size = self.channels * points;
        let count = states.len() / size;
        let of_each = to.len() / count;
        for (state, to) in states.chunks_exact(size).zip(to.chunks_exact_mut(of_each)) {
            to[..size].copy_from_slice(state);
            for &(operator, feature) in &self.local {
                for (c, field) in state.chunks_exact(points).enumerate() {
                    let to = &mut to[(feature + c) * points..];
                    if operator == Operator::Laplacian {
                        laplacian(self.space, field, &mut to[..points]);
                    } else {
                        let (first, second) = to.split_at_mut(self.channels * points);
                        difference::<0>(self.space, field, 0.5, &mut first[..points]);
                        difference::<1>(self.space, field, 0.5, &mut second[..points]);
                    }
                }
            }
        }
        let (Some(spectral), Some(Scratch { fourier, spectrum, field })) = (&self.spectral, scratch) else { return };
        // A map of real fields to real ones takes two at a time, as real and imaginary part.
        for first in (0..count).step_by(2) {
            for c in 0..self.channels {
                let place = |k: usize| k * size + c * points..k * size + (c + 1) * points;
                spectrum.re.copy_from_slice(&states[place(first)]);
                match states.get(place(first + 1)) {
                    Some(second) => spectrum.im.copy_from_slice(second),
                    None => spectrum.im.fill(0.0),
                }
                fourier.forward(spectrum);
                for (feature, factors) in &spectral.series {
                    multiply(factors, spectrum, field);
                    fourier.inverse(field);
                    let place = |k: usize| k * of_each + (feature + c) * points;
                    to[place(first)..][..points].copy_from_slice(&field.re);
                    if first + 1 < count {
                        to[place(first + 1)..][..points].copy_from_slice(&field.im);
                    }
                }
            }
        }
    }

    /// The transpose: adds to `states [C, N]` what `cotangents [D, N]` of features give.
    #[inline(always)]
    pub(super) fn pull_back(&self, cotangents: &[f64], scratch: &mut Option<Scratch>, states: &mut [f64]) {
        states.iter_mut().zip(cotangents).for_each(|(to, from)| *to += from);
        let points = self.points();
        if self.local.is_empty() && self.spectral.is_none() {
            return;
        }
        let mut made = vec![0.0; points];
        for &(operator, feature) in &self.local {
            for (c, to) in states.chunks_exact_mut(points).enumerate() {
                for output in 0..operator.outputs() {
                    let from = &cotangents[(feature + output * self.channels + c) * points..][..points];
                    match (operator, output) {
                        (Operator::Laplacian, _) => laplacian(self.space, from, &mut made),
                        (_, 0) => difference::<0>(self.space, from, -0.5, &mut made),
                        _ => difference::<1>(self.space, from, -0.5, &mut made),
                    }
                    to.iter_mut().zip(&made).for_each(|(to, more)| *to += more);
                }
            }
        }
        let (Some(spectral), Some(Scratch { fourier, spectrum, field })) = (&self.spectral, scratch) else { return };
        for (c, to) in states.chunks_exact_mut(points).enumerate() {
            let mut sum = Field::zero(points);
            for (feature, factors) in &spectral.series {
                spectrum.re.copy_from_slice(&cotangents[(feature + c) * points..][..points]);
                spectrum.im.fill(0.0);
                fourier.forward(spectrum);
                let conjugate: Vec<Complex> = factors.iter().map(|&[re, im]| [re, -im]).collect();
                multiply(&conjugate, spectrum, field);
                sum.re.iter_mut().zip(&field.re).for_each(|(sum, more)| *sum += more);
                sum.im.iter_mut().zip(&field.im).for_each(|(sum, more)| *sum += more);
            }
            fourier.inverse(&mut sum);
            to.iter_mut().zip(&sum.re).for_each(|(to, more)| *to += more);
        }
    }

    /// Takes from `K` rates `[K, C, N]` the Fourier coefficients that are not kept; its own transpose.
    #[inline(always)]
    pub(super) fn keep(&self, rates: &mut [f64], scratch: &mut Option<Scratch>) {
        let (Some(spectral), Some(Scratch { fourier, spectrum, .. })) = (&self.spectral, scratch) else { return };
        for pair in rates.chunks_mut(2 * self.points()) {
            let (first, second) = pair.split_at_mut(self.points());
            spectrum.re.copy_from_slice(first);
            spectrum.im.fill(0.0);
            spectrum.im[..second.len()].copy_from_slice(second);
            fourier.forward(spectrum);
            for ((re, im), kept) in spectrum.re.iter_mut().zip(&mut spectrum.im).zip(&spectral.kept) {
                (*re, *im) = (*re * kept, *im * kept);
            }
            fourier.inverse(spectrum);
            first.copy_from_slice(&spectrum.re);
            second.copy_from_slice(&spectrum.im[..second.len()]);
        }
    }
}

#[inline(always)]
fn multiply(factors: &[Complex], from: &Field, to: &mut Field) {
    let to = to.re.iter_mut().zip(&mut to.im);
    for ((to, from), &[re, im]) in to.zip(from.re.iter().zip(&from.im)).zip(factors) {
        (*to.0, *to.1) = (from.0 * re - from.1 * im, from.0 * im + from.1 * re);
    }
}

/// The Laplacian of nine points, its own transpose.
#[inline(always)]
fn laplacian([n, m]: [usize; 2], a: &[f64], to: &mut [f64]) {
    let row = |i: usize| &a[i % n * m..][..m];
    for i in 0..n {
        let (above, here, below) = (row(i + n - 1), row(i), row(i + 1));
        let sum = |j: usize| above[j] + 2.0 * here[j] + below[j];
        let to = &mut to[i * m..][..m];
        let at =
            |before: usize, j: usize, after: usize| 0.25 * (sum(before) + 2.0 * sum(j) + sum(after)) - 4.0 * here[j];
        to[0] = at(m - 1, 0, 1 % m);
        to[m - 1] = at((2 * m - 2) % m, m - 1, 0);
        for (j, to) in to.iter_mut().enumerate().take(m - 1).skip(1) {
            *to = at(j - 1, j, j + 1);
        }
    }
}

/// `factor (a_{+1} - a_{-1})` along an axis.
#[inline(always)]
fn difference<const AXIS: usize>([n, m]: [usize; 2], a: &[f64], factor: f64, to: &mut [f64]) {
    for i in 0..n {
        let row = |i: usize| &a[i % n * m..][..m];
        let (above, here, below) = (row(i + n - 1), row(i), row(i + 1));
        for j in 0..m {
            let [before, after] = match AXIS {
                0 => [above[j], below[j]],
                _ => [here[(j + m - 1) % m], here[(j + 1) % m]],
            };
            to[i * m + j] = factor * (after - before);
        }
    }
}
