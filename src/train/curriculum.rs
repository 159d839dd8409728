//! The curriculum of Gauss-Newton: segments that grow from stage to stage, whole trajectories last.
//!
//! Trajectories are cut at complete samples, `l_1, l_2 = g l_1, ..` intervals apart in stage 1, 2, .. for a growth `g`; a
//! stage whose segments would be as long as the longest trajectory is that of whole trajectories. Long rollouts of a
//! model that is far from the data are so nonlinear in its weights that no linear model of them holds; short ones
//! are not, and bring weights to where longer ones can be fitted. Source: H. Bock, Recent advances in parameter
//! identification techniques for ODE, 1983 (multiple shooting), without continuity between segments.

use super::settings::GaussNewton;
use crate::checkpoint::Stage;

/// Steps in a row that bring little after which a stage ends: one alone may be short because its damping is large.
const SLOW_STEPS: u64 = 4;

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

/// The first stage, on trajectories of at most `longest` intervals, whose weights are random or were trained before.
pub(super) fn first(settings: &GaussNewton, are_random: bool, longest: usize) -> Stage {
    let default = if are_random { 1 } else { longest };
    of_length(settings.first_segment.unwrap_or(default), longest, 0)
}

/// The stage after that of segments of `segment` intervals.
pub(super) fn next(settings: &GaussNewton, segment: usize, longest: usize) -> Stage {
    let grown = (segment as f64 * settings.segment_growth).round().min(longest as f64) as usize;
    of_length(grown.max(segment + 1), longest, segment)
}

/// The stage to begin instead of `stage`, whose rollouts are not finite at its start: halfway, by factors, from the segments that were
/// fitted. `None` where nothing lies between.
pub(super) fn shorter(stage: Stage, longest: usize) -> Option<Stage> {
    let segment = stage.segment.unwrap_or(longest);
    let halfway = ((stage.fitted * segment) as f64).sqrt().round() as usize;
    let halfway = halfway.max(stage.fitted + 1);
    (halfway < segment).then(|| of_length(halfway, longest, stage.fitted))
}

fn of_length(segment: usize, longest: usize, fitted: usize) -> Stage {
    Stage { segment: Some(segment).filter(|it| *it < longest), fitted, ..Stage::default() }
}

/// `stage` after one more step, which lowered the objective from `before` to `after`.
pub(super) fn after_step(settings: &GaussNewton, stage: Stage, before: f64, after: f64) -> Stage {
    let is_slow = before - after < settings.segment_decrease * before;
    Stage { steps: stage.steps + 1, slow: if is_slow { stage.slow + 1 } else { 0 }, ..stage }
}

/// Whether `stage` is over. That of whole trajectories does not end so.
pub(super) fn has_ended(settings: &GaussNewton, stage: Stage) -> bool {
    stage.segment.is_some() && (stage.slow >= SLOW_STEPS || stage.steps >= settings.segment_steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_grow_to_whole_trajectories() {
        let settings = GaussNewton::default();
        let mut stage = first(&settings, true, 20);
        let mut lengths = Vec::new();
        while let Some(segment) = stage.segment {
            lengths.push(segment);
            stage = next(&settings, segment, 20);
        }
        assert_eq!(lengths, [1, 3, 9]);
        assert_eq!(first(&settings, false, 20).segment, None, "after Adam");
        let slow = GaussNewton { first_segment: Some(4), segment_growth: 1.01, ..settings };
        assert_eq!(first(&slow, false, 20).segment, Some(4));
        assert_eq!(next(&slow, 4, 20).segment, Some(5), "a stage is longer than the one before");
    }

    #[test]
    fn a_stage_that_cannot_begin_is_made_shorter() {
        let mut stage = Stage { fitted: 3, ..Stage::default() };
        let mut lengths = Vec::new();
        while let Some(next) = shorter(stage, 20) {
            lengths.push(next.segment.unwrap());
            assert_eq!(next.fitted, 3);
            stage = next;
        }
        assert_eq!(lengths, [8, 5, 4], "whole trajectories are 20 intervals long");
        assert_eq!(shorter(Stage { segment: Some(1), ..Stage::default() }, 20), None);
    }

    #[test]
    fn a_stage_ends_when_several_steps_bring_little_or_when_they_are_many() {
        let settings = GaussNewton { segment_decrease: 0.1, segment_steps: 9, ..GaussNewton::default() };
        let after = |stage: Stage, decreases: &[f64]| {
            decreases.iter().fold(stage, |stage, decrease| after_step(&settings, stage, 1.0, 1.0 - decrease))
        };
        let start = Stage { segment: Some(2), ..Stage::default() };
        assert!(!has_ended(&settings, after(start, &[0.05, 0.05, 0.05])), "a strongly damped step is short");
        assert!(!has_ended(&settings, after(start, &[0.05, 0.05, 0.05, 0.5, 0.05])));
        assert!(has_ended(&settings, after(start, &[0.5, 0.05, 0.05, 0.05, 0.05])));
        assert!(has_ended(&settings, after(start, &[0.5; 9])));
        assert!(!has_ended(&settings, after(Stage { segment: None, ..start }, &[0.05; 9])));
    }
}
