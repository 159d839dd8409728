//! Steps that stay on a device: on the CPU the same operations as on CUDA, which are those of the host; and on CUDA itself.

#[path = "common/dataset.rs"]
mod common;
#[path = "common/model.rs"]
mod model;

use std::fs;
use std::path::Path;

use approx::assert_relative_eq;
use common::write;
use model::{Listener, TORCH, generate, silently, train_settings};
use paramill::checkpoint::StoredModel;
use paramill::dataset::Dataset;
use paramill::engine::{Compute, DeviceChoice, EngineChoice};
use paramill::schema::Split;
use paramill::train::{self, Contexts, Error, Settings, StepsOn};

const CUDA: Compute = Compute { device: DeviceChoice::Cuda(0), engine: EngineChoice::Torch };

/// Every rollout starts anew now and then; looks and checkpoints fall within what could be planned at once.
const SETTINGS: &str = r#"
    model = { kind = "mlp", layers = 3, width = 8 }
    precision = "f64"
    substeps = 2
    steps = 13
    learning_rate = 0.03
    gradient_clip = 0.3
    context_penalty = 1e-2
    locality_penalty = 1e-2
    validate_every = 5
    checkpoint_every = 4
    teacher_forcing = { start = 0.6, decay = 0.9, every = 4 }
"#;

/// Four pairs of species with three trajectories each, but for one that has one; of unequal lengths, and with cells that are missing.
fn ragged(root: &Path) -> Dataset {
    let whole = generate(
        root,
        r#"
        dataset = "pairs"
        system = "lotka-volterra"
        [splits.train]
        environments = "train"
        limit = 4
        trajectories = 3
        [splits.validation]
        environments = "train"
        limit = 4
        trajectories = 1
    "#,
    );
    let splits = [Split::Train, Split::Validation].map(|split| {
        let mut rows = whole.read(split).unwrap();
        for (row, trajectory) in rows.iter_mut().enumerate() {
            let length = trajectory.len() - row % 3;
            trajectory.times.truncate(length);
            trajectory.states.truncate(2 * length);
            trajectory.states.iter_mut().skip(5).step_by(9).for_each(|cell| *cell = f64::NAN);
        }
        if split == Split::Train {
            rows.drain(4..6);
        }
        (split, rows)
    });
    let directory = root.join("ragged");
    write(&directory, whole.manifest().clone(), &splits);
    Dataset::open(&directory).unwrap()
}

fn train_on(steps_on: StepsOn, settings: &Settings, compute: Compute, dataset: &Dataset, root: &Path) -> StoredModel {
    let directory = tempfile::tempdir_in(root).unwrap();
    let settings = Settings { steps_on, ..settings.clone() };
    silently(|run| train::run(&settings, 1, compute, dataset, &directory.path().join("model"), run)).unwrap()
}

/// That two trainings are one but for rounding, and moved.
fn assert_same(found: &StoredModel, expected: &StoredModel, tolerance: f64) {
    assert_eq!(found.log.len(), expected.log.len());
    for (found, expected) in found.log.iter().zip(&expected.log) {
        assert_relative_eq!(found.train, expected.train, max_relative = tolerance);
        assert_relative_eq!(found.validation.unwrap(), expected.validation.unwrap(), max_relative = tolerance);
    }
    assert!(expected.log.windows(2).all(|pair| pair[0].train != pair[1].train));
    for (found, expected) in [(&found.shared, &expected.shared), (&found.contexts, &expected.contexts)] {
        assert_eq!(found.len(), expected.len());
        found.iter().zip(expected).for_each(|(found, expected)| {
            assert_relative_eq!(found, expected, epsilon = tolerance, max_relative = tolerance);
        });
    }
}

/// Steps made by the engine itself are those that the host makes with its gradients.
fn assert_agree(settings: &Settings, compute: Compute, dataset: &Dataset, root: &Path, tolerance: f64) {
    let [device, host] = [StepsOn::Device, StepsOn::Host].map(|on| train_on(on, settings, compute, dataset, root));

    assert_same(&device, &host, tolerance);
}

#[test]
fn every_rule_of_sums_takes_the_same_steps_by_itself() {
    let root = tempfile::tempdir().unwrap();
    let dataset = ragged(root.path());
    for rule in ["coda-l1", "coda-l2", "coda", "cavia-concat", "leads", "multi-task", "erm"] {
        for turns in ["", "trajectories_per_environment = 2"] {
            let settings = train_settings(&format!("rule = \"{rule}\"\n{turns}\n{SETTINGS}"));
            assert_agree(&settings, TORCH, &dataset, root.path(), 1e-9);
        }
    }
}

#[test]
fn adapted_layers_tied_contexts_weighted_channels_and_single_precision_make_no_difference() {
    let root = tempfile::tempdir().unwrap();
    let dataset = ragged(root.path());
    let first = train_settings(&format!("adapted_layers = \"first\"\nweights = {{ y = 3.0 }}\n{SETTINGS}"));
    assert_agree(&first, TORCH, &dataset, root.path(), 1e-9);
    let tied = Settings { contexts: Contexts::Tied, ..train_settings(SETTINGS) };
    assert_agree(&tied, TORCH, &dataset, root.path(), 1e-9);
    let single = train_settings(&SETTINGS.replace("f64", "f32"));
    assert_agree(&single, TORCH, &dataset, root.path(), 1e-4);
}

#[test]
fn inputs_and_fields_make_no_difference() {
    let root = tempfile::tempdir().unwrap();
    let system = Path::new(env!("CARGO_MANIFEST_DIR")).join("pipelines/systems/driven-pendulum.toml");
    let system: toml::Table = toml::from_str(&fs::read_to_string(system).unwrap()).unwrap();
    let splits = |limit: usize| {
        format!(
            "[splits]\ntrain = {{ environments = \"train\", limit = {limit}, trajectories = 2 }}\n\
             validation = {{ environments = \"train\", limit = {limit}, trajectories = 1 }}"
        )
    };
    let mut settings: toml::Table = toml::from_str(&format!("dataset = \"driven\"\n{}", splits(3))).unwrap();
    settings.insert("system".to_owned(), system.into());
    let driven = generate(root.path(), &toml::to_string(&settings).unwrap());
    assert_agree(&train_settings(SETTINGS), TORCH, &driven, root.path(), 1e-9);
    let fields =
        generate(root.path(), &format!("dataset = \"fields\"\nsystem = \"navier-stokes\"\nhorizon = 4\n{}", splits(2)));
    let small = SETTINGS
        .replace("steps = 13", "steps = 4")
        .replace("0.03", "0.003")
        .replace("substeps = 2", "solver = \"euler\"");
    for network in [
        "{ kind = \"convnet\", layers = 2, width = 4 }",
        "{ kind = \"fno\", layers = 2, width = 4, modes = 3, projection = 5 }",
        "{ kind = \"library\", degree = 2, operators = [\"laplacian\"] }",
    ] {
        let settings = train_settings(&small.replace("{ kind = \"mlp\", layers = 3, width = 8 }", network));
        assert_agree(&settings, TORCH, &fields, root.path(), 1e-9);
    }
}

#[test]
fn interrupted_steps_go_on_to_the_same_bits() {
    let root = tempfile::tempdir().unwrap();
    let dataset = ragged(root.path());
    let settings = Settings { steps_on: StepsOn::Device, ..train_settings(SETTINGS) };
    let train = |name: &str, listener: &Listener| {
        train::run(&settings, 1, TORCH, &dataset, &root.path().join(name), &listener.run())
    };
    let whole = train("whole", &Listener::default()).unwrap();
    for stop in [4, 5, 8] {
        let name = format!("stopped-{stop}");
        let stopped = train(&name, &Listener::stopping_at("train", stop));
        assert!(matches!(stopped, Err(Error::Interrupted { step, .. }) if step == stop), "{stop}");
        let listener = Listener::default();
        let resumed = train(&name, &listener).unwrap();
        assert!(listener.notes().contains("steps of Adam are planned ahead"), "{}", listener.notes());
        assert_eq!((&resumed.shared, &resumed.contexts, &resumed.log), (&whole.shared, &whole.contexts, &whole.log));
    }
}

#[test]
fn a_step_that_is_not_finite_changes_nothing_and_is_named() {
    let root = tempfile::tempdir().unwrap();
    let dataset = ragged(root.path());
    let wild = Settings { learning_rate: 1e3, steps: 60, ..train_settings(SETTINGS) };
    let step = |steps_on: StepsOn| {
        let settings = Settings { steps_on, ..wild.clone() };
        let directory = root.path().join(format!("{steps_on:?}"));
        match silently(|run| train::run(&settings, 1, TORCH, &dataset, &directory, run)) {
            Err(Error::Diverged { step, checkpoint }) => {
                (step, checkpoint.and_then(|it| it.file_name().map(ToOwned::to_owned)))
            }
            other => panic!("{steps_on:?}: {:?}", other.map(|model| model.log)),
        }
    };
    assert_eq!(step(StepsOn::Device), step(StepsOn::Host));
}

#[test]
fn what_cannot_be_made_ahead_is_refused_with_the_reason() {
    let root = tempfile::tempdir().unwrap();
    let dataset = ragged(root.path());
    let refusal = |change: &str, compute: Compute| {
        let settings = train_settings(&format!("steps_on = \"device\"\n{change}\n{SETTINGS}"));
        let refused = silently(|run| train::run(&settings, 1, compute, &dataset, &root.path().join("model"), run));
        refused.err().expect(change).to_string()
    };
    let native = Compute { device: DeviceChoice::Cpu, engine: EngineChoice::Native };
    for (change, compute, reason) in [
        ("rule = \"cavia-film\"", TORCH, "weights under rule \"cavia-film\" are not sums of shared values"),
        ("rule = \"maml\"", TORCH, "rule \"maml\" has an objective of its own"),
        ("rule = \"ncf\"", TORCH, "rule \"ncf\" has an objective of its own"),
        ("rule = \"multi-task\"\nenvironments = \"infer\"", TORCH, "environments are inferred"),
        ("", native, "the engine native makes none by itself"),
    ] {
        let found = refusal(change, compute);
        let expected = format!("train.steps_on: found \"device\", but {reason}; expected \"auto\" or \"host\"");
        assert!(found.starts_with(&expected), "{found}");
    }
}

/// As the tests above, but on CUDA, where a step is one graph: `make test-gpu`.
#[test]
#[ignore = "needs a CUDA device"]
fn on_cuda_a_step_is_one_graph_and_the_same() {
    let root = tempfile::tempdir().unwrap();
    let dataset = ragged(root.path());
    for turns in ["", "trajectories_per_environment = 2"] {
        let settings = train_settings(&format!("{turns}\n{SETTINGS}"));
        let listener = Listener::default();
        let directory = tempfile::tempdir_in(root.path()).unwrap();
        let on_cuda =
            train::run(&settings, 1, CUDA, &dataset, &directory.path().join("model"), &listener.run()).unwrap();
        assert!(listener.notes().contains("one CUDA graph"), "{}", listener.notes());
        assert_same(&on_cuda, &train_on(StepsOn::Host, &settings, TORCH, &dataset, root.path()), 1e-8);
        assert_same(&on_cuda, &train_on(StepsOn::Device, &settings, CUDA, &dataset, root.path()), 0.0);
    }
}

/// Whatever is called again and again is recorded too: products of Gauss-Newton by conjugate gradients, and adaptation.
#[test]
#[ignore = "needs a CUDA device"]
fn on_cuda_products_of_gauss_newton_are_those_of_the_cpu() {
    let root = tempfile::tempdir().unwrap();
    let dataset = ragged(root.path());
    let newton = "gauss_newton = { steps = 4, method = \"conjugate-gradients\", inner_steps = 20 }";
    let settings = train_settings(&format!("{newton}\n{SETTINGS}"));
    let [on_cuda, on_cpu] =
        [CUDA, TORCH].map(|compute| train_on(StepsOn::Auto, &settings, compute, &dataset, root.path()));
    assert_same(&on_cuda, &on_cpu, 1e-6);
}
