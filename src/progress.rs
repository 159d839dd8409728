//! Progress events of a running stage, and the request to stop it.
//!
//! Stages print nothing. They send [`Event`]s to an [`Observer`] (a terminal, a log, or [`Silent`]) and check an
//! [`Interrupt`] between units of work.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};

/// A progress event.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A stage of a pipeline begins; what follows is of it, until the next one. The name is that of its section.
    Stage(&'static str),
    /// A stage or a part of it begins.
    Begin {
        /// Name of the part.
        what: String,
        /// Units of work expected, if known.
        total: Option<u64>,
        /// Name of a unit of work, in the plural.
        unit: &'static str,
    },
    /// Some of the work is done.
    Advance {
        /// Units of work done so far.
        done: u64,
        /// A short status such as the current loss.
        note: String,
    },
    /// How far the unit of work that is under way has come, where one takes long.
    Underway(String),
    /// How a training stands after a look at the validation split; an [`Event::Advance`] follows.
    Look(Look),
    /// Information for the log.
    Note(String),
    /// A warning that the user should act on.
    Warn(String),
    /// The part that began last has ended.
    End,
}

/// The losses at a look at the validation split: mean squared errors in the model's own units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Steps done.
    pub step: u64,
    /// Over the steps since the look before.
    pub train: f64,
    /// On whole trajectories of the validation split; absent where it is not finite.
    pub validation: Option<f64>,
    /// The least of these so far.
    pub best: Option<f64>,
    /// That of the steps of Adam; absent after them.
    pub learning_rate: Option<f64>,
    /// That of the next step of Gauss-Newton, where it is known.
    pub damping: Option<f64>,
}

/// Receives the events of a stage, possibly from several threads.
pub trait Observer: Sync {
    /// Receives one event.
    fn observe(&self, event: Event);

    /// Takes note of a dataset or a model that is complete and is about to appear under its name, by the SHA-256 of its manifest (hex) and the inode
    /// of its directory, which it keeps: who hears it knows it for its own, should the process die before it can say more.
    ///
    /// # Errors
    /// If no note can be taken. It does not appear then.
    fn complete(&self, _sha256: &str, _inode: u64) -> io::Result<()> {
        Ok(())
    }
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
    /// No request.
    pub const fn new() -> Self {
        Interrupt(AtomicI32::new(0))
    }

    /// Asks the running stage to save its state and return.
    pub fn request(&self, signal: i32) {
        self.0.store(signal, Ordering::SeqCst);
    }

    /// The signal that asked to stop (1 for SIGHUP, 2 for SIGINT, 15 for SIGTERM), if one did.
    pub fn requested(&self) -> Option<i32> {
        Some(self.0.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
    }
}

/// What every stage receives besides its settings.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Where events go.
    pub observer: &'a dyn Observer,
    /// Whether to stop.
    pub interrupt: &'a Interrupt,
}

impl Run<'static> {
    /// Tells nobody and is never asked to stop.
    pub fn silent() -> Self {
        static NEVER: Interrupt = Interrupt::new();
        Run { observer: &Silent, interrupt: &NEVER }
    }
}

impl Run<'_> {
    /// Sends an event to the observer.
    pub fn emit(&self, event: Event) {
        self.observer.observe(event);
    }
}
