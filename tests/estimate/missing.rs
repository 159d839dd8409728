//! Estimation from trajectories with missing cells.

use paramill::estimate::Status;
use paramill::schema::{Split, Trajectory};

use super::{TRAINED, Trained, grid, resting, rows};

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
