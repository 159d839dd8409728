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
