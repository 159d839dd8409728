//! The pages: their links lead somewhere, their commands parse, their pipelines are sound, and what the program writes of itself is what stands there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use paramill::estimate::Status;
use paramill::pipeline::{Locations, Plan, Sweep, load_system};
use paramill::schema::FormatVersion;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every page for people, by its path.
fn pages() -> Vec<(PathBuf, String)> {
    let mut paths: Vec<PathBuf> =
        ["README.md", "RESULTS.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
            .into_iter()
            .chain(["datasets/README.md", "pipelines/archives/README.md"])
            .map(|name| root().join(name))
            .collect();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                paths.push(path);
            }
        }
    }
    assert!(paths.len() > 25, "the folder docs was not read");
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), read(&path))).collect()
}

/// The blocks of code of a page in one language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(of) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if of == language {
                found.push(block.join("\n"));
            }
        }
    }
    found
}

/// A page without its blocks of code.
fn prose(page: &str) -> String {
    let mut is_code = false;
    let kept = page.lines().filter(|line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    kept.collect::<Vec<_>>().join("\n")
}

/// What a link may say behind `#`: the headings as GitHub makes anchors of them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for heading in prose(page).lines().filter(|line| line.starts_with('#')) {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|&c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let mut numbered = (1..).map(|n| format!("{anchor}-{n}"));
        let anchor = if found.contains(&anchor) { numbered.find(|it| !found.contains(it)).unwrap() } else { anchor };
        found.insert(anchor);
    }
    found
}

/// The targets of the links and pictures of a page.
fn links(page: &str) -> Vec<String> {
    let prose = prose(page);
    let behind = prose.split("](").skip(1);
    behind.filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut dead = Vec::new();
    let mut count = 0;
    for (path, page) in pages() {
        for link in links(&page).into_iter().filter(|link| !link.starts_with("http")) {
            count += 1;
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            let leads = target.exists() && (heading.is_empty() || anchors(&read(&target)).contains(heading));
            if !leads {
                dead.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(count > 100, "{count} links were found");
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn every_page_is_reached_from_the_index() {
    let index = root().join("docs/README.md");
    let listed: BTreeSet<PathBuf> =
        links(&read(&index)).iter().filter_map(|link| root().join("docs").join(link).canonicalize().ok()).collect();
    for (path, _) in pages() {
        let is_page = path.starts_with(root().join("docs")) && path != index;
        assert!(
            !is_page || listed.contains(&path.canonicalize().unwrap()),
            "{} is not in docs/README.md",
            path.display()
        );
    }
}

/// The command lines of `paramill` in a block of shell, word by word.
fn commands(block: &str) -> Vec<Vec<String>> {
    let lines = block.replace("\\\n", " ");
    let parts = lines.lines().flat_map(|line| line.split(" #").next().unwrap_or_default().split("&&"));
    let parts = parts.map(|part| part.split([';', '|', '>']).next().unwrap_or_default().trim());
    let words = parts.map(|part| part.split_whitespace().map(|word| word.replace(['\'', '"'], "")).collect::<Vec<_>>());
    words.filter(|words| words.first().is_some_and(|name| name.ends_with("paramill"))).collect()
}

#[test]
fn every_command_line_parses() {
    let mut count = 0;
    for (path, page) in pages() {
        for words in blocks(&page, "sh").iter().flat_map(|block| commands(block)) {
            count += 1;
            if let Err(error) = paramill::cli::command().try_get_matches_from(&words) {
                panic!("{}: {}\n{error}", path.display(), words.join(" "));
            }
        }
    }
    assert!(count > 80, "{count} command lines were found");
}

#[test]
fn every_pipeline_and_system_in_a_page_is_sound() {
    let mut count = 0;
    for (path, page) in pages() {
        let folder = tempfile::tempdir().unwrap();
        let place = |(i, block): (usize, String)| {
            let named = block.lines().next().and_then(|line| line.strip_prefix("# ")?.split_once(".toml"));
            let name = named.map_or_else(|| format!("block-{i}.toml"), |(name, _)| format!("{name}.toml"));
            let file = folder.path().join(name);
            fs::write(&file, &block).unwrap();
            (file, block)
        };
        let placed: Vec<(PathBuf, String)> = blocks(&page, "toml").into_iter().enumerate().map(place).collect();
        for (file, block) in placed {
            let table: toml::Table =
                toml::from_str(&block).unwrap_or_else(|error| panic!("{}: {error}\n{block}", path.display()));
            let names_dataset = |stage: &str| table.get(stage).is_some_and(|section| section.get("dataset").is_some());
            let problems = if names_dataset("generate") || names_dataset("import") {
                match Sweep::load(&file, &[], &Locations::default()) {
                    Ok(None) => Plan::load(&file, &[], &Locations::default()).err(),
                    sweep => sweep.err(),
                }
            } else if table.contains_key("states") {
                load_system(&file).unwrap().err()
            } else {
                continue;
            };
            count += 1;
            let lines: Vec<_> = problems.iter().flatten().map(ToString::to_string).collect();
            assert!(lines.is_empty(), "{}: {}\n{block}", path.display(), lines.join("\n"));
        }
    }
    assert!(count > 6, "{count} pipelines and systems were found");
}

#[test]
fn the_reference_pages_are_those_that_the_program_writes() {
    let place = tempfile::tempdir().unwrap();
    let output =
        Command::cargo_bin("paramill").unwrap().args(["reference", "--write"]).arg(place.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let mut count = 0;
    for entry in fs::read_dir(place.path()).unwrap() {
        let written = entry.unwrap().path();
        let stored = root().join("docs/reference").join(written.file_name().unwrap());
        let remedy = "is out of date: run `make schemas`";
        assert!(fs::read_to_string(&stored).unwrap_or_default() == read(&written), "{} {remedy}", stored.display());
        count += 1;
    }
    assert_eq!(count, 3);
}

#[test]
fn the_results_are_those_of_the_files_beside_them() {
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join("results")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let output = Command::cargo_bin("paramill").unwrap().arg("results").args(&files).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let stored = read(&root().join("RESULTS.md"));
    assert!(String::from_utf8(output.stdout).unwrap() == stored, "RESULTS.md is out of date: run `make results`");
    // Each is of a sweep that is there, and has all its cells, run or not.
    for file in files {
        let results: paramill::report::SweepResults = serde_json::from_str(&read(&file)).unwrap();
        let pipeline = root().join("pipelines/paper").join(format!("{}.toml", results.sweep));
        let budget = results.budget.iter().map(|name| format!("sweep.budget={name}")).collect::<Vec<_>>();
        let sweep = Sweep::load(&pipeline, &budget, &Locations::default()).unwrap().unwrap();
        let names: Vec<&String> = sweep.cells.iter().map(|cell| &cell.name).collect();
        assert_eq!(results.cells.iter().map(|cell| &cell.name).collect::<Vec<_>>(), names, "{}", file.display());
    }
}

/// What was measured on a GPU, or that it was not.
#[test]
fn the_page_of_the_gpu_is_the_one_that_its_figures_make() {
    let output = Command::new("python3").arg(root().join("benches/gpu/page.py")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let stored = read(&root().join("docs/studies/gpu.md"));
    assert!(
        String::from_utf8(output.stdout).unwrap() == stored,
        "docs/studies/gpu.md is out of date: python3 benches/gpu/page.py > docs/studies/gpu.md"
    );
}

#[test]
fn the_page_of_estimates_has_every_status_and_that_of_files_the_format() {
    let page = read(&root().join("docs/reference/estimates.md"));
    let listed = page.lines().skip_while(|line| *line != "## Statuses").filter_map(|line| line.strip_prefix("| `"));
    let listed: BTreeSet<&str> = listed.filter_map(|row| Some(row.split_once('`')?.0)).collect();
    assert_eq!(listed, Status::ALL.map(Status::name).into_iter().collect());
    let failed = |status: &Status| {
        page.lines().any(|line| {
            line.starts_with(&format!("| `{status}` |", status = status.name())) && line.ends_with("| yes |")
        })
    };
    assert!(Status::ALL.iter().all(|status| failed(status) == status.is_failure()));
    let files = read(&root().join("docs/reference/files.md"));
    let (data, model, estimates) = (FormatVersion::DATASET, FormatVersion::MODEL, FormatVersion::ESTIMATES);
    let formats = format!("datasets {data}, models {model}, estimates {estimates}");
    assert!(files.contains(&formats), "the formats are {formats}");
}

/// A newcomer copies the table and the pipeline of the README, and gets what stands below them.
#[test]
fn the_example_of_the_readme_runs() {
    let readme = read(&root().join("README.md"));
    assert!(readme.chars().count() <= 6000, "README.md has {} characters", readme.chars().count());
    let home = tempfile::tempdir().unwrap();
    let table = read(&root().join("docs/guides/cups.csv"));
    let texts = blocks(&readme, "text");
    assert!(table.starts_with(&texts[0]), "README.md shows another table than docs/guides/cups.csv has");
    fs::write(home.path().join("cups.csv"), table).unwrap();
    fs::write(home.path().join("cups.toml"), &blocks(&readme, "toml")[0]).unwrap();
    let steps: Vec<_> = blocks(&readme, "sh").iter().flat_map(|block| commands(block)).collect();
    let steps: Vec<_> = steps.iter().filter(|words| words.iter().any(|word| word.contains("cups"))).collect();
    assert_eq!(steps.len(), 3);
    let mut said = String::new();
    for words in steps {
        let output = Command::cargo_bin("paramill").unwrap().current_dir(&home).args(&words[1..]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        said = String::from_utf8(output.stdout).unwrap();
    }
    assert!(said.ends_with(&format!("{}\n", texts[1])), "{said}");
}
