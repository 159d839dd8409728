//! Sensors that are stuck: their residuals are rounding, which says nothing of their noise.

use std::path::Path;

use paramill::dataset::{Dataset, Manifest};
use paramill::estimate::{ParameterEstimate, Row, Status};
use paramill::random::Stream;
use paramill::schema::{Quantity, Split, Trajectory};

use super::common::manifest;
use super::model::dataset_of;
use super::rows;

/// Values at which a sensor is stuck, with the resolution that they show: none where a conversion of units has left all digits.
const VALUES: [(f64, Option<f64>); 6] =
    [(0.7, Some(0.1)), (1.0, Some(1.0)), (2.5, Some(0.1)), (0.013, Some(0.001)), (20.0 / 9.0, None), (0.7 / 0.3, None)];
const COUNTS: [usize; 6] = [6, 7, 9, 12, 20, 50];
/// How fits are asked for.
const KINDS: [&str; 6] = [
    "",
    "loss = \"huber\"",
    "intervals = \"profile\"",
    "noise = \"constant\"",
    "noise = \"combined\"",
    "noise = \"student\"\nintervals = \"profile\"",
];

/// A level that settles at `rest`, and where it is `beside` another one, one that decays at the same rate.
fn settings(kind: &str, beside: bool) -> String {
    let other = "{ name = \"other\", derivative = \"-rate * other\", start = { lower = 0.1, upper = 10.0 } }";
    format!(
        "method = \"physics\"\n{kind}\n[physics.system]\nname = \"settling\"\ntime_unit = \"s\"\nhorizon = 5.0\ntime_step = 0.25\n\
         states = [{{ name = \"level\", derivative = \"-rate * (level - rest)\", start = {{ lower = 0.001, upper = 10.0 }} }}{}]\n\
         parameters = [{{ name = \"rate\", lower = 0.01, upper = 3.0 }}, {{ name = \"rest\", lower = 0.001, upper = 3.0 }}]",
        if beside { format!(", {other}") } else { String::new() }
    )
}

/// Environments `value-count` whose level is stuck.
fn stuck(root: &Path, beside: bool) -> Dataset {
    let of = |(at, count): (usize, usize)| {
        let mut stream = Stream::new(5, "stuck", &[at as u64, count as u64]);
        let times: Vec<f64> = (0..count).map(|i| 4.0 * i as f64 / count as f64).collect();
        let mut states = Vec::new();
        for t in &times {
            states.push(VALUES[at].0);
            if beside {
                states.push(((5.0 * (-0.6 * t).exp() + 0.03 * stream.normal()) * 1e3).round() / 1e3);
            }
        }
        let environment = format!("{at}-{count}");
        Trajectory {
            environment,
            trajectory: "0".to_owned(),
            parameters: Vec::new(),
            times,
            states,
            inputs: Vec::new(),
        }
    };
    let names = if beside { vec!["level", "other"] } else { vec!["level"] };
    let manifest = Manifest {
        channels: names.into_iter().map(|name| Quantity::new(name, "1", "")).collect(),
        parameters: Vec::new(),
        ..manifest()
    };
    let pairs = (0..VALUES.len()).flat_map(|at| COUNTS.map(|count| (at, count)));
    dataset_of(&root.join("stuck"), &manifest, vec![(Split::Adapt, pairs.map(of).collect())])
}

/// The value at which an environment is stuck, the resolution that it shows, and the number of its samples.
fn told(row: &Row) -> (f64, Option<f64>, f64) {
    let (at, count) = row.environment.split_once('-').unwrap();
    let (value, resolution) = VALUES[at.parse::<usize>().unwrap()];
    (value, resolution, count.parse().unwrap())
}

fn width(it: &ParameterEstimate) -> f64 {
    it.upper - it.lower
}

/// The mean of `n` values that are rounded to `q` is not known better than to `q / sqrt(12 n)`.
#[test]
fn a_stuck_sensor_gives_no_interval_without_width() {
    let root = tempfile::tempdir().unwrap();
    let dataset = stuck(root.path(), false);
    for kind in KINDS {
        for row in rows(&settings(kind, false), &dataset, Split::Adapt) {
            let (_, resolution, count) = told(&row);
            match resolution {
                None => assert!(row.status.is_failure(), "{kind} {row:?}"),
                Some(q) if row.status == Status::Ok => {
                    assert!(row.parameters.iter().all(|it| width(it) > q / (12.0 * count).sqrt()), "{kind} {row:?}");
                }
                // At a bound there may be nothing on one side.
                Some(_) => {
                    let all = row.parameters.iter().filter(|_| !row.status.is_failure());
                    assert!(
                        all.clone().all(|it| it.standard_error.is_nan() || it.standard_error > 1e-6),
                        "{kind} {row:?}"
                    );
                }
            }
            if resolution.is_none() && kind.is_empty() {
                assert!(
                    row.reason.contains("one value at all samples") || row.reason.contains("do not determine"),
                    "{row:?}"
                );
            }
        }
    }
}

/// Beside a sensor that works, the rate is known from that, and the rest as well as the stuck one was recorded.
#[test]
fn a_stuck_sensor_beside_another_one_is_no_better_known_than_it_was_recorded() {
    let root = tempfile::tempdir().unwrap();
    let dataset = stuck(root.path(), true);
    let mut ok = 0;
    for kind in KINDS {
        for row in rows(&settings(kind, true), &dataset, Split::Adapt) {
            let (value, resolution, count) = told(&row);
            if row.status != Status::Ok {
                continue;
            }
            ok += 1;
            let [rate, rest] = [&row.parameters[0], &row.parameters[1]];
            // The rate is what it is without the stuck sensor: noise of 0.03 on a decay from 5.
            assert!((0.003..0.3).contains(&width(rate)) && (rate.value - 0.6).abs() < 0.1, "{kind} {row:?}");
            let q = resolution.unwrap_or(0.01);
            assert!(width(rest) > q / (12.0 * count).sqrt() && (rest.value - value).abs() < 1e-3, "{kind} {row:?}");
        }
    }
    assert!(ok > 100, "{ok} of {}", KINDS.len() * VALUES.len() * COUNTS.len());
}
