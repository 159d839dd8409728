//! Readers of what Paramill itself writes, on bytes that anyone may have written: a result or an error, whatever the bytes are.
//!
//! Each puts the bytes in the place of one file of a sound directory, gives the others the digests of them, and reads the directory. The cases of
//! `tests/fuzz.rs` damage sound bytes; the targets of cargo-fuzz in `fuzz/` make up their own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use paramill::checkpoint::{self, Opened, StoredModel, TrainingState, TrainingStore};
use paramill::dataset::{self, Dataset, Store};
use paramill::digest::sha256;
use paramill::schema::Split;
use serde_json::Value;
use tempfile::TempDir;

use super::common::{manifest, shared_grid, write};
use super::model::{FOUR_PAIRS, generate, map, train, train_settings};

/// A model of a few numbers: its readers, not its training, are on trial.
const TRAINING: &str = "steps = 1\ngauss_newton = { steps = 0 }\nmodel = { kind = \"mlp\", layers = 2, width = 4 }\n";
/// Trained values of the checkpoint.
const TRAINED: usize = 3;

/// Sound directories, which the bytes are put into.
struct Sound {
    root: TempDir,
    /// Sound bytes of the files that are replaced, by their names here.
    files: BTreeMap<&'static str, Vec<u8>>,
    checkpoint: PathBuf,
}

impl Sound {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        write(&root.path().join("set"), manifest(), &[(Split::Train, shared_grid(2))]);
        let pairs = generate(root.path(), FOUR_PAIRS);
        let directory = root.path().join("model");
        let mut model = train(&train_settings(TRAINING), &pairs, &directory).unwrap();
        map("kind = \"affine\"", &pairs, &mut model, &directory);
        let state = TrainingState {
            assignments: Vec::new(),
            step: 7,
            trained: vec![0.5; TRAINED],
            first_moment: vec![0.0; TRAINED],
            second_moment: vec![1.0; TRAINED],
            best: None,
            looks_without_best: 2,
            damping: Some((1.0, 2.0)),
            stage: None,
            window: (0.25, 3),
            look_is_due: true,
            log: Vec::new(),
        };
        let bundle = root.path().join("sound.tar");
        checkpoint::pack(&directory, &bundle).unwrap();
        let checkpoint = TrainingStore::new(&root.path().join("other"), "0123456789abcdef").save(&state).unwrap();
        let files = [
            ("dataset", root.path().join("set/manifest.json")),
            ("model", directory.join("manifest.json")),
            ("map", directory.join("map.json")),
            ("weights", directory.join("weights.safetensors")),
            ("bundle", bundle),
            ("state", checkpoint.join("state.json")),
            ("arrays", checkpoint.join("state.safetensors")),
        ];
        let files = files.map(|(name, path)| (name, fs::read(path).unwrap()));
        Sound { root, files: files.into(), checkpoint }
    }
}

thread_local! {
    static SOUND: RefCell<Option<Sound>> = const { RefCell::new(None) };
}

fn with_sound<T>(work: impl FnOnce(&Sound) -> T) -> T {
    SOUND.with_borrow_mut(|sound| work(sound.get_or_insert_with(Sound::new)))
}

/// The sound bytes of a file by its name among `dataset`, `model`, `map`, `weights`, `bundle`, `state` and `arrays`.
pub fn sound(name: &str) -> Vec<u8> {
    with_sound(|sound| sound.files[name].clone())
}

/// Puts `bytes` in the place of the file of this name, and reads.
pub fn read(name: &str, bytes: &[u8]) {
    with_sound(|sound| match name {
        "dataset" => {
            let directory = sound.root.path().join("set");
            sealed(&directory, "manifest.json", bytes);
            if let Ok(dataset) = Dataset::open(&directory) {
                for store in [Store::Parquet, Store::Hdf5] {
                    let _ = dataset.batches(Split::Train, store, 2).map(|batches| batches.take(9).for_each(drop));
                }
            }
            dataset::verify(&directory);
        }
        "model" => {
            let directory = sound.root.path().join("model");
            for (file, name) in [("map.json", "map"), ("weights.safetensors", "weights")] {
                fs::write(directory.join(file), &sound.files[name]).unwrap();
            }
            sealed(&directory, "manifest.json", bytes);
            let _ = StoredModel::read(&directory);
            checkpoint::verify(&directory);
        }
        "map" | "weights" => {
            let directory = sound.root.path().join("model");
            let file = if name == "map" { "map.json" } else { "weights.safetensors" };
            fs::write(directory.join(file), bytes).unwrap();
            let mut listing: Value = serde_json::from_slice(&sound.files["model"]).unwrap();
            for entry in listing["files"].as_array_mut().unwrap().iter_mut().filter(|entry| entry["path"] == file) {
                entry["bytes"] = bytes.len().into();
                entry["sha256"] = sha256(bytes).into();
            }
            sealed(&directory, "manifest.json", listing.to_string().as_bytes());
            let _ = StoredModel::read(&directory);
            fs::write(directory.join(file), &sound.files[name]).unwrap();
        }
        "bundle" => {
            let [bundle, unpacked] = ["it.tar", "unpacked"].map(|name| sound.root.path().join(name));
            fs::write(&bundle, bytes).unwrap();
            let done = checkpoint::unpack(&bundle, &unpacked);
            assert_eq!(done.is_ok(), unpacked.exists(), "a directory, or a refusal: {done:?}");
            if checkpoint::is_bundle(&bundle) {
                assert_eq!(done.is_ok(), Opened::new(&bundle).is_ok(), "{done:?}");
            }
            if done.is_ok() {
                assert_eq!(checkpoint::verify(&unpacked), Vec::<String>::new());
                fs::remove_dir_all(&unpacked).unwrap();
            }
        }
        "state" | "arrays" => {
            let arrays = if name == "arrays" { bytes } else { &sound.files["arrays"] };
            fs::write(sound.checkpoint.join("state.safetensors"), arrays).unwrap();
            let header = if name == "state" {
                bytes.to_vec()
            } else {
                let mut header: Value = serde_json::from_slice(&sound.files["state"]).unwrap();
                header["arrays_sha256"] = sha256(bytes).into();
                header.to_string().into_bytes()
            };
            sealed(&sound.checkpoint, "state.json", &header);
            let store = TrainingStore::new(&sound.root.path().join("other"), "0123456789abcdef");
            let (state, broken) = store.load(TRAINED).unwrap();
            assert_ne!(state.is_some(), !broken.is_empty(), "read, or refused with a reason");
        }
        other => panic!("no file {other:?}"),
    });
}

fn sealed(directory: &Path, name: &str, bytes: &[u8]) {
    fs::write(directory.join(name), bytes).unwrap();
    let sums = fs::read_to_string(directory.join("SHA256SUMS")).unwrap();
    let line = |line: &str| match line.split_once("  ") {
        Some((_, named)) if named == name => format!("{}  {name}\n", sha256(bytes)),
        _ => format!("{line}\n"),
    };
    fs::write(directory.join("SHA256SUMS"), sums.lines().map(line).collect::<String>()).unwrap();
}
