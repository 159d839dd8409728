//! A step of Gauss-Newton on `|r|^2 + n lambda Omega + n lambda_xi sum_e |xi_e|^2` over `z = (shared, xi)`, in the
//! space of `z`: few values `m`, many residuals `n`.
//!
//! ```text
//! (H + M + mu D) dz = -(J_z' r + M z),     H = J_z' J_z = sum_e A_e' (J_e' J_e) A_e,     A_e = d theta_e / dz
//! D_j = max(H_jj / mean H_jj, 1e-4)
//! ```
//!
//! `J_e = dr/dtheta_e [n_e, P]`, of the weights that move, comes in parts of some residuals each, so that only `J_e' J_e [P, P]` and `H [m, m]` are
//! held, whatever `n`. `M` are the parabolas that touch the penalties, as in [`LinearModel`](super::LinearModel).
//! Values that a penalty holds (`M_j` infinite), that no residual depends on, and tied contexts do not move.
//!
//! `D` makes a step independent of the units of each value: residuals depend on the weights of a first layer, on those
//! of a last one and on contexts by very different amounts, and a damping that is the same for all would hold back
//! the flat directions until the steep ones are found. It is bounded below, because a value that hardly changes any
//! residual would else be free to go anywhere. Source: D. Marquardt, An algorithm for least-squares estimation of
//! nonlinear parameters, SIAM J. Appl. Math. 11 (1963) 431-441; J. Moré, The Levenberg-Marquardt algorithm, LNM 630
//! (1978) 105-116.

use faer::{Mat, MatRef};
use rayon::prelude::*;

use super::curvature::{Curvature, is_short};
use super::local_model::{LocalModel, Step, shared_majorizer};
use super::settings::{Contexts, GaussNewton};
use super::symmetric::Symmetric;
use crate::engine::Jacobian;
use crate::progress::Interrupt;
use crate::rules::Rule;

/// Least entry of `D`.
const LEAST_SCALE: f64 = 1e-4;

/// The normal equations around `z [m]`.
pub struct NormalEquations<'a> {
    trained: &'a [f64],
    interrupt: &'a Interrupt,
    /// `|r|^2`.
    squares: f64,
    /// `H [m, m]`, row-major; the rows of tied contexts are zero.
    curvature: Vec<f64>,
    /// `J_z' r [m]`.
    gradient: Vec<f64>,
    /// Diagonal of `M [m]`.
    majorizer: Vec<f64>,
    /// Indices of the values that move, ascending.
    moving: Vec<usize>,
    /// Mean diagonal of `H` over the values that move.
    mean_diagonal: f64,
    /// `D [m]`. Ones instead give Levenberg's damping, which is that of [`LinearModel`](super::LinearModel).
    pub scale: Vec<f64>,
}

impl<'a> NormalEquations<'a> {
    /// The equations around `trained`, given `n` residuals there in `parts`: each has residuals of one environment,
    /// whose index comes with them, with their derivatives by the [moving](Rule::moving_weights) ones of its `size` weights; environments
    /// ascend. Contexts move only if they are learned. After a signal they give no step.
    pub fn new(
        rule: &dyn Rule,
        settings: &GaussNewton,
        contexts: Contexts,
        trained: &'a [f64],
        (n, size): (usize, usize),
        parts: impl Iterator<Item = (usize, Jacobian)>,
        interrupt: &'a Interrupt,
    ) -> Self {
        let learned = contexts == Contexts::Learned;
        let s = rule.shared_size();
        let mut majorizer = shared_majorizer(rule, settings, &trained[..s], n);
        majorizer.resize(trained.len(), if learned { n as f64 * settings.context_penalty } else { 0.0 });
        let mut sums = Sums {
            rule,
            trained,
            learned,
            size,
            weights: rule.moving_weights(size),
            squares: 0.0,
            curvature: vec![0.0; trained.len() * trained.len()],
            gradient: vec![0.0; trained.len()],
        };
        let mut of_environment: Option<OfWeights> = None;
        for (e, part) in parts.filter(|(_, part)| !part.residuals.is_empty()) {
            sums.squares += part.residuals.iter().map(|r| r * r).sum::<f64>();
            if let Some(before) = of_environment.take_if(|it| it.environment != e) {
                sums.add(&before);
            }
            let width = sums.weights.len();
            of_environment.get_or_insert_with(|| OfWeights::new(e, width)).add(&part);
        }
        of_environment.iter().for_each(|last| sums.add(last));
        let Sums { squares, curvature, gradient, .. } = sums;
        let diagonal = |j: usize| curvature[j * (trained.len() + 1)];
        let moves =
            |&j: &usize| majorizer[j].is_finite() && (j < s || learned) && (diagonal(j) != 0.0 || majorizer[j] > 0.0);
        let moving: Vec<usize> = (0..trained.len()).filter(moves).collect();
        let mean_diagonal = moving.iter().map(|&j| diagonal(j)).sum::<f64>() / moving.len().max(1) as f64;
        let scale = (0..trained.len()).map(|j| (diagonal(j) / mean_diagonal).max(LEAST_SCALE)).collect();
        NormalEquations { trained, interrupt, squares, gradient, majorizer, moving, mean_diagonal, scale, curvature }
    }

    /// `-(2 r' J_z dz + dz' H dz)`, and the decrease of the parabolas.
    fn decrease(&self, solution: &[f64]) -> f64 {
        let of_row = |(&i, &dz): (&usize, &f64)| {
            let row = &self.curvature[i * self.trained.len()..(i + 1) * self.trained.len()];
            let bent: f64 = self.moving.iter().zip(solution).map(|(&j, dz)| row[j] * dz).sum();
            let released = self.majorizer[i] * dz * (2.0 * self.trained[i] + dz);
            -dz * (2.0 * self.gradient[i] + bent) - released
        };
        self.moving.iter().zip(solution).map(of_row).sum()
    }
}

impl LocalModel for NormalEquations<'_> {
    fn squares(&self) -> f64 {
        self.squares
    }

    /// The mean diagonal of `H`.
    fn mean_diagonal(&self) -> f64 {
        self.mean_diagonal
    }

    /// The step with damping `mu`; `None` where the damped matrix is not numerically positive definite, or if a signal comes.
    fn step(&self, damping: f64, curvature: Option<&Curvature>) -> Option<Step> {
        let size = self.trained.len();
        let matrix = Symmetric::new(self.moving.len(), |rows, columns| {
            let (rows, columns) = (&self.moving[rows], &self.moving[columns]);
            Mat::from_fn(rows.len(), columns.len(), |i, j| {
                let (i, j) = (rows[i], columns[j]);
                let added = if i == j { self.majorizer[i] + damping * self.scale[i] } else { 0.0 };
                self.curvature[i * size + j] + added
            })
        });
        let right = self.moving.iter().map(|&j| -(self.gradient[j] + self.majorizer[j] * self.trained[j]));
        let factor = matrix.factor(0.0, self.interrupt)?;
        let solution = factor.solve(&right.collect::<Vec<f64>>());
        if !solution.iter().all(|value| value.is_finite()) {
            return None;
        }
        let mut trained = self.trained.to_vec();
        self.moving.iter().zip(&solution).for_each(|(&j, dz)| trained[j] += dz);
        let correction = curvature.and_then(|curvature| {
            let v: Vec<f64> = trained.iter().zip(self.trained).map(|(moved, z)| moved - z).collect();
            let pulled = curvature.of_values(&v)?;
            let right: Vec<f64> = self.moving.iter().map(|&j| -0.5 * pulled[j]).collect();
            let square = |values: &[f64]| -> f64 {
                self.moving.iter().zip(values).map(|(&j, value)| self.scale[j] * value * value).sum()
            };
            Some(factor.solve(&right)).filter(|a| is_short(square(a), square(&solution)))
        });
        for (&j, a) in self.moving.iter().zip(correction.iter().flatten()) {
            trained[j] += a;
        }
        Some(Step { decrease: self.decrease(&solution), trained })
    }
}

/// `J_e' J_e` and `J_e' r` of one environment.
struct OfWeights {
    environment: usize,
    products: Symmetric,
    gradient: Vec<f64>,
}

impl OfWeights {
    fn new(environment: usize, width: usize) -> Self {
        let products = Symmetric::new(width, |rows, columns| Mat::zeros(rows.len(), columns.len()));
        OfWeights { environment, products, gradient: vec![0.0; width] }
    }

    fn add(&mut self, part: &Jacobian) {
        let width = self.gradient.len();
        self.products.add_gram(MatRef::from_row_major_slice(&part.rows, part.residuals.len(), width).transpose());
        for (row, r) in part.rows.chunks_exact(width).zip(&part.residuals) {
            self.gradient.iter_mut().zip(row).for_each(|(g, j)| *g += r * j);
        }
    }
}

/// The sums over environments.
struct Sums<'a> {
    rule: &'a dyn Rule,
    trained: &'a [f64],
    learned: bool,
    /// `P`.
    size: usize,
    /// Indices of the weights that move.
    weights: Vec<usize>,
    squares: f64,
    curvature: Vec<f64>,
    gradient: Vec<f64>,
}

impl Sums<'_> {
    /// Adds `A_e' (J_e' J_e) A_e` and `A_e' J_e' r`. Each row of a product is pulled back by one thread, and environments
    /// come one after the other, so that no bit depends on the number of threads.
    fn add(&mut self, of: &OfWeights) {
        let (s, d, width) = (self.rule.shared_size(), self.rule.context_size(), of.gradient.len());
        let (rule, size, learned) = (self.rule, self.trained.len(), self.learned);
        let own = s + of.environment * d..s + (of.environment + 1) * d;
        let (shared, context) = (&self.trained[..s], &self.trained[own.clone()]);
        // Both parts of a row of `z`, of which tied contexts take nothing.
        let pull_back = |weights: &[f64], to: &mut [f64], at: usize| {
            let (d_shared, d_contexts) = to.split_at_mut(s);
            let mut still = vec![0.0; d];
            let d_context = if learned { &mut d_contexts[at..at + d] } else { &mut still[..] };
            let mut all = vec![0.0; self.size];
            self.weights.iter().zip(weights).for_each(|(&p, weight)| all[p] = *weight);
            rule.pull_back(shared, context, &all, d_shared, d_context);
        };
        pull_back(&of.gradient, &mut self.gradient, own.start - s);
        let mut half = vec![0.0; width * (s + d)];
        half.par_chunks_exact_mut(s + d).enumerate().for_each(|(p, row)| {
            pull_back(&(0..width).map(|q| of.products.value(p, q)).collect::<Vec<f64>>(), row, 0);
        });
        let rows = self.curvature.par_chunks_exact_mut(size).enumerate();
        rows.filter(|(j, _)| *j < s || learned && own.contains(j)).for_each(|(j, row)| {
            let column = if j < s { j } else { s + j - own.start };
            let weights: Vec<f64> = half[column..].iter().step_by(s + d).copied().collect();
            pull_back(&weights, row, own.start - s);
        });
    }
}
