//! The coefficients of an explicit Runge-Kutta method.
//!
//! ```text
//! k_i = f(t + c_i dt, y + dt sum_{j<i} a_ij k_j)        i = 1 .. s
//! y'  = y + dt sum_i b_i k_i
//! ```
//!
//! `y [C]` state, `f` vector field (state per time), `dt` step, `k_i [C]` stages, `y'` the state one step on.
//! Source: E. Hairer, S. P. Noersett, G. Wanner, Solving Ordinary Differential Equations I, 2nd ed., section II.1.

/// An explicit Runge-Kutta method as data.
#[derive(Clone, Debug)]
pub struct Tableau {
    /// The name used in settings.
    pub name: &'static str,
    /// Order of `y'`: the error of one step is of order `dt^(order + 1)`.
    pub order: u32,
    /// Nodes `c [s]`.
    pub nodes: Vec<f64>,
    /// Row `i` holds the `i` coefficients `a_ij`, `j < i`; the first row is empty.
    pub stages: Vec<Vec<f64>>,
    /// Weights `b [s]`.
    pub weights: Vec<f64>,
    /// What adaptive stepping needs beside; `None` for a fixed-step method.
    pub embedded: Option<Embedded>,
}

impl Tableau {
    /// The method whose step is `count` steps of this one, each `1 / count` as long: its stages are theirs, one after the other.
    ///
    /// # Panics
    /// If `count` is zero.
    pub fn repeated(&self, count: usize) -> Tableau {
        assert!(count > 0, "a step consists of at least one");
        let part = 1.0 / count as f64;
        let scaled = |row: &[f64]| row.iter().map(|a| a * part).collect::<Vec<f64>>();
        let (mut nodes, mut stages, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for step in 0..count {
            for (node, row) in self.nodes.iter().zip(&self.stages) {
                nodes.push((step as f64 + node) * part);
                stages.push([weights.clone(), scaled(row)].concat());
            }
            weights.extend(scaled(&self.weights));
        }
        Tableau { name: self.name, order: self.order, nodes, stages, weights, embedded: None }
    }
}

/// The error estimate and the continuous extension of a method with `s` stages.
///
/// Stage `s + 1` is always the derivative at `y'`, which is the first stage of the next step; the extension may ask for
/// more stages after it, `m` in all.
#[derive(Clone, Debug)]
pub struct Embedded {
    /// How the error of a step is estimated.
    pub error: ErrorEstimate,
    /// The estimate is of order `dt^(error_order + 1)`.
    pub error_order: u32,
    /// `|dt lambda|` just inside the boundary of stability on the negative real axis: with longer steps errors grow.
    pub stiff: f64,
    /// Order of the extension: its error within a step is of order `dt^(extension_order + 1)`.
    pub extension_order: u32,
    /// Nodes of the stages `s + 2 .. m`.
    pub extension_nodes: &'static [f64],
    /// Coefficients of the stages `s + 2 .. m` over the stages before each.
    pub extension_stages: &'static [&'static [f64]],
    /// `y(t + theta dt) = y + dt sum_i b_i(theta) k_i`: row `i` of `m` holds the coefficients of `theta, theta^2, ..` in
    /// `b_i`; it is empty where `b_i = 0`.
    pub extension: &'static [&'static [f64]],
}

/// Weights `e [s + 1]` of the stages in an error estimate `dt sum_i e_i k_i`.
#[derive(Clone, Debug)]
pub enum ErrorEstimate {
    /// The norm of one estimate.
    Single(&'static [f64]),
    /// `n5^2 / sqrt(n5^2 + 0.01 n3^2)` of the norms `n5`, `n3` of two estimates, as in DOP853.
    Pair {
        /// The estimate of order 5.
        fifth: &'static [f64],
        /// The estimate of order 3.
        third: &'static [f64],
    },
}
