//! A watched process that runs case after case.

use std::fs::{self, File};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

/// Holds the kind, the first number and the count of the cases that the watched process runs.
pub const CASES: &str = "PARAMILL_FUZZ_CASES";
/// Names the file in which the watched process says what case it is at.
const PROGRESS: &str = "PARAMILL_FUZZ_PROGRESS";
/// Cases of each kind where `PARAMILL_FUZZ_SECONDS` is not set.
const CASES_BY_DEFAULT: u64 = 200;
/// A case that takes longer never ends.
const LONGEST: Duration = Duration::from_secs(60);
/// Memory that a case may use at most, resident and in addresses.
const MOST_RESIDENT: usize = 768 << 10; // KiB
const MOST_ADDRESSES: usize = 6 << 20; // KiB, of which libtorch and the stacks of threads take most
/// Findings after which a kind is given up.
const ENOUGH: usize = 10;

/// Says that a case begins.
pub fn begin(case: u64) {
    if let Ok(path) = env::var(PROGRESS) {
        fs::write(path, case.to_string()).unwrap();
    }
}

pub fn assert_little_memory() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB"));
    let peak = peak.map_or(0, |peak| peak.trim().parse::<usize>().unwrap());
    assert!(peak < MOST_RESIDENT, "used {} MiB", peak >> 10);
}

/// Runs the cases of a kind, those that once went wrong, then for a time or a number of them, and fails with all that go wrong.
pub fn watch(kind: &str, found_before: &[u64]) {
    let seconds = env::var("PARAMILL_FUZZ_SECONDS").ok().map(|seconds| seconds.parse::<u64>().unwrap());
    let deadline = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let last = if seconds.is_some() { u64::MAX >> 1 } else { CASES_BY_DEFAULT };
    let root = tempfile::tempdir().unwrap();
    let (progress, output) = (root.path().join("progress"), root.path().join("output"));
    let mut findings = Vec::new();
    let mut before = found_before.iter();
    let mut first = 0;
    while first < last && findings.len() < ENOUGH && deadline.is_none_or(|deadline| Instant::now() < deadline) {
        let again = before.next().copied();
        let (case, count) = again.map_or((first, last - first), |case| (case, 1));
        fs::write(&progress, case.to_string()).unwrap();
        let mut child = Command::new("sh")
            .args(["-c", &format!("ulimit -v {MOST_ADDRESSES}; ulimit -c 0; exec \"$0\" \"$@\"")])
            .arg(env::current_exe().unwrap())
            .args(["--exact", "cases", "--nocapture", "--test-threads=1"])
            .env(CASES, format!("{kind} {case} {count}"))
            .env(PROGRESS, &progress)
            .env("TMPDIR", root.path())
            .stdout(Stdio::null())
            .stderr(File::create(&output).unwrap())
            .spawn()
            .unwrap();
        let at = || fs::read_to_string(&progress).unwrap().parse::<u64>();
        let (case, end) = followed(&mut child, deadline, case, || at().ok());
        if let Some(end) = end {
            let said = fs::read_to_string(&output).unwrap_or_default();
            let said: String = said.chars().take(600).collect();
            findings.push(format!("{CASES}='{kind} {case} 1': {end}\n{said}"));
        }
        if again.is_none() {
            first = case + 1;
        }
    }
    println!("{kind}: {first} cases");
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

/// Waits until the process ends, and says at which case and, if that was not as it should be, how.
fn followed(
    child: &mut Child,
    deadline: Option<Instant>,
    first: u64,
    at: impl Fn() -> Option<u64>,
) -> (u64, Option<String>) {
    let (mut case, mut since) = (first, Instant::now());
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            let case = at().unwrap_or(case);
            return (case, (!status.success()).then(|| status.to_string()));
        }
        match at() {
            Some(now) if now != case => (case, since) = (now, Instant::now()),
            _ => {}
        }
        let endless = since.elapsed() > LONGEST;
        if endless || deadline.is_some_and(|deadline| Instant::now() > deadline) {
            child.kill().unwrap();
            child.wait().unwrap();
            return (case, endless.then(|| format!("not done in {} s", LONGEST.as_secs())));
        }
        thread::sleep(Duration::from_millis(20));
    }
}
