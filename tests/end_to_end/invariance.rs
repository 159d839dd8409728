//! What a result may not depend on: the order of rows, files and environments, the number of threads, and the company of bad environments.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use paramill::random::Stream;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tempfile::TempDir;

use super::{TANKS, command, house, levels, stderr};

const EMPTYING: &str = r#"
name = "emptying"
time_unit = "s"
horizon = 4.0
time_step = 0.2
states = [{ name = "level", unit = "m", derivative = "-rate * level", initial = [1.0, 2.0] }]
parameters = [{ name = "rate", unit = "s-1", lower = 0.01, upper = 2.0 }]
"#;

/// The tanks of [`TANKS`] in the files `levels-*.csv` with missing cells, to be estimated by equations or a model.
fn archive(method: &str, files: &[Vec<String>]) -> TempDir {
    let pipeline = TANKS.replace("levels.csv", "levels-*.csv").replace("disorder", "missing = [\"NA\"], disorder");
    let pipeline = match method {
        "physics" => {
            let (import, _) = pipeline.split_once("[train]").unwrap();
            format!(
                "{import}[estimate]\nmethod = \"physics\"\nsplits = [\"adapt\"]\nphysics = {{ system = \"emptying.toml\" }}\n[report]\n"
            )
        }
        _ => pipeline.replace("steps = 300", "steps = 60"),
    };
    let root = house("tanks.toml", &pipeline);
    fs::write(root.path().join("emptying.toml"), EMPTYING).unwrap();
    let folder = root.path().join("archive");
    fs::create_dir(&folder).unwrap();
    for (number, lines) in files.iter().enumerate() {
        fs::write(folder.join(format!("levels-{number}.csv")), format!("tank,run,t,level\n{}\n", lines.join("\n")))
            .unwrap();
    }
    let side = "tank,outlet,area\na,4,10\nb,5,10\nc,6,10\nd,7,10\ne,8,10\np,9,20\nq,13,20\nunknown,?,10\n";
    fs::write(folder.join("tanks.csv"), side).unwrap();
    root
}

fn run(root: &Path, threads: &str, arguments: &[&str], code: i32) {
    let mut command = command(root, &[&["run", "tanks.toml", "--device", "cpu"], arguments].concat());
    let output = command.env("RAYON_NUM_THREADS", threads).output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
}

/// The bytes of what was imported, and of what was made of it; what tells of the sources, by their digests, is left out.
fn made(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut made = BTreeMap::new();
    for folder in ["datasets/tanks/data", "datasets/tanks/hdf5", "runs/tanks/models/tanks", "runs/tanks/estimates"] {
        for entry in fs::read_dir(root.join(folder)).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if !["manifest.json", "README.md", "SHA256SUMS", "training-log.csv"].contains(&name) && path.is_file() {
                made.insert(format!("{folder}/{name}"), fs::read(&path).unwrap());
            }
        }
    }
    made
}

#[test]
fn neither_order_nor_threads_change_a_byte() {
    let (_, mut lines) = levels();
    for line in lines.iter_mut().skip(3).step_by(17) {
        let (rest, _) = line.rsplit_once(',').unwrap();
        *line = format!("{rest},NA");
    }
    let mut stream = Stream::new(3, "tanks", &[]);
    let mut shuffled = lines.clone();
    for i in (1..shuffled.len()).rev() {
        shuffled.swap(i, stream.uniform(0.0, i as f64 + 1.0) as usize);
    }
    let environments_reversed = {
        let mut by_tank: Vec<Vec<String>> =
            lines.chunk_by(|a, b| a.split(',').next() == b.split(',').next()).map(<[String]>::to_vec).collect();
        by_tank.reverse();
        by_tank.concat()
    };
    let dealt: Vec<Vec<String>> = (0..3).map(|file| shuffled.iter().skip(file).step_by(3).cloned().collect()).collect();
    let turned = [dealt[2].clone(), dealt[0].clone(), dealt[1].clone()];
    for method in ["physics", "learned"] {
        let mut first = None;
        for (what, files, threads) in [
            ("as they are", std::slice::from_ref(&lines), "1"),
            ("rows", std::slice::from_ref(&shuffled), "2"),
            ("environments", std::slice::from_ref(&environments_reversed), "5"),
            ("several files", &dealt[..], "2"),
            ("order of files", &turned[..], "5"),
        ] {
            let root = archive(method, files);
            run(root.path(), threads, &[], 0);
            let made = made(root.path());
            assert!(made.keys().any(|name| name.ends_with("estimates/adapt.parquet")), "{:?}", made.keys());
            let first = first.get_or_insert_with(|| made.clone());
            assert_eq!(made.keys().collect::<Vec<_>>(), first.keys().collect::<Vec<_>>());
            for (name, bytes) in &made {
                assert!(*bytes == first[name], "{method}, {what}: {name} differs");
            }
        }
    }
}

/// The cells of each environment's row.
fn rows(root: &Path) -> BTreeMap<String, Vec<ArrayRef>> {
    let file = File::open(root.join("runs/tanks/estimates/adapt.parquet")).unwrap();
    let mut rows = BTreeMap::new();
    for batch in ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap() {
        let batch = batch.unwrap();
        let ids = batch.column_by_name("environment").unwrap().as_string::<i32>();
        for (i, id) in ids.iter().enumerate() {
            rows.insert(id.unwrap().to_owned(), batch.columns().iter().map(|column| column.slice(i, 1)).collect());
        }
    }
    rows
}

#[test]
fn bad_environments_change_no_other_row_and_exit_with_4() {
    let (_, good) = levels();
    let mut all = good.clone();
    for t in 0..12 {
        all.push(format!("all missing,1,{t},NA"));
        all.push(format!("constant,1,{t},1.5"));
        all.push(format!("diverging,1,{t},1e{}", 20 * (t + 1)));
    }
    let adapt =
        ["--set", "import.splits.adapt=[\"p\", \"q\", \"unknown\", \"all missing\", \"constant\", \"diverging\"]"];
    for method in ["physics", "learned"] {
        let sound = archive(method, std::slice::from_ref(&good));
        run(sound.path(), "2", &[], 0);
        let mixed = archive(method, std::slice::from_ref(&all));
        run(mixed.path(), "2", &adapt, 4);
        let (sound, mixed) = (rows(sound.path()), rows(mixed.path()));
        assert_eq!((sound.len(), mixed.len()), (3, 6));
        for (environment, row) in &sound {
            assert!(row.iter().zip(&mixed[environment]).all(|(a, b)| a == b), "{method}: {environment}");
        }
    }
}
