//! Settings as lines of TOML with comments.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::dataset::RESERVED;
use crate::units::{Unit, is_dash};

/// Settings that are being written.
#[derive(Default)]
pub(crate) struct Toml {
    pub text: String,
    /// Names of quantities that are taken.
    names: BTreeSet<String>,
}

impl Toml {
    /// Adds a line.
    pub(super) fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a key with a string, and a comment unless `note` is empty.
    pub(super) fn pair(&mut self, key: &str, value: &str, note: &str) {
        let note = if note.is_empty() { String::new() } else { format!("    # {note}") };
        self.line(&format!("{key} = {}{note}", quoted(value)));
    }

    /// A name for a quantity that no other has.
    pub(super) fn name(&mut self, name: &str) -> String {
        let mut identifier = identifier(name);
        while RESERVED.contains(&identifier.as_str()) || !self.names.insert(identifier.clone()) {
            identifier.push_str("_2");
        }
        identifier
    }

    /// Adds a unit; `whence` says where it was found.
    pub(super) fn unit(&mut self, unit: Option<&str>, whence: &str) {
        match unit {
            Some(unit) if is_dash(unit) => self.pair("unit", "1", whence),
            Some(unit) if Unit::parse(unit).is_some() => self.pair("unit", unit, whence),
            Some(unit) => self.pair("unit", unit, &format!("{whence}; spell it as UDUNITS does")),
            None => self.pair("unit", "1", "not said in the file: correct it"),
        }
    }
}

/// The name in lower-case letters, digits and `_`, starting with a letter.
pub(crate) fn identifier(name: &str) -> String {
    let mut identifier = String::new();
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => identifier.push(c.to_ascii_lowercase()),
            _ if !identifier.ends_with('_') && !identifier.is_empty() => identifier.push('_'),
            _ => {}
        }
    }
    let identifier = identifier.trim_matches('_');
    if identifier.starts_with(|c: char| c.is_ascii_alphabetic()) {
        identifier.to_owned()
    } else {
        format!("x{identifier}")
    }
}

/// A TOML string on one line, so that it may stand in a comment or be a key.
pub(crate) fn quoted(text: &str) -> String {
    let quoted = toml::Value::String(text.to_owned()).to_string();
    match quoted.contains('\n') {
        // JSON strings are TOML strings, except for one character.
        true => serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f"),
        false => quoted,
    }
}

/// An array of strings.
pub(crate) fn list<'a>(items: impl Iterator<Item = &'a String>) -> String {
    let mut text = String::from("[");
    for (i, item) in items.enumerate() {
        let _ = write!(text, "{}{}", if i > 0 { ", " } else { "" }, quoted(item));
    }
    text + "]"
}

/// A name as a key of TOML.
pub(crate) fn key(name: &str) -> String {
    let is_bare =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if is_bare { name.to_owned() } else { quoted(name) }
}

/// A whole number as it is, any other text in quotes.
pub(crate) fn number(text: &str) -> String {
    match text.parse::<i64>() {
        Ok(number) => number.to_string(),
        Err(_) => quoted(text),
    }
}
