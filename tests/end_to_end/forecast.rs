//! Forecasts of an archived system that is driven: what `predict` reads, where it starts, and what it says of bad tables.

use super::*;

const VALVES: &str = r#"
[import]
dataset = "valves"
directory = "archive"
time_unit = "min"
table = { file = "valves.csv", environment = "tank", trajectory = "run", time = "stamp", time_zone = "UTC" }
channels = [
    { column = "level", name = "level", unit = "m" },
    { column = "valve", name = "inflow", unit = "1", role = "input", between = "hold" },
]
splits = { adapt = ["d"], validation = { trajectories = ["3"] }, adapt_test = { trajectories = ["3"] } }

[train]
context_dimension = 1
steps = 60
learning_rate = 0.01
validate_every = 20
scaling = "standard"
precision = "f64"
model = { kind = "mlp", layers = 2, width = 8 }

[map]
[estimate]
"#;

/// Tanks under a valve that is moved every four minutes, `dh/dt = u - rate h`, in centimetres and percent; a sample a minute.
fn archive() -> String {
    let mut table = "tank,run,stamp,level (cm),valve [%]\n".to_owned();
    for (tank, rate) in [("a", 0.2_f64), ("b", 0.3), ("c", 0.4), ("d", 0.35)] {
        for run in 1..=3 {
            let mut level = 0.5 * f64::from(run);
            for minute in 0..12 {
                let valve = 0.1 + 0.2 * f64::from((minute / 4 + run) % 3);
                let day = 10 * run;
                writeln!(table, "{tank},{run},2024-03-{day}T06:{minute:02}:00,{},{}", 100.0 * level, 100.0 * valve)
                    .unwrap();
                level = valve / rate + (level - valve / rate) * (-rate).exp();
            }
        }
    }
    table
}

struct Plant(TempDir);

impl Plant {
    fn new() -> Self {
        let root = house("valves.toml", VALVES);
        fs::create_dir(root.path().join("archive")).unwrap();
        fs::write(root.path().join("archive/valves.csv"), archive()).unwrap();
        run(root.path(), "valves.toml", &[], 0);
        Plant(root)
    }

    fn predict(&self, table: &str, arguments: &[&str]) -> Output {
        fs::write(self.0.path().join("future.csv"), table).unwrap();
        let usual = ["predict", "valves.toml", "--environment", "d", "--inputs", "future.csv", "--until", "15"];
        paramill(self.0.path(), &[&usual, arguments].concat())
    }

    fn forecast(&self, table: &str, arguments: &[&str]) -> Value {
        let output = self.predict(table, &[&["--json"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn error(&self, table: &str, arguments: &[&str], code: i32) -> String {
        let output = self.predict(table, arguments);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(output.stdout.is_empty());
        stderr(&output)
    }
}

fn levels_of(forecast: &Value) -> Vec<f64> {
    let values = forecast["channels"]["level"]["value"].as_array().unwrap().iter();
    values.map(|value| value.as_f64().unwrap()).collect()
}

const PLAIN: &str = "time,inflow\n11,0.3\n13,0.5\n15,0.5\n";

#[test]
fn inputs_of_a_forecast_are_read_as_the_archive_is() {
    let plant = Plant::new();
    let plain = plant.forecast(PLAIN, &[]);
    assert_eq!(plain["time"], serde_json::json!([11.0, 12.0, 13.0, 14.0, 15.0]));
    let expected = levels_of(&plain);
    let same = |table: &str, arguments: &[&str]| {
        let levels = levels_of(&plant.forecast(table, arguments));
        assert_eq!(levels.len(), expected.len(), "{table}");
        for (level, expected) in levels.iter().zip(&expected) {
            assert!((level - expected).abs() < 1e-12, "{table}: {levels:?} instead of {expected}");
        }
    };
    same("time (s),valve [%]\n660,30\n780,50\n900,50\n", &[]);
    same("valve,other,stamp\n0.3,x,11\n0.5,y,13\n,z,14\n0.5,,15\n", &[]);
    let stamps = "stamp,valve [%]\n2024-03-10T06:11:00,30\n2024-03-10T07:13:00+01:00,50\n2024-03-10 06:15,50\n";
    same(stamps, &["--origin", "2024-03-10T06:00:00Z"]);
    // A jump that rounding puts behind a sample of the forecast is at it.
    same("time,inflow\n11,0.3\n13.000000000001,0.5\n15,0.5\n", &[]);
    same("time,inflow\n111,0.3\n113,0.5\n115,0.5\n", &["--origin", "100"]);

    let error = plant.error(stamps, &[], 3);
    for part in [
        "future.csv:2, column 1 `stamp` (--origin): found the time stamp \"2024-03-10T06:11:00\"; expected",
        "as origin",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let wrong = "time (kg),valve [m]\n11,0.3\n15,0.5\n";
    let error = plant.error(wrong, &[], 3);
    for part in [
        "future.csv:1, column 1 `time (kg)`: found the unit \"kg\"; expected one that can be converted into \"min\"; ",
        "future.csv:1, column 2 `valve [m]`: found the unit \"m\"; expected one that can be converted into \"1\"; ",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let wrong = "time,inflow\n11,0.3\n11,0.4\n15,much\n";
    let error = plant.error(wrong, &[], 3);
    for part in [
        "future.csv:3, column 1 `time`: found the time 11 after 11; expected times that increase; ",
        "future.csv:4, column 2 `inflow`: found \"much\"; expected a finite number; ",
    ] {
        assert!(error.contains(part), "{error}");
    }
    for (table, arguments, part) in [
        (
            "time,flow\n11,1\n",
            &[][..],
            "found no column \"inflow\"; expected a column of that name, or \"valve\" as in the",
        ),
        (
            "time,valve,inflow\n11,1,1\n",
            &[],
            "found the columns \"inflow\" and \"valve\", either of which may be \"inflow\"",
        ),
        (
            "time,inflow,inflow [%]\n11,1,1\n",
            &[],
            "found the columns \"inflow\" and \"inflow [%]\", each of which may be \"inflow\"",
        ),
        ("time,inflow\n11,\n15,\n", &[], "column 2 `inflow`: found no value; "),
        (
            "time,inflow\n11,1\n15,1\n",
            &["--origin", "2024-03-10T06:00:00Z"],
            "found \"11\" in the table and \"2024-03-10T06:00:00Z\" as origin; expected both numbers or both time stamps",
        ),
        ("", &[], "found an empty file; "),
    ] {
        let error = plant.error(table, arguments, 3);
        assert!(error.contains(part), "{error}");
    }
    let arguments = ["predict", "valves.toml", "--environment", "d", "--inputs", "none.csv"];
    let output = paramill(plant.0.path(), &arguments);
    let part =
        "none.csv (--inputs): found no such file; expected a table; check the path, which is relative to the current";
    assert!(output.status.code() == Some(2) && stderr(&output).contains(part), "{}", stderr(&output));
    let error = plant.error(PLAIN, &["--origin", "soon"], 2);
    let part = "--origin: found \"soon\"; expected a finite number; give a time as the table writes it";
    assert!(error.contains(part), "{error}");
    let error = plant.error("time,inflow\n11,1\n14,1\n", &[], 2);
    assert!(error.contains("values of inflow from time 11 to 14 and a forecast from 11 to 15"), "{error}");
}

#[test]
fn a_forecast_says_where_it_starts() {
    let plant = Plant::new();
    let start = |arguments: &[&str]| plant.forecast(PLAIN, arguments)["start"].clone();
    let first = start(&[]);
    assert_eq!(first, serde_json::json!({ "time": 11.0, "kind": "observed", "trajectory": "1" }));
    assert_eq!(start(&["--trajectory", "3"])["trajectory"], "3");
    let [first, third] = [&[][..], &["--trajectory", "3"]].map(|it| levels_of(&plant.forecast(PLAIN, it)));
    assert_ne!(first[0], third[0]);
    let estimated = ["--set", "estimate.initial_state=estimated"];
    assert_eq!(start(&estimated), serde_json::json!({ "time": 11.0, "kind": "fitted", "trajectory": "1" }));
    assert_ne!(levels_of(&plant.forecast(PLAIN, &estimated))[0], first[0]);
    let given = ["--initial", "level=1", "--from", "11"];
    assert_eq!(start(&given), serde_json::json!({ "time": 11.0, "kind": "given", "trajectory": null }));

    let said = plant.predict(PLAIN, &[]);
    assert!(
        stderr(&said).contains("starts at time 11 from the last complete sample of trajectory 1, as it was measured")
    );
    assert!(!stderr(&plant.predict(PLAIN, &["--quiet"])).contains("starts at"));
    let error = plant.error(PLAIN, &["--trajectory", "nine"], 2);
    let part = "found no trajectory nine of environment d; expected one of its trajectories: 1, 2, 3";
    assert!(error.contains(part), "{error}");
}
