//! Vorticity of an incompressible flow on the periodic unit square, integrated pseudo-spectrally.
//!
//! ```text
//! dw/dt = -v . grad(w) + nu lap(w) + f,      v = (d psi/dy, -d psi/dx),   lap(psi) = -w
//! v . grad(w) = Im(D^2 z^2) / 2,             z = v_x + i v_y,   D = d/dx - i d/dy
//! (1 + h nu q/2) W_k' = (1 - h nu q/2) W_k + h ((1 + r/2) N_k - (r/2) N_k^before),   q = |2 pi k|^2
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

use crate::fourier::{Complex, Field, Fourier};
use crate::progress::Interrupt;
use crate::solve::{Error, Work};

/// An integrator for one grid and force, with its buffers; it allocates nothing while it runs.
pub(crate) struct Vorticity {
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

/// One wave vector of each pair `k`, `-k`: `W_-k` is the conjugate of `W_k`.
struct Mode {
    /// Indices of `k` and of `-k` in a spectrum.
    place: usize,
    opposite: usize,
    /// `|2 pi k|^2`.
    square: f64,
    /// Takes `W_k` to the coefficient of `z`; negated, the conjugate of `W_k` to that at `-k`.
    velocity: Complex,
    /// Takes the transform of `z^2` (that is `n^2` times its coefficient) to the coefficient of `D^2 z^2 / 4`.
    advection: Complex,
}

impl Vorticity {
    /// For vorticities `[n, n]` under the force `force [n, n]`.
    pub(crate) fn new(n: usize, force: &[f64]) -> Self {
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

    /// Sets the state to `vorticity [n, n]` without its mean and truncated modes.
    pub(crate) fn set(&mut self, vorticity: &[f64]) {
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
    pub(crate) fn get(&mut self, vorticity: &mut [f64]) {
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

    /// Advances by `duration` at viscosity `nu` in equal steps of at most `longest`; returns their number.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if a stop was requested.
    pub(crate) fn advance(
        &mut self,
        duration: f64,
        longest: f64,
        nu: f64,
        interrupt: &Interrupt,
    ) -> Result<u64, Error> {
        let steps = (duration / longest - 1e-9).ceil().max(1.0);
        let step = duration / steps;
        for _ in 0..steps as u64 {
            Error::if_requested(interrupt)?;
            self.step(step, nu);
        }
        Ok(steps as u64)
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

    /// Replaces the field by the spectrum of `z^2`.
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
    /// [`Error::NotFinite`] if the step is too long for the flow; [`Error::Interrupted`].
    pub(crate) fn integrate(
        &mut self,
        nu: f64,
        initial: &[f64],
        times: &[f64],
        longest: f64,
        states: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<Work, Error> {
        let mut work = Work::default();
        self.set(initial);
        let mut samples = states.chunks_exact_mut(initial.len());
        if let Some(first) = samples.next() {
            first.copy_from_slice(initial);
        }
        for (interval, state) in times.windows(2).zip(samples) {
            work.accepted += self.advance(interval[1] - interval[0], longest, nu, interrupt)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 32;

    fn wave(k_x: f64, k_y: f64) -> Vec<f64> {
        let phase = |place: usize| TAU * (k_x * (place / N) as f64 + k_y * (place % N) as f64) / N as f64;
        (0..N * N).map(|place| 1.5 * phase(place).cos() - 0.5 * phase(place).sin()).collect()
    }

    /// Waves that act on one another.
    fn waves() -> Vec<f64> {
        let [a, b, c] = [wave(1.0, 2.0), wave(-3.0, 1.0), wave(0.0, -4.0)];
        (0..N * N).map(|place| a[place] + b[place] + 0.5 * c[place]).collect()
    }

    fn unforced(vorticity: &[f64]) -> Vorticity {
        let mut flow = Vorticity::new(N, &vec![0.0; N * N]);
        flow.set(vorticity);
        flow
    }

    fn state(flow: &mut Vorticity) -> Vec<f64> {
        let mut state = vec![f64::NAN; N * N];
        flow.get(&mut state);
        state
    }

    fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn the_state_comes_back_as_it_was_set_but_for_its_mean_and_short_waves() {
        let kept = waves();
        let short = wave(11.0, 0.0);
        let vorticity: Vec<f64> = kept.iter().zip(&short).map(|(kept, short)| 0.3 + kept + short).collect();
        assert!(largest_difference(&state(&mut unforced(&vorticity)), &kept) < 1e-13);
    }

    /// One wave does not act on itself.
    #[test]
    fn one_wave_decays_at_its_rate() {
        let (nu, start) = (1e-3, wave(3.0, -2.0));
        let mut flow = unforced(&start);
        flow.advance(2.0, 1e-3, nu, &Interrupt::new()).unwrap();
        let factor = (-nu * TAU * TAU * 13.0 * 2.0_f64).exp();
        let expected: Vec<f64> = start.iter().map(|value| factor * value).collect();
        let error = largest_difference(&state(&mut flow), &expected);
        assert!(error < 1e-7, "{error:e}");
    }

    #[test]
    fn a_steady_force_is_balanced_by_viscosity() {
        let (nu, force) = (0.05, wave(1.0, 1.0));
        let mut flow = Vorticity::new(N, &force);
        flow.set(&vec![0.0; N * N]);
        flow.advance(20.0, 0.01, nu, &Interrupt::new()).unwrap();
        let expected: Vec<f64> = force.iter().map(|value| value / (nu * 2.0 * TAU * TAU)).collect();
        assert!(largest_difference(&state(&mut flow), &expected) < 1e-12);
    }

    /// Energy `sum |W_k|^2 / |2 pi k|^2` and enstrophy `sum |W_k|^2`, halves apart.
    fn invariants(flow: &Vorticity) -> [f64; 2] {
        let power = |[re, im]: &Complex| re * re + im * im;
        let terms = flow.modes.iter().zip(&flow.coefficients).map(|(mode, w)| [power(w) / mode.square, power(w)]);
        terms.fold([0.0; 2], |sum, term| [sum[0] + term[0], sum[1] + term[1]])
    }

    /// Advection without aliases keeps both; what is lost is the integrator's, and falls as the square of its step or faster.
    #[test]
    fn without_viscosity_and_force_energy_and_enstrophy_are_kept() {
        let mut losses = [[0.0; 2]; 2];
        for (losses, step) in losses.iter_mut().zip([1e-2, 2.5e-3]) {
            let mut flow = unforced(&waves());
            let before = invariants(&flow);
            flow.advance(2.0, step, 0.0, &Interrupt::new()).unwrap();
            let after = invariants(&flow);
            *losses = [0, 1].map(|which| (after[which] / before[which] - 1.0).abs());
        }
        for which in 0..2 {
            assert!(losses[1][which] < 1e-4 && losses[1][which] * 10.0 < losses[0][which], "{losses:?}");
        }
        assert!(largest_difference(&waves(), &state(&mut moved(1e-2, 2.0))) > 0.5, "nothing moves");
    }

    fn moved(step: f64, duration: f64) -> Vorticity {
        let mut flow = unforced(&waves());
        flow.advance(duration, step, 1e-3, &Interrupt::new()).unwrap();
        flow
    }

    #[test]
    fn the_error_falls_as_the_square_of_the_step() {
        let finest = state(&mut moved(2.5e-4, 1.0));
        let errors = [8e-3, 4e-3, 2e-3].map(|step| largest_difference(&state(&mut moved(step, 1.0)), &finest));
        for pair in errors.windows(2) {
            let order = (pair[0] / pair[1]).log2();
            assert!((1.9..2.2).contains(&order), "{errors:?}");
        }
    }

    #[test]
    fn a_change_of_the_step_costs_no_order() {
        let finest = state(&mut moved(2.5e-4, 1.0));
        let uneven = |step: f64| {
            let mut flow = moved(step, 0.3);
            flow.advance(0.3, 0.7 * step, 1e-3, &Interrupt::new()).unwrap();
            flow.advance(0.4, step, 1e-3, &Interrupt::new()).unwrap();
            largest_difference(&state(&mut flow), &finest)
        };
        let order = (uneven(8e-3) / uneven(4e-3)).log2();
        assert!(order > 1.8, "{order}");
    }

    #[test]
    fn a_flow_too_fast_for_the_step_is_refused() {
        let fast: Vec<f64> = waves().iter().map(|value| 1e4 * value).collect();
        let mut states = vec![0.0; 2 * N * N];
        let refused = unforced(&fast).integrate(1e-4, &fast, &[0.0, 5.0], 0.1, &mut states, &Interrupt::new());
        assert!(matches!(refused, Err(Error::NotFinite { time: 5.0, .. })), "{refused:?}");
    }
}
