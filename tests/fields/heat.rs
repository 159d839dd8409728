//! Heat that spreads, on one and on three axes, from the dataset to the page of the report.
//!
//! `du/dt = D lap u` with the Laplacian of nearest neighbours, whose modes are known on every boundary, so the data are exact: with `m = 0, 1, ..`,
//!
//! ```text
//! periodic     cos(2 pi m i / n)                  -4 sin^2(pi m / n)
//! zero         sin(pi (m + 1) (i + 1) / (n + 1))  -4 sin^2(pi (m + 1) / (2 (n + 1)))
//! replicate    cos(pi m (i + 1/2) / n)            -4 sin^2(pi m / (2 n))
//! ```

use std::f64::consts::PI;
use std::fs;
use std::path::{Path, PathBuf};

use paramill::checkpoint::StoredModel;
use paramill::dataset::{Manifest, Parent};
use paramill::engine::{Compute, DeviceChoice, EngineChoice};
use paramill::pipeline::{self, Built, Context, Done, Executor, Locations, Options, Plan, Product, Stage};
use paramill::progress::Run;
use paramill::random::Stream;
use paramill::schema::{Boundary, Grid, GridAxis, Quantity, Split, Trajectory};
use serde_json::Value;
use tempfile::TempDir;

use super::common;

/// Simulated fields on two axes stand for the data in the file; the dataset is written in their place.
const PIPELINE: &str = r#"
[generate]
dataset = "heat"
system = "gray-scott"
[generate.splits]
train = { environments = "train", trajectories = 1 }
validation = { environments = "train", trajectories = 1 }
adapt = { environments = "adapt", trajectories = 1 }
[train]
rule = "coda-l2"
contexts = "learned"
context_dimension = 1
solver = "rk4"
[map]
[estimate]
splits = ["adapt"]
[report]
"#;

/// Equations that are found: the diffusivity is read off them.
const LIBRARY: &str = r#"
substeps = 8
steps = 0
gauss_newton = { steps = 30 }
model = { kind = "library", degree = 1 }
"#;

/// `D` of the training environments, and of those that are estimated.
const TRAINED: [f64; 4] = [0.1, 0.2, 0.3, 0.4];
const NEW: [f64; 2] = [0.15, 0.33];

/// The stages of the program, but for the first, which writes these fields.
struct Heat(Vec<GridAxis>);

impl Executor for Heat {
    fn execute(&self, plan: &Plan, stage: Stage, context: &Context<'_>) -> Result<Done, pipeline::Error> {
        if stage != Stage::Generate {
            return Built.execute(plan, stage, context);
        }
        self.write(plan);
        Ok(Done::default())
    }

    fn product(&self, plan: &Plan, stage: Stage) -> Result<Option<Product>, pipeline::Error> {
        Built.product(plan, stage)
    }

    fn sources(&self, plan: &Plan) -> Result<Vec<Parent>, pipeline::Error> {
        Built.sources(plan)
    }

    fn configuration(&self, plan: &Plan) -> Value {
        Built.configuration(plan)
    }
}

impl Heat {
    fn write(&self, plan: &Plan) {
        let mut manifest = common::manifest();
        manifest.name = "heat".to_owned();
        manifest.provenance.configuration = Built.configuration(plan);
        manifest.provenance.seed = Some(plan.seed);
        manifest.channels = vec![Quantity::new("u", "K", "Temperature above that of the room")];
        manifest.parameters = vec![Quantity::new("D", "m2 s-1", "Diffusivity")];
        manifest.grid = Some(Grid { axes: self.0.clone() });
        let all = |of: &str, diffusivities: &[f64], draw: u64| -> Vec<Trajectory> {
            let each = diffusivities.iter().enumerate();
            each.map(|(e, d)| self.trajectory(&format!("{of}-{e}"), *d, &mut Stream::new(draw, "heat", &[e as u64])))
                .collect()
        };
        let splits = [
            (Split::Train, all("train", &TRAINED, 0)),
            (Split::Validation, all("train", &TRAINED, 1)),
            (Split::Test, all("train", &TRAINED, 2)),
            (Split::Adapt, all("new", &NEW, 3)),
            (Split::AdaptTest, all("new", &NEW, 4)),
        ];
        common::write(&plan.dataset_directory, manifest, &splits);
    }

    /// Some modes of random size, that decay.
    fn trajectory(&self, environment: &str, diffusivity: f64, stream: &mut Stream) -> Trajectory {
        let times: Vec<f64> = [0.0, 0.3, 0.7, 1.0, 1.6, 2.0, 2.5, 3.0].to_vec();
        let points: usize = self.0.iter().map(|axis| axis.count).product();
        let mut states = vec![0.0; times.len() * points];
        for _ in 0..6 {
            let size = stream.normal();
            let (mut mode, mut rate) = (vec![size], 0.0);
            for axis in &self.0 {
                let (values, of_axis) = mode_of(axis, (stream.uniform(0.0, 4.0)) as usize);
                mode = mode.iter().flat_map(|a| values.iter().map(move |b| a * b)).collect();
                rate += of_axis;
            }
            for (t, state) in times.iter().zip(states.chunks_exact_mut(points)) {
                let left = (diffusivity * rate * t).exp();
                state.iter_mut().zip(&mode).for_each(|(state, mode)| *state += left * mode);
            }
        }
        Trajectory {
            environment: environment.to_owned(),
            trajectory: "0".to_owned(),
            parameters: vec![Some(diffusivity)],
            times,
            states,
            inputs: Vec::new(),
        }
    }

    /// Runs the pipeline with `train` added to its training.
    fn run(&self, root: &Path, train: &str, engine: EngineChoice) -> Plan {
        let file = root.join("heat.toml");
        fs::write(&file, PIPELINE.replace("[map]", &format!("{train}\n[map]"))).unwrap();
        let locations = Locations { datasets: root.join("datasets"), workspace: Some(root.join("runs/heat")) };
        let plan = Plan::load(&file, &[], &locations).unwrap_or_else(|problems| panic!("{problems:?}"));
        let compute = Compute { device: DeviceChoice::Cpu, engine };
        let options = Options { stages: Vec::new(), force: Vec::new(), compute, threads: 1 };
        pipeline::run(&plan, &options, self, &Run::silent()).unwrap_or_else(|error| panic!("{error}"));
        let manifest: Manifest =
            serde_json::from_slice(&fs::read(plan.dataset_directory.join("manifest.json")).unwrap()).unwrap();
        assert_eq!(manifest.grid.unwrap().axes, self.0);
        plan
    }
}

/// The values of a mode along an axis, and its rate for `D = 1`.
fn mode_of(axis: &GridAxis, m: usize) -> (Vec<f64>, f64) {
    let (n, m) = (axis.count as f64, m as f64);
    let value = |i: usize| match axis.boundary {
        Boundary::Periodic => (2.0 * PI * m * i as f64 / n).cos(),
        Boundary::Zero => (PI * (m + 1.0) * (i as f64 + 1.0) / (n + 1.0)).sin(),
        Boundary::Replicate => (PI * m * (i as f64 + 0.5) / n).cos(),
    };
    let half_angle = match axis.boundary {
        Boundary::Periodic => PI * m / n,
        Boundary::Zero => 0.5 * PI * (m + 1.0) / (n + 1.0),
        Boundary::Replicate => 0.5 * PI * m / n,
    };
    ((0..axis.count).map(value).collect(), -4.0 * (half_angle.sin() / axis.spacing).powi(2))
}

fn axis(name: &str, count: usize, boundary: Boundary) -> GridAxis {
    GridAxis { boundary, start: -1.5, ..GridAxis::periodic(name, "m", count, 0.5) }
}

/// A directory for a pipeline, which is kept in `PARAMILL_REPORTS` where that is set.
struct Root {
    path: PathBuf,
    _temporary: TempDir,
}

impl Root {
    fn new(name: &str) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let root = std::env::var_os("PARAMILL_REPORTS").map_or_else(|| temporary.path().to_owned(), PathBuf::from);
        let path = root.join(name);
        fs::create_dir_all(&path).unwrap();
        Root { path, _temporary: temporary }
    }
}

/// The summary, the page and the picture of fields of a report.
fn figures(plan: &Plan) -> (Value, String, String) {
    let read = |name: &str| fs::read_to_string(plan.report_directory().join(name)).unwrap();
    (serde_json::from_str(&read("summary.json")).unwrap(), read("index.html"), read("fields.svg"))
}

/// A library finds the equation, and the map the diffusivity, on every boundary; the page shows the fields over time.
#[test]
fn heat_on_a_line_is_recognised() {
    for boundary in [Boundary::Periodic, Boundary::Zero, Boundary::Replicate] {
        let root = Root::new(&format!("line-{boundary:?}"));
        let plan = Heat(vec![axis("x", 16, boundary)]).run(&root.path, LIBRARY, EngineChoice::Native);
        let (summary, page, picture) = figures(&plan);
        let error = summary["param_mape_overall"].as_f64().unwrap();
        assert!(error < 0.01, "{boundary:?}: {error} %");
        assert!(page.contains("Time (s) to the right, x (m) downwards."), "{boundary:?}");
        assert!(picture.contains(">difference (absolute)<") && !picture.contains("last sample"), "{boundary:?}");
    }
}

/// The same in space with a boundary of each kind; the page shows a slice.
#[test]
fn heat_in_space_is_recognised() {
    let axes = vec![axis("x", 5, Boundary::Periodic), axis("y", 4, Boundary::Zero), axis("z", 6, Boundary::Replicate)];
    let root = Root::new("space");
    let plan = Heat(axes).run(&root.path, LIBRARY, EngineChoice::Native);
    let (summary, page, picture) = figures(&plan);
    let error = summary["param_mape_overall"].as_f64().unwrap();
    assert!(error < 0.01, "{error} %");
    assert!(page.contains("The slice in the middle of the first of three axes, x = \u{2212}0.500 m."));
    assert!(picture.contains(">data, last sample<"));
}

/// Networks of fields train, are adapted and drawn, on lines and in space.
#[test]
fn networks_learn_heat() {
    let line = vec![axis("x", 16, Boundary::Zero)];
    let space = vec![axis("x", 4, Boundary::Replicate), axis("y", 5, Boundary::Periodic), axis("z", 4, Boundary::Zero)];
    for (place, (axes, model)) in [
        (&line, "model = { kind = \"convnet\", layers = 2, width = 4, output_scale = 1.0 }"),
        (&line, "model = { kind = \"fno\", layers = 1, modes = 3, width = 4, projection = 8 }"),
        (&space, "model = { kind = \"convnet\", layers = 2, width = 4, output_scale = 1.0 }"),
        (&space, "model = { kind = \"fno\", layers = 1, modes = 2, width = 4, projection = 8 }"),
    ]
    .into_iter()
    .enumerate()
    {
        let root = Root::new(&format!("network-{place}"));
        let settings = format!("steps = 60\nlearning_rate = 0.01\nvalidate_every = 5\n{model}");
        let plan = Heat(axes.clone()).run(&root.path, &settings, EngineChoice::Auto);
        let (_, page, picture) = figures(&plan);
        assert!(page.contains("Fields") && picture.contains(">difference (absolute)<"), "{model}");
        let log = StoredModel::read(&plan.model_directory()).unwrap().log;
        let validation: Vec<f64> = log.iter().filter_map(|record| record.validation).collect();
        let least = validation.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(least < 0.5 * validation[0], "{model}: {validation:?}");
    }
}
