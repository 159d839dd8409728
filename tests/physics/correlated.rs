//! Residuals that are correlated from sample to sample: intervals hold the truth as often as they say, and the row says why they are wide.

use std::path::Path;

use paramill::dataset::{Dataset, Manifest};
use paramill::estimate::{Row, Status};
use paramill::random::Stream;
use paramill::schema::{Quantity, Split, Trajectory};

use super::common::manifest;
use super::model::dataset_of;
use super::rows;

/// Growth to a capacity, whose initial value is fitted too.
const LOGISTIC: &str = r#"
    method = "physics"
    [physics.system]
    name = "growth"
    time_unit = "s"
    horizon = 12.0
    time_step = 0.25
    states = [{ name = "level", derivative = "rate * level * (1 - level / capacity)", initial = [0.0, 5.0] }]
    parameters = [{ name = "rate", lower = 0.05, upper = 10.0 }, { name = "capacity", lower = 0.1, upper = 50.0 }]
"#;

/// Environments with noise whose correlation from sample to sample is `rho`.
fn grown(root: &Path, rho: f64, count: u64, samples: usize) -> Dataset {
    let grow = |index: u64| {
        let mut stream = Stream::new(8, "growth", &[index]);
        let (rate, capacity, first) = (stream.uniform(0.6, 1.2), stream.uniform(2.0, 4.0), stream.uniform(0.1, 0.4));
        let mut noise = stream.normal();
        let times: Vec<f64> = (0..samples).map(|i| 12.0 * i as f64 / samples as f64).collect();
        let mut observe = |t: &f64| {
            let exact = capacity / (1.0 + (capacity / first - 1.0) * (-rate * t).exp());
            let observed = exact + 0.05 * noise;
            noise = rho * noise + (1.0 - rho * rho).sqrt() * stream.normal();
            observed
        };
        Trajectory {
            environment: format!("{index:04}"),
            trajectory: "0".to_owned(),
            parameters: vec![Some(rate), Some(capacity)],
            states: times.iter().map(&mut observe).collect(),
            times,
            inputs: Vec::new(),
        }
    };
    let manifest = Manifest {
        channels: vec![Quantity::new("level", "1", "")],
        parameters: ["rate", "capacity"].map(|name| Quantity::new(name, "1", "")).to_vec(),
        ..manifest()
    };
    let directory = root.join(format!("growth-{rho}-{samples}"));
    dataset_of(&directory, &manifest, vec![(Split::Adapt, (0..count).map(grow).collect())])
}

/// The percentage of intervals that hold the truth.
fn coverage(rows: &[Row]) -> f64 {
    let holds = |it: &paramill::estimate::ParameterEstimate| (it.lower..=it.upper).contains(&it.truth.unwrap());
    let all = rows.iter().flat_map(|row| &row.parameters);
    100.0 * all.clone().filter(|it| holds(it)).count() as f64 / all.count() as f64
}

/// Mean over rows of the widths of the intervals.
fn width(rows: &[Row]) -> f64 {
    rows.iter().flat_map(|row| &row.parameters).map(|it| it.upper - it.lower).sum::<f64>() / rows.len() as f64
}

#[test]
fn intervals_hold_the_truth_whether_residuals_are_correlated_or_not() {
    const COUNT: u64 = 150;
    let root = tempfile::tempdir().unwrap();
    let ignored = LOGISTIC.replace("\"physics\"\n", "\"physics\"\n    serial_correlation = false\n");
    for rho in [0.0, 0.9] {
        let dataset = grown(root.path(), rho, COUNT, 400);
        let [counted, ignored] = [LOGISTIC, &ignored].map(|settings| rows(settings, &dataset, Split::Adapt));
        assert!(
            counted.iter().all(|row| row.status == Status::Ok),
            "{:?}",
            counted.iter().find(|it| it.status != Status::Ok)
        );
        let (found, naive) = (coverage(&counted), coverage(&ignored));
        println!(
            "rho {rho}: {found} % of the intervals hold the truth, {naive} % of those of independent residuals; {} times as wide",
            width(&counted) / width(&ignored)
        );
        // The standard error over 300 intervals, which depend on each other in pairs, is below 1.8 %.
        assert!((91.0..=99.0).contains(&found), "{found} %");
        let row = &counted[3];
        assert!((row.autocorrelation[0].unwrap() - rho).abs() < 0.15, "{row:?}");
        if rho > 0.0 {
            assert!(naive < 60.0, "{naive} %");
            assert!(row.degrees_of_freedom < 45.0 && row.reason.contains("so the 400 count as"), "{row:?}");
            assert!(
                ignored[3].reason.contains("so intervals are too narrow") && ignored[3].degrees_of_freedom == 397.0
            );
            approx::assert_relative_eq!(row.noise[0], 0.05, max_relative = 0.4);
        } else {
            assert!(width(&counted) < 1.01 * width(&ignored));
            assert_eq!((row.degrees_of_freedom, row.reason.as_str()), (397.0, ""));
        }
    }
}

/// Where the equations are nearly linear in the parameters, profiles are as wide as the covariance says, correlation included.
#[test]
fn profiles_are_as_wide_for_correlated_residuals() {
    let root = tempfile::tempdir().unwrap();
    let dataset = grown(root.path(), 0.8, 4, 300);
    let profiles = LOGISTIC.replace("\"physics\"\n", "\"physics\"\n    intervals = \"profile\"\n");
    let [wald, profiles] = [LOGISTIC, &profiles].map(|settings| rows(settings, &dataset, Split::Adapt));
    for (wald, profile) in wald.iter().zip(&profiles) {
        assert!(wald.degrees_of_freedom < 80.0, "{wald:?}");
        for (a, b) in wald.parameters.iter().zip(&profile.parameters) {
            approx::assert_relative_eq!(a.upper - a.lower, b.upper - b.lower, max_relative = 0.15);
        }
    }
}
