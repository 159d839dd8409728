//! The loss of trajectories that are expanded about the contexts of other environments, and its gradient: the objective of NCF.
//!
//! With the weights `theta_e [P]` of environment `e`, which are affine in its context, the rollout `x(theta)` from the observed state, its
//! Jacobian `J(theta)`, and pools of `k + 1` environments, the own one and `k` others,
//!
//! ```text
//! x_ej = x(theta_j) + J(theta_j) v,   v = theta_e - theta_j        F = 1/(k + 1) sum_s 1/n sum_e |x_e,j(e,s) - y_e|^2
//! dF/dtheta_e = J(theta_j)' u,        dF/dtheta_j = d/dh [J(theta_j + h v)' u] at 0,        u = 2/n (x_ej - y_e)
//! ```
//!
//! `J v` is an exact tangent by forward mode. The derivative by `theta_j` has second derivatives of the rollout; it is the difference of two
//! gradients on both sides of `theta_j`, whose error is the square of the step between them: any engine that has a gradient will do, in double
//! precision. See `rules::ncf` for the source.

use super::settings::{Choice, Pool};
use crate::engine::{Batch, Engine};
use crate::random::Stream;

/// Length of the step of differences, relative to the weights.
const DIFFERENCE: f64 = 1e-5;

impl Pool {
    /// The others in the pool of each of `environments`, at step `t` of a training with this `seed`: `[k][E]`, fewer where there are fewer
    /// environments. `contexts [E, d]`.
    pub(super) fn others(&self, contexts: &[f64], environments: usize, (seed, t): (u64, u64)) -> Vec<Vec<usize>> {
        let d = contexts.len() / environments.max(1);
        let context = |e: usize| &contexts[e * d..(e + 1) * d];
        let of_environment = |e: usize| {
            let mut stream = Stream::new(seed, "pool", &[t, e as u64]);
            let mut rank = |j: usize| match self.choice {
                Choice::Nearest => context(j).iter().zip(context(e)).map(|(a, b)| (a - b).powi(2)).sum(),
                Choice::Random => stream.unit(),
            };
            let mut others: Vec<(f64, usize)> = (0..environments).filter(|&j| j != e).map(|j| (rank(j), j)).collect();
            others.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            others.into_iter().map(|(_, j)| j).collect::<Vec<usize>>()
        };
        let all: Vec<Vec<usize>> = (0..environments).map(of_environment).collect();
        let count = self.neighbours.min(environments.saturating_sub(1));
        (0..count).map(|s| all.iter().map(|others| others[s]).collect()).collect()
    }
}

/// `F` and its gradient by the weights `[E, P]`, given the other environments `[k][E]` of the pools.
pub(super) fn loss_and_gradient(
    engine: &dyn Engine,
    weights: &[f64],
    others: &[Vec<usize>],
    batch: &Batch,
) -> (f64, Vec<f64>) {
    let (mut loss, mut gradient) = engine.loss_and_gradient(weights, batch);
    for about in others {
        let (of_pool, d_weights) = about_others(engine, weights, about, batch);
        loss += of_pool;
        gradient.iter_mut().zip(d_weights).for_each(|(sum, d)| *sum += d);
    }
    let share = 1.0 / (others.len() + 1) as f64;
    gradient.iter_mut().for_each(|d| *d *= share);
    (loss * share, gradient)
}

/// The loss of trajectories each expanded about the weights of the environment `about [E]`.
fn about_others(engine: &dyn Engine, weights: &[f64], about: &[usize], batch: &Batch) -> (f64, Vec<f64>) {
    let size = weights.len() / about.len().max(1);
    let of = |e: usize| &weights[e * size..(e + 1) * size];
    let at: Vec<f64> = about.iter().flat_map(|&j| of(j)).copied().collect();
    let v: Vec<f64> = weights.iter().zip(&at).map(|(own, other)| own - other).collect();
    let (predictions, along) = (engine.predict(&at, batch), engine.push_forward(&at, &v, batch));
    let (n, mut squares) = (batch.count(), 0.0);
    let values = predictions.iter().zip(&along).zip(batch.targets.iter().zip(&batch.mask));
    let u: Vec<f64> = values
        .map(|((x, tangent), (y, m))| {
            // Values of padding mean nothing.
            let residual = if *m > 0.0 { x + tangent - y } else { 0.0 };
            squares += (m * residual).powi(2);
            2.0 / n * m * m * residual
        })
        .collect();
    let mut gradient = engine.pull_back(&at, &u, batch);
    let longest = v.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    if longest > 0.0 && longest.is_finite() {
        let h = DIFFERENCE / longest;
        let beside = |h: f64| {
            let moved: Vec<f64> = at.iter().zip(&v).map(|(at, v)| at + h * v).collect();
            engine.pull_back(&moved, &u, batch)
        };
        let (up, down) = (beside(h), beside(-h));
        for (e, &j) in about.iter().enumerate() {
            for p in 0..size {
                gradient[j * size + p] += (up[e * size + p] - down[e * size + p]) / (2.0 * h);
            }
        }
    }
    (squares / n, gradient)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Native, Segment, Solver};
    use crate::models::{Mlp, Model};

    const ENVIRONMENTS: usize = 3;

    /// Three environments; the second has two trajectories.
    fn batch(stream: &mut Stream) -> Batch {
        let times = [0.0, 0.3, 0.7];
        let states: Vec<Vec<f64>> = (0..4).map(|_| (0..6).map(|_| stream.normal()).collect()).collect();
        let segment = |i: usize| Segment { times: &times, states: &states[i], inputs: &[] };
        let segments = [vec![segment(0)], vec![segment(1), segment(2)], vec![segment(3)]];
        Batch::new(2, &[], &segments, (0, 0))
    }

    #[test]
    fn the_gradient_agrees_with_differences_of_the_loss_and_the_expansion_ends_at_first_order() {
        let model = Mlp::new(2, 0, 3, 4);
        let engine = Native::<f64>::new(&model, Solver::Rk4.tableau(1));
        let mut stream = Stream::new(5, "expansion", &[]);
        let (batch, size) = (batch(&mut stream), model.layout().size());
        let weights: Vec<f64> = (0..ENVIRONMENTS * size).map(|_| 0.4 * stream.normal()).collect();
        let others = [vec![1, 2, 0], vec![2, 0, 1]];
        let (_, gradient) = loss_and_gradient(&engine, &weights, &others, &batch);
        for i in 0..weights.len() {
            let moved = |h: f64| {
                let mut moved = weights.clone();
                moved[i] += h;
                loss_and_gradient(&engine, &moved, &others, &batch).0
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            approx::assert_relative_eq!(gradient[i], difference, epsilon = 1e-8, max_relative = 1e-6);
        }
        // Where weights are near each other, what the expansion misses falls with the square of their distance.
        let missed = |h: f64| {
            let near: Vec<f64> = weights.iter().enumerate().map(|(i, w)| weights[i % size] + h * w).collect();
            let own = loss_and_gradient(&engine, &near, &[], &batch).0;
            let expanded = about_others(&engine, &near, &others[0], &batch).0;
            (expanded - own).abs()
        };
        let ratio = missed(1e-2) / missed(5e-3);
        assert!((3.0..5.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_pool_has_the_nearest_or_drawn_ones_and_never_more_than_there_are() {
        let contexts = [0.0, 1.0, 1.5, 4.0];
        let pool = |neighbours, choice| Pool { neighbours, choice };
        let nearest = pool(2, Choice::Nearest).others(&contexts, 4, (1, 7));
        assert_eq!(nearest, [vec![1, 2, 1, 2], vec![2, 0, 0, 1]]);
        let all = pool(9, Choice::Random).others(&contexts, 4, (1, 7));
        assert_eq!(all.len(), 3);
        for e in 0..4 {
            let mut of_environment: Vec<usize> = all.iter().map(|of_slot| of_slot[e]).collect();
            of_environment.sort_unstable();
            assert_eq!(of_environment, (0..4).filter(|&j| j != e).collect::<Vec<usize>>());
        }
        let drawn = |t| pool(1, Choice::Random).others(&contexts, 4, (1, t));
        assert!((0..9).any(|t| drawn(t) != drawn(t + 1)), "each step draws anew");
        assert_eq!(drawn(3), drawn(3));
    }
}
