//! A run by jobs of Slurm, with commands in Slurm's place that run at once what is submitted. `make test-slurm` does it with Slurm itself.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

const PIPELINE: &str = r#"seed = 3
executor = "slurm"

[generate]
dataset = "pairs"
system = "lotka-volterra"

[generate.splits.adapt]
environments = "adapt"
trajectories = 2

[generate.splits.grid]
environments = "grid"
trajectories = 1
limit = 16

[estimate]
method = "physics"
splits = ["adapt", "grid"]

[report]

[slurm]
shards = 7
partition = "long"
flags = ["--qos=low"]
"#;

/// Runs a script for each task of its array, one after the other, unless one before failed; one that depends on a failure only if one did.
const SBATCH: &str = r#"#!/bin/bash
id=$(($(cat "$FAKE/id" 2>/dev/null || echo 100) + 1)); echo $id > "$FAKE/id"
echo "$*" >> "$FAKE/submitted"
tasks=none
for word in "$@"; do case $word in
  --array=*) tasks=${word#--array=};;
  --dependency=afternotok:*) [ -e "$FAKE/failed" ] && mv "$FAKE/failed" "$FAKE/noticed" || { echo $id; exit; };;
esac; done
for part in ${tasks//,/ }; do
  if [ "$part" = none ]; then list=none; else list=$(seq "${part%-*}" "${part#*-}"); fi
  for task in $list; do
    [ -e "$FAKE/failed" ] && continue
    SLURM_JOB_ID=$id SLURM_CPUS_PER_TASK=1 SLURM_ARRAY_TASK_ID=$task bash "${!#}" >> "$FAKE/log" 2>&1 || echo "$part" >> "$FAKE/failed"
  done
done
echo $id
"#;

struct House {
    root: TempDir,
}

impl House {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("pairs.toml"), PIPELINE).unwrap();
        let house = House { root };
        fs::create_dir(house.path("bin")).unwrap();
        house.command("sbatch", SBATCH);
        house.command("scontrol", "#!/bin/sh\necho 'MaxArraySize            = 5'\n");
        house.command("squeue", "#!/bin/sh\ncat \"$FAKE/queue\" 2>/dev/null || true\n");
        house
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(name)
    }

    fn command(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn paramill(&self, arguments: &[&str], code: i32) -> Output {
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        let output = Command::new(env!("CARGO_BIN_EXE_paramill"))
            .current_dir(self.root.path())
            .args(arguments)
            .env("PATH", path)
            .env("FAKE", self.root.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let log = fs::read_to_string(self.path("log")).unwrap_or_default();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}\n{log}");
        output
    }

    fn json(&self, arguments: &[&str], code: i32) -> Value {
        serde_json::from_slice(&self.paramill(arguments, code).stdout).unwrap()
    }

    fn submitted(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("submitted")).unwrap_or_default();
        text.lines().map(|line| line.replace(&format!("{}/", self.root.path().display()), "")).collect()
    }
}

fn files(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn jobs_one_after_the_other_make_what_one_machine_makes() {
    let alone = House::new();
    alone.paramill(&["run", "pairs.toml", "--executor", "local", "-q"], 0);

    let house = House::new();
    let shown = String::from_utf8(house.paramill(&["run", "pairs.toml", "--dry-run"], 8).stdout).unwrap();
    for line in [
        "# sbatch --array=0-4 generate.sh",
        "# sbatch --dependency=afterok:<generate> --kill-on-invalid-dep=yes generate-merge.sh",
        "# sbatch --array=0-4 --dependency=afterok:<generate-merge> --kill-on-invalid-dep=yes estimate.sh",
        "#SBATCH --partition=long",
        "#SBATCH --qos=low",
    ] {
        assert!(shown.lines().any(|it| it == line), "{line}\n{shown}");
    }
    assert!(!house.path("runs").exists() && house.submitted().is_empty(), "a dry run writes nothing");

    let said = house.json(&["run", "pairs.toml", "--json", "-q"], 0);
    let warning = said["warnings"][0].as_str().unwrap();
    assert!(warning.contains("generate: 7 shards are packed into 5"), "{warning}");
    let names: Vec<_> = said["jobs"].as_array().unwrap().iter().map(|job| job["name"].clone()).collect();
    assert_eq!(names, ["generate", "generate-merge", "estimate", "estimate-merge"]);
    assert_eq!(
        house.submitted()[2],
        "--parsable --array=0-4 --dependency=afterok:102 --kill-on-invalid-dep=yes runs/pairs/slurm/estimate.sh"
    );
    let same = |folder: &str| assert!(files(&alone.path(folder)) == files(&house.path(folder)), "{folder} differs");
    ["datasets/pairs/data", "datasets/pairs/hdf5", "runs/pairs/estimates"].into_iter().for_each(same);
    // Settings of Slurm make nothing anew, and there is nothing to submit.
    let again = house.json(&["run", "pairs.toml", "--set", "slurm.shards=2", "--json"], 0);
    assert_eq!((&again["jobs"], house.submitted().len()), (&json!([]), 4));
}

#[test]
fn only_what_is_missing_is_submitted_again_and_nothing_that_is_still_in_the_queue() {
    let house = House::new();
    house.paramill(&["run", "pairs.toml", "--executor", "local", "--stage", "generate", "-q"], 0);
    // The shards from 2 on fail, and nobody puts the others together.
    house.paramill(
        &["run", "pairs.toml", "-q", "--set", "slurm.setup=['[ \"$SLURM_ARRAY_TASK_ID\" != 2 ] || exit 9']"],
        0,
    );
    assert_eq!(house.submitted().len(), 2);
    let shards = || house.json(&["status", "pairs.toml", "--json"], 0)["pipelines"][0]["shards"][0].clone();
    let standing = shards();
    assert_eq!((&standing["done"], &standing["missing"]), (&json!([0, 1]), &json!([2, 3, 4])));
    assert_eq!(standing["repair"], "paramill run pairs.toml --executor slurm");

    fs::write(house.path("queue"), "103|3|RUNNING|paramill-pairs-estimate\n101|4|PENDING|paramill-pairs-estimate\n")
        .unwrap();
    let standing = shards();
    assert_eq!((&standing["waiting"], &standing["missing"]), (&json!([4]), &json!([2, 3])), "103 is of another run");
    let refused = house.json(&["run", "pairs.toml", "--json"], 6);
    assert!(refused["error"]["message"].as_str().unwrap().contains("scancel 101"), "{refused}");

    fs::remove_file(house.path("queue")).unwrap();
    fs::remove_file(house.path("failed")).unwrap();
    house.paramill(&["run", "pairs.toml", "-q"], 0);
    assert!(house.submitted()[2].starts_with("--parsable --array=2-4 "), "{:?}", house.submitted());
    assert_eq!(house.json(&["status", "pairs.toml", "--json"], 0)["pipelines"][0]["shards"], json!([]));

    house.command("scontrol", "#!/bin/sh\necho 'Unable to contact slurm controller' >&2; exit 1\n");
    let refused = house.json(&["run", "pairs.toml", "--set", "seed=4", "--json"], 1);
    assert!(refused["error"]["message"].as_str().unwrap().contains("Unable to contact"), "{refused}");
    house.paramill(&["run", "pairs.toml", "--set", "seed=4", "--dry-run"], 8);
}

#[test]
fn a_cell_whose_jobs_still_wait_keeps_no_other_cell_of_a_sweep() {
    let house = House::new();
    let sweep = format!("{PIPELINE}\n[sweep]\n[[sweep.over]]\nkey = \"seed\"\nrange = {{ from = 1, to = 2 }}\n");
    fs::write(house.path("pairs.toml"), sweep).unwrap();
    // Takes jobs, and begins none.
    let takes = SBATCH.lines().take(3).collect::<Vec<_>>().join("\n");
    house.command("sbatch", &format!("{takes}\necho $id\n"));
    let all = house.json(&["run", "pairs.toml", "--json"], 0);
    let cells = all["cells"].as_array().unwrap();
    let first = &cells[0]["submission"]["jobs"][0]["id"];
    assert_eq!((cells.len(), first), (2, &json!(101)), "{all}");
    assert_eq!(house.submitted().len(), 8);

    fs::write(house.path("queue"), "101|4|PENDING|paramill-seed-1-generate\n").unwrap();
    let again = house.json(&["run", "pairs.toml", "--json"], 6);
    let cells = again["cells"].as_array().unwrap();
    assert!(cells[0]["error"]["message"].as_str().unwrap().contains("scancel 101"), "{again}");
    assert_eq!(cells[1]["submission"]["exit_code"], 0);
    assert_eq!(house.submitted().len(), 12);
    house.paramill(&["run", "pairs.toml", "--cell", "seed-1"], 6);
}

#[test]
fn a_job_that_fails_for_good_is_told_of_once() {
    let house = House::new();
    let told = || fs::read_to_string(house.path("told")).unwrap_or_default();
    let record = || {
        let paths = fs::read_dir(house.path("runs/pairs/records")).unwrap().map(|it| it.unwrap().path());
        serde_json::from_slice::<Value>(&fs::read(paths.max().unwrap()).unwrap()).unwrap()
    };
    let listens = [
        "--set",
        "run.on_failure=['sh', '-c', 'echo \"$PARAMILL_EXIT_CODE $PARAMILL_MESSAGE\" >> \"$FAKE/told\"']",
        "--set",
        "run.metrics=pairs.prom",
    ];
    let run = |more: &[&str]| house.paramill(&[&["run", "pairs.toml", "-q"], &listens[..], more].concat(), 0);
    house.paramill(&["run", "pairs.toml", "--executor", "local", "--stage", "generate", "-q"], 0);
    // A shard that its node kills says nothing.
    run(&["--set", "slurm.setup=['[ \"$SLURM_ARRAY_TASK_ID\" != 2 ] || exit 9']"]);
    assert!(
        house.submitted()[2].starts_with("--parsable --dependency=afternotok:101?afternotok:102 "),
        "{:?}",
        house.submitted()
    );
    assert!(told().starts_with("1 estimate: shards 2-4 of 5 missing; "), "{}", told());
    let (first, metrics) = (record(), fs::read_to_string(house.path("pairs.prom")).unwrap());
    assert_eq!((&first["exit_code"], &first["error"]["kind"]), (&json!(1), &json!("failed_jobs")));
    assert!(metrics.contains("paramill_run_exit_code{pipeline=\"pairs\"} 1\n"), "{metrics}");

    // A shard that ends with an error has left it.
    let table = house.path("datasets/pairs/data/grid-00000-of-00001.parquet");
    let whole = fs::read(&table).unwrap();
    fs::write(&table, whole.iter().map(|byte| !byte).collect::<Vec<u8>>()).unwrap();
    run(&[]);
    let said = told();
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("3 estimate: shard 2 of 5 failed (2: ") && last.contains("grid-00000"), "{last}");
    fs::write(&table, whole).unwrap();

    // A run within the jobs tells of itself: nobody hears it twice.
    fs::remove_file(house.path("told")).unwrap();
    symlink("nowhere/at/all", house.path("runs/pairs/report")).unwrap();
    run(&[]);
    assert_eq!(told().lines().count(), 1, "{}", told());
    assert!(told().starts_with("1 ") && told().contains("report"), "{}", told());
    // And where all ends well, nobody does.
    fs::remove_file(house.path("told")).unwrap();
    fs::remove_file(house.path("runs/pairs/report")).unwrap();
    run(&[]);
    assert!(!house.path("told").exists() && house.path("runs/pairs/report/index.html").exists());
}
