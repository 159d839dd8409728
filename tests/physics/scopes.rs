//! Parameters of trajectories, environments and all: against the same problems written otherwise, and against known truth.

use paramill::estimate::{Row, Status, read_rows};
use paramill::random::Stream;
use paramill::schema::{Split, Trajectory};

use super::hidden::{Columns, dataset, refusal, settings, trajectory};
use super::run;

/// Two trajectories that decay at one rate from values of their own; an input says which is which.
fn decays(noise: f64) -> Vec<Trajectory> {
    let mut stream = Stream::new(5, "scopes", &[]);
    let times: Vec<f64> = (0..12).map(|t| 0.5 * f64::from(t)).collect();
    let of = |id: &str, start: f64, which: f64, stream: &mut Stream| {
        let states = times.iter().map(|t| start * (-0.4 * t).exp() + noise * stream.normal()).collect();
        Trajectory { inputs: vec![which; 12], ..trajectory("e", id, &[0.4], &times, states) }
    };
    vec![of("first", 3.0, 0.0, &mut stream), of("second", 5.0, 1.0, &mut stream)]
}

const OF_TRAJECTORIES: &str = r#"
    inputs = [{ name = "u" }]
    states = [{ name = "x", derivative = "-k * x + 0 * u", start = "a" }]
    parameters = [{ name = "k", lower = 0.01, upper = 5.0 }, { name = "a", lower = 0.1, upper = 50.0 }]
"#;
const WRITTEN_OUT: &str = r#"
    inputs = [{ name = "u" }]
    states = [{ name = "x", derivative = "-k * x + 0 * u", start = "first * (1 - u) + second * u" }]
    parameters = [
        { name = "k", lower = 0.01, upper = 5.0 },
        { name = "first", lower = 0.1, upper = 50.0 },
        { name = "second", lower = 0.1, upper = 50.0 },
    ]
"#;

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-5 * expected.abs(), "{found}, not {expected}");
}

#[test]
fn trajectories_have_values_of_their_own() {
    let place = tempfile::tempdir().unwrap();
    let data = dataset(place.path(), &["x"], &["k"], &["u"], decays(0.05));
    for of_noise in ["", "noise = \"constant\"", "noise = \"proportional\""] {
        let fitted = |scopes: &str, system: &str, name: &str| {
            let directory = place.path().join(name);
            let text = format!("{of_noise}\n{scopes}");
            let outcome = run(&settings(&text, system), &data, &directory).unwrap();
            let row: Row = read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap().swap_remove(0);
            assert_eq!(row.status, Status::Ok, "{}", row.reason);
            (row, directory)
        };
        let (row, directory) = fitted("physics.scopes = { a = \"trajectory\" }", OF_TRAJECTORIES, "own");
        let (other, _) = fitted("", WRITTEN_OUT, "out");
        assert_eq!((row.parameters.len(), row.degrees_of_freedom), (1, other.degrees_of_freedom));
        close(row.parameters[0].value, other.parameters[0].value);
        close(row.parameters[0].standard_error, other.parameters[0].standard_error);
        let table = Columns::read(&directory, "trajectories_adapt.parquet");
        assert_eq!(table.texts("trajectory"), ["first", "second"]);
        assert_eq!(table.texts("parameter"), ["a", "a"]);
        for (k, expected) in other.parameters[1..].iter().enumerate() {
            close(table.numbers("value")[k], expected.value);
            close(table.numbers("standard_error")[k], expected.standard_error);
            close(table.numbers("upper")[k], expected.upper);
        }
        let (aic, expected) = (row.likelihood.unwrap().aic, other.likelihood.unwrap().aic);
        close(aic, expected);
    }
}

#[test]
fn priors_and_bounds_hold_for_each_trajectory() {
    let place = tempfile::tempdir().unwrap();
    let data = dataset(place.path(), &["x"], &["k"], &["u"], decays(0.05));
    let fitted = |text: &str, system: &str| {
        let directory = place.path().join("estimates");
        let outcome = run(&settings(text, system), &data, &directory).unwrap();
        (read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap().swap_remove(0), directory)
    };
    let of = |names: &[&str]| {
        let each = names.iter().map(|name| format!("physics.priors.{name} = {{ mean = 3.5, std_dev = 0.02 }}\n"));
        each.collect::<String>()
    };
    let (_, directory) = fitted(&format!("{}physics.scopes = {{ a = \"trajectory\" }}", of(&["a"])), OF_TRAJECTORIES);
    let found = Columns::read(&directory, "trajectories_adapt.parquet").numbers("value");
    let (expected, _) = fitted(&of(&["first", "second"]), WRITTEN_OUT);
    close(found[0], expected.parameters[1].value);
    close(found[1], expected.parameters[2].value);
    let (row, _) = fitted("bounds.a.max = 4.0\nphysics.scopes = { a = \"trajectory\" }", OF_TRAJECTORIES);
    assert_eq!(row.status, Status::AtBound);
    assert!(row.reason.starts_with("a of `second` at its upper bound 4"), "{}", row.reason);
}

#[test]
fn scopes_that_cannot_be_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let data = dataset(place.path(), &["x"], &["k"], &["u"], decays(0.05));
    for (scopes, expected) in [
        ("{ b = \"trajectory\" }", "scopes.b"),
        ("{ a = \"trajectory\", k = \"trajectory\" }", "the trajectories of an environment share"),
        ("{ a = \"trajectory\" }\nphysics.fixed = { a = 3.0 }", "which is fixed"),
    ] {
        let said = refusal(&settings(&format!("physics.scopes = {scopes}"), OF_TRAJECTORIES), &data);
        assert!(said.contains(expected), "{said}");
    }
}
