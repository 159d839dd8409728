//! Small datasets for the tests.
#![allow(dead_code, reason = "each test crate uses a part")]

use std::path::Path;

use paramill::dataset::{Manifest, Provenance, Writer};
use paramill::schema::{Between, FormatVersion, Grid, GridAxis, Input, Quantity, Split, Trajectory};

/// A manifest with channels `x`, `y` and parameters `beta`, `delta`.
pub fn manifest() -> Manifest {
    Manifest {
        format: FormatVersion::DATASET,
        kind: "dataset".to_owned(),
        name: "predators".to_owned(),
        description: "Two species, counted.".to_owned(),
        license: "CC-BY-4.0".to_owned(),
        provenance: Provenance {
            tool: "paramill 0.0.0".to_owned(),
            algorithm: 1,
            stage: "generate".to_owned(),
            configuration: serde_json::json!({ "system": "lotka-volterra", "rtol": 1e-9 }),
            seed: Some(7),
            parents: Vec::new(),
        },
        time_unit: "s".to_owned(),
        channels: vec![Quantity::new("x", "1", "Prey"), Quantity::new("y", "1", "Predators")],
        grid: None,
        import_report: Vec::new(),
        inputs: Vec::new(),
        parameters: vec![Quantity::new("beta", "s-1", "Predation rate"), Quantity::new("delta", "s-1", "Growth rate")],
        publication: Default::default(),
        data_tolerance: Some(1e-9),
        splits: Default::default(),
        files: Vec::new(),
    }
}

/// A trajectory at `times` whose states differ from those of any other ids.
pub fn trajectory(environment: &str, trajectory: &str, parameters: &[Option<f64>], times: &[f64]) -> Trajectory {
    let phase = environment.bytes().chain([0]).chain(trajectory.bytes()).fold(0.0, |sum, b| sum * 1.37 + f64::from(b));
    let states = times.iter().flat_map(|t| [(phase + t).sin() / 3.0, (phase - 2.0 * t).cos() * 1e3]).collect();
    Trajectory {
        environment: environment.to_owned(),
        trajectory: trajectory.to_owned(),
        parameters: parameters.to_vec(),
        times: times.to_vec(),
        states,
        inputs: Vec::new(),
    }
}

/// `environments` times two trajectories, all at the same times.
pub fn shared_grid(environments: usize) -> Vec<Trajectory> {
    let times: Vec<f64> = (0..5).map(|t| f64::from(t) * 0.1).collect();
    (0..environments)
        .flat_map(|e| {
            let times = times.clone();
            let parameters = [Some(0.5 + e as f64 / 3.0), Some(1.0 / (1.0 + e as f64))];
            ["0", "1"].map(|id| trajectory(&format!("environment-{e:02}"), id, &parameters, &times))
        })
        .collect()
}

/// Trajectories of different lengths at different times, some parameters unknown, ids in several scripts.
pub fn ragged() -> Vec<Trajectory> {
    let mut rows = vec![
        trajectory("a", "0", &[Some(0.25), None], &[0.0, 0.5]),
        trajectory("a", "1", &[Some(0.25), None], &[-1.0, 0.0, 0.125, 7.0]),
        trajectory("ball, no. 7 \"red\" / £", "drop|1", &[None, None], &[1e-9, 1.0, 2.0]),
        trajectory("Ωmega", "päth", &[Some(-0.0), Some(5e-324)], &[0.0, 1.0]),
        trajectory("水槽", "一", &[Some(f64::MAX), Some(f64::MIN_POSITIVE)], &[0.0, 1.0, 2.0, 3.0, 4.0]),
    ];
    rows[0].states = vec![-0.0, 0.0, 5e-324, f64::MAX];
    rows.sort_by(|a, b| a.key().cmp(&b.key()));
    rows
}

/// Fields `x`, `y` on 3 x 4 points, `environments` times two trajectories, at the same times or each at its own.
pub fn fields(environments: usize, own_times: bool) -> (Manifest, Vec<Trajectory>) {
    let mut manifest = manifest();
    let axis = |name: &str, count| GridAxis::periodic(name, "m", count, 0.25);
    manifest.grid = Some(Grid { axes: vec![axis("east", 3), axis("north", 4)] });
    let mut rows = shared_grid(environments);
    for (index, row) in rows.iter_mut().enumerate() {
        if own_times {
            row.times.truncate(2 + index % 3);
        }
        row.states = (0..row.times.len() * 24).map(|i| (i as f64 * 0.7 + index as f64).sin()).collect();
    }
    (manifest, rows)
}

/// The same with two inputs.
pub fn with_inputs(mut manifest: Manifest) -> Manifest {
    let input = |name: &str, unit: &str, between| Input { quantity: Quantity::new(name, unit, "Known"), between };
    manifest.inputs = vec![input("valve", "1", Between::Hold), input("current", "A", Between::Linear)];
    manifest
}

/// Rows with inputs of their own.
pub fn driven(mut rows: Vec<Trajectory>) -> Vec<Trajectory> {
    for (index, row) in rows.iter_mut().enumerate() {
        let values = |t: usize| [-0.0, (t as f64 * 0.3 + index as f64).sin() / 3.0];
        row.inputs = (0..row.times.len()).flat_map(values).collect();
    }
    rows
}

/// Records manifest, card and Croissant description of a dataset as they now are.
pub fn reseal(directory: &Path) {
    let line = |name: &str| {
        let digest = paramill::digest::sha256_of_file(&directory.join(name)).unwrap();
        format!("{digest}  {name}\n")
    };
    let text: String = ["manifest.json", "README.md", "croissant.json"].map(line).concat();
    std::fs::write(directory.join("SHA256SUMS"), text).unwrap();
}

/// Edits the manifest's JSON, and sets sizes and digests to those of the files as they now are.
pub fn restate(directory: &Path, edit: impl FnOnce(&mut serde_json::Value)) {
    let path = directory.join("manifest.json");
    let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for entry in json["files"].as_array_mut().unwrap() {
        if let Ok(bytes) = std::fs::read(directory.join(entry["path"].as_str().unwrap())) {
            entry["bytes"] = bytes.len().into();
            entry["sha256"] = paramill::digest::sha256(&bytes).into();
        }
    }
    edit(&mut json);
    std::fs::write(path, serde_json::to_vec_pretty(&json).unwrap()).unwrap();
    reseal(directory);
}

/// Writes the splits to `directory`.
pub fn write(directory: &Path, manifest: Manifest, splits: &[(Split, Vec<Trajectory>)]) -> Manifest {
    let mut writer = Writer::create(directory, manifest).unwrap();
    for (split, trajectories) in splits {
        for trajectory in trajectories {
            writer.write(*split, trajectory).unwrap();
        }
    }
    writer.finish().unwrap()
}
