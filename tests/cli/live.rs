//! What a run shows while it goes on: on a terminal, on one that cannot move its cursor, and in a pipe.

use std::process::{Command as Process, Stdio};

use super::*;

pub(super) const TRAINED: &str = r#"
[train]
model = { kind = "mlp", layers = 2, width = 8 }
steps = 40
validate_every = 5
gauss_newton = { steps = 4 }

[run]
tensorboard = true
"#;

/// Everything that a training writes to a terminal of this kind, 80 columns wide.
fn on_terminal(root: &Path, term: &str, variables: &[(&str, &str)], option: &str) -> String {
    let program = env!("CARGO_BIN_EXE_paramill");
    let line = format!("stty cols 80 rows 24; {program} run pairs.toml --force train --threads 1 {option} >/dev/null");
    let mut script = Process::new("script");
    script.args(["-qefc", &line, "/dev/null"]).current_dir(root).stdin(Stdio::null());
    script.env("TERM", term).env("SHELL", "/bin/sh").env_remove("NO_COLOR").env_remove("COLUMNS");
    let output = script.envs(variables.iter().copied()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn a_training_is_drawn_on_a_terminal_and_told_in_lines_elsewhere() {
    let root = house(&format!("{PIPELINE}{TRAINED}"));
    let plain = paramill(root.path(), &["run", "pairs.toml", "--threads", "1"]);
    let plain = stderr(&plain);
    assert!(plain.contains("train: begins, 40 steps\n"), "{plain}");
    assert!(!plain.contains(['\u{1b}', '\r']) && !plain.contains('█'), "{plain:?}");

    let drawn = on_terminal(root.path(), "xterm", &[], "");
    assert!(drawn.contains("\u{1b}[36m"), "bars have a colour: {drawn:?}");
    assert!(drawn.contains("Adam at 1.0e-3") && drawn.contains("whole trajectories"), "{drawn:?}");
    // The line of losses: memory, where the system tells it, a curve, and the numbers, which an ended line would not hold.
    let losses = drawn.split(['\r', '\n']).filter(|line| line.contains(", validation ") && line.contains(", best "));
    let losses: Vec<&str> = losses.collect();
    assert!(losses.iter().any(|line| line.contains('█') && line.contains('▁')), "{drawn:?}");
    assert_eq!(losses.iter().any(|line| line.contains(" MiB ")), cfg!(target_os = "linux"), "{drawn:?}");

    let colourless = on_terminal(root.path(), "xterm", &[("NO_COLOR", "1")], "");
    assert!(colourless.contains(", best ") && !colourless.contains("\u{1b}[36m"), "{colourless:?}");
    let dumb = on_terminal(root.path(), "dumb", &[], "");
    assert!(dumb.contains("train: begins, 40 steps\r\n") && !dumb.contains('\u{1b}'), "{dumb:?}");
    assert_eq!(on_terminal(root.path(), "xterm", &[], "--quiet"), "");
}

#[test]
fn event_files_of_tensorboard_are_by_choice_and_make_nothing_anew() {
    let root = house(&format!("{PIPELINE}{TRAINED}"));
    let left_out = paramill(root.path(), &["run", "pairs.toml", "--set", "run.tensorboard=false"]);
    assert_eq!(left_out.status.code(), Some(0), "{}", stderr(&left_out));
    let folder = root.path().join("runs/pairs/tensorboard");
    assert!(!folder.exists());
    let up_to_date = paramill(root.path(), &["run", "pairs.toml", "--dry-run"]);
    assert_eq!(up_to_date.status.code(), Some(0), "{}", stdout(&up_to_date));
    paramill(root.path(), &["run", "pairs.toml", "--force", "train"]);
    let trainings: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(trainings.len(), 1);
    assert!(fs::metadata(trainings[0].join("events.out.tfevents.paramill")).unwrap().len() > 500);
}
