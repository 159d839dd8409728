//! A TOML file as a tree of values, with the place of each.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::{fs, io};

use serde_json::{Map, Number, Value};
use toml::de::{DeInteger, DeTable, DeValue};

use super::lines::Lines;
use crate::problems::{Kind, Place, Problem, nearest};
use crate::regular;

/// The places of a key and its value.
#[derive(Clone, Debug)]
struct Places {
    key: Place,
    value: Place,
}

/// The values of a pipeline file after its `--set` arguments, and the place of each.
///
/// A path is the list of keys (and array positions, in decimal) from the root.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    file: String,
    root: Value,
    places: BTreeMap<Vec<String>, Places>,
    /// Paths of values that have a problem already; no more are reported for them.
    refused: BTreeSet<Vec<String>>,
}

impl Document {
    /// Reads and parses `path`.
    ///
    /// # Errors
    /// The file cannot be read, is not UTF-8, or holds nothing. Syntax errors leave no tree either.
    pub(crate) fn read(path: &Path) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let file = path.display().to_string();
        let whole = |found: String, expected: &str, remedy: String| {
            vec![Problem::new(Kind::Setting, found, expected, remedy).file(path)]
        };
        let expected = "a pipeline file (TOML)";
        if path.is_dir() {
            let remedy = match first_pipeline(path) {
                Some(name) => format!("name a file in it, such as `{}`", path.join(name).display()),
                None => "name a file".to_owned(),
            };
            return Err(whole("a directory".to_owned(), expected, remedy));
        }
        if let Some(special) = regular::special(path) {
            let remedy =
                "write it to a file, whose name names the run, and beside which others that it names are looked for";
            return Err(whole(special.to_owned(), expected, remedy.to_owned()));
        }
        let bytes = regular::read(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => whole("no such file".to_owned(), expected, missing_file_remedy(path)),
            _ => whole(format!("a file that cannot be read ({error})"), expected, "make it readable".to_owned()),
        })?;
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let start = error.valid_up_to();
            let before = String::from_utf8_lossy(&bytes[..start]);
            let found = format!("the byte 0x{:02x}, which is not UTF-8", bytes[start]);
            let problem = Problem::new(Kind::InvalidText, found, "UTF-8 text", "save the file as UTF-8");
            vec![problem.at(Lines::of(&before).position(&file, before.len()))]
        })?;
        let parsed = Document::parse(&file, text)?;
        if parsed.0.root.as_object().is_some_and(Map::is_empty) {
            let remedy = "begin with a [generate] or an [import] section; `paramill schema pipeline` has all keys";
            return Err(whole("an empty file".to_owned(), "the sections of a pipeline", remedy.to_owned()));
        }
        Ok(parsed)
    }

    /// Parses `text`, the content of `file`. The problems beside the tree are of values that no setting can have.
    ///
    /// # Errors
    /// Every syntax error.
    pub(crate) fn parse(file: &str, text: &str) -> Result<(Self, Vec<Problem>), Vec<Problem>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        let lines = Lines::of(text);
        if !errors.is_empty() {
            let problems = errors.iter().map(|error| {
                let found = format!("a syntax error ({})", one_line(error.message()));
                let remedy = "correct the line; strings stand in quotation marks, as in name = \"value\"";
                let start = error.span().map_or(0, |span| span.start);
                Problem::new(Kind::Setting, found, "TOML", remedy).at(lines.position(file, start))
            });
            let mut problems: Vec<_> = problems.collect();
            problems.sort();
            problems.dedup();
            return Err(problems);
        }
        let mut document =
            Document { file: file.to_owned(), root: Value::Null, places: BTreeMap::new(), refused: BTreeSet::new() };
        let mut problems = Vec::new();
        let mut locate = |span: Range<usize>| lines.position(file, span.start);
        document.root = document.table(&mut Vec::new(), table.get_ref(), &mut locate, &mut problems);
        Ok((document, problems))
    }

    /// Applies one `--set KEY=VALUE`, the `index`-th. The value is TOML; a bare word is a string.
    ///
    /// # Errors
    /// The argument has no `=`, its key is none, its value opens a string, list or table that it does not close, or
    /// the key leads through something that is not a table.
    pub(crate) fn set(&mut self, index: usize, argument: &str) -> Result<Vec<Problem>, Box<Problem>> {
        let (typed, text) = argument.split_once('=').unwrap_or((argument, ""));
        let (typed, text) = (typed.trim(), text.trim());
        let place = Place::Argument { index, flag: "--set", key: typed.to_owned() };
        let refuse = |found: String, expected: &str, remedy: String| {
            Box::new(Problem::new(Kind::Setting, found, expected, remedy).setting(typed).at(place.clone()))
        };
        if !argument.contains('=') {
            return Err(refuse("no value".into(), "KEY=VALUE", format!("write `--set {typed}=VALUE`")));
        }
        let Some(path) = key_path(typed) else {
            let remedy = "write keys with dots between them, such as `train.steps`".to_owned();
            return Err(refuse(format!("the key `{typed}`"), "a dotted key", remedy));
        };
        let value = match DeValue::parse(text) {
            Ok(value) => value.into_inner(),
            Err(error) if text.starts_with(['[', '{', '"', '\'']) => {
                let found = format!("`{text}` ({})", one_line(error.message()));
                return Err(refuse(found, "a TOML value", "close what the value opens".to_owned()));
            }
            Err(_) => DeValue::String(text.into()),
        };
        let mut problems = Vec::new();
        self.forget(&path);
        let value = self.value(&mut path.clone(), &value, &mut |_| place.clone(), &mut problems);
        self.put(&path, value, &Places { key: place.clone(), value: place.clone() })
            .map_err(|Unreachable { found, expected, remedy }| refuse(found, &expected, remedy))?;
        Ok(problems)
    }

    /// Puts `value` at the dotted `key`, said at these places: the key, and the value.
    ///
    /// # Errors
    /// As [`Document::set`].
    pub(crate) fn assign(&mut self, key: &str, value: Value, said: (Place, Place)) -> Result<(), Box<Problem>> {
        let said = Places { key: said.0, value: said.1 };
        let refuse = |Unreachable { found, expected, remedy }| {
            Box::new(Problem::new(Kind::Setting, found, expected, remedy).setting(key).at(said.key.clone()))
        };
        let no_key = || Unreachable {
            found: format!("the key `{key}`"),
            expected: "a dotted key".to_owned(),
            remedy: "write keys with dots between them, such as `train.steps`".to_owned(),
        };
        let path = key_path(key).ok_or_else(no_key).map_err(refuse)?;
        self.forget(&path);
        self.put(&path, value, &said).map_err(refuse)
    }

    /// Takes the section `name` out.
    pub(crate) fn remove(&mut self, name: &str) {
        self.forget(&[name.to_owned()]);
        if let Value::Object(table) = &mut self.root {
            table.shift_remove(name);
        }
    }

    /// Puts `value` at `path`, and the tables that lead to it, all `said` at the same places.
    fn put(&mut self, path: &[String], value: Value, said: &Places) -> Result<(), Unreachable> {
        let mut at = &mut self.root;
        for (depth, segment) in path.iter().enumerate() {
            let last = depth + 1 == path.len();
            let inside = path[..depth].join(".");
            at = match at {
                Value::Object(table) => {
                    if !last && !table.contains_key(segment) {
                        table.insert(segment.clone(), Value::Object(Map::new()));
                    }
                    self.places.entry(path[..=depth].to_vec()).or_insert_with(|| said.clone());
                    table.entry(segment.clone()).or_insert(Value::Null)
                }
                Value::Array(items) => {
                    let count = items.len();
                    let item = segment.parse::<usize>().ok().and_then(|position| items.get_mut(position));
                    item.ok_or_else(|| Unreachable {
                        found: format!("`{segment}`"),
                        expected: format!("a position in the list `{inside}`, which has {count}"),
                        remedy: "count from 0".to_owned(),
                    })?
                }
                other => {
                    return Err(Unreachable {
                        found: format!("{} at `{inside}`", describe(other)),
                        expected: "a table".to_owned(),
                        remedy: format!("set `{inside}` itself"),
                    });
                }
            };
        }
        *at = value;
        Ok(())
    }

    /// Replaces the value at `path` by the tree of another file.
    pub(crate) fn embed(&mut self, path: &[String], other: Document) {
        let pointer: String = path.iter().map(|segment| format!("/{segment}")).collect();
        if let Some(value) = self.root.pointer_mut(&pointer) {
            *value = other.root;
        }
        let inside = |inner: Vec<String>| [path, &inner].concat();
        self.places.extend(other.places.into_iter().map(|(inner, said)| (inside(inner), said)));
        self.refused.extend(other.refused.into_iter().map(inside));
    }

    /// The tree.
    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    /// The file's name as the user gave it.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// Whether the value at `path` has a problem already.
    pub(crate) fn is_refused(&self, path: &[String]) -> bool {
        self.refused.contains(path)
    }

    /// Whether the file or an argument gives the value at `path`.
    pub(crate) fn is_given(&self, path: &[String]) -> bool {
        self.places.contains_key(path)
    }

    /// The place of the key at `path`, or of the innermost table around it.
    pub(crate) fn key_place(&self, path: &[String]) -> Place {
        self.nearest_places(path).map_or_else(|| self.whole(), |said| said.key.clone())
    }

    /// The place of the value at `path`, or of the innermost table around it.
    pub(crate) fn value_place(&self, path: &[String]) -> Place {
        match self.places.get(path) {
            Some(said) => said.value.clone(),
            None => self.key_place(path),
        }
    }

    /// The problem of a setting, at the value that its key names.
    pub(crate) fn placed(&self, problem: Problem) -> Problem {
        let path = segments(&problem.key);
        problem.setting(path.join(".")).at(self.value_place(&path))
    }

    fn whole(&self) -> Place {
        Place::file(&self.file)
    }

    fn nearest_places(&self, path: &[String]) -> Option<&Places> {
        (0..=path.len()).rev().find_map(|length| self.places.get(&path[..length]))
    }

    fn forget(&mut self, path: &[String]) {
        self.places.retain(|said, _| !said.starts_with(path));
        self.refused.retain(|refused| !refused.starts_with(path));
    }

    fn table(
        &mut self,
        path: &mut Vec<String>,
        table: &DeTable<'_>,
        locate: &mut dyn FnMut(Range<usize>) -> Place,
        problems: &mut Vec<Problem>,
    ) -> Value {
        let mut object = Map::new();
        for (key, value) in table {
            path.push(key.get_ref().clone().into_owned());
            let said = Places { key: locate(key.span()), value: locate(value.span()) };
            self.places.insert(path.clone(), said);
            let converted = self.value(path, value.get_ref(), locate, problems);
            object.insert(key.get_ref().clone().into_owned(), converted);
            path.pop();
        }
        Value::Object(object)
    }

    fn value(
        &mut self,
        path: &mut Vec<String>,
        value: &DeValue<'_>,
        locate: &mut dyn FnMut(Range<usize>) -> Place,
        problems: &mut Vec<Problem>,
    ) -> Value {
        let (found, expected, remedy) = match value {
            DeValue::String(text) => return Value::String(text.clone().into_owned()),
            DeValue::Boolean(yes) => return Value::Bool(*yes),
            DeValue::Table(table) => return self.table(path, table, locate, problems),
            DeValue::Array(items) => {
                let mut converted = Vec::with_capacity(items.len());
                for (position, item) in items.iter().enumerate() {
                    path.push(position.to_string());
                    let place = locate(item.span());
                    self.places.insert(path.clone(), Places { key: place.clone(), value: place });
                    converted.push(self.value(path, item.get_ref(), locate, problems));
                    path.pop();
                }
                return Value::Array(converted);
            }
            DeValue::Integer(integer) => match number_of(integer) {
                Some(number) => return Value::Number(number),
                None => (integer.to_string(), "a number below 2^64", "write a smaller number"),
            },
            DeValue::Float(float) => match float.as_str().parse().ok().and_then(Number::from_f64) {
                Some(number) => return Value::Number(number),
                None => (float.to_string(), "a finite number", "write a finite number"),
            },
            DeValue::Datetime(date) => {
                (date.to_string(), "a string, a number, true or false, a list or a table", "put it in quotation marks")
            }
        };
        let place = self.places.get(path).map_or_else(|| locate(0..0), |said| said.value.clone());
        problems.push(Problem::new(Kind::Setting, found, expected, remedy).setting(path.join(".")).at(place));
        self.refused.insert(path.clone());
        Value::Null
    }
}

/// A path that leads through something that is not a table.
struct Unreachable {
    found: String,
    expected: String,
    remedy: String,
}

/// A dotted key, list positions in brackets or not, as a path.
pub(crate) fn segments(key: &str) -> Vec<String> {
    key.split(['.', '[', ']']).filter(|segment| !segment.is_empty()).map(str::to_owned).collect()
}

/// A value in words, for the "found" of a problem.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Object(_) => "a table".to_owned(),
        Value::Array(items) => match items.len() {
            0 => "an empty list".to_owned(),
            1 => "a list of one".to_owned(),
            count => format!("a list of {count}"),
        },
        Value::String(text) if text.is_empty() => "an empty string".to_owned(),
        Value::String(text) if text.chars().count() > 60 => {
            format!("the string \"{}...\"", text.chars().take(57).collect::<String>())
        }
        Value::String(text) => format!("the string \"{text}\""),
        scalar => scalar.to_string(),
    }
}

fn number_of(integer: &DeInteger<'_>) -> Option<Number> {
    let (text, radix) = (integer.as_str(), integer.radix());
    let signed = i64::from_str_radix(text, radix).map(Number::from);
    signed.or_else(|_| u64::from_str_radix(text, radix).map(Number::from)).ok()
}

/// The segments of a dotted key, which may have quoted parts.
fn key_path(typed: &str) -> Option<Vec<String>> {
    if typed.contains(['\n', '=']) {
        return None;
    }
    let line = format!("{typed} = 0");
    let table = DeTable::parse(&line).ok()?.into_inner();
    let mut path = Vec::new();
    let mut inside = &table;
    loop {
        let (key, value) = inside.iter().next()?;
        path.push(key.get_ref().clone().into_owned());
        match value.get_ref() {
            DeValue::Table(table) => inside = table,
            _ => return Some(path),
        }
    }
}

fn one_line(message: &str) -> String {
    message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(", ")
}

fn pipelines_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".toml")).collect();
    names.sort();
    names
}

fn first_pipeline(directory: &Path) -> Option<String> {
    pipelines_in(directory).into_iter().next()
}

fn missing_file_remedy(path: &Path) -> String {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let names = pipelines_in(directory);
    match nearest(&name, names.iter().map(String::as_str)) {
        Some(found) => format!("did you mean `{}`?", path.with_file_name(found).display()),
        None => "check the path".to_owned(),
    }
}

/// The same value with whole floats such as `1e4` as integers: JSON Schema takes them for integers, serde does not.
pub(crate) fn whole_numbers(value: &Value) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    match value {
        Value::Object(table) => table.iter().map(|(key, value)| (key.clone(), whole_numbers(value))).collect(),
        Value::Array(items) => items.iter().map(whole_numbers).collect(),
        Value::Number(number) if number.is_f64() => match number.as_f64() {
            Some(float)
                if float.fract() == 0.0 && float.abs() < EXACT && !(float == 0.0 && float.is_sign_negative()) =>
            {
                Value::from(float as i64)
            }
            _ => value.clone(),
        },
        other => other.clone(),
    }
}
