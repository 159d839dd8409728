//! Models and estimates that are not as they were written, and models that nobody trained.

use std::fs;
use std::path::{Path, PathBuf};

use paramill::checkpoint::{self, StoredModel};
use paramill::digest::sha256;
use paramill::schema::FormatVersion;
use serde_json::{Value, json};

use super::model::{NATIVE, files};
use super::{TRAINED, Trained, estimate};

/// Copies of the files of `from` in `to`.
pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    files(from).iter().for_each(|(name, bytes)| fs::write(to.join(name), bytes).unwrap());
}

/// The file with one bit changed, at some fifty places from its first byte to its last.
fn flips(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let places = (0..bytes.len()).step_by(bytes.len().div_ceil(50)).chain([bytes.len() - 1]);
    places.map(|place| {
        let mut flipped = bytes.to_vec();
        flipped[place] ^= 1 << (place % 8);
        flipped
    })
}

/// Every flipped bit is found by `problems`, in whatever file of `sound`.
fn every_flip_is_found(sound: &Path, names: &[&str], problems: impl Fn(&Path) -> Vec<String>) {
    assert_eq!(problems(sound), [""; 0]);
    let root = tempfile::tempdir().unwrap();
    let found: Vec<String> = files(sound).into_iter().map(|(name, _)| name.display().to_string()).collect();
    assert_eq!(found, names);
    for (name, bytes) in files(sound) {
        let directory = root.path().join(&name);
        copy(sound, &directory);
        for flipped in flips(&bytes) {
            fs::write(directory.join(&name), &flipped).unwrap();
            assert!(!problems(&directory).is_empty(), "{}", name.display());
        }
        fs::remove_file(directory.join(&name)).unwrap();
        assert!(!problems(&directory).is_empty(), "no {}", name.display());
    }
}

#[test]
fn any_flipped_bit_of_a_model_is_found_and_refused() {
    let names = ["README.md", "SHA256SUMS", "manifest.json", "map.json", "training-log.csv", "weights.safetensors"];
    every_flip_is_found(&TRAINED.directory, &names, |directory| {
        let problems = checkpoint::verify(directory);
        assert_eq!(problems.is_empty(), StoredModel::read(directory).is_ok());
        problems
    });
}

#[test]
fn any_flipped_bit_of_estimates_is_found() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("estimates");
    estimate(dataset, model, NATIVE, &directory).unwrap();
    every_flip_is_found(&directory, &["SHA256SUMS", "adapt.parquet", "grid.parquet", "manifest.json"], |directory| {
        estimate::verify(directory)
    });
    // Paths of a manifest stay inside its directory.
    let text = fs::read_to_string(directory.join("manifest.json")).unwrap();
    let edited = text.replace("\"path\": \"grid.parquet\"", "\"path\": \"../grid.parquet\"");
    assert_ne!(text, edited);
    seal(&directory, &edited);
    fs::copy(directory.join("grid.parquet"), root.path().join("grid.parquet")).unwrap();
    let problems = estimate::verify(&directory).join("\n");
    assert!(problems.contains("../grid.parquet") && problems.contains("inside the directory"), "{problems}");
}

/// Writes `manifest.json` with its digest beside it.
pub(super) fn seal(directory: &Path, manifest: &str) {
    fs::write(directory.join("manifest.json"), manifest).unwrap();
    fs::write(directory.join("SHA256SUMS"), format!("{}  manifest.json\n", sha256(manifest.as_bytes()))).unwrap();
}

pub(super) fn parsed(path: PathBuf) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Puts `value` at `pointer` of `of`; takes what is there away where it is null.
pub(super) fn put(of: &mut Value, pointer: &str, value: Value) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = of.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Value::Object(table), Value::Null) => drop(table.remove(key)),
        (Value::Object(table), value) => drop(table.insert(key.to_owned(), value)),
        (Value::Array(list), value) => list[key.parse::<usize>().unwrap()] = value,
        (other, _) => panic!("{other} at {pointer}"),
    }
}

/// What is said of a model of which the file `name` says `value` at `pointer`, and is sealed so.
fn said_of(name: &str, pointer: &str, value: Value) -> Vec<String> {
    let Trained { directory: sound, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("model");
    copy(sound, &directory);
    let mut manifest = parsed(sound.join("manifest.json"));
    match name {
        "manifest.json" => put(&mut manifest, pointer, value),
        _ => {
            let mut crafted = parsed(sound.join(name));
            put(&mut crafted, pointer, value);
            let bytes = crafted.to_string();
            let files = manifest["files"].as_array_mut().unwrap();
            let entry = files.iter_mut().find(|file| file["path"] == name).unwrap();
            (entry["bytes"], entry["sha256"]) = (bytes.len().into(), sha256(bytes.as_bytes()).into());
            fs::write(directory.join(name), bytes).unwrap();
        }
    }
    seal(&directory, &manifest.to_string());
    let problems = checkpoint::verify(&directory);
    assert_eq!(problems.is_empty(), StoredModel::read(&directory).is_ok());
    problems
}

#[test]
fn crafted_manifests_are_refused_by_file_and_key() {
    assert_eq!(said_of("manifest.json", "/name", json!("another")), [""; 0], "what is sealed and sound is read");
    let minor = FormatVersion::MODEL.minor;
    let axis = |count: u64| json!({ "name": "x", "unit": "1", "count": count, "spacing": 1.0 });
    let fno = |modes: u64, width: u64| json!({ "kind": "fno", "layers": 64, "modes": modes, "width": width, "projection": 4096 });
    for (pointer, value, key) in [
        ("/model/width", json!(65_536), "`model.width` is 65536; expected at most 4096"),
        ("/model/width", json!(1_000_000_000), "`model.width`"),
        ("/model/width", json!(1e300), "`model.width`"),
        ("/model/width", json!(-1), "`model.width`"),
        ("/model/width", json!("16"), "`model.width`"),
        ("/model/width", Value::Null, "shared weights"), // the usual width, which is another
        ("/model/layers", json!(1_000_000_000), "`model.layers`"),
        ("/model/layers", json!(0), "`model.layers`"),
        // What pipelines allow, and the weights are not of.
        ("/model/width", json!(4096), "shared weights"),
        ("/model/layers", json!(64), "shared weights"),
        ("/model/width", json!(17), "shared weights"),
        ("/context_dimension", json!(16), "contexts"),
        ("/context_dimension", json!(1_000_000_000_000_u64), "`context_dimension`"),
        ("/context_dimension", json!(0), "`context_dimension`"),
        ("/substeps", json!(100_000), "`substeps` is 100000; expected at most 64"),
        ("/substeps", json!(0), "`substeps`"),
        ("/model", fno(1 << 40, 8), "`model.modes`"),
        ("/model", fno(512, 1024), "`model` is \"fno\" for states without space"),
        ("/model", json!({ "kind": "convnet", "kernel": 1_000_001 }), "`model.kernel`"),
        ("/model", json!({ "kind": "convnet", "output_scale": 0.0 }), "`model.output_scale`"),
        ("/model", json!({ "kind": "mlp", "depth": 3 }), "`model`"),
        ("/model", json!({ "kind": "transformer" }), "`model`"),
        ("/grid", json!({ "axes": [axis(1 << 40), axis(1 << 40)] }), "`grid` has too many points"),
        ("/grid", json!({ "axes": [axis(64), axis(64)] }), "`model` is \"mlp\" for"),
        ("/channels", json!([]), "`channels` is empty"),
        ("/channels/1/name", json!("x"), "`x` is the name of two"),
        ("/channels/1", Value::Bool(true), "`channels.1`"),
        ("/scales", json!([]), "`scales` has 0 entries; expected 2"),
        ("/scales/1/scale", json!(0.0), "`scales.1`"),
        ("/scales/1/centre", Value::Null, "`scales.1.centre` is missing"),
        ("/weights", json!([1.0]), "`weights` has 1 entries"),
        ("/weights", json!([1.0, -1.0]), "`weights` has -1"),
        ("/input_scales", json!([{ "centre": 0.0, "scale": 1.0, "least": 0.0, "greatest": 1.0 }]), "`input_scales`"),
        ("/environments", json!([]), "`environments` is empty"),
        ("/environments/0/parameters", json!([1.0]), "`environments.0.parameters` has 1 entries"),
        ("/environments/0/id", json!("zzz"), "`environments` has"),
        ("/environments/0/id", json!(TRAINED.model.manifest.environments[1].id), "`environments` has"),
        ("/data_tolerance", json!(-1.0), "`data_tolerance`"),
        ("/solver", json!("rk5"), "`solver` is \"rk5\"; expected one of \"euler\", \"rk4\", \"rk38\""),
        ("/files/0/path", json!("../weights.safetensors"), "`files` lists"),
        ("/files", json!([]), "`files` lists"),
        ("/format/major", json!(9), format!("format 9.{minor}; expected 2.x; a newer version of paramill").as_str()),
        ("/format/major", json!(1), format!("format 1.{minor}; expected 2.x; make it again").as_str()),
        ("/kind", json!("models"), "kind `models`"),
    ] {
        let problems = said_of("manifest.json", pointer, value.clone()).join("\n");
        let file = if ["shared weights", "contexts"].contains(&key) { "weights.safetensors" } else { "manifest.json" };
        assert!(problems.contains(key) && problems.contains(file), "{pointer} = {value}: {problems}");
    }
    // Fields of a size that the weights are not of: nothing is made of what the manifest alone states.
    let Trained { directory: sound, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    copy(sound, root.path());
    let mut manifest = parsed(sound.join("manifest.json"));
    put(&mut manifest, "/model", fno(512, 1024));
    put(&mut manifest, "/grid", json!({ "axes": [axis(1024), axis(1024)] }));
    seal(root.path(), &manifest.to_string());
    let problems = checkpoint::verify(root.path()).join("\n");
    assert!(problems.contains("weights.safetensors") && problems.contains("shared weights"), "{problems}");
    // Every problem at once.
    put(&mut manifest, "/substeps", json!(0));
    put(&mut manifest, "/context_dimension", json!(99));
    seal(root.path(), &manifest.to_string());
    assert_eq!(checkpoint::verify(root.path()).len(), 2);
}

#[test]
fn crafted_maps_are_refused_by_file_and_key() {
    assert_eq!(said_of("map.json", "/residual_variance/0", json!(0.0)), [""; 0], "what is sealed and sound is read");
    for (pointer, value, key) in [
        ("/coefficients", json!([]), "`coefficients` has 0 values; expected 2"),
        ("/coefficients/1", json!([]), "`coefficients.1`"),
        ("/coefficients/1/0", Value::Null, "`coefficients.1.0`"),
        ("/coefficients", Value::Null, "`coefficients` is missing"),
        ("/centre", json!([]), "`centre` has 0 values; expected 2"),
        ("/centre", Value::Null, "`centre` is missing"),
        ("/scale", json!([1.0]), "`scale`"),
        ("/scale/0", json!(0.0), "`scale`"),
        ("/residual_variance", json!([]), "`residual_variance`"),
        ("/residual_variance/0", json!(-1.0), "`residual_variance`"),
        ("/inverse_gram", json!([]), "`inverse_gram`"),
        ("/inverse_gram/0", json!([1.0]), "`inverse_gram.0`"),
        ("/parameters", json!(["x", "y"]), "`parameters`"),
        ("/kind", json!("cubic"), "`kind`"),
        ("/powers", json!([1.0, 1.0, 1.0]), "`powers` has 3 values; expected 2"),
        ("/powers", json!([1.0, 7.0]), "`powers` has 7; expected some of -4, -3"),
        ("/environments/0/context", json!([]), "`environments.0.context`"),
        ("/environments/0/residuals", json!([0.0]), "`environments.0.residuals`"),
    ] {
        let problems = said_of("map.json", pointer, value.clone()).join("\n");
        assert!(problems.contains(key) && problems.contains("map.json"), "{pointer} = {value}: {problems}");
    }
}

/// A model of before there were seals says what to do, and an edit of a sealed one is an edit.
#[test]
fn a_model_without_its_seal_is_refused_with_a_remedy() {
    let Trained { directory: sound, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    copy(sound, root.path());
    let text = fs::read_to_string(sound.join("manifest.json")).unwrap();
    fs::write(root.path().join("manifest.json"), text.replace("\"rk4\"", "\"euler\"")).unwrap();
    let problems = checkpoint::verify(root.path()).join("\n");
    assert!(problems.contains("manifest.json") && problems.contains("SHA256SUMS"), "{problems}");
    fs::remove_file(root.path().join("SHA256SUMS")).unwrap();
    let problems = checkpoint::verify(root.path()).join("\n");
    assert!(problems.contains("no `SHA256SUMS`") && problems.contains("forcing the stage `train`"), "{problems}");
}
