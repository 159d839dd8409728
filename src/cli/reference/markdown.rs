//! Markdown as GitHub reads it.

use std::fmt::Write;

/// What stands at the top of every page.
pub(crate) const WRITTEN_BY: &str = "<!-- Written by `paramill reference --write docs/reference`: edit the doc comments and help texts in src/, \
                              not this file. -->\n";

/// A table; no text where there are no rows.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let line = |cells: &mut dyn Iterator<Item = String>| format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "));
    let mut text = line(&mut header.iter().map(|cell| (*cell).to_owned()));
    let _ = writeln!(text, "|{}", "---|".repeat(header.len()));
    for row in rows {
        text.push_str(&line(&mut row.iter().map(|cell| one_line(cell).replace('|', "\\|"))));
    }
    text.push('\n');
    text
}

/// A block of code.
pub(crate) fn block(language: &str, text: &str) -> String {
    format!("```{language}\n{}\n```\n\n", text.trim_end())
}

/// Text between backticks.
pub(crate) fn code(text: impl std::fmt::Display) -> String {
    format!("`{text}`")
}

/// Lines joined to one.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a link to the heading `text` says behind its `#`.
pub(crate) fn anchor(text: &str) -> String {
    let kept = text.to_lowercase();
    kept.chars()
        .filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}
