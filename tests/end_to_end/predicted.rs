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
        "time,tea,tea_lower,tea_upper,tea_measured_lower,tea_measured_upper,wall,wall_lower,wall_upper,sum,sum_lower,sum_upper"
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
