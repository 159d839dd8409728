//! Noise told by few values: intervals hold the truth as often as they say.

use paramill::estimate::{ParameterEstimate, Row, Settings, Status};
use paramill::physics;
use paramill::random::Stream;
use paramill::schema::{Between, Trajectory};
use paramill::systems::Equations;

const RATE: f64 = 0.6;
const FIRST: f64 = 5.0;

/// A decay; where it is `beside` one, also a level that settles, and starts, where a sensor is stuck.
fn system(beside: bool) -> String {
    let level =
        "{ name = \"level\", derivative = \"-rate * (level - rest)\", start = { lower = 0.001, upper = 10.0 } },";
    let rest = ", { name = \"rest\", lower = 0.001, upper = 3.0 }";
    format!(
        "name = \"decay\"\nhorizon = 5.0\ntime_step = 0.25\n\
         states = [{} {{ name = \"other\", derivative = \"-rate * other\", start = \"first\" }}]\n\
         parameters = [{{ name = \"rate\", lower = 0.01, upper = 5.0 }}, {{ name = \"first\", lower = 0.1, upper = 50.0 }}{}]",
        if beside { level } else { "" },
        if beside { rest } else { "" },
    )
}

/// Environments with `count` samples each, and noise drawn by a law.
fn fits(
    settings: &str,
    beside: bool,
    (environments, count): (u64, usize),
    law: impl Fn(&mut Stream) -> f64,
) -> Vec<Row> {
    let of = |index: u64| {
        let mut stream = Stream::new(3, "few", &[index, count as u64]);
        let times: Vec<f64> = (0..count).map(|i| 4.0 * i as f64 / (count - 1) as f64).collect();
        let mut states = Vec::new();
        for t in &times {
            if beside {
                states.push(20.0 / 9.0);
            }
            states.push(FIRST * (-RATE * t).exp() + law(&mut stream));
        }
        let known = [Some(RATE), Some(FIRST), Some(20.0 / 9.0)];
        Trajectory {
            environment: format!("{index:04}"),
            trajectory: "0".to_owned(),
            parameters: known[..if beside { 3 } else { 2 }].to_vec(),
            times,
            states,
            inputs: Vec::new(),
        }
    };
    let system = toml::from_str::<Equations>(&system(beside)).unwrap().system().unwrap();
    let settings: Settings = toml::from_str(settings).unwrap();
    physics::fit_with(&settings, &system, Between::Linear, &(0..environments).map(of).collect::<Vec<_>>()).unwrap()
}

/// The share of intervals that hold the truth, their median width, and the share of rows that are `ok`.
fn coverage(rows: &[Row], parameter: usize) -> (f64, f64, f64) {
    let ok: Vec<&ParameterEstimate> =
        rows.iter().filter(|row| row.status == Status::Ok).map(|row| &row.parameters[parameter]).collect();
    let holds = ok.iter().filter(|it| (it.lower..=it.upper).contains(&it.truth.unwrap())).count();
    let mut widths: Vec<f64> = ok.iter().map(|it| it.upper - it.lower).collect();
    widths.sort_by(f64::total_cmp);
    if ok.is_empty() {
        return (f64::NAN, f64::NAN, 0.0);
    }
    (holds as f64 / ok.len() as f64, widths[ok.len() / 2], ok.len() as f64 / rows.len() as f64)
}

/// Student's law with four degrees of freedom.
fn student(stream: &mut Stream) -> f64 {
    let z = stream.normal();
    let chi: f64 = (0..4).map(|_| stream.normal().powi(2)).sum();
    0.03 * z / (chi / 4.0).sqrt()
}

fn gaussian(stream: &mut Stream) -> f64 {
    0.03 * stream.normal()
}

/// Six standard deviations of the share of 300 intervals are 7.5 %, and intervals of few values may be somewhat too wide.
#[test]
fn student_s_noise_of_few_values_has_honest_intervals() {
    for count in [5, 8, 12, 24] {
        for intervals in ["wald", "profile"] {
            let settings = format!("noise = \"student\"\nintervals = \"{intervals}\"");
            for (name, law) in [("student", student as fn(&mut Stream) -> f64), ("gaussian", gaussian)] {
                let rows = fits(&settings, false, (300, count), law);
                let [rate, first] = [0, 1].map(|parameter| coverage(&rows, parameter));
                assert!((rate.0 + first.0) / 2.0 > 0.92, "{count} {intervals} {name}: {rate:?} {first:?}");
                assert!(rate.2 > 0.98, "{count} {intervals} {name}: {rate:?}");
                assert!(rows.iter().all(|row| row.noise_terms[1] == 8.0), "{count} {intervals} {name}");
            }
        }
    }
}

/// A sensor that is stuck says nothing of the noise of the one beside it, whose intervals are what they are without it.
#[test]
fn a_stuck_sensor_changes_no_interval_beside_it() {
    for count in [4, 5, 8, 20] {
        let [alone, beside] = [false, true].map(|beside| fits("", beside, (300, count), gaussian));
        for parameter in 0..2 {
            let [alone, beside] = [&alone, &beside].map(|rows| coverage(rows, parameter));
            assert!((beside.1 / alone.1 - 1.0).abs() < 0.02, "{count}: {beside:?}, alone {alone:?}");
            assert!(beside.0 > 0.9 && beside.2 == 1.0, "{count}: {beside:?}");
        }
    }
}
