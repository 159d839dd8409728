//! From a pipeline file to what it says should be there.
//!
//! A file becomes a [`Plan`] (every default filled in, every problem reported at once); the runner does the stages in
//! order and leaves out those whose products are up to date.
//!
//! ```text
//! datasets/NAME/                         shared by all pipelines
//! runs/PIPELINE/                         or --workspace DIR
//!   .lock                                held while the pipeline runs
//!   stages/train.json                    how the stage ran, and from what
//!   models/PIPELINE/ estimates/ report/  the products
//! ```

pub(crate) mod stage;
pub(crate) mod error;
pub(crate) mod lines;
pub(crate) mod settings;
pub(crate) mod document;
pub(crate) mod plan;
pub(crate) mod check;
pub(crate) mod system_file;
pub(crate) mod fingerprint;
pub(crate) mod record;
pub(crate) mod executor;
pub(crate) mod assemble;
pub(crate) mod lock;
pub(crate) mod decide;
pub(crate) mod runner;
pub(crate) mod schemas;
pub(crate) mod stages;

pub use check::archive::{Checked, check};
pub use decide::changes_since;

pub use decide::{Action, Decision};
pub use error::Error;
pub use executor::{Context, Done, Executor, Product};
pub use fingerprint::Ingredients;
pub use lock::sweep_directories;
pub use plan::{Locations, Plan, Source};
pub use record::Record;
pub use runner::{Options, Outcome, StageOutcome, preview, run};
pub use schemas::{Published, published};
pub use settings::{ReportSettings, Settings};
pub use stage::Stage;
pub use stages::{Built, check_directory, directory_with_manifest, whole_tree};
pub use system_file::load_system;
