//! Convex hull of points in the plane (A. M. Andrew, "Another efficient algorithm for convex hulls in two dimensions", 1979).

/// The corners of the hull, counterclockwise, each once; points on an edge are no corners. Points must be finite.
pub(crate) fn corners(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    sorted.dedup();
    if sorted.len() < 3 {
        return sorted;
    }
    let chain = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        let mut chain: Vec<(f64, f64)> = Vec::new();
        for point in points {
            while let [.., a, b] = chain[..] {
                let turn = (b.0 - a.0) * (point.1 - a.1) - (b.1 - a.1) * (point.0 - a.0);
                if turn > 0.0 {
                    break;
                }
                chain.pop();
            }
            chain.push(point);
        }
        chain.pop();
        chain
    };
    let mut hull = chain(&mut sorted.iter().copied());
    hull.extend(chain(&mut sorted.iter().rev().copied()));
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_with_points_inside_and_on_its_edges() {
        let points: Vec<(f64, f64)> =
            (0..9).map(|i| (f64::from(i % 3), f64::from(i / 3))).chain([(0.5, 1.5), (0.0, 0.0)]).collect();
        assert_eq!(corners(&points), [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)]);
    }

    #[test]
    fn a_line_has_two_corners() {
        assert_eq!(corners(&[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]), [(0.0, 0.0), (2.0, 2.0)]);
        assert_eq!(corners(&[]), []);
    }
}
