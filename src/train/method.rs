//! How a Gauss-Newton step is computed: by the space whose linear algebra takes fewer operations.
//!
//! Floating-point operations of a step, to leading order, for `n` residuals, `m` values `z` that move, `S` of them
//! shared, `E` environments of `P` weights, and kernel products over `W` columns in all:
//!
//! ```text
//! residuals:  n^2 W + n^3 / 3
//! weights:    n P^2 + 2 E (P + S) S + m^3 / 3
//! ```
//!
//! Both need the same Jacobian, which is not counted.

use super::settings::{Contexts, Method, Settings};
use crate::models::Layout;
use crate::rules::Rule;

/// Operations of a GFLOP.
const GIGA: f64 = 1e9;

/// The sizes that operations are counted from.
pub(crate) struct Sizes {
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
}

impl Sizes {
    /// For `n` residuals of `environments`.
    pub(crate) fn new(
        rule: &dyn Rule,
        layout: &Layout,
        contexts: Contexts,
        environments: usize,
        residuals: usize,
    ) -> Sizes {
        let (shared, d) = (rule.shared_size(), rule.context_size());
        let products = rule.gram_products(&vec![1.0; environments * d], &vec![1.0; shared]);
        let columns = products.map_or(shared, |products| products.iter().map(|it| it.weights.len()).sum());
        let moved = if contexts == Contexts::Learned { environments * d } else { 0 };
        Sizes { residuals, weights: layout.size(), shared, values: shared + moved, environments, columns }
    }

    /// GFLOP of a step in the space of the residuals, and in that of the values.
    fn operations(&self) -> [f64; 2] {
        let [n, p, s, m, e, w] =
            [self.residuals, self.weights, self.shared, self.values, self.environments, self.columns]
                .map(|count| count as f64);
        let by_residuals = n * n * w + n.powi(3) / 3.0;
        let by_weights = n * p * p + 2.0 * e * (p + s) * s + m.powi(3) / 3.0;
        [by_residuals / GIGA, by_weights / GIGA]
    }

    /// Whether steps are computed in the space of the values.
    pub(crate) fn by_weights(&self, asked: Method) -> bool {
        match asked {
            Method::Residuals => false,
            Method::Weights => true,
            Method::Auto => {
                let [by_residuals, by_weights] = self.operations();
                by_weights < by_residuals
            }
        }
    }

    /// What is computed how, and why, in a line.
    pub(crate) fn note(&self, asked: Method) -> String {
        let [by_residuals, by_weights] = self.operations();
        let chosen = if self.by_weights(asked) { "weights" } else { "residuals" };
        let why = match asked {
            Method::Auto => "which takes fewer operations",
            _ => "as train.gauss_newton.method says",
        };
        format!(
            "Gauss-Newton steps in the space of the {chosen}, {why}: {} residuals, {by_residuals:.3} GFLOP a step; {} values, \
             {by_weights:.3} GFLOP a step",
            self.residuals, self.values
        )
    }
}

/// The [`Sizes`] of the steps that `settings` ask for, on a dataset whose contexts have `d` dimensions.
pub(crate) fn foreseen(settings: &Settings, layout: &Layout, d: usize, environments: usize, residuals: usize) -> Sizes {
    let rule = settings.rule.build(layout, settings.adapted_layers, d);
    Sizes::new(rule.as_ref(), layout, settings.contexts, environments, residuals)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW_RESIDUALS: Sizes =
        Sizes { residuals: 100, weights: 1000, shared: 3000, values: 3010, environments: 5, columns: 2000 };

    #[test]
    fn the_cheaper_space_is_chosen_unless_one_is_asked_for() {
        let many = Sizes { residuals: 1_000_000, ..FEW_RESIDUALS };
        assert!(!FEW_RESIDUALS.by_weights(Method::Auto) && many.by_weights(Method::Auto));
        assert!(FEW_RESIDUALS.by_weights(Method::Weights) && !many.by_weights(Method::Residuals));
        let note = FEW_RESIDUALS.note(Method::Auto);
        let [residuals, values] = ["100 residuals, 0.020 GFLOP", "3010 values, 9.310 GFLOP"];
        assert!(note.contains("space of the residuals, which") && note.contains(residuals), "{note}");
        assert!(note.contains(values), "{note}");
    }
}
