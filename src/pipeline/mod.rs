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

mod agreement;
mod assemble;
mod computable;
mod check;
mod decide;
mod diagnostic;
mod document;
mod error;
mod fingerprint;
mod impossible;
mod lines;
mod lock;
mod plan;
mod record;
mod runner;
mod schemas;
mod settings;
mod stage;
mod stages;
mod starts;
mod system_file;
mod validate;

pub use check::{Checked, check};
pub use decide::changes_since;
pub use diagnostic::{Diagnostic, Place};
pub use error::Error;
pub use fingerprint::Ingredients;
pub use lock::sweep_directories;
pub use plan::{Locations, Plan, Source};
pub use record::Record;
pub use runner::{Action, Decision, Options, Outcome, StageOutcome, preview, run};
pub use schemas::{Published, published};
pub use settings::{ReportSettings, Settings};
pub use stage::Stage;
pub use stages::{Built, Context, Done, Executor, Product, check_directory, directory_with_manifest, whole_tree};
pub use system_file::load_system;

/// The name closest to `word`, if one is close enough to be meant.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let scored = names.map(|name| {
        let lower = name.to_lowercase();
        (strsim::jaro_winkler(&word, &lower), lower, name)
    });
    let (likeness, lower, name) = scored.max_by(|one, other| one.0.total_cmp(&other.0))?;
    let typos = strsim::damerau_levenshtein(&word, &lower);
    // Likeness favours common beginnings; in short words one typo, such as two swapped letters, weighs too much in it.
    (likeness > 0.8 || (typos == 1 && word.len() > 2)).then_some(name)
}
