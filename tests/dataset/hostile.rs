//! Files made to reach out of themselves, or to hold more than they do: refused, and the object named.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{Float64Array, ListArray, RecordBatch};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;
use hdf5_metno_sys::h5d::{H5Dclose, H5Dcreate2};
use hdf5_metno_sys::h5p::{H5P_DEFAULT, H5Pset_filter};
use paramill::dataset::{Dataset, Store, verify};
use paramill::schema::Split;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::common::{fields, manifest, ragged, restate, shared_grid, write};
use super::damage::tampered;
use super::streamed;

/// A variable `[4, 5, 1]` that only a plug-in could read: its filter is libhdf5's to look for, and has `parameters` numbers.
fn with_filter(file: &hdf5_metno::File, name: &str, filter: i32, parameters: usize) {
    let properties = hdf5_metno::plist::DatasetCreate::build().chunk((4, 5, 1)).finish().unwrap();
    let kind = hdf5_metno::Datatype::from_type::<f64>().unwrap();
    let space = hdf5_metno::Dataspace::try_new((4, 5, 1)).unwrap();
    let (label, numbers) = (std::ffi::CString::new(name).unwrap(), vec![7_u32; parameters]);
    let optional = 1;
    // SAFETY: all handles are open, and the label and the numbers outlive the calls.
    hdf5_metno::sync::sync(|| unsafe {
        assert!(H5Pset_filter(properties.id(), filter, optional, parameters, numbers.as_ptr()) >= 0);
        let ids = (file.id(), kind.id(), space.id(), properties.id());
        let variable = H5Dcreate2(ids.0, label.as_ptr(), ids.1, ids.2, H5P_DEFAULT, ids.3, H5P_DEFAULT);
        assert!(variable >= 0 && H5Dclose(variable) >= 0);
    });
}

#[test]
fn filters_that_take_a_plug_in_are_refused_in_any_group() {
    let found = tampered(&shared_grid(2), |file, _| {
        file.unlink("x").unwrap();
        with_filter(file, "x", 32015, 40);
        with_filter(file, "scalars/more", 32001, 1);
        file.new_dataset::<i32>().chunk((4,)).nbit().shape(4).create("extra").unwrap();
    });
    for part in [
        "`x` has the plug-in filter 32015",
        "`scalars/more` has the plug-in filter 32001",
        "`extra` has the filter 5; expected none but shuffle, deflate and fletcher32",
    ] {
        assert!(found.iter().all(|found| found.contains(part)), "{part}: {found:?}");
    }
}

#[test]
fn values_in_other_files_are_refused_in_any_group() {
    let found = tampered(&shared_grid(2), |file, root| {
        fs::write(root.join("raw"), vec![0; 64]).unwrap();
        let builder = file.new_dataset::<f64>().external(root.join("raw").to_str().unwrap(), 0, 64);
        builder.shape(8).create("boundary_conditions/point_periodic/raw").unwrap();
        let builder = file.new_dataset::<f64>().virtual_map("other.h5", "x", 5, .., 5, ..);
        builder.shape(5).create("t1_fields/elsewhere").unwrap();
    });
    for part in [
        "`boundary_conditions/point_periodic/raw` has external storage",
        "`t1_fields/elsewhere` is virtual; expected its values in this file",
    ] {
        assert!(found.iter().all(|found| found.contains(part)), "{part}: {found:?}");
    }
}

#[test]
fn a_group_that_holds_itself_many_times_is_looked_into_once() {
    let found = tampered(&shared_grid(2), |file, _| {
        for i in 0..300 {
            file.link_hard("/", &format!("scalars/root-{i}")).unwrap();
            file.link_hard("/scalars", &format!("t1_fields/scalars-{i}")).unwrap();
        }
        file.link_soft("/x", "t2_fields/soft").unwrap();
    });
    assert!(found.iter().all(|found| found.matches("is a link of type Soft").count() == 1), "{found:?}");
}

/// Writes a row whose `x` has `samples` zeros, which dictionary and run-length encoding store in next to nothing.
fn zeros(path: &Path, samples: usize) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(path).unwrap()).unwrap().build().unwrap();
    let batch = reader.last().unwrap().unwrap();
    let x = batch.schema().index_of("x").unwrap();
    let DataType::List(element) = batch.column(x).data_type().clone() else { panic!("x is no list") };
    assert_eq!(batch.num_rows(), 1);
    let values = Arc::new(Float64Array::from(vec![0.0; samples]));
    let mut columns = batch.columns().to_vec();
    columns[x] = Arc::new(ListArray::new(element, OffsetBuffer::from_lengths([samples]), values, None));
    let batch = RecordBatch::try_new(batch.schema(), columns).unwrap();
    let mut writer = ArrowWriter::try_new(fs::File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn parquet_pages_that_claim_too_much_are_refused_before_they_are_decoded() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    write(&directory, manifest(), &[(Split::Train, ragged()[..1].to_vec())]);
    let samples = 1 << 24;
    zeros(&directory.join("data/train-00000-of-00001.parquet"), samples);
    restate(&directory, |_| ());
    let refused = || {
        let dataset = Dataset::open(&directory).unwrap();
        streamed(&dataset, Split::Train, Store::Parquet, 1).unwrap_err().to_string()
    };
    let stated = format!("`x` claims {samples} values; expected 2 at most");
    for found in [refused(), verify(&directory).join("; ")] {
        assert!(found.contains(&stated), "{found}");
    }

    // The manifest may claim as much: the file still holds too few bytes for it.
    restate(&directory, |json| {
        for count in ["samples", "shortest", "longest"] {
            json["splits"]["train"][count] = samples.into();
        }
    });
    let found = refused();
    assert!(found.contains(&format!("`x` claims {} bytes", samples * 8)), "{found}");
}

#[test]
fn fields_of_another_shape_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    let (manifest, rows) = fields(2, false);
    write(&directory, manifest, &[(Split::Train, rows)]);
    // Four times three points where the manifest now says three times four.
    restate(&directory, |json| {
        json["grid"]["axes"][0]["count"] = 4.into();
        json["grid"]["axes"][1]["count"] = 3.into();
    });
    let dataset = Dataset::open(&directory).unwrap();
    let found = streamed(&dataset, Split::Train, Store::Hdf5, 1).unwrap_err().to_string();
    for part in ["`x` has shape [4, 5, 3, 4]; expected [4, 5, 4, 3]", "`east` has shape [3]; expected [4]"] {
        assert!(found.contains(part), "{part}: {found}");
    }
    let found = streamed(&dataset, Split::Train, Store::Parquet, 1).unwrap_err().to_string();
    assert!(found.contains("channel `y` has a field of another shape; expected [4, 3]"), "{found}");
}
