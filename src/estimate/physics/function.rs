//! Functions of parameters, time and state along trajectories, with their derivatives.
//!
//! ```text
//! z_n = g(t_n, y_n, u_n; p),     dz_n = (dg/dy) S_n + (dg/dp) P
//! ```
//!
//! `y_n [N]` states at the samples, `S_n [N, k]` their derivatives along `k` directions, `p [d_p]` parameters that move by `P [d_p, k]`, `u_n`
//! inputs, `z_n [m]` the values of the function. The products by [`Dual`] numbers, [`LANES`] directions at a time.

use crate::expressions::{Dual, LANES};
use crate::signals::Drive;
use crate::systems::TangentField;

/// A function, at parameters that move along directions.
pub(crate) struct Function<'a> {
    pub field: &'a TangentField,
    /// `p [d_p]`, without inputs.
    pub parameters: &'a [f64],
    /// `P [d_p, k]`.
    pub directions: &'a [f64],
    pub k: usize,
}

/// Values at samples, and their derivatives.
pub(crate) struct Along {
    /// `[T, m]`.
    pub values: Vec<f64>,
    /// `[T, m, k]`.
    pub slopes: Vec<f64>,
}

impl Function<'_> {
    /// Its `m` values at the first `samples` of `drive`, where the states are `values [samples, N]` with their derivatives `slopes [samples, N, k]`.
    pub(crate) fn along(&self, drive: &Drive, samples: usize, (values, slopes): (&[f64], &[f64]), m: usize) -> Along {
        let (k, inputs, behind) = (self.k, drive.between.len(), self.parameters.len());
        let n = values.len() / samples.max(1);
        let mut along = Along { values: vec![0.0; samples * m], slopes: vec![0.0; samples * m * k] };
        let (mut state, mut results) = (vec![Dual::default(); n], vec![Dual::default(); m]);
        // Without directions one group still carries the values.
        for group in 0..k.div_ceil(LANES).max(1) {
            let lanes = (group * LANES)..k.min((group + 1) * LANES);
            let dual = |value: f64, slopes: &[f64]| {
                let mut dual = Dual::from(value);
                dual.tangent.iter_mut().zip(&slopes[lanes.clone()]).for_each(|(lane, slope)| *lane = *slope);
                dual
            };
            let rows = self.parameters.iter().enumerate();
            let mut parameters: Vec<Dual> =
                rows.map(|(row, &value)| dual(value, &self.directions[row * k..(row + 1) * k])).collect();
            parameters.resize(behind + drive.size(), Dual::default());
            for t in 0..samples {
                for (u, input) in drive.inputs[t * inputs..(t + 1) * inputs].iter().enumerate() {
                    parameters[behind + 2 * u] = Dual::from(*input);
                }
                if inputs > 0 {
                    parameters[behind + 2 * inputs] = Dual::from(drive.times[t]);
                }
                for (i, entry) in state.iter_mut().enumerate() {
                    let cell = t * n + i;
                    *entry = dual(values[cell], &slopes[cell * k..(cell + 1) * k]);
                }
                self.field.first(&parameters, Dual::from(drive.times[t]), &state, &mut results);
                for (j, result) in results.iter().enumerate() {
                    let cell = t * m + j;
                    along.values[cell] = result.value;
                    let of_group = along.slopes[cell * k..(cell + 1) * k][lanes.clone()].iter_mut();
                    of_group.zip(&result.tangent).for_each(|(slope, lane)| *slope = *lane);
                }
            }
        }
        along
    }
}
