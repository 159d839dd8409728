//! Runs a pipeline file: reads and checks it, then makes what it asks for, stage by stage.
//!
//! A file becomes a [`Plan`], with every default filled in and every problem reported at once; the runner executes the stages in
//! order and leaves out those whose products are up to date.
//!
//! ```text
//! datasets/NAME/                         shared by all pipelines
//! datasets/NAME.versions/                generations of it, where they are kept
//! runs/PIPELINE/                         or --workspace DIR
//!   .lock                                held while the pipeline runs
//!   stages/train.json                    how the stage ran, and from what
//!   stages/train.unfinished.json         how far it has come, or why it stopped
//!   records/TIME-PROCESS.json            how a run went
//!   blocks/STAGE-KEY/                    what is finished of a stage that is not
//!   shards/STAGE.json                    how a stage is divided among machines
//!   slurm/                               scripts, logs and jobs where Slurm makes the stages
//!   tensorboard/TRAINING/                event files of a training, where they are kept
//!   models/PIPELINE.versions/            versions of the model, where they are kept
//!   models/PIPELINE/ estimates/ report/  the products
//!   cells/CELL.toml cells/CELL/          of a sweep: the pipeline of each cell, and its workspace
//!   sweep.json                           of a sweep: the figures of the cells; with a budget sweep--BUDGET.json
//! ```

pub(crate) mod stage;
pub(crate) mod error;
pub(crate) mod slurm_settings;
pub(crate) mod sweep_settings;
pub(crate) mod settings;
pub(crate) mod name;
pub(crate) mod lines;
pub(crate) mod document;
pub(crate) mod plan;
pub(crate) mod check;
pub(crate) mod load;
pub(crate) mod cells;
pub(crate) mod fingerprint;
pub(crate) mod finished;
pub(crate) mod record;
pub(crate) mod clock;
pub(crate) mod attempt;
pub(crate) mod audit;
pub(crate) mod executor;
pub(crate) mod decide;
pub(crate) mod lock;
pub(crate) mod trained_on;
pub(crate) mod versions;
pub(crate) mod promotion;
pub(crate) mod generations;
pub(crate) mod room;
pub(crate) mod gate;
pub(crate) mod runner;
pub(crate) mod run_record;
pub(crate) mod metrics;
pub(crate) mod notice;
pub(crate) mod data_age;
pub(crate) mod drift;
pub(crate) mod recorded;
pub(crate) mod surroundings;
pub(crate) mod fits;
pub(crate) mod predictive_check;
pub(crate) mod assemble;
pub(crate) mod products;
pub(crate) mod memory;
pub(crate) mod start_of_training;
pub(crate) mod stages;
pub(crate) mod shards;
pub(crate) mod slurm;
pub(crate) mod status;
pub(crate) mod sweep;
pub(crate) mod directories;
pub(crate) mod compared_runs;
pub(crate) mod schemas;

pub use attempt::{Attempt, Progress, Stopped};
pub use audit::{Act, AuditEntry, Figures, Verdict, audit};
pub use cells::{Cell, Sweep};
pub use check::archive::{Checked, check};
pub use check::system_file::load_system;
pub use clock::now;
pub use compared_runs::side_by_side;
pub use decide::{Action, Decision, changes_since};
pub use directories::{check_directory, check_manifest, read_manifest};
pub use drift::drift;
pub use error::Error;
pub(crate) use error::as_ranges;
pub use executor::{Context, Done, Executor, Product};
pub use fingerprint::Ingredients;
pub use load::Mapping;
pub use lock::sweep_directories;
pub use plan::{CURRENT, Locations, Plan, Source};
pub use products::{directory_with_manifest, whole_tree};
pub use promotion::{Pruned, Retention, promote, prune, rejection, rollback};
pub use record::Record;
pub use recorded::{Recorded, run_recorded};
pub use run_record::{RunError, RunRecord, RunStage};
pub use runner::{Options, Outcome, StageOutcome, preview, run};
pub use schemas::{Published, published};
pub use settings::{PromoteSettings, ReportSettings, RunSettings, Settings};
pub use shards::{Division, ShardPlan, ShardState, Shards, merge_shards, plan_shards, run_shard, standing_of};
pub use slurm::{Job, StageShards, Submission, Submitted, prepare, shards_of, submit, tell_of_failure};
pub use slurm_settings::{ExecutorChoice, JobSettings, SlurmSettings};
pub use stage::Stage;
pub use stages::Built;
pub use status::{StageStatus, State, Status, status};
pub use sweep::{CellOutcome, exit_code_of, run_cells};
pub use sweep_settings::{Axis, AxisRange, SweepSettings, Variant};
pub use versions::{Version, find_version, versions};
