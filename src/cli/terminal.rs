//! Progress on stderr: bars on a terminal, lines otherwise. On a terminal a training has a second line, with its losses.

use std::fmt;
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressState, ProgressStyle};

use super::log;
use super::log::{Entry, Share};
use super::losses::Losses;
use super::output::{keep, print_entry};
use super::resident::resident_mib;
use crate::printable::printable;
use crate::progress::{Event, Look, Observer};

/// Least time between two progress lines of one part.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// The same within one unit of work: a log of a whole night stays short.
const UNDERWAY_EVERY: Duration = Duration::from_secs(60);

/// How events are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Warnings only.
    Quiet,
    /// Lines.
    Plain,
    /// Bars.
    Bars,
}

impl Style {
    /// Bars if stderr is a terminal that can move its cursor and lines are not JSON, else lines; quiet if asked for.
    pub(crate) fn detect(quiet: bool) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|name| name == "dumb");
        match (quiet, std::io::stderr().is_terminal() && !is_dumb && !log::is_json()) {
            (true, _) => Style::Quiet,
            (false, true) => Style::Bars,
            (false, false) => Style::Plain,
        }
    }
}

/// A part of the work in progress.
struct Part {
    what: String,
    total: Option<u64>,
    unit: &'static str,
    begun: Instant,
    /// Units done at the first event, and its time. Units of an earlier run that is resumed must not count in the rate.
    first: Option<(u64, Instant)>,
    last_line: Instant,
    /// What was said when the last unit was done.
    note: String,
    /// Whether it is a part of a training, which looks at losses.
    has_looked: bool,
    bar: Option<ProgressBar>,
    /// The line of the losses, below the bar.
    losses_line: Option<ProgressBar>,
}

impl Part {
    fn clear(&self) {
        for line in [&self.losses_line, &self.bar].into_iter().flatten() {
            line.finish_and_clear();
        }
    }
}

/// Shows events on stderr.
pub(crate) struct Terminal {
    style: Style,
    bars: MultiProgress,
    parts: Mutex<Vec<Part>>,
    warnings: Mutex<Vec<String>>,
    /// Of the training that runs.
    losses: Mutex<Losses>,
}

impl Terminal {
    pub(crate) fn new(style: Style) -> Self {
        Terminal {
            style,
            bars: MultiProgress::new(),
            parts: Mutex::default(),
            warnings: Mutex::default(),
            losses: Mutex::default(),
        }
    }

    /// Clears the bars of unfinished parts.
    pub(crate) fn close(&self) {
        self.parts().drain(..).for_each(|part| part.clear());
    }

    /// The warnings so far, in the order in which they came.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn parts(&self) -> std::sync::MutexGuard<'_, Vec<Part>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a line in the log file, and prints it if it is `printed`.
    fn say(&self, entry: &Entry<'_>, printed: bool) {
        keep(entry);
        match self.style {
            _ if !printed => {}
            Style::Bars => self.bars.suspend(|| print_entry(entry)),
            Style::Plain | Style::Quiet => print_entry(entry),
        }
    }

    /// How the run ended: for the log, whose reader does not see the result.
    pub(crate) fn ended(&self, text: &str) {
        log::enter(None);
        self.say(&Entry::new("run_end", text), log::is_json() && self.style != Style::Quiet);
    }

    fn begin(&self, what: String, total: Option<u64>, unit: &'static str) {
        let now = Instant::now();
        let bar = (self.style == Style::Bars).then(|| {
            let bar = match total {
                Some(total) => ProgressBar::new(total),
                None => ProgressBar::new_spinner(),
            };
            let prefix = printable(&what).into_owned();
            let bar = self.bars.add(bar).with_style(bar_style(total.is_some(), unit)).with_prefix(prefix);
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        let line = match total {
            Some(total) => format!("{what}: begins, {total} {unit}"),
            None => format!("{what}: begins"),
        };
        let share = Some(Share { part: &what, done: 0, total, unit });
        self.say(&Entry { share, ..Entry::new("begin", &line) }, self.style == Style::Plain);
        self.parts().push(Part {
            what,
            total,
            unit,
            begun: now,
            first: None,
            last_line: now,
            note: String::new(),
            has_looked: false,
            bar,
            losses_line: None,
        });
    }

    fn advance(&self, done: u64, note: &str) {
        let mut parts = self.parts();
        let Some(part) = parts.last_mut() else { return };
        note.clone_into(&mut part.note);
        let (first, since) = *part.first.get_or_insert((done, Instant::now()));
        if let Some(bar) = &part.bar {
            bar.set_position(done);
            bar.set_message(printable(note).into_owned());
        }
        if self.writes_lines() && part.last_line.elapsed() >= LINE_EVERY {
            part.last_line = Instant::now();
            let (what, total, unit) = (part.what.clone(), part.total, part.unit);
            let has_looked = part.has_looked;
            drop(parts);
            let notes = if has_looked { self.with_losses(note) } else { note.to_owned() };
            let line = advance_line(&what, (first, done), total, unit, since.elapsed(), &notes);
            let share = Some(Share { part: &what, done, total, unit });
            self.say(&Entry { share, ..Entry::new("advance", &line) }, self.style == Style::Plain);
        }
    }

    /// A training stands so: below the bar of the part, and aligned with it, the memory, the curve and the losses.
    fn look(&self, look: Look) {
        let mut losses = self.losses();
        losses.add(look);
        let mut parts = self.parts();
        let Some(part) = parts.last_mut() else { return };
        part.has_looked = true;
        let Some(bar) = &part.bar else { return };
        let line = part.losses_line.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{prefix:>12} {wide_msg}");
            let line = ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            self.bars.insert_after(bar, line)
        });
        line.set_prefix(resident_mib().map_or_else(String::new, |mib| format!("{mib} MiB")));
        line.set_message(format!("{} {}", losses.curve(), losses.words()));
    }

    fn losses(&self) -> std::sync::MutexGuard<'_, Losses> {
        self.losses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The note of a training, with the losses and the memory.
    fn with_losses(&self, note: &str) -> String {
        let memory = resident_mib().map_or_else(String::new, |mib| format!(", {mib} MiB"));
        format!("{note}, {}{memory}", self.losses().words())
    }

    fn underway(&self, text: &str) {
        let mut parts = self.parts();
        let Some(part) = parts.last_mut() else { return };
        if let Some(bar) = &part.bar {
            let notes: Vec<&str> = [text, &part.note].into_iter().filter(|note| !note.is_empty()).collect();
            bar.set_message(printable(&notes.join("; ")).into_owned());
        }
        if self.writes_lines() && part.last_line.elapsed() >= UNDERWAY_EVERY {
            part.last_line = Instant::now();
            let line = format!("{}: {text}", part.what);
            drop(parts);
            self.say(&Entry::new("underway", &line), self.style == Style::Plain);
        }
    }

    fn end(&self) {
        let Some(part) = self.parts().pop() else { return };
        part.clear();
        let line = format!("{}: done in {}", part.what, duration(part.begun.elapsed().as_secs_f64()));
        self.say(&Entry::new("end", &line), self.style != Style::Quiet);
    }

    /// Whether anyone reads lines of progress.
    fn writes_lines(&self) -> bool {
        self.style == Style::Plain || log::has_file()
    }
}

impl Observer for Terminal {
    fn observe(&self, event: Event) {
        match event {
            Event::Stage(name) => {
                *self.losses() = Losses::default();
                log::enter(Some(name));
            }
            Event::Warn(text) => {
                self.say(&Entry::new("warning", &format!("warning: {text}")), true);
                self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            }
            _ if self.style == Style::Quiet && !log::has_file() => {}
            Event::Begin { what, total, unit } => self.begin(what, total, unit),
            Event::Advance { done, note } => self.advance(done, &note),
            Event::Look(look) => self.look(look),
            Event::Underway(text) => self.underway(&text),
            Event::Note(text) => self.say(&Entry::new("note", &text), self.style != Style::Quiet),
            Event::End => self.end(),
        }
    }
}

fn bar_style(bounded: bool, unit: &str) -> ProgressStyle {
    let template = match (bounded, unit) {
        (true, _) => {
            format!("{{prefix:<12}} {{bar:20.cyan}} {{pos}}/{{len}} {unit} {{rate}} {{eta}} left {{wide_msg}}")
        }
        (false, "") => "{prefix:<12} {spinner} {elapsed} {wide_msg}".to_owned(),
        (false, _) => format!("{{prefix:<12}} {{spinner}} {{pos}} {unit} {{rate}} {{elapsed}} {{wide_msg}}"),
    };
    let rate = |state: &ProgressState, to: &mut dyn fmt::Write| {
        let _ = write!(to, "{:.1}/s", state.per_sec());
    };
    ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("rate", rate)
}

/// One progress line; `elapsed` is the time since `first` units were done.
fn advance_line(
    what: &str,
    (first, done): (u64, u64),
    total: Option<u64>,
    unit: &str,
    elapsed: Duration,
    note: &str,
) -> String {
    let seconds = elapsed.as_secs_f64();
    let rate = if seconds > 0.0 { done.saturating_sub(first) as f64 / seconds } else { 0.0 };
    let mut line = match total {
        Some(total) => format!("{what}: {done}/{total} {unit}"),
        None => format!("{what}: {done} {unit}"),
    };
    if rate > 0.0 {
        line.push_str(&format!(", {rate:.1}/s"));
    }
    if let Some(total) = total.filter(|&total| rate > 0.0 && total >= done) {
        line.push_str(&format!(", {} left", duration((total - done) as f64 / rate)));
    }
    if !note.is_empty() {
        line.push_str(&format!(", {note}"));
    }
    line
}

/// A duration in readable units.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match whole {
        0..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        assert_eq!(duration(0.04), "0.0 s");
        assert_eq!(duration(12.34), "12.3 s");
        assert_eq!(duration(75.2), "1 min 15 s");
        assert_eq!(duration(7384.0), "2 h 03 min");
    }

    #[test]
    fn a_line_has_the_rate_and_the_time_left() {
        let line = advance_line("train", (0, 300), Some(1200), "steps", Duration::from_secs(10), "loss 1e-3");
        assert_eq!(line, "train: 300/1200 steps, 30.0/s, 30.0 s left, loss 1e-3");
    }

    #[test]
    fn what_was_done_before_says_nothing_of_the_rate() {
        let line = |done| advance_line("train", (1000, done), Some(1200), "steps", Duration::from_secs(10), "");
        assert_eq!(line(1000), "train: 1000/1200 steps");
        assert_eq!(line(1100), "train: 1100/1200 steps, 10.0/s, 10.0 s left");
    }
}
