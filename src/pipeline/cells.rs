//! The cells of a sweep: one plan for every combination of the values of its axes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::check::read::{differences, missing_stages, read_cell, written};
use super::check::sections::is_a_figure;
use super::check::unheeded::unheeded;
use super::document::{Document, segments, whole_numbers};
use super::error::Error;
use super::name::{is_name, pipeline_name};
use super::plan::{Locations, Plan};
use super::stage::Stage;
use super::sweep_settings::{AxisValue, Setting, SweepSettings, leaves};
use crate::atomic;
use crate::problems::{Kind, Problem, Problems, did_you_mean};
use crate::regular;

/// Between the parts of the name of a cell.
const BETWEEN: &str = "--";
/// Longest name of a cell.
const LONGEST: usize = 160;

/// A pipeline with `[sweep]`.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The file's name without `.toml`.
    pub name: String,
    /// The title of its tables: that of `[report]`, or the name.
    pub title: String,
    /// Its description.
    pub description: String,
    /// What varies.
    pub settings: SweepSettings,
    /// Its directory: `runs/NAME`, or that which was asked for.
    pub workspace: PathBuf,
    /// Every combination, the last axis fastest.
    pub cells: Vec<Cell>,
}

/// One combination of values.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Its name, which is that of its pipeline: `coda-l1--seed-0`.
    pub name: String,
    /// The label of its value on each axis, in the order of the axes.
    pub labels: Vec<String>,
    /// The pipeline, which is run in `cells/NAME` of the sweep's workspace.
    pub plan: Plan,
}

impl Sweep {
    /// The sweep in `file` after the `--set` arguments; `None` if it has no `[sweep]`, or cannot be read as a pipeline at all.
    ///
    /// # Errors
    /// Every problem of the section and of all cells, in order of place.
    pub fn load(file: &Path, arguments: &[String], locations: &Locations) -> Result<Option<Self>, Vec<Problem>> {
        // What cannot be read is told by who reads a single pipeline.
        let Ok((mut document, mut problems)) = written(file, arguments) else { return Ok(None) };
        if document.root().get("sweep").is_none() {
            return Ok(None);
        }
        problems.extend(of_section(&document));
        let settings = match settings(&document) {
            Ok(settings) => settings,
            // Where a value was refused there is none, which is told already.
            Err(problem) => return Err(if problems.is_empty() { vec![*problem] } else { once(problems) }),
        };
        let mut of_settings = settings.validate();
        for (at, figure) in settings.figures.iter().enumerate() {
            is_a_figure(figure, format!("sweep.figures.{at}"), &mut of_settings);
        }
        problems.extend(of_settings.into_vec().into_iter().map(|problem| document.placed(problem)));
        if !problems.is_empty() {
            return Err(once(problems));
        }
        let name = pipeline_name(file);
        let workspace = locations.workspace.clone().unwrap_or_else(|| Path::new("runs").join(&name));
        let text =
            |pointer: &str| document.root().pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (title, description) = (text("/report/title"), text("/description"));
        let title = if title.is_empty() { name.clone() } else { title };
        let said = document.clone();
        document.remove("sweep");
        let places: Vec<Vec<AxisValue>> =
            settings.over.iter().enumerate().map(|(at, axis)| axis.places(&format!("sweep.over.{at}"))).collect();
        let budget = settings.budget.as_ref().and_then(|name| settings.budgets.get_key_value(name));
        let of_budget = budget.map_or_else(Vec::new, |(name, set)| leaves(set, "", &format!("sweep.budgets.{name}")));
        let mut sweep = Sweep { name, title, description, settings, workspace, cells: Vec::new() };
        let problems = sweep.set_in_vain(arguments, &of_budget, &places);
        if !problems.is_empty() {
            return Err(problems.into_vec().into_iter().map(|problem| said.placed(problem)).collect());
        }
        let mut problems = Vec::new();
        for combination in combinations(&places) {
            let set: Vec<&Setting> = of_budget.iter().chain(combination.iter().flat_map(|place| &place.set)).collect();
            let document = assigned(&document, &said, &set).map(|mut document| {
                sweep.own_dataset(&mut document, &of_budget, &combination);
                sweep.own_metrics(&mut document, &combination);
                document
            });
            match document.and_then(|document| sweep.cell(document, &combination, (file, locations))) {
                Ok(cell) => sweep.cells.push(cell),
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() {
            problems = sweep.conflicts().into_iter().map(|problem| said.placed(problem)).collect();
        }
        if !problems.is_empty() {
            return Err(once(problems));
        }
        Ok(Some(sweep))
    }

    /// Arguments `--set KEY=VALUE` whose key the sweep sets in every cell.
    fn set_in_vain(&self, arguments: &[String], of_budget: &[Setting], places: &[Vec<AxisValue>]) -> Problems {
        let mut problems = Problems::default();
        let keys = arguments.iter().filter_map(|argument| argument.split_once('=')).map(|(key, _)| key.trim());
        for key in keys {
            let is_of = |set: &Setting| set.key == key || set.key.starts_with(&format!("{key}."));
            let axis = places.iter().position(|axis| axis.iter().all(|place| place.set.iter().any(is_of)));
            let by = match (axis, of_budget.iter().any(is_of)) {
                (Some(axis), _) => format!("the axis \"{}\"", self.settings.over[axis].title()),
                (None, true) => format!("the budget \"{}\"", self.settings.budget.as_deref().unwrap_or_default()),
                (None, false) => continue,
            };
            let remedy = "leave it out, or set the key under `sweep` where that is said";
            problems.add(key, format!("a key that {by} sets"), "one that no cell sets", remedy);
        }
        problems
    }

    fn cell(
        &self,
        document: Document,
        combination: &[&AxisValue],
        (file, locations): (&Path, &Locations),
    ) -> Result<Cell, Vec<Problem>> {
        let labels: Vec<String> = combination.iter().map(|place| place.label.clone()).collect();
        let name = self.name_of(combination, true, &|_| true);
        let read = read_cell(document, file)?;
        if !read.problems.is_empty() {
            return Err(read.problems);
        }
        let workspace = Some(self.cells_directory().join(&name));
        let locations = Locations { workspace, datasets: locations.datasets.clone() };
        let without_dataset = missing_stages(&read.document);
        let plan = Plan::resolve(name.clone(), read.document, read.settings, &locations).ok_or(without_dataset)?;
        Ok(Cell { name, labels, plan })
    }

    /// The name that the budget and the values on the axes that are `part` of it give.
    fn name_of(&self, combination: &[&AxisValue], with_budget: bool, is_part: &dyn Fn(usize) -> bool) -> String {
        let part = |(axis, place): (usize, &&AxisValue)| {
            let (of, label) = (&self.settings.over[axis], as_name(&place.label));
            match of.variants.is_empty() {
                true => format!("{}-{label}", as_name(of.title())),
                false => label,
            }
        };
        let parts = combination.iter().enumerate().filter(|(axis, _)| is_part(*axis)).map(part);
        let budget = self.settings.budget.iter().filter(|_| with_budget).map(|name| as_name(name));
        budget.chain(parts).collect::<Vec<_>>().join(BETWEEN)
    }

    /// Where what a cell sets makes another dataset, its values are added to the dataset's name.
    fn own_dataset(&self, document: &mut Document, of_budget: &[Setting], combination: &[&AxisValue]) {
        let Some(section) = ["generate", "import"].into_iter().find(|it| document.root().get(it).is_some()) else {
            return;
        };
        let own = format!("{section}.dataset");
        if combination.iter().any(|place| place.set.iter().any(|set| set.key == own)) {
            return;
        }
        let inside = format!("{section}.");
        let makes = |Setting { key, .. }: &Setting| {
            key == section || key.starts_with(&inside) || (key == "seed" && section == "generate")
        };
        // Of every cell if of any: one that leaves the key out has the value of the file.
        let of_axis = |axis: usize| self.settings.over[axis].places("").iter().any(|place| place.set.iter().any(makes));
        let suffix = self.name_of(combination, of_budget.iter().any(makes), &of_axis);
        let named = document.root().pointer(&format!("/{section}/dataset")).and_then(Value::as_str);
        if let Some(name) = named.filter(|_| !suffix.is_empty()).map(|name| format!("{name}{BETWEEN}{suffix}")) {
            let place = document.value_place(&[section.to_owned(), "dataset".to_owned()]);
            let _ = document.assign(&own, Value::String(name), (place.clone(), place));
        }
    }

    /// Each cell has a file of metrics of its own, beside that which the file names.
    fn own_metrics(&self, document: &mut Document, combination: &[&AxisValue]) {
        let Some(path) = document.root().pointer("/run/metrics").and_then(Value::as_str).map(PathBuf::from) else {
            return;
        };
        let of_cell = self.name_of(combination, true, &|_| true);
        let [stem, extension] = [path.file_stem(), path.extension()].map(|it| it.map(|it| it.display().to_string()));
        let extension = extension.map_or_else(String::new, |it| format!(".{it}"));
        let own = path.with_file_name(format!("{}{BETWEEN}{of_cell}{extension}", stem.unwrap_or_default()));
        let place = document.value_place(&["run".to_owned(), "metrics".to_owned()]);
        let _ = document.assign("run.metrics", Value::String(own.display().to_string()), (place.clone(), place));
    }

    /// Cells whose names or datasets are the same and that are not.
    fn conflicts(&self) -> Vec<Problem> {
        let mut problems = Problems::default();
        let mut names = BTreeSet::new();
        let mut datasets: BTreeMap<&Path, (&Cell, Value)> = BTreeMap::new();
        for cell in &self.cells {
            let name = &cell.name;
            if !is_name(name) || name.len() > LONGEST {
                let expected = format!("a name that can be a directory's, of at most {LONGEST} characters");
                problems.add(
                    "sweep.over",
                    format!("the cell \"{name}\""),
                    expected,
                    "take `variants`, each with a short `name`",
                );
            } else if !names.insert(name.to_ascii_lowercase()) {
                let remedy = "take `variants`, each with a `name` of its own";
                problems.add("sweep.over", format!("two cells of the name \"{name}\""), "names that differ", remedy);
            }
            let of_dataset = dataset_settings(&cell.plan);
            let (first, same) = datasets.entry(&cell.plan.dataset_directory).or_insert((cell, of_dataset.clone()));
            if *same != of_dataset {
                let found = format!(
                    "the dataset \"{}\" of both {} and {name}, which would make it differently",
                    cell.plan.dataset, first.name
                );
                problems.add(
                    "sweep.over",
                    found,
                    "one name for each dataset",
                    "leave the name out of the axes: each then gets its own",
                );
            }
        }
        problems.into_vec()
    }

    /// Settings that are given and have no effect in any cell, each at its place.
    pub fn warnings(&self) -> Vec<Problem> {
        let plans = self.cells.iter().map(|cell| &cell.plan);
        unheeded(&plans.filter_map(|plan| Some((&plan.document, plan.trains()?))).collect::<Vec<_>>())
    }

    /// What tells the results by the budget from those without one, in names of files.
    pub(crate) fn of_budget(&self) -> String {
        self.settings.budget.as_ref().map_or_else(String::new, |name| format!("{BETWEEN}{}", as_name(name)))
    }

    /// `cells` in its workspace.
    pub fn cells_directory(&self) -> PathBuf {
        self.workspace.join("cells")
    }

    /// The pipeline file of a cell, which stands by itself.
    pub fn file_of(&self, cell: &Cell) -> PathBuf {
        self.cells_directory().join(format!("{}.toml", cell.name))
    }

    /// Writes the pipeline file of a cell, unless it stands there.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_file_of(&self, cell: &Cell) -> Result<PathBuf, Error> {
        let path = self.file_of(cell);
        let text = format!("# A cell of the sweep `{}`.\n\n{}", self.name, cell.plan.effective_toml());
        if regular::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            return Ok(path);
        }
        atomic::write_file(&path, text.as_bytes()).map_err(Error::io(&path))?;
        Ok(path)
    }

    /// The first cell as TOML with every default filled in, and `[sweep]`, which says how the others differ.
    pub fn effective_toml(&self) -> String {
        let first = self.cells.first().map(|cell| cell.plan.effective_toml()).unwrap_or_default();
        let sweep = toml::to_string(&BTreeMap::from([("sweep", &self.settings)]));
        let sweep = sweep.unwrap_or_else(|error| format!("# cannot be written as TOML: {error}\n"));
        format!("{first}\n{sweep}")
    }

    /// The cells of these names; all if there are none.
    ///
    /// # Errors
    /// A name that no cell has.
    pub fn named(&self, names: &[String]) -> Result<Vec<&Cell>, Error> {
        let known = || self.cells.iter().map(|cell| cell.name.as_str());
        if let Some(name) = names.iter().find(|name| known().all(|known| known != *name)) {
            let remedy = did_you_mean(name, known())
                .unwrap_or_else(|| format!("`paramill status` lists the {}", self.cells.len()));
            return Err(Error::Usage(format!("found the cell `{name}`; expected one of the sweep; {remedy}")));
        }
        Ok(self.cells.iter().filter(|cell| names.is_empty() || names.contains(&cell.name)).collect())
    }
}

/// How the section `[sweep]` of a file differs from its schema.
fn of_section(document: &Document) -> Vec<Problem> {
    let mut alone = document.clone();
    let others: Vec<String> =
        document.root().as_object().into_iter().flat_map(Map::keys).filter(|key| *key != "sweep").cloned().collect();
    others.iter().for_each(|key| alone.remove(key));
    differences(&alone)
}

/// The section `[sweep]` of a file.
///
/// # Errors
/// If it is none.
fn settings(document: &Document) -> Result<SweepSettings, Box<Problem>> {
    let value = document.root().get("sweep").cloned().unwrap_or(Value::Null);
    serde_json::from_value(whole_numbers(&value)).map_err(|error| {
        let found = format!("an impossible value ({error})");
        let place = document.key_place(&["sweep".to_owned()]);
        let problem = Problem::new(Kind::Setting, found, "what `paramill schema pipeline` says", "correct the value");
        Box::new(problem.setting("sweep").at(place))
    })
}

/// The problems in order of place. What several cells find at one place, of one key and with one remedy, is one fault, and told once.
fn once(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort();
    problems.dedup();
    let fault = |it: &Problem| [it.key.clone(), it.expected.clone(), it.remedy.clone()];
    let mut told: Vec<(Problem, usize)> = Vec::new();
    for problem in problems {
        match told.iter_mut().find(|(first, _)| first.place == problem.place && fault(first) == fault(&problem)) {
            Some((_, others)) => *others += 1,
            None => told.push((problem, 0)),
        }
    }
    let in_words = |(problem, others): (Problem, usize)| match others {
        0 => problem,
        others => Problem { found: format!("{}, and {others} more like it", problem.found), ..problem },
    };
    told.into_iter().map(in_words).collect()
}

/// `base` after what a cell sets; `said` has the places of these settings.
fn assigned(base: &Document, said: &Document, set: &[&Setting]) -> Result<Document, Vec<Problem>> {
    let mut document = base.clone();
    let place = |at: &str| said.value_place(&segments(at));
    let assign =
        |set: &&Setting| document.assign(&set.key, set.value.clone(), (place(&set.key_at), place(&set.value_at))).err();
    let problems: Vec<Problem> = set.iter().filter_map(assign).map(|problem| *problem).collect();
    if problems.is_empty() { Ok(document) } else { Err(problems) }
}

/// Every combination, the last axis fastest.
fn combinations(axes: &[Vec<AxisValue>]) -> Vec<Vec<&AxisValue>> {
    axes.iter().fold(vec![Vec::new()], |before, axis| {
        before.iter().flat_map(|begun| axis.iter().map(move |place| [begun.as_slice(), &[place]].concat())).collect()
    })
}

/// What a dataset is made from.
fn dataset_settings(plan: &Plan) -> Value {
    let stage = plan.stages().into_iter().find(|stage| stage.makes_dataset());
    let seed = stage.filter(|stage| stage.uses_seed()).map(|_| plan.seed);
    json!([stage.map(|stage: Stage| plan.settings(stage)), seed])
}

/// A label as a part of a name.
fn as_name(label: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '-' };
    label.chars().map(kept).collect()
}
