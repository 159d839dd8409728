//! Inputs of simulated systems: signals, doses and infusions in their steady state, and resets, against closed forms.

use paramill::estimate;
use paramill::physics;
use paramill::schema::{Between, Split, Trajectory};

use super::{settings, simulate};

const BODY: &str = r#"
    dataset = "body"
    rtol = 1e-11
    atol = 1e-11
    doses = [
        { input = "dose", time = 1.0, amount = 10.0 },
        { input = "every", time = 1.0, amount = 2.0 },
        { input = "reset", time = 5.0, amount = 1.0 },
        { input = "often", time = 6.0, amount = 4.0 },
    ]
    signals = [{ input = "rate", times = [0.0, 6.0, 7.0], values = [0.0, 3.0, 0.0] }]
    [system]
    name = "body"
    horizon = 10.0
    time_step = 0.5
    reset = "reset"
    states = [{ name = "central", derivative = "rate - k * central", start = "base" }]
    inputs = [{ name = "dose" }, { name = "every" }, { name = "reset" }, { name = "rate" }, { name = "often" }]
    doses = [{ input = "dose", state = "central", interval = "every" }]
    infusions = [{ input = "rate", interval = "often" }]
    parameters = [{ name = "k", lower = 0.01, upper = 9.0 }, { name = "base", lower = 0.1, upper = 99.0 }]
    [splits.adapt]
    environments = [{ k = 0.5, base = 4.0 }]
    trajectories = 1
"#;
const K: f64 = 0.5;

/// What remains of one after some time.
fn left(t: f64) -> f64 {
    (-K * t).exp()
}

/// The state at a sample, before what is given then.
fn central(t: f64) -> f64 {
    let infused = |t: f64| 3.0 / K * (1.0 - left(t));
    let trough = infused(1.0) * left(3.0) / (1.0 - left(4.0));
    match t {
        t if t <= 1.0 => 4.0 * left(t),
        t if t <= 5.0 => 10.0 / (1.0 - left(2.0)) * left(t - 1.0),
        t if t <= 6.0 => 4.0 * left(t - 5.0),
        t if t <= 7.0 => trough * left(t - 6.0) + infused(t - 6.0),
        t => (trough * left(1.0) + infused(1.0)) * left(t - 7.0),
    }
}

fn simulated(text: &str) -> Vec<Trajectory> {
    simulate(&settings(text), 3).remove(&Split::Adapt).unwrap()
}

#[test]
fn steady_states_resets_and_infusions_are_simulated_and_fitted() {
    let trajectories = simulated(BODY);
    let Trajectory { times, states, inputs, .. } = &trajectories[0];
    for (t, state) in times.iter().zip(states).filter(|(_, state)| !state.is_nan()) {
        assert!((state - central(*t)).abs() < 1e-7, "{t}: {state}, not {}", central(*t));
    }
    let at = |time: f64| inputs.chunks_exact(5).zip(times).find(|(_, t)| **t == time).unwrap().0.to_vec();
    assert_eq!(
        (at(0.5), at(1.0), at(6.5)),
        (vec![0.0; 5], vec![10.0, 2.0, 0.0, 0.0, 0.0], vec![10.0, 2.0, 1.0, 3.0, 4.0])
    );
    let system = settings(BODY).find_system().unwrap();
    let rows = physics::fit_with(&estimate::Settings::default(), &system, Between::Hold, &trajectories).unwrap();
    assert_eq!(rows[0].status, estimate::Status::Ok, "{}", rows[0].reason);
    assert!((rows[0].parameters[0].value - K).abs() < 1e-6, "{:?}", rows[0].parameters);
}

#[test]
fn signals_are_held_or_on_straight_lines() {
    let text = |between: &str| {
        format!(
            "dataset = \"it\"\nrtol = 1e-11\natol = 1e-11\n\
             signals = [{{ input = \"u\", times = [0.0, 1.75, 4.0], values = [0.0, 3.5, 2.0]{between} }}]\n\
             [system]\nname = \"sum\"\nhorizon = 6.0\ntime_step = 0.5\ninputs = [{{ name = \"u\" }}]\n\
             states = [{{ name = \"x\", derivative = \"a * u\", start = 1.0 }}]\n\
             parameters = [{{ name = \"a\", lower = 0.1, upper = 9.0 }}]\n\
             [splits.adapt]\nenvironments = [{{ a = 2.0 }}]\ntrajectories = 1"
        )
    };
    let slope = (2.0 - 3.5) / 2.25;
    let linear = |t: f64| match t {
        t if t <= 1.75 => t * t,
        t if t <= 4.0 => 1.75 * 1.75 + 3.5 * (t - 1.75) + 0.5 * slope * (t - 1.75).powi(2),
        t => 1.75 * 1.75 + 0.5 * (3.5 + 2.0) * 2.25 + 2.0 * (t - 4.0),
    };
    let held = |t: f64| 3.5 * (t - 1.75).clamp(0.0, 2.25) + 2.0 * (t - 4.0).max(0.0);
    for (between, integral) in
        [("", &held as &dyn Fn(f64) -> f64), (", between = \"linear\"", &linear as &dyn Fn(f64) -> f64)]
    {
        let trajectory = simulated(&text(between)).remove(0);
        assert!(trajectory.times.contains(&1.75) && trajectory.len() == 13, "{:?}", trajectory.times);
        for (t, x) in trajectory.times.iter().zip(&trajectory.states).filter(|(_, x)| !x.is_nan()) {
            assert!((x - 1.0 - 2.0 * integral(*t)).abs() < 1e-8, "{between} {t}: {x}");
        }
    }
    for (from, to, expected) in [
        ("input = \"u\"", "input = \"v\"", "signals.0.input"),
        ("times = [0.0, 1.75, 4.0]", "times = [0.0, 4.0, 1.75]", "signals.0.times"),
        ("values = [0.0, 3.5, 2.0]", "values = [0.0, 3.5]", "signals.0.values"),
        (
            "signals = [{ input = \"u\", times = [0.0, 1.75, 4.0], values = [0.0, 3.5, 2.0] }]",
            "",
            "which nothing drives",
        ),
    ] {
        let problems = settings(&text("").replace(from, to)).validate();
        let said = problems.iter().map(ToString::to_string).collect::<String>();
        assert!(said.contains(expected), "{said}");
    }
}

/// A dataset that fits would refuse is not simulated, for the same reasons and before anything runs.
#[test]
fn what_fits_would_refuse_is_not_simulated() {
    let lagging = BODY.replace("interval = \"every\" }]", "interval = \"every\", lag = \"base\" }]");
    let cases = [
        (
            BODY.replace("values = [0.0, 3.0, 0.0] }", "values = [0.0, 3.0, 0.0], between = \"linear\" }"),
            "\"linear\" for `rate`",
        ),
        (
            BODY.replace("time = 6.0, amount = 4.0", "time = 6.5, amount = 4.0"),
            "at t = 6.5, and no dose or infusion at that time",
        ),
        (
            BODY.replace("time = 6.0, amount = 4.0", "time = 6.0, amount = 0.5"),
            "every 0.5 from t = 6 to 7: an infusion must not be longer",
        ),
        (BODY.replace("values = [0.0, 3.0, 0.0]", "values = [0.0, 3.0, 3.0]"), "from t = 6 on that does not end"),
        (BODY.replace("times = [0.0, 6.0, 7.0]", "times = [0.0, 6.0, 9.9]"), "from t = 6 on that does not end"),
        (
            BODY.replace("values = [0.0, 3.0, 0.0]", "values = [0.0, 3.0, 1.0]"),
            "another change of its rate, by -2, at t = 7",
        ),
        (lagging, "a lag of 4 of doses in their steady state every 2"),
    ];
    for (text, expected) in cases {
        let problems = settings(&text).validate();
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(said.len() == 1 && said[0].contains(expected), "{expected}: {said:?}");
    }
    assert!(settings(BODY).validate().is_empty());
}

/// Of an infusion that begins with the first sample.
#[test]
fn an_infusion_that_begins_with_the_samples_has_a_steady_state() {
    let text = BODY
        .replace("times = [0.0, 6.0, 7.0], values = [0.0, 3.0, 0.0]", "times = [0.0, 1.0], values = [3.0, 0.0]")
        .replace("{ input = \"often\", time = 6.0, amount = 4.0 },", "{ input = \"often\", amount = 4.0 },");
    let trajectories = simulated(&text);
    let infused = |t: f64| 3.0 / K * (1.0 - left(t));
    let trough = infused(1.0) * left(3.0) / (1.0 - left(4.0));
    let after = trajectories[0].times.iter().zip(&trajectories[0].states).find(|(t, _)| **t == 0.5).unwrap().1;
    assert!((after - (trough * left(0.5) + infused(0.5))).abs() < 1e-7, "{after}");
    let system = settings(&text).find_system().unwrap();
    let rows = physics::fit_with(&estimate::Settings::default(), &system, Between::Hold, &trajectories).unwrap();
    assert!((rows[0].parameters[0].value - K).abs() < 1e-6, "{:?}", rows[0]);
}
