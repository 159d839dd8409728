//! The mappings of `pipelines/archives/` on the published measurements they are for, where these are at hand.

use std::fs;
use std::path::PathBuf;

use super::*;

/// The folder of an archive, if it is there.
fn archive(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("PARAMILL_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
    Some(shared.join("data").join(name)).filter(|directory| directory.is_dir())
}

/// What the mapping says, reading from `directory`; a mapping is short.
fn mapping(name: &str, directory: &Path) -> Settings {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("pipelines/archives/{name}.toml"));
    let text = fs::read_to_string(file).unwrap();
    let begin = text.find("[import]").unwrap();
    let end = begin + text[begin..].find("\n\n").unwrap();
    assert!(text[begin..end].lines().count() <= 25, "{name}");
    let mut settings: Settings = toml::from_str::<toml::Table>(&text).unwrap()["import"].clone().try_into().unwrap();
    settings.directory = directory.to_str().unwrap().to_owned();
    settings
}

/// The dataset of a mapping: its manifest, all trajectories, and what was noted.
fn imported(settings: &Settings) -> (Manifest, Vec<(Split, Trajectory)>, Vec<String>) {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(import::check(settings, root.path()), []);
    let record = Record::default();
    let target = root.path().join("dataset");
    let manifest = import::run(settings, root.path(), &target, &run(&record)).unwrap();
    assert_eq!(verify(&target), [] as [&str; 0]);
    let trajectories = all(&Dataset::open(&target).unwrap());
    (manifest, trajectories, record.notes())
}

fn counts(manifest: &Manifest) -> [usize; 7] {
    Split::ALL.map(|split| manifest.splits.get(&split).map_or(0, |summary| summary.trajectories))
}

#[test]
fn the_ball_drops_are_imported() {
    let Some(directory) = archive("ball_drops") else { return };
    let (manifest, trajectories, notes) = imported(&mapping("balls", &directory));
    assert!(notes.iter().any(|note| note.contains("heavyBowling")), "{notes:?}");
    assert_eq!(counts(&manifest), [0, 0, 0, 22, 0, 0, 0]);
    let shortest = manifest.splits.values().map(|summary| summary.shortest).min();
    let longest = manifest.splits.values().map(|summary| summary.longest).max();
    assert_eq!((shortest, longest), (Some(42), Some(58)));
    for (_, trajectory) in trajectories {
        let area_per_mass = trajectory.parameters[0];
        match trajectory.environment.as_str() {
            "Volleyball" => assert_eq!(area_per_mass, None),
            // A sphere of 2.15 cm radius and 45.9 g is a golf ball by its rules; the archive's is a little larger.
            "Golf Ball" => assert!((area_per_mass.unwrap() - 0.0330).abs() < 1e-4, "{area_per_mass:?}"),
            _ => assert!((0.01..0.2).contains(&area_per_mass.unwrap()), "{area_per_mass:?}"),
        }
        assert!(trajectory.state(0)[0] > trajectory.state(trajectory.len() - 1)[0], "a ball falls");
    }
}

#[test]
fn the_protists_are_imported() {
    let Some(directory) = archive("gause_protists") else { return };
    let (manifest, trajectories, notes) = imported(&mapping("gause", &directory));
    assert_eq!(counts(&manifest), [0, 0, 0, 19, 0, 0, 0]);
    assert!(notes.iter().any(|note| note == "266 rows read"), "{notes:?}");
    let second = &trajectories.iter().find(|(split, t)| *split == Split::Adapt && t.environment == "2").unwrap().1;
    assert_eq!(second.times, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(second.states, [2.0, 17.0, 2.5, 18.0, 6.5, 20.0, 11.0, 16.5]);
}

#[test]
fn the_chemostats_are_imported() {
    let Some(directory) = archive("chemostat") else { return };
    let (manifest, trajectories, notes) = imported(&mapping("chemostat", &directory));
    // Pieces of at most fifteen days.
    assert_eq!(counts(&manifest), [0, 0, 0, 63, 0, 0, 0]);
    assert!(trajectories.iter().all(|(_, t)| t.times[t.len() - 1] - t.times[0] <= 15.0));
    assert_eq!(manifest.provenance.parents.len(), 5);
    let missing: usize = trajectories.iter().map(|(_, t)| t.states.iter().filter(|value| value.is_nan()).count()).sum();
    assert!(missing > 0 && notes.iter().any(|note| note.contains("missing in channel rotifers")), "{notes:?}");
    let first = &trajectories[0].1;
    assert_eq!(
        (first.environment.as_str(), first.times[1], first.states[2], first.states[3]),
        ("C1", 0.95, 0.83, 5.42)
    );
}

#[test]
fn the_doses_by_mouth_are_imported() {
    let Some(directory) = archive("pk_oral") else { return };
    let mapping = mapping("pk", &directory);
    let (manifest, trajectories, notes) = imported(&mapping);
    assert_eq!(counts(&manifest), [0, 0, 0, 12, 0, 0, 0]);
    assert!(notes.iter().any(|note| note.starts_with("12 rows left out")), "{notes:?}");
    let first = &trajectories[0].1;
    assert_eq!((first.times[0], first.states[0]), (0.0, 0.74));
    approx::assert_relative_eq!(first.parameters[0].unwrap(), 319.992 / 79.6, max_relative = 1e-9);

    let mut with_doses = mapping;
    with_doses.table.rows.clear();
    let problems = import::check(&with_doses, Path::new("."));
    assert_eq!(problems[0].kind, paramill::problems::Kind::EventRow);
}

#[test]
fn what_models_are_trained_on_is_imported() {
    for (name, folder, splits) in [
        ("gause-model", "gause_protists", [16, 14, 0, 3, 3, 0, 0]),
        ("chemostat-model", "chemostat", [57, 57, 0, 6, 6, 0, 0]),
        ("pk-model", "pk_oral", [9, 9, 0, 3, 3, 0, 0]),
    ] {
        let Some(directory) = archive(folder) else { return };
        let (manifest, ..) = imported(&mapping(name, &directory));
        assert_eq!(counts(&manifest), splits, "{name}");
    }
}

/// A guess is a mapping that can be parsed and has no problem but what it asks to be corrected.
#[test]
fn guesses_of_the_archives_can_be_read() {
    let guessed = |name: &str, file: &str| -> Option<(Settings, Vec<Problem>)> {
        let text = import::draft(&archive(name)?.join(file)).unwrap();
        let document: toml::Table = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let settings: Settings = document["import"].clone().try_into().unwrap();
        assert_eq!(settings.validate(), [], "{text}");
        let problems = import::check(&settings, Path::new("."));
        Some((settings, problems))
    };
    let names = |settings: &Settings| settings.channels.iter().map(|channel| channel.name.clone()).collect::<Vec<_>>();
    if let Some((settings, problems)) = guessed("ball_drops", "ball_drops.csv") {
        assert_eq!(names(&settings), ["height_m", "velocity_m_s"]);
        assert_eq!(problems, []);
    }
    if let Some((settings, problems)) = guessed("gause_protists", "gause_1936_AnE_t03.csv") {
        assert_eq!((settings.table.layout, problems.len()), (import::Layout::Long, 0));
    }
    if let Some((settings, _)) = guessed("chemostat", "") {
        assert_eq!(settings.table.file.0, ["{environment}.csv"]);
        assert_eq!(settings.time_unit, "days");
        assert!(names(&settings).contains(&"rotifers".to_owned()));
    }
    if let Some((settings, _)) = guessed("pk_oral", "theo_sd.csv") {
        assert!(settings.table.rows.contains_key("EVID") && names(&settings).contains(&"dv".to_owned()));
    }
}
