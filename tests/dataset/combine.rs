//! Datasets made of others, surveyed, and exported.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use paramill::dataset::{self, Dataset, Error, ExportFormat, Manifest, diff, survey, verify};
use paramill::progress::{Interrupt, Run, Silent};
use paramill::schema::{Grid, GridAxis, Quantity, Split, Trajectory};

use super::common::{manifest, ragged, shared_grid, trajectory, write};
use super::{assert_same, files};

fn put(root: &Path, name: &str, manifest: Manifest, splits: &[(Split, Vec<Trajectory>)]) -> Dataset {
    write(&root.join(name), manifest, splits);
    Dataset::open(&root.join(name)).unwrap()
}

fn merge(sources: &[Dataset], place: &Path) -> Result<Manifest, Error> {
    dataset::merge(sources, place, &Run { observer: &Silent, interrupt: &Interrupt::new() })
}

fn select(source: &Dataset, ids: &BTreeSet<String>, inside: bool, place: &Path) -> Result<Manifest, Error> {
    dataset::select(source, ids, inside, place, &Run { observer: &Silent, interrupt: &Interrupt::new() })
}

pub fn export_csv(source: &Dataset, place: &Path) -> Result<(), Error> {
    dataset::export(
        source,
        ExportFormat::named("csv").unwrap(),
        place,
        &Run { observer: &Silent, interrupt: &Interrupt::new() },
    )
}

fn open(root: &Path, name: &str) -> Dataset {
    assert_eq!(verify(&root.join(name)), Vec::<String>::new());
    Dataset::open(&root.join(name)).unwrap()
}

#[test]
fn merging_and_splitting_are_inverse_and_change_no_bit() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let one = put(root, "one", manifest(), &[(Split::Train, shared_grid(5)), (Split::Adapt, ragged())]);
    let mut other = manifest();
    (other.provenance.seed, other.data_tolerance) = (Some(8), None);
    let rows: Vec<_> = ["environment-015", "zebra"]
        .iter()
        .map(|id| trajectory(id, "0", &[Some(3.0), None], &[0.0, 1.0, 2.0]))
        .collect();
    let two = put(
        root,
        "two",
        other,
        &[(Split::Train, rows.clone()), (Split::Test, vec![trajectory("zebra", "1", &[Some(3.0), None], &[0.0, 1.0])])],
    );

    let hashes = [one.content_hash().to_owned(), two.content_hash().to_owned()];
    let sources = [two, one];
    merge(&sources, &root.join("all")).unwrap();
    merge(&[Dataset::open(&root.join("one")).unwrap(), Dataset::open(&root.join("two")).unwrap()], &root.join("b/all"))
        .unwrap();
    assert_eq!(files(&root.join("all")), files(&root.join("b/all")), "the order of the inputs changes a byte");
    let all = Dataset::open(&root.join("all")).unwrap();
    let mut expected: Vec<_> = shared_grid(5).into_iter().chain(rows.clone()).collect();
    expected.sort_by(|a, b| a.key().cmp(&b.key()));
    assert_same(&all.read(Split::Train).unwrap(), &expected);
    assert_same(&all.read(Split::Adapt).unwrap(), &ragged());
    let provenance = &all.manifest().provenance;
    let mut parents: Vec<_> = provenance.parents.iter().map(|parent| parent.sha256.clone()).collect();
    let mut hashes = hashes.to_vec();
    parents.sort();
    hashes.sort();
    assert_eq!((parents, provenance.seed, all.manifest().data_tolerance), (hashes, None, None));
    let mut seeds: Vec<_> = (0..2).map(|i| provenance.configuration["sources"][i]["seed"].as_u64()).collect();
    seeds.sort_unstable();
    assert_eq!(seeds, [Some(7), Some(8)]);

    let ids: BTreeSet<String> = rows.iter().map(|row| row.environment.clone()).collect();
    for (name, inside, before) in [("added", true, &sources[0]), ("first", false, &sources[1])] {
        select(&all, &ids, inside, &root.join(name)).unwrap();
        let after = open(root, name);
        assert!(diff(before, &after).unwrap().splits.is_empty(), "{name}");
        assert_eq!(after.manifest().provenance.parents[0].sha256, all.content_hash());
    }
}

#[test]
fn what_does_not_fit_together_is_named_at_once() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let one = put(root, "one", manifest(), &[(Split::Train, shared_grid(2))]);
    let mut other = manifest();
    other.time_unit = "h".to_owned();
    other.channels[1] = Quantity::new("y", "kg", "Predators");
    let mut rows = shared_grid(1);
    rows[1].trajectory = "7".to_owned();
    rows.iter_mut().for_each(|row| row.parameters[0] = Some(9.0));
    let two = put(root, "two", other, &[(Split::Train, rows)]);
    let error = merge(&[one, two], &root.join("all")).unwrap_err().to_string();
    for part in ["`time_unit` is", "`channels.1.unit` is", "parameters are [9, 1]", "trajectory `0`: stands in"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let one = open(root, "one");
    let ids = ["environment-00", "nobody", "none"].map(str::to_owned).into();
    let error = select(&one, &ids, true, &root.join("some")).unwrap_err().to_string();
    assert!(error.contains("`nobody`") && error.contains("`none`") && !error.contains("`environment-00`"), "{error}");
    let ids = ["environment-00", "environment-01"].map(str::to_owned).into();
    let error = select(&one, &ids, false, &root.join("some")).unwrap_err().to_string();
    assert!(error.contains("no environment is left over"), "{error}");
    assert_eq!(fs::read_dir(root).unwrap().count(), 2);
}

#[test]
fn a_survey_has_the_ranges_and_the_coverage() {
    let root = tempfile::tempdir().unwrap();
    let one = put(root.path(), "one", manifest(), &[(Split::Train, shared_grid(3)), (Split::Grid, ragged())]);
    let surveys = survey(&one).unwrap();
    let train = &surveys[&Split::Train];
    assert_eq!((train.times.least, train.times.greatest), (Some(0.0), Some(0.4)));
    let values: Vec<f64> =
        shared_grid(3).iter().flat_map(|row| row.states.iter().step_by(2).copied().collect::<Vec<_>>()).collect();
    assert_eq!(train.channels[0].least, values.iter().copied().reduce(f64::min));
    assert_eq!(train.channels[0].greatest, values.iter().copied().reduce(f64::max));
    assert_eq!((train.parameters[1].range.least, train.parameters[1].range.greatest), (Some(1.0 / 3.0), Some(1.0)));
    let of_grid = &surveys[&Split::Grid].parameters;
    assert_eq!((of_grid[0].distinct, of_grid[0].unknown), (3, 1));
    assert_eq!((of_grid[1].distinct, of_grid[1].unknown), (2, 2));
}

#[test]
fn csv_reads_back_to_the_bit() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let one = put(root, "one", manifest(), &[(Split::AdaptTest, ragged())]);
    export_csv(&one, &root.join("csv")).unwrap();
    let mut reader = csv::Reader::from_path(root.join("csv/adapt_test.csv")).unwrap();
    assert_eq!(reader.headers().unwrap(), vec!["environment", "trajectory", "beta", "delta", "time", "x", "y"]);
    let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let bits = |cell: &str| cell.parse::<f64>().ok().map(f64::to_bits);
    let mut records = records.iter();
    for row in ragged() {
        for (t, time) in row.times.iter().enumerate() {
            let record = records.next().unwrap();
            assert_eq!((&record[0], &record[1]), row.key());
            let numbers =
                row.parameters.iter().copied().chain([Some(*time)]).chain(row.state(t).iter().copied().map(Some));
            let expected: Vec<_> = numbers.map(|number| number.map(f64::to_bits)).collect();
            assert_eq!(record.iter().skip(2).map(bits).collect::<Vec<_>>(), expected);
        }
    }
    assert!(records.next().is_none());
}

#[test]
fn csv_of_a_field_has_a_row_a_point() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let axis = |name: &str, count, spacing| GridAxis::periodic(name, "m", count, spacing);
    let mut field = manifest();
    field.channels = vec![Quantity::new("u", "1", ""), Quantity::new("v", "1", "")];
    field.grid = Some(Grid { axes: vec![axis("a", 2, 0.5), axis("b", 3, 2.0)] });
    let states: Vec<f64> = (0..24).map(f64::from).collect();
    let row = Trajectory { states, ..trajectory("e", "0", &[None, None], &[0.0, 1.0]) };
    let one = put(root, "one", field, &[(Split::Train, vec![row])]);
    export_csv(&one, &root.join("csv")).unwrap();
    let text = fs::read_to_string(root.join("csv/train.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "environment,trajectory,beta,delta,time,a,b,u,v");
    assert_eq!(lines.len(), 1 + 2 * 2 * 3);
    // The second sample, a = 0.5, b = 2: point 4 of 6, channel u then v.
    assert_eq!(lines[1 + 6 + 4], "e,0,,,1.0,0.5,2.0,16.0,22.0");
}

#[test]
fn every_format_exports_every_split() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let splits = [(Split::Train, shared_grid(5)), (Split::Test, shared_grid(2))];
    let dataset = put(root, "one", manifest(), &splits);
    for format in ExportFormat::ALL {
        let place = root.join(format.name);
        let run = &Run { observer: &Silent, interrupt: &Interrupt::new() };
        dataset::export(&dataset, format, &place, run).unwrap();
        let sizes =
            splits.each_ref().map(|(split, _)| fs::metadata(place.join(format.file_name(*split))).unwrap().len());
        assert!(sizes.iter().all(|&size| size > 0), "{}: {sizes:?}", format.name);
        assert_eq!(fs::read_dir(&place).unwrap().count(), splits.len(), "{}", format.name);
    }
}

#[test]
fn an_interrupt_leaves_no_copy_behind() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let one = put(root, "one", manifest(), &[(Split::Train, shared_grid(5))]);
    let two = put(root, "two", manifest(), &[(Split::Adapt, ragged())]);
    let interrupt = Interrupt::new();
    interrupt.request(15);
    let run = &Run { observer: &Silent, interrupt: &interrupt };
    let (place, ids) = (root.join("copy"), BTreeSet::from(["environment-01".to_owned()]));
    let stopped =
        |ended: Result<(), Error>| assert!(matches!(ended, Err(Error::Interrupted { signal: 15 })), "{ended:?}");
    stopped(dataset::select(&one, &ids, true, &place, run).map(drop));
    for format in ExportFormat::ALL {
        stopped(dataset::export(&one, format, &place, run));
    }
    stopped(dataset::merge(&[one, two], &place, run).map(drop));
    assert_eq!(fs::read_dir(root).unwrap().count(), 2);
}
