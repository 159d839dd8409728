//! The readers, each with the sound files that its cases damage.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use hdf5_metno as hdf5;
use hdf5_metno::types::{FixedAscii, VarLenUnicode};
use paramill::dataset::{Dataset, Store, verify};
use paramill::import::{self, Settings};
use paramill::pipeline::{self, Locations, Plan};
use paramill::progress::{Interrupt, Run, Silent};
use paramill::schema::Split;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};

use super::bodies;
use super::common::{manifest, ragged, restate, shared_grid, write};
use super::mutation::{Random, damage};

type Reader = Box<dyn FnMut(&mut Random)>;

pub fn reader(kind: &str) -> Reader {
    match kind {
        "csv" => csv(),
        "toml" => toml_files(),
        "parquet" => imported(parquet_files()),
        "hdf5" => imported(hdf5_files()),
        "fields" => imported(files_of_fields()),
        "stored-parquet" => stored("data/train-00000-of-00001.parquet", Store::Parquet),
        "stored-hdf5" => stored("hdf5/train.h5", Store::Hdf5),
        "manifests" => own(&["dataset", "model", "map"]),
        "bundles" => own(&["bundle"]),
        "checkpoints" => own(&["state", "arrays", "weights"]),
        other => panic!("no kind {other:?}"),
    }
}

/// Settings of an import of `file`, whose columns are `id`, `t`, `x` and `y`, with more keys of its table.
fn settings(table: &str) -> Settings {
    let text = format!(
        "dataset = 'set'\ndirectory = '.'\ntime_unit = 's'\nsplits = {{ validation = {{ last = 0.3 }} }}\n\
         channels = [{{ column = 'x', name = 'x', unit = 'm' }}, {{ column = 'y', name = 'y', unit = '1' }}]\n\
         [table]\nfile = 'file'\ntime = 't'\n{table}"
    );
    toml::from_str(&text).unwrap()
}

/// Imports a file: a dataset, or problems.
fn import(settings: &Settings, bytes: &[u8], root: &Path) {
    fs::write(root.join("file"), bytes).unwrap();
    let problems = import::check(settings, root);
    let run = Run { observer: &Silent, interrupt: &Interrupt::new() };
    let result = import::run(settings, root, &root.join("set"), &run);
    assert_eq!(problems.is_empty(), result.is_ok(), "{problems:?} {:?}", result.err());
}

fn csv() -> Reader {
    let wide = "id,t,x[cm],y\na,0,1,2\na,0.5,1.5,NA\na,1e1,-2e-3,\"4\"\nb,0,1,2\nb,1,2,3\nb,2,,9\n";
    let long = "id;t;what;value\na;0;x;1,5\na;0;y;2\na;1;x;3\na;1;y;-999\nb;0;x;1\nb;1;y;2\nb;1;x;1\nb;2;y;0\n";
    let stamps = "# a log\nid\tt\tx\ty\na\t2020-01-01T00:00:00Z\t1\t2\na\t2020-01-01T00:00:01+01:00\t1\t2\na\t2020-01-02 00:00Z\t3\t4\n";
    let seeds = [
        (wide, "environment = 'id'\nmissing = ['NA']\nduplicates = 'mean'\ndisorder = 'sort'"),
        (
            long,
            "environment = 'id'\nlayout = 'long'\nchannel = 'what'\nvalue = 'value'\ndelimiter = ';'\ndecimal = ','\nmissing = ['-999']",
        ),
        (stamps, "environment = 'id'\ndelimiter = \"\\t\"\ncomment = '#'\ntime_zone = 'Europe/Paris'\nsplit_gap = 3"),
        (wide, "trajectory = 'id'\ndelimiter = ','\nsplit_length = 1\nduplicates = 'last'"),
    ];
    let words = [
        "\"",
        "\"\"",
        ",",
        ";",
        "\t",
        "\n",
        "\r",
        "#",
        "1e308",
        "-1e308",
        "5e-324",
        "NaN",
        "inf",
        "2020-03-29T02:30:00",
        "12:30",
        "\u{feff}",
        "a",
        "-999",
        "é",
        "0",
    ];
    let root = tempfile::tempdir().unwrap();
    Box::new(move |random| {
        let (text, table) = *random.one_of(&seeds);
        let mut bytes = text.as_bytes().to_vec();
        if random.chance(0.9) {
            damage(&mut bytes, &words, random);
        }
        let packed = match random.below(4) {
            0 => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                encoder.write_all(&bytes).unwrap();
                Some(encoder.finish().unwrap())
            }
            1 => Some(zstd::encode_all(&bytes[..], 1).unwrap()),
            _ => None,
        };
        if let Some(packed) = packed {
            bytes = packed;
            if random.chance(0.7) {
                damage(&mut bytes, &[], random);
            }
        }
        import(&settings(table), &bytes, root.path());
        let _ = import::draft(&root.path().join("file"));
    })
}

/// Every pipeline, mapping and system file of the repository.
fn toml_files() -> Reader {
    let mut seeds = Vec::new();
    for folder in ["pipelines", "pipelines/archives", "pipelines/systems"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let texts = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
        seeds.extend(texts.map(|path| fs::read(path).unwrap()));
    }
    let words = [
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        "=",
        ".",
        ",",
        "\"",
        "'",
        "\"\"\"",
        "\n",
        "#",
        "-1",
        "0",
        "1e999",
        "nan",
        "inf",
        "true",
        "1979-05-27",
        "\\u0000",
        "9223372036854775807",
        "18446744073709551616",
        "(((((((((((((((((((((((((((((((((",
        "-----------------",
        "^",
        "exp(",
        "sin",
        "t",
        "x",
        "1e308",
        "[a.b]",
        "a.b.c = 1\n",
        "''",
        "*",
        "/",
        "steps = ",
    ];
    let root = tempfile::tempdir().unwrap();
    Box::new(move |random| {
        let mut bytes = random.one_of(&seeds).clone();
        damage(&mut bytes, &words, random);
        let path = root.path().join("file.toml");
        fs::write(&path, bytes).unwrap();
        if pipeline::load_system(&path).is_some() {
            return;
        }
        let Ok(plan) = Plan::load(&path, &[], &Locations::default()) else { return };
        pipeline::check(&path, &[]);
        plan.effective_toml();
        plan.effective_json();
    })
}

/// Imports damaged files.
fn imported(seeds: Vec<(Settings, Vec<u8>)>) -> Reader {
    let root = tempfile::tempdir().unwrap();
    Box::new(move |random| {
        let (settings, sound) = random.one_of(&seeds);
        let mut bytes = sound.clone();
        damage(&mut bytes, &[], random);
        import(settings, &bytes, root.path());
        let _ = import::draft(&root.path().join("file"));
    })
}

/// Fields in HDF5, plain and as The Well has them, and in files of NumPy.
fn files_of_fields() -> Vec<(Settings, Vec<u8>)> {
    let settings = |more: &str| {
        let text = format!(
            "dataset = 'set'\ndirectory = '.'\ntime_unit = 's'\nsplits = {{ validation = {{ last = 0.3 }} }}\n\
             [fields]\nfile = 'file'\n{more}"
        );
        toml::from_str::<Settings>(&text).unwrap()
    };
    let grid = "axes = ['trajectory', 'time', 'x']\ngrid = [{ name = 'x', spacing = 1.0, boundary = 'zero' }]\n";
    let spaced = format!("{grid}time = {{ spacing = 1.0 }}\nchannels = [{{ name = 'u', unit = '1' }}]");
    let timed = format!("{grid}time = {{ array = 't' }}\nchannels = [{{ name = 'u', unit = '1', array = 'u' }}]");
    let of_numpy = |shape: &str, count: u8| {
        let header = format!("{{'descr': '<f4', 'fortran_order': True, 'shape': ({shape}), }}\n");
        let mut bytes = [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
        bytes.extend((0..count).flat_map(|i| f32::from(i).to_le_bytes()));
        bytes
    };
    let (field, times) = (of_numpy("2, 4, 3", 24), of_numpy("4,", 4));
    let root = tempfile::tempdir().unwrap();
    let place = root.path().join("file");
    let put = |group: &hdf5::Group, name: &str, shape: &[usize]| {
        let values: Vec<f64> = (0..shape.iter().product::<usize>()).map(|i| i as f64).collect();
        let builder = group.new_dataset::<f64>().chunk(shape.to_vec()).deflate(3);
        builder.shape(shape.to_vec()).create(name).unwrap().write_raw(&values).unwrap();
    };
    let file = hdf5::File::create(&place).unwrap();
    put(&file, "u", &[2, 4, 3]);
    put(&file, "t", &[4]);
    file.close().unwrap();
    let plain = fs::read(&place).unwrap();
    let (manifest, rows) = super::common::fields(2, false);
    write(&root.path().join("set"), manifest, &[(Split::Train, rows)]);
    let own = fs::read(root.path().join("set/hdf5/train.h5")).unwrap();
    let of_own =
        "channels = [{ name = 'x', unit = '1', array = 't0_fields/x' }, { name = 'y', unit = '1', array = 'y' }]";
    vec![
        (settings(&spaced), field.clone()),
        (settings(&timed), zip_of(&[("u.npy", &field), ("t.npy", &times)])),
        (settings(&timed), plain),
        (settings(of_own), own),
    ]
}

/// A zip archive of deflated members.
fn zip_of(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        let packed = encoder.finish().unwrap();
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let sizes = [crc.sum(), packed.len() as u32, content.len() as u32].map(u32::to_le_bytes).concat();
        let common = [&[20, 0, 0, 0, 8, 0, 0, 0, 0, 0][..], &sizes, &(name.len() as u16).to_le_bytes()].concat();
        let place = (file.len() as u32).to_le_bytes();
        file.extend([b"PK\x03\x04", &common[..], &[0, 0], name.as_bytes(), &packed].concat());
        directory.extend([b"PK\x01\x02\x14\x00", &common[..], &[0; 12], &place, name.as_bytes()].concat());
    }
    let count = (members.len() as u16).to_le_bytes();
    let (size, place) = ((directory.len() as u32).to_le_bytes(), (file.len() as u32).to_le_bytes());
    let end = [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &size, &place, &[0, 0]].concat();
    [file, directory, end].concat()
}

fn parquet_files() -> Vec<(Settings, Vec<u8>)> {
    let ids = ["first", "first", "a rather long name of one", "a rather long name of one", "a rather long name of one"];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(StringArray::from(ids.to_vec()))),
        ("t", Arc::new(Float64Array::from(vec![0.0, 1.0, 0.0, 0.5, 2.0]))),
        ("x", Arc::new(Float32Array::from(vec![Some(1.0), None, Some(3.0), Some(0.1), Some(1e9)]))),
        ("y", Arc::new(Int64Array::from(vec![1, 1 << 60, 3, 4, 5]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(vec![0, 1_000_000, 0, 1, 2]).with_timezone("UTC"))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let compressions = [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default())];
    let mut seeds = Vec::new();
    for (compression, version) in
        compressions.into_iter().flat_map(|it| [(it, WriterVersion::PARQUET_1_0), (it, WriterVersion::PARQUET_2_0)])
    {
        let properties = WriterProperties::builder().set_compression(compression).set_writer_version(version);
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build())).unwrap();
        writer.write(&batch).unwrap();
        let bytes = writer.into_inner().unwrap();
        let mut by_stamps = settings("environment = 'id'");
        by_stamps.table.time = "at".into();
        seeds.push((by_stamps, bytes.clone()));
        seeds.push((settings("environment = 'id'"), bytes));
    }
    seeds
}

fn text(text: &str) -> VarLenUnicode {
    text.parse().unwrap()
}

/// A row of a table.
#[derive(Clone, hdf5::H5Type)]
#[repr(C)]
struct Sample {
    t: f64,
    x: f32,
    y: i64,
    id: FixedAscii<4>,
}

/// Variables with attributes as netCDF has them.
fn described_group(group: &hdf5::Group, count: usize) {
    let numbers: Vec<f64> = (0..count).map(|t| t as f64).collect();
    let time = group.new_dataset_builder().with_data(&numbers).create("t").unwrap();
    let since = FixedAscii::<32>::from_ascii("minutes since 2020-01-01 00:00").unwrap();
    time.new_attr::<FixedAscii<32>>().create("units").unwrap().write_scalar(&since).unwrap();
    time.new_attr::<VarLenUnicode>().create("calendar").unwrap().write_scalar(&text("standard")).unwrap();
    let x = group.new_dataset_builder().with_data(&numbers).create("x").unwrap();
    x.new_attr::<VarLenUnicode>().shape([1]).create("units").unwrap().write_raw(&[text("cm")]).unwrap();
    let packed: Vec<i16> = (0..count).map(|t| t as i16).collect();
    let y = group.new_dataset_builder().with_data(&packed).create("y").unwrap();
    for (name, value) in [("scale_factor", 0.1), ("add_offset", 1.0), ("_FillValue", 2.0), ("valid_max", 9.0)] {
        y.new_attr::<f64>().create(name).unwrap().write_scalar(&value).unwrap();
    }
}

/// Files of each layout, of old and new formats.
fn hdf5_files() -> Vec<(Settings, Vec<u8>)> {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("file.h5");
    let mut seeds = Vec::new();
    for is_new in [false, true] {
        let create = || {
            let mut builder = hdf5::File::with_options();
            builder.with_fapl(|access| if is_new { access.libver_latest() } else { access });
            builder.create(&path).unwrap()
        };
        let mut add = |settings: Settings| seeds.push((settings, fs::read(&path).unwrap()));

        let file = create();
        let group = file.create_group("log").unwrap();
        let numbers = |name: &str, values: &[f64]| {
            let builder = group.new_dataset_builder().chunk(4).shuffle().deflate(4).fletcher32();
            builder.with_data(values).create(name).unwrap();
        };
        numbers("t", &[0.0, 1.0, 2.0, 0.0, 1.0]);
        numbers("x", &[1.0, 2.0, f64::NAN, 4.0, 5.0]);
        group.new_dataset_builder().with_data(&[1_i32, 2, 3, 4, 5]).create("y").unwrap();
        let ids = ["a", "a", "a", "b", "b"].map(text);
        let ids = group.new_dataset_builder().with_data(&ids).create("id").unwrap();
        ids.new_attr::<VarLenUnicode>().create("what").unwrap().write_scalar(&text("who")).unwrap();
        drop((ids, group, file));
        let mut plain = settings("environment = 'log/id'");
        plain.table.time = "log/t".into();
        for channel in &mut plain.channels {
            channel.column = format!("log/{}", channel.column);
        }
        add(plain);

        let file = create();
        file.new_dataset_builder().with_data(&[0.0, 1.0, 2.0]).create("t-coordinate").unwrap();
        let tensor = ndarray::Array3::from_shape_fn((2, 3, 2), |(b, t, c)| (b + t + c) as f64);
        file.new_dataset_builder().chunk((1, 3, 2)).deflate(1).with_data(&tensor).create("tensor").unwrap();
        drop(file);
        let mut pde_bench = settings("environment = 'trajectory'");
        pde_bench.table.time = "time".into();
        for (c, channel) in pde_bench.channels.iter_mut().enumerate() {
            channel.column = format!("tensor.{c}");
        }
        add(pde_bench);

        let file = create();
        for (name, count) in [("a", 3), ("b", 2)] {
            described_group(&file.create_group(name).unwrap(), count);
        }
        drop(file);
        add(settings("environment = 'group'"));

        let file = create();
        let sample = |t: u8| Sample { t: t.into(), x: t.into(), y: 1 << t, id: FixedAscii::from_ascii("a").unwrap() };
        let samples: Vec<Sample> = (0..4).map(sample).collect();
        file.new_dataset_builder().chunk(2).deflate(1).with_data(&samples).create("table").unwrap();
        drop(file);
        add(settings("environment = 'id'"));
    }
    for rows in [ragged(), shared_grid(2)] {
        let directory = root.path().join("set");
        write(&directory, manifest(), &[(Split::Train, rows)]);
        let mut own = settings("environment = 'environment_id'\ntrajectory = 'trajectory_id'");
        own.table.time = "time".into();
        seeds.push((own, fs::read(directory.join("hdf5/train.h5")).unwrap()));
    }
    seeds
}

/// Reads one of the files of these names in [`bodies`], damaged; words are what JSON has.
fn own(names: &'static [&'static str]) -> Reader {
    let words = [
        "{",
        "}",
        "[",
        "]",
        ",",
        "null",
        "true",
        "-1",
        "1e999",
        "18446744073709551616",
        "0",
        "\"\"",
        "\"/\"",
        "..",
        "\\u0000",
    ];
    let sound: Vec<(&str, Vec<u8>)> = names.iter().map(|name| (*name, bodies::sound(name))).collect();
    Box::new(move |random| {
        let (name, bytes) = random.one_of(&sound);
        let mut bytes = bytes.clone();
        damage(&mut bytes, &words, random);
        bodies::read(name, &bytes);
    })
}

/// Reads a dataset one file of which was damaged, and the digests set to what they are then.
fn stored(file: &'static str, store: Store) -> Reader {
    let root = tempfile::tempdir().unwrap();
    let mut seeds = Vec::new();
    for (name, rows) in [("ragged", ragged()), ("shared", shared_grid(2))] {
        let directory = root.path().join(name);
        write(&directory, manifest(), &[(Split::Train, rows)]);
        seeds.push((fs::read(directory.join(file)).unwrap(), directory));
    }
    Box::new(move |random| {
        let (sound, directory) = random.one_of(&seeds);
        let mut bytes = sound.clone();
        damage(&mut bytes, &[], random);
        File::create(directory.join(file)).and_then(|mut file| file.write_all(&bytes)).unwrap();
        restate(directory, |_| ());
        if let Ok(dataset) = Dataset::open(directory)
            && let Ok(batches) = dataset.batches(Split::Train, store, 2)
        {
            batches.take(100).for_each(drop);
        }
        verify(directory);
        let _ = root.path();
    })
}
