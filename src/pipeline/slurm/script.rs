//! The script of a job.

use std::path::Path;

use crate::pipeline::slurm_settings::{JobSettings, SlurmSettings};

/// What a job does and how it is called.
pub(crate) struct Script<'a> {
    pub name: &'a str,
    pub settings: &'a SlurmSettings,
    /// What it asks for.
    pub job: &'a JobSettings,
    /// Where it runs.
    pub directory: &'a Path,
    /// Where it writes what it prints, with the placeholders of Slurm.
    pub log: &'a Path,
    /// One after the other; words in which the shell replaces nothing, but for [`TASK`].
    pub commands: &'a [Vec<String>],
}

/// The word that stands for the number of the task in its array.
pub(crate) const TASK: &str = "$SLURM_ARRAY_TASK_ID";

/// SIGTERM goes to the shell alone, which passes it on; a program that has kept its work ends with 75 or 143, and the job, which may be one task of
/// an array, is started anew, unless it is being cancelled: then it gets SIGTERM too. The exit codes 4 (some environments failed) and 7 (a model was
/// rejected) hold nobody up who comes after, nor does 5 (all environments failed) of a table that is put together.
const STEPS: &str = r#"child=
trap 'if [ -n "$child" ]; then kill -TERM "$child" 2>/dev/null; fi' TERM INT
again() {
  case "$(scontrol -o show job "$SLURM_JOB_ID")" in *" JobState=RUNNING "*) ;; *) return 0 ;; esac
  if [ "${SLURM_RESTART_COUNT:-0}" -lt "$requeues" ]; then
    # Slurm ends this script; the sleep only keeps it from ending first.
    scontrol requeue "$SLURM_JOB_ID" && sleep 120
  fi
}
step() {
  code=0
  "$@" & child=$!
  wait "$child" || code=$?
  # The first wait ends when a signal is passed on.
  while kill -0 "$child" 2>/dev/null; do code=0; wait "$child" || code=$?; done
  case "$code $2 $3" in
    "0 "*|"4 "*|"7 "*|"5 shard merge") ;;
    "75 "*|"143 "*) again; exit "$code" ;;
    *) exit "$code" ;;
  esac
}
"#;

impl Script<'_> {
    /// The text of the script.
    pub(crate) fn text(&self) -> String {
        let JobSettings { partition, account, time, memory, cpus, gres, flags } = self.job;
        let mut lines = vec!["#!/bin/bash".to_owned()];
        let mut ask = |argument: String| lines.push(format!("#SBATCH {argument}"));
        ask(format!("--job-name={}", self.name));
        ask(format!("--chdir={}", for_slurm(self.directory)));
        ask(format!("--output={}", for_slurm(self.log)));
        // What a job printed before it was started anew stays.
        ask("--open-mode=append".to_owned());
        ask("--requeue".to_owned());
        ask(format!("--signal=B:TERM@{}", self.settings.warning_seconds));
        ask("--nodes=1".to_owned());
        ask("--ntasks=1".to_owned());
        let cpus = cpus.map(|cpus| cpus.to_string());
        let asked = [
            ("cpus-per-task", &cpus),
            ("partition", partition),
            ("account", account),
            ("time", time),
            ("mem", memory),
            ("gres", gres),
        ];
        for (name, value) in asked {
            value.iter().for_each(|value| ask(format!("--{name}={value}")));
        }
        flags.iter().for_each(|flag| ask(flag.clone()));
        lines.extend(self.settings.setup.iter().cloned());
        lines.push(format!("requeues={}", self.settings.requeues));
        let mut text = lines.join("\n") + "\n" + STEPS;
        for command in self.commands {
            text.push_str("step");
            command.iter().for_each(|word| text.push_str(&format!(" {}", for_shell(word))));
            text.push('\n');
        }
        text
    }
}

/// A path on a line of `#SBATCH`.
fn for_slurm(path: &Path) -> String {
    let path = path.display().to_string();
    if path.contains(char::is_whitespace) { format!("\"{path}\"") } else { path }
}

/// A word as a shell takes it.
fn for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match word {
        TASK => format!("\"{TASK}\""),
        word if !word.is_empty() && word.chars().all(is_plain) => word.to_owned(),
        word => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_asks_for_what_is_set_and_quotes_its_words() {
        let settings = SlurmSettings { setup: vec!["module load hdf5".to_owned()], ..SlurmSettings::default() };
        let job = JobSettings {
            gres: Some("gpu:1".to_owned()),
            flags: vec!["--qos=low".to_owned()],
            ..settings.of_job(&JobSettings::default())
        };
        let commands = [vec!["/opt/paramill".to_owned(), "it's".to_owned(), TASK.to_owned()]];
        let (directory, log) = (Path::new("/a b"), Path::new("/log/%j"));
        let text = Script { name: "n", settings: &settings, job: &job, directory, log, commands: &commands }.text();
        for line in [
            "#SBATCH --chdir=\"/a b\"",
            "#SBATCH --signal=B:TERM@120",
            "#SBATCH --cpus-per-task=1",
            "#SBATCH --gres=gpu:1",
            "#SBATCH --qos=low",
            "module load hdf5",
            r#"step /opt/paramill 'it'\''s' "$SLURM_ARRAY_TASK_ID""#,
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
        assert!(!text.contains("--mem"), "{text}");
    }
}
