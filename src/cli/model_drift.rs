//! `paramill model drift`.

use serde_json::json;

use super::model_arguments::ShowDrift;
use super::model_bundle::plan;
use super::output::{number, print, print_json, table};
use crate::estimate::statuses_in_words;
use crate::pipeline::{Error, drift};
use crate::report::{DriftRun, draw_drift};

pub(crate) fn show_drift(command: &ShowDrift) -> Result<u8, Error> {
    let is_picture = |extension: &std::ffi::OsStr| extension == "svg" || extension == "png";
    if let Some(path) = command.plot.as_ref().filter(|path| !path.extension().is_some_and(is_picture)) {
        let remedy = "name a file that ends in one";
        return Err(Error::Usage(format!("--plot {}: is no .svg or .png; {remedy}", path.display())));
    }
    let drift = drift(&plan(&command.pipeline, &command.common)?)?;
    if let Some(path) = &command.plot {
        draw_drift(&drift, path).map_err(Error::Report)?;
    }
    if command.common.json {
        print_json(&json!(drift));
        return Ok(0);
    }
    let place = &drift.place;
    let mut text = match place.environments {
        0 => "no estimates by a model\n".to_owned(),
        _ => format!(
            "{} of {} estimated environments lie outside of the hull of the {} training contexts ({} looked at)\n\n",
            place.outside,
            place.examined,
            place.training.len(),
            place.examined
        ),
    };
    if drift.runs.is_empty() {
        text += "no record of a run that estimated\n";
    } else {
        text += &table(&rows(&drift.runs));
    }
    print(&text);
    Ok(0)
}

fn rows(runs: &[DriftRun]) -> Vec<Vec<String>> {
    let header = ["run", "version", "mse_validation", "mse_held_out", "trajectory_rmse", "noise", "statuses"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let shown = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    for run in runs {
        let noise: Vec<String> = run.noise.iter().map(|(name, noise)| format!("{name} {}", number(*noise))).collect();
        rows.push(vec![
            run.begun.clone(),
            run.version.clone().unwrap_or_else(|| "-".to_owned()),
            shown(run.validation),
            shown(run.held_out),
            shown(run.trajectory_rmse),
            noise.join(", "),
            statuses_in_words(&run.statuses),
        ]);
    }
    rows
}
