//! Small datasets and models for the tests of training and estimation.
#![allow(dead_code, reason = "each test crate uses a part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use paramill::checkpoint::StoredModel;
use paramill::dataset::{Dataset, Manifest, Writer};
use paramill::engine::{Compute, DeviceChoice, EngineChoice};
use paramill::progress::{Event, Interrupt, Observer, Run, Silent};
use paramill::schema::{Split, Trajectory};
use paramill::{estimate, generate, train};

/// Four pairs of species at the corners of the training grid, two trajectories each.
pub const FOUR_PAIRS: &str = r#"
    dataset = "pairs"
    system = "lotka-volterra"
    [splits.train]
    environments = "train"
    limit = 4
    trajectories = 2
    [splits.validation]
    environments = "train"
    limit = 4
    trajectories = 1
"#;

pub const NATIVE: Compute = Compute { device: DeviceChoice::Cpu, engine: EngineChoice::Native };
pub const TORCH: Compute = Compute { device: DeviceChoice::Cpu, engine: EngineChoice::Torch };

/// Simulates the dataset of `settings` to `root/pairs`.
pub fn generate(root: &Path, settings: &str) -> Dataset {
    let directory = root.join("pairs");
    let settings: generate::Settings = toml::from_str(settings).unwrap();
    silently(|run| generate::run(&settings, 1, &directory, run)).unwrap();
    Dataset::open(&directory).unwrap()
}

/// A dataset in `directory` with the quantities of `like` and these trajectories, in the order of their ids.
pub fn dataset_of(directory: &Path, like: &Manifest, splits: Vec<(Split, Vec<Trajectory>)>) -> Dataset {
    let _ = fs::remove_dir_all(directory);
    let mut writer = Writer::create(directory, like.clone()).unwrap();
    for (split, mut trajectories) in splits {
        trajectories.sort_by(|a, b| a.key().cmp(&b.key()));
        trajectories.iter().for_each(|trajectory| writer.write(split, trajectory).unwrap());
    }
    writer.finish().unwrap();
    Dataset::open(directory).unwrap()
}

/// A trajectory of two species, every half unit of time.
pub fn series(environment: &str, states: &[[f64; 2]]) -> Trajectory {
    Trajectory {
        environment: environment.to_owned(),
        trajectory: "0".to_owned(),
        parameters: vec![Some(0.75), Some(0.75)],
        times: (0..states.len()).map(|t| t as f64 * 0.5).collect(),
        states: states.as_flattened().to_vec(),
        inputs: Vec::new(),
    }
}

pub fn silently<T>(work: impl FnOnce(&Run) -> T) -> T {
    let interrupt = Interrupt::new();
    work(&Run { observer: &Silent, interrupt: &interrupt })
}

pub fn train_settings(settings: &str) -> train::Settings {
    toml::from_str(settings).unwrap()
}

/// Trains with the native engine to `directory`.
pub fn train(
    settings: &train::Settings,
    dataset: &Dataset,
    directory: &Path,
) -> Result<StoredModel, Box<train::Error>> {
    silently(|run| train::run(settings, 1, NATIVE, dataset, directory, run)).map_err(Box::new)
}

/// Fits the map of `model` and writes it with the model to `directory`.
pub fn map(settings: &str, dataset: &Dataset, model: &mut StoredModel, directory: &Path) {
    let settings: estimate::MapSettings = toml::from_str(settings).unwrap();
    let of_contexts = estimate::Settings::default();
    model.map = silently(|run| estimate::map::run(&settings, &of_contexts, NATIVE, dataset, model, run)).unwrap();
    model.write(directory).unwrap();
}

/// Remembers what it is told, and asks to stop once so many units of a part are done.
#[derive(Default)]
pub struct Listener {
    pub events: Mutex<Vec<Event>>,
    pub interrupt: Interrupt,
    pub stop_at: Option<(&'static str, u64)>,
}

impl Listener {
    pub fn stopping_at(part: &'static str, done: u64) -> Self {
        Listener { stop_at: Some((part, done)), ..Listener::default() }
    }

    pub fn run(&self) -> Run<'_> {
        Run { observer: self, interrupt: &self.interrupt }
    }

    /// The warnings so far, one a line.
    pub fn warnings(&self) -> String {
        self.sentences(|event| match event {
            Event::Warn(text) => Some(text.clone()),
            _ => None,
        })
    }

    /// The notes so far, one a line.
    pub fn notes(&self) -> String {
        self.sentences(|event| match event {
            Event::Note(text) => Some(text.clone()),
            _ => None,
        })
    }

    fn sentences(&self, pick: impl Fn(&Event) -> Option<String>) -> String {
        self.events.lock().unwrap().iter().filter_map(pick).collect::<Vec<_>>().join("\n")
    }
}

impl Observer for Listener {
    fn observe(&self, event: Event) {
        let mut events = self.events.lock().unwrap();
        let part = events.iter().rev().find_map(|event| match event {
            Event::Begin { what, .. } => Some(what.as_str()),
            _ => None,
        });
        if let (Event::Advance { done, .. }, Some((stop_in, stop))) = (&event, self.stop_at)
            && part == Some(stop_in)
            && *done >= stop
        {
            self.interrupt.request(2);
        }
        events.push(event);
    }
}

/// Name and bytes of every file in a directory, folders left out.
pub fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.is_file())
        .map(|path| (PathBuf::from(path.file_name().unwrap()), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

pub fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}
