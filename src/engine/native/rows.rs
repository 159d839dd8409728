//! The rows of one environment, ordered and laid out for the kernels.

use super::real::Real;
use super::weights::Shape;
use crate::engine::batch::Batch;

/// Rows of one environment, longest first, so that the rows that make a given step come first.
pub(super) struct Rows<T> {
    /// `R`, the number of rows with at least one step.
    pub count: usize,
    /// Index of each row in the batch.
    pub places: Vec<usize>,
    /// Number of rows that make step `l`, for each step that any row makes.
    pub active: Vec<usize>,
    /// `[R, state_width]`.
    pub initial: Vec<T>,
    /// `[L, R]`.
    pub dt: Vec<T>,
    /// Inputs at the start of each step `[L, R, U]`, and their slopes `[L, R, U]`.
    pub input_starts: Vec<T>,
    pub input_slopes: Vec<T>,
}

impl<T: Real> Rows<T> {
    /// The rows of environment `e`.
    pub(super) fn new(shape: &Shape, batch: &Batch, e: usize) -> Self {
        Self::of(shape, batch, e * batch.rows..(e + 1) * batch.rows)
    }

    /// The rows at indices `places` of the batch.
    pub(super) fn of(shape: &Shape, batch: &Batch, places: std::ops::Range<usize>) -> Self {
        let length = |place: usize| {
            let steps = place * batch.steps..(place + 1) * batch.steps;
            let moves = |step: usize| {
                let values = step * batch.channels..(step + 1) * batch.channels;
                batch.dt[step] != 0.0 || batch.mask[values].iter().any(|&mask| mask != 0.0)
            };
            steps.clone().rev().find(|&step| moves(step)).map_or(0, |last| last + 1 - steps.start)
        };
        let mut rows: Vec<(usize, usize)> =
            places.map(|place| (length(place), place)).filter(|row| row.0 > 0).collect();
        rows.sort_by_key(|&(length, place)| (std::cmp::Reverse(length), place));
        let count = rows.len();
        let longest = rows.first().map_or(0, |row| row.0);
        let mut initial = vec![T::zeroed(); count * shape.state_width];
        let mut dt = vec![T::zeroed(); longest * count];
        let inputs = batch.inputs;
        let [mut input_starts, mut input_slopes] = [(); 2].map(|()| vec![T::zeroed(); longest * count * inputs]);
        for (r, &(length, place)) in rows.iter().enumerate() {
            let state = &batch.initial[place * batch.channels..(place + 1) * batch.channels];
            for (to, &from) in initial[r * shape.state_width..].iter_mut().zip(state) {
                *to = T::from_f64(from);
            }
            for step in 0..length {
                dt[step * count + r] = T::from_f64(batch.dt[place * batch.steps + step]);
                let (to, from) = ((step * count + r) * inputs, (place * batch.steps + step) * inputs);
                for u in 0..inputs {
                    input_starts[to + u] = T::from_f64(batch.input_starts[from + u]);
                    input_slopes[to + u] = T::from_f64(batch.input_slopes[from + u]);
                }
            }
        }
        Rows {
            count,
            active: (0..longest).map(|step| rows.iter().take_while(|row| row.0 > step).count()).collect(),
            places: rows.into_iter().map(|row| row.1).collect(),
            initial,
            dt,
            input_starts,
            input_slopes,
        }
    }

    /// Writes the inputs at the start of `step`, or their slopes, after the states or rates `to [.., width]` of the
    /// first rows.
    pub(super) fn put_inputs(&self, values: &[T], shape: &Shape, step: usize, to: &mut [T]) {
        let inputs = shape.features - shape.channels;
        if inputs == 0 {
            return;
        }
        let of_step = values[step * self.count * inputs..].chunks_exact(inputs);
        for (row, values) in to.chunks_exact_mut(shape.state_width).zip(of_step) {
            row[shape.channels..shape.features].copy_from_slice(values);
        }
    }

    /// Index in `targets`, `mask` and predictions of the first value of row `r` after step `step`.
    pub(super) fn target(&self, batch: &Batch, r: usize, step: usize) -> usize {
        (self.places[r] * batch.steps + step) * batch.channels
    }
}
