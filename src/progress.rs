//! What a running stage tells the outside: progress events out, a request to stop in.
//!
//! Stages print nothing. They emit [`Event`]s to an [`Observer`] (the terminal, a log, nobody) and look at an
//! [`Interrupt`] between units of work.

use std::sync::atomic::{AtomicI32, Ordering};

/// One thing that happened in a stage.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A stage, or a part of it, begins; `total` units of work are expected if known.
    Begin { what: String, total: Option<u64>, unit: &'static str },
    /// `done` units are behind us; `note` is a short reading such as the current loss.
    Advance { done: u64, note: String },
    /// A sentence worth keeping in the log.
    Note(String),
    /// A sentence that the user should act on.
    Warn(String),
    /// The part begun last has ended.
    End,
}

/// Receives the events of a stage, possibly from several threads.
pub trait Observer: Sync {
    fn observe(&self, event: Event);
}

/// An observer that drops every event.
pub struct Silent;

impl Observer for Silent {
    fn observe(&self, _: Event) {}
}

/// A request to stop, set from a signal handler and read between units of work.
#[derive(Debug, Default)]
pub struct Interrupt(AtomicI32);

impl Interrupt {
    pub const fn new() -> Self {
        Interrupt(AtomicI32::new(0))
    }

    /// Asks the running stage to save its state and return.
    pub fn request(&self, signal: i32) {
        self.0.store(signal, Ordering::SeqCst);
    }

    /// The signal that asked to stop (2 for SIGINT, 15 for SIGTERM), if one did.
    pub fn requested(&self) -> Option<i32> {
        Some(self.0.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }
}

/// What every stage is handed beside its settings.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub observer: &'a dyn Observer,
    pub interrupt: &'a Interrupt,
}

impl Run<'_> {
    pub fn emit(&self, event: Event) {
        self.observer.observe(event);
    }
}
