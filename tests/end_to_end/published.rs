//! What a hub or an archive would miss of a dataset.

use super::*;

const SET: &str = "datasets/pairs-set";
const PUBLICATION: &str = r#"
publication.version = "1.2.0"
publication.creators = ["Ada | Lovelace", "G. \"Ω\" Hopper"]
publication.citation = "Lovelace and Hopper, Pairs.\n```\n@misc{pairs}\n```"
publication.doi = "10.5281/zenodo.1234567"
publication.published = "2026-11-30"
"#;

fn checked(root: &Path, code: i32) -> Value {
    let output = paramill(root, &["dataset", "publish", "--check", SET, "--json"]);
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stdout));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The keys of what is missing.
fn keys(checked: &Value) -> Vec<&str> {
    checked["problems"].as_array().unwrap().iter().map(|it| it["key"].as_str().unwrap_or_default()).collect()
}

fn generated(more: &str) -> TempDir {
    let root =
        house("pairs.toml", &PAIRS.replace("dataset = \"pairs-set\"\n", &format!("dataset = \"pairs-set\"\n{more}")));
    run(root.path(), "pairs.toml", &["--stage", "generate"], 0);
    root
}

#[test]
fn everything_that_others_want_is_told_at_once() {
    let root = generated("license = \"unknown\"\n");
    let bare = checked(root.path(), 3);
    let of = ["creators", "version", "citation", "doi", "published"].map(|key| format!("generate.publication.{key}"));
    assert_eq!(keys(&bare), [vec!["generate.license"], of.iter().map(String::as_str).collect()].concat());
    let said = stderr(&paramill(root.path(), &["dataset", "publish", "--check", SET]));
    assert!(said.contains("error: datasets/pairs-set: 6 problems") && said.contains("a DOI"), "{said}");
    assert_eq!(paramill(root.path(), &["dataset", "publish", SET]).status.code(), Some(2));

    let root = generated(PUBLICATION);
    assert_eq!(keys(&checked(root.path(), 0)), [""; 0]);
    let croissant = json(&root.path().join(SET).join("croissant.json"));
    assert_eq!(croissant["version"], "1.2.0");
    assert_eq!(croissant["url"], "https://doi.org/10.5281/zenodo.1234567");
    assert_eq!(croissant["datePublished"], "2026-11-30");
    assert!(croissant["citeAs"].as_str().unwrap().contains("@misc{pairs}"));
    assert_eq!(croissant["creator"][1], serde_json::json!({ "@type": "sc:Person", "name": "G. \"Ω\" Hopper" }));
    let card = root.path().join(SET).join("README.md");
    let text = fs::read_to_string(&card).unwrap();
    assert!(
        text.contains("- By: Ada \\| Lovelace, G.") && text.contains("````text\nLovelace and Hopper, Pairs.\n"),
        "{text}"
    );

    // What was edited so that the hub reads nothing of it, and what was damaged.
    fs::write(&card, text.replacen("license:", "licence:", 1)).unwrap();
    assert_eq!(paramill(root.path(), &["dataset", "seal", SET]).status.code(), Some(0));
    let edited = checked(root.path(), 3);
    assert_eq!(edited["problems"][0]["found"], "no `license` in its front matter");
    let file = root.path().join(SET).join("hdf5/adapt.h5");
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).unwrap();
    assert!(checked(root.path(), 3)["damage"].to_string().contains("adapt.h5"));
}

#[test]
fn a_licence_that_nobody_knows_and_a_day_to_come_are_told() {
    let publication = PUBLICATION.replace("2026-11-30", "2999-01-01");
    let root = generated(&format!("license = \"CC BY 4.0\"\n{publication}"));
    let found = checked(root.path(), 3);
    assert_eq!(keys(&found), ["generate.license", "generate.publication.published"]);
    let said = found["problems"].to_string();
    assert!(said.contains("which is no SPDX expression") && said.contains("2999-01-01, and today is 2"), "{said}");
    let root = generated(&format!("license = \"CC-BY-4.0 OR LicenseRef-pairs\"\n{PUBLICATION}"));
    assert_eq!(keys(&checked(root.path(), 0)), [""; 0]);
}

#[test]
fn what_is_written_otherwise_is_refused() {
    let wrong = PAIRS.replace(
        "dataset = \"pairs-set\"\n",
        "dataset = \"pairs-set\"\npublication = { version = \"v1\", doi = \"doi:10.1/x\" }\n",
    );
    let root = house("pairs.toml", &wrong);
    let output = paramill(root.path(), &["check", "pairs.toml"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("(generate.publication.version): found \"v1\"") && said.contains("a DOI alone"), "{said}");
}
