//! Trajectories of a single sample, or of none.

use super::*;

/// What was imported, as environment, trajectory and number of samples.
fn lengths(trajectories: &[(Split, Trajectory)]) -> Vec<(Split, String, usize)> {
    let one = |(split, it): &(Split, Trajectory)| (*split, format!("{}/{}", it.environment, it.trajectory), it.len());
    trajectories.iter().map(one).collect()
}

#[test]
fn what_is_only_estimated_may_be_short() {
    let table = TANKS.replace("c,1,1,2,9\n", "").replace("c,2,0.5,6,9\n", "").replace("c,2,0,5,9", "c,2,0,,");
    let archive =
        Archive::new().with("tanks.csv", table).change(|settings| settings.splits.adapt_test = Default::default());
    let (manifest, trajectories, notes) = archive.import();
    let adapt: Vec<_> = trajectories.iter().filter(|(split, _)| *split == Split::Adapt).cloned().collect();
    assert_eq!(lengths(&adapt), [(Split::Adapt, "c/1".into(), 1), (Split::Adapt, "c/2".into(), 1)]);
    assert!(adapt[1].1.states.iter().all(|value| value.is_nan()));
    assert_eq!((manifest.splits[&Split::Adapt].shortest, manifest.splits[&Split::Adapt].longest), (1, 1));
    let said: Vec<&String> = notes.iter().filter(|note| note.contains("no environment can be estimated")).collect();
    assert!(
        said.len() == 1 && said[0].contains("2 trajectories of one sample or none: `1 of c`, `2 of c`"),
        "{notes:?}"
    );
}

#[test]
fn what_trains_is_left_out_with_a_warning_that_names_it() {
    // All of `b` is too short, and one of the two of `a`.
    let table = TANKS.replace("b,1,1,2,0\n", "").replace("b,2,0.5,6,0\n", "").replace("a,2,2,3,1\n", "");
    let archive = Archive::new().with("tanks.csv", table + "a,3,0,1,1\na,3,1,2,2\n").change(|settings| {
        settings.splits.validation.trajectories = vec!["3".into()];
    });
    let (_, trajectories, notes) = archive.import();
    let training: Vec<_> = lengths(&trajectories).into_iter().filter(|it| it.0 <= Split::Test).collect();
    assert_eq!(training, [(Split::Train, "a/1".into(), 3), (Split::Validation, "a/3".into(), 2)]);
    let warnings: Vec<_> = notes.iter().filter(|note| note.contains("left out of training")).collect();
    assert_eq!(warnings.len(), 1, "{notes:?}");
    assert!(
        warnings[0].contains(
            "[root]/archive/tanks.csv:5: found 3 trajectories of one sample or none: `2 of a`, `1 of b`, `2 of b`"
        ),
        "{warnings:?}"
    );

    let nothing =
        TANKS.lines().filter(|line| !line.starts_with(['a', 'b']) || line.contains(",0,") || line.contains(",0.0,"));
    let nothing = Archive::new().with("tanks.csv", nothing.collect::<Vec<_>>().join("\n"));
    insta::assert_snapshot!("nothing_to_train_on", nothing.report());
}

#[test]
fn an_environment_of_events_alone_is_known() {
    let archive = |order: &[usize]| {
        let rows = ["a,0,1,.,0", "a,1,2,.,0", "b,0,.,200,1", "c,0,.,200,1", "c,1,3,.,0", "c,2,3,.,0"];
        let table: Vec<&str> = order.iter().map(|&row| rows[row]).collect();
        let settings = "dataset = 'tanks'\ndirectory = 'archive'\ntime_unit = 's'\n\
            table = { file = 'tanks.csv', environment = 'id', time = 't', rows.EVID = 0 }\n\
            channels = [{ column = 'level', name = 'level', unit = 'm' }]\nsplits.adapt = ['*']\n\
            [[events]]\nname = 'dose'\nunit = 'mg'\nshape = 'cumulative'\ncolumn = 'amount'\nrows.EVID = 1\n";
        Archive::new()
            .with("tanks.csv", format!("id,t,level,amount,EVID\n{}\n", table.join("\n")))
            .change(|all| *all = toml::from_str(settings).unwrap())
    };
    let (_, trajectories, _) = archive(&[0, 1, 2, 3, 4, 5]).import();
    let expected = [("a/1", 2), ("b/1", 0), ("c/1", 3)].map(|(id, count)| (Split::Adapt, id.to_owned(), count));
    assert_eq!(lengths(&trajectories), expected);
    let again = archive(&[2, 3, 4, 0, 5, 1]).import().1;
    assert_eq!(format!("{again:?}"), format!("{trajectories:?}")); // NaN is equal to nothing, but reads alike
}

/// Equal rows count as often as they stand there, wherever that is.
#[test]
fn equal_rows_are_merged_by_their_number() {
    let rows = ["a,1,0,1,1", "a,1,0,4,1", "a,1,0,1,1", "a,1,0,1,1", "a,1,2,3,1", "a,1,2,3,1"];
    let merged = |order: &[usize]| {
        let table: Vec<&str> = order.iter().map(|&row| rows[row]).collect();
        let archive = Archive::new().with("tanks.csv", format!("tank,run,t,level,flow\n{}\n", table.join("\n")));
        let archive = archive.without_side_table().change(|settings| {
            settings.splits = toml::from_str("adapt = ['*']").unwrap();
            (settings.table.duplicates, settings.table.disorder) = (Duplicates::Mean, Disorder::Sort);
        });
        let (manifest, trajectories, _) = archive.import();
        let merged = manifest.import_report.iter().find(|it| it.done == "merged").unwrap().count;
        (trajectories[0].1.states.clone(), merged)
    };
    // Values of two channels that give way to those of other rows: three rows of four, and one of two.
    assert_eq!(merged(&[0, 1, 2, 3, 4, 5]), (vec![1.75, 1.0, 3.0, 1.0], 8));
    assert_eq!(merged(&[0, 2, 3, 1, 4, 5]), merged(&[4, 3, 1, 5, 2, 0]));
    let twice = Archive::new().replace("a,1,0.3,1.5,0.4", "a,1,0.3,1.5,0.4\na,1,0.3,1.5,0.4\na,1,0.3,1.5,0.4");
    let found = twice.check();
    assert_eq!(found.len(), 2, "one a channel: {found:?}");
    assert!(found.iter().all(|it| it.place.line() == Some(4) && it.found.contains("after line 3")), "{found:?}");
}
