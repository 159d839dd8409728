//! The state of an unfinished training: enough to resume as if there had been no interruption.
//!
//! Every random draw of a training is keyed by its step, so the step number is the whole state of the random numbers.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::{Error, io_error};
use super::files::{parse, pretty};
use super::log::LogRecord;
use super::tensors;
use super::tensors::{Array, Arrays};
use crate::atomic;
use crate::digest::sha256;
use crate::disk;
use crate::regular;
use crate::seal;

const STATE_FILE: &str = "state.json";
const ARRAYS_FILE: &str = "state.safetensors";
/// Advice in messages about a damaged checkpoint.
const FALL_BACK: &str = "an earlier checkpoint is used if there is one";
/// Number of checkpoints kept: the newest, and one to fall back on.
const KEPT: usize = 2;

/// Everything that the next step depends on. Vectors hold the shared values `[S]`, then the contexts `[E, d]`.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingState {
    /// Steps done.
    pub step: u64,
    /// What is trained, after `step` steps.
    pub trained: Vec<f64>,
    /// Adam's running mean of the gradient.
    pub first_moment: Vec<f64>,
    /// Adam's running mean of the squared gradient.
    pub second_moment: Vec<f64>,
    /// The best weights so far; absent until a validation loss was finite.
    pub best: Option<Best>,
    /// Validations since the best.
    pub looks_without_best: u64,
    /// Damping of Gauss-Newton and the factor of its next increase; absent before the first step of a stage.
    pub damping: Option<(f64, f64)>,
    /// Stage of Gauss-Newton; absent before its first step.
    pub stage: Option<Stage>,
    /// Sum and number of training losses since the last record.
    pub window: (f64, u64),
    /// The environment of each training trajectory, where environments are inferred; else empty.
    pub assignments: Vec<usize>,
    /// Whether the validation loss after the last step is still to be computed.
    pub look_is_due: bool,
    /// The loss curve so far.
    pub log: Vec<LogRecord>,
}

/// A stage of Gauss-Newton: how long the segments are that it fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// Intervals between samples of a segment; none where whole trajectories are fitted.
    pub segment: Option<usize>,
    /// Steps of this stage that are done.
    pub steps: u64,
    /// The last ones of them that lowered the objective by little.
    #[serde(default)]
    pub slow: u64,
    /// Intervals of the segments of an earlier stage, the longest; zero before there was one.
    #[serde(default)]
    pub fitted: usize,
}

/// The best on the validation split so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Steps done when it was found.
    pub step: u64,
    /// Its mean squared error on the validation split, in the model's own units.
    pub validation: f64,
    /// What was trained, at that step.
    pub trained: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    step: u64,
    best: Option<(u64, f64)>,
    looks_without_best: u64,
    damping: Option<(f64, f64)>,
    stage: Option<Stage>,
    window: (f64, u64),
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    assignments: Vec<usize>,
    #[serde(default)]
    look_is_due: bool,
    log: Vec<LogRecord>,
    arrays_sha256: String,
}

/// The checkpoints of one training, in a directory named by the fingerprint of its settings and data.
pub struct TrainingStore {
    directory: PathBuf,
}

impl TrainingStore {
    /// The store beside the model directory `model`.
    pub fn new(model: &Path, fingerprint: &str) -> Self {
        TrainingStore { directory: trainings(model).join(&fingerprint[..16.min(fingerprint.len())]) }
    }

    /// Where the checkpoints are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes a checkpoint atomically, then removes all but the newest [`KEPT`].
    ///
    /// # Errors
    /// Any error of writing; earlier checkpoints are then untouched.
    pub fn save(&self, state: &TrainingState) -> Result<PathBuf, Error> {
        let target = self.directory.join(checkpoint_name(state.step));
        let mut arrays = Arrays::new();
        let mut put = |name: &str, values: &[f64]| {
            arrays.insert(name.to_owned(), Array::new(&[values.len()], values.to_vec()));
        };
        put("trained", &state.trained);
        put("first_moment", &state.first_moment);
        put("second_moment", &state.second_moment);
        if let Some(best) = &state.best {
            put("best", &best.trained);
        }
        let bytes = tensors::to_bytes(&arrays);
        let header = Header {
            step: state.step,
            best: state.best.as_ref().map(|best| (best.step, best.validation)),
            looks_without_best: state.looks_without_best,
            damping: state.damping,
            stage: state.stage,
            window: state.window,
            assignments: state.assignments.clone(),
            look_is_due: state.look_is_due,
            log: state.log.clone(),
            arrays_sha256: sha256(&bytes),
        };
        let directory = atomic::Directory::create(&target).map_err(io_error(&target))?;
        disk::write(&directory.path().join(ARRAYS_FILE), bytes).map_err(io_error(&target))?;
        let header = pretty(&header);
        disk::write(&directory.path().join(STATE_FILE), &header).map_err(io_error(&target))?;
        seal::write(directory.path(), STATE_FILE, &header).map_err(io_error(&target))?;
        directory.publish().map_err(io_error(&target))?;
        let checkpoints = self.checkpoints()?;
        for old in &checkpoints[..checkpoints.len().saturating_sub(KEPT)] {
            atomic::remove_directory(old).map_err(io_error(old))?;
        }
        Ok(target)
    }

    /// The newest checkpoint that can be read, and the errors of newer ones that cannot. `trained` is the number of
    /// trained values.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn load(&self, trained: usize) -> Result<(Option<TrainingState>, Vec<Error>), Error> {
        let mut broken = Vec::new();
        for checkpoint in self.checkpoints()?.iter().rev() {
            match read_checkpoint(checkpoint, trained) {
                Ok(state) => return Ok((Some(state), broken)),
                Err(error) => broken.push(error),
            }
        }
        Ok((None, broken))
    }

    /// The newest checkpoint of an earlier step than `step`.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn last_before(&self, step: u64) -> Result<Option<PathBuf>, Error> {
        let name = checkpoint_name(step);
        let checkpoints = self.checkpoints()?;
        Ok(checkpoints.into_iter().rfind(|path| path.file_name().is_some_and(|of| of < name.as_str())))
    }

    /// Removes the checkpoints of this training, once its model is written.
    ///
    /// # Errors
    /// Any error of removing.
    pub fn remove(&self) -> Result<(), Error> {
        if self.directory.exists() {
            atomic::remove_directory(&self.directory).map_err(io_error(&self.directory))?;
        }
        if let Some(parent) = self.directory.parent() {
            for left in atomic::abandoned(parent) {
                disk::remove_tree(&left).map_err(io_error(&left))?;
            }
            let _ = fs::remove_dir(parent); // stays while another training's checkpoints are in it
        }
        Ok(())
    }

    /// Checkpoints in ascending order of their step.
    fn checkpoints(&self) -> Result<Vec<PathBuf>, Error> {
        if !self.directory.exists() {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(&self.directory).map_err(io_error(&self.directory))?;
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(io_error(&self.directory))?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("step-")) {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }
}

/// Directory of the trainings of the model directory `model` that are unfinished.
pub fn trainings(model: &Path) -> PathBuf {
    let mut name = model.file_name().unwrap_or_default().to_owned();
    name.push(".training");
    model.with_file_name(name)
}

/// Step of the newest checkpoint of any unfinished training of the model directory `model`, by its name: it is not read.
pub fn newest_step(model: &Path) -> Option<u64> {
    let entries = fs::read_dir(trainings(model)).ok()?.flatten();
    let checkpoints = entries.filter_map(|training| fs::read_dir(training.path()).ok()).flatten().flatten();
    let newest = checkpoints.filter_map(|entry| {
        let step = entry.file_name().to_str()?.strip_prefix("step-")?.parse().ok()?;
        Some((entry.metadata().ok()?.modified().ok()?, step))
    });
    newest.max().map(|(_, step)| step)
}

/// Names sort as their steps do.
fn checkpoint_name(step: u64) -> String {
    format!("step-{step:09}")
}

fn read_checkpoint(directory: &Path, trained: usize) -> Result<TrainingState, Error> {
    let path = directory.join(STATE_FILE);
    let header: Header = parse(&path, &seal::read(directory, STATE_FILE, FALL_BACK)?)?;
    let name = checkpoint_name(header.step);
    if directory.file_name() != Some(name.as_ref()) {
        let expected = format!("that of its directory; {FALL_BACK}");
        return Err(Error::Invalid { path, found: format!("step {}", header.step), expected });
    }
    let path = directory.join(ARRAYS_FILE);
    let bytes = regular::read(&path).map_err(io_error(&path))?;
    let sha256 = sha256(&bytes);
    if sha256 != header.arrays_sha256 {
        let expected = format!("sha256 {}; {FALL_BACK}", header.arrays_sha256);
        return Err(Error::Invalid { path, found: format!("sha256 {sha256}"), expected });
    }
    let mut arrays = tensors::from_bytes(&path, &bytes)?;
    let mut take = |name: &str| tensors::take(&mut arrays, &path, name, &[trained]);
    Ok(TrainingState {
        step: header.step,
        trained: take("trained")?,
        first_moment: take("first_moment")?,
        second_moment: take("second_moment")?,
        best: match header.best {
            Some((step, validation)) => Some(Best { step, validation, trained: take("best")? }),
            None => None,
        },
        looks_without_best: header.looks_without_best,
        damping: header.damping,
        stage: header.stage,
        window: header.window,
        assignments: header.assignments,
        look_is_due: header.look_is_due,
        log: header.log,
    })
}
