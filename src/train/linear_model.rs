//! A step of Gauss-Newton on `|r|^2 + n lambda Omega(W) + n lambda_xi sum_e |xi_e|^2` over `z = (theta_c, W, xi)`, in the space of the
//! residuals `r [n]`. With `J_i = dr_i/dtheta_e [P]` and `theta_e = theta_c + W xi_e`, and each penalty in the place of the
//! parabola `sum_j h_j z_j^2` that touches it from above (a row norm is reweighted anew in every step), a step with damping `mu` is
//! `dz = -(S J_z' a + (1 - S) z)`, `(J_z S J_z' + mu I) a = r - J_z (1 - S) z`, `S = diag(mu / (mu + h))`: of each value the share `S`
//! that its penalty leaves to the data. The kernel is
//! `K_ij = J_i . J_j + (xi_i . xi_j) J_i . S M J_j + s_xi [e_i = e_j] (J_i W) . (J_j W)`, `M` the adapted weights, the last term
//! only where contexts are learned. Behind the step the linear model leaves the residuals `mu a`. The damping follows the gain
//! ratio (Nielsen 1999).

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::settings::{Contexts, GaussNewton};
use super::symmetric::Symmetric;
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
    /// Values of a context.
    context_dimension: usize,
    jacobian: Jacobian,
    /// `|r|^2`.
    squares: f64,
    /// The residuals of each environment, which stand together.
    environments: Vec<Range<usize>>,
    /// The weights that are adapted, among `P`.
    adapted_weights: Range<usize>,
    /// `J_i . J_j`.
    gram: Symmetric,
    /// `J_i . M J_j` where that is something else.
    of_adapted: Option<Symmetric>,
    /// `J_i W`, `[n, d]`, where contexts are learned.
    along: Option<Vec<f64>>,
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
        jacobian: Jacobian,
    ) -> Self {
        let n = jacobian.residuals.len();
        let size = jacobian.rows.len() / n;
        let learned = contexts == Contexts::Learned;
        let shared = &trained[..rule.shared_size()];
        let d = shared.len() / size - 1;
        let count = (trained.len() - shared.len()) / d;
        let first = |e: usize| jacobian.environments.partition_point(|&other| other < e);
        let environments: Vec<Range<usize>> = (0..count).map(|e| first(e)..first(e + 1)).collect();
        let rows = MatRef::from_row_major_slice(&jacobian.rows, n, size);
        let adapted_weights = rule.adapted();
        // No penalty holds nothing, not even a row whose norm is zero.
        let weights_hold = match settings.locality_penalty {
            0.0 => vec![0.0; size],
            lambda => rule.hold(shared).into_iter().map(|hold| n as f64 * lambda * hold).collect(),
        };
        let (gram, of_adapted) = (Symmetric::gram(rows, None), rows.get(.., adapted_weights.clone()));
        let of_adapted = (adapted_weights.len() < size).then(|| Symmetric::gram(of_adapted, None));
        let along = learned.then(|| {
            let basis = rule.basis(shared);
            let basis = MatRef::from_row_major_slice(&basis[size..], d, size);
            let of_environment = |residuals: &Range<usize>| product(rows.get(residuals.clone(), ..), basis.transpose());
            environments.par_iter().flat_map_iter(of_environment).collect()
        });
        LinearModel {
            rule,
            contexts,
            trained,
            context_dimension: d,
            squares: jacobian.residuals.iter().map(|r| r * r).sum(),
            environments,
            gram,
            of_adapted,
            along,
            adapted_weights,
            weights_hold,
            contexts_hold: if learned { n as f64 * settings.context_penalty } else { 0.0 },
            jacobian,
        }
    }

    /// The sum of squared residuals at `z`.
    pub fn squares(&self) -> f64 {
        self.squares
    }

    /// The mean diagonal of the kernel without penalties.
    pub fn mean_diagonal(&self) -> f64 {
        let shares = Shares { weights: vec![1.0; self.weights_hold.len()], contexts: 1.0 };
        self.kernel(&shares).mean_diagonal()
    }

    /// `J [n, P]`.
    fn rows(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.jacobian.rows, self.jacobian.residuals.len(), self.weights_hold.len())
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
        let mut step = vec![0.0; self.trained.len()];
        let (d_shared, d_contexts) = step.split_at_mut(shared.len());
        let pulled = self.environments.par_iter().map(|residuals| {
            let of_environment = &multipliers[residuals.clone()];
            let of_environment = MatRef::from_column_major_slice(of_environment, of_environment.len(), 1);
            product(self.rows().get(residuals.clone(), ..).transpose(), of_environment)
        });
        let pulled: Vec<Vec<f64>> = pulled.collect();
        for (e, pulled) in pulled.iter().enumerate() {
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

    fn kernel(&self, shares: &Shares) -> Symmetric {
        let of_weights = &shares.weights[self.adapted_weights.clone()];
        let alike = of_weights.windows(2).all(|pair| pair[0] == pair[1]).then(|| of_weights[0]);
        let weighed = alike
            .is_none()
            .then(|| Symmetric::gram(self.rows().get(.., self.adapted_weights.clone()), Some(of_weights)));
        let of_adapted = weighed.as_ref().or(self.of_adapted.as_ref()).unwrap_or(&self.gram);
        let (d, share) = (self.context_dimension, alike.unwrap_or(1.0));
        let contexts = &self.trained[self.rule.shared_size()..];
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        Symmetric::new(self.jacobian.residuals.len(), |rows, columns| {
            Mat::from_fn(rows.len(), columns.len(), |i, j| {
                let (i, j) = (rows.start + i, columns.start + j);
                let [e_i, e_j] = [i, j].map(|i| self.jacobian.environments[i]);
                let of_contexts = dot(&contexts[e_i * d..(e_i + 1) * d], &contexts[e_j * d..(e_j + 1) * d]);
                let value = self.gram.at(i, j) + of_adapted.at(i, j) * share * of_contexts;
                match &self.along {
                    Some(along) if e_i == e_j => {
                        value + dot(&along[i * d..(i + 1) * d], &along[j * d..(j + 1) * d]) * shares.contexts
                    }
                    _ => value,
                }
            })
        })
    }

    /// `J_z (1 - S) z`, `[n]`.
    fn held(&self, shares: &Shares) -> Vec<f64> {
        let (size, d) = (self.weights_hold.len(), self.context_dimension);
        let (shared, contexts) = self.trained.split_at(self.rule.shared_size());
        let of_columns = shares.weights.iter().cycle().zip(&shared[size..]).map(|(share, w)| (1.0 - share) * w);
        let lost: Vec<f64> = std::iter::repeat_n(0.0, size).chain(of_columns).collect();
        let of_environment = |(residuals, context): (&Range<usize>, &[f64])| {
            let lost_of_context: Vec<f64> = context.iter().map(|xi| (1.0 - shares.contexts) * xi).collect();
            let mut weights = vec![0.0; size];
            self.rule.push(shared, context, &lost, &lost_of_context, &mut weights);
            product(self.rows().get(residuals.clone(), ..), MatRef::from_column_major_slice(&weights, size, 1))
        };
        self.environments.par_iter().zip(contexts.par_chunks_exact(d)).flat_map_iter(of_environment).collect()
    }

    /// `a` with `(J_z S J_z' + mu I) a = r - J_z (1 - S) z`; none where the matrix is not positive definite in the arithmetic.
    fn multipliers(&self, damping: f64, shares: &Shares) -> Option<Vec<f64>> {
        let factor = self.kernel(shares).factor(damping)?;
        let right = self.jacobian.residuals.iter().zip(self.held(shares)).map(|(r, held)| r - held);
        let solution = factor.solve(&right.collect::<Vec<f64>>());
        Some(solution).filter(|values| values.iter().all(|value| value.is_finite()))
    }
}

/// `left right`, on this thread; row after row.
fn product(left: MatRef<f64>, right: MatRef<f64>) -> Vec<f64> {
    let mut values = vec![0.0; left.nrows() * right.ncols()];
    let product = MatMut::from_row_major_slice_mut(&mut values, left.nrows(), right.ncols());
    matmul(product, Accum::Replace, left, right, 1.0, Par::Seq);
    values
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

                let model = LinearModel::new(&rule, &settings, contexts, &trained, jacobian.clone());
                let step = model.step(damping).unwrap();
                let found: Vec<f64> = step.trained.iter().zip(&trained).map(|(moved, z)| moved - z).collect();
                approx::assert_relative_eq!(found.as_slice(), expected.as_slice(), epsilon = 1e-10);
                approx::assert_relative_eq!(step.decrease, decrease, max_relative = 1e-9);
            }
        }
    }
}
