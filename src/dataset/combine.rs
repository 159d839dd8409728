//! Merges datasets, and selects environments of one. Trajectories are copied bit by bit.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::json;

use super::copy_progress::{CopyProgress, batch_length};
use super::error::Error;
use super::manifest::{Manifest, Parent, Provenance};
use super::publication::Publication;
use super::reader::Dataset;
use super::rules::{Population, parameters_problem};
use super::writer::Writer;
use crate::progress::Run;
use crate::schema::{FormatVersion, Split};

/// Most problems that are listed.
const MOST_PROBLEMS: usize = 20;

/// The source of each trajectory of the new dataset, by split and (environment, trajectory), the order in which they are written.
type Rows<'a> = BTreeMap<Split, BTreeMap<(String, String), (&'a Dataset, usize)>>;

/// Merges `datasets` into one at `directory`. Their order does not matter.
///
/// # Errors
/// Every way in which they disagree: channels, inputs, parameters, grids or units of time; a trajectory in two of them; an environment with two
/// sets of parameters; errors of reading and writing; and [`Error::Interrupted`].
pub fn merge(datasets: &[Dataset], directory: &Path, run: &Run) -> Result<Manifest, Error> {
    let Some((first, others)) = datasets.split_first() else {
        return Err(Error::invalid(directory, "no dataset to merge", "two or more"));
    };
    let mut problems: Vec<String> = others.iter().flat_map(|other| misfits(first, other)).collect();
    let mut rows = Rows::new();
    let mut environments = BTreeMap::new();
    for source in datasets {
        let here = source.directory().display();
        for &split in source.manifest().splits.keys() {
            for (row, entry) in source.index(split)?.into_iter().enumerate() {
                let place = format!("{here}: split `{split}`, environment `{}`", entry.environment);
                let known = environments
                    .entry((Population::of_split(split), entry.environment.clone()))
                    .or_insert_with(|| (entry.parameters.clone(), source));
                if let Some(problem) = parameters_problem(&known.0, &entry.parameters) {
                    problems.push(format!("{place}: {problem} in {}", known.1.directory().display()));
                    *known = (entry.parameters, source); // which then fits the environment's next trajectory
                }
                let key = (entry.environment, entry.trajectory);
                let trajectory = key.1.clone();
                if let Some((other, _)) = rows.entry(split).or_default().insert(key, (source, row)) {
                    let other = other.directory().display();
                    problems.push(format!(
                        "{place}, trajectory `{trajectory}`: stands in {other} too; expected it in one dataset"
                    ));
                }
            }
        }
    }
    if problems.len() > MOST_PROBLEMS {
        let more = problems.len() - MOST_PROBLEMS;
        problems.truncate(MOST_PROBLEMS);
        problems.push(format!("and {more} more"));
    }
    Error::problems(directory, problems)?;
    let mut sources: Vec<&Dataset> = datasets.iter().collect();
    sources.sort_by_key(|source| (&source.manifest().name, source.content_hash()));
    let manifests = || sources.iter().map(|source| source.manifest());
    let licenses: BTreeSet<&str> = manifests().map(|it| it.license.as_str()).collect();
    let descriptions: BTreeSet<&str> = manifests().map(|it| it.description.as_str()).collect();
    let seed = sources[0].manifest().provenance.seed;
    let manifest = Manifest {
        description: join(descriptions, " "),
        license: if licenses.contains("unknown") { "unknown".to_owned() } else { join(licenses, " AND ") },
        provenance: Provenance::new(
            "merge",
            json!({ "sources": manifests().map(|it| json!(it.provenance)).collect::<Vec<_>>() }),
            seed.filter(|_| manifests().all(|it| it.provenance.seed == seed)),
            sources.iter().map(|source| parent(source)).collect(),
        ),
        data_tolerance: manifests().map(|it| it.data_tolerance).reduce(|a, b| Some(a?.max(b?))).flatten(),
        ..described(first.manifest(), directory)
    };
    copy(rows, manifest, directory, run)
}

/// Writes the environments of `dataset` that have one of these `ids` (`inside`), or all others (not `inside`), as a dataset at `directory`.
///
/// # Errors
/// Every unknown id; if no environment is left; errors of reading and writing; and [`Error::Interrupted`].
pub fn select(
    dataset: &Dataset,
    ids: &BTreeSet<String>,
    inside: bool,
    directory: &Path,
    run: &Run,
) -> Result<Manifest, Error> {
    let mut rows = Rows::new();
    let mut unknown = ids.clone();
    for &split in dataset.manifest().splits.keys() {
        for (row, entry) in dataset.index(split)?.into_iter().enumerate() {
            unknown.remove(&entry.environment);
            if ids.contains(&entry.environment) == inside {
                rows.entry(split).or_default().insert((entry.environment, entry.trajectory), (dataset, row));
            }
        }
    }
    let mut problems: Vec<String> = unknown
        .iter()
        .map(|id| {
            format!("no environment has the id `{id}`; expected ids that are in the dataset (the column `environment`)")
        })
        .collect();
    if problems.is_empty() && rows.is_empty() {
        let which = if inside { "asked for" } else { "left over" };
        problems.push(format!("no environment is {which}; expected at least one"));
    }
    Error::problems(dataset.directory(), problems)?;
    let provenance = provenance_of_selection(dataset, ids, inside);
    copy(rows, Manifest { provenance, ..described(dataset.manifest(), directory) }, directory, run)
}

/// Whether the dataset at `directory` is what [`select`] would write there.
pub fn is_selected(dataset: &Dataset, ids: &BTreeSet<String>, inside: bool, directory: &Path) -> bool {
    let wanted = || provenance_of_selection(dataset, ids, inside);
    Dataset::open(directory).is_ok_and(|found| found.manifest().provenance == wanted())
}

fn provenance_of_selection(dataset: &Dataset, ids: &BTreeSet<String>, inside: bool) -> Provenance {
    let configuration = json!({
        "environments": ids,
        "inside": inside,
        "source": dataset.manifest().provenance,
    });
    Provenance::new("split", configuration, dataset.manifest().provenance.seed, vec![parent(dataset)])
}

/// The manifest of `source` for a dataset at `directory`, which gives its name.
fn described(source: &Manifest, directory: &Path) -> Manifest {
    let name = directory.file_name().map_or_else(|| source.name.clone(), |name| name.to_string_lossy().into_owned());
    Manifest {
        format: FormatVersion::DATASET,
        name,
        // What is said of a dataset is not said of parts of it.
        publication: Publication::default(),
        import_report: Vec::new(),
        splits: BTreeMap::new(),
        files: Vec::new(),
        ..source.clone()
    }
}

fn parent(source: &Dataset) -> Parent {
    Parent { name: source.manifest().name.clone(), sha256: source.content_hash().to_owned() }
}

fn join(texts: BTreeSet<&str>, between: &str) -> String {
    texts.into_iter().collect::<Vec<_>>().join(between)
}

/// In what `other` disagrees with `first`.
fn misfits(first: &Dataset, other: &Dataset) -> Vec<String> {
    let (of_first, of_other) = (first.manifest(), other.manifest());
    let keys = [
        ("time_unit", json!(of_first.time_unit), json!(of_other.time_unit)),
        ("channels", json!(of_first.channels), json!(of_other.channels)),
        ("grid", json!(of_first.grid), json!(of_other.grid)),
        ("inputs", json!(of_first.inputs), json!(of_other.inputs)),
        ("parameters", json!(of_first.parameters), json!(of_other.parameters)),
    ];
    let place = other.directory().display();
    let expected = first.directory().display();
    keys.into_iter()
        .flat_map(|(key, a, b)| super::diff::changes(&json!({ key: a }), &json!({ key: b })))
        .map(|(key, a, b)| format!("{place}: `{key}` is {b}; expected {a} as in {expected}"))
        .collect()
}

fn copy(rows: Rows, manifest: Manifest, directory: &Path, run: &Run) -> Result<Manifest, Error> {
    let what = format!("write {}", manifest.name);
    let mut progress = CopyProgress::begin(run, what, rows.values().map(BTreeMap::len).sum());
    let mut writer = Writer::create(directory, manifest)?;
    for (split, rows) in rows {
        let rows: Vec<(&Dataset, usize)> = rows.into_values().collect();
        for of_one in rows.chunk_by(|(a, _), (b, _)| std::ptr::eq(*a, *b)) {
            for batch in of_one.chunks(batch_length(of_one[0].0.manifest())) {
                Error::interrupt(run)?;
                let wanted: Vec<usize> = batch.iter().map(|(_, row)| *row).collect();
                for trajectory in batch[0].0.read_rows(split, &wanted)? {
                    writer.write(split, &trajectory)?;
                }
                progress.advance(batch.len(), split);
            }
        }
    }
    let manifest = writer.finish()?;
    progress.end();
    Ok(manifest)
}
