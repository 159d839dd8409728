//! Parameters of trajectories, environments and all: against the same problems written otherwise, and against known truth.

use paramill::estimate::physics::{Drawings, SharedProfiles, Systems, surroundings};
use paramill::estimate::{Row, Settings, Status, read_rows};
use paramill::physics;
use paramill::progress::Run;
use paramill::random::Stream;
use paramill::schema::{Between, Split, Trajectory};
use paramill::systems::Equations;

use super::hidden::{Columns, dataset, refusal, settings, trajectory};
use super::model::{silently, with_threads};
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

/// But for what is left where a fit has converged.
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 5e-4 * expected.abs(), "{found}, not {expected}");
}

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

        // What is drawn of both is the same, and so are its bands.
        let drawn = |scopes: &str, system: &str, row: &Row| {
            let settings = toml::from_str(&settings(&format!("{of_noise}\n{scopes}"), system)).unwrap();
            silently(|run| Drawings::new(&Systems::new(&settings)?, &data, &[Split::Adapt], run)?.of(Split::Adapt, row))
                .unwrap()
        };
        let own = drawn("physics.scopes = { a = \"trajectory\" }", OF_TRAJECTORIES, &row);
        let out = drawn("", WRITTEN_OUT, &other);
        for (own, out) in own.trajectories.iter().zip(&out.trajectories) {
            let (own, out) = (own.fine.as_ref().unwrap(), out.fine.as_ref().unwrap());
            let pairs = |a: &[f64], b: &[f64], most: f64| {
                a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() < most * b.abs(), "{of_noise}: {a}, not {b}"));
            };
            pairs(&own.values, &out.values, 1e-4);
            pairs(&own.half_widths, &out.half_widths, 0.02);
        }
    }
}

/// Only the sum of two rates is told, one of them of all environments: neither is known, however well the other holds it.
#[test]
fn a_shared_parameter_that_nothing_narrows_down_is_unidentifiable() {
    let place = tempfile::tempdir().unwrap();
    let data = dataset(place.path(), &["x"], &["k"], &["u"], decays(0.05));
    let system = OF_TRAJECTORIES
        .replace("-k * x", "-(k + m) * x")
        .replace("{ name = \"a\"", "{ name = \"m\", lower = 0.01, upper = 5.0 }, { name = \"a\"");
    let directory = place.path().join("estimates");
    let text = settings("physics.scopes = { k = \"all\", a = \"trajectory\" }", &system);
    let outcome = run(&text, &data, &directory).unwrap();
    let row: Row = read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap().swap_remove(0);
    assert_eq!(row.status, Status::Unidentifiable, "{}", row.reason);
    assert!(row.reason.contains("do not narrow down k") || row.reason.contains("do not determine k"), "{}", row.reason);
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
    let (row, directory) = fitted("bounds.a.max = 4.0\nphysics.scopes = { a = \"trajectory\" }", OF_TRAJECTORIES);
    assert_eq!(row.status, Status::AtBound);
    assert!(row.reason.starts_with("a of `second` at its upper bound 4"), "{}", row.reason);
    assert_eq!(Columns::read(&directory, "trajectories_adapt.parquet").texts("at_bound"), ["", "upper"]);
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

/// Decays at one rate from values of their own, sampled at these times, with constant noise.
fn cultures(count: u32, times: &[f64], noise: impl Fn(u32) -> f64) -> Vec<Trajectory> {
    let mut stream = Stream::new(6, "scopes", &[]);
    let of = |index: u32, stream: &mut Stream| {
        let start = 2.0 + f64::from(index * 7 % 11);
        let states = times.iter().map(|t| start * (-0.4 * t).exp() + noise(index) * stream.normal()).collect();
        trajectory(&format!("e{index:04}"), "0", &[0.4], times, states)
    };
    (0..count).map(|index| of(index, &mut stream)).collect()
}

const CULTURES: &str = r#"
    states = [{ name = "x", derivative = "-k * x", start = "a" }]
    parameters = [{ name = "k", lower = 0.01, upper = 5.0 }, { name = "a", lower = 0.1, upper = 50.0 }]
"#;

fn estimates(text: &str, of: Vec<Trajectory>) -> (Vec<Row>, Columns) {
    let place = tempfile::tempdir().unwrap();
    let data = dataset(place.path(), &["x"], &["k"], &[], of);
    let directory = place.path().join("estimates");
    let outcome = run(&settings(text, CULTURES), &data, &directory).unwrap();
    let rows = read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap();
    let file = if text.contains("trajectory") { "trajectories_adapt.parquet" } else { "adapt.parquet" };
    (rows, Columns::read(&directory, file))
}

/// Environments that share a parameter are one environment whose trajectories do, whatever the noise and priors.
#[test]
fn what_all_share_is_fitted_as_if_all_were_one() {
    let times: Vec<f64> = (0..7).map(|t| 0.6 * f64::from(t)).collect();
    let one = |it: Trajectory| Trajectory { environment: "one".to_owned(), trajectory: it.environment.clone(), ..it };
    for (of_noise, terms) in [("constant", vec!["absolute"]), ("student", vec!["scale", "degrees_of_freedom"])] {
        for prior in ["", "physics.priors.k = { mean = -1.0, std_dev = 0.01, log = true }\n"] {
            let text = format!("noise = \"{of_noise}\"\nserial_correlation = false\n{prior}");
            let scopes: Vec<String> = terms.iter().map(|term| format!("noise_x_{term} = \"all\"")).collect();
            let scopes = scopes.join(", ");
            let data = cultures(9, &times, |_| 0.1);
            let (rows, _) = estimates(&format!("{text}physics.scopes = {{ k = \"all\", {scopes} }}"), data.clone());
            let own = format!("{text}physics.scopes = {{ a = \"trajectory\" }}");
            let (expected, of_trajectories) = estimates(&own, data.into_iter().map(one).collect());
            let expected = &expected[0];
            let mut aic = 0.0;
            for (k, row) in rows.iter().enumerate() {
                assert_eq!(row.status, Status::Ok, "{}", row.reason);
                near(row.parameters[0].value, expected.parameters[0].value);
                near(row.parameters[0].standard_error, expected.parameters[0].standard_error);
                near(row.parameters[0].upper, expected.parameters[0].upper);
                near(row.parameters[1].value, of_trajectories.numbers("value")[k]);
                near(row.parameters[1].standard_error, of_trajectories.numbers("standard_error")[k]);
                near(row.noise_terms[0], expected.noise_terms[0]);
                aic += row.likelihood.unwrap().aic;
            }
            near(aic, expected.likelihood.unwrap().aic);
        }
    }
}

/// Three samples say little of two parameters; forty such environments say what all share.
#[test]
fn few_samples_of_many_environments_are_enough() {
    let data = cultures(40, &[0.0, 1.5, 3.0], |_| 0.05);
    let (rows, _) = estimates("physics.scopes = { k = \"all\" }", data);
    let k = rows[0].parameters[0];
    assert!((k.value - 0.4).abs() < 3.0 * k.standard_error && k.standard_error < 0.01, "{k:?}");
    let starts = rows.iter().enumerate().map(|(e, row)| row.parameters[1].value - (2.0 + (e * 7 % 11) as f64));
    assert!((starts.map(|error| error * error).sum::<f64>() / 40.0).sqrt() < 0.1);
}

/// By least squares an environment counts by its own noise; those that fail or misfit do not count.
#[test]
fn environments_without_a_fit_do_not_spoil_what_others_share() {
    let times: Vec<f64> = (0..20).map(|t| 0.3 * f64::from(t)).collect();
    let good = cultures(12, &times, |index| if index % 2 == 0 { 0.02 } else { 0.5 });
    let text = "physics.scopes = { k = \"all\" }";
    let (alone, _) = estimates(text, good.clone());
    let k = alone[0].parameters[0];
    assert!((k.value - 0.4).abs() < 3.0 * k.standard_error, "{k:?}");
    let (independent, _) = estimates("", good.clone());
    let information: f64 = independent.iter().map(|row| row.parameters[0].standard_error.powi(-2)).sum();
    assert!((k.standard_error * information.sqrt() - 1.0).abs() < 0.05, "{k:?} {information}");
    let mut with_bad = good;
    let silent = Trajectory { states: vec![f64::NAN; 20], ..trajectory("silent", "0", &[0.4], &times, Vec::new()) };
    let swing = times.iter().map(|t| 5.0 + 3.0 * (4.0 * t).sin()).collect();
    with_bad.extend([silent, trajectory("swing", "0", &[0.4], &times, swing)]);
    let (rows, _) = estimates(text, with_bad);
    close(rows[0].parameters[0].value, k.value);
    close(rows[0].parameters[0].standard_error, k.standard_error);
    let of = |id: &str| rows.iter().find(|row| row.environment == id).unwrap();
    assert_eq!(
        (of("silent").status, of("swing").status.is_failure() || of("swing").status == Status::Misfit),
        (Status::NoData, true)
    );
    for id in ["silent", "swing"] {
        assert!(
            of(id).reason.contains("took no part in the fit of what all environments share (k)"),
            "{}",
            of(id).reason
        );
    }
}

#[test]
fn shared_fits_do_not_depend_on_threads_and_know_bounds() {
    let times: Vec<f64> = (0..9).map(|t| 0.4 * f64::from(t)).collect();
    let fitted = |text: &str| estimates(text, cultures(30, &times, |_| 0.1)).0;
    let [one, three] = [1, 3].map(|threads| with_threads(threads, || fitted("physics.scopes = { k = \"all\" }")));
    assert_eq!(one, three);
    let rows = fitted("bounds.k.max = 0.35\nphysics.scopes = { k = \"all\" }");
    assert!(rows.iter().all(|row| row.parameters[0].value == 0.35), "{:?}", rows[0].parameters[0]);
    assert!(rows.iter().all(|row| row.status == Status::AtBound || row.status == Status::Misfit), "{}", rows[0].reason);
    let place = tempfile::tempdir().unwrap();
    let data = dataset(place.path(), &["x"], &["k"], &[], cultures(3, &times, |_| 0.1));
    for (text, expected) in [
        ("physics.scopes = { noise_x_absolute = \"all\" }", "no noise that is estimated"),
        ("noise = \"constant\"\nphysics.scopes = { noise_x_relative = \"all\" }", "noise_x_absolute"),
    ] {
        let said = super::run(&settings(text, CULTURES), &data, &place.path().join("e")).map(|_| ()).unwrap_err();
        assert!(said.to_string().contains(expected), "{said}");
    }
}

/// Straight lines of one slope and starts of their own: residuals are linear in the parameters.
const LINES: &str = r#"
    states = [{ name = "x", derivative = "k", start = "a" }]
    parameters = [{ name = "k", lower = -50.0, upper = 50.0 }, { name = "a", lower = -50.0, upper = 50.0 }]
"#;

/// Intervals by profiles of what all share, and of what each has beside it, are those of the regression of all lines together; so are Wald's.
#[test]
fn profiles_of_what_all_share_are_the_intervals_of_regression() {
    const E: usize = 4;
    let times = [0.0, 1.0, 2.0, 4.0];
    let mut stream = Stream::new(8, "lines", &[]);
    let lines: Vec<Vec<f64>> =
        (0..E).map(|e| times.iter().map(|t| 2.0 * e as f64 + 0.7 * t + 0.3 * stream.normal()).collect()).collect();
    // Of each line the distances of times and values from their means say the slope.
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let spread: f64 = times.iter().map(|t| (t - mean(&times)).powi(2)).sum();
    let along =
        |line: &Vec<f64>| times.iter().zip(line).map(|(t, x)| (t - mean(&times)) * (x - mean(line))).sum::<f64>();
    let slope = lines.iter().map(along).sum::<f64>() / (E as f64 * spread);
    let left = |line: &Vec<f64>| {
        times.iter().zip(line).map(|(t, x)| (x - mean(line) - slope * (t - mean(&times))).powi(2)).sum::<f64>()
    };
    let free = (E * times.len() - E - 1) as f64;
    let variance = lines.iter().map(left).sum::<f64>() / free;
    // Student's quantile for eleven degrees of freedom.
    let quantile = 2.200_985;
    let of_slope = quantile * (variance / (E as f64 * spread)).sqrt();
    let of_start =
        quantile * (variance * (1.0 / times.len() as f64 + mean(&times).powi(2) / (E as f64 * spread))).sqrt();
    let place = tempfile::tempdir().unwrap();
    let all = lines.iter().enumerate().map(|(e, line)| trajectory(&format!("e{e}"), "0", &[0.7], &times, line.clone()));
    let data = dataset(place.path(), &["x"], &["k"], &[], all.collect());
    for intervals in ["wald", "profile"] {
        let text = format!(
            "serial_correlation = false\nnoise = \"constant\"\nintervals = \"{intervals}\"\n\
             physics.scopes = {{ k = \"all\", noise_x_absolute = \"all\" }}"
        );
        let directory = place.path().join(intervals);
        let outcome = run(&settings(&text, LINES), &data, &directory).unwrap();
        let rows: Vec<Row> = read_rows(&directory, &outcome.manifest, Split::Adapt).unwrap();
        for (row, line) in rows.iter().zip(&lines) {
            assert_eq!((row.status, row.reason.as_str()), (Status::Ok, ""), "{row:?}");
            let expected = [(slope, of_slope), (mean(line) - slope * mean(&times), of_start)];
            for (it, (value, half)) in row.parameters.iter().zip(expected) {
                approx::assert_relative_eq!(it.value, value, epsilon = 1e-3 * half);
                approx::assert_relative_eq!(it.upper - value, half, max_relative = 0.008);
                approx::assert_relative_eq!(value - it.lower, half, max_relative = 0.008);
            }
        }
        if intervals == "profile" {
            let (settings, mut shared) = (toml::from_str(&settings(&text, LINES)).unwrap(), SharedProfiles::default());
            for row in &rows[..2] {
                let around = |run: &Run| surroundings(&settings, &data, (Split::Adapt, row), &mut shared, run);
                let profiles = silently(around).unwrap().profiles;
                assert_eq!(profiles.len(), 2);
                // That of the slope, which all share, goes through the ends of the interval as that of a start does.
                for (profile, it) in profiles.iter().zip(&row.parameters) {
                    approx::assert_relative_eq!(profile.lower, it.lower, max_relative = 1e-6);
                    approx::assert_relative_eq!(profile.upper, it.upper, max_relative = 1e-6);
                    assert!(profile.points.len() > 4, "{profile:?}");
                    let near = |end: f64| profile.points.iter().find(|it| (it.0 / end - 1.0).abs() < 1e-6).unwrap().1;
                    for end in [it.lower, it.upper] {
                        assert!((near(end) / profile.limit - 1.0).abs() < 0.02, "{profile:?}");
                    }
                }
            }
        }
    }
}

/// Cultures that decay at one rate of all, from starts of their own, with known noise: the bounds are those of the sum of what each says, and
/// the estimates scatter as widely.
#[test]
fn bounds_of_what_all_share_are_the_scatter_of_estimates() {
    const NOISE: f64 = 0.1;
    const REPLICATES: usize = 100;
    let (times, starts, rate) = ([0.0, 0.7, 1.4, 2.8, 5.0], [2.0_f64, 5.0, 3.0], 0.4);
    let system = toml::from_str::<Equations>(&format!("name = \"decay\"\nhorizon = 5.0\ntime_step = 0.5\n{CULTURES}"));
    let system = system.unwrap().system().unwrap();
    let settings = "noise.x = { kind = \"known\", value = 0.1 }\nphysics.scopes = { k = \"all\" }";
    let settings: Settings = toml::from_str(settings).unwrap();
    // Of each, the information about the rate that is left where its start is unknown.
    let slopes = |start: f64| times.map(|t| [-start * t * (-rate * t).exp(), (-rate * t).exp()]);
    let sums = starts.map(|start| {
        let sum = |i: usize, j: usize| slopes(start).iter().map(|it| it[i] * it[j]).sum::<f64>() / NOISE.powi(2);
        [sum(0, 0), sum(0, 1), sum(1, 1)]
    });
    let of_rate = 1.0 / sums.iter().map(|[kk, ka, aa]| kk - ka * ka / aa).sum::<f64>();
    let expected = sums.map(|[_, ka, aa]| [of_rate.sqrt(), (1.0 / aa + (ka / aa).powi(2) * of_rate).sqrt()]);
    let mut stream = Stream::new(7, "bounds", &[]);
    let mut squares = [0.0; 2];
    for _ in 0..REPLICATES {
        let all = starts.iter().enumerate().map(|(e, start)| Trajectory {
            parameters: vec![Some(rate), Some(*start)],
            ..trajectory(
                &format!("e{e}"),
                "0",
                &[],
                &times,
                times.iter().map(|t| start * (-rate * t).exp() + NOISE * stream.normal()).collect(),
            )
        });
        let rows = physics::fit_with(&settings, &system, Between::Hold, &all.collect::<Vec<_>>()).unwrap();
        for (row, expected) in rows.iter().zip(expected) {
            for ((it, bound), square) in row.parameters.iter().zip(expected).zip(&mut squares) {
                approx::assert_relative_eq!(it.crlb.unwrap(), bound, max_relative = 1e-5);
                *square += ((it.value - it.truth.unwrap()) / bound).powi(2) / (REPLICATES * starts.len()) as f64;
            }
        }
    }
    // The rate is one of a hundred, a start one of three hundred.
    assert!((squares[0].sqrt() - 1.0).abs() < 0.2 && (squares[1].sqrt() - 1.0).abs() < 0.12, "{squares:?}");
}

/// A prior on what all share is told in every row, and does not get wider because few values tell the noise.
#[test]
fn priors_on_what_all_share_are_told() {
    let data = cultures(2, &[0.0, 1.5, 3.0], |_| 0.05);
    let text =
        "noise = \"constant\"\nphysics.scopes = { k = \"all\" }\nphysics.priors.k = { mean = 0.4, std_dev = 1e-4 }";
    let (rows, _) = estimates(text, data);
    for row in &rows {
        assert!(!row.status.is_failure() && row.reason.contains("prior: k"), "{}: {}", row.status.name(), row.reason);
        let k = row.parameters[0];
        approx::assert_relative_eq!(k.upper - k.lower, 2.0 * 1.959_964e-4, max_relative = 0.01);
    }
}

/// Noise of two parts that all share is split as where all are one environment, whatever few values each has to split its own by.
#[test]
fn two_parts_of_shared_noise_are_told_apart() {
    let times: Vec<f64> = (0..6).map(|t| 1.5 * f64::from(t)).collect();
    let mut stream = Stream::new(12, "two parts", &[]);
    let of = |index: usize, stream: &mut Stream| {
        let start = 10.0 + 3.0 * (index % 5) as f64;
        let measured = times.iter().map(|t| start * (-0.6 * t).exp());
        let measured = measured.map(|z| z + 0.05_f64.hypot(0.1 * z) * stream.normal()).collect();
        trajectory(&format!("e{index:04}"), "0", &[0.6], &times, measured)
    };
    let data: Vec<Trajectory> = (0..24).map(|index| of(index, &mut stream)).collect();
    let one = |it: Trajectory| Trajectory { environment: "one".to_owned(), trajectory: it.environment.clone(), ..it };
    let text = "noise = \"combined\"\nserial_correlation = false\n";
    let scopes = "physics.scopes = { k = \"all\", noise_x_absolute = \"all\", noise_x_relative = \"all\" }";
    let (rows, _) = estimates(&format!("{text}{scopes}"), data.clone());
    let own = format!("{text}physics.scopes = {{ a = \"trajectory\" }}");
    let (expected, _) = estimates(&own, data.into_iter().map(one).collect());
    let reasons: Vec<&str> = rows.iter().map(|row| row.reason.as_str()).filter(|it| !it.is_empty()).collect();
    let total: f64 = rows.iter().map(|row| row.likelihood.unwrap().minus_two_log).sum();
    let least = expected[0].likelihood.unwrap().minus_two_log;
    let terms = [&rows[0].noise_terms, &expected[0].noise_terms];
    assert!((total - least).abs() < 0.02, "{total} {least} {terms:?} {reasons:?}");
    for (found, expected) in rows[0].noise_terms.iter().zip(&expected[0].noise_terms) {
        assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}");
    }
    assert!(rows[0].noise_terms[0] > 0.02 && rows[0].noise_terms[1] > 0.05, "{:?}", rows[0].noise_terms);
}

/// Values without noise come to the least scale by themselves; that is not the scale of the others.
#[test]
fn one_environment_does_not_spoil_shared_noise() {
    let times: Vec<f64> = (0..6).map(|t| 0.7 * f64::from(t)).collect();
    let exact = |index: u32| if index.is_multiple_of(4) { 0.0 } else { 0.2 };
    let scopes = "physics.scopes = { k = \"all\", noise_x_scale = \"all\", noise_x_degrees_of_freedom = \"all\" }";
    let text = format!("noise = \"student\"\nserial_correlation = false\n{scopes}");
    let (rows, _) = estimates(&text, cultures(16, &times, exact));
    let scale = rows[0].noise_terms[0];
    assert!((0.05..0.3).contains(&scale), "{scale}");
    assert!((rows[1].parameters[0].value - 0.4).abs() < 0.02, "{:?}", rows[1].parameters[0]);
}

/// An environment that the shared value cannot explain is left out, and its own parameter has the error of a regression at that value.
#[test]
fn what_is_left_out_of_a_joint_fit_has_intervals_of_its_own() {
    let times: Vec<f64> = (0..40).map(|t| 0.15 * f64::from(t)).collect();
    let mut data = cultures(12, &times, |_| 0.02);
    let swing: Vec<f64> = times.iter().map(|t| 9.0 * (-0.4 * t).exp() + 1.5 * (2.0 * t).sin()).collect();
    data.push(trajectory("swing", "0", &[0.4], &times, swing.clone()));
    let (rows, _) = estimates("serial_correlation = false\nphysics.scopes = { k = \"all\" }", data);
    let row = rows.iter().find(|row| row.environment == "swing").unwrap();
    assert!(row.reason.contains("took no part") && !row.status.is_failure(), "{row:?}");
    let k = row.parameters[0].value;
    let slopes: Vec<f64> = times.iter().map(|t| (-k * t).exp()).collect();
    let sum = |of: &dyn Fn(usize) -> f64| (0..times.len()).map(of).sum::<f64>();
    let size = sum(&|i| slopes[i] * slopes[i]);
    let start = sum(&|i| slopes[i] * swing[i]) / size;
    let squares = sum(&|i| (swing[i] - start * slopes[i]).powi(2));
    close(row.parameters[1].value, start);
    // The shared rate is well known by the others.
    let expected = (squares / (times.len() as f64 - 1.0) / size).sqrt();
    let found = row.parameters[1];
    assert!((found.standard_error / expected - 1.0).abs() < 0.02, "{found:?}, not {expected}");
    assert!(found.lower < start && start < found.upper && found.upper - found.lower < 5.0 * expected, "{found:?}");
}

/// Where no environment can take part, each row says why.
#[test]
fn without_anyone_to_share_a_value_rows_say_why() {
    let times = [0.0, 1.0, 2.0];
    let silent = |id: &str| trajectory(id, "0", &[0.4], &times, vec![f64::NAN; 3]);
    for text in
        ["physics.scopes = { k = \"all\" }", "noise = \"constant\"\nphysics.scopes = { noise_x_absolute = \"all\" }"]
    {
        let (rows, _) = estimates(text, vec![silent("a"), silent("b")]);
        assert_eq!(rows.len(), 2);
        for row in rows {
            assert_eq!(row.status, Status::NoData, "{row:?}");
            let expected = "no environment can take part in the fit of what all share";
            assert!(row.reason.contains(expected) && row.reason.contains("no value is observed"), "{}", row.reason);
            assert!(row.parameters.iter().all(|it| it.value.is_nan()), "{row:?}");
        }
    }
}
