//! Datasets that were damaged or tampered with: `verify` names what is wrong and where, and the reader refuses it.

use std::fs;
use std::path::Path;

use paramill::dataset::{Dataset, Error, Store, seal, verify};
use paramill::random::Stream;
use paramill::schema::{Split, Trajectory};

use super::common::{manifest, ragged, reseal, restate, shared_grid, write};
use super::{STORES, assert_same, streamed};

/// Every file below `directory`, by its relative path.
fn all_files(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = super::files(directory).keys().map(|path| path.to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// `verify` finds that the file `name` is damaged, and whoever would read it refuses.
fn assert_found_and_refused(directory: &Path, name: &str, damage: &str) {
    let problems = verify(directory);
    assert!(problems.iter().any(|problem| problem.contains(name)), "{name}, {damage}: {problems:?}");
    let read = |store| Dataset::open(directory).and_then(|dataset| streamed(&dataset, Split::Train, store, 2));
    for (store, other_folder) in [(Store::Hdf5, "data/"), (Store::Parquet, "hdf5/")] {
        assert!(read(store).is_err() || name.starts_with(other_folder), "{name}, {damage}: {store:?} reads on");
    }
}

#[test]
fn any_flipped_bit_and_any_truncation_is_found_and_refused() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, shared_grid(3))]);
    let names = all_files(&directory);
    assert_eq!(
        names,
        [
            "README.md",
            "SHA256SUMS",
            "croissant.json",
            "data/train-00000-of-00001.parquet",
            "hdf5/train.h5",
            "manifest.json"
        ]
    );
    let mut stream = Stream::new(3, "flips", &[]);
    let mut below = |count: usize| (stream.unit() * count as f64) as usize;
    for flip in 0..200 {
        let name = &names[flip % names.len()];
        let path = directory.join(name);
        let sound = fs::read(&path).unwrap();
        let (byte, bit) = (below(sound.len()), below(8));
        let mut damaged = sound.clone();
        damaged[byte] ^= 1 << bit;
        fs::write(&path, &damaged).unwrap();
        assert_found_and_refused(&directory, name, &format!("bit {bit} of byte {byte}"));
        fs::write(&path, sound).unwrap();
    }
    for name in &names {
        let path = directory.join(name);
        let sound = fs::read(&path).unwrap();
        fs::write(&path, &sound[..sound.len() - 1]).unwrap();
        assert_found_and_refused(&directory, name, "one byte less");
        fs::write(&path, sound).unwrap();
    }
    assert_eq!(verify(&directory), Vec::<String>::new());
}

#[test]
fn an_edited_card_is_recorded_and_nothing_else_is() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, ragged())]);
    let identity = Dataset::open(&directory).unwrap().content_hash().to_owned();
    fs::write(directory.join("README.md"), "# Mine\n").unwrap();
    let refused = Dataset::open(&directory).err().unwrap().to_string();
    assert!(refused.contains("`README.md`") && refused.contains("paramill dataset seal"), "{refused}");
    seal(&directory).unwrap();
    assert_eq!(Dataset::open(&directory).unwrap().content_hash(), identity);
    assert_eq!(verify(&directory), Vec::<String>::new());

    let croissant = directory.join("croissant.json");
    let text = fs::read_to_string(&croissant).unwrap();
    fs::write(&croissant, text.replace("Two species", "Ten species")).unwrap();
    let refused = seal(&directory).unwrap_err().to_string();
    assert!(refused.contains("`croissant.json`"), "{refused}");

    for (missing, found) in [("SHA256SUMS", "no `SHA256SUMS`"), ("manifest.json", "no `manifest.json`")] {
        fs::remove_file(directory.join(missing)).unwrap();
        for error in [Dataset::open(&directory).err().unwrap(), seal(&directory).unwrap_err()] {
            assert!(error.to_string().contains(found), "{error}");
        }
    }
    let nowhere = Dataset::open(&root.path().join("nowhere")).err().unwrap().to_string();
    assert!(nowhere.contains("no such directory"), "{nowhere}");
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
    for entry in &written.files {
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
        reseal(&directory);
        for found in [Dataset::open(&directory).err().unwrap().to_string(), verify(&directory).join("; ")] {
            for part in parts {
                assert!(found.contains(part), "{part}: {found}");
            }
        }
    };
    expect(&sound.replacen("\"kind\"", "\"kind", 1), &["manifest.json:6:"]);
    expect(&sound.replacen("\"time_unit\": \"s\"", "\"time_unit\": 3", 1), &["manifest.json:", "integer `3`"]);
    expect(&sound.replacen("\"major\": 2", "\"major\": 3", 1), &["format 3.3", "2.x", "a newer version of paramill"]);
    expect(&sound.replacen("\"major\": 2", "\"major\": 1", 1), &["format 1.3", "2.x", "make it again"]);
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
fn older_and_newer_minor_versions_are_read() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, ragged())]);
    for minor in [0, 9] {
        restate(&directory, |json| {
            json["format"]["minor"] = minor.into();
            json["something_new"] = true.into();
        });
        assert_same(&Dataset::open(&directory).unwrap().read(Split::Train).unwrap(), &ragged());
    }
}

/// Changes the HDF5 file of a sound dataset with libhdf5, digests following, and returns what reader and verify say.
pub(super) fn tampered(rows: &[Trajectory], tamper: impl FnOnce(&hdf5_metno::File, &Path)) -> [String; 2] {
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

/// Two links deep as well as in the root group.
#[test]
fn links_in_any_group_are_refused() {
    let found = tampered(&shared_grid(2), |file, _| {
        file.link_soft("/x", "scalars/again").unwrap();
        file.link_external("other.h5", "x", "boundary_conditions/point_periodic/mask2").unwrap();
    });
    for part in [
        "`scalars/again` is a link of type Soft",
        "`boundary_conditions/point_periodic/mask2` is a link of type External",
    ] {
        assert!(found.iter().all(|found| found.contains(part)), "{part}: {found:?}");
    }
}

/// A few kilobytes that claim eight tebibytes are refused before anything is read.
#[test]
fn a_claim_that_the_file_cannot_hold_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, shared_grid(1))]);
    let samples = 1_usize << 40;
    let file = hdf5_metno::File::open_rw(directory.join("hdf5/train.h5")).unwrap();
    for name in ["x", "y", "time"] {
        file.unlink(name).unwrap();
    }
    for name in ["x", "y"] {
        let builder = file.new_dataset::<f64>().chunk((1, 1 << 20, 1)).deflate(4);
        builder.shape((2, samples, 1)).create(name).unwrap();
    }
    file.new_dataset::<f64>().chunk(1 << 20).deflate(4).shape(samples).create("time").unwrap();
    drop(file);
    restate(&directory, |json| {
        let split = &mut json["splits"]["train"];
        (split["samples"], split["shortest"], split["longest"]) =
            ((2 * samples).into(), samples.into(), samples.into());
    });
    let error = Dataset::open(&directory).unwrap().read(Split::Train).unwrap_err().to_string();
    for part in ["`x` claims 17592186044416 bytes", "`time` claims"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(verify(&directory).iter().any(|problem| problem.contains("claims")), "{:?}", verify(&directory));
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
    let found = tampered(&ragged(), |file, _| write_value(file, "y", 1, 2, f64::INFINITY));
    assert!(found.iter().all(|f| f.contains("trajectory `1`") && f.contains("`y` is inf at sample 2")), "{found:?}");

    let [read, verified] = tampered(&ragged(), |file, _| write_value(file, "y", 1, 2, f64::NAN));
    assert!(read.contains("trajectory `1`: 1 missing cells; expected none as the manifest states"), "{read}");
    assert!(verified.contains("trajectory `1`: `y` at sample 2 is") && verified.contains("and not NaN"), "{verified}");

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
fn an_environment_with_two_sets_of_parameters_is_found() {
    let root = tempfile::tempdir().unwrap();
    let validation = |beta: f64| {
        let mut trajectory = ragged()[0].clone();
        trajectory.parameters[0] = Some(beta);
        trajectory.states[1] = 8.0;
        vec![trajectory]
    };
    let (one, two) = (root.path().join("one"), root.path().join("two"));
    write(&one, manifest(), &[(Split::Train, ragged()), (Split::Validation, validation(0.25))]);
    write(&two, manifest(), &[(Split::Validation, validation(0.75))]);
    for file in ["hdf5/validation.h5", "data/validation-00000-of-00001.parquet"] {
        fs::copy(two.join(file), one.join(file)).unwrap();
    }
    restate(&one, |_| ());
    let problems = verify(&one);
    assert_eq!(problems.len(), 1, "{problems:?}");
    for part in ["data/validation-", "[0.75, unknown]; expected [0.25, unknown]", "(split `train`)"] {
        assert!(problems[0].contains(part), "{part}: {problems:?}");
    }
}
