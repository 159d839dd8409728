//! What would be missed where a dataset is published: by the Hugging Face hub, by an archive such as Zenodo, and by tools that read Croissant.
//!
//! Sources: Hugging Face, Dataset Cards; Zenodo, Describe records; MLCommons, Croissant Format Specification 1.1, required and recommended
//! properties.

use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;

use super::error::Error;
use super::layout::CARD;
use super::licence;
use super::manifest::Manifest;
use super::publication::Publication;
use super::reader::Dataset;
use super::verify::verify;
use crate::problems::{Kind, Problem, listing};
use crate::regular;

/// Most files of a record of Zenodo, and most bytes.
const MOST_FILES: usize = 100;
const MOST_BYTES: u64 = 50_000_000_000;
/// Files that describe a dataset, beside those that its manifest lists.
const DESCRIPTIONS: usize = 4;

/// What stands in the way of publishing a dataset.
pub struct Missed {
    /// What is damaged, a sentence each.
    pub damage: Vec<String>,
    /// What is not said, or said in a way that others do not read.
    pub problems: Vec<Problem>,
}

/// Looks at the dataset in `directory`, all its files included.
///
/// # Errors
/// If it cannot be opened at all.
pub fn missed(directory: &Path) -> Result<Missed, Error> {
    let damage = verify(directory);
    let dataset = Dataset::open(directory)?;
    let manifest = dataset.manifest();
    let mut problems = of_description(manifest, latest_today());
    problems.extend(of_size(manifest));
    let path = directory.join(CARD);
    let card = regular::read(&path).map_err(Error::io(&path))?;
    problems.extend(of_card(&String::from_utf8_lossy(&card)).into_iter().map(|problem| problem.file(&path)));
    Ok(Missed { damage, problems })
}

/// The day that it is where days begin first, so that it has come for all others too, or soon will.
fn latest_today() -> Date {
    jiff::tz::offset(14).to_datetime(Timestamp::now()).date()
}

/// What the manifest does not say, or says in a way that cannot be.
fn of_description(manifest: &Manifest, today: Date) -> Vec<Problem> {
    let stage = manifest.provenance.stage.as_str();
    let has_settings = ["generate", "import"].contains(&stage);
    let remedy = |what: &str| match has_settings {
        true => format!("{what} in [{stage}], and make the dataset again by forcing the stage `{stage}`"),
        false => format!("make it of datasets that say it, or say it in {CARD} and run `paramill dataset seal`"),
    };
    let mut problems = Vec::new();
    let mut lacks = |key: &str, found: &str, expected: &str, what: &str| {
        let problem = Problem::new(Kind::Setting, found, expected, remedy(what));
        problems.push(problem.setting(if has_settings { format!("{stage}.{key}") } else { key.to_owned() }));
    };
    if ["", "unknown"].contains(&manifest.license.trim()) {
        let expected = "an SPDX licence: the hub, archives and Croissant want one, and nobody may use data without";
        lacks("license", &format!("{:?}", manifest.license), expected, "set `license = \"CC-BY-4.0\"`, or another");
    } else if let Some((found, hint)) = licence::problem(&manifest.license) {
        let expected =
            "SPDX identifiers, such as \"CC-BY-4.0\", by which the hub, archives and Croissant know licences";
        lacks("license", &found, expected, &format!("{hint}; set `license`"));
    }
    if manifest.description.trim().is_empty() {
        let expected = "a sentence on what it is, which all want";
        lacks("description", "none", expected, "set `description`");
    }
    let Publication { version, creators, citation, doi, published } = &manifest.publication;
    if creators.is_empty() {
        let expected = "who made it: archives and Croissant want names";
        lacks("publication.creators", "none", expected, "set `publication.creators = [\"NAME\"]`");
    }
    for (key, value, expected, example) in [
        ("version", version, "a version, by which Croissant and readers tell one dataset from the next", "1.0.0"),
        ("citation", citation, "how to cite it, which the hub and Croissant (`citeAs`) show", "TEXT"),
        (
            "doi",
            doi,
            "a DOI, by which others find it: archives reserve one before they publish",
            "10.5281/zenodo.NUMBER",
        ),
        ("published", published, "the day of publication, which Croissant wants", "YEAR-MONTH-DAY"),
    ] {
        if value.is_none() {
            lacks(&format!("publication.{key}"), "none", expected, &format!("set `publication.{key} = \"{example}\"`"));
        }
    }
    let day = published.as_ref().and_then(|text| text.parse::<Date>().ok());
    if let Some(day) = day.filter(|day| *day > today) {
        let expected = "a day that has come: it says since when others have it";
        lacks("publication.published", &format!("{day}, and today is {today}"), expected, "correct the day");
    }
    let quantities =
        manifest.channels.iter().chain(&manifest.parameters).chain(manifest.inputs.iter().map(|it| &it.quantity));
    let bare: Vec<&str> = quantities.filter(|it| it.description.trim().is_empty()).map(|it| it.name.as_str()).collect();
    if !bare.is_empty() {
        let expected = "a description of every quantity, which the card and Croissant show";
        lacks("channels", &format!("none of {}", listing(&bare)), expected, "describe them");
    }
    problems
}

/// What is too much for one record of an archive.
fn of_size(manifest: &Manifest) -> Vec<Problem> {
    let (files, bytes) = (manifest.files.len() + DESCRIPTIONS, manifest.files.iter().map(|it| it.bytes).sum::<u64>());
    let mut problems = Vec::new();
    if files > MOST_FILES {
        let expected = format!("at most {MOST_FILES}, which a record of Zenodo holds");
        problems.push(Problem::new(Kind::Setting, format!("{files} files"), expected, "upload it as one zip file"));
    }
    if bytes > MOST_BYTES {
        let expected = format!("at most {MOST_BYTES} bytes, which a record of Zenodo holds");
        let remedy = "divide it with `paramill dataset split`, or ask the archive";
        problems.push(Problem::new(Kind::Setting, format!("{bytes} bytes"), expected, remedy));
    }
    problems
}

/// What the hub would not read of a card, such as one that was edited.
fn of_card(card: &str) -> Vec<Problem> {
    let front_matter = card.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).map(|it| it.0);
    let remedy = "put it back, as `paramill` writes it, and run `paramill dataset seal`";
    let Some(front_matter) = front_matter else {
        let expected = "lines between `---` and `---` at its begin, which the hub reads";
        return vec![Problem::new(Kind::Setting, "no front matter", expected, remedy)];
    };
    let lacks = ["license", "pretty_name", "configs"].into_iter().filter(|key| {
        let begin = format!("{key}:");
        !front_matter.lines().any(|line| line.starts_with(&begin))
    });
    lacks
        .map(|key| Problem::new(Kind::Setting, format!("no `{key}` in its front matter"), "it, for the hub", remedy))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_without_what_the_hub_reads_are_told() {
        let whole = "---\npretty_name: \"x\"\nlicense: mit\nconfigs:\n- config_name: default\n---\n\n# x\n";
        assert!(of_card(whole).is_empty());
        let found = |card: &str| of_card(card).iter().map(|it| it.found.clone()).collect::<Vec<_>>();
        assert_eq!(found(&whole.replace("license: mit\n", "")), ["no `license` in its front matter"]);
        assert_eq!(found("# x\n"), ["no front matter"]);
    }
}
