//! Intervals by profile likelihood, against scans by hand and closed forms, and the starts that were asked for.

use paramill::estimate::{Row, Status};
use paramill::physics;
use paramill::schema::{Between, Split, Trajectory};
use paramill::systems::Equations;

use super::minima::{RATE, decay, decays, leak};
use super::rows;

/// The least squared error over the initial value, of a decay at `rate` to `rest`.
fn squares(rate: f64, rest: f64, samples: &[(f64, f64)]) -> f64 {
    let falling = |t: f64| (-rate * t).exp();
    let along: f64 = samples.iter().map(|(t, y)| falling(*t) * (y - rest)).sum();
    let length: f64 = samples.iter().map(|(t, _)| falling(*t).powi(2)).sum();
    samples.iter().map(|(t, y)| (y - rest - along / length * falling(*t)).powi(2)).sum()
}

/// The least of a function with one minimum between two ends.
fn least(mut low: f64, mut high: f64, value: impl Fn(f64) -> f64) -> f64 {
    let golden = 0.5 * (5.0f64.sqrt() - 1.0);
    for _ in 0..80 {
        let (a, b) = (high - golden * (high - low), low + golden * (high - low));
        if value(a) < value(b) { high = b } else { low = a }
    }
    value(0.5 * (low + high))
}

fn fitted(bounds: (f64, f64), settings: &str) -> Row {
    let root = tempfile::tempdir().unwrap();
    let dataset = decays(root.path(), vec![decay("slow", 0.05, 30, |_| 0.0)]);
    let rate = RATE.replace("0.1", "0.001");
    let parameters = format!("{rate}, {{ name = \"rest\", lower = {}, upper = {} }}", bounds.0, bounds.1);
    let text =
        leak(&parameters, "-rate * (level - rest)").replace("\"physics\"\n", &format!("\"physics\"\n{settings}\n"));
    rows(&text, &dataset, Split::Adapt).remove(0)
}

/// A decay that has hardly begun says of its end only that it is not far: its interval is not symmetric.
#[test]
fn profiles_end_where_a_scan_by_hand_does() {
    let decay = decay("slow", 0.05, 30, |_| 0.0);
    let samples: Vec<(f64, f64)> = decay.times.iter().copied().zip(decay.states.iter().copied()).collect();
    let over_rate = |rest: f64| least(0.001f64.ln(), 2.0f64.ln(), |rate| squares(rate.exp(), rest, &samples));
    // Student's quantile for 27 degrees of freedom.
    let limit = 2.0518f64.powi(2);
    for bounds in [(-2.0, 1.0), (-0.2, 1.0)] {
        let row = fitted(bounds, "intervals = \"profile\"");
        assert_eq!(row.status, Status::Ok, "{row:?}");
        let over_rest = |rate: f64| least(bounds.0, bounds.1, |rest| squares(rate, rest, &samples));
        let best = least(bounds.0, bounds.1, over_rate);
        let increase = |squares: f64| (squares / best - 1.0) * 27.0;
        let [rate, rest] = [row.parameters[0], row.parameters[1]];
        for end in [over_rest(rate.lower), over_rest(rate.upper), over_rate(rest.upper)] {
            approx::assert_relative_eq!(increase(end), limit, max_relative = 0.02);
        }
        if bounds.0 == -0.2 {
            assert!(rest.lower.is_nan() && row.reason.contains("the interval of rest is open below"), "{row:?}");
        } else {
            approx::assert_relative_eq!(increase(over_rate(rest.lower)), limit, max_relative = 0.02);
            let [below, above] = [rest.value - rest.lower, rest.upper - rest.value];
            assert!(below > 1.2 * above && row.reason.is_empty(), "{row:?}");
            let wald = fitted(bounds, "").parameters[1];
            assert!((wald.upper - wald.value) / (wald.value - wald.lower) > 0.99, "{wald:?}");
            assert_eq!(wald.standard_error, rest.standard_error);
        }
    }
}

/// The ends of the others are those with the one at its bound left there.
#[test]
fn a_parameter_at_its_bound_leaves_the_profiles_of_others_honest() {
    let row = fitted((0.1, 1.0), "intervals = \"profile\"");
    assert_eq!(row.status, Status::AtBound, "{row:?}");
    assert!(row.parameters[1].lower.is_nan() && row.parameters[1].upper > 0.1, "{row:?}");
    assert!(row.parameters[0].lower < row.parameters[0].value && row.parameters[0].value < row.parameters[0].upper);
}

#[test]
fn as_many_starts_are_tried_as_were_asked_for() {
    for (settings, starts) in [("", 8), ("[physics]\nstarts = 12", 12), ("[physics]\nstarts = 1", 1)] {
        let minima = fitted((-2.0, 1.0), settings).minima.unwrap();
        assert_eq!((minima.starts, minima.at_best, minima.second), (starts, starts, None), "{settings}");
    }
}

/// A straight line: equations whose residuals are linear in the parameters.
const LINE: &str = r#"
    name = "line"
    horizon = 5.0
    time_step = 1.0
    states = [{ name = "x", derivative = "slope", start = "start" }]
    parameters = [{ name = "start", lower = -50.0, upper = 50.0 }, { name = "slope", lower = -50.0, upper = 50.0 }]
"#;
const TIMES: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
const LINE_VALUES: [f64; 6] = [1.1, 2.7, 5.3, 6.8, 9.4, 10.7];

fn line(settings: &str, samples: usize) -> Row {
    let system = toml::from_str::<Equations>(LINE).unwrap().system().unwrap();
    let measured = Trajectory {
        environment: "e".to_owned(),
        trajectory: "0".to_owned(),
        parameters: Vec::new(),
        times: TIMES[..samples].to_vec(),
        states: LINE_VALUES[..samples].to_vec(),
        inputs: Vec::new(),
    };
    let settings = toml::from_str(&format!("serial_correlation = false\n{settings}")).unwrap();
    physics::fit_with(&settings, &system, Between::Hold, &[measured]).unwrap().remove(0)
}

/// Start and slope of the line by least squares, with their standard errors.
fn regression() -> [(f64, f64); 2] {
    let n = TIMES.len() as f64;
    let (mean_t, mean_x) = (TIMES.iter().sum::<f64>() / n, LINE_VALUES.iter().sum::<f64>() / n);
    let pairs = || TIMES.iter().zip(&LINE_VALUES);
    let spread = TIMES.iter().map(|t| (t - mean_t).powi(2)).sum::<f64>();
    let slope = pairs().map(|(t, x)| (t - mean_t) * (x - mean_x)).sum::<f64>() / spread;
    let start = mean_x - slope * mean_t;
    let variance = pairs().map(|(t, x)| (x - start - slope * t).powi(2)).sum::<f64>() / (n - 2.0);
    [(start, (variance * (1.0 / n + mean_t * mean_t / spread)).sqrt()), (slope, (variance / spread).sqrt())]
}

/// Of noise that is estimated with the rest the likelihood falls more slowly than of noise that is known: the ends are Student's for all that.
#[test]
fn profiles_of_a_line_are_the_intervals_of_regression() {
    // Quantiles of Student's distribution with four degrees of freedom, and of a normal one.
    for (noise, size) in
        [("", None), ("noise = \"constant\"", None), ("noise.x = { kind = \"known\", value = 0.3 }", Some(0.3))]
    {
        let quantile = if size.is_some() { 1.959_964 } else { 2.776_445 };
        let variance = |error: f64| {
            let [_, (_, of_slope)] = regression();
            size.map_or(error, |size| error * size / (of_slope * 17.5_f64.sqrt()))
        };
        for intervals in ["wald", "profile"] {
            let row = line(&format!("{noise}\nintervals = \"{intervals}\""), 6);
            assert_eq!(row.status, Status::Ok, "{row:?}");
            for (it, (value, error)) in row.parameters.iter().zip(regression()) {
                let half = quantile * variance(error);
                approx::assert_relative_eq!(it.value, value, max_relative = 1e-5);
                approx::assert_relative_eq!(it.upper - it.value, half, max_relative = 0.006);
                approx::assert_relative_eq!(it.value - it.lower, half, max_relative = 0.006);
            }
        }
    }
}

/// What is known beforehand does not get less certain because few values tell the noise.
#[test]
fn a_prior_is_as_wide_as_it_says_however_few_the_values() {
    let prior = "[physics.priors]\nslope = { mean = 2.0, std_dev = 0.001 }";
    for intervals in ["wald", "profile"] {
        let row = line(&format!("noise = \"constant\"\nintervals = \"{intervals}\"\n{prior}"), 3);
        assert_eq!((row.status, row.reason.as_str(), row.degrees_of_freedom), (Status::Ok, "prior: slope", 1.0));
        let slope = row.parameters[1];
        approx::assert_relative_eq!(slope.value, 2.0, max_relative = 1e-4);
        approx::assert_relative_eq!(slope.upper - slope.lower, 2.0 * 0.001 * 1.959_964, max_relative = 0.006);
        // The start is told by the values, of which one is left to tell the noise: Student's quantile for one degree of freedom.
        let start = row.parameters[0];
        assert!(start.upper - start.lower > 12.0 * 2.0 * start.standard_error, "{start:?}");
    }
}
