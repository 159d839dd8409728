//! Estimation from trajectories with missing cells.

use paramill::estimate::{InitialState, Settings, Status};
use paramill::schema::{Split, Trajectory};

use super::{TRAINED, Trained, estimate_with, grid, resting, rows};

/// The trajectory with every third cell missing but for the first sample.
fn holed(trajectory: &Trajectory) -> Trajectory {
    let mut holed = trajectory.clone();
    let cells = holed.states.iter_mut().enumerate().skip(2);
    cells.filter(|(cell, _)| cell % 3 == 1).for_each(|(_, value)| *value = f64::NAN);
    holed
}

#[test]
fn parameters_are_recovered_from_what_is_there() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let some = dataset.read(Split::Grid).unwrap().iter().map(holed).collect();
    let from_some = rows(&grid(root.path(), "some", dataset.manifest(), some), model, Split::Grid);
    for (some, whole) in from_some.iter().zip(&rows(dataset, model, Split::Grid)) {
        assert_eq!((some.status.is_failure(), some.points), (false, 26), "{}", some.reason);
        if some.in_hull == Some(true) {
            assert!(some.parameter_mape().unwrap() < 4.0, "{:?}", some.parameters);
            assert!(some.trajectory_rmse < 0.05 && some.trajectory_mape.is_finite(), "{}", some.trajectory_rmse);
            assert!(some.context != whole.context);
        }
    }
}

#[test]
fn environments_with_too_little_say_so_and_change_no_other_row() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let mut all: Vec<Trajectory> = dataset.read(Split::Grid).unwrap().iter().map(holed).collect();
    let alone = rows(&grid(root.path(), "alone", dataset.manifest(), all.clone()), model, Split::Grid);

    all.push(resting("0 never observed", 20, [f64::NAN; 2]));
    let mut never_complete = resting("a never complete", 20, [1.0, 2.0]);
    never_complete.states.iter_mut().step_by(2).for_each(|cell| *cell = f64::NAN);
    let mut last_complete = never_complete.clone();
    last_complete.environment = "b last complete".to_owned();
    *last_complete.states.iter_mut().rev().nth(1).unwrap() = 1.0;
    let mut one_value = resting("c one value", 2, [1.0, 2.0]);
    one_value.states[3] = f64::NAN;
    let late = {
        // The first trajectory of the grid with a first sample that is not complete, and the same without that sample.
        let mut row = dataset.read(Split::Grid).unwrap().remove(12);
        row.states[1] = f64::NAN;
        let mut cut = row.clone();
        cut.start_at(1);
        [("d late", row), ("e cut", cut)].map(|(id, row)| Trajectory { environment: id.to_owned(), ..row })
    };
    all.extend([never_complete, last_complete, one_value].into_iter().chain(late));
    let found = rows(&grid(root.path(), "with", dataset.manifest(), all), model, Split::Grid);
    assert!(alone.iter().all(|row| found.contains(row)));
    for row in &found[..3] {
        assert_eq!((row.status, row.points), (Status::NoData, 0));
        assert!(row.reason.contains("no observed value follows a complete sample"), "{}", row.reason);
        assert!(row.parameters.iter().all(|it| it.value.is_nan()) && row.context.iter().all(|xi| xi.is_nan()));
    }
    assert_eq!((found[3].status, found[3].points), (Status::TooFewPoints, 1));
    assert_eq!(found[3].reason, "1 observed values for 2 context dimensions");
    assert!(found[4].context == found[5].context && found[4].status == Status::Ok);
}

#[test]
fn environments_of_one_sample_or_none_say_so_and_change_no_other_row() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let good: Vec<Trajectory> = dataset.read(Split::Grid).unwrap().into_iter().take(4).collect();
    let mut all = good.clone();
    let mut half = resting("2 half", 1, [1.0, 2.0]);
    half.states[0] = f64::NAN;
    all.extend([resting("0 none", 0, [1.0; 2]), resting("1 one", 1, [1.0, 2.0]), half]);
    all.push(resting("3 unobserved", 1, [f64::NAN; 2]));
    // A good environment with two more trajectories, of one sample and of none.
    all.extend([1, 0].map(|count| {
        let more = resting(&good[0].environment, count, [1.0, 2.0]);
        Trajectory { trajectory: format!("more {count}"), parameters: good[0].parameters.clone(), ..more }
    }));
    for initial_state in [InitialState::Observed, InitialState::Estimated] {
        let settings = Settings { initial_state: Some(initial_state), ..Settings::default() };
        let of = |name: &str, trajectories: Vec<Trajectory>| {
            let dataset = grid(root.path(), name, dataset.manifest(), trajectories);
            estimate_with(
                &settings,
                &dataset,
                model,
                &root.path().join(format!("{name} {initial_state:?}")),
                Split::Grid,
            )
        };
        let (alone, found) = (of("alone", good.clone()), of("with", all.clone()));
        let statuses: Vec<Status> = found[..4].iter().map(|row| row.status).collect();
        assert_eq!(statuses, [Status::NoData, Status::TooFewPoints, Status::TooFewPoints, Status::NoData]);
        assert!(found[..4].iter().all(|row| !row.reason.is_empty() && row.context.iter().all(|xi| xi.is_nan())));
        assert_eq!(found[5..], alone[1..]);
        let (with, without) = (&found[4], &alone[0]);
        for (with, without) in with.parameters.iter().zip(&without.parameters) {
            approx::assert_relative_eq!(with.value, without.value, max_relative = 1e-4);
        }
    }
}
