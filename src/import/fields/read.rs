//! Reads the fields of a trajectory: a block of samples at a time, from the axes of the file into those of the dataset.

use super::array_file::{ArrayFile, Failure, Pick};
use super::conversion::is_none;
use super::described::{Described, Role, Row, Source};

/// Values that are read at a time, if one sample is not more (16 MiB).
const BLOCK: usize = 1 << 21;

/// The states `[T, C, n_1, .., n_k]` of a trajectory, NaN where a value is missing.
///
/// # Errors
/// The channel's position, and why it cannot be read.
pub(crate) fn states(
    file: &mut dyn ArrayFile,
    described: &Described,
    row: &Row,
    missing: &[f64],
) -> Result<Vec<f64>, (usize, Failure)> {
    let points: Vec<usize> = described.points.iter().map(|pick| pick.count).collect();
    let of_channel: usize = points.iter().product();
    let channels = described.sources.len();
    let samples = row.sampled.pick.count;
    let mut states = vec![f64::NAN; samples * channels * of_channel];
    let mut is_done = vec![false; channels];
    for c in 0..channels {
        if is_done[c] {
            continue;
        }
        // Channels of one array are read together.
        let of_array = |source: &Source| source.arrays.of(row.place.group);
        let array = of_array(&described.sources[c]);
        let together: Vec<usize> =
            (c..channels).filter(|&other| of_array(&described.sources[other]) == array).collect();
        let layout = Placed { described, row, array, together: &together, points: &points };
        layout.read(file, missing, &mut states).map_err(|found| (c, found))?;
        together.into_iter().for_each(|other| is_done[other] = true);
    }
    Ok(states)
}

/// An array whose channels are put into states.
struct Placed<'a> {
    described: &'a Described,
    row: &'a Row,
    array: usize,
    /// The channels that are in it.
    together: &'a [usize],
    points: &'a [usize],
}

/// An axis along which values are copied: how many, and their strides in both arrays.
#[derive(Clone, Copy)]
struct Along {
    count: usize,
    from: usize,
    to: usize,
}

impl Placed<'_> {
    fn read(&self, file: &mut dyn ArrayFile, missing: &[f64], states: &mut [f64]) -> Result<(), Failure> {
        let Placed { described, row, array, together, points } = *self;
        let shape = file.listed()[array].shape.clone();
        let roles = &described.sources[together[0]].roles;
        let of_channel: usize = points.iter().product();
        let size = described.sources.len() * of_channel;
        let components: usize = roles.iter().zip(&shape).filter(|it| *it.0 == Role::Channel).map(|it| *it.1).product();
        let only = if together.len() == 1 { Some(described.sources[together[0]].position) } else { None };
        let of_sample = of_channel * if only.is_some() { 1 } else { components };
        let block = (BLOCK / of_sample.max(1)).max(1);
        let samples = row.sampled.pick;
        for begin in (0..samples.count).step_by(block) {
            let count = block.min(samples.count - begin);
            let mut left = components; // of the axes of channels that follow
            let picks: Vec<Pick> = roles
                .iter()
                .zip(&shape)
                .map(|(role, &length)| match role {
                    Role::Environment => Pick::at(row.place.environment),
                    Role::Trajectory => Pick::at(row.place.trajectory),
                    Role::Time => samples.part(begin, count),
                    Role::Space(axis) => described.points[*axis],
                    Role::Channel => {
                        left /= length;
                        only.map_or(Pick::all(length), |position| Pick::at(position / left % length))
                    }
                })
                .collect();
            let mut values = file.numbers(array, &picks)?;
            if !missing.is_empty() {
                values.iter_mut().filter(|value| missing.contains(value)).for_each(|value| *value = f64::NAN);
            }
            let mut strides = vec![1; picks.len()];
            for axis in (1..picks.len()).rev() {
                strides[axis - 1] = strides[axis] * picks[axis].count;
            }
            for &channel in together {
                let source = &described.sources[channel];
                let (mut first, mut left) = (0, components);
                let mut along = Vec::new();
                for (axis, role) in roles.iter().enumerate() {
                    let (pick, from) = (picks[axis], strides[axis]);
                    match role {
                        Role::Environment | Role::Trajectory => {}
                        Role::Time => along.push(Along { count: pick.count, from, to: size }),
                        Role::Space(at) => {
                            let to = points[at + 1..].iter().product();
                            along.push(Along { count: pick.count, from, to });
                        }
                        Role::Channel => {
                            left /= shape[axis];
                            if only.is_none() {
                                first += source.position / left % shape[axis] * from;
                            }
                        }
                    }
                }
                let target = begin * size + channel * of_channel;
                copy(&along, &values[first..], &mut states[target..]);
            }
        }
        for &channel in together {
            let conversion = described.sources[channel].conversion;
            if !is_none(conversion) {
                let of_samples = states.chunks_exact_mut(size.max(1));
                let values = of_samples.flat_map(|state| &mut state[channel * of_channel..(channel + 1) * of_channel]);
                values.for_each(|value| *value = conversion.apply(*value));
            }
        }
        Ok(())
    }
}

/// Copies values along axes.
fn copy(along: &[Along], from: &[f64], to: &mut [f64]) {
    match along {
        [] => to[0] = from[0],
        [last] => (0..last.count).for_each(|i| to[i * last.to] = from[i * last.from]),
        [first, rest @ ..] => {
            (0..first.count).for_each(|i| copy(rest, &from[i * first.from..], &mut to[i * first.to..]));
        }
    }
}
