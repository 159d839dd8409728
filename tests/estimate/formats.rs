//! Models and estimates of older formats.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use paramill::checkpoint::StoredModel;
use paramill::digest::sha256;
use paramill::estimate::{Manifest, read_rows, verify};
use paramill::schema::Split;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use super::model::NATIVE;
use super::sealed::{copy, parsed, put, seal};
use super::{TRAINED, Trained, estimate};

#[test]
fn a_model_of_an_older_minor_version_is_read() {
    let root = tempfile::tempdir().unwrap();
    copy(&TRAINED.directory, root.path());
    let mut manifest = parsed(root.path().join("manifest.json"));
    put(&mut manifest, "/format/minor", json!(0));
    put(&mut manifest, "/observed", Value::Null);
    seal(root.path(), &manifest.to_string());
    let older = StoredModel::read(root.path()).unwrap();
    assert_eq!((older.shared, older.contexts), (TRAINED.model.shared.clone(), TRAINED.model.contexts.clone()));
    assert!(older.manifest.observed.is_empty());
}

/// Writes the table at `path` again, with the columns `_crlb` as they were called before format 3.
fn with_former_names(path: &Path) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(path).unwrap()).unwrap().build().unwrap();
    let batches: Vec<_> = reader.map(Result::unwrap).collect();
    let name = |field: &Field| field.name().strip_suffix("_crlb").map(|parameter| format!("{parameter}_bound"));
    let fields = batches[0].schema().fields().clone();
    let fields: Vec<Field> =
        fields.iter().map(|it| it.as_ref().clone().with_name(name(it).unwrap_or(it.name().clone()))).collect();
    assert_eq!(fields.iter().filter(|field| field.name().ends_with("_bound")).count(), 2);
    let schema = Arc::new(Schema::new(fields));
    let mut writer = ArrowWriter::try_new(fs::File::create(path).unwrap(), schema.clone(), None).unwrap();
    for batch in batches {
        writer.write(&RecordBatch::try_new(schema.clone(), batch.columns().to_vec()).unwrap()).unwrap();
    }
    writer.close().unwrap();
}

#[test]
fn estimates_of_the_major_version_before_are_read_and_of_one_to_come_refused() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("estimates");
    let outcome = estimate(dataset, model, NATIVE, &directory).unwrap();
    let rows = |manifest: &Manifest| read_rows(&directory, manifest, Split::Adapt).unwrap();
    let now = rows(&outcome.manifest);
    let mut manifest = parsed(directory.join("manifest.json"));
    for file in manifest["files"].as_array_mut().unwrap() {
        let path = directory.join(file["path"].as_str().unwrap());
        with_former_names(&path);
        let bytes = fs::read(path).unwrap();
        (file["bytes"], file["sha256"]) = (bytes.len().into(), sha256(&bytes).into());
    }
    manifest["format"] = json!({ "major": 2, "minor": 1 });
    seal(&directory, &manifest.to_string());
    let (older, _) = Manifest::read(&directory).unwrap();
    assert_eq!(format!("{:?}", rows(&older)), format!("{now:?}"));
    assert_eq!(verify(&directory), [""; 0]);
    for (major, part) in [(4, "a newer version of paramill"), (1, "make it again")] {
        manifest["format"]["major"] = major.into();
        seal(&directory, &manifest.to_string());
        let refused = Manifest::read(&directory).unwrap_err().to_string();
        assert!(refused.contains("expected 2.x or 3.x") && refused.contains(part), "{refused}");
    }
}
