//! Guesses of tables with several quantities in one column, with signals that drive a system, and with doses.

use std::fmt::Write;

use paramill::import::{Channel, Layout, Role, Shape};
use paramill::schema::Between;

use super::*;

/// A guess of a file with this content.
pub fn guess(content: &str) -> String {
    let archive = Archive::new().with("log.csv", content);
    let text = import::draft(&archive.root.path().join("archive/log.csv")).unwrap();
    text.replace(&archive.root.path().display().to_string(), "[root]")
}

/// The settings of a guess, which nothing is wrong with; and its text.
pub fn settings(content: &str) -> (Settings, String) {
    let archive = Archive::new().with("log.csv", content);
    let text = import::draft(&archive.root.path().join("archive/log.csv")).unwrap();
    let document: toml::Table = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let settings: Settings = document["import"].clone().try_into().unwrap();
    assert_eq!(import::check(&settings, Path::new("")), [], "{text}");
    (settings, text)
}

pub fn columns(settings: &Settings) -> Vec<&str> {
    settings.channels.iter().map(|channel| channel.column.as_str()).collect()
}

pub fn channel<'a>(settings: &'a Settings, name: &str) -> &'a Channel {
    settings.channels.iter().find(|channel| channel.name == name).unwrap()
}

/// Environment, channel and value of a long table.
fn long(settings: &Settings) -> (Vec<&str>, &str, &str) {
    let table = &settings.table;
    assert_eq!(table.layout, Layout::Long);
    let environment = table.environment.0.iter().map(String::as_str).collect();
    (environment, table.channel.as_deref().unwrap(), table.value.as_deref().unwrap())
}

/// Rows `prefix(t)` of twelve times.
pub fn rows(header: &str, row: impl Fn(usize) -> String) -> String {
    (0..12).fold(format!("{header}\n"), |table, t| table + &row(t))
}

pub fn reading(t: usize, step: usize) -> usize {
    t * t * step % 17 + step
}

#[test]
fn stacked_tables_of_many_exports() {
    let melted = rows("subject,time,variable,value", |t| {
        ["prey", "predator"].map(|name| format!("s,{t},{name},{}\n", reading(t, name.len()))).concat()
    });
    let (melted, _) = settings(&melted);
    assert_eq!((long(&melted), columns(&melted)), ((vec!["subject"], "variable", "value"), vec!["predator", "prey"]));

    let influx = "#group,false,false,true,true,false,false,true,true,true\n#default,_result,,,,,,,,\n\
                  ,result,table,_start,_stop,_time,_value,_field,_measurement,host\n";
    let tables = ["a,level", "a,flow", "b,level", "b,flow"].iter().enumerate();
    let influx = tables.fold(influx.to_owned(), |mut text, (table, of)| {
        let (host, field) = of.split_once(',').unwrap();
        for t in 0..12 {
            let day = "2024-01-01T00:00:00Z,2024-01-02T00:00:00Z,2024-01-01T00";
            let _ = writeln!(text, ",,{table},{day}:{t:02}:00Z,{},{field},plant,{host}", reading(t, table + 2));
        }
        text
    });
    let (influx, _) = settings(&influx);
    assert_eq!((long(&influx), columns(&influx)), ((vec!["host"], "_field", "_value"), vec!["flow", "level"]));
    assert_eq!(influx.table.time, "_time");

    // Numbers of rows are no ids, and codes name channels.
    let (coded, _) = settings(&rows("id,time,sensor,value", |t| {
        [1, 2].map(|sensor| format!("{},{t},{sensor},{}\n", 2 * t + sensor, reading(t, sensor))).concat()
    }));
    assert_eq!((long(&coded), columns(&coded)), ((vec![], "sensor", "value"), vec!["1", "2"]));
    assert_eq!(coded.channels[0].name, "sensor_1");
}

/// Of two columns that name things, the finer names channels, and what is left tells systems apart.
#[test]
fn sensors_and_quantities() {
    let crossed = |times: [usize; 4]| {
        rows("time,sensor,quantity,value", |t| {
            let all = ["s1,temperature", "s1,humidity", "s2,temperature", "s2,humidity"].iter().zip(times);
            all.map(|(names, shift)| format!("{}.{shift},{names},{}\n", t, reading(t, shift + 3))).collect()
        })
    };
    // Whether they are read together or one after the other.
    for table in [crossed([0; 4]), crossed([0, 1, 2, 3])] {
        let (crossed, text) = settings(&table);
        assert_eq!(long(&crossed), (vec!["sensor"], "quantity", "value"), "{text}");
        assert!(text.contains("# unsure: each \"sensor\" is taken for a system of its own"), "{text}");
    }
    let units = ["T1,temperature,degC", "T2,temperature,degC", "P1,pressure,bar"];
    let finer = rows("time,sensor,quantity,unit,value", |t| {
        units.iter().map(|of| format!("{t},{of},{}\n", reading(t, of.len()))).collect()
    });
    insta::assert_snapshot!("finer", guess(&finer));
    let (mixed, text) = settings(&finer.replace("3,T1,temperature,degC", "3,T1,temperature,K"));
    assert_eq!((long(&mixed).1, mixed.channels[1].unit.as_str()), ("sensor", "1"));
    assert!(text.contains("DIFFERENT UNITS"), "{text}");
}

/// Columns whose names say nothing: what their cells and the sizes of the values say is said to be unsure.
#[test]
fn columns_that_no_list_names() {
    let table = |name: &str, cells: [&str; 2], size: usize| {
        rows(&format!("time,{name},reading"), |t| {
            let row = |(k, cell): (usize, &&str)| format!("{t}.{k},{cell},{}\n", reading(t, 3) + k * size);
            cells.iter().enumerate().map(row).collect()
        })
    };
    for (cells, size) in [(["TI101", "PI101"], 1000), (["temperature", "flow"], 1)] {
        let (settings, text) = settings(&table("label", cells, size));
        assert_eq!(long(&settings), (vec![], "label", "reading"), "{text}");
        assert!(text.contains("# unsure: \"label\""), "{text}");
    }
    let (systems, text) = settings(&table("label", ["north", "south"], 1).replace(".1,", ".0,"));
    assert_eq!((&systems.table.environment, systems.table.layout), (&one("label"), Layout::Wide));
    assert!(text.contains("# unsure: \"label\""), "{text}");
    let (flagged, text) = settings(&rows("time,level,state", |t| {
        format!("{t},{},{}\n", reading(t, 3), if t % 3 == 0 { "open" } else { "shut" })
    }));
    assert_eq!(columns(&flagged), ["level"]);
    assert!(text.contains("# left out: \"state\" (\"open\", \"shut\"): if it tells systems apart"), "{text}");
    // Two measurements beside a name are no long table.
    let (wide, _) = settings(&rows("name,time,x,y", |t| {
        ["p", "q"].map(|name| format!("{name},{t},{},{}\n", reading(t, 3), reading(t, 5))).concat()
    }));
    assert_eq!((columns(&wide), &wide.table.environment), (vec!["x", "y"], &one("name")));
}

/// Tanks with a valve that is set now and then, and pumps whose speed nobody can tell to be set or measured.
fn driven(header: &str, valve: impl Fn(usize) -> String) -> String {
    let runs = ["a,1", "a,2", "b,1", "b,2"].iter().enumerate();
    runs.fold(format!("tank,run,time (s),{header}\n"), |mut table, (k, run)| {
        for t in 0..24 {
            let _ = writeln!(table, "{run},{t},{},{},{}", valve(t), reading(t, k + 2), 1000 + reading(t, k + 5));
        }
        table
    })
}

#[test]
fn signals_from_outside() {
    let stepped = |t: usize| [20, 60, 40][t / 8].to_string();
    insta::assert_snapshot!("driven", guess(&driven("valve (%),level (m),pump_speed (rpm)", stepped)));
    let role = |header: &str, valve: &dyn Fn(usize) -> String| {
        let (settings, text) = settings(&driven(header, valve));
        let first = &settings.channels[0];
        (first.role, first.between, text.contains("# role = \"input\""))
    };
    let moving = |t: usize| reading(t, 4).to_string();
    let (hold, linear) = (Some(Between::Hold), Some(Between::Linear));
    assert_eq!(role("heaterDuty,level,x", &moving), (Role::Input, linear, false));
    assert_eq!(role("temp_sp,level,x", &stepped), (Role::Input, hold, false));
    assert_eq!(role("heater1,level,x", &|t| (t % 2).to_string()), (Role::Input, hold, false));
    // Names or values alone are not enough, nor is the name of what is measured.
    assert_eq!(role("u,level,x", &moving), (Role::State, None, true));
    assert_eq!(role("prey,level,x", &stepped), (Role::State, None, true));
    assert_eq!(role("valve_temperature,level,x", &stepped), (Role::State, None, true));
    assert_eq!(role("level,flow,x", &moving), (Role::State, None, false));
    // Something must be left to learn.
    let (alone, text) = settings(&rows("time,valve", |t| format!("{t},{}\n", t / 4)));
    assert_eq!(alone.channels[0].role, Role::State);
    assert!(text.contains("# role = \"input\""), "{text}");
    // What is set anew for each run is no state; it may be an id.
    let (set, text) = settings(&rows("tank,run,time,stir,level", |t| {
        let of_run = |(tank, run): (&str, usize)| format!("{tank},{run},{t},{}00,{}\n", run, reading(t, run));
        [("a", 1), ("a", 2), ("b", 1), ("b", 3)].map(of_run).concat()
    }));
    assert_eq!(columns(&set), ["level"]);
    assert!(text.contains("# left out: \"stir\", the same within a trajectory: if it is a setting"), "{text}");
}

/// A log of changes, which ends long before the states do.
#[test]
fn signals_in_a_long_table() {
    let table = rows("time,tag,value", |t| {
        let command = if t == 0 || t == 2 { format!("{t},valve_cmd,{}\n", 10 + t) } else { String::new() };
        format!("{command}{t},level,{}\n", reading(t, 3))
    });
    let (settings, text) = settings(&table);
    let valve = channel(&settings, "valve_cmd");
    assert_eq!((valve.role, valve.between, valve.extend), (Role::Input, Some(Between::Hold), true), "{text}");
}

/// The names of a melted table say units.
#[test]
fn units_in_the_names_of_a_long_table() {
    let table =
        rows("time (s),variable,value", |t| format!("{t},level (m),{}\n{t},valve [%],{}\n", reading(t, 3), t / 4));
    let (settings, text) = settings(&table);
    let said = |name: &str| (channel(&settings, name).column.as_str(), channel(&settings, name).unit.as_str());
    assert_eq!((said("level"), said("valve")), (("level (m)", "m"), ("valve [%]", "%")), "{text}");
    assert_eq!(channel(&settings, "valve").role, Role::Input, "{text}");
}

/// Doses and readings of three people; `dose` and `reading` are the cells between the time and the weight.
fn doses(columns: &str, dose: impl Fn(usize) -> String, reading_cells: impl Fn(usize) -> String) -> String {
    (1..=3).fold(format!("ID,TIME,{columns},WT\n"), |mut table, id| {
        for t in 0..10 {
            if t % 5 == 0 {
                let _ = writeln!(table, "{id},{t},{},{}", dose(100 * id + t), 60 + id);
            }
            let _ = writeln!(table, "{id},{t}.5,{},{}", reading_cells(reading(t, id)), 60 + id);
        }
        table
    })
}

#[test]
fn rows_of_doses() {
    let table = doses("EVID,AMT,DV", |amount| format!("101,{amount},."), |value| format!("0,.,{value}"));
    insta::assert_snapshot!("doses", guess(&table));
    let (of_event, _) = settings(&table);
    let reference = read(&table);
    assert!(
        reference.contains("inputs: [100.0, 100.0, 100.0, 100.0, 100.0, 100.0, 205.0, 205.0, 205.0]"),
        "{reference}"
    );
    assert_eq!(of_event.events[0].shape, Shape::Cumulative);
    // However a table says that a row has no dose, or no reading.
    for table in [
        doses("AMT,DV", |amount| format!("{amount},."), |value| format!(".,{value}")),
        doses("AMT,DV", |amount| format!("{amount},"), |value| format!(",{value}")),
        doses("AMT,DV", |amount| format!("{amount},0"), |value| format!("0.0,{value}")),
        doses("MDV,AMT,DV", |amount| format!("1,{amount},0"), |value| format!("0,0,{value}")),
        doses("dose,DV", |amount| format!("{amount},NA"), |value| format!("0,{value}")),
    ] {
        assert_eq!(read(&table), reference, "{}", guess(&table));
    }
    // An amount that is measured, and a dose that an environment has, are none.
    let (measured, _) = settings(&rows("time,amt", |t| format!("{t},{}\n", reading(t, 3))));
    assert_eq!((columns(&measured), measured.events.len()), (vec!["amt"], 0));
    let (level, text) = settings(&doses("dose,DV", |_| "100,1".into(), |value| format!("100,{value}")));
    assert_eq!((columns(&level), level.events.len()), (vec!["DV"], 0), "{text}");
}

/// The trajectories of a guess, as text: there NaN equals NaN.
fn read(table: &str) -> String {
    let archive = Archive::new().with("log.csv", table);
    let text = import::draft(&archive.root.path().join("archive/log.csv")).unwrap();
    let archive = archive
        .change(|all| *all = toml::from_str::<toml::Table>(&text).unwrap()["import"].clone().try_into().unwrap());
    format!("{:?}", archive.import().1)
}

/// What changes only behind the rows that are kept is no constant.
#[test]
fn what_changes_late_is_a_channel() {
    let wide: String = (0..60).map(|c| format!(",c{c}")).collect();
    let constant = ",1".repeat(60);
    let table = (0..18_000).fold(format!("id,time,late,level{wide}\n"), |mut table, t| {
        let _ = writeln!(table, "a,{t},{},{}{constant}", t / 17_600 * (t % 3), t * t % 17);
        table
    });
    assert_eq!(columns(&settings(&table).0), ["late", "level"]);
}

/// Infusions, ways of giving, several quantities; and what import does not read of them, which is said.
#[test]
fn what_tables_say_of_doses() {
    let infused =
        doses("EVID,AMT,RATE,DV", |amount| format!("1,{amount},{},.", amount / 2), |value| format!("0,.,.,{value}"));
    let infused = infused
        .replace(",105,52,", ",105,52.5,")
        .replace(",205,102,", ",205,102.5,")
        .replace(",305,152,", ",305,152.5,");
    let (infusions, _) = settings(&infused);
    assert_eq!((infusions.events[0].shape, infusions.events[0].duration), (Shape::Pulse, Some(2.0)));
    let (uneven, text) = settings(&infused.replace(",105,52.5,", ",105,5,"));
    assert_eq!(uneven.events[0].shape, Shape::Cumulative);
    assert!(text.contains("of 2 different durations (2, 21): NOT READ"), "{text}");
    let fast = infused.replace(",100,50,", ",100,25,").replace(",105,52.5,", ",105,26.25,");
    let (_, text) = settings(&fast);
    assert!(text.contains("of 2 different durations (2, 4): NOT READ"), "{text}");

    let compartments = (1..=2).fold("ID,TIME,EVID,AMT,CMT,DV,MDV,CENS,ADDL,SS\n".to_owned(), |mut table, id| {
        for t in 0..10 {
            if t % 5 == 0 {
                let _ = writeln!(table, "{id},{t},{},100,{},.,1,0,{},{}", 1 + 3 * (t / 5), 1 + t / 5 * 2, t, t / 5);
            }
            for cmt in [2, 4] {
                let _ = writeln!(table, "{id},{t}.5,0,.,{cmt},{},0,{},.,.", reading(t, cmt), usize::from(t == 9));
            }
        }
        table + &format!("{id},9.7,2,.,.,.,1,0,.,.\n")
    });
    insta::assert_snapshot!("compartments", guess(&compartments));
    settings(&compartments);
    let (_, text) = settings(&doses("AMT,DV", |amount| format!("{amount},7"), |value| format!("0,{value}")));
    assert!(text.contains("# doses: 6 rows have a dose and a measurement: the measurement is NOT READ"), "{text}");
}

/// Two runs of two hosts, a sample every `step` seconds from `start` of each; a day lies between the runs.
fn records(header: &str, step: usize, time: impl Fn(usize) -> String) -> String {
    ["a", "b"].iter().fold(format!("host,{header}\n"), |mut table, host| {
        for (run, t) in (0..2).flat_map(|run| (0..40).map(move |t| (run, t))) {
            let _ = writeln!(table, "{host},{},{}", time(run * 86_400 + t * step), reading(t, run + 2));
        }
        table
    })
}

#[test]
fn times_of_records() {
    let stamp = |seconds: usize| {
        let [day, hour, minute, second] = [seconds / 86_400 + 1, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60];
        format!("2024-03-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    };
    for (step, unit) in [(30, "min"), (600, "h")] {
        let (stamped, text) = settings(&records("time,level", step, stamp));
        assert_eq!(stamped.time_unit, unit, "{text}");
        assert!(text.contains("time stamps are converted to it"), "{text}");
        let gap = stamped.table.split_gap.unwrap();
        let in_seconds = gap * if unit == "min" { 60.0 } else { 3600.0 };
        assert!((step as f64..86_400.0 - 40.0 * step as f64).contains(&in_seconds), "{text}");
        let read = read(&records("time,level", step, stamp));
        assert!(
            ["1.1", "1.2"].iter().all(|id| read.contains(&format!("{id:?}"))) && !read.contains("\"1.3\""),
            "{read}"
        );
    }
    let reference = read(&records("time,level", 30, stamp));
    for (unit, zeros) in [("s", 0), ("ms", 3), ("us", 6), ("ns", 9)] {
        let epoch = |seconds: usize| format!("{}{}", 1_709_251_200 + seconds, "0".repeat(zeros));
        let table = records("time,level", 30, epoch);
        let (counted, text) = settings(&table);
        assert_eq!((counted.table.time_column_unit.as_deref(), counted.time_unit.as_str()), (Some(unit), "min"));
        assert!(text.contains("the first is then 2024-03-01T00:00:00Z"), "{text}");
        let starts = |text: &str| text.matches("times: [0.0, 0.5, 1.0").count();
        assert_eq!([&reference, &read(&table)].map(|text| starts(text)), [2, 2], "{text}");
    }
    // Numbers from zero count as they did; uneven records are not cut.
    let (plain, text) = settings(&records("time,level", 30, |seconds| seconds.to_string()));
    assert_eq!((plain.time_unit.as_str(), plain.table.time_column_unit.as_deref()), ("s", None), "{text}");
    assert!(plain.table.split_gap.is_some() && plain.table.origin.is_none(), "{text}");
    let (uneven, text) = settings(&rows("time,level", |t| format!("{},{}\n", 2_usize.pow(t as u32), reading(t, 3))));
    assert!(uneven.table.split_gap.is_none() && text.contains("# split_gap"), "{text}");
    let (even, text) = settings(&rows("time,level", |t| format!("{t},{}\n", reading(t, 3))));
    assert!(even.table.split_gap.is_none() && !text.contains("split_gap"), "{text}");
}

#[test]
fn headers_in_german_and_without_a_unit() {
    let held = |t: usize| if t.is_multiple_of(8) { [20, 60, 40][t / 8].to_string() } else { String::new() };
    let (german, text) = settings(&driven("Ventil (-),Pegel [m],x", held));
    let valve = channel(&german, "ventil");
    assert_eq!((valve.unit.as_str(), valve.role), ("1", Role::Input), "{text}");
    let (_, text) = settings(&driven("Klappe [–],Pegel [m],x", held));
    assert!(text.contains("# role = \"input\"") && text.contains("unit = \"1\"    # as in the header"), "{text}");
}

#[test]
fn a_first_row_of_numbers_is_no_header() {
    let refused = |content: &str| {
        let archive = Archive::new().with("log.csv", content);
        import::draft(&archive.root.path().join("archive/log.csv")).unwrap_err()[0].to_string()
    };
    let rows = "0.0,1.5,2\n0.1,1.4,3\n0.2,1.2,5\n0.3,1.1,4\n";
    let said = refused(&format!("# time,x,y\n{rows}"));
    let part = "found no names of columns, for the first row holds numbers such as \"0.0\"; expected";
    assert!(said.contains(part) && said.contains("take the `#` away"), "{said}");
    assert!(refused(rows).contains(part));
}

#[test]
fn long_ids_that_doubles_do_not_tell_apart_are_ids_still() {
    let mut table = "id,time,x\n".to_owned();
    for id in 0..3_u64 {
        for t in 0..20 {
            writeln!(table, "{},{},{}", 10_u64.pow(18) + id, 20 * id + t, (id + t) % 7).unwrap();
        }
    }
    assert_eq!(settings(&table).0.table.environment.0, ["id"]);
}
