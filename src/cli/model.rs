//! `paramill model`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::model_arguments::{ListVersions, ModelCommand, ShowVersion};
use super::output::{number, print, print_json, table};
use crate::checkpoint::Manifest;
use crate::pipeline::{CURRENT, Error, Locations, Move, Plan, Version, moves, versions};

pub(crate) fn model(command: &ModelCommand) -> Result<u8, Error> {
    match command {
        ModelCommand::List(command) => list(command),
        ModelCommand::Show(command) => show(command),
    }
}

fn plan(pipeline: &Path, workspace: Option<&PathBuf>) -> Result<Plan, Error> {
    let locations = Locations { workspace: workspace.cloned(), ..Locations::default() };
    Plan::load(pipeline, &[], &locations).map_err(Error::Problems)
}

fn list(command: &ListVersions) -> Result<u8, Error> {
    let plan = plan(&command.pipeline, command.workspace.as_ref())?;
    let all = versions(&plan);
    if command.json {
        let all = all.iter().map(as_json).collect::<Result<Vec<_>, Error>>()?;
        print_json(&json!({ "pipeline": plan.name, "versions": all }));
        return Ok(0);
    }
    if all.is_empty() {
        print(&format!(
            "no versions in {}; `run.models` says how many are kept\n",
            plan.versions_directory().display()
        ));
        return Ok(0);
    }
    let mut rows = vec![["version", "in use", "steps", "mse_validation", "map"].map(str::to_owned).to_vec()];
    for version in &all {
        let (manifest, _) = Manifest::read(&version.directory)?;
        let in_use = if version.current { CURRENT } else { "" };
        let (steps, validation) = (manifest.training.steps.to_string(), number(manifest.training.validation));
        let map = if has_map(&manifest) { "yes" } else { "none" };
        rows.push(vec![version.name.clone(), in_use.to_owned(), steps, validation, map.to_owned()]);
    }
    print(&table(&rows));
    Ok(0)
}

fn show(command: &ShowVersion) -> Result<u8, Error> {
    let plan = plan(&command.pipeline, command.workspace.as_ref())?;
    let version = find(&plan, &command.version)?;
    let (manifest, sha256) = Manifest::read(&version.directory)?;
    let of_it: Vec<Move> = moves(&plan).into_iter().filter(|it| it.to == version.name).collect();
    if command.json {
        let mut value = as_json(&version)?;
        value["manifest_sha256"] = json!(sha256);
        value["moves"] = json!(of_it);
        print_json(&value);
        return Ok(0);
    }
    let line = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        line("version", version.name.clone()),
        line("directory", version.directory.display().to_string()),
        line("in use", if version.current { "yes" } else { "no" }.to_owned()),
        line("made by", manifest.provenance.tool.clone()),
        line("training", format!("{} steps, {} environments", manifest.training.steps, manifest.environments.len())),
        line("mse_validation", number(manifest.training.validation)),
        line("map", if has_map(&manifest) { "yes" } else { "none" }.to_owned()),
        line("manifest", format!("sha256 {sha256}")),
    ];
    rows.extend(of_it.iter().map(|it| {
        let from = it.from.as_ref().map_or_else(String::new, |from| format!(", after {from}"));
        line("came into use", format!("{}{from}: {}, by the run of process {}", it.time, it.why, it.process))
    }));
    print(&table(&rows));
    Ok(0)
}

/// The version of this name, or the only one whose name begins or ends so.
fn find(plan: &Plan, name: &str) -> Result<Version, Error> {
    let all = versions(plan);
    let is_it = |it: &&Version| match name {
        CURRENT => it.current,
        name => it.name.starts_with(name) || it.name.ends_with(name),
    };
    let found: Vec<&Version> = all.iter().filter(is_it).collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        found => Err(Error::Unrecognised {
            path: plan.versions_directory(),
            found: format!("{} versions `{name}`", found.len()),
            expected: format!("one; `paramill model list` names the {} that are there", all.len()),
        }),
    }
}

fn has_map(manifest: &Manifest) -> bool {
    manifest.files.iter().any(|file| file.path == crate::checkpoint::MAP_FILE)
}

fn as_json(version: &Version) -> Result<Value, Error> {
    let (manifest, _) = Manifest::read(&version.directory)?;
    let mut value = json!(version);
    value["training"] = json!(manifest.training);
    value["provenance"] = json!({ "tool": manifest.provenance.tool, "seed": manifest.provenance.seed });
    value["has_map"] = json!(has_map(&manifest));
    Ok(value)
}
