//! A step of Gauss-Newton on `|r|^2 + n lambda Omega + n lambda_xi sum_e |xi_e|^2` over `z = (shared, xi)`, in the
//! space of the residuals `r [n]`. With `J_i = dr_i/dtheta_e [P]`, `J_z = dr/dz` by the chain rule of the [`Rule`], and
//! each penalty replaced by the parabola `sum_j h_j z_j^2` that touches it from above (row norms are reweighted in
//! every step), a step with damping `mu` is `dz = -(S J_z' a + (1 - S) z)`, `(J_z S J_z' + mu I) a = r - J_z (1 - S)
//! z`, `S = diag(mu / (mu + h))`: `S` is the share of each value that its penalty leaves to the data. The kernel `J_z S
//! J_z'` is the sum of the rule's own [`GramProduct`]s, or of the products of the rows that it pulls back, and, where
//! contexts are learned, of `s_xi [e_i = e_j] (dr_i/dxi_e) . (dr_j/dxi_e)`. After the step, the residuals of the linear
//! model are `mu a`. The damping follows the gain ratio (Nielsen 1999).

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::curvature::{Curvature, is_short};
use super::local_model::{LocalModel, Step, shared_majorizer};
use super::settings::{Contexts, GaussNewton};
use super::symmetric::Symmetric;
use crate::engine::Jacobian;
use crate::progress::Interrupt;
use crate::rules::{GramProduct, Rule};

/// The diagonal of `S`: the share that its penalty leaves to the data, of each shared value `[S]` and of every context.
struct Shares {
    shared: Vec<f64>,
    contexts: f64,
}

impl Shares {
    /// Of every value of `z`, and more.
    fn all(&self) -> impl Iterator<Item = &f64> {
        self.shared.iter().chain(std::iter::repeat(&self.contexts))
    }
}

/// Residuals, linearised, and penalties around `z`.
pub struct LinearModel<'a> {
    rule: &'a dyn Rule,
    contexts: Contexts,
    /// `z`.
    trained: &'a [f64],
    interrupt: &'a Interrupt,
    jacobian: Jacobian,
    /// `|r|^2`.
    squares: f64,
    /// The range of residuals of each environment.
    environments: Vec<Range<usize>>,
    /// `dr/dshared [n, S]`, for a rule without Gram products of its own.
    by_shared: Option<Vec<f64>>,
    /// `J J'` over the columns of each product, computed once; where the shares differ between columns it is computed
    /// again for each step.
    grams: Vec<(Range<usize>, Symmetric)>,
    /// `dr_i / dxi_e [n, d]`, where contexts are learned.
    by_context: Option<Vec<f64>>,
    /// `h` of the shared values.
    shared_majorizer: Vec<f64>,
    /// `h` of the contexts.
    context_majorizer: f64,
}

impl<'a> LinearModel<'a> {
    /// The model around `trained`, given the residuals there and their Jacobian; contexts move only if they are
    /// learned. After a signal it gives no step.
    pub fn new(
        rule: &'a dyn Rule,
        settings: &GaussNewton,
        contexts: Contexts,
        trained: &'a [f64],
        jacobian: Jacobian,
        interrupt: &'a Interrupt,
    ) -> Self {
        let n = jacobian.residuals.len();
        let learned = contexts == Contexts::Learned;
        let (shared, of_environments) = trained.split_at(rule.shared_size());
        let first = |e: usize| jacobian.environments.partition_point(|&other| other < e);
        let counted = jacobian.environments.last().map_or(0, |last| last + 1);
        let count = of_environments.len().checked_div(rule.context_size()).unwrap_or(counted);
        let shared_majorizer = shared_majorizer(rule, settings, shared, n);
        let mut model = LinearModel {
            rule,
            contexts,
            trained,
            interrupt,
            squares: jacobian.residuals.iter().map(|r| r * r).sum(),
            environments: (0..count).map(|e| first(e)..first(e + 1)).collect(),
            jacobian,
            by_shared: None,
            grams: Vec::new(),
            by_context: None,
            shared_majorizer,
            context_majorizer: if learned { n as f64 * settings.context_penalty } else { 0.0 },
        };
        let unpenalised = vec![1.0; shared.len()];
        if rule.gram_products(of_environments, &unpenalised).is_none() {
            model.by_shared = Some(model.pulled_back());
        }
        for GramProduct { weights, .. } in model.products(&unpenalised) {
            if model.grams.iter().all(|(columns, _)| *columns != weights) {
                let gram = Symmetric::gram(model.factor().get(.., weights.clone()), None, interrupt);
                model.grams.push((weights, gram));
            }
        }
        model.by_context = learned.then(|| model.along_contexts());
        model
    }

    /// Shared values and contexts `[E, d]`.
    fn parts(&self) -> (&'a [f64], &'a [f64]) {
        self.trained.split_at(self.rule.shared_size())
    }

    /// `J [n, P]`.
    fn rows(&self) -> MatRef<'_, f64> {
        matrix(&self.jacobian.rows, self.jacobian.residuals.len())
    }

    /// The matrix whose Gram products make the kernel: `J`, or `dr/dshared` for a rule without products of its own.
    fn factor(&self) -> MatRef<'_, f64> {
        self.by_shared.as_ref().map_or_else(|| self.rows(), |rows| matrix(rows, self.jacobian.residuals.len()))
    }

    fn products(&self, shares: &[f64]) -> Vec<GramProduct> {
        self.rule.gram_products(self.parts().1, shares).unwrap_or_else(|| {
            let factors = vec![1.0; self.environments.len()];
            vec![GramProduct { weights: 0..shares.len(), shares: shares.to_vec(), factors }]
        })
    }

    /// `dr/dshared [n, S]`.
    fn pulled_back(&self) -> Vec<f64> {
        let (shared, contexts) = self.parts();
        let (d, width) = (self.rule.context_size(), self.rows().ncols());
        let mut values = vec![0.0; self.jacobian.residuals.len() * shared.len()];
        let rows = values.par_chunks_mut(shared.len()).zip(self.jacobian.rows.par_chunks(width));
        rows.zip(&self.jacobian.environments).for_each(|((to, row), e)| {
            self.rule.pull_back(shared, &contexts[e * d..(e + 1) * d], row, to, &mut vec![0.0; d]);
        });
        values
    }

    /// `dr_i/dxi_e [n, d]`.
    fn along_contexts(&self) -> Vec<f64> {
        let (shared, contexts) = self.parts();
        let width = self.rows().ncols();
        let d = self.rule.context_size();
        let of_environment = |(e, residuals): (usize, &Range<usize>)| {
            let linearised = self.rule.linearise(shared, &contexts[e * d..(e + 1) * d], width);
            let tangents = MatRef::from_row_major_slice(&linearised[width..], d, width);
            product(self.rows().get(residuals.clone(), ..), tangents.transpose())
        };
        self.environments.par_iter().enumerate().flat_map_iter(of_environment).collect()
    }

    /// The decrease of the parabolas from `z` to `moved`.
    fn released(&self, moved: &[f64]) -> f64 {
        let majorizers = self.shared_majorizer.iter().chain(std::iter::repeat(&self.context_majorizer));
        let values = self.trained.iter().zip(moved).zip(majorizers);
        values.filter(|(_, h)| h.is_finite()).map(|((z, moved), h)| h * (z * z - moved * moved)).sum()
    }

    /// `S J_z' a`.
    fn pulled(&self, multipliers: &[f64], shares: &Shares) -> Vec<f64> {
        let d = self.rule.context_size();
        let (shared, contexts) = self.parts();
        let mut step = vec![0.0; self.trained.len()];
        let (d_shared, d_contexts) = step.split_at_mut(shared.len());
        let pulled = self.environments.par_iter().map(|residuals| {
            let of_environment = &multipliers[residuals.clone()];
            product(self.rows().get(residuals.clone(), ..).transpose(), column(of_environment))
        });
        let pulled: Vec<Vec<f64>> = pulled.collect();
        for (e, pulled) in pulled.iter().enumerate() {
            let context = e * d..(e + 1) * d;
            self.rule.pull_back(shared, &contexts[context.clone()], pulled, d_shared, &mut d_contexts[context]);
        }
        if self.contexts == Contexts::Tied {
            d_contexts.fill(0.0);
        }
        step.iter_mut().zip(shares.all()).for_each(|(step, share)| *step *= share);
        step
    }

    /// `J_z S J_z'`.
    fn kernel(&self, shares: &Shares) -> Symmetric {
        let products = self.products(&shares.shared);
        let weighed: Vec<Option<Symmetric>> = products.iter().map(|product| self.weighed(product)).collect();
        let parts: Vec<Part> = products
            .iter()
            .zip(&weighed)
            .map(|(GramProduct { weights, shares, factors }, weighed)| {
                let ready = || &self.grams.iter().find(|(columns, _)| columns == weights).expect("made in `new`").1;
                let (gram, share) = weighed.as_ref().map_or_else(|| (ready(), shares[0]), |gram| (gram, 1.0));
                Part { gram, share, factors: by_pairs(factors, self.environments.len()) }
            })
            .collect();
        let (count, d) = (self.environments.len(), self.rule.context_size());
        Symmetric::new(self.jacobian.residuals.len(), |rows, columns| {
            let blocks: Vec<(MatRef<f64>, &Part)> =
                parts.iter().map(|part| (part.gram.block(&rows, &columns), part)).collect();
            Mat::from_fn(rows.len(), columns.len(), |i, j| {
                let residuals = [rows.start + i, columns.start + j];
                let [e, f] = residuals.map(|i| self.jacobian.environments[i]);
                let of_part =
                    |(block, part): &(MatRef<f64>, &Part)| block[(i, j)] * part.share * part.factors[e * count + f];
                let value: f64 = blocks.iter().map(of_part).sum();
                match &self.by_context {
                    Some(along) if e == f => value + dot(along, residuals, d) * shares.contexts,
                    _ => value,
                }
            })
        })
    }

    /// The weighted Gram matrix of a product whose shares are not all equal; `None` where the one in `grams` will do.
    fn weighed(&self, GramProduct { weights, shares, .. }: &GramProduct) -> Option<Symmetric> {
        let differ = shares.windows(2).any(|pair| pair[0] != pair[1]);
        differ.then(|| Symmetric::gram(self.factor().get(.., weights.clone()), Some(shares), self.interrupt))
    }

    /// `J_z (1 - S) z`, `[n]`.
    fn held(&self, shares: &Shares) -> Vec<f64> {
        let (shared, contexts) = self.parts();
        let lost: Vec<f64> = shared.iter().zip(&shares.shared).map(|(z, share)| (1.0 - share) * z).collect();
        let d = self.rule.context_size();
        let of_environment = |(e, residuals): (usize, &Range<usize>)| {
            let context = &contexts[e * d..(e + 1) * d];
            let of_context: Vec<f64> = context.iter().map(|xi| (1.0 - shares.contexts) * xi).collect();
            let mut weights = vec![0.0; self.rows().ncols()];
            self.rule.push_forward(shared, context, &lost, &of_context, &mut weights);
            product(self.rows().get(residuals.clone(), ..), column(&weights))
        };
        self.environments.par_iter().enumerate().flat_map_iter(of_environment).collect()
    }
}

impl LocalModel for LinearModel<'_> {
    fn squares(&self) -> f64 {
        self.squares
    }

    /// The mean diagonal of the kernel without penalties.
    fn mean_diagonal(&self) -> f64 {
        let shares = Shares { shared: vec![1.0; self.shared_majorizer.len()], contexts: 1.0 };
        self.kernel(&shares).mean_diagonal()
    }

    /// The step with damping `mu`; `None` where the damped kernel is not numerically positive definite, or if a signal comes.
    fn step(&self, damping: f64, curvature: Option<&Curvature>) -> Option<Step> {
        let share = |h: f64| damping / (damping + h);
        let shared = self.shared_majorizer.iter().copied().map(share).collect();
        let shares = Shares { shared, contexts: share(self.context_majorizer) };
        // `(J_z S J_z' + mu I) a = r - J_z (1 - S) z`.
        let factor = self.kernel(&shares).factor(damping, self.interrupt)?;
        let right = self.jacobian.residuals.iter().zip(self.held(&shares)).map(|(r, held)| r - held);
        let multipliers = factor.solve(&right.collect::<Vec<f64>>());
        if !multipliers.iter().all(|value| value.is_finite()) {
            return None;
        }
        let pulled = self.pulled(&multipliers, &shares);
        let values = self.trained.iter().zip(&pulled).zip(shares.all());
        let mut trained: Vec<f64> = values.map(|((z, pulled), share)| z - pulled - (1.0 - share) * z).collect();
        let correction = curvature.and_then(|curvature| {
            let v: Vec<f64> = trained.iter().zip(self.trained).map(|(moved, z)| moved - z).collect();
            let second = factor.solve(&curvature.of_residuals(&v)?);
            let a: Vec<f64> = self.pulled(&second, &shares).iter().map(|pulled| -0.5 * pulled).collect();
            let square = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
            Some(a).filter(|a| is_short(square(a), square(&v)))
        });
        let released = self.released(&trained);
        trained.iter_mut().zip(correction.iter().flatten()).for_each(|(z, a)| *z += a);
        let left: f64 = multipliers.iter().map(|a| (damping * a).powi(2)).sum();
        let decrease = self.squares() - left + released;
        Some(Step { trained, decrease })
    }
}

/// A product of the kernel.
struct Part<'a> {
    gram: &'a Symmetric,
    share: f64,
    /// `c_e . c_f [E, E]`.
    factors: Vec<f64>,
}

/// `c_e . c_f [E, E]` of `c [E, m]`.
fn by_pairs(factors: &[f64], count: usize) -> Vec<f64> {
    (0..count * count).map(|pair| dot(factors, [pair / count, pair % count], factors.len() / count)).collect()
}

/// The product of two rows of a matrix of `width` columns.
fn dot(values: &[f64], rows: [usize; 2], width: usize) -> f64 {
    let [a, b] = rows.map(|row| &values[row * width..(row + 1) * width]);
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn column(values: &[f64]) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(values, values.len(), 1)
}

/// A view of row-major values as a matrix.
fn matrix(values: &[f64], rows: usize) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(values, rows, values.len() / rows.max(1))
}

/// `left right` on this thread, row-major.
fn product(left: MatRef<f64>, right: MatRef<f64>) -> Vec<f64> {
    let mut values = vec![0.0; left.nrows() * right.ncols()];
    let product = MatMut::from_row_major_slice_mut(&mut values, left.nrows(), right.ncols());
    matmul(product, Accum::Replace, left, right, 1.0, Par::Seq);
    values
}
