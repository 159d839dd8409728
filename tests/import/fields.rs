//! Fields on grids: formats, axes, times, units, and what is said of files that do not fit.

use std::io::Write;

use flate2::write::DeflateEncoder;
use hdf5_metno as hdf5;
use paramill::schema::{Boundary, GridAxis};

use super::*;

/// One channel `u` of `u.npy`, two trajectories of four samples on 3 x 2 points.
const MAPPING: &str = r#"
dataset = "plate"
directory = "archive"
time_unit = "s"
[fields]
file = "{environment}.npy"
axes = ["trajectory", "time", "x", "y"]
time = { spacing = 0.5 }
grid = [
    { name = "x", unit = "m", spacing = 0.1, start = 1.0, boundary = "zero" },
    { name = "y", unit = "m", spacing = 0.2, boundary = "periodic" },
]
channels = [{ name = "u", unit = "K" }]
[splits]
adapt = ["b"]
validation = { trajectories = ["1"] }
"#;
const SHAPE: [usize; 4] = [2, 4, 3, 2];

/// An archive that `[import]` of this text reads.
fn archive(mapping: &str) -> Archive {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("archive")).unwrap();
    Archive { root, settings: toml::from_str(mapping).unwrap() }
}

/// The numbers 0, 1, .. of a shape, from `first` on.
fn counting(shape: &[usize], first: f64) -> Vec<f64> {
    (0..shape.iter().product()).map(|i: usize| first + i as f64).collect()
}

/// An array as NumPy writes it; `bytes` gives those of a number, and Fortran's order has the first axis fastest.
fn npy(descr: &str, is_fortran: bool, shape: &[usize], values: &[f64], bytes: impl Fn(f64) -> Vec<u8>) -> Vec<u8> {
    let words: String = shape.iter().map(|count| format!("{count}, ")).collect();
    let order = if is_fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({words}), }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    let mut stored = vec![0.0; values.len()];
    for (i, &value) in values.iter().enumerate() {
        let (mut rest, mut at, mut stride) = (i, 0, 1);
        // The place in Fortran's order of the i-th number in C's.
        let digits: Vec<usize> = shape
            .iter()
            .rev()
            .map(|&count| {
                let digit = rest % count;
                rest /= count;
                digit
            })
            .collect();
        for (digit, count) in digits.iter().rev().zip(shape) {
            at += digit * stride;
            stride *= count;
        }
        stored[if is_fortran { at } else { i }] = value;
    }
    file.extend(stored.into_iter().flat_map(bytes));
    file
}

fn doubles(shape: &[usize], first: f64) -> Vec<u8> {
    npy("<f8", false, shape, &counting(shape, first), |value| value.to_le_bytes().to_vec())
}

/// A zip archive of members.
fn npz(members: &[(&str, Vec<u8>)], is_deflated: bool) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let packed = match is_deflated {
            true => {
                let mut encoder = DeflateEncoder::new(Vec::new(), flate2::Compression::default());
                encoder.write_all(content).unwrap();
                encoder.finish().unwrap()
            }
            false => content.clone(),
        };
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let place = file.len() as u32;
        let mut common = vec![20, 0, 0, 0, if is_deflated { 8 } else { 0 }, 0, 0, 0, 0, 0];
        common.extend(crc.sum().to_le_bytes());
        common.extend((packed.len() as u32).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        file.extend([b"PK\x03\x04", &common[..], &[0, 0], name.as_bytes(), &packed].concat());
        directory
            .extend([b"PK\x01\x02\x14\x00", &common[..], &[0; 12], &place.to_le_bytes(), name.as_bytes()].concat());
    }
    let (place, count) = (file.len() as u32, (members.len() as u16).to_le_bytes());
    let size = directory.len() as u32;
    let end = [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &size.to_le_bytes(), &place.to_le_bytes(), &[0, 0]].concat();
    [file, directory, end].concat()
}

fn plates() -> Archive {
    archive(MAPPING).with("a.npy", doubles(&SHAPE, 0.0)).with("b.npy", doubles(&SHAPE, 100.0))
}

/// What is said of a problem, with its place.
fn said(archive: &Archive) -> String {
    let text = archive.report();
    assert!(!text.is_empty());
    text
}

#[test]
fn arrays_of_numpy_become_a_dataset() {
    let (manifest, rows, notes) = plates().import();
    let place = |(split, t): &(Split, Trajectory)| format!("{split} {}/{}", t.environment, t.trajectory);
    assert_eq!(rows.iter().map(place).collect::<Vec<_>>(), ["train a/0", "validation a/1", "adapt b/0", "adapt b/1"]);
    assert_eq!(rows[1].1.times, [0.0, 0.5, 1.0, 1.5]);
    assert_eq!(rows[1].1.states, counting(&SHAPE[1..], 24.0));
    assert_eq!(rows[2].1.states, counting(&SHAPE[1..], 100.0));
    let axis = |name: &str, count, spacing| GridAxis::periodic(name, "m", count, spacing);
    let x = GridAxis { start: 1.0, boundary: Boundary::Zero, ..axis("x", 3, 0.1) };
    assert_eq!(manifest.grid.unwrap().axes, [x, axis("y", 2, 0.2)]);
    assert_eq!(notes, ["reading {environment}.npy", "4 trajectories in 2 files read"]);
    assert_eq!(manifest.provenance.parents.len(), 2);
}

#[test]
fn every_type_and_order_gives_the_same_values() {
    let values = counting(&SHAPE, 3.0);
    type Bytes = fn(f64) -> Vec<u8>;
    let cases: [(&str, bool, Bytes); 9] = [
        ("<f8", true, |v| v.to_le_bytes().to_vec()),
        (">f8", false, |v| v.to_be_bytes().to_vec()),
        ("<f4", false, |v| (v as f32).to_le_bytes().to_vec()),
        (">f4", true, |v| (v as f32).to_be_bytes().to_vec()),
        ("<f2", false, |v| half::f16::from_f64(v).to_le_bytes().to_vec()),
        ("<i4", false, |v| (v as i32).to_le_bytes().to_vec()),
        (">i2", true, |v| (v as i16).to_be_bytes().to_vec()),
        ("|u1", false, |v| vec![v as u8]),
        ("<i8", false, |v| (v as i64).to_le_bytes().to_vec()),
    ];
    for (descr, is_fortran, bytes) in cases {
        let file = npy(descr, is_fortran, &SHAPE, &values, bytes);
        let rows = plates().with("a.npy", &file).import().1;
        let read: Vec<f64> = [&rows[0].1.states[..], &rows[1].1.states[..]].concat();
        assert_eq!(read, values, "{descr} {is_fortran}");
        for is_deflated in [false, true] {
            let members = [("u.npy", file.clone()), ("t.npy", doubles(&[4], 2.0)), ("notes.txt", b"?".to_vec())];
            let archive = plates().with("a.npz", npz(&members, is_deflated)).change(|settings| {
                let fields = settings.fields.as_mut().unwrap();
                fields.file = one("{environment}.npz");
                fields.channels[0].array = Some("u".into());
                fields.time = toml::from_str("array = 't'").unwrap();
                settings.splits.adapt.clear();
            });
            let rows = archive.import().1;
            assert_eq!([&rows[0].1.states[..], &rows[1].1.states[..]].concat(), values, "{descr} {is_deflated}");
            assert_eq!(rows[0].1.times, [2.0, 3.0, 4.0, 5.0]);
        }
    }
}

#[test]
fn negative_integers_keep_their_sign() {
    let file = npy("<i2", false, &SHAPE, &counting(&SHAPE, -20.0), |v| (v as i16).to_le_bytes().to_vec());
    assert_eq!(plates().with("a.npy", file).import().1[0].1.states, counting(&SHAPE[1..], -20.0));
}

#[test]
fn axes_come_in_any_order_and_are_thinned() {
    // Stored as [y, channel, time, x]; the dataset has x before y, every second point of x and every second sample from 0.5 on.
    let shape = [2, 2, 5, 4];
    let archive = archive(MAPPING).with("a.npy", doubles(&shape, 0.0)).change(|settings| {
        let fields = settings.fields.as_mut().unwrap();
        fields.axes = ["y", "channel", "time", "x"].map(str::to_owned).to_vec();
        fields.channels = toml::from_str::<import::Settings>(&MAPPING.replace(
            "channels = [{ name = \"u\", unit = \"K\" }]",
            "channels = [{ name = \"v\", unit = \"K\", index = 1 }, { name = \"u\", unit = \"K\", index = 0 }]",
        ))
        .unwrap()
        .fields
        .unwrap()
        .channels;
        fields.grid[0].every = 2;
        (fields.time.every, fields.time.from) = (2, Some(0.5));
        settings.splits = toml::from_str("adapt = ['*']").unwrap();
    });
    let (manifest, rows, notes) = archive.import();
    let place = |y: usize, c: usize, t: usize, x: usize| (((y * 2 + c) * 5 + t) * 4 + x) as f64;
    let mut expected = Vec::new();
    for t in [1, 3] {
        for c in [1, 0] {
            for x in [0, 2] {
                expected.extend([0, 1].map(|y| place(y, c, t, x)));
            }
        }
    }
    assert_eq!(rows[0].1.states, expected);
    assert_eq!((rows[0].1.times.as_slice(), rows[0].1.trajectory.as_str()), (&[0.5, 1.5][..], "1"));
    assert_eq!(manifest.grid.unwrap().axes[0].spacing, 0.2);
    let told = [
        "3 samples left out, as `time` of [import.fields] asks",
        "4 points of each field left out, as `grid` of [import.fields] asks",
    ];
    assert!(told.iter().all(|text| notes.iter().any(|note| note == text)), "{notes:?}");
}

#[test]
fn missing_values_are_nan_and_empty_samples_are_dropped() {
    let mut values = counting(&SHAPE, 0.0);
    values[..6].fill(-999.0);
    values[7] = f64::NAN;
    let file = npy("<f8", false, &SHAPE, &values, |value| value.to_le_bytes().to_vec());
    let archive =
        plates().with("a.npy", file).change(|settings| settings.fields.as_mut().unwrap().missing = vec![-999.0]);
    let (manifest, rows, _) = archive.import();
    assert_eq!(rows[0].1.times, [0.5, 1.0, 1.5]);
    assert!(rows[0].1.states[1].is_nan() && rows[0].1.states[0] == 6.0);
    let report: Vec<(&str, u64)> = manifest.import_report.iter().map(|it| (it.done.as_str(), it.count)).collect();
    assert_eq!(report, [("missing", 1), ("dropped", 1)]);
}

#[test]
fn damaged_and_hostile_arrays_are_refused() {
    let good = doubles(&SHAPE, 0.0);
    let huge = npy("<f8", false, &[1 << 40, 1 << 40, 3, 2], &[], |_| Vec::new());
    let objects = npy("|O", false, &SHAPE, &[], |_| Vec::new());
    let complex =
        npy("<c16", false, &SHAPE, &counting(&SHAPE, 0.0), |value| [value.to_le_bytes(), value.to_le_bytes()].concat());
    let text = npy("<U2", false, &SHAPE, &counting(&SHAPE, 0.0), |_| vec![65, 0, 0, 0, 0, 0, 0, 0]);
    let long = npy("<i8", false, &SHAPE, &counting(&SHAPE, 0.0), |_| i64::MAX.to_le_bytes().to_vec());
    let infinite = npy("<f8", false, &SHAPE, &counting(&SHAPE, 0.0), |value| {
        if value == 45.0 { f64::INFINITY } else { value }.to_le_bytes().to_vec()
    });
    for (file, parts) in [
        (
            good[..good.len() - 8].to_vec(),
            &["[root]/archive/a.npy", "claims 384 bytes, of which 376 are there", "copied whole"][..],
        ),
        (good[..60].to_vec(), &["a header of", "in a file of 60"]),
        (huge, &["claims more bytes than can be counted"]),
        (objects, &["of pickled objects, which are programs and are not run", "an array of real numbers"]),
        (complex, &["of complex numbers"]),
        (text, &["of texts"]),
        (long, &["beyond 2^53"]),
        (
            infinite,
            &[
                "infinity in channel `u` of trajectory \"1\" of environment \"a\", at time 1.5 and point x 1, y 1 (1 value in all)",
            ],
        ),
        (b"PK\x03\x04 no archive".to_vec(), &["no directory at its end"]),
        (b"x,y\n1,2\n".to_vec(), &["begins as no file of arrays does", "an HDF5, netCDF-4, .npy or .npz file"]),
        (Vec::new(), &["an empty file"]),
    ] {
        let said = said(&plates().with("a.npy", file));
        assert!(parts.iter().all(|part| said.contains(part)), "{parts:?}: {said}");
    }
    let mut bomb = npz(&[("u.npy", good.clone())], true);
    let at = bomb.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    bomb[at + 24..at + 28].copy_from_slice(&u32::MAX.wrapping_sub(2).to_le_bytes());
    assert!(said(&plates().with("a.npy", bomb)).contains("claim to be 4294967293 unpacked"));
    let mut changed = npz(&[("u.npy", good)], true);
    let at = changed.windows(4).rposition(|window| window == b"PK\x01\x02").unwrap();
    changed[at + 16] ^= 1;
    assert!(said(&plates().with("a.npy", changed)).contains("checksum"));
}

#[test]
fn settings_that_do_not_fit_the_arrays_are_told_with_what_is_there() {
    type Change = fn(&mut import::Fields);
    let cases: [(Change, &[&str]); 10] = [
        (|it| drop(it.axes.pop()), &["4 axes of array `` (2 x 4 x 3 x 2)", "name every axis of the array"]),
        (|it| it.axes[1] = "z".into(), &["import.fields.axes", "without `time`"]),
        (|it| it.time = Default::default(), &["(import.fields.time): found no times", "add `time = { array"]),
        (|it| it.time = toml::from_str("values = [0.0, 1.0]").unwrap(), &["2 times for 4 samples"]),
        (
            |it| it.time = toml::from_str("values = [0.0, 1.0, 1.0, 2.0]").unwrap(),
            &["time 1 of sample 2 of trajectory \"0\" of environment \"a\" after 1", "increasing times"],
        ),
        (|it| it.grid[1].boundary = None, &["nothing that says what lies beyond the ends of axis `y`"]),
        (|it| it.grid[0].spacing = None, &["no spacing of axis `x`"]),
        (|it| it.grid[1].every = 3, &["3, and 2 points on the periodic axis `y`"]),
        (|it| it.channels[0].index = Some(1), &["no axis `channel`"]),
        (|it| it.environment = Names(vec!["Re".into()]), &["`{environment}` in `file`, and names"]),
    ];
    for (change, parts) in cases {
        let said = said(&plates().change(|settings| change(settings.fields.as_mut().unwrap())));
        assert!(parts.iter().all(|part| said.contains(part)), "{parts:?}: {said}");
    }
    let other = said(&plates().with("b.npy", doubles(&[2, 4, 3, 4], 0.0)));
    assert!(
        other.contains("b.npy (import.fields.grid): found 4 points on axis `y`; expected 2, as in the first file"),
        "{other}"
    );
    let both = said(&plates().change(|settings| settings.table.time = "t".into()));
    assert!(both.contains("import.table: found a section; expected none beside [import.fields]"), "{both}");
    let neither = said(&plates().change(|settings| settings.fields = None));
    assert!(neither.contains("add [import.table] for tables, or [import.fields]"), "{neither}");
}

#[test]
fn names_of_files_tell_environments_and_parameters() {
    let reynolds = || {
        let archive = archive(MAPPING)
            .with("Re_100_a_0.5.npy", doubles(&SHAPE, 0.0))
            .with("Re_200_a_0.5.npy", doubles(&SHAPE, 100.0));
        archive.change(|settings| {
            let fields = settings.fields.as_mut().unwrap();
            (fields.file, fields.environment) = (one("Re_{Re}_a_{a}.npy"), one("Re"));
            let parameter = "[[parameters]]\nname = \"viscosity\"\nunit = \"1\"\nexpression = \"a / Re\"\n";
            settings.parameters = toml::from_str::<Settings>(&format!("{MAPPING}{parameter}")).unwrap().parameters;
            settings.splits.adapt = vec!["200".into()];
        })
    };
    let rows = reynolds().import().1;
    let known: Vec<(&str, Option<f64>)> = rows.iter().map(|(_, t)| (t.environment.as_str(), t.parameters[0])).collect();
    assert_eq!(known, [("100", Some(0.005)), ("100", Some(0.005)), ("200", Some(0.0025)), ("200", Some(0.0025))]);

    let mixed = reynolds().change(|settings| {
        settings.fields.as_mut().unwrap().environment = one("a");
        settings.splits.adapt.clear();
    });
    let text = said(&mixed);
    assert!(text.contains("an environment has one value") && text.contains("viscosity = 0.0025"), "{text}");
    let text = said(&mixed.change(|settings| settings.parameters[0].expression = "a / Ree".into()));
    let parts = ["no \"Ree\" in the file's name, its attributes or arrays", "did you mean `Re`?"];
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
}

/// A file in HDF5.
fn write_hdf5(archive: &Archive, name: &str, write: impl FnOnce(&hdf5::File)) {
    let file = hdf5::File::create(archive.root.path().join("archive").join(name)).unwrap();
    write(&file);
}

fn put(group: &hdf5::Group, name: &str, shape: &[usize], values: &[f64]) -> hdf5::Dataset {
    let data = group.new_dataset::<f64>().shape(shape.to_vec()).create(name).unwrap();
    data.write_raw(values).unwrap();
    data
}

fn say(location: &hdf5::Location, name: &str, value: &str) {
    let value: hdf5::types::VarLenUnicode = value.parse().unwrap();
    location.new_attr::<hdf5::types::VarLenUnicode>().create(name).unwrap().write_scalar(&value).unwrap();
}

fn number(location: &hdf5::Location, name: &str, value: f64) {
    location.new_attr::<f64>().create(name).unwrap().write_scalar(&value).unwrap();
}

const PLAIN: &str = r#"
dataset = "plain"
directory = "archive"
time_unit = "s"
parameters = [{ name = "k", unit = "1", expression = "k" }]
[fields]
file = "*.h5"
axes = ["time", "x"]
time = { array = "t" }
grid = [{ name = "x", array = "x", unit = "m", boundary = "replicate" }]
channels = [{ name = "u", array = "fields/u", unit = "K" }]
[splits]
adapt = ["*"]
"#;

#[test]
fn attributes_of_netcdf_are_obeyed() {
    let archive = archive(PLAIN);
    write_hdf5(&archive, "a.h5", |file| {
        number(file, "k", 0.25);
        let fields = file.create_group("fields").unwrap();
        let stored = fields.new_dataset::<i16>().shape([3, 4]).create("u").unwrap();
        stored.write_raw(&(0..12).map(|i| if i == 5 { -9 } else { i }).collect::<Vec<i16>>()).unwrap();
        say(&stored, "units", "degC");
        number(&stored, "scale_factor", 0.5);
        number(&stored, "add_offset", 10.0);
        stored.new_attr::<i16>().create("_FillValue").unwrap().write_scalar(&-9_i16).unwrap();
        say(&put(file, "t", &[3], &[1.0, 2.0, 4.0]), "units", "hours since 2020-01-01");
        say(&put(file, "x", &[4], &[10.0, 12.0, 14.0, 16.0]), "units", "cm");
    });
    let (manifest, rows, _) = archive.import();
    assert_eq!(rows[0].1.times, [0.0, 3600.0, 10800.0]);
    let states: Vec<f64> = (0..12).map(|i| 283.15 + 0.5 * f64::from(i)).collect();
    for (i, (&found, expected)) in rows[0].1.states.iter().zip(states).enumerate() {
        assert!(if i == 5 { found.is_nan() } else { (found - expected).abs() < 1e-9 }, "{i}: {found}");
    }
    let axis = &manifest.grid.unwrap().axes[0];
    assert_eq!((axis.boundary, axis.unit.as_str()), (Boundary::Replicate, "m"));
    assert!((axis.spacing - 0.02).abs() < 1e-12 && (axis.start - 0.1).abs() < 1e-12, "{axis:?}");
    assert_eq!(rows[0].1.parameters, [Some(0.25)]);
    assert!(manifest.import_report.iter().any(|it| it.done == "converted"), "{:?}", manifest.import_report);
}

#[test]
fn arrays_that_do_not_fit_are_named_with_what_there_is() {
    let file = |change: fn(&hdf5::File), mapping: &str| {
        let archive = archive(mapping);
        write_hdf5(&archive, "a.h5", |file| {
            number(file, "k", 1.0);
            let fields = file.create_group("fields").unwrap();
            put(&fields, "u", &[3, 4], &counting(&[3, 4], 0.0));
            put(file, "t", &[3], &[0.0, 1.0, 2.0]);
            put(file, "x", &[4], &[0.0, 1.0, 2.0, 3.0]);
            change(file);
        });
        archive
    };
    let nothing: fn(&hdf5::File) = |_| {};
    assert_eq!(file(nothing, PLAIN).import().1.len(), 1);
    type Case = (fn(&hdf5::File), (&'static str, &'static str), &'static [&'static str]);
    let cases: [Case; 8] = [
        (nothing, ("fields/u", "fields/v"), &["no array \"fields/v\"", "did you mean `fields/u`?", "fields/u (3 x 4)"]),
        (
            nothing,
            ("\"fields/u\"", "\"fields\""),
            &["\"fields\", which is a group of arrays", "there are `fields/u (3 x 4)`"],
        ),
        (
            nothing,
            ("expression = \"k\"", "expression = \"mass\""),
            &["no \"mass\" in the file's name", "there are `k`"],
        ),
        (
            |file| {
                file.unlink("x").unwrap();
                put(file, "x", &[4], &[0.0, 1.0, 2.5, 3.0]);
            },
            ("", ""),
            &["coordinate 2.5 at point 2 of axis `x` in `x`", "evenly spaced points"],
        ),
        (
            |file| {
                file.unlink("t").unwrap();
                put(file, "t", &[3], &[0.0, 2.0, 1.0]);
            },
            ("", ""),
            &["time 1 of sample 2 of trajectory \"1\" of environment \"a\" after 2", "increasing times"],
        ),
        (
            |file| {
                file.unlink("t").unwrap();
                put(file, "t", &[5], &[0.0; 5]);
            },
            ("", ""),
            &["array `t` (5)", "one for each of the 3 samples"],
        ),
        (
            |file| say(&file.dataset("fields/u").unwrap(), "units", "kg"),
            ("", ""),
            &["import.fields.channels[0].unit", "the unit \"kg\"", "one that can be converted into \"K\""],
        ),
        (
            |file| file.link_external("other.h5", "u", "fields/w").unwrap(),
            ("", ""),
            &["`fields/w` is a link of type External", "h5repack"],
        ),
    ];
    for (change, (from, to), parts) in cases {
        let said = said(&file(change, &PLAIN.replace(from, to)));
        assert!(parts.iter().all(|part| said.contains(part)), "{parts:?}: {said}");
    }
}

#[test]
fn groups_are_trajectories() {
    let mapping = PLAIN.replace("fields/u", "{trajectory}/data").replace("array = \"t\"", "array = \"{trajectory}/t\"");
    let archive = archive(&mapping.replace("expression = \"k\"", "expression = \"2 * k\""));
    write_hdf5(&archive, "a.h5", |file| {
        put(file, "x", &[4], &[0.0, 1.0, 2.0, 3.0]);
        for (k, name) in ["0000", "0001"].into_iter().enumerate() {
            let group = file.create_group(name).unwrap();
            number(&group, "k", 1.5);
            put(&group, "data", &[3, 4], &counting(&[3, 4], 100.0 * k as f64));
            put(&group, "t", &[3], &[k as f64, 3.0, 4.0]);
        }
    });
    let rows = archive.import().1;
    let found: Vec<_> =
        rows.iter().map(|(_, t)| (t.trajectory.as_str(), t.times[0], t.states[0], t.parameters[0])).collect();
    assert_eq!(found, [("0000", 0.0, 0.0, Some(3.0)), ("0001", 1.0, 100.0, Some(3.0))]);
}

/// Datasets of ours, as they are and exported, imported by the mapping that is guessed: every value is the same.
#[test]
fn our_own_files_come_back() {
    let grid = |manifest: &mut Manifest| {
        let axes = &mut manifest.grid.as_mut().unwrap().axes;
        (axes[0].start, axes[0].boundary) = (-0.75, Boundary::Replicate);
    };
    for (own_times, file, layout) in [
        (false, "set/hdf5/train.h5", "The Well"),
        (false, "netcdf/train.nc", "netCDF"),
        (false, "pdebench/train.hdf5", "PDEBench"),
        (true, "netcdf/train.nc", "netCDF"),
        (true, "set/hdf5/train.h5", "netCDF"),
    ] {
        let root = tempfile::tempdir().unwrap();
        let (mut manifest, mut rows) = common::fields(3, own_times);
        grid(&mut manifest);
        // PDEBench calls axes x, y and z, whatever they were called.
        let keeps_names = layout != "PDEBench";
        if !keeps_names {
            (manifest.channels[0].name, manifest.channels[1].name) = ("u".into(), "v".into());
        }
        rows[1].states[5] = f64::NAN;
        rows[0].parameters[1] = None;
        rows[1].parameters[1] = None;
        common::write(&root.path().join("set"), manifest.clone(), &[(Split::Train, rows.clone())]);
        let dataset = Dataset::open(&root.path().join("set")).unwrap();
        for format in ["netcdf", "pdebench"] {
            let format = paramill::dataset::ExportFormat::named(format).unwrap();
            let record = Record::default();
            let exported = paramill::dataset::export(&dataset, format, &root.path().join(format.name), &run(&record));
            assert!(exported.is_ok() || own_times && format.name == "pdebench");
        }
        let text = import::draft(&root.path().join(file)).unwrap();
        assert!(!text.contains("To be filled in") && text.contains(&format!("Laid out as {layout} has it")), "{text}");
        let mut table: toml::Table = text.parse().unwrap();
        let mut settings: Settings = table.remove("import").unwrap().try_into().unwrap();
        if layout == "netCDF" {
            // Nothing in it says which variables are parameters, so the guess proposes none.
            assert!(settings.parameters.is_empty(), "{text}");
            let parameter = |it: &paramill::schema::Quantity| {
                toml::from_str(&format!("name = '{0}'\nunit = '{1}'\nexpression = '{0}'", it.name, it.unit)).unwrap()
            };
            settings.parameters = manifest.parameters.iter().map(parameter).collect();
        }
        let archive = Archive { root, settings };
        let (found, mut again, notes) = archive.import();
        assert!(notes.iter().any(|note| note.contains("which says nothing of splits")), "{notes:?}");
        again.sort_by(|a, b| a.1.key().cmp(&b.1.key()));
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        for (before, after) in manifest.grid.as_ref().unwrap().axes.iter().zip(&found.grid.as_ref().unwrap().axes) {
            assert!(close(before.start, after.start) && close(before.spacing, after.spacing), "{before:?} {after:?}");
            assert_eq!((&before.unit, before.count, before.boundary), (&after.unit, after.count, after.boundary));
            assert!(!keeps_names || before.name == after.name);
        }
        assert_eq!(again.len(), rows.len(), "{file}");
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        for (before, (_, after)) in rows.iter().zip(&again) {
            assert_eq!(before.key(), after.key(), "{file}");
            assert_eq!(bits(&before.states), bits(&after.states), "{file}");
            assert_eq!(bits(&before.times), bits(&after.times), "{file}");
            assert_eq!(before.parameters, after.parameters, "{file}");
        }
        assert_eq!(
            (found.time_unit, found.channels.iter().map(|it| it.name.clone()).collect::<Vec<_>>()),
            (manifest.time_unit, manifest.channels.iter().map(|it| it.name.clone()).collect())
        );
    }
}
