//! The commands of Slurm.

use std::process::{Command, Stdio};

use crate::pipeline::error::Error;

/// Slurm's own limit where its configuration names none.
pub(crate) const USUAL_ARRAY_SIZE: usize = 1001;

/// What a command of Slurm prints.
///
/// # Errors
/// If it is not there or fails.
fn ask(program: &'static str, arguments: &[String]) -> Result<String, Error> {
    let failed = |found: String| Error::Slurm { program, found };
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| failed(format!("cannot be started ({error})")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
        return Err(failed(format!("ended with {} ({said})", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `MaxArraySize`: one more than the greatest index of an array.
pub(crate) fn most_tasks() -> Result<usize, Error> {
    let said = ask("scontrol", &["show".to_owned(), "config".to_owned()])?;
    Ok(array_size(&said).unwrap_or(USUAL_ARRAY_SIZE))
}

fn array_size(configuration: &str) -> Option<usize> {
    let line = configuration.lines().find_map(|line| line.strip_prefix("MaxArraySize"))?;
    line.trim_start().strip_prefix('=')?.trim().parse().ok()
}

/// Submits a script; the id of its job.
pub(crate) fn submit(arguments: &[String]) -> Result<u64, Error> {
    let arguments = [&["--parsable".to_owned()], arguments].concat();
    let said = ask("sbatch", &arguments)?;
    // A cluster's name may follow the id.
    let id = said.trim().split(';').next().and_then(|id| id.parse().ok());
    id.ok_or_else(|| Error::Slurm { program: "sbatch", found: format!("printed \"{}\", which is no id", said.trim()) })
}

/// A job that Slurm knows and that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Queued {
    /// Its id; of all tasks of an array the same.
    pub job: u64,
    pub name: String,
    /// Its place in the array.
    pub task: Option<usize>,
    pub runs: bool,
}

/// The jobs of the user that have not ended.
pub(crate) fn queue() -> Result<Vec<Queued>, Error> {
    let arguments = ["--me", "--noheader", "--array", "--format=%F|%K|%T|%j"].map(str::to_owned);
    Ok(ask("squeue", &arguments)?.lines().filter_map(queued).collect())
}

fn queued(line: &str) -> Option<Queued> {
    let mut fields = line.trim().splitn(4, '|');
    let (job, task, state, name) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    Some(Queued {
        job: job.parse().ok()?,
        name: name.to_owned(),
        task: task.parse().ok(),
        runs: matches!(state, "RUNNING" | "COMPLETING" | "CONFIGURING" | "SIGNALING" | "STAGE_OUT"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_slurm_prints_is_read() {
        let config = "LogTimeFormat           = iso8601_ms\nMaxArraySize            = 4001\nMaxDBDMsgs = 20008\n";
        assert_eq!((array_size(config), array_size("")), (Some(4001), None));
        let queued = |line| queued(line).map(|it| (it.job, it.task, it.runs, it.name));
        assert_eq!(queued("12|3|RUNNING|a|b"), Some((12, Some(3), true, "a|b".to_owned())));
        assert_eq!(queued("13|N/A|PENDING|c"), Some((13, None, false, "c".to_owned())));
        assert_eq!(queued(""), None);
    }
}
