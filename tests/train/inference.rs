//! Environments that training infers.

use super::model::dataset_of;
use super::*;
use paramill::schema::Trajectory;

/// Three pairs of species, six trajectories each.
const THREE_PAIRS: &str = r#"
    dataset = "pairs"
    system = "lotka-volterra"
    [splits.train]
    environments = "train"
    limit = 3
    trajectories = 6
    [splits.validation]
    environments = "train"
    limit = 3
    trajectories = 2
"#;

const INFER: &str = r#"
    environments = "infer"
    inference = { environments = 3 }
    model = { kind = "mlp", layers = 3, width = 16 }
    steps = 800
    learning_rate = 0.01
    validate_every = 50
    gauss_newton = { steps = 3 }
"#;

/// Splits of `dataset` with one label for all, nothing known of it, in the same order.
fn unlabelled(dataset: &Dataset, directory: &Path) -> Dataset {
    let of_split = |split: Split| {
        let trajectories = dataset.read(split).unwrap().into_iter().enumerate();
        let renamed = trajectories.map(|(i, it)| Trajectory {
            environment: "all".to_owned(),
            trajectory: format!("{i:03}"),
            parameters: vec![None; it.parameters.len()],
            ..it
        });
        (split, renamed.collect())
    };
    dataset_of(directory, dataset.manifest(), vec![of_split(Split::Train), of_split(Split::Validation)])
}

#[test]
fn environments_are_recovered_without_their_labels() {
    let root = tempfile::tempdir().unwrap();
    let (dataset, settings) = (generate(root.path(), THREE_PAIRS), train_settings(INFER));
    let model = train(&settings, &dataset, &root.path().join("model")).unwrap();
    let inferred = model.manifest.inferred.as_ref().unwrap();
    assert_eq!((inferred.trajectories.len(), inferred.adjusted_rand_index), (18, Some(1.0)));
    for k in 0..3 {
        assert_eq!(inferred.labels_of(k).into_values().collect::<Vec<_>>(), [6], "environment {k}");
    }
    let ids: Vec<&str> = model.manifest.environments.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["inferred-0", "inferred-1", "inferred-2"]);
    assert!(model.manifest.environments.iter().all(|it| it.parameters == [None, None]));
    assert_eq!(StoredModel::read(&root.path().join("model")).unwrap().manifest, model.manifest);

    // One model of all environments explains them far worse.
    let erm = Settings { rule: paramill::rules::Kind::Erm, ..train_settings(&INFER.replace("\"infer\"", "\"known\"")) };
    let together = train(&erm, &dataset, &root.path().join("erm")).unwrap();
    let [with, without] = [&model, &together].map(|it| it.manifest.training.validation);
    assert!(with < 0.05 * without, "{with} beside {without}");
}

#[test]
fn labels_change_nothing_and_an_interrupted_inference_gives_the_same_model() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), THREE_PAIRS);
    let settings = Settings { steps: 60, validate_every: 7, ..train_settings(INFER) };
    let (whole, resumed) = (root.path().join("whole/model"), root.path().join("resumed/model"));
    let model = train(&settings, &dataset, &whole).unwrap();
    for step in [7, 21, 56, 61] {
        train_until(&settings, &dataset, &resumed, step);
    }
    train(&settings, &dataset, &resumed).unwrap();
    assert!(files(&whole) == files(&resumed), "manifest, weights or losses differ");

    let unlabelled = unlabelled(&dataset, &root.path().join("unlabelled"));
    let other = train(&settings, &unlabelled, &root.path().join("other/model")).unwrap();
    assert_eq!((&other.shared, &other.contexts), (&model.shared, &model.contexts));
    let of = |model: &StoredModel| -> Vec<usize> {
        let inferred = model.manifest.inferred.as_ref().unwrap();
        inferred.trajectories.iter().map(|it| it.environment).collect()
    };
    assert_eq!(of(&other), of(&model));
    assert_eq!(other.manifest.inferred.unwrap().adjusted_rand_index, None);
}

#[test]
fn what_cannot_be_inferred_is_refused_with_the_key() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let base = "environments = \"infer\"\n";
    for (more, key) in [
        ("rule = \"maml\"", "train.environments"),
        ("rule = \"erm\"", "train.environments"),
        ("contexts = \"tied\"", "train.environments"),
        ("steps = 0\ngauss_newton = { steps = 3 }", "train.environments"),
        ("model = { kind = \"library\" }", "train.environments"),
        ("inference = { environments = 9 }", "train.inference.environments"),
    ] {
        let refused = train(&train_settings(&format!("{base}{more}")), &dataset, &root.path().join("model"));
        let message = refused.err().expect("it is refused").to_string();
        assert!(message.contains(key), "{more}: {message}");
    }
}
