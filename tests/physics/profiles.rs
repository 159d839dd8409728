//! Intervals by profile likelihood, against scans by hand, and the starts that were asked for.

use paramill::estimate::{Row, Status};
use paramill::schema::Split;

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
