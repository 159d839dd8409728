//! A training that starts from a trained model: where it starts, what it keeps, what it refuses.

use std::collections::BTreeMap;

use paramill::estimate;
use paramill::train::{WarmStart, run_from};

use super::*;

const SIX_PAIRS: &str = r#"
    dataset = "pairs"
    system = "lotka-volterra"
    [splits.train]
    environments = "train"
    limit = 6
    trajectories = 2
    [splits.validation]
    environments = "train"
    limit = 6
    trajectories = 1
"#;

const LEARNED: &str = r#"
    model = { kind = "mlp", layers = 3, width = 8 }
    context_dimension = 1
    scaling = "standard"
    steps = 0
    gauss_newton = { steps = 25 }
"#;

/// Trains from `start`; the model, and what the log says.
fn from(
    settings: &Settings,
    dataset: &Dataset,
    directory: &Path,
    start: &WarmStart,
) -> (Result<StoredModel, Error>, String) {
    let listener = Listener::default();
    let model = run_from(settings, 1, NATIVE, (dataset, Some(start)), directory, &listener.run());
    (model, listener.notes())
}

/// The error on the validation split that the log says a training started from.
fn error_at_start(notes: &str) -> f64 {
    let (_, rest) = notes.split_once("has the error ").expect("the error at the start");
    rest.split(' ').next().unwrap().parse().unwrap()
}

fn start_from(directory: &Path, contexts: BTreeMap<String, Vec<f64>>) -> WarmStart {
    WarmStart { model: StoredModel::read(directory).unwrap(), contexts }
}

#[test]
fn a_training_goes_on_from_a_model_and_is_never_worse() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let [first, second] = ["first", "second"].map(|name| root.path().join(name));
    let settings = train_settings(LEARNED);
    let before = train(&settings, &dataset, &first).unwrap();
    let (after, notes) = from(&settings, &dataset, &second, &start_from(&first, BTreeMap::new()));
    let after = after.unwrap();
    // The log rounds to four digits.
    assert_relative_eq!(error_at_start(&notes), before.manifest.training.validation, max_relative = 1e-3);
    assert!(after.manifest.training.validation <= before.manifest.training.validation);
    let parents = &after.manifest.provenance.parents;
    assert_eq!(
        (parents.len(), &parents[1].name, &parents[1].sha256),
        (2, &"model first".to_owned(), &before.content_hash)
    );

    // Units are those of the model, whatever the new data.
    let more = root.path().join("more");
    let wider = generate(&more, SIX_PAIRS);
    let contexts = silently(|run| {
        let of_contexts = estimate::Settings::default();
        estimate::contexts_of_new(&of_contexts, NATIVE, &wider, &before, run)
    });
    let contexts = contexts.unwrap();
    let known: Vec<&str> = before.manifest.environments.iter().map(|it| it.id.as_str()).collect();
    assert!(contexts.len() == 2 && contexts.keys().all(|id| !known.contains(&id.as_str())), "{contexts:?}");
    let (third, with_contexts) = from(&settings, &wider, &root.path().join("third"), &start_from(&first, contexts));
    let third = third.unwrap();
    assert_eq!(third.manifest.scales, before.manifest.scales);
    assert_eq!(third.manifest.environments.len(), 6);
    // A new environment starts better with a context of its own than amid the others.
    let (_, without) = from(&settings, &wider, &root.path().join("fourth"), &start_from(&first, BTreeMap::new()));
    assert!(error_at_start(&with_contexts) < 0.5 * error_at_start(&without), "{with_contexts}\n{without}");
    assert!(third.manifest.training.validation < error_at_start(&with_contexts));
}

#[test]
fn adam_has_its_steps_only_where_gauss_newton_has_none() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let directory = root.path().join("first");
    train(&train_settings(SHORT), &dataset, &directory).unwrap();
    let start = || start_from(&directory, BTreeMap::new());
    let both = from(&train_settings(SHORT), &dataset, &root.path().join("both"), &start()).0.unwrap();
    assert!(both.manifest.training.steps <= 4, "{:?}", both.manifest.training);
    let alone = Settings { gauss_newton: Default::default(), ..train_settings(SHORT) };
    let alone = from(&alone, &dataset, &root.path().join("alone"), &start()).0.unwrap();
    assert_eq!(alone.manifest.training.steps, 12);
    assert!(alone.manifest.training.best_step <= 12 && alone.log[0].step == 2, "{:?}", alone.log);
}

/// A tie is through all environments of the first training: `0.2 (p - mean) / deviation`, computed here from their parameters.
#[test]
fn tied_contexts_are_tied_as_before() {
    let root = tempfile::tempdir().unwrap();
    let settings = "contexts = \"tied\"\nsteps = 3\ngauss_newton = { steps = 0 }\nmodel = { kind = \"mlp\", layers = 2, width = 8 }\n";
    let dataset = generate(root.path(), FOUR_PAIRS);
    let directory = root.path().join("first");
    let before = train(&train_settings(settings), &dataset, &directory).unwrap();
    let wider = generate(&root.path().join("more"), SIX_PAIRS);
    let start = start_from(&directory, BTreeMap::new());
    let after = from(&train_settings(settings), &wider, &root.path().join("second"), &start).0.unwrap();
    for j in 0..2 {
        let known: Vec<f64> = before.manifest.environments.iter().map(|it| it.parameters[j].unwrap()).collect();
        let mean = known.iter().sum::<f64>() / 4.0;
        let deviation = (known.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / 4.0).sqrt();
        for (e, environment) in after.manifest.environments.iter().enumerate() {
            let expected = 0.2 * (environment.parameters[j].unwrap() - mean) / deviation;
            assert_relative_eq!(after.contexts[2 * e + j], expected, epsilon = 1e-12);
        }
    }
    // Learned contexts are none that parameters tie; the other way round they are a start.
    let free = settings.replace("tied", "learned");
    let start = start_from(&root.path().join("second"), BTreeMap::new());
    let learned = from(&train_settings(&free), &wider, &root.path().join("third"), &start).0.unwrap();
    assert_eq!(learned.contexts.len(), 12);
    let start = start_from(&root.path().join("third"), BTreeMap::new());
    let refused = from(&train_settings(settings), &wider, &root.path().join("fourth"), &start).0.err().unwrap();
    assert!(refused.to_string().contains("train.contexts: \"learned\" -> \"tied\""), "{refused}");
}

#[test]
fn another_architecture_is_refused_with_every_difference() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let directory = root.path().join("first");
    train(&train_settings(SHORT), &dataset, &directory).unwrap();
    let other = SHORT.replace("width = 8", "width = 16").replace("layers = 3", "layers = 2");
    let other = train_settings(&format!("rule = \"coda-l2\"\ncontext_dimension = 1\nscaling = \"standard\"\n{other}"));
    let (refused, _) = from(&other, &dataset, &root.path().join("second"), &start_from(&directory, BTreeMap::new()));
    let said = refused.err().unwrap().to_string();
    for difference in [
        "train.model.width: 8 -> 16",
        "train.model.layers: 3 -> 2",
        "train.rule: \"coda-l1\" -> \"coda-l2\"",
        "train.context_dimension: 2 -> 1",
        "train.scaling: \"none\" -> \"standard\"",
        "train.warm_start: found the model first",
    ] {
        assert!(said.contains(difference), "{difference}: {said}");
    }
    assert!(!root.path().join("second").exists());
}

#[test]
fn an_interrupted_training_from_a_model_gives_the_same_model() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let directory = root.path().join("first");
    train(&train_settings(SHORT), &dataset, &directory).unwrap();
    let start = start_from(&directory, BTreeMap::new());
    let settings = Settings { gauss_newton: Default::default(), ..train_settings(SHORT) };
    let [whole, resumed] = ["whole/model", "resumed/model"].map(|name| root.path().join(name));
    from(&settings, &dataset, &whole, &start).0.unwrap();
    let listener = Listener::stopping_at("train", 6);
    let stopped = run_from(&settings, 1, NATIVE, (&dataset, Some(&start)), &resumed, &listener.run());
    assert!(matches!(stopped, Err(Error::Interrupted { step: 6, .. })));
    from(&settings, &dataset, &resumed, &start).0.unwrap();
    assert!(files(&whole) == files(&resumed), "manifest, weights or losses differ");
}
