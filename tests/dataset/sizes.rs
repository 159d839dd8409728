//! Trajectories of one sample or none, and of very many.

use std::collections::BTreeSet;

use paramill::dataset::{self, Dataset, ExportFormat, Store, Writer, diff, survey, verify};
use paramill::progress::{Interrupt, Run, Silent};
use paramill::schema::{Split, Trajectory};

use super::common::{driven, manifest, ragged, trajectory, with_inputs, write};
use super::{assert_same, conforms_as, streamed};

/// Of nought, one and several samples.
fn short() -> Vec<Trajectory> {
    let times = [&[] as &[f64], &[0.5], &[], &[0.5], &[0.0, 1.0, 2.0], &[]];
    let ids = ["a", "b", "c", "d", "e", "f"].into_iter().zip(times);
    ids.map(|(id, times)| trajectory(id, "0", &[Some(0.25), None], times)).collect()
}

#[test]
fn short_ones_come_back_from_both_stores() {
    let rows = short();
    for split in [Split::Adapt, Split::Grid] {
        for rows in [&rows[..], &rows[..1], &rows[1..2], &rows[..4], &rows[2..3]] {
            conforms_as(split, manifest(), rows);
            conforms_as(split, with_inputs(manifest()), &driven(rows.to_vec()));
        }
    }
    let mut missing = rows;
    missing[3].states.fill(f64::NAN);
    conforms_as(Split::Adapt, manifest(), &missing);
}

#[test]
fn short_ones_are_refused_where_they_would_train_or_judge() {
    let root = tempfile::tempdir().unwrap();
    for split in [Split::Train, Split::Validation, Split::Test, Split::AdaptTest] {
        let mut writer = Writer::create(&root.path().join("set"), manifest()).unwrap();
        for row in &short()[..2] {
            let error = writer.write(split, row).unwrap_err().to_string();
            assert!(error.contains("samples; expected at least 2"), "{error}");
        }
    }
}

#[test]
fn short_ones_are_surveyed_copied_compared_and_exported() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let quiet = Run { observer: &Silent, interrupt: &Interrupt::new() };
    write(
        &root.join("all"),
        manifest(),
        &[(Split::Train, ragged()), (Split::Adapt, short()), (Split::Grid, short()[..1].to_vec())],
    );
    let all = Dataset::open(&root.join("all")).unwrap();
    let found = survey(&all).unwrap();
    assert_eq!((found[&Split::Adapt].times.greatest, found[&Split::Grid].times.greatest), (Some(2.0), None));
    let ids: BTreeSet<String> = ["a", "d"].map(str::to_owned).into();
    for (name, inside) in [("some", true), ("others", false)] {
        dataset::select(&all, &ids, inside, &root.join(name), &quiet).unwrap();
        assert_eq!(verify(&root.join(name)), Vec::<String>::new());
    }
    let parts = ["some", "others"].map(|name| Dataset::open(&root.join(name)).unwrap());
    dataset::merge(&parts, &root.join("again"), &quiet).unwrap();
    let again = Dataset::open(&root.join("again")).unwrap();
    assert!(diff(&all, &again).unwrap().is_of_provenance());
    for format in ["csv", "netcdf"].map(|name| ExportFormat::named(name).unwrap()) {
        dataset::export(&all, format, &root.join(format.name), &quiet).unwrap();
    }
    let csv = std::fs::read_to_string(root.join("csv/adapt.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 2 + 3);
}

/// Longer than a shard, so that it is written piece by piece, between others that are not.
#[test]
fn long_ones_come_back_from_both_stores() {
    let root = tempfile::tempdir().unwrap();
    let long = |id: &str, count: usize| {
        let times: Vec<f64> = (0..count).map(|t| t as f64 * 0.5).collect();
        trajectory(id, "0", &[Some(0.25), None], &times)
    };
    let mut rows = vec![long("a", 3), long("b", 500_000), long("c", 2), long("d", 450_001), long("e", 4)];
    rows[3].states.iter_mut().step_by(7).for_each(|value| *value = f64::NAN);
    let rows = driven(rows);
    let directory = root.path().join("set");
    let written = write(&directory, with_inputs(manifest()), &[(Split::Adapt, rows.clone())]);
    assert_eq!((written.files.len(), written.splits[&Split::Adapt].longest), (2 * 5, 500_000));
    assert_eq!(verify(&directory), Vec::<String>::new());
    let dataset = Dataset::open(&directory).unwrap();
    for store in [Store::Hdf5, Store::Parquet] {
        assert_same(&streamed(&dataset, Split::Adapt, store, 2).unwrap().concat(), &rows);
    }
}
