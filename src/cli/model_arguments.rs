//! The arguments of `paramill model`, and their help.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Look at the versions of a pipeline's model, which are kept where `run.models` is above zero, say which is in use, and carry models elsewhere
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    List(ListVersions),
    Show(ShowVersion),
    Diff(DiffVersions),
    Promote(PromoteVersion),
    Rollback(RollBack),
    Prune(PruneVersions),
    Drift(ShowDrift),
    Pack(PackModel),
    Unpack(UnpackModel),
}

impl ModelCommand {
    /// Whether errors are to be JSON too.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            ModelCommand::List(command) => command.common.json,
            ModelCommand::Show(command) => command.common.json,
            ModelCommand::Diff(command) => command.common.json,
            ModelCommand::Promote(command) => command.common.json,
            ModelCommand::Rollback(command) => command.common.json,
            ModelCommand::Prune(command) => command.common.json,
            ModelCommand::Drift(command) => command.common.json,
            ModelCommand::Pack(command) => command.common.json,
            ModelCommand::Unpack(command) => command.json,
        }
    }
}

/// What all of these take.
#[derive(Debug, Args)]
pub(crate) struct Common {
    /// Where the run is [default: runs/PIPELINE]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const LIST_EXAMPLES: &str = "\
Example:
  paramill model list pipelines/lv-demo.toml";

/// List the versions of the model, the oldest first, with the one in use
#[derive(Debug, Args)]
#[command(after_help = LIST_EXAMPLES)]
pub(crate) struct ListVersions {
    /// The pipeline file
    pub pipeline: PathBuf,
    #[command(flatten)]
    pub common: Common,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  paramill model show pipelines/lv-demo.toml
  paramill model show pipelines/lv-demo.toml 2024-03-01T021743.120Z-1a2b3c4d --json";

/// Show a version of the model: how it was trained, and when it came into use and why
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub(crate) struct ShowVersion {
    /// The pipeline file
    pub pipeline: PathBuf,
    /// The version; its name may be shortened at either end
    #[arg(default_value = "current")]
    pub version: String,
    #[command(flatten)]
    pub common: Common,
}

const PROMOTE_EXAMPLES: &str = "\
Examples:
  paramill model promote pipelines/lv-demo.toml 1a2b3c4d
  paramill model promote pipelines/lv-demo.toml 1a2b3c4d --force --reason recalibrated";

/// Put a version of the model in use
#[derive(Debug, Args)]
#[command(after_help = PROMOTE_EXAMPLES)]
pub(crate) struct PromoteVersion {
    /// The pipeline file
    pub pipeline: PathBuf,
    /// The version; its name may be shortened at either end
    pub version: String,
    /// Do so whatever speaks against it; the audit says that it was forced, and why
    #[arg(long, requires = "reason")]
    pub force: bool,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

const ROLLBACK_EXAMPLES: &str = "\
Example:
  paramill model rollback pipelines/lv-demo.toml --reason recalibrated

A run puts its model in use again only when its stages give another one.";

/// Put the version in use that was before the one that is; twice goes back by two
#[derive(Debug, Args)]
#[command(after_help = ROLLBACK_EXAMPLES)]
pub(crate) struct RollBack {
    /// The pipeline file
    pub pipeline: PathBuf,
    /// Why, for the audit
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

const PRUNE_EXAMPLES: &str = "\
Examples:
  paramill model prune pipelines/lv-demo.toml --keep 5
  paramill model prune pipelines/lv-demo.toml --keep 2 --older-than 30";

/// Remove old versions, but never the one in use nor the one that made the estimates of the workspace
#[derive(Debug, Args)]
#[command(after_help = PRUNE_EXAMPLES, group = clap::ArgGroup::new("which").required(true).multiple(true).args(["keep", "older_than"]))]
pub(crate) struct PruneVersions {
    /// The pipeline file
    pub pipeline: PathBuf,
    /// Keep the newest N, however old
    #[arg(long, value_name = "N")]
    pub keep: Option<usize>,
    /// Keep those of the last DAYS days, however many
    #[arg(long, value_name = "DAYS")]
    pub older_than: Option<u32>,
    #[command(flatten)]
    pub common: Common,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  paramill model diff pipelines/lv-demo.toml 1a2b3c4d current
  paramill model diff pipelines/lv-demo.toml 1a2b3c4d 5e6f7a8b --json

The exit code is 0 if weights and map are the same, 3 if they differ.";

/// Say what differs between two versions: settings, data, figures, and whether weights and map are the same
#[derive(Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub(crate) struct DiffVersions {
    /// The pipeline file
    pub pipeline: PathBuf,
    /// The first version; its name may be shortened at either end
    pub a: String,
    /// The second version
    pub b: String,
    #[command(flatten)]
    pub common: Common,
}

const DRIFT_EXAMPLES: &str = "\
Examples:
  paramill model drift pipelines/lv-demo.toml
  paramill model drift pipelines/lv-demo.toml --plot drift.svg

The runs are those whose records are kept (`run.records`). An environment outside of the convex hull of the training contexts is one to which the \
model extrapolates.";

/// Say how the model drifts: estimated environments beside those of the training, and errors, noise and statuses from run to run
#[derive(Debug, Args)]
#[command(after_help = DRIFT_EXAMPLES)]
pub(crate) struct ShowDrift {
    /// The pipeline file
    pub pipeline: PathBuf,
    /// Draw it too, as .svg or .png
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}

const PACK_EXAMPLES: &str = "\
Examples:
  paramill model pack runs/lv-demo/models/lv-demo --to lv-demo.tar
  paramill model pack pipelines/lv-demo.toml --to lv-demo.tar
  paramill model pack pipelines/lv-demo.toml 1a2b3c4d --to lv-demo.tar

The bundle is a plain tar with the manifest, its seal, the card, the weights and the map; equal models give equal bundles. `paramill estimate`, \
`paramill show` and `paramill check` take it in place of the directory.";

/// Make one file of a model, to carry it elsewhere: verified first
#[derive(Debug, Args)]
#[command(after_help = PACK_EXAMPLES)]
pub(crate) struct PackModel {
    /// The directory of a model, or a pipeline file
    pub model: PathBuf,
    /// The version of the pipeline's model [default: the one in use, or the only one]
    pub version: Option<String>,
    /// The file to make; one that is there is replaced
    #[arg(short = 'o', long, value_name = "FILE")]
    pub to: PathBuf,
    #[command(flatten)]
    pub common: Common,
}

const UNPACK_EXAMPLES: &str = "\
Examples:
  paramill model unpack lv-demo.tar
  paramill model unpack lv-demo.tar --to models/lv-demo

The directory appears only once the seal and every digest are as they should be.";

/// Make the directory of a model of its one file
#[derive(Debug, Args)]
#[command(after_help = UNPACK_EXAMPLES)]
pub(crate) struct UnpackModel {
    /// The file
    pub bundle: PathBuf,
    /// The directory to make, which is not there yet [default: the name of the model, in the current directory]
    #[arg(short = 'o', long, value_name = "DIR")]
    pub to: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
