//! Vorticity of an incompressible flow on the periodic unit square, integrated pseudo-spectrally.
//!
//! ```text
//! dw/dt = -v . grad(w) + nu lap(w) + f,      v = (d psi/dy, -d psi/dx),   lap(psi) = -w
//! v . grad(w) = Im(D^2 z^2) / 2,             z = v_x + i v_y,   D = d/dx - i d/dy
//! w_k = W_k' given by  (1 + h nu q/2) W_k' = (1 - h nu q/2) W_k + h ((1 + r/2) N_k - (r/2) N_k^before),   q = |2 pi k|^2
//! ```
//!
//! `w [n, n]` at `x = i/n`, `y = j/n`; `W_k` its Fourier coefficients, `k = (k_x, k_y)`; `N` advection and force; `h` step, `r` its ratio
//! to the step before. Crank-Nicolson for diffusion, Adams-Bashforth of second order for the rest (the first step is Euler's).
//! Only `|k_x|, |k_y| < n/3` are kept, so products of two fields are free of aliases. The mean vorticity is zero.
//!
//! The second line holds because `div v = 0`: one complex transform takes both velocities to the grid, and one takes their
//! products back, where `v . grad(w)` as it stands needs five real ones.
//!
//! Source of the scheme but for its order in time: Z. Li et al., Fourier Neural Operator for Parametric Partial Differential
//! Equations, ICLR 2021, appendix A.3; they advance advection and force by Euler's rule.

use std::f64::consts::TAU;

use super::fourier::{Field, Fourier};
use crate::solve::{Error, Work};

/// An integrator for one grid and force, with its memory; nothing is allocated while it runs.
pub(super) struct Vorticity {
    n: usize,
    fourier: Fourier,
    modes: Vec<Mode>,
    /// `W_k`, `N_k` of the step before, and the force, of each mode.
    coefficients: Vec<Complex>,
    before: Vec<Complex>,
    force: Vec<Complex>,
    /// On the grid, or its spectrum.
    field: Field,
    /// The step before; zero at the start.
    step_before: f64,
}

type Complex = [f64; 2];

/// One of the wave vectors of which `k` or `-k` is kept in memory, for `W_-k` is the conjugate of `W_k`.
struct Mode {
    /// Places of `k` and of `-k` in a spectrum.
    place: usize,
    opposite: usize,
    /// `|2 pi k|^2`.
    square: f64,
    /// Takes `W_k` to the coefficient of `z`; negated, the conjugate of `W_k` to that at `-k`.
    velocity: Complex,
    /// Takes the transform of `z^2` to `4 n^2` times the coefficient of `D^2 z^2 / 4`, over `n^2`.
    advection: Complex,
}

impl Vorticity {
    /// For vorticities `[n, n]` under the force `force [n, n]`.
    pub(super) fn new(n: usize, force: &[f64]) -> Self {
        let modes = modes(n);
        let zero = vec![[0.0; 2]; modes.len()];
        let mut solver = Vorticity {
            n,
            fourier: Fourier::new(n),
            coefficients: zero.clone(),
            before: zero.clone(),
            force: zero,
            modes,
            field: Field::zero(n * n),
            step_before: 0.0,
        };
        solver.set(force);
        std::mem::swap(&mut solver.force, &mut solver.coefficients);
        solver
    }

    /// Starts from `vorticity [n, n]`, without its mean and the waves that are too short.
    pub(super) fn set(&mut self, vorticity: &[f64]) {
        self.field.re.copy_from_slice(vorticity);
        self.field.im.fill(0.0);
        self.fourier.forward(&mut self.field);
        let points = (self.n * self.n) as f64;
        for (mode, coefficient) in self.modes.iter().zip(&mut self.coefficients) {
            *coefficient = [self.field.re[mode.place] / points, self.field.im[mode.place] / points];
        }
        self.step_before = 0.0;
    }

    /// Writes the vorticity `[n, n]`.
    pub(super) fn get(&mut self, vorticity: &mut [f64]) {
        let Field { re, im } = &mut self.field;
        re.fill(0.0);
        im.fill(0.0);
        for (mode, [c_re, c_im]) in self.modes.iter().zip(&self.coefficients) {
            (re[mode.place], im[mode.place]) = (*c_re, *c_im);
            (re[mode.opposite], im[mode.opposite]) = (*c_re, -c_im);
        }
        self.fourier.inverse(&mut self.field);
        vorticity.copy_from_slice(&self.field.re);
    }

    /// Moves on by `duration` at viscosity `nu`, in equal steps of at most `longest`; returns how many.
    pub(super) fn advance(&mut self, duration: f64, longest: f64, nu: f64) -> u64 {
        let steps = (duration / longest - 1e-9).ceil().max(1.0);
        let step = duration / steps;
        for _ in 0..steps as u64 {
            self.step(step, nu);
        }
        steps as u64
    }

    fn step(&mut self, step: f64, nu: f64) {
        self.products();
        let ratio = if self.step_before > 0.0 { step / self.step_before } else { 0.0 };
        self.step_before = step;
        let (now, back) = (step * (1.0 + 0.5 * ratio), step * -0.5 * ratio);
        let half = 0.5 * step * nu;
        let Field { re, im } = &self.field;
        let modes = self.modes.iter().zip(&self.force);
        for ((mode, force), (w, before)) in modes.zip(self.coefficients.iter_mut().zip(&mut self.before)) {
            let [a_re, a_im] = product(mode.advection, [re[mode.place], im[mode.place]]);
            let [b_re, b_im] = product(mode.advection, [re[mode.opposite], im[mode.opposite]]);
            // The imaginary part of a field has the coefficients `(a_k - conj(a_-k)) / 2i`.
            let rate = [force[0] - (a_im + b_im), force[1] + (a_re - b_re)];
            let damping = half * mode.square;
            let divisor = 1.0 / (1.0 + damping);
            for part in 0..2 {
                let explicit = now * rate[part] + back * before[part];
                w[part] = ((1.0 - damping) * w[part] + explicit) * divisor;
            }
            *before = rate;
        }
    }

    /// Leaves the spectrum of `z^2` in the field.
    fn products(&mut self) {
        let Field { re, im } = &mut self.field;
        re.fill(0.0);
        im.fill(0.0);
        for (mode, [w_re, w_im]) in self.modes.iter().zip(&self.coefficients) {
            [re[mode.place], im[mode.place]] = product(mode.velocity, [*w_re, *w_im]);
            [re[mode.opposite], im[mode.opposite]] = product(mode.velocity, [-w_re, *w_im]);
        }
        self.fourier.inverse(&mut self.field);
        let Field { re, im } = &mut self.field;
        for (re, im) in re.iter_mut().zip(im) {
            (*re, *im) = (*re * *re - *im * *im, 2.0 * *re * *im);
        }
        self.fourier.forward(&mut self.field);
    }

    /// Writes the vorticities `[T, n, n]` at `times [T]` that follow `initial [n, n]`.
    ///
    /// # Errors
    /// [`Error::NotFinite`] where the flow is too fast for the step.
    pub(super) fn integrate(
        &mut self,
        nu: f64,
        initial: &[f64],
        times: &[f64],
        longest: f64,
        states: &mut [f64],
    ) -> Result<Work, Error> {
        let mut work = Work::default();
        self.set(initial);
        let mut samples = states.chunks_exact_mut(initial.len());
        if let Some(first) = samples.next() {
            first.copy_from_slice(initial);
        }
        for (interval, state) in times.windows(2).zip(samples) {
            work.accepted += self.advance(interval[1] - interval[0], longest, nu);
            self.get(state);
            if !state.iter().all(|value| value.is_finite()) {
                return Err(Error::NotFinite { time: interval[1], state: state.to_vec() });
            }
        }
        work.evaluations = work.accepted;
        Ok(work)
    }
}

fn modes(n: usize) -> Vec<Mode> {
    let most = ((n - 1) / 3) as isize;
    let points = (n * n) as f64;
    let place = |x: isize, y: isize| y.rem_euclid(n as isize) as usize * n + x.rem_euclid(n as isize) as usize;
    let wave_vectors = (-most..=most).flat_map(|y| (0..=most).map(move |x| (x, y)));
    let mode = |(x, y): (isize, isize)| {
        let (k_x, k_y) = (TAU * x as f64, TAU * y as f64);
        let square = k_x * k_x + k_y * k_y;
        // psi = w / |k|^2, so z = i k_y psi + i (-i k_x psi); and D = i k_x + k_y.
        Mode {
            place: place(x, y),
            opposite: place(-x, -y),
            square,
            velocity: [k_x / square, k_y / square],
            advection: [(k_y * k_y - k_x * k_x) / (4.0 * points), 2.0 * k_x * k_y / (4.0 * points)],
        }
    };
    wave_vectors.filter(|&(x, y)| x > 0 || y > 0).map(mode).collect()
}

#[inline(always)]
fn product([a_re, a_im]: Complex, [b_re, b_im]: Complex) -> Complex {
    [a_re * b_re - a_im * b_im, a_re * b_im + a_im * b_re]
}
