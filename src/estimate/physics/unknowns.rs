//! The unknowns of an experiment within their bounds: steps, what lies at a bound, and what belongs to a trajectory alone.

use super::experiment::{Experiment, Rollout, Unknowns, Weights};
use super::normal::{Normal, Step};

/// The value of a parameter of a trajectory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnValue {
    /// Index of the trajectory.
    pub trajectory: usize,
    /// Position among its unknowns.
    pub place: usize,
    /// Index `[o]` of the parameter.
    pub parameter: usize,
    pub value: f64,
    /// How far one unit of its coordinate moves it.
    pub slope: f64,
}

impl Experiment<'_> {
    /// As [`Experiment::normal`], for `rollout` with `unknowns`: what a trajectory has of its own is held at bounds that a step along
    /// `-gradient` would cross.
    pub(crate) fn normal_at(&self, unknowns: &Unknowns, rollout: &Rollout, weights: &Weights, limit: f64) -> Normal {
        let mut normal = self.normal(rollout, weights, limit);
        self.hold_at_bounds(&mut normal, unknowns);
        normal
    }

    /// Holds initial values and parameters of trajectories at bounds that a step along `-gradient` would cross.
    pub(crate) fn hold_at_bounds(&self, normal: &mut Normal, unknowns: &Unknowns) {
        for (trajectory, (open, initial)) in self.unknown_initial.iter().zip(&unknowns.initial).enumerate() {
            for (index, &value) in open.iter().enumerate() {
                let Some((range, _)) = self.model.free(value) else { continue };
                let slope = normal.trajectories[trajectory].gradient[index];
                if initial[value] <= range.lower && slope > 0.0 || initial[value] >= range.upper && slope < 0.0 {
                    normal.trajectories[trajectory].hold(index);
                }
            }
            for (j, (own, theta)) in self.model.own.iter().zip(&unknowns.own[trajectory]).enumerate() {
                let (index, (low, high)) = (open.len() + j, own.coordinate.ends());
                let slope = normal.trajectories[trajectory].gradient[index];
                if *theta <= low && slope > 0.0 || *theta >= high && slope < 0.0 {
                    normal.trajectories[trajectory].hold(index);
                }
            }
        }
    }

    /// The initial values that are fitted between bounds: trajectory, position among its unknowns, index of the state, value, and how far one
    /// unit of the unknown moves it.
    pub(crate) fn free_starts(&self, unknowns: &Unknowns) -> Vec<(usize, usize, usize, f64, f64)> {
        let pairs = self.unknown_initial.iter().zip(&unknowns.initial).enumerate();
        let all = pairs.flat_map(|(trajectory, (own, initial))| {
            own.iter().enumerate().map(move |(index, &state)| (trajectory, index, state, initial[state]))
        });
        let free = all.filter(|(_, _, state, _)| self.model.free(*state).is_some());
        free.map(|(trajectory, index, state, at)| (trajectory, index, state, at, self.unit(state, at))).collect()
    }

    /// The values of the state that are fitted between bounds and lie at one of them, by index, with the bound.
    pub(crate) fn starts_at_bounds(&self, unknowns: &Unknowns) -> Vec<(usize, f64)> {
        let pairs = self.unknown_initial.iter().zip(&unknowns.initial);
        let all = pairs.flat_map(|(own, initial)| own.iter().map(move |&value| (value, initial[value])));
        let is_at_bound = |&(value, at): &(usize, f64)| {
            self.model.free(value).is_some_and(|(range, _)| at <= range.lower || at >= range.upper)
        };
        let mut found: Vec<(usize, f64)> = all.filter(is_at_bound).collect();
        found.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        found.dedup();
        found
    }

    /// The parameters of trajectories: trajectory, position among its unknowns, index `[o]`, value, and how far one unit of the unknown moves it.
    pub(crate) fn own_parameters(&self, unknowns: &Unknowns) -> Vec<OwnValue> {
        let pairs = self.unknown_initial.iter().zip(&unknowns.own).enumerate();
        let all = pairs.flat_map(|(trajectory, (open, own))| {
            self.model.own.iter().zip(own).enumerate().map(move |(parameter, (it, theta))| {
                let (value, slope) = it.coordinate.value(*theta);
                OwnValue { trajectory, place: open.len() + parameter, parameter, value, slope }
            })
        });
        all.collect()
    }

    /// The step, shortened so that no parameter moves by more than `longest`; those that are `active [d]` do not count.
    pub(crate) fn bounded(&self, step: Step, active: &[bool], longest: f64) -> Step {
        let of_free = step.parameters.iter().zip(active).filter(|(_, active)| !**active).map(|(by, _)| *by);
        let of_own = step.initial.iter().zip(&self.unknown_initial).flat_map(|(by, open)| by.iter().skip(open.len()));
        let greatest = of_free.chain(of_own.copied()).fold(0.0, |greatest: f64, by| greatest.max(by.abs()));
        step.scaled(if greatest > longest { longest / greatest } else { 1.0 })
    }

    /// `unknowns` after a step that is cut at the bounds of the parameters, and the cut step.
    pub(crate) fn after_step(&self, unknowns: &Unknowns, step: &Step) -> (Unknowns, Step) {
        let (mut unknowns, mut made) = (unknowns.clone(), step.clone());
        for (k, (theta, coordinate)) in unknowns.coordinates.iter_mut().zip(&self.model.coordinates).enumerate() {
            let (low, high) = coordinate.ends();
            let after = (*theta + step.parameters[k]).clamp(low, high);
            made.parameters[k] = after - *theta;
            *theta = after;
        }
        let initial = unknowns.initial.iter_mut().zip(&mut made.initial);
        for ((initial, step), own) in initial.zip(&self.unknown_initial) {
            for (&value, by) in own.iter().zip(step.iter_mut()) {
                match self.model.free(value) {
                    Some((range, _)) => {
                        let ((low, high), theta) = (range.ends(), range.theta(initial[value]));
                        let after = (theta + *by).clamp(low, high);
                        *by = after - theta;
                        initial[value] = range.value(after).0;
                    }
                    None => initial[value] += *by * self.unit(value, initial[value]),
                }
            }
        }
        for ((own, step), open) in unknowns.own.iter_mut().zip(&mut made.initial).zip(&self.unknown_initial) {
            for ((theta, by), it) in own.iter_mut().zip(step.iter_mut().skip(open.len())).zip(&self.model.own) {
                let (low, high) = it.coordinate.ends();
                let after = (*theta + *by).clamp(low, high);
                *by = after - *theta;
                *theta = after;
            }
        }
        (unknowns, made)
    }

    /// The parameters of trajectories that lie at a bound, and whether that is the lower one.
    pub(crate) fn own_at_bounds(&self, unknowns: &Unknowns) -> Vec<(OwnValue, bool)> {
        let at_bound = |it: OwnValue| {
            let coordinate = self.model.own[it.parameter].coordinate;
            let (is_lower, is_upper) = (it.value <= coordinate.lower, it.value >= coordinate.upper);
            (is_lower || is_upper).then_some((it, is_lower))
        };
        self.own_parameters(unknowns).into_iter().filter_map(at_bound).collect()
    }

    /// Which parameters `[d]` lie at an active bound: one that a step along `-gradient` would cross.
    pub(crate) fn active_bounds(&self, unknowns: &Unknowns, normal: &Normal) -> Vec<bool> {
        let coordinates = unknowns.coordinates.iter().zip(&self.model.coordinates).zip(normal.gradient.iter());
        let active = coordinates.map(|((theta, coordinate), slope)| {
            let (low, high) = coordinate.ends();
            (*theta <= low && *slope > 0.0) || (*theta >= high && *slope < 0.0)
        });
        active.collect()
    }
}
