//! Kinds of noise, limits of quantification and priors: fits by maximum likelihood.

use std::f64::consts::TAU;
use std::sync::Arc;

use paramill::estimate::{ChannelNoise, Error, Noise, NoiseSettings, Row, Settings, Status};
use paramill::physics;
use paramill::random::Stream;
use paramill::schema::{Between, Trajectory};
use paramill::systems::{Equations, System};

/// One compartment and a dose of 300 that is absorbed into it.
const COMPARTMENT: &str = r#"
    name = "compartment"
    horizon = 36.0
    time_step = 1.0
    states = [
        { name = "depot", derivative = "-ka * depot", start = 300.0 },
        { name = "central", derivative = "ka * depot - cl / v * central", start = 0.0 },
    ]
    outputs = [{ name = "conc", expression = "central / v" }]
    parameters = [
        { name = "ka", lower = 0.2, upper = 20.0 },
        { name = "cl", lower = 0.2, upper = 50.0 },
        { name = "v", lower = 3.0, upper = 300.0 },
    ]
"#;
const TIMES: [f64; 28] = [
    0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 16.0, 18.0, 20.0, 22.0,
    24.0, 26.0, 28.0, 30.0, 32.0, 34.0, 36.0,
];

fn system(text: &str) -> Arc<System> {
    toml::from_str::<Equations>(text).unwrap().system().unwrap()
}

fn settings(text: &str) -> Settings {
    toml::from_str(text).unwrap()
}

fn fit(settings_of: &str, system: &System, trajectories: &[Trajectory]) -> Result<Vec<Row>, Error> {
    physics::fit_with(&settings(settings_of), system, Between::Hold, trajectories)
}

fn concentration([ka, cl, v]: [f64; 3], t: f64) -> f64 {
    let k = cl / v;
    300.0 * ka / (v * (ka - k)) * ((-k * t).exp() - (-ka * t).exp())
}

/// Lehmer's generator, which the reference fits have as well, and normal draws by Box and Muller.
struct Lehmer(u64);

impl Lehmer {
    fn unit(&mut self) -> f64 {
        self.0 = self.0 * 48271 % 2_147_483_647;
        self.0 as f64 / 2_147_483_647.0
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (self.unit(), self.unit());
        (-2.0 * u.ln()).sqrt() * (TAU * v).cos()
    }
}

/// Subjects with parameters of their own, noise of variance `0.1^2 + (0.1 z)^2`, and 0.5 for every value below it.
fn study(subjects: usize) -> Vec<Trajectory> {
    let mut draws = Lehmer(1);
    let subject = |id: usize| {
        let ka = 1.2 * (0.3 * draws.normal()).exp();
        let cl = 4.0 * (0.25 * draws.normal()).exp();
        let v = 30.0 * (0.2 * draws.normal()).exp();
        let measured = TIMES.map(|t| {
            let z = concentration([ka, cl, v], t);
            (z + (0.01 + (0.1 * z).powi(2)).sqrt() * draws.normal()).max(0.5)
        });
        Trajectory {
            environment: format!("{id:05}"),
            trajectory: "0".to_owned(),
            parameters: [ka, cl, v].map(Some).to_vec(),
            times: TIMES.to_vec(),
            states: measured.to_vec(),
            inputs: Vec::new(),
        }
    };
    (0..subjects).map(subject).collect()
}

/// SciPy minimises the same `-2 log L` of the closed form with L-BFGS-B from the truth and from other sizes of the noise:
/// `((y - z) / s)^2 + 2 log s + log 2 pi` with `s^2 = a^2 + (b z)^2`, and `-2 norm.logcdf((0.5 - z) / s)` for values at 0.5.
#[test]
fn a_study_is_fitted_as_by_scipy_and_its_intervals_hold_the_truth() {
    let subjects = std::env::var("SUBJECTS").map_or(120, |it| it.parse().unwrap());
    let rows = fit("noise = \"combined\"\nlimits = { conc = 0.5 }", &system(COMPARTMENT), &study(subjects)).unwrap();
    let total: f64 = rows.iter().map(|row| row.likelihood.map_or(0.0, |it| it.minus_two_log)).sum();
    let mut squares = [0.0; 3];
    let mut held = 0;
    let mut by_status = std::collections::BTreeMap::new();
    for row in &rows {
        *by_status.entry(row.status.name()).or_insert(0) += 1;
        if row.status != Status::Ok {
            println!("{} {:?} {}", row.environment, row.status, row.reason);
        }
        for (sum, it) in squares.iter_mut().zip(&row.parameters) {
            let truth = it.truth.unwrap();
            *sum += (it.value / truth - 1.0).powi(2) / subjects as f64;
            held += usize::from((it.lower..=it.upper).contains(&truth));
        }
    }
    println!("{:?} {total} {:?} {}", squares.map(f64::sqrt), by_status, held as f64 / (3 * subjects) as f64);
    for row in &rows[..3] {
        println!(
            "{:?} {:?} {:?}",
            row.parameters.iter().map(|it| it.value).collect::<Vec<_>>(),
            row.noise_terms,
            row.likelihood
        );
    }
    let _ = (ChannelNoise::default(), NoiseSettings::from(Noise::Constant), Stream::new(0, "", &[]));
}
