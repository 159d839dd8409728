//! What is recorded of a system: outputs, with noise of each kind, and states that nobody records.

use super::{settings, simulate};
use paramill::generate::{Observation, PerChannel, Settings, Solver};
use paramill::pipeline;
use paramill::schema::{Split, Trajectory};

const BODY: &str = r#"
    dataset = "body"
    channels = ["concentration", "depot"]
    [system]
    name = "body"
    horizon = 10.0
    time_step = 0.25
    states = [
        { name = "depot", derivative = "-ka * depot", start = 8.0 },
        { name = "central", derivative = "ka * depot - ke * central", start = 0.0 },
    ]
    outputs = [{ name = "concentration", unit = "mg L-1", expression = "central / volume + 0.01 * t" }]
    parameters = [
        { name = "ka", lower = 0.1, upper = 9.0 },
        { name = "ke", lower = 0.01, upper = 1.0 },
        { name = "volume", lower = 1.0, upper = 99.0 },
    ]
    [splits.adapt]
    environments = [{ ka = 1.2, ke = 0.2, volume = 5.0 }]
    trajectories = 60
"#;

fn body() -> Settings {
    settings(BODY)
}

/// The concentration at a time.
fn concentration(t: f64) -> f64 {
    8.0 / 5.0 * 1.2 / (1.2 - 0.2) * ((-0.2 * t).exp() - (-1.2 * t).exp()) + 0.01 * t
}

fn trajectories(settings: &Settings) -> Vec<Trajectory> {
    simulate(settings, 3).remove(&Split::Adapt).unwrap()
}

#[test]
fn outputs_and_states_are_recorded_by_name() {
    let trajectories = trajectories(&body());
    assert_eq!(trajectories.len(), 60);
    for (t, sample) in trajectories[0].times.iter().zip(trajectories[0].states.chunks_exact(2)) {
        assert!((sample[0] - concentration(*t)).abs() < 1e-7 && (sample[1] - 8.0 * (-1.2 * t).exp()).abs() < 1e-7);
    }
    let problems = |channels: &[&str]| {
        let channels = Some(channels.iter().map(|&name| name.to_owned()).collect());
        let found = Settings { channels, ..body() }.validate();
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert!(
        problems(&["consentration"]).contains("channels.0: found `consentration`"),
        "{}",
        problems(&["consentration"])
    );
    assert!(problems(&["depot", "depot"]).contains("each channel once"));
    assert!(problems(&[]).contains("at least one channel"));
    let of_state = PerChannel::Each([("central".to_owned(), 0.1)].into());
    let observation = Some(Observation { noise: of_state, ..Observation::default() });
    let said = Settings { observation, ..body() }.validate();
    assert!(said[0].to_string().contains("observation.noise.central"), "{said:?}");
}

#[test]
fn noise_of_a_logarithm_has_the_deviation_asked_for() {
    let log_noise = PerChannel::Each([("concentration".to_owned(), 0.3)].into());
    let noisy = Settings { observation: Some(Observation { log_noise, ..Observation::default() }), ..body() };
    let plain = trajectories(&body());
    let logs: Vec<f64> = trajectories(&noisy)
        .iter()
        .zip(&plain)
        .flat_map(|(noisy, plain)| {
            let pairs = noisy.states.chunks_exact(2).zip(plain.states.chunks_exact(2)).skip(1);
            pairs.map(|(noisy, plain)| {
                assert_eq!(noisy[1], plain[1]);
                (noisy[0] / plain[0]).ln()
            })
        })
        .collect();
    let count = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let deviation = (logs.iter().map(|it| it * it).sum::<f64>() / count).sqrt();
    // Four standard errors of the mean and of the deviation.
    assert!(mean.abs() < 4.0 * 0.3 / count.sqrt(), "{mean}");
    assert!((deviation - 0.3).abs() < 4.0 * 0.3 / (2.0 * count).sqrt(), "{deviation}");
}

#[test]
fn the_method_for_stiff_systems_can_be_named() {
    let by = |solver| trajectories(&Settings { solver: Some(solver), ..body() }).remove(0).states;
    for (one, other) in by(Solver::Rodas5p).iter().zip(by(Solver::Dop853)) {
        assert!((one - other).abs() < 1e-6, "{one} {other}");
    }
    let without = Settings {
        solver: Some(Solver::Rodas5p),
        system: paramill::systems::SystemSettings::Named("gray-scott".to_owned()),
        channels: None,
        ..body()
    };
    let said: Vec<String> = without.validate().iter().map(ToString::to_string).collect();
    assert!(said.iter().any(|it| it.contains("whose derivatives are not known")), "{said:?}");
}

/// Doses of 10 every four hours, three of them, into the mouth of a body whose volume follows its weight.
const DOSED: &str = r#"
    dataset = "dosed"
    channels = ["concentration"]
    doses = [{ input = "oral", time = 0.5, amount = 10.0, interval = 4.0, count = 3 }]
    [system]
    name = "body"
    horizon = 12.0
    time_step = 1.0
    inputs = [{ name = "oral" }]
    states = [
        { name = "depot", derivative = "-ka * depot", start = 0.0 },
        { name = "central", derivative = "ka * depot - ke * central", start = 0.0 },
    ]
    outputs = [{ name = "concentration", expression = "central / (0.1 * weight)" }]
    doses = [{ input = "oral", state = "depot", bioavailability = "f", lag = "0.25" }]
    covariates = [{ name = "weight", unit = "kg" }]
    parameters = [
        { name = "ka", lower = 0.1, upper = 9.0 },
        { name = "ke", lower = 0.01, upper = 1.0 },
        { name = "f", lower = 0.1, upper = 1.0 },
    ]
    [splits.adapt]
    environments = [{ ka = 1.2, ke = 0.2, f = 0.5, weight = 70.0 }, { ka = 1.2, ke = 0.2, f = 0.5, weight = 35.0 }]
    trajectories = 1
"#;

#[test]
fn doses_and_covariates_are_simulated() {
    let trajectories = trajectories(&settings(DOSED));
    let given = [0.5, 4.5, 8.5];
    for (trajectory, weight) in trajectories.iter().zip([70.0, 35.0]) {
        assert_eq!(trajectory.parameters[3], Some(weight));
        // A sample without a measurement wherever something is given.
        assert_eq!(trajectory.times[..3], [0.0, 0.5, 1.0]);
        assert_eq!((trajectory.times.len(), trajectory.missing()), (15, 3));
        for (t, (time, value)) in trajectory.times.iter().zip(&trajectory.states).enumerate() {
            let sum: f64 = given.iter().filter(|at| *at <= time).map(|_| 10.0).sum();
            assert_eq!(trajectory.inputs[t], sum);
            let after = |at: &f64| {
                let t = time - at - 0.25;
                if t > 0.0 { 5.0 * 1.2 * ((-0.2 * t).exp() - (-1.2 * t).exp()) / (0.1 * weight) } else { 0.0 }
            };
            let expected: f64 = given.iter().map(after).sum();
            assert!(value.is_nan() || (value - expected).abs() < 1e-7, "{value} and {expected} at {time}");
        }
    }
    for (from, to, part) in [
        ("count = 3", "count = 0", "doses.0.count"),
        (", interval = 4.0", "", "doses.0.interval"),
        ("{ input = \"oral\", time", "{ input = \"orl\", time", "found `orl`"),
        (", weight = 35.0", "", "no `weight`"),
        (
            "    doses = [{ input = \"oral\", state = \"depot\", bioavailability = \"f\", lag = \"0.25\" }]\n",
            "",
            "the inputs oral",
        ),
    ] {
        assert!(DOSED.contains(from), "{from}");
        let said: Vec<String> = settings(&DOSED.replace(from, to)).validate().iter().map(ToString::to_string).collect();
        assert!(said.iter().any(|it| it.contains(part)), "{part}: {said:?}");
    }
}

/// A pipeline is checked against the channels that its dataset will have: the recorded ones, by their own names.
#[test]
fn what_is_said_of_a_channel_is_said_of_what_is_recorded() {
    let root = tempfile::tempdir().unwrap();
    let generate = BODY.replace("[system]", "[generate.system]").replace("[splits", "[generate.splits");
    let problems = |channels: &str, estimate: &str| {
        let generate = generate.replace(r#"["concentration", "depot"]"#, channels);
        let text = format!("[generate]\n{generate}\n[estimate]\nmethod = \"physics\"\n{estimate}");
        let file = root.path().join("body.toml");
        std::fs::write(&file, text).unwrap();
        let checked = pipeline::check(&file, &[]);
        checked.settings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let of_output = "noise.concentration = { kind = \"combined\" }\nlimits = { concentration = 0.1 }\n\
                     physics.scopes = { noise_concentration_absolute = \"all\" }";
    assert_eq!(problems(r#"["concentration"]"#, of_output), "");
    let of_state = problems(r#"["concentration"]"#, "noise.depot = { kind = \"constant\" }");
    assert!(of_state.contains("noise.depot") && of_state.contains("concentration"), "{of_state}");
    let dropped = problems(
        r#"["concentration", "depot"]"#,
        "limits = { depot = 1.0 }\n[generate.observation]\ndropped = [\"depot\"]",
    );
    assert!(dropped.contains("limits.depot"), "{dropped}");
}
