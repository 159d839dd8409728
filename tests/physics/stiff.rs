//! Stiff systems, fitted without any known parameters to start from: the problems of the literature, from exact and from noisy data.

use paramill::estimate::{Row, Settings, Status};
use paramill::physics;
use paramill::progress::Interrupt;
use paramill::schema::{Between, Trajectory};
use paramill::solve::{DOP853, Tolerance};
use paramill::systems::{Dynamics, Equations, Simulator};

struct Problem {
    name: &'static str,
    states: &'static [(&'static str, &'static str, f64)],
    /// Name, value, and the factor by which the bounds lie apart from it.
    parameters: &'static [(&'static str, f64, f64)],
    times: fn() -> Vec<f64>,
}

/// Zero, and `count` times in equal ratios.
fn ratios(first: f64, last: f64, count: u32) -> Vec<f64> {
    let of = |k: u32| first * (last / first).powf(f64::from(k) / f64::from(count - 1));
    std::iter::once(0.0).chain((0..count).map(of)).collect()
}

/// `count` times in equal steps.
fn steps(step: f64, count: u32) -> Vec<f64> {
    (0..count).map(|k| f64::from(k) * step).collect()
}

/// As in Hairer and Wanner's Solving Ordinary Differential Equations II, section IV.10.
const PROBLEMS: [Problem; 4] = [
    Problem {
        name: "robertson",
        states: &[
            ("a", "-k1 * a + k3 * b * c", 1.0),
            ("b", "k1 * a - k2 * b^2 - k3 * b * c", 0.0),
            ("c", "k2 * b^2", 0.0),
        ],
        parameters: &[("k1", 0.04, 30.0), ("k2", 3e7, 30.0), ("k3", 1e4, 10.0)],
        times: || ratios(1e-5, 1e11, 60),
    },
    Problem {
        name: "vanderpol",
        states: &[("x", "y", 2.0), ("y", "mu * (1 - x^2) * y - x", 0.0)],
        parameters: &[("mu", 1000.0, 10.0)],
        times: || steps(10.0, 201),
    },
    Problem {
        name: "hires",
        states: &[
            ("y1", "-k1 * y1 + k2 * y2 + k6 * y3 + 0.0007", 1.0),
            ("y2", "k1 * y1 - (k2 + k3) * y2", 0.0),
            ("y3", "-(k6 + k1) * y3 + k2 * y4 + k5 * y5", 0.0),
            ("y4", "k3 * y2 + k1 * y3 - (k2 + k4) * y4", 0.0),
            ("y5", "-(k1 + k5) * y5 + k2 * y6 + k2 * y7", 0.0),
            ("y6", "-kp * y6 * y8 + k4 * y4 + k1 * y5 - k2 * y6 + k4 * y7", 0.0),
            ("y7", "kp * y6 * y8 - (k2 + 2 * k4) * y7", 0.0),
            ("y8", "-kp * y6 * y8 + (k2 + 2 * k4) * y7", 0.0057),
        ],
        parameters: &[
            ("k1", 1.71, 10.0),
            ("k2", 0.43, 10.0),
            ("k3", 8.32, 10.0),
            ("k4", 0.69, 10.0),
            ("k5", 0.035, 10.0),
            ("k6", 8.32, 10.0),
            ("kp", 280.0, 10.0),
        ],
        times: || ratios(1e-3, 321.8122, 60),
    },
    Problem {
        name: "oregonator",
        states: &[
            ("x", "s * (y + x * (1 - q * x - y))", 1.0),
            ("y", "(z - (1 + x) * y) / s", 2.0),
            ("z", "w * (x - z)", 3.0),
        ],
        parameters: &[("s", 77.27, 7.0), ("q", 8.375e-6, 10.0), ("w", 0.161, 7.0)],
        times: || steps(2.0, 181),
    },
];

impl Problem {
    fn equations(&self) -> Equations {
        let states = self.states.iter().map(|(name, derivative, initial)| {
            format!("{{ name = \"{name}\", derivative = \"{derivative}\", initial = [{initial:?}, {initial:?}] }}")
        });
        let parameters = self.parameters.iter().map(|(name, value, factor)| {
            format!("{{ name = \"{name}\", lower = {:?}, upper = {:?} }}", value / factor, value * factor)
        });
        let [states, parameters] =
            [states.collect::<Vec<_>>(), parameters.collect()].map(|it: Vec<String>| it.join(", "));
        let text = format!(
            "name = \"{}\"\nhorizon = 1.0\ntime_step = 0.1\nstates = [{states}]\nparameters = [{parameters}]",
            self.name
        );
        toml::from_str(&text).unwrap()
    }

    /// The fit of a simulated trajectory, with noise of that share of the spread of each channel.
    fn fit(&self, noise: f64) -> Row {
        let system = self.equations().system().unwrap();
        let preset = &system.presets[0];
        let Dynamics::Field(field) = &preset.dynamics else { panic!("it is a field") };
        let (c, times) = (self.states.len(), (self.times)());
        let truth: Vec<f64> = self.parameters.iter().map(|it| it.1).collect();
        let initial: Vec<f64> = self.states.iter().map(|it| it.2).collect();
        let tolerance = Tolerance { rtol: 1e-11, atol: 1e-17, max_steps: 1_000_000 };
        let mut simulator = Simulator::new(field, preset.tangent.as_ref(), c, Some(&DOP853), tolerance).unwrap();
        let mut states = vec![f64::NAN; times.len() * c];
        simulator.integrate(&truth, &initial, &times, &mut states, &Interrupt::new()).unwrap();
        for channel in 0..c {
            let values = || states.iter().skip(channel).step_by(c);
            let mean = values().sum::<f64>() / times.len() as f64;
            let spread = (values().map(|it| (it - mean).powi(2)).sum::<f64>() / times.len() as f64).sqrt();
            for (sample, value) in states.iter_mut().skip(channel).step_by(c).enumerate() {
                // Uniform, with a deviation of 1: a hash (SplitMix64) of the cell.
                let mut bits = ((sample * c + channel) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                let draw = ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64;
                *value += noise * spread * (2.0 * draw - 1.0) * 3.0_f64.sqrt();
            }
        }
        let trajectory = Trajectory {
            environment: self.name.to_owned(),
            trajectory: "0".to_owned(),
            parameters: truth.into_iter().map(Some).collect(),
            times,
            states,
            inputs: Vec::new(),
        };
        let settings: Settings = toml::from_str("method = \"physics\"").unwrap();
        physics::fit_with(&settings, &system, Between::Linear, &[trajectory]).unwrap().swap_remove(0)
    }
}

#[test]
fn exact_data_of_stiff_systems_give_exact_parameters() {
    for problem in PROBLEMS {
        let row = problem.fit(0.0);
        assert_eq!(row.status, Status::Ok, "{}: {}", problem.name, row.reason);
        for it in &row.parameters {
            let error = (it.value / it.truth.unwrap() - 1.0).abs();
            assert!(error < 1e-5, "{}: {it:?}", problem.name);
        }
    }
}

#[test]
fn noisy_data_of_stiff_systems_give_the_parameters_within_their_errors() {
    for problem in PROBLEMS {
        let row = problem.fit(0.01);
        assert_eq!(row.status, Status::Ok, "{}: {}", problem.name, row.reason);
        for it in &row.parameters {
            let error = (it.value - it.truth.unwrap()).abs();
            assert!(error < 5.0 * it.standard_error && error < 0.1 * it.truth.unwrap(), "{}: {it:?}", problem.name);
        }
    }
}
