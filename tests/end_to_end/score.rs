//! Anyone's predictions, scored as the program's own are.

use nalgebra::DMatrix;
use paramill::checkpoint::StoredModel;
use paramill::dataset::Dataset;
use paramill::engine::{Compute, DeviceChoice, EngineChoice};
use paramill::estimate;
use paramill::forecast::{KnownContext, forecast};
use paramill::schema::Split;

use super::*;

const COMPUTE: Compute = Compute { device: DeviceChoice::Cpu, engine: EngineChoice::Native };

/// Rollouts of a split from its first samples, under the contexts of its environments, as a table.
fn rollouts(dataset: &Dataset, model: &StoredModel, split: Split, context: &dyn Fn(&str) -> Vec<f64>) -> String {
    let mut table = "trajectory,environment,time,x,y\n".to_owned();
    for it in dataset.read(split).unwrap() {
        let d = model.manifest.context_dimension;
        let known = KnownContext {
            context: context(&it.environment),
            covariance: DMatrix::zeros(d, d),
            degrees_of_freedom: 9.0,
        };
        let found = forecast(COMPUTE, model, &known, &it.states[..2], &it.times, &[]).unwrap();
        for (time, state) in it.times.iter().zip(found.states.chunks_exact(2)).skip(1) {
            writeln!(table, "{},{},{time},{},{}", it.trajectory, it.environment, state[0], state[1]).unwrap();
        }
    }
    table
}

fn score(root: &Path, code: i32) -> Value {
    let output = paramill(root, &["score", "datasets/pairs-set", "predictions", "--json"]);
    assert_eq!(output.status.code(), Some(code), "{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn said(scored: &Value) -> String {
    scored["problems"].to_string()
}

#[test]
fn own_predictions_have_the_figures_of_the_evaluation() {
    let root = house("pairs.toml", PAIRS);
    let summary = run(root.path(), "pairs.toml", &[], 0)["summary"].clone();
    let at = |path: &str| root.path().join(path);
    let (dataset, estimates) = (Dataset::open(&at("datasets/pairs-set")).unwrap(), at("runs/pairs/estimates"));
    let model = StoredModel::read(&at("runs/pairs/models/pairs")).unwrap();
    let (manifest, _) = estimate::Manifest::read(&estimates).unwrap();
    let adapted = estimate::read_rows(&estimates, &manifest, Split::Adapt).unwrap();
    let trained: Vec<(String, Vec<f64>)> = model
        .manifest
        .environments
        .iter()
        .map(|it| it.id.clone())
        .zip(model.own_values().map(<[f64]>::to_vec))
        .collect();
    let of_training = |id: &str| trained.iter().find(|it| it.0 == id).unwrap().1.clone();
    let of_adapted = |id: &str| adapted.iter().find(|row| row.environment == id).unwrap().context.clone();
    let in_domain = rollouts(&dataset, &model, Split::Test, &of_training);
    let adaptation = rollouts(&dataset, &model, Split::AdaptTest, &of_adapted);
    fs::create_dir(at("predictions")).unwrap();
    fs::write(at("predictions/test.csv"), &in_domain).unwrap();
    fs::write(at("predictions/adapt_test.csv"), &adaptation).unwrap();
    fs::copy(estimates.join("grid.parquet"), at("predictions/parameters_grid.parquet")).unwrap();
    let scored = score(root.path(), 0);
    let figures = [
        "mse_in_domain",
        "mape_in_domain",
        "mse_adaptation",
        "param_mape_in_hull",
        "param_mape_out_of_hull",
        "param_mape_overall",
    ];
    for figure in figures {
        let [found, expected] = [&scored["score"], &summary].map(|of| of[figure].as_f64().unwrap());
        // Rollouts of a model in single precision, in batches of another size.
        let close = if figure.contains("in_domain") || figure.starts_with("mse") { 1e-5 } else { 1e-9 };
        approx::assert_relative_eq!(found, expected, max_relative = close);
    }
    for figure in ["parameter_split", "environments_in_hull", "environments_out_of_hull"] {
        assert_eq!(scored["score"][figure], summary[figure], "{figure}");
    }
    let table = paramill(root.path(), &["score", "datasets/pairs-set", "predictions"]);
    let text = String::from_utf8(table.stdout).unwrap();
    assert!(text.contains("mse_in_domain") && text.contains("grid, "), "{text}");

    // What is left out, or is no number, leaves a figure without a value, however bad it was.
    let lines: Vec<&str> = in_domain.lines().collect();
    let without = [&lines[..3], &lines[4..]].concat().join("\n");
    let time = lines[3].split(',').nth(2).unwrap();
    let emptied = in_domain.replacen(lines[3], &format!("{},", lines[3].rsplit_once(',').unwrap().0), 1);
    let wrong = in_domain.replacen(lines[3], &format!("{},much", lines[3].rsplit_once(',').unwrap().0), 1);
    let of_one: Vec<&str> = lines.iter().filter(|line| !line.contains("train-00004")).copied().collect();
    let stranger = format!("{in_domain}00000,train-99999,1,2,3\n");
    let twice = format!("{in_domain}{}\n", lines[3]);
    let moved = (time.parse::<f64>().unwrap() * (1.0 + 1e-13)).to_string();
    let nearly = format!("{in_domain}{}\n", lines[3].replacen(&format!(",{time},"), &format!(",{moved},"), 1));
    for (text, expected) in [
        (without, format!("no time {time} of environment \\\"train-00000\\\", trajectory \\\"00000\\\"")),
        (emptied, "no number at time".to_owned()),
        (wrong, "\\\"much\\\"".to_owned()),
        (of_one.join("\n"), "nothing of environment \\\"train-00004\\\"".to_owned()),
        (stranger, "train-99999".to_owned()),
        (twice, "a second time".to_owned()),
        (nearly, format!("at the times {time} and {moved}, which are one but for rounding")),
        (in_domain.replace(",x,y\n", ",x,z\n"), "no column \\\"y\\\"".to_owned()),
    ] {
        fs::write(at("predictions/test.csv"), text).unwrap();
        let scored = score(root.path(), 3);
        assert!(
            scored["score"]["mse_in_domain"].is_null() && said(&scored).contains(&expected),
            "{expected}: {scored}"
        );
        assert!(scored["score"]["mse_adaptation"].as_f64().unwrap() > 0.0, "{scored}");
    }
    fs::remove_file(at("predictions/test.csv")).unwrap();
    fs::remove_file(at("predictions/parameters_grid.parquet")).unwrap();
    let rows = estimate::read_rows(&estimates, &manifest, Split::Grid).unwrap();
    let inside = rows.iter().find(|row| row.in_hull == Some(true)).unwrap();
    let mut parameters = "environment,beta,delta\n".to_owned();
    for row in rows.iter().filter(|row| row.environment != inside.environment) {
        writeln!(parameters, "{},{},{}", row.environment, row.parameters[0].value, row.parameters[1].value).unwrap();
    }
    fs::write(at("predictions/parameters_grid.csv"), parameters).unwrap();
    fs::write(at("predictions/tset.csv"), "").unwrap();
    let scored = score(root.path(), 3);
    assert!(
        said(&scored).contains(&format!("no such estimate of environment \\\"{}\\\"", inside.environment)),
        "{scored}"
    );
    assert_eq!(scored["not_read"], serde_json::json!(["tset.csv"]));
    let figure = |name: &str| scored["score"][name].as_f64();
    assert_eq!((figure("param_mape_in_hull"), figure("param_mape_overall")), (None, None));
    approx::assert_relative_eq!(
        figure("param_mape_out_of_hull").unwrap(),
        summary["param_mape_out_of_hull"].as_f64().unwrap(),
        max_relative = 1e-9
    );
    // What stands twice, or belongs to nothing, may be of any environment; units are those of the dataset.
    let all = |head: &str| {
        let mut table = format!("{head}\n");
        for row in &rows {
            writeln!(table, "{},{},{}", row.environment, row.parameters[0].value, row.parameters[1].value).unwrap();
        }
        table
    };
    let sound = all("environment,beta,delta");
    for (text, expected) in [
        (format!("{sound}{}\n", sound.lines().nth(1).unwrap()), "a second time"),
        (format!("{sound}grid-99999,1,1\n"), "grid-99999"),
        (all("environment,beta (1),delta"), ""),
        (all("environment,beta (%),delta"), "the unit"),
    ] {
        fs::write(at("predictions/parameters_grid.csv"), text).unwrap();
        let code = if expected.is_empty() { 0 } else { 3 };
        let scored = score(root.path(), code);
        assert!(said(&scored).contains(expected), "{scored}");
        assert_eq!(scored["score"]["param_mape_overall"].is_null(), code == 3, "{scored}");
    }
    fs::remove_file(at("predictions/parameters_grid.csv")).unwrap();
    let last = lines[lines.len() - 1].rsplit_once(',').unwrap().0;
    let body = lines[..lines.len() - 1].join("\n");
    fs::write(at("predictions/test.csv"), format!("{body}\n{last},1e300\n")).unwrap();
    let scored = score(root.path(), 3);
    assert!(scored["score"]["mse_in_domain"].is_null() && said(&scored).contains("beyond all numbers"), "{scored}");

    fs::create_dir(at("nothing")).unwrap();
    let empty = paramill(root.path(), &["score", "datasets/pairs-set", "nothing"]);
    assert!(empty.status.code() == Some(2) && stderr(&empty).contains("found no table of predictions"));

    // A model that is trained anew leaves estimates and a report of the one before, which are not shown as its own.
    let output = paramill(root.path(), &["run", "pairs.toml", "--stage", "train", "--set", "train.steps=3", "--json"]);
    let trained: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(trained["summary"].is_null() && trained["report"].is_null(), "{trained}");
    assert_eq!((&trained["environments"], &trained["statuses"]), (&serde_json::json!(0), &serde_json::json!({})));
    let compared = paramill(root.path(), &["compare", "runs/pairs", "runs/none"]);
    let said = stderr(&compared);
    assert!(compared.status.code() == Some(2) && said.contains("another product of `train`"), "{said}");
}
