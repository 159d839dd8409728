//! CAVIA's rules against the networks that they describe.

use approx::assert_relative_eq;
use paramill::engine::{Batch, Engine, Native, Segment, Solver};
use paramill::models::{AdaptedLayers, Mlp, Model};
use paramill::random::Stream;
use paramill::rules::{Kind, Shape};
use paramill::schema::Between;

const XI: [f64; 2] = [0.7, -1.3];
const UNITS: usize = 5;

/// Where a network with the rule's weights is after steps of Euler from `(0.4, -0.9)`, and the shared values `[theta, ..]`.
fn rolled_out(rule: Kind, layers: usize) -> (Vec<f64>, Vec<f64>) {
    let model = Mlp::new(2, 0, layers, UNITS);
    let rule = rule.build(model.layout(), Shape { adapted: AdaptedLayers::All, context_dimension: 2, inner_rate: 0.1 });
    let mut stream = Stream::new(3, "networks", &[]);
    let shared = rule.initial_shared(model.initial_weights(&mut stream), 0.5, &mut stream);
    let mut weights = vec![0.0; model.layout().size()];
    rule.decode(&shared, &XI, &mut weights);
    (predict(&model, &weights, &[]), shared)
}

fn predict(model: &Mlp, weights: &[f64], inputs: &[f64]) -> Vec<f64> {
    let times = [0.0, 0.3, 0.5];
    let states = [0.4, -0.9].repeat(times.len());
    let between = vec![Between::Hold; inputs.len()];
    let inputs = inputs.repeat(times.len());
    let batch = Batch::new(2, &between, &[vec![Segment { times: &times, states: &states, inputs: &inputs }]], (0, 0));
    Native::<f64>::new(model, Solver::Euler.tableau(1)).predict(weights, &batch)
}

#[test]
fn concat_is_the_network_that_has_the_context_among_its_inputs() {
    let (found, shared) = rolled_out(Kind::CaviaConcat, 3);
    let model = Mlp::new(2, 2, 3, UNITS);
    let theta = &shared[..shared.len() - 2 * UNITS];
    let (of_context, first) = (&shared[theta.len()..], 2 * UNITS);
    let row = |unit: usize| {
        let of_context = [of_context[unit], of_context[UNITS + unit]];
        theta[2 * unit..2 * unit + 2].iter().copied().chain(of_context)
    };
    let weights: Vec<f64> = (0..UNITS).flat_map(row).chain(theta[first..].iter().copied()).collect();
    assert_relative_eq!(found.as_slice(), predict(&model, &weights, &XI).as_slice(), max_relative = 1e-12);
}

#[test]
fn film_scales_and_shifts_the_last_hidden_features() {
    let (found, shared) = rolled_out(Kind::CaviaFilm, 2);
    let (first, rest) = shared.split_at(3 * UNITS);
    let (last, modulation) = rest.split_at(2 * UNITS + 2);
    let along = |columns: &[f64], unit: usize| XI[0] * columns[unit] + XI[1] * columns[UNITS + unit];
    let rates = |x: &[f64]| -> Vec<f64> {
        let feature = |unit: usize| {
            let a = first[2 * unit] * x[0] + first[2 * unit + 1] * x[1] + first[2 * UNITS + unit];
            let h = a / (1.0 + (-a).exp());
            (1.0 + along(modulation, unit)) * h + along(&modulation[2 * UNITS..], unit)
        };
        let features: Vec<f64> = (0..UNITS).map(feature).collect();
        let output = |c: usize| {
            let products = last[c * UNITS..(c + 1) * UNITS].iter().zip(&features).map(|(a, h)| a * h);
            products.sum::<f64>() + last[2 * UNITS + c]
        };
        (0..2).map(output).collect()
    };
    let mut x = vec![0.4, -0.9];
    let mut expected = Vec::new();
    for dt in [0.3, 0.5 - 0.3] {
        let rates = rates(&x);
        x.iter_mut().zip(rates).for_each(|(x, rate)| *x += dt * rate);
        expected.extend(&x);
    }
    assert_relative_eq!(found.as_slice(), expected.as_slice(), max_relative = 1e-12);
}
