//! The Jacobian of rows of one interval without space, in reverse mode: an adjoint for each value at the end of the interval.
//!
//! All adjoints go back together, and each stage keeps the products `phi [M]` of a row and the cotangents `lambda [K, C]` of its rates, `K = C`
//! outputs. The derivatives of output `k` by the coefficients are then `sum_stages lambda_kc phi_m`: one matrix product for each row. By
//! forward mode each of the `P` weights would take a tangent through every stage.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use super::field::{Buffers, Stages};
use super::rollout::Rollout;

impl Rollout<'_> {
    /// What the stages of the first interval give to the gradients of its `K` outputs; `record` is that of the rollout.
    #[inline(always)]
    pub(super) fn each_output(&self, record: &[f64], buffers: &mut Buffers) -> Stages {
        let (size, count, outputs) = (self.size(), self.tableau.weights.len(), self.batch.channels);
        let (all, points) = (outputs * size, self.rows.len());
        let mut kept = Stages::default();
        let Some(h) = self.steps(0) else { return kept };
        let mut adjoint = vec![0.0; all];
        for k in 0..outputs {
            adjoint[k * size + k * points..][..points].fill(1.0);
        }
        let mut of_stages = vec![vec![0.0; all]; count];
        let mut of_rates = vec![0.0; all];
        let mut inputs = vec![0.0; self.batch.inputs * points];
        let mut records = record.rchunks_exact(size);
        for s in (0..self.substeps).rev() {
            for stage in (0..count).rev() {
                self.of_rates(stage, &h, &adjoint, &of_stages, &mut of_rates);
                let argument = records.next().expect("a record of every stage");
                self.inputs(0, s, self.node(stage), &h, &mut inputs);
                let to = &mut of_stages[stage];
                self.field.pull_back_each((argument, &inputs), &of_rates, buffers, to, &mut kept);
            }
            for more in &of_stages {
                adjoint.iter_mut().zip(more).for_each(|(adjoint, more)| *adjoint += more);
            }
        }
        kept
    }

    /// The derivatives `[K, P]` of the outputs of the `n`-th row by the weights.
    pub(super) fn by_weights(&self, kept: &Stages, n: usize) -> Vec<f64> {
        let (library, points, outputs) = (self.field.library, self.rows.len(), self.batch.channels);
        let (channels, products, size) = (library.channels, library.count(), self.field.weights.len());
        let (matrix, denominators) = (channels * products, library.denominator_weights());
        let mut rows = vec![0.0; outputs * size];
        let of_row = |values: &[f64]| -> Vec<f64> { values.iter().skip(n).step_by(points).copied().collect() };
        let phi = of_row(&kept.products);
        let stages = phi.len() / products;
        if stages == 0 {
            return rows;
        }
        let mut lambda = of_row(&kept.cotangents);
        let width = outputs * channels;
        let mut sums = vec![0.0; width * products];
        let mut add_block = |lambda: &[f64], block: usize| {
            let to = MatMut::from_row_major_slice_mut(&mut sums, width, products);
            let lambda = MatRef::from_row_major_slice(lambda, stages, width);
            let phi = MatRef::from_row_major_slice(&phi, stages, products);
            matmul(to, Accum::Replace, lambda.transpose(), phi, 1.0, Par::Seq);
            for (row, sums) in rows.chunks_exact_mut(size).zip(sums.chunks_exact(matrix)) {
                row[block * matrix..(block + 1) * matrix].copy_from_slice(sums);
            }
        };
        add_block(&lambda, 0);
        if denominators == 0 {
            return rows;
        }
        let (inverse, numerators, powers) = (of_row(&kept.inverse), of_row(&kept.numerators), of_row(&kept.powers));
        for (lambda, inverse) in lambda.chunks_exact_mut(width).zip(&inverse) {
            lambda.iter_mut().for_each(|value| *value *= inverse);
        }
        add_block(&lambda, 1);
        let deltas = &self.field.weights[2 * matrix..];
        for (s, lambda) in lambda.chunks_exact(width).enumerate() {
            let numerators = &numerators[s * channels..][..channels];
            for (row, lambda) in rows.chunks_exact_mut(size).zip(lambda.chunks_exact(channels)) {
                let by_denominator: f64 = lambda.iter().zip(numerators).map(|(lambda, h)| -lambda * h).sum();
                let powers = deltas.iter().zip(&powers[s * denominators..]);
                for (to, (delta, power)) in row[2 * matrix..].iter_mut().zip(powers) {
                    *to += 2.0 * delta.abs() * power * by_denominator * inverse[s];
                }
            }
        }
        rows
    }
}
