//! Lines of fewer points that look the same.
//!
//! A point is left out where it lies within a tolerance of the straight line between the points that are kept around it. Source: D. Douglas,
//! T. Peucker, Algorithms for the reduction of the number of points required to represent a digitized line, Cartographica 10 (1973) 112-122.

/// How far a line may be off, in user units of a drawing: less than its own width.
const TOLERANCE: f64 = 0.2;

/// The indices of the points that are kept, ascending; points that are not finite and their neighbours are.
pub(crate) fn kept(points: &[(f64, f64)]) -> Vec<usize> {
    let mut is_kept: Vec<bool> = points.iter().map(|(x, y)| !x.is_finite() || !y.is_finite()).collect();
    let (mut stretches, mut from) = (Vec::new(), 0);
    for (index, _) in is_kept.iter().enumerate().filter(|(_, is_gap)| **is_gap) {
        stretches.push((from, index));
        from = index + 1;
    }
    stretches.push((from, points.len()));
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (from, end) in stretches.into_iter().filter(|(from, end)| from < end) {
        (is_kept[from], is_kept[end - 1]) = (true, true);
        open.push((from, end - 1));
    }
    while let Some((first, last)) = open.pop() {
        let ((x0, y0), (x1, y1)) = (points[first], points[last]);
        let (dx, dy) = (x1 - x0, y1 - y0);
        let length = dx.hypot(dy);
        let distance = |&(x, y): &(f64, f64)| match length > 0.0 {
            true => ((x - x0) * dy - (y - y0) * dx).abs() / length,
            false => (x - x0).hypot(y - y0),
        };
        let between = (first + 1..last).map(|index| (index, distance(&points[index])));
        if let Some((farthest, off)) = between.max_by(|a, b| a.1.total_cmp(&b.1))
            && off > TOLERANCE
        {
            is_kept[farthest] = true;
            open.extend([(first, farthest), (farthest, last)]);
        }
    }
    (0..points.len()).filter(|&index| is_kept[index]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_gaps_and_ends_stay() {
        let corner: Vec<(f64, f64)> = (0..=20).map(|i| (f64::from(i), (f64::from(i) - 10.0).abs())).collect();
        assert_eq!(kept(&corner), [0, 10, 20]);
        let mut holed = corner.clone();
        holed[5].1 = f64::NAN;
        assert_eq!(kept(&holed), [0, 4, 5, 6, 10, 20]);
        assert_eq!(kept(&[]), [0; 0]);
        let wave: Vec<(f64, f64)> = (0..400).map(|i| (f64::from(i), 100.0 * (f64::from(i) / 30.0).sin())).collect();
        let few = kept(&wave);
        assert!(few.len() < 120, "{}", few.len());
        for pair in few.windows(2) {
            let ((x0, y0), (x1, y1)) = (wave[pair[0]], wave[pair[1]]);
            for (x, y) in &wave[pair[0]..pair[1]] {
                assert!((y0 + (y1 - y0) * (x - x0) / (x1 - x0) - y).abs() < 1.0);
            }
        }
    }
}
