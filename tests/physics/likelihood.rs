//! Kinds of noise, limits of quantification and priors: fits by maximum likelihood.

use std::f64::consts::TAU;
use std::sync::Arc;

use paramill::dataset::Manifest;
use paramill::estimate::{Error, Row, Settings, Status, read_rows};
use paramill::physics;
use paramill::schema::{Between, Input, Quantity, Split, Trajectory};
use paramill::systems::{Equations, System};

use super::common::manifest;
use super::model::dataset_of;
use super::run;

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
        { name = "ka", lower = 0.5, upper = 20.0 },
        { name = "cl", lower = 0.2, upper = 50.0 },
        { name = "v", lower = 5.0, upper = 300.0 },
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
            // The dose is given at zero, where nothing is measured.
            times: [&[0.0], TIMES.as_slice()].concat(),
            states: [&[f64::NAN], measured.as_slice()].concat(),
            inputs: Vec::new(),
        }
    };
    (0..subjects).map(subject).collect()
}

/// SciPy minimises the same `-2 log L` of the closed form with L-BFGS-B and then Nelder-Mead, from the truth and from other sizes of the noise:
/// `((y - z) / s)^2 + 2 log s + log 2 pi` with `s^2 = a^2 + (b z)^2`, and `-2 norm.logcdf((0.5 - z) / s)` for values at 0.5.
#[test]
fn a_study_is_fitted_as_by_scipy_and_its_intervals_hold_the_truth() {
    let rows = fit("noise = \"combined\"\nlimits = { conc = 0.5 }", &system(COMPARTMENT), &study(120)).unwrap();
    let said = rows.iter().filter(|row| row.reason.contains("values below the limit of quantification: ")).count();
    assert!(said > 110, "{said}");
    let total: f64 = rows.iter().map(|row| row.likelihood.unwrap().minus_two_log).sum();
    assert!((total - 1435.730).abs() < 0.05, "{total}");
    let (mut squares, mut held) = ([0.0; 3], 0_u32);
    for row in &rows {
        assert!(matches!(row.status, Status::Ok | Status::AtBound), "{}: {}", row.environment, row.reason);
        for (sum, it) in squares.iter_mut().zip(&row.parameters) {
            let truth = it.truth.unwrap();
            *sum += (it.value / truth - 1.0).powi(2) / 120.0;
            held += u32::from((it.lower..=it.upper).contains(&truth));
        }
    }
    // Root mean square of the relative errors of SciPy's estimates.
    for (squares, expected) in squares.iter().zip([0.101_498_55, 0.024_869_7, 0.051_333_77]) {
        assert!((squares.sqrt() / expected - 1.0).abs() < 0.01, "{squares:?} {expected}");
    }
    let share = f64::from(held) / 360.0;
    assert!((0.93..0.97).contains(&share), "{share}");
    for (row, (a, b)) in rows.iter().zip([(0.053_414_09, 0.091_732_11), (0.053_600_56, 0.094_269_87)]) {
        assert!((row.noise_terms[0] / a - 1.0).abs() < 2e-3, "{:?}", row.noise_terms);
        assert!((row.noise_terms[1] / b - 1.0).abs() < 2e-3, "{:?}", row.noise_terms);
    }
}

/// A level that decays from `a`; each sample has a standard deviation beside it, which the equations do not need.
const DECAY: &str = r#"
    name = "decay"
    horizon = 4.0
    time_step = 0.1
    states = [{ name = "level", derivative = "-rate * level + 0 * sd", start = "a" }]
    inputs = [{ name = "sd" }]
    parameters = [{ name = "a", lower = 0.1, upper = 50.0 }, { name = "rate", lower = 0.01, upper = 20.0 }]
"#;

/// Forty samples of `5 exp(-0.7 t)` with noise of a kind, and the limit for every value below it.
fn decay(kind: &str, limit: Option<f64>) -> Trajectory {
    let mut draws = Lehmer(7);
    // Its first draws are near zero.
    (0..4).for_each(|_| assert!(draws.unit() > 0.0));
    let times: Vec<f64> = (0..40).map(|i| 0.1 * f64::from(i)).collect();
    let sd: Vec<f64> = (0..40).map(|i| 0.1 + 0.02 * f64::from(i % 5)).collect();
    let measured = times.iter().zip(&sd).map(|(t, sd)| {
        let z = 5.0 * (-0.7 * t).exp();
        let mut n = || draws.normal();
        let y = match kind {
            "constant" => z + 0.2 * n(),
            "proportional" => z + 0.1 * z * n(),
            "combined" => z + (0.01 + (0.1 * z).powi(2)).sqrt() * n(),
            "log-normal" => z * (0.2 * n()).exp(),
            "student" => z + 0.1 * n() / ((n().powi(2) + n().powi(2) + n().powi(2)) / 3.0).sqrt(),
            _ => z + sd * n(),
        };
        limit.map_or(y, |limit| y.max(limit))
    });
    Trajectory {
        environment: "it".to_owned(),
        trajectory: "0".to_owned(),
        parameters: Vec::new(),
        states: measured.collect(),
        times,
        inputs: sd,
    }
}

fn fit_decay(settings_of: &str, kind: &str, limit: Option<f64>) -> Row {
    let limits = limit.map_or(String::new(), |limit| format!("limits = {{ level = {limit} }}\n"));
    fit(&format!("{limits}{settings_of}"), &system(DECAY), &[decay(kind, limit)]).unwrap().remove(0)
}

/// SciPy minimises `-2 sum log p` by Nelder-Mead: with `s` the standard deviation of the kind, `norm.logpdf((y - z) / s) - log s`, for
/// log-normal noise `norm.logpdf(log(y / z) / s) - log s - log y`, for Student's `t.logpdf((y - z) / s, n) - log s`; at the limit `logcdf`.
#[test]
fn every_kind_of_noise_is_fitted_as_by_scipy() {
    type Case = (&'static str, &'static str, Option<f64>, [f64; 2], &'static [f64], f64);
    let known = "noise = { level = { kind = \"known\", input = \"sd\" } }";
    let four = "noise = { level = { kind = \"student\", degrees_of_freedom = 4 } }";
    let cases: [Case; 13] = [
        ("constant", "noise = \"constant\"", None, [4.9943675, 0.68013531], &[0.2188174], -8.04633238),
        ("proportional", "noise = \"proportional\"", None, [5.1160859, 0.70257657], &[0.10771847], -43.75430202),
        ("combined", "noise = \"combined\"", None, [5.0506234, 0.69147599], &[0.051066558, 0.13684152], -16.61745393),
        ("log-normal", "noise = \"log-normal\"", None, [5.1866844, 0.70024956], &[0.21941794], 14.62156522),
        ("student", "noise = \"student\"", None, [5.0143285, 0.68210255], &[0.13096709, 6.6964226], -36.76450010),
        ("student", four, None, [5.0161342, 0.68414059], &[0.11953427, 4.0], -36.57366699),
        ("known", known, None, [4.9986746, 0.69090503], &[], -36.79077557),
        ("constant", "", Some(0.6), [5.0181089, 0.68946609], &[0.22888732], 6.33209806),
        ("proportional", "noise = \"proportional\"", Some(0.6), [5.0906854, 0.69866371], &[0.11435877], -4.14417174),
        (
            "combined",
            "noise = \"combined\"",
            Some(0.6),
            [5.0574691, 0.69031115],
            &[0.055206394, 0.13166291],
            8.76691081,
        ),
        ("log-normal", "noise = \"log-normal\"", Some(0.6), [5.2737415, 0.7138509], &[0.23228548], 42.68688886),
        ("student", "noise = \"student\"", Some(0.6), [5.0011616, 0.67697539], &[0.12899807, 6.5642964], -22.00241568),
        ("known", known, Some(0.6), [5.0003673, 0.69149284], &[], -16.07540737),
    ];
    for (kind, settings, limit, values, noise, minus_two_log) in cases {
        let row = fit_decay(settings, kind, limit);
        assert_eq!(row.status, Status::Ok, "{kind} {limit:?}: {}", row.reason);
        let likelihood = row.likelihood.unwrap();
        assert!((likelihood.minus_two_log - minus_two_log).abs() < 2e-5, "{kind} {limit:?}: {likelihood:?}");
        let unknowns = 2.0 + noise.iter().filter(|it| **it != 4.0).count() as f64;
        assert!((likelihood.aic - likelihood.minus_two_log - 2.0 * unknowns).abs() < 1e-9, "{likelihood:?}");
        assert!((likelihood.bic - likelihood.minus_two_log - unknowns * 40.0_f64.ln()).abs() < 1e-9, "{likelihood:?}");
        for (it, expected) in row.parameters.iter().zip(values) {
            // A thousandth of the standard error.
            assert!((it.value - expected).abs() < 3e-3 * it.standard_error, "{kind} {limit:?}: {it:?} {expected}");
        }
        assert_eq!(row.noise_terms.len(), noise.len());
        for (term, expected) in row.noise_terms.iter().zip(noise) {
            assert!((term / expected - 1.0).abs() < 0.01, "{kind} {limit:?}: {:?} {noise:?}", row.noise_terms);
        }
    }
}

/// Maximum likelihood with constant noise is least squares, its errors included.
#[test]
fn constant_noise_is_least_squares() {
    let (named, least_squares) = (fit_decay("noise = \"constant\"", "constant", None), fit_decay("", "constant", None));
    for (a, b) in named.parameters.iter().zip(&least_squares.parameters) {
        assert!((a.value - b.value).abs() < 1e-3 * b.standard_error, "{a:?} {b:?}");
        assert!((a.standard_error / b.standard_error - 1.0).abs() < 1e-4, "{a:?} {b:?}");
    }
    let [a, b] = [&named, &least_squares].map(|row| row.likelihood.unwrap().minus_two_log);
    assert!((a - b).abs() < 1e-5, "{a} {b}");
    assert_eq!((named.degrees_of_freedom, least_squares.degrees_of_freedom), (38.0, 38.0));
    assert!(named.noise_terms.len() == 1 && least_squares.noise_terms.is_empty());
    // Noise that is known leaves no doubt about its size: the intervals are those of a Gaussian.
    let known = fit_decay("noise = { level = { kind = \"constant\", absolute = 0.2188174 } }", "constant", None);
    for (a, b) in known.parameters.iter().zip(&least_squares.parameters) {
        assert!((a.value - b.value).abs() < 1e-3 * b.standard_error, "{a:?} {b:?}");
        assert!((a.standard_error / b.standard_error - 0.95_f64.sqrt()).abs() < 1e-3, "{a:?} {b:?}");
        assert!(((a.upper - a.lower) / (2.0 * a.standard_error) - 1.959_964).abs() < 1e-5, "{a:?}");
    }
}

/// SciPy adds `((rate - 0.9) / 0.02)^2`, or `((log rate - log 0.9) / 0.02)^2`, to the `-2 log L` of constant noise.
#[test]
fn priors_are_weighed_against_the_data() {
    // A prior that contradicts the data leaves residuals that go together.
    let with_prior = |prior: &str| {
        fit_decay(&format!("serial_correlation = false\n[physics.priors]\nrate = {{ {prior} }}"), "constant", None)
    };
    let normal = with_prior("mean = 0.9, std_dev = 0.02");
    let log = with_prior("mean = -0.10536051565782628, std_dev = 0.02, log = true");
    let cases = [
        (&normal, [5.5086852, 0.85450615], 0.32531446, 23.67804270),
        (&log, [5.5379479, 0.86590625], 0.3359271, 26.24619494),
    ];
    for (row, values, noise, minus_two_log) in cases {
        assert_eq!(row.status, Status::Ok, "{}", row.reason);
        assert!(row.reason.ends_with("prior: rate"), "{}", row.reason);
        assert!((row.likelihood.unwrap().minus_two_log - minus_two_log).abs() < 2e-3, "{:?}", row.likelihood);
        assert!((row.noise_terms[0] / noise - 1.0).abs() < 1e-4, "{:?}", row.noise_terms);
        for (it, expected) in row.parameters.iter().zip(values) {
            assert!((it.value - expected).abs() < 3e-3 * it.standard_error, "{it:?} {expected}");
        }
        assert!(row.parameters[1].standard_error < 0.02, "{:?}", row.parameters[1]);
    }
    // A prior that says nothing changes nothing, and one that says all leaves no error.
    let (free, vague) = (fit_decay("", "constant", None), with_prior("mean = 0.0, std_dev = 1e6"));
    assert!((vague.parameters[1].value - free.parameters[1].value).abs() < 1e-3 * free.parameters[1].standard_error);
    let certain = with_prior("mean = 0.7, std_dev = 1e-6");
    assert!((certain.parameters[1].value - 0.7).abs() < 1e-5, "{:?}", certain.parameters[1]);
    assert!((certain.parameters[1].standard_error / 1e-6 - 1.0).abs() < 1e-3, "{:?}", certain.parameters[1]);
}

/// The scale is where the search goes, not what it finds.
#[test]
fn the_scale_changes_no_estimate() {
    let free = fit_decay("noise = \"student\"", "student", None);
    let linear = fit_decay("noise = \"student\"\n[physics.scales]\nrate = \"linear\"\na = \"linear\"", "student", None);
    for (a, b) in linear.parameters.iter().zip(&free.parameters) {
        assert!((a.value - b.value).abs() < 1e-2 * b.standard_error, "{a:?} {b:?}");
        assert!((a.standard_error / b.standard_error - 1.0).abs() < 1e-2, "{a:?} {b:?}");
    }
}

/// Wrong values have little influence under Student's noise.
#[test]
fn student_bears_wrong_values() {
    let mut wrong = decay("constant", None);
    (0..40).step_by(9).for_each(|i| wrong.states[i] += 6.0);
    let of = |noise: &str| fit(noise, &system(DECAY), &[wrong.clone()]).unwrap().remove(0);
    let (student, gaussian) = (of("noise = \"student\""), of("noise = \"constant\""));
    let error = |row: &Row| (row.parameters[1].value - 0.7).abs();
    assert!(error(&student) < 0.05 && error(&gaussian) > 0.1, "{student:?} {gaussian:?}");
}

/// What stands beside samples need be no input of the equations, and the table has the parameters of the noise by channel.
#[test]
fn samples_may_have_their_own_noise_and_limit() {
    let root = tempfile::tempdir().unwrap();
    let input = |name: &str| Input { quantity: Quantity::new(name, "1", ""), between: Between::Hold };
    let mut manifest = Manifest {
        channels: ["level", "twice"].map(|name| Quantity::new(name, "1", "")).to_vec(),
        parameters: ["a", "rate"].map(|name| Quantity::new(name, "1", "")).to_vec(),
        inputs: vec![input("sd"), input("lloq")],
        time_unit: "1".to_owned(),
        ..manifest()
    };
    manifest.provenance.stage = "import".to_owned();
    let environments = ["known", "combined"].map(|kind| {
        let (it, other) = (decay("known", Some(0.6)), decay("combined", None));
        Trajectory {
            environment: kind.to_owned(),
            parameters: vec![Some(5.0), Some(0.7)],
            inputs: it.inputs.iter().flat_map(|sd| [*sd, 0.6]).collect(),
            states: it.states.iter().zip(&other.states).flat_map(|(a, b)| [*a, 2.0 * b]).collect(),
            ..it
        }
    });
    let dataset = dataset_of(&root.path().join("data"), &manifest, vec![(Split::Adapt, environments.to_vec())]);
    let settings = r#"
        method = "physics"
        noise = { level = { kind = "known", input = "sd" }, twice = { kind = "combined" } }
        limits = { level = { input = "lloq" } }
        [physics.system]
        name = "decay"
        horizon = 4.0
        time_step = 0.1
        states = [{ name = "level", derivative = "-rate * level", start = "a" }]
        outputs = [{ name = "twice", expression = "2 * level" }]
        parameters = [{ name = "a", lower = 0.1, upper = 50.0 }, { name = "rate", lower = 0.01, upper = 20.0 }]
    "#;
    let directory = root.path().join("estimates");
    let outcome = run(settings, &dataset, &directory).unwrap();
    let names: Vec<&str> = outcome.manifest.noise_terms.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["noise_twice_absolute", "noise_twice_relative"]);
    let rows = read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap();
    for row in &rows {
        assert_eq!((row.status, row.points), (Status::Ok, 80), "{}", row.reason);
        assert!(row.reason.contains("values below the limit of quantification: "), "{}", row.reason);
        let [a, b] = row.noise_terms[..] else { panic!("{row:?}") };
        assert!((0.05..0.35).contains(&a) && (0.03..0.2).contains(&b), "{row:?}");
        assert!(row.likelihood.unwrap().aic > row.likelihood.unwrap().minus_two_log);
        for it in &row.parameters {
            assert!((it.value - it.truth.unwrap()).abs() < 4.0 * it.standard_error, "{it:?}");
        }
    }
    assert_eq!(rows[0].parameters, rows[1].parameters);
}

#[test]
fn what_cannot_be_is_refused() {
    let refusal = |settings: &str| match fit(settings, &system(DECAY), &[decay("constant", None)]) {
        Err(error @ Error::Settings(_)) => error.to_string(),
        other => panic!("{settings}: {other:?}"),
    };
    for (settings, expected) in [
        ("noise = { levle = { kind = \"constant\" } }", "estimate.noise.levle"),
        ("noise = { level = { kind = \"constant\", absolute = 0.0 } }", "estimate.noise.level.absolute"),
        (
            "noise = { level = { kind = \"student\", degrees_of_freedom = 1.5 } }",
            "estimate.noise.level.degrees_of_freedom",
        ),
        ("noise = { level = { kind = \"known\" } }", "neither `value` nor `input`"),
        ("noise = { level = { kind = \"known\", input = \"ds\" } }", "estimate.noise.level.input"),
        ("limits = { level = { input = \"lloq\" } }", "estimate.limits.level.input"),
        ("limits = { depth = 1.0 }", "estimate.limits.depth"),
        ("loss = \"huber\"\nlimits = { level = 0.6 }", "Huber's loss is no likelihood"),
        ("[physics.priors]\nrat = { mean = 1.0, std_dev = 1.0 }", "estimate.physics.priors.rat"),
        ("[physics.priors]\nrate = { mean = 1.0, std_dev = 0.0 }", "estimate.physics.priors.rate.std_dev"),
        ("[physics.scales]\nrat = \"log\"", "estimate.physics.scales.rat"),
    ] {
        let text = refusal(settings);
        assert!(text.contains(expected), "{settings}: {text}");
    }
    // What is wrong with one environment is said in its row.
    let row = |settings: &str, change: &dyn Fn(&mut Trajectory)| {
        let mut it = decay("known", None);
        change(&mut it);
        fit(settings, &system(DECAY), &[it]).unwrap().remove(0)
    };
    let known = "noise = { level = { kind = \"known\", input = \"sd\" } }";
    let bad = row(known, &|it| it.inputs[3] = 0.0);
    assert_eq!(bad.status, Status::NoData);
    assert!(bad.reason.contains("the standard deviation `sd` of level is 0 at t = 0.3"), "{}", bad.reason);
    // Where nothing is observed nothing need be known.
    let absent = row(known, &|it| (it.inputs[3], it.states[3]) = (0.0, f64::NAN));
    assert_eq!((absent.status, absent.points), (Status::Ok, 39), "{}", absent.reason);
    let negative = row("noise = \"log-normal\"", &|it| it.states[5] = -1.0);
    assert_eq!(negative.status, Status::NoData);
    assert!(negative.reason.contains("log-normal noise leaves values above zero"), "{}", negative.reason);
}

/// Sizes that are known beforehand are what residuals are held against: not the size that neighbouring samples show.
#[test]
fn residuals_beyond_known_noise_are_a_misfit() {
    let of_number = |value: f64| format!("noise.level = {{ kind = \"known\", value = {value} }}");
    let beside = "noise.level = { kind = \"known\", input = \"sd\" }".to_owned();
    let combined =
        |times: f64| format!("noise.level = {{ kind = \"combined\", absolute = {0}, relative = {0} }}", 0.1 * times);
    let student =
        |times: f64| format!("noise.level = {{ kind = \"student\", scale = {}, degrees_of_freedom = 3 }}", 0.1 * times);
    for (kind, settings, expected) in [
        ("constant", of_number(0.2), None),
        ("constant", of_number(0.2 / 3.0), Some(3.0)),
        ("known", beside.clone(), None),
        ("combined", combined(1.0), None),
        ("combined", combined(0.4), Some(2.5)),
        ("student", student(1.0), None),
    ] {
        let row = fit(&settings, &system(DECAY), &[decay(kind, None)]).unwrap().remove(0);
        match expected {
            None => assert_eq!(row.status, Status::Ok, "{settings}: {}", row.reason),
            Some(times) => {
                assert_eq!(row.status, Status::Misfit, "{settings}: {}", row.reason);
                let (_, rest) = row.reason.split_once("residuals of ").unwrap();
                let found: f64 = rest.split_once(" times the known noise of level").unwrap().0.parse().unwrap();
                // A standard deviation of 38 degrees of freedom is known to 11 %.
                assert!((found / times - 1.0).abs() < 0.3, "{found} {times}");
            }
        }
    }
}

/// Six values of two decays with everything unknown: four of them can be met exactly.
#[test]
fn student_s_noise_of_few_values_does_not_fall_to_nothing() {
    let few = |times: f64, seed: u64| {
        let mut draws = Lehmer(seed);
        let times_of: Vec<f64> = (0..6).map(|i| 0.3 * f64::from(i)).collect();
        let measured = times_of.iter().map(|t| 5.0 * (-0.7 * t).exp() + 0.2 * times * draws.normal());
        Trajectory {
            environment: "e".to_owned(),
            trajectory: "0".to_owned(),
            parameters: Vec::new(),
            states: measured.collect(),
            times: times_of,
            inputs: Vec::new(),
        }
    };
    let bent = r#"
        name = "bent"
        horizon = 4.0
        time_step = 0.1
        states = [{ name = "level", derivative = "-rate * level + gain + bend * t", start = "a" }]
        parameters = [
            { name = "a", lower = 0.1, upper = 50.0 }, { name = "rate", lower = 0.01, upper = 20.0 },
            { name = "gain", lower = -9.0, upper = 9.0 }, { name = "bend", lower = -9.0, upper = 9.0 },
        ]
    "#;
    for seed in [11, 12, 13, 14] {
        let row = fit("noise = \"student\"", &system(bent), &[few(1.0, seed)]).unwrap().remove(0);
        assert!(
            row.noise_terms[0].is_nan() || row.noise_terms[0] > 1e-4,
            "{seed}: {:?} {}",
            row.noise_terms,
            row.reason
        );
        let given = "noise.level = { kind = \"student\", degrees_of_freedom = 2 }";
        let row = fit(given, &system(bent), &[few(1.0, seed)]).unwrap().remove(0);
        assert!(
            row.noise_terms[0].is_nan() || row.noise_terms[0] > 1e-4 || row.status.is_failure(),
            "{seed}: {}",
            row.reason
        );
    }
    // Values that follow the equations exactly have no noise, and are told so.
    let row = fit("noise = \"student\"", &system(DECAY_WITHOUT_INPUT), &[few(0.0, 11)]).unwrap().remove(0);
    assert_eq!(row.status, Status::Ok, "{}", row.reason);
}

const DECAY_WITHOUT_INPUT: &str = r#"
    name = "decay"
    horizon = 4.0
    time_step = 0.1
    states = [{ name = "level", derivative = "-rate * level", start = "a" }]
    parameters = [{ name = "a", lower = 0.1, upper = 50.0 }, { name = "rate", lower = 0.01, upper = 20.0 }]
"#;
