//! How the context of a new environment is found.

/// What moves a context `xi` from its start, given the mean squared error `f` of the environment's trajectories with its penalties.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ContextFit {
    /// Damped Gauss-Newton to the minimum of `f`.
    GaussNewton,
    /// That many steps `xi <- xi - rate df/dxi`: for rules whose shared values were trained to be a few such steps away from every environment.
    GradientSteps {
        /// Number of steps.
        steps: usize,
        /// Length of a step per unit of the gradient.
        rate: f64,
    },
}
