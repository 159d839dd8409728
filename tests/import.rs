//! Import of CSV archives: what is written, and what is said about each kind of bad data.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use paramill::dataset::{Dataset, Manifest, verify};
use paramill::import::{self, Disorder, Duplicates, Error, Names, Settings};
use paramill::problems::Problem;
use paramill::progress::{Event, Interrupt, Observer, Run};
use paramill::schema::{Split, Trajectory};
use tempfile::TempDir;

#[path = "common/dataset.rs"]
mod common;
#[path = "import/archives.rs"]
mod archives;
#[path = "import/attributes.rs"]
mod attributes;
#[path = "import/columns.rs"]
mod columns;
#[path = "import/containers.rs"]
mod containers;
#[path = "import/bolus.rs"]
mod bolus;
#[path = "import/doses.rs"]
mod doses;
#[path = "import/fields.rs"]
mod fields;
#[path = "import/forms.rs"]
mod forms;
#[path = "import/fuzz.rs"]
mod fuzz;
#[path = "import/guess.rs"]
mod guess;
#[path = "import/guess_roles.rs"]
mod guess_roles;
#[path = "import/inputs.rs"]
mod inputs;
#[path = "import/short.rs"]
mod short;
#[path = "import/signals.rs"]
mod signals;
#[path = "import/times.rs"]
mod times;

/// Two training tanks and one to estimate, two trajectories each, with irregular times and unequal lengths.
const TANKS: &str = "\
tank,run,t,level,flow
a,1,0.0,1.0,0.5
a,1,0.3,1.5,0.4
a,1,1.0,2.5,0.3
a,2,0,2,1
a,2,2,3,1
b,1,0,1,0
b,1,1,2,0
b,2,0,5,0
b,2,0.5,6,0
c,1,0,1,9
c,1,1,2,9
c,2,0,5,9
c,2,0.5,6,9
";

const SIZES: &str = "\
name  width(cm)  height
A     200        3
B     ??         3
C     100        2
";

const SETTINGS: &str = r#"
dataset = "tanks"
directory = "archive"
time_unit = "s"
table = { file = "tanks.csv", environment = "tank", trajectory = "run", time = "t" }
channels = [{ column = "level", name = "level", unit = "m" }, { column = "flow", name = "flow", unit = "m3 s-1" }]
parameters = [{ name = "area", unit = "m2", expression = "({width(cm)} / 100)^2 * height" }]
[side_table]
file = "sizes.txt"
delimiter = "whitespace"
key = "name"
unknown = ["??"]
rename = { A = "a", B = "b", C = "c" }
[splits]
adapt = ["c"]
validation = { trajectories = ["2"] }
adapt_test = { trajectories = ["2"] }
"#;

const LONG: &str = "\
tank,run,t,what,value
a,1,0,level,1
a,1,0,flow,10
a,1,1,flow,11
a,1,1,level,2
a,1,0,colour,7
a,2,0,level,3
a,2,1,level,4
a,2,0,flow,12
a,2,1,flow,13
";

struct Archive {
    root: TempDir,
    settings: Settings,
}

impl Archive {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("archive")).unwrap();
        let archive = Archive { root, settings: toml::from_str(SETTINGS).unwrap() };
        archive.with("tanks.csv", TANKS).with("sizes.txt", SIZES)
    }

    fn long() -> Self {
        let mut archive = Archive::new().with("tanks.csv", LONG);
        let table = &mut archive.settings.table;
        table.layout = import::Layout::Long;
        table.channel = Some("what".into());
        table.value = Some("value".into());
        table.ignored_channels = vec!["colour".into()];
        archive.settings.splits.adapt.clear();
        archive.settings.splits.adapt_test = Default::default();
        archive.without_side_table()
    }

    fn with(self, file: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.root.path().join("archive").join(file), content).unwrap();
        self
    }

    /// Replaces text that must be there, in the table.
    fn replace(self, from: &str, to: &str) -> Self {
        let table = fs::read_to_string(self.root.path().join("archive/tanks.csv")).unwrap();
        assert!(table.contains(from), "{from:?}");
        self.with("tanks.csv", table.replacen(from, to, 1))
    }

    fn without_side_table(mut self) -> Self {
        self.settings.side_table = None;
        self.settings.parameters.clear();
        self
    }

    fn change(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    fn check(&self) -> Vec<Problem> {
        import::check(&self.settings, self.root.path())
    }

    /// What `check` says, with the temporary directory left out.
    fn report(&self) -> String {
        let problems = self.check();
        match import::run(&self.settings, self.root.path(), &self.target(), &run(&Record::default())) {
            Err(Error::Settings(refused) | Error::Data(refused)) => assert_eq!(refused[0], problems[0]),
            other => panic!("check found {problems:?}, run gave {other:?}"),
        }
        assert!(!self.target().exists());
        let text: Vec<String> = problems.iter().map(Problem::to_string).collect();
        text.join("\n").replace(&self.root.path().display().to_string(), "[root]")
    }

    fn target(&self) -> PathBuf {
        self.root.path().join("dataset")
    }

    /// The manifest, every trajectory, and what was noted.
    fn import(&self) -> (Manifest, Vec<(Split, Trajectory)>, Vec<String>) {
        assert_eq!(self.check(), []);
        let record = Record::default();
        let manifest = import::run(&self.settings, self.root.path(), &self.target(), &run(&record)).unwrap();
        assert_eq!(verify(&self.target()), [] as [&str; 0]);
        let root = self.root.path().display().to_string();
        let warnings = record.notes().into_iter().map(|text| text.replace(&root, "[root]")).collect();
        (manifest, all(&Dataset::open(&self.target()).unwrap()), warnings)
    }
}

fn one(name: &str) -> Names {
    Names(vec![name.into()])
}

/// Keeps the notes and warnings.
#[derive(Default)]
struct Record(Mutex<Vec<String>>);

impl Record {
    fn notes(self) -> Vec<String> {
        self.0.into_inner().unwrap()
    }
}

impl Observer for Record {
    fn observe(&self, event: Event) {
        if let Event::Warn(text) | Event::Note(text) = event {
            self.0.lock().unwrap().push(text);
        }
    }
}

fn run(record: &Record) -> Run<'_> {
    static INTERRUPT: Interrupt = Interrupt::new();
    Run { observer: record, interrupt: &INTERRUPT }
}

fn all(dataset: &Dataset) -> Vec<(Split, Trajectory)> {
    let read = |split| dataset.read(split).unwrap().into_iter().map(move |trajectory| (split, trajectory));
    Split::ALL.into_iter().flat_map(read).collect()
}

#[test]
fn a_wide_table_becomes_a_dataset() {
    let archive = Archive::new();
    let (manifest, trajectories, warnings) = archive.import();
    assert_eq!(warnings, ["reading tanks.csv", "13 rows read"]);
    let place = |(split, t): &(Split, Trajectory)| format!("{split} {}/{}", t.environment, t.trajectory);
    assert_eq!(
        trajectories.iter().map(place).collect::<Vec<_>>(),
        ["train a/1", "train b/1", "validation a/2", "validation b/2", "adapt c/1", "adapt_test c/2"]
    );
    let first = &trajectories[0].1;
    assert_eq!(first.times, [0.0, 0.3, 1.0]);
    assert_eq!(first.states, [1.0, 0.5, 1.5, 0.4, 2.5, 0.3]);
    assert_eq!(first.parameters, [Some(12.0)]);
    assert_eq!(trajectories[1].1.parameters, [None]);
    assert_eq!((manifest.provenance.parents.len(), manifest.import_report.len()), (2, 0));
    let text = serde_json::to_string(&manifest).unwrap();
    assert!(!text.contains("archive") && !text.contains(&archive.root.path().display().to_string()), "{text}");
}

#[test]
fn spelling_of_the_file_changes_nothing() {
    let plain = Archive::new().import().1;
    let quoted = TANKS.replace("a,1,0.3,1.5", "\"a\",\"1\", 0.3 ,\"1.5\"").replace("tank,", "\"tank\",");
    let variants = [
        format!("\u{feff}{TANKS}").into_bytes(),
        TANKS.replace('\n', "\r\n").into_bytes(),
        TANKS.replace('\n', "\n\n").into_bytes(),
        quoted.into_bytes(),
        TANKS.trim_end().as_bytes().to_vec(),
    ];
    for variant in variants {
        assert_eq!(Archive::new().with("tanks.csv", variant).import().1, plain);
    }
    let semicolons = Archive::new().with("tanks.csv", TANKS.replace(',', ";"));
    assert_eq!(semicolons.change(|settings| settings.table.delimiter = ";".into()).import().1, plain);
}

#[test]
fn order_of_rows_changes_nothing_but_the_digest_of_the_source() {
    let plain = Archive::new().import();
    let mut rows: Vec<&str> = TANKS.lines().collect();
    // Trajectories interleave, each still in the order of time.
    rows[1..].sort_by(|a, b| {
        a.split(',').nth(2).unwrap().parse::<f64>().unwrap().total_cmp(&b.split(',').nth(2).unwrap().parse().unwrap())
    });
    let interleaved = Archive::new().with("tanks.csv", rows.join("\n")).import();
    rows[1..].reverse();
    let reversed = Archive::new().with("tanks.csv", rows.join("\n"));
    let reversed = reversed.change(|settings| settings.table.disorder = Disorder::Sort).import();
    assert_eq!(interleaved.1, plain.1);
    assert_eq!(reversed.1, plain.1);
    assert_eq!(
        interleaved.0.files.iter().filter(|file| file.path.ends_with(".parquet")).collect::<Vec<_>>(),
        plain.0.files.iter().filter(|file| file.path.ends_with(".parquet")).collect::<Vec<_>>()
    );
}

#[test]
fn a_long_table_is_grouped_by_time() {
    let trajectories = Archive::long().import().1;
    let (train, validation) = (&trajectories[0].1, &trajectories[1].1);
    assert_eq!((train.times.as_slice(), train.states.as_slice()), (&[0.0, 1.0][..], &[1.0, 10.0, 2.0, 11.0][..]));
    assert_eq!(validation.states, [3.0, 12.0, 4.0, 13.0]);
}

#[test]
fn trajectories_can_be_drawn_by_lot() {
    let mut table = String::from("t,tank,run,level,flow\n");
    for (tank, run) in (0..3).flat_map(|tank| (0..10).map(move |run| (tank, run))) {
        table += &format!("0,{tank},{run},{tank},{run}\n1,{tank},{run},2,2\n");
    }
    let draw = |seed, table: &str| {
        let archive = Archive::new().with("tanks.csv", table).without_side_table().change(|settings| {
            settings.splits = toml::from_str("validation = { fraction = 0.2 }\ntest = { fraction = 0.3 }").unwrap();
            settings.splits.seed = Some(seed);
        });
        let trajectories = archive.import().1;
        let keys = |split| -> Vec<_> {
            let inside = trajectories.iter().filter(|trajectory| trajectory.0 == split);
            inside.map(|(_, trajectory)| (trajectory.environment.clone(), trajectory.trajectory.clone())).collect()
        };
        Split::ALL.map(keys)
    };
    let drawn = draw(1, &table);
    assert_eq!(drawn.each_ref().map(Vec::len), [15, 6, 9, 0, 0, 0, 0]);
    assert_ne!(draw(2, &table), drawn);
    let with_another = draw(1, &(table + "0,x,1,1,1\n1,x,1,1,7\n0,x,2,1,1\n1,x,2,1,8\n"))
        .map(|keys| keys.into_iter().filter(|(environment, _)| environment != "x").collect::<Vec<_>>());
    assert_eq!(with_another, drawn);
}

#[test]
fn the_side_table_may_have_other_rows() {
    let archive = Archive::new().with("sizes.txt", SIZES.replace("B  ", "D  ")).change(|settings| {
        settings.side_table.as_mut().unwrap().rename.remove("B");
    });
    insta::assert_snapshot!("warnings", archive.import().2.join("\n"));
}

#[test]
fn an_interrupt_leaves_nothing() {
    let archive = Archive::new();
    let interrupt = Interrupt::new();
    interrupt.request(2);
    let run = Run { observer: &Record::default(), interrupt: &interrupt };
    let result = import::run(&archive.settings, archive.root.path(), &archive.target(), &run);
    assert!(matches!(result, Err(Error::Interrupted { signal: 2 })));
    assert_eq!(fs::read_dir(archive.root.path()).unwrap().count(), 1);
}

#[test]
fn bad_files() {
    let missing = Archive::new().change(|settings| settings.table.file = one("tank.csv"));
    insta::assert_snapshot!("missing_file", missing.report());
    insta::assert_snapshot!(
        "missing_directory",
        Archive::new().change(|settings| settings.directory = "nowhere".into()).report()
    );
    insta::assert_snapshot!("empty_file", Archive::new().with("tanks.csv", "\n").report());
    insta::assert_snapshot!("only_header", Archive::new().with("tanks.csv", "tank,run,t,level,flow\n").report());
    insta::assert_snapshot!("gzip", Archive::new().with("tanks.csv", b"\x1f\x8b\x08\0\0\0").report());
    insta::assert_snapshot!("utf16", Archive::new().with("tanks.csv", b"\xff\xfet\0").report());
    let folder = Archive::new();
    fs::remove_file(folder.root.path().join("archive/tanks.csv")).unwrap();
    fs::create_dir(folder.root.path().join("archive/tanks.csv")).unwrap();
    insta::assert_snapshot!("folder_for_a_file", folder.report());
    let latin = [TANKS.as_bytes(), b"\xe9,1,0,1,1\n"].concat();
    insta::assert_snapshot!("invalid_utf8", Archive::new().with("tanks.csv", latin).report());
}

#[test]
fn bad_headers_and_rows() {
    insta::assert_snapshot!("missing_columns", Archive::new().replace("level,flow", "Level_m,volume").report());
    insta::assert_snapshot!("wrong_delimiter", Archive::new().with("tanks.csv", TANKS.replace(',', ";")).report());
    insta::assert_snapshot!(
        "duplicate_column",
        Archive::new().replace("run,t", "run,run").replace("flow", "t").report()
    );
    insta::assert_snapshot!(
        "ragged_row",
        Archive::new().replace("b,1,0,1,0", "b,1,0,1").replace("a,2,0,2,1", "a,2,0,2,1,").report()
    );
}

#[test]
fn bad_cells() {
    let cells = [
        ("text", "2.5?"),
        ("nan", "NaN"),
        ("infinity", "-inf"),
        ("decimal_comma", "\"2,5\""),
        ("time_stamp", "2020-01-02T03:04:05"),
    ];
    for (name, cell) in cells {
        insta::assert_snapshot!(
            format!("cell_{name}"),
            Archive::new().replace("a,1,1.0,2.5", &format!("a,1,1.0,{cell}")).report()
        );
    }
    insta::assert_snapshot!("cell_id", Archive::new().replace("b,1,0", ",1,0").report());
    let every_problem = Archive::new().replace("a,1,0.3", "a,1,x").replace("b,2,0,5,0", "b,2,0,y,z");
    insta::assert_snapshot!("every_problem", every_problem.report());
    let many: String = (0..70).map(|i| format!("a,3,x{i},1,1\n")).collect();
    let problems = Archive::new().with("tanks.csv", format!("{TANKS}{many}")).check();
    assert_eq!(problems.len(), paramill::problems::LISTED + 1);
    assert_eq!(problems[paramill::problems::LISTED].found, "20 more problems of this kind");
    let problems = Archive::new().with("tanks.csv", format!("{TANKS}{}", "a,3,x,1,1\n".repeat(70))).check();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].found, "\"x\" (69 more like it: lines 16, 17, 18, 19, 20, ...)");
}

#[test]
fn bad_times() {
    insta::assert_snapshot!("unsorted_time", Archive::new().replace("a,1,0.3", "a,1,1.3").report());
    insta::assert_snapshot!("duplicate_time", Archive::new().replace("a,1,0.3", "a,1,1.0").report());
}

#[test]
fn bad_long_tables() {
    insta::assert_snapshot!("unknown_channel", Archive::long().replace("a,1,1,flow", "a,1,1,Flow").report());
    insta::assert_snapshot!(
        "absent_channel",
        Archive::long().change(|s| s.channels[1].column = "flows".into()).report()
    );
    insta::assert_snapshot!("long_duplicate_time", Archive::long().replace("a,1,1,flow,11", "a,1,0,flow,11").report());
}

#[test]
fn bad_missing_cells() {
    insta::assert_snapshot!("time_missing", Archive::new().replace("a,1,0.3", "a,1,").report());
    let dry: String = TANKS.lines().map(|line| format!("{},\n", line.rsplit_once(',').unwrap().0)).collect();
    let dry = dry.replacen("level,", "level,flow", 1).replace("c,1,1,2", "c,1,1,2.5").replace("c,2,0,5", "c,2,0,5.5");
    insta::assert_snapshot!("channel_never_observed", Archive::new().with("tanks.csv", dry).report());
}

#[test]
fn bad_side_tables() {
    let side = |content: &str| Archive::new().with("sizes.txt", content);
    insta::assert_snapshot!("side_missing_column", side(&SIZES.replace("width(cm)", "width")).report());
    insta::assert_snapshot!("side_unknown_marker", side(&SIZES.replace("??", "n/a")).report());
    insta::assert_snapshot!("side_text", side(&SIZES.replace("200", "2m")).report());
    insta::assert_snapshot!("side_duplicate", side(&format!("{SIZES}A 1 1\n")).report());
    let renamed = Archive::new().change(|settings| {
        let rename = &mut settings.side_table.as_mut().unwrap().rename;
        rename.insert("AA".into(), "a".into());
        rename.insert("C".into(), "see".into());
    });
    insta::assert_snapshot!("side_rename", renamed.report());
    let divided = Archive::new().change(|settings| settings.parameters[0].expression = "1 / (height - 3)".into());
    insta::assert_snapshot!("side_not_finite", divided.report());
}

#[test]
fn bad_splits() {
    let splits = |text: &str| {
        let splits = toml::from_str(text).unwrap();
        Archive::new().change(|settings| settings.splits = splits).report()
    };
    let validation = "validation = { trajectories = ['2'] }\n";
    insta::assert_snapshot!("adapt_unknown", splits(&format!("{validation}adapt = ['c', 'Tank B', 'B']")));
    insta::assert_snapshot!(
        "repeated_samples",
        Archive::new().replace("a,2,0,2,1\na,2,2,3,1", "a,2,0,1,0\na,2,1,2,0").report()
    );
    insta::assert_snapshot!("adapt_all", splits(&format!("{validation}adapt = ['a', 'b', 'c']")));
    insta::assert_snapshot!("validation_missing", splits("adapt = ['c']"));
    insta::assert_snapshot!("validation_unknown", splits("validation = { trajectories = ['3'] }"));
    insta::assert_snapshot!("nothing_left", splits("validation = { trajectories = ['2', 'a/1'] }"));
    insta::assert_snapshot!(
        "fractions",
        splits("validation = { fraction = 1.5 }\ntest = { trajectories = ['2'], fraction = 0.5 }")
    );
    let single = Archive::new().change(|settings| {
        settings.table.trajectory = Default::default();
        settings.table.environment = Names(vec!["tank".into(), "run".into()]);
        settings.splits = toml::from_str("validation = { fraction = 0.5 }\nseed = 0").unwrap();
    });
    insta::assert_snapshot!("validation_impossible", single.without_side_table().report());
}

/// What calibrates neither trains nor is estimated, whole; a name that is wrong, or given twice, is told.
#[test]
fn environments_that_calibrate_have_a_split_of_their_own() {
    let with = |calibrate: &[&str]| {
        Archive::new().change(|settings| {
            settings.splits.calibrate = calibrate.iter().map(|id| (*id).to_owned()).collect();
        })
    };
    let archive = with(&["b"]);
    let trajectories = archive.import().1;
    let splits_of = |environment: &str| -> Vec<Split> {
        trajectories.iter().filter(|it| it.1.environment == environment).map(|it| it.0).collect()
    };
    let of_b = splits_of("b");
    assert!(!of_b.is_empty() && of_b.iter().all(|split| *split == Split::Calibrate), "{of_b:?}");
    assert!(splits_of("a").contains(&Split::Train) && splits_of("c").contains(&Split::Adapt));
    let unknown = with(&["B"]).report();
    assert!(unknown.contains("import.splits.calibrate[0]: found no environment \"B\""), "{unknown}");
    let problems: Vec<String> = with(&["c"]).settings.validate().iter().map(Problem::to_string).collect();
    assert!(problems.iter().any(|it| it.contains("splits.calibrate: found \"c\" a second time")), "{problems:?}");
}

#[test]
fn bad_settings() {
    let archive = Archive::new().change(|settings| {
        settings.dataset = "../tanks".into();
        settings.license = " ".into();
        settings.table.file = one("/etc/passwd");
        settings.table.delimiter = "tab".into();
        settings.table.value = Some("v".into());
        settings.table.trajectory = Names(vec!["tank".into()]);
        settings.channels[1] = settings.channels[0].clone();
        settings.parameters[0].name = "cross section".into();
        settings.parameters[0].expression = "width(cm)".into();
        settings.side_table = None;
        settings.splits.adapt = vec!["c".into(), "c".into()];
    });
    let problems: Vec<String> = archive.settings.validate().iter().map(Problem::to_string).collect();
    insta::assert_snapshot!("settings", problems.join("\n"));
    for (text, expected) in
        [("[table]\nenvironment = 1", "a name, or a list of names"), ("rows = 3", "unknown field `rows`")]
    {
        let error = toml::from_str::<Settings>(&format!("{text}\n")).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// What has a snapshot says where, what was found, what was expected, and what to do.
#[test]
fn every_message_is_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folders = ["snapshots", "import/snapshots"].map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let paths = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let is_of_errors = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        name.starts_with("import__")
            && !["notes", "guess_petab", "guess__", "warnings"].iter().any(|kind| name.contains(kind))
    };
    let mut count = 0;
    for path in paths.filter(is_of_errors) {
        let text = fs::read_to_string(&path).unwrap();
        for line in text.splitn(3, "---\n").nth(2).unwrap().lines() {
            let whole = line.split_once(": found ").and_then(|(place, rest)| {
                let (found, rest) = rest.split_once("; expected ")?;
                let (expected, remedy) = rest.split_once("; ")?;
                Some([place, found, expected, remedy].iter().all(|part| !part.is_empty()))
            });
            assert_eq!(whole, Some(true), "{}: {line}", path.display());
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
}
