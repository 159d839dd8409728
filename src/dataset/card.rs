//! The card: `README.md` of a dataset, with the front matter that the Hugging Face hub reads.

use std::fmt::Write;

use super::manifest::{Manifest, SplitSummary};
use super::publication::Publication;
use super::store::Store;
use crate::schema::{Input, Quantity, Split};

/// SPDX expressions that the hub knows by their lower-case form; any other is `other` with its name beside it.
const HUB_LICENSES: [&str; 14] = [
    "apache-2.0",
    "bsd-2-clause",
    "bsd-3-clause",
    "cc-by-4.0",
    "cc-by-nc-4.0",
    "cc-by-sa-4.0",
    "cc0-1.0",
    "gpl-3.0",
    "isc",
    "mit",
    "odbl",
    "pddl",
    "unknown",
    "unlicense",
];

/// The card of a dataset whose splits are complete.
pub(crate) fn text(manifest: &Manifest) -> String {
    let mut card = String::new();
    front_matter(manifest, &mut card);
    let _ = write!(card, "# {}\n\n{}\n", manifest.name, manifest.description);
    let missing = manifest.splits.values().any(|summary| summary.missing > 0);
    let sampled = match missing {
        true => "What was sampled in time; a missing cell is null in Parquet and NaN in HDF5.",
        false => "What was sampled in time.",
    };
    quantities("Channels", sampled, &manifest.channels, &mut card);
    inputs(&manifest.inputs, &mut card);
    quantities(
        "Parameters",
        "Constants of an environment; null in Parquet and NaN in HDF5 where unknown.",
        &manifest.parameters,
        &mut card,
    );
    splits(manifest, missing, &mut card);
    treatments(manifest, &mut card);
    making(manifest, &mut card);
    citation(&manifest.publication, &mut card);
    loading(manifest, &mut card);
    card
}

fn front_matter(manifest: &Manifest, card: &mut String) {
    let license = manifest.license.to_lowercase();
    let _ = writeln!(card, "---\npretty_name: {}", quoted(&manifest.name));
    if HUB_LICENSES.contains(&license.as_str()) {
        let _ = writeln!(card, "license: {license}");
    } else {
        let _ = writeln!(card, "license: other\nlicense_name: {}", quoted(&manifest.license));
    }
    card.push_str("tags:\n- dynamical-systems\n- time-series\n- parameter-estimation\n");
    card.push_str("configs:\n- config_name: default\n  data_files:\n");
    for split in manifest.splits.keys() {
        let _ = writeln!(card, "  - split: {split}\n    path: {}", files(manifest, *split, Store::Parquet));
    }
    card.push_str("---\n\n");
}

/// A JSON string, which is a YAML string too.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn quantities(title: &str, what: &str, quantities: &[Quantity], card: &mut String) {
    let _ = write!(card, "\n## {title}\n\n");
    if quantities.is_empty() {
        card.push_str("None.\n");
        return;
    }
    let _ = write!(card, "{what}\n\n| name | unit | description |\n|---|---|---|\n");
    for Quantity { name, unit, description } in quantities {
        let _ = writeln!(card, "| `{}` | {} | {} |", cell(name), cell(unit), cell(description));
    }
}

fn inputs(inputs: &[Input], card: &mut String) {
    if inputs.is_empty() {
        return;
    }
    card.push_str(
        "\n## Inputs\n\nKnown signals that act on the system, at the times of the samples. Between two samples an input holds its value \
         (`hold`) or lies on the straight line (`linear`).\n\n\
         | name | unit | between samples | description |\n|---|---|---|---|\n",
    );
    for Input { quantity: Quantity { name, unit, description }, between } in inputs {
        let between = between.name();
        let _ = writeln!(card, "| `{}` | {} | `{between}` | {} |", cell(name), cell(unit), cell(description));
    }
}

/// A text as a cell of a table in Markdown: on one line.
pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "\\|").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn splits(manifest: &Manifest, missing: bool, card: &mut String) {
    let _ = write!(
        card,
        "\n## Splits\n\nOne row a trajectory, on its own times (unit: {}).\n\n\
         | split | environments | trajectories | samples | samples a trajectory |{}\n|---|---:|---:|---:|---:|{}\n",
        cell(&manifest.time_unit),
        if missing { " missing cells |" } else { "" },
        if missing { "---:|" } else { "" }
    );
    for (split, summary) in &manifest.splits {
        let SplitSummary { environments, trajectories, samples, shortest, longest, missing: cells } = summary;
        let range = if shortest == longest { shortest.to_string() } else { format!("{shortest} to {longest}") };
        let cells = if missing { format!(" {cells} |") } else { String::new() };
        let _ = writeln!(card, "| `{split}` | {environments} | {trajectories} | {samples} | {range} |{cells}");
    }
}

fn treatments(manifest: &Manifest, card: &mut String) {
    if manifest.import_report.is_empty() {
        return;
    }
    card.push_str("\n## What the import did\n\n");
    for treatment in &manifest.import_report {
        let _ = writeln!(card, "- {}", cell(&treatment.text));
    }
}

fn making(manifest: &Manifest, card: &mut String) {
    let provenance = &manifest.provenance;
    let _ = write!(card, "\n## How it was made\n\n{}, stage `{}`", provenance.tool, provenance.stage);
    if let Some(seed) = provenance.seed {
        let _ = write!(card, ", seed {seed}");
    }
    match manifest.data_tolerance {
        Some(tolerance) => {
            let _ = write!(card, ". The data are good to a relative tolerance of {tolerance:e}");
        }
        None => card.push_str(". The error of the data is not known"),
    }
    card.push_str(
        ". `manifest.json` holds this and a SHA-256 of every data file, `SHA256SUMS` that of the manifest.\n",
    );
    if !provenance.parents.is_empty() {
        card.push_str("\nMade from:\n\n");
        for parent in &provenance.parents {
            let _ = writeln!(card, "- {} (SHA-256 `{}`)", parent.name, parent.sha256);
        }
    }
    let _ = write!(card, "\nSettings:\n\n```json\n{:#}\n```\n", provenance.configuration);
}

fn citation(publication: &Publication, card: &mut String) {
    let Publication { version, creators, citation, published, .. } = publication;
    if publication.is_empty() {
        return;
    }
    card.push_str("\n## Citation\n\n");
    let by = (!creators.is_empty()).then(|| creators.join(", "));
    for (what, text) in [("By", &by), ("Version", version), ("Published", published), ("DOI", &publication.url())] {
        if let Some(text) = text {
            let _ = writeln!(card, "- {what}: {}", cell(text));
        }
    }
    if let Some(text) = citation {
        // Fences of text may stand in it.
        let _ = write!(card, "\n````text\n{}\n````\n", text.trim_end().replace("````", "` ` ` `"));
    }
}

fn loading(manifest: &Manifest, card: &mut String) {
    let Some(split) = manifest.splits.keys().next() else { return };
    let _ = write!(
        card,
        "\n## Loading it in Python\n\n```python\n\
         import polars as pl\n\
         rows = pl.read_parquet(\"{}\")\n\n\
         import xarray as xr\n\
         split = xr.open_dataset(\"{}\")\n\
         ```\n",
        files(manifest, *split, Store::Parquet),
        manifest.data_files(*split, Store::Hdf5)[0]
    );
    if manifest.splits.keys().any(|split| manifest.shards(*split) > 1) {
        card.push_str(
            "\nA large split lies in several files, each complete in itself; rows go on from one to the next.\n",
        );
    }
}

/// The files of a split's copy: their one name, or a pattern that matches all of them.
fn files(manifest: &Manifest, split: Split, store: Store) -> String {
    let files = manifest.data_files(split, store);
    if files.len() == 1 { files[0].clone() } else { files[0].replacen("-00000-of-", "-*-of-", 1) }
}
