//! Who holds a lock: a process and its machine, as it says of itself, and whether it still lives.

use std::fmt;
use std::fs;

/// A process on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// The process.
    pub process: u32,
    /// Its machine; empty where it has no name, or it is this one and nobody asked.
    pub host: String,
    /// When it began, in ticks since the machine did, so that another process of the same number is known for another one; 0 where the system does
    /// not tell.
    start: u64,
    /// Its namespace of processes: two containers of one name count anew from 1 each.
    namespace: String,
}

impl Holder {
    /// This process.
    pub(crate) fn this() -> Self {
        let process = std::process::id();
        Holder { process, host: host(), start: start(process).unwrap_or(0), namespace: namespace() }
    }

    /// Whether it may still live. Of a process elsewhere nothing is known.
    pub(crate) fn may_live(&self) -> bool {
        let is_here = self.host == host() && self.namespace == namespace();
        !is_here || self.start == 0 || start(self.process) == Some(self.start)
    }

    /// What [`fmt::Display`] wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, ' ');
        let (process, start) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let (namespace, host) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        Some(Holder { process, host, start, namespace })
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {} {}", self.process, self.start, self.namespace, self.host)
    }
}

/// Name of this machine.
fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect::<String>() + "n"
}

/// When a process of this machine began; `None` if there is none.
fn start(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Its second field is a name in brackets, which may hold spaces and brackets.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if ["Z", "X"].contains(&state) {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_ended_is_told_from_one_that_lives_or_is_elsewhere() {
        let this = Holder::this();
        assert_eq!(Holder::parse(&this.to_string()).unwrap(), this);
        assert!(this.may_live() && this.start > 0, "{this}");
        let before = Holder { start: this.start - 1, ..this.clone() };
        assert!(!before.may_live(), "another process of the same number");
        assert!(Holder { host: "elsewhere".to_owned(), ..before.clone() }.may_live());
        assert!(Holder { namespace: "7n".to_owned(), ..before }.may_live());
        assert_eq!(Holder::parse("half a holder"), None);
    }
}
