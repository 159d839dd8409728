//! One step of an explicit Runge-Kutta method on any [`State`].
//!
//! ```text
//! k_i = f(c_i, y + dt sum_{j<i} a_ij k_j),   y' = y + dt sum_i b_i k_i
//! ```
//!
//! Symbols and source as in [`Tableau`].

use super::state::State;
use super::tableau::Tableau;

/// One step of an autonomous field `dy/dt = field(y)`: the state `dt` later.
pub fn step<S: State>(tableau: &Tableau, field: &mut impl FnMut(&S) -> S, state: &S, dt: &S::Step) -> S {
    step_at(tableau, &mut |_, state: &S| field(state), state, dt)
}

/// One step of a field that depends on time: `field(c, y)` is the derivative at the time `c` steps after that of `state`.
pub fn step_at<S: State>(tableau: &Tableau, field: &mut impl FnMut(f64, &S) -> S, state: &S, dt: &S::Step) -> S {
    let mut stages: Vec<S> = Vec::with_capacity(tableau.weights.len());
    for (node, row) in tableau.nodes.iter().zip(&tableau.stages) {
        let stage = match combine(state, dt, row, &stages) {
            Some(argument) => field(*node, &argument),
            None => field(*node, state),
        };
        stages.push(stage);
    }
    combine(state, dt, &tableau.weights, &stages).unwrap_or_else(|| state.advance(dt, &[]))
}

/// `state + dt * sum_i coefficients_i stages_i`, or `None` where every coefficient is zero.
fn combine<S: State>(state: &S, dt: &S::Step, coefficients: &[f64], stages: &[S]) -> Option<S> {
    let terms: Vec<(f64, &S)> =
        coefficients.iter().copied().zip(stages).filter(|(coefficient, _)| *coefficient != 0.0).collect();
    (!terms.is_empty()).then(|| state.advance(dt, &terms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::euler::EULER;
    use crate::solve::rk4::RK4;

    #[test]
    fn euler_follows_the_tangent() {
        let next = step(&EULER, &mut |y: &Vec<f64>| vec![-2.0 * y[0]], &vec![3.0], &0.25);
        assert_eq!(next, vec![3.0 - 0.25 * 6.0]);
    }

    #[test]
    fn stages_are_told_their_place_in_the_step() {
        let mut nodes = Vec::new();
        step_at(
            &RK4,
            &mut |c, y: &Vec<f64>| {
                nodes.push(c);
                y.clone()
            },
            &vec![1.0],
            &0.1,
        );
        assert_eq!(nodes, [0.0, 0.5, 0.5, 1.0]);
    }
}
