//! Initial states estimated with the context, on data that the model itself makes: what an interval promises can then be counted.

use nalgebra::{DMatrix, DVector};
use paramill::checkpoint::StoredModel;
use paramill::engine::{Batch, Segment};
use paramill::estimate::{Adaptation, Adapter};
use paramill::estimate::{InitialState, Loss, Noise, Settings, Status, Support};
use paramill::random::Stream;
use paramill::schema::{Split, Trajectory};
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use super::model::{NATIVE, silently};
use super::{TRAINED, Trained, estimate_with, grid};

const ENVIRONMENTS: usize = 300;
const SAMPLES: usize = 20;
/// Deviation of the noise; states are between about 0.1 and 3.
const NOISE: f64 = 0.05;

/// As much noise on every value.
fn constant(_: usize, _: f64) -> f64 {
    NOISE
}

/// Trajectories of the model itself with noise of `deviation(channel, value)` on every sample, in its own units, and the contexts `[d]` that
/// made them.
fn noisy(trajectories: usize, deviation: fn(usize, f64) -> f64) -> (Vec<Support>, Vec<Vec<f64>>) {
    let model = &TRAINED.model;
    let (engine, _) = model.engine(NATIVE).unwrap();
    let mut stream = Stream::new(5, "noisy", &[]);
    let times: Vec<f64> = (0..SAMPLES).map(|t| t as f64 * 0.5).collect();
    let spread = model.contexts.iter().fold(0.0_f64, |most, xi| most.max(xi.abs()));
    let environment = |e: usize| {
        let context: Vec<f64> = (0..2).map(|_| stream.uniform(-spread, spread)).collect();
        let mut weights = vec![0.0; model.model().layout().size()];
        model.rule().decode(&model.shared, &context, &mut weights);
        let one = |b: usize| {
            let start = [stream.uniform(1.0, 3.0), stream.uniform(1.0, 3.0)];
            let states = start.repeat(SAMPLES);
            let batch = Batch::new(2, &[], &[vec![Segment { times: &times, states: &states, inputs: &[] }]], (0, 0));
            let truth = start.into_iter().chain(engine.predict(&weights, &batch));
            Trajectory {
                environment: e.to_string(),
                trajectory: b.to_string(),
                parameters: Vec::new(),
                times: times.clone(),
                states: truth.enumerate().map(|(i, y)| y + deviation(i % 2, y) * stream.normal()).collect(),
                inputs: Vec::new(),
            }
        };
        (Support { trajectories: (0..trajectories).map(one).collect() }, context)
    };
    (0..ENVIRONMENTS).map(environment).unzip()
}

/// Share of the 90 % regions that hold the truth, and root mean squared error of the contexts.
fn judged(initial_state: InitialState, supports: &[Support], truth: &[Vec<f64>]) -> (f64, f64) {
    judged_with(&Settings { initial_state: Some(initial_state), ..Settings::default() }, supports, truth)
}

fn judged_with(settings: &Settings, supports: &[Support], truth: &[Vec<f64>]) -> (f64, f64) {
    judged_by(&TRAINED.model, settings, supports, truth)
}

fn judged_by(model: &StoredModel, settings: &Settings, supports: &[Support], truth: &[Vec<f64>]) -> (f64, f64) {
    let fitted: Vec<Adaptation> = Adapter::new(settings, NATIVE, model).unwrap().adapt(supports);
    let (mut held, mut squares) = (0, 0.0);
    for (it, truth) in fitted.iter().zip(truth) {
        assert_eq!(it.status, Status::Ok, "{}", it.reason);
        let error = DVector::from_fn(2, |k, _| it.context[k] - truth[k]);
        let information: DMatrix<f64> = it.covariance.clone().try_inverse().unwrap();
        let ratio = (&information * &error).dot(&error) / 2.0;
        held += usize::from(ratio < FisherSnedecor::new(2.0, it.degrees).unwrap().inverse_cdf(0.9));
        squares += error.norm_squared();
    }
    (held as f64 / fitted.len() as f64, (squares / fitted.len() as f64).sqrt())
}

#[test]
fn regions_hold_the_truth_as_often_as_they_say_and_errors_are_smaller() {
    for trajectories in [1, 3] {
        let (supports, truth) = noisy(trajectories, constant);
        let (observed, observed_error) = judged(InitialState::Observed, &supports, &truth);
        let (estimated, estimated_error) = judged(InitialState::Estimated, &supports, &truth);
        // Three standard errors of a share of 300.
        assert!((estimated - 0.9).abs() < 0.055, "{trajectories}: {estimated}, where noise is left out {observed}");
        assert!(observed < 0.75, "{trajectories}: {observed}");
        assert!(estimated_error < 0.95 * observed_error, "{trajectories}: {estimated_error} beside {observed_error}");
    }
}

#[test]
fn values_weigh_by_their_noise_where_it_is_known_what_that_is_like() {
    let proportional: fn(usize, f64) -> f64 = |_, value| 0.08 * value.abs();
    let by_channel: fn(usize, f64) -> f64 = |channel, _| [0.02, 0.1][channel];
    for (noise, deviation) in [(Noise::Proportional, proportional), (Noise::Constant, by_channel)] {
        let (supports, truth) = noisy(3, deviation);
        let settings = |noise: Option<Noise>| Settings {
            initial_state: Some(InitialState::Estimated),
            noise: noise.map(Into::into),
            ..Settings::default()
        };
        let (_, alike) = judged_with(&settings(None), &supports, &truth);
        let (share, error) = judged_with(&settings(Some(noise)), &supports, &truth);
        assert!((share - 0.9).abs() < 0.065, "{noise:?}: {share}");
        assert!(error < 0.9 * alike, "{noise:?}: {error} beside {alike}");
    }
}

/// Weights of the loss move the estimate; its error is by the noise, of which they say nothing.
#[test]
fn regions_hold_the_truth_whatever_the_channels_weigh() {
    let by_channel: fn(usize, f64) -> f64 = |channel, _| [0.02, 0.1][channel];
    let (supports, truth) = noisy(3, by_channel);
    let settings = Settings { initial_state: Some(InitialState::Estimated), ..Settings::default() };
    let (_, even) = judged_with(&settings, &supports, &truth);
    let mut model = StoredModel::read(&TRAINED.directory).unwrap();
    let mut weighed = |weights: [f64; 2]| {
        model.manifest.weights = weights.to_vec();
        judged_by(&model, &settings, &supports, &truth)
    };
    let [(share, better), (other_share, worse)] = [weighed([1.9, 0.1]), weighed([0.2, 1.8])];
    assert!((share - 0.9).abs() < 0.065 && (other_share - 0.9).abs() < 0.065, "{share} {other_share}");
    assert!(better < 0.9 * even && even < 0.95 * worse, "{better} {even} {worse}");
}

/// Huber's weights are part of the estimate, not of its error.
#[test]
fn regions_hold_the_truth_under_hubers_loss() {
    let (supports, truth) = noisy(3, constant);
    let initial_state = Some(InitialState::Estimated);
    let settings = Settings { initial_state, loss: Loss::Huber, ..Settings::default() };
    let (share, error) = judged_with(&settings, &supports, &truth);
    let (_, of_squares) = judged(InitialState::Estimated, &supports, &truth);
    assert!((share - 0.9).abs() < 0.055, "{share}");
    assert!(error < 1.1 * of_squares, "{error} beside {of_squares}");
}

#[test]
fn first_cells_may_be_missing() {
    let (mut supports, truth) = noisy(2, constant);
    for (e, support) in supports.iter_mut().enumerate() {
        support.trajectories[0].states[e % 2] = f64::NAN;
        support.trajectories[1].states[5] = f64::NAN;
    }
    let (share, error) = judged(InitialState::Estimated, &supports, &truth);
    assert!((share - 0.9).abs() < 0.055, "{share}");
    assert!(error < 0.1, "{error}");

    // One channel of every first sample: each trajectory starts at its second where it starts at what was observed.
    let later: Vec<Support> = supports
        .iter()
        .map(|support| Support {
            trajectories: support.trajectories.iter().cloned().filter_map(Trajectory::from_start).collect(),
        })
        .collect();
    assert!(later.iter().all(|support| support.points() < supports[0].points() + 2));
    let (_, from_observed) = judged(InitialState::Observed, &later, &truth);
    assert!(error < from_observed, "{error} beside {from_observed}");
}

#[test]
fn without_noise_both_give_the_same() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let [observed, estimated] = [InitialState::Observed, InitialState::Estimated].map(|initial_state| {
        let settings = Settings { initial_state: Some(initial_state), fitted: true, ..Settings::default() };
        estimate_with(&settings, dataset, model, &root.path().join(format!("{initial_state:?}")), Split::Grid)
    });
    for (a, b) in observed.iter().zip(&estimated).filter(|(row, _)| row.in_hull == Some(true)) {
        assert_eq!(
            (a.status, b.status, a.points, a.degrees_of_freedom),
            (Status::Ok, Status::Ok, b.points, b.degrees_of_freedom)
        );
        for (a, b) in a.parameters.iter().zip(&b.parameters) {
            assert!((a.value - b.value).abs() < 0.05 * a.value, "{a:?} {b:?}");
            assert!(b.standard_error.is_finite());
        }
        assert!(b.trajectory_rmse <= a.trajectory_rmse * 1.01, "{} {}", a.trajectory_rmse, b.trajectory_rmse);
    }
}

#[test]
fn an_environment_changes_no_other_where_initial_states_are_estimated() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let settings = Settings { initial_state: Some(InitialState::Estimated), ..Settings::default() };
    let mut all = dataset.read(Split::Grid).unwrap();
    all.iter_mut().step_by(2).for_each(|row| row.states[0] = f64::NAN);
    let rows = |name: &str, trajectories| {
        let dataset = grid(root.path(), name, dataset.manifest(), trajectories);
        estimate_with(&settings, &dataset, model, &root.path().join(format!("{name}-estimates")), Split::Grid)
    };
    let alone = rows("alone", all.clone());
    let mut half = super::resting("a half", 20, [1.0, 2.0]);
    half.states.iter_mut().step_by(2).for_each(|cell| *cell = f64::NAN);
    let mut nothing = super::resting("b nothing", 2, [1.0, 2.0]);
    nothing.states[3] = f64::NAN;
    all.extend([half, nothing, super::resting("c huge", 20, [1e300, -1e300])]);
    let with = rows("with", all);
    assert!(alone.iter().all(|row| with.contains(row)));
    let ends: Vec<Status> = with[..3].iter().map(|row| row.status).collect();
    assert_eq!(ends[1..], [Status::TooFewPoints, Status::Diverged]);
    assert!(with[0].points == 19 && ends[0] != Status::NoData, "one channel is enough for a fit");
}

#[test]
fn initial_states_of_fields_are_not_estimated() {
    let Trained { dataset, model, .. } = &*TRAINED;
    let root = tempfile::tempdir().unwrap();
    let (of_fields, rows) = super::common::fields(1, false);
    let like = paramill::dataset::Manifest { grid: of_fields.grid, ..dataset.manifest().clone() };
    let dataset = grid(root.path(), "fields", &like, rows);
    let settings = Settings { initial_state: Some(InitialState::Estimated), ..Settings::default() };
    let directory = root.path().join("estimates");
    let refused = silently(|run| paramill::estimate::run(&settings, NATIVE, &dataset, model, &directory, run));
    assert!(matches!(refused.map(|_| ()), Err(paramill::estimate::Error::EstimatedFields)));
}
