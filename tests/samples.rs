//! The sample datasets of the repository are whole, and what their pipelines make.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

/// Their names, as `.gitignore` has them.
fn samples() -> Vec<String> {
    let ignored = fs::read_to_string(root().join(".gitignore")).unwrap();
    let kept = ignored.lines().filter_map(|line| line.strip_prefix("!/datasets/"));
    let names: Vec<String> = kept.filter(|name| !name.contains('.')).map(str::to_owned).collect();
    assert!(!names.is_empty());
    names
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What the command prints in the root of the repository, after its exit code has been held to 0.
fn paramill(arguments: &[&str]) -> String {
    let output = Command::cargo_bin("paramill").unwrap().current_dir(root()).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_sample_verifies() {
    for name in samples() {
        let directory = format!("datasets/{name}");
        assert_eq!(paramill(&["dataset", "verify", &directory]), format!("{directory}: no problems\n"));
        let table = fs::read_to_string(root().join("datasets/README.md")).unwrap();
        assert!(table.contains(&format!("({name}/README.md)")), "datasets/README.md does not name {name}");
    }
}

#[test]
fn every_sample_is_made_again_to_the_byte() {
    let place = tempfile::tempdir().unwrap();
    for name in samples() {
        let directory = format!("datasets/{name}");
        let again = place.path().join(&name).display().to_string();
        let said = paramill(&["dataset", "regenerate", &directory, "--to", &again]);
        assert_eq!(said, format!("{again}: byte for byte the same as {directory}\n"));
    }
}

/// The pipeline takes the sample for its own product, instead of wanting to make it.
#[test]
fn every_sample_is_what_its_pipeline_makes() {
    let workspace = tempfile::tempdir().unwrap();
    for name in samples() {
        let pipeline = format!("pipelines/{name}.toml");
        let at = workspace.path().display().to_string();
        let said = paramill(&["run", &pipeline, "--workspace", &at, "--stage", "generate", "--dry-run", "--json"]);
        let decisions: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(decisions["stages"][0]["stage"], "generate", "{said}");
        assert_eq!(decisions["stages"][0]["action"], "adopt", "{said}");
    }
}
