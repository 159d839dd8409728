//! The commands of a user that are told how a run ended.
//!
//! A command gets no shell, and its result changes nothing: what is wrong with it is warned of. What it prints goes to stderr, because
//! stdout is for results.

use std::io;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::progress::{Event, Run};

/// How often a running command is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Calls `command`, the value of `setting`, with these environment variables beside its own, for at most `limit`.
pub(crate) fn call(setting: &str, command: &[String], variables: &[(&str, String)], limit: Duration, run: &Run<'_>) {
    let Some((program, arguments)) = command.split_first() else { return };
    let warn = |found: String, remedy: &str| {
        run.emit(Event::Warn(format!("{setting}: the command `{program}` {found}; {remedy}")));
    };
    let child = Command::new(program)
        .args(arguments)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            return warn(format!("cannot be started ({error})"), "give the path of a program that may be executed");
        }
    };
    let (begun, asked_before) = (Instant::now(), run.interrupt.requested());
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return,
            Ok(Some(status)) => return warn(format!("ended with {status}"), "see what it says on stderr"),
            Err(error) => return warn(format!("cannot be waited for ({error})"), "see whether it still runs"),
            Ok(None) => {}
        }
        let stopped = run.interrupt.requested() != asked_before;
        if stopped || begun.elapsed() >= limit {
            let _ = child.kill();
            let _ = child.wait();
            let found = match stopped {
                true => "was stopped with the run".to_owned(),
                false => format!("ran longer than {} s and was ended", limit.as_secs()),
            };
            return warn(found, "make it faster, or raise `run.command_seconds`");
        }
        thread::sleep(LOOK_EVERY);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::progress::{Interrupt, Observer};

    #[derive(Default)]
    struct Warnings(Mutex<Vec<String>>);

    impl Observer for Warnings {
        fn observe(&self, event: Event) {
            if let Event::Warn(text) = event {
                self.0.lock().unwrap().push(text);
            }
        }
    }

    #[test]
    fn what_is_wrong_with_a_command_is_said() {
        let of = |command: &[&str], milliseconds| {
            let (heard, interrupt) = (Warnings::default(), Interrupt::new());
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            let run = Run { observer: &heard, interrupt: &interrupt };
            let variables = [("PARAMILL_EXIT_CODE", "4".to_owned())];
            call("run.on_failure", &command, &variables, Duration::from_millis(milliseconds), &run);
            heard.0.into_inner().unwrap().join("\n")
        };
        assert_eq!(of(&["sh", "-c", "test $PARAMILL_EXIT_CODE = 4"], 60_000), "");
        assert_eq!(of(&[], 60_000), "");
        assert!(of(&["sh", "-c", "exit 3"], 60_000).contains("`sh` ended with exit status: 3"));
        assert!(of(&["/no/such/program"], 60_000).contains("cannot be started"));
        assert!(of(&["sleep", "60"], 50).contains("ran longer than"));
    }
}
