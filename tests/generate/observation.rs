//! Datasets as sensors would have made them.

use paramill::dataset::{self, Dataset};
use paramill::generate::Observation;
use paramill::schema::Split;

use super::{SETTINGS, generate, settings, simulate, with_threads};

const OBSERVATION: &str = r#"
    [observation]
    noise = 0.01
    relative_noise = { x = 0.05 }
    missing = 0.2
    missing_cells = { y = 0.3 }
    irregular_times = 0.2
    jitter = 0.1
"#;

#[test]
fn some_splits_are_observed_and_the_others_hold_the_truth() {
    let observed = settings(&format!("{SETTINGS}{OBSERVATION}"));
    let (truth, found) = (simulate(&settings(SETTINGS), 3), simulate(&observed, 3));
    assert_eq!(truth[&Split::Test], found[&Split::Test]);
    for split in [Split::Train, Split::Adapt, Split::Grid] {
        assert_eq!(truth[&split].len(), found[&split].len());
        let mut samples = 0;
        for (truth, found) in truth[&split].iter().zip(&found[&split]) {
            assert_eq!((truth.key(), &truth.parameters), (found.key(), &found.parameters));
            assert!(found.times.windows(2).all(|pair| pair[0] < pair[1]));
            assert_eq!(found.times[0], 0.0);
            let off = truth.state(0).iter().zip(found.state(0)).map(|(truth, found)| (truth - found).abs());
            assert!(
                off.clone().all(|off| off > 0.0 && off < 1.0),
                "{split}: the first sample is the noisy initial state"
            );
            samples += found.times.len();
        }
        assert!(samples < truth[&split].len() * 20, "{split}");
    }
    let mut all = observed.clone();
    all.observation.as_mut().unwrap().splits = Split::ALL.to_vec();
    assert_ne!(truth[&Split::Test], simulate(&all, 3)[&Split::Test]);
}

/// Noise that is asked for in what is estimated is in what calibrates too.
#[test]
fn what_calibrates_is_observed_as_what_is_estimated() {
    let with = "[splits.calibrate]\nenvironments = \"adapt\"\ntrajectories = 1\n";
    let observed = |splits: &str| {
        let text = format!("{SETTINGS}{with}[observation]\nnoise = 0.01\nsplits = {splits}");
        simulate(&settings(&text), 3).remove(&Split::Calibrate).unwrap()
    };
    let (truth, noisy) = (observed("[\"train\"]"), observed("[\"grid\"]"));
    let is_moved = truth.iter().zip(&noisy).all(|(truth, noisy)| truth.states != noisy.states);
    assert!(is_moved && truth.iter().all(|it| it.environment.starts_with("calibrate-")));
}

#[test]
fn one_kind_of_observation_does_not_change_the_draws_of_another() {
    let with = |change: &dyn Fn(&mut Observation)| {
        let mut settings = settings(&format!("{SETTINGS}[observation]\nnoise = 0.01"));
        change(settings.observation.as_mut().unwrap());
        simulate(&settings, 4)
    };
    let noisy = with(&|_| {});
    let with_gaps = with(&|observation| observation.missing = 0.3);
    let jittered = with(&|observation| observation.jitter = 0.3);
    for split in [Split::Train, Split::Grid] {
        for ((all, some), moved) in noisy[&split].iter().zip(&with_gaps[&split]).zip(&jittered[&split]) {
            assert_eq!(all.states, moved.states);
            assert_ne!(all.times, moved.times);
            for (sample, time) in some.times.iter().enumerate() {
                let place = all.times.iter().position(|other| other == time).unwrap();
                assert_eq!(some.state(sample), all.state(place));
            }
        }
    }
}

#[test]
fn an_observed_dataset_is_whole_and_the_same_on_any_number_of_threads() {
    let place = tempfile::tempdir().unwrap();
    let mut observed = settings(&format!("{SETTINGS}{OBSERVATION}"));
    observed.observation.as_mut().unwrap().dropped = vec!["y".to_owned()];
    let manifests =
        [1, 3].map(|threads| with_threads(threads, || generate(&observed, 3, &place.path().join(threads.to_string()))));
    assert_eq!(manifests[0], manifests[1]);
    let directory = place.path().join("1");
    assert_eq!(dataset::verify(&directory), Vec::<String>::new());
    let names: Vec<_> = manifests[0].channels.iter().map(|channel| channel.name.as_str()).collect();
    assert_eq!(names, ["x"]);
    assert_eq!(manifests[0].provenance.configuration["observation"]["missing"], 0.2);
    let truth = simulate(&settings(SETTINGS), 3);
    let test = Dataset::open(&directory).unwrap().read(Split::Test).unwrap();
    for (truth, found) in truth[&Split::Test].iter().zip(&test) {
        assert_eq!(truth.states.iter().step_by(2).copied().collect::<Vec<_>>(), found.states);
    }
}

#[test]
fn cells_are_missing_in_the_observed_splits_and_nowhere_else() {
    let place = tempfile::tempdir().unwrap();
    let with_cells = settings(&format!("{SETTINGS}[observation]\nmissing_cells = {{ y = 0.3 }}"));
    let directory = place.path().join("set");
    let manifest = generate(&with_cells, 3, &directory);
    assert_eq!(dataset::verify(&directory), Vec::<String>::new());
    let truth = simulate(&settings(SETTINGS), 3);
    let dataset = Dataset::open(&directory).unwrap();
    for (split, truth) in &truth {
        let found = dataset.read(*split).unwrap();
        assert_eq!(manifest.splits[split].missing > 0, *split != Split::Test);
        for (found, truth) in found.iter().zip(truth) {
            assert!(found.times == truth.times && found.is_complete(0));
            let pairs = || found.states.iter().zip(&truth.states);
            assert!(pairs().all(|(found, truth)| found.is_nan() || found == truth));
            assert!(pairs().step_by(2).all(|(found, _)| !found.is_nan()), "no x is missing");
        }
    }
}

#[test]
fn everything_wrong_with_an_observation_is_said_at_once() {
    let broken = format!(
        "{SETTINGS}{}",
        r#"
        [observation]
        noise = { z = 0.1, x = -1.0 }
        relative_noise = inf
        missing = 1.5
        missing_cells = { y = 1.5, w = 0.1 }
        irregular_times = 0.4
        jitter = 0.3
        dropped = ["x", "x", "y", "xx"]
        "#
    );
    let lines: Vec<String> = settings(&broken).validate().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!("wrong_observation", lines.join("\n"));
}
