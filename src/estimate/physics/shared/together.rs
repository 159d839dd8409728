//! Fits what all environments share.

use std::collections::BTreeMap;

use nalgebra::DMatrix;

use super::batch::Batch;
use super::beginning::{Alone, LeftOut, alone, beginning, members};
use super::descent::Joint;
use super::errors::Errors;
use super::member::{At, Member};
use super::profile::Profiles;
use crate::estimate::physics::fitting::Fitting;
use crate::estimate::settings::{Intervals, Settings};
use crate::estimate::stream::Observed;
use crate::schema::Split;

/// Times that environments which failed are tried again at better values.
const AGAIN: usize = 2;

/// What all environments of a batch share, fitted together.
pub(crate) struct SharedFit {
    pub batch: Batch,
    /// `z [s]`.
    pub z: Vec<f64>,
    /// `[s, s]`; NaN where it is not determined.
    pub covariance: DMatrix<f64>,
    /// Of the noise; infinite where it is known.
    pub degrees_of_freedom: f64,
    /// The share of the variance of each shared parameter that depends on them.
    pub shares: Vec<f64>,
    /// The share of the variance that the unknowns of all leave to residuals.
    pub free_share: f64,
    /// Of the shared parameters; empty where intervals are not by profiles.
    pub profiles: Profiles,
    /// Whether the descent was stopped at the limit of iterations.
    pub is_stopped: bool,
    /// Which shared parameters lie at an active bound.
    pub active: Vec<bool>,
    /// The environments that took part, and where they are.
    pub environments: BTreeMap<String, OfEnvironment>,
    /// Why the others did not.
    pub left_out: BTreeMap<String, LeftOut>,
}

impl SharedFit {
    /// That nothing is known of what all share, since no environment could take part.
    fn nothing(batch: Batch, left_out: BTreeMap<String, LeftOut>) -> Self {
        let s = batch.size();
        SharedFit {
            z: vec![f64::NAN; s],
            covariance: DMatrix::from_element(s, s, f64::NAN),
            degrees_of_freedom: f64::INFINITY,
            shares: vec![1.0; s],
            free_share: 1.0,
            profiles: Profiles::default(),
            is_stopped: false,
            active: vec![false; s],
            environments: BTreeMap::new(),
            left_out,
            batch,
        }
    }
}

/// The end of one environment.
pub(crate) struct OfEnvironment {
    /// Its own parameters.
    pub own: Vec<f64>,
    /// How the parameters `[d, s]` follow `z`.
    pub follow: DMatrix<f64>,
    /// How the unknowns `[u, s]` of each trajectory do.
    pub of_trajectories: Vec<DMatrix<f64>>,
    /// Cramér-Rao bounds `[d]`, NaN where they are not determined; empty where they are not known.
    pub bounds: Vec<f64>,
}

/// Fits what all `environments`, those of `split` where they are of a dataset, share; none where nothing is shared.
///
/// # Errors
/// An interrupt.
pub(crate) fn together(
    fitting: &Fitting,
    environments: &[Observed],
    split: Option<Split>,
) -> Option<Result<SharedFit, String>> {
    let is_by_profiles = fitting.settings.intervals == Intervals::Profile;
    // Profiles are made at the end.
    let wald = Settings { intervals: Intervals::Wald, ..fitting.settings.clone() };
    let fitting = Fitting { settings: &wald, ..*fitting };
    let batch = Batch::new(fitting.equations)?;
    Some(joint_fit(&fitting, batch, (environments, split), is_by_profiles).or_else(|why| {
        if fitting.interrupt.requested().is_some() {
            return Err(why);
        }
        let of_each = environments.iter().map(|it| (it.id.clone(), LeftOut::without_fit(why.clone())));
        let nothing = Batch::new(fitting.equations).map(|batch| SharedFit::nothing(batch, of_each.collect()));
        nothing.ok_or(why)
    }))
}

/// The environments that the joint fit has left out since it was asked before.
fn left_behind(joint: &mut Joint) -> Vec<(String, LeftOut)> {
    std::mem::take(&mut joint.left_out).into_iter().map(|(id, why)| (id, LeftOut::without_fit(why))).collect()
}

fn joint_fit(
    fitting: &Fitting,
    mut batch: Batch,
    (environments, split): (&[Observed], Option<Split>),
    is_by_profiles: bool,
) -> Result<SharedFit, String> {
    let alone = alone(fitting, environments);
    let mut left_out: BTreeMap<String, LeftOut> = BTreeMap::new();
    let mut waiting: Vec<(&Observed, &Alone)> = Vec::new();
    for (environment, alone) in environments.iter().zip(&alone) {
        match alone.refusal() {
            Some(reason) => drop(left_out.insert(environment.id.clone(), reason)),
            None => waiting.push((environment, alone)),
        }
    }
    let interrupted = || fitting.interrupt.requested().map_or(Ok(()), |_| Err("interrupted".to_owned()));
    interrupted()?;
    if waiting.is_empty() {
        return Ok(SharedFit::nothing(batch, left_out));
    }
    batch.bound_tails(waiting.iter().map(|it| it.1.counts()));
    let z = beginning(fitting, &batch, environments, &alone);
    let mut joint = Joint {
        fitting,
        batch: &batch,
        members: Vec::new(),
        at: Vec::new(),
        z,
        left_out: Vec::new(),
        held: None,
        is_stopped: false,
    };
    for _ in 0..=AGAIN {
        interrupted()?;
        let before = joint.members.len();
        let mut still = Vec::new();
        let tried = members(fitting, &batch, &joint.z, &waiting);
        for (pair, tried) in waiting.into_iter().zip(tried) {
            match tried {
                Ok((member, at, _)) => {
                    joint.members.push(member);
                    joint.at.push(at);
                }
                Err(reason) => {
                    left_out.insert(pair.0.id.clone(), LeftOut::without_fit(reason));
                    still.push(pair);
                }
            }
        }
        if joint.members.is_empty() {
            return Ok(SharedFit::nothing(batch, left_out));
        }
        if joint.members.len() > before {
            joint.in_order();
            joint.fit()?;
        }
        waiting = still;
        if waiting.is_empty() || joint.members.len() == before {
            break;
        }
    }
    left_out.extend(left_behind(&mut joint));
    // Profiles descend as well.
    let mut is_stopped = joint.is_stopped;
    let mut errors = joint.errors()?;
    let mut profiles = Profiles::default();
    for _ in 0..if is_by_profiles { AGAIN } else { 0 } {
        if let Some(found) = joint.profiles(&errors) {
            profiles = found;
            break;
        }
        // A profile has found a lower place than the descent had.
        joint.fit()?;
        is_stopped = joint.is_stopped;
        errors = joint.errors()?;
    }
    interrupted()?;
    left_out.extend(left_behind(&mut joint));
    let Errors { covariance, degrees_of_freedom, shares, free_share, follow, of_trajectories, .. } = errors;
    let active = joint.active_bounds();
    let bounds = joint.bounds(environments, split).unwrap_or_else(|| vec![Vec::new(); joint.members.len()]);
    let Joint { members, at, z, .. } = joint;
    let follow = follow.into_iter().zip(of_trajectories).zip(bounds);
    let ends = members.into_iter().zip(at).zip(follow).map(|((member, at), follow): ((Member, At), _)| {
        let ((follow, of_trajectories), bounds) = follow;
        let values = member.experiment.parameters(&at.unknowns.coordinates);
        let own = batch.own.iter().map(|&place| values[place].0).collect();
        (member.id, OfEnvironment { own, follow, of_trajectories, bounds })
    });
    let environments: BTreeMap<String, OfEnvironment> = ends.collect();
    left_out.retain(|id, _| !environments.contains_key(id));
    Ok(SharedFit {
        z,
        covariance,
        degrees_of_freedom,
        shares,
        free_share,
        profiles,
        is_stopped,
        active,
        environments,
        left_out,
        batch,
    })
}
