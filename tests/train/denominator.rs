//! The denominator of a library: found, held, set free, and resumed.

use super::model::{Listener, files, generate, train, train_settings};
use super::train_heard;
use paramill::train::Error;

/// What is eaten of `x` saturates with `y`.
const SATURATING: &str = r#"
    dataset = "pairs"
    rtol = 1e-9
    atol = 1e-9
    [system]
    name = "saturating"
    horizon = 5.0
    time_step = 0.25
    states = [
        { name = "x", derivative = "1 - rate * x * y / (1 + (y / half)^2)", initial = [0.5, 2.0] },
        { name = "y", derivative = "rate * x * y / (1 + (y / half)^2) - 0.6 * y", initial = [0.3, 3.0] },
    ]
    parameters = [{ name = "rate", lower = 0.1, upper = 5.0 }, { name = "half", lower = 0.1, upper = 5.0 }]
    environments = { train = { rate = [1.0, 1.5], half = [0.7, 1.0] } }
    [splits.train]
    environments = "train"
    trajectories = 6
    [splits.validation]
    environments = "train"
    trajectories = 3
"#;

#[test]
fn the_channel_in_the_denominator_is_found_and_its_weight_follows() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), SATURATING);
    let settings = train_settings(
        r#"
        rule = "coda-l2"
        model = { kind = "library", degree = 2, saturation = 2 }
        substeps = 4
        steps = 0
        gauss_newton = { steps = 60, method = "weights", drop_terms = false }
        "#,
    );
    let [whole, resumed] = ["whole", "resumed"].map(|it| root.path().join(it).join("model"));
    let listener = Listener::default();
    let model = train_heard(&settings, &dataset, &whole, &listener).unwrap();
    let notes = listener.notes();
    let start = notes.lines().find(|line| line.starts_with("the denominator starts as 1 + ")).expect(&notes);
    assert!(start.contains("|y|^2") && !start.contains("|x|^2"), "{start}");
    let validation = model.manifest.training.validation;
    assert!(validation < 1e-9, "{validation:e}\n{notes}");
    // `delta_y^2` of each environment is `half^-2`; that of `x` has not moved.
    let (rule, size) = (model.rule(), model.model().layout().size());
    for (e, environment) in model.manifest.environments.iter().enumerate() {
        let half = environment.parameters[1].unwrap();
        let mut weights = vec![0.0; size];
        rule.decode(&model.shared, &model.contexts[2 * e..2 * e + 2], &mut weights);
        let [x, y] = [weights[size - 2], weights[size - 1]];
        assert_eq!(x, 0.0);
        approx::assert_relative_eq!(y * y, half.powi(-2), max_relative = 0.02);
    }
    for listener in [
        Listener::stopping_at("denominator", 1),
        Listener::stopping_at("gauss-newton", 2),
        Listener::stopping_at("gauss-newton", 9),
    ] {
        let stopped = train_heard(&settings, &dataset, &resumed, &listener);
        assert!(matches!(stopped, Err(Error::Interrupted { .. })));
    }
    train(&settings, &dataset, &resumed).unwrap();
    assert!(files(&whole) == files(&resumed), "manifest, weights or losses differ");
}
