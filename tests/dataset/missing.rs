//! Missing cells: NaN in memory and in HDF5, null in Parquet, counted in the manifest.

use std::fs;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, Float64Array, ListArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use paramill::dataset::{Dataset, Manifest, Store, ValueRange, Writer, diff, survey, verify};
use paramill::schema::{Split, Trajectory};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::common::{fields, manifest, ragged, restate, shared_grid, trajectory, write};
use super::{assert_same, conforms, files, streamed};

/// Every third cell missing, as NaN of another bit pattern than [`f64::NAN`], but one of each sample left.
fn holed(rows: &[Trajectory], channels: usize) -> Vec<Trajectory> {
    let mut rows = rows.to_vec();
    for row in &mut rows {
        let of_sample = row.states.len() / row.times.len();
        for (cell, value) in row.states.iter_mut().enumerate() {
            if cell % 3 == 1 && (channels > 1 || cell % of_sample > 0) {
                *value = f64::from_bits(0xfff8_0000_0000_0001);
            }
        }
    }
    rows
}

/// The same with NaN as both stores give it back.
fn canonical(mut rows: Vec<Trajectory>) -> Vec<Trajectory> {
    let cells = rows.iter_mut().flat_map(|row| &mut row.states);
    cells.filter(|value| value.is_nan()).for_each(|value| *value = f64::NAN);
    rows
}

#[test]
fn missing_cells_come_back_from_both_stores() {
    conforms(manifest(), &canonical(holed(&shared_grid(7), 2)));
    conforms(manifest(), &canonical(holed(&ragged(), 2)));
    for own_times in [false, true] {
        let (manifest, rows) = fields(5, own_times);
        conforms(manifest, &canonical(holed(&rows, 2)));
    }
    let mut never = shared_grid(3); // one channel is never observed
    never.iter_mut().flat_map(|row| row.states.iter_mut().step_by(2)).for_each(|value| *value = f64::NAN);
    conforms(manifest(), &never);
}

#[test]
fn nan_has_one_bit_pattern_in_a_dataset() {
    let root = tempfile::tempdir().unwrap();
    let rows = holed(&ragged(), 2);
    write(&root.path().join("one"), manifest(), &[(Split::Train, rows.clone())]);
    write(&root.path().join("other"), manifest(), &[(Split::Train, canonical(rows.clone()))]);
    assert!(files(&root.path().join("one")) == files(&root.path().join("other")));
    assert_eq!(verify(&root.path().join("one")), Vec::<String>::new());
    let dataset = Dataset::open(&root.path().join("one")).unwrap();
    assert_same(&dataset.read(Split::Train).unwrap(), &canonical(rows));
}

#[test]
fn a_manifest_counts_missing_cells_and_says_nothing_where_there_are_none() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    let rows = holed(&shared_grid(2), 2);
    let missing: usize = rows.iter().map(Trajectory::missing).sum();
    let written = write(&directory, manifest(), &[(Split::Train, rows), (Split::Grid, shared_grid(1))]);
    assert_eq!((written.splits[&Split::Train].missing, written.splits[&Split::Grid].missing), (missing, 0));
    assert_eq!(missing, 12);
    let text = fs::read_to_string(directory.join("manifest.json")).unwrap();
    assert_eq!(text.matches("\"missing\"").count(), 1, "{text}");
    let card = fs::read_to_string(directory.join("README.md")).unwrap();
    assert!(card.contains("| `train` | 2 | 4 | 20 | 5 | 12 |"), "{card}");
    assert!(card.contains("a missing cell is null in Parquet and NaN in HDF5"), "{card}");

    restate(&directory, |json| json["splits"]["train"]["missing"] = 11.into());
    let problems = verify(&directory);
    assert!(
        problems.iter().any(|it| it.contains("12 missing cells; expected") && it.contains("11 missing")),
        "{problems:?}"
    );
}

#[test]
fn an_infinite_cell_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(&root.path().join("set"), manifest()).unwrap();
    let mut row = shared_grid(1).remove(0);
    row.states[8] = f64::INFINITY;
    let error = writer.write(Split::Train, &row).unwrap_err().to_string();
    assert!(error.contains("`x` is inf at sample 4"), "{error}");
}

/// Rewrites the Parquet file of the train split with nulls for the cells of `x` that `is_null` names.
fn with_nulls(directory: &std::path::Path, is_null: impl Fn(usize) -> bool) {
    let path = directory.join("data/train-00000-of-00001.parquet");
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(&path).unwrap()).unwrap().build().unwrap();
    let batch = reader.last().unwrap().unwrap();
    let x = batch.schema().index_of("x").unwrap();
    let lists = batch.column(x).as_list::<i32>();
    let values = lists.values().as_primitive::<arrow_array::types::Float64Type>().iter();
    let values: Float64Array = values.enumerate().map(|(i, value)| value.filter(|_| !is_null(i))).collect();
    let element = Arc::new(Field::new("element", DataType::Float64, true));
    let list = ListArray::new(element, lists.offsets().clone(), Arc::new(values), None);
    let mut fields: Vec<Arc<Field>> = batch.schema().fields().iter().cloned().collect();
    fields[x] = Arc::new(Field::new("x", list.data_type().clone(), false));
    let mut columns = batch.columns().to_vec();
    columns[x] = Arc::new(list);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let mut writer = ArrowWriter::try_new(fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn nulls_that_the_manifest_does_not_state_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, ragged())]);
    with_nulls(&directory, |cell| cell == 3);
    restate(&directory, |_| ());
    let read = |directory| {
        streamed(&Dataset::open(directory).unwrap(), Split::Train, Store::Parquet, 2).map(|batches| batches.concat())
    };
    let error = read(&directory).unwrap_err().to_string();
    assert!(error.contains("column `x` has type"), "{error}");

    // Stated, they are read; but verify compares with the HDF5 copy.
    restate(&directory, |json| json["splits"]["train"]["missing"] = 1.into());
    let rows = read(&directory).unwrap();
    assert_eq!(rows.iter().map(Trajectory::missing).sum::<usize>(), 1);
    let problems = verify(&directory);
    assert!(problems.iter().any(|it| it.contains("`x` at sample 1 is NaN and not")), "{problems:?}");
}

#[test]
fn shards_with_and_without_missing_cells_read_as_one() {
    let times: Vec<f64> = (0..200_000).map(f64::from).collect();
    let mut rows: Vec<_> = (0..7).map(|id| trajectory("e", &id.to_string(), &[None, Some(1.0)], &times)).collect();
    rows[6].states[7] = f64::NAN;
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, rows.clone())]);
    assert_eq!(verify(&directory), Vec::<String>::new());
    let dataset = Dataset::open(&directory).unwrap();
    for store in [Store::Hdf5, Store::Parquet] {
        assert_same(&streamed(&dataset, Split::Train, store, 3).unwrap().concat(), &rows);
    }
    assert!(dataset.manifest().files.iter().filter(|file| file.path.starts_with("data/")).count() > 1);
}

#[test]
fn survey_difference_and_csv_know_missing_cells() {
    let root = tempfile::tempdir().unwrap();
    let place = |name: &str| root.path().join(name);
    let rows = shared_grid(1);
    let mut other = rows.clone();
    other[0].states[1] = f64::NAN; // y at the first sample
    other[0].states[2] += 0.5;
    let describe = || Manifest { name: "same".to_owned(), ..manifest() };
    write(&place("a"), describe(), &[(Split::Train, rows.clone())]);
    write(&place("b"), describe(), &[(Split::Train, other.clone())]);
    let (a, b) = (Dataset::open(&place("a")).unwrap(), Dataset::open(&place("b")).unwrap());

    let difference = &diff(&a, &b).unwrap().splits[&Split::Train];
    assert_eq!((difference.missing, difference.states.len()), (1, 1));
    assert!((difference.greatest[0] - 0.5).abs() < 1e-12 && difference.greatest[1] == 0.0, "{difference:?}");
    assert!(diff(&b, &b).unwrap().is_empty());

    let of_y = survey(&b).unwrap()[&Split::Train].channels[1];
    let seen = || other.iter().flat_map(|row| row.states.iter().skip(1).step_by(2)).filter(|value| !value.is_nan());
    let expected = ValueRange { least: seen().copied().reduce(f64::min), greatest: seen().copied().reduce(f64::max) };
    assert_eq!(of_y, expected);

    super::combine::export_csv(&b, &place("csv")).unwrap();
    let text = fs::read_to_string(place("csv").join("train.csv")).unwrap();
    let first: Vec<&str> = text.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((first.len(), first[6]), (7, ""), "{text}");
}
