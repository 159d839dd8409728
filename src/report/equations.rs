//! The equations that a library of products has found: each coefficient, and how it follows from the parameters.
//!
//! `c_e = a + sum_j b_j (p_ej - mean p_j)` by least squares over the training environments `e`, where all their parameters are known and they
//! determine the `b_j`. The same equations are a system file, for estimates by `method = "physics"`.

use std::fmt::Write;

use nalgebra::{DMatrix, DVector};

use super::input::{Input, Term};
use super::number;
use super::number::escape;
use super::tables::{numeric, table, text};

/// The page shows coefficients of at least this share of the greatest of the same rate.
const SHOWN: f64 = 1e-3;

/// A term with the numbers that describe its coefficient.
struct Line<'a> {
    term: &'a Term,
    mean: f64,
    least: f64,
    greatest: f64,
    /// `b_j`, where there are any.
    slopes: Vec<f64>,
}

impl Line<'_> {
    fn size(&self) -> f64 {
        self.least.abs().max(self.greatest.abs())
    }
}

/// The parameters less their means `[E, d_p]` with their pseudo-inverse, where they are known and determine slopes.
fn inverse(input: &Input) -> Option<DMatrix<f64>> {
    let (rows, columns) = (input.training.len(), input.parameters.len());
    let known = input.training.iter().map(|it| it.parameters.iter().copied().collect::<Option<Vec<f64>>>());
    let known: Vec<f64> = known.collect::<Option<Vec<_>>>()?.concat();
    if columns == 0 || known.len() != rows * columns {
        return None;
    }
    let mut parameters = DMatrix::from_row_slice(rows, columns, &known);
    for mut column in parameters.column_iter_mut() {
        let mean = column.mean();
        column.add_scalar_mut(-mean);
    }
    // In units of its own deviation the rank is plain.
    let scales: Vec<f64> = parameters.column_iter().map(|column| column.norm()).collect();
    if scales.contains(&0.0) {
        return None;
    }
    parameters.column_iter_mut().zip(&scales).for_each(|(mut column, scale)| column /= *scale);
    if parameters.rank(1e-6) < columns {
        return None;
    }
    let mut inverse = parameters.pseudo_inverse(1e-12).ok()?;
    inverse.row_iter_mut().zip(&scales).for_each(|(mut row, scale)| row /= *scale);
    Some(inverse)
}

/// The terms, rate by rate, greatest coefficients first.
fn lines(input: &Input) -> Vec<Line<'_>> {
    let inverse = inverse(input);
    let mut lines: Vec<Line> = Vec::new();
    for term in &input.terms {
        let values = DVector::from_column_slice(&term.coefficients);
        let slopes = inverse.as_ref().map_or_else(Vec::new, |inverse| (inverse * &values).iter().copied().collect());
        lines.push(Line { term, mean: values.mean(), least: values.min(), greatest: values.max(), slopes });
    }
    let place = |rate: &str| input.terms.iter().position(|other| other.rate == rate);
    lines.sort_by(|a, b| {
        let by_rate = place(&a.term.rate).cmp(&place(&b.term.rate));
        by_rate.then_with(|| b.size().total_cmp(&a.size()))
    });
    lines
}

fn slope_names(input: &Input, lines: &[Line]) -> Vec<String> {
    let has_slopes = lines.first().is_some_and(|line| !line.slopes.is_empty());
    let names = input.parameters.iter().filter(|_| has_slopes);
    names.map(|parameter| format!("per {}", parameter.name)).collect()
}

/// The section of the page; nothing for other models.
pub(crate) fn section(input: &Input) -> Option<String> {
    let lines = lines(input);
    let greatest = |rate: &str| {
        let of_rate = lines.iter().filter(|line| line.term.rate == rate);
        of_rate.map(Line::size).fold(0.0, f64::max)
    };
    let shown: Vec<&Line> =
        lines.iter().filter(|line| line.size() > 0.0 && line.size() >= SHOWN * greatest(&line.term.rate)).collect();
    if shown.is_empty() {
        return None;
    }
    let mut headers = vec![text("rate"), text("term"), numeric("mean"), numeric("least"), numeric("greatest")];
    headers.extend(slope_names(input, &lines).iter().map(|name| numeric(name)));
    let row = |line: &&Line| {
        let rate = &line.term.rate;
        let rate = if rate == "D" { "D - 1".to_owned() } else { format!("d{rate}/dt") };
        let numbers = [line.mean, line.least, line.greatest].into_iter().chain(line.slopes.iter().copied());
        let cells = [escape(&rate), escape(&line.term.product)].into_iter();
        cells.chain(numbers.map(number::significant)).collect::<Vec<String>>()
    };
    let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
    let mut out = table(
        "Each rate is the sum of its terms. A coefficient has its mean, least and greatest value over the training environments, and its \
         slope with each parameter, by least squares over them.",
        &headers,
        &rows,
    );
    if lines.len() > shown.len() {
        let rest = number::count((lines.len() - shown.len()) as u64);
        let _ = writeln!(
            out,
            "<p>{rest} terms with coefficients below a thousandth of the greatest of their rate are in <code>equations.csv</code>.</p>"
        );
    }
    match &input.system {
        Some(Ok(_)) => out.push_str(
            "<p>The same equations are in <code>system.toml</code>, which <code>[estimate.physics]</code> takes as its \
             <code>system</code>, with <code>method = \"physics\"</code>.</p>\n",
        ),
        Some(Err(why)) => {
            let _ = writeln!(out, "<p>There is no <code>system.toml</code>: {}.</p>", escape(why));
        }
        None => {}
    }
    Some(out)
}

/// `system.toml`: the equations as a system file; nothing where there is none.
pub(crate) fn system_file(input: &Input) -> Option<String> {
    let system = input.system.as_ref()?.as_ref().ok()?;
    let pipeline = &input.summary.pipeline;
    Some(format!(
        "# The equations that the library of products of the pipeline {pipeline} found.\n\
         #\n\
         #   paramill show system.toml\n\
         #\n\
         # A pipeline estimates by them if it names this file, relative to its own:\n\
         #\n\
         #   [estimate]\n\
         #   method = \"physics\"\n\
         #   [estimate.physics]\n\
         #   system = \"system.toml\"\n\
         #\n\
         # Estimates stay within `lower` and `upper`, which are a guess: the range of the training environments, and as much beyond it.\n\
         # `initial` is the range of the first samples of the training trajectories.\n\n{system}"
    ))
}

/// `equations.csv`: all terms; nothing for other models.
pub(crate) fn csv(input: &Input) -> Option<Result<Vec<u8>, String>> {
    let lines = lines(input);
    if lines.is_empty() {
        return None;
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    let slopes = slope_names(input, &lines);
    let header = ["rate", "term", "mean", "least", "greatest"].map(str::to_owned).into_iter();
    let mut written = writer.write_record(header.chain(slopes.iter().map(|name| name.replace(' ', "_"))));
    for line in &lines {
        let numbers = [line.mean, line.least, line.greatest].into_iter().chain(line.slopes.iter().copied());
        let cells = [line.term.rate.clone(), line.term.product.clone()].into_iter();
        written = written.and_then(|()| writer.write_record(cells.chain(numbers.map(|number| number.to_string()))));
    }
    Some(
        written
            .map_err(|error| error.to_string())
            .and_then(|()| writer.into_inner().map_err(|error| error.to_string())),
    )
}
