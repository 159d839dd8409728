//! The order of the house: a file uses only what stands above it.
//!
//! The `mod` list of `src/lib.rs`, and that of each folder's `mod.rs`, is an order: a file uses only files, and what is in folders, above the
//! place where its own branch of the tree stands. So no files go in circles. A `mod.rs` may use its children, and they never use it, nor go
//! through what it re-exports.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path of names from the root of the crate; that of the root itself is empty.
type Names = Vec<String>;

/// A path in the code of a file, as it is written, and its line.
struct Written {
    names: Names,
    line: usize,
}

/// A file of the crate.
struct File {
    path: PathBuf,
    /// Names of its `mod name;` lines, in order.
    children: Vec<String>,
    /// Paths that begin with `crate`, `self`, `super` or a child, but for those in its unit tests.
    uses: Vec<Written>,
    /// What it re-exports: name and path.
    exports: HashMap<String, Names>,
    /// Text of its literals, with their lines, but for documentation and unit tests.
    literals: Vec<(usize, String)>,
}

/// The files of the crate by their modules.
type House = BTreeMap<Names, File>;

fn house() -> House {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut house = House::new();
    add(&source.join("lib.rs"), &source, Vec::new(), &mut house);
    house
}

fn add(path: &Path, folder: &Path, module: Names, house: &mut House) {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let file = file(path, &text);
    for child in &file.children {
        let below = [module.clone(), vec![child.clone()]].concat();
        let (alone, inside) = (folder.join(format!("{child}.rs")), folder.join(child));
        let path = if alone.is_file() { alone } else { inside.join("mod.rs") };
        add(&path, &inside, below, house);
    }
    house.insert(module, file);
}

fn file(path: &Path, text: &str) -> File {
    let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut file = File {
        path: path.to_owned(),
        children: Vec::new(),
        uses: Vec::new(),
        exports: HashMap::new(),
        literals: Vec::new(),
    };
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for window in tokens.windows(3) {
        if let [TokenTree::Ident(keyword), TokenTree::Ident(name), TokenTree::Punct(end)] = window
            && keyword == "mod"
            && end.as_char() == ';'
        {
            file.children.push(name.to_string());
        }
    }
    scan(&tokens, &mut file);
    file
}

/// Collects paths, re-exports and literals.
fn scan(tokens: &[TokenTree], file: &mut File) {
    let mut at = 0;
    let mut is_export = false;
    while at < tokens.len() {
        match &tokens[at] {
            // `#[doc = ".."]` is documentation.
            TokenTree::Punct(punct)
                if punct.as_char() == '#' && is_documentation(tokens.get(at + 1), tokens.get(at + 2)) =>
            {
                at += if matches!(tokens.get(at + 1), Some(TokenTree::Punct(_))) { 3 } else { 2 };
                continue;
            }
            TokenTree::Ident(keyword) if keyword == "mod" && is_block(tokens.get(at + 2)) => {
                at += 3; // unit tests
                continue;
            }
            TokenTree::Ident(keyword) if keyword == "use" => {
                is_export = at > 0 && is_visibility(&tokens[..at]);
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => is_export = false,
            TokenTree::Ident(first) if begins_a_path(tokens, at) => {
                let starts = ["crate", "self", "super"].iter().any(|start| first == start);
                if starts || file.children.iter().any(|child| first == child) {
                    let line = first.span().start().line;
                    let mut found = Vec::new();
                    at = path(tokens, at, Vec::new(), &mut found);
                    for (names, name) in found {
                        if is_export {
                            file.exports.insert(name, names.clone());
                        }
                        file.uses.push(Written { names, line });
                    }
                    continue;
                }
            }
            TokenTree::Literal(literal) => file.literals.push((literal.span().start().line, literal.to_string())),
            TokenTree::Group(group) => scan(&group.stream().into_iter().collect::<Vec<_>>(), file),
            _ => {}
        }
        at += 1;
    }
}

fn is_documentation(next: Option<&TokenTree>, after: Option<&TokenTree>) -> bool {
    [next, after].into_iter().flatten().any(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(name)) if name == "doc")
        }
        _ => false,
    })
}

fn is_block(token: Option<&TokenTree>) -> bool {
    matches!(token, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace)
}

/// Whether tokens end with `pub` or `pub(..)`.
fn is_visibility(before: &[TokenTree]) -> bool {
    let is_pub = |token: &TokenTree| matches!(token, TokenTree::Ident(name) if name == "pub");
    match before {
        [.., keyword, TokenTree::Group(_)] if is_pub(keyword) => true,
        [.., keyword] => is_pub(keyword),
        [] => false,
    }
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let is_colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    is_colon(tokens.get(at)) && is_colon(tokens.get(at + 1))
}

/// Whether a name at `at` begins a path of several names, and is no visibility `in crate::..`.
fn begins_a_path(tokens: &[TokenTree], at: usize) -> bool {
    let goes_on = at >= 2 && is_separator(tokens, at - 2);
    let is_visibility = at > 0 && matches!(&tokens[at - 1], TokenTree::Ident(name) if name == "in");
    is_separator(tokens, at + 1) && !goes_on && !is_visibility
}

/// Reads a path, or the tree of paths of a `use`, from `at` on: paths with the names that they go by here. Returns where it ends.
fn path(tokens: &[TokenTree], mut at: usize, mut names: Names, found: &mut Vec<(Names, String)>) -> usize {
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(name)) => names.push(name.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                let mut next = 0;
                while next < inside.len() {
                    next = match &inside[next] {
                        TokenTree::Ident(_) => path(&inside, next, names.clone(), found),
                        _ => next + 1,
                    };
                }
                return at + 1;
            }
            _ => return at + 1, // a glob, or generic arguments
        }
        at += 1;
        if is_separator(tokens, at) {
            at += 2;
            continue;
        }
        if names.len() > 1 && names.last().is_some_and(|last| last == "self") {
            names.pop();
        }
        let mut name = names.last().cloned().unwrap_or_default();
        if let [Some(TokenTree::Ident(keyword)), Some(TokenTree::Ident(other))] = [tokens.get(at), tokens.get(at + 1)]
            && keyword == "as"
        {
            name = other.to_string();
            at += 2;
        }
        found.push((names, name));
        return at;
    }
}

/// The path from the root of the crate.
fn from_root(module: &[String], file: &File, written: &[String]) -> Names {
    let mut at = module.to_vec();
    let mut rest = written;
    match rest[0].as_str() {
        "crate" => (at, rest) = (Vec::new(), &rest[1..]),
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                at.pop();
                rest = &rest[1..];
            }
        }
        child => assert!(file.children.iter().any(|it| it == child)),
    }
    [at, rest.to_vec()].concat()
}

/// The module that a path leads to, and what is left of it there.
fn module_of<'a>(house: &House, path: &'a [String]) -> (&'a [String], &'a [String]) {
    let length = (0..=path.len()).rev().find(|&length| house.contains_key(&path[..length])).unwrap_or(0);
    path.split_at(length)
}

/// The module in which what a path names is defined, behind re-exports.
fn defined_in(house: &House, path: &[String]) -> Names {
    let (module, rest) = module_of(house, path);
    let exported = rest.first().and_then(|name| Some((&house[module], house[module].exports.get(name)?)));
    match exported {
        Some((file, export)) => {
            let export = from_root(module, file, export);
            if module_of(house, &export) == (module, rest) { module.to_vec() } else { defined_in(house, &export) }
        }
        None => module.to_vec(),
    }
}

fn complaints(house: &House) -> Vec<String> {
    let mut complaints = Vec::new();
    for (module, file) in house {
        for Written { names, line } in &file.uses {
            let path = from_root(module, file, names);
            let (through, rest) = module_of(house, &path);
            let used = defined_in(house, &path);
            let mut complain = |what: &str| {
                let used = path.join("::");
                complaints.push(format!("{}:{line}: {what} {used}", file.path.display()));
            };
            let above = |other: &[String]| module.starts_with(other) && other.len() < module.len();
            if above(through) && !(rest.is_empty() && through.is_empty()) || above(&used) {
                complain("goes through the mod.rs of a folder it stands in, to");
                continue;
            }
            let common = module.iter().zip(&used).take_while(|(one, other)| one == other).count();
            if common == module.len() {
                continue; // its own, or its children
            }
            let order = &house[&module[..common]].children;
            let rank = |branch: &str| order.iter().position(|child| child == branch);
            if rank(&used[common]) > rank(&module[common]) {
                complain("uses what stands below it,");
            }
        }
    }
    complaints
}

#[test]
fn a_file_uses_only_what_stands_above_it() {
    let house = house();
    assert!(house.len() > 200, "{} files were found", house.len());
    assert!(house.values().map(|file| file.uses.len()).sum::<usize>() > 1000, "the uses were not read");
    let complaints = complaints(&house);
    assert!(complaints.is_empty(), "{} complaints\n{}", complaints.len(), complaints.join("\n"));
}

#[test]
fn every_file_is_in_the_house() {
    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.is_dir() {
                true => files(&entry, found),
                false if entry.extension().is_some_and(|ending| ending == "rs") => found.push(entry),
                false => {}
            }
        }
    }
    let mut found = Vec::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    files(&source, &mut found);
    found.retain(|path| *path != source.join("main.rs"));
    let house = house();
    found.retain(|path| house.values().all(|file| file.path != *path));
    assert!(found.is_empty(), "in no `mod` list: {found:?}");
}

/// Options of the command line are the business of those who parse and explain it.
#[test]
fn no_option_is_named_outside_cli_and_pipeline() {
    let is_option = |text: &str| {
        text.match_indices("--").any(|(at, _)| {
            let [before, next] = [text[..at].chars().next_back(), text[at + 2..].chars().next()];
            // In style sheets they stand behind brackets and semicolons.
            matches!(before, Some(' ' | '"' | '`')) && next.is_some_and(|next| next.is_ascii_lowercase())
        })
    };
    let mut complaints = Vec::new();
    for (module, file) in house() {
        if module.first().is_some_and(|room| room != "cli" && room != "pipeline") {
            let options = file.literals.iter().filter(|(_, text)| is_option(text));
            complaints.extend(options.map(|(line, text)| format!("{}:{line}: {text}", file.path.display())));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// What the feature `torch` brings is named behind it alone.
#[test]
fn libtorch_is_named_in_its_two_rooms_alone() {
    let rooms = [["engine", "torch"], ["models", "tensors"]].map(|room| room.map(str::to_owned));
    let names_it = |file: &File| {
        let text = fs::read_to_string(&file.path).unwrap();
        text.split(|it: char| !it.is_alphanumeric() && it != '_').any(|word| word == "tch")
    };
    let (inside, outside): (Vec<_>, Vec<_>) = house()
        .into_iter()
        .filter(|(_, file)| names_it(file))
        .partition(|(module, _)| rooms.iter().any(|room| module.starts_with(room)));
    let outside: Vec<_> = outside.iter().map(|(_, file)| &file.path).collect();
    assert!(outside.is_empty() && inside.len() > rooms.len(), "{outside:?}");
}

/// What comes to disk, or goes from it, passes a point at which a test makes it fail: those in `disk`. Logs and the files of locks are no results.
#[test]
fn the_disk_is_changed_in_its_own_room_alone() {
    let operations = [
        "fs::write(",
        "fs::rename(",
        "fs::copy(",
        "fs::hard_link(",
        "fs::symlink(",
        "fs::remove_dir_all(",
        "fs::remove_file(",
        "fs::create_dir",
        "File::create",
        "OpenOptions",
        "sync_all(",
    ];
    let excepted = [["cli", "rotation"], ["pipeline", "lock"]].map(|module| module.map(str::to_owned));
    let mut complaints = Vec::new();
    let mut inside = 0;
    for (module, file) in house().iter().filter(|(module, _)| !excepted.iter().any(|it| *module == it)) {
        let text = fs::read_to_string(&file.path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        for operation in operations.iter().filter(|operation| code.contains(**operation)) {
            match module.first().is_some_and(|room| room == "disk") {
                true => inside += 1,
                false => complaints.push(format!("{}: {operation}", file.path.display())),
            }
        }
    }
    assert!(inside >= operations.len(), "{inside}");
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn nothing_is_leaked() {
    let house = house();
    let leaks = house.values().filter(|file| fs::read_to_string(&file.path).unwrap().contains("leak("));
    let leaks: Vec<_> = leaks.map(|file| &file.path).collect();
    assert!(leaks.is_empty(), "{leaks:?}");
}

mod the_reader_of_code {
    use super::*;

    fn a_house(files: &[(&str, &str)]) -> House {
        let module = |name: &str| name.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect();
        files.iter().map(|(name, text)| (module(name), file(Path::new(name), text))).collect()
    }

    #[test]
    fn sees_single_grouped_nested_and_inline_paths() {
        let text = "// crate::comment\n/// crate::documentation\nuse crate::one::Two;\nuse crate::{three, four::{five, six}, \
                    seven as other};\nfn f() { crate::eight::g(vec![super::nine::h()]) }\nmycrate::ten();\npub(in crate::eleven) fn g() {}\n\
                    #[cfg(test)]\nmod tests { use super::*; use crate::twelve; }";
        let found: Vec<String> =
            file(Path::new(""), text).uses.iter().map(|it| format!("{} {}", it.line, it.names.join("::"))).collect();
        let wanted = [
            "3 crate::one::Two",
            "4 crate::three",
            "4 crate::four::five",
            "4 crate::four::six",
            "4 crate::seven",
            "5 crate::eight::g",
            "5 super::nine::h",
        ];
        assert_eq!(found, wanted);
    }

    #[test]
    fn complains_of_what_stands_below_and_of_its_own_door() {
        let house = a_house(&[
            ("", "pub mod a;\npub mod b;"),
            ("a", "mod x;\nmod y;\npub use y::Y;\npub struct Here;"),
            ("a::x", "use super::y::Y;\nuse super::Y as Again;\nuse super::Here;\nuse crate::b::B;"),
            ("a::y", "use super::x::X;\nuse self::Y as Mine;\npub struct Y;"),
            ("b", "use crate::a::Y;\npub struct B;"),
        ]);
        let found = complaints(&house);
        let wanted = [
            "a::x:1: uses what stands below it, a::y::Y",
            "a::x:2: goes through the mod.rs of a folder it stands in, to a::Y",
            "a::x:3: goes through the mod.rs of a folder it stands in, to a::Here",
            "a::x:4: uses what stands below it, b::B",
        ];
        assert_eq!(found, wanted);
    }
}
