//! The equations that a library found, as a system file.

use paramill::checkpoint::StoredModel;
use paramill::engine::{Batch, Compute, DeviceChoice, EngineChoice, Segment, Solver};
use paramill::estimate;
use paramill::schema::Split;
use paramill::systems::{Dynamics, Equations};

use super::*;

/// Everywhere, the rates of the file at the parameters of a context are those of the model at the context.
pub fn the_file_has_the_rates_of_the_model(root: &Path) {
    let text = fs::read_to_string(root.join("runs/lv-library/report/system.toml")).unwrap();
    let equations: Equations = toml::from_str(&text).unwrap();
    let system = equations.system().unwrap();
    let Dynamics::Field(field) = &system.presets[0].dynamics else { panic!("a field") };
    assert_eq!((system.horizon, system.time_step), (10.0, 0.5));
    let bounds: Vec<_> = system.parameters.iter().map(|it| (it.name.as_str(), it.lower, it.upper)).collect();
    assert_eq!(bounds, [("beta", 0.05, 1.5), ("delta", 0.05, 1.5)]);
    for state in &equations.states {
        assert!(
            state.initial.is_some_and(|[lower, upper]| lower >= 0.99 && upper <= 3.01 && lower < upper),
            "{state:?}"
        );
    }

    let mut model = StoredModel::read(&root.join("runs/lv-library/models/lv-library")).unwrap();
    (model.manifest.solver, model.manifest.substeps) = (Solver::Euler, 1);
    let (engine, _) = model.engine(Compute { device: DeviceChoice::Cpu, engine: EngineChoice::Native }).unwrap();
    let mut stream = Stream::new(5, "system", &[]);
    for at in 0..100 {
        let contexts = model.contexts.chunks_exact(2).collect::<Vec<_>>();
        let share = stream.uniform(-0.5, 1.5);
        let (one, other) = (contexts[at % 9], contexts[(at + 1) % 9]);
        let context = [0, 1].map(|k| one[k] + share * (other[k] - one[k]));
        let mut weights = vec![0.0; model.model().layout().size()];
        model.rule().decode(&model.shared, &context, &mut weights);
        // One step of Euler's method over a unit of time moves the state by its rate.
        let state = [stream.uniform(0.0, 5.0), stream.uniform(0.0, 5.0)];
        let segment = Segment { times: &[0.0, 1.0], states: &state.repeat(2), inputs: &[] };
        let moved = engine.predict(&weights, &Batch::new(2, &[], &[vec![segment]], (0, 0)));
        let mut rates = [0.0; 2];
        field(&model.map.as_ref().unwrap().apply(&context), 0.0, &state, &mut rates);
        for c in 0..2 {
            let expected = moved[c] - state[c];
            assert!(
                (rates[c] - expected).abs() < 1e-12 * expected.abs().max(10.0),
                "{} for {expected}\n{text}",
                rates[c]
            );
        }
    }
}

/// A pipeline that names the file estimates what the model does; the content of the file is part of what estimates are made of.
pub fn a_pipeline_estimates_by_the_file(root: &Path, pipeline: &str, less: &[&str]) {
    let by_file = pipeline.replace("dataset = \"lv-library\"", "dataset = \"lv-again\"").replace(
        "[estimate]",
        "[estimate]\nmethod = \"physics\"\nphysics = { system = \"../runs/lv-library/report/system.toml\" }",
    );
    fs::create_dir(root.join("pipelines")).unwrap();
    fs::write(root.join("pipelines/by-file.toml"), by_file).unwrap();
    let arguments = [less, &["--set", "estimate.tolerance=1e-9"]].concat();
    run(root, "pipelines/by-file.toml", &arguments, 0);
    let rows = |name: &str| {
        let directory = root.join("runs").join(name).join("estimates");
        let (manifest, _) = estimate::Manifest::read(&directory).unwrap();
        estimate::read_rows(&directory, &manifest, Split::Grid).unwrap()
    };
    let (by_model, by_file) = (rows("lv-library"), rows("by-file"));
    assert_eq!(by_model.len(), 16);
    for (one, other) in by_model.iter().zip(&by_file) {
        assert_eq!(one.environment, other.environment);
        assert_eq!(other.status, estimate::Status::Ok, "{}", other.reason);
        for (one, other) in one.parameters.iter().zip(&other.parameters) {
            approx::assert_relative_eq!(one.value, other.value, max_relative = 1e-5);
        }
    }

    assert_eq!(ran(&run(root, "pipelines/by-file.toml", &arguments, 0)), [""; 0]);
    let file = root.join("runs/lv-library/report/system.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("upper = 1.5", "upper = 1.75")).unwrap();
    assert_eq!(ran(&run(root, "pipelines/by-file.toml", &arguments, 0)), ["estimate", "report"]);
}

/// No file can be written of fields; the report says so.
#[test]
fn equations_of_fields_are_no_system_file() {
    let pipeline = r#"
        [generate]
        dataset = "fields"
        system = "gray-scott"
        horizon = 80.0
        rtol = 1e-4
        [generate.splits]
        train = { environments = "train", limit = 4, trajectories = 1 }
        validation = { environments = "train", limit = 4, trajectories = 1 }
        adapt = { environments = "adapt", limit = 1, trajectories = 1 }
        [train]
        steps = 0
        solver = "euler"
        [train.gauss_newton]
        steps = 1
        first_segment = 1
        [train.model]
        kind = "library"
        degree = 1
        [map]
        kind = "affine"
        [estimate]
        splits = ["adapt"]
        iterations = 1
        [report]
    "#;
    let root = house("fields.toml", pipeline);
    let output = paramill(root.path(), &["run", "fields.toml", "--json", "--device", "cpu"]);
    let report = root.path().join("runs/fields/report");
    assert!(report.is_dir(), "{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
    assert!(report.join("equations.csv").is_file() && !report.join("system.toml").exists());
    let page = fs::read_to_string(report.join("index.html")).unwrap();
    assert!(page.contains("There is no <code>system.toml</code>: its channels are fields"), "{page}");
}
