//! A module uses only modules above it in `src/lib.rs`.

use std::fs;
use std::path::{Path, PathBuf};

fn modules_in_order() -> Vec<String> {
    let text = fs::read_to_string(source().join("lib.rs")).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).map(str::to_owned).collect()
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files_of(path: &Path, into: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            files_of(&entry.unwrap().path(), into);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") {
        into.push(path.to_owned());
    }
}

/// The modules that a file names by `crate::NAME` and `use crate::{NAME, ...}`, with their lines.
fn uses(text: &str) -> Vec<(usize, String)> {
    let code: String = text
        .lines()
        .map(|line| if line.trim_start().starts_with("//") { "" } else { line })
        .collect::<Vec<_>>()
        .join("\n");
    let mut found = Vec::new();
    for (at, matched) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|one| one.is_alphanumeric() || one == '_' || one == '$') {
            continue;
        }
        let line = code[..at].matches('\n').count() + 1;
        let rest = &code[at + matched.len()..];
        let names = if rest.starts_with('{') { group(rest) } else { vec![identifier(rest)] };
        found.extend(names.into_iter().map(|name| (line, name)));
    }
    found
}

fn identifier(text: &str) -> String {
    text.chars().take_while(|one| one.is_alphanumeric() || *one == '_').collect()
}

/// The first name of each item of `{a, b::{c, d}, e}`.
fn group(text: &str) -> Vec<String> {
    let (mut depth, mut names, mut item) = (0, Vec::new(), String::new());
    for one in text.chars() {
        match one {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 || (depth == 1 && one == ',') {
            names.push(identifier(item.trim()));
            item.clear();
        } else if !(one == '{' && depth == 1) {
            item.push(one);
        }
        if depth == 0 {
            break;
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[test]
fn a_module_uses_only_modules_above_it() {
    let order = modules_in_order();
    assert!(order.len() > 10, "the list in lib.rs was not read");
    let mut complaints = Vec::new();
    for (rank, module) in order.iter().enumerate() {
        let mut files = Vec::new();
        files_of(&source().join(module), &mut files);
        files_of(&source().join(format!("{module}.rs")), &mut files);
        let files: Vec<_> = files.into_iter().filter(|file| file.is_file()).collect();
        assert!(!files.is_empty(), "{module} has no files");
        for file in files {
            for (line, name) in uses(&fs::read_to_string(&file).unwrap()) {
                match order.iter().position(|other| *other == name) {
                    Some(used) if used <= rank => {}
                    Some(_) => complaints.push(format!("{}:{line}: {module} uses {name}", file.display())),
                    None => complaints.push(format!("{}:{line}: no module {name} in lib.rs", file.display())),
                }
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn the_scan_sees_single_grouped_and_nested_uses() {
    let text = "// crate::comment\nuse crate::one::Two;\nuse crate::{three, four::{five, six}, seven as other};\nfn f() { crate::eight::g() }\nmycrate::nine();";
    let names: Vec<_> = uses(text).into_iter().map(|(line, name)| format!("{line} {name}")).collect();
    assert_eq!(names, ["2 one", "3 three", "3 four", "3 seven", "4 eight"]);
}
