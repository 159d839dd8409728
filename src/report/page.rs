//! `index.html`: one self-contained page.

use std::fmt::Write;

use super::canvas::{ROLES, page_rules};
use super::comparison;
use super::comparison::Comparison;
use super::equations;
use super::figures::figure::{Figure, counted};
use super::inferred;
use super::input::Input;
use super::number;
use super::number::escape;
use super::overview;
use super::tables;
use crate::estimate::statuses_in_words;

const LAYOUT: &str = "
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans',Arial,sans-serif}
main,header,footer{max-width:60rem;margin:0 auto;padding:0 1.5rem}
header{padding-top:3rem}
h1{font-size:2rem;line-height:1.2;letter-spacing:-.015em;margin:0 0 .5rem}
h2{font-size:1.3rem;line-height:1.3;letter-spacing:-.005em;margin:3.25rem 0 .75rem;padding-top:1rem;border-top:1px solid var(--rule)}
p{margin:.6rem 0;max-width:46rem}
.lead{font-size:1.1rem;color:var(--muted)}
.soft,figcaption,caption,footer{color:var(--muted)}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(15.5rem,1fr));gap:.75rem;margin:1.75rem 0 1rem;padding:0;list-style:none}
.cards li{background:var(--panel);border-radius:.5rem;padding:.85rem 1rem .8rem}
.cards .name{display:block;font-size:.84rem;color:var(--muted)}
.cards .value{display:block;font-size:1.55rem;line-height:1.35;font-weight:600;font-variant-numeric:tabular-nums;letter-spacing:-.01em}
.cards .note{display:block;font-size:.8rem;color:var(--muted)}
.cards .alarm .value{color:var(--guess)}
.badge{display:inline-block;font-size:.75rem;padding:.05rem .5rem;border:1px solid var(--guess);color:var(--guess);border-radius:1rem;white-space:nowrap;font-weight:400}
@media(max-width:40rem){.scroll table{width:max-content;min-width:100%}td{max-width:18rem}main,header,footer{padding-left:1rem;padding-right:1rem}caption span{display:inline-block;position:sticky;left:0;max-width:calc(100vw - 2rem)}.cards{grid-template-columns:1fr 1fr}figure{overflow-x:auto}figure svg{min-width:40rem}}
figure{margin:1rem 0 0}
figure svg{display:block;width:100%;height:auto}
figcaption{font-size:.9rem;max-width:46rem;margin-top:.5rem}
.scroll{overflow-x:auto;margin:1rem 0}
table{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-size:.9rem;padding-bottom:.5rem}
th,td{text-align:left;padding:.4rem .7rem .4rem 0;vertical-align:baseline;border-bottom:1px solid var(--grid)}
thead th{font-weight:600;border-bottom:1px solid var(--rule);font-size:.84rem;color:var(--muted)}
tbody th{font-weight:500;white-space:nowrap;max-width:24rem;overflow:hidden;text-overflow:ellipsis}
th:last-child,td:last-child{padding-right:0}
.number{text-align:right;white-space:nowrap}
thead .number{white-space:normal}td.number .soft{display:block;font-size:.9em}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:.86em}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:.1rem 2rem;margin:1rem 0;font-size:.92rem}
.facts div{display:flex;justify-content:space-between;gap:1rem;border-bottom:1px solid var(--grid);padding:.35rem 0}
.facts dt{color:var(--muted)}
.facts dd{margin:0;text-align:right;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.tools{display:flex;align-items:center;gap:.6rem;justify-content:flex-end;margin:1rem 0 -.6rem;font-size:.84rem;color:var(--muted)}
.tools input,.tools button{font:inherit;color:var(--ink);background:var(--panel);border:1px solid var(--rule);border-radius:.35rem;padding:.2rem .55rem}
.tools ::placeholder{color:var(--muted);opacity:1}
h1,.lead,p,li{overflow-wrap:anywhere}td{max-width:34rem;overflow-wrap:break-word}
th button{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;text-align:inherit}
th button::after{content:'\\2195';opacity:.35;padding-left:.3em}
th[aria-sort=ascending] button::after{content:'\\2191';opacity:1}th[aria-sort=descending] button::after{content:'\\2193';opacity:1}
details{margin:1.25rem 0}
summary{cursor:pointer;font-weight:500}
pre{background:var(--panel);padding:1rem 1.1rem;border-radius:.5rem;overflow-x:auto;line-height:1.5}
footer{font-size:.85rem;padding-top:2rem;padding-bottom:3rem}
@media print{.tools{display:none}th button::after{content:''}body{font-size:10.5pt}main,header,footer{max-width:none;padding:0}header{padding-top:0}
h2{break-after:avoid;margin-top:1.5rem}figure,tr,.cards li{break-inside:avoid}.scroll{overflow:visible}table{font-size:8.5pt}
th,td{padding-left:.3rem;padding-right:.3rem}td,td span{white-space:normal}
.cards li,pre{border:1px solid var(--rule);background:none}pre{white-space:pre-wrap}}
";

/// Sorts, filters and downloads tables; the page shows all without it.
const SCRIPT: &str = include_str!("page.js");

/// Both palettes: light on screen and on paper, dark if the reader's system prefers it.
fn palettes() -> String {
    let (mut light, mut dark) = (String::new(), String::new());
    for (role, on_light, on_dark) in ROLES {
        let _ = write!(light, "--{role}:{on_light};");
        let _ = write!(dark, "--{role}:{on_dark};");
    }
    format!(":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}")
}

/// The beginning of a page, up to the start of its body, with rules of its own.
pub(crate) fn head(title: &str, style: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"generator\" content=\"paramill {}\">\n<title>{}</title>\n<style>{}{}{}{style}</style>\n</head>\n<body>\n",
        env!("CARGO_PKG_VERSION"),
        escape(title),
        palettes(),
        LAYOUT,
        page_rules()
    )
}

/// The end of a page with tables; `files`, in HTML, says where its figures are besides.
pub(crate) fn foot(files: &str) -> String {
    format!(
        "</main>\n<footer>Made by Paramill {}. {files}</footer>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// The page.
pub(crate) fn html(input: &Input, lines: &[Comparison], figures: &[Figure], undrawn: &[String]) -> String {
    let title = if input.title.is_empty() { "Report" } else { &input.title };
    let mut page = head(title, "");
    let _ = writeln!(page, "<header>\n<h1>{}</h1>", escape(title));
    if !input.description.is_empty() {
        let _ = writeln!(page, "<p class=\"lead\">{}</p>", escape(&input.description));
    }
    if input.summary.evaluation.environments > 0 {
        let _ = writeln!(page, "<p>{}</p>", overview::lead(input));
    }
    page.push_str("</header>\n<main>\n");
    headline(&mut page, input);
    for table in [overview::parameters(input), overview::statuses(input)].into_iter().flatten() {
        page.push_str(&table);
    }
    if !undrawn.is_empty() {
        let items: String = undrawn.iter().map(|what| format!("<li>{}</li>\n", escape(what))).collect();
        let _ = writeln!(page, "<p>Missing from this report, because it could not be drawn:</p>\n<ul>\n{items}</ul>");
    }
    if !lines.is_empty() {
        section(&mut page, "published", "Published beside ours");
        page.push_str(&tables::published(input, lines));
    }
    for figure in figures {
        section(&mut page, figure.name, figure.title);
        let _ = writeln!(
            page,
            "<figure>\n{}<figcaption>{}</figcaption>\n</figure>",
            figure.inline(),
            escape(&figure.caption)
        );
    }
    if !input.fits.is_empty() {
        let trajectories: usize = input.fits.iter().map(|it| it.trajectories.len()).sum();
        let all = input.summary.evaluation.environments;
        let more = match all > input.fits.len() {
            true => format!("; <code>report.fits</code> may draw more of all {}", number::count(all as u64)),
            false => String::new(),
        };
        let _ = writeln!(
            page,
            "<p><a href=\"fits.html\">All trajectories beside their fits</a>: {} of {}{more}.</p>",
            counted(trajectories, "trajectory"),
            counted(input.fits.len(), "environment")
        );
    }
    if let Some(equations) = equations::section(input) {
        section(&mut page, "equations", "The equations it found");
        page.push_str(&equations);
    }
    if let Some(inferred) = inferred::section(input) {
        section(&mut page, "inferred", "Inferred environments");
        page.push_str(&inferred);
    }
    section(&mut page, "environments", "Environments");
    if input.is_thinned() {
        let _ = writeln!(
            page,
            "<p>Pictures and tables show {} of the {} environments, at equal distances; the figures above are over all.</p>",
            number::count(input.estimates.len() as u64),
            number::count(input.summary.evaluation.environments as u64)
        );
    }
    if let Some(start) = &input.summary.start {
        let _ = writeln!(page, "<p>Not estimated, but given by the equations: {}.</p>", escape(start));
    }
    if let Some(models) = tables::models(&input.summary) {
        page.push_str(&models);
    }
    if let Some(intervals) = tables::intervals(&input.summary) {
        page.push_str(&intervals);
    }
    match tables::estimates(input) {
        Some(table) => page.push_str(&table),
        None => page.push_str("<p>No environment was estimated.</p>\n"),
    }
    match tables::failed(input) {
        Some(table) => page.push_str(&table),
        None if input.estimates.is_empty() => {}
        None => page.push_str("<p>Every environment has the status <code>ok</code>.</p>\n"),
    }
    section(&mut page, "run", "The run");
    page.push_str(&tables::run(&input.summary));
    if !input.effective_pipeline.is_empty() {
        let _ = writeln!(
            page,
            "<details>\n<summary>The pipeline with every default filled in</summary>\n<pre><code>{}</code></pre>\n</details>",
            escape(input.effective_pipeline.trim_end())
        );
    }
    page.push_str(&foot(
        "The figures are in <code>summary.json</code> and <code>comparison.csv</code>, the pictures beside this page as SVG and PNG.",
    ));
    page
}

pub(crate) fn section(page: &mut String, id: &str, title: &str) {
    let _ = writeln!(page, "<h2 id=\"{id}\">{}</h2>", escape(title));
}

/// The headline figures as cards.
fn headline(page: &mut String, input: &Input) {
    let summary = &input.summary;
    let card = |page: &mut String, class: &str, name: &str, value: &str, note: &str| {
        let _ = writeln!(
            page,
            "<li{class}><span class=\"name\">{name}</span><span class=\"value\">{value}</span><span class=\"note\">{note}</span></li>"
        );
    };
    page.push_str("<ul class=\"cards\">\n");
    let errors = comparison::errors(summary);
    for (figure, value) in &errors {
        let count = match *figure {
            "param_mape_in_hull" => summary.evaluation.environments_in_hull,
            "param_mape_out_of_hull" => summary.evaluation.environments_out_of_hull,
            _ => None,
        };
        let mut note = count.map(|count| counted(count, "environment")).unwrap_or_default();
        note.push_str(tables::tolerance_badge(summary, figure));
        card(page, "", &escape(&comparison::label(figure)), &comparison::shown(figure, Some(*value)), &note);
    }
    let of_each = statuses_in_words(&summary.evaluation.statuses);
    card(page, "", "environments estimated", &number::count(summary.evaluation.environments as u64), &of_each);
    let class = if summary.evaluation.environments_failed > 0 { " class=\"alarm\"" } else { "" };
    card(page, class, "of these, failed", &number::count(summary.evaluation.environments_failed as u64), "");
    page.push_str("</ul>\n");
    if errors.is_empty() {
        page.push_str(
            "<p>This run has no error to report: there are no test trajectories and no known parameters.</p>\n",
        );
    } else if let Some(sentence) = tolerance_sentence(input) {
        let _ = writeln!(page, "<p class=\"soft\">{sentence}</p>");
    }
}

/// How the errors compare with the tolerance of the data, where that is known.
fn tolerance_sentence(input: &Input) -> Option<String> {
    let summary = &input.summary;
    let tolerance = summary.data_tolerance.filter(|tolerance| tolerance.is_finite())?;
    let below: Vec<String> = comparison::errors(summary)
        .iter()
        .filter(|(figure, _)| comparison::below_tolerance(summary, figure) == Some(true))
        .map(|(figure, _)| escape(&comparison::label(figure)))
        .collect();
    let verdict = if below.is_empty() {
        "every error above exceeds it.".to_owned()
    } else {
        format!("these errors are below it and so not significant: {}.", below.join("; "))
    };
    Some(format!(
        "The data have a relative tolerance of {}. Compared with the root of each mean squared error and with each \
         percentage as a fraction, {verdict}",
        number::setting(tolerance)
    ))
}
