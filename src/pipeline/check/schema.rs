//! Validates a document against the JSON Schema of its kind, and explains every difference.

use std::borrow::Cow;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::{Location, LocationSegment};
use jsonschema::{JsonType, ValidationError, Validator};
use serde_json::Value;

use crate::pipeline::document::{Document, describe};
use crate::problems::{Kind, Place, Problem, did_you_mean, nearest, one_of};

/// Every difference between `document` and `schema`, in no particular order.
pub(crate) fn differences(document: &Document, schema: &Value, validator: &Validator) -> Vec<Problem> {
    let mut explainer = Explainer { document, schema, problems: Vec::new() };
    for error in validator.iter_errors(document.root()) {
        explainer.explain(&error);
    }
    explainer.problems
}

/// How a value of a schema is written in TOML.
enum Shape {
    Table,
    ListOfTables,
    Other,
}

struct Explainer<'a> {
    document: &'a Document,
    schema: &'a Value,
    problems: Vec<Problem>,
}

impl Explainer<'_> {
    fn explain(&mut self, error: &ValidationError<'_>) {
        let path = path_of(error.instance_path());
        if self.document.is_refused(&path) {
            return;
        }
        let found = describe(error.instance());
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected }
            | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                let known = self.known_keys(error.schema_path());
                for key in unexpected {
                    self.unknown_key(&path, key, &known);
                }
            }
            ValidationErrorKind::Required { property } => {
                self.missing_key(&path, property.as_str().unwrap_or_default(), error.schema_path());
            }
            ValidationErrorKind::Type { kind } => {
                let types = types_of(kind);
                self.push(&path, found, types_in_words(&types), remedy_for_types(&types, error.instance()));
            }
            ValidationErrorKind::Enum { options } => {
                let options = options.as_array().cloned().unwrap_or_default();
                self.not_an_option(&path, error.instance(), &options);
            }
            ValidationErrorKind::Constant { expected_value } => {
                self.not_an_option(&path, error.instance(), &[expected_value.as_ref().clone()]);
            }
            ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context } => {
                self.no_alternative(&path, error.instance(), context);
            }
            ValidationErrorKind::Minimum { limit } => {
                self.push(&path, found, format!("at least {limit}"), format!("write {limit} or more"));
            }
            ValidationErrorKind::Maximum { limit } => {
                self.push(&path, found, format!("at most {limit}"), format!("write {limit} or less"));
            }
            ValidationErrorKind::ExclusiveMinimum { limit } => {
                self.push(&path, found, format!("more than {limit}"), format!("write a number above {limit}"));
            }
            ValidationErrorKind::ExclusiveMaximum { limit } => {
                self.push(&path, found, format!("less than {limit}"), format!("write a number below {limit}"));
            }
            ValidationErrorKind::MinItems { limit } => {
                self.push(&path, found, format!("a list of at least {limit}"), "add to the list".to_owned());
            }
            ValidationErrorKind::MaxItems { limit } => {
                self.push(&path, found, format!("a list of at most {limit}"), "shorten the list".to_owned());
            }
            ValidationErrorKind::Pattern { pattern } => {
                let expected = format!("text that matches `{pattern}`");
                self.push(&path, found, expected, "write it with the letters and signs that are allowed".to_owned());
            }
            ValidationErrorKind::UniqueItems => {
                self.push(&path, found, "a list without repetition".to_owned(), "remove the repetition".to_owned());
            }
            ValidationErrorKind::MinLength { limit } => {
                self.push(&path, found, format!("at least {limit} characters"), "write a longer text".to_owned());
            }
            ValidationErrorKind::MaxLength { limit } => {
                self.push(&path, found, format!("at most {limit} characters"), "write a shorter text".to_owned());
            }
            ValidationErrorKind::PropertyNames { error } => {
                // In this error, the instance is the key.
                let mut inner = path.clone();
                inner.push(error.instance().as_str().unwrap_or_default().to_owned());
                let options = allowed(error);
                let expected = one_of_options(&options);
                let remedy = meant_option(inner.last().map_or("", String::as_str), &options)
                    .unwrap_or_else(|| "rename or remove it".to_owned());
                self.push_key(&inner, "an unknown key".to_owned(), expected, remedy);
            }
            _ => self.push(&path, found, error.to_string(), "see `paramill schema pipeline`".to_owned()),
        }
    }

    fn push(&mut self, path: &[String], found: String, expected: String, remedy: String) {
        self.push_at(self.document.value_place(path), path, found, expected, remedy);
    }

    fn push_key(&mut self, path: &[String], found: String, expected: String, remedy: String) {
        self.push_at(self.document.key_place(path), path, found, expected, remedy);
    }

    fn push_at(&mut self, place: Place, path: &[String], found: String, expected: String, remedy: String) {
        let problem = Problem::new(Kind::Setting, found, expected, remedy);
        self.problems.push(problem.setting(path.join(".")).at(place));
    }

    fn unknown_key(&mut self, path: &[String], key: &str, known: &[String]) {
        let mut full = path.to_vec();
        full.push(key.to_owned());
        let expected = if known.is_empty() { "no key".to_owned() } else { one_of(known) };
        let remedy = did_you_mean(key, known.iter().map(String::as_str)).unwrap_or_else(|| "remove it".to_owned());
        self.push_key(&full, "an unknown key".to_owned(), expected, remedy);
    }

    fn missing_key(&mut self, path: &[String], property: &str, schema_path: &Location) {
        let mut full = path.to_vec();
        full.push(property.to_owned());
        let parent = self.schema_above(schema_path);
        let wanted = parent.and_then(|parent| parent.pointer(&format!("/properties/{}", escape(property))));
        let expected = match wanted.and_then(|schema| schema.get("description")).and_then(Value::as_str) {
            Some(description) => {
                let first = description.split("\n\n").next().unwrap_or_default().replace('\n', " ");
                format!("a value ({})", first.trim_end_matches('.'))
            }
            None => "a value".to_owned(),
        };
        let section = if path.is_empty() { "the pipeline".to_owned() } else { format!("[{}]", path.join(".")) };
        let remedy = match wanted.map(|schema| self.shape(schema)) {
            Some(Shape::Table) => format!("add a section [{}]", full.join(".")),
            Some(Shape::ListOfTables) => format!("add a section [[{}]]", full.join(".")),
            _ => format!("add `{property} = ...` to {section}"),
        };
        self.push_key(&full, "nothing".to_owned(), expected, remedy);
    }

    fn not_an_option(&mut self, path: &[String], instance: &Value, options: &[Value]) {
        let remedy = instance
            .as_str()
            .and_then(|word| meant_option(word, options))
            .unwrap_or_else(|| if options.len() == 1 { "write that" } else { "choose one of them" }.to_owned());
        self.push(path, describe(instance), one_of_options(options), remedy);
    }

    /// None of several alternatives fits: explains the errors of the closest one, or names them all.
    fn no_alternative(&mut self, path: &[String], instance: &Value, branches: &[Vec<ValidationError<'static>>]) {
        let wrong_tag = |branch: &Vec<ValidationError<'_>>| {
            branch.iter().any(|error| matches!(error.kind(), ValidationErrorKind::Constant { .. }))
        };
        let fitting: Vec<_> = branches.iter().filter(|branch| !is_of_other_type(branch, path)).collect();
        if let [branch] = fitting.as_slice()
            && let [error] = branch.as_slice()
            && matches!(error.kind(), ValidationErrorKind::OneOfNotValid { .. } | ValidationErrorKind::AnyOf { .. })
        {
            return self.explain(error);
        }
        let options: Vec<Value> = fitting.iter().flat_map(|branch| branch.iter().flat_map(allowed)).collect();
        let tagged: Vec<_> = fitting.iter().filter(|branch| !wrong_tag(branch)).collect();
        let only_options = fitting.iter().all(|branch| {
            branch.iter().all(|error| !allowed(error).is_empty() && path_of(error.instance_path()) == path)
        });
        if fitting.is_empty() {
            let mut types: Vec<JsonType> = Vec::new();
            branches.iter().flatten().for_each(|error| wanted_types(error, path, &mut types));
            types.dedup();
            let remedy = remedy_for_types(&types, instance);
            self.push(path, describe(instance), types_in_words(&types), remedy);
        } else if only_options {
            self.not_an_option(path, instance, &options);
        } else if let [branch] = tagged.as_slice() {
            branch.iter().for_each(|error| self.explain(error));
        } else if tagged.is_empty() {
            // Each alternative has a tag, and the given tag is none of them.
            let tag = fitting.iter().flat_map(|branch| branch.iter()).find(|error| !allowed(error).is_empty());
            if let Some(error) = tag {
                self.not_an_option(&path_of(error.instance_path()), error.instance(), &options);
            }
        } else {
            // The tag is missing; every alternative requires it, so the first one does.
            let missing = tagged.iter().flat_map(|branch| branch.iter());
            let missing: Vec<_> =
                missing.filter(|error| matches!(error.kind(), ValidationErrorKind::Required { .. })).collect();
            match missing.first() {
                Some(error) => self.explain(error),
                None => tagged[0].iter().for_each(|error| self.explain(error)),
            }
        }
    }

    /// The schema that holds the keyword at `location`.
    fn schema_above(&self, location: &Location) -> Option<&Value> {
        let pointer = location.as_str();
        self.schema.pointer(&pointer[..pointer.rfind('/')?])
    }

    fn shape(&self, schema: &Value) -> Shape {
        let reference = schema.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
        let schema = reference.and_then(|pointer| self.schema.pointer(pointer)).unwrap_or(schema);
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => Shape::Table,
            Some("array") => match schema.get("items").map(|items| self.shape(items)) {
                Some(Shape::Table) => Shape::ListOfTables,
                _ => Shape::Other,
            },
            _ => Shape::Other,
        }
    }

    fn known_keys(&self, location: &Location) -> Vec<String> {
        let properties = self.schema_above(location).and_then(|schema| schema.get("properties"));
        properties.and_then(Value::as_object).map(|table| table.keys().cloned().collect()).unwrap_or_default()
    }
}

/// Whether an alternative is of another type than the value at `path`, or consists of alternatives that are.
fn is_of_other_type(branch: &[ValidationError<'_>], path: &[String]) -> bool {
    branch.iter().any(|error| match error.kind() {
        _ if path_of(error.instance_path()) != path => false,
        ValidationErrorKind::Type { .. } => true,
        ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context } => {
            context.iter().all(|branch| is_of_other_type(branch, path))
        }
        _ => false,
    })
}

/// The types of the value at `path` that `error` asks for.
fn wanted_types(error: &ValidationError<'_>, path: &[String], types: &mut Vec<JsonType>) {
    match error.kind() {
        _ if path_of(error.instance_path()) != path => {}
        ValidationErrorKind::Type { kind } => types.extend(types_of(kind)),
        ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context } => {
            context.iter().flatten().for_each(|error| wanted_types(error, path, types));
        }
        _ => {}
    }
}

fn path_of(location: &Location) -> Vec<String> {
    let segments = location.segments();
    segments
        .map(|segment| match segment {
            LocationSegment::Property(name) => Cow::into_owned(name),
            LocationSegment::Index(index) => index.to_string(),
        })
        .collect()
}

/// The allowed values, if `error` is about a choice.
fn allowed(error: &ValidationError<'_>) -> Vec<Value> {
    match error.kind() {
        ValidationErrorKind::Enum { options } => options.as_array().cloned().unwrap_or_default(),
        ValidationErrorKind::Constant { expected_value } => vec![expected_value.as_ref().clone()],
        ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context } => {
            context.iter().flatten().flat_map(allowed).collect()
        }
        _ => Vec::new(),
    }
}

fn describe_option(option: &Value) -> String {
    option.as_str().map_or_else(|| option.to_string(), |text| format!("\"{text}\""))
}

fn one_of_options(options: &[Value]) -> String {
    one_of(&options.iter().map(describe_option).collect::<Vec<_>>())
}

/// The option that is meant, as TOML writes it.
fn meant_option(word: &str, options: &[Value]) -> Option<String> {
    nearest(word, options.iter().filter_map(Value::as_str)).map(|name| format!("did you mean \"{name}\"?"))
}

fn types_of(kind: &TypeKind) -> Vec<JsonType> {
    let types: Vec<JsonType> = match kind {
        TypeKind::Single(one) => vec![*one],
        TypeKind::Multiple(set) => set.iter().collect(),
    };
    // TOML has no null; an absent key takes its place.
    types.into_iter().filter(|&one| one != JsonType::Null).collect()
}

fn types_in_words(types: &[JsonType]) -> String {
    let words = types.iter().map(|one| match one {
        JsonType::Null => "nothing",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Number => "a number",
        JsonType::String => "a string",
        JsonType::Array => "a list",
        JsonType::Object => "a table",
    });
    words.collect::<Vec<_>>().join(" or ")
}

fn remedy_for_types(types: &[JsonType], found: &Value) -> String {
    let quoted_number = found.as_str().is_some_and(|text| text.parse::<f64>().is_ok());
    let remedy = match types.first() {
        Some(JsonType::Integer | JsonType::Number) if quoted_number => "remove the quotation marks",
        Some(JsonType::Boolean) if matches!(found.as_str(), Some("true" | "false")) => "remove the quotation marks",
        Some(JsonType::Integer) => "write digits only",
        Some(JsonType::Number) => "write a number, such as 1e-3",
        Some(JsonType::String) if !found.is_object() && !found.is_array() => "put it in quotation marks",
        Some(JsonType::String) => "write one string in quotation marks",
        Some(JsonType::Boolean) => "write true or false without quotation marks",
        Some(JsonType::Array) => "put the values in brackets, as in [1, 2]",
        Some(JsonType::Object) => "write a section or a table in braces, as in { key = 1 }",
        Some(JsonType::Null) | None => "remove it",
    };
    remedy.to_owned()
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
