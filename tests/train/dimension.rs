//! The dimension of the contexts, chosen by the validation split.

use std::fs;

use paramill::progress::{Event, Interrupt, Observer, Run};
use paramill::train::{Error, run_choosing};

use crate::model::{Listener, NATIVE, generate, train_settings};

/// Asks to stop once the error of one dimension is known.
#[derive(Default)]
struct AfterFirst {
    interrupt: Interrupt,
}

impl Observer for AfterFirst {
    fn observe(&self, event: Event) {
        if matches!(&event, Event::Note(text) if text.starts_with("context_dimension = 1:")) {
            self.interrupt.request(2);
        }
    }
}

/// Two rates vary between nine pairs of species; the rates of change are products of the channels, which a library can say exactly.
#[test]
fn as_many_dimensions_are_chosen_as_parameters_vary() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(
        root.path(),
        r#"
        dataset = "pairs"
        system = "lotka-volterra"
        [splits]
        train = { environments = "train", trajectories = 2 }
        validation = { environments = "train", trajectories = 1 }
        "#,
    );
    let settings = train_settings(
        r#"
        rule = "coda-l2"
        context_dimension = "auto"
        model = { kind = "library", degree = 2 }
        substeps = 4
        steps = 0
        gauss_newton = { steps = 30, checkpoint_every = 2 }
        "#,
    );
    let directory = root.path().join("models/pairs");
    // Interrupted once the first is known: it is not trained again.
    let first = AfterFirst::default();
    let run = Run { observer: &first, interrupt: &first.interrupt };
    let stopped = run_choosing(&settings, 1, NATIVE, (&dataset, None), &directory, &run);
    assert!(matches!(stopped, Err(Error::Interrupted { .. })), "{:?}", stopped.err());
    let listener = Listener::default();
    let model = run_choosing(&settings, 1, NATIVE, (&dataset, None), &directory, &listener.run()).unwrap();
    let begun = |event: &&Event| matches!(event, Event::Begin { what, .. } if what == "gauss-newton");
    assert_eq!(listener.events.lock().unwrap().iter().filter(begun).count(), 2);
    assert_eq!(model.manifest.context_dimension, 2);
    assert_eq!(model.contexts.len(), 9 * 2);
    assert!(model.manifest.training.validation < 1e-6, "{}", model.manifest.training.validation);
    let notes = listener.notes();
    assert!(notes.contains("context_dimension = 3") && notes.contains("context_dimension: 2 is kept"), "{notes}");
    let left: Vec<_> = fs::read_dir(directory.parent().unwrap()).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(left, ["pairs"], "the others are gone");
}
