//! `paramill model pack` and `unpack`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::kinds::{Wanted, lead_to};
use super::model_arguments::{Common, PackModel, UnpackModel};
use super::output::{print, print_json};
use crate::checkpoint::{Manifest, is_bundle, name_of_bundle, pack, unpack};
use crate::digest::sha256_of_file;
use crate::pipeline::{CURRENT, Error, Locations, Plan, find_version, versions};

/// The plan of a pipeline file whose run is where the arguments say.
pub(crate) fn plan(pipeline: &Path, common: &Common) -> Result<Plan, Error> {
    let locations = Locations { workspace: common.workspace.clone(), ..Locations::default() };
    Plan::load(pipeline, &[], &locations).map_err(Error::Problems)
}

pub(crate) fn packed(command: &PackModel) -> Result<u8, Error> {
    let directory = directory(command)?;
    is_free(&command.to, &directory)?;
    let manifest = pack(&directory, &command.to)?;
    let sha256 = sha256_of_file(&command.to).map_err(Error::io(&command.to))?;
    if command.common.json {
        print_json(&json!({ "bundle": command.to, "model": manifest.name, "directory": directory, "sha256": sha256 }));
    } else {
        print(&format!("{}: the model {}, sha256 {sha256}\n", command.to.display(), manifest.name));
    }
    Ok(0)
}

/// Only a bundle is replaced, and none is put among the files of the model.
fn is_free(to: &Path, model: &Path) -> Result<(), Error> {
    let is_there = to.symlink_metadata().ok();
    if is_there.is_some_and(|found| !found.is_file() || !is_bundle(to)) {
        let remedy = "name another file with --to, or move it away";
        return Err(Error::Usage(format!(
            "{}: is there already, and is no bundle; expected nothing, or a bundle to replace; {remedy}",
            to.display()
        )));
    }
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let real = |path: &Path| path.canonicalize().ok();
    if real(parent).zip(real(model)).is_some_and(|(parent, model)| parent.starts_with(model)) {
        let remedy = "name a file elsewhere with --to";
        return Err(Error::Usage(format!("{}: is in the directory of the model; {remedy}", to.display())));
    }
    Ok(())
}

/// The directory of the model that is to be packed.
fn directory(command: &PackModel) -> Result<PathBuf, Error> {
    if command.model.is_dir() {
        return match &command.version {
            None => {
                lead_to([(
                    command.model.as_path(),
                    (Wanted::Manifest, "the directory of a model, or a pipeline file"),
                )])?;
                Ok(command.model.clone())
            }
            Some(version) => Err(Error::Usage(format!(
                "version {version}: found it behind the directory of a model; expected it behind a pipeline file; leave one of the two out"
            ))),
        };
    }
    let plan = plan(&command.model, &command.common)?;
    match &command.version {
        None if versions(&plan).is_empty() => Ok(plan.model_directory()),
        version => Ok(find_version(&plan, version.as_deref().unwrap_or(CURRENT))?.directory),
    }
}

pub(crate) fn unpacked(command: &UnpackModel) -> Result<u8, Error> {
    lead_to([(command.bundle.as_path(), (Wanted::File, "the bundle of a model"))])?;
    let to = match &command.to {
        Some(to) => to.clone(),
        None => PathBuf::from(name_of_bundle(&command.bundle)?),
    };
    if to.symlink_metadata().is_ok() {
        let remedy = "name another directory with --to, or move it away";
        return Err(Error::Usage(format!("{}: is there already; expected nothing; {remedy}", to.display())));
    }
    unpack(&command.bundle, &to)?;
    let (manifest, sha256) = Manifest::read(&to)?;
    if command.json {
        print_json(&json!({ "directory": to, "model": manifest.name, "manifest_sha256": sha256 }));
    } else {
        print(&format!("{}: the model {}, manifest sha256 {sha256}\n", to.display(), manifest.name));
    }
    Ok(0)
}
