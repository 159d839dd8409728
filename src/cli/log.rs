//! The lines of the process: how they are written, and the log file that takes all of them.

use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Map, Value, json};

use super::log_arguments::{LogArguments, LogFormat};
use super::rotation::Rotation;
use crate::pipeline::{Error, now};
use crate::printable::{printable_lines, printable_strings};
use crate::regular;

/// Bytes of a megabyte.
const MEGABYTE: u64 = 1_000_000;

static LOG: OnceLock<Log> = OnceLock::new();

struct Log {
    format: LogFormat,
    /// None once it could not be written.
    file: Mutex<Option<Rotation>>,
    stage: Mutex<Option<&'static str>>,
}

/// How far a part of the work is, for a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share<'a> {
    pub part: &'a str,
    pub done: u64,
    pub total: Option<u64>,
    pub unit: &'a str,
}

/// A line, before it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    /// `info`, `warning` or `error`.
    pub level: &'static str,
    /// What kind of line it is: `begin`, `advance`, `underway`, `note`, `warning`, `end`, `message`, `error`, `run_end`.
    pub event: &'static str,
    /// The plain line.
    pub text: &'a str,
    pub share: Option<Share<'a>>,
}

impl<'a> Entry<'a> {
    pub(crate) fn new(event: &'static str, text: &'a str) -> Self {
        let level = if matches!(event, "warning" | "error") { event } else { "info" };
        Entry { level, event, text, share: None }
    }

    /// A message that is known by its words alone.
    pub(crate) fn of_words(text: &'a str) -> Self {
        let event = ["warning", "error"].into_iter().find(|level| text.starts_with(&format!("{level}: ")));
        Entry::new(event.unwrap_or("message"), text)
    }

    fn json(&self, stage: Option<&str>) -> String {
        let message = self.text.strip_prefix(&format!("{}: ", self.level)).unwrap_or(self.text);
        let mut object = Map::from_iter([
            ("time".to_owned(), json!(now())),
            ("level".to_owned(), json!(self.level)),
            ("stage".to_owned(), json!(stage)),
            ("event".to_owned(), json!(self.event)),
            ("message".to_owned(), json!(message)),
        ]);
        if let Some(Share { part, done, total, unit }) = self.share {
            object.insert("part".to_owned(), json!(part));
            object.insert("done".to_owned(), json!(done));
            object.insert("total".to_owned(), json!(total));
            object.insert("unit".to_owned(), json!(unit));
        }
        printable_strings(&Value::Object(object).to_string()).into_owned()
    }
}

/// Takes the arguments of the process. Further calls do nothing.
///
/// # Errors
/// If the log file cannot be opened, or is no regular file.
pub(crate) fn begin(arguments: &LogArguments) -> Result<(), Error> {
    let open = |path: &Path| match regular::special(path) {
        Some(found) => {
            Err(Error::Usage(format!("{}: {found}; expected a file for --log-file; name another path", path.display())))
        }
        None => {
            let opened = Rotation::open(path, arguments.log_size * MEGABYTE, arguments.log_files);
            opened.map_err(Error::io(path))
        }
    };
    let file = arguments.log_file.as_deref().map(open).transpose()?;
    let _ = LOG.set(Log { format: arguments.log_format, file: Mutex::new(file), stage: Mutex::default() });
    Ok(())
}

/// Whether lines are JSON.
pub(crate) fn is_json() -> bool {
    LOG.get().is_some_and(|log| log.format == LogFormat::Json)
}

/// Whether there is a log file.
pub(crate) fn has_file() -> bool {
    LOG.get().is_some_and(|log| log.file.lock().unwrap_or_else(PoisonError::into_inner).is_some())
}

/// What follows is of this stage, or of none.
pub(crate) fn enter(stage: Option<&'static str>) {
    if let Some(log) = LOG.get() {
        *log.stage.lock().unwrap_or_else(PoisonError::into_inner) = stage;
    }
}

/// The line as it is written to stderr.
pub(crate) fn shown(entry: &Entry<'_>) -> String {
    match LOG.get().filter(|log| log.format == LogFormat::Json) {
        Some(log) => entry.json(*log.stage.lock().unwrap_or_else(PoisonError::into_inner)),
        None => printable_lines(entry.text).into_owned(),
    }
}

/// Appends the line to the log file, if there is one.
///
/// # Errors
/// Once, in words, if the file cannot be written; there is none any more then.
pub(crate) fn keep(entry: &Entry<'_>) -> Result<(), String> {
    let Some(log) = LOG.get() else { return Ok(()) };
    let line = match log.format {
        LogFormat::Json => shown(entry),
        LogFormat::Text => format!("{} {}", now(), printable_lines(entry.text)),
    };
    let mut file = log.file.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(Err(error)) = file.as_mut().map(|file| file.write(&line)) else { return Ok(()) };
    *file = None;
    Err(format!("warning: the log file cannot be written ({error}), and is left as it is; the run goes on without it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_line_of_json_with_its_words_and_figures() {
        let entry = Entry {
            share: Some(Share { part: "train", done: 3, total: Some(9), unit: "steps" }),
            ..Entry::new("advance", "train: 3/9\nsteps")
        };
        let line = entry.json(Some("train"));
        let value: Value = serde_json::from_str(&line).unwrap();
        assert!(!line.contains('\n'), "{line}");
        assert_eq!(
            (&value["stage"], &value["done"], &value["message"]),
            (&json!("train"), &json!(3), &json!("train: 3/9\nsteps"))
        );
        let warned: Value = serde_json::from_str(&Entry::of_words("warning: no room").json(None)).unwrap();
        assert_eq!(
            (&warned["level"], &warned["event"], &warned["message"], &warned["stage"]),
            (&json!("warning"), &json!("warning"), &json!("no room"), &Value::Null)
        );
        assert_eq!(Entry::of_words("stopping").level, "info");
    }
}
