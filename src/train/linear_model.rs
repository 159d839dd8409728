//! A step of Gauss-Newton on `|r|^2 + n lambda Omega(W) + n lambda_xi sum_e |xi_e|^2` over `z = (theta_c, W, xi)`, in the space of the
//! residuals `r [n]`. With `J_i = dr_i/dtheta_e [P]` and `theta_e = theta_c + W xi_e`, and each penalty in the place of the
//! parabola `sum_j h_j z_j^2` that touches it from above (a row norm is reweighted anew in every step), a step with damping `mu` is
//! `dz = -(S J_z' a + (1 - S) z)`, `(J_z S J_z' + mu I) a = r - J_z (1 - S) z`, `S = diag(mu / (mu + h))`: of each value the share `S`
//! that its penalty leaves to the data. The kernel is
//! `K_ij = J_i . J_j + (xi_i . xi_j) J_i . S M J_j + s_xi [e_i = e_j] (J_i W) . (J_j W)`, `M` the adapted weights, the last term
//! only where contexts are learned. Behind the step the linear model leaves the residuals `mu a`. The damping follows the gain
//! ratio (Nielsen 1999).

use std::ops::Range;

use tch::{Kind, Tensor};

use super::{Contexts, GaussNewton};
use crate::engine::Jacobian;
use crate::rules::Rule;

/// What its penalty leaves to the data of each row of `W` `[P]`, and of every context.
struct Shares {
    weights: Vec<f64>,
    contexts: f64,
}

/// Where a step leads.
pub struct Step {
    pub trained: Vec<f64>,
    /// Of the penalised sum of squares, by the linear model and the parabolas.
    pub decrease: f64,
}

/// Residuals and penalties around `z`.
pub struct LinearModel<'a> {
    rule: &'a dyn Rule,
    contexts: Contexts,
    /// `z`.
    trained: &'a [f64],
    jacobian: &'a Jacobian,
    context_dimension: usize,
    /// `J [n, P]` in the columns of the adapted weights.
    adapted: Tensor,
    /// Those weights, among `P`.
    adapted_weights: Range<usize>,
    /// `J_i . J_j`, `[n, n]`.
    gram: Tensor,
    /// `xi_i . xi_j`, `[n, n]`.
    of_contexts: Tensor,
    /// `J_i . M J_j`, `[n, n]`.
    of_adapted: Tensor,
    /// `[e_i = e_j] (J_i W) . (J_j W)`, `[n, n]`, where contexts are learned.
    along: Option<Tensor>,
    /// `W xi_e` of the environment of each residual, in the adapted weights `[n, M]`.
    displaced: Tensor,
    /// `[n, 1]`.
    residuals: Tensor,
    /// `h` of each row of `W`, `[P]`.
    weights_hold: Vec<f64>,
    /// `h` of the contexts.
    contexts_hold: f64,
}

impl<'a> LinearModel<'a> {
    /// The model around `trained` with the residuals there; `contexts` are moved if learned.
    pub fn new(
        rule: &'a dyn Rule,
        settings: &GaussNewton,
        contexts: Contexts,
        trained: &'a [f64],
        jacobian: &'a Jacobian,
    ) -> Self {
        let n = jacobian.residuals.len() as i64;
        let size = jacobian.rows.len() as i64 / n;
        let learned = contexts == Contexts::Learned;
        let (shared, of_environments) = trained.split_at(rule.shared_size());
        let d = shared.len() as i64 / size - 1;
        let places: Vec<i64> = jacobian.environments.iter().map(|&e| e as i64).collect();
        let places = Tensor::from_slice(&places);
        let rows = Tensor::from_slice(&jacobian.rows).view([n, size]);
        let xi = Tensor::from_slice(of_environments).view([-1, d]).index_select(0, &places);
        let gram = rows.mm(&rows.tr());
        let adapted_weights = rule.adapted();
        let (start, width) = (adapted_weights.start as i64, adapted_weights.len() as i64);
        let adapted = rows.narrow(1, start, width);
        let of_adapted = if width == size { gram.shallow_clone() } else { adapted.mm(&adapted.tr()) };
        let basis = Tensor::from_slice(&rule.basis(shared)).view([1 + d, size]).narrow(0, 1, d);
        let along = learned.then(|| {
            let along = rows.mm(&basis.tr()); // J_i W
            let same = places.unsqueeze(0).eq_tensor(&places.unsqueeze(1)).to_kind(Kind::Double);
            along.mm(&along.tr()) * same
        });
        // No penalty holds nothing, not even a row whose norm is zero.
        let weights_hold = match settings.locality_penalty {
            0.0 => vec![0.0; size as usize],
            lambda => rule.hold(shared).into_iter().map(|hold| n as f64 * lambda * hold).collect(),
        };
        LinearModel {
            displaced: xi.mm(&basis.narrow(1, start, width)),
            of_contexts: xi.mm(&xi.tr()),
            residuals: Tensor::from_slice(&jacobian.residuals).unsqueeze(1),
            contexts_hold: if learned { n as f64 * settings.context_penalty } else { 0.0 },
            rule,
            contexts,
            trained,
            jacobian,
            context_dimension: d as usize,
            adapted,
            adapted_weights,
            gram,
            of_adapted,
            along,
            weights_hold,
        }
    }

    /// The sum of squared residuals at `z`.
    pub fn squares(&self) -> f64 {
        self.jacobian.residuals.iter().map(|r| r * r).sum()
    }

    /// The mean diagonal of the kernel without penalties.
    pub fn mean_diagonal(&self) -> f64 {
        let shares = Shares { weights: vec![1.0; self.weights_hold.len()], contexts: 1.0 };
        self.kernel(&shares).diagonal(0, 0, 1).mean(None::<Kind>).double_value(&[])
    }

    /// The step with damping `mu`; none where the kernel is not positive definite in the arithmetic.
    pub fn step(&self, damping: f64) -> Option<Step> {
        let shares = self.shares(damping);
        let multipliers = self.multipliers(damping, &shares)?;
        let trained = self.moved(&multipliers, &shares);
        let left: f64 = multipliers.iter().map(|a| (damping * a).powi(2)).sum();
        let decrease = self.squares() - left + self.released(&trained);
        Some(Step { trained, decrease })
    }

    fn shares(&self, damping: f64) -> Shares {
        let share = |hold: f64| damping / (damping + hold);
        Shares { weights: self.weights_hold.iter().copied().map(share).collect(), contexts: share(self.contexts_hold) }
    }

    /// The decrease of the parabolas from `z` to `moved`.
    fn released(&self, moved: &[f64]) -> f64 {
        let size = self.weights_hold.len();
        let holds = self.weights_hold.iter().cycle().take(self.rule.shared_size() - size);
        let holds = holds.chain(std::iter::repeat(&self.contexts_hold));
        let values = self.trained[size..].iter().zip(&moved[size..]).zip(holds);
        values.filter(|(_, hold)| hold.is_finite()).map(|((z, moved), hold)| hold * (z * z - moved * moved)).sum()
    }

    /// `z - S J_z' a - (1 - S) z`.
    fn moved(&self, multipliers: &[f64], shares: &Shares) -> Vec<f64> {
        let (size, d) = (self.weights_hold.len(), self.context_dimension);
        let (shared, contexts) = self.trained.split_at(self.rule.shared_size());
        let mut pulled = vec![0.0; contexts.len() / d * size];
        let rows = self.jacobian.rows.chunks_exact(size);
        for ((row, &e), a) in rows.zip(&self.jacobian.environments).zip(multipliers) {
            pulled[e * size..(e + 1) * size].iter_mut().zip(row).for_each(|(sum, j)| *sum += a * j);
        }
        let mut step = vec![0.0; self.trained.len()];
        let (d_shared, d_contexts) = step.split_at_mut(shared.len());
        for (e, pulled) in pulled.chunks_exact(size).enumerate() {
            let context = e * d..(e + 1) * d;
            self.rule.chain(shared, &contexts[context.clone()], pulled, d_shared, &mut d_contexts[context]);
        }
        if self.contexts == Contexts::Tied {
            d_contexts.fill(0.0);
        }
        let of_columns = shares.weights.iter().cycle().take(shared.len() - size);
        let shares = std::iter::repeat_n(&1.0, size).chain(of_columns).chain(std::iter::repeat(&shares.contexts));
        let values = self.trained.iter().zip(step).zip(shares);
        values.map(|((z, step), share)| z - share * step - (1.0 - share) * z).collect()
    }

    fn kernel(&self, shares: &Shares) -> Tensor {
        let of_weights = &shares.weights[self.adapted_weights.clone()];
        let of_adapted = if of_weights.windows(2).all(|pair| pair[0] == pair[1]) {
            &self.of_adapted * of_weights[0]
        } else {
            (&self.adapted * Tensor::from_slice(of_weights).unsqueeze(0)).mm(&self.adapted.tr())
        };
        let kernel = &self.gram + of_adapted * &self.of_contexts;
        match &self.along {
            Some(along) => kernel + along * shares.contexts,
            None => kernel,
        }
    }

    /// `J_z (1 - S) z`, `[n, 1]`.
    fn held(&self, shares: &Shares) -> Tensor {
        let lost = |share: &f64| (1.0 - share) + (1.0 - shares.contexts);
        let lost: Vec<f64> = shares.weights[self.adapted_weights.clone()].iter().map(lost).collect();
        let held = &self.adapted * &self.displaced * Tensor::from_slice(&lost).unsqueeze(0);
        held.sum_dim_intlist([1i64].as_slice(), true, None::<Kind>)
    }

    /// `a` with `(J_z S J_z' + mu I) a = r - J_z (1 - S) z`; none where the matrix is not positive definite in the arithmetic.
    fn multipliers(&self, damping: f64, shares: &Shares) -> Option<Vec<f64>> {
        let n = self.gram.size()[0];
        let damped = self.kernel(shares) + Tensor::eye(n, (Kind::Double, tch::Device::Cpu)) * damping;
        let (factor, info) = damped.linalg_cholesky_ex(false, false);
        if info.int64_value(&[]) != 0 {
            return None;
        }
        let solution = (&self.residuals - self.held(shares)).cholesky_solve(&factor, false).view([-1]);
        Vec::<f64>::try_from(&solution).ok().filter(|values| values.iter().all(|value| value.is_finite()))
    }
}

#[cfg(test)]
mod tests {
    use nalgebra::{DMatrix, DVector};

    use super::*;
    use crate::random::Stream;
    use crate::rules::{Coda, Kind as Rules};

    /// The step against the normal equations over all of `z`, `(J_z' J_z + H + mu I) dz = -(J_z' r + H z)`.
    #[test]
    fn a_step_solves_the_penalised_normal_equations() {
        let (size, d, damping) = (5, 2, 0.3);
        let environments = vec![0, 0, 1, 1, 1, 2];
        let n = environments.len();
        for (kind, contexts) in [Rules::CodaL1, Rules::CodaL2, Rules::Coda]
            .into_iter()
            .flat_map(|kind| [Contexts::Learned, Contexts::Tied].map(|contexts| (kind, contexts)))
        {
            for adapted in [0..5, 1..4] {
                let rule = Coda { kind, weights: size, adapted, context_dimension: d };
                let mut stream = Stream::new(3, "linear-model", &[]);
                let mut normal = |count: usize| (0..count).map(|_| stream.normal()).collect::<Vec<f64>>();
                let jacobian =
                    Jacobian { environments: environments.clone(), residuals: normal(n), rows: normal(n * size) };
                let theta_c = normal(size);
                let of_environments = normal(3 * d);
                let mut trained = rule.initial_shared(theta_c, 0.5, &mut Stream::new(4, "linear-model", &[]));
                trained.extend(&of_environments);
                let settings = GaussNewton { locality_penalty: 0.05, context_penalty: 0.02, ..GaussNewton::default() };

                let held = rule.hold(&trained[..rule.shared_size()]);
                let mut hold = vec![0.0; trained.len()];
                for k in 0..d {
                    (0..size).for_each(|row| hold[(1 + k) * size + row] = n as f64 * 0.05 * held[row]);
                }
                hold[rule.shared_size()..].fill(if contexts == Contexts::Learned { n as f64 * 0.02 } else { 0.0 });
                let mut dense = DMatrix::zeros(n, trained.len());
                for (i, (&e, row)) in environments.iter().zip(jacobian.rows.chunks_exact(size)).enumerate() {
                    let (mut d_shared, mut d_context) = (vec![0.0; rule.shared_size()], vec![0.0; d]);
                    let shared = &trained[..rule.shared_size()];
                    rule.chain(shared, &of_environments[e * d..(e + 1) * d], row, &mut d_shared, &mut d_context);
                    (0..d_shared.len()).for_each(|j| dense[(i, j)] = d_shared[j]);
                    if contexts == Contexts::Learned {
                        (0..d).for_each(|k| dense[(i, rule.shared_size() + e * d + k)] = d_context[k]);
                    }
                }
                let (z, r) = (DVector::from_vec(trained.clone()), DVector::from_vec(jacobian.residuals.clone()));
                let held = DMatrix::from_diagonal(&DVector::from_vec(hold));
                let identity = DMatrix::identity(trained.len(), trained.len());
                let matrix = dense.transpose() * &dense + &held + identity * damping;
                let expected = -matrix.lu().solve(&(dense.transpose() * &r + &held * &z)).unwrap();
                let value = |dz: &DVector<f64>| {
                    let moved = &z + dz;
                    (&r + &dense * dz).norm_squared() + (moved.transpose() * &held * &moved)[0]
                };
                let decrease = value(&DVector::zeros(trained.len())) - value(&expected);

                let model = LinearModel::new(&rule, &settings, contexts, &trained, &jacobian);
                let step = model.step(damping).unwrap();
                let found: Vec<f64> = step.trained.iter().zip(&trained).map(|(moved, z)| moved - z).collect();
                approx::assert_relative_eq!(found.as_slice(), expected.as_slice(), epsilon = 1e-10);
                approx::assert_relative_eq!(step.decrease, decrease, max_relative = 1e-9);
            }
        }
    }
}
