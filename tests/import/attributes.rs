//! What variables of HDF5 and netCDF files, and fields of Parquet files, say of their values.

use std::sync::Arc;

use arrow_array::{ArrayRef, DurationMillisecondArray, Float64Array, RecordBatch};
use arrow_schema::{Field, Schema};
use hdf5::types::{FixedAscii, VarLenUnicode};
use hdf5_metno as hdf5;
use parquet::arrow::ArrowWriter;

use super::columns::{hdf5_archive, write};
use super::*;

fn fixed(variable: &hdf5::Dataset, name: &str, text: &str) {
    let text = FixedAscii::<64>::from_ascii(text).unwrap();
    variable.new_attr::<FixedAscii<64>>().create(name).unwrap().write_scalar(&text).unwrap();
}

fn variable_length(variable: &hdf5::Dataset, name: &str, text: &str) {
    let text: VarLenUnicode = text.parse().unwrap();
    variable.new_attr::<VarLenUnicode>().shape([1]).create(name).unwrap().write_raw(&[text]).unwrap();
}

fn numbers<T: hdf5::H5Type>(variable: &hdf5::Dataset, name: &str, values: &[T]) {
    variable.new_attr::<T>().shape([values.len()]).create(name).unwrap().write_raw(values).unwrap();
}

fn number<T: hdf5::H5Type>(variable: &hdf5::Dataset, name: &str, value: T) {
    variable.new_attr::<T>().create(name).unwrap().write_scalar(&value).unwrap();
}

fn put<T: hdf5::H5Type>(file: &hdf5::File, name: &str, values: &[T]) -> hdf5::Dataset {
    let variable = file.new_dataset::<T>().shape([values.len()]).create(name).unwrap();
    variable.write_raw(values).unwrap();
    variable
}

/// One environment of channels `level` and `clean`, in metres.
fn tank(write: impl FnOnce(&hdf5::File)) -> Archive {
    hdf5_archive(write).change(|settings| {
        settings.time_unit = "h".into();
        settings.table.environment = Default::default();
        settings.channels.push(toml::from_str("column = 'clean'\nname = 'clean'\nunit = 'm'").unwrap());
        settings.splits = toml::from_str("adapt = ['*']").unwrap();
    })
}

/// NaN equals NaN.
fn shown(states: &[f64]) -> String {
    let shown: Vec<String> = states.iter().map(|value| format!("{value:.3}")).collect();
    shown.join(" ")
}

#[test]
fn values_are_unpacked_and_converted_and_fill_values_are_missing() {
    let archive = |packed: &dyn Fn(&hdf5::File)| {
        tank(|file| {
            let time = put(file, "time", &[0_i32, 30, 60, 90, 120, 150]);
            variable_length(&time, "units", "minutes since 2020-01-01 06:00:00 +02:00");
            fixed(&time, "calendar", "proleptic_gregorian");
            let clean = put(file, "clean", &[300_f32, 200.0, 100.0, 9.969_21e36, 25.0, 12.5]);
            number(&clean, "_FillValue", 9.969_21e36_f32);
            fixed(&clean, "units", "cm");
            packed(file);
        })
    };
    let integers = archive(&|file| {
        let level = put(file, "level", &[2000_i16, -32767, -999, 30_000, 0, -900]);
        number(&level, "scale_factor", 0.001);
        numbers(&level, "add_offset", &[1.0]);
        numbers(&level, "_FillValue", &[-32767_i16]);
        numbers(&level, "missing_value", &[-999_i16, -998]);
        numbers(&level, "valid_range", &[-5000_i16, 5000]);
        variable_length(&level, "units", "m");
    });
    // Limits of floating type are those of what the integers stand for; one limit may stand alone.
    let limited = archive(&|file| {
        let level = put(file, "level", &[20_u8, 255, 254, 250, 10, 1]);
        number(&level, "scale_factor", 10.0);
        fixed(&level, "units", "cm");
        number(&level, "add_offset", 100.0_f32);
        fixed(&level, "missing_value", "254");
        number(&level, "_FillValue", 255_u8);
        number(&level, "valid_max", 2400.0);
    });
    let expected = |level: [f64; 6]| {
        let clean = [3.0, 2.0, 1.0, f64::NAN, 0.25, 0.125];
        shown(&level.into_iter().zip(clean).flat_map(|(level, clean)| [level, clean]).collect::<Vec<_>>())
    };
    let nan = f64::NAN;
    for (archive, level) in [(integers, [3.0, nan, nan, nan, 1.0, 0.1]), (limited, [3.0, nan, nan, nan, 2.0, 1.1])] {
        let (manifest, trajectories, notes) = archive.import();
        // The fourth sample has no value at all.
        let of_observed = |t: &Trajectory| t.times.clone();
        assert_eq!(of_observed(&trajectories[0].1), [0.0, 0.5, 1.0, 2.0, 2.5]);
        let all: Vec<&str> = expected(level).leak().split(' ').collect();
        assert_eq!(shown(&trajectories[0].1.states), [&all[..6], &all[8..]].concat().join(" "));
        assert!(notes.iter().any(|note| note.contains("clean was converted from cm to m")), "{notes:?}");
        assert!(manifest.import_report.iter().any(|it| it.done == "dropped" && it.count == 1));
    }
}

/// netCDF writes a number of its own where nothing was, if no attribute says otherwise.
#[test]
fn what_was_never_written_is_missing() {
    let archive = tank(|file| {
        write(file, "time", &[4], &[0.0, 1.0, 2.0, 3.0]);
        let of = |name: &str, fill: i16| {
            let builder = file.new_dataset::<i16>().fill_value(fill).shape([4]);
            builder.create(name).unwrap().write_raw(&[1_i16, -32767, 2, -1]).unwrap();
        };
        of("level", -32767);
        of("clean", -1);
        numbers(&file.dataset("level").unwrap(), "missing_value", &[9_i16]);
    });
    let imported = archive.import().1;
    assert_eq!(shown(&imported[0].1.states), "1.000 1.000 NaN -32767.000 2.000 2.000 -1.000 -1.000");
}

#[test]
fn what_is_said_otherwise_is_refused_by_name() {
    let archive = |say: &dyn Fn(&hdf5::Dataset, &hdf5::Dataset)| {
        tank(|file| {
            let time = put(file, "time", &[0.0, 1.0, 2.0]);
            let level = put(file, "level", &[1_i16, 2, 3]);
            put(file, "clean", &[1.0, 2.0, 4.0]);
            say(&time, &level);
        })
    };
    type Say = Box<dyn Fn(&hdf5::Dataset, &hdf5::Dataset)>;
    let of_time = |name: &'static str, text: &'static str| -> Say {
        Box::new(move |time, _| {
            fixed(time, "units", "days since 2000-01-01");
            if name != "units" {
                fixed(time, name, text);
            }
        })
    };
    let of_level =
        |name: &'static str, text: &'static str| -> Say { Box::new(move |_, level| fixed(level, name, text)) };
    let cases: Vec<(Say, &str)> = vec![
        (of_time("calendar", "noleap"), "the column \"time\" in the calendar \"noleap\", which is not read"),
        (of_level("_Unsigned", "true"), "the column \"level\" with `_Unsigned` = \"true\", which is not read"),
        (of_level("scale_factor", "tenth"), "with a `scale_factor` that is not a number"),
        (Box::new(|_, level| numbers(level, "scale_factor", &[1.0, 2.0])), "with a `scale_factor` of 2 numbers"),
        (Box::new(|_, level| number(level, "scale_factor", 0.0)), "with a `scale_factor` of 0"),
        (Box::new(|_, level| numbers(level, "valid_range", &[1_i16])), "with a `valid_range` of 1 numbers"),
        (Box::new(|_, level| number(level, "units", 7_i16)), "with a `units` that is not a text"),
        (of_level("units", "furlong"), "found the unit \"furlong\", which cannot be compared with \"m\""),
        (of_level("units", "s"), "found the unit \"s\"; expected one that can be converted into \"m\""),
        (
            Box::new(|time, _| fixed(time, "units", "hours since the start")),
            "found the unit \"hours since the start\", which cannot be compared with \"h\"",
        ),
    ];
    for (say, found) in cases {
        let said = archive(&say).report();
        assert!(said.contains(found), "{found}: {said}");
    }
    // The remedy that the last one names.
    let start = archive(&|time, _| fixed(time, "units", "hours since the start"))
        .change(|settings| settings.table.time_column_unit = Some("h".into()));
    assert_eq!(start.import().1[0].1.times, [0.0, 1.0, 2.0]);
    // A variable that is not read may say what it wants.
    let unread = archive(&of_level("_Unsigned", "true")).change(|settings| {
        settings.channels.remove(0);
    });
    assert_eq!(unread.import().1[0].1.states, [1.0, 2.0, 4.0]);
    // Two units of one variable.
    let twice = tank(|file| {
        write(file, "time", &[2], &[0.0, 1.0]);
        write(file, "clean", &[2], &[1.0, 2.0]);
        fixed(&put(file, "level (m)", &[1.0, 2.0]), "units", "cm");
    });
    assert!(twice.report().contains("found the unit \"cm\" that the file states; expected \"m\" as in its name"));
}

#[test]
fn a_guess_states_the_units_of_the_file() {
    let archive = tank(|file| {
        let time = put(file, "time", &[0.0, 1.0, 2.0, 3.0]);
        fixed(&time, "units", "hours since 2020-01-01");
        variable_length(&put(file, "level", &[1.0, 3.0, 2.0, 5.0]), "units", "cm");
        fixed(&put(file, "flow", &[1_i16, 3, 2, 5]), "_Unsigned", "true");
    });
    let text = import::draft(&archive.root.path().join("archive/tanks.h5")).unwrap();
    assert!(text.contains("unit = \"cm\"    # as the file states it"), "{text}");
    assert!(text.contains("# not read: \"flow\" with `_Unsigned` = \"true\""), "{text}");
    let settings: Settings = toml::from_str::<toml::Table>(&text).unwrap()["import"].clone().try_into().unwrap();
    assert_eq!((import::check(&settings, Path::new("")), settings.table.time.as_str()), (vec![], "time"), "{text}");
}

/// Units in the metadata of a field, and those that a type counts in.
#[test]
fn fields_of_a_parquet_file_have_units() {
    let archive = tank(|_| {}).change(|settings| {
        settings.table.file = one("tanks.parquet");
        settings.table.time = "elapsed".into();
        settings.channels.truncate(1);
    });
    let elapsed: ArrayRef = Arc::new(DurationMillisecondArray::from(vec![0, 1_800_000, 3_600_000]));
    let level: ArrayRef = Arc::new(Float64Array::from(vec![100.0, 50.0, 25.0]));
    let of_level = Field::new("level", level.data_type().clone(), false).with_metadata([("unit", "cm")]);
    let fields = vec![Field::new("elapsed", elapsed.data_type().clone(), false), of_level];
    let schema = Arc::new(Schema::new(fields));
    let file = fs::File::create(archive.root.path().join("archive/tanks.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema.clone(), None).unwrap();
    writer.write(&RecordBatch::try_new(schema, vec![elapsed, level]).unwrap()).unwrap();
    writer.close().unwrap();
    let imported = &archive.import().1[0].1;
    assert_eq!((imported.times.as_slice(), imported.states.as_slice()), (&[0.0, 0.5, 1.0][..], &[1.0, 0.5, 0.25][..]));
}
