//! The axes in space: evenly spaced points, from the file or the settings.

use super::array_file::{ArrayFile, Pick, Precision};
use super::conversion::conversion;
use super::layouts::Layout;
use super::search;
use super::search::Groups;
use crate::import::settings::fields::Fields;
use crate::problems::{Kind, Problem};
use crate::schema::{Boundary, GridAxis};

/// Coordinates may be uneven by this part of their spacing, beside what their precision explains.
const UNEVEN: f64 = 1e-3;
/// Rounding errors of a coordinate that was computed in the precision in which it is stored.
const ROUNDING: f64 = 4.0;

/// Most points of an axis with coordinates.
const MOST: usize = 1 << 26;

/// The axis `name` of `count` points in a file, as the dataset has it, and which of its points are read.
///
/// # Errors
/// Every problem, without its file.
pub(crate) fn axis(
    file: &mut dyn ArrayFile,
    layout: Option<&Layout>,
    settings: &Fields,
    name: &str,
    count: usize,
    groups: &Groups,
) -> Result<(GridAxis, Pick), Vec<Problem>> {
    let said = settings.axis(name);
    let key = said.map_or("import.fields.grid".to_owned(), |(i, _)| format!("import.fields.grid[{i}]"));
    let said = said.map(|(_, axis)| axis);
    let (of_layout, boundary) = layout.map_or((None, None), |layout| (layout.axis)(file, name));
    let array = said.and_then(|axis| axis.array.clone()).or(of_layout);
    let wanted = said.and_then(|axis| axis.unit.clone());
    let mut problems = Vec::new();
    let (mut unit, mut found) = (wanted.clone().unwrap_or_else(|| "1".to_owned()), None);
    if let Some(array) = array {
        match coordinates(file, &array, name, count, wanted.as_deref(), groups, &key) {
            Ok((points, of_file)) => {
                unit = wanted.or(of_file).unwrap_or(unit);
                found = Some(points);
            }
            Err(problem) => problems.push(problem),
        }
    }
    let (given, start) = (said.and_then(|axis| axis.spacing), said.and_then(|axis| axis.start));
    let of_file = found.map(|Points { spacing, .. }| spacing).filter(|_| count > 1);
    let spacing = match (given, of_file) {
        (Some(given), Some(spacing)) if (given - spacing).abs() > UNEVEN * spacing => {
            let remedy = "remove the setting, or correct its unit";
            let problem = Problem::new(
                Kind::Setting,
                given.to_string(),
                format!("{spacing}, as the coordinates of axis `{name}` say"),
                remedy,
            );
            problems.push(problem.setting(format!("{key}.spacing")));
            given
        }
        (Some(given), _) => given,
        (None, Some(spacing)) => spacing,
        (None, None) => {
            if problems.is_empty() {
                let found = format!("no spacing of axis `{name}`, of which the file has no coordinates");
                let remedy =
                    format!("add {{ name = \"{name}\", spacing = .. }}, or name an `array` of coordinates there");
                let problem = Problem::new(Kind::Setting, found, "the distance between two points", remedy);
                problems.push(problem.setting("import.fields.grid"));
            }
            1.0
        }
    };
    let boundary = said.and_then(|axis| axis.boundary).or(boundary).unwrap_or_else(|| {
        let found = format!("nothing that says what lies beyond the ends of axis `{name}`");
        let remedy = format!("add {{ name = \"{name}\", boundary = .. }}: the values of the other end, zero, or those of the nearest point");
        let problem = Problem::new(Kind::Setting, found, "\"periodic\", \"zero\" or \"replicate\"", remedy);
        problems.push(problem.setting("import.fields.grid"));
        Boundary::Periodic
    });
    let every = said.map_or(1, |axis| axis.every).max(1);
    if boundary == Boundary::Periodic && !count.is_multiple_of(every) {
        let found = format!("{every}, and {count} points on the periodic axis `{name}`");
        let expected = "a divisor of the number of points, so that they are evenly spaced all around";
        let problem = Problem::new(Kind::Setting, found, expected, "choose another");
        problems.push(problem.setting(format!("{key}.every")));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let pick = Pick { start: 0, step: every, count: count.div_ceil(every) };
    let start = start.or(found.map(|points| points.start)).unwrap_or(0.0);
    let spacing = spacing * every as f64;
    Ok((GridAxis { name: name.to_owned(), unit, count: pick.count, spacing, start, boundary }, pick))
}

/// Evenly spaced points.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Points {
    start: f64,
    spacing: f64,
}

/// The points whose coordinates an array holds, in the unit `wanted`, and the unit in the file.
fn coordinates(
    file: &mut dyn ArrayFile,
    array: &str,
    name: &str,
    count: usize,
    wanted: Option<&str>,
    groups: &Groups,
    key: &str,
) -> Result<(Points, Option<String>), Problem> {
    let key = format!("{key}.array");
    let array = search::find(file, array, &mut groups.clone()).map_err(|problem| problem.setting(&key))?.of(0);
    let listed = file.listed()[array].clone();
    let wrong = |found: String| {
        let expected = format!("numbers, one for each of the {count} points of axis `{name}`");
        Problem::new(Kind::UnsupportedFile, found, expected, "name another array, or the spacing").setting(&key)
    };
    // Of a vector of coordinates with further axes of length 1, or one that is the same along another axis, only the first is sure.
    let long: Vec<usize> = listed.shape.iter().copied().filter(|&length| length != 1).collect();
    let Some(precision) =
        listed.precision().filter(|_| listed.shape.iter().product::<usize>() == count && long.len() <= 1)
    else {
        return Err(wrong(format!(
            "array `{}` ({}{})",
            listed.name,
            listed.shape_in_words(),
            other_type(&listed.holds)
        )));
    };
    if count > MOST {
        return Err(wrong(format!("{count} coordinates in `{}`", listed.name)));
    }
    let unreadable = |found: String| wrong(format!("array `{}`, which {found}", listed.name));
    let picks: Vec<Pick> = listed.shape.iter().map(|&length| Pick::all(length)).collect();
    let numbers = file.numbers(array, &picks).map_err(unreadable)?;
    let unit = file.unit(array).map_err(unreadable)?;
    let points = evenly_spaced(&numbers, precision).map_err(|Uneven { at, found, expected }| {
        let found = format!("coordinate {found} at point {at} of axis `{name}` in `{}`", listed.name);
        let expected = format!("{expected}: evenly spaced points in ascending order");
        let remedy = "interpolate the fields to even points first; if the coordinates are mistaken, give `spacing` and name no array";
        Problem::new(Kind::UnsupportedFile, found, expected, remedy).setting(&key)
    })?;
    let convert = conversion(unit.as_deref(), None, wanted.or(unit.as_deref()).unwrap_or("1"), &key, "unit")?;
    let (start, next) = (convert.apply(points.start), convert.apply(points.start + points.spacing));
    let spacing = if super::conversion::is_none(convert) { points.spacing } else { next - start };
    Ok((Points { start, spacing }, unit))
}

fn other_type(holds: &super::array_file::Holds) -> String {
    match holds {
        super::array_file::Holds::Numbers(_) => String::new(),
        super::array_file::Holds::Texts => ", texts".to_owned(),
        super::array_file::Holds::Other(what) => format!(", {what}"),
    }
}

/// The first coordinate that is not where it should be.
#[derive(Debug, PartialEq)]
struct Uneven {
    at: usize,
    found: f64,
    expected: String,
}

/// The start and the spacing of coordinates in ascending order. The spacing is one that gives every coordinate to the last bit, if it is found.
fn evenly_spaced(numbers: &[f64], precision: Precision) -> Result<Points, Uneven> {
    let [start, .., last] = *numbers else {
        let start = numbers.first().copied().unwrap_or(0.0);
        return match start.is_finite() {
            true => Ok(Points { start, spacing: 1.0 }),
            false => Err(Uneven { at: 0, found: start, expected: "a number".to_owned() }),
        };
    };
    if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
        return Err(Uneven { at, found: numbers[at], expected: "a number".to_owned() });
    }
    let steps = (numbers.len() - 1) as f64;
    let mean = (last - start) / steps;
    if mean <= 0.0 {
        let at = numbers.windows(2).position(|pair| pair[1] <= pair[0]).map_or(1, |at| at + 1);
        return Err(Uneven { at, found: numbers[at], expected: format!("more than {}", numbers[at - 1]) });
    }
    let largest = start.abs().max(last.abs());
    let tolerance = UNEVEN * mean + ROUNDING * precision.epsilon() * largest;
    for (at, &found) in numbers.iter().enumerate() {
        let expected = start + at as f64 * mean;
        if (found - expected).abs() > tolerance {
            return Err(Uneven { at, found, expected: format!("about {expected}") });
        }
    }
    let is_exact =
        |&spacing: &f64| numbers.iter().enumerate().all(|(at, &number)| start + at as f64 * spacing == number);
    let spacing = [numbers[1] - start, mean].into_iter().find(is_exact).unwrap_or(mean);
    Ok(Points { start, spacing })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spacing_gives_every_coordinate_back() {
        for (start, spacing, count) in [(0.0, 0.1, 64), (-2.5, 0.1, 3), (0.0, 2.0 / 3.0, 100), (1e3, 1e-3, 50)] {
            let points: Vec<f64> = (0..count).map(|at| start + f64::from(at) * spacing).collect();
            let found = evenly_spaced(&points, Precision::Double).unwrap();
            assert_eq!(found.start, start);
            assert!((found.spacing - spacing).abs() < 1e-9 * spacing, "{found:?}");
            let single: Vec<f64> = points.iter().map(|&point| f64::from(point as f32)).collect();
            assert!(evenly_spaced(&single, Precision::Single).is_ok(), "{start} {spacing}");
        }
        let found = evenly_spaced(&(0..64).map(|at| f64::from(at) * 0.1).collect::<Vec<_>>(), Precision::Double);
        assert_eq!(found, Ok(Points { start: 0.0, spacing: 0.1 }));
    }

    #[test]
    fn uneven_falling_and_missing_coordinates_are_refused_where_they_stand() {
        let at = |numbers: &[f64]| evenly_spaced(numbers, Precision::Double).unwrap_err().at;
        assert_eq!(at(&[0.0, 1.0, 2.0, 3.1, 4.0]), 3);
        assert_eq!(at(&[3.0, 2.0, 1.0]), 1);
        assert_eq!(at(&[0.0, f64::NAN, 2.0]), 1);
    }
}
