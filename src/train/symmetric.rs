//! Symmetric matrices `[n, n]`, stored as their blocks on and below the diagonal, and their Cholesky factors `L L'`.
//!
//! ```text
//! L_kk L_kk' = A_kk,     L_ik = A_ik L_kk'^-1,     A_ij <- A_ij - L_ik L_jk'          k = 1 .. m,  i >= j > k
//! ```
//!
//! The blocks are the same whatever the number of threads, and each is computed by one thread, so that results do not
//! depend on that number in any bit. The upper half of a matrix is not stored. Source: G. Golub, C. Van Loan, Matrix
//! Computations, 4th ed., section 4.2.9.

use std::ops::Range;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use crate::progress::Interrupt;

/// Rows of a block.
const BLOCK: usize = 256;

/// A symmetric matrix, or the lower triangle of its factor.
pub(super) struct Symmetric {
    size: usize,
    /// By columns of blocks, each from the diagonal down.
    blocks: Vec<Mat<f64>>,
}

/// `left right'` on this thread.
fn product(left: MatRef<f64>, right: MatRef<f64>) -> Mat<f64> {
    let mut product = Mat::zeros(left.nrows(), right.nrows());
    matmul(&mut product, Accum::Replace, left, right.transpose(), 1.0, Par::Seq);
    product
}

/// The rows of block `i` among `size`.
fn rows_of(i: usize, size: usize) -> Range<usize> {
    i * BLOCK..size.min((i + 1) * BLOCK)
}

/// Block row and block column of each stored block of a matrix of `count` block rows, in the order of storage.
fn places(count: usize) -> Vec<(usize, usize)> {
    (0..count).flat_map(|j| (j..count).map(move |i| (i, j))).collect()
}

impl Symmetric {
    /// The matrix of `size` rows; `block` gives the values of a range of rows in a range of columns.
    pub(super) fn new(size: usize, block: impl Fn(Range<usize>, Range<usize>) -> Mat<f64> + Send + Sync) -> Self {
        let places = places(size.div_ceil(BLOCK)).into_par_iter().with_max_len(1);
        Symmetric { size, blocks: places.map(|(i, j)| block(rows_of(i, size), rows_of(j, size))).collect() }
    }

    /// `rows rows'`, or `rows diag(weights) rows'`. After a signal, blocks are zeros: such a matrix has no factor.
    pub(super) fn gram(rows: MatRef<f64>, weights: Option<&[f64]>, interrupt: &Interrupt) -> Self {
        Symmetric::new(rows.nrows(), |i, j| {
            if interrupt.requested().is_some() {
                return Mat::zeros(i.len(), j.len());
            }
            let (left, right) = (rows.get(i, ..), rows.get(j, ..));
            match weights {
                Some(weights) => {
                    let weighed = Mat::from_fn(left.ncols(), left.nrows(), |k, i| left[(i, k)] * weights[k]);
                    product(weighed.transpose(), right)
                }
                None => product(left, right),
            }
        })
    }

    /// Adds `rows rows'`.
    pub(super) fn add_gram(&mut self, rows: MatRef<f64>) {
        let (size, places) = (self.size, places(self.count()));
        self.blocks.par_iter_mut().zip(places).with_max_len(1).for_each(|(block, (i, j))| {
            let (left, right) = (rows.get(rows_of(i, size), ..), rows.get(rows_of(j, size), ..));
            matmul(block, Accum::Add, left, right.transpose(), 1.0, Par::Seq);
        });
    }

    /// The value at row `i` and column `j`.
    pub(super) fn value(&self, i: usize, j: usize) -> f64 {
        let (i, j) = (i.max(j), i.min(j));
        self.blocks[self.start_of_column(j / BLOCK) + i / BLOCK - j / BLOCK][(i % BLOCK, j % BLOCK)]
    }

    /// The block of these rows and columns, which [`Symmetric::new`] gave.
    pub(super) fn block(&self, rows: &Range<usize>, columns: &Range<usize>) -> MatRef<'_, f64> {
        let (i, j) = (rows.start / BLOCK, columns.start / BLOCK);
        self.blocks[self.start_of_column(j) + i - j].as_ref()
    }

    /// The mean of the diagonal.
    pub(super) fn mean_diagonal(&self) -> f64 {
        (0..self.size).map(|i| self.value(i, i)).sum::<f64>() / self.size as f64
    }

    /// The factor of this matrix, with `damping` added to its diagonal; `None` where that is not numerically positive
    /// definite, or if a signal comes.
    pub(super) fn factor(mut self, damping: f64, interrupt: &Interrupt) -> Option<Factor> {
        let count = self.count();
        let mut scratch = MemBuffer::new(cholesky_in_place_scratch::<f64>(BLOCK, Par::Seq, Default::default()));
        for k in 0..count {
            if interrupt.requested().is_some() {
                return None;
            }
            let start = self.start_of_column(k);
            let (column, behind) = self.blocks[start..].split_at_mut(count - k);
            let (diagonal, below) = column.split_first_mut().expect("a column has a block on the diagonal");
            (0..diagonal.nrows()).for_each(|i| diagonal[(i, i)] += damping);
            let stack = MemStack::new(&mut scratch);
            cholesky_in_place(diagonal.as_mut(), Default::default(), Par::Seq, stack, Default::default()).ok()?;
            let diagonal = diagonal.as_ref();
            below.par_iter_mut().with_max_len(1).for_each(|block| {
                solve_lower_triangular_in_place(diagonal, block.as_mut().transpose_mut(), Par::Seq);
            });
            let behind = behind.par_iter_mut().zip(places(below.len())).with_max_len(1);
            behind.for_each(|(block, (i, j))| {
                matmul(block, Accum::Add, &below[i], below[j].transpose(), -1.0, Par::Seq);
            });
        }
        Some(Factor(self))
    }

    /// Rows of blocks.
    fn count(&self) -> usize {
        self.size.div_ceil(BLOCK)
    }

    /// Where the blocks of column `j` begin.
    fn start_of_column(&self, j: usize) -> usize {
        j * (2 * self.count() + 1 - j) / 2
    }
}

/// The Cholesky factor of a [`Symmetric`].
pub(super) struct Factor(Symmetric);

impl Factor {
    /// `x [n]` with `L L' x = right [n]`.
    pub(super) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let count = self.0.count();
        let column = |k: usize| &self.0.blocks[self.0.start_of_column(k)..][..count - k];
        let mut x = Mat::from_fn(right.len(), 1, |i, _| right[i]);
        for k in 0..count {
            let (mut own, mut behind) = x.get_mut(k * BLOCK.., ..).split_at_row_mut(column(k)[0].nrows());
            solve_lower_triangular_in_place(column(k)[0].as_ref(), own.rb_mut(), Par::Seq);
            for (i, block) in column(k)[1..].iter().enumerate() {
                let rows = rows_of(i, behind.nrows());
                let rows = behind.rb_mut().get_mut(rows, ..);
                matmul(rows, Accum::Add, block, own.rb(), -1.0, Par::Seq);
            }
        }
        for k in (0..count).rev() {
            let (mut own, behind) = x.get_mut(k * BLOCK.., ..).split_at_row_mut(column(k)[0].nrows());
            for (i, block) in column(k)[1..].iter().enumerate() {
                let rows = behind.rb().get(rows_of(i, behind.nrows()), ..);
                matmul(own.rb_mut(), Accum::Add, block.transpose(), rows, -1.0, Par::Seq);
            }
            solve_upper_triangular_in_place(column(k)[0].transpose(), own.rb_mut(), Par::Seq);
        }
        (0..right.len()).map(|i| x[(i, 0)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// Several blocks, the last one short; a matrix that is not positive definite has no factor.
    #[test]
    fn a_factor_solves_what_it_was_made_of() {
        let (n, width) = (2 * BLOCK + 37, 11);
        let mut stream = Stream::new(5, "symmetric", &[]);
        let values: Vec<f64> = (0..n * width).map(|_| stream.normal()).collect();
        let rows = MatRef::from_row_major_slice(&values, n, width);
        let weights: Vec<f64> = (0..width).map(|_| stream.uniform(0.1, 2.0)).collect();
        let wanted = Mat::from_fn(n, 1, |_, _| stream.normal());
        let dense = rows * Mat::from_fn(width, n, |k, i| rows[(i, k)] * weights[k]);
        let interrupt = Interrupt::new();
        let matrix = || Symmetric::gram(rows, Some(&weights), &interrupt);
        let mean = (0..n).map(|i| dense[(i, i)]).sum::<f64>() / n as f64;
        approx::assert_relative_eq!(matrix().mean_diagonal(), mean, max_relative = 1e-12);
        let (rows_of_last, columns) = (2 * BLOCK..n, BLOCK..2 * BLOCK);
        let (matrix_of_all, last) = (matrix(), dense.get(rows_of_last.clone(), columns.clone()));
        assert!((matrix_of_all.block(&rows_of_last, &columns) - last).norm_max() < 1e-12);
        let right = &dense * &wanted + &wanted * 0.5;
        let right: Vec<f64> = (0..n).map(|i| right[(i, 0)]).collect();
        let solved = matrix().factor(0.5, &interrupt).expect("a positive definite matrix").solve(&right);
        assert!(solved.iter().enumerate().all(|(i, x)| (x - wanted[(i, 0)]).abs() < 1e-9));
        assert!(matrix().factor(-0.5, &interrupt).is_none(), "there are more rows than columns");
        let solved = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Symmetric::gram(rows, None, &interrupt).factor(0.5, &interrupt).unwrap().solve(&right))
        };
        assert!(solved(1) == solved(3), "bits of a solution depend on the number of threads");
        interrupt.request(2);
        assert!(matrix().factor(0.5, &interrupt).is_none(), "a signal came");
    }
}
