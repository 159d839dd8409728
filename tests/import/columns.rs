//! Parquet and HDF5 files as tables.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Decimal128Array, DictionaryArray, Float32Array, Float64Array, Int8Array, Int64Array, RecordBatch,
    StringArray, TimestampMillisecondArray,
};
use hdf5_metno as hdf5;
use hdf5_metno_sys::h5d::H5Dwrite_chunk;
use hdf5_metno_sys::h5p::H5P_DEFAULT;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::*;

fn column(index: usize) -> Vec<String> {
    TANKS.lines().skip(1).map(|line| line.split(',').nth(index).unwrap().to_owned()).collect()
}

fn numbers(index: usize) -> Vec<f64> {
    column(index).iter().map(|cell| cell.parse().unwrap()).collect()
}

pub fn with_parquet(columns: Vec<(&str, ArrayRef)>) -> Archive {
    let archive = Archive::new();
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = File::create(archive.root.path().join("archive/tanks.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    archive.change(|settings| settings.table.file = one("tanks.parquet"))
}

fn tanks_as_parquet(time: ArrayRef) -> Archive {
    let mut flow: Vec<Option<f32>> = numbers(4).into_iter().map(|value| Some(value as f32)).collect();
    flow[1] = None;
    with_parquet(vec![
        ("tank", Arc::new(StringArray::from(column(0)))),
        ("run", Arc::new(Int64Array::from_iter_values(numbers(1).into_iter().map(|run| run as i64)))),
        ("t", time),
        ("level", Arc::new(Float64Array::from(numbers(3)))),
        ("flow", Arc::new(Float32Array::from(flow))),
    ])
}

#[test]
fn a_parquet_file_is_a_table() {
    let plain = Archive::new().import().1;
    let seconds = tanks_as_parquet(Arc::new(Float64Array::from(numbers(2)))).import().1;
    let stamps = numbers(2).into_iter().map(|time| 1_600_000_000_000 + (time * 1000.0) as i64);
    let stamps =
        tanks_as_parquet(Arc::new(TimestampMillisecondArray::from_iter_values(stamps).with_timezone("UTC"))).import().1;
    for imported in [seconds, stamps] {
        assert_eq!(imported.len(), plain.len());
        for ((_, plain), (_, imported)) in plain.iter().zip(&imported) {
            assert_eq!(
                (&plain.environment, &plain.trajectory, &plain.times),
                (&imported.environment, &imported.trajectory, &imported.times)
            );
            assert_eq!(plain.parameters, imported.parameters);
        }
        assert!(imported[0].1.states[3].is_nan());
        assert_eq!(imported[0].1.states[4], 2.5);
    }
}

#[test]
fn bad_parquet_files() {
    let archive = tanks_as_parquet(Arc::new(Float64Array::from(numbers(2))));
    let bytes = fs::read(archive.root.path().join("archive/tanks.parquet")).unwrap();
    let problems = archive.with("tanks.parquet", &bytes[..bytes.len() / 2]).check();
    assert_eq!(problems[0].kind, paramill::problems::Kind::UnsupportedFile);
    let local = numbers(2).into_iter().map(|time| 1_600_000_000_000 + (time * 1000.0) as i64);
    let local = tanks_as_parquet(Arc::new(TimestampMillisecondArray::from_iter_values(local)));
    insta::assert_snapshot!("parquet_local_times", local.report());
    let gzip = Archive::new().with("tanks.csv", include_bytes!("files/gzip.parquet"));
    insta::assert_snapshot!("parquet_compression", gzip.report());
}

#[test]
fn numbers_of_a_parquet_dictionary_are_numbers_and_decimals_are_refused() {
    let columns = |level: ArrayRef| {
        with_parquet(vec![
            ("tank", Arc::new(StringArray::from(column(0)))),
            ("run", Arc::new(Int64Array::from_iter_values(numbers(1).into_iter().map(|run| run as i64)))),
            ("t", Arc::new(Float64Array::from(numbers(2)))),
            ("level", level),
            ("flow", Arc::new(Float64Array::from(numbers(4)))),
        ])
    };
    let keys = Int8Array::from_iter_values(0..numbers(3).len() as i8);
    let dictionary = DictionaryArray::new(keys, Arc::new(Float64Array::from(numbers(3))));
    let states = |archive: Archive| archive.import().1.into_iter().map(|(_, row)| row.states).collect::<Vec<_>>();
    assert_eq!(states(columns(Arc::new(dictionary))), states(Archive::new()));
    let hundredths = numbers(3).into_iter().map(|level| (100.0 * level) as i128);
    let decimals = Decimal128Array::from_iter_values(hundredths).with_precision_and_scale(9, 2).unwrap();
    insta::assert_snapshot!("parquet_decimal", columns(Arc::new(decimals)).report());
}

/// The header of a page begins with its kind, then its size uncompressed, then compressed, each behind a byte 0x15.
#[test]
fn a_parquet_page_that_claims_more_than_it_can_hold_is_refused() {
    let archive = Archive::new();
    let batch = RecordBatch::try_from_iter([("t", Arc::new(Float64Array::from(vec![0.0; 2000])) as ArrayRef)]).unwrap();
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).set_dictionary_enabled(false);
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    let mut bytes = writer.into_inner().unwrap();
    let header = b"PAR1".len();
    assert_eq!((bytes[header], bytes[header + 2]), (0x15, 0x15));
    // Numbers of three bytes, the sign in the lowest bit.
    assert!(bytes[header + 3] >= 0x80 && bytes[header + 4] >= 0x80 && bytes[header + 5] < 0x80);
    bytes[header + 3..header + 6].copy_from_slice(&[0xfe, 0xff, 0x7f]);
    let problems = archive.with("tanks.csv", &bytes).check();
    let claim = problems.iter().find(|problem| problem.found.contains("a page at byte 4 that claims 1048575 bytes"));
    assert!(claim.is_some_and(|problem| problem.kind == paramill::problems::Kind::UnreadableFile), "{problems:?}");
}

/// NetCDF sums first and deflates then, so that a short chunk is seen only once it is inflated.
#[test]
fn a_checksum_beyond_what_a_chunk_inflates_to_is_refused() {
    let problems = |inflated: usize| {
        let archive = hdf5_archive(|file| {
            let builder = file.new_dataset::<f64>().chunk([4]).fletcher32().deflate(1).shape([4]);
            let variable = builder.create("t").unwrap();
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&vec![0; inflated]).unwrap();
            let chunk = encoder.finish().unwrap();
            // SAFETY: the variable is open, and the bytes and the position outlive the call.
            let written = hdf5::sync::sync(|| unsafe {
                H5Dwrite_chunk(variable.id(), H5P_DEFAULT, 0, [0].as_ptr(), chunk.len(), chunk.as_ptr().cast())
            });
            assert!(written >= 0);
        });
        archive.check().into_iter().map(|problem| problem.found).collect::<Vec<_>>()
    };
    assert_eq!(
        problems(2),
        ["variable `t` has a chunk of 2 bytes; expected a checksum of 4 bytes at least: make the file again"]
    );
    // Zeros are their own checksum.
    assert!(problems(36).iter().all(|found| !found.contains("checksum")), "{:?}", problems(36));
}

/// A dataset of this program, whose trajectories have times of their own, imported again.
#[test]
fn a_dataset_is_imported_from_its_hdf5_file() {
    let first = Archive::new();
    let plain = first.import().1;
    let archive = Archive::new().without_side_table().change(|settings| {
        settings.table.file = Names(vec!["train.h5".into(), "validation.h5".into()]);
        settings.table.environment = one("environment_id");
        settings.table.trajectory = one("trajectory_id");
        settings.table.time = "time".into();
        settings.splits = toml::from_str("validation = { trajectories = ['2'] }").unwrap();
    });
    let copied = |archive: Archive, split: &str| {
        let file = format!("{split}.h5");
        let bytes = fs::read(first.target().join("hdf5").join(&file)).unwrap();
        archive.with(&file, bytes)
    };
    let imported = copied(copied(archive, "train"), "validation").import().1;
    let samples = |all: &[(Split, Trajectory)]| -> Vec<_> {
        all.iter().take(4).map(|(split, t)| (*split, t.times.clone(), t.states.clone())).collect()
    };
    assert_eq!(samples(&imported), samples(&plain));
}

pub fn hdf5_archive(write: impl FnOnce(&hdf5::File)) -> Archive {
    let archive = Archive::new().without_side_table();
    // A child of the process, which another test may start now, would inherit a lock.
    let unlocked = hdf5::File::with_options().with_fapl(|list| list.file_locking(false)).clone();
    let file = unlocked.create(archive.root.path().join("archive/tanks.h5")).unwrap();
    write(&file);
    file.close().unwrap();
    archive.change(|settings| {
        settings.table.file = one("tanks.h5");
        settings.table.environment = one("trajectory");
        settings.table.trajectory = Default::default();
        settings.table.time = "time".into();
        settings.channels.truncate(1);
        settings.splits = toml::from_str("validation = { last = 0.4 }").unwrap();
    })
}

pub fn write(group: &hdf5::Group, name: &str, shape: &[usize], values: &[f64]) {
    group.new_dataset::<f64>().shape(shape).create(name).unwrap().write_raw(values).unwrap();
}

#[test]
fn the_wells_and_pde_bench_files_are_tables_where_there_is_no_space() {
    let levels: Vec<f64> = (0..10).map(f64::from).collect();
    let times = [0.0, 0.5, 1.0, 2.0, 4.0];
    let well = hdf5_archive(|file| {
        let fields = file.create_group("t0_fields").unwrap();
        write(&fields, "level", &[2, 5, 1], &levels);
        write(&file.create_group("dimensions").unwrap(), "time", &[5], &times);
        write(&file.create_group("scalars").unwrap(), "area", &[2], &[3.0, 4.0]);
    });
    let bench = hdf5_archive(|file| {
        write(file, "tensor", &[2, 5], &levels);
        write(file, "t-coordinate", &[6], &[0.0, 0.5, 1.0, 2.0, 4.0, 8.0]);
    });
    let bench = bench.change(|settings| settings.channels[0].column = "tensor".into());
    for archive in [well, bench] {
        let imported = archive.import().1;
        let ids: Vec<_> = imported.iter().map(|(split, t)| format!("{split} {}", t.environment)).collect();
        assert_eq!(ids, ["train 0", "train 1", "validation 0", "validation 1"]);
        assert_eq!(imported[1].1.times, &times[..3]);
        assert_eq!(imported[3].1.states, [8.0, 9.0]);
    }
    let several = hdf5_archive(|file| {
        write(file, "tensor", &[1, 5, 2], &levels);
        write(file, "t-coordinate", &[5], &times);
        let ids: hdf5::types::VarLenUnicode = "spring".parse().unwrap();
        file.new_dataset::<hdf5::types::VarLenUnicode>()
            .shape([1])
            .create("environment")
            .unwrap()
            .write_raw(&[ids])
            .unwrap();
    });
    let several = several.change(|settings| {
        settings.channels[0].column = "tensor.1".into();
        settings.table.environment = one("environment");
    });
    let imported = several.import().1;
    assert_eq!((imported[0].1.environment.as_str(), imported[0].1.states.as_slice()), ("spring", &[1.0, 3.0, 5.0][..]));
    let field = hdf5_archive(|file| {
        write(&file.create_group("t0_fields").unwrap(), "level", &[1, 5, 2], &levels);
        write(&file.create_group("dimensions").unwrap(), "time", &[5], &times);
    });
    insta::assert_snapshot!("hdf5_field", field.report());
}

/// Ids of 64 bits keep their last digit, and texts of fixed length are texts.
#[test]
fn ids_of_hdf5_files_are_what_they_are() {
    use hdf5::types::{FixedAscii, FixedUnicode};
    let archive = || {
        hdf5_archive(|file| {
            write(file, "time", &[6], &[0.0, 1.0, 2.0, 0.0, 1.0, 2.0]);
            write(file, "level", &[6], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
            let large = [1_i64 << 53, (1 << 53) + 1].map(|id| [id; 3]).concat();
            file.new_dataset::<i64>().shape([6]).create("large").unwrap().write_raw(&large).unwrap();
            let ascii = ["a1", "b22"].map(|id| [FixedAscii::<8>::from_ascii(id).unwrap(); 3]).concat();
            file.new_dataset::<FixedAscii<8>>().shape([6]).create("ascii").unwrap().write_raw(&ascii).unwrap();
            let unicode = ["ä", "水槽"].map(|id| [id.parse::<FixedUnicode<9>>().unwrap(); 3]).concat();
            file.new_dataset::<FixedUnicode<9>>().shape([6]).create("unicode").unwrap().write_raw(&unicode).unwrap();
        })
    };
    for (column, expected) in
        [("large", ["9007199254740992", "9007199254740993"]), ("ascii", ["a1", "b22"]), ("unicode", ["ä", "水槽"])]
    {
        let archive = archive().change(|settings| {
            settings.table.environment = one(column);
            settings.splits = toml::from_str("adapt = ['*']").unwrap();
        });
        let imported = archive.import().1;
        let ids: Vec<_> = imported.iter().map(|(_, trajectory)| trajectory.environment.as_str()).collect();
        assert_eq!(ids, expected);
        assert_eq!(imported[1].1.states, [4.0, 5.0, 6.0]);
    }
}

#[test]
fn variables_of_one_axis_are_columns() {
    let archive = hdf5_archive(|file| {
        let log = file.create_group("log").unwrap();
        write(&log, "t", &[4], &[0.0, 1.0, 2.0, 3.0]);
        write(&log, "level", &[4], &[1.0, 2.0, f64::NAN, 4.0]);
        log.new_dataset::<i32>().shape([4]).create("flow").unwrap().write_raw(&[1, 2, 3, 4]).unwrap();
    });
    let archive = archive.change(|settings| {
        settings.table.environment = Default::default();
        settings.table.time = "log/t".into();
        settings.channels[0].column = "log/level".into();
        settings.channels.push(toml::from_str("column = 'log/flow'\nname = 'flow'\nunit = '1'").unwrap());
    });
    let imported = archive.import().1;
    assert_eq!(imported[0].1.environment, "tanks");
    assert_eq!(imported[0].1.states, [1.0, 1.0, 2.0, 2.0]);
    assert!(imported[1].1.states[0].is_nan() && imported[1].1.states[1..] == [3.0, 4.0, 4.0]);
    let uneven = hdf5_archive(|file| {
        write(file, "a", &[2], &[0.0, 1.0]);
        write(file, "b", &[3], &[0.0, 1.0, 2.0]);
    });
    insta::assert_snapshot!("hdf5_uneven", uneven.report());
    let huge = hdf5_archive(|file| {
        file.new_dataset::<f64>().chunk([1024]).shape([1 << 40]).create("a").unwrap();
    });
    insta::assert_snapshot!("hdf5_claim", huge.report());
}
