//! Differences between the contents of two datasets.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::error::Error;
use super::index::IndexEntry;
use super::manifest::is_zero;
use super::reader::Dataset;
use crate::schema::{Split, Trajectory};

/// Trajectories compared at a time.
const BATCH: usize = 256;

/// The differences between datasets `a` and `b`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Difference {
    /// Differences of name and provenance: key, value in `a`, value in `b`.
    pub provenance: Vec<(String, String, String)>,
    /// Other differences of the manifests.
    pub manifest: Vec<(String, String, String)>,
    /// Differences of contents, for each split that differs.
    pub splits: BTreeMap<Split, SplitDifference>,
}

/// The differences in one split.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SplitDifference {
    /// Trajectories, as `environment/trajectory`, in `a` only.
    pub only_in_a: Vec<String>,
    /// Trajectories in `b` only.
    pub only_in_b: Vec<String>,
    /// Common trajectories whose parameters differ.
    pub parameters: Vec<String>,
    /// Common trajectories whose times or number of samples differ.
    pub times: Vec<String>,
    /// Common trajectories whose inputs differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// Common trajectories whose states differ.
    pub states: Vec<String>,
    /// Per channel `[C]` the greatest absolute difference of a state; empty if the channels themselves differ.
    pub greatest: Vec<f64>,
    /// Cells that are missing in only one of the two.
    #[serde(skip_serializing_if = "is_zero")]
    pub missing: usize,
}

impl Difference {
    /// Whether the datasets differ at most in name and provenance.
    pub fn is_of_provenance(&self) -> bool {
        self.manifest.is_empty() && self.splits.is_empty()
    }

    /// Whether they do not differ at all.
    pub fn is_empty(&self) -> bool {
        self.is_of_provenance() && self.provenance.is_empty()
    }
}

/// Compares two datasets trajectory by trajectory; only their indices are held in memory.
///
/// # Errors
/// If one of them cannot be read or does not match its manifest.
pub fn diff(a: &Dataset, b: &Dataset) -> Result<Difference, Error> {
    let is_origin = |key: &str| ["name", "description"].contains(&key) || key.starts_with("provenance.");
    let (provenance, manifest) = manifests(a, b).into_iter().partition(|(key, ..)| is_origin(key));
    let mut difference = Difference { provenance, manifest, ..Difference::default() };
    let splits: BTreeSet<Split> =
        [a, b].into_iter().flat_map(|dataset| dataset.manifest().splits.keys().copied()).collect();
    for split in splits {
        let of_split = compare(a, b, split)?;
        if of_split != SplitDifference::default() {
            difference.splits.insert(split, of_split);
        }
    }
    Ok(difference)
}

fn manifests(a: &Dataset, b: &Dataset) -> Vec<(String, String, String)> {
    let of = |dataset: &Dataset| {
        let mut manifest = serde_json::to_value(dataset.manifest()).unwrap_or_default();
        // Counts and files follow from the trajectories, which are compared themselves.
        if let Some(manifest) = manifest.as_object_mut() {
            manifest.retain(|key, _| key != "splits" && key != "files");
        }
        manifest
    };
    changes(&of(a), &of(b))
}

/// The leaves in which two trees of settings differ: dotted key, old value, new value.
pub fn changes(old: &Value, new: &Value) -> Vec<(String, String, String)> {
    let (mut old_leaves, mut new_leaves) = (BTreeMap::new(), BTreeMap::new());
    leaves(old, "", &mut old_leaves);
    leaves(new, "", &mut new_leaves);
    let keys: BTreeSet<&String> = old_leaves.keys().chain(new_leaves.keys()).collect();
    let said = |leaf: Option<&Value>| leaf.map_or("(absent)".to_owned(), Value::to_string);
    keys.into_iter()
        .filter(|key| old_leaves.get(*key) != new_leaves.get(*key))
        .map(|key| (key.clone(), said(old_leaves.get(key)), said(new_leaves.get(key))))
        .collect()
}

fn leaves(value: &Value, at: &str, into: &mut BTreeMap<String, Value>) {
    let inside = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    match value {
        Value::Object(table) if !table.is_empty() => {
            table.iter().for_each(|(key, value)| leaves(value, &inside(key), into));
        }
        Value::Array(items) if items.iter().any(Value::is_object) => {
            items.iter().enumerate().for_each(|(index, value)| leaves(value, &inside(&index.to_string()), into));
        }
        // Null and absent are the same to TOML.
        Value::Null => {}
        leaf => {
            into.insert(at.to_owned(), leaf.clone());
        }
    }
}

fn compare(a: &Dataset, b: &Dataset, split: Split) -> Result<SplitDifference, Error> {
    let (rows_a, rows_b) = (rows(a, split)?, rows(b, split)?);
    let name = |key: &(String, String)| format!("{}/{}", key.0, key.1);
    let only = |some: &BTreeMap<_, usize>, others: &BTreeMap<_, usize>| {
        some.keys().filter(|key| !others.contains_key(*key)).map(name).collect()
    };
    let mut difference = SplitDifference {
        only_in_a: only(&rows_a, &rows_b),
        only_in_b: only(&rows_b, &rows_a),
        ..SplitDifference::default()
    };
    let points = a.manifest().state_shape().points();
    let same_channels = a.manifest().channels == b.manifest().channels && a.manifest().grid == b.manifest().grid;
    let mut greatest = vec![0.0_f64; if same_channels { a.manifest().channels.len() } else { 0 }];
    let common: Vec<(usize, usize)> = rows_a.iter().filter_map(|(key, a)| Some((*a, *rows_b.get(key)?))).collect();
    for common in common.chunks(BATCH) {
        let (of_a, of_b): (Vec<usize>, Vec<usize>) = common.iter().copied().unzip();
        for (a, b) in a.read_rows(split, &of_a)?.iter().zip(&b.read_rows(split, &of_b)?) {
            trajectories(a, b, points, &mut difference, &mut greatest);
        }
    }
    if !difference.states.is_empty() {
        difference.greatest = greatest;
    }
    Ok(difference)
}

/// Row of each trajectory of a split, by environment and trajectory.
fn rows(dataset: &Dataset, split: Split) -> Result<BTreeMap<(String, String), usize>, Error> {
    let index = dataset.index(split)?;
    let key = |(row, IndexEntry { environment, trajectory, .. })| ((environment, trajectory), row);
    Ok(index.into_iter().enumerate().map(key).collect())
}

fn trajectories(a: &Trajectory, b: &Trajectory, points: usize, difference: &mut SplitDifference, greatest: &mut [f64]) {
    let name = || format!("{}/{}", a.environment, a.trajectory);
    if a.parameters != b.parameters {
        difference.parameters.push(name());
    }
    if !same(&a.times, &b.times) {
        difference.times.push(name());
    }
    if !same(&a.inputs, &b.inputs) {
        difference.inputs.push(name());
    }
    if !same(&a.states, &b.states) {
        difference.states.push(name());
        if a.states.len() == b.states.len() && !greatest.is_empty() {
            for (value, (a, b)) in a.states.iter().zip(&b.states).enumerate() {
                let channel = value / points % greatest.len();
                greatest[channel] = greatest[channel].max((a - b).abs()); // NaN, where a cell is missing, is no maximum
                difference.missing += usize::from(a.is_nan() != b.is_nan());
            }
        }
    }
}

/// Bitwise equality, which distinguishes -0 from 0.
fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}
