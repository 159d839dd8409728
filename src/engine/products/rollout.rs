//! The rollout of rows of one environment, forward with tangents and backward with an adjoint.
//!
//! On a grid a rollout is of one row; without space it is of several, which are its points, each with its own steps.

use std::ops::Range;

use super::field::{Buffers, Direction, VectorField};
use crate::engine::batch::Batch;
use crate::solve::Tableau;

/// Rows of a batch, by `substeps` steps of `tableau` from sample to sample.
pub(super) struct Rollout<'a> {
    pub field: VectorField<'a>,
    pub tableau: &'a Tableau,
    pub substeps: usize,
    pub batch: &'a Batch,
    /// Indices of the rows in the batch, all of one environment.
    pub rows: Range<usize>,
}

/// What a forward rollout carries and keeps.
pub(super) struct Forward<'a> {
    /// Along these the weights move, tangent after tangent.
    pub directions: &'a [Direction],
    /// Whether the values of the initial state of each row move too, behind them.
    pub initial_moves: bool,
    /// The arguments of all stages `[.., C, N]`, if they are wanted.
    pub record: Option<&'a mut Vec<f64>>,
}

impl Rollout<'_> {
    /// Values of the states of all rows.
    pub(super) fn size(&self) -> usize {
        self.batch.channels * self.rows.len()
    }

    /// Of a value of the states, the row and its place in the state of that row.
    pub(super) fn place(&self, value: usize) -> (usize, usize) {
        let count = self.rows.len();
        (self.rows.start + value % count, value / count)
    }

    /// Index in `targets`, `mask` and predictions of a value of the states after `step`.
    pub(super) fn target(&self, step: usize, value: usize) -> usize {
        let (row, place) = self.place(value);
        (row * self.batch.steps + step) * self.batch.channels + place
    }

    /// `u(t + c h) [U, N]` of substep `s` of a step, for steps `h [N]`.
    pub(super) fn inputs(&self, step: usize, s: usize, node: f64, h: &[f64], to: &mut [f64]) {
        let of_row = h.len() / self.rows.len();
        for (at, to) in to.iter_mut().enumerate() {
            let (u, n) = (at / h.len(), at % h.len());
            let place = ((self.rows.start + n / of_row) * self.batch.steps + step) * self.batch.inputs + u;
            let (start, slope) = (self.batch.input_starts[place], self.batch.input_slopes[place]);
            *to = start + slope * (s as f64 + node) * h[n];
        }
    }

    /// Lengths of the solver's steps within a step `[N]`; `None` where no row moves.
    pub(super) fn steps(&self, step: usize) -> Option<Vec<f64>> {
        let of_row = self.field.points / self.rows.len();
        let of = |row: usize| self.batch.dt[row * self.batch.steps + step] / self.substeps as f64;
        let steps: Vec<f64> = self.rows.clone().flat_map(|row| vec![of(row); of_row]).collect();
        steps.iter().any(|h| *h != 0.0).then_some(steps)
    }

    /// `c_i = sum_j a_ij`.
    pub(super) fn node(&self, stage: usize) -> f64 {
        self.tableau.stages[stage].iter().sum()
    }

    /// Calls `sample` with each step and the states with tangents `[1 + T, C, N]` at its end.
    #[inline(always)]
    pub(super) fn forward(&self, forward: Forward, buffers: &mut Buffers, mut sample: impl FnMut(usize, &[f64])) {
        let Forward { directions, initial_moves, mut record } = forward;
        let (size, channels) = (self.size(), self.batch.channels);
        let moving = if initial_moves { channels } else { 0 };
        let mut state = vec![0.0; (1 + directions.len() + moving) * size];
        for value in 0..size {
            let (row, place) = self.place(value);
            state[value] = self.batch.initial[row * channels + place];
            if initial_moves {
                state[(1 + directions.len() + place) * size + value] = 1.0;
            }
        }
        let mut stages = vec![vec![0.0; state.len()]; self.tableau.weights.len()];
        let mut argument = state.clone();
        let mut inputs = vec![0.0; self.batch.inputs * self.field.points];
        for step in 0..self.batch.steps {
            if let Some(h) = self.steps(step) {
                for s in 0..self.substeps {
                    for stage in 0..stages.len() {
                        argument.copy_from_slice(&state);
                        let (before, here) = stages.split_at_mut(stage);
                        for (a, k) in self.tableau.stages[stage].iter().zip(before).filter(|(a, _)| **a != 0.0) {
                            add(&mut argument, *a, &h, k);
                        }
                        if let Some(record) = &mut record {
                            record.extend_from_slice(&argument[..size]);
                        }
                        self.inputs(step, s, self.node(stage), &h, &mut inputs);
                        self.field.rates(&argument, &inputs, directions, buffers, &mut here[0]);
                    }
                    for (b, k) in self.tableau.weights.iter().zip(&stages) {
                        add(&mut state, *b, &h, k);
                    }
                }
            }
            sample(step, &state);
        }
    }

    /// Writes the cotangents of the rates of a stage, for steps `h [N]`, from those of the state at the end of the step and of the arguments of
    /// later stages.
    #[inline(always)]
    pub(super) fn of_rates(&self, stage: usize, h: &[f64], adjoint: &[f64], of_stages: &[Vec<f64>], to: &mut [f64]) {
        to.fill(0.0);
        add(to, self.tableau.weights[stage], h, adjoint);
        let later = self.tableau.stages.iter().zip(of_stages).skip(stage + 1);
        for (row, of_stage) in later.filter(|(row, _)| row[stage] != 0.0) {
            add(to, row[stage], h, of_stage);
        }
    }

    /// Adds to `gradient [P]` that of `sum u x` over the predictions, `seeds` being `u [L, C, N]` of these rows; `record` is that of the
    /// rollout.
    #[inline(always)]
    pub(super) fn backward(&self, seeds: &[f64], record: &[f64], buffers: &mut Buffers, gradient: &mut [f64]) {
        let (size, count) = (self.size(), self.tableau.weights.len());
        let mut adjoint = vec![0.0; size];
        let mut of_stages = vec![vec![0.0; size]; count];
        let mut of_rates = vec![0.0; size];
        let mut inputs = vec![0.0; self.batch.inputs * self.field.points];
        let mut records = record.rchunks_exact(size);
        for step in (0..self.batch.steps).rev() {
            adjoint.iter_mut().zip(&seeds[step * size..]).for_each(|(adjoint, seed)| *adjoint += seed);
            let Some(h) = self.steps(step) else { continue };
            for s in (0..self.substeps).rev() {
                for stage in (0..count).rev() {
                    self.of_rates(stage, &h, &adjoint, &of_stages, &mut of_rates);
                    let argument = records.next().expect("a record of every stage");
                    self.inputs(step, s, self.node(stage), &h, &mut inputs);
                    let to = &mut of_stages[stage];
                    to.fill(0.0);
                    self.field.pull_back((argument, &inputs), &mut of_rates, buffers, to, gradient);
                }
                for more in &of_stages {
                    adjoint.iter_mut().zip(more).for_each(|(adjoint, more)| *adjoint += more);
                }
            }
        }
    }
}

/// `to += factor h from`, for `h [N]` and any number of fields `[.., N]`.
#[inline(always)]
fn add(to: &mut [f64], factor: f64, h: &[f64], from: &[f64]) {
    for (to, from) in to.chunks_exact_mut(h.len()).zip(from.chunks_exact(h.len())) {
        to.iter_mut().zip(from).zip(h).for_each(|((to, from), h)| *to += factor * h * from);
    }
}
