//! The operators of nearest neighbours on a grid of one to three axes, and their transposes; see [`Operator`](crate::models::Operator).
//!
//! A neighbour beyond the end of an axis is a ghost: a point of the axis times a weight.
//!
//! ```text
//! periodic     the point at the other end     1
//! zero         any                            0
//! replicate    the point at the end itself    1
//! ```
//!
//! Laplacians are then symmetric. Differences along an axis, `D a = (a_{+1} - a_{-1}) / 2`, have `D' = -D`, but for `replicate`, where `D' = -D` with the
//! weight -1.

use crate::schema::Boundary;

/// The grid of a field.
pub(super) struct Stencils {
    /// Points along each axis.
    space: Vec<usize>,
    boundaries: Vec<Boundary>,
}

impl Stencils {
    pub(super) fn new(space: &[usize], boundaries: &[Boundary]) -> Self {
        Stencils { space: space.to_vec(), boundaries: boundaries.to_vec() }
    }

    /// The Laplacian, its own transpose.
    #[inline(always)]
    pub(super) fn laplacian(&self, a: &[f64], to: &mut [f64]) {
        if let (&[n, m], &[first, second]) = (&self.space[..], &self.boundaries[..]) {
            nine_points([n, m], [first, second], a, to);
            return;
        }
        to.fill(0.0);
        for axis in 0..self.space.len() {
            self.along(axis, 1.0, a, to, |sum, before, here, after| sum + (before - 2.0 * here + after));
        }
    }

    /// `(a_{+1} - a_{-1}) / 2` along an axis.
    #[inline(always)]
    pub(super) fn difference(&self, axis: usize, a: &[f64], to: &mut [f64]) {
        self.along(axis, 1.0, a, to, |_, before, _, after| 0.5 * (after - before));
    }

    /// Its transpose.
    #[inline(always)]
    pub(super) fn difference_transposed(&self, axis: usize, a: &[f64], to: &mut [f64]) {
        self.along(axis, -1.0, a, to, |_, before, _, after| -0.5 * (after - before));
    }

    /// Makes each value of a field from itself, and from the point before, the point and the point after along an axis; `replicated` is the weight of
    /// the ghosts of a boundary `replicate`.
    #[inline(always)]
    fn along(&self, axis: usize, replicated: f64, a: &[f64], to: &mut [f64], make: impl Fn(f64, f64, f64, f64) -> f64) {
        let (n, stride) = (self.space[axis], self.space[axis + 1..].iter().product::<usize>());
        let (first, last, weight) = match self.boundaries[axis] {
            Boundary::Periodic => (n - 1, 0, 1.0),
            Boundary::Zero => (0, n - 1, 0.0),
            Boundary::Replicate => (0, n - 1, replicated),
        };
        for (a, to) in a.chunks_exact(n * stride).zip(to.chunks_exact_mut(n * stride)) {
            if n > 2 {
                let inner = to[stride..(n - 1) * stride].iter_mut();
                for (((to, before), here), after) in inner.zip(a).zip(&a[stride..]).zip(&a[2 * stride..]) {
                    *to = make(*to, *before, *here, *after);
                }
            }
            for i in [0, n - 1].into_iter().take(n) {
                for k in 0..stride {
                    let at = |i: usize| a[i * stride + k];
                    let before = if i > 0 { at(i - 1) } else { weight * at(first) };
                    let after = if i + 1 < n { at(i + 1) } else { weight * at(last) };
                    let to = &mut to[i * stride + k];
                    *to = make(*to, before, at(i), after);
                }
            }
        }
    }
}

/// The Laplacian of nine points.
#[inline(always)]
fn nine_points([n, m]: [usize; 2], [rows, columns]: [Boundary; 2], a: &[f64], to: &mut [f64]) {
    let zeros = if rows == Boundary::Zero { vec![0.0; m] } else { Vec::new() };
    let row = |i: usize| &a[i * m..][..m];
    // The row beyond an end, where `other` is the one at the other end.
    let ghost = |end: usize, other: usize| match rows {
        Boundary::Periodic => row(other),
        Boundary::Zero => &zeros[..],
        Boundary::Replicate => row(end),
    };
    for i in 0..n {
        let above = if i > 0 { row(i - 1) } else { ghost(0, n - 1) };
        let below = if i + 1 < n { row(i + 1) } else { ghost(n - 1, 0) };
        let here = row(i);
        let sum = |j: usize| above[j] + 2.0 * here[j] + below[j];
        let ghost = |end: usize, other: usize| match columns {
            Boundary::Periodic => sum(other),
            Boundary::Zero => 0.0,
            Boundary::Replicate => sum(end),
        };
        let to = &mut to[i * m..][..m];
        let at = |before: f64, j: usize, after: f64| 0.25 * (before + 2.0 * sum(j) + after) - 4.0 * here[j];
        let last = m - 1;
        to[0] = at(ghost(0, last), 0, if m > 1 { sum(1) } else { ghost(0, 0) });
        if m > 1 {
            to[last] = at(sum(last - 1), last, ghost(last, 0));
        }
        for (j, to) in to.iter_mut().enumerate().take(last).skip(1) {
            *to = at(sum(j - 1), j, sum(j + 1));
        }
    }
}
