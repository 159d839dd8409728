//! SIGHUP, SIGINT and SIGTERM ask the running stage to stop; a second SIGINT or SIGTERM stops at once. SIGXFSZ is an error of writing.

use std::fs;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use super::output::complain;
use crate::progress::Interrupt;

/// The request to stop, which the signals set.
pub(crate) static INTERRUPT: Interrupt = Interrupt::new();

/// Least time between two signals that are two requests: `timeout` sends its signal to the process and then to its group, and a terminal that
/// closes sends more than one.
const APART: Duration = Duration::from_millis(300);

/// Starts to listen, for the rest of the process. Further calls do nothing.
pub(crate) fn listen() {
    static STARTED: Once = Once::new();
    STARTED.call_once(start);
}

/// Makes a write beyond the limit on file sizes (`ulimit -f`) an error of that file; by default SIGXFSZ would end the process.
pub(crate) fn outlive_file_limits() {
    // A handler, because ignoring the signal would be inherited by child processes.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
}

/// Whether the process was started with SIGHUP ignored, as `nohup` does so that a run outlives its terminal: a handler would undo
/// that. Where the system has no `/proc`, it is not known and SIGHUP is handled.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u128::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}

fn start() {
    let hangup = Some(SIGHUP).filter(|_| !ignores_hangup());
    let mut signals = match Signals::new(hangup.into_iter().chain([SIGINT, SIGTERM])) {
        Ok(signals) => signals,
        Err(error) => {
            return complain(&format!("warning: signals cannot be handled and will end the run at once ({error})"));
        }
    };
    thread::spawn(move || {
        let mut first = None;
        for signal in signals.forever() {
            match first {
                None => {
                    first = Some(Instant::now());
                    INTERRUPT.request(signal);
                    complain("stopping after the current unit of work; Ctrl-C or SIGTERM again stops at once");
                }
                // Whatever is written then is not published.
                Some(first) if first.elapsed() >= APART && signal != SIGHUP => {
                    signal_hook::low_level::exit(128 + signal);
                }
                Some(_) => {}
            }
        }
    });
}
