//! Glycolytic oscillator: seven concentrations of a yeast cell's sugar metabolism.
//!
//! ```text
//! v  = k1 S1 S6 / (1 + (S6 / K1)^q)           glucose + 2 ATP, inhibited by ATP
//! dS1/dt = J0 - v
//! dS2/dt = 2 v - k2 S2 (N - S5) - k6 S2 S5
//! dS3/dt = k2 S2 (N - S5) - k3 S3 (A - S6)
//! dS4/dt = k3 S3 (A - S6) - k4 S4 S5 - kappa (S4 - S7)
//! dS5/dt = k2 S2 (N - S5) - k4 S4 S5 - k6 S2 S5
//! dS6/dt = -2 v + 2 k3 S3 (A - S6) - k5 S6
//! dS7/dt = psi kappa (S4 - S7) - k S7
//! ```
//!
//! `S1 .. S7` in mmol/L, time in minutes. `k1` and `K1` differ between environments, the constants below do not.
//!
//! Source: B. Daniels, I. Nemenman, Efficient inference of parsimonious phenomenological models of cellular dynamics using
//! S-systems and alternating regression, PLoS ONE 10(3), 2015 (equations, constants, units, initial states), after P. Ruoff
//! et al., Biophysical Chemistry 106, 2003. Environments: M. Kirchmeyer, Y. Yin et al., ICML 2022.
//!
//! Mildly stiff: the fastest mode decays at 25 to 80 per minute, now and then at 300, the slowest at about 0.5 per minute.
//! Explicit methods cope: for accuracy alone Dormand-Prince 8(5,3) takes 68 steps on the 20 samples at a tolerance of 1e-9,
//! where some 15 would be stable, and rejects two in a hundred.

use std::sync::Arc;

use super::system::{Axis, Channel, Dynamics, EnvironmentSet, Outputs, Parameter, Preset, System};
use crate::expressions::{Dual, Nested, Scalar};

/// `J0`, mmol/L/min.
const INFLOW: f64 = 2.5;
/// `k2, k3, k4, k6`, L/mmol/min.
const K2: f64 = 6.0;
const K3: f64 = 16.0;
const K4: f64 = 100.0;
const K6: f64 = 12.0;
/// `k5`, 1/min.
const K5: f64 = 1.28;
/// `k`, 1/min.
const OUTFLOW: f64 = 1.8;
/// `kappa`, 1/min.
const KAPPA: f64 = 13.0;
/// `psi`, ratio of the volumes of cells and medium.
const PSI: f64 = 0.1;
/// `q`.
const COOPERATIVITY: i32 = 4;
/// `N`, NADH and NAD+, mmol/L.
const NICOTINAMIDES: f64 = 1.0;
/// `A`, ATP and ADP, mmol/L.
const ADENOSINES: f64 = 4.0;

/// Initial states are uniform between these, mmol/L.
const INITIAL: [(f64, f64); 7] =
    [(0.15, 1.60), (0.19, 2.16), (0.04, 0.20), (0.10, 0.35), (0.08, 0.30), (0.14, 2.67), (0.05, 0.10)];

/// The system `glycolytic-oscillator`.
pub(crate) fn system() -> System {
    System {
        name: "glycolytic-oscillator".to_owned(),
        description:
            "Sugar metabolism of yeast, seven concentrations, rate k1 and inhibition K1 of the first reaction vary"
                .to_owned(),
        time_unit: "min".to_owned(),
        channels: vec![
            concentration("S1", "Glucose"),
            concentration("S2", "Glyceraldehyde-3-phosphate and dihydroxyacetone phosphate"),
            concentration("S3", "1,3-Bisphosphoglycerate"),
            concentration("S4", "Pyruvate and acetaldehyde in the cells"),
            concentration("S5", "NADH"),
            concentration("S6", "ATP"),
            concentration("S7", "Pyruvate and acetaldehyde in the medium"),
        ],
        outputs: Outputs::default(),
        inputs: Vec::new(),
        covariates: Vec::new(),
        parameters: vec![
            Parameter::new("k1", "L mmol-1 min-1", "Rate of the first reaction", [1.0, 1e3]),
            Parameter::new("K1", "mmol L-1", "ATP at which the first reaction is halved", [0.05, 10.0]),
        ],
        horizon: 1.0,
        time_step: 0.05,
        initial: Vec::new(),
        starts: None,
        preequilibration: None,
        doses: None,
        uses_time: false,
        presets: vec![Preset {
            name: "paper".to_owned(),
            description: "Initial states uniform on the box of Daniels and Nemenman".to_owned(),
            space: Vec::new(),
            dynamics: Dynamics::Field(Arc::new(field::<f64>)),
            tangent: Some(Arc::new((field::<Dual>, field::<Nested>))),
            initial: Arc::new(|uniform, state| {
                for (value, (lower, upper)) in state.iter_mut().zip(INITIAL) {
                    *value = lower + (upper - lower) * uniform();
                }
            }),
            environments: vec![
                EnvironmentSet::new("train", [Axis::values([100.0, 90.0, 80.0]), Axis::values([1.0, 0.75, 0.5])]),
                EnvironmentSet::new("adapt", [Axis::values([85.0, 95.0]), Axis::values([0.625, 0.875])]),
            ],
        }],
    }
}

fn concentration(name: &str, description: &str) -> Channel {
    Channel::new(name, "mmol L-1", description)
}

fn field<S: Scalar>(parameters: &[S], _: f64, state: &[S], derivative: &mut [S]) {
    let (k1, inhibition) = (parameters[0], parameters[1]);
    let &[s1, s2, s3, s4, s5, s6, s7] = state else { unreachable!("the state has seven channels") };
    let glucose_use = k1 * s1 * s6 / ((s6 / inhibition).powi(COOPERATIVITY) + 1.0);
    let oxidation = s2 * K2 * (S::from(NICOTINAMIDES) - s5);
    let phosphorylation = s3 * K3 * (S::from(ADENOSINES) - s6);
    let fermentation = s4 * K4 * s5;
    let glycerol = s2 * K6 * s5;
    let exchange = (s4 - s7) * KAPPA;
    derivative[0] = S::from(INFLOW) - glucose_use;
    derivative[1] = glucose_use * 2.0 - oxidation - glycerol;
    derivative[2] = oxidation - phosphorylation;
    derivative[3] = phosphorylation - fermentation - exchange;
    derivative[4] = oxidation - fermentation - glycerol;
    derivative[5] = (phosphorylation - glucose_use) * 2.0 - s6 * K5;
    derivative[6] = exchange * PSI - s7 * OUTFLOW;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Carbon in units of one triose: what flows in leaves as glycerol, by fermentation, in the medium, or stays.
    #[test]
    fn carbon_is_conserved() {
        let state = [0.9, 1.1, 0.12, 0.2, 0.15, 1.3, 0.07];
        let mut derivative = [f64::NAN; 7];
        field(&[90.0, 0.6], 0.0, &state, &mut derivative);
        let inside = 2.0 * derivative[0] + derivative[1] + derivative[2] + derivative[3];
        let glycerol = K6 * state[1] * state[4];
        let fermented = K4 * state[3] * state[4];
        let exchanged = (derivative[6] + OUTFLOW * state[6]) / PSI;
        let balance = 2.0 * INFLOW - glycerol - fermented - exchanged;
        assert!((inside - balance).abs() < 1e-12, "{inside} {balance}");
    }

    #[test]
    fn sets_are_those_of_the_benchmark() {
        let system = system();
        let preset = system.preset("paper").unwrap();
        let set = |name| preset.environment_set(name).unwrap();
        assert_eq!((set("train").len(), set("adapt").len()), (9, 4));
        assert_eq!(set("train").parameters(1), [100.0, 0.75]);
        assert_eq!(set("adapt").parameters(2), [95.0, 0.625]);
    }
}
