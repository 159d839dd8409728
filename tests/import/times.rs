//! Times of rows: time stamps, origins, gaps.

use super::*;

/// The tanks with their times as stamps `minutes` after midnight of a day on which clocks were changed.
fn stamped(stamp: impl Fn(f64) -> String) -> Archive {
    let table: Vec<String> = TANKS
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            let time = cells[2].parse().map_or("t".to_owned(), &stamp);
            [&cells[..2], &[time.as_str()], &cells[3..]].concat().join(",")
        })
        .collect();
    Archive::new().with("tanks.csv", table.join("\n")).change(|settings| settings.time_unit = "min".into())
}

#[test]
fn stamps_of_mixed_offsets_are_times_from_the_first_sample() {
    let plain = Archive::new().import().1;
    let seconds = |minutes: f64| (minutes * 60.0) as u32;
    let archive = stamped(|t| match t {
        t if t > 0.9 => format!("2021-03-28T02:{:02}:{:02}+02:00", seconds(t) / 60, seconds(t) % 60),
        t => format!("2021-03-28 00:{:02}:{:02}Z", seconds(t) / 60, seconds(t) % 60),
    });
    assert_eq!(archive.import().1, plain);
    let archive = stamped(|t| format!("28/03/2021 00:00:{:02}", (t * 10.0) as u32)).change(|settings| {
        settings.table.time_format = Some("%d/%m/%Y %H:%M:%S".into());
        settings.table.time_zone = Some("Europe/Berlin".into());
        settings.time_unit = "s".into();
    });
    assert_eq!(archive.import().1[0].1.times, [0.0, 3.0, 10.0]);
}

#[test]
fn bad_stamps() {
    let local = |hour: u32| stamped(move |t| format!("2021-10-31T{hour:02}:00:{:02}", (t * 10.0) as u32));
    insta::assert_snapshot!("no_zone", local(2).report());
    let berlin = |settings: &mut Settings| settings.table.time_zone = Some("Europe/Berlin".into());
    insta::assert_snapshot!("ambiguous_stamp", local(2).change(berlin).report());
    assert_eq!(local(4).change(berlin).check(), []);
    insta::assert_snapshot!("mixed_times", local(4).change(berlin).replace("2021-10-31T04:00:10", "1").report());
    insta::assert_snapshot!(
        "unreadable_stamp",
        local(4).change(berlin).replace("2021-10-31T04:00:10", "2021-14-31").report()
    );
    insta::assert_snapshot!(
        "stamps_without_unit",
        local(4).change(berlin).change(|s| s.time_unit = "m".into()).report()
    );
}

#[test]
fn time_may_start_at_the_first_sample() {
    let later = TANKS.replace(",0.0,", ",100.0,").replace(",0.3,", ",100.5,").replace("a,1,1.0", "a,1,101");
    let archive =
        Archive::new().with("tanks.csv", later).change(|settings| settings.table.origin = Some(import::Origin::First));
    assert_eq!(archive.import().1[0].1.times, [0.0, 0.5, 1.0]);
}

#[test]
fn trajectories_are_cut_at_gaps() {
    let archive =
        Archive::new().replace("a,1,1.0,2.5,0.3", "a,1,5,2.5,0.3\na,1,5.5,3,1\na,1,9,1,1").change(|settings| {
            settings.table.split_gap = Some(2.0);
        });
    let (_, trajectories, notes) = archive.import();
    let ids: Vec<_> = trajectories.iter().map(|(_, t)| format!("{}/{}", t.environment, t.trajectory)).collect();
    assert_eq!(ids, ["a/1.1", "a/1.2", "b/1", "a/2", "b/2", "c/1", "c/2"]);
    assert_eq!(trajectories[1].1.times, [5.0, 5.5]);
    insta::assert_snapshot!("notes_gaps", notes.join("\n"));
    let by_length =
        archive.change(|settings| (settings.table.split_gap, settings.table.split_length) = (None, Some(5.2)));
    let times: Vec<_> = by_length.import().1.into_iter().map(|(_, t)| t.times).collect();
    assert_eq!(times[..2], [vec![0.0, 0.3, 5.0], vec![5.5, 9.0]]);
    let nothing = Archive::new().change(|settings| settings.table.split_length = Some(0.1));
    insta::assert_snapshot!("length_too_short", nothing.report());
}

/// A cycler's clock, which goes on beyond 24 hours.
#[test]
fn elapsed_times_are_hours_minutes_and_seconds() {
    let elapsed = |times: [&'static str; 3]| {
        stamped(move |t| times[[0.0, 0.3, 1.0].iter().position(|&time| time >= t.min(1.0)).unwrap()].to_owned())
    };
    let expected = [1380.0, 1440.5, 1500.0];
    for (times, format) in [
        (["23:00:00", "24:00:30", "25:00:00"], None),
        (["23:00:00", "24:00:30", "25:00:00"], Some("%H:%M:%S")),
        (["0 days 23:00:00", "1 days 00:00:30.000", "1 days 01:00:00"], None),
        (["PT23H", "P1DT30S", "PT25H"], None),
        (["1380:00", "1440:30", "1500:00"], Some("%M:%S")),
    ] {
        let archive = elapsed(times).change(|settings| {
            settings.table.time_format = format.map(str::to_owned);
            settings.table.time_zone = format.map(|_| "UTC".into());
            settings.splits = toml::from_str("adapt = ['*']").unwrap();
        });
        assert_eq!(archive.import().1[0].1.times, expected, "{times:?}");
    }
    let all = |settings: &mut Settings| settings.splits = toml::from_str("adapt = ['*']").unwrap();
    // Two parts are hours and minutes, which is said.
    let (_, imported, notes) = elapsed(["23:00", "24:01", "25:00"]).change(all).import();
    assert_eq!(imported[0].1.times, [1380.0, 1441.0, 1500.0]);
    let note = "found \"23:00\"; expected hours, minutes and seconds; it is read as hours and minutes";
    assert!(notes.iter().any(|text| text.contains(note)), "{notes:?}");
    let log = (0..12).fold("Time,level\n".to_owned(), |log, t| log + &format!("{}:30:00,{}\n", 20 + t, t * t % 7));
    let guess = {
        let archive = Archive::new().with("log.csv", log);
        import::draft(&archive.root.path().join("archive/log.csv")).unwrap()
    };
    assert!(
        guess.contains("time_unit = \"h\"    # elapsed times are converted") && !guess.contains("time_zone"),
        "{guess}"
    );
    // A clock that passes midnight falls.
    let said = elapsed(["23:00:00", "23:59:30", "00:30:00"]).change(all).report();
    assert!(said.contains("where a clock passed midnight, write the date too"), "{said}");
    let sorted = elapsed(["23:00:00", "23:59:30", "00:30:00"]).change(all);
    let said = sorted.change(|settings| settings.table.disorder = Disorder::Sort).report();
    assert!(said.contains("where a clock passed midnight, write the date too"), "{said}");
    let said = elapsed(["23:00:00", "24:00:30", "25:00:00"]).change(all).change(|s| s.time_unit = "m".into()).report();
    assert!(said.contains("found elapsed times, and the unit \"m\""), "{said}");
    let of_day = elapsed(["11:00 AM", "11:30 AM", "01:00 PM"]).change(all).change(|settings| {
        settings.table.time_format = Some("%I:%M %p".into());
    });
    let said = of_day.report();
    assert!(said.contains("expected a date, or an elapsed time of %H, %M and %S alone"), "{said}");
    let said = elapsed(["23:00:00", "24:00:30", "1500"]).change(all).report();
    assert!(said.contains("all numbers, all elapsed times or all time stamps"), "{said}");
}

#[test]
fn a_missing_setting_is_one_line() {
    let row = |minute: usize| format!("2021-06-01 00:{:02}:00,{minute}\n", minute % 60);
    let table: String = (0..60).map(row).collect();
    let archive = |name: &str| format!("t,level\n{table}").replace(",5\n", if name == "a" { ",BQL\n" } else { ",5\n" });
    let archive = Archive::new()
        .with("a.csv", archive("a").replace(",7\n", ",BQL\n"))
        .with("b.csv", archive("b"))
        .change(|all| {
            let settings = "dataset = 'stamps'\ndirectory = 'archive'\ntime_unit = 's'\n\
                        table = { file = ['a.csv', 'b.csv'], time = 't' }\n\
                        channels = [{ column = 'level', name = 'level', unit = 'm' }]\nsplits.adapt = ['*']";
            *all = toml::from_str(settings).unwrap();
        });
    insta::assert_snapshot!("no_zone_of_many", archive.report());
}

#[test]
fn an_hour_that_the_clock_shows_twice_is_named() {
    let row = |minute: i32| format!("2021-10-31 {:02}:{:02}:00,{minute}\n", minute / 60, minute % 60);
    let [first, second]: [Vec<String>; 2] =
        [(0, 180), (120, 300)].map(|(from, to)| (from..to).step_by(20).map(row).collect());
    let zone = |zone: &'static str| {
        move |all: &mut Settings| {
            let settings = "dataset = 'stamps'\ndirectory = 'archive'\ntime_unit = 's'\n\
                            table = { file = 'a.csv', time = 't', time_zone = 'UTC' }\n\
                            channels = [{ column = 'level', name = 'level', unit = 'm' }]\nsplits.adapt = ['*']";
            *all = toml::from_str(settings).unwrap();
            all.table.time_zone = Some(zone.to_owned());
        }
    };
    let table = format!("t,level\n{}{}", first.concat(), second.concat().replace(":00,1", ":00,9"));
    let archive = Archive::new().with("a.csv", &table).change(zone("UTC"));
    insta::assert_snapshot!("set_back_as_errors", archive.report());
    let archive = archive.change(|settings| {
        (settings.table.disorder, settings.table.duplicates) = (Disorder::Sort, Duplicates::Mean);
    });
    let notes = archive.import().2;
    insta::assert_snapshot!("notes_set_back", notes.join("\n"));
    // Rows that stand twice say the same, and are no hour.
    let twice =
        Archive::new().with("a.csv", format!("t,level\n{}{}", first.concat(), first.concat())).change(zone("UTC"));
    let notes = twice
        .change(|settings| {
            (settings.table.disorder, settings.table.duplicates) = (Disorder::Sort, Duplicates::Mean);
        })
        .import()
        .2;
    assert!(!notes.iter().any(|note| note.contains("set back")), "{notes:?}");
}
