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

use std::sync::Arc;

use super::system::{Axis, Channel, Dynamics, EnvironmentSet, Outputs, Parameter, Preset, System};
use crate::expressions::{Dual, Nested, Scalar};

const ALPHA: f64 = 0.5;
const GAMMA: f64 = 0.5;

/// The system `lotka-volterra`.
pub(crate) fn system() -> System {
    System {
        name: "lotka-volterra".to_owned(),
        description: "Prey and predator, dx/dt = 0.5 x - beta x y, dy/dt = delta x y - 0.5 y".to_owned(),
        time_unit: "1".to_owned(),
        channels: channels(),
        outputs: Outputs::default(),
        inputs: Vec::new(),
        covariates: Vec::new(),
        parameters: vec![
            Parameter::new("beta", "1", "Loss of prey per encounter with a predator", [1e-3, 10.0]),
            Parameter::new("delta", "1", "Gain of predators per encounter with prey", [1e-3, 10.0]),
        ],
        horizon: 10.0,
        time_step: 0.5,
        initial: Vec::new(),
        starts: None,
        preequilibration: None,
        doses: None,
        uses_time: false,
        presets: vec![
            Preset {
                name: "paper".to_owned(),
                description: "Initial states uniform on [1, 3]^2".to_owned(),
                space: Vec::new(),
                dynamics: Dynamics::Field(Arc::new(field::<f64>)),
                tangent: Some(Arc::new((field::<Dual>, field::<Nested>))),
                initial: Arc::new(|uniform, state| state.fill_with(|| 1.0 + 2.0 * uniform())),
                environments: environments(),
            },
            Preset {
                name: "lv-narrow".to_owned(),
                description: "Initial states uniform on [1, 2]^2".to_owned(),
                space: Vec::new(),
                dynamics: Dynamics::Field(Arc::new(field::<f64>)),
                tangent: Some(Arc::new((field::<Dual>, field::<Nested>))),
                initial: Arc::new(|uniform, state| state.fill_with(|| 1.0 + uniform())),
                environments: environments(),
            },
        ],
    }
}

pub(crate) fn channels() -> Vec<Channel> {
    vec![Channel::new("x", "1", "Prey"), Channel::new("y", "1", "Predator")]
}

/// Sets with `count` parameters that take the same values: those of the benchmark.
pub(crate) fn benchmark_sets(count: usize) -> Vec<EnvironmentSet> {
    vec![
        EnvironmentSet::new("train", vec![Axis::values([0.5, 0.75, 1.0]); count]),
        EnvironmentSet::new("adapt", vec![Axis::values([0.625, 1.125]); count]),
    ]
}

fn environments() -> Vec<EnvironmentSet> {
    let grid = EnvironmentSet::new("grid", vec![Axis::Uniform { first: 0.25, last: 1.25, count: 51 }; 2]);
    [benchmark_sets(2), vec![grid]].concat()
}

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
        let system = system();
        let preset = system.preset("paper").unwrap();
        let sizes: Vec<_> = preset.environments.iter().map(|set| (set.name.as_str(), set.len())).collect();
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
