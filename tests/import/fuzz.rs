//! Whatever stands in a file, there is a dataset or a list of problems.

use proptest::prelude::*;

use super::*;

/// Doses among the readings of two quantities, with what drives them.
const DOSES: &str = "\
ID;TIME (h);EVID;AMT (mg);RATE;CMT;DV;unit;valve
1;0;1;100;50;1;.;mg;3
1;1;0;.;.;2;3.5;mg/L;3
1;1;0;.;.;3;4,5;mg;3
1;2;0;.;.;2;2.5;mg/L;8
1;2;0;;.;3;1.5;mg;8
2;0;4;200;100;1;.;mg;8
2;3;0;.;.;2;7;mg/L;8
2;3;0;.;.;3;5;mg;3
2;4;0;.;.;2;6.5;mg/L;3
";

/// Text that looks like a table, with some of it replaced.
fn damaged(table: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("\"".to_owned()),
        Just(",".to_owned()),
        Just("\n".to_owned()),
        Just("\r".to_owned()),
        Just("#".to_owned()),
        Just("1e308".to_owned()),
        Just("NaN".to_owned()),
        Just("2020-01-01T00:00:00Z".to_owned()),
        Just("-999".to_owned()),
        "\\PC{0,4}",
    ];
    let change = (0..table.len(), 0..6_usize, piece);
    proptest::collection::vec(change, 0..4).prop_map(move |changes| {
        let mut text = table.as_bytes().to_vec();
        for (at, length, piece) in changes {
            let at = at.min(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, piece.into_bytes());
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_makes_the_import_panic(text in damaged(TANKS), gap in any::<bool>(), duplicates in 0..4_usize, stamps in any::<bool>()) {
        let archive = Archive::new().with("tanks.csv", text).change(|settings| {
            settings.table.comment = Some("#".into());
            settings.table.missing = vec!["-999".into()];
            settings.table.split_gap = gap.then_some(0.6);
            settings.table.duplicates =
                [Duplicates::Error, Duplicates::Mean, Duplicates::First, Duplicates::Last][duplicates];
            settings.table.time_zone = stamps.then(|| "Europe/Paris".into());
            settings.table.disorder = if gap { Disorder::Sort } else { Disorder::Error };
        });
        let problems = archive.check();
        let result = import::run(&archive.settings, archive.root.path(), &archive.target(), &run(&Record::default()));
        prop_assert_eq!(problems.is_empty(), result.is_ok(), "{:?} {:?}", problems, result.err());
        prop_assert!(problems.is_empty() || !archive.target().exists());
    }

    #[test]
    fn no_bytes_make_a_guess_panic_or_silently_wrong(
        text in prop_oneof![damaged(TANKS), damaged(LONG), damaged(DOSES), proptest::collection::vec(any::<u8>(), 0..200)]
    ) {
        let archive = Archive::new().with("tanks.csv", text);
        if let Ok(mapping) = import::draft(&archive.root.path().join("archive/tanks.csv")) {
            let document: toml::Table = toml::from_str(&mapping).unwrap();
            let settings: Settings = document["import"].clone().try_into().unwrap();
            let problems = import::check(&settings, Path::new(""));
            prop_assert!(problems.is_empty() || mapping.starts_with("# To be filled in"), "{:?} {}", problems, mapping);
        }
    }

    #[test]
    fn no_flipped_byte_of_a_parquet_file_makes_the_import_panic(at in 0.0..1.0_f64, flip in 1..=255_u8) {
        static FILE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let file = FILE.get_or_init(|| {
            let archive = Archive::new();
            archive.import();
            fs::read(archive.target().join("data/train-00000-of-00001.parquet")).unwrap()
        });
        let mut bytes = file.clone();
        let position = (at * bytes.len() as f64) as usize;
        bytes[position] ^= flip;
        let archive = Archive::new().without_side_table().with("tanks.csv", bytes).change(|settings| {
            settings.table.environment = one("environment_id");
            settings.table.trajectory = one("trajectory_id");
            settings.table.time = "time".into();
            settings.splits = toml::from_str("validation = { last = 0.3 }").unwrap();
        });
        archive.check();
    }
}

/// What is said of an HDF5 file with trajectories of its own times, once it was damaged.
fn said_of(damage: impl FnOnce(&mut Vec<u8>)) -> String {
    static FILE: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let file = FILE.get_or_init(|| {
        let archive = Archive::new();
        archive.import();
        fs::read(archive.target().join("hdf5/train.h5")).unwrap()
    });
    let mut bytes = file.clone();
    damage(&mut bytes);
    let archive = Archive::new().without_side_table().with("tanks.csv", bytes).change(|settings| {
        settings.table.environment = one("environment_id");
        settings.table.trajectory = one("trajectory_id");
        settings.table.time = "time".into();
        settings.splits = toml::from_str("validation = { last = 0.3 }").unwrap();
    });
    archive.check().iter().map(Problem::to_string).collect()
}

fn place_of(bytes: &[u8], pattern: &[u8]) -> usize {
    bytes.windows(pattern.len()).position(|window| window == pattern).unwrap()
}

/// Objects of no size, and of more than there is: libhdf5 would walk them without end.
#[test]
fn a_damaged_heap_of_an_hdf5_file_is_refused() {
    let objects = 16;
    for (place, bytes) in [(0, &b"GCOM"[..]), (8, &[0xff; 8]), (objects + 8, &[0xff; 8]), (objects + 8, &[0; 8])] {
        let said = said_of(|file| {
            let heap = place_of(file, b"GCOL");
            file[heap + place..][..bytes.len()].copy_from_slice(bytes);
        });
        assert!(["damaged heap", "heap at byte", "bytes at byte"].iter().any(|part| said.contains(part)), "{said}");
    }
}

/// libhdf5 would reserve the four gigabytes.
#[test]
fn a_text_that_claims_to_be_long_is_refused() {
    let refused = (0..).find_map(|nth| {
        let mut found = true;
        let said = said_of(|file| {
            let heap = place_of(file, b"GCOL") as u64;
            let element = [&[1, 0, 0, 0][..], &heap.to_le_bytes()].concat();
            // Those of attributes have a checksum, and come first or last.
            let nth = file.windows(element.len()).enumerate().filter(|window| window.1 == element).nth(nth);
            found = nth.is_some();
            if let Some((place, _)) = nth {
                file[place..place + 4].fill(0xff);
            }
        });
        if found { said.contains("a text of 4294967295 bytes").then_some(true) } else { Some(false) }
    });
    assert_eq!(refused, Some(true));
}

/// The Parquet library panics where a column begins before the file does.
#[test]
fn a_parquet_file_whose_columns_begin_nowhere_is_refused() {
    let archive = Archive::new();
    archive.import();
    let file = fs::read(archive.target().join("data/train-00000-of-00001.parquet")).unwrap();
    let refused = (file.len() / 4..file.len()).any(|place| {
        let mut bytes = file.clone();
        bytes[place] = 73;
        let archive = Archive::new().with("tanks.csv", bytes);
        archive.check().iter().any(|problem| problem.found.contains("should not be negative"))
    });
    assert!(refused);
}
