//! Tables of inputs for a time to come, read as the archive is.

use paramill::forecast::{InputSamples, InputTable};
use paramill::schema::{Between, Input, Quantity};

use super::*;

const ARCHIVE: &str = r#"
dataset = "tanks"
directory = "archive"
time_unit = "h"
table = { file = "tanks.csv", environment = "tank", time = "when", delimiter = ";", decimal = ",", missing = ["x"] }
channels = [
    { column = "level", name = "level", unit = "m" },
    { column = "valve", name = "valve", unit = "1", column_unit = "%", role = "input" },
    { column = "T in", name = "temperature", unit = "K", column_unit = "degC", role = "input", between = "hold" },
]
splits.adapt = ["*"]
"#;

fn inputs() -> Vec<Input> {
    let input = |name: &str, unit: &str| Input { quantity: Quantity::new(name, unit, ""), between: Between::Linear };
    vec![input("valve", "1"), input("temperature", "K")]
}

fn read(text: &str, archive: &str, origin: Option<&str>) -> Result<InputSamples, String> {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("future.csv");
    fs::write(&path, text).unwrap();
    let archive: Settings = toml::from_str(archive).unwrap();
    let inputs = inputs();
    let table = InputTable { inputs: &inputs, sums: &[], time_unit: "h", archive: Some(&archive), origin };
    let shown = |problems: Vec<Problem>| problems.iter().map(|it| format!("{it}\n")).collect::<String>();
    table.read(&path).map_err(|problems| shown(problems).replace(&format!("{}/", root.path().display()), ""))
}

fn refused(table: &str, origin: Option<&str>, parts: &[&str]) {
    let error = read(table, ARCHIVE, origin).unwrap_err();
    for part in parts {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(!error.contains("import.table.missing") && !error.contains("set `decimal"), "{error}");
}

#[test]
fn a_table_is_written_as_the_archive_and_converted_from_its_own_units() {
    let read = |table: &str| read(table, ARCHIVE, None).unwrap();
    // By the archive's name its unit is known; that of a header comes first.
    let signals = read("when;valve [%];T in\n0,5;10;x\n1,5;;20,5\n");
    assert_eq!(signals.times, [0.5, 1.5]);
    assert_eq!(signals.values[..1], [0.1]);
    assert!(signals.values[1].is_nan() && signals.values[2].is_nan());
    approx::assert_relative_eq!(signals.values[3], 293.65, max_relative = 1e-15);
    let signals = read("temperature;time (min);valve (1)\n280;30;0,25\n281;60;1\n");
    assert_eq!((signals.times, signals.values), (vec![0.5, 1.0], vec![0.25, 280.0, 1.0, 281.0]));
    assert!(signals.warnings.is_empty());
    // A unit in words is what the archive says, and so it is told.
    let signals = read("time;valve (open);T in\n1;50;0\n");
    assert_eq!(signals.values[0], 0.5);
    assert!(signals.warnings[0].to_string().contains("found the unit \"open\", which is not known"));
}

#[test]
fn time_stamps_count_from_an_origin() {
    let stamps = "when;valve (1);T in\n2024-03-01T12:30:00Z;0;1\n2024-03-01T15:00+01:00;0;1\n";
    let signals = read(stamps, ARCHIVE, Some("2024-03-01T12:00:00Z")).unwrap();
    assert_eq!(signals.times, [0.5, 2.0]);
    let since_1970 = ARCHIVE.replace("delimiter", "origin = \"file\", delimiter");
    let signals = read(stamps, &since_1970, None).unwrap();
    // `date -u -d 2024-03-01T12:30 +%s` says 1709296200.
    assert_eq!(signals.times[0], 1_709_296_200.0 / 3600.0);
    let error = read(stamps, &since_1970, Some("2024-03-01T12:00:00Z")).unwrap_err();
    assert!(
        error.contains("origin: found \"2024-03-01T12:00:00Z\"; expected none: the dataset counts from"),
        "{error}"
    );
}

#[test]
fn what_is_wrong_with_a_table_is_told_with_its_place() {
    refused(
        "time;valve;T in\n1;50;0\n",
        None,
        &[
            "future.csv:1, column 2 `valve`: found no unit in the header, where the archive has \"%\" and the dataset \"1\"; ",
            "write it: `valve [%]` or `valve [1]`",
        ],
    );
    refused("time,valve,T in\n1,50,0\n", None, &["found no column \"time\"", "separate the cells as in the archive"]);
    refused(
        "time;valve [%];T in\n1;5.5;NA\n2;1.234,5;inf\n3;a\n",
        None,
        &[
            "future.csv:2, column 2 `valve [%]`: found \"5.5\"; expected a finite number; write numbers as in the archive",
            "future.csv:2, column 3 `T in`: found \"NA\"; expected a finite number; leave the cell empty",
            "future.csv:3, column 3 `T in`: found \"inf\"; ",
            "future.csv:4: found 2 cells; expected 3, as in the header",
        ],
    );
    refused(
        "time;valve [%];T in\n;5;1\n2024-03-01T12:30:00;5;1\n",
        None,
        &[
            "future.csv:2, column 1 `time`: found an empty cell; ",
            "future.csv:3, column 1 `time`: found \"2024-03-01T12:30:00\"; expected a time stamp with its offset from UTC; ",
        ],
    );
    refused(
        "time (V);valve [A];T in\n1;5;1\n",
        None,
        &[
            "future.csv:1, column 1 `time (V)`: found the unit \"V\"; expected one that can be converted into \"h\"; ",
            "future.csv:1, column 2 `valve [A]`: found the unit \"A\"; expected one that can be converted into \"1\"; ",
        ],
    );
    refused("time;valve [%];T in\n2;5;1\n1;5;1\n", None, &["found the time 1 after 2; expected times that increase"]);
    refused("time;valve [%];T in\n1;5;1\n", Some("soon"), &["origin: found \"soon\"; expected a finite number"]);
    refused("time;valve [%];T in\n1;;1\n", None, &["column 2 `valve [%]`: found no value; "]);
    refused("time;valve [%];T in\n", None, &["found a header without rows"]);
}
