//! Forecasts from fits by equations, as a user asks for them.

use super::*;

const CUPS: &str = r#"
[import]
dataset = "cups"
directory = "."
time_unit = "min"
table = { file = "cups.csv", environment = "cup", trajectory = "fill", time = "time" }
channels = [
    { column = "tea", name = "tea", unit = "K" },
    { column = "heater", name = "heater", unit = "W", role = "input", between = "hold" },
]
splits = { adapt = ["*"] }
[estimate]
method = "physics"
[estimate.physics.system]
name = "cup"
time_unit = "min"
horizon = 10.0
time_step = 1.0
inputs = [{ name = "heater", unit = "W" }]
states = [
    { name = "tea", unit = "K", derivative = "-k * tea + 0.1 * heater", initial = [0.0, 90.0] },
    { name = "wall", unit = "K", derivative = "tea - wall", start = 0.0 },
]
outputs = [{ name = "sum", unit = "K", expression = "tea + wall" }]
parameters = [{ name = "k", unit = "min-1", lower = 0.01, upper = 1.0 }]
"#;

/// Two cups that cool at known rates, the second one heated from the fifth minute on.
fn kitchen() -> TempDir {
    let root = house("cups.toml", CUPS);
    let mut table = "cup,fill,time,tea,heater\n".to_owned();
    let mut stream = Stream::new(2, "cups", &[]);
    for (cup, k, heater) in [("a", 0.2_f64, 0.0), ("b", 0.3, 20.0)] {
        let mut tea = 60.0;
        for minute in 0..11 {
            let power = if minute < 5 { 0.0 } else { heater };
            writeln!(table, "{cup},1,{minute},{},{power}", tea + 0.2 * stream.normal()).unwrap();
            let rest = 0.1 * power / k;
            tea = rest + (tea - rest) * (-k).exp();
        }
    }
    fs::write(root.path().join("cups.csv"), table).unwrap();
    run(root.path(), "cups.toml", &[], 0);
    root
}

fn predict(root: &TempDir, arguments: &[&str]) -> Output {
    paramill(root.path(), &[&["predict", "cups.toml"], arguments].concat())
}

fn forecast(root: &TempDir, arguments: &[&str]) -> Value {
    let output = predict(root, &[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn error(root: &TempDir, arguments: &[&str], code: i32) -> String {
    let output = predict(root, arguments);
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
    stderr(&output)
}

#[test]
fn an_environment_of_the_estimates_is_forecast() {
    let root = kitchen();
    fs::write(root.path().join("off.csv"), "time,heater\n10,0\n20,0\n").unwrap();
    let ahead = forecast(&root, &["--environment", "b", "--inputs", "off.csv", "--until", "12"]);
    assert_eq!(ahead["time"], serde_json::json!([10.0, 11.0, 12.0]));
    assert_eq!(ahead["start"], serde_json::json!({ "time": 10.0, "kind": "fitted", "trajectory": "1" }));
    assert_eq!(ahead["band"]["knows"], "parameters and start");
    let number = |of: &Value, key: &str, t: usize| of[key][t].as_f64().unwrap();
    let tea = &ahead["channels"]["tea"];
    let cooled = number(tea, "value", 2) / number(tea, "value", 0);
    assert!((cooled - (-0.6_f64).exp()).abs() < 0.02, "{cooled}");
    for t in 0..3 {
        let ends = ["measured_lower", "lower", "value", "upper", "measured_upper"].map(|key| number(tea, key, t));
        assert!(ends.windows(2).all(|pair| pair[0] < pair[1]), "{ends:?}");
    }
    assert_eq!(
        (&ahead["hidden"]["wall"]["kind"], &ahead["hidden"]["sum"]["kind"]),
        (&"state".into(), &"output".into())
    );
    let sum = number(tea, "value", 1) + number(&ahead["hidden"]["wall"], "value", 1);
    approx::assert_relative_eq!(number(&ahead["hidden"]["sum"], "value", 1), sum, max_relative = 1e-9);

    // From its start on the inputs are those of the dataset.
    let again = predict(&root, &["--environment", "b", "--start", "initial", "--every", "5"]);
    let text = String::from_utf8(again.stdout.clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "time,tea,tea_lower,tea_upper,tea_measured_lower,tea_measured_upper,wall,wall_lower,wall_upper,sum,sum_lower,sum_upper,reason"
    );
    assert!(lines.len() == 4 && lines[3].starts_with("10,"), "{text}");
    assert!(stderr(&again).contains("the forecast starts at time 0 from the fitted start of trajectory 1"));
    let at_end: f64 = lines[3].split(',').nth(1).unwrap().parse().unwrap();
    approx::assert_relative_eq!(at_end, number(tea, "value", 0), max_relative = 1e-6);

    let given = forecast(
        &root,
        &[
            "--parameters",
            "k=0.5",
            "--initial",
            "tea=10",
            "--inputs",
            "off.csv",
            "--from",
            "10",
            "--until",
            "11",
            "--every",
            "1",
        ],
    );
    approx::assert_relative_eq!(
        number(&given["channels"]["tea"], "value", 1),
        10.0 * (-0.5_f64).exp(),
        max_relative = 1e-6
    );
    assert!(given["channels"]["tea"].get("measured_lower").is_none());
    // Of given parameters nothing is uncertain.
    assert!(given["channels"]["tea"].get("lower").is_none() && given["band"].is_null(), "{given}");
    let past = forecast(&root, &["--environment", "b", "--inputs", "off.csv", "--until", "12.25"]);
    assert_eq!(past["time"], serde_json::json!([10.0, 11.0, 12.0, 12.25]));

    for (arguments, part) in [
        (&["--environment", "c"][..], "found no environment c in"),
        (
            &["--environment", "b", "--until", "12"],
            "found no values of the inputs heater over the time of the forecast",
        ),
        (&["--environment", "b", "--trajectory", "2"], "expected one of the trajectories that were fitted: 1"),
        (&["--environment", "b", "--start", "observed"], "found states that nobody measures"),
        (&["--environment", "b", "--initial", "milk=3"], "--inputs FILE"),
        (&["--parameters", "k=0.5", "--initial", "tea=10"], "also needs --until and --every"),
        (&["--environment", "b", "--set", "estimate.tolerance=1e-3"], "the estimates were made by other settings"),
    ] {
        let said = error(&root, arguments, 2);
        assert!(said.contains(part), "{said}");
    }
}

/// A dose into a vein each, at 0 and 6 hours, of subjects whose clearance is their own and whose second visit is lighter.
const CLINIC: &str = r#"
[import]
dataset = "clinic"
directory = "."
time_unit = "h"
table = { file = "clinic.csv", environment = "subject", trajectory = "visit", time = "time", rows.evid = 0 }
channels = [{ column = "level", name = "level", unit = "mg" }]
splits = { adapt = ["*"] }
[[import.events]]
name = "dose"
unit = "mg"
shape = "bolus"
column = "amount"
rows.evid = 1
[estimate]
method = "physics"
[estimate.physics]
SYSTEMS
"#;

const ONE: &str = r#"scopes = { share = "trajectory" }
[estimate.physics.system]
name = "vein"
time_unit = "h"
horizon = 12.0
time_step = 1.0
inputs = [{ name = "dose", unit = "mg" }]
states = [{ name = "level", unit = "mg", derivative = "-ke * level", start = 0.0 }]
doses = [{ input = "dose", state = "level", bioavailability = "share" }]
parameters = [
    { name = "ke", unit = "h-1", lower = 0.01, upper = 2.0 },
    { name = "share", lower = 0.05, upper = 2.0 },
]
"#;

fn clinic(systems: &str) -> TempDir {
    let root = house("cups.toml", &CLINIC.replace("SYSTEMS", systems));
    let mut table = "subject,visit,time,level,amount,evid\n".to_owned();
    let mut stream = Stream::new(4, "clinic", &[]);
    for (visit, share) in [(1, 0.9), (2, 0.5)] {
        for hour in 0..13 {
            let given = [0, 6].into_iter().filter(|at| *at < hour);
            let level: f64 = given.map(|at| 10.0 * share * (-0.3 * f64::from(hour - at)).exp()).sum();
            writeln!(table, "a,{visit},{hour},{},,0", level + 0.05 * stream.normal()).unwrap();
            // A dose comes after the sample of its time.
            if hour % 6 == 0 && hour < 12 {
                writeln!(table, "a,{visit},{hour},,10,1").unwrap();
            }
        }
    }
    fs::write(root.path().join("clinic.csv"), table).unwrap();
    run(root.path(), "cups.toml", &[], 0);
    root
}

/// Doses of the table come when it says, from every start; those before the start are not given again.
#[test]
fn doses_of_a_table_come_at_their_times() {
    let root = clinic(ONE);
    fs::write(root.path().join("more.csv"), "time,dose\n3,20\n13,25\n").unwrap();
    let level = |of: &Value, hour: f64| {
        let place = of["time"].as_array().unwrap().iter().position(|time| time.as_f64() == Some(hour)).unwrap();
        of["channels"]["level"]["value"][place].as_f64().unwrap()
    };
    let ask = ["--environment", "a", "--trajectory", "1", "--every", "1", "--until", "20"];
    let with = |start: &str, table: &[&str]| forecast(&root, &[&ask, &["--start", start][..], table].concat());
    let table = ["--inputs", "more.csv"];
    let plain = with("initial", &[]);
    let more = with("initial", &table);
    // Of 20 more at 3 and 5 more at 13, nine tenths.
    for hour in [2.0, 3.0, 4.0, 12.0, 13.0, 14.0, 20.0] {
        let of = |at: f64, amount: f64| if hour > at { 0.9 * amount * (-0.3 * (hour - at)).exp() } else { 0.0 };
        let (found, expected) = (level(&more, hour) - level(&plain, hour), of(3.0, 20.0) + of(13.0, 5.0));
        assert!((found - expected).abs() < 0.03 * (0.1 + expected), "at {hour}: {found}, not {expected}");
    }
    for start in ["fitted", "observed"] {
        let (plain, more) = (with(start, &[]), with(start, &table));
        let (found, expected) = (level(&more, 14.0) - level(&plain, 14.0), 0.9 * 5.0 * (-0.3_f64).exp());
        assert!((found - expected).abs() < 0.03 * expected, "{start}: {found}, not {expected}");
        assert!((level(&more, 13.0) - level(&plain, 13.0)).abs() < 1e-6, "{start}");
    }
    let told = |start: &str| stderr(&predict(&root, &[&ask, &["--start", start][..], &table].concat()));
    assert!(
        told("initial").contains("before the last sample at 12 give of dose is given besides what the dataset gives")
    );
    assert!(told("fitted").contains("what rows before the start at 12 give of dose is not given again"));
    fs::write(root.path().join("more.csv"), "time,dose\n3,20\n13,5\n").unwrap();
    let said = error(&root, &[&ask[..], &table].concat(), 3);
    let expected = "more.csv:3, column 2 `dose`: found 5 after 20; expected the sum of all that was given so far";
    assert!(said.contains(expected), "{said}");
}

/// A system with given parameters has those of trajectories too, and is found among several by them.
#[test]
fn a_system_is_found_by_its_parameters() {
    let root = clinic(ONE);
    let ask = ["--initial", "level=8", "--until", "2", "--every", "1"];
    let of = |root: &TempDir, more: &[&str]| forecast(root, &[&ask[..], more].concat());
    let at_end = |of: &Value| of["channels"]["level"]["value"][2].as_f64().unwrap();
    approx::assert_relative_eq!(
        at_end(&of(&root, &["--parameters", "ke=0.5,share=1"])),
        8.0 * (-1.0_f64).exp(),
        max_relative = 1e-6
    );
    let refused = |root: &TempDir, more: &[&str]| error(root, &[&ask[..], more].concat(), 2);
    let said = refused(&root, &["--parameters", "ke=0.5,share=1", "--system", "vein"]);
    assert!(said.contains("--system: found one system; leave it out"), "{said}");

    let system = |name: &str, derivative: &str, parameter: &str| {
        format!(
            "[[estimate.physics.systems]]\nname = \"{name}\"\ntime_unit = \"h\"\nhorizon = 12.0\ntime_step = 1.0\n\
             inputs = [{{ name = \"dose\", unit = \"mg\" }}]\n\
             states = [{{ name = \"level\", unit = \"mg\", derivative = \"{derivative}\", start = 0.0 }}]\n\
             doses = [{{ input = \"dose\", state = \"level\" }}]\n\
             parameters = [{{ name = \"{parameter}\", unit = \"{}\", lower = 0.01, upper = 2.0 }}]\n",
            if parameter == "ke" { "h-1" } else { "mg h-1" }
        )
    };
    let several = system("first", "-ke * level", "ke")
        + &system("constant", "-k0 * level / (level + 0.1)", "k0")
        + &system("half", "-ke * level / 2", "ke");
    let root = clinic(&several);
    approx::assert_relative_eq!(
        at_end(&of(&root, &["--parameters", "ke=0.5", "--system", "half"])),
        8.0 * (-0.5_f64).exp(),
        max_relative = 1e-6
    );
    assert!(at_end(&of(&root, &["--parameters", "k0=0.5"])) > 7.0);
    let all = "first (ke) and constant (k0) and half (ke)";
    for (more, part) in [
        (
            &["--parameters", "ke=0.5"][..],
            format!("found ke, which are the parameters of more than one of the systems {all}; add --system NAME"),
        ),
        (
            &["--parameters", "kx=0.5"],
            format!("found kx, and the systems {all}; expected values of all parameters of one of them"),
        ),
        (&["--parameters", "ke=0.5", "--system", "none"], format!("--system: found none; expected one of {all}")),
    ] {
        let said = refused(&root, more);
        assert!(said.contains(&part), "{said}");
    }
}

/// Two columns of one name would be read as one.
#[test]
fn a_table_with_two_columns_of_one_name_is_refused() {
    let system = CUPS.replace("name = \"wall\"", "name = \"tea_lower\"").replace("tea - wall", "tea - tea_lower");
    let system = system.replace("tea + wall", "tea + tea_lower");
    let root = house("cups.toml", &system);
    let rows: String =
        (0..9).map(|t| format!("a,1,{t},{},0\n", 60.0 * (-0.2 * f64::from(t)).exp() + f64::from(t % 2))).collect();
    fs::write(root.path().join("cups.csv"), format!("cup,fill,time,tea,heater\n{rows}")).unwrap();
    run(root.path(), "cups.toml", &[], 0);
    let ask = ["--environment", "a", "--start", "initial"];
    let said = error(&root, &ask, 2);
    assert!(said.contains("the column `tea_lower` of the table twice, for `tea` and for `tea_lower`"), "{said}");
    assert!(forecast(&root, &ask)["hidden"]["tea_lower"]["value"].is_array());
}
