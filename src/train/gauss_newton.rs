//! Gauss-Newton in the space of the residuals (Levenberg-Marquardt): few residuals `n`, many weights.
//!
//! With `r [n]` the residuals on whole training trajectories, `J_i = dr_i/dtheta_e [P]` and `theta_e = theta_c + W xi_e`, the
//! Jacobian with respect to all that is trained `z = (theta_c, W, xi)` has the Gram matrix
//! `K_ij = J_i . J_j + (xi_i . xi_j) J_i . M J_j + [e_i = e_j] (J_i W) . (J_j W)`, `M` the adapted weights, the last term only
//! where contexts are learned.
//! A step is `dz = -J_z' a`, `(K + mu I) a = r`; behind it the linear model leaves the residuals `mu a`. The damping `mu`
//! follows the gain ratio (Nielsen 1999). No penalty enters: damping and the validation split keep the weights in bounds.

use tch::{Kind, Tensor};

use super::fit::Fit;
use super::{Contexts, Error};
use crate::checkpoint::TrainingState;
use crate::engine::{Batch, Jacobian, mean_squared_error};

/// Dampings that are tried in one step, each greater than the one before.
const TRIALS: usize = 12;

impl Fit<'_> {
    /// One step. False, and the weights unchanged, if none of the dampings tried decreases the loss.
    pub(super) fn gauss_newton_step(&self, state: &mut TrainingState) -> Result<bool, Error> {
        let settings = &self.settings.gauss_newton;
        let all = self.train.trajectories_per_environment();
        let per_environment = settings.trajectories_per_environment.unwrap_or(all).min(all);
        let batch = self.train.batch(state.step, per_environment, |_, _| Vec::new())?;
        let found = batch.count() as usize;
        if found > settings.residual_limit {
            return Err(Error::TooManyResiduals { found, expected: settings.residual_limit });
        }
        if state.damping.is_none() {
            if let Some(best) = &state.best {
                state.trained.clone_from(&best.trained);
            }
            state.looks_without_best = 0;
        }
        let jacobian = self.reference.jacobian(&self.decode(&state.trained), &batch);
        let system = System::new(self, &state.trained, &jacobian);
        let (mut damping, mut growth) = state.damping.unwrap_or((settings.damping * system.mean_diagonal(), 2.0));
        let squares: f64 = jacobian.residuals.iter().map(|r| r * r).sum();
        for _ in 0..TRIALS {
            if let Some(multipliers) = system.solve(damping) {
                let candidate = self.moved(&state.trained, &jacobian, &multipliers);
                let left: f64 = multipliers.iter().map(|a| (damping * a).powi(2)).sum();
                let now = self.squares(&candidate, &batch);
                let gain = (squares - now) / (squares - left).max(f64::MIN_POSITIVE);
                if now < squares {
                    damping *= f64::max(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0).powi(3));
                    state.trained = candidate;
                    state.step += 1;
                    state.damping = Some((damping, 2.0));
                    state.window = (state.window.0 + now / found as f64, state.window.1 + 1);
                    return Ok(true);
                }
            }
            damping *= growth;
            growth *= 2.0;
        }
        state.damping = Some((damping, growth));
        Ok(false)
    }

    /// `z - J_z' a`.
    fn moved(&self, trained: &[f64], jacobian: &Jacobian, multipliers: &[f64]) -> Vec<f64> {
        let size = self.model.layout().size();
        let mut pulled = vec![0.0; self.environments * size];
        let rows = jacobian.rows.chunks_exact(size);
        for ((row, &e), a) in rows.zip(&jacobian.environments).zip(multipliers) {
            pulled[e * size..(e + 1) * size].iter_mut().zip(row).for_each(|(sum, j)| *sum += a * j);
        }
        let mut moved = trained.to_vec();
        let d = self.context_dimension;
        let (shared, contexts) = trained.split_at(self.rule.shared_size());
        let mut step = vec![0.0; trained.len()];
        let (d_shared, d_contexts) = step.split_at_mut(shared.len());
        for (e, pulled) in pulled.chunks_exact(size).enumerate() {
            let context = e * d..(e + 1) * d;
            self.rule.chain(shared, &contexts[context.clone()], pulled, d_shared, &mut d_contexts[context]);
        }
        if self.settings.contexts == Contexts::Tied {
            d_contexts.fill(0.0);
        }
        moved.iter_mut().zip(&step).for_each(|(value, step)| *value -= step);
        moved
    }

    /// Sum of squared residuals; infinite where the rollout is not finite.
    fn squares(&self, trained: &[f64], batch: &Batch) -> f64 {
        let predictions = self.reference.predict(&self.decode(trained), batch);
        Some(mean_squared_error(&predictions, batch) * batch.count()).filter(|s| s.is_finite()).unwrap_or(f64::INFINITY)
    }
}

/// The kernel `K` and the residuals.
struct System {
    /// `[n, n]`.
    kernel: Tensor,
    /// `[n, 1]`.
    residuals: Tensor,
}

impl System {
    fn new(fit: &Fit, trained: &[f64], jacobian: &Jacobian) -> Self {
        let size = fit.model.layout().size() as i64;
        let n = jacobian.residuals.len() as i64;
        let d = fit.context_dimension as i64;
        let (shared, contexts) = trained.split_at(fit.rule.shared_size());
        let places: Vec<i64> = jacobian.environments.iter().map(|&e| e as i64).collect();
        let places = Tensor::from_slice(&places);
        let rows = Tensor::from_slice(&jacobian.rows).view([n, size]);
        let contexts = Tensor::from_slice(contexts).view([-1, d]).index_select(0, &places);
        let gram = rows.mm(&rows.tr());
        let adapted = fit.rule.adapted();
        let of_adapted = if adapted.len() as i64 == size {
            gram.shallow_clone()
        } else {
            let part = rows.narrow(1, adapted.start as i64, adapted.len() as i64);
            part.mm(&part.tr())
        };
        let mut kernel = gram + of_adapted * contexts.mm(&contexts.tr());
        if fit.settings.contexts == Contexts::Learned {
            let basis = Tensor::from_slice(&fit.rule.basis(shared)).view([1 + d, size]).narrow(0, 1, d);
            let along = rows.mm(&basis.tr()); // J_i W
            let same = places.unsqueeze(0).eq_tensor(&places.unsqueeze(1)).to_kind(Kind::Double);
            kernel += along.mm(&along.tr()) * same;
        }
        System { kernel, residuals: Tensor::from_slice(&jacobian.residuals).unsqueeze(1) }
    }

    fn mean_diagonal(&self) -> f64 {
        self.kernel.diagonal(0, 0, 1).mean(None::<Kind>).double_value(&[])
    }

    /// `a` with `(K + mu I) a = r`; none where the matrix is not positive definite in the arithmetic.
    fn solve(&self, damping: f64) -> Option<Vec<f64>> {
        let n = self.kernel.size()[0];
        let damped = &self.kernel + Tensor::eye(n, (Kind::Double, tch::Device::Cpu)) * damping;
        let (factor, info) = damped.linalg_cholesky_ex(false, false);
        if info.int64_value(&[]) != 0 {
            return None;
        }
        let solution = self.residuals.cholesky_solve(&factor, false).view([-1]);
        Vec::<f64>::try_from(&solution).ok().filter(|values| values.iter().all(|value| value.is_finite()))
    }
}
