//! Lotka-Volterra: prey `x` and predator `y`.
//!
//! ```text
//! dx/dt = alpha x - beta x y
//! dy/dt = delta x y - gamma y
//! ```
//!
//! `x`, `y` population sizes; `alpha`, `gamma` growth rate of the prey and death rate of the predator; `beta`, `delta` loss
//! of prey and gain of predators per encounter. The benchmark states no units: all are dimensionless.
//! `V = delta x - gamma ln x + beta y - alpha ln y` is constant along every trajectory.
//!
//! Source: M. Kirchmeyer, Y. Yin et al., Generalizing to New Physical Systems via Context-Informed Dynamics Model, ICML
//! 2022, appendix on Lotka-Volterra: `alpha = gamma = 0.5`, `beta` and `delta` differ between environments. Initial states
//! are uniform on `[1, 3]^2` in its text (preset `paper`) and on `[1, 2]^2` in its published experiments (`lv-narrow`).

use super::system::{Axis, Channel, Dynamics, EnvironmentSet, Parameter, Preset, System};
use crate::expressions::{Dual, Scalar};

const ALPHA: f64 = 0.5;
const GAMMA: f64 = 0.5;

/// The system `lotka-volterra`.
pub static LOTKA_VOLTERRA: System = System {
    name: "lotka-volterra",
    description: "Prey and predator, dx/dt = 0.5 x - beta x y, dy/dt = delta x y - 0.5 y",
    time_unit: "1",
    channels: CHANNELS,
    inputs: &[],
    parameters: &[
        Parameter {
            name: "beta",
            unit: "1",
            description: "Loss of prey per encounter with a predator",
            lower: 1e-3,
            upper: 10.0,
        },
        Parameter {
            name: "delta",
            unit: "1",
            description: "Gain of predators per encounter with prey",
            lower: 1e-3,
            upper: 10.0,
        },
    ],
    horizon: 10.0,
    time_step: 0.5,
    given: &[],
    uses_time: false,
    presets: &[
        Preset {
            name: "paper",
            description: "Initial states uniform on [1, 3]^2",
            space: &[],
            dynamics: Dynamics::Field(&field::<f64>),
            tangent: Some(&field::<Dual>),
            initial: &|uniform, state| state.fill_with(|| 1.0 + 2.0 * uniform()),
            environments: ENVIRONMENTS,
        },
        Preset {
            name: "lv-narrow",
            description: "Initial states uniform on [1, 2]^2",
            space: &[],
            dynamics: Dynamics::Field(&field::<f64>),
            tangent: Some(&field::<Dual>),
            initial: &|uniform, state| state.fill_with(|| 1.0 + uniform()),
            environments: ENVIRONMENTS,
        },
    ],
};

pub(crate) const CHANNELS: &[Channel] =
    &[Channel { name: "x", unit: "1", description: "Prey" }, Channel { name: "y", unit: "1", description: "Predator" }];

pub(crate) const TRAIN: Axis = Axis::Values(&[0.5, 0.75, 1.0]);
pub(crate) const ADAPT: Axis = Axis::Values(&[0.625, 1.125]);
const GRID: Axis = Axis::Uniform { first: 0.25, last: 1.25, count: 51 };

const ENVIRONMENTS: &[EnvironmentSet] = &[
    EnvironmentSet { name: "train", axes: &[TRAIN, TRAIN] },
    EnvironmentSet { name: "adapt", axes: &[ADAPT, ADAPT] },
    EnvironmentSet { name: "grid", axes: &[GRID, GRID] },
];

pub(crate) fn field<S: Scalar>(parameters: &[S], _: f64, state: &[S], derivative: &mut [S]) {
    rates([S::from(ALPHA), parameters[0], S::from(GAMMA), parameters[1]], state, derivative);
}

/// Writes `dx/dt` and `dy/dt` to `derivative`.
#[inline]
pub(crate) fn rates<S: Scalar>([alpha, beta, gamma, delta]: [S; 4], state: &[S], derivative: &mut [S]) {
    let (x, y) = (state[0], state[1]);
    derivative[0] = alpha * x - beta * x * y;
    derivative[1] = delta * x * y - gamma * y;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_where_prey_and_predator_balance() {
        let mut derivative = [f64::NAN; 2];
        field(&[0.5, 0.25], 0.0, &[GAMMA / 0.25, ALPHA / 0.5], &mut derivative);
        assert_eq!(derivative, [0.0, 0.0]);
    }

    #[test]
    fn sets_are_those_of_the_benchmark() {
        let preset = LOTKA_VOLTERRA.preset("paper").unwrap();
        let sizes: Vec<_> = preset.environments.iter().map(|set| (set.name, set.len())).collect();
        assert_eq!(sizes, [("train", 9), ("adapt", 4), ("grid", 2601)]);
        let grid = preset.environment_set("grid").unwrap();
        assert_eq!(grid.parameters(0), [0.25, 0.25]);
        assert_eq!(grid.parameters(52), [0.27, 0.27]);
        assert_eq!(grid.parameters(2600), [1.25, 1.25]);
        let in_hull = (0..grid.len()).filter(|&index| grid.parameters(index).iter().all(|p| (0.5..=1.0).contains(p)));
        assert_eq!(in_hull.count(), 625);
        assert_eq!(preset.environment_set("train").unwrap().parameters(1), [0.5, 0.75]);
    }
}
