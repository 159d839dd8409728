//! `[slurm]` of a pipeline.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problems::{Problem, Problems};

/// What makes the stages of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExecutorChoice {
    /// By the process itself.
    #[default]
    Local,
    /// By jobs of Slurm.
    Slurm,
}

impl ExecutorChoice {
    /// Whether it is the process itself.
    pub(crate) fn is_local(&self) -> bool {
        *self == ExecutorChoice::Local
    }
}

/// `[slurm]` of a pipeline: what its jobs ask of Slurm, where `executor = "slurm"` or `--executor slurm`. The stages generate and estimate are
/// made by arrays of jobs, a shard each, the model by one job. Nothing that a stage makes depends on it, and a change of it makes nothing anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SlurmSettings {
    /// Shards of an array; by `environments` if absent. No more than Slurm's `MaxArraySize` are made: environments are packed accordingly.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "usize", range(min = 1, max = 1_000_000))]
    pub shards: Option<usize>,
    /// Environments of a shard, where their number is known before the jobs are submitted; else 16 shards are made.
    #[schemars(range(min = 1))]
    pub environments: usize,
    /// Most shards of an array that run at once; as many as there is room for if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1))]
    pub at_once: Option<u32>,
    /// Partition of all jobs; that of the cluster if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub partition: Option<String>,
    /// Account of all jobs; the user's own if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub account: Option<String>,
    /// Time limit of each job, as Slurm takes it: `30` (minutes), `2:00:00`, `1-12:00:00`. That of the partition if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub time: Option<String>,
    /// Memory of each job, as Slurm takes it: `4G`. That of the partition if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub memory: Option<String>,
    /// Processors of each job, which are its threads.
    #[schemars(range(min = 1, max = 1024))]
    pub cpus: u32,
    /// Further arguments of `sbatch`, such as `--qos=low`.
    pub flags: Vec<String>,
    /// Lines of shell at the beginning of each job, such as `module load hdf5`.
    pub setup: Vec<String>,
    /// How often a job is started anew at most after it asked for that: at its time limit, or with exit code 75. A job whose node is lost is not
    /// counted.
    #[schemars(range(max = 1000))]
    pub requeues: u32,
    /// Seconds before its time limit at which a job keeps what it has and asks to be started anew.
    #[schemars(range(min = 10, max = 65_535))]
    pub warning_seconds: u32,
    /// Other values for the shards of generate.
    #[serde(skip_serializing_if = "JobSettings::is_empty")]
    pub generate: JobSettings,
    /// Other values for the job that trains, such as `gres = "gpu:1"`.
    #[serde(skip_serializing_if = "JobSettings::is_empty")]
    pub train: JobSettings,
    /// Other values for the shards of estimate.
    #[serde(skip_serializing_if = "JobSettings::is_empty")]
    pub estimate: JobSettings,
}

impl Default for SlurmSettings {
    fn default() -> Self {
        SlurmSettings {
            shards: None,
            environments: 1000,
            at_once: None,
            partition: None,
            account: None,
            time: None,
            memory: None,
            cpus: 1,
            flags: Vec::new(),
            setup: Vec::new(),
            requeues: 3,
            warning_seconds: 120,
            generate: JobSettings::default(),
            train: JobSettings::default(),
            estimate: JobSettings::default(),
        }
    }
}

/// What the jobs of one stage ask of Slurm, where it is not what all do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct JobSettings {
    /// Partition.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub partition: Option<String>,
    /// Account.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub account: Option<String>,
    /// Time limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub time: Option<String>,
    /// Memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub memory: Option<String>,
    /// Processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 1024))]
    pub cpus: Option<u32>,
    /// Generic resources, such as `gpu:1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub gres: Option<String>,
    /// Further arguments of `sbatch`, beside those of all jobs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
}

impl JobSettings {
    fn is_empty(&self) -> bool {
        *self == JobSettings::default()
    }
}

impl SlurmSettings {
    /// The values for a job: those of its stage `own`, and of all jobs where it has none.
    pub(crate) fn of_job(&self, own: &JobSettings) -> JobSettings {
        let or = |own: &Option<String>, all: &Option<String>| own.clone().or_else(|| all.clone());
        JobSettings {
            partition: or(&own.partition, &self.partition),
            account: or(&own.account, &self.account),
            time: or(&own.time, &self.time),
            memory: or(&own.memory, &self.memory),
            cpus: own.cpus.or(Some(self.cpus)),
            gres: own.gres.clone(),
            flags: [self.flags.clone(), own.flags.clone()].concat(),
        }
    }

    /// What is wrong with the values; keys begin at the section.
    pub(crate) fn validate(&self) -> Vec<Problem> {
        let mut problems = Problems::default();
        let all = JobSettings { gres: None, ..self.of_job(&JobSettings::default()) };
        let of_stages = [("generate.", &self.generate), ("train.", &self.train), ("estimate.", &self.estimate)];
        for (section, job) in [("", &all)].into_iter().chain(of_stages) {
            let words = [
                ("partition", &job.partition),
                ("account", &job.account),
                ("time", &job.time),
                ("memory", &job.memory),
                ("gres", &job.gres),
            ];
            for (key, value) in words {
                let Some(value) = value.as_ref().filter(|value| !is_word(value)) else { continue };
                let found = format!("\"{value}\"");
                problems.add(format!("{section}{key}"), found, "one word, as `sbatch` takes it", "correct it");
            }
            for (place, flag) in job.flags.iter().enumerate().filter(|(_, flag)| !is_flag(flag)) {
                let found = format!("\"{flag}\"");
                let expected = "an argument of `sbatch` that begins with -, on one line";
                problems.add(format!("{section}flags.{place}"), found, expected, "write it as --name=value");
            }
        }
        for (place, _) in self.setup.iter().enumerate().filter(|(_, line)| line.contains('\n')) {
            problems.add(format!("setup.{place}"), "several lines", "one line each", "make it several entries");
        }
        problems.into_vec()
    }
}

fn is_word(value: &str) -> bool {
    !value.is_empty() && !value.starts_with('-') && value.chars().all(|c| c.is_ascii_graphic() && !"'\"\\".contains(c))
}

fn is_flag(flag: &str) -> bool {
    flag.starts_with('-') && flag.len() > 1 && !flag.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_may_ask_for_something_else_and_what_slurm_would_misread_is_refused() {
        let text = "partition = \"cpu\"\ncpus = 4\nflags = [\"--qos=low\"]\n[train]\npartition = \"gpu\"\ngres = \"gpu:1\"\nflags = [\"-x n3\"]\n";
        let settings: SlurmSettings = toml::from_str(text).unwrap();
        assert!(settings.validate().is_empty());
        let train = settings.of_job(&settings.train);
        let words = (train.partition.as_deref(), train.gres.as_deref(), train.cpus, train.flags.join(" "));
        assert_eq!(words, (Some("gpu"), Some("gpu:1"), Some(4), "--qos=low -x n3".to_owned()));
        assert_eq!(settings.of_job(&settings.generate).partition.as_deref(), Some("cpu"));
        let wrong = "partition = \"a b\"\nflags = [\"low\"]\nsetup = [\"a\\nb\"]\n[estimate]\ntime = \"\"\n";
        let problems = toml::from_str::<SlurmSettings>(wrong).unwrap().validate();
        let keys: Vec<&str> = problems.iter().map(|problem| problem.key.as_str()).collect();
        assert_eq!(keys, ["partition", "flags.0", "estimate.time", "setup.0"]);
    }
}
