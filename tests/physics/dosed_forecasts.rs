//! Forecasts under boluses with lag, repeated doses, infusions and their steady states, from every start: in closed form.

use std::path::Path;

use paramill::dataset::{Dataset, Manifest};
use paramill::estimate::physics::{Forecaster, From, Prediction, Wanted};
use paramill::estimate::{Row, Settings};
use paramill::progress::Run;
use paramill::random::Stream;
use paramill::schema::{Between, Input, Quantity, Split, Trajectory};

use super::common::manifest;
use super::model::dataset_of;
use super::rows;

const BODY: &str = r#"
    method = "physics"
    [physics.system]
    name = "body"
    horizon = 24.0
    time_step = 1.0
    inputs = [{ name = "oral" }, { name = "rate" }, { name = "every" }, { name = "added" }]
    states = [
        { name = "depot", derivative = "-ka * depot", start = 0.0 },
        { name = "central", derivative = "ka * depot - ke * central + rate", start = 0.0 },
    ]
    doses = [{ input = "oral", state = "depot", lag = "lag" }]
    infusions = [{ input = "rate", interval = "every", superposed = "added" }]
    parameters = [
        { name = "ka", lower = 0.3, upper = 9.0 },
        { name = "ke", lower = 0.01, upper = 0.29 },
        { name = "lag", lower = 0.01, upper = 2.0 },
    ]
"#;
const KA: f64 = 1.3;
const KE: f64 = 0.2;
const LAG: f64 = 0.35;
/// How many times of the past a steady state counts: the rest is below rounding.
const PAST: i32 = 100;

/// What is given.
#[derive(Clone, Copy, Debug)]
enum Given {
    /// An amount into the depot.
    Bolus(f64),
    /// A rate over a duration into the other; with an interval since ever, in place of what is there or added to it.
    Infusion { rate: f64, duration: f64, every: Option<(f64, bool)> },
}

/// Both states a time `t` after.
fn bolus(amount: f64, t: f64) -> [f64; 2] {
    let t = t - LAG;
    if t <= 0.0 {
        return [0.0, 0.0];
    }
    [amount * (-KA * t).exp(), amount * KA / (KA - KE) * ((-KE * t).exp() - (-KA * t).exp())]
}

fn infusion(rate: f64, duration: f64, t: f64) -> f64 {
    let after = |t: f64| if t < 0.0 { 0.0 } else { (1.0 - (-KE * t).exp()) / KE };
    rate * (after(t) - after(t - duration))
}

/// Both states at a time under a schedule, whose events lie before it or act later.
fn truth(schedule: &[(f64, Given)], time: f64) -> [f64; 2] {
    // A steady state in place of what is there drops what was given before.
    let is_cut =
        |(at, given): &(f64, Given)| matches!(given, Given::Infusion { every: Some((_, false)), .. }) && *at < time;
    let cut = schedule.iter().filter(|it| is_cut(it)).map(|it| it.0).fold(f64::NEG_INFINITY, f64::max);
    let mut state = [0.0, 0.0];
    for (at, given) in schedule.iter().filter(|(at, _)| *at >= cut && *at < time) {
        match *given {
            Given::Bolus(amount) => {
                let [depot, central] = bolus(amount, time - at);
                state[0] += depot;
                state[1] += central;
            }
            Given::Infusion { rate, duration, every } => {
                state[1] += infusion(rate, duration, time - at);
                let Some((every, _)) = every else { continue };
                let past = (1..PAST).map(|past| infusion(rate, duration, time - at + every * f64::from(past)));
                state[1] += past.sum::<f64>();
            }
        }
    }
    state
}

/// The inputs `[4]` at a time, just after what is given then; sums count what is given after `known`.
fn inputs(schedule: &[(f64, Given)], known: f64, time: f64) -> [f64; 4] {
    let mut all = [0.0; 4];
    for (at, given) in schedule.iter().filter(|it| it.0 <= time) {
        let is_counted = f64::from(u8::from(*at > known));
        match *given {
            Given::Bolus(amount) => all[0] += amount * is_counted,
            Given::Infusion { rate, duration, every } => {
                all[1] += if time < at + duration { rate } else { 0.0 };
                if let Some((every, is_added)) = every {
                    all[if is_added { 3 } else { 2 }] += every * is_counted;
                }
            }
        }
    }
    all
}

/// When something of the schedule begins or ends.
fn edges(schedule: &[(f64, Given)]) -> impl Iterator<Item = f64> {
    schedule.iter().flat_map(|(at, given)| match *given {
        Given::Bolus(_) => vec![*at],
        Given::Infusion { duration, .. } => vec![*at, at + duration],
    })
}

/// Samples every half hour and at all edges up to `end`, without noise; nothing is seen after `seen`.
fn trajectory(schedule: &[(f64, Given)], end: f64, seen: f64) -> Trajectory {
    let grid = (0..=48).map(|t| 0.5 * f64::from(t));
    let mut times: Vec<f64> = grid.chain(edges(schedule)).filter(|time| *time <= end).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    let observed = |time: &f64| if *time <= seen { truth(schedule, *time) } else { [f64::NAN; 2] };
    Trajectory {
        environment: "e".to_owned(),
        trajectory: "0".to_owned(),
        parameters: vec![None; 3],
        states: times.iter().flat_map(observed).collect(),
        inputs: times.iter().flat_map(|time| inputs(schedule, f64::NEG_INFINITY, *time)).collect(),
        times,
    }
}

fn dataset(root: &Path, of: Trajectory) -> Dataset {
    let quantity = |name: &str| Quantity::new(name, "1", "");
    let input = |name: &str| Input { quantity: quantity(name), between: Between::Hold };
    let mut manifest = Manifest {
        channels: ["depot", "central"].map(quantity).to_vec(),
        parameters: ["ka", "ke", "lag"].map(quantity).to_vec(),
        inputs: ["oral", "rate", "every", "added"].map(input).to_vec(),
        time_unit: "1".to_owned(),
        ..manifest()
    };
    manifest.provenance.stage = "import".to_owned();
    dataset_of(&root.join("data"), &manifest, vec![(Split::Adapt, vec![of])])
}

/// A schedule of every kind: a loading dose that is repeated, infusions, and one in a steady state, at times on and off the samples.
fn schedule(trial: u64) -> Vec<(f64, Given)> {
    let mut stream = Stream::new(17, "schedule", &[trial]);
    let mut time = |from: f64, to: f64| {
        let time = stream.uniform(from, to);
        if trial.is_multiple_of(2) { (2.0 * time).round() / 2.0 } else { time }
    };
    let (first, interval) = (time(0.0, 2.0), time(2.5, 5.0));
    let mut all: Vec<(f64, Given)> =
        (0..5).map(|more| (first + interval * f64::from(more), Given::Bolus(10.0))).collect();
    let [early, middle, late] = [time(1.0, 3.0), time(6.0, 9.0), time(14.0, 18.0)];
    all.push((early, Given::Infusion { rate: 2.0, duration: 1.25, every: None }));
    all.push((middle, Given::Infusion { rate: 3.0, duration: 1.5, every: Some((4.0, !trial.is_multiple_of(3))) }));
    all.push((late, Given::Infusion { rate: 1.0, duration: 2.0, every: None }));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all
}

fn assert_truth(what: &str, found: &Prediction, schedule: &[(f64, Given)]) {
    for (t, time) in found.times.iter().enumerate() {
        for (it, expected) in found.quantities.iter().zip(truth(schedule, *time)) {
            let value = it.values[t];
            assert!((value - expected).abs() < 5e-4, "{what}, {} at {time}: {value}, not {expected}", it.quantity.name);
        }
    }
}

#[test]
fn what_is_given_acts_at_its_time_from_every_start() {
    let place = tempfile::tempdir().unwrap();
    let (settings, run): (Settings, Run) = (toml::from_str(BODY).unwrap(), Run::silent());
    for trial in 0..6 {
        let all = schedule(trial);
        let whole = trajectory(&all, 24.0, 24.0);
        let data = dataset(place.path(), whole.clone());
        let row: Row = rows(BODY, &data, Split::Adapt).remove(0);
        for (parameter, expected) in row.parameters.iter().zip([KA, KE, LAG]) {
            approx::assert_relative_eq!(parameter.value, expected, max_relative = 1e-5);
        }
        let forecaster = Forecaster::new(&settings, &data, &run).unwrap();
        assert_eq!(forecaster.inputs(), [(0, true), (1, false), (2, true), (3, true)]);
        // What comes after the data is told, and what goes on at their end.
        let forecast = |of: &Trajectory, from: From, all: &[(f64, Given)], known: f64| {
            let start = forecaster.start_time(of, from).unwrap().unwrap();
            let mut times: Vec<f64> = (0..60).map(|t| start + 0.4 * f64::from(t)).chain(edges(all)).collect();
            times.extend(of.times.last());
            times.retain(|time| (start..=24.0).contains(time));
            times.sort_by(f64::total_cmp);
            times.dedup();
            let inputs: Vec<f64> = times.iter().flat_map(|time| inputs(all, known, *time)).collect();
            let wanted = Wanted { from, times: &times, inputs: &inputs };
            let found = forecaster.predict((&row, std::slice::from_ref(of)), 0, &wanted).unwrap();
            assert_eq!(found.times, times);
            found
        };
        assert_truth("the window", &forecast(&whole, From::Initial, &all, 24.0), &all);
        for end in [5.0, 11.5] {
            let part = trajectory(&all, end, end);
            for from in [From::Fitted, From::Initial, From::Observed] {
                assert_truth(&format!("{from:?} up to {end}"), &forecast(&part, from, &all, end), &all);
            }
            // The last sample lies before the last that is known of the inputs, and after doses that have not acted yet.
            let blind = trajectory(&all, end, end - 2.0);
            assert_truth(&format!("a sample before {end}"), &forecast(&blind, From::Observed, &all, end), &all);
        }
        // A dose that the dataset does not have is given at its own time, before the end of the data.
        let more = [(4.1, Given::Bolus(7.0))];
        let with_more = [all.as_slice(), &more].concat();
        assert_truth("one more", &forecast(&whole, From::Initial, &more, 0.0), &with_more);
    }
}
