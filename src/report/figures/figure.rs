//! One figure of a report.

use crate::problems::form_of;
use crate::report::canvas::Canvas;
use crate::report::number;

/// A drawing with its title, caption and description.
pub struct Figure {
    /// File name without its ending.
    pub name: &'static str,
    /// Title of its section.
    pub title: &'static str,
    /// What it shows, for screen readers.
    pub description: String,
    /// How to read it.
    pub caption: String,
    /// The drawing.
    pub canvas: Canvas,
}

impl Figure {
    /// SVG for the page.
    pub fn inline(&self) -> String {
        self.canvas.inline(self.title, &self.description)
    }

    /// SVG as a file.
    pub fn standalone(&self) -> String {
        self.canvas.standalone(self.title, &self.description)
    }
}

/// A count with its noun: `1 environment`, `3 environments`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{} {}", number::count(count as u64), form_of(count as u64, noun))
}
