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

use std::sync::Arc;

use super::system::{Axis, Channel, Dynamics, EnvironmentSet, Outputs, Parameter, Preset, SpaceAxis, System};

const POINTS: usize = 32;
const DIFFUSION: [f64; 2] = [0.2097, 0.105];
const SQUARES: usize = 3;

/// `u` and `v` in and out of the squares.
const FED: [f64; 2] = [0.95, 0.05];
const REACTED: [f64; 2] = [0.0, 1.0];

/// The system `gray-scott`.
pub(crate) fn system() -> System {
    System {
        name: "gray-scott".to_owned(),
        description: "Reaction and diffusion of two substances on a periodic square, 32 x 32 points, rates F and k vary".to_owned(),
        time_unit: "1".to_owned(),
        channels: vec![
            Channel::new("u", "1", "Concentration of the substance that is fed"),
            Channel::new("v", "1", "Concentration of the substance that converts it"),
        ],
        outputs: Outputs::default(),
        inputs: Vec::new(),
        covariates: Vec::new(),
        parameters: vec![rate("F", "Feed rate"), rate("k", "Kill rate")],
        horizon: 400.0,
        time_step: 40.0,
        initial: Vec::new(),
        starts: None,
        preequilibration: None,
        doses: None,
        uses_time: false,
        presets: vec![
            Preset {
                name: "paper".to_owned(),
                description: "Three squares of 3 x 3 points at (u, v) = (0, 1) in a background at (0.95, 0.05), dx = 1".to_owned(),
                space: vec![axis("x", 1.0), axis("y", 1.0)],
                dynamics: Dynamics::Field(Arc::new(|rates, _, state, derivative| field(1.0, rates, state, derivative))),
                tangent: None,
                initial: Arc::new(|uniform, state| initial(3, REACTED, FED, uniform, state)),
                environments: environments([0.030, 0.039], [[0.033, 0.036], [0.059, 0.061]]),
            },
            Preset {
                name: "as-printed".to_owned(),
                description: "The text with its misprints: three squares of 2 x 2 points at (u, v) = (0.95, 0.05) in a background at (0, 1), \
                              dx = 2, rates ten times as large".to_owned(),
                space: vec![axis("x", 2.0), axis("y", 2.0)],
                dynamics: Dynamics::Field(Arc::new(|rates, _, state, derivative| field(2.0, rates, state, derivative))),
                tangent: None,
                initial: Arc::new(|uniform, state| initial(2, FED, REACTED, uniform, state)),
                environments: environments([0.30, 0.39], [[0.33, 0.36], [0.59, 0.61]]),
            },
        ],
    }
}

/// The sets of a preset; the text has the kill rates of `train` right in both.
fn environments(train_feed: [f64; 2], [adapt_feed, adapt_kill]: [[f64; 2]; 2]) -> Vec<EnvironmentSet> {
    let feed = Axis::Uniform { first: 0.0225, last: 0.0435, count: 51 };
    let kill = Axis::Uniform { first: 0.056, last: 0.064, count: 51 };
    vec![
        EnvironmentSet::new("train", [Axis::values(train_feed), Axis::values([0.058, 0.062])]),
        EnvironmentSet::new("adapt", [adapt_feed, adapt_kill].map(Axis::values)),
        EnvironmentSet::new("grid", [feed, kill]),
    ]
}

fn rate(name: &str, description: &str) -> Parameter {
    Parameter::new(name, "1", description, [1e-3, 1.0])
}

fn axis(name: &str, spacing: f64) -> SpaceAxis {
    SpaceAxis { name: name.to_owned(), unit: "1".to_owned(), count: POINTS, spacing }
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

type Field = [[f64; POINTS]; POINTS];
/// `S_i a` of a row, with the last value before the first and the first one after the last.
type Sums = [f64; POINTS + 2];

fn field(spacing: f64, rates: &[f64], state: &[f64], derivative: &mut [f64]) {
    let diffusion = DIFFUSION.map(|diffusion| diffusion / (spacing * spacing));
    let (fields, _) = state.as_chunks::<POINTS>().0.as_chunks::<POINTS>();
    let (derivatives, _) = derivative.as_chunks_mut::<POINTS>().0.as_chunks_mut::<POINTS>();
    if let ([u, v], [du, dv]) = (fields, derivatives) {
        pulp::Arch::new().dispatch(Derivative { rates: [rates[0], rates[1]], diffusion, u, v, du, dv });
    }
}

struct Derivative<'a> {
    rates: [f64; 2],
    diffusion: [f64; 2],
    u: &'a Field,
    v: &'a Field,
    du: &'a mut Field,
    dv: &'a mut Field,
}

/// A type of its own, since the body of a closure is not compiled for the vectors that are found.
impl pulp::WithSimd for Derivative<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Derivative { rates, diffusion, u, v, du, dv } = self;
        // All rows are summed before the first sum is read: a load of what was just stored waits for it.
        let (mut sums_u, mut sums_v) = ([[0.0; POINTS + 2]; POINTS], [[0.0; POINTS + 2]; POINTS]);
        sum_rows(u, &mut sums_u);
        sum_rows(v, &mut sums_v);
        for i in 0..POINTS {
            react(rates, diffusion, &u[i], &v[i], &sums_u[i], &sums_v[i], &mut du[i], &mut dv[i]);
        }
    }
}

#[inline(always)]
fn sum_rows(a: &Field, sums: &mut [Sums; POINTS]) {
    for (i, sums) in sums.iter_mut().enumerate() {
        let (above, row, below) = (&a[(i + POINTS - 1) % POINTS], &a[i], &a[(i + 1) % POINTS]);
        for j in 0..POINTS {
            sums[j + 1] = above[j] + 2.0 * row[j] + below[j];
        }
        (sums[0], sums[POINTS + 1]) = (sums[POINTS], sums[1]);
    }
}

/// The derivatives of a row.
#[inline(always)]
#[expect(
    clippy::too_many_arguments,
    reason = "the loop runs in vectors only where every row is an argument of its own"
)]
fn react(
    [feed, kill]: [f64; 2],
    diffusion: [f64; 2],
    u: &[f64; POINTS],
    v: &[f64; POINTS],
    sums_u: &Sums,
    sums_v: &Sums,
    du: &mut [f64; POINTS],
    dv: &mut [f64; POINTS],
) {
    // `dx^2 lap(a)`
    let laplacian = |sums: &Sums, a: f64, j: usize| 0.25 * (sums[j] + 2.0 * sums[j + 1] + sums[j + 2]) - 4.0 * a;
    for j in 0..POINTS {
        let (u, v) = (u[j], v[j]);
        let reaction = u * v * v;
        du[j] = diffusion[0] * laplacian(sums_u, u, j) - reaction + feed * (1.0 - u);
        dv[j] = diffusion[1] * laplacian(sums_v, v, j) + reaction - (feed + kill) * v;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// `lap(a)` by the nine neighbours.
    fn nine_points(a: &[f64], i: usize, j: usize) -> f64 {
        let at = |rows: usize, columns: usize| a[(i + rows) % POINTS * POINTS + (j + columns) % POINTS];
        let back = POINTS - 1;
        let sides = at(0, 1) + at(0, back) + at(1, 0) + at(back, 0);
        let corners = at(1, 1) + at(1, back) + at(back, 1) + at(back, back);
        0.5 * sides + 0.25 * corners - 3.0 * a[i * POINTS + j]
    }

    #[test]
    fn the_field_is_that_of_the_equations_at_every_point() {
        let points = POINTS * POINTS;
        let state: Vec<f64> = (0..2 * points).map(|k| 0.5 + 0.4 * ((k * k) as f64).sin()).collect();
        let mut derivative = vec![f64::NAN; state.len()];
        let (feed, kill, spacing) = (0.03, 0.06, 2.0);
        field(spacing, &[feed, kill], &state, &mut derivative);
        let (u, v) = state.split_at(points);
        for place in 0..points {
            let (i, j) = (place / POINTS, place % POINTS);
            let reaction = u[place] * v[place] * v[place];
            let laplacian = [u, v].map(|a| nine_points(a, i, j) / (spacing * spacing));
            let du = DIFFUSION[0] * laplacian[0] - reaction + feed * (1.0 - u[place]);
            let dv = DIFFUSION[1] * laplacian[1] + reaction - (feed + kill) * v[place];
            assert!((derivative[place] - du).abs() < 1e-14, "du at {i}, {j}");
            assert!((derivative[points + place] - dv).abs() < 1e-14, "dv at {i}, {j}");
        }
    }

    #[test]
    fn a_long_wave_decays_as_the_continuous_laplacian_says() {
        let wave: Vec<f64> = (0..POINTS * POINTS).map(|place| (TAU * (place % POINTS) as f64 / 32.0).cos()).collect();
        let exact = -(TAU / POINTS as f64).powi(2);
        assert!((nine_points(&wave, 5, 0) / exact - 1.0).abs() < 0.01);
    }

    #[test]
    fn squares_stand_anywhere_and_nowhere_else_is_anything() {
        let mut draws = [0.99, 0.0, 0.5, 0.5, 0.1, 0.3].into_iter();
        let mut state = vec![f64::NAN; 2 * POINTS * POINTS];
        initial(3, REACTED, FED, &mut || draws.next().unwrap(), &mut state);
        let (u, v) = state.split_at(POINTS * POINTS);
        assert_eq!(u.iter().filter(|value| **value == 0.0).count(), 27);
        assert_eq!(u.iter().filter(|value| **value == 0.95).count(), POINTS * POINTS - 27);
        for (row, column) in [(31, 0), (0, 2), (1, 1), (16, 16), (18, 18), (3, 9)] {
            assert_eq!((u[row * POINTS + column], v[row * POINTS + column]), (0.0, 1.0), "{row}, {column}");
        }
    }

    #[test]
    fn sets_are_those_of_the_benchmark() {
        let system = system();
        let sizes = |name| {
            let preset = system.preset(name).unwrap();
            preset.environments.iter().map(|set| (set.name.as_str(), set.len())).collect::<Vec<_>>()
        };
        assert_eq!(sizes("paper"), [("train", 4), ("adapt", 4), ("grid", 2601)]);
        assert_eq!(sizes("as-printed"), sizes("paper"));
        let paper = system.preset("paper").unwrap();
        assert_eq!(paper.environment_set("train").unwrap().parameters(1), [0.030, 0.062]);
        assert_eq!(paper.environment_set("adapt").unwrap().parameters(2), [0.036, 0.059]);
        assert_eq!(paper.environment_set("grid").unwrap().parameters(2600), [0.0435, 0.064]);
    }
}
