//! Symmetric matrices `[n, n]` by their blocks on and below the diagonal, and their Cholesky factors `L L'`.
//!
//! ```text
//! L_kk L_kk' = A_kk,     L_ik = A_ik L_kk'^-1,     A_ij <- A_ij - L_ik L_jk'          k = 1 .. m,  i >= j > k
//! ```
//!
//! Blocks are cut alike whatever the number of threads, and each is the work of one thread: no bit of a result depends on how many there
//! are. Half of a matrix is never stored. Source: G. Golub, C. Van Loan, Matrix Computations, 4th ed., section 4.2.9.

use rayon::prelude::*;
use tch::{Kind, Tensor};

/// Rows of a block.
const BLOCK: usize = 256;

/// A symmetric matrix, or the lower triangle of its factor.
pub struct Symmetric {
    size: usize,
    /// Block `(i, j)`, `j <= i`, at `i (i + 1) / 2 + j`.
    blocks: Vec<Tensor>,
}

/// Rows of something, cut as a [`Symmetric`] is.
pub fn cut(rows: &Tensor) -> Vec<Tensor> {
    let size = rows.size()[0] as usize;
    let length = |first: usize| BLOCK.min(size - first);
    (0..size).step_by(BLOCK).map(|first| rows.narrow(0, first as i64, length(first) as i64)).collect()
}

fn place(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

impl Symmetric {
    /// The matrix of `size` rows whose block `(i, j)` is `block` of what `parts` gives for it.
    pub fn new<T: Send>(
        size: usize,
        parts: impl Fn(usize, usize) -> T,
        block: impl Fn(T) -> Tensor + Send + Sync,
    ) -> Self {
        let places = (0..size.div_ceil(BLOCK)).flat_map(|i| (0..=i).map(move |j| (i, j)));
        let parts: Vec<T> = places.map(|(i, j)| parts(i, j)).collect();
        Symmetric { size, blocks: parts.into_par_iter().with_max_len(1).map(block).collect() }
    }

    /// `rows rows'`, columns weighed by `weights` if there are any.
    pub fn gram(rows: &Tensor, weights: Option<&Tensor>) -> Self {
        let cut = cut(rows);
        let parts =
            |i: usize, j: usize| (cut[i].shallow_clone(), cut[j].shallow_clone(), weights.map(Tensor::shallow_clone));
        Symmetric::new(rows.size()[0] as usize, parts, |(left, right, weights)| match weights {
            Some(weights) => (left * weights.unsqueeze(0)).mm(&right.tr()),
            None => left.mm(&right.tr()),
        })
    }

    /// Block `(i, j)`, `j <= i`.
    pub fn block(&self, i: usize, j: usize) -> Tensor {
        self.blocks[place(i, j)].shallow_clone()
    }

    fn count(&self) -> usize {
        self.size.div_ceil(BLOCK)
    }

    /// The mean of the diagonal.
    pub fn mean_diagonal(&self) -> f64 {
        let trace = |i: usize| self.block(i, i).trace().double_value(&[]);
        (0..self.count()).map(trace).sum::<f64>() / self.size as f64
    }

    /// The factor of this matrix, with `damping` added to its diagonal; none where that is not positive definite in the arithmetic.
    pub fn factor(mut self, damping: f64) -> Option<Factor> {
        let count = self.count();
        for k in 0..count {
            let diagonal = self.block(k, k);
            let identity = Tensor::eye(diagonal.size()[0], (Kind::Double, tch::Device::Cpu));
            let (factor, info) = (diagonal + identity * damping).linalg_cholesky_ex(false, false);
            if info.int64_value(&[]) != 0 {
                return None;
            }
            let below: Vec<(Tensor, Tensor)> =
                (k + 1..count).map(|i| (self.block(i, k), factor.shallow_clone())).collect();
            let solved =
                |(block, factor): (Tensor, Tensor)| factor.tr().linalg_solve_triangular(&block, true, false, false);
            let below: Vec<Tensor> = below.into_par_iter().with_max_len(1).map(solved).collect();
            let behind = (0..below.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
            let behind: Vec<_> = behind
                .map(|(i, j)| (self.block(k + 1 + i, k + 1 + j), below[i].shallow_clone(), below[j].shallow_clone()))
                .collect();
            behind.into_par_iter().with_max_len(1).for_each(|(mut block, left, right)| {
                let _ = block.g_sub_(&left.mm(&right.tr())); // in its place
            });
            self.blocks[place(k, k)] = factor;
            below.into_iter().zip(k + 1..).for_each(|(block, i)| self.blocks[place(i, k)] = block);
        }
        Some(Factor(self))
    }
}

/// The Cholesky factor of a [`Symmetric`].
pub struct Factor(Symmetric);

impl Factor {
    /// `x [n, 1]` with `L L' x = right [n, 1]`.
    pub fn solve(&self, right: &Tensor) -> Tensor {
        let count = self.0.count();
        let mut parts = cut(right);
        for i in 0..count {
            for j in 0..i {
                parts[i] = &parts[i] - self.0.block(i, j).mm(&parts[j]);
            }
            parts[i] = self.0.block(i, i).linalg_solve_triangular(&parts[i], false, true, false);
        }
        for i in (0..count).rev() {
            for j in i + 1..count {
                parts[i] = &parts[i] - self.0.block(j, i).tr().mm(&parts[j]);
            }
            parts[i] = self.0.block(i, i).tr().linalg_solve_triangular(&parts[i], true, true, false);
        }
        Tensor::cat(&parts, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::one_thread_each;
    use crate::random::Stream;

    /// Several blocks, the last one short; a matrix that is not positive definite has no factor.
    #[test]
    fn a_factor_solves_what_it_was_made_of() {
        let (n, width) = (2 * BLOCK + 37, 11);
        let mut stream = Stream::new(5, "symmetric", &[]);
        let values: Vec<f64> = (0..n * width).map(|_| stream.normal()).collect();
        let rows = Tensor::from_slice(&values).view([n as i64, width as i64]);
        let weights: Vec<f64> = (0..width).map(|_| stream.uniform(0.1, 2.0)).collect();
        let weights = Tensor::from_slice(&weights);
        let wanted = Tensor::from_slice(&(0..n).map(|_| stream.normal()).collect::<Vec<f64>>()).unsqueeze(1);
        let dense = (&rows * weights.unsqueeze(0)).mm(&rows.tr());
        let matrix = || Symmetric::gram(&rows, Some(&weights));
        let mean = dense.diagonal(0, 0, 1).mean(None::<Kind>).double_value(&[]);
        approx::assert_relative_eq!(matrix().mean_diagonal(), mean, max_relative = 1e-12);
        let right = dense.mm(&wanted) + &wanted * 0.5;
        let solved = matrix().factor(0.5).expect("a positive definite matrix").solve(&right);
        assert!((solved - &wanted).abs().max().double_value(&[]) < 1e-9);
        assert!(matrix().factor(-0.5).is_none(), "there are more rows than columns");
        let solved = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let (rows, right) = (rows.shallow_clone(), wanted.shallow_clone());
            pool.install(move || {
                one_thread_each();
                let factor = Symmetric::gram(&rows, None).factor(0.5).unwrap();
                Vec::<f64>::try_from(&factor.solve(&right).view([-1])).unwrap()
            })
        };
        let (first, second) = (solved(1), solved(3));
        assert!(first == second, "bits of a solution depend on the number of threads");
    }
}
