//! Systems that are given by their equations.

use paramill::generate::{self, Settings};
use paramill::progress::{Interrupt, Run, Silent};
use paramill::schema::Split;
use paramill::systems::SystemSettings;

use super::{generate as generated, settings, simulate, with_threads};

const LOTKA_VOLTERRA: &str = r#"
    dataset = "lv-tiny"
    [system]
    name = "prey-and-predator"
    horizon = 10.0
    time_step = 0.5
    constants = { alpha = 0.5, gamma = 0.5 }
    [[system.states]]
    name = "x"
    derivative = "alpha * x - beta * x * y"
    initial = [1.0, 3.0]
    [[system.states]]
    name = "y"
    derivative = "delta * x * y - gamma * y"
    initial = [1.0, 3.0]
    [[system.parameters]]
    name = "beta"
    lower = 1e-3
    upper = 10.0
    [[system.parameters]]
    name = "delta"
    lower = 1e-3
    upper = 10.0
    [system.environments]
    train = { beta = [0.5, 0.75, 1.0], delta = [0.5, 0.75, 1.0] }
    grid = { beta = { from = 0.25, to = 1.25, count = 51 }, delta = { from = 0.25, to = 1.25, count = 51 } }
    [splits.train]
    environments = "train"
    trajectories = 2
    [splits.grid]
    environments = "grid"
    limit = 9
    trajectories = 1
"#;

#[test]
fn the_same_equations_give_the_same_bytes_as_a_built_in_system() {
    let mut built_in = settings(LOTKA_VOLTERRA);
    built_in.system = SystemSettings::Named("lotka-volterra".to_owned());
    let (expected, found) = (simulate(&built_in, 5), simulate(&settings(LOTKA_VOLTERRA), 5));
    assert_eq!(expected.values().map(Vec::len).sum::<usize>(), 27);
    assert_eq!(expected, found);
}

#[test]
fn a_manifest_alone_is_enough_to_make_the_dataset_again() {
    let place = tempfile::tempdir().unwrap();
    let first = with_threads(1, || generated(&settings(LOTKA_VOLTERRA), 7, &place.path().join("first")));
    let again: Settings = serde_json::from_value(first.provenance.configuration.clone()).unwrap();
    let second = with_threads(2, || generated(&again, first.provenance.seed.unwrap(), &place.path().join("second")));
    assert!(!first.files.is_empty());
    assert_eq!(first, second);
    let derivative = first.provenance.configuration.pointer("/system/states/0/derivative").unwrap();
    assert_eq!(derivative, "alpha * x - beta * x * y");
}

#[test]
fn time_and_functions_are_those_of_mathematics() {
    let text = r#"
        dataset = "d"
        rtol = 1e-12
        atol = 1e-12
        [system]
        name = "driven"
        horizon = 3.0
        time_step = 0.5
        states = [
          { name = "rise", derivative = "rate * cos(rate * t)", initial = [0.0, 0.0] },
          { name = "fall", derivative = "-2 * rate * t * exp(-rate * t^2)", initial = [1.0, 1.0] },
        ]
        parameters = [{ name = "rate", lower = 0.1, upper = 2.0 }]
        [splits.train]
        environments = [{ rate = 0.7 }]
        trajectories = 1
    "#;
    let simulated = simulate(&settings(text), 0);
    for trajectory in simulated.values().flatten() {
        for (sample, time) in trajectory.times.iter().enumerate() {
            let expected = [(0.7 * time).sin(), (-0.7 * time * time).exp()];
            for (found, expected) in trajectory.state(sample).iter().zip(expected) {
                assert!((found - expected).abs() < 1e-10, "{found} {expected}");
            }
        }
    }
}

#[test]
fn everything_wrong_with_equations_is_said_at_once() {
    let broken = settings(
        r#"
        dataset = "d"
        [system]
        name = "pen dulum"
        horizon = 0.0
        time_step = 1.0
        constants = { exp = 1.0, x = 2.0, huge = inf }
        states = [
          { name = "x", derivative = "v + bta * y", initial = [1.0, 0.0] },
          { name = "v", derivative = "-sine(x)", initial = [0.0, nan] },
          { name = "t", derivative = "2 (x + 1)", initial = [0.0, 1.0] },
          { name = "x", derivative = "x +", initial = [0.0, 1.0] },
          { name = "time", derivative = "1", initial = [0.0, 1.0] },
        ]
        parameters = [{ name = "beta", lower = 0.0, upper = inf }, { name = "1st", lower = 1.0, upper = 0.0 }]
        environments = { train = { beta = [0.5, -1.0], gama = [1.0] }, grid = { beta = [], 1st = { from = 1.0, to = 0.0, count = 3 } } }
        [splits.train]
        environments = "train"
        trajectories = 1
        "#,
    );
    let lines: Vec<String> = broken.validate().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!("wrong_equations", lines.join("\n"));
}

#[test]
fn a_driven_system_is_not_simulated() {
    let driven = LOTKA_VOLTERRA.replace("constants = {", "inputs = [{ name = \"light\" }]\n    constants = {");
    let problems = settings(&driven.replace("alpha * x -", "light * x -")).validate();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].found.contains("the inputs light"), "{problems:?}");
}

/// A system that comes to rest before it starts begins there: a basin under a steady inflow, whose level is in closed form, and a pair of which only the
/// sum is kept.
#[test]
fn a_system_is_simulated_from_its_rest() {
    let text = r#"
        dataset = "basin"
        rtol = 1e-10
        atol = 1e-10
        signals = [{ input = "inflow", times = [0.0, 2.0], values = [0.5, 3.0] }]
        [system]
        name = "basin"
        horizon = 4.0
        time_step = 0.5
        inputs = [{ name = "inflow" }]
        preequilibration = { inflow = 2.0 }
        states = [
            { name = "level", derivative = "inflow - k * level", start = 0.0 },
            { name = "free", derivative = "k * bound - 2 * k * free", start = 3.0 },
            { name = "bound", derivative = "2 * k * free - k * bound", start = 0.0 },
        ]
        parameters = [{ name = "k", lower = 0.01, upper = 9.0 }]
        [splits.adapt]
        environments = [{ k = 0.5 }]
        trajectories = 1
    "#;
    let trajectory = simulate(&settings(text), 3).remove(&Split::Adapt).unwrap().remove(0);
    let settled = |level: f64, inflow: f64, t: f64| inflow / 0.5 + (level - inflow / 0.5) * (-0.5 * t).exp();
    let after_two = settled(4.0, 0.5, 2.0);
    for (t, state) in trajectory.times.iter().zip(trajectory.states.chunks_exact(3)) {
        let level = if *t <= 2.0 { settled(4.0, 0.5, *t) } else { settled(after_two, 3.0, t - 2.0) };
        for (found, expected) in state.iter().zip([level, 1.0, 2.0]) {
            assert!((found - expected).abs() < 1e-7, "{t}: {state:?}, not {expected}");
        }
    }
    let never = text.replace("inflow - k * level", "inflow + k * level");
    let root = tempfile::tempdir().unwrap();
    let run = Run { observer: &Silent, interrupt: &Interrupt::new() };
    let said = generate::run(&settings(&never), 3, &root.path().join("basin"), &run).unwrap_err().to_string();
    assert!(said.contains("does not come to rest") || said.contains("not finite"), "{said}");
}
