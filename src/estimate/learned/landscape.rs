//! What the loss of each training environment is like around a trained model.
//!
//! With the mean squared error `L_e(theta)` on the training trajectories of environment `e`, and the model that all environments share,
//! `theta_c` (a context of zero):
//!
//! ```text
//! gradients    g_e = dL_e/dtheta (theta_c),  G = [g_1, .., g_E] [P, E],   its singular values: how many directions adapt to all
//! landscape    L_e over a plane: of two coordinates of the context, or of the two main left singular vectors of G around theta_c
//! ```
//!
//! Where environments have no context of two values, the plane holds, of every environment, the minimum of its loss as linearised residuals
//! tell it, `s = -(V'J'JV)^-1 V'J'r`, and is as wide as these are far.
//!
//! Source: Kirchmeyer, Yin et al., ICML 2022, sections 3.2 and 5, and the figures of loss landscapes and of singular values of gradients.

use nalgebra::{DMatrix, DVector, SymmetricEigen};
use rayon::prelude::*;

use super::support::Support;
use crate::checkpoint::StoredModel;
use crate::dataset::Dataset;
use crate::engine::{Batch, Compute, Engine, sum_of_squares};
use crate::estimate::error::Error;
use crate::estimate::settings::InitialState;
use crate::schema::Split;

/// Trajectories of each environment at most.
const TRAJECTORIES: usize = 4;
/// Environments whose gradients are taken at most, evenly spaced.
const ENVIRONMENTS: usize = 64;
/// Environments whose landscape is drawn.
const DRAWN: usize = 4;
/// Points along an axis.
const POINTS: usize = 31;
/// How much further than the furthest place a plane reaches.
const MARGIN: f64 = 1.3;

/// The loss of one environment over the plane.
#[derive(Clone, Debug, PartialEq)]
pub struct Landscape {
    /// Its id.
    pub environment: String,
    /// Where it stands in the plane.
    pub place: [f64; 2],
    /// Mean squared error in the model's own units `[y, x]`; not finite where a rollout is not.
    pub losses: Vec<f64>,
}

/// The losses of the training environments around a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// Whether the plane is that of two coordinates of the context; else of two directions of gradients.
    pub is_of_contexts: bool,
    /// Ends of the plane along both axes.
    pub ends: [[f64; 2]; 2],
    /// Points along each axis, evenly spaced from end to end.
    pub points: usize,
    /// A few environments.
    pub landscapes: Vec<Landscape>,
    /// Singular values of the gradients, in falling order.
    pub singular_values: Vec<f64>,
}

/// One environment with its data.
struct Place<'a> {
    id: &'a str,
    own: &'a [f64],
    batch: Batch,
}

/// The losses around `model` of the environments that it was trained on; `None` where the dataset has fewer than two of them.
///
/// # Errors
/// If the dataset cannot be read, has other quantities than the model, or there is no engine.
pub fn geometry(compute: Compute, dataset: &Dataset, model: &StoredModel) -> Result<Option<Geometry>, Error> {
    crate::estimate::driver::check_quantities(dataset, model)?;
    let engine = model.engine(compute)?.0;
    let places = places(dataset, model)?;
    if places.len() < 2 {
        return Ok(None);
    }
    let (rule, size) = (model.rule(), model.model().layout().size());
    let decode = |context: &[f64]| {
        let mut weights = vec![0.0; size];
        rule.decode(&model.shared, context, &mut weights);
        weights
    };
    let centre = decode(&vec![0.0; rule.context_size()]);
    let gradients: Vec<Vec<f64>> =
        places.iter().map(|place| engine.loss_and_gradient(&centre, &place.batch).1).collect();
    let (singular_values, directions) = main_directions(&gradients);
    let is_of_contexts = model.manifest.context_dimension >= 2;
    let on_plane: Vec<[f64; 2]> = places
        .iter()
        .map(|place| match is_of_contexts {
            true => [place.own[0], place.own[1]],
            false => minimum(engine.as_ref(), &centre, &directions, &place.batch),
        })
        .collect();
    let ends = [0, 1].map(|axis| {
        let all = on_plane.iter().map(|place| place[axis]).chain([0.0]).filter(|it| it.is_finite());
        let (low, high) = all.fold((0.0_f64, 0.0_f64), |(low, high), it| (low.min(it), high.max(it)));
        let (middle, half) = (0.5 * (low + high), 0.5 * MARGIN * (high - low).max(1e-6));
        [middle - half, middle + half]
    });
    let step = |[low, high]: [f64; 2], i: usize| low + (high - low) * i as f64 / (POINTS - 1) as f64;
    let chosen = evenly(places.len(), DRAWN);
    let landscapes = chosen.into_iter().map(|e| {
        let place = &places[e];
        let loss = |i: usize| {
            let at = [step(ends[0], i % POINTS), step(ends[1], i / POINTS)];
            let weights = if is_of_contexts {
                decode(&[&at, &place.own[2..]].concat())
            } else {
                let along = directions[0].iter().zip(&directions[1]);
                centre.iter().zip(along).map(|(theta, (u, v))| theta + at[0] * u + at[1] * v).collect()
            };
            sum_of_squares(&engine.predict(&weights, &place.batch), &place.batch) / place.batch.count()
        };
        let losses = (0..POINTS * POINTS).into_par_iter().map(loss).collect();
        Landscape { environment: place.id.to_owned(), place: on_plane[e], losses }
    });
    let landscapes = landscapes.collect();
    Ok(Some(Geometry { is_of_contexts, ends, points: POINTS, landscapes, singular_values }))
}

/// At most `most` of `count` indices, evenly spaced.
fn evenly(count: usize, most: usize) -> Vec<usize> {
    let kept = count.min(most);
    (0..kept).map(|i| i * (count - 1) / (kept - 1).max(1)).collect()
}

/// Training environments of which the dataset has trajectories.
fn places<'a>(dataset: &Dataset, model: &'a StoredModel) -> Result<Vec<Place<'a>>, Error> {
    let (units, index) = (model.manifest.units(), dataset.index(Split::Train)?);
    let environments: Vec<(&str, &[f64])> =
        model.manifest.environments.iter().map(|it| it.id.as_str()).zip(model.own_values()).collect();
    let mut places = Vec::new();
    for e in evenly(environments.len(), ENVIRONMENTS) {
        let (id, own) = environments[e];
        let rows: Vec<usize> = match &model.manifest.inferred {
            Some(inferred) => {
                let of = inferred.trajectories.iter().filter(|it| it.environment == e);
                let keys: Vec<(&str, &str)> = of.map(|it| (it.label.as_str(), it.trajectory.as_str())).collect();
                let is_own = |row: &usize| keys.contains(&(&index[*row].environment, &index[*row].trajectory));
                (0..index.len()).filter(is_own).take(TRAJECTORIES).collect()
            }
            None => (0..index.len()).filter(|&row| index[row].environment == id).take(TRAJECTORIES).collect(),
        };
        let support = Support::new(dataset.read_rows(Split::Train, &rows)?, &units, InitialState::Observed);
        let batch = Batch::new(units.state.len(), &units.between, &[support.segments()], (0, 0));
        if batch.values() > 0 {
            places.push(Place { id, own, batch });
        }
    }
    Ok(places)
}

/// Singular values of the matrix of these columns, in falling order, and its first two left singular vectors.
fn main_directions(columns: &[Vec<f64>]) -> (Vec<f64>, [Vec<f64>; 2]) {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let count = columns.len();
    let eigen = SymmetricEigen::new(DMatrix::from_fn(count, count, |i, j| product(&columns[i], &columns[j])));
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
    let values: Vec<f64> = order.iter().map(|&k| eigen.eigenvalues[k].max(0.0).sqrt()).collect();
    let direction = |rank: usize| {
        let vector = eigen.eigenvectors.column(order[rank]);
        let mut sum = vec![0.0; columns[0].len()];
        for (column, share) in columns.iter().zip(vector.iter()) {
            sum.iter_mut().zip(column).for_each(|(sum, value)| *sum += share * value);
        }
        let length = product(&sum, &sum).sqrt().max(f64::MIN_POSITIVE);
        sum.iter_mut().for_each(|value| *value /= length);
        sum
    };
    (values, [direction(0), direction(1)])
}

/// Where the linearised residuals are least in the plane of two directions around `centre`.
fn minimum(engine: &dyn Engine, centre: &[f64], directions: &[Vec<f64>; 2], batch: &Batch) -> [f64; 2] {
    let predictions = engine.predict(centre, batch);
    let tangents = [0, 1].map(|k| engine.push_forward(centre, &directions[k], batch));
    let (mut normal, mut gradient) = (DMatrix::zeros(2, 2), DVector::zeros(2));
    for at in (0..batch.mask.len()).filter(|&at| batch.mask[at] > 0.0) {
        let weight = batch.mask[at] * batch.mask[at];
        let residual = predictions[at] - batch.targets[at];
        for j in 0..2 {
            gradient[j] += weight * tangents[j][at] * residual;
            for k in 0..2 {
                normal[(j, k)] += weight * tangents[j][at] * tangents[k][at];
            }
        }
    }
    match normal.cholesky() {
        Some(factor) => {
            let step = -factor.solve(&gradient);
            [step[0], step[1]]
        }
        None => [f64::NAN; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_directions_are_those_of_the_singular_value_decomposition() {
        let columns = [vec![3.0, 0.0, 0.0], vec![0.0, 4.0, 0.0], vec![3.0, 4.0, 1e-3]];
        let (values, [first, second]) = main_directions(&columns);
        let svd = DMatrix::from_fn(3, 3, |i, j| columns[j][i]).svd(true, false);
        let mut expected: Vec<f64> = svd.singular_values.iter().copied().collect();
        expected.sort_by(|a, b| b.total_cmp(a));
        for (found, expected) in values.iter().zip(&expected) {
            approx::assert_relative_eq!(found, expected, epsilon = 1e-7);
        }
        let u = svd.u.unwrap();
        let along = |direction: &[f64], k: usize| (0..3).map(|i| direction[i] * u[(i, k)]).sum::<f64>().abs();
        let column = |value: f64| svd.singular_values.iter().position(|it| (it - value).abs() < 1e-9).unwrap();
        approx::assert_relative_eq!(along(&first, column(expected[0])), 1.0, epsilon = 1e-9);
        approx::assert_relative_eq!(along(&second, column(expected[1])), 1.0, epsilon = 1e-9);
    }
}
