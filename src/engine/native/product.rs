//! The matrix products of a perceptron, with accumulators in registers.
//!
//! `C[m, :] += sum_k A[m, k] B[k, :]`, where rows of `B` and `C` are padded to whole registers and `A` has any strides. One
//! kernel serves the forward pass (`A` inputs, `B` transposed weights), the backward pass (`A` deltas, `B` weights) and the
//! gradient of the weights (`A` transposed deltas, `B` inputs).

use pulp::{Simd, WithSimd};

use super::real::{Real, lanes, lanes_mut};

/// A matrix by its strides.
#[derive(Clone, Copy)]
pub(super) struct Strided<'a, T> {
    pub values: &'a [T],
    /// Distance between rows, and between columns.
    pub row: usize,
    pub column: usize,
}

/// `C [rows, width] += A [rows, depth] B [depth, width]`; `width`, the stride of `B` and `C`, is a multiple of the lanes.
#[inline(always)]
pub(super) fn accumulate<T: Real, S: Simd>(
    simd: S,
    a: Strided<T>,
    rows: usize,
    depth: usize,
    b: &[T],
    width: usize,
    c: &mut [T],
) {
    // One function for all callers: inlining it everywhere would multiply the code by their number.
    simd.vectorize(Accumulate { a, rows, depth, b, width, c });
}

struct Accumulate<'a, T> {
    a: Strided<'a, T>,
    rows: usize,
    depth: usize,
    b: &'a [T],
    width: usize,
    c: &'a mut [T],
}

impl<T: Real> WithSimd for Accumulate<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Accumulate { a, rows, depth, b, width, c } = self;
        let registers = width / (size_of::<T::Lanes<S>>() / size_of::<T>());
        let mut row = 0;
        while row < rows {
            let a = Strided { values: &a.values[row * a.row..], ..a };
            let c = &mut c[row * width..];
            row += match rows - row {
                1 => block::<T, S, 1>(simd, a, depth, b, width, registers, c),
                2 => block::<T, S, 2>(simd, a, depth, b, width, registers, c),
                3 => block::<T, S, 3>(simd, a, depth, b, width, registers, c),
                _ => block::<T, S, 4>(simd, a, depth, b, width, registers, c),
            };
        }
    }
}

/// `M` rows of `C`, all columns. Returns `M`.
#[inline(always)]
fn block<T: Real, S: Simd, const M: usize>(
    simd: S,
    a: Strided<T>,
    depth: usize,
    b: &[T],
    width: usize,
    registers: usize,
    c: &mut [T],
) -> usize {
    let mut column = 0;
    while column < registers {
        let left = registers - column;
        // With 32 registers, 4 x 4 accumulators; with 16, 4 x 2.
        column += if S::REGISTER_COUNT >= 32 && left >= 4 {
            tile::<T, S, M, 4>(simd, a, depth, b, width, column, c)
        } else if left >= 2 {
            tile::<T, S, M, 2>(simd, a, depth, b, width, column, c)
        } else {
            tile::<T, S, M, 1>(simd, a, depth, b, width, column, c)
        };
    }
    M
}

/// `M` rows and `N` registers of columns of `C`, from register `column`. Returns `N`.
#[inline(always)]
fn tile<T: Real, S: Simd, const M: usize, const N: usize>(
    simd: S,
    a: Strided<T>,
    depth: usize,
    b: &[T],
    width: usize,
    column: usize,
    c: &mut [T],
) -> usize {
    let mut sums = [[T::splat(simd, T::zeroed()); N]; M];
    for (m, sums) in sums.iter_mut().enumerate() {
        let row = &lanes::<T, S>(&c[m * width..(m + 1) * width])[column..column + N];
        sums.copy_from_slice(row);
    }
    if depth > 0 {
        assert!((M - 1) * a.row + (depth - 1) * a.column < a.values.len(), "a matrix ends before its last value");
    }
    for (k, row) in b[..depth * width].chunks_exact(width).enumerate() {
        let b: &[T::Lanes<S>; N] = lanes::<T, S>(row)[column..column + N].try_into().expect("N registers");
        for (m, sums) in sums.iter_mut().enumerate() {
            // SAFETY: m < M and k < depth, and the largest such index was just checked.
            let factor = T::splat(simd, unsafe { *a.values.get_unchecked(m * a.row + k * a.column) });
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum = T::multiply_add(simd, factor, *b, *sum);
            }
        }
    }
    for (m, sums) in sums.iter().enumerate() {
        lanes_mut::<T, S>(&mut c[m * width..(m + 1) * width])[column..column + N].copy_from_slice(sums);
    }
    N
}

/// `sum_i a_i b_i` over slices of whole registers.
#[inline(always)]
pub(super) fn dot<T: Real, S: Simd>(simd: S, a: &[T], b: &[T]) -> T {
    let mut sum = T::splat(simd, T::zeroed());
    for (a, b) in lanes::<T, S>(a).iter().zip(lanes::<T, S>(b)) {
        sum = T::multiply_add(simd, *a, *b, sum);
    }
    T::sum(simd, sum)
}
