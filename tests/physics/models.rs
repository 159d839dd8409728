//! Several systems compared on one dataset.

use paramill::estimate;
use paramill::estimate::physics::{Drawings, Systems};
use paramill::estimate::{Row, Status, read_rows};
use paramill::random::Stream;
use paramill::schema::{Split, Trajectory};

use super::hidden::{Columns, dataset, trajectory};
use super::model::silently;
use super::run;

/// Growth to a capacity, and without end, by turns.
fn cultures(count: u32) -> Vec<Trajectory> {
    let mut stream = Stream::new(9, "models", &[]);
    let times: Vec<f64> = (0..25).map(|t| 0.4 * f64::from(t)).collect();
    let of = |index: u32, stream: &mut Stream| {
        let value = |t: f64| match index % 2 {
            0 => 6.0 / (1.0 + 5.0 * (-0.6 * t).exp()),
            _ => (0.25 * t).exp(),
        };
        let states = times.iter().map(|t| value(*t) + 0.05 * stream.normal()).collect();
        trajectory(&format!("e{index:02}"), "0", &[], &times, states)
    };
    (0..count).map(|index| of(index, &mut stream)).collect()
}

const MODELS: &str = r#"
    method = "physics"
    fitted = true
    [[physics.systems]]
    name = "endless"
    horizon = 9.0
    time_step = 1.0
    states = [{ name = "x", derivative = "growth * x", start = { lower = 0.1, upper = 5.0 } }]
    parameters = [{ name = "growth", lower = 0.01, upper = 5.0 }]
    [[physics.systems]]
    name = "limited"
    horizon = 9.0
    time_step = 1.0
    states = [{ name = "x", derivative = "growth * x * (1 - x / capacity)", start = { lower = 0.1, upper = 5.0 } }]
    parameters = [{ name = "capacity", lower = 0.5, upper = 500.0 }, { name = "growth", lower = 0.01, upper = 5.0 }]
"#;

#[test]
fn each_environment_prefers_the_system_it_comes_from() {
    let place = tempfile::tempdir().unwrap();
    let data = dataset(place.path(), &["x"], &[], &[], cultures(12));
    let directory = place.path().join("estimates");
    let outcome = run(MODELS, &data, &directory).unwrap();
    let rows: Vec<Row> = read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap();
    let names: Vec<&str> = outcome.manifest.parameters.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((names, rows.len()), (vec!["growth", "capacity"], 12));
    let table = Columns::read(&directory, "models_adapt.parquet");
    let (models, deltas, weights) = (table.texts("model"), table.numbers("aicc_delta"), table.numbers("aicc_weight"));
    assert_eq!(models.len(), 24);
    for (index, row) in rows.iter().enumerate() {
        let [endless, limited] = [2 * index, 2 * index + 1];
        assert!((weights[endless] + weights[limited] - 1.0).abs() < 1e-12);
        assert_eq!(row.model.as_deref(), Some(if deltas[limited] == 0.0 { "limited" } else { "endless" }));
        if index % 2 == 0 {
            assert!(row.status == Status::Ok && deltas[endless] > 50.0, "{}", row.reason);
            assert!((row.parameters[0].value - 0.6).abs() < 4.0 * row.parameters[0].standard_error);
            assert!((row.parameters[1].value - 6.0).abs() < 4.0 * row.parameters[1].standard_error);
            // The correlation of the two is where it belongs.
            assert!(row.correlations[0] < -0.1, "{:?}", row.correlations);
        } else if row.model.as_deref() == Some("endless") {
            assert!(
                row.parameters[1].value.is_nan() && (deltas[limited].is_nan() || deltas[limited] > 0.0),
                "{:?}",
                row.parameters
            );
            assert!((row.parameters[0].value - 0.25).abs() < 4.0 * row.parameters[0].standard_error);
        }
        // AICc of twenty-five values; a fit that failed has none.
        let (aic, aicc) = (table.numbers("aic")[endless], table.numbers("aicc")[endless]);
        assert!(aic.is_nan() || (aicc - aic - 2.0 * 3.0 * 4.0 / 21.0).abs() < 1e-9, "{aicc} {aic}");
    }
    let figures = &outcome.manifest.evaluation.models;
    assert!(figures[0].preferred >= 4 && figures[1].preferred >= 6, "{figures:?}");
    assert_eq!(figures[0].preferred + figures[1].preferred, 12);
    // What is drawn is by the preferred system.
    let settings: estimate::Settings = toml::from_str(MODELS).unwrap();
    for row in &rows[..2] {
        let drawn = silently(|run| estimate::physics::portrait(&settings, &data, Split::Adapt, row, run));
        let (trajectory, states) = drawn.unwrap();
        let errors = trajectory.states.iter().zip(&states).map(|(y, z)| (y - z).powi(2));
        let rmse = (errors.sum::<f64>() / 25.0).sqrt();
        assert!((rmse / row.trajectory_rmse - 1.0).abs() < 1e-3, "{rmse}");
    }
}

/// A system that does not compete says so, wherever the comparison is told.
#[test]
fn systems_that_are_not_compared_are_named() {
    let place = tempfile::tempdir().unwrap();
    let short = |count: usize| {
        let whole = cultures(2).remove(1);
        Trajectory { times: whole.times[..count].to_vec(), states: whole.states[..count].to_vec(), ..whole }
    };
    // Of one trajectory that starts anywhere: three unknowns and four, those of the noise included.
    for (samples, expected) in [
        (5, ["", "5 values are too few for the AICc of 4 unknowns"]),
        (4, ["4 values are too few for the AICc of 3 unknowns", "its fit is `unidentifiable`"]),
        (3, ["3 values are too few for the AICc of 3 unknowns", "its fit is `too_few_points`"]),
    ] {
        let data = dataset(&place.path().join("data"), &["x"], &[], &[], vec![short(samples)]);
        let directory = place.path().join("estimates");
        let outcome = run(MODELS, &data, &directory).unwrap();
        let row: Row = read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap().swap_remove(0);
        let said = Columns::read(&directory, "models_adapt.parquet").texts("comparison");
        assert_eq!(said, expected, "{}", row.reason);
        for (name, why) in ["endless", "limited"].iter().zip(expected) {
            let note = format!("`{name}` is not compared: {why}");
            assert_eq!(row.reason.contains(&note), !why.is_empty(), "{}", row.reason);
        }
        let counts: Vec<usize> = outcome.manifest.evaluation.models.iter().map(|it| it.not_compared).collect();
        assert_eq!(counts, expected.map(|why| usize::from(!why.is_empty())));
    }
}

#[test]
fn parameters_of_compared_systems_may_be_called_delta_and_weight() {
    let place = tempfile::tempdir().unwrap();
    let data = dataset(place.path(), &["x"], &[], &[], cultures(2));
    let directory = place.path().join("estimates");
    let outcome = run(&MODELS.replace("growth", "delta").replace("capacity", "weight"), &data, &directory).unwrap();
    let names: Vec<&str> = outcome.manifest.parameters.iter().map(|it| it.name.as_str()).collect();
    let table = Columns::read(&directory, "models_adapt.parquet");
    assert_eq!((names, table.numbers("weight").len()), (vec!["delta", "weight"], 4));
    assert!((table.numbers("aicc_weight")[..2].iter().sum::<f64>() - 1.0).abs() < 1e-12);
}

#[test]
fn systems_that_cannot_be_compared_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let data = dataset(place.path(), &["x"], &[], &[], cultures(1));
    for (from, to, expected) in [
        ("name = \"limited\"", "name = \"endless\"", "a second time"),
        (
            "{ name = \"growth\", lower = 0.01, upper = 5.0 }]\n    [[",
            "{ name = \"growth\", unit = \"h-1\", lower = 0.01, upper = 5.0 }]\n    [[",
            "one unit",
        ),
        ("fitted = true", "physics.fixed = { rate = 1.0 }", "parameter of one of the systems"),
    ] {
        let settings: estimate::Settings = toml::from_str(&MODELS.replacen(from, to, 1)).unwrap();
        let problems = settings.physics.as_ref().unwrap().validate();
        let said = problems.iter().map(ToString::to_string).collect::<String>();
        let run = silently(|run| estimate::physics::run(&settings, &data, &place.path().join("e"), run));
        let said = said + &run.map(|_| ()).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(said.contains(expected), "{said}");
    }
}

/// Bands of an environment by the system that it prefers are those of that system alone: correlations and noise are where they belong.
#[test]
fn what_is_drawn_of_several_systems_is_drawn_of_each_alone() {
    let place = tempfile::tempdir().unwrap();
    let data = dataset(place.path(), &["x"], &[], &[], cultures(1));
    let several = format!("noise = \"combined\"\n{MODELS}").replacen(
        "parameters = [{ name = \"growth\", lower = 0.01, upper = 5.0 }]",
        "parameters = [{ name = \"other\", lower = 0.01, upper = 5.0 }, { name = \"growth\", lower = 0.01, upper = 5.0 }]",
        1,
    );
    let several = several.replacen("growth * x\"", "(growth + other) * x\"", 1);
    let (before, limited) = several.rsplit_once("[[physics.systems]]").unwrap();
    let (head, _) = before.split_once("[[physics.systems]]").unwrap();
    let alone = format!("{head}[physics.system]{limited}");
    let drawn = |settings: &str| {
        let directory = place.path().join("estimates");
        let outcome = run(settings, &data, &directory).unwrap();
        let row: Row = read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap().remove(0);
        let settings = toml::from_str(settings).unwrap();
        let systems = Systems::new(&settings).unwrap();
        silently(|run| Drawings::new(&systems, &data, &[Split::Adapt], run)?.of(Split::Adapt, &row)).unwrap()
    };
    let (several, alone) = (drawn(&several), drawn(&alone));
    let [several, alone] = [several, alone].map(|mut it| it.trajectories.remove(0).fine.unwrap());
    assert!(alone.half_widths.iter().all(|half| *half > 0.0) && alone.unknown.is_empty());
    for (found, expected) in several.half_widths.iter().zip(&alone.half_widths) {
        approx::assert_relative_eq!(*found, *expected, max_relative = 1e-6);
    }
}
