//! The curriculum of Gauss-Newton: segments that grow from stage to stage, whole trajectories last.
//!
//! Trajectories are cut at complete samples, `l_1, l_2 = g l_1, ..` intervals apart in stage 1, 2, .. for a growth `g`; a
//! stage whose segments would be as long as the longest trajectory is that of whole trajectories. Long rollouts of a
//! model that is far from the data are so nonlinear in its weights that no linear model of them holds; short ones
//! are not, and bring weights to where longer ones can be fitted. Source: H. Bock, Recent advances in parameter
//! identification techniques for ODE, 1983 (multiple shooting), without continuity between segments.

use super::settings::GaussNewton;
use crate::checkpoint::Stage;

/// What a step did.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// A step was made.
    Moved,
    /// None was, and the next stage begins.
    NextStage,
    /// None was, and none will be: no damping that was tried decreases the loss.
    Stationary,
    /// None was, because a signal came.
    Interrupted,
}

/// The first stage, after `adam` steps of Adam on trajectories of at most `longest` intervals.
pub(super) fn first(settings: &GaussNewton, adam: u64, longest: usize) -> Stage {
    let default = if adam == 0 { 1 } else { longest };
    of_length(settings.first_segment.unwrap_or(default), longest)
}

/// The stage after that of segments of `segment` intervals.
pub(super) fn next(settings: &GaussNewton, segment: usize, longest: usize) -> Stage {
    let grown = (segment as f64 * settings.segment_growth).round().min(longest as f64) as usize;
    of_length(grown.max(segment + 1), longest)
}

fn of_length(segment: usize, longest: usize) -> Stage {
    Stage { segment: Some(segment).filter(|it| *it < longest), steps: 0 }
}

/// Whether `stage` is over after a step that lowered the objective from `before` to `after`. That of whole trajectories
/// does not end so.
pub(super) fn has_ended(settings: &GaussNewton, stage: Stage, before: f64, after: f64) -> bool {
    let slow = before - after < settings.segment_decrease * before;
    stage.segment.is_some() && (slow || stage.steps >= settings.segment_steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_grow_to_whole_trajectories() {
        let settings = GaussNewton::default();
        let mut stage = first(&settings, 0, 20);
        let mut lengths = Vec::new();
        while let Some(segment) = stage.segment {
            lengths.push(segment);
            stage = next(&settings, segment, 20);
        }
        assert_eq!(lengths, [1, 3, 9]);
        assert_eq!(first(&settings, 5, 20).segment, None, "after Adam");
        let slow = GaussNewton { first_segment: Some(4), segment_growth: 1.01, ..settings };
        assert_eq!(first(&slow, 5, 20).segment, Some(4));
        assert_eq!(next(&slow, 4, 20).segment, Some(5), "a stage is longer than the one before");
    }

    #[test]
    fn a_stage_ends_when_steps_bring_little_or_are_many() {
        let settings = GaussNewton { segment_decrease: 0.1, segment_steps: 3, ..GaussNewton::default() };
        let stage = |segment, steps| Stage { segment, steps };
        assert!(has_ended(&settings, stage(Some(2), 1), 1.0, 0.95));
        assert!(!has_ended(&settings, stage(Some(2), 1), 1.0, 0.5));
        assert!(has_ended(&settings, stage(Some(2), 3), 1.0, 0.5));
        assert!(!has_ended(&settings, stage(None, 3), 1.0, 0.95));
    }
}
