//! SIGINT and SIGTERM ask the running stage to stop; a second SIGINT stops at once.

use std::sync::Once;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::output::complain;
use crate::progress::Interrupt;

/// The request that the signals set.
pub static INTERRUPT: Interrupt = Interrupt::new();

/// Starts to listen, for the rest of the process; once, however often it is called.
pub fn listen() {
    static STARTED: Once = Once::new();
    STARTED.call_once(start);
}

fn start() {
    let mut signals = match Signals::new([SIGINT, SIGTERM]) {
        Ok(signals) => signals,
        Err(error) => return complain(&format!("warning: signals end the run at once ({error})")),
    };
    thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGINT && INTERRUPT.requested().is_some() {
                signal_hook::low_level::exit(128 + SIGINT);
            }
            INTERRUPT.request(signal);
            complain("stopping after the current unit of work; Ctrl-C again stops at once");
        }
    });
}
