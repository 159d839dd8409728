//! Which columns a guess takes for times, for numbers of rows, for doses and for constants.

use super::guess::{channel, columns, guess, reading, rows, settings};
use super::*;

/// The guess of a folder of files of these contents.
fn of_folder(files: &[(&str, String)]) -> (Settings, String) {
    let mut archive = Archive::new();
    fs::create_dir(archive.root.path().join("archive/logs")).unwrap();
    for (name, content) in files {
        archive = archive.with(&format!("logs/{name}"), content);
    }
    let text = import::draft(&archive.root.path().join("archive/logs")).unwrap();
    let settings: Settings = toml::from_str::<toml::Table>(&text).unwrap()["import"].clone().try_into().unwrap();
    assert_eq!(import::check(&settings, Path::new("")), [], "{text}");
    (settings, text)
}

/// What the first file of a folder has only one value of, others may vary.
#[test]
fn a_channel_may_vary_in_another_file_alone() {
    let log = |valve: &dyn Fn(usize) -> String, mass: &str| {
        rows("time,level,valve,mass,room", |t| format!("{t},{},{},{mass},20\n", reading(t, 3), valve(t)))
    };
    let (settings, text) = of_folder(&[
        ("a.csv", log(&|_| "10".into(), "3")),
        ("b.csv", log(&|_| "10".into(), "5")),
        ("c.csv", log(&|t| reading(t, 5).to_string(), "3")),
    ]);
    assert_eq!(columns(&settings), ["level", "valve"], "{text}");
    assert!(text.contains("# left out: \"mass\", the same within each file"), "{text}");
    assert!(text.contains("# left out: \"room\", always the same"), "{text}");
    let (empty, text) =
        of_folder(&[("a.csv", log(&|_| String::new(), "3")), ("b.csv", log(&|t| reading(t, 5).to_string(), "3"))]);
    assert_eq!(columns(&empty), ["level", "valve"], "{text}");
}

#[test]
fn numbers_of_rows_are_neither_times_nor_channels() {
    for name in ["rownames", "Unnamed: 0", "index", "Row.Number", "X"] {
        let (numbered, text) =
            settings(&rows(&format!("{name},time,level"), |t| format!("{},{t}.5,{}\n", t + 1, reading(t, 3))));
        assert_eq!((numbered.table.time.as_str(), columns(&numbered)), ("time", vec!["level"]), "{name}: {text}");
        assert!(text.contains(&format!("# left out: {name:?}, a number of each row")), "{text}");
    }
    // They may begin anew in each part of a file.
    let (anew, text) = settings(&rows("index,tank,time,level", |t| {
        format!("{},{},{}.5,{}\n", t % 6, ["a", "b"][t / 6], t % 6, reading(t, 3))
    }));
    assert_eq!((anew.table.time.as_str(), columns(&anew)), ("time", vec!["level"]), "{text}");
    // Ids that stand in turn do not count rows.
    let (ids, text) = settings(&rows("id,time,level", |t| format!("{},{},{}\n", t % 3 + 1, t / 3, reading(t, 3))));
    assert_eq!(ids.table.environment, one("id"), "{text}");
}

#[test]
fn a_log_without_a_time_says_so() {
    for table in [
        rows("valve,level", |t| format!("{},{}\n", t / 4, reading(t, 3))),
        rows("rownames,level,flow", |t| format!("{},{},{}\n", t + 1, reading(t, 3), reading(t, 5))),
        rows("heater_duty,temperature", |t| format!("{},{}\n", 10 * t, reading(t, 3))),
    ] {
        let text = guess(&table);
        assert!(
            text.starts_with("# To be filled in or corrected") && text.contains("NO COLUMN looks like a time"),
            "{text}"
        );
    }
    let counted = guess(&rows("rownames,level", |t| format!("{},{}\n", t + 1, reading(t, 3))));
    assert!(
        counted.contains("\"rownames\", a number of each row and no time: only if samples are evenly spaced"),
        "{counted}"
    );
    // A name, a unit or a rise speak of time.
    for (header, time) in
        [("Test_Time,level", "Test_Time"), ("tau (s),level", "tau (s)"), ("k,level", "k"), ("Zeit,x", "Zeit")]
    {
        let (said, text) = settings(&rows(header, |t| format!("{},{}\n", 2 * t, reading(t, 3))));
        assert_eq!(said.table.time, time, "{text}");
    }
}

/// Numbers with thousands separators are no markers of missing values; bounds are, which is said.
#[test]
fn numbers_that_are_written_otherwise_are_not_missing() {
    let table = |cell: &str| {
        rows("time;level", |t| if t == 5 { format!("{t};{cell}\n") } else { format!("{t};{}.5\n", reading(t, 3)) })
    };
    let text = guess(&table("1,234.5"));
    assert!(text.starts_with("# To be filled in") && text.contains("remove the thousands separators"), "{text}");
    assert!(!text.contains("missing ="), "{text}");
    let (bounded, text) = settings(&table("<0.5"));
    assert_eq!(bounded.table.missing, ["<0.5"]);
    assert!(text.contains("# unsure: bounds of values (censoring) are not read"), "{text}");
}

/// Amounts that are given at once are no level that is held until the next.
#[test]
fn a_column_of_doses_is_no_held_level() {
    for name in ["dose", "Dose_mg", "bolus"] {
        let table = rows(&format!("time,{name},conc"), |t| {
            let dose = if t % 6 == 0 { "100" } else { "0" };
            format!("{t},{dose},{}\n", if t % 6 == 0 { 0 } else { reading(t, 3) })
        });
        let (dosed, text) = settings(&table);
        assert_eq!((columns(&dosed), dosed.events.len()), (vec!["conc"], 1), "{text}");
    }
    let (held, text) = settings(&rows("time,dose_rate,conc", |t| format!("{t},{},{}\n", t / 4, reading(t, 3))));
    assert_eq!((channel(&held, "dose_rate").role, held.events.len()), (import::Role::Input, 0), "{text}");
}

/// `SS` and `ADDL` repeat doses at an interval, and mean nothing without one.
#[test]
fn doses_without_an_interval_are_not_repeated() {
    let mut table = "ID,TIME,EVID,AMT,II,SS,ADDL,DV\n".to_owned();
    for id in 1..=3 {
        for t in 0..8 {
            let (interval, state) = if t == 0 { (24, 1) } else { (0, if t % 2 == 0 { 99 } else { 1 }) };
            table += &format!(
                "{id},{t},1,100,{interval},{state},{t},.\n{id},{t}.5,0,.,.,.,.,{}\n{id},{t}.7,0,.,.,.,.,1\n",
                reading(t, id)
            );
        }
    }
    let text = guess(&table);
    assert!(text.contains("\"SS\" of 3 rows means a steady state"), "{text}");
    assert!(!text.contains("\"ADDL\" of"), "{text}");
}
