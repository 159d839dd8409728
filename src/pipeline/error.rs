//! Errors of a pipeline, and their exit codes.

use std::io;
use std::path::{Path, PathBuf};

use super::stage::Stage;
use crate::engine::ComputeError;
use crate::problems::Problem;
use crate::{checkpoint, dataset, estimate, generate, import, report, train};

/// An error that stops a pipeline.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "fields say in their names what the messages show")]
pub enum Error {
    /// The pipeline file has problems.
    #[error("{}", listing(.0))]
    Problems(Vec<Problem>),
    /// A file or directory cannot be read or written.
    #[error("{path}: {source}; check that the path is right and may be used")]
    Io { path: PathBuf, source: io::Error },
    /// Another process holds a lock.
    #[error("{}: held by another run{}; {}", path.display(), pid(*holder), unlocking(path, host.as_deref()))]
    Locked {
        path: PathBuf,
        holder: Option<u32>,
        /// The machine of the holder, where its lock is a link that says so.
        host: Option<String>,
    },
    /// A stage was asked for that the pipeline does not have.
    #[error("stage `{stage}` is not in this pipeline, which has {}; add a [{stage}] section", names(has))]
    NoSuchStage { stage: Stage, has: Vec<Stage> },
    /// A stage lacks the product of another.
    #[error(
        "stage `{stage}` needs what `{needs}` makes, and {} is not there; run `--stage {needs}` first, or the whole pipeline",
        path.display()
    )]
    MissingInput { stage: Stage, needs: Stage, path: PathBuf },
    /// The product that a stage needs is damaged.
    #[error(
        "stage `{stage}` needs what `{needs}` makes, and {} {found}; run `--stage {needs}` first, or the whole pipeline",
        path.display()
    )]
    DamagedInput { stage: Stage, needs: Stage, path: PathBuf, found: String },
    /// Something that is no dataset is in the dataset's place.
    #[error(
        "{}: found {found}; expected a dataset or nothing; move it away, or choose another name with `--set {stage}.dataset=NAME`",
        path.display()
    )]
    NotADataset { path: PathBuf, stage: Stage, found: String },
    /// A dataset that this workspace did not make is in the place, and differs.
    #[error(
        "{}: found a dataset that this workspace has no record of making and that differs ({}); \
         replace it with `--force {stage}`, or choose another name with `--set {stage}.dataset=NAME`",
        path.display(),
        differences.join("; ")
    )]
    DatasetDiffers { path: PathBuf, stage: Stage, differences: Vec<String> },
    /// A stage ended without a whole product.
    #[error("stage `{stage}` ended, but left nothing whole at {}; run it again", path.display())]
    NoProduct { stage: Stage, path: PathBuf },
    /// A path leads to nothing that the command takes.
    #[error("{}: found {found}; expected {expected}; check the path", path.display())]
    Unrecognised { path: PathBuf, found: String, expected: String },
    /// The model that a training is to start from cannot be read.
    #[error(
        "{}: train.warm_start: found no whole model ({found}); expected one; put another version in use with `paramill model rollback`, or leave \
         train.warm_start out",
        path.display()
    )]
    DamagedStart { path: PathBuf, found: String },
    /// A version that the gate did not let through is to come into use.
    #[error(
        "version {version}: was rejected ({why}); expected one that `[promote]` lets through; put it in use all the same with \
         `--force --reason TEXT`"
    )]
    Rejected { version: String, why: String },
    /// A file is not what it was when it was written.
    #[error("{}: found {found}; expected {expected}", path.display())]
    Damaged { path: PathBuf, found: String, expected: String },
    /// A file of the archive cannot be read.
    #[error(
        "{}: cannot be read ({found}); expected a file of the archive; get the archive, or say where it is with \
         `--set import.directory=DIR`",
        path.display()
    )]
    MissingArchive { path: PathBuf, found: String },
    /// A stage would take more memory than it may.
    #[error("stage `{stage}` takes {found}; expected at most {most}; {remedy}, or raise run.memory_mib")]
    Memory { stage: Stage, found: String, most: String, remedy: &'static str },
    /// What a stage will write does not fit on the disk.
    #[error(
        "stage `{stage}` writes about {needed} MiB, and run.free_mib leaves {kept}; found {free} MiB free at {}; expected room for both; free some, keep fewer versions (run.models, run.datasets), or lower run.free_mib",
        path.display()
    )]
    NoRoom { stage: Stage, path: PathBuf, needed: u64, kept: u32, free: u64 },
    /// A plan of shards is of other settings or inputs.
    #[error(
        "the stage `{stage}` would now be made from something else than the plan says ({}); expected the same; write the plan anew",
        changes.join("; ")
    )]
    StalePlan { stage: Stage, changes: Vec<String> },
    /// Shards of a plan are not done.
    #[error(
        "{} of {total} shards are not there ({}); expected all; make them with `paramill shard run {} missing`",
        missing.len(),
        as_ranges(missing),
        plan.display()
    )]
    MissingShards { plan: PathBuf, missing: Vec<usize>, total: usize },
    /// Jobs that make a run on other machines failed for good; `code` is the exit code of the first.
    #[error("{found}; what is finished is kept: see what {} says, and give the command that began the run again", logs.display())]
    FailedJobs { found: String, logs: PathBuf, code: u8 },
    /// A command of Slurm did not do what it should.
    #[error(
        "`{program}` {found}; expected Slurm to answer; see whether `sinfo` does, or run without `--executor slurm`"
    )]
    Slurm { program: &'static str, found: String },
    /// Jobs of the same pipeline are still in Slurm's queue.
    #[error("jobs of this pipeline are in Slurm's queue already; wait for them, or cancel them with `scancel {jobs}`")]
    Submitted { jobs: String },
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// A dataset cannot be read or written.
    #[error(transparent)]
    Dataset(dataset::Error),
    /// The stage `generate` failed.
    #[error(transparent)]
    Generate(generate::Error),
    /// The stage `import` failed.
    #[error(transparent)]
    Import(import::Error),
    /// The stage `train` failed.
    #[error(transparent)]
    Train(train::Error),
    /// The stage `map` or `estimate` failed, or a forecast.
    #[error(transparent)]
    Estimate(estimate::Error),
    /// The report cannot be written.
    #[error(transparent)]
    Report(report::Error),
    /// The device or the engine that was asked for is not available.
    #[error("{0}")]
    Compute(ComputeError),
    /// A signal asked to stop; `kept` says what remains.
    #[error("stopped by {}; {kept}", signal_name(*signal))]
    Interrupted { signal: i32, kept: String },
}

impl Error {
    /// Attaches a path to an I/O error.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { path, source }
    }

    /// The error of a request to stop between two stages.
    pub fn between_stages(signal: i32) -> Error {
        let kept = "finished stages are kept, and the same command goes on from there".to_owned();
        Error::Interrupted { signal, kept }
    }

    /// Whether the cause is the machine rather than the user or the data: a full disk, missing permissions, a broken device. Missing files
    /// and files with wrong content are not.
    pub fn is_of_the_machine(&self) -> bool {
        use io::ErrorKind::{InvalidData, IsADirectory, NotADirectory, NotFound, UnexpectedEof};
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = cause {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                let kind = error.kind();
                return ![InvalidData, IsADirectory, NotADirectory, NotFound, UnexpectedEof].contains(&kind);
            }
            cause = error.source();
        }
        false
    }

    /// The exit code of the error.
    pub fn exit_code(&self) -> u8 {
        if self.is_of_the_machine() {
            return 1;
        }
        match self {
            Error::Io { .. } | Error::NoProduct { .. } | Error::NoRoom { .. } | Error::Slurm { .. } => 1,
            Error::Problems(_)
            | Error::NoSuchStage { .. }
            | Error::MissingInput { .. }
            | Error::NotADataset { .. }
            | Error::DatasetDiffers { .. }
            | Error::Unrecognised { .. }
            | Error::Memory { .. }
            | Error::StalePlan { .. }
            | Error::MissingShards { .. }
            | Error::Usage(_) => 2,
            Error::Compute(_) => 2,
            Error::Dataset(dataset::Error::Io { .. }) | Error::Report(_) => 1,
            Error::Dataset(_) => 3,
            Error::Generate(error) => match error {
                generate::Error::Invalid(_) | generate::Error::NotGenerated { .. } => 2,
                _ => 3,
            },
            Error::Import(import::Error::Settings(_)) => 2,
            Error::Import(_)
            | Error::MissingArchive { .. }
            | Error::Damaged { .. }
            | Error::DamagedInput { .. }
            | Error::DamagedStart { .. } => 3,
            Error::Train(error) => match error {
                train::Error::Compute(_)
                | train::Error::NoContextDimension { .. }
                | train::Error::NotTied { .. }
                | train::Error::OtherStart { .. }
                | train::Error::NoSteps
                | train::Error::Settings(_) => 2,
                train::Error::Diverged { .. } | train::Error::NothingGood { .. } => 5,
                _ => 3,
            },
            Error::Estimate(error) => match error {
                estimate::Error::Io { .. } => 1,
                estimate::Error::DivergedForecast { .. } => 5,
                estimate::Error::Compute(_)
                | estimate::Error::NoSplit { .. }
                | estimate::Error::UnknownParameter { .. }
                | estimate::Error::FittedFields
                | estimate::Error::EstimatedFields
                | estimate::Error::Physics(_)
                | estimate::Error::Settings(_)
                | estimate::Error::ReversedBounds { .. }
                | estimate::Error::RepeatedColumn { .. }
                | estimate::Error::Unpredictable { .. }
                | estimate::Error::TooFewForMap { .. } => 2,
                _ => 3,
            },
            Error::Locked { .. } | Error::Submitted { .. } => 6,
            Error::Rejected { .. } => 7,
            Error::FailedJobs { code, .. } => *code,
            Error::Interrupted { signal, .. } => u8::try_from(128 + signal).unwrap_or(130),
        }
    }

    /// The single problems that it is made of; none of an error that is one thing.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Error::Problems(problems)
            | Error::Import(import::Error::Settings(problems) | import::Error::Data(problems))
            | Error::Generate(generate::Error::Invalid(problems))
            | Error::Estimate(estimate::Error::Physics(problems) | estimate::Error::Settings(problems)) => problems,
            _ => &[],
        }
    }

    /// A short, stable name of the error for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Problems(_) => "problems",
            Error::Io { .. } => "io",
            Error::Locked { .. } => "locked",
            Error::NoSuchStage { .. } => "no_such_stage",
            Error::MissingInput { .. } => "missing_input",
            Error::Damaged { .. } => "damaged",
            Error::DamagedInput { .. } => "damaged_input",
            Error::DamagedStart { .. } => "damaged_start",
            Error::NotADataset { .. } => "not_a_dataset",
            Error::DatasetDiffers { .. } => "dataset_differs",
            Error::NoProduct { .. } => "no_product",
            Error::Unrecognised { .. } => "unrecognised",
            Error::Rejected { .. } => "rejected",
            Error::FailedJobs { .. } => "failed_jobs",
            Error::Slurm { .. } => "slurm",
            Error::Submitted { .. } => "submitted",
            Error::StalePlan { .. } => "stale_plan",
            Error::MissingShards { .. } => "missing_shards",
            Error::MissingArchive { .. } => "missing_archive",
            Error::Memory { .. } => "memory",
            Error::NoRoom { .. } => "no_room",
            Error::Usage(_) => "usage",
            Error::Dataset(_) => "dataset",
            Error::Generate(_) => "generate",
            Error::Import(_) => "import",
            Error::Train(_) => "train",
            Error::Estimate(_) => "estimate",
            Error::Compute(_) => "compute",
            Error::Report(_) => "report",
            Error::Interrupted { .. } => "interrupted",
        }
    }
}

impl From<dataset::Error> for Error {
    fn from(error: dataset::Error) -> Self {
        match error {
            dataset::Error::Interrupted { signal } => Error::Interrupted { signal, kept: error.to_string() },
            error => Error::Dataset(error),
        }
    }
}

impl From<generate::Error> for Error {
    fn from(error: generate::Error) -> Self {
        match error {
            generate::Error::Interrupted { signal, .. } => Error::Interrupted { signal, kept: error.to_string() },
            error => Error::Generate(error),
        }
    }
}

impl From<import::Error> for Error {
    fn from(error: import::Error) -> Self {
        match error {
            import::Error::Interrupted { signal } => Error::Interrupted { signal, kept: error.to_string() },
            error => Error::Import(error),
        }
    }
}

impl From<train::Error> for Error {
    fn from(error: train::Error) -> Self {
        match error {
            train::Error::Interrupted { signal, .. } => Error::Interrupted { signal, kept: error.to_string() },
            error => Error::Train(error),
        }
    }
}

impl From<estimate::Error> for Error {
    fn from(error: estimate::Error) -> Self {
        match error {
            estimate::Error::Interrupted { signal } => Error::Interrupted { signal, kept: error.to_string() },
            error => Error::Estimate(error),
        }
    }
}

impl From<checkpoint::Error> for Error {
    fn from(error: checkpoint::Error) -> Self {
        Error::Estimate(error.into())
    }
}

fn listing(problems: &[Problem]) -> String {
    problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("\n")
}

fn names(stages: &[Stage]) -> String {
    stages.iter().map(|stage| stage.name()).collect::<Vec<_>>().join(", ")
}

/// Ascending numbers, consecutive ones as a range: `0,3-5`.
pub(crate) fn as_ranges(numbers: &[usize]) -> String {
    let range = |run: &[usize]| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    };
    numbers.chunk_by(|a, b| a + 1 == *b).map(range).collect::<Vec<_>>().join(",")
}

fn pid(holder: Option<u32>) -> String {
    holder.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

/// What to do about a lock.
fn unlocking(path: &Path, host: Option<&str>) -> String {
    match host {
        None => "wait for it, or stop it".to_owned(),
        Some(host) => format!(
            "wait for it, or stop it; this file system has no locks, so if the process has died on {host}, remove {}.held",
            path.display()
        ),
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        15 => "SIGTERM",
        _ => "a signal",
    }
}
