//! Training: resumed, damaged, diverging, streamed, refused.

#[path = "common/dataset.rs"]
mod common;
#[path = "train/around.rs"]
mod around;
#[path = "train/channels.rs"]
mod channels;
#[path = "train/checkpoints.rs"]
mod checkpoints;
#[path = "train/denominator.rs"]
mod denominator;
#[path = "train/dimension.rs"]
mod dimension;
#[path = "train/inference.rs"]
mod inference;
#[path = "train/missing.rs"]
mod missing;
#[path = "common/model.rs"]
mod model;
#[path = "train/tensorboard.rs"]
mod tensorboard;
#[path = "train/warm_start.rs"]
mod warm_start;

use std::fs;
use std::path::{Path, PathBuf};

use approx::assert_relative_eq;
use common::{manifest, shared_grid, write};
use model::{FOUR_PAIRS, Listener, NATIVE, TORCH, files, generate, silently, train, train_settings};
use paramill::checkpoint::{StopReason, StoredModel, TrainingState, TrainingStore};
use paramill::dataset::Dataset;
use paramill::schema::{Split, StateShape};
use paramill::train::{ContextDimension, Contexts, Error, Settings};

/// Twelve steps of Adam and four of Gauss-Newton; checkpoints fall between looks at the validation split.
const SHORT: &str = r#"
    model = { kind = "mlp", layers = 3, width = 8 }
    steps = 12
    learning_rate = 0.01
    validate_every = 2
    checkpoint_every = 5
    teacher_forcing = { start = 0.5, decay = 0.9, every = 4 }
    trajectories_per_environment = 1
    gauss_newton = { steps = 4 }
"#;

fn train_heard(
    settings: &Settings,
    dataset: &Dataset,
    directory: &Path,
    listener: &Listener,
) -> Result<StoredModel, Error> {
    paramill::train::run(settings, 1, NATIVE, dataset, directory, &listener.run())
}

/// Trains until `step` is done; the training is unfinished afterwards. Returns where its checkpoint is.
fn train_until(settings: &Settings, dataset: &Dataset, directory: &Path, step: u64) -> PathBuf {
    let listener = match step.checked_sub(settings.steps) {
        None | Some(0) => Listener::stopping_at("train", step),
        Some(of_gauss_newton) => Listener::stopping_at("gauss-newton", of_gauss_newton),
    };
    match train_heard(settings, dataset, directory, &listener) {
        Err(Error::Interrupted { signal: 2, step: at, checkpoint }) if at == step => checkpoint,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the training went on to its end"),
    }
}

#[test]
fn an_interrupted_training_gives_the_same_model_in_both_phases() {
    let root = tempfile::tempdir().unwrap();
    let (dataset, settings) = (generate(root.path(), FOUR_PAIRS), train_settings(SHORT));
    let (whole, resumed) = (root.path().join("whole/model"), root.path().join("resumed/model"));
    let model = train(&settings, &dataset, &whole).unwrap();
    assert_eq!(model.manifest.training.steps, 16);
    assert!(model.log.windows(2).all(|pair| pair[0].train != pair[1].train), "{:?}", model.log);
    for step in [2, 6, 12, 13, 15] {
        train_until(&settings, &dataset, &resumed, step);
        assert!(!resumed.exists(), "nothing is in place before the end");
    }
    train(&settings, &dataset, &resumed).unwrap();
    assert!(files(&whole) == files(&resumed), "manifest, weights or losses differ");
    let left: Vec<_> = fs::read_dir(resumed.parent().unwrap()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["model"], "the checkpoints are gone");
}

/// Gauss-Newton alone, in both spaces: segments of one interval, then longer ones, then whole trajectories.
#[test]
fn a_training_without_adam_grows_its_segments_and_resumes_in_any_of_them() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    for method in ["weights", "residuals", "conjugate-gradients"] {
        let settings = train_settings(&format!(
            r#"
            model = {{ kind = "mlp", layers = 2, width = 8 }}
            schedule = "cosine"
            steps = 0
            checkpoint_every = 4
            gauss_newton = {{ steps = 14, method = "{method}", segment_steps = 3, context_penalty = 1e-6, inner_tolerance = 1e-9 }}
            "#
        ));
        let [whole, resumed] = ["whole", "resumed"].map(|it| root.path().join(method).join(it).join("model"));
        let listener = Listener::default();
        let model = train_heard(&settings, &dataset, &whole, &listener).unwrap();
        let chosen = format!("by the method {method}, as train.gauss_newton.method says");
        assert!(listener.notes().contains(&chosen), "{}", listener.notes());
        assert_eq!(model.manifest.training.steps, 14);
        let last = model.log.last().unwrap();
        assert!(last.train < 0.1 * model.log[0].train.max(1.0) && last.validation.unwrap() < 1e-2, "{:?}", model.log);
        assert!(model.log.iter().all(|record| record.learning_rate.is_finite()), "{:?}", model.log);
        for step in [2, 5, 9, 13] {
            train_until(&settings, &dataset, &resumed, step);
        }
        train(&settings, &dataset, &resumed).unwrap();
        assert!(files(&whole) == files(&resumed), "{method}: manifest, weights or losses differ");
    }
    let settings = train_settings("steps = 0");
    let refused = train(&settings, &dataset, &root.path().join("none/model")).err().expect("no step is asked for");
    assert!(matches!(*refused, Error::NoSteps), "{refused}");
}

#[test]
fn a_damaged_checkpoint_is_not_used_and_the_one_before_is() {
    let root = tempfile::tempdir().unwrap();
    let (dataset, settings) = (generate(root.path(), FOUR_PAIRS), train_settings(SHORT));
    let whole = root.path().join("whole/model");
    train(&settings, &dataset, &whole).unwrap();
    let half = |bytes: &[u8]| bytes[..bytes.len() / 2].to_vec();
    let edited = |bytes: &[u8]| {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        assert!(text.contains("\"step\": 8,"), "{text}");
        text.replacen("\"step\": 8,", "\"step\": 11,", 1).into_bytes()
    };
    type Damage<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;
    let cases: [(&str, Damage); 4] =
        [("state.safetensors", &half), ("state.json", &half), ("state.json", &edited), ("SHA256SUMS", &half)];
    for (case, (file, damaged)) in cases.into_iter().enumerate() {
        let directory = root.path().join(format!("damaged-{case}/model"));
        let newest = train_until(&settings, &dataset, &directory, 8);
        let file = newest.join(file);
        let bytes = fs::read(&file).unwrap();
        fs::write(&file, damaged(&bytes)).unwrap();
        let listener = Listener::default();
        train_heard(&settings, &dataset, &directory, &listener).unwrap();
        let warnings = listener.warnings();
        assert!(
            warnings.contains("a checkpoint is not used") && warnings.contains(file.to_str().unwrap()),
            "{warnings}"
        );
        // Step 5 lies between two looks: the mean loss of the next record spans the gap.
        assert!(listener.notes().contains("going on from the checkpoint at step 5"), "{}", listener.notes());
        assert!(files(&whole) == files(&directory), "manifest, weights or losses differ");
    }
}

#[test]
fn a_training_whose_checkpoints_are_all_damaged_does_not_start_again_unasked() {
    let root = tempfile::tempdir().unwrap();
    let (dataset, settings) = (generate(root.path(), FOUR_PAIRS), train_settings(SHORT));
    let directory = root.path().join("model");
    let newest = train_until(&settings, &dataset, &directory, 8);
    let training = newest.parent().unwrap();
    let checkpoints: Vec<_> = fs::read_dir(training).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(checkpoints.len() > 1);
    for checkpoint in &checkpoints {
        fs::write(checkpoint.join("state.safetensors"), "").unwrap();
    }
    let listener = Listener::default();
    let refused = train_heard(&settings, &dataset, &directory, &listener).err().expect("no checkpoint is sound");
    let text = refused.to_string();
    assert!(text.contains(training.to_str().unwrap()) && text.contains("remove the directory"), "{text}");
    assert_eq!(paramill::pipeline::Error::from(refused).exit_code(), 3);
    assert_eq!(listener.warnings().matches("a checkpoint is not used").count(), checkpoints.len());
    assert!(checkpoints.iter().all(|checkpoint| checkpoint.exists()));
    fs::remove_dir_all(training).unwrap();
    train(&settings, &dataset, &directory).unwrap();
}

/// Any bit of any file of a checkpoint, and the place where it stands.
#[test]
fn any_flipped_bit_of_a_checkpoint_is_found() {
    let root = tempfile::tempdir().unwrap();
    let (dataset, settings) = (generate(root.path(), FOUR_PAIRS), train_settings(SHORT));
    let directory = root.path().join("model");
    let checkpoint = train_until(&settings, &dataset, &directory, 4);
    let training = checkpoint.parent().unwrap();
    let store = TrainingStore::new(&directory, training.file_name().unwrap().to_str().unwrap());
    let size = load(&store, &dataset).trained.len();
    let is_found = |place: String| match store.load(size).unwrap() {
        (None, broken) if broken.len() == 1 => {}
        (state, broken) => panic!("{place}: {broken:?}, {:?}", state.map(|state| state.step)),
    };
    let all = files(&checkpoint);
    assert_eq!(all.len(), 3);
    for (name, bytes) in all {
        let path = checkpoint.join(name);
        for place in (0..bytes.len()).step_by(bytes.len().div_ceil(50)) {
            let mut flipped = bytes.clone();
            flipped[place] ^= 1 << (place % 8);
            fs::write(&path, flipped).unwrap();
            is_found(format!("{}, byte {place}", path.display()));
        }
        fs::write(&path, bytes).unwrap();
    }
    fs::rename(&checkpoint, training.join("step-000000009")).unwrap();
    is_found("another name".to_owned());
}

#[test]
fn other_settings_do_not_go_on_from_a_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    let (dataset, settings) = (generate(root.path(), FOUR_PAIRS), train_settings(SHORT));
    let directory = root.path().join("model");
    let checkpoint = train_until(&settings, &dataset, &directory, 6);
    let listener = Listener::default();
    train_heard(&Settings { learning_rate: 0.02, ..settings }, &dataset, &directory, &listener).unwrap();
    assert!(!listener.notes().contains("going on"), "{}", listener.notes());
    assert!(checkpoint.exists(), "the other training's checkpoint is not ours to remove");
}

#[test]
fn a_diverging_training_keeps_the_last_good_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let settings = train_settings(
        r#"
        model = { kind = "mlp", layers = 3, width = 8 }
        steps = 200
        learning_rate = 0.5
        checkpoint_every = 1
        teacher_forcing = { start = 0, decay = 1, every = 1 }
        "#,
    );
    let directory = root.path().join("model");
    let diverged = |settings: &Settings| match train(settings, &dataset, &directory).map_err(|error| *error) {
        Err(Error::Diverged { step, checkpoint }) => (step, checkpoint),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the training did not diverge"),
    };
    let (step, checkpoint) = diverged(&settings);
    assert!(!directory.exists(), "no model is in place");
    let checkpoint = checkpoint.unwrap();
    assert!(step > 2 && checkpoint.ends_with(format!("step-{:09}", step - 2)), "{step}, {}", checkpoint.display());
    // Its weights have a finite loss: from them the training goes on, to the same bad step.
    let store = TrainingStore::new(&directory, checkpoint.parent().unwrap().file_name().unwrap().to_str().unwrap());
    let newest = checkpoint.with_file_name(format!("step-{:09}", step - 1));
    fs::remove_dir_all(newest).unwrap();
    let state = load(&store, &dataset);
    assert_eq!(state.step, step - 2);
    assert_eq!(diverged(&settings), (step, Some(checkpoint)));
    // Nothing good was written where the first checkpoint comes later.
    let (step, checkpoint) = diverged(&Settings { checkpoint_every: 1000, ..settings });
    assert!(step > 2 && checkpoint.is_none());
}

/// The newest checkpoint of a perceptron of three layers of width eight on `FOUR_PAIRS`.
fn load(store: &TrainingStore, dataset: &Dataset) -> TrainingState {
    let weights =
        paramill::models::Settings::Mlp { layers: 3, width: 8 }.build(&StateShape::without_space(2), 0).layout().size();
    let d = dataset.manifest().parameters.len();
    let environments = dataset.manifest().splits[&Split::Train].environments;
    let (state, broken) = store.load((1 + d) * weights + environments * d).unwrap();
    assert!(broken.is_empty(), "{broken:?}");
    state.unwrap()
}

#[test]
fn the_kept_model_is_the_best_on_the_validation_split() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let settings = train_settings(
        r#"
        model = { kind = "mlp", layers = 3, width = 8 }
        steps = 400
        learning_rate = 0.05
        validate_every = 1
        patience = 10
        "#,
    );
    let stopped = train(&settings, &dataset, &root.path().join("stopped")).unwrap();
    let training = &stopped.manifest.training;
    assert_eq!(training.stop_reason, StopReason::NoImprovement);
    assert_eq!(training.steps, training.best_step + 10);
    let looks = stopped.log.iter().filter_map(|record| Some((record.validation?, record.step)));
    let best = looks.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    assert_eq!(best, (training.validation, training.best_step));
    let up_to_best = Settings { steps: training.best_step, ..settings };
    let ended = train(&up_to_best, &dataset, &root.path().join("ended")).unwrap();
    assert_eq!(ended.manifest.training.stop_reason, StopReason::Completed);
    assert_eq!(ended.manifest.training.best_step, ended.manifest.training.steps);
    assert!(ended.shared == stopped.shared && ended.contexts == stopped.contexts, "not the weights of the best step");
}

/// Two pairs, five trajectories each of 5000 samples: 1.2 MB a split.
const LONG: &str = r#"
    dataset = "long"
    system = "lotka-volterra"
    time_step = 0.002
    [splits.train]
    environments = "train"
    limit = 2
    trajectories = 5
    [splits.validation]
    environments = "train"
    limit = 2
    trajectories = 5
"#;

#[test]
fn a_training_that_exceeds_the_memory_budget_reads_from_disk_and_gives_the_same() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), LONG);
    let held = train_settings(
        r#"
        model = { kind = "mlp", layers = 2, width = 8 }
        steps = 3
        validate_every = 1
        scaling = "standard"
        trajectories_per_environment = 5
        memory_budget_mib = 64
        "#,
    );
    let streamed = Settings { memory_budget_mib: 1, ..held.clone() };
    let (quiet, said) = (Listener::default(), Listener::default());
    let held = train_heard(&held, &dataset, &root.path().join("held"), &quiet).unwrap();
    let streamed = train_heard(&streamed, &dataset, &root.path().join("streamed"), &said).unwrap();
    let sentence = "exceeds train.memory_budget_mib = 1";
    assert!(said.notes().contains(sentence) && !quiet.notes().contains(sentence), "{}", said.notes());
    assert!(held.shared == streamed.shared && held.contexts == streamed.contexts);
    for (held, streamed) in held.log.iter().zip(&streamed.log) {
        assert_eq!(held.train, streamed.train);
        // The sum runs over parts of the split, each trajectory once.
        assert_relative_eq!(held.validation.unwrap(), streamed.validation.unwrap(), max_relative = 1e-12);
    }
}

#[test]
fn a_training_without_a_validation_split_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let only_train = FOUR_PAIRS.split("[splits.validation]").next().unwrap();
    let dataset = generate(root.path(), only_train);
    let refused = train(&train_settings(SHORT), &dataset, &root.path().join("model")).map_err(|error| *error);
    assert!(matches!(refused, Err(Error::MissingSplit { split: Split::Validation, .. })));
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "only the dataset");
}

#[test]
fn validation_environments_that_do_not_train_are_named() {
    let root = tempfile::tempdir().unwrap();
    let mut rows = shared_grid(2);
    rows.iter_mut().filter(|row| row.environment.ends_with('1')).for_each(|row| row.environment = "stranger".into());
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, shared_grid(2)), (Split::Validation, rows)]);
    let dataset = Dataset::open(&directory).unwrap();
    match train(&train_settings(SHORT), &dataset, &root.path().join("model")).map_err(|error| *error) {
        Err(Error::UnknownEnvironments { found, .. }) => assert_eq!(found, ["stranger"]),
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn tied_contexts_are_the_standardised_parameters() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let settings = Settings { contexts: Contexts::Tied, tied_deviation: 0.25, ..train_settings(SHORT) };
    let model = train(&settings, &dataset, &root.path().join("model")).unwrap();
    let parameters: Vec<_> = model.manifest.environments.iter().map(|it| it.parameters.clone()).collect();
    assert_eq!(parameters[1], [Some(0.5), Some(1.0)]);
    // Two levels of each parameter, equally often: one deviation below the mean and one above.
    assert_eq!(model.contexts, [-1.0, -1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0].map(|z| 0.25 * z));
    let size = model.model().layout().size();
    assert!(model.shared[size..].iter().any(|w| *w != 0.0), "W is trained");
}

#[test]
fn contexts_cannot_be_tied_to_what_is_not_known() {
    let root = tempfile::tempdir().unwrap();
    let refusal = |dataset: &Dataset, settings: &Settings| match train(settings, dataset, &root.path().join("model"))
        .map_err(|error| *error)
    {
        Err(Error::NotTied { found, .. }) => found,
        other => panic!("{:?}", other.err()),
    };
    let tied = Settings { contexts: Contexts::Tied, ..train_settings(SHORT) };
    let dataset = generate(root.path(), FOUR_PAIRS);
    let wide = Settings { context_dimension: Some(ContextDimension::Count(3)), ..tied.clone() };
    assert_eq!(refusal(&dataset, &wide), "there are 2 parameters for 3 context dimensions");
    let mut rows = shared_grid(2);
    rows.iter_mut().for_each(|row| row.parameters[1] = None);
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, rows.clone()), (Split::Validation, rows)]);
    let found = refusal(&Dataset::open(&directory).unwrap(), &tied);
    assert_eq!(found, "environment environment-00 has an unknown parameter");
}

#[test]
fn a_dataset_without_parameters_needs_a_context_dimension() {
    let root = tempfile::tempdir().unwrap();
    let mut manifest = manifest();
    manifest.parameters.clear();
    let mut rows = shared_grid(2);
    rows.iter_mut().for_each(|row| row.parameters.clear());
    let directory = root.path().join("set");
    write(&directory, manifest, &[(Split::Train, rows.clone()), (Split::Validation, rows)]);
    let dataset = Dataset::open(&directory).unwrap();
    let mut settings = Settings { scaling: paramill::train::Scaling::Standard, ..train_settings(SHORT) };
    let refused = train(&settings, &dataset, &root.path().join("model")).map_err(|error| *error);
    assert!(matches!(refused, Err(Error::NoContextDimension { .. })));
    settings.context_dimension = Some(ContextDimension::Count(2));
    assert_eq!(train(&settings, &dataset, &root.path().join("model")).unwrap().contexts.len(), 4);
}

#[test]
#[cfg_attr(not(feature = "torch"), ignore = "needs libtorch")]
fn engines_give_the_same_losses() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    // Gradients of expansions have differences of gradients, which lose half of the digits.
    for (rule, precision, tolerance) in [("coda-l1", "f32", 1e-4), ("coda-l1", "f64", 1e-9), ("ncf", "f64", 1e-6)] {
        let mut settings = train_settings(&format!("{SHORT}\n precision = \"{precision}\"\n rule = \"{rule}\""));
        settings.validate_every = 1;
        settings.gauss_newton.steps = 0;
        let losses = |compute, name: &str| {
            let directory = root.path().join(format!("{rule}-{name}-{precision}"));
            let model = silently(|run| paramill::train::run(&settings, 1, compute, &dataset, &directory, run)).unwrap();
            assert_eq!(model.manifest.training.engine, name);
            model.log
        };
        let (native, torch) = (losses(NATIVE, "native"), losses(TORCH, "torch"));
        assert_eq!(native.len(), 12);
        for (native, torch) in native.iter().zip(&torch) {
            assert_relative_eq!(native.train, torch.train, max_relative = tolerance);
            assert_relative_eq!(native.validation.unwrap(), torch.validation.unwrap(), max_relative = tolerance);
        }
    }
}

#[test]
fn penalties_in_gauss_newton_hold_what_contexts_multiply() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    for rule in ["coda-l1", "coda-l2"] {
        // Of the weights after three steps, whether or not they are the best.
        let size = |locality_penalty: f64| {
            let mut settings = train_settings(&format!("rule = \"{rule}\"\n{SHORT}"));
            settings.gauss_newton.locality_penalty = locality_penalty;
            let directory = root.path().join(format!("{rule}-{locality_penalty}"));
            let checkpoint = train_until(&settings, &dataset, &directory, 15);
            let fingerprint = checkpoint.parent().unwrap().file_name().unwrap().to_str().unwrap();
            let state = load(&TrainingStore::new(&directory, fingerprint), &dataset);
            let weights = (state.trained.len() - 4 * 2) / 3;
            state.trained[weights..3 * weights].iter().map(|w| w * w).sum::<f64>()
        };
        let (free, held) = (size(0.0), size(0.01));
        assert!(held < 0.9 * free, "{rule}: {held} beside {free}");
    }
}
