//! The rates of a library of products as expressions in the units of the data.
//!
//! ```text
//! dx_c/dt = s_c sum_m theta_cm phi_m(f~) + s_c sum_m rho_cm phi_m(f~) / D,   D = 1 + sum_j delta_j |delta_j| |x~_j|^S,   f~ = (f - m) / s
//! ```
//!
//! `f` the channels and inputs, `m` and `s` their centres and scales, `phi_m` products. Scales go into the coefficients, each an affine function
//! of variables `v`; centres that are not zero stay in the factors, `(x - m)^2`, where they cancel nothing.

use super::inverse::Affine;
use super::manifest::ChannelScale;
use crate::models::{Library, Model};

/// Weights `[P]` as an affine function of variables, `w_0 + sum_j v_j w_j`.
pub(super) struct Weights {
    /// `w_0, w_1, .., w_n`, each `[P]`.
    parts: Vec<Vec<f64>>,
    /// The variables `[n]` as expressions.
    variables: Vec<String>,
}

impl Weights {
    /// Of the weights and their tangents `basis [1 + d, P]` along contexts, which `contexts` gives by `variables`.
    pub(super) fn new(basis: &[f64], weights: usize, contexts: &Affine, variables: Vec<String>) -> Self {
        let (at_zero, tangents) = basis.split_at(weights);
        let along = |factor: &dyn Fn(usize) -> f64| {
            let mut sum = vec![0.0; weights];
            for (k, tangent) in tangents.chunks_exact(weights).enumerate() {
                sum.iter_mut().zip(tangent).for_each(|(sum, value)| *sum += factor(k) * value);
            }
            sum
        };
        let mut constant = along(&|k| contexts.offset[k]);
        constant.iter_mut().zip(at_zero).for_each(|(sum, value)| *sum += value);
        let slopes = (0..variables.len()).map(|j| along(&|k| contexts.slopes[k][j]));
        Weights { parts: std::iter::once(constant).chain(slopes).collect(), variables }
    }

    /// The sign and the absolute value of weight `at` times `factor`; nothing if it is zero whatever the variables.
    fn coefficient(&self, at: usize, factor: f64) -> Option<(char, String)> {
        let variables = std::iter::once(None).chain(self.variables.iter().map(Some));
        let parts = self.parts.iter().zip(variables).filter(|(part, _)| part[at] != 0.0);
        let part = |(part, variable): (&Vec<f64>, Option<&String>)| {
            let (sign, size) = signed(factor * part[at]);
            (sign, variable.map_or_else(|| size.clone(), |variable| format!("{size} * {variable}")))
        };
        let parts: Vec<(char, String)> = parts.map(part).collect();
        match &parts[..] {
            [] => None,
            [one] => Some(one.clone()),
            _ => Some(('+', format!("({})", sum(&parts)))),
        }
    }
}

/// The sign of a number and the shortest digits of its absolute value.
fn signed(value: f64) -> (char, String) {
    (if value < 0.0 { '-' } else { '+' }, format!("{:?}", value.abs()))
}

/// A sum of terms with signs; zero of none.
fn sum(terms: &[(char, String)]) -> String {
    let mut text = String::new();
    for (sign, term) in terms {
        match (text.is_empty(), sign) {
            (true, '+') => {}
            (true, _) => text.push('-'),
            (false, sign) => text.extend([' ', *sign, ' ']),
        }
        text.push_str(term);
    }
    if text.is_empty() { "0".to_owned() } else { text }
}

/// A channel or input in its own unit, less its centre.
struct Feature {
    /// `x`, or `(x - 2.5)`.
    text: String,
    /// `abs(x)`, or `abs(x - 2.5)`.
    size: String,
    scale: f64,
}

impl Feature {
    fn new(name: &str, ChannelScale { centre, scale }: ChannelScale) -> Self {
        let (sign, distance) = match signed(centre) {
            ('-', distance) => ('+', distance),
            (_, distance) => ('-', distance),
        };
        let moved = format!("{name} {sign} {distance}");
        match centre {
            0.0 => Feature { text: name.to_owned(), size: format!("abs({name})"), scale },
            _ => Feature { text: format!("({moved})"), size: format!("abs({moved})"), scale },
        }
    }
}

/// The rate of each channel of `library`, which has no space, for channels and inputs with these names and scales, in that order.
pub(super) fn rates(library: &Library, weights: &Weights, features: &[(&str, ChannelScale)]) -> Vec<String> {
    let features: Vec<Feature> = features.iter().map(|&(name, scale)| Feature::new(name, scale)).collect();
    let products: Vec<(f64, String)> = library.factors().iter().map(|factors| product(factors, &features)).collect();
    let count = products.len();
    let terms = |at: usize, scale: f64| -> Vec<(char, String)> {
        let term = |(m, (divisor, product)): (usize, &(f64, String))| {
            let (sign, coefficient) = weights.coefficient(at + m, scale / divisor)?;
            Some((sign, format!("{coefficient}{product}")))
        };
        products.iter().enumerate().filter_map(term).collect()
    };
    let denominator = denominator(library, weights, &features);
    let rate = |c: usize| {
        let mut rate = terms(c * count, features[c].scale);
        if library.saturation > 0 {
            let numerator = terms((library.channels + c) * count, features[c].scale);
            let over = format!("({}) / ({})", sum(&numerator), sum(&denominator));
            rate.extend((!numerator.is_empty()).then_some(('+', over)));
        }
        sum(&rate)
    };
    (0..library.channels).map(rate).collect()
}

/// `1 + sum_j delta_j |delta_j| |x~_j|^S`, as terms.
fn denominator(library: &Library, weights: &Weights, features: &[Feature]) -> Vec<(char, String)> {
    let power = library.saturation;
    let first = library.layout().size() - library.denominator_weights();
    let term = |j: usize| {
        let (sign, delta) = weights.coefficient(first + j, features[j].scale.powf(-0.5 * power as f64))?;
        let delta = bracketed(&delta);
        Some((sign, format!("{delta} * abs({delta}) * {}^{power}", features[j].size)))
    };
    let one = ('+', "1".to_owned());
    std::iter::once(one).chain((0..library.denominator_weights()).filter_map(term)).collect()
}

/// A coefficient as a base of a power.
fn bracketed(coefficient: &str) -> String {
    if coefficient.contains(' ') && !coefficient.starts_with('(') {
        format!("({coefficient})")
    } else {
        coefficient.to_owned()
    }
}

/// What divides a coefficient and ` * x^2 * y`, for factors in descending order.
fn product(factors: &[usize], features: &[Feature]) -> (f64, String) {
    let divisor = factors.iter().map(|&factor| features[factor].scale).product();
    let of_power = |same: &[usize]| match same.len() {
        1 => format!(" * {}", features[same[0]].text),
        power => format!(" * {}^{power}", features[same[0]].text),
    };
    (divisor, factors.chunk_by(|a, b| a == b).rev().map(of_power).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Batch, Engine, Products, Segment, Solver};
    use crate::random::Stream;
    use crate::schema::{Between, StateShape};
    use crate::systems::{Dynamics, Equations};

    /// The field of the text, written and read as a file, is that of the library, at random states, inputs and variables.
    #[test]
    fn the_field_of_the_text_is_that_of_the_library() {
        let none = ChannelScale { centre: 0.0, scale: 1.0 };
        let scaled = |centre, scale| ChannelScale { centre, scale };
        let scales = [scaled(1.3, 0.7), scaled(-0.4, 2.5), scaled(20.0, 3.0)];
        let cases =
            [(0, 3, 0, [none; 3]), (1, 2, 0, scales), (1, 2, 3, scales), (0, 3, 2, scales), (0, 1, 1, [none; 3])];
        for (case, (inputs, degree, saturation, scales)) in cases.into_iter().enumerate() {
            let mut stream = Stream::new(3, "rates", &[case as u64]);
            let state = StateShape::without_space(2);
            let library = Library::new(&state, inputs, [degree, 1], &[], saturation);
            let size = library.layout().size();
            let mut basis: Vec<f64> = (0..3 * size).map(|_| stream.normal()).collect();
            for at in (0..size).step_by(3) {
                (0..3).for_each(|part| basis[part * size + at] = 0.0);
                basis[size + at.saturating_sub(1)] = 0.0;
            }
            let contexts = Affine { offset: vec![0.3, -0.2], slopes: vec![vec![1.5, 0.25], vec![-0.5, 0.75]] };
            let variables = vec!["a".to_owned(), "ln(b)".to_owned()];
            let weights = Weights::new(&basis, size, &contexts, variables);
            let features = [("x", scales[0]), ("y", scales[1]), ("u", scales[2])];
            let rates = rates(&library, &weights, &features[..2 + inputs]);
            let quantity = |name: &str, rest: &str| format!("{{ name = \"{name}\", {rest} }}");
            let states: Vec<String> = ["x", "y"]
                .iter()
                .zip(&rates)
                .map(|(name, rate)| quantity(name, &format!("derivative = \"{rate}\", initial = [0.0, 1.0]")))
                .collect();
            let parameters = ["a", "b"].map(|name| quantity(name, "lower = 0.1, upper = 3.0")).join(", ");
            let inputs_of = if inputs > 0 { "inputs = [{ name = \"u\" }]" } else { "" };
            let text = format!(
                "name = \"it\"\nhorizon = 1.0\ntime_step = 1.0\nstates = [{}]\nparameters = [{parameters}]\n{inputs_of}",
                states.join(", ")
            );
            let text = toml::from_str::<Equations>(&text).unwrap().to_toml();
            let system = toml::from_str::<Equations>(&text).unwrap().system().unwrap();
            let Dynamics::Field(field) = &system.presets[0].dynamics else { panic!("a field") };

            let engine = Products::new(library, Solver::Euler.tableau(1), 1);
            for _ in 0..20 {
                let mut draw = |scale: ChannelScale| scale.unscaled(stream.normal());
                let values: Vec<f64> = scales[..2 + inputs].iter().map(|&scale| draw(scale)).collect();
                let parameters = [stream.uniform(0.1, 3.0), stream.uniform(0.1, 3.0)];
                let variables = [parameters[0], parameters[1].ln()];
                let context =
                    |k: usize| contexts.offset[k] + (0..2).map(|j| contexts.slopes[k][j] * variables[j]).sum::<f64>();
                let weight =
                    |at: usize| basis[at] + (0..2).map(|k| context(k) * basis[(1 + k) * size + at]).sum::<f64>();
                let weights: Vec<f64> = (0..size).map(weight).collect();
                let own: Vec<f64> = values.iter().zip(&scales).map(|(value, scale)| scale.scaled(*value)).collect();
                // One step of Euler's method over a unit of time moves the state by its rate.
                let (states, driven) = (own[..2].repeat(2), own[2..].repeat(2));
                let segment = Segment { times: &[0.0, 1.0], states: &states, inputs: &driven };
                let batch = Batch::new(2, &vec![Between::Hold; inputs], &[vec![segment]], (0, 0));
                let moved = engine.predict(&weights, &batch);

                let drive = values[2..].iter().flat_map(|value| [*value, 0.0]).chain((inputs > 0).then_some(0.0));
                let parameters: Vec<f64> = parameters.into_iter().chain(drive).collect();
                let mut rates = [0.0; 2];
                field(&parameters, 0.0, &values[..2], &mut rates);
                for c in 0..2 {
                    let expected = scales[c].scale * (moved[c] - own[c]);
                    let size: f64 = weights.iter().map(|weight| weight.abs()).fold(1.0, f64::max) * 10.0;
                    assert!(
                        (rates[c] - expected).abs() < 1e-12 * size.max(expected.abs()),
                        "{case}: {} for {expected}\n{text}",
                        rates[c]
                    );
                }
            }
        }
    }

    #[test]
    fn text_is_as_a_reader_would_write_it() {
        let state = StateShape::without_space(2);
        let library = Library::new(&state, 0, [2, 1], &[], 0);
        let mut basis = vec![0.0; 2 * library.layout().size()];
        // Products: 1, x, y, x^2, x y, y^2.
        (basis[1], basis[6 + 2], basis[6 + 5]) = (0.5, -0.5, 1e-7);
        (basis[12 + 4], basis[12 + 6 + 4], basis[6 + 4]) = (-1.0, 1.0, 0.25);
        let weights = Weights::new(&basis, library.layout().size(), &Affine::identity(1), vec!["beta".to_owned()]);
        let none = ChannelScale { centre: 0.0, scale: 1.0 };
        let rates = rates(&library, &weights, &[("x", none), ("y", none)]);
        assert_eq!(rates[0], "0.5 * x - 1.0 * beta * x * y");
        assert_eq!(rates[1], "-0.5 * y + (0.25 + 1.0 * beta) * x * y + 1e-7 * y^2");
    }
}
