//! The pictures of a report, one a file.

use super::Input;
use super::canvas::Canvas;

mod agreement;
mod cells;
mod contexts;
mod driven;
mod fields;
mod hull;
mod losses;
mod portraits;
mod trajectories;
mod error_map;

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

/// The pictures that the input has something for, in the order of the page.
pub fn all(input: &Input) -> Vec<Figure> {
    [
        error_map::figure(input),
        agreement::figure(input),
        contexts::figure(input),
        portraits::figure(input),
        trajectories::figure(input),
        fields::figure(input),
        losses::figure(input),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `count` things in words: `1 environment`, `3 environments`.
pub fn counted(count: usize, noun: &str) -> String {
    let number = super::number::count(count as u64);
    if count == 1 { format!("{number} {noun}") } else { format!("{number} {noun}s") }
}
