//! A vector field along several directions at a time, by dual numbers: what integrators of sensitivities evaluate.
//!
//! Explicit methods take states in groups `[G, C, 1 + LANES]`, as the dual numbers lie in memory; methods for stiff systems take them as
//! `[1 + K, C]`, as they solve one system of equations for each direction.

use super::system::TangentField;
use crate::expressions::{Dual, LANES, Nested};
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
    /// The same, filled when they are first asked for.
    nested_parameters: Vec<Nested>,
    /// A state `[C]` of one group, and its derivative.
    state: Vec<Dual>,
    derivative: Vec<Dual>,
    nested_state: Vec<Nested>,
    nested_derivative: Vec<Nested>,
}

impl Directions {
    /// For states of `channels` values of `field`, along `count` directions.
    pub(crate) fn new(field: TangentField, channels: usize, count: usize) -> Self {
        Directions {
            field,
            channels,
            count,
            parameters: Vec::new(),
            nested_parameters: Vec::new(),
            state: vec![Dual::default(); channels],
            derivative: vec![Dual::default(); channels],
            nested_state: vec![Nested::default(); channels],
            nested_derivative: vec![Nested::default(); channels],
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
        self.nested_parameters.clear();
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

    /// A state `[G, C, 1 + LANES]` as `[1 + K, C]`.
    pub(crate) fn ungrouped(&self, values: &[f64]) -> Vec<f64> {
        let c = self.channels;
        let of_state = (0..c).map(|channel| values[channel * WIDTH]);
        let of_directions = (0..self.count * c).map(|cell| {
            let (direction, channel) = (cell / c, cell % c);
            values[((direction / LANES) * c + channel) * WIDTH + 1 + direction % LANES]
        });
        of_state.chain(of_directions).collect()
    }

    /// The dual numbers of one value of `state [1 + K, C]` in a group.
    fn dual(&self, state: &[f64], channel: usize, group: usize) -> Dual {
        let tangent = |lane: usize| {
            let direction = group * LANES + lane;
            if direction < self.count { state[(1 + direction) * self.channels + channel] } else { 0.0 }
        };
        Dual { value: state[channel], tangent: std::array::from_fn(tangent) }
    }

    /// The directions of a group with their lanes.
    fn members(&self, group: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let first = group * LANES;
        (first..self.count.min(first + LANES)).map(move |direction| (direction, direction - first))
    }

    /// The parameters of a group.
    fn of_group(&self, group: usize) -> std::ops::Range<usize> {
        let d_p = self.parameters.len() / self.groups();
        group * d_p..(group + 1) * d_p
    }

    /// Columns of the Jacobian without directions, [`LANES`] of them at a time.
    fn columns(&mut self, time: f64, state: &[f64], jacobian: &mut [f64]) -> u64 {
        let c = self.channels;
        for (block, columns) in jacobian.chunks_mut(LANES * c).enumerate() {
            for (channel, dual) in self.state.iter_mut().enumerate() {
                let tangent = std::array::from_fn(|lane| f64::from(u8::from(block * LANES + lane == channel)));
                *dual = Dual { value: state[channel], tangent };
            }
            self.field.first(&self.parameters, Dual::from(time), &self.state, &mut self.derivative);
            for (lane, column) in columns.chunks_exact_mut(c).enumerate() {
                column.iter_mut().zip(&self.derivative).for_each(|(cell, slope)| *cell = slope.tangent[lane]);
            }
        }
        c.div_ceil(LANES) as u64
    }

    /// Derivatives in a group along one more direction: of the state at `column`, or of time if there is none.
    fn along(&mut self, time: f64, state: &[f64], group: usize, column: Option<usize>) {
        for channel in 0..self.channels {
            let slope = Dual::from(if column == Some(channel) { 1.0 } else { 0.0 });
            self.nested_state[channel] = Nested { value: self.dual(state, channel, group), slope };
        }
        let slope = Dual::from(if column.is_none() { 1.0 } else { 0.0 });
        let time = Nested { value: Dual::from(time), slope };
        if self.nested_parameters.is_empty() {
            let parameters = self.parameters.iter();
            self.nested_parameters.extend(parameters.map(|&value| Nested { value, slope: Dual::default() }));
        }
        let parameters = &self.nested_parameters[self.of_group(group)];
        self.field.second(parameters, time, &self.nested_state, &mut self.nested_derivative);
    }
}

impl StiffField for Directions {
    fn slopes(&mut self, time: f64, state: &[f64], slopes: &mut [f64]) {
        let c = self.channels;
        for group in 0..self.groups() {
            for channel in 0..c {
                self.state[channel] = self.dual(state, channel, group);
            }
            let of_group = self.of_group(group);
            self.field.first(&self.parameters[of_group], Dual::from(time), &self.state, &mut self.derivative);
            for (channel, slope) in self.derivative.iter().enumerate() {
                slopes[channel] = slope.value;
                for (direction, lane) in self.members(group) {
                    slopes[(1 + direction) * c + channel] = slope.tangent[lane];
                }
            }
        }
    }

    /// An evaluation with second derivatives counts as two.
    fn linearise(&mut self, time: f64, state: &[f64], at: &mut Linearisation) -> u64 {
        let c = self.channels;
        let mut evaluations = 0;
        if self.count == 0 {
            evaluations += self.columns(time, state, &mut at.jacobian);
        }
        for group in 0..self.groups() {
            let columns = if self.count == 0 { 0 } else { c };
            for column in 0..columns {
                self.along(time, state, group, Some(column));
                for (channel, slope) in self.nested_derivative.iter().enumerate() {
                    at.jacobian[column * c + channel] = slope.slope.value;
                    for (direction, lane) in self.members(group) {
                        at.bends[(direction * c + column) * c + channel] = slope.slope.tangent[lane];
                    }
                }
            }
            if self.field.reads_time() {
                self.along(time, state, group, None);
                for (channel, slope) in self.nested_derivative.iter().enumerate() {
                    at.by_time[channel] = slope.slope.value;
                    for (direction, lane) in self.members(group) {
                        at.by_time[(1 + direction) * c + channel] = slope.slope.tangent[lane];
                    }
                }
            }
        }
        let of_second = if self.count == 0 { 0 } else { c } + usize::from(self.field.reads_time());
        evaluations + 2 * of_second as u64
    }
}

/// The entries of a row of `directions [_, count]` in a group.
fn lanes(directions: &[f64], count: usize, row: usize, group: usize) -> [f64; LANES] {
    let row = &directions[row * count..(row + 1) * count];
    std::array::from_fn(|lane| row.get(group * LANES + lane).copied().unwrap_or(0.0))
}
