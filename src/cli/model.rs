//! `paramill model`.

use serde_json::{Map, Value, json};

use super::model_arguments::{
    DiffVersions, ListVersions, ModelCommand, PromoteVersion, PruneVersions, RollBack, ShowVersion,
};
use super::model_bundle::{packed, plan, unpacked};
use super::model_drift::show_drift;
use super::output::{number, print, print_json, table};
use crate::checkpoint::{MAP_FILE, Manifest, WEIGHTS_FILE};
use crate::dataset::changes;
use crate::pipeline::{
    Act, AuditEntry, CURRENT, Error, Figures, Plan, Retention, Version, audit, find_version, promote, prune, rejection,
    rollback, versions,
};

pub(crate) fn model(command: &ModelCommand) -> Result<u8, Error> {
    match command {
        ModelCommand::List(command) => list(command),
        ModelCommand::Show(command) => show(command),
        ModelCommand::Diff(command) => compare(command),
        ModelCommand::Promote(command) => promoted(command),
        ModelCommand::Rollback(command) => rolled_back(command),
        ModelCommand::Prune(command) => pruned(command),
        ModelCommand::Drift(command) => show_drift(command),
        ModelCommand::Pack(command) => packed(command),
        ModelCommand::Unpack(command) => unpacked(command),
    }
}

fn list(command: &ListVersions) -> Result<u8, Error> {
    let plan = plan(&command.pipeline, &command.common)?;
    let all = versions(&plan);
    if command.common.json {
        let all = all.iter().map(|version| as_json(&plan, version)).collect::<Result<Vec<_>, Error>>()?;
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
        let is_rejected = || rejection(&plan, &version.name).is_some();
        let in_use = match version.current {
            true => CURRENT,
            false if is_rejected() => "rejected",
            false => "",
        };
        let (steps, validation) = (manifest.training.steps.to_string(), number(manifest.training.validation));
        let map = if has_map(&manifest) { "yes" } else { "none" };
        rows.push(vec![version.name.clone(), in_use.to_owned(), steps, validation, map.to_owned()]);
    }
    print(&table(&rows));
    Ok(0)
}

fn show(command: &ShowVersion) -> Result<u8, Error> {
    let plan = plan(&command.pipeline, &command.common)?;
    let version = find_version(&plan, &command.version)?;
    let (manifest, sha256) = Manifest::read(&version.directory)?;
    let of_it: Vec<AuditEntry> = audit(&plan).into_iter().filter(|it| it.to == version.name).collect();
    if command.common.json {
        let mut value = as_json(&plan, &version)?;
        value["manifest_sha256"] = json!(sha256);
        value["audit"] = json!(of_it);
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
        let by = match it.act {
            Act::Run => "the run of process",
            Act::Promote if it.forced => "`paramill model promote --force`, process",
            Act::Promote => "`paramill model promote`, process",
            Act::Rollback => "`paramill model rollback`, process",
            Act::Rejected => "the gate of the run of process",
        };
        let what = if it.act == Act::Rejected { "rejected" } else { "came into use" };
        line(what, format!("{}{from}: {}, by {by} {}", it.time, it.why, it.process))
    }));
    if let Some(gate) = of_it.iter().rev().find_map(|it| it.gate.as_ref()) {
        let set = format!("{} trajectories, {} environments", gate.trajectories, gate.environments);
        rows.push(line("judged on", format!("{set}, sha256 {}", gate.sha256)));
        rows.push(line("it had", in_words(&gate.candidate)));
        rows.push(line("the one in use had", in_words(&gate.current)));
    }
    print(&table(&rows));
    Ok(0)
}

fn in_words(figures: &Figures) -> String {
    let error = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), number);
    let share = |value: Option<f64>| error(value.map(|value| 100.0 * value));
    format!(
        "mean squared error {}, error of parameters {} %, {} % of the environments failed; 95 % intervals hold {} % of the known parameters and \
         {} % of the held-out values",
        error(figures.squared_error),
        error(figures.parameter_error),
        number(100.0 * figures.failed),
        share(figures.coverage),
        share(figures.forecast_coverage)
    )
}

/// Exit code for versions that differ.
const DIFFERENT: u8 = 3;

fn compare(command: &DiffVersions) -> Result<u8, Error> {
    let plan = plan(&command.pipeline, &command.common)?;
    let (a, b) = (find_version(&plan, &command.a)?, find_version(&plan, &command.b)?);
    let ((of_a, _), (of_b, _)) = (Manifest::read(&a.directory)?, Manifest::read(&b.directory)?);
    let rows = |part: fn(&Manifest) -> Value| changes(&part(&of_a), &part(&of_b));
    let settings = rows(|it| json!({ "settings": it.provenance.configuration, "seed": it.provenance.seed }));
    let made_by = rows(|it| json!({ "tool": it.provenance.tool, "algorithm": it.provenance.algorithm }));
    let data = rows(|it| {
        let parents = it.provenance.parents.iter().map(|parent| (parent.name.clone(), json!(parent.sha256)));
        json!({ "parents": parents.collect::<Map<String, Value>>(), "environments": it.environments.len() })
    });
    let figures = rows(|it| json!(it.training));
    let is_same = |path: &str| {
        let digest =
            |manifest: &Manifest| manifest.files.iter().find(|file| file.path == path).map(|file| file.sha256.clone());
        digest(&of_a) == digest(&of_b)
    };
    let (weights, map) = (is_same(WEIGHTS_FILE), is_same(MAP_FILE));
    let exit_code = if weights && map { 0 } else { DIFFERENT };
    if command.common.json {
        let listed = |rows: &[(String, String, String)]| -> Vec<Value> {
            rows.iter().map(|(key, a, b)| json!({ "key": key, "a": a, "b": b })).collect()
        };
        print_json(&json!({
            "a": a.name,
            "b": b.name,
            "made_by": listed(&made_by),
            "settings": listed(&settings),
            "data": listed(&data),
            "figures": listed(&figures),
            "weights_same": weights,
            "map_same": map,
            "exit_code": exit_code,
        }));
        return Ok(exit_code);
    }
    let mut lines = vec![["what", a.name.as_str(), b.name.as_str()].map(str::to_owned).to_vec()];
    for (key, of_a, of_b) in made_by.into_iter().chain(settings).chain(data).chain(figures) {
        lines.push(vec![key, of_a, of_b]);
    }
    for (what, same) in [("weights", weights), ("map", map)] {
        lines.push(vec![what.to_owned(), String::new(), if same { "the same" } else { "different" }.to_owned()]);
    }
    print(&table(&lines));
    Ok(exit_code)
}

fn promoted(command: &PromoteVersion) -> Result<u8, Error> {
    let plan = plan(&command.pipeline, &command.common)?;
    let why = command.reason.as_deref().unwrap_or("by hand");
    match promote(&plan, &command.version, why, command.force)? {
        Some(moved) => tell(&moved, command.common.json),
        None if command.common.json => print_json(&json!({ "to": find_version(&plan, CURRENT)?.name, "moved": false })),
        None => print(&format!("{} is in use already\n", find_version(&plan, CURRENT)?.name)),
    }
    Ok(0)
}

fn rolled_back(command: &RollBack) -> Result<u8, Error> {
    let plan = plan(&command.pipeline, &command.common)?;
    tell(&rollback(&plan, command.reason.as_deref().unwrap_or("by hand"))?, command.common.json);
    Ok(0)
}

/// Prints what is in use now, and what was before.
fn tell(moved: &AuditEntry, as_json: bool) {
    if as_json {
        let mut value = json!(moved);
        value["moved"] = json!(true);
        return print_json(&value);
    }
    let before = moved.from.as_ref().map_or_else(String::new, |from| format!(", after {from}"));
    print(&format!("{} is in use now{before}\n", moved.to));
}

fn pruned(command: &PruneVersions) -> Result<u8, Error> {
    let plan = plan(&command.pipeline, &command.common)?;
    let retention =
        Retention { newest: command.keep.unwrap_or_default(), days: command.older_than.unwrap_or_default() };
    let done = prune(&plan, retention)?;
    if command.common.json {
        let stayed: Vec<Value> = done.stayed.iter().map(|(name, why)| json!({ "version": name, "why": why })).collect();
        print_json(&json!({ "removed": done.removed, "stayed": stayed }));
        return Ok(0);
    }
    let removed = done.removed.iter().map(|name| format!("removed {name}\n"));
    let stayed = done.stayed.iter().map(|(name, why)| format!("{name} stays: {why}\n"));
    let said: String = removed.chain(stayed).collect();
    print(if said.is_empty() { "nothing to remove\n" } else { &said });
    Ok(0)
}

fn has_map(manifest: &Manifest) -> bool {
    manifest.files.iter().any(|file| file.path == MAP_FILE)
}

fn as_json(plan: &Plan, version: &Version) -> Result<Value, Error> {
    let (manifest, _) = Manifest::read(&version.directory)?;
    let mut value = json!(version);
    value["training"] = json!(manifest.training);
    value["provenance"] = json!({ "tool": manifest.provenance.tool, "seed": manifest.provenance.seed });
    value["rejected"] = json!(rejection(plan, &version.name).map(|entry| entry.why));
    value["has_map"] = json!(has_map(&manifest));
    Ok(value)
}
