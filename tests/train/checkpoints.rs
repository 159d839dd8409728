//! Checkpoints of Gauss-Newton, at the end of Adam, and by the clock, for trainings that are killed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;

use paramill::dataset::Dataset;
use paramill::progress::{Event, Interrupt, Observer, Run};
use paramill::train::{Error, GaussNewton, Settings};

use super::SHORT;
use super::model::{FOUR_PAIRS, Listener, NATIVE, files, generate, train, train_settings};

/// Panics once `at` steps of `part` are done: nothing more is written, as after `kill -9`.
pub struct Killer {
    part: &'static str,
    at: u64,
    current: Mutex<String>,
}

impl Killer {
    pub fn new(part: &'static str, at: u64) -> Self {
        Killer { part, at, current: Mutex::default() }
    }
}

impl Observer for Killer {
    fn observe(&self, event: Event) {
        match event {
            Event::Begin { what, .. } => *self.current.lock().unwrap() = what,
            Event::Advance { done, .. } if done >= self.at && *self.current.lock().unwrap() == self.part => {
                panic!("killed")
            }
            _ => {}
        }
    }
}

fn kill_at(settings: &Settings, dataset: &Dataset, directory: &Path, part: &'static str, at: u64) {
    let killer = Killer::new(part, at);
    let interrupt = Interrupt::new();
    let run = Run { observer: &killer, interrupt: &interrupt };
    let ended =
        catch_unwind(AssertUnwindSafe(|| paramill::train::run(settings, 1, NATIVE, dataset, directory, &run).is_ok()));
    assert!(ended.is_err(), "the training came to an end");
}

/// Kills a training, resumes it, and compares its model with that of an undisturbed one. Returns what was noted.
fn resumed_after(settings: &Settings, part: &'static str, at: u64) -> String {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let (whole, resumed) = (root.path().join("whole/model"), root.path().join("resumed/model"));
    train(settings, &dataset, &whole).unwrap();
    kill_at(settings, &dataset, &resumed, part, at);
    let listener = Listener::default();
    super::train_heard(settings, &dataset, &resumed, &listener).unwrap();
    assert!(files(&whole) == files(&resumed), "manifest, weights or losses differ");
    listener.notes()
}

#[test]
fn a_training_killed_in_gauss_newton_goes_on_from_there() {
    let gauss_newton = GaussNewton { steps: 9, checkpoint_every: 3, ..GaussNewton::default() };
    let notes = resumed_after(&Settings { gauss_newton, ..train_settings(SHORT) }, "gauss-newton", 5);
    assert!(notes.contains("going on from the checkpoint at step 15"), "{notes}");
}

#[test]
fn a_checkpoint_is_written_where_adam_ends() {
    let settings = Settings { checkpoint_every: 1000, ..train_settings(SHORT) };
    let notes = resumed_after(&settings, "gauss-newton", 2);
    assert!(notes.contains("going on from the checkpoint at step 12"), "{notes}");
}

#[test]
fn the_clock_writes_checkpoints_too_in_both_parts() {
    let rare = Settings { checkpoint_every: 1000, ..train_settings(SHORT) };
    let always = Settings { checkpoint_minutes: 1e-12, ..rare.clone() };
    // A look comes before the checkpoint of its step, so the one before is the newest.
    let notes = resumed_after(&always, "train", 6);
    assert!(notes.contains("going on from the checkpoint at step 5"), "{notes}");
    let notes = resumed_after(&always, "gauss-newton", 3);
    assert!(notes.contains("going on from the checkpoint at step 14"), "{notes}");
    let notes = resumed_after(&rare, "train", 6);
    assert!(!notes.contains("going on"), "{notes}");
}

/// Asks to stop when it hears for the `count`-th time that a unit of work has come so far.
struct Stopper {
    text: &'static str,
    count: usize,
    heard: Mutex<usize>,
    interrupt: Interrupt,
}

impl Observer for Stopper {
    fn observe(&self, event: Event) {
        if matches!(&event, Event::Underway(text) if text.starts_with(self.text)) {
            let mut heard = self.heard.lock().unwrap();
            *heard += 1;
            if *heard == self.count {
                self.interrupt.request(15);
            }
        }
    }
}

/// Within the gradient, the diagonal, the inner steps and the look at the validation split.
#[test]
fn a_training_stopped_within_a_step_goes_on_to_the_same_bits() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), FOUR_PAIRS);
    let settings = train_settings(
        r#"
        model = { kind = "mlp", layers = 2, width = 8 }
        steps = 4
        validate_every = 2
        gauss_newton = { steps = 4, method = "conjugate-gradients", inner_steps = 30, inner_tolerance = 1e-9 }
        "#,
    );
    let whole = root.path().join("whole/model");
    train(&settings, &dataset, &whole).unwrap();
    let cases =
        [("the gradient", 2), ("the diagonal", 13), ("conjugate gradients, 7 of 30 steps", 2), ("the validation", 2)];
    for (text, count) in cases.into_iter().chain([("the validation", 4)]) {
        let resumed = root.path().join(format!("{text}-{count}/model"));
        let stopper = Stopper { text, count, heard: Mutex::default(), interrupt: Interrupt::new() };
        let run = Run { observer: &stopper, interrupt: &stopper.interrupt };
        let stopped = paramill::train::run(&settings, 1, NATIVE, &dataset, &resumed, &run);
        assert!(matches!(stopped, Err(Error::Interrupted { signal: 15, .. })), "{text}: the training came to an end");
        train(&settings, &dataset, &resumed).unwrap();
        assert!(files(&whole) == files(&resumed), "{text} {count}: manifest, weights or losses differ");
    }
}
