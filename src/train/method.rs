//! How a Gauss-Newton step is computed: by the method that takes the fewest operations.
//!
//! Floating-point operations of a step, to leading order, for `n` residuals, `m` values `z` that move, `S` of them
//! shared, `E` environments of `P` weights, kernel products over `W` columns in all, a vector field that is evaluated `v`
//! times (at every point of a grid, where there is one) and uses each weight once then, and `k` inner steps:
//!
//! ```text
//! residuals:  n^2 W + n^3 / 3             + the Jacobian
//! weights:    n P^2 + 2 E (P + S) S + m^3 / 3    + the Jacobian
//! conjugate gradients:  16 k v P                forward and reverse mode, each with its rollout
//! the Jacobian, in reverse mode:  2 n r P       of a row with r evaluations a residual goes back through half
//! the Jacobian of a library:      a v P         in forward mode, a tangent of `a` operations for each weight
//! ```
//!
//! `S` and `m` count what weights depend on, so not what a rule keeps at zero: of 25,926 values on `lv-grid`, whose last layer alone is
//! adapted, 8,902 move, which is a seventeenth of the operations. Without the Jacobian a step of `gs-library` would seem a hundred times cheaper than it is.

use super::settings::{Contexts, GaussNewton, Method, Settings};
use crate::models::Layout;
use crate::rules::Rule;
use crate::schema::StateShape;

/// Operations of a GFLOP.
const GIGA: f64 = 1e9;

/// The sizes that operations are counted from.
pub struct Sizes {
    /// `n`.
    residuals: usize,
    /// `P`.
    weights: usize,
    /// `S`.
    shared: usize,
    /// `m`.
    values: usize,
    /// `E`.
    environments: usize,
    /// `W`.
    columns: usize,
    /// `v`.
    evaluations: usize,
    /// Operations of the Jacobian.
    jacobian: f64,
}

/// What is rolled out in a step.
#[derive(Clone, Copy)]
pub struct Rollouts {
    /// `E`.
    pub environments: usize,
    /// `n`.
    pub residuals: usize,
    /// `v`.
    pub evaluations: usize,
    /// `r`: those of the longest row.
    pub of_row: usize,
    /// `a` of a library.
    pub of_tangent: Option<f64>,
}

impl Rollouts {
    /// Of a training with `settings` of states of this shape and so many `inputs`: `residuals` of `environments`, the longest row of `intervals`.
    pub fn new(
        settings: &Settings,
        (state, inputs): (&StateShape, usize),
        environments: usize,
        residuals: usize,
        intervals: usize,
    ) -> Self {
        let of_interval = settings.solver.tableau(1).weights.len() * settings.substeps;
        let channels = state.channels.max(1);
        Rollouts {
            environments,
            residuals,
            evaluations: residuals / channels * of_interval,
            of_row: intervals * of_interval * state.size() / channels,
            of_tangent: settings.model.library(state, inputs).map(|library| library.tangent_operations()),
        }
    }
}

impl Sizes {
    /// For the model of this layout under `rule`.
    pub fn new(rule: &dyn Rule, layout: &Layout, contexts: Contexts, rollouts: Rollouts) -> Sizes {
        let Rollouts { environments, residuals, evaluations, of_row, of_tangent } = rollouts;
        let (all, d, weights) = (rule.shared_size(), rule.context_size(), layout.size());
        let products = rule.gram_products(&vec![1.0; environments * d], &vec![1.0; all]);
        let columns = products.map_or(all, |products| products.iter().map(|it| it.weights.len()).sum());
        let mut pulled = vec![0.0; all];
        rule.pull_back(&vec![1.0; all], &vec![1.0; d], &vec![1.0; weights], &mut pulled, &mut vec![0.0; d]);
        let shared = pulled.iter().filter(|value| **value != 0.0).count();
        let moved = if contexts == Contexts::Learned { environments * d } else { 0 };
        let of_each_weight = match of_tangent {
            Some(operations) => operations * evaluations as f64,
            None => 2.0 * residuals as f64 * of_row as f64,
        };
        let (values, jacobian) = (shared + moved, of_each_weight * weights as f64);
        Sizes { residuals, weights, shared, values, environments, columns, evaluations, jacobian }
    }

    /// `n`.
    pub(crate) fn residuals(&self) -> usize {
        self.residuals
    }

    /// `m`.
    pub(crate) fn values(&self) -> usize {
        self.values
    }

    /// The methods, and GFLOP of a step by each.
    pub fn operations(&self, settings: &GaussNewton) -> [(Method, f64); 3] {
        let [n, p, s, m, e, w, v] =
            [self.residuals, self.weights, self.shared, self.values, self.environments, self.columns, self.evaluations]
                .map(|count| count as f64);
        let by_residuals = self.jacobian + n * n * w + n.powi(3) / 3.0;
        let by_weights = self.jacobian + n * p * p + 2.0 * e * (p + s) * s + m.powi(3) / 3.0;
        let by_products = 16.0 * settings.inner_steps as f64 * v * p;
        [
            (Method::Residuals, by_residuals / GIGA),
            (Method::Weights, by_weights / GIGA),
            (Method::ConjugateGradients, by_products / GIGA),
        ]
    }

    /// The method asked for, or the one of the fewest operations; never `Auto`.
    pub fn method(&self, settings: &GaussNewton) -> Method {
        match settings.method {
            Method::Auto => {
                let all = self.operations(settings);
                all.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(Method::Residuals, |(method, _)| method)
            }
            asked => asked,
        }
    }

    /// What is computed how, and why, in a line.
    pub(crate) fn note(&self, settings: &GaussNewton) -> String {
        let why = match settings.method {
            Method::Auto => "which takes the fewest operations",
            _ => "as train.gauss_newton.method says",
        };
        let counted: Vec<String> =
            self.operations(settings).map(|(method, cost)| format!("{} {cost:.3}", method.name())).to_vec();
        format!(
            "Gauss-Newton by the method {}, {why}: {} residuals, {} values; GFLOP a step: {}",
            self.method(settings).name(),
            self.residuals,
            self.values,
            counted.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW_RESIDUALS: Sizes = Sizes {
        residuals: 100,
        weights: 1000,
        shared: 3000,
        values: 3010,
        environments: 5,
        columns: 2000,
        evaluations: 400,
        jacobian: 0.0,
    };

    #[test]
    fn the_cheapest_method_is_chosen_unless_one_is_asked_for() {
        let by = |method| GaussNewton { method, ..GaussNewton::default() };
        let auto = by(Method::Auto);
        let few_weights = Sizes { residuals: 100_000, weights: 10, shared: 30, values: 40, ..FEW_RESIDUALS };
        let many_of_both = Sizes { residuals: 40_000, weights: 9000, shared: 27_000, values: 27_018, ..FEW_RESIDUALS };
        assert_eq!(FEW_RESIDUALS.method(&auto), Method::Residuals);
        assert_eq!(Sizes { evaluations: 400_000, ..few_weights }.method(&auto), Method::Weights);
        assert_eq!(Sizes { evaluations: 20_000, ..many_of_both }.method(&auto), Method::ConjugateGradients);
        for asked in [Method::Residuals, Method::Weights, Method::ConjugateGradients] {
            assert_eq!(FEW_RESIDUALS.method(&by(asked)), asked);
        }
        let note = FEW_RESIDUALS.note(&auto);
        assert!(note.contains("by the method residuals, which"), "{note}");
        assert!(note.contains("100 residuals, 3010 values; GFLOP a step: residuals 0.020, weights 9.310"), "{note}");
        assert!(note.contains("conjugate-gradients 1.280"), "{note}");
    }

    /// Of five environments with two parameters: the last layer's weights alone depend on contexts, and each weight is a tangent.
    #[test]
    fn what_does_not_move_is_not_counted_and_the_jacobian_is() {
        use crate::models::{self, AdaptedLayers};
        use crate::rules::{Kind, Shape};
        use crate::schema::StateShape;
        let model = models::Settings::Mlp { layers: 2, width: 8 }.build(&StateShape::without_space(2), 0);
        let shape = Shape { adapted: AdaptedLayers::Last, context_dimension: 2, inner_rate: 0.0 };
        let rule = Kind::CodaL2.build(model.layout(), shape);
        let rollouts = Rollouts { environments: 5, residuals: 100, evaluations: 300, of_row: 20, of_tangent: None };
        let sizes = |rollouts| Sizes::new(rule.as_ref(), model.layout(), Contexts::Learned, rollouts);
        let (weights, last) = (8 * 3 + 2 * 9, 2 * 9);
        assert_eq!(sizes(rollouts).values, weights + 2 * last + 5 * 2);
        assert_eq!(sizes(rollouts).jacobian, (2 * 100 * 20 * weights) as f64);
        assert_eq!(sizes(Rollouts { of_tangent: Some(24.0), ..rollouts }).jacobian, (4 * 6 * 300 * weights) as f64);
    }
}
