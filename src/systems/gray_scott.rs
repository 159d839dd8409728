//! Gray-Scott: two substances that react and diffuse on a periodic square.
//!
//! ```text
//! du/dt = D_u lap(u) - u v^2 + F (1 - u)
//! dv/dt = D_v lap(v) + u v^2 - (F + k) v
//! lap(a)_ij = (S_i S_j a / 4 - 4 a)_ij / dx^2,     (S_i a)_ij = a_{i-1,j} + 2 a_ij + a_{i+1,j}
//! ```
//!
//! `u`, `v [32, 32]` concentrations at distances `dx`; `F` feed rate, `k` kill rate, which differ between environments; the benchmark
//! states no units. `S_j` is as `S_i` along the other axis, so the Laplacian has nine points: -3 at the centre, 1/2 at the four
//! sides and 1/4 at the corners.
//!
//! Source: M. Kirchmeyer, Y. Yin et al., Generalizing to New Physical Systems via Context-Informed Dynamics Model, ICML
//! 2022, appendix on Gray-Scott, after J. Pearson, Complex patterns in a simple system, Science 261, 1993. Its text (preset
//! `as-printed`) and its published experiments (`paper`) differ in rates, distances and initial fields. Here squares may
//! cross the edge, which means nothing on a periodic grid; in the published experiments they do not.

use super::{Axis, Channel, Dynamics, EnvironmentSet, Parameter, Preset, SpaceAxis, System};

const POINTS: usize = 32;
const DIFFUSION: [f64; 2] = [0.2097, 0.105];
const SQUARES: usize = 3;

/// `u` and `v` in and out of the squares.
const FED: [f64; 2] = [0.95, 0.05];
const REACTED: [f64; 2] = [0.0, 1.0];

/// The system `gray-scott`.
pub static GRAY_SCOTT: System = System {
    name: "gray-scott",
    description: "Reaction and diffusion of two substances on a periodic square, 32 x 32 points, rates F and k vary",
    time_unit: "1",
    channels: &[
        Channel { name: "u", unit: "1", description: "Concentration of the substance that is fed" },
        Channel { name: "v", unit: "1", description: "Concentration of the substance that converts it" },
    ],
    parameters: &[rate("F", "Feed rate"), rate("k", "Kill rate")],
    horizon: 400.0,
    time_step: 40.0,
    presets: &[
        Preset {
            name: "paper",
            description: "Three squares of 3 x 3 points at (u, v) = (0, 1) in a background at (0.95, 0.05), dx = 1",
            space: &[axis("x", 1.0), axis("y", 1.0)],
            dynamics: Dynamics::Field(&|rates, _, state, derivative| field(1.0, rates, state, derivative)),
            initial: &|uniform, state| initial(3, REACTED, FED, uniform, state),
            environments: &[
                EnvironmentSet { name: "train", axes: &[Axis::Values(&[0.030, 0.039]), TRAIN_KILL] },
                EnvironmentSet { name: "adapt", axes: &[Axis::Values(&[0.033, 0.036]), Axis::Values(&[0.059, 0.061])] },
                GRID,
            ],
        },
        Preset {
            name: "as-printed",
            description: "The text with its misprints: three squares of 2 x 2 points at (u, v) = (0.95, 0.05) in a background at (0, 1), \
                          dx = 2, rates ten times as large",
            space: &[axis("x", 2.0), axis("y", 2.0)],
            dynamics: Dynamics::Field(&|rates, _, state, derivative| field(2.0, rates, state, derivative)),
            initial: &|uniform, state| initial(2, FED, REACTED, uniform, state),
            environments: &[
                EnvironmentSet { name: "train", axes: &[Axis::Values(&[0.30, 0.39]), TRAIN_KILL] },
                EnvironmentSet { name: "adapt", axes: &[Axis::Values(&[0.33, 0.36]), Axis::Values(&[0.59, 0.61])] },
                GRID,
            ],
        },
    ],
};

/// The text has these rates right.
const TRAIN_KILL: Axis = Axis::Values(&[0.058, 0.062]);
const GRID: EnvironmentSet = EnvironmentSet {
    name: "grid",
    axes: &[
        Axis::Uniform { first: 0.0225, last: 0.0435, count: 51 },
        Axis::Uniform { first: 0.056, last: 0.064, count: 51 },
    ],
};

const fn rate(name: &'static str, description: &'static str) -> Parameter {
    Parameter { name, unit: "1", description, lower: 1e-3, upper: 1.0 }
}

const fn axis(name: &'static str, spacing: f64) -> SpaceAxis {
    SpaceAxis { name, unit: "1", count: POINTS, spacing }
}

/// Squares of `edge` points at `inside`, anywhere on the grid, in a background at `outside`.
fn initial(edge: usize, inside: [f64; 2], outside: [f64; 2], uniform: &mut dyn FnMut() -> f64, state: &mut [f64]) {
    let corners = [(); SQUARES].map(|()| [(); 2].map(|()| (uniform() * POINTS as f64) as usize));
    for (channel, field) in state.chunks_exact_mut(POINTS * POINTS).enumerate() {
        field.fill(outside[channel]);
        for [row, column] in corners {
            for place in 0..edge * edge {
                let (i, j) = ((row + place / edge) % POINTS, (column + place % edge) % POINTS);
                field[i * POINTS + j] = inside[channel];
            }
        }
    }
}

fn field(spacing: f64, rates: &[f64], state: &[f64], derivative: &mut [f64]) {
    let (feed, kill) = (rates[0], rates[1]);
    let diffusion = DIFFUSION.map(|diffusion| diffusion / (spacing * spacing));
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            let (u, v) = state.as_chunks::<POINTS>().0.split_at(POINTS);
            let (du, dv) = derivative.as_chunks_mut::<POINTS>().0.split_at_mut(POINTS);
            for i in 0..POINTS {
                let neighbours = [(i + POINTS - 1) % POINTS, i, (i + 1) % POINTS];
                let [diffused_u, diffused_v] = [u, v].map(|field| laplacian(neighbours.map(|row| &field[row])));
                for j in 0..POINTS {
                    let (u, v) = (u[i][j], v[i][j]);
                    let reaction = u * v * v;
                    du[i][j] = diffusion[0] * diffused_u[j] - reaction + feed * (1.0 - u);
                    dv[i][j] = diffusion[1] * diffused_v[j] + reaction - (feed + kill) * v;
                }
            }
        },
    );
}

/// `dx^2 lap(a)` of the middle one of three neighbouring rows.
#[inline(always)]
fn laplacian([above, row, below]: [&[f64; POINTS]; 3]) -> [f64; POINTS] {
    // `S_i a`, with the last value before the first and the first one after the last.
    let mut sums = [0.0; POINTS + 2];
    for j in 0..POINTS {
        sums[j + 1] = above[j] + 2.0 * row[j] + below[j];
    }
    (sums[0], sums[POINTS + 1]) = (sums[POINTS], sums[1]);
    let mut laplacian = [0.0; POINTS];
    for j in 0..POINTS {
        laplacian[j] = 0.25 * (sums[j] + 2.0 * sums[j + 1] + sums[j + 2]) - 4.0 * row[j];
    }
    laplacian
}
