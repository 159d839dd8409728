//! Environments scattered over a plane, gathered into rectangular cells.

/// An environment at its true parameters; `error` is absent if its status is a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Site {
    pub x: f64,
    pub y: f64,
    pub error: Option<f64>,
}

/// The content of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell {
    Empty,
    /// Environments, all of which failed.
    Void,
    /// Geometric mean of the errors.
    Error(f64),
}

/// Cells between edges, row by row from the lowest `y`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cells {
    pub x_edges: Vec<f64>,
    pub y_edges: Vec<f64>,
    pub cells: Vec<Cell>,
    /// Whether every cell has at most one environment.
    pub exact: bool,
}

/// Above this many, cells become invisible and files large.
const MOST_CELLS: usize = 10_000;
/// Scattered environments above this number are gathered rather than drawn one by one.
const MOST_POINTS: usize = 2_000;
/// Cells along an axis where environments are gathered.
const GATHERED: usize = 80;

/// The cells of environments that lie on a lattice or are too many to be drawn one by one; else `None`.
pub(super) fn gather(sites: &[Site]) -> Option<Cells> {
    let (xs, ys) = (distinct(sites.iter().map(|site| site.x)), distinct(sites.iter().map(|site| site.y)));
    let lattice = xs.len() >= 3 && ys.len() >= 3 && xs.len() * ys.len() <= 2 * sites.len();
    let (x_edges, y_edges, exact) = if lattice && xs.len() * ys.len() <= MOST_CELLS {
        (edges_between(&xs), edges_between(&ys), true)
    } else if sites.len() > MOST_POINTS && xs.len() >= 2 && ys.len() >= 2 {
        (even_edges(&xs), even_edges(&ys), false)
    } else {
        return None;
    };
    let (columns, rows) = (x_edges.len() - 1, y_edges.len() - 1);
    let mut held = vec![(0usize, 0usize, 0f64); columns * rows];
    for site in sites {
        let column = x_edges.partition_point(|edge| *edge <= site.x).clamp(1, columns) - 1;
        let row = y_edges.partition_point(|edge| *edge <= site.y).clamp(1, rows) - 1;
        let (count, errors, logarithms) = &mut held[row * columns + column];
        *count += 1;
        if let Some(error) = site.error {
            *errors += 1;
            *logarithms += error.max(f64::MIN_POSITIVE).ln();
        }
    }
    let cells = held
        .into_iter()
        .map(|(count, errors, logarithms)| match (count, errors) {
            (0, _) => Cell::Empty,
            (_, 0) => Cell::Void,
            _ => Cell::Error((logarithms / errors as f64).exp()),
        })
        .collect();
    Some(Cells { x_edges, y_edges, cells, exact })
}

/// Ascending values that differ by more than rounding.
fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let rounding = match (values.first(), values.last()) {
        (Some(first), Some(last)) => 1e-9 * (last - first),
        _ => 0.0,
    };
    values.dedup_by(|next, kept| *next - *kept <= rounding);
    values
}

fn edges_between(centres: &[f64]) -> Vec<f64> {
    let last = centres.len() - 1;
    let mut edges = vec![centres[0] - 0.5 * (centres[1] - centres[0])];
    edges.extend(centres.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])));
    edges.push(centres[last] + 0.5 * (centres[last] - centres[last - 1]));
    edges
}

fn even_edges(values: &[f64]) -> Vec<f64> {
    let (low, high) = (values[0], values[values.len() - 1]);
    (0..=GATHERED).map(|index| low + (high - low) * index as f64 / GATHERED as f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lattice(side: usize) -> Vec<Site> {
        (0..side * side)
            .map(|i| Site { x: (i % side) as f64 * 0.1, y: (i / side) as f64, error: (i != 4).then_some(i as f64) })
            .collect()
    }

    #[test]
    fn a_lattice_keeps_its_cells() {
        let cells = gather(&lattice(3)).unwrap();
        assert!(cells.exact);
        assert_eq!(cells.y_edges, [-0.5, 0.5, 1.5, 2.5]);
        assert_eq!(cells.cells[4], Cell::Void);
        assert!(matches!(cells.cells[8], Cell::Error(error) if (error - 8.0).abs() < 1e-9));
    }

    #[test]
    fn a_huge_lattice_is_gathered_and_a_few_points_are_not() {
        let cells = gather(&lattice(150)).unwrap();
        assert!(!cells.exact && cells.cells.len() == GATHERED * GATHERED);
        assert!(gather(&lattice(3)[..4]).is_none());
        assert!(gather(&[]).is_none());
    }
}
