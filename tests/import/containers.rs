//! HDF5 files of other makes: groups as environments, tables of compound values, MATLAB's files, matrices.

use hdf5::types::FixedAscii;
use hdf5_metno as hdf5;

use super::columns::{hdf5_archive, write};
use super::*;

fn archive(write: impl FnOnce(&hdf5::File)) -> Archive {
    hdf5_archive(write).change(|settings| {
        settings.table.environment = Default::default();
        settings.splits = toml::from_str("adapt = ['*']").unwrap();
    })
}

/// Groups at these places, of so many samples.
fn groups(file: &hdf5::File, groups: &[(&str, usize)]) {
    for (k, &(place, length)) in groups.iter().enumerate() {
        let group = file.create_group(place).unwrap();
        let numbers = |scale: usize| (0..length).map(|t| (t * scale + k) as f64).collect::<Vec<_>>();
        write(&group, "time", &[length], &numbers(2));
        write(&group, "level", &[length], &numbers(10));
    }
}

fn ids(archive: &Archive) -> Vec<String> {
    let of = |(_, t): (Split, Trajectory)| format!("{}/{} {:?}", t.environment, t.trajectory, t.states);
    archive.import().1.into_iter().map(of).collect()
}

#[test]
fn groups_are_environments() {
    let flat = archive(|file| groups(file, &[("tanks/a", 2), ("tanks/b", 3)]))
        .change(|settings| settings.table.environment = one("group"));
    assert_eq!(ids(&flat), ["a/1 [0.0, 10.0]", "b/1 [1.0, 11.0, 21.0]"]);
    let described = archive(|file| {
        groups(file, &[("a", 2), ("b", 3), ("c", 1)]);
        write(&file.create_group("about").unwrap(), "mass", &[1], &[7.0]);
    });
    let described = described.change(|settings| settings.table.environment = one("group"));
    assert!(
        described.check().iter().all(|problem| problem.found.contains("a single sample")),
        "{:?}",
        described.check()
    );
    let nested = archive(|file| groups(file, &[("a/1", 2), ("a/2", 2), ("b/1", 3)])).change(|settings| {
        settings.table.environment = one("group.1");
        settings.table.trajectory = one("group.2");
    });
    assert_eq!(ids(&nested), ["a/1 [0.0, 10.0]", "a/2 [1.0, 11.0]", "b/1 [2.0, 12.0, 22.0]"]);
    let text = import::draft(&nested.root.path().join("archive/tanks.h5")).unwrap();
    assert!(text.contains("environment = \"group.1\"") && text.contains("trajectory = \"group.2\""), "{text}");

    let uneven = archive(|file| {
        groups(file, &[("a", 2), ("b", 3)]);
        file.unlink("b/level").unwrap();
    });
    let said = uneven.report();
    assert!(said.contains("`/a` of `level`, `time`, `/b` of `time`"), "{said}");
    assert!(said.contains("give every group the variables of the others"), "{said}");
    let units = archive(|file| {
        groups(file, &[("a", 2), ("b", 3)]);
        for (place, unit) in [("a/level", "m"), ("b/level", "cm")] {
            let unit = FixedAscii::<8>::from_ascii(unit).unwrap();
            let variable = file.dataset(place).unwrap();
            variable.new_attr::<FixedAscii<8>>().create("units").unwrap().write_scalar(&unit).unwrap();
        }
    });
    let said = units.report();
    assert!(said.contains("\"level\" in different units in different groups, cm and m, which is not read"), "{said}");
}

#[derive(Clone, hdf5::H5Type)]
#[repr(C)]
struct Sample {
    time: f64,
    level: f32,
    run: i64,
    tank: FixedAscii<4>,
    pair: [f64; 2],
}

#[test]
fn members_of_a_table_are_columns() {
    let sample = |t: u8| Sample {
        time: f64::from(t),
        level: f32::from(t) / 2.0,
        run: (1 << 60) + 1,
        tank: FixedAscii::from_ascii("t1").unwrap(),
        pair: [0.0, f64::from(10 * t)],
    };
    let table = |file: &hdf5::File| {
        let group = file.create_group("log").unwrap();
        let samples: Vec<Sample> = (0..4).map(sample).collect();
        group.new_dataset::<Sample>().shape([4]).create("table").unwrap().write_raw(&samples).unwrap();
    };
    let archive = archive(table).change(|settings| {
        settings.table.environment = one("tank");
        settings.table.trajectory = one("run");
        settings.channels.push(toml::from_str("column = 'pair.1'\nname = 'pair'\nunit = '1'").unwrap());
    });
    assert_eq!(ids(&archive), ["t1/1152921504606846977 [0.0, 0.0, 0.5, 10.0, 1.0, 20.0, 1.5, 30.0]"]);
}

/// MATLAB's axes are in reverse, and a block of its own stands before its files.
#[test]
fn a_file_of_matlab_is_read() {
    let archive = archive(|_| {}).change(|settings| settings.channels[0].column = "y.1".into());
    let path = archive.root.path().join("archive/tanks.mat");
    let file = hdf5::File::with_options().with_fcpl(|list| list.userblock(512)).create(&path).unwrap();
    write(&file, "time", &[1, 3], &[0.0, 1.0, 2.0]);
    write(&file, "y", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    write(&file, "mass", &[1, 1], &[7.0]);
    let text = file.new_dataset::<u16>().shape([5, 1]).create("name").unwrap();
    text.write_raw(&[104_u16, 101, 108, 108, 111]).unwrap();
    let class = FixedAscii::<8>::from_ascii("char").unwrap();
    text.new_attr::<FixedAscii<8>>().create("MATLAB_class").unwrap().write_scalar(&class).unwrap();
    write(&file.create_group("#refs#").unwrap(), "a", &[9], &[0.0; 9]);
    file.close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[..19].copy_from_slice(b"MATLAB 7.3 MAT-file");
    let archive = archive.with("tanks.mat", bytes).change(|settings| settings.table.file = one("tanks.mat"));
    assert_eq!(ids(&archive), ["tanks/1 [4.0, 5.0, 6.0]"]);
    let said = archive_with(&archive, "name");
    assert!(said.contains("the column \"name\" of the MATLAB class char, which is not read"), "{said}");
    let old = archive.with("tanks.mat", b"MATLAB 5.0 MAT-file\0\0");
    assert!(archive_with(&old, "y.1").contains("a MATLAB file of version 5 to 7"));
}

/// Numbers of two axes are columns, and the name without its group will do where it is the only one.
#[test]
fn matrices_are_columns() {
    let archive = archive(|file| {
        let log = file.create_group("log").unwrap();
        write(&log, "time", &[3], &[0.0, 1.0, 2.0]);
        write(&log, "y", &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        write(&log, "field", &[3, 3], &[0.0; 9]);
        write(file, "stations", &[5], &[0.0; 5]);
    })
    .change(|settings| settings.channels[0].column = "y.0".into());
    assert_eq!(ids(&archive), ["tanks/1 [1.0, 3.0, 5.0]"]);
    for (column, what) in [("field", "of 3 x 3 values"), ("stations", "of 5 values, where there are 3 samples")] {
        let said = archive_with(&archive, column);
        assert!(said.contains(what), "{said}");
    }
}

fn archive_with(archive: &Archive, column: &str) -> String {
    let mut settings = archive.settings.clone();
    settings.channels[0].column = column.into();
    import::check(&settings, archive.root.path()).iter().map(Problem::to_string).collect()
}

#[test]
fn a_coordinate_tells_trajectories_apart() {
    for (shape, levels) in [([2, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), ([3, 2], [1.0, 4.0, 2.0, 5.0, 3.0, 6.0])] {
        let archive = archive(|file| {
            write(file, "time", &[3], &[0.0, 1.0, 2.0]);
            write(file, "level", &shape, &levels);
            write(file, "tank", &[2], &[7.0, 9.0]);
            let class = FixedAscii::<16>::from_ascii("DIMENSION_SCALE").unwrap();
            let tank = file.dataset("tank").unwrap();
            tank.new_attr::<FixedAscii<16>>().create("CLASS").unwrap().write_scalar(&class).unwrap();
        });
        let archive = archive.change(|settings| settings.table.environment = one("tank"));
        assert_eq!(ids(&archive), ["7/1 [1.0, 2.0, 3.0]", "9/1 [4.0, 5.0, 6.0]"]);
    }
}

/// Parts that no column tells apart would be mixed up.
#[test]
fn a_mapping_names_what_tells_parts_apart() {
    let said = archive(|file| groups(file, &[("a", 2), ("b", 3)])).report();
    let expected = "found several parts, told apart by `group`; expected a column that tells them apart in [import.table]; set `environment = \"group\"`";
    assert!(said.contains(expected), "{said}");
}
