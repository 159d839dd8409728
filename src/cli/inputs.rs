//! Inputs of a forecast, from a table of times and values.

use std::path::Path;

use crate::pipeline::Error;
use crate::schema::{Between, Input};

/// How far apart equal times may be that were reached in different ways, relative to the length of a forecast.
const ROUNDING: f64 = 1e-9;

/// Known signals over time.
pub struct Signals {
    /// Strictly increasing `[N]`.
    times: Vec<f64>,
    /// `[N, U]`.
    values: Vec<f64>,
    between: Vec<Between>,
}

impl Signals {
    /// Reads a CSV file with the column `time` and one of each of `inputs`, in their units.
    ///
    /// # Errors
    /// [`Error::Usage`] with every column that is missing and every cell that is no number, by line.
    pub fn read(path: &Path, inputs: &[Input]) -> Result<Self, Error> {
        let names: Vec<&str> = inputs.iter().map(|input| input.quantity.name.as_str()).collect();
        let wrong = |problems: &[String]| Error::Usage(format!("--inputs {}: {}", path.display(), problems.join("; ")));
        let expected = format!("a CSV file with the columns time,{}", names.join(","));
        let broken = |error: csv::Error| wrong(&[format!("{error}; expected {expected}")]);
        let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_path(path).map_err(broken)?;
        let header = reader.headers().map_err(broken)?.clone();
        let place = |name: &&str| header.iter().position(|column| column.trim_start_matches('\u{feff}') == *name);
        let columns: Vec<&str> = std::iter::once("time").chain(names.iter().copied()).collect();
        let missing: Vec<&str> = columns.iter().copied().filter(|name| place(name).is_none()).collect();
        if !missing.is_empty() {
            let found = header.iter().collect::<Vec<_>>().join(",");
            return Err(wrong(&[format!("found no column {} among {found}; expected {expected}", missing.join(", "))]));
        }
        if let Some(twice) = columns.iter().find(|name| header.iter().filter(|column| column == *name).count() > 1) {
            return Err(wrong(&[format!("found the column {twice} twice; expected each once")]));
        }
        let places: Vec<usize> = columns.iter().filter_map(place).collect();
        let mut signals = Signals { times: Vec::new(), values: Vec::new(), between: Vec::new() };
        signals.between.extend(inputs.iter().map(|input| input.between));
        let mut problems = Vec::new();
        for record in reader.records() {
            let record = record.map_err(broken)?;
            let line = record.position().map_or(0, csv::Position::line);
            let cells = places.iter().zip(&columns).map(|(&at, name)| {
                let cell = record.get(at).unwrap_or_default();
                let number = cell.parse::<f64>().ok().filter(|value| value.is_finite());
                number.ok_or_else(|| format!("line {line}: found `{cell}` in column {name}, expected a finite number"))
            });
            match cells.collect::<Result<Vec<f64>, String>>() {
                Err(problem) => problems.push(problem),
                Ok(cells) => {
                    if let Some(last) = signals.times.last().filter(|last| **last >= cells[0]) {
                        let found = format!("line {line}: found time {} after {last}", cells[0]);
                        problems.push(format!("{found}, expected times that increase"));
                    }
                    signals.times.push(cells[0]);
                    signals.values.extend(&cells[1..]);
                }
            }
        }
        if signals.times.is_empty() && problems.is_empty() {
            problems.push(format!("found no row; expected {expected}"));
        }
        if problems.is_empty() { Ok(signals) } else { Err(wrong(&problems)) }
    }

    /// `times` with the times between its ends at which a signal may bend, so that a forecast follows it there.
    pub fn with_bends(&self, times: Vec<f64>) -> Vec<f64> {
        let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return times };
        let inside = self.times.iter().copied().filter(|time| first < *time && *time < last);
        let mut times: Vec<f64> = times.into_iter().chain(inside).collect();
        times.sort_by(f64::total_cmp);
        times.dedup_by(|later, time| *later - *time <= ROUNDING * (last - first));
        times
    }

    /// The signals at ascending `times [T]`: `[T, U]`.
    ///
    /// # Errors
    /// [`Error::Usage`] if they begin after the first time or end before the last; none for no time.
    pub fn at(&self, times: &[f64]) -> Result<Vec<f64>, Error> {
        let u = self.between.len();
        let ends = |times: &[f64]| Some((*times.first()?, *times.last()?));
        let (Some((begin, end)), Some((first, last))) = (ends(times), ends(&self.times)) else { return Ok(Vec::new()) };
        let slack = ROUNDING * (end - begin);
        if begin < first - slack || end > last + slack {
            return Err(Error::Usage(format!(
                "--inputs: found signals from {first} to {last} and a forecast from {begin} to {end}; expected signals over all of \
                 it: add rows, or shorten the forecast with --until"
            )));
        }
        let mut values = Vec::with_capacity(times.len() * u);
        for &time in times {
            let time = time.clamp(first, last);
            let next = self.times.partition_point(|sample| *sample <= time);
            let (before, after) = (next - 1, next.min(self.times.len() - 1));
            let dt = self.times[after] - self.times[before];
            for (k, between) in self.between.iter().enumerate() {
                let [from, to] = [before, after].map(|n| self.values[n * u + k]);
                let (value, slope) = between.step(from, to, dt);
                values.push(value + slope * (time - self.times[before]));
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_held_or_drawn_between_rows() {
        let between = vec![Between::Hold, Between::Linear];
        let signals = Signals { times: vec![0.0, 1.0, 3.0], values: vec![1.0, 1.0, 2.0, 2.0, 4.0, 6.0], between };
        assert_eq!(signals.with_bends(vec![0.0, 2.0]), [0.0, 1.0, 2.0]);
        assert_eq!(signals.at(&[0.0, 0.5, 1.0, 2.0, 3.0]).unwrap(), [1.0, 1.0, 1.0, 1.5, 2.0, 2.0, 2.0, 4.0, 4.0, 6.0]);
        assert!(signals.at(&[-0.5]).is_err() && signals.at(&[3.5]).is_err());
        assert_eq!(signals.at(&[2.0, 3.0_f64.next_up()]).unwrap()[2..], [4.0, 6.0]);
        assert_eq!(signals.with_bends(vec![0.0, 1.0_f64.next_down(), 2.0]), [0.0, 1.0_f64.next_down(), 2.0]);
    }
}
