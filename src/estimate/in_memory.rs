//! Environments in memory: trajectories of a program that uses the library, checked as those of a dataset are.

use std::collections::HashMap;

use super::error::Error;
use super::stream::Observed;
use crate::dataset::{Manifest, trajectory_problems};
use crate::schema::{Split, Trajectory};

/// The trajectories by environment, in the order in which these first occur. Without parameters none of theirs is known.
///
/// # Errors
/// [`Error::Trajectories`] with everything in which they are not as `manifest` describes them.
pub(crate) fn by_environment(trajectories: &[Trajectory], manifest: &Manifest) -> Result<Vec<Observed>, Error> {
    let mut environments: Vec<Observed> = Vec::new();
    let mut positions = HashMap::new();
    let mut problems = Vec::new();
    for trajectory in trajectories {
        let mut trajectory = trajectory.clone();
        if trajectory.parameters.is_empty() {
            trajectory.parameters = vec![None; manifest.parameters.len()];
        }
        let Trajectory { environment: id, trajectory: name, parameters, .. } = &trajectory;
        let found = trajectory_problems(&trajectory, manifest, Split::Adapt);
        problems.extend(found.iter().map(|problem| format!("environment `{id}`, trajectory `{name}`: {problem}")));
        let position = *positions.entry(id.clone()).or_insert(environments.len());
        match environments.get_mut(position) {
            Some(environment) => environment.trajectories.push(trajectory),
            None => {
                let (id, parameters) = (id.clone(), parameters.clone());
                environments.push(Observed { id, parameters, trajectories: vec![trajectory] });
            }
        }
    }
    if problems.is_empty() { Ok(environments) } else { Err(Error::Trajectories(problems)) }
}
