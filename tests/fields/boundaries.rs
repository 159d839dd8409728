//! What models find beyond the ends of an axis, on fields so small that it is computed by hand.

use approx::assert_relative_eq;
use paramill::engine::{Batch, Device, Engine, Precision, Products, Segment, Solver, Torch};
use paramill::models::tensors::TensorModel;
use paramill::models::{ConvNet, Fno, Library, Model, Operator};
use paramill::schema::Boundary::{Periodic, Replicate, Zero};
use paramill::schema::{Boundary, StateShape};
use tch::Tensor;

fn on(space: &[usize], boundaries: &[Boundary]) -> StateShape {
    StateShape { channels: 1, space: space.to_vec(), boundaries: boundaries.to_vec() }
}

/// The rates of `model` under these weights at a state.
fn rates(model: &dyn TensorModel, weights: &[f64], state: &[f64]) -> Vec<f64> {
    let weights = Tensor::from_slice(weights).unsqueeze(0);
    let rates = model.field(&weights)(&Tensor::from_slice(state).view([1, 1, -1])).view([-1]);
    Vec::try_from(&rates).unwrap()
}

/// The ramp 1, 2, 3, 4 under the kernel 1, 10, 100: each digit tells where a point was found.
#[test]
fn a_kernel_finds_what_the_boundary_says() {
    for (boundary, expected) in [
        (Periodic, [214.0, 321.0, 432.0, 143.0]),
        (Zero, [210.0, 321.0, 432.0, 43.0]),
        (Replicate, [211.0, 321.0, 432.0, 443.0]),
    ] {
        let model = ConvNet::new(&on(&[4], &[boundary]), 1, 1, 3, 1.0);
        let found = rates(&model, &[1.0, 10.0, 100.0, 0.0], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(found, expected, "{boundary:?}");
    }
}

/// Sums over the neighbours of `1 2 3; 4 5 6`, the corners among them.
#[test]
fn axes_have_boundaries_of_their_own() {
    for (boundaries, expected) in [
        ([Zero, Replicate], [17.0, 21.0, 25.0, 17.0, 21.0, 25.0]),
        ([Replicate, Zero], [15.0, 27.0, 21.0, 21.0, 36.0, 27.0]),
        ([Zero, Periodic], [21.0; 6]),
    ] {
        let model = ConvNet::new(&on(&[2, 3], &boundaries), 1, 1, 3, 1.0);
        let weights = [[1.0; 9].as_slice(), &[0.0]].concat();
        let found = rates(&model, &weights, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(found, expected, "{boundaries:?}");
    }
}

/// What the engines make of a state where the rate is the feature of that name: both the same.
fn feature(shape: &StateShape, operator: Operator, name: &str, state: &[f64]) -> Vec<f64> {
    let library = || Library::new(shape, 0, [1, 1], &[operator], 0);
    let place = library().terms(&["u"], &[]).iter().position(|(_, term)| term == name).expect("such a term");
    let mut weights = vec![0.0; library().layout().size()];
    weights[place] = 1.0;
    let states = [state, state].concat();
    let batch =
        Batch::new(state.len(), &[], &[vec![Segment { times: &[0.0, 1.0], states: &states, inputs: &[] }]], (0, 0));
    let made = |engine: &dyn Engine| -> Vec<f64> {
        engine.predict(&weights, &batch).iter().zip(state).map(|(after, before)| after - before).collect()
    };
    let euler = Solver::Euler.tableau(1);
    let native = made(&Products::new(library(), euler.clone(), 1));
    let torch = Torch::new(Box::new(library()), (euler, 1), Device::Cpu, Precision::F64, true);
    assert_relative_eq!(native.as_slice(), made(&torch).as_slice(), epsilon = 1e-12);
    native
}

#[test]
fn differences_find_what_the_boundary_says() {
    let ramp = [1.0, 2.0, 3.0, 4.0];
    for (boundary, laplacian, gradient) in [
        (Periodic, [4.0, 0.0, 0.0, -4.0], [-1.0, 1.0, 1.0, -1.0]),
        (Zero, [0.0, 0.0, 0.0, -5.0], [1.0, 1.0, 1.0, -1.5]),
        (Replicate, [1.0, 0.0, 0.0, -1.0], [0.5, 1.0, 1.0, 0.5]),
    ] {
        let shape = on(&[4], &[boundary]);
        assert_eq!(feature(&shape, Operator::Laplacian, "lap(u)", &ramp), laplacian, "{boundary:?}");
        assert_eq!(feature(&shape, Operator::Gradient, "d_0(u)", &ramp), gradient, "{boundary:?}");
    }
    let (shape, plane) = (on(&[2, 3], &[Zero, Replicate]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let laplacian = [2.75, 1.0, -0.75, -6.25, -8.0, -9.75];
    assert_eq!(feature(&shape, Operator::Laplacian, "lap(u)", &plane), laplacian);
    assert_eq!(feature(&shape, Operator::Gradient, "d_0(u)", &plane), [2.0, 2.5, 3.0, -0.5, -1.0, -1.5]);
    assert_eq!(feature(&shape, Operator::Gradient, "d_1(u)", &plane), [0.5, 1.0, 0.5, 0.5, 1.0, 0.5]);
    let (shape, cube) = (on(&[2, 2, 2], &[Zero, Replicate, Periodic]), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let laplacian = [7.0, 2.0, 1.0, -4.0, -5.0, -10.0, -11.0, -16.0];
    assert_eq!(feature(&shape, Operator::Laplacian, "lap(u)", &cube), laplacian);
    assert_eq!(feature(&shape, Operator::Gradient, "d_2(u)", &cube), [0.0; 8]);
}

/// On grids of one point neighbours are ghosts alone.
#[test]
fn a_single_point_has_neighbours_too() {
    for (boundary, laplacian) in [(Periodic, 0.0), (Zero, -6.0), (Replicate, 0.0)] {
        let shape = on(&[1], &[boundary]);
        assert_eq!(feature(&shape, Operator::Laplacian, "lap(u)", &[3.0]), [laplacian], "{boundary:?}");
        assert_eq!(feature(&shape, Operator::Gradient, "d_0(u)", &[3.0]), [0.0], "{boundary:?}");
    }
}

fn swish(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

/// A Fourier operator of one spectral layer with one wave number and one channel: the weights of its first layer, the real part of its spectrum, and
/// the matrix beside it; the rate is the swish of what they give.
fn single(shape: &StateShape, first: &[f64], spectrum: f64, matrix: f64, state: &[f64]) -> Vec<f64> {
    let model = Fno::new(shape, 1, 1, 1, 1);
    let mut weights = vec![0.0; model.layout().size()];
    let mut set = |name: &str, values: &[f64]| {
        let block = model.layout().blocks.iter().find(|block| block.name == name).unwrap();
        weights[block.offset..][..values.len()].copy_from_slice(values);
    };
    set("layers.0.weight", first);
    set("layers.1.spectrum", &[spectrum]);
    set("layers.1.weight", &[matrix]);
    set("layers.2.weight", &[1.0]);
    set("layers.3.weight", &[1.0]);
    rates(&model, &weights, state)
}

#[test]
fn a_fourier_operator_knows_the_place_on_each_axis() {
    let third = std::f64::consts::TAU / 3.0;
    for (boundary, first, expected) in [
        (Periodic, &[0.0, 1.0, 0.0][..], [0.0, third.sin(), (2.0 * third).sin()]),
        (Periodic, &[0.0, 0.0, 1.0], [1.0, third.cos(), (2.0 * third).cos()]),
        (Zero, &[0.0, 1.0], [0.0, 0.5, 1.0]),
        (Replicate, &[0.0, 1.0], [0.0, 0.5, 1.0]),
    ] {
        let found = single(&on(&[3], &[boundary]), first, 0.0, 1.0, &[7.0, 8.0, 9.0]);
        assert_relative_eq!(found.as_slice(), expected.map(swish).as_slice(), epsilon = 1e-12);
    }
}

/// The mean, which is the coefficient of the wave number zero, is taken over the points that are added too.
#[test]
fn a_fourier_operator_continues_an_axis_that_is_not_periodic_by_zeros() {
    let state: Vec<f64> = (1..=16).map(f64::from).collect();
    let sum: f64 = state.iter().sum();
    for (shape, points) in [
        (on(&[16], &[Periodic]), 16.0),
        (on(&[16], &[Zero]), 18.0),
        (on(&[4, 4], &[Periodic, Replicate]), 20.0),
        (on(&[4, 2, 2], &[Zero, Periodic, Zero]), 30.0),
    ] {
        let places: usize = shape.boundaries.iter().map(|it| if *it == Periodic { 2 } else { 1 }).sum();
        let mut first = vec![0.0; 1 + places];
        first[0] = 1.0;
        let found = single(&shape, &first, 1.0, 0.0, &state);
        assert_relative_eq!(found.as_slice(), vec![swish(sum / points); 16].as_slice(), max_relative = 1e-12);
    }
}

#[test]
fn weights_are_laid_out_by_the_axes() {
    let spectra = |shape: &StateShape| Fno::new(shape, 1, 3, 4, 5).layout().blocks[2].shape.clone();
    let kernels = |shape: &StateShape| ConvNet::new(shape, 2, 6, 5, 1.0).layout().blocks[0].shape.clone();
    let shapes = [&[8][..], &[8, 8], &[8, 8, 8]].map(|space| StateShape::periodic(2, space));
    assert_eq!(shapes.each_ref().map(spectra), [vec![3, 4, 4, 2], vec![6, 3, 4, 4, 2], vec![6, 6, 3, 4, 4, 2]]);
    assert_eq!(shapes.each_ref().map(kernels), [vec![6, 2, 5], vec![6, 2, 5, 5], vec![6, 2, 5, 5, 5]]);
    let first =
        |boundaries: &[Boundary]| Fno::new(&on(&[8; 3], boundaries), 1, 3, 4, 5).layout().blocks[0].shape.clone();
    assert_eq!(first(&[Periodic; 3]), [4, 7]);
    assert_eq!(first(&[Periodic, Zero, Replicate]), [4, 5]);
}
