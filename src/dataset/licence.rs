//! Licences as SPDX writes them: identifiers, joined by `AND` and `OR`, with exceptions behind `WITH`.
//!
//! Source: SPDX Specification 2.3, annex D, License expressions.

use crate::problems::{did_you_mean, listing};

/// The usual identifiers of data and of code. SPDX has some hundreds more.
const USUAL: [&str; 38] = [
    "0BSD",
    "AGPL-3.0-only",
    "AGPL-3.0-or-later",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "C-UDA-1.0",
    "CC-BY-3.0",
    "CC-BY-4.0",
    "CC-BY-NC-4.0",
    "CC-BY-NC-ND-4.0",
    "CC-BY-NC-SA-4.0",
    "CC-BY-ND-4.0",
    "CC-BY-SA-3.0",
    "CC-BY-SA-4.0",
    "CC0-1.0",
    "CDLA-Permissive-1.0",
    "CDLA-Permissive-2.0",
    "CDLA-Sharing-1.0",
    "DL-DE-BY-2.0",
    "DL-DE-ZERO-2.0",
    "EUPL-1.2",
    "GFDL-1.3-or-later",
    "GPL-2.0-only",
    "GPL-3.0",
    "GPL-3.0-only",
    "GPL-3.0-or-later",
    "ISC",
    "LGPL-3.0-only",
    "MIT",
    "MPL-2.0",
    "O-UDA-1.0",
    "ODC-By-1.0",
    "ODbL-1.0",
    "OGL-UK-3.0",
    "PDDL-1.0",
    "Unlicense",
    "etalab-2.0",
];

/// What others do not read of a licence: what was found, and what to do; `None` if all of it is usual, or its own (`LicenseRef-NAME`).
pub(super) fn problem(licence: &str) -> Option<(String, String)> {
    let own = "`LicenseRef-NAME` if it has none there, with its text beside the data";
    let Some(identifiers) = identifiers(licence) else {
        let remedy = format!("write its identifier from spdx.org/licenses, or {own}");
        return Some((format!("{licence:?}, which is no SPDX expression"), remedy));
    };
    let is_known = |name: &&str| {
        name.starts_with("LicenseRef-")
            || USUAL.iter().any(|usual| usual.eq_ignore_ascii_case(name.trim_end_matches('+')))
    };
    let others: Vec<&str> = identifiers.into_iter().filter(|name| !is_known(name)).collect();
    let first = others.first()?;
    let guess = did_you_mean(first, USUAL).map_or_else(String::new, |guess| format!("{guess} Else "));
    let remedy = format!("{guess}see that spdx.org/licenses has it, or write {own}");
    Some((format!("{}, which is none of the usual licences", listing(&others)), remedy))
}

/// The identifiers of an expression, those of exceptions left out; `None` if it is none.
fn identifiers(expression: &str) -> Option<Vec<&str>> {
    let is_identifier = |word: &str| {
        let name = word.strip_suffix('+').unwrap_or(word);
        !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-.".contains(&it))
    };
    let (mut identifiers, mut open, mut is_wanted, mut rest) = (Vec::new(), 0usize, true, expression.trim());
    while !rest.is_empty() {
        let end = rest.find(|c: char| c.is_whitespace() || "()".contains(c)).unwrap_or(rest.len());
        // A parenthesis is a word of its own.
        let (word, after) = rest.split_at(if end == 0 { 1 } else { end });
        match (word, is_wanted) {
            ("(", true) => open += 1,
            (")", false) => open = open.checked_sub(1)?,
            ("AND" | "OR" | "WITH", false) => is_wanted = true,
            (word, true) if is_identifier(word) && !["AND", "OR", "WITH"].contains(&word) => {
                let before = expression[..expression.len() - rest.len()].trim_end();
                if !before.ends_with(" WITH") {
                    identifiers.push(word);
                }
                is_wanted = false;
            }
            _ => return None,
        }
        rest = after.trim_start();
    }
    (!is_wanted && open == 0).then_some(identifiers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_licences_and_own_ones_pass_and_others_are_told_with_a_hint() {
        for right in [
            "CC-BY-4.0",
            "cc-by-4.0",
            "MIT OR Apache-2.0",
            "(CC0-1.0 OR ODbL-1.0) AND LicenseRef-Clinic.2",
            "GPL-2.0-only WITH Classpath-exception-2.0",
            "Apache-2.0+",
        ] {
            assert_eq!(problem(right), None, "{right}");
        }
        for wrong in [
            "CC BY 4.0",
            "do what you like",
            "MIT OR",
            "OR MIT",
            "(MIT",
            "MIT)",
            "MIT and ISC",
            "CC_BY",
            "мит",
            "MIT Apache-2.0",
        ] {
            assert!(problem(wrong).unwrap().0.ends_with("no SPDX expression"), "{wrong}");
        }
        let (found, remedy) = problem("MIT AND CC-BY-40").unwrap();
        assert_eq!(found, "`CC-BY-40`, which is none of the usual licences");
        assert!(remedy.starts_with("did you mean `CC-BY-4.0`?"), "{remedy}");
        assert!(problem("proprietary").unwrap().1.starts_with("see that spdx.org"));
    }
}
