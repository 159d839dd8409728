//! Escapes control characters in foreign texts before they are printed, since a terminal would obey them.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character is invisible: a control character, or a mark that changes the direction of text or ends a line.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// One line of text with its invisible characters escaped, as `\u{1b}`.
pub fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden, |c, escaped| write!(escaped, "{}", c.escape_unicode()))
}

/// As [`printable`] for several lines: line ends and tabs stay as they are.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden_in_line, |c, escaped| write!(escaped, "{}", c.escape_unicode()))
}

/// As [`printable_lines`] for JSON and TOML, whose strings write `\u001b`.
pub fn printable_strings(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden_in_line, |c, escaped| write!(escaped, "\\u{:04x}", u32::from(c)))
}

fn is_hidden_in_line(c: char) -> bool {
    is_hidden(c) && !matches!(c, '\n' | '\t')
}

fn escaped(
    text: &str,
    is_hidden: fn(char) -> bool,
    escape: impl Fn(char, &mut String) -> std::fmt::Result,
) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if !(is_hidden(c) && escape(c, &mut escaped).is_ok()) {
            escaped.push(c);
        }
    }
    escaped.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        let text = "a\u{1b}[31m\t\u{9b}\r\u{202e}é\nשלום ع";
        assert_eq!(printable(text), "a\\u{1b}[31m\\u{9}\\u{9b}\\u{d}\\u{202e}é\\u{a}שלום ع");
        assert_eq!(printable_lines(text), "a\\u{1b}[31m\t\\u{9b}\\u{d}\\u{202e}é\nשלום ع");
        assert_eq!(printable_strings(text), "a\\u001b[31m\t\\u009b\\u000d\\u202eé\nשלום ع");
        assert!(matches!(printable_lines("plain\n"), Cow::Borrowed(_)));
    }
}
