//! Lotka-Volterra with all four parameters varying: prey `x` and predator `y`.
//!
//! ```text
//! dx/dt = alpha x - beta x y
//! dy/dt = delta x y - gamma y
//! ```
//!
//! Symbols as in `lotka-volterra`, dimensionless. `V = delta x - gamma ln x + beta y - alpha ln y` is constant along every
//! trajectory.
//!
//! Source: M. Kirchmeyer, Y. Yin et al., ICML 2022, the study of context dimensions with four varying parameters. It is
//! not known which values its environments had. The sets here are our own: those of the benchmark with two parameters,
//! carried over to all four. Its values lie among them (`alpha = gamma = 0.5`), and none of `adapt` among those of `train`.

use std::sync::Arc;

use super::lotka_volterra::{benchmark_sets, channels, rates};
use super::system::{Dynamics, Outputs, Parameter, Preset, System};
use crate::expressions::{Dual, Nested, Scalar};

/// The system `lotka-volterra-4`.
pub(crate) fn system() -> System {
    System {
        name: "lotka-volterra-4".to_owned(),
        description: "Prey and predator, dx/dt = alpha x - beta x y, dy/dt = delta x y - gamma y".to_owned(),
        time_unit: "1".to_owned(),
        channels: channels(),
        outputs: Outputs::default(),
        inputs: Vec::new(),
        covariates: Vec::new(),
        parameters: vec![
            rate("alpha", "Growth rate of the prey"),
            rate("beta", "Loss of prey per encounter with a predator"),
            rate("gamma", "Death rate of the predator"),
            rate("delta", "Gain of predators per encounter with prey"),
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
                description: "Initial states uniform on [1, 3]^2; which environments the paper had is not known"
                    .to_owned(),
                space: Vec::new(),
                dynamics: Dynamics::Field(Arc::new(field::<f64>)),
                tangent: Some(Arc::new((field::<Dual>, field::<Nested>))),
                initial: Arc::new(|uniform, state| state.fill_with(|| 1.0 + 2.0 * uniform())),
                environments: benchmark_sets(4),
            },
            Preset {
                name: "lv-narrow".to_owned(),
                description: "Initial states uniform on [1, 2]^2; which environments the paper had is not known"
                    .to_owned(),
                space: Vec::new(),
                dynamics: Dynamics::Field(Arc::new(field::<f64>)),
                tangent: Some(Arc::new((field::<Dual>, field::<Nested>))),
                initial: Arc::new(|uniform, state| state.fill_with(|| 1.0 + uniform())),
                environments: benchmark_sets(4),
            },
        ],
    }
}

fn rate(name: &str, description: &str) -> Parameter {
    Parameter::new(name, "1", description, [1e-3, 10.0])
}

fn field<S: Scalar>(parameters: &[S], _: f64, state: &[S], derivative: &mut [S]) {
    let &[alpha, beta, gamma, delta] = parameters else { unreachable!("there are four parameters") };
    rates([alpha, beta, gamma, delta], state, derivative);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systems::lotka_volterra;

    #[test]
    fn is_the_benchmark_where_alpha_and_gamma_are_a_half() {
        let state = [1.7, 2.3];
        let (mut four, mut two) = ([f64::NAN; 2], [f64::NAN; 2]);
        field(&[0.5, 0.7, 0.5, 0.9], 3.0, &state, &mut four);
        lotka_volterra::field(&[0.7, 0.9], 3.0, &state, &mut two);
        assert_eq!(four, two);
    }

    #[test]
    fn rests_where_prey_and_predator_balance() {
        let mut derivative = [f64::NAN; 2];
        field(&[0.75, 0.5, 0.375, 0.25], 0.0, &[1.5, 1.5], &mut derivative);
        assert_eq!(derivative, [0.0, 0.0]);
    }

    #[test]
    fn sets_vary_every_parameter() {
        let system = system();
        let preset = system.preset("paper").unwrap();
        let set = |name| preset.environment_set(name).unwrap();
        assert_eq!((set("train").len(), set("adapt").len()), (81, 16));
        assert_eq!(set("train").parameters(1), [0.5, 0.5, 0.5, 0.75]);
        assert_eq!(set("adapt").parameters(8), [1.125, 0.625, 0.625, 0.625]);
    }
}
