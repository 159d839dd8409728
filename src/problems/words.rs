//! Lists, counts and cells in words.

/// A count with its noun: `1 row`, `2 rows`, `0 entries`.
pub(crate) fn many(count: u64, noun: &str) -> String {
    format!("{count} {}", form_of(count, noun))
}

/// The form of a noun that goes with a count: `row` or `rows`, `entry` or `entries`.
pub(crate) fn form_of(count: u64, noun: &str) -> String {
    match (count, noun.strip_suffix('y')) {
        (1, _) => noun.to_owned(),
        (_, Some(stem)) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    }
}

/// All names: `a`, or `one of a, b or c`.
pub(crate) fn one_of<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [name] => (*name).to_owned(),
        [head @ .., last] => format!("one of {} or {last}", head.join(", ")),
    }
}

/// The first names, quoted, and how many more there are.
pub(crate) fn listing<S: AsRef<str>>(names: &[S]) -> String {
    const SHOWN: usize = 12;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{}`", name.as_ref())).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        rest => format!("{} and {rest} more", shown.join(", ")),
    }
}

/// A cell as it is shown in a message: quoted, escaped, not too long.
pub(crate) fn shown(cell: &str) -> String {
    const SHOWN: usize = 40;
    match cell.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}...", &cell[..end]),
        None => format!("{cell:?}"),
    }
}
