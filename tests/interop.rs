//! Other people's tools open what we write. The Python scripts lie in `tests/interop/`.

#[path = "common/dataset.rs"]
mod common;
#[path = "common/model.rs"]
mod model;
#[path = "common/program.rs"]
mod program;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{driven, fields, manifest, ragged, shared_grid, with_inputs, write};
use model::{NATIVE, generate, map, silently, train, train_settings};
use paramill::dataset::{self, Dataset, ExportFormat, Manifest};
use paramill::estimate::{self, read_rows};
use paramill::schema::{Split, Trajectory};
use serde_json::json;

/// The interpreter with h5py, xarray and pyarrow: `PARAMILL_PYTHON`, or the one that `make setup` installs.
fn python() -> PathBuf {
    let python = std::env::var_os("PARAMILL_PYTHON")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join(".tools/venv/bin/python"), PathBuf::from);
    assert!(python.exists(), "{} is missing: run `make setup`, or set PARAMILL_PYTHON", python.display());
    python
}

/// Runs a script of `tests/interop/` in the root of the repository and returns what it prints.
fn run(script: &str, argument: &Path) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = root.join("tests/interop").join(script);
    let output = Command::new(python()).current_dir(root).arg("-B").arg(&script).arg(argument).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", script.display());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn python_reads_both_copies_of_a_dataset() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("set");
    let mut manifest = manifest();
    manifest.channels[1].description.clear();
    manifest.channels[0].unit = "m s-1".to_owned();
    manifest.channels[1].name = "θ.2 (y)".to_owned();
    manifest.parameters[0].name = "length".to_owned();
    let splits = [(Split::Train, shared_grid(4)), (Split::Adapt, ragged())];
    assert_eq!(read_in_python(&directory, &manifest, &splits), SAME);
}

#[test]
fn python_opens_the_sample_as_the_pages_say() {
    assert_eq!(run("pages.py", Path::new("docs/guides/publishing.md")), "1 block opened the sample\n");
}

#[test]
fn python_reads_both_copies_of_fields() {
    let root = tempfile::tempdir().unwrap();
    let (manifest, rows) = fields(3, false);
    let splits = [(Split::Train, rows), (Split::Adapt, fields(4, true).1)];
    assert_eq!(read_in_python(&root.path().join("set"), &manifest, &splits), SAME);
}

#[test]
fn python_reads_missing_cells() {
    let root = tempfile::tempdir().unwrap();
    let holed = |mut rows: Vec<Trajectory>| {
        rows.iter_mut().flat_map(|row| row.states.iter_mut().skip(1).step_by(3)).for_each(|cell| *cell = f64::NAN);
        rows
    };
    let splits = [(Split::Train, holed(shared_grid(4))), (Split::Adapt, holed(ragged()))];
    assert_eq!(read_in_python(&root.path().join("set"), &manifest(), &splits), SAME);
    let (manifest, rows) = fields(3, false);
    let splits = [(Split::Train, holed(rows)), (Split::Adapt, holed(fields(4, true).1))];
    assert_eq!(read_in_python(&root.path().join("fields"), &manifest, &splits), SAME);
}

#[test]
fn python_reads_inputs() {
    let root = tempfile::tempdir().unwrap();
    let splits = [(Split::Train, driven(shared_grid(4))), (Split::Adapt, driven(ragged()))];
    assert_eq!(read_in_python(&root.path().join("set"), &with_inputs(manifest()), &splits), SAME);
    let (manifest, rows) = fields(3, false);
    let splits = [(Split::Train, driven(rows)), (Split::Adapt, driven(fields(4, true).1))];
    assert_eq!(read_in_python(&root.path().join("fields"), &with_inputs(manifest), &splits), SAME);
}

/// What the scripts print of two splits, the first of which has common times.
const SAME: &str = "2 splits are the same in every tool\n\
                    2 splits are the same in every loader, 1 of them in The Well's\n\
                    2 splits are the same in mlcroissant\n";

/// Writes a dataset, and has Python compare it with what was to be written.
fn read_in_python(directory: &Path, manifest: &Manifest, splits: &[(Split, Vec<Trajectory>)]) -> String {
    write(directory, manifest.clone(), splits);
    let path = write_expected(directory, manifest, splits);
    ["dataset.py", "loaders.py", "croissant.py"].map(|script| run(script, &path)).concat()
}

#[test]
fn python_reads_exports() {
    let of_fields = |own_times| fields(3, own_times).1;
    let cases = [
        (manifest(), [shared_grid(4), shared_grid(2)], true),
        (manifest(), [shared_grid(4), ragged()], false),
        (fields(3, false).0, [of_fields(false), of_fields(false)], true),
        (fields(3, false).0, [of_fields(false), of_fields(true)], false),
        (with_inputs(manifest()), [driven(shared_grid(4)), driven(ragged())], false),
        (with_inputs(fields(3, false).0), [of_fields(false), of_fields(false)].map(driven), false),
    ];
    for (manifest, [train, adapt], one_time_axis) in cases {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("set");
        let splits = [(Split::Train, train), (Split::Adapt, adapt)];
        write(&directory, manifest.clone(), &splits);
        let dataset = Dataset::open(&directory).unwrap();
        let to = |format: ExportFormat| {
            silently(|run| dataset::export(&dataset, format, &root.path().join(format.name), run))
        };
        to(ExportFormat::named("netcdf").unwrap()).unwrap();
        match to(ExportFormat::named("pdebench").unwrap()) {
            Ok(()) => assert!(one_time_axis),
            Err(error) => {
                let expected = if manifest.inputs.is_empty() { "expected one time axis" } else { "expected no inputs" };
                assert!(!one_time_axis && error.to_string().contains(expected), "{error}");
            }
        }
        assert_eq!(root.path().join("pdebench").exists(), one_time_axis);
        let path = write_expected(&directory, &manifest, &splits);
        assert_eq!(run("exports.py", &path), "2 splits are the same in every export\n");
    }
}

/// What Python is to find, in a file beside the dataset.
fn write_expected(directory: &Path, manifest: &Manifest, splits: &[(Split, Vec<Trajectory>)]) -> PathBuf {
    let row = |row: &Trajectory| {
        json!({ "environment": row.environment, "trajectory": row.trajectory, "parameters": row.parameters,
                "times": row.times, "states": row.states, "inputs": row.inputs })
    };
    let splits: serde_json::Map<_, _> = splits
        .iter()
        .map(|(split, rows)| (split.name().to_owned(), rows.iter().map(row).collect::<Vec<_>>().into()))
        .collect();
    let expected = json!({ "directory": directory, "name": manifest.name, "time_unit": manifest.time_unit,
        "channels": manifest.channels, "inputs": manifest.inputs, "grid": manifest.grid, "parameters": manifest.parameters, "splits": splits });
    let path = directory.with_extension("json");
    std::fs::write(&path, expected.to_string()).unwrap();
    path
}

/// Nine pairs of species and a few to estimate.
const PAIRS: &str = r#"
    dataset = "pairs"
    system = "lotka-volterra"
    [splits]
    train = { environments = "train", trajectories = 1 }
    validation = { environments = "train", trajectories = 1 }
    adapt = { environments = "adapt", trajectories = 1 }
    grid = { environments = "grid", limit = 4, trajectories = 1 }
"#;

#[test]
fn python_computes_the_estimates_from_the_weights() {
    let root = tempfile::tempdir().unwrap();
    let dataset = generate(root.path(), PAIRS);
    let settings = train_settings(
        r#"
        model = { kind = "mlp", layers = 3, width = 8 }
        scaling = "standard"
        precision = "f64"
        steps = 60
        learning_rate = 0.01
        gauss_newton = { steps = 5 }
        "#,
    );
    let [of_model, of_estimates] = ["model", "estimates"].map(|name| root.path().join(name));
    let mut model = train(&settings, &dataset, &of_model).unwrap();
    map("kind = \"quadratic\"", &dataset, &mut model, &of_model);
    let settings = estimate::Settings::default();
    let outcome = silently(|run| estimate::run(&settings, NATIVE, &dataset, &model, &of_estimates, run)).unwrap();
    let mut predictions = serde_json::Map::new();
    for split in [Split::Adapt, Split::Grid] {
        let of_split: serde_json::Map<_, _> = read_rows(&of_estimates, &outcome.manifest, split)
            .unwrap()
            .into_iter()
            .map(|row| {
                let place = (split, row.environment.as_str());
                let (_, prediction) =
                    estimate::portrait(&settings, NATIVE, &dataset, &model, place, &row.context).unwrap();
                (row.environment, prediction.into())
            })
            .collect();
        predictions.insert(split.name().to_owned(), of_split.into());
    }
    let expected = json!({ "model": of_model, "dataset": dataset.directory(), "estimates": of_estimates,
        "predictions": predictions });
    let path = root.path().join("expected.json");
    std::fs::write(&path, expected.to_string()).unwrap();
    assert_eq!(run("model.py", &path), "8 environments are the same in numpy\n");
}

/// What other people's code wrote in The Well's layout goes through a pipeline to estimates and a report.
#[test]
fn fields_of_other_peoples_code_are_estimated() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(run("fields.py", root.path()), "6 files of 3 trajectories each\n");
    let pipeline = r#"
        [import]
        dataset = "fisher"
        directory = "well"
        time_unit = "s"
        parameters = [{ name = "r", unit = "s-1", expression = "r" }]
        [import.fields]
        file = "fisher_{environment}.hdf5"
        channels = [{ name = "u", unit = "1", array = "t0_fields/u" }]
        [import.splits]
        adapt = ["e", "f"]
        validation = { trajectories = ["1"] }
        adapt_test = { trajectories = ["1"] }
        [train]
        context_dimension = 1
        substeps = 4
        steps = 0
        model = { kind = "library", degree = 2, operators = ["laplacian"] }
        gauss_newton = { steps = 30 }
        [map]
        kind = "affine"
        [estimate]
        splits = ["adapt"]
        [report]
    "#;
    std::fs::write(root.path().join("fisher.toml"), pipeline).unwrap();
    for command in ["check", "run"] {
        let output = program::paramill(root.path(), &[command, "fisher.toml"]);
        assert!(output.status.success(), "{}", program::stderr(&output));
    }
    let estimates = root.path().join("runs/fisher/estimates");
    let manifest: estimate::Manifest =
        serde_json::from_slice(&std::fs::read(estimates.join("manifest.json")).unwrap()).unwrap();
    let rows = read_rows(&estimates, &manifest, Split::Adapt).unwrap();
    for (row, (environment, rate)) in rows.iter().zip([("e", 0.65), ("f", 1.25)]) {
        assert_eq!(row.environment, environment);
        let found = row.parameters[0].value;
        assert!((found / rate - 1.0).abs() < 0.02, "{environment}: {found}, not {rate}");
    }
    assert!(root.path().join("runs/fisher/report/index.html").is_file());
}

/// The same field in other layouts and formats, by the mapping that is guessed.
#[test]
fn fields_of_other_peoples_code_are_read_in_every_format() {
    let root = tempfile::tempdir().unwrap();
    run("fields.py", root.path());
    let expected = std::fs::read(root.path().join("expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_slice(&expected).unwrap();
    let values: Vec<f64> = serde_json::from_value(expected["fields"]["f"].clone()).unwrap();
    let (samples, points) = (9, 100);
    for (file, trajectories, channels, tolerance) in [
        ("Fisher_r1.25.hdf5", 3, 1, 0.0),
        ("groups.h5", 3, 2, 0.0),
        ("plate.nc", 1, 1, 1e-4),
        ("fields.npz", 3, 1, 1e-7),
        ("stored.npz", 3, 1, 0.0),
        ("half.npy", 3, 1, 1e-3),
        ("half.h5", 3, 1, 1e-3),
    ] {
        let mut table: toml::Table = paramill::import::draft(&root.path().join(file)).unwrap().parse().unwrap();
        let mut settings: paramill::import::Settings = table.remove("import").unwrap().try_into().unwrap();
        settings.splits = toml::from_str("adapt = ['*']").unwrap();
        let target = root.path().join("set");
        silently(|run| paramill::import::run(&settings, root.path(), &target, run)).unwrap();
        let rows = Dataset::open(&target).unwrap().read(Split::Adapt).unwrap();
        assert_eq!(rows.len(), trajectories, "{file}");
        let spacing = match file {
            "plate.nc" => 0.5 / 24.0, // hours, counted in days
            file if file.starts_with("half") => 1.0,
            _ => 0.5,
        };
        for (k, row) in rows.iter().enumerate() {
            let is_near = |(t, found): (usize, &f64)| (found - t as f64 * spacing).abs() < 1e-12;
            assert!(row.times.iter().enumerate().all(is_near), "{file}: {:?}", row.times);
            assert_eq!(row.states.len(), samples * channels * points, "{file}");
            for (t, state) in row.states.chunks(channels * points).enumerate() {
                for (i, &found) in state[..points].iter().enumerate() {
                    let value = values[(k * samples + t) * points + i];
                    let is_masked = file == "plate.nc" && (t, i) == (0, 0);
                    let is_right = if is_masked { found.is_nan() } else { (found - value).abs() <= tolerance };
                    assert!(is_right, "{file} {k} {t} {i}: {found}, not {value}");
                }
            }
        }
    }
}
