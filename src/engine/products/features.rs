//! The features of a library that depend on the state: linear in it, so their tangents are those features of its tangents.

use super::stencils::Stencils;
use crate::fourier::{Complex, Field, Fourier};
use crate::models::{Library, Operator, kept};

/// The linear map from states `[C, N]` to features `[D, N]`, the channels first.
pub(super) struct Features {
    channels: usize,
    /// `N`; 1 without space.
    points: usize,
    stencils: Stencils,
    /// Operators of nearest neighbours, each with its first feature and the fields that it makes of a channel.
    local: Vec<(Operator, usize, usize)>,
    spectral: Option<Spectral>,
}

/// Fourier series: spectra are transposed, and factors divided by the number of points.
struct Spectral {
    /// Points along each axis of the square.
    n: usize,
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
        let (channels, points, axes) = (library.channels, library.points(), library.space.len());
        let (mut local, mut series, mut next) = (Vec::new(), Vec::new(), channels);
        let n = library.space.first().copied().unwrap_or(1);
        let transposed = |place: usize| place % n * n + place / n;
        for &operator in &library.operators {
            let outputs = operator.outputs(axes);
            if matches!(operator, Operator::Laplacian | Operator::Gradient) {
                local.push((operator, next, outputs));
            }
            for (output, factors) in operator.multipliers(n).iter().enumerate() {
                let factors = (0..points).map(|place| factors[transposed(place)].map(|part| part / points as f64));
                series.push((next + output * channels, factors.collect()));
            }
            next += channels * outputs;
        }
        let spectral = (!series.is_empty()).then(|| {
            let kept = kept(n).iter().map(|value| value / points as f64).collect();
            Spectral { n, kept, series }
        });
        Features { channels, points, stencils: Stencils::new(&library.space, &library.boundaries), local, spectral }
    }

    /// Buffers for Fourier series, where there are any.
    pub(super) fn scratch(&self) -> Option<Scratch> {
        self.spectral.as_ref().map(|spectral| Scratch {
            fourier: Fourier::new(spectral.n),
            spectrum: Field::zero(self.points),
            field: Field::zero(self.points),
        })
    }

    /// Writes the features `[K, D, N]` of `K` states `[K, C, N]`. Without space there are as many points as there are.
    #[inline(always)]
    pub(super) fn apply(&self, points: usize, states: &[f64], scratch: &mut Option<Scratch>, to: &mut [f64]) {
        let size = self.channels * points;
        let count = states.len() / size;
        let of_each = to.len() / count;
        for (state, to) in states.chunks_exact(size).zip(to.chunks_exact_mut(of_each)) {
            to[..size].copy_from_slice(state);
            for &(operator, feature, outputs) in &self.local {
                for (c, field) in state.chunks_exact(points).enumerate() {
                    for output in 0..outputs {
                        let to = &mut to[(feature + output * self.channels + c) * points..][..points];
                        match operator {
                            Operator::Laplacian => self.stencils.laplacian(field, to),
                            _ => self.stencils.difference(output, field, to),
                        }
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
        let points = self.points;
        if self.local.is_empty() && self.spectral.is_none() {
            return;
        }
        let mut made = vec![0.0; points];
        for &(operator, feature, outputs) in &self.local {
            for (c, to) in states.chunks_exact_mut(points).enumerate() {
                for output in 0..outputs {
                    let from = &cotangents[(feature + output * self.channels + c) * points..][..points];
                    match operator {
                        Operator::Laplacian => self.stencils.laplacian(from, &mut made),
                        _ => self.stencils.difference_transposed(output, from, &mut made),
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
        for pair in rates.chunks_mut(2 * self.points) {
            let (first, second) = pair.split_at_mut(self.points);
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
