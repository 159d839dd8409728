//! The dataset on disk: what goes in comes out of both stores, and what is damaged is found.

#[path = "common/dataset.rs"]
mod common;
#[path = "dataset/combine.rs"]
mod combine;
#[path = "dataset/damage.rs"]
mod damage;
#[path = "dataset/hostile.rs"]
mod hostile;
#[path = "dataset/inputs.rs"]
mod inputs;
#[path = "dataset/missing.rs"]
mod missing;
#[path = "dataset/score.rs"]
mod score;
#[path = "dataset/sizes.rs"]
mod sizes;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use common::{fields, manifest, ragged, reseal, shared_grid, trajectory, write};
use paramill::dataset::{Dataset, Error, IndexEntry, Manifest, Store, Writer, verify};
use paramill::schema::{Boundary, GridAxis, Quantity, Split, Trajectory};
use proptest::prelude::*;

const STORES: [Store; 2] = [Store::Hdf5, Store::Parquet];

fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(
                files(&path)
                    .into_iter()
                    .map(|(name, bytes)| (path.file_name().unwrap().into(), name, bytes))
                    .map(|(folder, name, bytes): (PathBuf, PathBuf, Vec<u8>)| (folder.join(name), bytes)),
            );
        } else {
            found.insert(path.file_name().unwrap().into(), fs::read(&path).unwrap());
        }
    }
    found
}

fn streamed(dataset: &Dataset, split: Split, store: Store, batch: usize) -> Result<Vec<Vec<Trajectory>>, Error> {
    dataset.batches(split, store, batch)?.collect()
}

/// Equality to the bit, which tells -0 from 0.
fn bits(trajectory: &Trajectory) -> (&str, &str, Vec<Option<u64>>, [Vec<u64>; 3]) {
    let of = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect();
    let Trajectory { environment, trajectory, parameters, times, states, inputs } = trajectory;
    let parameters = parameters.iter().map(|value| value.map(f64::to_bits)).collect();
    (environment, trajectory, parameters, [of(times), of(states), of(inputs)])
}

fn assert_same(found: &[Trajectory], expected: &[Trajectory]) {
    assert_eq!(found.iter().map(bits).collect::<Vec<_>>(), expected.iter().map(bits).collect::<Vec<_>>());
}

fn conforms(manifest: Manifest, rows: &[Trajectory]) {
    conforms_as(Split::Train, manifest, rows);
}

fn conforms_as(split: Split, manifest: Manifest, rows: &[Trajectory]) {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    let written = write(&directory, manifest, &[(split, rows.to_vec())]);
    assert_eq!(verify(&directory), Vec::<String>::new());
    let dataset = Dataset::open(&directory).unwrap();
    assert_eq!(dataset.manifest(), &written);
    assert_same(&dataset.read(split).unwrap(), rows);
    let index: Vec<_> = rows
        .iter()
        .map(|row| IndexEntry {
            environment: row.environment.clone(),
            trajectory: row.trajectory.clone(),
            parameters: row.parameters.clone(),
            samples: row.len(),
        })
        .collect();
    assert_eq!(dataset.index(split).unwrap(), index);
    for store in STORES {
        for batch in [1, 2, 3, rows.len(), usize::MAX] {
            let batches = streamed(&dataset, split, store, batch).unwrap();
            assert!(batches.iter().rev().skip(1).all(|rows| rows.len() == batch), "{store:?}, {batch}");
            assert_same(&batches.concat(), rows);
        }
    }
    let picked: Vec<usize> = (0..rows.len()).rev().chain([0, rows.len() / 2, 0]).collect();
    let expected: Vec<_> = picked.iter().map(|row| rows[*row].clone()).collect();
    assert_same(&dataset.read_rows(split, &picked).unwrap(), &expected);
}

#[test]
fn both_stores_return_what_was_written() {
    conforms(manifest(), &shared_grid(7));
    conforms(manifest(), &ragged());
    conforms(manifest(), &ragged()[..1]);
    let mut bare = manifest();
    bare.parameters.clear();
    bare.channels.truncate(1);
    let rows: Vec<_> = ragged()
        .into_iter()
        .map(|row| Trajectory { states: row.states.iter().step_by(2).copied().collect(), parameters: vec![], ..row })
        .collect();
    conforms(bare, &rows);
}

#[test]
fn fields_on_a_grid_come_back_from_both_stores() {
    for own_times in [false, true] {
        let (manifest, rows) = fields(5, own_times);
        conforms(manifest, &rows);
    }
    let (mut manifest, mut rows) = fields(2, true);
    let up = GridAxis::periodic("up", "m", 2, 0.5);
    manifest.grid.as_mut().unwrap().axes.push(up);
    rows.iter_mut().for_each(|row| row.states = row.states.repeat(2));
    conforms(manifest, &rows);
    let (mut manifest, mut rows) = fields(1, false);
    manifest.grid.as_mut().unwrap().axes.truncate(1);
    rows.iter_mut().for_each(|row| row.states.truncate(row.len() * 2 * 3));
    conforms(manifest, &rows);
}

/// Coordinates from the start of an axis, and The Well's names of boundaries.
#[test]
fn an_axis_that_starts_elsewhere_and_ends_is_written_as_such() {
    let (mut manifest, rows) = fields(1, false);
    let axes = &mut manifest.grid.as_mut().unwrap().axes;
    (axes[0].start, axes[0].boundary) = (-1.5, Boundary::Zero);
    axes[1].boundary = Boundary::Replicate;
    conforms(manifest.clone(), &rows);
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("set"), manifest, &[(Split::Train, rows)]);
    let file = hdf5_metno::File::open(root.path().join("set/hdf5/train.h5")).unwrap();
    let east = file.dataset("east").unwrap().read_raw::<f64>().unwrap();
    assert_eq!(east, [-1.5, -1.25, -1.0]);
    for name in ["east_wall", "north_open"] {
        assert!(file.group(&format!("boundary_conditions/{name}")).is_ok(), "{name}");
    }
}

/// Nothing compresses better: the bounds on what a file can hold must let it pass.
#[test]
fn fields_of_zeros_come_back_from_both_stores() {
    let (mut manifest, mut rows) = fields(2, false);
    manifest.grid.as_mut().unwrap().axes.iter_mut().for_each(|axis| axis.count = 128);
    rows.iter_mut().for_each(|row| row.states = vec![0.0; row.len() * 2 * 128 * 128]);
    conforms(manifest, &rows);
}

#[test]
fn a_grid_that_cannot_be_is_refused_with_every_reason() {
    let root = tempfile::tempdir().unwrap();
    let (sound, rows) = fields(1, false);
    let refused = |edit: &dyn Fn(&mut Vec<GridAxis>), parts: &[&str]| {
        let mut manifest = sound.clone();
        edit(&mut manifest.grid.as_mut().unwrap().axes);
        let error = Writer::create(&root.path().join("set"), manifest).err().unwrap().to_string();
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    };
    refused(&|axes| axes.clear(), &["0 axes"]);
    refused(&|axes| axes[0].count = 0, &["`east` has no point"]);
    refused(&|axes| axes[1].count = usize::MAX, &["too many points"]);
    refused(&|axes| axes[0].spacing = f64::NAN, &["spacing NaN"]);
    refused(
        &|axes| (axes[0].name, axes[1].name) = ("x".to_owned(), "t0_fields".to_owned()),
        &["axis `x` collides with another quantity, the channel `x`", "axis `t0_fields` collides"],
    );
    let mut writer = Writer::create(&root.path().join("set"), sound.clone()).unwrap();
    let short = Trajectory { states: rows[0].states[1..].to_vec(), ..rows[0].clone() };
    let error = writer.write(Split::Train, &short).unwrap_err().to_string();
    assert!(error.contains("119 state values; expected 120 (5 samples of 2 channels on 12 points)"), "{error}");
}

#[test]
fn odd_names_are_columns_in_both_stores() {
    let mut odd = manifest();
    odd.channels = vec![Quantity::new("K.1", "m s-1", "dotted"), Quantity::new("k.1 (θ)", "°C", "")];
    odd.parameters = vec![Quantity::new("list.element", "1", ""), Quantity::new("length", "m", "of the rod")];
    conforms(odd, &ragged());
}

#[test]
fn batches_cross_row_groups_and_chunks() {
    let times: Vec<f64> = (0..150_000).map(f64::from).collect();
    let rows: Vec<_> = (0..6).map(|id| trajectory("e", &id.to_string(), &[None, Some(1.0)], &times)).collect();
    conforms(manifest(), &rows);
}

#[test]
fn an_absent_split_is_empty_and_an_absent_row_is_an_error() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, shared_grid(2))]);
    let dataset = Dataset::open(&directory).unwrap();
    assert!(dataset.index(Split::Grid).unwrap().is_empty());
    assert!(dataset.read(Split::Grid).unwrap().is_empty());
    assert!(dataset.read_rows(Split::Grid, &[]).unwrap().is_empty());
    for store in STORES {
        assert_eq!(dataset.batches(Split::Grid, store, 1).unwrap().count(), 0);
        assert!(dataset.batches(Split::Train, store, 0).is_err());
    }
    let error = dataset.read_rows(Split::Train, &[1, 4]).unwrap_err().to_string();
    assert!(error.contains("row 4") && error.contains("below 4"), "{error}");
}

#[test]
fn the_same_input_gives_the_same_bytes_later() {
    let root = tempfile::tempdir().unwrap();
    let splits = [(Split::Train, shared_grid(3)), (Split::Grid, ragged())];
    write(&root.path().join("one"), manifest(), &splits);
    std::thread::sleep(std::time::Duration::from_millis(1100)); // HDF5 stamps whole seconds where it stamps
    write(&root.path().join("two"), manifest(), &splits);
    let (one, two) = (files(&root.path().join("one")), files(&root.path().join("two")));
    assert_eq!(one.keys().collect::<Vec<_>>(), two.keys().collect::<Vec<_>>());
    assert_eq!(one.len(), 8);
    for (path, bytes) in &one {
        assert!(*bytes == two[path], "{} differs", path.display());
    }
    let hashes = ["one", "two"].map(|name| Dataset::open(&root.path().join(name)).unwrap().content_hash().to_owned());
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn a_dataset_may_be_read_from_several_threads() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    let rows = shared_grid(20);
    write(&directory, manifest(), &[(Split::Train, rows.clone())]);
    let dataset = Dataset::open(&directory).unwrap();
    std::thread::scope(|scope| {
        for start in 0..4 {
            let (dataset, rows) = (&dataset, &rows);
            scope.spawn(move || {
                for row in (start..rows.len()).step_by(4) {
                    assert_same(&dataset.read_rows(Split::Train, &[row]).unwrap(), &rows[row..=row]);
                }
            });
        }
    });
}

#[test]
fn the_writer_refuses_names_that_collide() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    let mut colliding = manifest();
    colliding.channels.push(Quantity::new("beta", "1", ""));
    colliding.channels.push(Quantity::new("time", "1", ""));
    colliding.parameters.push(Quantity::new("a/b", "1", ""));
    let error = Writer::create(&directory, colliding).err().unwrap().to_string();
    for part in ["`beta` collides", "`time` collides", "\"a/b\" cannot be a column"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn the_writer_refuses_bad_trajectories_and_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    let good = ragged();
    let mut writer = Writer::create(&directory, manifest()).unwrap();
    let change = |edit: &dyn Fn(&mut Trajectory)| {
        let mut bad = good[2].clone();
        edit(&mut bad);
        bad
    };
    writer.write(Split::Train, &good[0]).unwrap();
    writer.write(Split::Train, &good[1]).unwrap();
    let cases: [(Trajectory, &str); 11] = [
        (change(&|bad| bad.states[2] = f64::INFINITY), "`x` is inf at sample 1"),
        (change(&|bad| bad.times[1] = f64::INFINITY), "time of sample 1 is inf"),
        (change(&|bad| bad.times[2] = bad.times[1]), "strictly increasing"),
        (
            change(&|bad| {
                bad.times.truncate(1);
                bad.states.truncate(2)
            }),
            "1 samples; expected at least 2",
        ),
        (
            change(&|bad| {
                bad.times.clear();
                bad.states.clear()
            }),
            "0 samples; expected at least 2",
        ),
        (change(&|bad| bad.states.truncate(5)), "5 state values; expected 6"),
        (change(&|bad| bad.parameters.truncate(1)), "1 parameter values; expected 2"),
        (change(&|bad| bad.parameters[0] = Some(f64::NAN)), "parameter `beta` is NaN"),
        (change(&|bad| bad.environment = String::new()), "environment id is empty"),
        (good[0].clone(), "ascending"),
        (good[1].clone(), "stands twice"),
    ];
    for (bad, part) in &cases {
        let error = writer.write(Split::Train, bad).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("split `train`"), "{part}: {error}");
    }
    let mut other = good[1].clone();
    other.trajectory = "2".to_owned();
    other.parameters = vec![Some(9.0), None];
    let error = writer.write(Split::Train, &other).unwrap_err().to_string();
    assert!(error.contains("[9, unknown]; expected [0.25, unknown]"), "{error}");
    for trajectory in &good[2..] {
        writer.write(Split::Train, trajectory).unwrap();
    }
    writer.write(Split::Grid, &good[0]).unwrap();
    let error = writer.write(Split::Train, &trajectory("zz", "0", &[None, None], &[0.0, 1.0])).unwrap_err().to_string();
    assert!(error.contains("the split has ended"), "{error}");
    writer.finish().unwrap();
    assert_same(&Dataset::open(&directory).unwrap().read(Split::Train).unwrap(), &good);
}

#[test]
fn an_empty_dataset_is_refused_and_leaves_what_was_there() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, ragged())]);
    let before = files(&directory);
    let error = Writer::create(&directory, manifest()).unwrap().finish().unwrap_err().to_string();
    assert!(error.contains("no trajectory was written"), "{error}");
    assert_eq!(files(&directory), before);
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
}

#[test]
fn the_card_says_what_the_dataset_is() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, ragged()), (Split::AdaptTest, shared_grid(2))]);
    insta::assert_snapshot!(fs::read_to_string(directory.join("README.md")).unwrap());
}

/// Trajectories of `channels` channels in key order, any finite numbers and missing cells in them.
fn trajectories(channels: usize) -> impl Strategy<Value = Vec<Trajectory>> {
    let number = || prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO;
    // A first cell that is there, and others that may be missing.
    let cells = prop::collection::vec(prop_oneof![4 => number(), 1 => Just(f64::NAN)], channels - 1);
    let cells = (number(), cells).prop_map(|(first, others)| [vec![first], others].concat());
    let samples = prop::collection::btree_map(any::<i32>(), cells, 2..6);
    let row = (samples, prop::option::of(number()));
    prop::collection::btree_map(("[a-cß]{1,2}", "[0-9é ]{1,3}"), row, 1..8).prop_map(|rows| {
        let mut parameters = BTreeMap::new();
        rows.into_iter()
            .map(|((environment, trajectory), (samples, parameter))| Trajectory {
                parameters: vec![*parameters.entry(environment.clone()).or_insert(parameter)],
                environment,
                trajectory,
                times: samples.keys().map(|time| f64::from(*time) / 64.0).collect(),
                states: samples.into_values().flatten().collect(),
                inputs: Vec::new(),
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_trajectories_survive((channels, rows) in (1..4usize).prop_flat_map(|c| (Just(c), trajectories(c)))) {
        let mut manifest = manifest();
        manifest.channels = (0..channels).map(|c| Quantity::new(&format!("c{c}"), "1", "")).collect();
        manifest.parameters.truncate(1);
        conforms(manifest, &rows);
    }
}

#[test]
fn a_large_split_lies_in_shards_and_reads_as_one() {
    // Two samples of two channels take 70 doubles with their ids, so that three files are filled and a fourth begun.
    let count = 3 * (1 << 21) / 70 + 10;
    let rows: Vec<Trajectory> = (0..count)
        .map(|i| {
            trajectory(&format!("e-{:05}", i / 2), &(i % 2).to_string(), &[Some((i / 2) as f64), None], &[0.0, 1.0])
        })
        .collect();
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    let small = shared_grid(3);
    let manifest = write(&directory, manifest(), &[(Split::Train, small.clone()), (Split::Grid, rows.clone())]);
    let listed: Vec<&str> = manifest.files.iter().map(|file| file.path.as_str()).collect();
    let expected: Vec<String> = (0..4)
        .map(|shard| format!("data/grid-{shard:05}-of-00004.parquet"))
        .chain(["data/train-00000-of-00001.parquet".to_owned()])
        .chain((0..4).map(|shard| format!("hdf5/grid-{shard:05}-of-00004.h5")))
        .chain(["hdf5/train.h5".to_owned()])
        .collect();
    assert_eq!(listed, expected);
    assert_eq!(fs::read_dir(directory.join("data")).unwrap().count(), 5);
    assert_eq!(verify(&directory), Vec::<String>::new());

    let dataset = Dataset::open(&directory).unwrap();
    for store in STORES {
        let batches = streamed(&dataset, Split::Grid, store, 10_000).unwrap();
        assert!(batches.iter().rev().skip(1).all(|rows| rows.len() == 10_000), "{store:?}");
        assert_same(&batches.concat(), &rows);
    }
    assert_same(&dataset.read(Split::Grid).unwrap(), &rows);
    assert_eq!(dataset.index(Split::Grid).unwrap().len(), count);
    let edges: Vec<usize> = (1..4).flat_map(|shard| [shard * (1 << 21) / 70, shard * (1 << 21) / 70 - 1]).collect();
    let picked: Vec<usize> = edges.into_iter().chain([0, count - 1, 7]).collect();
    let chosen: Vec<Trajectory> = picked.iter().map(|&row| rows[row].clone()).collect();
    assert_same(&dataset.read_rows(Split::Grid, &picked).unwrap(), &chosen);
    drop(dataset);

    // Two shards exchanged: sound by their new digests, but out of order and each no longer like the other copy's.
    let [one, other] = [1, 2].map(|shard| directory.join(format!("data/grid-{shard:05}-of-00004.parquet")));
    let aside = directory.join("aside");
    for (from, to) in [(&one, &aside), (&other, &one), (&aside, &other)] {
        fs::rename(from, to).unwrap();
    }
    let mut exchanged = manifest.clone();
    for file in &mut exchanged.files {
        let path = directory.join(&file.path);
        (file.bytes, file.sha256) = (path.metadata().unwrap().len(), paramill::digest::sha256_of_file(&path).unwrap());
    }
    fs::write(directory.join("manifest.json"), serde_json::to_vec(&exchanged).unwrap()).unwrap();
    reseal(&directory);
    let dataset = Dataset::open(&directory).unwrap();
    let error = streamed(&dataset, Split::Grid, Store::Parquet, 10_000).unwrap_err().to_string();
    assert!(error.contains("expected ascending"), "{error}");
    assert!(verify(&directory).iter().any(|problem| problem.contains("stands in place of")));

    // A shard that the manifest does not list.
    exchanged.files.retain(|file| !file.path.starts_with("data/grid-00002"));
    fs::write(directory.join("manifest.json"), serde_json::to_vec(&exchanged).unwrap()).unwrap();
    reseal(&directory);
    let error = Dataset::open(&directory).err().unwrap().to_string();
    assert!(error.contains("`data/grid-00002-of-00004.parquet` is not listed"), "{error}");
}
