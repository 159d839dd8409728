//! A picture with its words.

use crate::problems::form_of;
use crate::report::canvas::Canvas;

/// A picture with its words.
pub struct Figure {
    /// File name without its ending.
    pub name: &'static str,
    pub title: &'static str,
    /// What it shows, for those who do not see it.
    pub description: String,
    /// How to read it.
    pub caption: String,
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

/// `count` things in words: `1 environment`, `3 environments`.
pub fn counted(count: usize, noun: &str) -> String {
    let count = count as u64;
    format!("{} {}", crate::report::number::count(count), form_of(count, noun))
}
