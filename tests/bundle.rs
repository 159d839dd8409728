//! A model as one file: what it holds, that it estimates elsewhere as it did here, and what is refused.

#[path = "common/model.rs"]
mod model;
#[path = "common/program.rs"]
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use paramill::Model;
use paramill::checkpoint::{self, Opened, is_bundle};
use paramill::schema::Split;
use serde_json::Value;
use tar::{Archive, Builder, EntryType, Header};

use model::{FOUR_PAIRS, files, generate, map, train, train_settings};
use program::{paramill, stderr, stdout};

/// A model of four pairs that follows them a little, in `root/here/pairs-model`.
fn trained(root: &Path) -> PathBuf {
    let dataset = generate(root, FOUR_PAIRS);
    let directory = root.join("here/pairs-model");
    let settings = "steps = 0\ngauss_newton = { steps = 3 }\nmodel = { kind = \"mlp\", layers = 2, width = 8 }\n";
    let mut model = train(&train_settings(settings), &dataset, &directory).unwrap();
    map("kind = \"affine\"", &dataset, &mut model, &directory);
    directory
}

/// Packs the model in `here/pairs-model` of `root` with the program.
fn packed(root: &Path, to: &str) -> Vec<u8> {
    let output = paramill(root, &["model", "pack", "here/pairs-model", "--to", to]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    fs::read(root.join(to)).unwrap()
}

#[test]
fn a_model_estimates_elsewhere_as_it_did_where_it_was_trained() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let directory = trained(here.path());
    let bytes = packed(here.path(), "pairs.tar");
    assert_eq!(packed(here.path(), "again.tar"), bytes);
    // What a version has beside its model is not of the model.
    fs::write(directory.join("trained-on.txt"), "0123\n").unwrap();
    assert_eq!(packed(here.path(), "version.tar"), bytes);
    fs::remove_file(directory.join("trained-on.txt")).unwrap();

    let bundle = there.path().join("pairs.tar");
    fs::write(&bundle, bytes).unwrap();
    let output = paramill(there.path(), &["model", "unpack", "pairs.tar", "--json"]);
    let said: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((output.status.code(), &said["directory"]), (Some(0), &Value::from("pairs-model")));
    let unpacked = there.path().join("pairs-model");
    assert_eq!(files(&unpacked), files(&directory));

    let trajectories = paramill::Dataset::open(&here.path().join("pairs")).unwrap().read(Split::Train).unwrap();
    let estimates = |path: &Path| format!("{:?}", Model::open(path).unwrap().estimate(&trajectories).unwrap());
    let expected = estimates(&directory);
    assert!(expected.contains("ParameterEstimate"));
    assert_eq!([estimates(&unpacked), estimates(&bundle)], [expected.clone(), expected]);

    // What shows and checks a directory does so of the one file.
    let shown = |path: &str| stdout(&paramill(there.path(), &["show", path, "--json"]));
    assert!(shown("pairs.tar") == shown("pairs-model") && shown("pairs.tar").contains("\"pairs-model\""));
    assert_eq!(paramill(there.path(), &["check", "pairs.tar"]).status.code(), Some(0));
    // Nothing is replaced.
    let again = paramill(there.path(), &["model", "unpack", "pairs.tar"]);
    assert!(again.status.code() == Some(2) && stderr(&again).contains("is there already"), "{}", stderr(&again));

    // Anybody's tar opens it.
    let opened =
        Command::new("tar").args(["-xf", "pairs.tar", "-C"]).arg(here.path()).current_dir(there.path()).status();
    assert!(opened.unwrap().success());
    assert_eq!(files(&here.path().join("pairs-model")), files(&directory));
}

#[test]
fn a_bundle_estimates_an_archive_that_grows() {
    let root = tempfile::tempdir().unwrap();
    trained(root.path());
    packed(root.path(), "pairs.tar");
    let trajectories = paramill::Dataset::open(&root.path().join("pairs")).unwrap().read(Split::Train).unwrap();
    let mut table = "pair,t,x,y\n".to_owned();
    for it in trajectories.iter().filter(|it| it.trajectory == trajectories[0].trajectory) {
        let rows = it.times.iter().zip(it.states.chunks_exact(2));
        rows.for_each(|(t, state)| table += &format!("{},{t},{},{}\n", it.environment, state[0], state[1]));
    }
    fs::create_dir(root.path().join("archive")).unwrap();
    fs::write(root.path().join("archive/pairs.csv"), table).unwrap();
    let mapping = "[import]\ndataset = \"new\"\ndirectory = \"archive\"\ntime_unit = \"1\"\n\
                   table = { file = \"pairs.csv\", environment = \"pair\", time = \"t\" }\n\
                   channels = [{ column = \"x\", name = \"x\", unit = \"1\" }, { column = \"y\", name = \"y\", unit = \"1\" }]\n\
                   splits = { adapt = [\"*\"] }\n";
    fs::write(root.path().join("pairs.toml"), mapping).unwrap();
    let estimated = |model: &str, table: &str| {
        let output = paramill(
            root.path(),
            &["estimate", "--model", model, "--data", "pairs.toml", "--table", table, "--settle", "0"],
        );
        assert!(matches!(output.status.code(), Some(0 | 4)), "{}", stderr(&output));
        let directory = root.path().join(table);
        let (manifest, _) = paramill::estimate::Manifest::read(&directory).unwrap();
        format!("{:?}", paramill::estimate::read_rows(&directory, &manifest, Split::Adapt).unwrap())
    };
    assert_eq!(estimated("pairs.tar", "by-bundle"), estimated("here/pairs-model", "by-directory"));
}

#[test]
fn the_card_says_what_a_model_estimates_and_how_far() {
    let root = tempfile::tempdir().unwrap();
    let directory = trained(root.path());
    let card = fs::read_to_string(directory.join("README.md")).unwrap();
    // The corners of the benchmark's training grid, 0.5 to 1.0 in each parameter.
    for line in ["| `beta` | 1 | 0.5 | 1 | 4 |", "| `delta` | 1 | 0.5 | 1 | 4 |", "| `x` | 1 |", "MIT OR Apache-2.0"] {
        assert!(card.contains(line), "{line}: {card}");
    }
    let manifest = checkpoint::Manifest::read(&directory).unwrap().0;
    assert!(card.contains(&manifest.provenance.parents[0].sha256) && manifest.license == "MIT OR Apache-2.0");
    assert!(card.contains("The map from contexts to parameters is affine, fitted on 4 environments"));
    assert!(card.contains("account for the noise of the data alone"), "{card}");
    // It is of the model: another text is damage.
    fs::write(directory.join("README.md"), card.replace("MIT OR", "MIT and")).unwrap();
    let problems = checkpoint::verify(&directory);
    assert!(problems.len() == 1 && problems[0].contains("README.md"), "{problems:?}");
    let output = paramill(root.path(), &["model", "pack", "here/pairs-model", "--to", "pairs.tar"]);
    assert!(output.status.code() == Some(3) && !root.path().join("pairs.tar").exists(), "{}", stderr(&output));
}

/// A tar of these entries: path, type, content, target of a link.
fn tar(entries: &[(&str, EntryType, &[u8], &str)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (path, kind, bytes, target) in entries {
        let mut header = Header::new_ustar();
        // As no honest program writes it.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(bytes.len() as u64);
        if !target.is_empty() {
            header.set_link_name(target).unwrap();
        }
        header.set_cksum();
        builder.append(&header, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn what_is_no_whole_model_is_refused_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    trained(root.path());
    let bytes = packed(root.path(), "pairs.tar");
    let mut members: Vec<(String, Vec<u8>)> = Vec::new();
    for entry in Archive::new(bytes.as_slice()).entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut content).unwrap();
        members.push((entry.path().unwrap().to_string_lossy().into_owned(), content));
    }
    let names: Vec<&str> = members.iter().map(|(name, _)| name.split_once('/').unwrap().1).collect();
    let order = ["manifest.json", "SHA256SUMS", "README.md", "weights.safetensors", "training-log.csv", "map.json"];
    assert_eq!(names, order);
    let sound: Vec<(&str, EntryType, &[u8], &str)> =
        members.iter().map(|(name, bytes)| (name.as_str(), EntryType::Regular, bytes.as_slice(), "")).collect();
    let there = tempfile::tempdir().unwrap();
    let refused = |bytes: &[u8], expected: &str| {
        fs::write(there.path().join("it.tar"), bytes).unwrap();
        let output = paramill(there.path(), &["model", "unpack", "it.tar", "--to", "model"]);
        let said = stderr(&output);
        assert!(output.status.code() == Some(3) && said.contains(expected), "{expected}: {said}");
        assert!(said.contains("it.tar") && !said.contains(".paramill-"), "{said}");
        assert_eq!(fs::read_dir(there.path()).unwrap().count(), 1, "{expected}");
        if is_bundle(&there.path().join("it.tar")) {
            assert!(Opened::new(&there.path().join("it.tar")).is_err(), "{expected}");
            assert_eq!(paramill(there.path(), &["check", "it.tar"]).status.code(), Some(3));
        }
    };
    let with = |entry: (&'static str, EntryType, &'static [u8], &'static str)| tar(&[&sound[..], &[entry]].concat());
    let file = EntryType::Regular;
    refused(&with(("pairs-model/../../outside", file, b"x", "")), "found the path \"pairs-model/../../outside\"");
    refused(&with(("/pairs-model/map.json", file, b"x", "")), "found the path \"/pairs-model/map.json\"");
    refused(&with(("../map.json", file, b"x", "")), "found the path \"../map.json\"");
    refused(&with(("pairs-model/other.txt", file, b"x", "")), "found the path \"pairs-model/other.txt\"");
    refused(&with(("pairs-model/map.json", file, b"{}", "")), "found map.json twice");
    refused(&with(("pairs-model", EntryType::Directory, b"", "")), "found the path \"pairs-model\"");
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::GNUSparse, EntryType::XHeader] {
        let mut linked = sound.clone();
        linked[5] = ("pairs-model/map.json", kind, b"", "/etc/passwd");
        refused(&tar(&linked), "map.json, which is no regular file");
    }
    let mut elsewhere = sound.clone();
    elsewhere[5].0 = "other-model/map.json";
    refused(&tar(&elsewhere), "found files of 2 directories");
    refused(&tar(&sound[..5]), "map.json");
    refused(&tar(&sound[1..]), "manifest.json");
    let mut other = sound.clone();
    let changed = [&sound[3].2[..sound[3].2.len() - 1], &[0x41]].concat();
    other[3].2 = &changed;
    refused(&tar(&other), "weights.safetensors: found sha256");
    // Cut off anywhere but in the padding after the last file.
    let end = bytes.len() - 1024;
    for length in [0, 100, 400, 512, 1000, 5000, end / 2, end - 600] {
        refused(&bytes[..length], "it.tar");
    }
    refused(b"PK\x03\x04 no tar at all, but long enough for a header".repeat(20).as_slice(), "it.tar");
}
