//! The dataset on disk: what goes in comes out of both stores, and what is damaged is found.

#[path = "common/dataset.rs"]
mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use common::{manifest, ragged, shared_grid, trajectory, write};
use paramill::dataset::{Dataset, Error, IndexEntry, Manifest, Store, Writer, verify};
use paramill::schema::{Quantity, Split, Trajectory};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

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

/// Edits the manifest's JSON, and sets sizes and digests to those of the files as they now are.
fn restate(directory: &Path, edit: impl FnOnce(&mut serde_json::Value)) {
    let path = directory.join("manifest.json");
    let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for entry in json["files"].as_array_mut().unwrap() {
        if let Ok(bytes) = fs::read(directory.join(entry["path"].as_str().unwrap())) {
            entry["bytes"] = bytes.len().into();
            entry["sha256"] = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect::<String>().into();
        }
    }
    edit(&mut json);
    fs::write(path, serde_json::to_vec_pretty(&json).unwrap()).unwrap();
}

fn streamed(dataset: &Dataset, split: Split, store: Store, batch: usize) -> Result<Vec<Vec<Trajectory>>, Error> {
    dataset.batches(split, store, batch)?.collect()
}

/// Equality to the bit, which tells -0 from 0.
fn bits(trajectory: &Trajectory) -> (&str, &str, Vec<Option<u64>>, Vec<u64>, Vec<u64>) {
    let of = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect();
    let parameters = trajectory.parameters.iter().map(|value| value.map(f64::to_bits)).collect();
    (&trajectory.environment, &trajectory.trajectory, parameters, of(&trajectory.times), of(&trajectory.states))
}

fn assert_same(found: &[Trajectory], expected: &[Trajectory]) {
    assert_eq!(found.iter().map(bits).collect::<Vec<_>>(), expected.iter().map(bits).collect::<Vec<_>>());
}

fn conforms(manifest: Manifest, rows: &[Trajectory]) {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    let written = write(&directory, manifest, &[(Split::Train, rows.to_vec())]);
    assert_eq!(verify(&directory), Vec::<String>::new());
    let dataset = Dataset::open(&directory).unwrap();
    assert_eq!(dataset.manifest(), &written);
    assert_same(&dataset.read(Split::Train).unwrap(), rows);
    let index: Vec<_> = rows
        .iter()
        .map(|row| IndexEntry {
            environment: row.environment.clone(),
            trajectory: row.trajectory.clone(),
            parameters: row.parameters.clone(),
            samples: row.len(),
        })
        .collect();
    assert_eq!(dataset.index(Split::Train).unwrap(), index);
    for store in STORES {
        for batch in [1, 2, 3, rows.len(), usize::MAX] {
            let batches = streamed(&dataset, Split::Train, store, batch).unwrap();
            assert!(batches.iter().rev().skip(1).all(|rows| rows.len() == batch), "{store:?}, {batch}");
            assert_same(&batches.concat(), rows);
        }
    }
    let picked: Vec<usize> = (0..rows.len()).rev().chain([0, rows.len() / 2, 0]).collect();
    let expected: Vec<_> = picked.iter().map(|row| rows[*row].clone()).collect();
    assert_same(&dataset.read_rows(Split::Train, &picked).unwrap(), &expected);
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
    assert_eq!(one.len(), 6);
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
fn a_flipped_bit_is_found_and_refused() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    let written = write(&directory, manifest(), &[(Split::Train, ragged())]);
    for entry in &written.files {
        let path = directory.join(&entry.path);
        let sound = fs::read(&path).unwrap();
        let mut damaged = sound.clone();
        damaged[sound.len() / 2] ^= 0x10;
        fs::write(&path, damaged).unwrap();
        let problems = verify(&directory);
        assert!(
            problems.iter().any(|p| p.contains(&entry.path) && p.contains("SHA-256")),
            "{}: {problems:?}",
            entry.path
        );
        let dataset = Dataset::open(&directory).unwrap();
        for (store, folder) in [(Store::Hdf5, "hdf5/"), (Store::Parquet, "data/")] {
            let found = streamed(&dataset, Split::Train, store, 2);
            let refused = matches!(&found, Err(Error::Digest { path, .. }) if path.ends_with(&entry.path));
            assert_eq!(refused, entry.path.starts_with(folder), "{}", entry.path);
        }
        fs::write(&path, sound).unwrap();
    }
    assert_eq!(verify(&directory), Vec::<String>::new());
}

#[test]
fn a_truncated_missing_or_extra_file_is_found() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    let written = write(&directory, manifest(), &[(Split::Train, ragged())]);
    for entry in written.files.iter().filter(|entry| entry.path != "README.md") {
        let path = directory.join(&entry.path);
        let sound = fs::read(&path).unwrap();
        fs::write(&path, &sound[..sound.len() - 1]).unwrap();
        let opened = Dataset::open(&directory).err().unwrap().to_string();
        let size = format!("has {} bytes; expected {}", sound.len() - 1, sound.len());
        for found in [opened, verify(&directory).concat()] {
            assert!(found.contains(&entry.path) && found.contains(&size), "{found}");
        }
        fs::remove_file(&path).unwrap();
        let opened = Dataset::open(&directory).err().unwrap().to_string();
        for found in [opened, verify(&directory).concat()] {
            assert!(found.contains(&entry.path) && found.contains("cannot be read"), "{found}");
        }
        fs::write(&path, sound).unwrap();
    }
    fs::write(directory.join("hdf5/notes.txt"), "x").unwrap();
    let problems = verify(&directory);
    assert!(problems.len() == 1 && problems[0].contains("hdf5/notes.txt"), "{problems:?}");
}

#[test]
fn a_link_out_of_the_directory_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, ragged())]);
    fs::rename(directory.join("hdf5/train.h5"), root.path().join("elsewhere.h5")).unwrap();
    std::os::unix::fs::symlink("../../elsewhere.h5", directory.join("hdf5/train.h5")).unwrap();
    for found in [Dataset::open(&directory).err().unwrap().to_string(), verify(&directory).concat()] {
        assert!(found.contains("hdf5/train.h5") && found.contains("symbolic link out"), "{found}");
    }
}

#[test]
fn a_wrong_manifest_is_named_with_every_problem() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, ragged())]);
    let sound = fs::read_to_string(directory.join("manifest.json")).unwrap();
    let expect = |text: &str, parts: &[&str]| {
        fs::write(directory.join("manifest.json"), text).unwrap();
        for found in [Dataset::open(&directory).err().unwrap().to_string(), verify(&directory).join("; ")] {
            for part in parts {
                assert!(found.contains(part), "{part}: {found}");
            }
        }
    };
    expect(&sound.replacen("\"kind\"", "\"kind", 1), &["manifest.json:6:"]);
    expect(&sound.replacen("\"time_unit\": \"s\"", "\"time_unit\": 3", 1), &["manifest.json:", "integer `3`"]);
    expect(&sound.replacen("\"major\": 1", "\"major\": 2", 1), &["format is 2.0", "1.x"]);
    expect(&sound.replacen("\"dataset\"", "\"model\"", 1), &["kind is `model`"]);
    let broken = sound
        .replacen("data/train-00000-of-00001.parquet", "../train.parquet", 1)
        .replacen("hdf5/train.h5", "/etc/passwd", 1)
        .replacen("\"shortest\": 2", "\"shortest\": 1", 1)
        .replacen("\"name\": \"y\"", "\"name\": \"x\"", 1);
    expect(
        &broken,
        &["leaves the directory", "is absolute", "`hdf5/train.h5` is not listed", "1 to 5 samples", "`x` collides"],
    );
    fs::remove_file(directory.join("manifest.json")).unwrap();
    assert!(Dataset::open(&directory).err().unwrap().to_string().contains("manifest.json"));
    assert_eq!(verify(&directory).len(), 1);
}

#[test]
fn a_newer_minor_version_is_read() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, ragged())]);
    restate(&directory, |json| {
        json["format"]["minor"] = 9.into();
        json["something_new"] = true.into();
    });
    assert_same(&Dataset::open(&directory).unwrap().read(Split::Train).unwrap(), &ragged());
}

/// Changes the HDF5 file of a sound dataset with libhdf5, digests following, and returns what reader and verify say.
fn tampered(rows: &[Trajectory], tamper: impl FnOnce(&hdf5_metno::File, &Path)) -> [String; 2] {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, rows.to_vec())]);
    let file = hdf5_metno::File::open_rw(directory.join("hdf5/train.h5")).unwrap();
    tamper(&file, root.path());
    file.close().unwrap();
    restate(&directory, |_| ());
    let read = Dataset::open(&directory).unwrap().read(Split::Train).err();
    [read.map(|error| error.to_string()).unwrap_or_default(), verify(&directory).join("; ")]
}

#[test]
fn hdf5_that_refers_to_other_files_is_refused() {
    let found = tampered(&ragged(), |file, root| {
        let other = hdf5_metno::File::create(root.join("other.h5")).unwrap();
        other.new_dataset::<f64>().shape((5, 5)).create("x").unwrap();
        file.unlink("x").unwrap();
        file.link_external(root.join("other.h5").to_str().unwrap(), "x", "x").unwrap();
    });
    assert!(found.iter().all(|found| found.contains("`x` is a link of type External")), "{found:?}");

    let found = tampered(&ragged(), |file, root| {
        fs::write(root.join("raw"), vec![0; 200]).unwrap();
        file.unlink("x").unwrap();
        let raw = root.join("raw");
        let builder = file.new_dataset::<f64>().external(raw.to_str().unwrap(), 0, 200);
        builder.shape((5, 5)).create("x").unwrap();
    });
    assert!(found.iter().all(|found| found.contains("`x` has external storage")), "{found:?}");

    let found = tampered(&ragged(), |file, root| {
        let other = root.join("other.h5");
        hdf5_metno::File::create(&other).unwrap().new_dataset::<f64>().shape((5, 5)).create("x").unwrap();
        file.unlink("x").unwrap();
        let builder = file.new_dataset::<f64>();
        let builder = builder.virtual_map(other.to_str().unwrap(), "x", (5, 5), (.., ..), (5, 5), (.., ..));
        builder.shape((5, 5)).create("x").unwrap();
    });
    assert!(found.iter().all(|found| found.contains("`x` is virtual")), "{found:?}");
}

#[test]
fn hdf5_of_another_shape_is_refused_with_every_difference() {
    let found = tampered(&ragged(), |file, _| {
        for name in ["x", "y", "beta"] {
            file.unlink(name).unwrap();
        }
        file.new_dataset::<f64>().shape((5, 4)).create("x").unwrap();
        file.new_dataset::<f32>().shape(5).create("beta").unwrap();
    });
    for part in ["`x` has shape [5, 4]; expected [5, 5]", "`y` is missing", "`beta` has type float32"] {
        assert!(found.iter().all(|found| found.contains(part)), "{part}: {found:?}");
    }
}

#[test]
fn bad_values_in_hdf5_are_refused_by_place() {
    let write_value = |file: &hdf5_metno::File, name: &str, row: usize, sample: usize, value: f64| {
        let mut values = file.dataset(name).unwrap().read_2d::<f64>().unwrap();
        values[[row, sample]] = value;
        file.dataset(name).unwrap().write(&values).unwrap();
    };
    let found = tampered(&ragged(), |file, _| write_value(file, "y", 1, 2, f64::NAN));
    assert!(found.iter().all(|f| f.contains("trajectory `1`") && f.contains("`y` is NaN at sample 2")), "{found:?}");

    let found = tampered(&ragged(), |file, _| write_value(file, "time", 1, 2, -7.0));
    assert!(found.iter().all(|f| f.contains("strictly increasing")), "{found:?}");

    let [read, verified] = tampered(&ragged(), |file, _| write_value(file, "x", 0, 3, 1.0));
    assert!(read.is_empty() && verified.contains("`x` has values after the last sample"), "{read} {verified}");

    let [read, verified] = tampered(&ragged(), |file, _| write_value(file, "x", 1, 3, 1.0));
    assert!(read.is_empty() && verified.contains("expected the same as in the HDF5 copy"), "{read} {verified}");

    let ids = |file: &hdf5_metno::File, ids: [&str; 5]| {
        use std::str::FromStr;
        let ids = ids.map(|id| hdf5_metno::types::VarLenUnicode::from_str(id).unwrap());
        file.dataset("trajectory_id").unwrap().write(&ids).unwrap();
    };
    let found = tampered(&ragged(), |file, _| ids(file, ["0", "0", "drop|1", "päth", "一"]));
    assert!(found.iter().all(|f| f.contains("stands twice")), "{found:?}");

    let found = tampered(&ragged(), |file, _| {
        file.dataset("sample_count").unwrap().write(&[2i64, 4, 3, -2, 9]).unwrap();
    });
    assert!(found.iter().all(|f| f.contains("row 3 is -2") && f.contains("row 4 is 9")), "{found:?}");
}

#[test]
fn copies_that_differ_are_found() {
    let root = tempfile::tempdir().unwrap();
    let rows = ragged();
    let mut other = rows.clone();
    other[1].states[3] += 1.0;
    other[2].parameters[0] = Some(3.0);
    let (one, two) = (root.path().join("one"), root.path().join("two"));
    write(&one, manifest(), &[(Split::Train, rows)]);
    write(&two, manifest(), &[(Split::Train, other)]);
    fs::copy(two.join("data/train-00000-of-00001.parquet"), one.join("data/train-00000-of-00001.parquet")).unwrap();
    restate(&one, |_| ());
    let problems = verify(&one);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems[0].contains("train-00000-of-00001.parquet") && problems[0].contains("`y` at sample 1"),
        "{problems:?}"
    );
    assert!(problems[1].contains("parameter `beta` is Some(3.0)"), "{problems:?}");
}

#[test]
fn counts_that_differ_are_found() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, ragged())]);
    restate(&directory, |json| json["splits"]["train"]["environments"] = 3.into());
    let problems = verify(&directory);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems.iter().all(|problem| problem.contains("holds 4 environments")), "{problems:?}");
    restate(&directory, |json| json["splits"]["train"]["trajectories"] = 4.into());
    let dataset = Dataset::open(&directory).unwrap();
    for store in STORES {
        assert!(streamed(&dataset, Split::Train, store, 2).is_err());
    }
}

#[test]
fn one_trajectory_in_two_splits_is_found() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    let mut leaked = ragged()[1].clone();
    leaked.trajectory = "other name".to_owned();
    write(&directory, manifest(), &[(Split::Train, ragged()), (Split::Test, vec![leaked])]);
    let problems = verify(&directory);
    assert_eq!(problems.len(), 1, "{problems:?}");
    for part in ["data/test-", "other name", "in split `train`"] {
        assert!(problems[0].contains(part), "{part}: {problems:?}");
    }
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
        (change(&|bad| bad.states[2] = f64::NAN), "`x` is NaN at sample 1"),
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

/// Trajectories of `channels` channels in key order, any finite numbers in them.
fn trajectories(channels: usize) -> impl Strategy<Value = Vec<Trajectory>> {
    let number = || prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO;
    let samples = prop::collection::btree_map(any::<i32>(), prop::collection::vec(number(), channels), 2..6);
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
