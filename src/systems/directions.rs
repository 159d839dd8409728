//! A vector field along several directions at a time, by dual numbers: what integrators of sensitivities evaluate.
//!
//! Explicit methods take states in groups `[G, C, 1 + LANES]`, as the dual numbers lie in memory; methods for stiff systems take the state `[C]`
//! once, followed by the directions in groups `[G, C, LANES]`, as they solve the equations of a group at a time.

use super::system::{Room, TangentField};
use crate::expressions::{Dual, LANES};
use crate::solve::{Linearisation, StiffField};

/// Values of a [`Dual`].
pub(crate) const WIDTH: usize = 1 + LANES;

/// The start of a trajectory, and the directions along which it is differentiated.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// `p [d_p]`.
    pub parameters: &'a [f64],
    /// `P [d_p, k]`.
    pub parameter_directions: &'a [f64],
    /// `y_0 [C]`.
    pub state: &'a [f64],
    /// `Y [C, k]`.
    pub state_directions: &'a [f64],
}

/// A vector field with its parameters, along `K` directions.
pub(crate) struct Directions {
    field: TangentField,
    channels: usize,
    count: usize,
    /// Parameters `[G, d_p]` in groups of [`LANES`] directions.
    parameters: Vec<Dual>,
    /// A state `[C]` of one group, and its derivative.
    state: Vec<Dual>,
    derivative: Vec<Dual>,
    /// Entries of the Jacobian in the order of its pattern, and what it takes to compute them.
    entries: Vec<Dual>,
    room: Room,
}

impl Directions {
    /// For states of `channels` values of `field`, along `count` directions.
    pub(crate) fn new(field: TangentField, channels: usize, count: usize) -> Self {
        Directions {
            field,
            channels,
            count,
            parameters: Vec::new(),
            state: vec![Dual::default(); channels],
            derivative: vec![Dual::default(); channels],
            entries: Vec::new(),
            room: Room::default(),
        }
    }

    /// The vector field.
    pub(crate) fn field(&self) -> TangentField {
        TangentField::clone(&self.field)
    }

    /// Number of values of a state in groups; without directions one group still carries the state.
    pub(crate) fn size(&self) -> usize {
        self.groups() * self.channels * WIDTH
    }

    fn groups(&self) -> usize {
        self.count.div_ceil(LANES).max(1)
    }

    /// Takes the parameters of `start`.
    pub(crate) fn begin(&mut self, start: Start) {
        self.parameters.clear();
        for group in 0..self.groups() {
            let parameters = start.parameters.iter().enumerate();
            self.parameters.extend(parameters.map(|(row, &value)| Dual {
                value,
                tangent: lanes(start.parameter_directions, self.count, row, group),
            }));
        }
    }

    /// Writes the initial state of `start` with its directions to `values [G, C, 1 + LANES]`.
    pub(crate) fn write_groups(&self, start: Start, values: &mut [f64]) {
        for (group, values) in values.chunks_exact_mut(self.channels * WIDTH).enumerate() {
            for (channel, [value, tangent @ ..]) in values.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
                *value = start.state[channel];
                *tangent = lanes(start.state_directions, self.count, channel, group);
            }
        }
    }

    /// Writes the slopes of `values [G, C, 1 + LANES]` at `time`.
    pub(crate) fn slopes_of_groups(&mut self, time: f64, values: &[f64], slopes: &mut [f64]) {
        let Directions { field, channels, parameters, state, derivative, .. } = self;
        let d_p = parameters.len() / self.count.div_ceil(LANES).max(1);
        let groups = values.chunks_exact(*channels * WIDTH).zip(slopes.chunks_exact_mut(*channels * WIDTH));
        for (group, (values, slopes)) in groups.enumerate() {
            for (dual, [value, tangent @ ..]) in state.iter_mut().zip(values.as_chunks::<WIDTH>().0) {
                *dual = Dual { value: *value, tangent: *tangent };
            }
            field.first(&parameters[group * d_p..(group + 1) * d_p], Dual::from(time), state, derivative);
            for (dual, [value, tangent @ ..]) in derivative.iter().zip(slopes.as_chunks_mut::<WIDTH>().0) {
                (*value, *tangent) = (dual.value, dual.tangent);
            }
        }
    }

    /// A state `[G, C, 1 + LANES]` as `[C]` and `[G, C, LANES]`.
    pub(crate) fn ungrouped(&self, values: &[f64]) -> Vec<f64> {
        let all = values.as_chunks::<WIDTH>().0;
        let of_state = all[..self.channels].iter().map(|[value, ..]| *value);
        let of_groups = all.iter().take(self.stiff_groups() * self.channels);
        of_state.chain(of_groups.flat_map(|[_, tangent @ ..]| *tangent)).collect()
    }

    /// The sensitivities `[C, k]` of a state `[C]` and `[G, C, LANES]`, written to their room.
    pub(crate) fn write_sensitivities(&self, values: &[f64], sensitivities: &mut [f64]) {
        let groups = values[self.channels..].as_chunks::<LANES>().0;
        for (channel, row) in sensitivities.chunks_exact_mut(self.count.max(1)).enumerate() {
            for (group, slopes) in row.chunks_mut(LANES).enumerate() {
                slopes.copy_from_slice(&groups[group * self.channels + channel][..slopes.len()]);
            }
        }
    }

    /// Number of groups that a method for stiff systems integrates.
    pub(crate) fn stiff_groups(&self) -> usize {
        self.count.div_ceil(LANES)
    }

    /// Takes a group of a state `[C]` and `[G, C, LANES]`.
    fn take(&mut self, state: &[f64], group: usize) {
        let (values, groups) = state.split_at(self.channels);
        let tangents = groups.as_chunks::<LANES>().0.get(group * self.channels..);
        match tangents.filter(|it| !it.is_empty()) {
            Some(tangents) => {
                for ((dual, value), tangent) in self.state.iter_mut().zip(values).zip(tangents) {
                    *dual = Dual { value: *value, tangent: *tangent };
                }
            }
            None => self.state.iter_mut().zip(values).for_each(|(dual, value)| *dual = Dual::from(*value)),
        }
    }

    /// The parameters of a group.
    fn of_group(&self, group: usize) -> std::ops::Range<usize> {
        let d_p = self.parameters.len() / self.groups();
        group * d_p..(group + 1) * d_p
    }
}

impl StiffField for Directions {
    fn pattern(&self) -> Vec<(usize, usize)> {
        self.field.pattern(self.channels)
    }

    fn slopes(&mut self, time: f64, state: &[f64], slopes: &mut [f64]) {
        let (of_state, of_groups) = slopes.split_at_mut(self.channels);
        let of_groups = of_groups.as_chunks_mut::<LANES>().0;
        for group in 0..self.groups() {
            self.take(state, group);
            let of_group = self.of_group(group);
            self.field.first(&self.parameters[of_group], Dual::from(time), &self.state, &mut self.derivative);
            if group == 0 {
                of_state.iter_mut().zip(&self.derivative).for_each(|(slope, it)| *slope = it.value);
            }
            let tangents = of_groups.iter_mut().skip(group * self.channels).zip(&self.derivative);
            tangents.for_each(|(tangent, it)| *tangent = it.tangent);
        }
    }

    /// The groups together count as one, as in every evaluation.
    fn linearise(&mut self, time: f64, state: &[f64], at: &mut Linearisation) -> u64 {
        let (mut evaluations, count) = (0, at.entries.len());
        self.entries.resize(count, Dual::default());
        for group in 0..self.groups() {
            self.take(state, group);
            self.derivative.fill(Dual::default());
            let of_group = self.of_group(group);
            evaluations = self.field.linearise(
                &self.parameters[of_group],
                time,
                &self.state,
                &mut self.room,
                &mut self.entries,
                &mut self.derivative,
            );
            if group == 0 {
                at.entries.iter_mut().zip(&self.entries).for_each(|(value, it)| *value = it.value);
                at.by_time.iter_mut().zip(&self.derivative).for_each(|(value, it)| *value = it.value);
            }
            let bends = at.bends.iter_mut().skip(group * count).zip(&self.entries);
            bends.for_each(|(bend, it)| *bend = it.tangent);
            let by_time = at.by_time[self.channels..].as_chunks_mut::<LANES>().0.iter_mut();
            by_time.skip(group * self.channels).zip(&self.derivative).for_each(|(slope, it)| *slope = it.tangent);
        }
        evaluations
    }
}

/// The entries of a row of `directions [_, count]` in a group.
fn lanes(directions: &[f64], count: usize, row: usize, group: usize) -> [f64; LANES] {
    let row = &directions[row * count..(row + 1) * count];
    std::array::from_fn(|lane| row.get(group * LANES + lane).copied().unwrap_or(0.0))
}
