//! The engine for libraries of products on the CPU, in double precision: fields one by one, states without space a few of an environment
//! at once, in parallel.
//!
//! Each rollout is computed by one thread in a fixed order, and rollouts are added up in theirs, so a result depends neither on the number
//! of threads nor on what other environments are in the batch.

mod stencils;
mod features;
mod field;
mod rollout;
mod outputs;

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use features::Features;
use field::{Buffers, Direction, TILE, VectorField};
use rollout::{Forward, Rollout};

use super::batch::Batch;
use super::rollouts::{Engine, Jacobian, Tangents, Wrt};
use crate::models::{Library, Model, Operator, waves};
use crate::solve::Tableau;

/// Values of the state, over all tangents, that are moved together in a Jacobian: with the stages of a step they stay in the cache.
const CACHED: usize = 16_384;

/// Most rows of states without space that are rolled out together.
const TOGETHER: usize = TILE;

/// Rollouts of a library by `substeps` steps of `tableau` from sample to sample.
pub struct Products {
    library: Library,
    features: Features,
    waves: Vec<f64>,
    tableau: Tableau,
    substeps: usize,
    architecture: Arch,
}

/// Work that is compiled for the vectors of this machine.
struct Vectors<F>(F);

impl<F: FnOnce()> WithSimd for Vectors<F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        (self.0)();
    }
}

impl Products {
    /// An engine for `library`.
    pub fn new(library: Library, tableau: Tableau, substeps: usize) -> Self {
        let features = Features::new(&library);
        let waves = if library.operators.contains(&Operator::Waves) { waves(library.space[0]) } else { Vec::new() };
        Products { library, features, waves, tableau, substeps, architecture: Arch::new() }
    }

    fn size(&self) -> usize {
        self.library.layout().size()
    }

    /// The rows of a batch that are rolled out together.
    fn groups(&self, batch: &Batch) -> Vec<Range<usize>> {
        let together = if self.library.space.is_empty() { TOGETHER } else { 1 };
        let of_environment = |e: usize| {
            let end = (e + 1) * batch.rows;
            (e * batch.rows..end).step_by(together).map(move |row| row..end.min(row + together))
        };
        (0..batch.environments).flat_map(of_environment).collect()
    }

    /// The rollout of rows of one environment under its weights `[P]`.
    fn rollout<'a>(&'a self, weights: &'a [f64], batch: &'a Batch, rows: &Range<usize>) -> Rollout<'a> {
        let (library, features, waves) = (&self.library, &self.features, &self.waves);
        let points = library.points() * rows.len();
        let field = VectorField { library, features, points, waves, weights };
        Rollout { field, tableau: &self.tableau, substeps: self.substeps, batch, rows: rows.clone() }
    }

    /// The same, of the environment's weights among `weights [E, P]`.
    fn own<'a>(&'a self, weights: &'a [f64], batch: &'a Batch, rows: &Range<usize>) -> Rollout<'a> {
        self.rollout(&weights[rows.start / batch.rows * self.size()..][..self.size()], batch, rows)
    }

    /// The gradient `[P]` of `sum u x` over the predictions of a rollout, for the `u` that `seed` makes of the place in the batch and the
    /// prediction there.
    fn gradient(&self, rollout: &Rollout, mut seed: impl FnMut(usize, f64) -> f64) -> Vec<f64> {
        let (mut gradient, mut buffers) = (vec![0.0; self.size()], Buffers::new(&self.library, &self.features));
        self.architecture.dispatch(Vectors(
            #[inline(always)]
            || {
                let (mut record, mut seeds) = (Vec::new(), Vec::new());
                let forward = Forward { directions: &[], initial_moves: false, record: Some(&mut record) };
                rollout.forward(forward, &mut buffers, |step, state| {
                    let values = state.iter().enumerate();
                    seeds.extend(values.map(|(value, x)| seed(rollout.target(step, value), *x)));
                });
                rollout.backward(&seeds, &record, &mut buffers, &mut gradient);
            },
        ));
        gradient
    }

    /// The sums over the groups of each environment `[E, P]`.
    fn of_environments(&self, groups: &[Range<usize>], gradients: &[Vec<f64>], batch: &Batch) -> Vec<f64> {
        let mut sums = vec![0.0; batch.environments * self.size()];
        for (rows, gradient) in groups.iter().zip(gradients) {
            let sum = &mut sums[rows.start / batch.rows * self.size()..];
            sum.iter_mut().zip(gradient).for_each(|(sum, more)| *sum += more);
        }
        sums
    }

    /// By forward mode, with one tangent for each column; a few at a time, so that they stay in the cache.
    fn by_columns(&self, columns: &[usize], weights: &[f64], batch: &Batch) -> Jacobian {
        let groups = self.groups(batch);
        let directions: Vec<Direction> = columns.iter().map(|&weight| vec![(weight, 1.0)]).collect();
        let values = batch.channels * groups.first().map_or(1, Range::len);
        let each = (CACHED / values.max(1)).max(1);
        let mut jacobian = Jacobian::default();
        // As many groups at once as there are threads to share them.
        for groups in groups.chunks(rayon::current_num_threads()) {
            let parts: Vec<_> =
                groups.iter().flat_map(|rows| directions.chunks(each).map(move |it| (rows, it))).collect();
            let of_part = |&(rows, directions): &(&Range<usize>, &[Direction])| {
                let rollout = self.own(weights, batch, rows);
                let forward = Forward { directions, initial_moves: false, record: None };
                let mut states = Vec::new();
                self.follow(&rollout, forward, |_, state| states.extend_from_slice(state));
                states
            };
            let states: Vec<Vec<f64>> = parts.par_iter().with_max_len(1).map(of_part).collect();
            for (rows, states) in groups.iter().zip(states.chunks(columns.len().div_ceil(each))) {
                let rollout = self.own(weights, batch, rows);
                let (width, first) = (rollout.size(), rollout.target(0, 0));
                // Where the batch has a value, the states have it.
                let mut order = vec![0; rows.len() * batch.steps * batch.channels];
                for at in 0..order.len() {
                    order[rollout.target(at / width, at % width) - first] = at;
                }
                for (place, at) in order.into_iter().enumerate() {
                    let ((step, value), mask) = ((at / width, at % width), batch.mask[first + place]);
                    if mask == 0.0 {
                        continue;
                    }
                    let of_part = |states: &Vec<f64>| states.len() / batch.steps;
                    let state = states[0][step * of_part(&states[0]) + value];
                    jacobian.environments.push(rows.start / batch.rows);
                    jacobian.residuals.push(mask * (state - batch.targets[first + place]));
                    for states in states {
                        let here = &states[step * of_part(states)..(step + 1) * of_part(states)];
                        jacobian.rows.extend(here[width..].iter().skip(value).step_by(width).map(|it| mask * it));
                    }
                }
            }
        }
        jacobian
    }

    /// By reverse mode, rows of one interval without space.
    fn by_outputs(&self, columns: &[usize], weights: &[f64], batch: &Batch) -> Jacobian {
        let of_group = |rows: &Range<usize>| {
            let rollout = self.own(weights, batch, rows);
            let (mut buffers, mut jacobian) = (Buffers::new(&self.library, &self.features), Jacobian::default());
            let (mut end, mut kept) = (Vec::new(), Default::default());
            self.architecture.dispatch(Vectors(
                #[inline(always)]
                || {
                    let mut record = Vec::new();
                    let forward = Forward { directions: &[], initial_moves: false, record: Some(&mut record) };
                    rollout.forward(forward, &mut buffers, |_, state| end.extend_from_slice(state));
                    kept = rollout.each_output(&record, &mut buffers);
                },
            ));
            for n in 0..rows.len() {
                let by_weights = rollout.by_weights(&kept, n);
                for (k, slopes) in by_weights.chunks_exact(self.size()).enumerate() {
                    let place = (rows.start + n) * batch.channels + k;
                    let mask = batch.mask[place];
                    if mask == 0.0 {
                        continue;
                    }
                    jacobian.environments.push(rows.start / batch.rows);
                    jacobian.residuals.push(mask * (end[k * rows.len() + n] - batch.targets[place]));
                    jacobian.rows.extend(columns.iter().map(|&p| mask * slopes[p]));
                }
            }
            jacobian
        };
        let parts: Vec<Jacobian> = self.groups(batch).par_iter().with_max_len(1).map(of_group).collect();
        let mut jacobian = Jacobian::default();
        for part in parts {
            jacobian.environments.extend(part.environments);
            jacobian.residuals.extend(part.residuals);
            jacobian.rows.extend(part.rows);
        }
        jacobian
    }

    /// Calls `sample` with each step and the state with tangents at its end.
    fn follow(&self, rollout: &Rollout, forward: Forward, sample: impl FnMut(usize, &[f64])) {
        let mut buffers = Buffers::new(&self.library, &self.features);
        self.architecture.dispatch(Vectors(
            #[inline(always)]
            || rollout.forward(forward, &mut buffers, sample),
        ));
    }
}

impl Engine for Products {
    fn name(&self) -> &'static str {
        "native"
    }

    fn predict(&self, weights: &[f64], batch: &Batch) -> Vec<f64> {
        let mut predictions = vec![0.0; batch.targets.len()];
        let groups = self.groups(batch);
        let parts = pieces(&mut predictions, &groups, batch.steps * batch.channels);
        parts.into_par_iter().zip(&groups).with_max_len(1).for_each(|(to, rows)| {
            let rollout = self.own(weights, batch, rows);
            let forward = Forward { directions: &[], initial_moves: false, record: None };
            let first = rollout.target(0, 0);
            self.follow(&rollout, forward, |step, state| {
                state.iter().enumerate().for_each(|(value, x)| to[rollout.target(step, value) - first] = *x);
            });
        });
        predictions
    }

    fn loss_and_gradient(&self, weights: &[f64], batch: &Batch) -> (f64, Vec<f64>) {
        let (count, groups) = (batch.count(), self.groups(batch));
        let of_group = |rows: &Range<usize>| {
            let mut squares = 0.0;
            let gradient = self.gradient(&self.own(weights, batch, rows), |place, x| {
                let mask = batch.mask[place];
                // A value that is not observed has no weight, whatever is predicted there.
                let weighted = if mask > 0.0 { mask * (x - batch.targets[place]) } else { 0.0 };
                squares += weighted * weighted;
                2.0 * mask * weighted / count
            });
            (squares, gradient)
        };
        let (squares, gradients): (Vec<f64>, Vec<Vec<f64>>) =
            groups.par_iter().with_max_len(1).map(of_group).collect::<Vec<_>>().into_iter().unzip();
        (squares.iter().sum::<f64>() / count, self.of_environments(&groups, &gradients, batch))
    }

    fn pull_back(&self, weights: &[f64], cotangents: &[f64], batch: &Batch) -> Vec<f64> {
        let groups = self.groups(batch);
        let of_group =
            |rows: &Range<usize>| self.gradient(&self.own(weights, batch, rows), |place, _| cotangents[place]);
        let gradients: Vec<Vec<f64>> = groups.par_iter().with_max_len(1).map(of_group).collect();
        self.of_environments(&groups, &gradients, batch)
    }

    fn jacobian(&self, weights: &[f64], batch: &Batch) -> Jacobian {
        self.jacobian_of(&(0..self.size()).collect::<Vec<usize>>(), weights, batch)
    }

    fn jacobian_of(&self, columns: &[usize], weights: &[f64], batch: &Batch) -> Jacobian {
        // A tangent costs `C` times `C` products in each stage, an adjoint a product for each weight.
        let channels = self.library.channels;
        let is_short = batch.steps == 1 && self.library.space.is_empty() && self.library.moving_features() == channels;
        match is_short && columns.len() * channels > self.size() {
            true => self.by_outputs(columns, weights, batch),
            false => self.by_columns(columns, weights, batch),
        }
    }

    fn environments_per_batch(&self) -> usize {
        1
    }

    fn tangents<'a>(&'a self, basis: &[f64], context_dimension: usize) -> Box<dyn Tangents + 'a> {
        assert_eq!(
            basis.len(),
            (1 + context_dimension) * self.size(),
            "a basis has one vector more than the context has dimensions"
        );
        let sparse = |vector: &[f64]| vector.iter().copied().enumerate().filter(|(_, value)| *value != 0.0).collect();
        let directions = basis.chunks_exact(self.size()).skip(1).map(sparse).collect();
        Box::new(ProductsTangents { engine: self, origin: basis[..self.size()].to_vec(), directions })
    }
}

struct ProductsTangents<'a> {
    engine: &'a Products,
    /// The weights of a context of zeros `[P]`.
    origin: Vec<f64>,
    directions: Vec<Direction>,
}

impl Tangents for ProductsTangents<'_> {
    fn roll_out_wrt(&self, wrt: Wrt, contexts: &[f64], batch: &Batch) -> (Vec<f64>, Vec<f64>) {
        let (d, count) = (self.directions.len(), wrt.count(self.directions.len(), batch.channels));
        let mut predictions = vec![0.0; batch.targets.len()];
        let mut tangents = vec![0.0; batch.targets.len() * count];
        let (groups, each) = (self.engine.groups(batch), batch.steps * batch.channels);
        let parts = pieces(&mut predictions, &groups, each).into_par_iter();
        let parts = parts.zip(pieces(&mut tangents, &groups, each * count)).zip(&groups).with_max_len(1);
        parts.for_each(|((predictions, tangents), rows)| {
            let mut weights = self.origin.clone();
            for (direction, xi) in self.directions.iter().zip(&contexts[rows.start / batch.rows * d..]) {
                direction.iter().for_each(|&(index, value)| weights[index] += xi * value);
            }
            let rollout = self.engine.rollout(&weights, batch, rows);
            let initial_moves = wrt == Wrt::ContextAndInitial;
            let forward = Forward { directions: &self.directions, initial_moves, record: None };
            let (width, first) = (rollout.size(), rollout.target(0, 0));
            self.engine.follow(&rollout, forward, |step, state| {
                for value in 0..width {
                    let place = rollout.target(step, value) - first;
                    predictions[place] = state[value];
                    let to = &mut tangents[place * count..(place + 1) * count];
                    let from = state[width..].iter().skip(value).step_by(width);
                    to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
                }
            });
        });
        (predictions, tangents)
    }
}

/// `values` of a batch, `each` of a row, in the pieces of `groups`, which follow one another.
fn pieces<'a>(mut values: &'a mut [f64], groups: &[Range<usize>], each: usize) -> Vec<&'a mut [f64]> {
    let mut piece = |rows: &Range<usize>| {
        let (piece, rest) = std::mem::take(&mut values).split_at_mut(rows.len() * each);
        values = rest;
        piece
    };
    groups.iter().map(&mut piece).collect()
}
