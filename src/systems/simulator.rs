//! Simulation of trajectories, each by the method that suits it.
//!
//! Every trajectory begins with an explicit method; where that finds the system stiff, [`Rosenbrock`] takes over, or it does all of it on request. What is simulated does not
//! depend on the trajectories before.

use std::sync::Arc;

use super::directions::{Directions, Start};
use super::sensitivities::PATIENCE;
use super::system::{TangentField, VectorField};
use crate::progress::Interrupt;
use crate::solve::{Adaptive, Error, RODAS5P, Rosenbrock, Tableau, Tolerance, Work};

/// An integrator of a vector field, with its buffers.
pub struct Simulator {
    field: VectorField,
    /// `None` where no explicit method is to be tried.
    explicit: Option<Adaptive>,
    /// `None` where the derivatives of the field are not known.
    stiff: Option<Stiff>,
    work: Work,
}

/// What takes over where a trajectory is stiff.
struct Stiff {
    field: Directions,
    integrator: Rosenbrock,
}

impl Simulator {
    /// For states of `channels` values of `field`, with its derivatives if they are known, by an explicit method; without one the derivatives must be
    /// known.
    ///
    /// # Errors
    /// As [`Adaptive::new`].
    pub fn new(
        field: &VectorField,
        tangent: Option<&TangentField>,
        channels: usize,
        tableau: Option<&'static Tableau>,
        tolerance: Tolerance,
    ) -> Result<Self, Error> {
        let stiff = |tangent: &TangentField| {
            let integrator = Rosenbrock::new(&RODAS5P, channels, 0, tolerance)?;
            Ok(Stiff { field: Directions::new(Arc::clone(tangent), channels, 0), integrator })
        };
        Ok(Simulator {
            field: Arc::clone(field),
            explicit: tableau.map(|tableau| Adaptive::new(tableau, channels, tolerance)).transpose()?,
            stiff: tangent.map(stiff).transpose()?,
            work: Work::default(),
        })
    }

    /// The cost of the last trajectory, even if it failed.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Integrates from `initial [C]` at `times[0]` with `parameters [d_p]` and writes the states at `times [T]` to `states [T, C]`.
    ///
    /// # Errors
    /// As [`Adaptive::integrate`].
    pub fn integrate(
        &mut self,
        parameters: &[f64],
        initial: &[f64],
        times: &[f64],
        states: &mut [f64],
        interrupt: &Interrupt,
    ) -> Result<Work, Error> {
        let Simulator { field, explicit, stiff, .. } = self;
        let field = &mut |time: f64, state: &[f64], slope: &mut [f64]| field(parameters, time, state, slope);
        self.work = Work::default();
        let (stiff, left) = match (explicit, stiff) {
            (Some(explicit), None) => {
                let integrated = explicit.integrate(field, initial, times, states, interrupt);
                self.work = explicit.work();
                return integrated;
            }
            (Some(explicit), Some(stiff)) => {
                let left = explicit.integrate_unless_stiff(field, initial, times, states, interrupt, PATIENCE);
                self.work = explicit.work();
                let left = left?.map(|left| (left.time, left.sample, Some(left.dt), explicit.state().to_vec()));
                (stiff, left)
            }
            (None, Some(stiff)) => {
                let Some(first) = times.first() else { return Ok(self.work) };
                states[..initial.len()].copy_from_slice(initial);
                (stiff, Some((*first, 1, None, initial.to_vec())))
            }
            (None, None) => unreachable!("a method without explicit steps needs derivatives"),
        };
        if let Some((time, sample, dt, state)) = left {
            let c = initial.len();
            let rest: Vec<f64> = std::iter::once(time).chain(times[sample..].iter().copied()).collect();
            let start = Start { parameters, parameter_directions: &[], state: &state, state_directions: &[] };
            stiff.field.begin(start);
            let mut after = vec![0.0; rest.len() * c];
            let integrated =
                stiff.integrator.integrate(&mut stiff.field, start.state, dt, &rest, &mut after, interrupt);
            self.work += stiff.integrator.work();
            integrated?;
            states[sample * c..].copy_from_slice(&after[c..]);
        }
        Ok(self.work)
    }
}
