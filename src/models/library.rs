//! A vector field made of products: `g_c = sum_m theta_cm phi_m(f)`, `phi` all products of the features `f` up to a degree, the constant
//! included; with saturation `g_c = sum_m (theta_cm + rho_cm / D) phi_m(f)`, `D = 1 + sum_j delta_j |delta_j| |x_j|^S`. (The square with its
//! sign: with `delta_j^2` a context whose `delta_j` has the other sign would fit as well.)
//!
//! Features are the `C` channels, what [`Operator`]s make of each channel of a field, the `U` inputs, and waves over the place:
//! `f_0 .. f_{C-1}`, `O` in all of operators, `U`, `0` or `4`. Weights are `theta [C, M]`, `rho [C, M]`, `delta [C]`.
//!
//! Source, of a field that is linear in a library of candidate terms: S. Brunton, J. Proctor, N. Kutz, Discovering governing equations
//! from data by sparse identification of nonlinear dynamical systems, PNAS 113, 2016. Here the weights follow from rollouts, not from
//! derivatives of the data.

use super::layout::Layout;
use super::model::Model;
use super::operator::Operator;
use crate::random::Stream;
use crate::schema::{Boundary, StateShape};

/// `delta` of an untrained library, which is not zero, for its square has no slope there.
const INITIAL_SATURATION: f64 = 0.3;

/// A library of products.
pub struct Library {
    /// `C`.
    pub channels: usize,
    /// `U`.
    pub inputs: usize,
    /// Points along each axis; none without space.
    pub space: Vec<usize>,
    /// What lies beyond the ends of each axis.
    pub boundaries: Vec<Boundary>,
    /// Made of each channel, in this order.
    pub operators: Vec<Operator>,
    /// `(parent, feature)` of each product behind the constant: it is theirs.
    pub products: Vec<(usize, usize)>,
    /// `S`, the power in the denominator; zero without one.
    pub saturation: usize,
    layout: Layout,
}

impl Library {
    /// All products of the features of `state` and `inputs`, over a denominator of powers `saturation`. Products are up to `degree`;
    /// those with what operators make of a channel up to `operator_degree`.
    pub fn new(
        state: &StateShape,
        inputs: usize,
        [degree, operator_degree]: [usize; 2],
        operators: &[Operator],
        saturation: usize,
    ) -> Self {
        let features = features(state, inputs, operators);
        let made = state.channels..moving_features(state, operators);
        // Product, its smallest feature, and whether an operator's is in it.
        let (mut products, mut last) = (Vec::new(), vec![(0, features, false)]);
        for of in 1..=degree {
            let mut next = Vec::new();
            for &(parent, most, is_made) in &last {
                for feature in 0..features.min(most + 1) {
                    let is_made = is_made || made.contains(&feature);
                    if !is_made || of <= operator_degree {
                        products.push((parent, feature));
                        next.push((products.len(), feature, is_made));
                    }
                }
            }
            last = next;
        }
        let mut layout = Layout::default();
        layout.push("layers.0.weight".to_owned(), &[state.channels, products.len() + 1]);
        if saturation > 0 {
            layout.push("layers.0.numerator".to_owned(), &[state.channels, products.len() + 1]);
            layout.push("layers.0.saturation".to_owned(), &[state.channels]);
        }
        let StateShape { channels, space, boundaries } = state.clone();
        let operators = operators.to_vec();
        Library { channels, inputs, space, boundaries, operators, products, saturation, layout }
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.moving_features() + self.inputs + waves(&self.operators)
    }

    /// Number of features that depend on the state, which are the first.
    pub fn moving_features(&self) -> usize {
        self.channels * fields_of_channel(self.space.len(), &self.operators)
    }

    /// Operations of a tangent at a point: of `C` rates by the `D` features that depend on the state, `4 C D`; and where there are Fourier
    /// series, of their transforms, there and back, `2.5 log2 N` each, for one of `5 N log2 N` makes two fields at once.
    pub fn tangent_operations(&self) -> f64 {
        let axes = self.space.len();
        let series: usize = self.operators.iter().filter(|it| it.is_spectral()).map(|it| it.outputs(axes)).sum();
        // Of the channel, of what is made of it, and of its rate.
        let transforms = if series > 0 { 1 + series + 2 } else { 0 };
        let of_channel = 4.0 * self.moving_features() as f64 + 2.5 * transforms as f64 * (self.points() as f64).log2();
        self.channels as f64 * of_channel
    }

    /// Number of products `M`, the constant among them.
    pub fn count(&self) -> usize {
        self.products.len() + 1
    }

    /// Weights of the denominator.
    pub fn denominator_weights(&self) -> usize {
        if self.saturation > 0 { self.channels } else { 0 }
    }

    /// The features that each product `[M]` consists of, in descending order; none of the constant.
    pub fn factors(&self) -> Vec<Vec<usize>> {
        let mut factors: Vec<Vec<usize>> = vec![Vec::new()];
        for &(parent, feature) in &self.products {
            factors.push([&factors[parent][..], &[feature]].concat());
        }
        factors
    }

    /// What each weight multiplies, in words: the channel whose rate it is part of, and a product, over `D` where that is the denominator.
    /// The last ones are of `D - 1`, and count by their squares.
    pub fn terms(&self, channels: &[&str], inputs: &[&str]) -> Vec<(String, String)> {
        let features = self.feature_names(channels, inputs);
        let products: Vec<String> = self.factors().iter().map(|factors| product(factors, &features)).collect();
        let of_rates = |over: &str| {
            let of_channel = |channel: &str| {
                let term = |product: &String| (channel.to_owned(), format!("{product}{over}"));
                products.iter().map(term).collect::<Vec<_>>()
            };
            channels.iter().flat_map(|channel| of_channel(channel)).collect::<Vec<_>>()
        };
        let mut terms = of_rates("");
        if self.saturation > 0 {
            terms.extend(of_rates(" / D"));
            terms.extend(channels.iter().map(|channel| ("D".to_owned(), format!("|{channel}|^{}", self.saturation))));
        }
        terms
    }

    fn feature_names(&self, channels: &[&str], inputs: &[&str]) -> Vec<String> {
        let mut names: Vec<String> = channels.iter().map(|&channel| channel.to_owned()).collect();
        for operator in &self.operators {
            for output in 0..operator.outputs(self.space.len()) {
                let made = match operator {
                    Operator::Gradient | Operator::SpectralGradient => format!("d_{output}"),
                    Operator::Velocity => format!("v_{output}"),
                    Operator::Laplacian | Operator::SpectralLaplacian | Operator::Waves => "lap".to_owned(),
                };
                names.extend(channels.iter().map(|channel| format!("{made}({channel})")));
            }
        }
        names.extend(inputs.iter().map(|&input| input.to_owned()));
        if self.operators.contains(&Operator::Waves) {
            names.extend(["sin(x_0)", "cos(x_0)", "sin(x_1)", "cos(x_1)"].map(str::to_owned));
        }
        names
    }

    /// Points of a field; 1 without space.
    pub fn points(&self) -> usize {
        self.space.iter().product()
    }
}

/// `u v^2`, for factors in descending order.
fn product(factors: &[usize], names: &[String]) -> String {
    let of_power = |same: &[usize]| match same.len() {
        1 => names[same[0]].clone(),
        power => format!("{}^{power}", names[same[0]]),
    };
    let powers: Vec<String> = factors.chunk_by(|a, b| a == b).rev().map(of_power).collect();
    if powers.is_empty() { "1".to_owned() } else { powers.join(" ") }
}

/// Fields that are features of each channel on so many axes: itself, and what operators make of it.
fn fields_of_channel(axes: usize, operators: &[Operator]) -> usize {
    1 + operators.iter().map(|operator| operator.outputs(axes)).sum::<usize>()
}

/// Number of features that depend on the state.
fn moving_features(state: &StateShape, operators: &[Operator]) -> usize {
    state.channels * fields_of_channel(state.space.len(), operators)
}

/// Number of features that are waves over the place.
fn waves(operators: &[Operator]) -> usize {
    if operators.contains(&Operator::Waves) { 4 } else { 0 }
}

/// Number of products, the constant among them; of what degrees, as in [`Library::new`].
pub(super) fn count(
    state: &StateShape,
    inputs: usize,
    [degree, operator_degree]: [usize; 2],
    operators: &[Operator],
) -> u128 {
    let all = features(state, inputs, operators);
    let plain = all - (moving_features(state, operators) - state.channels);
    // Binomial (features + degree, degree), each factor leaving a whole number.
    let up_to = |features: usize, degree: usize| {
        (1..=degree as u128).fold(1, |count: u128, k| count * (features as u128 + k) / k)
    };
    let of_operators = operator_degree.min(degree);
    up_to(plain, degree) + up_to(all, of_operators) - up_to(plain, of_operators)
}

/// Number of features.
fn features(state: &StateShape, inputs: usize, operators: &[Operator]) -> usize {
    moving_features(state, operators) + inputs + waves(operators)
}

impl Model for Library {
    fn name(&self) -> &'static str {
        "library"
    }

    fn layout(&self) -> &Layout {
        &self.layout
    }

    /// All rates zero, so that nothing moves.
    fn initial_weights(&self, _: &mut Stream) -> Vec<f64> {
        let linear = self.layout.size() - self.denominator_weights();
        let value = |at: usize| if at < linear { 0.0 } else { INITIAL_SATURATION };
        (0..self.layout.size()).map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_written_as_a_reader_would() {
        let state = StateShape::periodic(2, &[8, 8]);
        let library = Library::new(&state, 1, [2, 1], &[Operator::Laplacian], 2);
        let terms = library.terms(&["u", "v"], &["light"]);
        assert_eq!(terms.len(), library.layout().size());
        let of_u: Vec<&str> = terms.iter().filter(|term| term.0 == "u").map(|term| term.1.as_str()).collect();
        let products =
            ["1", "u", "v", "lap(u)", "lap(v)", "light", "u^2", "u v", "v^2", "u light", "v light", "light^2"];
        assert_eq!(of_u[..12], products);
        assert_eq!(of_u[12..14], ["1 / D", "u / D"]);
        assert_eq!(
            terms[terms.len() - 2..],
            [("D", "|u|^2"), ("D", "|v|^2")].map(|(a, b)| (a.to_owned(), b.to_owned()))
        );
        assert_eq!(count(&state, 1, [2, 1], &[Operator::Laplacian]), library.count() as u128);
        assert_eq!(
            count(&state, 0, [3, 2], &[Operator::Gradient]),
            Library::new(&state, 0, [3, 2], &[Operator::Gradient], 0).count() as u128
        );
    }

    #[test]
    fn a_product_is_that_of_its_parent_and_a_feature() {
        let state = StateShape::without_space(2);
        let library = Library::new(&state, 0, [3, 1], &[], 0);
        assert_eq!(library.products, [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (3, 0), (4, 0), (5, 0), (5, 1)]);
    }
}
