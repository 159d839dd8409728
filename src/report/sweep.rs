//! The cells of a sweep side by side: the results file, its page, and a page of several sweeps in Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path as FilePath;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::axis::Axis;
use super::canvas::{Canvas, Path};
use super::comparison::{label, shown};
use super::error::Error;
use super::input::{ErrorsOverTime, Published};
use super::number;
use super::number::escape;
use super::page::{foot, head, section};
use super::plot::{Key, Plot, legend_row};
use super::side_by_side::{Spread, curves};
use super::tables::{numeric, table, text};
use crate::atomic;
use crate::problems::many;

/// A text in one line in which Markdown sees no HTML.
fn in_markdown(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// How a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CellState {
    /// All its stages are up to date; it has figures.
    Done,
    /// It was not run, or not to its end, or would give something else now.
    NotRun,
    /// Its last run ended with an error, which the next one would meet again for all that is known; or it cannot run as things are.
    Failed,
}

impl CellState {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            CellState::Done => "done",
            CellState::NotRun => "not run",
            CellState::Failed => "failed",
        }
    }
}

/// What came out of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellResults {
    /// Its name.
    pub name: String,
    /// The label of its value on each axis.
    pub labels: Vec<String>,
    /// How it stands.
    pub state: CellState,
    /// The error, if it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What would run and why, in words, if it was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The figures of its evaluation, and `mse_validation`; none unless it is done.
    pub figures: BTreeMap<String, f64>,
    /// Errors along trajectories that did not train, as the report of the cell has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors_over_time: Option<ErrorsOverTime>,
    /// Published figures to stand beside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<Published>,
    /// Name of its dataset.
    pub dataset: String,
    /// In what units the errors of its training and validation are, in words; empty in results of earlier versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub scales: String,
    /// Estimated environments.
    pub environments: usize,
    /// Those of them whose status is a failure.
    pub environments_failed: usize,
    /// Steps of its training.
    pub training_steps: u64,
    /// Wall time of each stage, seconds, of the run that last did it.
    pub seconds: BTreeMap<String, f64>,
    /// The device that trained.
    pub device: String,
    /// Worker threads.
    pub threads: usize,
}

impl CellResults {
    /// Why it is not done; empty if it is.
    pub fn what_of_it(&self) -> &str {
        self.error.as_deref().or(self.reason.as_deref()).unwrap_or_default()
    }
}

/// `sweep.json` in the workspace of a sweep: its cells and their figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Results of a sweep")]
pub struct SweepResults {
    /// Name of the pipeline.
    pub sweep: String,
    /// Title of the tables.
    pub title: String,
    /// The pipeline's description.
    pub description: String,
    /// `paramill` and its version.
    pub tool: String,
    /// The budget that held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<String>,
    /// Names of the axes.
    pub axes: Vec<String>,
    /// The axis of the seeds, over which the tables have mean and standard deviation; counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seeds: Option<usize>,
    /// The axis whose values stand side by side in the tables, as columns of each figure; counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<usize>,
    /// Figures that the tables show, in order; those that any cell has if empty.
    pub figures: Vec<String>,
    /// The cells, the last axis fastest.
    pub cells: Vec<CellResults>,
}

/// Cells that differ in the seed alone.
struct Group<'a> {
    /// Their labels on the other axes.
    labels: Vec<&'a str>,
    cells: Vec<&'a CellResults>,
}

impl<'a> Group<'a> {
    fn done(&self) -> usize {
        self.cells.iter().filter(|cell| cell.state == CellState::Done).count()
    }

    fn values(&self, figure: &str) -> Vec<f64> {
        self.cells.iter().filter_map(|cell| cell.figures.get(figure).copied()).collect()
    }

    fn spread(&self, figure: &str) -> Option<Spread> {
        Spread::of(&self.values(figure))
    }

    fn published(&self, figure: &str) -> Option<f64> {
        self.cells.first()?.published.iter().find(|it| it.figure == figure).map(|it| it.value)
    }

    fn errors_over_time(&self) -> Vec<&'a ErrorsOverTime> {
        self.cells.iter().filter_map(|cell| cell.errors_over_time.as_ref()).collect()
    }

    /// Mean wall time of the training, seconds.
    fn training(&self) -> Option<f64> {
        let all: Vec<f64> = self.cells.iter().filter_map(|cell| cell.seconds.get("train").copied()).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    }

    /// Its name: the labels.
    fn name(&self) -> String {
        match self.labels.is_empty() {
            true => "all".to_owned(),
            false => self.labels.join(", "),
        }
    }
}

impl SweepResults {
    /// Why these are no results that can be shown, if they are not.
    pub fn problem(&self) -> Option<String> {
        let axes = self.axes.len();
        if let Some(cell) = self.cells.iter().find(|cell| cell.labels.len() != axes) {
            return Some(format!("{} labels of the cell `{}`, and {axes} axes", cell.labels.len(), cell.name));
        }
        let is_none = |axis: Option<usize>| axis.is_some_and(|axis| axis >= axes);
        (is_none(self.seeds) || is_none(self.columns) || self.seeds.is_some() && self.seeds == self.columns)
            .then(|| "an axis of seeds or columns that is none".to_owned())
    }

    fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for cell in &self.cells {
            let others = cell.labels.iter().enumerate().filter(|(axis, _)| Some(*axis) != self.seeds);
            let labels: Vec<&str> = others.map(|(_, label)| label.as_str()).collect();
            match groups.iter_mut().find(|group| group.labels == labels) {
                Some(group) => group.cells.push(cell),
                None => groups.push(Group { labels, cells: vec![cell] }),
            }
        }
        groups
    }

    /// Names of the axes but for that of the seeds.
    fn compared(&self) -> Vec<&str> {
        let others = self.axes.iter().enumerate().filter(|(axis, _)| Some(*axis) != self.seeds);
        others.map(|(_, name)| name.as_str()).collect()
    }

    /// The figures of the tables.
    fn shown(&self) -> Vec<String> {
        if !self.figures.is_empty() {
            return self.figures.clone();
        }
        let any = |figure: &&str| self.cells.iter().any(|cell| cell.figures.contains_key(*figure));
        super::comparison::names().into_iter().filter(any).map(str::to_owned).collect()
    }

    /// The combination with the least mean error on the validation split, by name, among those whose cells are all done; `None` where fewer than two
    /// are, or they are not judged by the same data in the same units.
    pub fn best(&self) -> Option<(String, f64)> {
        let groups = self.groups();
        let done: Vec<&Group<'_>> = groups.iter().filter(|group| group.done() == group.cells.len()).collect();
        let judge = |cell: &&CellResults| (cell.dataset.clone(), cell.scales.clone());
        let judges = |group: &&Group<'_>| group.cells.iter().map(judge).collect::<Vec<_>>();
        let first = done.first().map(judges)?;
        if done.len() < 2 || done.iter().any(|group| judges(group) != first) {
            return None;
        }
        let axes = self.compared();
        let said = |group: &&Group<'_>| match axes.is_empty() {
            true => group.name(),
            false => axes
                .iter()
                .zip(&group.labels)
                .map(|(axis, label)| format!("{axis} {label}"))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let of = |group: &&Group<'_>| Some((said(group), group.spread("mse_validation")?.mean));
        done.iter().filter_map(of).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// How many cells stand so.
    pub fn count(&self, state: CellState) -> usize {
        self.cells.iter().filter(|cell| cell.state == state).count()
    }

    /// The labels of the axis whose values are columns; one without a name where there is none.
    fn columns(&self) -> Vec<Option<&str>> {
        let Some(axis) = self.columns else { return vec![None] };
        let mut labels = Vec::new();
        for label in self.cells.iter().map(|cell| Some(cell.labels[axis].as_str())) {
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels
    }

    /// The table of the combinations: its header, and its rows with what `of` makes of a figure's name, its mean and deviation, and the published
    /// value.
    fn rows(&self, of: &dyn Fn(&str, Spread, Option<f64>) -> String) -> (Vec<String>, Vec<Vec<String>>) {
        let (figures, columns) = (self.shown(), self.columns());
        // Place of the columns' axis among those that are compared.
        let pivot = self.columns.map(|axis| axis - usize::from(self.seeds.is_some_and(|seeds| seeds < axis)));
        let stays = |(at, _): &(usize, &&str)| Some(*at) != pivot;
        let names = |labels: &[&str]| -> Vec<String> {
            let kept: Vec<String> =
                labels.iter().enumerate().filter(stays).map(|(_, label)| (*label).to_owned()).collect();
            if kept.is_empty() { vec!["all".to_owned()] } else { kept }
        };
        let in_column = |name: String, column: &Option<&str>| match column {
            Some(column) => format!("{name}: {column}"),
            None => name,
        };
        let mut header = names(&self.compared());
        for what in figures.iter().map(|figure| label(figure)).chain(["cells run".to_owned(), "training".to_owned()]) {
            header.extend(columns.iter().map(|column| in_column(what.clone(), column)));
        }
        let groups = self.groups();
        let mut rows: Vec<(Vec<String>, Vec<Option<&Group<'_>>>)> = Vec::new();
        for group in &groups {
            let labels = names(&group.labels);
            let at = columns.iter().position(|column| pivot.map(|at| group.labels[at]) == *column).unwrap_or(0);
            let row = match rows.iter().position(|(known, _)| *known == labels) {
                Some(row) => row,
                None => {
                    rows.push((labels, vec![None; columns.len()]));
                    rows.len() - 1
                }
            };
            rows[row].1[at] = Some(group);
        }
        let absent = || number::ABSENT.to_owned();
        let value = |group: &Group<'_>, figure: &str| {
            let published = group.published(figure);
            match (group.spread(figure), published) {
                (Some(spread), _) => of(figure, spread, published),
                (None, Some(published)) => format!("{} ({})", number::ABSENT, of_figure(figure, published)),
                (None, None) => absent(),
            }
        };
        let run = |group: &Group<'_>| match group.done() {
            0 => "not run".to_owned(),
            done => format!("{done} of {}", group.cells.len()),
        };
        let filled = |(mut row, groups): (Vec<String>, Vec<Option<&Group<'_>>>)| {
            let mut each = |of: &dyn Fn(&Group<'_>) -> String| {
                row.extend(groups.iter().map(|group| group.map_or_else(absent, of)));
            };
            figures.iter().for_each(|figure| each(&|group| value(group, figure)));
            each(&run);
            each(&|group| group.training().map_or_else(absent, number::duration));
            row
        };
        (header, rows.into_iter().map(filled).collect())
    }

    /// The table of the combinations for a terminal.
    pub fn table(&self) -> Vec<Vec<String>> {
        let (header, rows) = self.rows(&plain);
        std::iter::once(header).chain(rows).collect()
    }

    /// What the numbers are of: budget, seeds, devices, cells that were not run.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if let Some(budget) = &self.budget {
            remarks.push(format!("budget `{budget}`"));
        }
        let seeds = self.seeds.map(|axis| {
            let mut labels: Vec<&str> = self.cells.iter().map(|cell| cell.labels[axis].as_str()).collect();
            labels.sort_unstable();
            labels.dedup();
            labels.len()
        });
        if let Some(count) = seeds.filter(|count| *count > 1) {
            remarks.push(format!("mean ± standard deviation over {count} seeds, or those of them that were run"));
        }
        let mut machines: Vec<String> = self
            .cells
            .iter()
            .filter(|cell| cell.state == CellState::Done)
            .map(|cell| format!("{}, {}", cell.device, many(cell.threads as u64, "thread")))
            .collect();
        machines.sort();
        machines.dedup();
        if !machines.is_empty() {
            remarks.push(format!("trained on {}", machines.join(" and ")));
        }
        let (all, done) = (self.cells.len(), self.count(CellState::Done));
        remarks.push(match all - done {
            _ if all == 0 => "there are no cells".to_owned(),
            0 => format!("all {all} cells were run"),
            _ => format!("{done} of {all} cells were run"),
        });
        if self.cells.iter().any(|cell| !cell.published.is_empty()) {
            remarks.push("published figures in parentheses".to_owned());
        }
        remarks
    }

    /// A section of a page in Markdown.
    fn markdown(&self) -> String {
        let (header, rows) = self.rows(&bold_where_better);
        let cell = |text: &String| in_markdown(text).replace('|', "\\|");
        let line = |row: &Vec<String>| format!("| {} |\n", row.iter().map(cell).collect::<Vec<_>>().join(" | "));
        let mut out = format!("## {}\n\n", in_markdown(&self.title));
        if !self.description.is_empty() {
            let _ = writeln!(out, "{}\n", in_markdown(&self.description));
        }
        out.push_str(&line(&header));
        out.push_str(&line(&vec!["---".to_owned(); header.len()]));
        out.extend(rows.iter().map(line));
        let _ = writeln!(out, "\n`{}`: {}.", self.sweep, self.remarks().join("; "));
        if let Some((best, error)) = self.best() {
            let _ = writeln!(out, "Best by validation: {} ({}).", in_markdown(&best), number::significant(error));
        }
        let failed: Vec<&str> =
            self.cells.iter().filter(|it| it.state == CellState::Failed).map(|it| it.name.as_str()).collect();
        if !failed.is_empty() {
            let _ = writeln!(out, "Failed: {}.", failed.join(", "));
        }
        out
    }

    /// Each figure over the combinations: a dot a seed, a bar at the mean, a diamond at the published value.
    fn figure(&self) -> Option<Canvas> {
        let groups = self.groups();
        let figures = self.shown();
        let (left, width, height, down) = (90.0, 720.0, 190.0, 300.0);
        let numbers: Option<Vec<f64>> = match self.compared().len() {
            1 => groups.iter().map(|group| group.labels[0].parse().ok()).collect(),
            _ => None,
        };
        let mut canvas = Canvas::new("sweep", 840.0, down * figures.len() as f64);
        let mut drawn = 0;
        for figure in &figures {
            let of =
                |group: &Group<'_>| group.values(figure).into_iter().chain(group.published(figure)).collect::<Vec<_>>();
            let Some(y) = Axis::log(groups.iter().flat_map(of), &label(figure)) else { continue };
            let x = match &numbers {
                Some(numbers) => Axis::linear(numbers.iter().copied(), self.compared()[0])?,
                None => Axis::named(groups.iter().map(Group::name).collect(), &self.compared().join(", ")),
            };
            let plot = Plot { left, top: 30.0 + down * f64::from(drawn), width, height, x, y };
            plot.frame(&mut canvas, "");
            let mut entries = vec![(Key::Dot("p-dots-0"), "a cell")];
            let any = |is: &dyn Fn(&Group<'_>) -> bool| groups.iter().any(is);
            if any(&|group| group.spread(figure).is_some_and(|it| it.runs > 1)) {
                entries.push((Key::Line("p-heavy"), "mean"));
            }
            if any(&|group| group.published(figure).is_some()) {
                entries.push((Key::Diamond("p-mark-known"), "published"));
            }
            legend_row(&mut canvas, (left, plot.top - 14.0), &entries);
            for (index, group) in groups.iter().enumerate() {
                let at = numbers.as_ref().map_or(index as f64 + 1.0, |numbers| numbers[index]);
                let mut dots = Path::new();
                group.values(figure).into_iter().for_each(|value| dots.dot(plot.at(at, value)));
                canvas.path("class=\"p-dots-0\"", &dots);
                if let Some(spread) = group.spread(figure).filter(|spread| spread.std_dev.is_some()) {
                    let (x, y) = plot.at(at, spread.mean);
                    canvas.line("p-heavy", (x - 9.0, y), (x + 9.0, y));
                }
                if let Some(value) = group.published(figure) {
                    let mut mark = Path::new();
                    mark.diamond(plot.at(at, value), 6.0);
                    canvas.path("class=\"p-mark-known\"", &mark);
                }
            }
            drawn += 1;
        }
        canvas.height = down * f64::from(drawn);
        (drawn > 0).then_some(canvas)
    }

    /// Writes the page as `index.html` in `directory`.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be written.
    pub fn write_page(&self, directory: &FilePath) -> Result<(), Error> {
        let path = directory.join("index.html");
        atomic::write_file(&path, self.html().as_bytes()).map_err(|source| Error::Io { path, source })
    }

    fn html(&self) -> String {
        let mut page = head(&self.title, &curves::rules());
        let _ = writeln!(page, "<header>\n<h1>{}</h1>", escape(&self.title));
        if !self.description.is_empty() {
            let _ = writeln!(page, "<p class=\"lead\">{}</p>", escape(&self.description));
        }
        let remarks = self.remarks().join("; ").replace('`', "");
        let _ = writeln!(page, "<p>{}.</p>", escape(&remarks));
        if let Some((best, error)) = self.best() {
            let (best, error) = (escape(&best), number::significant(error));
            let _ =
                writeln!(page, "<p>Best by the error on the validation split: <strong>{best}</strong> ({error}).</p>");
        }
        page.push_str("</header>\n<main>\n");
        let (header, rows) = self.rows(&plain);
        let words = (self.compared().len() - usize::from(self.columns.is_some())).max(1);
        let headers: Vec<(String, bool)> =
            header.iter().enumerate().map(|(at, name)| (name.clone(), at >= words)).collect();
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(|cell| escape(cell)).collect()).collect();
        page.push_str(&table("Combinations", &headers, &rows));
        if let Some(canvas) = self.figure() {
            let description = "Each figure over the combinations, a dot a cell.";
            let _ = writeln!(page, "<figure>\n{}</figure>", canvas.inline("Figures", description));
        }
        let groups = self.groups();
        let names: Vec<String> = groups.iter().map(Group::name).collect();
        let over_time = names.iter().zip(&groups).map(|(name, group)| (name.as_str(), group.errors_over_time()));
        if let Some(drawn) = curves::over_time(over_time.collect()) {
            section(&mut page, drawn.0.name, drawn.0.title);
            page.push_str(&curves::in_page(drawn));
        }
        page.push_str("<h2 id=\"cells\">Cells</h2>\n");
        page.push_str(&self.cells_table());
        page.push_str(&foot("The figures are in <code>sweep.json</code>."));
        page
    }

    /// Every cell, with a link to its report.
    fn cells_table(&self) -> String {
        let figures = self.shown();
        let mut headers = vec![text("cell"), text("state")];
        headers.extend(figures.iter().map(|figure| numeric(&label(figure))));
        headers.extend([numeric("environments"), numeric("failed"), numeric("training")]);
        headers.push(text("what of it"));
        let row = |cell: &CellResults| {
            let name = escape(&cell.name);
            let mut row = vec![match cell.state {
                CellState::Done if cell.seconds.contains_key("report") => {
                    format!("<a href=\"../cells/{name}/report/index.html\">{name}</a>")
                }
                _ => name,
            }];
            row.push(cell.state.name().to_owned());
            row.extend(figures.iter().map(|figure| {
                cell.figures.get(figure).map_or_else(|| number::ABSENT.to_owned(), |value| of_figure(figure, *value))
            }));
            row.extend([cell.environments, cell.environments_failed].map(|count| number::count(count as u64)));
            row.push(cell.seconds.get("train").map_or_else(|| number::ABSENT.to_owned(), |it| number::duration(*it)));
            row.push(escape(cell.what_of_it()));
            row
        };
        table("Cells", &headers, &self.cells.iter().map(row).collect::<Vec<_>>())
    }
}

/// A page of several sweeps in Markdown.
pub fn results_page(results: &[SweepResults]) -> String {
    let mut out = String::from(
        "# Results\n\nMade by `paramill results`. What was not run says so; test errors are on trajectories that neither trained nor chose \
         the model.\n\n",
    );
    let sections: Vec<String> = results.iter().map(SweepResults::markdown).collect();
    out.push_str(&sections.join("\n"));
    out
}

/// A value of a figure, with its unit.
fn of_figure(figure: &str, value: f64) -> String {
    shown(figure, Some(value))
}

fn with_deviation(figure: &str, spread: Spread) -> String {
    match spread.std_dev {
        Some(deviation) => format!("{} ± {}", number::significant(spread.mean), of_figure(figure, deviation)),
        None => of_figure(figure, spread.mean),
    }
}

fn plain(figure: &str, spread: Spread, published: Option<f64>) -> String {
    let ours = with_deviation(figure, spread);
    published.map_or_else(|| ours.clone(), |published| format!("{ours} ({})", of_figure(figure, published)))
}

fn bold_where_better(figure: &str, spread: Spread, published: Option<f64>) -> String {
    let ours = with_deviation(figure, spread);
    match published {
        Some(published) if spread.mean < published => format!("**{ours}** ({})", of_figure(figure, published)),
        Some(published) => format!("{ours} ({})", of_figure(figure, published)),
        None => ours,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(rule: &str, seed: &str, error: Option<f64>) -> CellResults {
        let figures =
            error.iter().flat_map(|it| [("mse_validation".to_owned(), *it), ("mse_in_domain".to_owned(), 2.0 * it)]);
        CellResults {
            name: format!("{rule}--seed-{seed}"),
            labels: vec![rule.to_owned(), seed.to_owned()],
            state: if error.is_some() { CellState::Done } else { CellState::NotRun },
            error: None,
            reason: None,
            figures: figures.collect(),
            errors_over_time: None,
            published: Vec::new(),
            dataset: format!("lv--seed-{seed}"),
            scales: String::new(),
            environments: 4,
            environments_failed: 0,
            training_steps: 10,
            seconds: BTreeMap::new(),
            device: "cpu".to_owned(),
            threads: 2,
        }
    }

    fn results(cells: Vec<CellResults>) -> SweepResults {
        SweepResults {
            sweep: "s".to_owned(),
            title: "S | T".to_owned(),
            description: String::new(),
            tool: String::new(),
            budget: None,
            axes: vec!["rule".to_owned(), "seed".to_owned()],
            seeds: Some(1),
            columns: None,
            figures: Vec::new(),
            cells,
        }
    }

    #[test]
    fn seeds_are_averaged_and_the_best_is_one_whose_cells_are_all_done() {
        let mut it = results(vec![
            cell("a", "0", Some(1.0)),
            cell("a", "1", Some(3.0)),
            cell("b", "0", Some(1.5)),
            cell("b", "1", Some(1.7)),
            cell("c", "0", Some(1e-9)),
            cell("c", "1", None),
        ]);
        let spread = it.groups()[0].spread("mse_in_domain").unwrap();
        assert_eq!(spread, Spread { mean: 4.0, std_dev: Some(8f64.sqrt()), runs: 2 });
        assert_eq!(it.best().map(|(name, _)| name), Some("rule b".to_owned()));
        let page = results_page(&[it.clone()]);
        assert!(
            page.contains("| c | 2.00×10⁻⁹ | 1.00×10⁻⁹ | 1 of 2 | – |") && page.contains("5 of 6 cells were run"),
            "{page}"
        );
        // Rules as columns: each figure has three.
        it.columns = Some(0);
        let (header, rows) = it.rows(&plain);
        assert_eq!(header[..4], ["all", "MSE, in-domain: a", "MSE, in-domain: b", "MSE, in-domain: c"]);
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0][2], "3.20 ± 0.283");
        // Errors on other data say nothing of which is better.
        it.cells[0].dataset = "other".to_owned();
        assert_eq!(it.best(), None);
    }

    #[test]
    fn a_name_from_a_pipeline_is_text_on_the_page() {
        let mut it = results(vec![cell("<script>x</script>", "0", Some(1.0))]);
        it.title = "<b>".to_owned();
        let page = it.html();
        assert!(!page.contains("<script>x") && !page.contains("<h1><b>"), "{page}");
    }
}
