//! The known name that a mistaken one was meant for.

use super::words::listing;

/// `did you mean X?`, or the names there are.
pub(crate) fn suggestion<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().filter(|name| !name.is_empty()).collect();
    let plain =
        |name: &str| -> String { name.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase() };
    let nearest = known
        .iter()
        .map(|name| (strsim::jaro_winkler(&plain(wanted), &plain(name)), name))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((likeness, name)) if likeness > 0.8 => format!("did you mean `{name}`?"),
        Some(_) => format!("there are {}", listing(&known)),
        None => "there are none".to_owned(),
    }
}

/// The name closest to `word`, if one is close enough to be meant.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let scored = names.map(|name| {
        let lower = name.to_lowercase();
        (strsim::jaro_winkler(&word, &lower), lower, name)
    });
    let (likeness, lower, name) = scored.max_by(|one, other| one.0.total_cmp(&other.0))?;
    let typos = strsim::damerau_levenshtein(&word, &lower);
    // Likeness favours common beginnings; in short words one typo, such as two swapped letters, weighs too much in it.
    (likeness > 0.8 || (typos == 1 && word.len() > 2)).then_some(name)
}
