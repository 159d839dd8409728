//! Faults on request, for tests: compiled with the feature `failpoints` alone.
//!
//! `PARAMILL_FAILPOINTS` holds rules, separated by commas, each `FATE[@OPERATION][:N[+]]`:
//!
//! ```text
//! kill:17            the process is killed at its 17th operation: a write is half done by then, a removal has begun
//! ENOSPC@write:3+    the third write finds a full disk, and so do all after it
//! EINVAL@exchange    no two directories can be exchanged
//! hang@sync:5        the fifth sync takes a minute
//! ```
//!
//! Operations are `create`, `write`, `sync`, `rename`, `exchange`, `link`, `remove` and `lock`; a rule counts its own kind from 1. Into the
//! file `PARAMILL_FAILPOINTS_LOG` goes a line for each operation: its kind and its path.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

use rustix::io::Errno;
use signal_hook::consts::SIGKILL;

use super::operation::{Fate, Operation};

/// Fates by their names.
const FATES: [(&str, Fate); 10] = [
    ("kill", Fate::Dies),
    ("hang", Fate::Hangs),
    ("ENOSPC", Fate::Fails(Errno::NOSPC.raw_os_error())),
    ("EIO", Fate::Fails(Errno::IO.raw_os_error())),
    ("EROFS", Fate::Fails(Errno::ROFS.raw_os_error())),
    ("EINVAL", Fate::Fails(Errno::INVAL.raw_os_error())),
    ("ENOSYS", Fate::Fails(Errno::NOSYS.raw_os_error())),
    ("EXDEV", Fate::Fails(Errno::XDEV.raw_os_error())),
    ("ENOLCK", Fate::Fails(Errno::NOLCK.raw_os_error())),
    ("EOPNOTSUPP", Fate::Fails(Errno::OPNOTSUPP.raw_os_error())),
];

/// A rule, and how often its operation came.
#[derive(Clone, Debug, PartialEq)]
struct Rule {
    fate: Fate,
    /// Name of the operation; any if absent.
    of: Option<String>,
    /// Its first time and its last.
    from: u64,
    to: u64,
    seen: u64,
}

impl Rule {
    fn parse(text: &str) -> Option<Rule> {
        let (rest, count) = text.split_once(':').map_or((text, None), |(rest, count)| (rest, Some(count)));
        let (name, of) = rest.split_once('@').map_or((rest, None), |(name, of)| (name, Some(of.to_owned())));
        let (_, fate) = FATES.into_iter().find(|(known, _)| *known == name)?;
        let (from, to) = match count {
            None => (1, u64::MAX),
            Some(count) => match count.strip_suffix('+') {
                Some(from) => (from.parse().ok()?, u64::MAX),
                None => (count.parse().ok()?, count.parse().ok()?),
            },
        };
        Some(Rule { fate, of, from, to, seen: 0 })
    }

    /// Takes note of an operation, and tells whether its fate is this one.
    fn meets(&mut self, operation: Operation) -> bool {
        if self.of.as_ref().is_some_and(|of| of != operation.name()) {
            return false;
        }
        self.seen += 1;
        (self.from..=self.to).contains(&self.seen)
    }
}

static RULES: LazyLock<Mutex<Vec<Rule>>> = LazyLock::new(|| {
    let text = std::env::var("PARAMILL_FAILPOINTS").unwrap_or_default();
    let rule = |text: &str| Rule::parse(text).unwrap_or_else(|| panic!("PARAMILL_FAILPOINTS: no rule `{text}`"));
    Mutex::new(text.split(',').filter(|text| !text.is_empty()).map(rule).collect())
});

/// What the rules say of an operation on `path`.
pub(super) fn fate(operation: Operation, path: &Path) -> Fate {
    if let Some(log) = std::env::var_os("PARAMILL_FAILPOINTS_LOG") {
        let line = format!("{} {}\n", operation.name(), path.display());
        let file = OpenOptions::new().append(true).create(true).open(log);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the log of failpoints can be written");
    }
    let mut rules = RULES.lock().unwrap_or_else(PoisonError::into_inner);
    // Each rule counts, whether or not another one came first.
    let met: Vec<Fate> = rules.iter_mut().filter_map(|rule| rule.meets(operation).then_some(rule.fate)).collect();
    met.first().copied().unwrap_or(Fate::Happens)
}

/// Ends the process as nothing can outlive.
pub(super) fn die() -> ! {
    let _ = signal_hook::low_level::raise(SIGKILL);
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_counts_its_own_operation() {
        let mut third = Rule::parse("ENOSPC@write:3+").unwrap();
        let met = [Operation::Write, Operation::Sync, Operation::Write, Operation::Write, Operation::Write];
        assert_eq!(met.map(|operation| third.meets(operation)), [false, false, false, true, true]);
        let mut second = Rule::parse("kill:2").unwrap();
        assert_eq!(met.map(|operation| second.meets(operation)), [false, true, false, false, false]);
        let mut every = Rule::parse("ENOLCK@lock").unwrap();
        assert!(every.meets(Operation::Lock) && every.meets(Operation::Lock) && !every.meets(Operation::Write));
        assert_eq!([Rule::parse("EFOO:1"), Rule::parse("kill:x")], [None, None]);
    }
}
