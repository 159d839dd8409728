//! The known name that a mistaken one was meant for.

use super::words::listing;

/// ``did you mean `X`?``, or the names there are.
pub(crate) fn suggestion<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().filter(|name| !name.is_empty()).collect();
    did_you_mean(wanted, known.iter().copied()).unwrap_or_else(|| match known.is_empty() {
        true => "there are none".to_owned(),
        false => format!("there are {}", listing(&known)),
    })
}

/// ``did you mean `X`?``, if a name is close enough.
pub(crate) fn did_you_mean<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(wanted, known).map(|name| format!("did you mean `{name}`?"))
}

/// The name closest to `word` in its letters and digits, if one is close enough to be meant.
pub(crate) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters =
        |name: &str| -> String { name.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase() };
    let word = letters(word);
    let scored = names.into_iter().map(|name| {
        let name_letters = letters(name);
        let typos = strsim::damerau_levenshtein(&word, &name_letters);
        (strsim::jaro_winkler(&word, &name_letters), typos, name)
    });
    // Of names that are equally close, the one with the fewest typos.
    let (likeness, typos, name) = scored.max_by(|one, other| one.0.total_cmp(&other.0).then(other.1.cmp(&one.1)))?;
    // Jaro-Winkler favours common beginnings; in a short word one typo, such as two swapped letters, weighs too much in it.
    let is_close = likeness > 0.8 || (typos == 1 && word.len() > 2);
    (is_close && !word.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_close_in_its_letters() {
        let nearest = |word| nearest(word, ["beta", "delta", "lotka-volterra", "Level_m"]);
        assert_eq!(nearest("bta"), Some("beta"));
        assert_eq!(nearest("lotka"), Some("lotka-volterra"));
        assert_eq!(nearest("level (m)"), Some("Level_m"));
        assert_eq!(nearest("epsilon"), None);
        assert_eq!(nearest("?"), None);
    }
}
