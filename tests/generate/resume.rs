//! A run that was stopped or killed goes on behind the shards that it finished.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::*;

/// 34 of these trajectories fill a shard: two of the first split are left over.
const LONG: &str = r#"
    dataset = "long"
    system = "lotka-volterra"
    rtol = 1e-6
    atol = 1e-6
    time_step = 0.0005
    [splits.train]
    environments = "train"
    trajectories = 4
    [splits.test]
    environments = "train"
    trajectories = 2
"#;

/// Asks to stop once so many trajectories have been handed over.
struct StopAt<'a>(u64, &'a Interrupt);

impl Observer for StopAt<'_> {
    fn observe(&self, event: Event) {
        if matches!(event, Event::Advance { done, .. } if done >= self.0) {
            self.1.request(2);
        }
    }
}

fn stopped(settings: &Settings, seed: u64, directory: &Path) -> usize {
    let interrupt = Interrupt::new();
    let run = Run { observer: &StopAt(36, &interrupt), interrupt: &interrupt };
    match generate::run(settings, seed, directory, &run) {
        Err(Error::Interrupted { signal: 2, kept }) => kept,
        ended => panic!("{ended:?}"),
    }
}

/// Generates to the end, and returns the notes.
fn notes(settings: &Settings, seed: u64, directory: &Path) -> String {
    let (log, interrupt) = (Log::default(), Interrupt::new());
    generate::run(settings, seed, directory, &Run { observer: &log, interrupt: &interrupt }).unwrap();
    let events = log.0.into_inner().unwrap();
    let notes = events.iter().filter_map(|event| match event {
        Event::Note(note) => Some(note.as_str()),
        _ => None,
    });
    notes.collect::<Vec<_>>().join("\n")
}

/// Every file below `directory`, by its path there.
fn tree(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.path().is_dir() {
            found.extend(tree(&entry.path()).into_iter().map(|(below, bytes)| (format!("{name}/{below}"), bytes)));
        } else {
            found.insert(name, fs::read(entry.path()).unwrap());
        }
    }
    found
}

#[test]
fn a_stopped_run_goes_on_behind_its_finished_shards() {
    let place = tempfile::tempdir().unwrap();
    let [whole, directory] = ["whole", "resumed"].map(|name| place.path().join(name));
    let settings = settings(LONG);
    let unfinished = place.path().join(".resumed.unfinished");
    generate(&settings, 1, &whole);

    assert_eq!(stopped(&settings, 1, &directory), 34);
    assert!(unfinished.is_dir() && !directory.exists());
    let said = notes(&settings, 1, &directory);
    assert!(said.contains("34 trajectories are kept") && said.contains("20 trajectories took"), "{said}");
    assert!(tree(&directory) == tree(&whole));
    assert!(!unfinished.exists());

    // A shard that is not what it was is made again, and so is every one behind it.
    assert_eq!(stopped(&settings, 1, &directory), 34);
    let shard = unfinished.join("hdf5/train-00000.part");
    let mut bytes = fs::read(&shard).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&shard, bytes).unwrap();
    let said = notes(&settings, 1, &directory);
    assert!(!said.contains("kept") && said.contains("54 trajectories took"), "{said}");
    assert!(tree(&directory) == tree(&whole));

    // What was to be another dataset is of no use.
    assert_eq!(stopped(&settings, 2, &directory), 34);
    let said = notes(&settings, 1, &directory);
    assert!(said.contains("discarded") && said.contains("54 trajectories took"), "{said}");
    assert!(tree(&directory) == tree(&whole));
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2);
}

#[test]
fn a_killed_run_goes_on_too() {
    let root = tempfile::tempdir().unwrap();
    let text = LONG.replace("[splits", "[generate.splits").replace("trajectories = 4", "trajectories = 12");
    fs::write(root.path().join("long.toml"), format!("[generate]{text}")).unwrap();
    let command = |workspace: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_paramill"));
        command.args(["run", "../long.toml", "--workspace", "runs"]).current_dir(root.path().join(workspace));
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let [killed, whole] = ["killed", "whole"].map(|workspace| root.path().join(workspace));
    fs::create_dir(&whole).unwrap();
    // Where the machine is busy, a run may be over before it is killed: then it is another's turn.
    let made = killed.join("datasets/long");
    let record = killed.join("datasets/.long.unfinished/shards/train-00000.json");
    let cut_short = (0..20).any(|_| {
        let _ = fs::remove_dir_all(&killed);
        fs::create_dir(&killed).unwrap();
        let mut child = command("killed").spawn().unwrap();
        while !record.exists() && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        !made.exists()
    });
    assert!(cut_short, "every run ended before it could be killed");

    let said = command("killed").output().unwrap();
    let said = String::from_utf8(said.stderr).unwrap();
    assert!(said.contains("trajectories are kept from an unfinished run"), "{said}");
    let counts = said.split_whitespace().collect::<Vec<_>>();
    let before = |word: &str| counts[counts.iter().position(|it| *it == word).unwrap() - 2].parse::<usize>().unwrap();
    assert_eq!(before("are") + before("took"), 9 * 14, "{said}");
    assert!(command("whole").output().unwrap().status.success());
    assert!(tree(&made) == tree(&whole.join("datasets/long")));
}
