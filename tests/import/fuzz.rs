//! Whatever stands in a file, there is a dataset or a list of problems.

use proptest::prelude::*;

use super::*;

/// Text that looks like the tanks, with some of it replaced.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
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
    let change = (0..TANKS.len(), 0..6_usize, piece);
    proptest::collection::vec(change, 0..4).prop_map(|changes| {
        let mut text = TANKS.as_bytes().to_vec();
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
    fn no_text_makes_the_import_panic(text in damaged(), gap in any::<bool>(), duplicates in 0..4_usize, stamps in any::<bool>()) {
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
    fn no_bytes_make_a_guess_panic(text in prop_oneof![damaged(), proptest::collection::vec(any::<u8>(), 0..200)]) {
        let archive = Archive::new().with("tanks.csv", text);
        if let Ok(mapping) = import::guess(&archive.root.path().join("archive/tanks.csv")) {
            let document: toml::Table = toml::from_str(&mapping).unwrap();
            let settings: Settings = document["import"].clone().try_into().unwrap();
            settings.validate();
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

/// Damage to a heap of texts, in whose objects libhdf5 would walk without end.
#[test]
fn a_damaged_heap_of_an_hdf5_file_is_refused() {
    let archive = Archive::new();
    archive.import();
    let file = fs::read(archive.target().join("hdf5/train.h5")).unwrap();
    let heap = file.windows(4).position(|bytes| bytes == b"GCOL").unwrap();
    let mut refused = 0;
    for place in heap + 8..heap + 72 {
        let mut bytes = file.clone();
        bytes[place] ^= 0xff;
        let archive = Archive::new().without_side_table().with("tanks.csv", bytes).change(|settings| {
            settings.table.environment = one("environment_id");
            settings.table.trajectory = one("trajectory_id");
            settings.table.time = "time".into();
            settings.splits = toml::from_str("validation = { last = 0.3 }").unwrap();
        });
        refused += usize::from(archive.report().contains("whose heap at byte"));
    }
    assert!(refused >= 16, "{refused}");
}
