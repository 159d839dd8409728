//! Training on trajectories with missing cells.

use std::path::Path;

use paramill::dataset::{Dataset, Manifest};
use paramill::schema::{Split, Trajectory};
use paramill::train::{Error, Scaling, Settings};

use super::common::write;
use super::model::{FOUR_PAIRS, Listener, files, generate, train, train_settings};
use super::{LONG, SHORT, train_heard};

/// Adam only, with many restarts.
fn settings() -> Settings {
    train_settings(
        &SHORT.replace("steps = 4", "steps = 0").replace("start = 0.5, decay = 0.9", "start = 0.9, decay = 1"),
    )
}

fn dataset(directory: &Path, like: &Manifest, splits: &[(Split, Vec<Trajectory>)]) -> Dataset {
    write(directory, like.clone(), splits);
    Dataset::open(directory).unwrap()
}

fn splits(dataset: &Dataset, mut change: impl FnMut(Split, usize, &mut Trajectory)) -> [(Split, Vec<Trajectory>); 2] {
    [Split::Train, Split::Validation].map(|split| {
        let mut rows = dataset.read(split).unwrap();
        rows.iter_mut().enumerate().for_each(|(row, trajectory)| change(split, row, trajectory));
        (split, rows)
    })
}

#[test]
fn missing_cells_count_for_nothing_and_no_rollout_starts_at_one() {
    let root = tempfile::tempdir().unwrap();
    let whole = generate(root.path(), FOUR_PAIRS);
    let holed = |value: f64| {
        splits(&whole, |_, _, trajectory| {
            let cells = trajectory.states.iter_mut().enumerate();
            cells.filter(|(cell, _)| cell % 4 == 3).for_each(|(_, cell)| *cell = value);
        })
    };
    let missing = dataset(&root.path().join("missing"), whole.manifest(), &holed(f64::NAN));
    let model = train(&settings(), &missing, &root.path().join("model")).unwrap();
    assert!(model.log.iter().all(|record| record.train.is_finite() && record.validation.is_some()), "{:?}", model.log);
    // The same values as data are another training.
    let wrong = dataset(&root.path().join("wrong"), whole.manifest(), &holed(0.0));
    let other = train(&settings(), &wrong, &root.path().join("other")).unwrap();
    assert!(other.log.iter().zip(&model.log).all(|(other, model)| other.train > model.train));
}

#[test]
fn a_trajectory_starts_at_its_first_complete_sample() {
    let root = tempfile::tempdir().unwrap();
    let whole = generate(root.path(), FOUR_PAIRS);
    let late = splits(&whole, |_, row, trajectory| trajectory.states[row % 2] = f64::NAN);
    let cut = splits(&whole, |_, _, trajectory| trajectory.start_at(1));
    let [late, cut] = [("late", late), ("cut", cut)].map(|(name, splits)| {
        let dataset = dataset(&root.path().join(name), whole.manifest(), &splits);
        let model = train(&settings(), &dataset, &root.path().join(format!("{name}-model"))).unwrap();
        (model.shared, model.contexts, model.log)
    });
    assert!(late == cut);
}

#[test]
fn trajectories_without_a_start_are_left_out_and_counted() {
    let root = tempfile::tempdir().unwrap();
    let whole = generate(root.path(), FOUR_PAIRS);
    let hide = |trajectory: &mut Trajectory| trajectory.states.iter_mut().step_by(2).for_each(|cell| *cell = f64::NAN);
    let without = splits(&whole, |split, row, trajectory| {
        if split == Split::Train && row % 2 == 1 || split == Split::Validation && row == 0 {
            hide(trajectory);
        }
    });
    let fewer = [
        (Split::Train, without[0].1.iter().step_by(2).cloned().collect()),
        (Split::Validation, without[1].1[1..].to_vec()),
    ];
    let train = |name: &str, splits: &[(Split, Vec<Trajectory>)]| {
        let dataset = dataset(&root.path().join(name), whole.manifest(), splits);
        let listener = Listener::default();
        let without_draws = train_settings(&SHORT.replace("start = 0.5", "start = 0"));
        let model = train_heard(&without_draws, &dataset, &root.path().join(format!("{name}-model")), &listener);
        model.map(|model| (model.contexts, listener.warnings()))
    };
    let (contexts, warnings) = train("without", &without).unwrap();
    assert!(warnings.contains("train split: 4 trajectories are left out"), "{warnings}");
    assert!(warnings.contains("validation split: 1 trajectories are left out"), "{warnings}");
    let (expected, quiet) = train("fewer", &fewer).unwrap();
    assert_eq!(quiet, "");
    assert_eq!(contexts, expected);

    let mut none = without;
    none[0].1[..2].iter_mut().for_each(hide);
    match train("none", &none) {
        Err(Error::NoStart { split: Split::Train, found, .. }) => assert_eq!(found.len(), 1),
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn scales_leave_missing_cells_out_and_a_constant_channel_alone() {
    let root = tempfile::tempdir().unwrap();
    let whole = generate(root.path(), FOUR_PAIRS);
    let standard = Settings { scaling: Scaling::Standard, ..settings() };
    let constant = 0.1 + 0.2;
    let holed = splits(&whole, |_, _, trajectory| {
        for (sample, state) in trajectory.states.chunks_exact_mut(2).enumerate() {
            state[1] = constant;
            if sample % 3 == 1 {
                state[0] = f64::NAN;
            }
        }
    });
    let seen: Vec<f64> = holed[0].1.iter().flat_map(|row| row.states.iter().step_by(2)).copied().collect();
    let seen: Vec<f64> = seen.into_iter().filter(|value| !value.is_nan()).collect();
    let mean = seen.iter().sum::<f64>() / seen.len() as f64;
    let deviation = (seen.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / seen.len() as f64).sqrt();
    let dataset = dataset(&root.path().join("holed"), whole.manifest(), &holed);
    let scales = train(&standard, &dataset, &root.path().join("model")).unwrap().manifest.scales;
    approx::assert_relative_eq!(scales[0].centre, mean, max_relative = 1e-12);
    approx::assert_relative_eq!(scales[0].scale, deviation, max_relative = 1e-12);
    assert_eq!((scales[1].centre, scales[1].scale), (constant, 1.0));
}

#[test]
fn read_from_disk_they_give_the_same() {
    let root = tempfile::tempdir().unwrap();
    let long = generate(root.path(), LONG);
    let holed = splits(&long, |split, row, trajectory| {
        trajectory.states[(row * 7) % 11] = f64::NAN;
        if split == Split::Train && row == 3 {
            trajectory.states.iter_mut().step_by(2).for_each(|cell| *cell = f64::NAN);
        }
    });
    let dataset = dataset(&root.path().join("holed"), long.manifest(), &holed);
    let models = [64, 1].map(|memory_budget_mib| {
        let settings = Settings { memory_budget_mib, steps: 2, validate_every: 1, ..settings() };
        let directory = root.path().join(memory_budget_mib.to_string());
        let model = train(&settings, &dataset, &directory).unwrap();
        assert!(!files(&directory).is_empty());
        (model.shared, model.contexts)
    });
    assert!(models[0] == models[1]);
}
